// SPDX-License-Identifier: BSL-1.0
// For check_the_checker.cmake: rejected, but for a typing error.
// expect: deleted

struct Once {
  Once() = default;
  Once(const Once&) = delete;
};

#ifdef CORDON_BREAK
inline Once copy(const Onse& once) {
  return Once(once);
}
#else
inline Once make() {
  return Once();
}
#endif
