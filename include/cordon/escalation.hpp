// SPDX-License-Identifier: BSL-1.0
#pragma once

// One command, once, under a wider mode than its session has: asked for, decided, recorded and gone.

#include <algorithm>
#include <cordon/approval/service.hpp>
#include <cordon/audit.hpp>
#include <cordon/detail/characters.hpp>
#include <cordon/detail/utf8.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// What goes with a request for a wider mode.
struct EscalationDetails {
  PolicyRequest roots = {};  ///< as for `resolve`; the mode in it does not count
  process::RunOptions options = {};
  std::string tool = "command";  ///< what the model called
  std::string call_id = {};
};

/// Whether a wider mode may be asked for before the sandbox has refused the command anything.
struct AnyTime {
  template <SessionLog Log>
  static void check(const Turn<Log>&, const Action&) noexcept {}
};

/// Only a command that ran in this session, from the same directory, and was refused something. As sure as the record
/// of that is: where no observer looks on, a command that prints such a message counts. Throws ApprovalError
/// (ESCALATION_INVALID). Source: T-ESC-16.
struct OnlyAfterDenial {
  template <SessionLog Log>
  static void check(const Turn<Log>& turn, const Action& action) {
    std::vector<std::uint64_t> runs;
    bool denied = false;
    turn.for_each([&](const Record& record) {
      if (const auto* exec = std::get_if<ExecConfined>(&record.event); exec && exec->digest == action.command_digest())
        runs.push_back(record.seq);
      if (const auto* settled = std::get_if<ExecSettled>(&record.event); settled && !settled->denials.empty())
        denied = denied || std::find(runs.begin(), runs.end(), settled->exec) != runs.end();
    });
    if (!denied)
      throw ApprovalError(ErrorCode::escalation_invalid,
                          "the sandbox has refused this very command nothing yet; run it as it is first");
  }
};

/// The modes that are wider than this one and not wider than the ceiling: what may be offered to a model (T-ESC-01).
[[nodiscard]] inline std::vector<SandboxMode> wider_modes(SandboxMode effective,
                                                          SandboxMode ceiling = danger_full_access) {
  std::vector<SandboxMode> modes;
  for (const SandboxMode mode : {SandboxMode(workspace_write), SandboxMode(danger_full_access)})
    if (mode.wider_than(effective) && !mode.wider_than(ceiling)) modes.push_back(mode);
  return modes;
}

namespace detail {

[[noreturn]] inline void refuse_outcome(ErrorCode code, std::string_view tool, std::string text,
                                        const std::string& reason) {
  if (!reason.empty()) text += " (" + reason + ")";
  throw ApprovalError(code, "the " + std::string(tool) + " was not run: " + text);
}

}  // namespace detail

/// Throws ApprovalError (ESCALATION_INVALID) when nothing that can be seen says why (ESC-02).
inline void require_justification(std::string_view justification) {
  for (std::string_view rest = justification; !rest.empty();) {
    const std::size_t length = detail::character_length(rest);
    const std::uint32_t number = length == 0 ? 0 : detail::code_point(rest, length);
    if (number > 0x20 && !detail::is_among(detail::not_to_be_seen, number)) return;
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  throw ApprovalError(ErrorCode::escalation_invalid,
                      "a wider mode needs a justification; say in a sentence why the command needs it");
}

/// Asks for leave to do an action under its mode, and starts it in the background when it is given: see start_in.
/// Throws ApprovalError when it is not: APPROVAL_REJECTED, APPROVAL_CANCELLED or APPROVAL_UNAVAILABLE, each with its
/// own text; nothing runs then.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running ask_and_start(Turn<Log>& turn, Harness& harness, ApprovalRequest request, const Mask& mask = {},
                                    detail::Followed followed = detail::in_background) {
  const std::string tool = request.tool();
  const std::stop_token stop = request.action().options().limits.stop;
  return harness.approvals()
      .request(turn, std::move(request), stop)
      .visit([&](AllowedOnce grant) { return start_in(turn, harness, std::move(grant), mask, followed); },
             [&](const Rejected& no) -> Running {
               detail::refuse_outcome(ErrorCode::approval_rejected, tool,
                                      "its approval was rejected; do it another way, or ask the user", no.reason);
             },
             [&](const Cancelled& no) -> Running {
               detail::refuse_outcome(ErrorCode::approval_cancelled, tool,
                                      "the question was cancelled before somebody decided", no.reason);
             },
             [&](const Unavailable& no) -> Running {
               detail::refuse_outcome(ErrorCode::approval_unavailable, tool,
                                      "nobody could decide about its approval; tell the user", no.reason);
             });
}

