// SPDX-License-Identifier: BSL-1.0
#pragma once

// Reads the plain session.jsonl of the system that cordon's rules come from, to see what a session there may do. Not to
// go on with it: nothing is ever written to one.

#include <algorithm>
#include <cordon/session/jsonl_log.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

/// What such a log says of its session.
struct ReferenceReport {
  std::int64_t version = 0;
  std::string id;
  std::int64_t created_at = 0;
  std::string cwd = {};  ///< empty: none
  std::optional<SandboxMode> mode = {};
  std::optional<ApprovalPolicy> approval_policy = {};
  std::optional<std::string> selected_preset = {};
  std::vector<std::string> unanswered = {};  ///< ids, oldest first
  std::optional<std::uint64_t> open_turn = {};
  std::uint64_t events = 0;         ///< rows that hold many are counted as many
  std::uint64_t kept_bytes = 0;     ///< up to the end of the last event that counts
  std::uint64_t ignored_bytes = 0;  ///< behind that: torn, or damaged with nothing since that decides anything (DUR-07)
};

namespace detail {

/// Event types of that system which say nothing about what a session may do. Known by name, since one that is not known
/// may change what the others mean (LOG-06).
inline constexpr std::string_view reference_event_types[] = {"agent-preset/selected",
                                                             "agent/inbox/spliced",
                                                             "assistant/attempt",
                                                             "assistant/chunk",
                                                             "assistant/message",
                                                             "command/done",
                                                             "command/run",
                                                             "compaction/end",
                                                             "compaction/prune",
                                                             "compaction/start",
                                                             "compaction/summary",
                                                             "deliverables/presented",
                                                             "developer/message",
                                                             "feedback/message-delete",
                                                             "feedback/message-put",
                                                             "feedback/record",
                                                             "goal/change",
                                                             "hook/invoked",
                                                             "hook/result",
                                                             "image/offload",
                                                             "llm/retry",
                                                             "llm/retry-started",
                                                             "model/selection",
                                                             "plan/mode",
                                                             "request/context",
                                                             "request/header",
                                                             "schedule/change",
                                                             "session-log-deepseek/delivery-accepted",
                                                             "session/end-seed",
                                                             "session/title",
                                                             "session/title-llm-request",
                                                             "step/end",
                                                             "step/start",
                                                             "subagent/catalog",
                                                             "subagent/descriptor",
                                                             "subagent/model-selection-policy",
                                                             "system/message",
                                                             "team/member",
                                                             "team/message/delivered",
                                                             "team/message/queued",
                                                             "team/task",
                                                             "todo/write",
                                                             "tool-workflow/agent-end",
                                                             "tool-workflow/agent-start",
                                                             "tool-workflow/run-end",
                                                             "tool-workflow/run-start",
                                                             "tool/call",
                                                             "tool/code-dispatch",
                                                             "tool/code-dispatch-start",
                                                             "tool/ptc-dispatch",
                                                             "tool/ptc-dispatch-start",
                                                             "tool/result",
                                                             "user/message",
                                                             "web/deepseek-search-llm-request",
                                                             "workspace/changes"};

class ReferenceLines : public LogPlace {
 public:
  explicit ReferenceLines(std::string path) : LogPlace(std::move(path)) {}

  void take(std::string_view line) {
    ++line_;
    const bool parsed = document_.parse(line, true);
    if (line_ == 1) {
      if (!parsed) refuse(std::string(document_.problem()));
      header(document_.root());
    } else {
      try {
        if (!parsed) throw CodecError(std::string(document_.problem()));
        if (!damage_) event(document_.root());
      } catch (const CodecError& error) {
        if (error.unsupported) refuse(error.what(), ErrorCode::log_unsupported);
        if (!damage_) damage_ = Damage{line_, offset_, error.what()};
      }
      if (damage_ && parsed && decides(document_.root())) {
        line_ = damage_->line;
        offset_ = damage_->offset;
        refuse(damage_->problem);
      }
    }
    offset_ += line.size() + 1;
    if (!damage_) report_.kept_bytes = offset_;
  }

  [[nodiscard]] ReferenceReport finish(std::size_t rest) && {
    require_header();
    report_.ignored_bytes = offset_ + rest - report_.kept_bytes;
    return std::move(report_);
  }

 private:
  struct Damage {
    std::uint64_t line;
    std::uint64_t offset;
    std::string problem;
  };

  /// What can't be left out: the end of a turn, whose events are committed with it, and what says what a session may
  /// do.
  [[nodiscard]] static bool decides(JsonValue line) {
    const auto type = line.find("type");
    if (!type || !type->is(JsonValue::Kind::string)) return false;
    for (const std::string_view one :
         {TurnEnded::type, ModeSwitched::type, ApprovalPolicySwitched::type, PresetSelected::type})
      if (type->text() == one) return true;
    return false;
  }

