// SPDX-License-Identifier: BSL-1.0
#include "session.hpp"

#include <cordon/session/jsonl_log.hpp>
#include <cordon/session/reference_log.hpp>
#include <cordon/session/resolve.hpp>
#include <cstdio>
#include <utility>

#include "facts.hpp"
#include "failure.hpp"

#ifdef CORDON_TOOL_CHAINS
#include <cordon/session/sha256.hpp>
#endif

namespace tool {

cordon::ChainHash chain_hash() {
#ifdef CORDON_TOOL_CHAINS
  return cordon::sha256;
#else
  return nullptr;
#endif
}

namespace {

using Session = cordon::Session<cordon::JsonlLog>;

cordon::SessionDefaults defaults_of(const SessionArguments& arguments) {
  return {cordon::SandboxMode::parse(arguments.default_mode),
          cordon::parse_approval_policy(arguments.default_approval)};
}

/// What was asked for is checked before: opening a log repairs its end.
Session open(const SessionArguments& arguments) {
  const cordon::SessionDefaults defaults = defaults_of(arguments);
  return Session(cordon::JsonlLog::open(arguments.file, {.chain = chain_hash()}), defaults);
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
  if (arguments.hash_chain && chain_hash() == nullptr)
    throw Failure("NOT_BUILT",
                  "--hash-chain takes libcrypto; build cordon with CORDON_WITH_LIBCRYPTO, or leave it out");
  const cordon::JsonlOptions options{.chain = arguments.hash_chain ? chain_hash() : nullptr};
  cordon::JsonlLog::create(arguments.file, cordon::new_session(arguments.cwd), options).flush();
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
  (void)cordon::PresetTable().require(arguments.value);
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
  session.flush();
  return 0;
}

namespace {

/// What `session show` says of any log.
Json facts_of(Json header, const std::optional<cordon::SandboxMode>& mode,
              const std::optional<cordon::ApprovalPolicy>& approval, const std::optional<std::string>& selected,
              const cordon::SessionDefaults& defaults) {
  const cordon::Knobs knobs{mode.value_or(defaults.mode), approval.value_or(defaults.approval)};
  return {{"header", std::move(header)},
          {"effective_mode", knobs.mode.name()},
          {"mode_source", mode ? "session" : "deployment"},
          {"approval_policy", name(knobs.approval)},
          {"preset", readable(cordon::PresetTable().name_of(knobs, selected))}};
}

Json header_of(std::int64_t version, const std::string& id, std::int64_t created_at, const std::string& cwd) {
  return {{"version", version},
          {"id", readable(id)},
          {"created_at", created_at},
          {"cwd", cwd.empty() ? Json(nullptr) : Json(readable(cwd))}};
}

void add_rest(Json& facts, const Json& open_turn, std::uint64_t events, std::uint64_t torn,
              const std::vector<std::string>& unanswered) {
  facts["open_turn"] = open_turn;
  facts["events"] = events;
  facts["torn_bytes"] = torn;
  facts["unanswered_asks"] = Json::array();
  for (const std::string& id : unanswered) facts["unanswered_asks"].push_back(readable(id));
}

}  // namespace

int session_show(const SessionArguments& arguments) {
  const cordon::SessionDefaults defaults = defaults_of(arguments);
  Json facts;
  if (cordon::is_reference_log(arguments.file)) {
    const cordon::ReferenceReport report = cordon::read_reference_log(arguments.file);
    facts = facts_of(header_of(report.version, report.id, report.created_at, report.cwd), report.mode,
                     report.approval_policy, report.selected_preset, defaults);
    add_rest(facts, report.open_turn ? Json(*report.open_turn) : Json(nullptr), report.events, report.ignored_bytes,
             report.unanswered);
  } else {
    const cordon::LogReport report = cordon::read_log(arguments.file);
    const cordon::SessionState& state = report.state;
    Json header = header_of(cordon::SessionHeader::current_version, report.header.id, report.header.created_at,
                            report.header.cwd);
    if (!report.header.parent.empty()) header["parent"] = readable(report.header.parent);
    facts = facts_of(std::move(header), state.mode(), state.approval_policy(), state.selected_preset(), defaults);
    add_rest(facts, state.open_turn() ? Json(state.open_turn()->turn) : Json(nullptr), state.size(), report.torn_bytes,
             state.unanswered());
    facts["remembered"] = Json::array();
    for (const cordon::ApprovalRemembered& rule : state.remembered()) {
      Json words = Json::array();
      for (const std::string& word : rule.words) words.push_back(readable(word));
      facts["remembered"].push_back({{"id", readable(rule.id)},
                                     {"words", words},
                                     {"exact", rule.exact},
                                     {"mode", rule.mode.name()},
                                     {"workspace_root", readable(rule.workspace_root)},
                                     {"working_directory", readable(rule.working_directory)}});
    }
  }
  if (arguments.json) {
    print(facts);
    return 0;
  }
  for (const auto& [key, value] : facts.items()) {
    if (!value.is_object()) {
      std::printf("%-16s %s\n", key.c_str(), cordon::shown(shown(value)).c_str());
      continue;
    }
    for (const auto& [inner, detail] : value.items())
      std::printf("%-16s %s\n", inner.c_str(), cordon::shown(shown(detail)).c_str());
  }
  return 0;
}

int session_verify(const SessionArguments& arguments) {
  constexpr int torn = 1;
  constexpr int corrupt = 2;
  try {
    const cordon::LogReport report = cordon::read_log(arguments.file, chain_hash());
    std::printf("%llu events, %llu torn bytes\n", static_cast<unsigned long long>(report.state.size()),
                static_cast<unsigned long long>(report.torn_bytes));
    if (report.header.chained)
      std::printf("chain of hashes: %s\n", report.last_hash.empty() ? "not checked, since this tool has no libcrypto"
                                                                    : ("sound up to " + report.last_hash).c_str());
    return report.torn_bytes == 0 ? 0 : torn;
  } catch (const cordon::LogError& error) {
    if (error.code() == cordon::ErrorCode::log_failed) throw;
    complain(name(error.code()), error.what());
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
