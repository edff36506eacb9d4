// SPDX-License-Identifier: BSL-1.0
// Where both modes are known, asking for one that is not wider does not compile.
// expect: cordon: run_escalated asks for a mode that is wider than that of the policy

#include <cordon/escalation.hpp>
#include <cordon/harness.hpp>
#include <cordon/session/log.hpp>

inline cordon::RunResult run(cordon::Turn<cordon::MemoryLog>& turn, cordon::Harness<>& harness,
                             const cordon::Policy<cordon::WorkspaceWrite>& policy) {
#ifdef CORDON_BREAK
  return cordon::run_escalated(turn, harness, policy, cordon::Argv({"true"}), cordon::read_only, "why");
#else
  return cordon::run_escalated(turn, harness, policy, cordon::Argv({"true"}), cordon::danger_full_access, "why");
#endif
}