  void header(JsonValue line) try {
    using Kind = JsonValue::Kind;
    const auto type = line.find("type");
    if (!type || !type->is(Kind::string) || type->text() != "session") throw CodecError("this is no session header");
    const auto version = line.find("version");
    if (!version || !version->is(Kind::integer)) throw CodecError("\"version\" is not an integer");
    report_.version = version->integer();
    // Before anything else: another version may have other members (LOG-05).
    if (report_.version != 0)
      throw CodecError("it has version " + std::to_string(report_.version) + " and this cordon reads version 0" +
                           (report_.version > 0 ? ", an older one" : ", a newer one"),
                       true);
    JsonMembers members(line, "the header");
    (void)members.text("type");
    (void)members.integer("version");
    report_.id = members.text("id");
    report_.created_at = members.integer("createdAt");
    report_.cwd = members.some_text("cwd");
    (void)members.some_text("parentSession");
    const std::int64_t depth = members.integer("delegationDepth");
    const auto seed = members.some_integer("seedLength");
    (void)members.some_text("origin");
    (void)members.some_text("agentPreset");
    members.end();
    constexpr std::int64_t largest_safe = (std::int64_t{1} << 53U) - 1;
    if (report_.id.empty()) throw CodecError("the id is empty");
    if (report_.created_at < 0 || report_.created_at > largest_safe) throw CodecError("\"createdAt\" is no time");
    if (depth < 0 || seed.value_or(0) < 0) throw CodecError("a count is negative");
    if (!report_.cwd.empty() && !report_.cwd.starts_with('/')) throw CodecError("\"cwd\" is not an absolute path");
  } catch (const CodecError& error) {
    refuse(error.what(), error.unsupported ? ErrorCode::log_unsupported : ErrorCode::log_corrupt);
  }

  void event(JsonValue line) {
    const auto type_of_it = line.find("type");
    if (!type_of_it || !type_of_it->is(JsonValue::Kind::string)) throw CodecError("the line has no type");
    const std::string_view type = type_of_it->text();
    if (type == "text-chunks" || type == "reasoning-chunks") return packed(line, "texts");
    if (type == "tool-call-chunks") return packed(line, "args");
    JsonMembers members(line, "the line");
    (void)members.text("type");
    if (members.count("seq") != report_.events) throw CodecError("\"seq\" is not the next");
    (void)members.integer("time");
    const JsonValue data = members.value("data");
    (void)members.some("surfaceOp");
    (void)members.some("sourceEventSeqs");
    const bool ignorable = members.some_flag("ignorable");
    members.end();
    if (!governs(type, data) &&
        std::find(std::begin(reference_event_types), std::end(reference_event_types), type) ==
            std::end(reference_event_types) &&
        !ignorable)
      throw CodecError("events of type '" + std::string(type) + "' are not known", true);
    ++report_.events;
  }

  /// Many small events in one row: as many as it has texts, with one time gap fewer (DUR-04).
  void packed(JsonValue line, std::string_view texts) {
    JsonMembers members(line, "the row");
    (void)members.text("type");
    if (members.count("seq0") != report_.events) throw CodecError("\"seq0\" is not the next");
    (void)members.integer("time0");
    JsonMembers data(members.value("data"), "\"data\"");
    members.end();
    const std::size_t count = data.some_texts(texts).size();
    const JsonValue gaps = data.value("dt");
    std::size_t gap_count = 0;
    const bool integers = gaps.is(JsonValue::Kind::array) && gaps.each([&](JsonValue gap) {
      ++gap_count;
      return gap.is(JsonValue::Kind::integer);
    });
    if (count == 0 || !integers || gap_count + 1 != count) throw CodecError("a packed row has not one gap between two");
    report_.events += count;
  }

  /// True for the types that say what a session may do.
  bool governs(std::string_view type, JsonValue data) {
    if (type == ModeSwitched::type) {
      report_.mode = JsonMembers(data, "\"data\"").mode("mode");
    } else if (type == ApprovalPolicySwitched::type) {
      report_.approval_policy =
          JsonMembers(data, "\"data\"").one_of("policy", {ApprovalPolicy::ask, ApprovalPolicy::never});
    } else if (type == PresetSelected::type) {
      report_.selected_preset = JsonMembers(data, "\"data\"").text("preset");
    } else if (type == ApprovalAsked::type) {
      report_.unanswered.push_back(JsonMembers(data, "\"data\"").text("id"));
    } else if (type == ApprovalDecided::type) {
      const std::string id = JsonMembers(data, "\"data\"").text("id");
      const auto asked = std::find(report_.unanswered.begin(), report_.unanswered.end(), id);
      if (asked == report_.unanswered.end()) throw CodecError("a decision has no open question");
      report_.unanswered.erase(asked);
    } else if (type == TurnStarted::type) {
      report_.open_turn = JsonMembers(data, "\"data\"").count("turn");
    } else if (type == TurnEnded::type) {
      report_.open_turn.reset();
    } else {
      return false;
    }
    return true;
  }

  JsonDocument document_;
  ReferenceReport report_;
  std::optional<Damage> damage_;
};

}  // namespace detail

/// True when the first line of the file is a header of that system.
[[nodiscard]] inline bool is_reference_log(const std::string& path) {
  const os::Fd file = detail::open_log_to_read(path);
  const std::string text = os::read_rest<os::Kernel>(file.get(), std::size_t{1} << 16U);
  detail::JsonDocument document;
  if (!document.parse(std::string_view(text).substr(0, text.find('\n')), true)) return false;
  const auto type = document.root().find("type");
  return type && type->is(detail::JsonValue::Kind::string) && type->text() == "session";
}

/// Reads such a log, as that system does: a line that is damaged ends what counts, unless a turn has ended after it.
/// Throws LogError as `read_log` does; LOG_CORRUPT also for a mode or a policy that there is none of.
[[nodiscard]] inline ReferenceReport read_reference_log(const std::string& path) {
  const os::Fd file = detail::open_log_to_read(path);
  detail::ReferenceLines lines(path);
  const std::size_t rest =
      detail::read_lines<os::Kernel>(file.get(), path, lines, [&](std::string_view line) { lines.take(line); });
  return std::move(lines).finish(rest);
}

}  // namespace cordon
