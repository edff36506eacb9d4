// SPDX-License-Identifier: BSL-1.0
#pragma once

// The second gate: one question, one decision, both in the log before anybody acts on it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/commands.hpp>
#include <cordon/approval/outcome.hpp>
#include <cordon/approval/request.hpp>
#include <cordon/session/session.hpp>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon {

struct ApprovalOptions {
  /// The widest mode that may be asked for: whoever answers, what is wider is rejected.
  SandboxMode ceiling = danger_full_access;
  /// How long an answer may take; then it is `unavailable`, and a late one is dropped.
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// What the log shows of an argv, and of the words of a reason; all of it when there is none. See MaskSecrets.
  std::function<std::vector<std::string>(std::vector<std::string>)> mask = {};
  /// Told of each `approval/asked` and `approval/decided` after it is recorded. What it throws is ignored.
  std::function<void(const Event&)> observer = {};
};

namespace detail {

/// What nobody was asked about is signed too.
[[nodiscard]] inline Decision signed_by(std::string_view who, Decision decision) {
  decision.sign(who);
  return decision;
}
[[nodiscard]] inline Decision too_late() {
  return signed_by("time-limit", Decision::unavailable("nobody answered within the time limit"));
}

/// One question in one turn, from its record to that of its decision.
template <class Log>
class Question {
 public:
  /// Records that it is asked. Throws ApprovalError (APPROVAL_OUTSIDE_TURN) when the turn has ended, and LogError; then
  /// nothing has changed.
  Question(Turn<Log>& turn, ApprovalRequest&& request, std::shared_ptr<const ApprovalOptions> options)
      : core_(turn.core_),
        turn_(turn.number()),
        request_(std::make_shared<const ApprovalRequest>(std::move(request))),
        options_(std::move(options)) {
    const Action& action = request_->action();
    std::vector<std::string> argv = action.command().elements();
    std::string reason = request_->reason();
    if (options_->mask) {
      argv = options_->mask(std::move(argv));
      reason = masked_words(reason);
    }
    if (!turn.core_) refuse_turn();
    std::vector<Event> events;
    events.emplace_back(ApprovalAsked{request_->id(), request_->tool(), request_->call_id(), std::move(reason),
                                      action.mode(), std::move(argv), action.scope().workspace_root,
                                      action.working_directory(), action.digest()});
    const std::vector<Event> told = options_->observer ? events : std::vector<Event>();
    core_->append_chosen(turn_, [&](const SessionState&, ApprovalPolicy, bool open) {
      if (!open) refuse_turn();
      return std::move(events);
    });
    tell(told);
  }

  [[nodiscard]] const std::shared_ptr<const ApprovalRequest>& request() const noexcept { return request_; }

  /// Whether it is still without a decision.
  [[nodiscard]] bool open() const {
    return core_->with_log([&](const Log& log) { return log.state().is_unanswered(request_->id()); });
  }

  /// What nobody has to be asked about: in this order a stop, the policy, the ceiling and what the session remembers.
  [[nodiscard]] std::optional<Decision> at_once(const std::stop_token& stop) const {
    const Action& action = request_->action();
    if (stop.stop_requested()) return Decision::stopped();
    if (core_->approval() == ApprovalPolicy::never) return by_policy();
    if (action.mode().wider_than(options_->ceiling))
      return signed_by("ceiling", Decision::reject("nothing wider than " + std::string(options_->ceiling.name()) +
                                                   " can be approved here"));
    std::vector<ArgvPrefix> prefixes;
    core_->with_log([&](const Log& log) {
      for (const ApprovalRemembered& rule : log.state().remembered())
        if (rule.setting == action.setting_digest()) prefixes.push_back({rule.words, rule.exact});
    });
    if (!covered_by(prefixes)) return std::nullopt;
    return signed_by("session-rules", Decision::allow());
  }

  /// Records the decision and gives what it comes to: a grant only when it is recorded, and nothing forbids it by now.
  /// Throws LogError.
  [[nodiscard]] ApprovalOutcome decide(Decision decision, bool* counted = nullptr) const {
    // Looked at before the session is locked: a file system may take its time.
    std::vector<Event> rules = rules_of(decision);
    std::vector<Event> told;
    core_->append_chosen(turn_, [&](const SessionState& state, ApprovalPolicy policy, bool open) {
      std::vector<Event> events;
      if (!open || !state.is_unanswered(request_->id())) {
        // Whoever ended the turn has recorded it as cancelled.
        decision = Decision::cancel("its turn has ended");
        if (counted != nullptr) *counted = false;
        if (options_->observer) told.emplace_back(ApprovalDecided{request_->id(), decision.result()});
        return events;
      }
      if (decision.result() == ApprovalResult::allowed_once && policy == ApprovalPolicy::never) decision = by_policy();
      events.emplace_back(ApprovalDecided{request_->id(), decision.result(), decision.answered_by()});
      if (options_->observer) told = events;
      if (decision.result() == ApprovalResult::allowed_once &&
          rules.size() <= SessionState::most_remembered - state.remembered().size())
        events.insert(events.end(), std::move_iterator(rules.begin()), std::move_iterator(rules.end()));
      return events;
    });
    tell(told);
    return outcome(decision);
  }

