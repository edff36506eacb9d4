// SPDX-License-Identifier: BSL-1.0
#pragma once

// Starting a command and following it to its end. There are two ways in, and both are typed: a ConfinedArgv that a
// backend made, or an UnconfinedArgv that a Policy<DangerFullAccess> let go.

#include <concepts>
#include <cordon/confined.hpp>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/os/linux/terminal.hpp>
#include <cordon/process/child.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/keeper.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/options.hpp>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon::process {

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

  BasicChild<K> child(std::move(launch), std::move(options));
  const ChildSetup& setup = child.launch_->setup();
  if (setup.instead == nullptr && setup.argv.empty())
    throw ArgvInvalidError("there is no program to start; was the argv moved from?");
  if (child.options_.limits.stop.stop_requested()) {
    child.ending_ = Cancelled{};
    return child;
  }

  const bool kept = !child.in_namespace();
  // Numbers from here on can't collide with the ones that the child gives out (0, 1, 2, 3, …).
  constexpr int first_free = 32;
  const auto lift = [&](os::BasicFd<K>& fd) {
    if (kept) fd = os::BasicFd<K>(check(os::duplicate_from<K>(fd.get(), first_free), "duplicating a descriptor"));
  };
  const auto make_pipe = [&] {
    os::FdPair<K> pair;
    check(os::make_pipe<K>(pair), "making a pipe");
    return pair;
  };
  const Input& input = child.options_.input;
  os::FdPair<K> out;
  os::FdPair<K> err;
  os::FdPair<K> in;
  if (const auto& size = child.options_.terminal) {
    os::Terminal<K> terminal;
    check(os::make_terminal<K>(setup.terminals, terminal), "making a terminal");
    check(os::set_terminal_size<K>(terminal.ours.get(), size->rows, size->columns), "making a terminal");
    in.write = os::BasicFd<K>(check(os::duplicate_from<K>(terminal.ours.get(), 0), "duplicating a descriptor"));
    out = {std::move(terminal.ours), std::move(terminal.theirs)};
    lift(out.write);
  } else {
    out = make_pipe();
    err = make_pipe();
    lift(out.write);
    lift(err.write);
    if (input.piped())
      in = make_pipe();
    else
      in.read = os::BasicFd<K>(check(os::open_file<K>("/dev/null", O_RDONLY), "opening /dev/null"));
    lift(in.read);
    for (const os::BasicFd<K>* ours : {&out.read, &err.read, &in.write})
      if (*ours) check(os::set_nonblocking<K>(ours->get()), "setting a pipe non-blocking");
  }
  if (input.content()) child.give(*input.content());
  const bool terminal = child.has_terminal();
  const std::array<int, 3> first_three{terminal ? out.write.get() : in.read.get(), out.write.get(),
                                       terminal ? out.write.get() : err.write.get()};
  os::FdPair<K> start;
  if (kept) {
    // Open in the child until execve, and nowhere else for long: its end tells that the child has started or failed.
    start = make_pipe();
    lift(start.write);
  }
  if (kept || child.options_.limits.stop.stop_possible())
    child.bell_ = os::BasicFd<K>(check(os::make_event<K>(), "making an event descriptor"));
  std::vector<os::BasicFd<K>> extra;
  for (int fd : setup.descriptors)
    extra.emplace_back(check(os::duplicate_from<K>(fd, first_free), "duplicating a descriptor"));
  child.resources_ = LimitedResources(setup.resources);
  std::vector<os::BasicFd<K>> groups;
  for (const os::ControlGroup& group : child.resources_.groups())
    groups.emplace_back(check(os::duplicate_from<K>(group.processes(), first_free), "duplicating a descriptor"));
  const int start_fd = first_free_descriptor(setup) - 1;
  if (start_fd >= first_free) check(-EMFILE, "too many descriptors for one command");

  static constexpr KernelSignalAction default_action{};
  static constexpr std::uint64_t no_signals = 0;
  constexpr long last_descriptor = std::numeric_limits<int>::max();
  KeeperArea& area = *child.area_;
  area.calls.reserve(96 + extra.size() + setup.confinement.size());
  const auto plan = [&](Stage stage, long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    area.calls.push_back({number, {a, b, c, d, 0, 0}, stage});
  };
  for (std::size_t i = 0; i != groups.size(); ++i)
    plan(Stage::limits, SYS_write, kept ? groups[i].get() : init_received + static_cast<int>(i), os::arg("0"), 1);
  if (kept) {
    int next = 0;
    for (int source : first_three) plan(Stage::descriptors, SYS_dup3, source, next++, 0);
    for (const auto& fd : extra) plan(Stage::descriptors, SYS_dup3, fd.get(), next++, 0);
    plan(Stage::descriptors, SYS_dup3, start.write.get(), start_fd, O_CLOEXEC);
    plan(Stage::descriptors, SYS_close_range, start_fd + 1, last_descriptor, 0);
    // An init has had these done to itself.
    for (int signal = 1; signal <= 64; ++signal)
      if (signal != SIGKILL && signal != SIGSTOP)
        plan(Stage::signals, SYS_rt_sigaction, signal, os::arg(&default_action), 0, sizeof(std::uint64_t));
  }
  plan(Stage::session, SYS_setsid);
  if (terminal && !setup.terminal_to_come) plan(Stage::session, SYS_ioctl, 0, TIOCSCTTY, 0);
  area.calls.insert(area.calls.end(), setup.confinement.begin(), setup.confinement.end());
  if (!terminal && !input.piped()) {
    // Opened again in the view just made: through the caller's descriptor uid 0 could change the mode of the device.
    plan(Stage::descriptors, SYS_close, 0);
    plan(Stage::descriptors, SYS_openat, AT_FDCWD, os::arg("/dev/null"), O_RDONLY);
  }
  plan(Stage::working_directory, SYS_chdir, os::arg(setup.working_directory.c_str()));
  static constexpr InitReport waiting = InitReport::waiting;
  if (setup.observed) {
    // Where a security module lets only ancestors trace. Source: prctl(2), PR_SET_PTRACER.
    if (os::exists("/proc/sys/kernel/yama/ptrace_scope")) plan(Stage::session, SYS_prctl, PR_SET_PTRACER, -1L);
    plan(Stage::session, SYS_write, kept ? start_fd : static_cast<int>(init_channel), os::arg(&waiting),
         sizeof waiting);
  }
  // If the keeper is killed, so is the command. After the confinement, since a change of privileges undoes it.
  if (kept)
    plan(Stage::signals, SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  else
    plan(Stage::descriptors, SYS_close_range, first_descriptor, last_descriptor, 0);
  for (const os::ProcessLimit& limit : child.resources_.limits())
    plan(Stage::limits, SYS_prlimit64, 0, limit.resource, os::arg(&limit.soft), 0);
  if (setup.instead == nullptr) {
    plan(Stage::signals, SYS_rt_sigprocmask, SIG_SETMASK, os::arg(&no_signals), 0, sizeof no_signals);
    area.candidates = exec_candidates(setup.argv.front(), setup.environment);
    area.candidate_pointers = pointers_to(area.candidates);
  } else {
    plan(Stage::descriptors, SYS_close_range, 0, first_descriptor - 1, 0);
    plan(Stage::descriptors, SYS_close_range, start_fd, last_descriptor, 0);
  }
  area.argv = pointers_to(setup.argv);
  area.environment = pointers_to(setup.environment);

  CommandView& command = area.view.command;
  command.child = {area.calls.data(), area.calls.size(),       area.candidate_pointers.data(),
                   area.argv.data(),  area.environment.data(), setup.instead,
                   setup.observed};
  if (setup.observed) command.child.go = 0;
  command.main = child_main<K>;
  command.stack = area.child_stack.data() + area.child_stack.size();
  if (kept) {
    KeeperView& view = area.view;
    view.clone_flags = static_cast<int>(setup.clone_flags);
    view.parent = K::call(SYS_getpid);
    view.bell = child.bell_.get();
    view.whole_tree = os::proc_lists_children<K>();
    if (!setup.user_map.empty()) {
      area.maps = {setup.user_map.data(), setup.user_map.size(), setup.group_map.data(), setup.group_map.size()};
      view.maps = &area.maps;
      view.mapped = setup.mapped;
    }
    int pidfd = -1;
    {
      const os::BlockAllSignals<K> blocked;
      child.keeper_pid_ = K::clone(keeper_main<K>, area.keeper_stack.data() + area.keeper_stack.size(),
                                   CLONE_VM | CLONE_PIDFD, &view, &pidfd);
    }
    check(child.keeper_pid_, "clone");
    child.keeper_ = os::BasicFd<K>(pidfd);
  } else {
    command.child.go = 0;
    std::vector<int> given(first_three.begin(), first_three.end());
    for (const auto& group : groups) given.push_back(group.get());
    check(os::send_order<K>(setup.channel, InitOrder{&command, 0}, given), "asking the init of the sandbox");
  }
  child.running_ = true;
  child.out_pipe_ = std::move(out.read);
  child.err_pipe_ = std::move(err.read);
  child.in_pipe_ = std::move(in.write);
  child.held_ = {std::move(out.write), std::move(err.write)};
  in.read.reset();
  for (auto& fd : extra) fd.reset();
  if (kept) {
    start.write.reset();
    InitReport unused{};
    const auto told = std::as_writable_bytes(std::span(&unused, 1));
    const bool waits = os::read_some<K>(start.read.get(), told) > 0;
    child.pid_ = command.pid;
    if (waits) {
      child.observe(command.pid);
      let_go<K>(command.child, true);
      (void)os::read_some<K>(start.read.get(), told);
    }
  } else {
    const long waiting_pid = setup.observed ? child.hear_waiting() : 0;
    const bool current = child.launch_->current();
    if (waiting_pid > 0 && current) child.observe(waiting_pid);
    let_go<K>(command.child, current);
    const bool told = setup.observed && waiting_pid == 0;
    if (waiting_pid < 0 || (!told && !child.hear_init(true)))
      throw SandboxUnavailableError(
          "the init of the sandbox was killed, and with it whatever of the command had begun; start it again");
    if (!current) {
      auto renewed = child.launch_->renewed();
      options = std::move(child.options_);
      { const BasicChild<K> ended = std::move(child); }
      return launch_command<K>(std::move(renewed), std::move(options));
    }
  }

  if (command.pid < 0 && (setup.clone_flags != 0 || !kept)) {
    const int error = -command.pid;
    throw SandboxUnavailableError("the namespaces of the sandbox were refused: " + error_text(error),
                                  RunnerFailure{std::string(name(Stage::user_namespace)), error, error_text(error)});
  }
  check(command.pid, "clone");
  if (command.pid == 0) check(-ESRCH, "the process that keeps it was killed");
  const Stage stage = command.child.stage;
  if (const int error = command.child.error; error == 0) {
    child.launch_->started();
  } else if (confines(stage)) {
    child.ending_ = RunnerFailure{std::string(name(stage)), error, error_text(error)};
  } else if (executes(stage)) {
    child.ending_ = child.launch_->exec_failed({error, stage == Stage::interpreter});
  } else {
    std::string what(name(stage));
    if (stage == Stage::working_directory) what += " " + setup.working_directory;
    check(-error, what.c_str());
  }
  if (child.options_.limits.stop.stop_possible())
    child.stop_ = std::make_unique<std::stop_callback<RingOnStop<K>>>(child.options_.limits.stop,
                                                                      RingOnStop<K>{child.bell_.get()});
  return child;
}

