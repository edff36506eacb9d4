// SPDX-License-Identifier: BSL-1.0
// A handler that takes every policy doesn't run full access by accident.
// expect: cordon: run takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv.*; get there by visiting

#include <cordon/harness.hpp>

inline cordon::RunResult run(cordon::Harness<>& harness, const cordon::ExecutionPolicy& policy,
                             const cordon::Argv& command) {
  return policy.visit(
#ifndef CORDON_BREAK
      [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
        return harness.run(cordon::UnconfinedArgv(full, command));
      },
#endif
      [&](const auto& restricted) { return harness.run(restricted, command); });
}
