// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cordon/detail/within.hpp>
#include <cordon/session/log.hpp>
#include <cordon/session/preset.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

template <SessionLog Log>
class Session;

namespace detail {

template <class Log>
class Question;
template <class Log>
class Announced;
struct UseGrant;

/// What a session and its turns share.
template <SessionLog Log>
class SessionCore {
 public:
  SessionCore(Log log, const SessionDefaults& defaults, PresetTable presets)
      : log_(std::move(log)), defaults_(defaults), presets_(std::move(presets)) {
    show();
  }

  [[nodiscard]] SandboxMode mode() const noexcept { return modes[mode_.load(std::memory_order_acquire)]; }
  [[nodiscard]] ApprovalPolicy approval() const noexcept { return approval_.load(std::memory_order_acquire); }

  /// Calls with the log while no other thread uses it.
  template <class Use>
  decltype(auto) with_log(Use&& use) {
    const std::scoped_lock lock(mutex_);
    return use(log_);
  }

  /// What a switch that is not recorded, or could not be, made narrower. Only a later switch of the same knob ends
  /// that.
  struct Narrowed {
    std::optional<SandboxMode> mode = {};
    std::optional<ApprovalPolicy> approval = {};
  };

  /// Appends what `choose` makes of the state, the knobs that are recorded, and what is narrower than those. What
  /// becomes narrower by that counts at once, what becomes wider when it is recorded.
  template <class Choose>
  void switch_knobs(Choose&& choose) {
    const std::scoped_lock lock(mutex_);
    const Knobs recorded = knobs_of(log_.state(), defaults_);
    const std::vector<Event> events = choose(log_.state(), recorded, narrowed_);
    if (events.empty()) return;
    for (const Event& event : events) {
      if (const auto* mode = std::get_if<ModeSwitched>(&event))
        if (narrowed_.mode.value_or(recorded.mode).wider_than(mode->mode)) narrowed_.mode = mode->mode;
      if (const auto* policy = std::get_if<ApprovalPolicySwitched>(&event))
        if (stricter_than(policy->policy, narrowed_.approval.value_or(recorded.approval)))
          narrowed_.approval = policy->policy;
    }
    show();
    log_.append(events);
    for (const Event& event : events) {
      if (std::holds_alternative<ModeSwitched>(event)) narrowed_.mode.reset();
      if (std::holds_alternative<ApprovalPolicySwitched>(event)) narrowed_.approval.reset();
    }
    show();
  }

  /// Appends events of a turn, while that is the one that is open. The seq of the first.
  std::uint64_t append_in_turn(std::uint64_t number, std::span<const Event> events) {
    const std::scoped_lock lock(mutex_);
    append_late();
    const auto& open = log_.state().open_turn();
    if (!open || open->turn != number)
      throw SessionInvalidError("turn " + std::to_string(number) + " has ended; begin another");
    const std::uint64_t first = log_.state().size();
    log_.append(events);
    return first;
  }

  /// Appends what a command came to: also when its turn has ended, if it ran in the background. Throws LogError, and
  /// what the log throws; then it is tried again before the next event of a turn.
  void settle(ExecSettled event) {
    const std::scoped_lock lock(mutex_);
    append_late();
    if (!log_.state().is_unsettled(event.exec))
      throw LogError(ErrorCode::log_failed, "its turn has ended, or its end was recorded before");
    late_.push_back(std::move(event));
    append_settled(late_.back());
    late_.pop_back();
  }

  /// Appends what could not be when it was known, as far as that goes now.
  void settle_late() {
    const std::scoped_lock lock(mutex_);
    append_late();
  }

  /// Appends what `choose` makes of the state and of the approval policy, while neither can change; it is also told
  /// whether this is still the turn that is open.
  template <class Choose>
  void append_chosen(std::uint64_t number, Choose&& choose) {
    const std::scoped_lock lock(mutex_);
    append_late();
    const auto& open = log_.state().open_turn();
    std::vector<Event> events = choose(log_.state(), approval(), open && open->turn == number);
    if (!events.empty()) log_.append(std::move(events));
  }

