// SPDX-License-Identifier: BSL-1.0
#pragma once

// How events are written: the one place that knows. One JSON object a line; text that is no UTF-8, as a file's name may
// be none, is written as {"hex":"…"} and comes back as it was.

#include <charconv>
#include <cordon/detail/hex.hpp>
#include <cordon/detail/json.hpp>
#include <cordon/session/event.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon::detail {

/// Why a line is no record. `unsupported`: only this version can't read it.
struct CodecError : std::runtime_error {
  explicit CodecError(const std::string& problem, bool only_here = false)
      : std::runtime_error(problem), unsupported(only_here) {}
  bool unsupported;
};

/// Writes an object, member after member.
class JsonObjectWriter {
 public:
  explicit JsonObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObjectWriter() { out_ += '}'; }
  JsonObjectWriter(const JsonObjectWriter&) = delete;
  JsonObjectWriter& operator=(const JsonObjectWriter&) = delete;

  /// `name` needs no escape.
  std::string& member(std::string_view name) {
    if (!std::exchange(first_, false)) out_ += ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view name, std::string_view value) { append_text(member(name), value); }
  /// Left out when it is empty.
  void some_text(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  template <class Integer>
  void integer(std::string_view name, Integer value) {
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    member(name).append(digits, static_cast<std::size_t>(end - digits));
  }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    member(name) += '[';
    for (const std::string& value : values) {
      if (&value != values.data()) out_ += ',';
      append_text(out_, value);
    }
    out_ += ']';
  }

  static void append_text(std::string& out, std::string_view value) {
    if (is_utf8(value)) return append_json_string(out, value);
    out += "{\"hex\":\"";
    for (const char c : value) append_hex(out, static_cast<unsigned char>(c));
    out += "\"}";
  }

 private:
  std::string& out_;
  bool first_ = true;
};

/// Takes the members of an object one by one; what nobody takes is an error.
class JsonMembers {
 public:
  /// `what` names the object in errors.
  JsonMembers(JsonValue object, std::string_view what) : object_(object), what_(what) {
    if (!object.is(JsonValue::Kind::object)) throw CodecError(std::string(what) + " is not an object");
    object.each([&](std::string_view, JsonValue) {
      ++left_;
      return true;
    });
  }

  [[nodiscard]] std::optional<JsonValue> some(std::string_view name) {
    const auto found = object_.find(name);
    if (found) --left_;
    return found;
  }
  [[nodiscard]] JsonValue value(std::string_view name) {
    if (const auto found = some(name)) return *found;
    throw CodecError(std::string(what_) + " has no \"" + std::string(name) + "\"");
  }

  [[nodiscard]] std::string text(std::string_view name) { return text_of(value(name), name); }
  [[nodiscard]] std::string some_text(std::string_view name) {
    const auto found = some(name);
    return found ? text_of(*found, name) : std::string();
  }
  /// Empty when it is not there.
  [[nodiscard]] std::vector<std::string> some_texts(std::string_view name) {
    std::vector<std::string> result;
    const auto list = some(name);
    if (!list) return result;
    if (!list->is(JsonValue::Kind::array)) throw CodecError("\"" + std::string(name) + "\" is not a list");
    list->each([&](JsonValue element) {
      result.push_back(text_of(element, name));
      return true;
    });
    return result;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name) { return integer_of(value(name), name); }
  [[nodiscard]] std::optional<std::int64_t> some_integer(std::string_view name) {
    const auto found = some(name);
    return found ? std::optional(integer_of(*found, name)) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t count(std::string_view name) {
    const std::int64_t number = integer(name);
    if (number < 0) throw CodecError("\"" + std::string(name) + "\" is negative");
    return static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] bool some_flag(std::string_view name) {
    const auto found = some(name);
    if (found && !found->is(JsonValue::Kind::boolean))
      throw CodecError("\"" + std::string(name) + "\" is neither true nor false");
    return found && found->integer() == 1;
  }
  /// One of `values`, by its name.
  template <class Enum, std::size_t N>
  [[nodiscard]] Enum one_of(std::string_view name_of_it, const Enum (&values)[N]) {
    const std::string spelled = text(name_of_it);
    for (const Enum candidate : values)
      if (spelled == name(candidate)) return candidate;
    throw CodecError("there is no " + std::string(name_of_it) + " '" + spelled + "'");
  }
  [[nodiscard]] std::optional<SandboxMode> some_mode(std::string_view name_of_it) {
    const std::string spelled = some_text(name_of_it);
    if (spelled.empty()) return std::nullopt;
    try {
      return SandboxMode::parse(spelled);
    } catch (const PolicyInvalidError&) {
      throw CodecError("there is no mode '" + spelled + "'");
    }
  }
  [[nodiscard]] SandboxMode mode(std::string_view name_of_it) {
    if (const auto mode = some_mode(name_of_it)) return *mode;
    throw CodecError(std::string(what_) + " has no mode");
  }

  void end() const {
    if (left_ != 0) throw CodecError(std::string(what_) + " has a member that does not belong there");
  }

  [[nodiscard]] static std::string text_of(JsonValue value, std::string_view name) {
    if (value.is(JsonValue::Kind::string)) return std::string(value.text());
    const auto hex = value.find("hex");
    if (!hex || !hex->is(JsonValue::Kind::string)) throw CodecError("\"" + std::string(name) + "\" is not a text");
    std::string bytes;
    const std::string_view digits = hex->text();
    for (std::size_t i = 0; i + 2 <= digits.size(); i += 2) {
      unsigned byte = 0;
      if (std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16).ptr != digits.data() + i + 2) break;
      bytes += static_cast<char>(byte);
    }
    if (bytes.size() * 2 != digits.size() || is_utf8(bytes))
      throw CodecError("\"" + std::string(name) + "\" is not the hex of a text that is no UTF-8");
    return bytes;
  }

