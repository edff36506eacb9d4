// SPDX-License-Identifier: BSL-1.0
#pragma once

// Starting a command and following it to its end. There are two ways in, and both are typed: a ConfinedArgv that a
// backend made, or an UnconfinedArgv that a Policy<DangerFullAccess> let go.

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cordon/confined.hpp>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/capture.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/launch.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon::process {

using Clock = std::chrono::steady_clock;

enum class Stream { out, err };

/// What a command reads on its standard input. A descriptor is copied through a pipe, never handed over: the command
/// can't reopen the file or the terminal behind it.
class Input {
 public:
  /// The null device.
  [[nodiscard]] static Input none() noexcept { return Input(); }
  /// These bytes, then end of file.
  [[nodiscard]] static Input bytes(std::string content) {
    Input input;
    input.content_ = std::move(content);
    return input;
  }
  /// What can be read from `descriptor`, which stays the caller's and must stay open until the command has ended.
  [[nodiscard]] static Input copy_of(int descriptor) noexcept {
    Input input;
    input.descriptor_ = descriptor;
    return input;
  }

  [[nodiscard]] bool piped() const noexcept { return content_ || descriptor_ >= 0; }
  [[nodiscard]] const std::optional<std::string>& content() const noexcept { return content_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  Input() = default;
  std::optional<std::string> content_;
  int descriptor_ = -1;
};

struct RunOptions {
  std::string working_directory = {};         ///< as spelled by the caller; empty: the workspace root
  std::vector<std::string> environment = {};  ///< "NAME=VALUE"; see make_environment
  Input input = Input::none();
  std::size_t max_output = std::size_t{1} << 20;  ///< bytes kept per stream
  /// Called with every piece of output as it arrives, on the thread that waits. Must not throw.
  std::function<void(Stream, std::string_view)> on_output = {};
  /// How long output is still collected after the command has ended while something else holds its pipes.
  std::chrono::milliseconds drain_limit{500};
};

/// An execution that is over.
struct Completed {
  Ending ending;
  Capture out;
  Capture err;
  std::chrono::nanoseconds elapsed{};
};

namespace detail {

/// The paths that execve tries, in order. The lookup happens with the child's PATH, and in the child's own view, since
/// the child does the trying. A name with a slash is never looked up.
[[nodiscard]] inline std::vector<std::string> exec_candidates(const std::string& program,
                                                              const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) return {program};
  const char* path = lookup(environment, "PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> candidates;
  while (true) {
    const auto colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    if (directory.starts_with('/')) candidates.push_back(std::string(directory) + "/" + program);
    if (colon == std::string_view::npos) return candidates;
    rest.remove_prefix(colon + 1);
  }
}

/// The null-terminated array that execve takes. Lives no longer than the strings.
[[nodiscard]] inline std::vector<const char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

/// execve along `candidates` (null-terminated). Returns only on failure, with the errno that describes it best: a
/// program that exists and can't be executed says more than a directory that does not have it.
template <class K>
__attribute__((no_sanitize("address", "undefined", "thread"))) int exec_first(const char* const* candidates,
                                                                              const char* const* argv,
                                                                              const char* const* environment) noexcept {
  int error = ENOENT;
  for (; *candidates != nullptr; ++candidates) {
    const int failed =
        static_cast<int>(-K::call(SYS_execve, os::arg(*candidates), os::arg(argv), os::arg(environment)));
    if (failed == ENOENT || failed == ENOTDIR) continue;
    error = failed;
    if (failed != EACCES) break;
  }
  return error;
}

/// What the child reads. It shares the parent's memory and the parent waits, so plain pointers will do.
struct ChildView {
  const PreparedCall* calls = nullptr;
  std::size_t count = 0;
  const char* const* candidates = nullptr;  ///< null: exit instead of execve
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
  int status_source = -1;  ///< the status descriptor as the parent numbers it
  int status_fd = -1;      ///< and where the first call puts it
};

/// The child, from clone to execve: makes the prepared calls, and reports the first that fails.
template <class K>
__attribute__((no_sanitize("address", "undefined", "thread"))) int child_main(void* raw) noexcept {
  const auto* view = static_cast<const ChildView*>(raw);
  StatusRecord record;
  int status_fd = view->status_source;
  for (std::size_t i = 0; i != view->count && record.error == 0; ++i) {
    if (i == 1) status_fd = view->status_fd;  // until then that number is some descriptor of the parent's
    const PreparedCall* call = view->calls + i;
    const long* a = call->arguments;
    const long result = K::call(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result < 0) {
      record.stage = call->stage;
      record.error = static_cast<std::int32_t>(-result);
    }
  }
  if (record.error == 0 && view->candidates == nullptr) K::call(SYS_exit_group, 0);
  if (record.error == 0) {
    record.stage = Stage::exec;
    record.error = exec_first<K>(view->candidates, view->argv, view->environment);
  }
  K::call(SYS_write, status_fd, os::arg(&record), sizeof record);
  K::call(SYS_exit_group, 125);
  return 0;
}

/// The kernel's own layout of a signal action; all zero is the default action.
struct KernelSignalAction {
  void* handler = nullptr;
  unsigned long flags = 0;
  void* restorer = nullptr;
  std::uint64_t mask = 0;
};

}  // namespace detail

/// One running command. Move-only. Its destructor ends and reaps what still runs.
template <class K>
class BasicChild;

namespace detail {
template <class K>
[[nodiscard]] BasicChild<K> launch_command(std::unique_ptr<Launch> launch, RunOptions options);
}

template <class K>
class BasicChild {
 public:
  BasicChild(BasicChild&&) noexcept = default;
  BasicChild& operator=(BasicChild&&) = delete;
  ~BasicChild() {
    if (!pidfd_) return;
    kill();
    os::WaitStatus ignored;
    (void)os::wait_for<K>(pidfd_.get(), true, ignored);
  }

  /// Sends SIGKILL to the launched process and to the tree behind it.
  void kill() noexcept {
    if (!pidfd_) return;
    os::send_signal<K>(pidfd_.get(), SIGKILL);
    end_group();
    launch_->end_tree();
  }

  /// Follows the command to its end, collecting its output.
  [[nodiscard]] Completed wait() { return *wait_until(std::nullopt); }

  /// The same, but gives up at `limit`: then the command still runs and the result is empty.
  [[nodiscard]] std::optional<Completed> wait_for(std::chrono::milliseconds limit) {
    return wait_until(Clock::now() + limit);
  }

 private:
  template <class L>
  friend BasicChild<L> detail::launch_command(std::unique_ptr<Launch>, RunOptions);

  BasicChild(std::unique_ptr<Launch> launch, RunOptions options)
      : launch_(std::move(launch)),
        options_(std::move(options)),
        out_(options_.max_output),
        err_(options_.max_output),
        begun_(Clock::now()) {}

  [[nodiscard]] std::optional<Completed> wait_until(std::optional<Clock::time_point> deadline) {
    while (pidfd_) {
      if (!step(deadline)) return std::nullopt;
    }
    const auto drained = Clock::now() + options_.drain_limit;
    while ((out_pipe_ || err_pipe_) && step(drained)) {
    }
    out_pipe_.reset();
    err_pipe_.reset();
    if (!ending_) ending_ = launch_->settle(status_, err_.text());
    return Completed{*ending_, std::move(out_), std::move(err_), Clock::now() - begun_};
  }

  /// Waits for one round of events. False when the deadline came first.
  bool step(std::optional<Clock::time_point> deadline) {
    std::array<pollfd, 5> set{pollfd{pidfd_.get(), POLLIN, 0}, pollfd{out_pipe_.get(), POLLIN, 0},
                              pollfd{err_pipe_.get(), POLLIN, 0}, pollfd{in_pipe_.get(), 0, 0}, pollfd{-1, POLLIN, 0}};
    if (in_pipe_) {
      if (pending_input_.empty() && options_.input.descriptor() >= 0)
        set[4].fd = options_.input.descriptor();
      else
        set[3].events = POLLOUT;
    }
    const int timeout = timeout_of(deadline);
    const long ready = os::poll_once<K>(set, timeout);
    if (ready == 0) return false;
    if (ready < 0) {
      if (ready == -EINTR) return true;
      throw SpawnError("poll failed while following a command: " + cordon::detail::error_text(static_cast<int>(-ready)),
                       static_cast<int>(-ready));
    }
    if (set[1].revents != 0) collect(out_pipe_, out_, Stream::out);
    if (set[2].revents != 0) collect(err_pipe_, err_, Stream::err);
    if (set[4].revents != 0) refill_input();
    if ((set[3].revents & (POLLERR | POLLHUP)) != 0)
      in_pipe_.reset();
    else if (set[3].revents != 0)
      feed();
    if (set[0].revents != 0) reap();
    return timeout != 0;  // output that never pauses does not move the deadline
  }

  [[nodiscard]] static int timeout_of(std::optional<Clock::time_point> deadline) {
    if (!deadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
  }

  void collect(os::BasicFd<K>& pipe, Capture& capture, Stream stream) {
    std::array<std::byte, 65536> buffer;
    const long got = os::read_some<K>(pipe.get(), buffer);
    if (got == -EAGAIN) return;
    if (got <= 0) {
      pipe.reset();
      return;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got));
    capture.append(bytes);
    if (options_.on_output) options_.on_output(stream, bytes);
  }

  void refill_input() {
    std::array<std::byte, 65536> buffer;
    const long got = os::read_some<K>(options_.input.descriptor(), buffer);
    if (got == -EAGAIN) return;
    if (got <= 0)
      in_pipe_.reset();
    else
      pending_input_.assign(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got));
  }

  void feed() {
    const long written = os::write_some<K>(in_pipe_.get(), std::as_bytes(std::span(pending_input_)));
    if (written == -EAGAIN) return;
    if (written < 0) {
      in_pipe_.reset();  // the command doesn't read its input: harmless (EXE-06)
      return;
    }
    pending_input_.erase(0, static_cast<std::size_t>(written));
    if (pending_input_.empty() && options_.input.descriptor() < 0) in_pipe_.reset();
  }

  /// Ends the members of the command's process group that are left. Only while its leader is not reaped: until then the
  /// number can't have become somebody else's.
  void end_group() noexcept {
    if (launch_->owns_group() && os::unreaped<K>(pidfd_.get())) K::call(SYS_kill, -pid_, SIGKILL);
  }

  void reap() {
    end_group();
    os::WaitStatus status;
    const long result = os::wait_for<K>(pidfd_.get(), false, status);
    if (result == -EAGAIN) return;
    if (result == 0 || os::exit_information<K>(pidfd_.get(), status) == 0) status_ = status;
    pidfd_.reset();
    in_pipe_.reset();
    launch_->end_tree();
  }

  std::unique_ptr<Launch> launch_;
  RunOptions options_;
  Capture out_;
  Capture err_;
  Clock::time_point begun_;
  long pid_ = 0;
  os::BasicFd<K> pidfd_;
  os::BasicFd<K> in_pipe_;
  os::BasicFd<K> out_pipe_;
  os::BasicFd<K> err_pipe_;
  std::string pending_input_;
  std::optional<os::WaitStatus> status_;
  std::optional<Ending> ending_;
};

using Child = BasicChild<os::Kernel>;

namespace detail {

/// Starts what `launch` describes. Throws SpawnError when the system refuses a step before execve; nothing runs then,
/// and nothing is left behind. A program that can't be executed is not an error but an ending.
template <class K>
[[nodiscard]] BasicChild<K> launch_command(std::unique_ptr<Launch> launch, RunOptions options) {
  using cordon::detail::error_text;
  const auto check = [](long result, const char* what) {
    if (result >= 0) return result;
    const int error = static_cast<int>(-result);
    throw SpawnError(std::string("can't start a command: ") + what + ": " + error_text(error), error);
  };

  // Numbers from here on can't collide with the ones that the child gives out (0, 1, 2, 3, …).
  constexpr int first_free = 32;
  const auto lift = [&](const os::BasicFd<K>& fd) {
    return os::BasicFd<K>(check(os::duplicate_from<K>(fd.get(), first_free), "duplicating a descriptor"));
  };
  const auto lifted_pipe = [&] {
    os::FdPair<K> low;
    check(os::make_pipe<K>(low), "making a pipe");
    return os::FdPair<K>{lift(low.read), lift(low.write)};
  };

  BasicChild<K> child(std::move(launch), std::move(options));
  const ChildSetup& setup = child.launch_->setup();
  if (setup.executes && setup.argv.empty())
    throw ArgvInvalidError("there is no program to start; was the argv moved from?");
  os::FdPair<K> out = lifted_pipe();
  os::FdPair<K> err = lifted_pipe();
  os::FdPair<K> status = lifted_pipe();
  os::FdPair<K> in;
  if (child.options_.input.piped()) {
    in = lifted_pipe();
    if (child.options_.input.content()) child.pending_input_ = *child.options_.input.content();
  } else {
    const os::BasicFd<K> null(check(os::open_file<K>("/dev/null", O_RDONLY), "opening /dev/null"));
    in.read = lift(null);
  }
  for (const os::BasicFd<K>* ours : {&out.read, &err.read, &in.write, &status.read})
    if (*ours) check(os::set_nonblocking<K>(ours->get()), "setting a pipe non-blocking");
  std::vector<os::BasicFd<K>> extra;
  for (int fd : setup.descriptors)
    extra.emplace_back(check(os::duplicate_from<K>(fd, first_free), "duplicating a descriptor"));

  const bool executes = setup.executes;
  const auto candidates =
      executes ? detail::exec_candidates(setup.argv.front(), setup.environment) : std::vector<std::string>();
  const auto candidate_pointers = detail::pointers_to(candidates);
  const auto argv = detail::pointers_to(setup.argv);
  const auto environment = detail::pointers_to(setup.environment);
  static constexpr detail::KernelSignalAction default_action{};
  static constexpr std::uint64_t no_signals = 0;

  std::vector<PreparedCall> calls;
  calls.reserve(96 + extra.size() + setup.confinement.size());
  const auto plan = [&](Stage stage, long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    calls.push_back({number, {a, b, c, d, 0, 0}, stage});
  };
  const int status_fd = first_free_descriptor(setup) - 1;
  plan(Stage::descriptors, SYS_dup3, status.write.get(), status_fd, O_CLOEXEC);
  int next = 0;
  for (int source : {in.read.get(), out.write.get(), err.write.get()})
    plan(Stage::descriptors, SYS_dup3, source, next++, 0);
  for (const auto& fd : extra) plan(Stage::descriptors, SYS_dup3, fd.get(), next++, 0);
  plan(Stage::descriptors, SYS_close_range, status_fd + 1, std::numeric_limits<int>::max(), 0);
  plan(Stage::session, SYS_setsid);
  for (int signal = 1; signal <= 64; ++signal)
    if (signal != SIGKILL && signal != SIGSTOP)
      plan(Stage::signals, SYS_rt_sigaction, signal, os::arg(&default_action), 0, sizeof(std::uint64_t));
  calls.insert(calls.end(), setup.confinement.begin(), setup.confinement.end());
  if (!child.options_.input.piped()) {
    // Opened again in the view just made: through the caller's descriptor uid 0 could change the mode of the device.
    plan(Stage::descriptors, SYS_close, 0);
    plan(Stage::descriptors, SYS_openat, AT_FDCWD, os::arg("/dev/null"), O_RDONLY);
  }
  plan(Stage::working_directory, SYS_chdir, os::arg(setup.working_directory.c_str()));
  plan(Stage::signals, SYS_rt_sigprocmask, SIG_SETMASK, os::arg(&no_signals), 0, sizeof no_signals);
  if (status_fd >= first_free) check(-EMFILE, "too many descriptors for one command");

  detail::ChildView view{calls.data(), calls.size(),       executes ? candidate_pointers.data() : nullptr,
                         argv.data(),  environment.data(), status.write.get(),
                         status_fd};
  alignas(16) std::array<std::byte, 16384> stack;
  int pidfd = -1;
  long pid = 0;
  {
    const os::BlockAllSignals<K> blocked;
    pid = K::clone(detail::child_main<K>, stack.data() + stack.size(),
                   CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | static_cast<int>(setup.clone_flags), &view, &pidfd);
  }
  if (pid < 0 && setup.clone_flags != 0) {
    const int error = static_cast<int>(-pid);
    throw SandboxUnavailableError("the namespaces of the sandbox were refused: " + error_text(error),
                                  RunnerFailure{std::string(name(Stage::user_namespace)), error, error_text(error)});
  }
  check(pid, "clone");
  child.pid_ = pid;
  child.pidfd_ = os::BasicFd<K>(pidfd);
  child.out_pipe_ = std::move(out.read);
  child.err_pipe_ = std::move(err.read);
  child.in_pipe_ = std::move(in.write);
  out.write.reset();
  err.write.reset();
  in.read.reset();
  status.write.reset();
  extra.clear();

  StatusRecord record;
  const long got = os::read_some<K>(status.read.get(), std::as_writable_bytes(std::span(&record, 1)));
  if (got == static_cast<long>(sizeof record)) {
    if (confines(record.stage)) {
      child.ending_ = RunnerFailure{std::string(name(record.stage)), record.error, error_text(record.error)};
    } else if (record.stage == Stage::exec) {
      child.ending_ = child.launch_->exec_failed(record.error);
    } else {
      std::string what(name(record.stage));
      if (record.stage == Stage::working_directory) what += " " + setup.working_directory;
      check(-record.error, what.c_str());
    }
  } else {
    child.launch_->started();
  }
  return child;
}

[[nodiscard]] inline std::unique_ptr<Launch> make_launch(const UnconfinedArgv& argv, const RunOptions& options,
                                                         const std::string& directory) {
  return std::make_unique<DirectLaunch>(LaunchRequest{argv.command(), options.environment, directory});
}

template <ConfinedMode M>
[[nodiscard]] std::unique_ptr<Launch> make_launch(const ConfinedArgv<M>& confined, const RunOptions& options,
                                                  const std::string& directory) {
  if (confined.launch() != nullptr)
    return confined.launch()->prepare({confined.command(), options.environment, directory});
  const Argv wrapped(confined.argv());
  return std::make_unique<DirectLaunch>(LaunchRequest{wrapped, options.environment, directory});
}

template <ConfinedMode M>
[[nodiscard]] std::unique_ptr<Launch> make_launch(const FullyConfinedArgv<M>& full, const RunOptions& options,
                                                  const std::string& directory) {
  return make_launch(full.confined(), options, directory);
}

[[nodiscard]] inline const PolicyScope& scope_of(const UnconfinedArgv& argv) noexcept {
  return argv.scope();
}
template <ConfinedMode M>
[[nodiscard]] const PolicyScope& scope_of(const ConfinedArgv<M>& confined) noexcept {
  return confined.policy().scope();
}
template <ConfinedMode M>
[[nodiscard]] const PolicyScope& scope_of(const FullyConfinedArgv<M>& full) noexcept {
  return scope_of(full.confined());
}

}  // namespace detail

/// Starts a command. Throws SpawnError; see launch_command. Thread-safe; changes nothing in the calling process but
/// the descriptors that the Child owns.
template <Spawnable S>
[[nodiscard]] Child spawn(S&& what, RunOptions options = {}) {
  static_assert(
      !std::is_same_v<std::remove_cvref_t<S>, UnconfinedArgv> || std::is_same_v<S, UnconfinedArgv>,
      "cordon: an UnconfinedArgv is the authority for one execution and is used up by it; write std::move(argv)");
  const std::string directory =
      options.working_directory.empty() ? detail::scope_of(what).workspace_root : options.working_directory;
  if (os::FileFacts facts; os::stat_path(directory, facts) < 0 || !facts.directory())
    throw SpawnError("the working directory " + directory + " is no directory that can be entered; name one that is",
                     ENOTDIR);
  auto launch = detail::make_launch(what, options, directory);
  return detail::launch_command<os::Kernel>(std::move(launch), std::move(options));
}

/// A raw argv can't be started, in any mode.
template <class Raw>
requires(!Spawnable<Raw>) void spawn(Raw&&, const RunOptions& = {}) {
  static_assert(cordon::detail::always_false<Raw>,
                "cordon: only a ConfinedArgv or an UnconfinedArgv can be spawned; write harness.confine(policy, argv), "
                "or visit an ExecutionPolicy and make an UnconfinedArgv");
}

/// `spawn`, then `wait`.
template <Spawnable S>
[[nodiscard]] Completed run(S&& what, RunOptions options = {}) {
  return spawn(std::forward<S>(what), std::move(options)).wait();
}

/// A raw argv can't be run either.
template <class Raw>
requires(!Spawnable<Raw>) void run(Raw&& what, const RunOptions& options = {}) {
  spawn(std::forward<Raw>(what), options);
}

}  // namespace cordon::process
