// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/error.hpp>
#include <cordon/session/log.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace support {

/// A log in memory that fails on demand, and shows what it was given to whoever holds the other end.
class ScriptedLog {
 public:
  struct Script {
    bool fails = false;
    std::vector<cordon::Event> events;
    std::vector<std::size_t> appends;      ///< how many events each had
    std::function<void()> before = [] {};  ///< called by each append
  };
  explicit ScriptedLog(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  [[nodiscard]] const cordon::SessionHeader& header() const noexcept { return log_.header(); }
  [[nodiscard]] const cordon::SessionState& state() const noexcept { return log_.state(); }
  void append(std::span<const cordon::Event> events) {
    script_->before();
    if (script_->fails) throw cordon::LogError(cordon::ErrorCode::log_failed, "full");
    log_.append(events);
    if (events.empty()) return;
    script_->appends.push_back(events.size());
    script_->events.insert(script_->events.end(), events.begin(), events.end());
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    log_.for_each(visit);
  }

 private:
  cordon::MemoryLog log_{cordon::SessionHeader{"s", 0}};
  std::shared_ptr<Script> script_;
};

}  // namespace support