  /// What it comes to when it could not be recorded, and nobody is there to be told with an exception.
  [[nodiscard]] ApprovalOutcome unrecorded(const std::string& why) const {
    return outcome(Decision::unavailable("the decision could not be recorded: " + why));
  }

 private:
  [[noreturn]] static void refuse_turn() {
    throw ApprovalError(ErrorCode::approval_outside_turn,
                        "an approval was asked for in a turn that has ended; begin a turn and ask in that");
  }

  /// A text as the log is to show it, which masks words.
  [[nodiscard]] std::string masked_words(const std::string& text) const {
    std::vector<std::string> words{std::string()};
    for (const char c : text)
      if (c == ' ')
        words.emplace_back();
      else
        words.back() += c;
    std::string shown;
    for (const std::string& word : options_->mask(std::move(words))) shown += word + " ";
    return shown.substr(0, shown.size() - 1);
  }

  static Decision by_policy() { return signed_by("policy", Decision::reject("this session asks for no approvals")); }

  /// The commands of this action, when rules of a session may be about it, and these are about each of them. What is
  /// typed is nothing that a rule says.
  [[nodiscard]] std::optional<std::vector<std::vector<std::string>>> covered_by(
      const std::vector<ArgvPrefix>& prefixes) const {
    if (prefixes.empty() || request_->action().is_typed_at()) return std::nullopt;
    auto commands = commands_for_rules(request_->action());
    const bool all = commands && std::all_of(commands->begin(), commands->end(),
                                             [&](const auto& command) { return prefixes_cover(prefixes, command); });
    return all ? std::move(commands) : std::nullopt;
  }

  /// What is to be remembered with this decision: nothing unless it speaks about this very action, and has nothing in
  /// it that the log is not to show.
  [[nodiscard]] std::vector<Event> rules_of(const Decision& decision) const {
    std::vector<Event> rules;
    const std::vector<ArgvPrefix> prefixes = decision.remember();
    const auto commands = covered_by(prefixes);
    if (!commands) return rules;
    const Action& action = request_->action();
    for (const ArgvPrefix& prefix : prefixes) {
      const auto covered = [&](const std::vector<std::string>& command) { return prefixes_cover({prefix}, command); };
      if (std::none_of(commands->begin(), commands->end(), covered)) continue;
      if (options_->mask && options_->mask(prefix.words) != prefix.words) return {};
      rules.emplace_back(ApprovalRemembered{request_->id(), prefix.words, prefix.exact, action.mode(),
                                            action.scope().workspace_root, action.working_directory(),
                                            action.setting_digest()});
    }
    return rules;
  }

  void tell(const std::vector<Event>& events) const {
    try {
      for (const Event& event : events) options_->observer(event);
    } catch (...) {
      // It is recorded; who looks on can't change that.
    }
  }

  [[nodiscard]] ApprovalOutcome outcome(const Decision& decision) const {
    const auto made = [&](auto value) {
      return ApprovalOutcome(request_->id(), decision.answered_by(), std::move(value));
    };
    switch (decision.result()) {
      case ApprovalResult::allowed_once:
        return made(AllowedOnce(request_, core_, turn_));
      case ApprovalResult::rejected:
        return made(Rejected{decision.reason()});
      case ApprovalResult::cancelled:
        return made(Cancelled{decision.reason()});
      case ApprovalResult::unavailable:
        break;
    }
    return made(Unavailable{decision.reason()});
  }

