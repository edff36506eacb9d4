// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/os/linux/terminal.hpp>
#include <cordon/process/capture.hpp>
#include <cordon/process/init.hpp>
#include <cordon/process/keeper.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/observer.hpp>
#include <cordon/process/options.hpp>
#include <cordon/process/spill.hpp>
#include <cordon/process/unread.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::process {

/// An execution that is over.
struct Completed {
  Ending ending;
  Capture out;
  Capture err;
  std::chrono::nanoseconds elapsed{};
  TreeKeeper tree = TreeKeeper::subreaper;    ///< what would have ended, or did end, whatever it left running
  std::uint32_t outlived = 0;                 ///< processes of its tree that ended later than the command itself
  std::optional<Observations> observed = {};  ///< what was refused to it; empty when nobody was asked to look
};

template <class K>
class BasicChild;

namespace detail {
/// What poll(2) is given to wait until `deadline`, or for ever.
[[nodiscard]] inline int timeout_of(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
}

/// Throws SpawnError unless a command has a terminal of its own.
inline void require_terminal(bool has_one) {
  if (!has_one)
    throw SpawnError("this command has no terminal of its own; set RunOptions::terminal to give it one", ENOTTY);
}

template <class K>
[[nodiscard]] BasicChild<K> launch_command(std::unique_ptr<Launch> launch, RunOptions options);

/// Rings a bell when a stop is asked for.
template <class K>
struct RingOnStop {
  int bell;
  void operator()() const noexcept { ring<K>(bell); }
};
}  // namespace detail

/// One running command. Move-only, and for one thread at a time. Its destructor ends the command and its whole tree,
/// but not in a process that was forked meanwhile.
template <class K>
class BasicChild {
 public:
  BasicChild(BasicChild&&) noexcept = default;
  BasicChild& operator=(BasicChild&&) = delete;
  ~BasicChild() {
    if (!launch_) return;  // moved from
    if (!made_here()) {
      keeper_.reset();  // the copy that a fork made of it
      return;
    }
    kill();
    const auto deadline = killed_.value_or(Clock::now()) + end_limit;
    while (running_ && Clock::now() < deadline) wait_for_processes(deadline);
    stop_.reset();
    abandon();
    if (settled_ || !options_.unread) return;
    for (const Stream stream : {Stream::out, Stream::err}) options_.unread->spills_to(stream, {});
  }

  /// The command's process, as this program numbers it. 0 when it was gone before that could be told.
  [[nodiscard]] long pid() const noexcept { return pid_; }

  /// The limits that its policy asked for, and what holds each.
  [[nodiscard]] const std::vector<AppliedLimit>& limits() const noexcept { return resources_.applied(); }

  /// RunOptions::unread.
  [[nodiscard]] const std::shared_ptr<UnreadOutput>& unread() const noexcept { return options_.unread; }

  /// False when it could not be executed, or confined: then wait tells why.
  [[nodiscard]] bool started() const noexcept { return !ending_; }

  /// Sends SIGTERM to every process of the command.
  void terminate() {
    if (!running_ || !made_here()) return;
    if (in_namespace())
      order_signal(SIGTERM);
    else
      os::signal_descendants<K>(keeper_pid_, SIGTERM, launch_->setup().wraps ? 1 : 0);
  }

  /// Sends SIGKILL to every process of the command, also to those that it makes meanwhile.
  void kill() noexcept {
    if (!running_ || !made_here()) return;
    if (!killed_) killed_ = Clock::now();
    if (in_namespace()) order_signal(SIGKILL);
    // A program that gave its privileges away meanwhile may not, and has nothing to wait for.
    else if (os::send_signal<K>(keeper_.get(), detail::end_request) == -EPERM)
      *killed_ -= end_limit;
  }

  /// Ends the command as a stop that was asked for does: SIGTERM to its whole tree, after the grace SIGKILL, and its
  /// ending is Cancelled, unless there was another cause before. Done by whoever waits.
  void cancel() noexcept { cancelled_ = true; }

  /// True with RunOptions::terminal.
  [[nodiscard]] bool has_terminal() const noexcept { return options_.terminal.has_value(); }

