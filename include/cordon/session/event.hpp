// SPDX-License-Identifier: BSL-1.0
#pragma once

// What a session log can hold: a closed set. An event type that is not here is not understood, and therefore refused
// (LOG-06), unless whoever wrote it said that it can be ignored.

#include <cordon/approval_policy.hpp>
#include <cordon/effect.hpp>
#include <cordon/mode.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace cordon {

/// The session's mode from now on (POL-06).
struct ModeSwitched {
  static constexpr std::string_view type = "sandbox/mode";
  SandboxMode mode;
  std::string source = {};  ///< "delegation" in a session that got it from its parent, else empty
  friend bool operator==(const ModeSwitched&, const ModeSwitched&) = default;
};

/// The session's approval policy from now on (APR-09).
struct ApprovalPolicySwitched {
  static constexpr std::string_view type = "approval/policy";
  ApprovalPolicy policy;
  std::string source = {};
  friend bool operator==(const ApprovalPolicySwitched&, const ApprovalPolicySwitched&) = default;
};

/// A preset was selected (PRE-04). What it changes is said by the mode and policy switches right behind it, and a log
/// that ends before the last of them does not have this event either: a preset is one switch.
struct PresetSelected {
  static constexpr std::string_view type = "permission/preset";
  std::string preset;
  std::uint64_t switches = 0;  ///< how many of those there are
  friend bool operator==(const PresetSelected&, const PresetSelected&) = default;
};

/// Somebody is to decide about an action (APR-02). Absent fields are empty.
struct ApprovalAsked {
  static constexpr std::string_view type = "approval/asked";
  std::string id;
  std::string tool;
  std::string call_id = {};
  std::string reason = {};
  std::optional<SandboxMode> mode = {};  ///< that it is to run under
  std::vector<std::string> argv = {};
  std::string workspace_root = {};
  std::string working_directory = {};
  std::string digest = {};  ///< of the whole action, see Action::digest
  friend bool operator==(const ApprovalAsked&, const ApprovalAsked&) = default;
};

/// What became of a question. The set is closed (APR-03).
enum class ApprovalResult : std::uint8_t { allowed_once, rejected, cancelled, unavailable };

[[nodiscard]] constexpr std::string_view name(ApprovalResult result) noexcept {
  switch (result) {
    case ApprovalResult::allowed_once:
      return "allowed-once";
    case ApprovalResult::rejected:
      return "rejected";
    case ApprovalResult::cancelled:
      return "cancelled";
    case ApprovalResult::unavailable:
      return "unavailable";
  }
  return "unknown";
}

struct ApprovalDecided {
  static constexpr std::string_view type = "approval/decided";
  std::string id;
  ApprovalResult outcome = ApprovalResult::unavailable;
  std::string answered_by = {};  ///< empty: nobody
  friend bool operator==(const ApprovalDecided&, const ApprovalDecided&) = default;
};

/// Whoever allowed an action does not want to be asked again in this session about those that this begins. Never a
/// grant: each use is decided, and recorded, by itself.
struct ApprovalRemembered {
  static constexpr std::string_view type = "approval/rule";
  std::string id;                  ///< of the question that it was said about
  std::vector<std::string> words;  ///< that a command begins with
  bool exact = false;              ///< nothing may follow them
  SandboxMode mode;                ///< it holds for actions under this mode, in this root, from this directory
  std::string workspace_root;
  std::string working_directory;
  std::string setting;  ///< and with all else the same: see Action::setting_digest
  friend bool operator==(const ApprovalRemembered&, const ApprovalRemembered&) = default;
};

struct TurnStarted {
  static constexpr std::string_view type = "turn/start";
  std::uint64_t turn = 0;  ///< counted from 1
  /// Not to be closed by the next writer: the turn of a person at a command line, who writes with one process each
  /// time.
  bool detached = false;
  friend bool operator==(const TurnStarted&, const TurnStarted&) = default;
};

enum class TurnEnding : std::uint8_t { completed, interrupted };

[[nodiscard]] constexpr std::string_view name(TurnEnding ending) noexcept {
  return ending == TurnEnding::completed ? "completed" : "interrupted";
}