  /// The name of a preset, or `custom`.
  [[nodiscard]] std::string preset() {
    return with_log([&](Log& log) {
      return std::string(presets_.name_of(knobs_of(log.state(), defaults_), log.state().selected_preset()));
    });
  }

  [[nodiscard]] const PresetTable& presets() const noexcept { return presets_; }
  [[nodiscard]] const SessionDefaults& defaults() const noexcept { return defaults_; }

 private:
  void append_settled(const ExecSettled& event) {
    const std::array<Event, 1> events{event};
    log_.append(events);
  }

  void append_late() noexcept {
    try {
      for (; !late_.empty(); late_.pop_back())
        if (log_.state().is_unsettled(late_.back().exec)) append_settled(late_.back());
    } catch (...) {
      // Another time.
    }
  }

  static constexpr std::array<SandboxMode, 3> modes{read_only, workspace_write, danger_full_access};

  void show() noexcept {
    const Knobs knobs = knobs_of(log_.state(), defaults_);
    const SandboxMode mode = narrowed_.mode.value_or(knobs.mode);
    mode_.store(mode == read_only ? 0 : mode == workspace_write ? 1 : 2, std::memory_order_release);
    approval_.store(narrowed_.approval.value_or(knobs.approval), std::memory_order_release);
  }

  std::mutex mutex_;
  Log log_;
  SessionDefaults defaults_;
  PresetTable presets_;
  Narrowed narrowed_;
  std::vector<ExecSettled> late_;
  std::atomic<std::uint8_t> mode_{0};
  std::atomic<ApprovalPolicy> approval_{ApprovalPolicy::never};
};

}  // namespace detail

/// What a program may record, inside a turn. Questions and decisions only the ApprovalService records.
template <class E>
concept TurnEvent = std::same_as<E, ExecConfined> || std::same_as<E, ExecUnconfined> || std::same_as<E, ExecSettled>;

/// A turn of a session that is open: what asking for an approval and running a command need. Only Session::begin_turn
/// makes one. Move-only; its destructor ends the turn as interrupted, and it may outlive its Session. Thread-safe.
template <SessionLog Log>
class Turn {
 public:
  Turn(Turn&&) noexcept = default;
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (!core_ || detached_) return;
    try {
      close(TurnEnding::interrupted);
    } catch (const std::exception&) {
      // The next writer of the log closes it.
    }
  }

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Records it and gives its `seq`. Throws SessionInvalidError when it does not fit, LogError when it can't be
  /// recorded.
  template <TurnEvent E>
  std::uint64_t record(E event) {
    const std::array<Event, 1> events{std::move(event)};
    return core().append_in_turn(number_, events);
  }

  /// What the session is, and has in effect now.
  [[nodiscard]] SessionHeader header() const {
    return with_log([](const Log& log) { return log.header(); });
  }
  [[nodiscard]] SessionState state() const {
    return with_log([](const Log& log) { return log.state(); });
  }
  [[nodiscard]] const SessionDefaults& defaults() const { return core().defaults(); }
  [[nodiscard]] SandboxMode effective_mode() const { return core().mode(); }
  [[nodiscard]] ApprovalPolicy approval_policy() const { return core().approval(); }
  [[nodiscard]] std::string preset() const { return core().preset(); }

  /// Calls with each Record of the session, in order, while nothing is appended. Nothing of the session may be called
  /// from there.
  template <class Visit>
  void for_each(Visit&& visit) const {
    core().with_log([&](Log& log) { log.for_each(visit); });
  }

  /// Calls with the log, for what only its type can tell. Not to be called from there, nor anything of its session.
  template <class Use>
  decltype(auto) with_log(Use&& use) const {
    return core().with_log([&](const Log& log) -> decltype(auto) { return use(log); });
  }

  /// Ends it as completed; nothing happens when it has ended.
  void end() { close(TurnEnding::completed); }

 private:
  friend class Session<Log>;
  template <class>
  friend class detail::Question;
  template <class>
  friend class detail::Announced;
  friend struct detail::UseGrant;
  Turn(std::shared_ptr<detail::SessionCore<Log>> core, std::uint64_t number, bool detached)
      : core_(std::move(core)), number_(number), detached_(detached) {}

  [[nodiscard]] detail::SessionCore<Log>& core() const {
    if (!core_) throw SessionInvalidError("this turn was moved; use what it was moved to");
    return *core_;
  }

  void close(TurnEnding ending) {
    core().settle_late();
    core().with_log([&](Log& log) {
      if (!log.state().open_turn() || log.state().open_turn()->turn != number_) return;
      std::vector<Event> events;
      for (const std::string& id : log.state().unanswered())
        events.emplace_back(ApprovalDecided{id, ApprovalResult::cancelled});
      events.emplace_back(TurnEnded{number_, ending});
      log.append(events);
    });
  }

  std::shared_ptr<detail::SessionCore<Log>> core_;
  std::uint64_t number_;
  bool detached_;
};

