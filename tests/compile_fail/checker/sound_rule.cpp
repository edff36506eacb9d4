// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: a rule that holds, so that a checker which rejects everything is found out too.
// expect: deleted

struct Once {
  Once() = default;
  Once(const Once&) = delete;
};

inline Once get(const Once& once) {
#ifdef CORDON_BREAK
  return Once(once);
#else
  (void)once;
  return Once();
#endif
}
