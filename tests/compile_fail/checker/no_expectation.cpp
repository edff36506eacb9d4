// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: says for no reason of its own why it must not compile.

#ifdef CORDON_BREAK
inline int answer() {
  return "42";
}
#else
inline int answer() {
  return 42;
}
#endif
