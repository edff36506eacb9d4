// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cordon/session/log.hpp>
#include <cordon/session/preset.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

template <SessionLog Log>
class Session;

namespace detail {

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

  /// The seq of the first.
  std::uint64_t append(std::span<const Event> events) {
    const std::scoped_lock lock(mutex_);
    return append_locked(events);
  }

  /// Appends what `choose` makes of the state and the knobs in effect. What is narrower by that counts at once, what is
  /// wider when it is recorded.
  template <class Choose>
  void switch_knobs(Choose&& choose) {
    const std::scoped_lock lock(mutex_);
    const Knobs now = knobs_of(log_.state(), defaults_);
    const std::vector<Event> events = choose(log_.state(), now);
    if (events.empty()) return;
    for (const Event& event : events) {
      if (const auto* mode = std::get_if<ModeSwitched>(&event); mode != nullptr && now.mode.wider_than(mode->mode))
        narrowed_.mode = mode->mode;
      if (const auto* policy = std::get_if<ApprovalPolicySwitched>(&event);
          policy != nullptr && stricter_than(policy->policy, now.approval))
        narrowed_.approval = policy->policy;
    }
    show();
    append_locked(events);
    narrowed_ = widest;
    show();
  }

  [[nodiscard]] const PresetTable& presets() const noexcept { return presets_; }
  [[nodiscard]] const SessionDefaults& defaults() const noexcept { return defaults_; }

 private:
  static constexpr std::array<SandboxMode, 3> modes{read_only, workspace_write, danger_full_access};
  static constexpr Knobs widest{danger_full_access, ApprovalPolicy::ask};

  std::uint64_t append_locked(std::span<const Event> events) {
    const std::uint64_t first = log_.state().size();
    log_.append(events);
    show();
    return first;
  }

  void show() noexcept {
    const Knobs knobs = knobs_of(log_.state(), defaults_);
    const SandboxMode mode = knobs.mode.wider_than(narrowed_.mode) ? narrowed_.mode : knobs.mode;
    mode_.store(mode == read_only ? 0 : mode == workspace_write ? 1 : 2, std::memory_order_release);
    approval_.store(stricter_than(narrowed_.approval, knobs.approval) ? narrowed_.approval : knobs.approval,
                    std::memory_order_release);
  }

  std::mutex mutex_;
  Log log_;
  SessionDefaults defaults_;
  PresetTable presets_;
  Knobs narrowed_ = widest;  ///< by a switch that is not recorded, or could not be
  std::atomic<std::uint8_t> mode_{0};
  std::atomic<ApprovalPolicy> approval_{ApprovalPolicy::never};
};

}  // namespace detail

/// What may be recorded only inside a turn.
template <class E>
concept TurnEvent = std::same_as<E, ApprovalAsked> || std::same_as<E, ApprovalDecided> ||
    std::same_as<E, ExecConfined> || std::same_as<E, ExecUnconfined> || std::same_as<E, ExecSettled>;

/// A turn of a session that is open: what asking for an approval and running a command need. Only Session::begin_turn
/// makes one. Move-only; its destructor ends the turn as interrupted, and it may outlive its Session. Thread-safe.
template <SessionLog Log>
class Turn {
 public:
  using log_type = Log;