 private:
  [[nodiscard]] static std::int64_t integer_of(JsonValue value, std::string_view name) {
    if (!value.is(JsonValue::Kind::integer)) throw CodecError("\"" + std::string(name) + "\" is not an integer");
    return value.integer();
  }

  JsonValue object_;
  std::string_view what_;
  std::size_t left_ = 0;
};

inline void write_data(JsonObjectWriter& data, const ModeSwitched& event) {
  data.text("mode", event.mode.name());
  data.some_text("source", event.source);
}
inline void write_data(JsonObjectWriter& data, const ApprovalPolicySwitched& event) {
  data.text("policy", name(event.policy));
  data.some_text("source", event.source);
}
inline void write_data(JsonObjectWriter& data, const PresetSelected& event) {
  data.text("preset", event.preset);
  data.integer("switches", event.switches);
}
inline void write_data(JsonObjectWriter& data, const ApprovalAsked& event) {
  data.text("id", event.id);
  data.text("tool", event.tool);
  data.some_text("call_id", event.call_id);
  data.some_text("reason", event.reason);
  if (event.mode) data.text("mode", event.mode->name());
  if (!event.argv.empty()) data.texts("argv", event.argv);
  data.some_text("workspace_root", event.workspace_root);
  data.some_text("working_directory", event.working_directory);
  data.some_text("digest", event.digest);
}
inline void write_data(JsonObjectWriter& data, const ApprovalDecided& event) {
  data.text("id", event.id);
  data.text("outcome", name(event.outcome));
  data.some_text("answered_by", event.answered_by);
}
inline void write_data(JsonObjectWriter& data, const ApprovalRemembered& event) {
  data.text("id", event.id);
  data.texts("words", event.words);
  if (event.exact) data.member("exact") += "true";
  data.text("mode", event.mode.name());
  data.text("workspace_root", event.workspace_root);
  data.text("working_directory", event.working_directory);
  data.text("setting", event.setting);
}
inline void write_data(JsonObjectWriter& data, const TurnStarted& event) {
  data.integer("turn", event.turn);
  if (event.detached) data.member("detached") += "true";
}
inline void write_data(JsonObjectWriter& data, const TurnEnded& event) {
  data.integer("turn", event.turn);
  data.text("reason", name(event.reason));
}
inline void write_data(JsonObjectWriter& data, const ExecConfined& event) {
  data.texts("argv", event.argv);
  data.text("mode", event.mode.name());
  data.text("workspace_root", event.workspace_root);
  data.text("backend", event.backend);
  data.text("enforcement", event.missing.empty() ? "full" : "partial");
  std::vector<std::string> missing;
  event.missing.for_each([&](FileEffect effect) { missing.emplace_back(name(effect)); });
  data.texts("missing", missing);
  data.some_text("allowed_by", event.allowed_by);
  data.some_text("digest", event.digest);
  if (event.background) data.member("background") += "true";
}
inline void write_data(JsonObjectWriter& data, const ExecUnconfined& event) {
  data.texts("argv", event.argv);
  data.text("workspace_root", event.workspace_root);
  data.text("allowed_by", event.allowed_by);
  data.some_text("digest", event.digest);
  if (event.background) data.member("background") += "true";
}
inline void write_data(JsonObjectWriter& data, const ExecSettled& event) {
  data.integer("exec", event.exec);
  data.text("outcome", event.outcome);
  if (event.exit_code) data.integer("exit_code", *event.exit_code);
  if (event.signal) data.integer("signal", *event.signal);
  if (event.denials.empty()) return;
  std::string& out = data.member("denials");
  char next = '[';
  for (const ExecSettled::Refused& refused : event.denials) {
    out += std::exchange(next, ',');
    JsonObjectWriter denial(out);
    denial.text("effect", name(refused.effect));
    denial.some_text("path", refused.path);
    denial.some_text("errno", refused.error);
  }
  out += ']';
}
inline void write_data(JsonObjectWriter&, const IgnoredEvent&) {}

