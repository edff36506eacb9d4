// SPDX-License-Identifier: BSL-1.0
// The strings of a ConfinedArgv, taken out of it, are not a ConfinedArgv.
// expect: cordon: only a ConfinedArgv or an UnconfinedArgv can be spawned; write harness.confine

#include <cordon/process/spawn.hpp>

inline void start(const cordon::ConfinedArgv<cordon::WorkspaceWrite>& confined) {
#ifdef CORDON_BREAK
  (void)cordon::process::spawn(confined.argv());
#else
  (void)cordon::process::spawn(confined);
#endif
}
