// SPDX-License-Identifier: BSL-1.0
// What a command came to must not be dropped.
// expect: nodiscard

#include <cordon/harness.hpp>

inline bool run(cordon::Harness<>& harness, const cordon::ConfinedArgv<cordon::ReadOnly>& confined) {
#ifdef CORDON_BREAK
  harness.run(confined);
  return false;
#else
  return harness.run(confined).denied();
#endif
}