  /// Changes the size of the command's terminal: what runs in its foreground gets SIGWINCH. Without effect when the
  /// command has ended. Throws SpawnError when it has no terminal.
  void resize(TerminalSize size) {
    detail::require_terminal(has_terminal());
    if (in_pipe_) (void)os::set_terminal_size<K>(in_pipe_.get(), size.rows, size.columns);
  }

  /// Types into the command's terminal, behind whatever of its input has not been typed by then. Done by whoever waits,
  /// as fast as the command reads; what it does not read is held here, however much that is. A key for a signal is for
  /// what is in the foreground then: inside bubblewrap that may be nothing yet, and the key is lost. Without effect
  /// when the command has ended. Throws SpawnError when it has no terminal.
  void type(std::string_view keys) {
    detail::require_terminal(has_terminal());
    if (!in_pipe_ || keys.empty()) return;
    pending_input_ += keys;
    last_given_ = keys.back();
  }

  /// Follows the command to its end, collecting its output and keeping its limits. Throws SpawnError when the system
  /// fails at that; the command has ended then.
  [[nodiscard]] Completed wait() { return *wait_until(std::nullopt); }

  /// The same, but gives up at `limit`: then the command still runs and the result is empty. Serves at least once what
  /// is there, so a limit of 0 takes what can be had without waiting.
  [[nodiscard]] std::optional<Completed> wait_for(std::chrono::milliseconds limit) {
    return wait_until(Clock::now() + limit);
  }

  // What `wait` is made of, for an event loop of one's own. One round: `advance`; when that made it `finished`,
  // `settle`. Otherwise poll(2) what `watch` says, until that time at the latest, and `serve` the outcome.

  /// What to poll. A negative descriptor stands for nothing.
  using PollSet = std::array<pollfd, 7>;
  [[nodiscard]] PollSet watch() const noexcept {
    PollSet set{pollfd{keeper_.get(), POLLIN, 0},
                pollfd{out_pipe_.get(), POLLIN, 0},
                pollfd{err_pipe_.get(), POLLIN, 0},
                pollfd{in_pipe_.get(), 0, 0},
                pollfd{-1, POLLIN, 0},
                pollfd{bell_.get(), POLLIN, 0},
                pollfd{running_ ? channel() : -1, POLLIN, 0}};
    if (in_pipe_) {
      if (pending_input_.empty() && options_.input.descriptor() >= 0)
        set[4].fd = options_.input.descriptor();
      else if (!has_terminal() || !pending_input_.empty())
        set[3].events = POLLOUT;
    }
    return set;
  }

  /// Takes what poll(2) found of what `watch` said last. To be called also when it found nothing, but not when it
  /// failed. Throws what the callback for output throws.
  void serve(const PollSet& set) {
    if (set[1].revents != 0) collect(out_pipe_, out_, Stream::out);
    if (set[2].revents != 0) collect(err_pipe_, err_, Stream::err);
    if (set[4].revents != 0) refill_input();
    if ((set[3].revents & (POLLERR | POLLHUP)) != 0)
      in_pipe_.reset();
    else if (set[3].revents != 0)
      feed();
    if (set[5].revents != 0) hear_bell();
    if (set[6].revents != 0) hear_init(false);
    if (set[0].revents != 0) reap_keeper();
    const auto silent = [](const pollfd& watched) { return watched.revents == 0; };
    // Who holds the pipes now is no process of the tree, or one that could not be ended.
    if (drained_ && area_->view.whole_tree && std::all_of(set.begin(), set.end(), silent)) close_output();
  }

  /// Does what is due by `now`. Returns when something is due next; without that only an event goes on.
  std::optional<Clock::time_point> advance(Clock::time_point now) {
    std::optional<Clock::time_point> next;
    if (running_) next = keep_limits(now);
    if (running_) return next;
    if (!drained_) drained_ = now + options_.drain_limit;
    if (now >= *drained_) close_output();
    return area_->view.whole_tree ? now : *drained_;
  }

  /// The command has ended, and everything that it left running, and all its output is here.
  [[nodiscard]] bool finished() const noexcept { return !running_ && !out_pipe_ && !err_pipe_; }