  std::shared_ptr<SessionCore<Log>> core_;
  std::uint64_t turn_;
  std::shared_ptr<const ApprovalRequest> request_;
  std::shared_ptr<const ApprovalOptions> options_;
};

/// What a chain says, or that it failed.
template <class Chain>
[[nodiscard]] Decision ask_chain(Chain& chain, const ApprovalRequest& request, const std::stop_token& stop) {
  try {
    return chain(request, stop);
  } catch (const std::exception& error) {
    return Decision::unavailable(std::string("an answerer failed: ") + error.what());
  } catch (...) {
    return Decision::unavailable("an answerer failed");
  }
}

/// The same on a thread of its own, which is left behind when nobody waits any longer: `stop` is asked for, or `limit`
/// is over. What it says then is dropped.
template <class Chain>
[[nodiscard]] Decision ask_beside(const std::shared_ptr<Chain>& chain,
                                  const std::shared_ptr<const ApprovalRequest>& request, const std::stop_token& stop,
                                  const std::optional<std::chrono::milliseconds>& limit) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable_any given;
    std::optional<Decision> decision;
    std::chrono::steady_clock::time_point at;
  };
  const auto answer = std::make_shared<Answer>();
  const auto begun = std::chrono::steady_clock::now();
  std::stop_source nobody_waits;
  try {
    std::thread([answer, chain, request, token = nobody_waits.get_token()] {
      Decision decision = ask_chain(*chain, *request, token);
      const std::scoped_lock lock(answer->mutex);
      answer->decision = std::move(decision);
      answer->at = std::chrono::steady_clock::now();
      answer->given.notify_one();
    }).detach();
  } catch (const std::system_error&) {
    return Decision::unavailable("there is no thread for those who answer");
  }
  std::unique_lock lock(answer->mutex);
  const auto is_given = [&] { return answer->decision.has_value(); };
  bool given =
      limit ? answer->given.wait_until(lock, stop, begun + *limit, is_given) : answer->given.wait(lock, stop, is_given);
  // A machine that slept wakes up to both, the answer and the end of the time.
  if (given && limit) given = answer->at <= begun + *limit;
  if (given && !stop.stop_requested()) return *std::move(answer->decision);
  lock.unlock();
  nobody_waits.request_stop();
  if (stop.stop_requested()) return Decision::stopped();
  return too_late();
}

/// A question that somebody else is to answer, until it is decided in one way or another.
class PendingQuestion {
 public:
  PendingQuestion() = default;
  PendingQuestion(const PendingQuestion&) = delete;
  PendingQuestion& operator=(const PendingQuestion&) = delete;
  virtual ~PendingQuestion() = default;
  [[nodiscard]] virtual const ApprovalRequest& request() const noexcept = 0;
  [[nodiscard]] virtual bool pending() const = 0;
  virtual bool settle(Decision decision) = 0;
};

template <class Log, class Done>
class AsyncQuestion : public PendingQuestion {
 public:
  AsyncQuestion(Question<Log> question, Done done, const std::optional<std::chrono::milliseconds>& limit)
      : question_(std::move(question)), done_(std::move(done)) {
    if (limit) deadline_ = std::chrono::steady_clock::now() + *limit;
  }

  [[nodiscard]] const Question<Log>& question() const noexcept { return question_; }
  [[nodiscard]] const ApprovalRequest& request() const noexcept override { return *question_.request(); }
  [[nodiscard]] bool pending() const override { return !settled_ && question_.open(); }

  bool settle(Decision decision) override {
    if (settled_.exchange(true)) return false;
    if (deadline_ && std::chrono::steady_clock::now() > *deadline_ && decision.result() != ApprovalResult::cancelled)
      decision = too_late();
    // A grant is not made twice, so what done_ throws is not for this handler.
    std::optional<ApprovalOutcome> outcome;
    bool counted = true;
    try {
      outcome.emplace(question_.decide(std::move(decision), &counted));
    } catch (const std::exception& why) {
      outcome.emplace(question_.unrecorded(why.what()));
      counted = false;
    } catch (...) {
      outcome.emplace(question_.unrecorded("the log failed"));
      counted = false;
    }
    done_(*std::move(outcome));
    return counted;
  }

  void stop_by(const std::stop_token& stop, const std::weak_ptr<AsyncQuestion>& self) {
    on_stop_.emplace(stop, [self] {
      try {
        if (const auto question = self.lock()) question->settle(Decision::stopped());
      } catch (...) {
        // What the program does with the outcome is its own business; who asks for a stop can't be told.
      }
    });
  }

 private:
  Question<Log> question_;
  Done done_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::atomic<bool> settled_{false};
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace detail

/// The right to answer one question, once. Move-only; its destructor answers `unavailable`. Used by one thread at a
/// time, on any.
class [[nodiscard]] Responder {
 public:
  explicit Responder(std::shared_ptr<detail::PendingQuestion> question) : question_(std::move(question)) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;
  ~Responder() {
    if (!question_) return;
    try {
      question_->settle(Decision::unavailable("whoever was to answer is gone"));
    } catch (...) {
      // What the program does with the outcome is its own business.
    }
  }

  /// Of the question. Not to be called after `answer`.
  [[nodiscard]] const ApprovalRequest& request() const noexcept { return question_->request(); }
  /// False when an answer would come too late: it was stopped, or its turn has ended.
  [[nodiscard]] bool pending() const { return question_ && question_->pending(); }

