// SPDX-License-Identifier: BSL-1.0
#pragma once

// How a backend takes part in cordon's own spawn. A LaunchPlan belongs to a ConfinedArgv and is immutable; each spawn
// asks it for one Launch, which owns the descriptors and the bookkeeping of that one execution.

#include <cerrno>
#include <cordon/argv.hpp>
#include <cordon/detail/error_text.hpp>
#include <cordon/dialect.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/ending.hpp>
#include <cordon/process/resources.hpp>
#include <cordon/process/stage.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cordon::process {

/// One system call that the child makes between clone and execve, with all its arguments ready.
struct PreparedCall {
  long number = 0;
  long arguments[6] = {};
  Stage stage = Stage::runner;
};

/// Everything that the child needs, prepared by the parent. The child allocates nothing.
struct ChildSetup {
  std::vector<std::string> argv;         ///< argv[0] is looked up along PATH unless it has a slash
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string working_directory;
  std::vector<int> descriptors;           ///< become 3, 4, 5, … in the child; owned by the Launch
  int (*instead)(void*) = nullptr;        ///< called instead of execve, with every signal blocked and 0 to 2 closed
  unsigned clone_flags = 0;               ///< namespaces that the child starts in
  std::vector<PreparedCall> confinement;  ///< made in order, before the working directory is entered
  bool wraps = false;                     ///< argv is not the command itself but something that runs it
  std::string user_map = {};              ///< ids for a user namespace among clone_flags, written from outside
  std::string group_map = {};
  int mapped = -1;        ///< a byte is written here when they are in place
  int channel = -1;       ///< to the init of a namespace where the command is to be instead; see process/init.hpp
  int init = -1;          ///< and that process's pidfd
  int terminals = -1;     ///< the file system that a terminal for it is made in; -1: that of /dev/ptmx
  bool observed = false;  ///< traced from its execve on; `confinement` or what argv runs installs os::observing_filter
  std::vector<std::string> observed_roots = {};       ///< canonical; what is refused in them is not to be seen
  std::vector<std::string> observed_exceptions = {};  ///< but in these it is
  bool terminal_to_come = false;  ///< what argv runs makes the terminal the controlling one of a session of its own
  ResourceSetup resources = {};
};

/// Where `descriptors` begin in the child.
inline constexpr int first_descriptor = 3;

/// The number that the next descriptor of the child will get: behind its own and the one that tells of its start all
/// are closed.
[[nodiscard]] inline int first_free_descriptor(const ChildSetup& setup) noexcept {
  return first_descriptor + static_cast<int>(setup.descriptors.size()) + 1;
}

/// What is asked of a plan: this command, in this environment and directory.
struct LaunchRequest {
  const Argv& command;
  const std::vector<std::string>& environment;
  const std::string& working_directory;
  bool terminal = false;          ///< it gets one of its own
  ResourceLimits resources = {};  ///< for a command that is in no policy's hands but its own
  bool observed = false;          ///< what is refused to it is to be seen
};

/// The ending that the launched process itself had.
[[nodiscard]] inline Ending ending_of(os::WaitStatus status) {
  if (status.signalled) return Signalled{status.value};
  return Exited{status.value};
}

/// The same, or SpawnError when the status is lost.
[[nodiscard]] inline Ending ending_or_throw(std::optional<os::WaitStatus> status) {
  if (status) return ending_of(*status);
  throw SpawnError(
      "the process that cordon keeps beside each command was killed, so the exit status is lost; find out what killed "
      "it",
      ESRCH);
}

/// What the first stage of cordon's own wrote into its status pipe, all of it.
struct ReportedStatus {
  bool entered = false;  ///< everything before execve was done
  std::optional<StatusRecord> failure = {};

  /// NotExecutable or RunnerFailure; nothing when no failure was reported.
  [[nodiscard]] std::optional<Ending> ending(std::string_view who) const {
    if (!failure) return std::nullopt;
    if (executes(failure->stage)) return NotExecutable{failure->error, failure->stage == Stage::interpreter};
    return RunnerFailure{std::string(name(failure->stage)), failure->error,
                         std::string(who) + ": " + cordon::detail::error_text(failure->error)};
  }
};

