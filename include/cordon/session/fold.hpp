// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/session/event.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// What a session is after some of its events: the fold over them. Made of nothing else, so the same events always give
/// the same state, and each of them takes the same time however many there were. A value type.
class SessionState {
 public:
  /// Takes the next event. When it may not come now, says why, and nothing has changed: an event of a turn outside one
  /// (LOG-08), a decision without its question (APR-11), a result without its execution.
  [[nodiscard]] std::string_view apply(const Event& event) {
    const bool is_switch =
        std::holds_alternative<ModeSwitched>(event) || std::holds_alternative<ApprovalPolicySwitched>(event);
    if (switches_to_come_ != 0 && !is_switch) return "the switches of a preset are missing";
    const std::string_view problem = std::visit([this](const auto& e) { return take(e); }, event);
    if (!problem.empty()) return problem;
    if (!std::holds_alternative<ApprovalDecided>(event) && !std::holds_alternative<ApprovalRemembered>(event))
      allowed_.clear();
    if (switches_to_come_ != 0 && is_switch) --switches_to_come_;
    ++size_;
    return {};
  }

  /// How many events there were: the `seq` of the next.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// False between a preset and its last switch: no log ends there.
  [[nodiscard]] bool complete() const noexcept { return switches_to_come_ == 0; }

  /// What the last switch said; empty: there was none, and the deployment's default counts (POL-03).
  [[nodiscard]] const std::optional<SandboxMode>& mode() const noexcept { return mode_; }
  [[nodiscard]] const std::optional<ApprovalPolicy>& approval_policy() const noexcept { return approval_policy_; }
  /// The preset that was last selected, whether or not it still fits.
  [[nodiscard]] const std::optional<std::string>& selected_preset() const noexcept { return selected_preset_; }

  /// The turn that is open.
  [[nodiscard]] const std::optional<TurnStarted>& open_turn() const noexcept { return open_turn_; }
  /// How many turns there were, the open one included.
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }
  /// The ids of questions without a decision, oldest first.
  [[nodiscard]] const std::vector<std::string>& unanswered() const noexcept { return unanswered_; }
  [[nodiscard]] bool is_unanswered(std::string_view id) const noexcept {
    return std::find(unanswered_.begin(), unanswered_.end(), id) != unanswered_.end();
  }
  /// The executions of this turn without a result, oldest first: those that end with it.
  [[nodiscard]] const std::vector<std::uint64_t>& unsettled() const noexcept { return unsettled_; }
  /// The executions of any turn without a result that may run on, oldest first.
  [[nodiscard]] const std::vector<std::uint64_t>& in_background() const noexcept { return in_background_; }
  /// Whether a result of this one may come.
  [[nodiscard]] bool is_unsettled(std::uint64_t exec) const noexcept {
    const auto holds = [&](const auto& open) { return std::find(open.begin(), open.end(), exec) != open.end(); };
    return holds(unsettled_) || holds(in_background_);
  }

  /// What nobody is to be asked about again, oldest first.
  [[nodiscard]] const std::vector<ApprovalRemembered>& remembered() const noexcept { return remembered_; }

  friend bool operator==(const SessionState&, const SessionState&) = default;

  /// Questions, and executions, that may be open at one time: what bounds the memory of a state, and the time of an
  /// event.
  static constexpr std::size_t most_open = 1024;
  /// Rules that a session may remember.
  static constexpr std::size_t most_remembered = 256;

 private:
  std::string_view take(const ModeSwitched& event) {
    mode_ = event.mode;
    return {};
  }
  std::string_view take(const ApprovalPolicySwitched& event) {
    approval_policy_ = event.policy;
    return {};
  }
  std::string_view take(const PresetSelected& event) {
    if (event.switches > 2) return "a preset has more than two switches";
    selected_preset_ = event.preset;
    switches_to_come_ = event.switches;
    return {};
  }
  std::string_view take(const ApprovalAsked& event) {
    if (!open_turn_) return "an approval was asked for outside a turn";
    if (event.id.empty() || event.tool.empty()) return "an approval was asked for without an id or a tool";
    if (is_unanswered(event.id)) return "an approval was asked for twice with one id";
    if (unanswered_.size() == most_open) return "too many questions are open";
    unanswered_.push_back(event.id);
    return {};
  }
  std::string_view take(const ApprovalDecided& event) {
    const auto asked = std::find(unanswered_.begin(), unanswered_.end(), event.id);
    if (asked == unanswered_.end()) return "a decision has no open question";
    std::string allowed = event.outcome == ApprovalResult::allowed_once ? event.id : std::string();
    unanswered_.erase(asked);
    allowed_ = std::move(allowed);
    return {};
  }
  std::string_view take(const ApprovalRemembered& event) {
    if (allowed_.empty() || event.id != allowed_) return "a rule was remembered that nobody allowed just before";
    if (event.words.empty() || event.words.front().empty()) return "a rule was remembered that begins every command";
    if (remembered_.size() == most_remembered) return "too many rules were remembered";
    remembered_.push_back(event);
    return {};
  }
  std::string_view take(const TurnStarted& event) {
    if (open_turn_) return "a turn was begun inside another";
    if (event.turn != turns_ + 1) return "the turns are not numbered from 1";
    open_turn_ = event;
    ++turns_;
    return {};
  }
  std::string_view take(const TurnEnded& event) {
    if (!open_turn_ || open_turn_->turn != event.turn) return "a turn was ended that is not open";
    if (!unanswered_.empty()) return "a turn was ended with a question open";
    open_turn_.reset();
    unsettled_.clear();
    return {};
  }
  std::string_view execution(bool background) {
    if (!open_turn_) return "a command was run outside a turn";
    if (unsettled_.size() + in_background_.size() == most_open) return "too many commands have no result";
    (background ? in_background_ : unsettled_).push_back(size_);
    return {};
  }
  std::string_view take(const ExecConfined& event) {
    return event.mode.confined() ? execution(event.background) : "danger-full-access is no confinement";
  }
  std::string_view take(const ExecUnconfined& event) { return execution(event.background); }
  std::string_view take(const ExecSettled& event) {
    if (!is_unsettled(event.exec)) return "a result has no execution that is open";
    std::erase(unsettled_, event.exec);
    std::erase(in_background_, event.exec);
    return {};
  }
  std::string_view take(const IgnoredEvent&) { return {}; }

  std::uint64_t size_ = 0;
  std::uint64_t switches_to_come_ = 0;
  std::optional<SandboxMode> mode_;
  std::optional<ApprovalPolicy> approval_policy_;
  std::optional<std::string> selected_preset_;
  std::optional<TurnStarted> open_turn_;
  std::uint64_t turns_ = 0;
  std::vector<std::string> unanswered_;
  std::vector<std::uint64_t> unsettled_;
  std::vector<std::uint64_t> in_background_;
  std::string allowed_;  ///< the question that was allowed last, when nothing else came since
  std::vector<ApprovalRemembered> remembered_;
};

}  // namespace cordon