  /// What it came to, once, when `finished`. Throws SpawnError when that can't be known.
  [[nodiscard]] Completed settle() {
    const detail::CommandView& command = area_->view.command;
    const bool whole_tree = area_->view.whole_tree;
    const detail::Recorder<K>& errors = has_terminal() ? out_ : err_;
    if (!ending_)
      ending_ = cause_ ? *cause_
                       : launch_->settle(command.over ? std::optional(command.status) : std::nullopt,
                                         errors.capture().text());
    settled_ = true;
    Capture out = out_.finish();
    Capture err = err_.finish();
    if (options_.unread && options_.spill) {
      const auto path = [](const Capture& stream) { return stream.spill() ? stream.spill()->path : std::string(); };
      options_.unread->spills_to(Stream::out, path(out));
      options_.unread->spills_to(Stream::err, path(err));
    }
    return Completed{*ending_,
                     std::move(out),
                     std::move(err),
                     Clock::now() - begun_,
                     in_namespace() ? TreeKeeper::pid_namespace
                     : whole_tree   ? TreeKeeper::subreaper
                                    : TreeKeeper::process_group,
                     command.outlived,
                     observed(whole_tree || in_namespace())};
  }

 private:
  template <class L>
  friend BasicChild<L> detail::launch_command(std::unique_ptr<Launch>, RunOptions);

  /// How long a killed tree may take to be gone. A process that the kernel can't end is left to the keeper then.
  static constexpr std::chrono::seconds end_limit{5};

  BasicChild(std::unique_ptr<Launch> launch, RunOptions options)
      : area_(new detail::KeeperArea),
        launch_(std::move(launch)),
        options_(std::move(options)),
        out_("stdout", options_.max_output, options_.spill, options_.max_spill),
        err_("stderr", options_.max_output, options_.spill, options_.max_spill),
        begun_(Clock::now()),
        last_output_(begun_) {}

  [[nodiscard]] std::optional<Completed> wait_until(std::optional<Clock::time_point> deadline) {
    for (bool late = false;; late = deadline && Clock::now() >= *deadline) {
      const auto due = advance(Clock::now());
      if (finished()) return settle();
      if (late) return std::nullopt;
      PollSet set = watch();
      const long ready = os::poll_once<K>(set, detail::timeout_of(due && deadline ? std::min(*due, *deadline)
                                                                  : due           ? due
                                                                                  : deadline));
      if (ready >= 0)
        serve(set);
      else if (ready != -EINTR)
        throw SpawnError(
            "poll failed while following a command: " + cordon::detail::error_text(static_cast<int>(-ready)),
            static_cast<int>(-ready));
    }
  }

  std::optional<Clock::time_point> keep_limits(Clock::time_point now) {
    std::optional<Clock::time_point> next;
    const auto due_at = [&](Clock::time_point at) {
      if (now < at && (!next || at < *next)) next = at;
      return now >= at;
    };
    const Limits& limits = options_.limits;
    if (over_ && !cause_) {
      const bool silent = !out_pipe_ && !err_pipe_;
      if (!killed_ && (silent || due_at(*over_ + options_.drain_limit))) kill();
    } else if (!cause_ && !killed_) {
      if (cancelled_ || limits.stop.stop_requested())
        cause_ = Cancelled{};
      else if (limits.output && out_.capture().seen() + err_.capture().seen() > *limits.output)
        cause_ = OutputLimit{};
      else if (limits.wall && due_at(begun_ + *limits.wall))
        cause_ = TimedOut{TimedOut::Limit::wall};
      else if (limits.idle && due_at(last_output_ + *limits.idle))
        cause_ = TimedOut{TimedOut::Limit::idle};
      if (cause_) {
        terminate();
        terminated_ = now;
      }
    }
    if (cause_ && !killed_ && due_at(terminated_ + limits.grace)) kill();
    if (killed_ && due_at(*killed_ + end_limit)) abandon();
    return next;
  }

  void close_output() noexcept {
    out_pipe_.reset();
    err_pipe_.reset();
  }