[[nodiscard]] inline std::unique_ptr<Launch> make_launch(const UnconfinedArgv& argv, const RunOptions& options,
                                                         const std::string& directory) {
  return std::make_unique<DirectLaunch>(LaunchRequest{argv.command(), options.environment, directory,
                                                      options.terminal.has_value(), argv.scope().resources});
}

template <ConfinedMode M>
[[nodiscard]] std::unique_ptr<Launch> make_launch(const ConfinedArgv<M>& confined, const RunOptions& options,
                                                  const std::string& directory) {
  const bool terminal = options.terminal.has_value();
  if (confined.launch() != nullptr)
    return confined.launch()->prepare({confined.command(), options.environment, directory, terminal});
  const Argv wrapped(confined.argv());
  return std::make_unique<SpeakingLaunch>(
      LaunchRequest{wrapped, options.environment, directory, terminal, confined.policy().scope().resources},
      confined.dialect());
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

inline void require_spill_outside(const SpillDirectory&, const UnconfinedArgv&) noexcept {}
template <ConfinedMode M>
void require_spill_outside(const SpillDirectory& spill, const ConfinedArgv<M>& confined) {
  require_outside(spill, confined.policy().writable_roots());
  require_outside(spill, confined.shared_temp());
}
template <ConfinedMode M>
void require_spill_outside(const SpillDirectory& spill, const FullyConfinedArgv<M>& full) {
  require_spill_outside(spill, full.confined());
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
  if (options.spill) detail::require_spill_outside(*options.spill, what);
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
