// SPDX-License-Identifier: BSL-1.0
// Harness::confine has nothing to confine in full access.
// expect: cordon: confine takes a Policy<ReadOnly> or a Policy<WorkspaceWrite>; in full access write cordon

#include <cordon/harness.hpp>

#ifdef CORDON_BREAK
using Mode = cordon::DangerFullAccess;
#else
using Mode = cordon::ReadOnly;
#endif

inline void wrap(cordon::Harness<>& harness, const cordon::Policy<Mode>& policy, const cordon::Argv& command) {
  (void)harness.confine(policy, command);
}
