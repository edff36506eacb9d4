// SPDX-License-Identifier: BSL-1.0
#pragma once

// Commands that run on when the call that started them has returned.
//
//   cordon::Jobs jobs;                                             // as long as the session
//   cordon::Running server = harness.start(policy, argv, options);
//   if (auto result = server.wait_for(10s)) return *result;        // ended in time
//   cordon::Job job = jobs.keep(std::move(server));                // runs on
//   …
//   std::cout << job.read().out.text;                              // what came since the last read
//   jobs.mode_is(cordon::read_only);                               // the session has less authority from now on
//   for (const cordon::Job& ended : jobs.end_exceeding()) …

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cordon/detail/error_text.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/child.hpp>
#include <cordon/process/unread.hpp>
#include <cordon/running.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace cordon {

/// What came of a job since it was read last.
struct JobOutput : process::NewOutput {
  std::string note = {};  ///< cordon's own words, once, when the job came to an error instead of a result
  bool ended = false;     ///< nothing more will come
};

namespace detail {

class JobBoard;

/// How a job is to be ended, the gentlest first.
enum class JobEnd { none, terminate, cancel, kill };

/// One job. Some of it never changes, some belongs to the pump, and the rest is behind the mutex.
struct JobState {
  const std::shared_ptr<JobBoard> board;
  const RunFacts facts;
  const long pid;
  const std::shared_ptr<process::UnreadOutput> unread;

  std::optional<Running> running;
  process::Child::PollSet watched{};
  JobEnd done = JobEnd::none;

  std::mutex mutex{};
  std::condition_variable settled{};
  JobEnd asked = JobEnd::none;
  std::string typed{};                             ///< and not yet given to the command
  std::optional<process::TerminalSize> resized{};  ///< and not yet done
  std::optional<RunResult> result{};
  std::exception_ptr failure{};
  bool failure_told = false;

  [[nodiscard]] bool over() const noexcept { return result || failure; }
};

/// What Jobs, its handles and its pump share. Lives as long as the last of them.
class JobBoard {
  using Kernel = os::Kernel;

 public:
  using Job = std::shared_ptr<JobState>;

  JobBoard() : bell_(os::make_event<Kernel>()) {
    if (!bell_) throw SpawnError("no event descriptor can be made to keep jobs; close some descriptors", EMFILE);
  }

  [[nodiscard]] static Job add(const std::shared_ptr<JobBoard>& board, Running running) {
    auto unread = running.child_.unread();
    Job job(new JobState{board, running.facts(), running.pid(), std::move(unread), std::move(running)});
    const std::scoped_lock lock(board->mutex_);
    board->live_.push_back(job);
    board->ring();
    return job;
  }

  void mode_is(SandboxMode mode) {
    const std::scoped_lock lock(mutex_);
    mode_ = mode;
  }
  [[nodiscard]] bool exceeded_by(const JobState& job) const {
    const std::scoped_lock lock(mutex_);
    return mode_ && job.facts.mode.wider_than(*mode_);
  }
  [[nodiscard]] std::vector<Job> live() const {
    const std::scoped_lock lock(mutex_);
    return live_;
  }

  /// False when the job is over, or was asked for that or for more before.
  bool ask(JobState& job, JobEnd end) {
    const std::scoped_lock lock(job.mutex);
    if (job.over() || job.asked >= end) return false;
    job.asked = end;
    ring();
    return true;
  }

  /// Changes what the pump has to do to the terminal of a job. False when the job is over.
  template <class Change>
  bool change_terminal(JobState& job, Change change) {
    process::detail::require_terminal(job.facts.terminal.has_value());
    const std::scoped_lock lock(job.mutex);
    if (job.over()) return false;
    change(job);
    ring();
    return true;
  }

  /// No job is added any more: ends them all, and then the pump.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    for (const Job& job : live_) ask(*job, JobEnd::cancel);
    ring();
  }

  /// The pump: follows every job until the board is closed and no job is left.
  void follow() noexcept {
    std::vector<Job> jobs;
    std::vector<pollfd> set;
    while (true) {
      try {
        {
          const std::scoped_lock lock(mutex_);
          if (closed_ && live_.empty()) return;
          jobs = live_;
        }
        round(jobs, set);
      } catch (...) {
        // Not even memory to follow them with: none can be kept.
        for (const Job& job : jobs) end(job, {}, std::current_exception());
      }
    }
  }

 private:
  void ring() const noexcept { process::detail::ring<Kernel>(bell_.get()); }

