// SPDX-License-Identifier: BSL-1.0
#pragma once

// A command that Harness::start started, and what it came to.

#include <chrono>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/classify/denial.hpp>
#include <cordon/classify/observed.hpp>
#include <cordon/enforcement.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/partial_rule.hpp>
#include <cordon/process/child.hpp>
#include <cordon/process/unread.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// How a command ended. What a runner did wrong is never in here.
using CommandEnding = std::variant<process::Exited, process::Signalled, process::TimedOut, process::Cancelled,
                                   process::OutputLimit, process::NotExecutable>;

/// What is known of an execution from its start: how it, and no other, was confined. Never changes afterwards.
struct RunFacts {
  SandboxMode mode;
  std::string backend = {};                            ///< empty without confinement
  std::optional<Enforcement> enforcement = {};         ///< empty without confinement
  std::vector<std::string> best_effort = {};           ///< protected paths that the command can replace
  std::vector<std::string> shared_temp = {};           ///< temp directories of the host that the command can write
  std::optional<process::TerminalSize> terminal = {};  ///< of its own, as it was at the start; empty without one
  std::vector<AppliedLimit> limits = {};               ///< those that the policy asked for
  std::vector<std::string> removed_env = {};           ///< RunOptions::removed_env
};

/// The facts of one execution.
struct RunResult : RunFacts {
  CommandEnding ending;
  process::Capture out;
  process::Capture err;
  std::chrono::nanoseconds elapsed{};
  process::TreeKeeper tree = process::TreeKeeper::subreaper;  ///< what saw to it that nothing was left running
  std::uint32_t outlived = 0;                                 ///< processes that ended later than the command itself
  std::vector<Denial> denials = {};
  std::uint64_t unlisted_refusals = 0;  ///< refused calls that an observer had no room to write down

  [[nodiscard]] bool denied() const noexcept { return !denials.empty(); }
};

namespace detail {
class JobBoard;
struct Execution;

/// Is told what a command came to, once. Its destructor, before that, means that nobody knows.
class Settlement {
 public:
  Settlement() = default;
  Settlement(const Settlement&) = delete;
  Settlement& operator=(const Settlement&) = delete;
  virtual ~Settlement() = default;
  virtual void came_to(const RunResult& result) = 0;
  virtual void came_to_nothing(std::string_view outcome) noexcept = 0;
};
}  // namespace detail

/// A command that runs, with the facts of its own wrap: nothing that its harness does later changes them. It may
/// outlive the harness. Only Harness::start makes one.
///
/// Move-only, and for one thread at a time: its output is read and its limits are kept while somebody waits. Its
/// destructor ends the command and its whole tree. `Jobs::keep` takes it where it runs on by itself.
class Running {
 public:
  Running(Running&&) noexcept = default;
  Running& operator=(Running&&) = delete;

  [[nodiscard]] const RunFacts& facts() const noexcept { return facts_; }

  /// The command's process, as this program numbers it. 0 when it was gone before that could be told.
  [[nodiscard]] long pid() const noexcept { return child_.pid(); }

  /// Sends SIGTERM to every process of the command.
  void terminate() { child_.terminate(); }
  /// Sends SIGKILL to every process of the command.
  void kill() noexcept { child_.kill(); }
  /// SIGTERM, after the grace SIGKILL, and the ending is Cancelled. Done by whoever waits.
  void cancel() noexcept { child_.cancel(); }

  /// Changes the size of its own terminal, or types into it. Throws SpawnError when it has none; see process::Child.
  void resize(process::TerminalSize size) { child_.resize(size); }
  void type(std::string_view keys) { child_.type(keys); }

  /// Follows the command to its end. Throws SandboxUnavailableError when its runner failed, so that it did not run, and
  /// SpawnError when the system fails at following it.
  [[nodiscard]] RunResult wait() { return result_of(child_.wait()); }

  /// The same, but gives up at `limit`: then the command still runs and the result is empty.
  [[nodiscard]] std::optional<RunResult> wait_for(std::chrono::milliseconds limit) {
    if (auto done = child_.wait_for(limit)) return result_of(std::move(*done));
    return std::nullopt;
  }

  /// The output that was not read before, of what came while somebody waited: of each stream the last
  /// `RunOptions::max_output` bytes. What a result captures is another copy.
  [[nodiscard]] process::NewOutput read() { return child_.unread()->take(child_.finished()); }

 private:
  template <class B, AnswererChainLike Chain, PartialRule Rule>
  friend class Harness;
  friend class detail::JobBoard;
  friend struct detail::Execution;

  Running(RunFacts facts, process::Child child) : facts_(std::move(facts)), child_(std::move(child)) {
    facts_.limits = child_.limits();
  }

  [[nodiscard]] RunResult result_of(process::Completed done) {
    const auto* failure = std::get_if<RunnerFailure>(&done.ending);
    if (failure != nullptr && facts_.mode.confined()) {
      invalidate_();
      if (settlement_) settlement_->came_to_nothing("runner_failed");
      std::string message =
          "the sandbox (" + facts_.backend + ") failed before it ran the command; nothing was executed";
      if (!failure->detail.empty()) message += ". Runner failure: " + failure->detail;
      throw SandboxUnavailableError(message, *failure);
    }
    CommandEnding command_ending = process::NotExecutable{failure != nullptr ? failure->error : 0};
    std::visit(
        [&](const auto& ending) {
          // Without a runner there is none that failed.
          if constexpr (!std::is_same_v<std::decay_t<decltype(ending)>, RunnerFailure>) command_ending = ending;
        },
        done.ending);
    RunResult result{facts_,       command_ending, std::move(done.out), std::move(done.err),
                     done.elapsed, done.tree,      done.outlived};
    if (done.observed) {
      result.denials = observed_denials(*done.observed, context_);
      result.unlisted_refusals = done.observed->left_out;
    } else if (facts_.mode.confined()) {
      result.denials = denials_in(result);
    }
    if (const auto settlement = std::exchange(settlement_, nullptr)) settlement->came_to(result);
    return result;
  }

  /// Those that what the command wrote tells of.
  [[nodiscard]] std::vector<Denial> denials_in(const RunResult& result) {
    const process::Capture& words = facts_.terminal ? result.out : result.err;
    if (words.seen() == 0) return {};
    if (const auto* exited = std::get_if<process::Exited>(&result.ending)) context_.exit_code = exited->code;
    context_.words = words_of(dialect_, language_);
    return infer_denials(words.text(), context_);
  }

  RunFacts facts_;
  DenialContext context_ = {};
  DialectView dialect_{{}, {}};
  std::vector<std::string> language_ = {};  ///< the variables that tell in which language the command speaks
  std::function<void()> invalidate_ = {};   ///< tells the backend, which lives as long as this, of a runner's failure
  std::unique_ptr<detail::Settlement> settlement_ = {};  ///< of a command that is recorded
  std::shared_ptr<const void> confinement_ = {};  ///< owns what the command needs until its end, such as a temp area
  process::Child child_;
};

}  // namespace cordon