inline FileEffect read_effect(std::string_view spelled) {
  for (const FileEffect effect : all_file_effects)
    if (spelled == name(effect)) return effect;
  throw CodecError("there is no file effect '" + std::string(spelled) + "'");
}

template <class E>
using As = std::in_place_type_t<E>;

// Elements of a braced list are made in their order, which is that of the members.
inline ModeSwitched read_data(JsonMembers& data, As<ModeSwitched>) {
  return {data.mode("mode"), data.some_text("source")};
}
inline ApprovalPolicySwitched read_data(JsonMembers& data, As<ApprovalPolicySwitched>) {
  return {data.one_of("policy", {ApprovalPolicy::ask, ApprovalPolicy::never}), data.some_text("source")};
}
inline PresetSelected read_data(JsonMembers& data, As<PresetSelected>) {
  return {data.text("preset"), data.count("switches")};
}
inline ApprovalAsked read_data(JsonMembers& data, As<ApprovalAsked>) {
  return {data.text("id"),
          data.text("tool"),
          data.some_text("call_id"),
          data.some_text("reason"),
          data.some_mode("mode"),
          data.some_texts("argv"),
          data.some_text("workspace_root"),
          data.some_text("working_directory"),
          data.some_text("digest")};
}
inline ApprovalDecided read_data(JsonMembers& data, As<ApprovalDecided>) {
  return {data.text("id"),
          data.one_of("outcome", {ApprovalResult::allowed_once, ApprovalResult::rejected, ApprovalResult::cancelled,
                                  ApprovalResult::unavailable}),
          data.some_text("answered_by")};
}
inline ApprovalRemembered read_data(JsonMembers& data, As<ApprovalRemembered>) {
  return {data.text("id"),     data.some_texts("words"),    data.some_flag("exact"),
          data.mode("mode"),   data.text("workspace_root"), data.text("working_directory"),
          data.text("setting")};
}
inline TurnStarted read_data(JsonMembers& data, As<TurnStarted>) {
  return {data.count("turn"), data.some_flag("detached")};
}
inline TurnEnded read_data(JsonMembers& data, As<TurnEnded>) {
  return {data.count("turn"), data.one_of("reason", {TurnEnding::completed, TurnEnding::interrupted})};
}
inline ExecConfined read_data(JsonMembers& data, As<ExecConfined>) {
  ExecConfined event{data.some_texts("argv"), data.mode("mode"), data.text("workspace_root"), data.text("backend")};
  const std::string level = data.text("enforcement");
  for (const std::string& effect : data.some_texts("missing"))
    event.missing = event.missing | EffectSet{read_effect(effect)};
  if (level != (event.missing.empty() ? "full" : "partial"))
    throw CodecError("the enforcement does not fit to what is missing");
  event.allowed_by = data.some_text("allowed_by");
  event.digest = data.some_text("digest");
  event.background = data.some_flag("background");
  return event;
}
inline ExecUnconfined read_data(JsonMembers& data, As<ExecUnconfined>) {
  return {data.some_texts("argv"), data.text("workspace_root"), data.text("allowed_by"), data.some_text("digest"),
          data.some_flag("background")};
}
inline ExecSettled read_data(JsonMembers& data, As<ExecSettled>) {
  ExecSettled event{data.count("exec"), data.text("outcome"), data.some_integer("exit_code"),
                    data.some_integer("signal")};
  const auto denials = data.some("denials");
  if (!denials) return event;
  if (!denials->is(JsonValue::Kind::array)) throw CodecError("\"denials\" is not a list");
  denials->each([&](JsonValue element) {
    JsonMembers denial(element, "a denial");
    event.denials.push_back({read_effect(denial.text("effect")), denial.some_text("path"), denial.some_text("errno")});
    denial.end();
    return true;
  });
  return event;
}

/// Reads the data of the alternative of Event whose type it is. Empty when there is none.
template <std::size_t I = 0>
std::optional<Event> read_event(std::string_view type, JsonValue data) {
  if constexpr (I == std::variant_size_v<Event>) {
    return std::nullopt;
  } else {
    using E = std::variant_alternative_t<I, Event>;
    if constexpr (!std::is_same_v<E, IgnoredEvent>) {
      if (type == E::type) {
        JsonMembers members(data, "\"data\"");
        Event event = read_data(members, As<E>{});
        members.end();
        return event;
      }
    }
    return read_event<I + 1>(type, data);
  }
}

