// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/os/linux/paths.hpp>
#include <cordon/process/environment.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cordon {

/// The private directories of one session: what its commands see as /tmp and /dev/shm. They are kept between commands
/// and removed with everything in them when the last owner goes.
class TempArea {
 public:
  TempArea() : temp_{"/tmp", "/var/tmp"}, shared_memory_{"/dev/shm"} {}

  /// False when something outside removed a directory since.
  [[nodiscard]] bool usable() const noexcept {
    return (temp().empty() || os::exists(temp())) && (shared_memory().empty() || os::exists(shared_memory()));
  }

  /// Empty when no directory could be made.
  [[nodiscard]] const std::string& temp() const noexcept { return temp_.path(); }
  /// Empty when this system has no /dev/shm that can be written.
  [[nodiscard]] const std::string& shared_memory() const noexcept { return shared_memory_.path(); }

 private:
  os::PrivateDirectory temp_;
  os::PrivateDirectory shared_memory_;
};

/// The temp areas of a backend, one for each session id. Thread-safe.
class TempAreas {
 public:
  [[nodiscard]] std::shared_ptr<const TempArea> of(const std::string& session) {
    const std::scoped_lock lock(state_->mutex);
    auto& area = state_->areas[session];
    if (!area || !area->usable()) area = std::make_shared<const TempArea>();
    return area;
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const TempArea>> areas;
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

/// The variables of a command, with TMPDIR and TMPPREFIX pointing to `temp` unless they name a place in the writable
/// roots. What they name inside a private temp directory need not exist there (F39).
[[nodiscard]] inline std::vector<std::string> with_temp(std::vector<std::string> entries, const std::string& temp,
                                                        const std::vector<std::string>& roots) {
  for (const auto& [name, value] :
       {std::pair<std::string, std::string>{"TMPDIR", temp}, {"TMPPREFIX", temp + "/zsh"}}) {
    const char* given = process::lookup(entries, name);
    const std::string leads_to = given != nullptr ? os::resolved(given) : "";
    const bool plain = leads_to.find("/..") == std::string::npos;
    if (given != nullptr && plain && cordon::detail::is_within_any(leads_to, roots)) continue;
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    entries.push_back(name + "=" + value);
  }
  return entries;
}

}  // namespace cordon
