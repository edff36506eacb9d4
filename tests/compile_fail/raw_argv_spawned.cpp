// SPDX-License-Identifier: BSL-1.0
// A raw Argv can't be spawned, in any mode.
// expect: cordon: only a ConfinedArgv or an UnconfinedArgv can be spawned; write harness.confine

#include <cordon/process/spawn.hpp>

inline void start(const cordon::ConfinedArgv<cordon::ReadOnly>& confined) {
#ifdef CORDON_BREAK
  (void)cordon::process::spawn(confined.command());
#else
  (void)cordon::process::spawn(confined);
#endif
}
