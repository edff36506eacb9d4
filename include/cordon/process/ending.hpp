// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/error.hpp>
#include <variant>

namespace cordon::process {

struct Exited {
  int code = 0;
  friend bool operator==(Exited, Exited) = default;
};

struct Signalled {
  int number = 0;
  friend bool operator==(Signalled, Signalled) = default;
};

/// Everything was in place and execve refused the program: it does not exist (ENOENT), may not be executed (EACCES), or
/// is no program (ENOEXEC). The command did not run.
struct NotExecutable {
  int error = 0;
  /// With ENOENT: the program exists, and the interpreter that it names does not. False where nobody could look.
  bool interpreter_missing = false;
  friend bool operator==(NotExecutable, NotExecutable) = default;
};

/// cordon ended the command because it ran, or was silent, for longer than it was given.
struct TimedOut {
  enum class Limit { wall, idle };
  Limit limit = Limit::wall;
  friend bool operator==(TimedOut, TimedOut) = default;
};

/// cordon ended the command because its caller asked for that.
struct Cancelled {
  friend bool operator==(Cancelled, Cancelled) = default;
};

/// cordon ended the command because it wrote more than it was allowed.
struct OutputLimit {
  friend bool operator==(OutputLimit, OutputLimit) = default;
};

/// How an execution ended: the first cause of it, so a command that was timed out and then exited with 0 is TimedOut.
/// A RunnerFailure is never a result of the command; Harness turns it into an exception.
using Ending = std::variant<Exited, Signalled, TimedOut, Cancelled, OutputLimit, NotExecutable, RunnerFailure>;

}  // namespace cordon::process