  Turn(Turn&&) noexcept = default;
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (!core_ || detached_) return;
    try {
      close(TurnEnding::interrupted);
    } catch (const Error&) {
      // The next writer of the log closes it.
    }
  }

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Records it and gives its `seq`. Throws SessionInvalidError when it does not fit, LogError when it can't be
  /// recorded.
  template <TurnEvent E>
  std::uint64_t record(E event) {
    const std::array<Event, 1> events{std::move(event)};
    return core_->append(events);
  }

  /// What the session has in effect now.
  [[nodiscard]] SandboxMode effective_mode() const noexcept { return core_->mode(); }
  [[nodiscard]] ApprovalPolicy approval_policy() const noexcept { return core_->approval(); }

  /// Calls with the log, for what only its type can do.
  template <class Use>
  decltype(auto) with_log(Use&& use) {
    return core_->with_log(std::forward<Use>(use));
  }

  /// Ends it as completed, once.
  void end() {
    if (!core_) return;
    close(TurnEnding::completed);
    core_.reset();
  }

 private:
  friend class Session<Log>;
  Turn(std::shared_ptr<detail::SessionCore<Log>> core, std::uint64_t number, bool detached)
      : core_(std::move(core)), number_(number), detached_(detached) {}

  void close(TurnEnding ending) {
    core_->with_log([&](Log& log) {
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
  /// Goes on with a log. What a crash left open is closed: questions as cancelled, turns as interrupted.
  explicit Session(Log log, const SessionDefaults& defaults = {}, PresetTable presets = {})
      : core_(std::make_shared<detail::SessionCore<Log>>(close_what_is_open(std::move(log)), defaults,
                                                         std::move(presets))),
        header_(core_->with_log([](Log& own) { return own.header(); })) {}

  [[nodiscard]] const SessionHeader& header() const noexcept { return header_; }
  [[nodiscard]] const std::string& id() const noexcept { return header_.id; }
  [[nodiscard]] const SessionDefaults& defaults() const noexcept { return core_->defaults(); }

  /// These take no lock, however long the log is.
  [[nodiscard]] SandboxMode effective_mode() const noexcept { return core_->mode(); }
  [[nodiscard]] ApprovalPolicy approval_policy() const noexcept { return core_->approval(); }

  /// The name of a preset, or `custom`.
  [[nodiscard]] std::string preset() const {
    return core_->with_log([&](Log& log) {
      return std::string(
          core_->presets().name_of(knobs_of(log.state(), core_->defaults()), log.state().selected_preset()));
    });
  }

  [[nodiscard]] SessionState state() const {
    return core_->with_log([](Log& log) { return log.state(); });
  }
  [[nodiscard]] const PresetTable& presets() const noexcept { return core_->presets(); }

  /// Records nothing when the last switch said the same. A mode that was never switched is the deployment's: to set it,
  /// even to what it is, is a switch.
  void set_mode(SandboxMode mode) {
    core_->switch_knobs([&](const SessionState& state, const Knobs&) {
      return state.mode() == mode ? std::vector<Event>() : std::vector<Event>{ModeSwitched{mode}};
    });
  }

  /// Records nothing when it is in effect (APR-09).
  void set_approval_policy(ApprovalPolicy policy) {
    core_->switch_knobs([&](const SessionState&, const Knobs& now) {
      return now.approval == policy ? std::vector<Event>() : std::vector<Event>{ApprovalPolicySwitched{policy}};
    });
  }

  /// Selects a preset: one append of that and of the switches it takes (PRE-04, PRE-05). Throws SessionInvalidError
  /// when the table has none of this name, and nothing has changed.
  void set_preset(std::string_view name) {
    const PresetTable::Entry* entry = core_->presets().find(name);
    if (entry == nullptr) {
      std::string known;
      for (const auto& each : core_->presets().entries()) known += (known.empty() ? "" : ", ") + each.name;
      throw SessionInvalidError("there is no preset '" + std::string(name) + "' to select; there are " + known);
    }
    core_->switch_knobs([&](const SessionState& state, const Knobs& now) {
      std::vector<Event> switches;
      if (now.mode != entry->knobs.mode) switches.emplace_back(ModeSwitched{entry->knobs.mode});
      if (now.approval != entry->knobs.approval) switches.emplace_back(ApprovalPolicySwitched{entry->knobs.approval});
      if (core_->presets().name_of(now, state.selected_preset()) != entry->name)
        switches.insert(switches.begin(), PresetSelected{entry->name, switches.size()});
      return switches;
    });
  }

  /// Gives a new session what it is to begin with: the preset, and both switches, so that another default later changes
  /// nothing for it (PRE-07). For a session without events; others keep what they have.
  void pin(std::string_view preset) {
    const PresetTable::Entry* entry = core_->presets().find(preset);
    if (entry == nullptr) return set_preset(preset);  // which says what there is
    core_->switch_knobs([&](const SessionState& state, const Knobs&) {
      if (state.size() != 0) return std::vector<Event>();
      return std::vector<Event>{PresetSelected{entry->name, 2}, ModeSwitched{entry->knobs.mode},
                                ApprovalPolicySwitched{entry->knobs.approval}};
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

  /// A session for a child agent, on an empty log: with the mode that is in effect here and now, said in as many words,
  /// and nobody to ask (POL-09). Later switches here don't reach it.
  template <SessionLog ChildLog>
  [[nodiscard]] Session<ChildLog> delegate(ChildLog log) const {
    if (log.state().size() != 0)
      throw SessionInvalidError("a child session begins on a log without events; give it a new one");
    const std::array<Event, 2> inherited{ModeSwitched{effective_mode(), "delegation"},
                                         ApprovalPolicySwitched{ApprovalPolicy::never, "delegation"}};
    log.append(inherited);
    return Session<ChildLog>(std::move(log), core_->defaults(), core_->presets());
  }

  /// Calls with each Record, in order, while nothing is appended.
  template <class Visit>
  void for_each(Visit&& visit) const {
    core_->with_log([&](Log& log) { log.for_each(visit); });
  }

  /// Calls with the log, for what only its type can do.
  template <class Use>
  decltype(auto) with_log(Use&& use) {
    return core_->with_log(std::forward<Use>(use));
  }

 private:
  static Log close_what_is_open(Log log) {
    const SessionState& state = log.state();
    std::vector<Event> events;
    for (const std::string& id : state.unanswered())
      events.emplace_back(ApprovalDecided{id, ApprovalResult::cancelled});
    if (state.open_turn() && !state.open_turn()->detached)
      events.emplace_back(TurnEnded{state.open_turn()->turn, TurnEnding::interrupted});
    log.append(events);
    return log;
  }

  std::shared_ptr<detail::SessionCore<Log>> core_;
  SessionHeader header_;
};

}  // namespace cordon
