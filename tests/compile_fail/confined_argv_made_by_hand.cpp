// SPDX-License-Identifier: BSL-1.0
// Only cordon::confine makes a ConfinedArgv, whatever a Confinement says.
// expect: private

#include <cordon/backend/refuse.hpp>
#include <utility>

inline cordon::ConfinedArgv<cordon::ReadOnly> forge(cordon::Refuse& backend,
                                                    const cordon::Policy<cordon::ReadOnly>& policy,
                                                    const cordon::Argv& command) {
#ifdef CORDON_BREAK
  return cordon::ConfinedArgv<cordon::ReadOnly>(policy, command, backend.wrap(policy, command));
#else
  return cordon::confine(backend, policy, command);
#endif
}
