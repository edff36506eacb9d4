// SPDX-License-Identifier: BSL-1.0
#pragma once

// What a model is told: about a command that ran, and about what holds for the next. In one place, so that no other
// text speaks to it. Questions and decisions are never part of it: they are the user's.

#include <cordon/approval_policy.hpp>
#include <cordon/classify/verdict.hpp>
#include <cordon/detail/overloaded.hpp>
#include <cordon/escalation.hpp>
#include <string>
#include <variant>

namespace cordon {

/// Whether asking for a wider mode could succeed: there is one that is wider and not above the ceiling, and the policy
/// asks somebody.
[[nodiscard]] inline Escalation escalation_for(SandboxMode effective, ApprovalPolicy policy,
                                               SandboxMode ceiling = danger_full_access) {
  return policy == ApprovalPolicy::ask && !wider_modes(effective, ceiling).empty() ? Escalation::available
                                                                                   : Escalation::unavailable;
}

/// The result of a tool call: what the command printed, what the sandbox refused with a hint where one helps, and how
/// it ended; each part only when there is something to say. A background runner that failed is text_for_model's.
[[nodiscard]] inline std::string tool_result(const RunResult& result, Escalation escalation) {
  std::string text = result.out.marked_text();
  const auto on_a_line_of_its_own = [&](const std::string& part) {
    if (part.empty()) return;
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += part;
  };
  if (const std::string err = result.err.marked_text(); !err.empty()) on_a_line_of_its_own("[stderr]\n" + err);
  on_a_line_of_its_own(text_for_model(verdict_of(result), result.mode, escalation));
  on_a_line_of_its_own(std::visit(
      detail::Overloaded{
          [](const process::Exited& ended) {
            return ended.code == 0 ? std::string() : "[exit status " + std::to_string(ended.code) + "]";
          },
          [](const process::Signalled& ended) { return "[ended by signal " + std::to_string(ended.number) + "]"; },
          [](const process::TimedOut&) { return std::string("[ended: it took too long]"); },
          [](const process::Cancelled&) { return std::string("[ended: it was cancelled]"); },
          [](const process::OutputLimit&) { return std::string("[ended: it wrote too much]"); },
          [](const process::NotExecutable&) { return std::string(); }},
      result.ending));
  return text;
}

/// What holds for the commands of a session, to be put before a model. The same bytes as long as nothing changed, and
/// no word for or against a mode (APR-10).
[[nodiscard]] inline std::string runtime_context(SandboxMode mode, ApprovalPolicy policy,
                                                 SandboxMode ceiling = danger_full_access) {
  std::string text = "Sandbox mode: " + std::string(mode.name()) + ". ";
  text += mode.visit([](ReadOnly) { return "Commands can read files and change none."; },
                     [](WorkspaceWrite) {
                       return "Commands can read files, and change those in the workspace and in their temp directory.";
                     },
                     [](DangerFullAccess) { return "Commands are not confined."; });
  text += "\nApproval policy: " + std::string(name(policy)) + ". ";
  if (policy == ApprovalPolicy::never) return text + "Nobody is asked; what is not allowed already is refused.\n";
  const std::vector<SandboxMode> wider = wider_modes(mode, ceiling);
  if (wider.empty()) return text + "There is no wider mode to ask for.\n";
  text += "A command that was refused something can be asked for once under";
  for (const SandboxMode one : wider) text += (one == wider.front() ? " " : " or ") + std::string(one.name());
  return text + ", with a reason; the user decides.\n";
}

}  // namespace cordon
