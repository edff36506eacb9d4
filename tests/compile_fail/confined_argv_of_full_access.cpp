// SPDX-License-Identifier: BSL-1.0
// Full access is no confined mode: there is no ConfinedArgv of it.
// expect: ConfinedMode

#include <cordon/confined.hpp>

#ifdef CORDON_BREAK
using Mode = cordon::DangerFullAccess;
#else
using Mode = cordon::WorkspaceWrite;
#endif

inline const cordon::Argv& command_of(const cordon::ConfinedArgv<Mode>& confined) {
  return confined.command();
}
