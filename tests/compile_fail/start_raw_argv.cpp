// SPDX-License-Identifier: BSL-1.0
// Harness::start takes no raw Argv.
// expect: cordon: start takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv.*; get there by visiting

#include <cordon/harness.hpp>

inline void start(cordon::Harness<>& harness, const cordon::Policy<cordon::ReadOnly>& policy) {
  const cordon::Argv command({"true"});
#ifdef CORDON_BREAK
  (void)policy;
  (void)harness.start(command);
#else
  (void)harness.start(policy, command);
#endif
}
