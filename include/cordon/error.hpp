// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cordon {

/// Why cordon refused or failed. The set is closed and the names are stable: programs may switch on them.
enum class ErrorCode : std::uint8_t {
  argv_invalid,           ///< the argv itself cannot name a program
  policy_invalid,         ///< the mode, a root or a protected path cannot be honoured
  sandbox_unavailable,    ///< no backend could confine the command; it did not run
  enforcement_partial,    ///< a backend could confine it, but not against everything that the mode promises
  spawn_failed,           ///< the operating system refused to start or follow a process; it did not run confined
  session_invalid,        ///< what was asked of a session does not fit its state; nothing was recorded
  log_corrupt,            ///< a session log is damaged, or was written by nobody who may
  log_unsupported,        ///< a session log holds what only another version of cordon understands
  log_locked,             ///< another process writes this session log
  log_exists,             ///< there is a file already where a new session log was to be
  approval_outside_turn,  ///< an approval was asked for, or used, outside the turn that it belongs to
  approval_rejected,      ///< whoever decides said no; nothing ran
  approval_cancelled,     ///< the question was taken back before it was decided; nothing ran
  approval_unavailable,   ///< nobody could decide; nothing ran
  approval_used,          ///< a grant was used that had been used already; nothing ran
  action_changed,         ///< the program is not the one that was approved; nothing ran
  escalation_invalid,     ///< what was said with a request for a wider mode does not suffice; nobody was asked
  log_failed,             ///< the operating system refused to read or write a session log; the event is not recorded
};

[[nodiscard]] constexpr std::string_view name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::argv_invalid:
      return "ARGV_INVALID";
    case ErrorCode::policy_invalid:
      return "POLICY_INVALID";
    case ErrorCode::sandbox_unavailable:
      return "SANDBOX_UNAVAILABLE";
    case ErrorCode::enforcement_partial:
      return "ENFORCEMENT_PARTIAL";
    case ErrorCode::spawn_failed:
      return "SPAWN_FAILED";
    case ErrorCode::session_invalid:
      return "SESSION_INVALID";
    case ErrorCode::log_corrupt:
      return "LOG_CORRUPT";
    case ErrorCode::log_unsupported:
      return "LOG_UNSUPPORTED";
    case ErrorCode::log_locked:
      return "LOG_LOCKED";
    case ErrorCode::log_exists:
      return "LOG_EXISTS";
    case ErrorCode::log_failed:
      return "LOG_FAILED";
    case ErrorCode::approval_outside_turn:
      return "APPROVAL_OUTSIDE_TURN";
    case ErrorCode::approval_rejected:
      return "APPROVAL_REJECTED";
    case ErrorCode::approval_cancelled:
      return "APPROVAL_CANCELLED";
    case ErrorCode::approval_unavailable:
      return "APPROVAL_UNAVAILABLE";
    case ErrorCode::approval_used:
      return "APPROVAL_USED";
    case ErrorCode::action_changed:
      return "ACTION_CHANGED";
    case ErrorCode::escalation_invalid:
      return "ESCALATION_INVALID";
  }
  return "UNKNOWN";
}

/// The base of everything that cordon throws on purpose. `what()` says what is wrong and what to do next.
class Error : public std::runtime_error {
 public:
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 protected:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

 private:
  ErrorCode code_;
};

class ArgvInvalidError : public Error {
 public:
  explicit ArgvInvalidError(const std::string& message) : Error(ErrorCode::argv_invalid, message) {}
};

class PolicyInvalidError : public Error {
 public:
  explicit PolicyInvalidError(const std::string& message) : Error(ErrorCode::policy_invalid, message) {}
};

/// The runner did not get as far as running the command: an infrastructure fault, never a command result.
struct RunnerFailure {
  std::string stage;   ///< the step that failed, for example "mount" or "exec-runner"
  int error = 0;       ///< errno of that step; 0 where the runner reported none
  std::string detail;  ///< the runner's own words, one line; may be empty

  friend bool operator==(const RunnerFailure&, const RunnerFailure&) = default;
};

/// Nothing was executed, because nothing could confine it. `failure()` is there when a runner was started and failed.
class SandboxUnavailableError : public Error {
 public:
  explicit SandboxUnavailableError(const std::string& message, std::optional<RunnerFailure> failure = {})
      : Error(ErrorCode::sandbox_unavailable, message), failure_(std::move(failure)) {}

  [[nodiscard]] const std::optional<RunnerFailure>& failure() const noexcept { return failure_; }

 private:
  std::optional<RunnerFailure> failure_;
};

/// The partial rule of the harness (or a caller of `require_full`) refuses what this backend leaves ungoverned.
class EnforcementPartialError : public Error {
 public:
  explicit EnforcementPartialError(const std::string& message) : Error(ErrorCode::enforcement_partial, message) {}
};

/// The operating system refused a step that is not part of confinement (descriptors, memory, working directory).
class SpawnError : public Error {
 public:
  SpawnError(const std::string& message, int error) : Error(ErrorCode::spawn_failed, message), error_(error) {}

  /// errno of the step, 0 when there is none.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  int error_;
};

/// A session can't do that now: a turn is open already, or none is; a preset has no such name. Nothing was recorded.
class SessionInvalidError : public Error {
 public:
  explicit SessionInvalidError(const std::string& message) : Error(ErrorCode::session_invalid, message) {}
};

/// The second gate, or what leads to it, did not let an action through. One type for all: nothing has run, and `code`
/// says why.
class ApprovalError : public Error {
 public:
  ApprovalError(ErrorCode code, const std::string& message) : Error(code, message) {}
};

/// A session log that can't be read, written or begun. One type for all, since a program does the same about each: it
/// tells somebody, and runs nothing under that session.
class LogError : public Error {
 public:
  /// `offset` is of the first byte that is not sound, `line` its line counted from 1.
  LogError(ErrorCode code, const std::string& message, std::uint64_t line = 0, std::uint64_t offset = 0)
      : Error(code, message), line_(line), offset_(offset) {}

  /// Where the damage is; both 0 where it is not a matter of a place.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::uint64_t line_;
  std::uint64_t offset_;
};

}  // namespace cordon
