// SPDX-License-Identifier: BSL-1.0
// A Policy<WorkspaceWrite> can't let a command run unconfined.
// expect: cordon: a restricted policy can't run a command unconfined; write harness.confine

#include <cordon/confined.hpp>

#ifdef CORDON_BREAK
using Mode = cordon::WorkspaceWrite;
#else
using Mode = cordon::DangerFullAccess;
#endif

inline cordon::UnconfinedArgv let_go(const cordon::Policy<Mode>& policy, const cordon::Argv& command) {
  return cordon::UnconfinedArgv(policy, command);
}
