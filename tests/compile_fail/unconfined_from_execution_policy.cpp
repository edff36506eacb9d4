// SPDX-License-Identifier: BSL-1.0
// An ExecutionPolicy has to be visited before it lets anything run unconfined.
// expect: cordon: an ExecutionPolicy may be restricted; write policy.visit

#include <cordon/confined.hpp>

#ifdef CORDON_BREAK
using Permission = cordon::ExecutionPolicy;
#else
using Permission = cordon::Policy<cordon::DangerFullAccess>;
#endif

inline cordon::UnconfinedArgv let_go(const Permission& policy, const cordon::Argv& command) {
  return cordon::UnconfinedArgv(policy, command);
}