  void round(const std::vector<Job>& jobs, std::vector<pollfd>& set) {
    set.reserve(1 + jobs.size() * std::tuple_size_v<process::Child::PollSet>);
    set.assign(1, pollfd{bell_.get(), POLLIN, 0});
    const auto now = process::Clock::now();
    std::optional<process::Clock::time_point> next;
    for (const Job& job : jobs) {
      guarded(job, [&] {
        process::Child& child = job->running->child_;
        obey(*job, child);
        const auto due = child.advance(now);
        if (child.finished()) {
          end(job, job->running->result_of(child.settle()), nullptr);
          return;
        }
        if (due) next = next ? std::min(*next, *due) : due;
        job->watched = child.watch();
        for (const pollfd& one : job->watched)
          if (one.fd >= 0) set.push_back(one);
      });
    }
    // What has just ended may have been the last.
    if (std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return !job->running; })) next = now;
    const long ready = os::poll_once<Kernel>(set, process::detail::timeout_of(next));
    if (ready == -EINTR) return;
    if (ready < 0)
      throw SpawnError("poll failed while following jobs: " + error_text(static_cast<int>(-ready)),
                       static_cast<int>(-ready));
    auto found = set.begin();
    if (found->revents != 0) {
      std::uint64_t rings = 0;
      (void)os::read_some<Kernel>(found->fd, std::as_writable_bytes(std::span(&rings, 1)));
    }
    for (const Job& job : jobs) {
      if (!job->running) continue;
      for (pollfd& one : job->watched)
        if (one.fd >= 0) one.revents = (++found)->revents;
      guarded(job, [&] { job->running->child_.serve(job->watched); });
    }
  }

  /// An exception ends the job that it comes from, and nothing else.
  template <class Action>
  void guarded(const Job& job, Action action) noexcept {
    try {
      action();
    } catch (...) {
      end(job, {}, std::current_exception());
    }
  }

  static void obey(JobState& job, process::Child& child) {
    const auto [asked, typed, resized] = [&] {
      const std::scoped_lock lock(job.mutex);
      return std::tuple(job.asked, std::exchange(job.typed, {}), std::exchange(job.resized, {}));
    }();
    if (resized) child.resize(*resized);
    if (!typed.empty()) child.type(typed);
    if (std::exchange(job.done, asked) == asked) return;
    if (asked == JobEnd::terminate) child.terminate();
    if (asked == JobEnd::cancel) child.cancel();
    if (asked == JobEnd::kill) child.kill();
  }

  /// The job is over, with nothing of it left, before anybody hears of it.
  void end(const Job& job, std::optional<RunResult> result, std::exception_ptr failure) noexcept {
    if (!job->running) return;
    job->running.reset();
    {
      const std::scoped_lock lock(mutex_);
      std::erase(live_, job);
    }
    const std::scoped_lock lock(job->mutex);
    job->result = std::move(result);
    job->failure = std::move(failure);
    job->settled.notify_all();
  }

  const os::Fd bell_;  ///< rung when the pump has something new to look at
  mutable std::mutex mutex_;
  std::vector<Job> live_;
  std::optional<SandboxMode> mode_;
  bool closed_ = false;
};

}  // namespace detail

/// A command that Jobs keeps, seen from anywhere: cheap to copy, and valid for ever, also when Jobs is gone and has
/// ended it. All copies share what was read.
///
/// Thread-safe, but `wait` and `wait_for` must not be called by the command's own callback for output, and nothing here
/// by a process that was forked meanwhile.
class Job {
 public:
  Job(const Job&) = default;
  Job& operator=(const Job&) = default;

  /// How this command, and no other, was confined: also when the mode of the session changed since.
  [[nodiscard]] const RunFacts& facts() const noexcept { return state_->facts; }

  /// The command's process, as this program numbers it. 0 when it was gone before that could be told.
  [[nodiscard]] long pid() const noexcept { return state_->pid; }

  /// True until it has a result or an error.
  [[nodiscard]] bool running() const {
    const std::scoped_lock lock(state_->mutex);
    return !state_->over();
  }

  /// True when it was started under a wider mode than the session has by now; see Jobs::mode_is.
  [[nodiscard]] bool exceeds_mode() const { return state_->board->exceeded_by(*state_); }

  /// The output since the last read: of each stream at most the last `RunOptions::max_output` bytes, in one piece. What
  /// had to be dropped unread lies before it and is counted. No byte is ever given twice. Source: EXE-10, T-EXE-11.
  [[nodiscard]] JobOutput read() {
    const bool ended = !running();
    JobOutput output{state_->unread->take(ended)};
    output.ended = ended;
    const std::scoped_lock lock(state_->mutex);
    if (state_->failure && !std::exchange(state_->failure_told, true)) output.note = words_of(state_->failure);
    return output;
  }

  /// What it came to; empty while it runs. Throws what Running::wait would: SandboxUnavailableError when its runner
  /// failed, so that it did not run, SpawnError when it could not be followed; and what its own callback threw.
  [[nodiscard]] std::optional<RunResult> result() const {
    const std::scoped_lock lock(state_->mutex);
    return outcome();
  }

  /// Waits until it has one.
  [[nodiscard]] RunResult wait() const {
    const auto lock = locked_when_over();
    return *outcome();
  }

