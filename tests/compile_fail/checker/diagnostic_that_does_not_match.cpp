// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: rejected, but for another reason than the rule's.
// expect: deleted

struct Once {
  Once() = default;
  Once(const Once&) = delete;
};

#ifdef CORDON_BREAK
inline Once* make() {
  return 42;
}
#else
inline Once make() {
  return Once();
}
#endif