  void collect(os::BasicFd<K>& pipe, detail::Recorder<K>& recorder, Stream stream) {
    std::array<std::byte, 65536> buffer;
    const long got = os::read_some<K>(pipe.get(), buffer);
    if (got == -EAGAIN) return;
    if (got <= 0) {
      pipe.reset();
      return;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got));
    recorder.append(bytes);
    if (options_.unread) {
      options_.unread->append(stream, bytes);
      if (options_.spill) options_.unread->spills_to(stream, recorder.path());
    }
    if (options_.limits.idle) last_output_ = Clock::now();
    if (options_.on_output) options_.on_output(stream, bytes);
  }

  /// Makes `content` the command's input, or the last piece of it.
  void give(std::string_view content) {
    pending_input_ += content;
    if (!content.empty()) last_given_ = content.back();
    if (options_.input.descriptor() < 0) end_typing();
  }

  /// In the middle of a line the key for the end of file only ends the line.
  void end_typing() {
    constexpr std::string_view line_ends("\n\r\4");
    if (has_terminal()) pending_input_ += line_ends.find(last_given_) == std::string_view::npos ? "\4\4" : "\4";
  }

  void refill_input() {
    std::array<std::byte, 65536> buffer;
    const long got = os::read_some<K>(options_.input.descriptor(), buffer);
    if (got == -EAGAIN) return;
    if (got > 0) {
      give({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got)});
    } else if (has_terminal()) {
      options_.input = Input::none();
      end_typing();
    } else {
      in_pipe_.reset();
    }
  }

  void feed() {
    const long written = os::write_some<K>(in_pipe_.get(), std::as_bytes(std::span(pending_input_).subspan(given_)));
    if (written == -EAGAIN) return;
    if (written < 0) {
      in_pipe_.reset();  // the command doesn't read its input: harmless (EXE-06)
      return;
    }
    given_ += static_cast<std::size_t>(written);
    if (given_ == pending_input_.size()) {
      pending_input_.clear();
      given_ = 0;
    }
    if (!has_terminal() && pending_input_.empty() && options_.input.descriptor() < 0) in_pipe_.reset();
  }

  /// The command ended and left something running, or a stop was asked for.
  void hear_bell() {
    std::uint64_t rings = 0;
    (void)os::read_some<K>(bell_.get(), std::as_writable_bytes(std::span(&rings, 1)));
    if (area_->view.command.over) command_ended();
  }

  void command_ended() {
    if (!over_) over_ = Clock::now();
    held_ = {};
    in_pipe_.reset();
  }

  /// What the observer saw, which ends with the last process of the command; with what got away, unless all can be
  /// ended.
  [[nodiscard]] std::optional<Observations> observed(bool all_ended) {
    if (!observer_) return std::nullopt;
    return observer_->finish(all_ended ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(0));
  }

  /// Has the command's process traced, which waits for that. Throws SandboxUnavailableError, and the command is not run
  /// then.
  void observe(long pid) {
    const ChildSetup& setup = launch_->setup();
    observer_ = std::make_unique<BasicObserver<K>>(setup.observed_roots, setup.observed_exceptions);
    const long result = observer_->begin(pid);
    if (result >= 0) return;
    detail::let_go<K>(area_->view.command.child, false);
    const int error = static_cast<int>(-result);
    throw SandboxUnavailableError(
        "what the sandbox refuses can't be observed: tracing the command was refused: " +
            cordon::detail::error_text(error) +
            "; allow ptrace for this user (kernel.yama.ptrace_scope below 3, and the profile of the container), or run "
            "without an observer",
        RunnerFailure{"observer", error, cordon::detail::error_text(error)});
  }

  /// Takes one report of init, if there is any or `block` is true. False when none will come any more.
  bool hear_init(bool block) {
    detail::InitReport report{};
    long pid = 0;
    const long got = os::receive_report<K>(channel(), report, pid, block);
    if (got == -EAGAIN) return true;
    if (got <= 0) {
      // Everything in the namespace has ended when its init has, which may take longer than to close its channel.
      pollfd event{launch_->setup().init, POLLIN, 0};
      (void)os::poll_once<K>(std::span(&event, 1), static_cast<int>(end_limit.count() * 1000));
      running_ = false;
      return false;
    }
    take(report, pid);
    return true;
  }

  /// Waits for the word of the command's own process that only its execve is left. Its number, 0 when init told first
  /// that there is no such process any more, or -1 when init is gone.
  long hear_waiting() {
    detail::InitReport report{};
    long pid = 0;
    if (os::receive_report<K>(channel(), report, pid, true) <= 0) return -1;
    if (report == detail::InitReport::waiting) return pid;
    take(report, pid);
    return 0;
  }

  void take(detail::InitReport report, long pid) {
    if (report == detail::InitReport::started)
      pid_ = area_->view.command.pid > 0 ? pid : 0;
    else
      command_ended();
    if (report == detail::InitReport::gone || report == detail::InitReport::used_up) running_ = false;
    if (report == detail::InitReport::gone) launch_->gone();
  }

  void order_signal(int signal) noexcept { (void)os::send_order<K>(channel(), detail::InitOrder{nullptr, signal}, {}); }

  /// False in a process that was forked from the one that started the command.
  [[nodiscard]] bool made_here() const noexcept { return made_by_ == os::Kernel::call(SYS_getpid); }

  [[nodiscard]] int channel() const noexcept { return launch_->setup().channel; }
  [[nodiscard]] bool in_namespace() const noexcept { return channel() >= 0; }

  /// The keeper is gone and everything with it.
  void reap_keeper() noexcept {
    os::WaitStatus unused;
    if (os::wait_for<K>(keeper_.get(), false, unused) == -EAGAIN) return;
    keeper_.reset();
    running_ = false;
    command_ended();
  }

  void wait_for_processes(Clock::time_point deadline) noexcept {
    pollfd event{in_namespace() ? channel() : keeper_.get(), POLLIN, 0};
    if (os::poll_once<K>(std::span(&event, 1), detail::timeout_of(deadline)) <= 0) return;
    if (in_namespace())
      hear_init(false);
    else
      reap_keeper();
  }

  /// Leaves processes that can't be ended to themselves, with the memory they may run on.
  void abandon() noexcept {
    if (!std::exchange(running_, false)) return;
    keeper_.reset();
    (void)new std::shared_ptr<detail::KeeperArea>(area_);
  }

  std::shared_ptr<detail::KeeperArea> area_;
  std::unique_ptr<Launch> launch_;
  RunOptions options_;
  detail::Recorder<K> out_;
  detail::Recorder<K> err_;
  Clock::time_point begun_;
  Clock::time_point last_output_;
  long made_by_ = os::Kernel::call(SYS_getpid);
  bool running_ = false;  ///< some process of the command may be
  long pid_ = 0;
  long keeper_pid_ = 0;
  os::BasicFd<K> keeper_;  ///< none in a namespace that has an init
  os::BasicFd<K> bell_;
  std::unique_ptr<BasicObserver<K>> observer_;
  std::unique_ptr<std::stop_callback<detail::RingOnStop<K>>> stop_;  ///< gone before the bell
  os::BasicFd<K> in_pipe_;   ///< with a terminal: our side of it, until the command has ended
  os::BasicFd<K> out_pipe_;  ///< with a terminal: our side of it, until nothing more can come
  os::BasicFd<K> err_pipe_;
  os::FdPair<K> held_;  ///< the other ends of both, so that their end is not one more event
  detail::LimitedResources resources_;
  std::string pending_input_;
  std::size_t given_ = 0;   ///< bytes of it that the command has
  char last_given_ = '\n';  ///< the last byte of the input
  bool settled_ = false;
  std::optional<Clock::time_point> over_;     ///< the command itself has ended
  bool cancelled_ = false;                    ///< `cancel` was called
  std::optional<Ending> cause_;               ///< why cordon ended it
  Clock::time_point terminated_;              ///< when SIGTERM was sent for that
  std::optional<Clock::time_point> killed_;   ///< when SIGKILL was asked for
  std::optional<Clock::time_point> drained_;  ///< when it has ended: until when output may still come
  std::optional<Ending> ending_;
};

using Child = BasicChild<os::Kernel>;

}  // namespace cordon::process
