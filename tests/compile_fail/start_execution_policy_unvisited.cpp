// SPDX-License-Identifier: BSL-1.0
// Harness::start takes no policy that nobody looked into.
// expect: cordon: start takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv.*; get there by visiting

#include <cordon/harness.hpp>

#ifdef CORDON_BREAK
using Permission = cordon::ExecutionPolicy;
#else
using Permission = cordon::Policy<cordon::WorkspaceWrite>;
#endif

inline void start(cordon::Harness<>& harness, const Permission& policy, const cordon::Argv& command) {
  (void)harness.start(policy, command);
}
