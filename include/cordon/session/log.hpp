// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <cordon/error.hpp>
#include <cordon/session/event.hpp>
#include <cordon/session/fold.hpp>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cordon {

/// An append-only record of a session, with one writer. Used by one thread at a time; Session sees to that.
///
/// `append` takes all of the events or none: it throws, and the log and its state are what they were. When it has
/// returned, whatever `is_durable` among them is on the disk, where the log has one. `for_each` calls with every
/// Record, in order. What can keep the events themselves may have an `append(std::vector<Event>&&)` as well.
template <class L>
concept SessionLog = std::move_constructible<L> && requires(L& log, const L& read, std::span<const Event> events) {
  { read.header() } -> std::same_as<const SessionHeader&>;
  { read.state() } -> std::same_as<const SessionState&>;
  { log.append(events) } -> std::same_as<void>;
  log.for_each([](const Record&) {});
};

namespace detail {

/// Milliseconds since 1970.
[[nodiscard]] inline std::int64_t time_now() noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Takes an event that may come now. Throws SessionInvalidError, and the state is what it was.
inline void require_next(SessionState& state, const Event& event) {
  if (std::holds_alternative<IgnoredEvent>(event))
    throw SessionInvalidError("an event that is only ignored can't be recorded; append one of the others");
  if (const std::string_view problem = state.apply(event); !problem.empty())
    throw SessionInvalidError(std::string(type_of(event)) + " can't be recorded now: " + std::string(problem));
}

/// The state after `events`. Throws SessionInvalidError.
[[nodiscard]] inline SessionState state_after(const SessionState& before, std::span<const Event> events) {
  SessionState state = before;
  for (const Event& event : events) require_next(state, event);
  if (!state.complete()) throw SessionInvalidError("a preset has to be recorded together with all of its switches");
  return state;
}

}  // namespace detail

/// A log that is gone with the program.
class MemoryLog {
 public:
  explicit MemoryLog(SessionHeader header) : header_(std::move(header)) {}

  [[nodiscard]] const SessionHeader& header() const noexcept { return header_; }
  [[nodiscard]] const SessionState& state() const noexcept { return state_; }
  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }

  void append(std::span<const Event> events) { append(std::vector<Event>(events.begin(), events.end())); }
  void append(std::vector<Event>&& events) {
    const std::int64_t now = detail::time_now();
    if (events.size() == 1 && !std::holds_alternative<PresetSelected>(events.front())) {
      // An event that may not come changes nothing, so the state needs no copy.
      records_.push_back({records_.size(), now, std::move(events.front())});
      try {
        detail::require_next(state_, records_.back().event);
      } catch (...) {
        records_.pop_back();
        throw;
      }
      return;
    }
    SessionState state = detail::state_after(state_, events);
    std::vector<Record> added;
    for (Event& event : events) added.push_back({records_.size() + added.size(), now, std::move(event)});
    // All or none: only the room for them can fail.
    records_.insert(records_.end(), std::move_iterator(added.begin()), std::move_iterator(added.end()));
    state_ = std::move(state);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Record& record : records_) visit(record);
  }

 private:
  SessionHeader header_;
  SessionState state_;
  std::vector<Record> records_;
};

}  // namespace cordon
