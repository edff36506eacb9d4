// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/answerers/any.hpp>
#include <cordon/approval/request.hpp>
#include <cordon/confined.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/session/codec.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// A request as one line of JSON, for a program that decides. Text that is no UTF-8 is {"hex":"…"}.
[[nodiscard]] inline std::string to_json(const ApprovalRequest& request) {
  std::string line;
  {
    detail::JsonObjectWriter out(line);
    out.integer("version", 1);
    out.text("id", request.id());
    out.text("tool", request.tool());
    out.some_text("call_id", request.call_id());
    out.some_text("reason", request.reason());
    const Action& action = request.action();
    detail::JsonObjectWriter what(out.member("action"));
    what.texts("argv", action.command().elements());
    what.text("mode", action.mode().name());
    what.text("workspace_root", action.scope().workspace_root);
    what.texts("extra_roots", action.scope().extra_roots);
    what.texts("protected_paths", action.scope().protected_paths);
    what.text("working_directory", action.working_directory());
    what.text("executable", action.executable().path);
    {
      detail::JsonObjectWriter environment(what.member("environment"));
      environment.texts("set", action.environment().set);
      environment.texts("removed", action.environment().removed);
    }
    {
      detail::JsonObjectWriter input(what.member("input"));
      input.text("kind", action.input_kind());
      if (const auto& content = action.options().input.content()) input.text("text", *content);
    }
    what.member("terminal") += action.options().terminal ? "true" : "false";
    {
      detail::JsonObjectWriter limits(what.member("limits"));
      action.scope().resources.for_each(
          [&](Resource resource, std::uint64_t value) { limits.integer(cordon::name(resource), value); });
    }
    what.text("digest", action.digest());
  }
  return line + "\n";
}

struct CommandAnswererOptions {
  std::optional<std::chrono::milliseconds> time_limit = {};
};

/// Asks another program: it gets the request as one line of JSON on its standard input, and decides by printing
/// `{"outcome":"allowed-once"}` or `{"outcome":"rejected"}`, with a "reason" if it likes, and the "id" of the request
/// if it likes. Anything else is `unavailable`: another text, an exit status that is not 0, a program that is not there
/// or takes too long. Then whoever is behind it is asked, if somebody is.
///
/// It runs with no confinement, with the core of this program's environment, in this program's directory: it is the
/// operator's.
class CommandAnswerer {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "command";

  /// `program` is looked up along PATH unless it has a slash.
  explicit CommandAnswerer(Argv program, CommandAnswererOptions options = {})
      : program_(std::move(program)), options_(options) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) const {
    Decision decision = ask(request, next.stop());
    decision.sign(name);
    if (decision.result() != ApprovalResult::unavailable) return decision;
    Decision later = next();
    return later.is_from_nobody() ? decision : later;
  }

 private:
  [[nodiscard]] Decision ask(const ApprovalRequest& request, const std::stop_token& stop) const {
    process::RunOptions options;
    options.working_directory = os::current_directory();
    options.environment =
        process::make_environment({.inherit = process::Inherit::core}, process::ambient_environment(), true).entries;
    options.input = process::Input::bytes(to_json(request));
    options.max_output = std::size_t{1} << 16U;
    options.limits.output = std::size_t{1} << 20U;
    options.limits.wall = options_.time_limit;
    options.limits.stop = stop;
    options.limits.grace = std::chrono::milliseconds(500);
    const process::Completed done =
        PolicyResolver::resolve({.mode = danger_full_access, .workspace_root = "/", .allow_broad_root = true})
            .visit(
                [&](const Policy<DangerFullAccess>& policy) {
                  return process::run(UnconfinedArgv(policy, program_), std::move(options));
                },
                [](const auto&) -> process::Completed {
                  throw PolicyInvalidError("full access was resolved to less; tell the authors of cordon");
                });
    if (std::holds_alternative<process::Cancelled>(done.ending)) return Decision::stopped();
    if (std::holds_alternative<process::TimedOut>(done.ending))
      return Decision::unavailable(program_.program() + " did not answer within its time limit");
    const auto* exited = std::get_if<process::Exited>(&done.ending);
    if (exited == nullptr) return Decision::unavailable(program_.program() + " could not be run, or was ended");
    if (exited->code != 0)
      return Decision::unavailable(program_.program() + " ended with status " + std::to_string(exited->code));
    if (done.out.dropped() != 0) return Decision::unavailable(program_.program() + " printed more than an answer");
    return read(done.out.text(), request.id());
  }

  [[nodiscard]] Decision read(std::string_view text, std::string_view id) const {
    const auto refuse = [&](const char* why) { return Decision::unavailable(program_.program() + why); };
    try {
      detail::JsonDocument document;
      if (!document.parse(text)) return refuse(" did not print one JSON object");
      detail::JsonMembers members(document.root(), "the answer");
      const std::string outcome = members.text("outcome");
      const std::string reason = members.some_text("reason");
      const std::string of = members.some_text("id");
      members.end();
      if (!of.empty() && of != id) return refuse(" answered another question");
      if (outcome == cordon::name(ApprovalResult::allowed_once)) return Decision::allow();
      if (outcome == cordon::name(ApprovalResult::rejected)) return Decision::reject(reason);
      return refuse(" gave an answer that is none");
    } catch (const detail::CodecError&) {
      return refuse(" gave an answer that is none");
    }
  }

  Argv program_;
  CommandAnswererOptions options_;
};

}  // namespace cordon