/// The same, and waits: see run_in.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Follow = detail::Wait>
[[nodiscard]] RunResult ask_and_run(Turn<Log>& turn, Harness& harness, ApprovalRequest request, const Mask& mask = {},
                                    Follow follow = {}) {
  Running running = ask_and_start(turn, harness, std::move(request), mask, detail::Followed::by<Follow>());
  return follow(running);
}

/// The question about an action under a wider mode: its reason is that mode and why.
[[nodiscard]] inline ApprovalRequest escalation_request(Action action, std::string_view justification,
                                                        std::string tool = "command", std::string call_id = {}) {
  std::string reason = std::string(action.mode().name()) + ": " + std::string(justification);
  return ApprovalRequest(std::move(tool), std::move(action), std::move(reason), std::move(call_id));
}

/// Starts a command in the background, under `mode` when somebody allows that: this argv, once, within the same root. A
/// mode that is not wider than the one in effect needs nobody's leave, and the command starts at once under the one in
/// effect. Nothing of it stays: the next command has the session's mode again, and the log no other than before.
///
/// Throws ApprovalError: ESCALATION_INVALID without a justification, or when the Rule says so, before anybody is asked;
/// else as ask_and_start. What start_in throws is thrown too.
template <class Rule = AnyTime, class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_escalated(Turn<Log>& turn, Harness& harness, const Argv& command, SandboxMode mode,
                                      std::string_view justification, EscalationDetails details = {},
                                      const Mask& mask = {}, detail::Followed followed = detail::in_background) {
  require_justification(justification);
  if (const SandboxMode effective = turn.effective_mode(); !mode.wider_than(effective)) {
    return resolve_protected(turn, std::move(details.roots), std::nullopt)
        .visit(
            [&](const Policy<DangerFullAccess>& policy) {
              return start_in(turn, harness, UnconfinedArgv(policy, command), full_access_reason(turn, false),
                              std::move(details.options), mask, followed);
            },
            [&](const auto& policy) {
              return start_in(turn, harness, policy, command, std::move(details.options), mask, followed);
            });
  }
  PolicyScope scope = resolve_protected(turn, std::move(details.roots), mode).scope();
  Action action(command, mode, std::move(scope), std::move(details.options));
  Rule::check(turn, action);
  return ask_and_start(
      turn, harness,
      escalation_request(std::move(action), justification, std::move(details.tool), std::move(details.call_id)), mask,
      followed);
}

/// The same where both modes are known when it is compiled: from the policy that the command has, to a mode that must
/// be wider.
template <class Rule = AnyTime, class Harness, SessionLog Log, Mode From, Mode To, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_escalated(Turn<Log>& turn, Harness& harness, const Policy<From>& from, const Argv& command,
                                      To, std::string_view justification, EscalationDetails details = {},
                                      const Mask& mask = {}, detail::Followed followed = detail::in_background) {
  static_assert(
      WiderThan<To, From>,
      "cordon: run_escalated asks for a mode that is wider than that of the policy; for the same or a narrower "
      "one write cordon::run_in(turn, harness, policy, argv)");
  require_justification(justification);
  Action action(command, To{}, from.scope(), std::move(details.options));
  Rule::check(turn, action);
  return ask_and_start(
      turn, harness,
      escalation_request(std::move(action), justification, std::move(details.tool), std::move(details.call_id)), mask,
      followed);
}

/// As start_escalated, and waits: see run_in.
template <class Rule = AnyTime, class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Follow = detail::Wait>
[[nodiscard]] RunResult run_escalated(Turn<Log>& turn, Harness& harness, const Argv& command, SandboxMode mode,
                                      std::string_view justification, EscalationDetails details = {},
                                      const Mask& mask = {}, Follow follow = {}) {
  Running running = start_escalated<Rule>(turn, harness, command, mode, justification, std::move(details), mask,
                                          detail::Followed::by<Follow>());
  return follow(running);
}
template <class Rule = AnyTime, class Harness, SessionLog Log, Mode From, Mode To, ArgvMask Mask = ShowAll,
          class Follow = detail::Wait>
[[nodiscard]] RunResult run_escalated(Turn<Log>& turn, Harness& harness, const Policy<From>& from, const Argv& command,
                                      To to, std::string_view justification, EscalationDetails details = {},
                                      const Mask& mask = {}, Follow follow = {}) {
  Running running = start_escalated<Rule>(turn, harness, from, command, to, justification, std::move(details), mask,
                                          detail::Followed::by<Follow>());
  return follow(running);
}

}  // namespace cordon