  /// Decides it, and calls whoever waits for that, here and now. False: this is dropped, since it had been decided, or
  /// its turn has ended, or it could not be recorded. `who` signs it.
  bool answer(Decision decision, std::string who = "responder") {
    const auto question = std::exchange(question_, nullptr);
    decision.sign_by_copy(std::move(who));
    return question && question->settle(std::move(decision));
  }

 private:
  std::shared_ptr<detail::PendingQuestion> question_;
};

/// Decides whether an action may happen. Thread-safe: several turns, and several threads, may ask at one time.
///
/// Each question is two events of the turn's session, and no grant exists before both are recorded. What is decided
/// without asking anybody (a stop, the policy `never`, the ceiling, a rule that the session remembers) is recorded with
/// who decided it too.
template <class Chain>
class ApprovalService {
  static_assert(AnswererChainLike<Chain>, "cordon: ApprovalService<Chain> needs a cordon::AnswererChain<...>");

 public:
  ApprovalService() requires std::default_initializable<Chain> : ApprovalService(Chain()) {}
  explicit ApprovalService(Chain answerers, ApprovalOptions options = {})
      : answerers_(std::make_shared<Chain>(std::move(answerers))),
        options_(std::make_shared<const ApprovalOptions>(std::move(options))) {}

  [[nodiscard]] const ApprovalOptions& options() const noexcept { return *options_; }
  [[nodiscard]] Chain& answerers() noexcept { return *answerers_; }

  /// Asks, and waits for the decision. Returns `cancelled` as soon as `stop` asks for it, whatever an answerer does:
  /// the thread that it blocks is left to it, and what it says later is dropped.
  ///
  /// Throws ApprovalError (APPROVAL_OUTSIDE_TURN) when the turn has ended, and LogError when the question or the
  /// decision can't be recorded: there is no grant then.
  template <SessionLog Log>
  [[nodiscard]] ApprovalOutcome request(Turn<Log>& turn, ApprovalRequest request, const std::stop_token& stop = {}) {
    const detail::Question<Log> question(turn, std::move(request), options_);
    if (auto decision = question.at_once(stop)) return question.decide(*std::move(decision));
    Decision decision = ask(question.request(), stop);
    // Also when somebody answered in the same moment.
    if (stop.stop_requested()) decision = Decision::stopped();
    return question.decide(std::move(decision));
  }

  /// For event loops and user interfaces: asks and does not wait. `done(ApprovalOutcome)` is called exactly once:
  /// before this returns when nobody has to be asked; else `ask(Responder)` is called, and `done` when it has answered,
  /// on the thread that does, or on the one that asks for the stop; it must not throw. A decision that can't be
  /// recorded is `unavailable`.
  ///
  /// The answerers of the chain are asked first, so none of them may take time. The time limit counts when an answer
  /// comes; to have it earlier, drop the Responder. Throws as `request` does, when the question can't be recorded; then
  /// nothing is called.
  template <SessionLog Log, class Ask, class Done>
  void request_async(Turn<Log>& turn, ApprovalRequest request, Ask ask, Done done, const std::stop_token& stop = {}) {
    static_assert(
        Chain::immediate,
        "cordon: request_async does not wait, so the chain may hold only answerers that say `static constexpr "
        "bool immediate = true`; use request, or let `ask` do what the others do");
    static_assert(std::is_invocable_v<Ask&, Responder> && std::is_invocable_v<Done&, ApprovalOutcome>,
                  "cordon: request_async takes ask(cordon::Responder) and done(cordon::ApprovalOutcome)");
    using Async = detail::AsyncQuestion<Log, Done>;
    const auto question = std::make_shared<Async>(detail::Question<Log>(turn, std::move(request), options_),
                                                  std::move(done), options_->time_limit);
    if (auto decision = question->question().at_once(stop)) {
      question->settle(*std::move(decision));
      return;
    }
    const auto chain = answerers_;  // an answerer may replace this service
    Decision decision = detail::ask_chain(*chain, question->request(), stop);
    if (!decision.is_from_nobody()) {
      question->settle(stop.stop_requested() ? Decision::stopped() : std::move(decision));
      return;
    }
    question->stop_by(stop, question);
    if (question->pending()) ask(Responder(question));
  }

 private:
  [[nodiscard]] Decision ask(const std::shared_ptr<const ApprovalRequest>& request, const std::stop_token& stop) {
    if constexpr (!Chain::immediate)
      if (stop.stop_possible() || options_->time_limit)
        return detail::ask_beside(answerers_, request, stop, options_->time_limit);
    const auto chain = answerers_;  // an answerer may replace this service
    return detail::ask_chain(*chain, *request, stop);
  }

  std::shared_ptr<Chain> answerers_;
  std::shared_ptr<const ApprovalOptions> options_;
};

}  // namespace cordon
