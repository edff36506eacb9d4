// SPDX-License-Identifier: BSL-1.0
// Harness::confine takes a policy that was looked into.
// expect: cordon: confine takes a Policy<ReadOnly> or a Policy<WorkspaceWrite>; .* visit an ExecutionPolicy

#include <cordon/harness.hpp>

#ifdef CORDON_BREAK
using Permission = cordon::ExecutionPolicy;
#else
using Permission = cordon::Policy<cordon::WorkspaceWrite>;
#endif

inline void wrap(cordon::Harness<>& harness, const Permission& policy, const cordon::Argv& command) {
  (void)harness.confine(policy, command);
}