/// A session: an append-only log, and what follows from it. The mode, the approval policy and the preset are what their
/// last events say, and these functions are the only way to append such an event. Thread-safe.
///
/// A switch to something narrower counts from the call on, and is recorded before the call returns; one to something
/// wider counts when it is recorded. Throws LogError when it can't be: then what was wider before does not come back
/// either.
///
/// Does not govern what a program does beside it: a policy has to be asked for with `resolve`.
template <SessionLog Log>
class Session {
 public:
  /// Goes on with a log. What a crash left open is closed: questions as cancelled, turns as interrupted, commands in
  /// the background with an unknown end.
  explicit Session(Log log, const SessionDefaults& defaults = {}, PresetTable presets = {})
      : header_(log.header()),
        core_(std::make_shared<detail::SessionCore<Log>>(close_what_is_open(std::move(log)),
                                                         defaults_for(header_, defaults), std::move(presets))) {}

  [[nodiscard]] const SessionHeader& header() const noexcept { return header_; }
  [[nodiscard]] const std::string& id() const noexcept { return header_.id; }
  [[nodiscard]] const SessionDefaults& defaults() const noexcept { return core_->defaults(); }

  /// These take no lock, however long the log is.
  [[nodiscard]] SandboxMode effective_mode() const noexcept { return core_->mode(); }
  [[nodiscard]] ApprovalPolicy approval_policy() const noexcept { return core_->approval(); }

  /// The name of a preset, or `custom`.
  [[nodiscard]] std::string preset() const { return core_->preset(); }

  [[nodiscard]] SessionState state() const {
    return core_->with_log([](Log& log) { return log.state(); });
  }
  [[nodiscard]] const PresetTable& presets() const noexcept { return core_->presets(); }

  /// Records nothing when the last switch said the same. A mode that was never switched is the deployment's: to set it,
  /// even to what it is, is a switch.
  void set_mode(SandboxMode mode) {
    core_->switch_knobs([&](const SessionState& state, const Knobs&, const auto& narrowed) {
      return state.mode() == mode && !narrowed.mode ? std::vector<Event>() : std::vector<Event>{ModeSwitched{mode}};
    });
  }

  /// Records nothing when it is in effect (APR-09).
  void set_approval_policy(ApprovalPolicy policy) {
    core_->switch_knobs([&](const SessionState&, const Knobs& recorded, const auto& narrowed) {
      return recorded.approval == policy && !narrowed.approval ? std::vector<Event>()
                                                               : std::vector<Event>{ApprovalPolicySwitched{policy}};
    });
  }

  /// Selects a preset: one append of that and of the switches it takes (PRE-04, PRE-05). Throws SessionInvalidError
  /// when the table has none of this name, and nothing has changed.
  void set_preset(std::string_view name) {
    const PresetTable::Entry& entry = core_->presets().require(name);
    core_->switch_knobs([&](const SessionState& state, const Knobs& now, const auto& narrowed) {
      std::vector<Event> switches;
      if (now.mode != entry.knobs.mode || narrowed.mode) switches.emplace_back(ModeSwitched{entry.knobs.mode});
      if (now.approval != entry.knobs.approval || narrowed.approval)
        switches.emplace_back(ApprovalPolicySwitched{entry.knobs.approval});
      if (!switches.empty() || core_->presets().name_of(now, state.selected_preset()) != entry.name)
        switches.insert(switches.begin(), PresetSelected{entry.name, switches.size()});
      return switches;
    });
  }

