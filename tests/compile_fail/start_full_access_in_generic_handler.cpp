// SPDX-License-Identifier: BSL-1.0
// A handler that takes every policy doesn't start full access by accident.
// expect: cordon: start takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv.*; get there by visiting

#include <cordon/harness.hpp>

inline cordon::Running start(cordon::Harness<>& harness, const cordon::ExecutionPolicy& policy,
                             const cordon::Argv& command) {
  return policy.visit(
#ifndef CORDON_BREAK
      [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
        return harness.start(cordon::UnconfinedArgv(full, command));
      },
#endif
      [&](const auto& restricted) { return harness.start(restricted, command); });
}