/// Reads what is there now.
template <class K>
[[nodiscard]] ReportedStatus read_status(int fd) {
  ReportedStatus status;
  StatusRecord record;
  while (!status.failure &&
         os::read_some<K>(fd, std::as_writable_bytes(std::span(&record, 1))) == static_cast<long>(sizeof record)) {
    if (record.magic != StatusRecord::expected_magic) record = {.stage = Stage::runner, .error = EPROTO};
    if (record.error == 0)
      status.entered = true;
    else
      status.failure = record;
  }
  return status;
}

/// What it means for a runner that its own program could not be executed, whatever the errno is.
[[nodiscard]] inline RunnerFailure runner_not_executed(const ChildSetup& setup, NotExecutable why) {
  return {"exec-runner", why.error, setup.argv.front() + ": " + cordon::detail::error_text(why.error)};
}

/// One execution under way. Used by one thread at a time.
class Launch {
 public:
  virtual ~Launch() = default;

  [[nodiscard]] virtual const ChildSetup& setup() const noexcept = 0;
  /// What it means that execve refused setup().argv.
  [[nodiscard]] virtual Ending exec_failed(NotExecutable why) const { return why; }
  /// Called when execve of setup().argv has happened. It may wait for the runner, for a bounded time.
  virtual void started() {}
  /// With an init: false when a process that it clones does not inherit what one of this program's would. Asked while
  /// the command is being set up, and before its execve.
  [[nodiscard]] virtual bool current() const noexcept { return true; }
  /// The same execution with another init, after `current` was false.
  [[nodiscard]] virtual std::unique_ptr<Launch> renewed() { return nullptr; }
  /// With an init: nothing is left in its namespace, so it can have another command.
  virtual void gone() noexcept {}
  /// How it ended. `status` is missing when something else killed the keeper or init; `error_text` is all of stderr.
  [[nodiscard]] virtual Ending settle(std::optional<os::WaitStatus> status, std::string_view /*error_text*/) {
    return ending_or_throw(status);
  }
};

class LaunchPlan {
 public:
  virtual ~LaunchPlan() = default;
  /// Throws SpawnError when the system refuses descriptors or memory.
  [[nodiscard]] virtual std::unique_ptr<Launch> prepare(const LaunchRequest& request) const = 0;
  /// Why LaunchRequest::observed can't be had of it, and what would help; empty when it can.
  [[nodiscard]] virtual std::string unobservable() const {
    return "its launch can't be observed; use a backend of this library";
  }
};

namespace detail {

/// Runs the command as it is: for an UnconfinedArgv, through `spawn` alone.
class DirectLaunch final : public Launch {
 public:
  explicit DirectLaunch(const LaunchRequest& request) {
    setup_.argv = request.command.elements();
    setup_.environment = request.environment;
    setup_.working_directory = request.working_directory;
    setup_.resources.limits = request.resources;
  }

  [[nodiscard]] const ChildSetup& setup() const noexcept override { return setup_; }

 private:
  ChildSetup setup_;
};

/// Runs a runner that has no way but words to tell that it failed. Whatever it runs can print the same.
class SpeakingLaunch final : public Launch {
 public:
  SpeakingLaunch(const LaunchRequest& request, const DialectView& dialect) : direct_(request), dialect_(dialect) {}

  [[nodiscard]] const ChildSetup& setup() const noexcept override { return direct_.setup(); }

  [[nodiscard]] Ending exec_failed(NotExecutable why) const override { return runner_not_executed(setup(), why); }

  [[nodiscard]] Ending settle(std::optional<os::WaitStatus> status, std::string_view error_text) override {
    Ending ending = ending_or_throw(status);
    if (const auto* exited = std::get_if<Exited>(&ending))
      if (auto line = runner_failure_line(dialect_, exited->code, error_text))
        return RunnerFailure{"runner", 0, std::move(*line)};
    return ending;
  }

 private:
  DirectLaunch direct_;
  DialectView dialect_;
};

}  // namespace detail

}  // namespace cordon::process
