// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: the rule is broken without an error.
// expect: deleted

#ifdef CORDON_BREAK
inline int answer() {
  return 41;
}
#else
inline int answer() {
  return 42;
}
#endif
