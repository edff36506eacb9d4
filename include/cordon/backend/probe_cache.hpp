// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/backend.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

namespace cordon {

/// What makes one probe stand for many runs: the mode and the kind of roots, not the roots themselves.
struct ProbeKey {
  std::string mode;
  bool extra_roots = false;
  bool protected_paths = false;
  bool broad = false;
  std::string runner = {};  ///< where a backend has several to choose from

  template <ConfinedMode M>
  [[nodiscard]] static ProbeKey of(const Policy<M>& policy) {
    const PolicyScope& scope = policy.scope();
    bool broad = scope.workspace_root == "/";
    for (const std::string& root : scope.extra_roots) broad = broad || root == "/";
    return {std::string(M::name), !scope.extra_roots.empty(), !scope.protected_paths.empty(), broad};
  }

  friend auto operator<=>(const ProbeKey&, const ProbeKey&) = default;
};

/// Remembers probe verdicts, the bad ones too, until `forget`. Thread-safe: two threads that ask for the same key
/// probe once.
class ProbeCache {
 public:
  template <class Probe>
  [[nodiscard]] Availability get(const ProbeKey& key, Probe&& probe) {
    const std::scoped_lock lock(state_->mutex);
    auto found = state_->verdicts.find(key);
    if (found == state_->verdicts.end()) found = state_->verdicts.emplace(key, probe()).first;
    return found->second;
  }

  void forget() noexcept {
    const std::scoped_lock lock(state_->mutex);
    state_->verdicts.clear();
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<ProbeKey, Availability> verdicts;
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace cordon
