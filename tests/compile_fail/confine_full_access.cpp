// SPDX-License-Identifier: BSL-1.0
// cordon::confine has nothing to confine in full access.
// expect: cordon: confine takes a Policy<ReadOnly> or a Policy<WorkspaceWrite>; in full access write cordon

#include <cordon/backend/refuse.hpp>

#ifdef CORDON_BREAK
using Mode = cordon::DangerFullAccess;
#else
using Mode = cordon::WorkspaceWrite;
#endif

inline void wrap(cordon::Refuse& backend, const cordon::Policy<Mode>& policy, const cordon::Argv& command) {
  (void)cordon::confine(backend, policy, command);
}
