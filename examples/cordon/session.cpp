// SPDX-License-Identifier: BSL-1.0
#include "session.hpp"

#include <cordon/session/jsonl_log.hpp>
#include <cordon/session/resolve.hpp>
#include <cstdio>
#include <utility>

#include "facts.hpp"
#include "failure.hpp"

namespace tool {

namespace {

using Session = cordon::Session<cordon::JsonlLog>;

cordon::SessionDefaults defaults_of(const SessionArguments& arguments) {
  return {cordon::SandboxMode::parse(arguments.default_mode),
          cordon::parse_approval_policy(arguments.default_approval)};
}

Session open(const SessionArguments& arguments) {
  return Session(cordon::JsonlLog::open(arguments.file), defaults_of(arguments));
}

void print(const Json& object) {
  std::puts(object.dump().c_str());
}

std::string shown(const Json& value) {
  return value.is_null() ? "none" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

int session_new(const SessionArguments& arguments) {
  if (arguments.cwd.empty()) throw Failure("USAGE", "session new needs --cwd, the directory that the session is about");
  cordon::JsonlLog::create(arguments.file, cordon::new_session(arguments.cwd)).flush();
  return 0;
}

int session_mode(const SessionArguments& arguments) {
  const auto mode = cordon::SandboxMode::parse(arguments.value);
  open(arguments).set_mode(mode);
  return 0;
}

int session_approval(const SessionArguments& arguments) {
  const auto policy = cordon::parse_approval_policy(arguments.value);
  open(arguments).set_approval_policy(policy);
  return 0;
}

int session_preset(const SessionArguments& arguments) {
  open(arguments).set_preset(arguments.value);
  return 0;
}

int session_turn(const SessionArguments& arguments) {
  Session session = open(arguments);
  if (arguments.value == "start") {
    // Begun for whoever comes next, with another process.
    (void)session.begin_turn(true);
  } else if (auto turn = session.continue_turn(); !turn) {
    throw cordon::SessionInvalidError("no turn is open; begin one with: cordon session turn FILE start");
  } else {
    turn->end();
  }
  session.with_log([](cordon::JsonlLog& log) { log.flush(); });
  return 0;
}

int session_show(const SessionArguments& arguments) {
  const cordon::SessionDefaults defaults = defaults_of(arguments);
  const cordon::LogReport report = cordon::read_log(arguments.file);
  const cordon::Knobs knobs = knobs_of(report.state, defaults);
  const auto& turn = report.state.open_turn();
  Json header{{"version", cordon::SessionHeader::current_version},
              {"id", readable(report.header.id)},
              {"created_at", report.header.created_at},
              {"cwd", report.header.cwd.empty() ? Json(nullptr) : Json(readable(report.header.cwd))}};
  if (!report.header.parent.empty()) header["parent"] = readable(report.header.parent);
  Json facts{{"header", std::move(header)},
             {"effective_mode", knobs.mode.name()},
             {"mode_source", report.state.mode() ? "session" : "deployment"},
             {"approval_policy", name(knobs.approval)},
             {"preset", readable(cordon::PresetTable().name_of(knobs, report.state.selected_preset()))},
             {"open_turn", turn ? Json(turn->turn) : Json(nullptr)},
             {"events", report.state.size()},
             {"torn_bytes", report.torn_bytes},
             {"unanswered_asks", Json::array()}};
  for (const std::string& id : report.state.unanswered()) facts["unanswered_asks"].push_back(readable(id));
  if (arguments.json) {
    print(facts);
    return 0;
  }
  for (const auto& [key, value] : facts.items()) {
    if (!value.is_object()) {
      std::printf("%-16s %s\n", key.c_str(), printable(shown(value)).c_str());
      continue;
    }
    for (const auto& [inner, detail] : value.items())
      std::printf("%-16s %s\n", inner.c_str(), printable(shown(detail)).c_str());
  }
  return 0;
}

int session_verify(const SessionArguments& arguments) {
  constexpr int torn = 1;
  constexpr int corrupt = 2;
  try {
    const cordon::LogReport report = cordon::read_log(arguments.file);
    std::printf("%llu events, %llu torn bytes\n", static_cast<unsigned long long>(report.state.size()),
                static_cast<unsigned long long>(report.torn_bytes));
    return report.torn_bytes == 0 ? 0 : torn;
  } catch (const cordon::LogError& error) {
    if (error.code() == cordon::ErrorCode::log_failed) throw;
    std::fprintf(stderr, "cordon: %s: %s\n", std::string(name(error.code())).c_str(), printable(error.what()).c_str());
    return corrupt;
  }
}

int resolve(const ResolveArguments& arguments) {
  const cordon::SessionDefaults defaults{cordon::SandboxMode::parse(arguments.default_mode)};
  std::optional<cordon::ExplicitMode> explicit_mode;
  if (arguments.mode) explicit_mode.emplace(cordon::SandboxMode::parse(*arguments.mode));
  cordon::PolicyRequest roots;
  roots.workspace_root = arguments.root;
  const cordon::ResolvedPolicy resolved = [&] {
    if (!arguments.session) return cordon::resolve(defaults, std::move(roots), std::move(explicit_mode));
    const cordon::LogReport report = cordon::read_log(*arguments.session);
    return cordon::resolve(report.header, report.state, defaults, std::move(roots), std::move(explicit_mode));
  }();
  print({{"mode", resolved.policy.mode().name()},
         {"workspace_root", readable(resolved.policy.scope().workspace_root)},
         {"source", name(resolved.source)}});
  return 0;
}

}  // namespace tool