struct TurnEnded {
  static constexpr std::string_view type = "turn/end";
  std::uint64_t turn = 0;
  TurnEnding reason = TurnEnding::completed;
  friend bool operator==(const TurnEnded&, const TurnEnded&) = default;
};

/// A command is about to run behind a backend.
struct ExecConfined {
  static constexpr std::string_view type = "exec/confined";
  std::vector<std::string> argv;
  SandboxMode mode;
  std::string workspace_root;
  std::string backend;
  EffectSet missing = {};       ///< promised by the mode and not governed: empty means full enforcement
  std::string allowed_by = {};  ///< the grant that says so; empty: the session's own mode
  std::string digest = {};      ///< of the command, see Action::command_digest
  bool background = false;      ///< it may run on when its turn has ended
  friend bool operator==(const ExecConfined&, const ExecConfined&) = default;
};

/// A command is about to run with no confinement.
struct ExecUnconfined {
  static constexpr std::string_view type = "exec/unconfined";
  std::vector<std::string> argv;
  std::string workspace_root;
  std::string allowed_by;   ///< the preset, the mode switch, the explicit mode or the grant that says so
  std::string digest = {};  ///< of the command, see Action::command_digest
  bool background = false;  ///< it may run on when its turn has ended
  friend bool operator==(const ExecUnconfined&, const ExecUnconfined&) = default;
};

/// What a command came to. `exec` is the `seq` of the event that it was announced by. For one in the background it may
/// come when the turn has ended.
struct ExecSettled {
  static constexpr std::string_view type = "exec/settled";
  struct Refused {
    FileEffect effect = FileEffect::write;
    std::string path = {};
    std::string error = {};
    friend bool operator==(const Refused&, const Refused&) = default;
  };

  std::uint64_t exec = 0;
  std::string outcome;  ///< exited, signalled, timed_out, cancelled, output_limit, not_executable, runner_failed,
                        ///< unavailable, unknown
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  std::vector<Refused> denials = {};
  friend bool operator==(const ExecSettled&, const ExecSettled&) = default;
};

/// An event of a type that this version does not know, whose writer said that it can be ignored. Never appended.
struct IgnoredEvent {
  std::string type;
  friend bool operator==(const IgnoredEvent&, const IgnoredEvent&) = default;
};

using Event =
    std::variant<ModeSwitched, ApprovalPolicySwitched, PresetSelected, ApprovalAsked, ApprovalDecided,
                 ApprovalRemembered, TurnStarted, TurnEnded, ExecConfined, ExecUnconfined, ExecSettled, IgnoredEvent>;

[[nodiscard]] inline std::string_view type_of(const Event& event) noexcept {
  return std::visit([](const auto& e) -> std::string_view { return e.type; }, event);
}

/// What has to be on the disk before whoever appends it is told that it is recorded: policy switches, approval pairs
/// and executions, but not the beginning and end of a turn, which the next of those takes along.
[[nodiscard]] inline bool is_durable(const Event& event) noexcept {
  return !std::holds_alternative<TurnStarted>(event) && !std::holds_alternative<TurnEnded>(event);
}

/// An event in its place. Times are milliseconds since 1970.
struct Record {
  std::uint64_t seq = 0;
  std::int64_t time = 0;
  Event event;
  friend bool operator==(const Record&, const Record&) = default;
};

/// A file's identity: which one it is, whatever its name. Some file systems number their devices anew when they are
/// mounted; there a file is another one then.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born = 0;  ///< nanoseconds since 1970, since inodes are used again; 0 where that is not known
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// What a session has from its beginning, and never loses.
struct SessionHeader {
  static constexpr std::int64_t current_version = 1;

  std::string id;
  std::int64_t created_at = 0;  ///< milliseconds since 1970
  /// The directory of the session: absolute, with no symlink in it. Empty: the session has none.
  std::string cwd = {};
  std::optional<FileIdentity> cwd_identity = {};  ///< what the directory was when the session was made
  std::string parent = {};                        ///< the id of the session that this one was delegated by, or empty
  bool chained = false;                           ///< each record has the hash of what is before it; see JsonlOptions
  friend bool operator==(const SessionHeader&, const SessionHeader&) = default;
};

}  // namespace cordon
