// SPDX-License-Identifier: BSL-1.0
// Harness::run takes no raw Argv.
// expect: cordon: run takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv.*; get there by visiting

#include <cordon/harness.hpp>

inline void run(cordon::Harness<>& harness, const cordon::Policy<cordon::ReadOnly>& policy) {
  const cordon::Argv command({"true"});
#ifdef CORDON_BREAK
  (void)policy;
  (void)harness.run(command);
#else
  (void)harness.run(policy, command);
#endif
}
