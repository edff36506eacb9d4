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
  friend bool operator==(NotExecutable, NotExecutable) = default;
};

/// How an execution ended. A RunnerFailure is never a result of the command; Harness turns it into an exception.
using Ending = std::variant<Exited, Signalled, NotExecutable, RunnerFailure>;

}  // namespace cordon::process