  /// Gives a new session what it is to begin with: the preset, and both switches, so that another default later changes
  /// nothing for it (PRE-07). For a session without events; others keep what they have.
  void pin(std::string_view preset) {
    const PresetTable::Entry& entry = core_->presets().require(preset);
    core_->switch_knobs([&](const SessionState& state, const Knobs&, const auto&) {
      if (state.size() != 0) return std::vector<Event>();
      return std::vector<Event>{PresetSelected{entry.name, 2}, ModeSwitched{entry.knobs.mode},
                                ApprovalPolicySwitched{entry.knobs.approval}};
    });
  }

  /// Opens a turn. Throws SessionInvalidError while one is open. A detached one is ended by nobody but `continue_turn`.
  [[nodiscard]] Turn<Log> begin_turn(bool detached = false) {
    const std::uint64_t number = core_->with_log([&](Log& log) {
      const std::uint64_t next = log.state().turns() + 1;
      const std::array<Event, 1> events{TurnStarted{next, detached}};
      log.append(events);
      return next;
    });
    return Turn<Log>(core_, number, detached);
  }

  /// The detached turn that is open, if one is: the only one that another process may have begun.
  [[nodiscard]] std::optional<Turn<Log>> continue_turn() {
    const auto open = state().open_turn();
    if (!open || !open->detached) return std::nullopt;
    return Turn<Log>(core_, open->turn, true);
  }

  /// A session for a child agent, on an empty log whose header names this one as its parent, and a directory inside its
  /// own: with the mode that is in effect here and now, said in as many words, and nobody to ask (POL-09). Later
  /// switches here don't reach it. What it is given later, by whoever holds it, is not bounded.
  template <SessionLog ChildLog>
  [[nodiscard]] Session<ChildLog> delegate(ChildLog log) const {
    if (log.state().size() != 0)
      throw SessionInvalidError("a child session begins on a log without events; give it a new one");
    const SessionHeader& child = log.header();
    const bool inside = header_.cwd.empty() || detail::is_within(child.cwd, header_.cwd);
    if (child.parent != header_.id || !inside)
      throw SessionInvalidError(
          "a child session names its parent in its header, and has a directory inside the parent's");
    const std::array<Event, 2> inherited{ApprovalPolicySwitched{ApprovalPolicy::never, "delegation"},
                                         ModeSwitched{effective_mode(), "delegation"}};
    log.append(inherited);
    return Session<ChildLog>(std::move(log), core_->defaults(), core_->presets());
  }

  /// Calls with each Record, in order, while nothing is appended. Nothing of the session may be called from there.
  template <class Visit>
  void for_each(Visit&& visit) const {
    core_->with_log([&](Log& log) { log.for_each(visit); });
  }

  /// Calls with the log, for what only its type can tell. Nothing of the session, or of a turn, may be called from
  /// there.
  template <class Use>
  decltype(auto) with_log(Use&& use) const {
    return core_->with_log([&](const Log& log) -> decltype(auto) { return use(log); });
  }

  /// Makes everything durable that is recorded, where the log has a disk.
  void flush() requires requires(Log& log) { log.flush(); }
  {
    core_->with_log([](Log& log) { log.flush(); });
  }

 private:
  static Log close_what_is_open(Log log) {
    const SessionState& state = log.state();
    std::vector<Event> events;
    for (const std::string& id : state.unanswered())
      events.emplace_back(ApprovalDecided{id, ApprovalResult::cancelled});
    for (const std::uint64_t exec : state.in_background()) events.emplace_back(ExecSettled{exec, "unknown"});
    if (state.open_turn() && !state.open_turn()->detached)
      events.emplace_back(TurnEnded{state.open_turn()->turn, TurnEnding::interrupted});
    log.append(events);
    return log;
  }

  SessionHeader header_;
  std::shared_ptr<detail::SessionCore<Log>> core_;
};

}  // namespace cordon
