// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: the right diagnostic, but no correct program would do either.
// expect: deleted

struct Once {
  Once() = default;
  Once(const Once&) = delete;
};

inline Once copy(const Once& once) {
  return Once(once);
}