/// How a line with a hash ends, and how long that is.
inline constexpr std::string_view hash_member = ",\"hash\":\"";
inline constexpr std::size_t hash_length = 64;
inline constexpr std::size_t hash_end = hash_member.size() + hash_length + 2;

/// Appends a record as one line.
inline void write_record(std::string& out, const Record& record) {
  {
    JsonObjectWriter line(out);
    line.integer("seq", record.seq);
    line.integer("time", record.time);
    std::visit(
        [&](const auto& event) {
          line.text("type", event.type);
          // A version that does not know it asks again.
          if constexpr (std::is_same_v<std::decay_t<decltype(event)>, ApprovalRemembered>)
            line.member("ignorable") += "true";
          JsonObjectWriter data(line.member("data"));
          write_data(data, event);
        },
        record.event);
  }
  out += '\n';
}

/// Reads a line. Throws CodecError, also when it has a hash and is to have none, or the other way round.
[[nodiscard]] inline Record read_record(JsonValue line, bool chained = false) {
  JsonMembers members(line, "the line");
  const std::uint64_t seq = members.count("seq");
  const std::int64_t time = members.integer("time");
  const std::string type = members.text("type");
  const JsonValue data = members.value("data");
  const bool ignorable = members.some_flag("ignorable");
  if (chained) (void)members.text("hash");
  members.end();
  if (auto event = read_event(type, data)) return {seq, time, *std::move(event)};
  if (!ignorable) throw CodecError("this version of cordon does not know events of type '" + type + "'", true);
  return {seq, time, IgnoredEvent{type}};
}

/// Appends the first line of a log.
inline void write_header(std::string& out, const SessionHeader& header) {
  {
    JsonObjectWriter line(out);
    line.integer("version", SessionHeader::current_version);
    line.text("id", header.id);
    line.integer("created_at", header.created_at);
    line.some_text("cwd", header.cwd);
    if (header.cwd_identity)
      line.text("cwd_identity", std::to_string(header.cwd_identity->device) + ":" +
                                    std::to_string(header.cwd_identity->inode) + ":" +
                                    std::to_string(header.cwd_identity->born));
    line.some_text("parent", header.parent);
    if (header.chained) line.text("chain", "sha256");
  }
  out += '\n';
}

/// Reads the first line of a log. Throws CodecError.
[[nodiscard]] inline SessionHeader read_header(JsonValue line) {
  JsonMembers members(line, "the first line");
  const std::int64_t version = members.integer("version");
  // Before anything else: another version may have other members.
  if (version != SessionHeader::current_version)
    throw CodecError("it has version " + std::to_string(version) + " and this cordon reads version " +
                         std::to_string(SessionHeader::current_version) +
                         (version > SessionHeader::current_version ? "; read it with a newer cordon"
                                                                   : "; read it with an older cordon"),
                     true);
  SessionHeader header{members.text("id"), members.integer("created_at"), members.some_text("cwd")};
  if (const std::string identity = members.some_text("cwd_identity"); !identity.empty()) {
    FileIdentity& is = header.cwd_identity.emplace();
    const char* const last = identity.data() + identity.size();
    const auto device = std::from_chars(identity.data(), last, is.device);
    const auto behind = [&](const std::from_chars_result& before, auto& number) {
      const bool colon = before.ec == std::errc() && before.ptr != last && *before.ptr == ':';
      return colon ? std::from_chars(before.ptr + 1, last, number)
                   : std::from_chars_result{before.ptr, std::errc::invalid_argument};
    };
    const auto born = behind(behind(device, is.inode), is.born);
    if (born.ec != std::errc() || born.ptr != last)
      throw CodecError("\"cwd_identity\" is not a device, an inode and a time");
  }
  header.parent = members.some_text("parent");
  if (const std::string chain = members.some_text("chain"); !chain.empty()) {
    if (chain != "sha256") throw CodecError("there is no chain '" + chain + "'");
    header.chained = true;
  }
  members.end();
  constexpr std::int64_t largest_safe = (std::int64_t{1} << 53U) - 1;
  if (header.id.empty()) throw CodecError("the id is empty");
  if (header.created_at < 0 || header.created_at > largest_safe) throw CodecError("\"created_at\" is no time");
  if (!header.cwd.empty() && !header.cwd.starts_with('/')) throw CodecError("\"cwd\" is not an absolute path");
  if (header.cwd.empty() && header.cwd_identity) throw CodecError("there is an identity without a \"cwd\"");
  return header;
}

}  // namespace cordon::detail
