// SPDX-License-Identifier: BSL-1.0
// A command that was started must not be dropped: that ends it.
// expect: nodiscard

#include <cordon/harness.hpp>

inline long start(cordon::Harness<>& harness, const cordon::ConfinedArgv<cordon::ReadOnly>& confined) {
#ifdef CORDON_BREAK
  harness.start(confined);
  return 0;
#else
  return harness.start(confined).pid();
#endif
}
