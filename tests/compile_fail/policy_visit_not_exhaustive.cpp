// SPDX-License-Identifier: BSL-1.0
// Visiting an ExecutionPolicy means a handler for full access too.
// expect: cordon: visiting an ExecutionPolicy must handle .* add the missing handler

#include <cordon/policy.hpp>

inline bool can_write(const cordon::ExecutionPolicy& policy) {
  return policy.visit([](const cordon::Policy<cordon::ReadOnly>&) { return false; },
#ifndef CORDON_BREAK
                      [](const cordon::Policy<cordon::DangerFullAccess>&) { return true; },
#endif
                      [](const cordon::Policy<cordon::WorkspaceWrite>&) { return true; });
}