  /// The same, but gives up after `limit`: then it still runs and the result is empty.
  [[nodiscard]] std::optional<RunResult> wait_for(std::chrono::milliseconds limit) const {
    std::unique_lock lock(state_->mutex);
    state_->settled.wait_for(lock, limit, [&] { return state_->over(); });
    return outcome();
  }

  // Each of these returns at once, and true only when it changes anything: false when the job is over, or was asked to
  // end in this way or a stronger one before. Source: EXE-11, EXE-22.

  /// Sends SIGTERM to every process of the command.
  bool terminate() { return state_->board->ask(*state_, detail::JobEnd::terminate); }
  /// SIGTERM to every process of the command, after its grace SIGKILL. Its ending is Cancelled.
  bool cancel() { return state_->board->ask(*state_, detail::JobEnd::cancel); }
  /// Sends SIGKILL to every process of the command.
  bool kill() { return state_->board->ask(*state_, detail::JobEnd::kill); }

  // The terminal of the command, if it has one of its own; without it these throw SpawnError. They return at once,
  // false when the job is over; what is done when it ends meanwhile is lost.

  /// Changes its size: what runs in its foreground gets SIGWINCH.
  bool resize(process::TerminalSize size) {
    return state_->board->change_terminal(*state_, [&](detail::JobState& state) { state.resized = size; });
  }
  /// Types into it. What the command does not read is held, however much that is.
  bool type(std::string_view keys) {
    return state_->board->change_terminal(*state_, [&](detail::JobState& state) { state.typed += keys; });
  }

  /// True for handles of the same job.
  friend bool operator==(const Job&, const Job&) = default;

 private:
  friend class Jobs;
  explicit Job(std::shared_ptr<detail::JobState> state) noexcept : state_(std::move(state)) {}

  [[nodiscard]] std::unique_lock<std::mutex> locked_when_over() const {
    std::unique_lock lock(state_->mutex);
    state_->settled.wait(lock, [&] { return state_->over(); });
    return lock;
  }

  [[nodiscard]] std::optional<RunResult> outcome() const {
    if (state_->failure) std::rethrow_exception(state_->failure);
    return state_->result;
  }

  [[nodiscard]] static std::string words_of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "the command was ended because the callback for its output threw something";
    }
  }

  std::shared_ptr<detail::JobState> state_;
};

/// The owner of commands that run on after the call which started them. One thread of its own follows all of them,
/// however many there are; it begins with the first. There each command's callback for output is called, so a slow one
/// holds up the others, and an exception from it ends its job. Limits of a command hold as they do elsewhere.
///
/// Its destructor ends all of them, as `Job::cancel` does, and waits for that: for the longest grace, and for some
/// seconds more when the kernel can't end a process.
///
/// Thread-safe.
class Jobs {
 public:
  Jobs() = default;
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  ~Jobs() {
    if (made_by_ != os::Kernel::call(SYS_getpid)) {
      (void)new std::jthread(std::move(pump_));  // a fork made this copy, but not of the thread
      return;
    }
    board_->close();
  }

  /// Starts the thread, so that nothing is started in vain when there can be none. Throws SpawnError then (ESC-08).
  void prepare() {
    const std::scoped_lock lock(starting_);
    if (pump_.joinable()) return;
    const os::BlockAllSignals<os::Kernel> blocked;  // and so has the thread: no handler of the program runs there
    try {
      pump_ = std::jthread([board = board_] { board->follow(); });
    } catch (const std::system_error& error) {
      throw SpawnError(std::string("no thread can be made to keep jobs: ") + error.what(), error.code().value());
    }
  }

  /// Lets a command run on. What it wrote before can still be read. Throws as `prepare`; the command is ended then.
  Job keep(Running running) {
    prepare();
    return Job(detail::JobBoard::add(board_, std::move(running)));
  }

  /// Those that still run, the oldest first.
  [[nodiscard]] std::vector<Job> running() const {
    std::vector<Job> jobs;
    for (auto& state : board_->live()) jobs.push_back(Job(std::move(state)));
    return jobs;
  }

  /// The mode of the session from now on. Ends nothing: a job keeps the confinement that it was started with, which
  /// can't be changed, and says so in Job::exceeds_mode. Before the first call no job exceeds it.
  void mode_is(SandboxMode mode) { board_->mode_is(mode); }

  /// Ends those that exceed the mode of the session, as Job::cancel does, waits until nothing of them is left, and
  /// returns them. Must not be called by a callback for output.
  std::vector<Job> end_exceeding() {
    std::vector<Job> jobs = running();
    std::erase_if(jobs, [](const Job& job) { return !job.exceeds_mode(); });
    for (Job& job : jobs) job.cancel();
    for (const Job& job : jobs) (void)job.locked_when_over();
    return jobs;
  }

 private:
  const long made_by_ = os::Kernel::call(SYS_getpid);
  const std::shared_ptr<detail::JobBoard> board_ = std::make_shared<detail::JobBoard>();
  std::mutex starting_;
  std::jthread pump_;
};

}  // namespace cordon
