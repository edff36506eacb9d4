// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cordon/backend/backend.hpp>
#include <cordon/backend/probe_cache.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

using Spoken = cordon::Dialect<cordon::DenialSignatures<"read-only file system">,
                               cordon::RunnerFailureRule<cordon::ExitCodes<125>, cordon::Fatal<"scripted: ">>>;

/// A confinement as a backend of one's own would make it: whatever it leaves out stays empty.
[[nodiscard]] inline cordon::Confinement confinement(std::vector<std::string> argv, std::string_view backend,
                                                     cordon::Enforcement enforcement) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
  return {
      .argv = std::move(argv), .backend = std::string(backend), .enforcement = enforcement, .dialect = Spoken::view()};
#pragma GCC diagnostic pop
}

/// What a ScriptedBackend answers, and how often it was asked. Shared, so that a test keeps it when the backend moves.
struct Script {
  bool usable = true;
  cordon::EffectSet governed = cordon::EffectSet::all();
  std::string reason = "it is switched off";
  std::string remedy = "switch it on";
  std::vector<std::string> best_effort = {};
  std::vector<std::string> shared_temp = {};
  std::atomic<int> probes{0};   ///< walks past the cache
  std::atomic<int> wraps{0};    ///< wraps that returned
  std::atomic<int> forgets{0};  ///< calls of invalidate
};

/// A backend that confines nothing and says so in a file of its own: for the plumbing around backends. It wraps into
/// `{"/scripted/N", "--", command…}`, which no machine can execute.
template <int N>
class ScriptedBackend {
  static constexpr std::array<std::string_view, 3> names{"scripted-zero", "scripted-one", "scripted-two"};

 public:
  using cordon_concept = cordon::BackendTag;
  static constexpr std::string_view name = names[N];
  template <cordon::ConfinedMode M>
  static constexpr bool can_be_full = true;

  ScriptedBackend() : script_(std::make_shared<Script>()) {}
  explicit ScriptedBackend(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  template <cordon::ConfinedMode M>
  [[nodiscard]] cordon::Availability probe(const cordon::Policy<M>& policy) {
    return cache_.get(cordon::ProbeKey::of(policy), [&] {
      ++script_->probes;
      return script_->usable ? cordon::Availability::usable(cordon::Enforcement::of<M>(script_->governed))
                             : cordon::Availability::unusable(script_->reason, script_->remedy);
    });
  }

  template <cordon::ConfinedMode M>
  [[nodiscard]] cordon::Confinement wrap(const cordon::Policy<M>& policy, const cordon::Argv& command) {
    const cordon::Availability verdict = probe(policy);
    if (const auto* problem = verdict.problem()) throw cordon::SandboxUnavailableError(problem->reason);
    ++script_->wraps;
    std::vector<std::string> argv{"/scripted/" + std::to_string(N), "--"};
    argv.insert(argv.end(), command.elements().begin(), command.elements().end());
    cordon::Confinement result = confinement(std::move(argv), name, *verdict.enforcement());
    result.best_effort = script_->best_effort;
    result.shared_temp = script_->shared_temp;
    return result;
  }

  void invalidate() noexcept {
    ++script_->forgets;
    cache_.forget();
  }

 private:
  std::shared_ptr<Script> script_;
  cordon::ProbeCache cache_;
};

}  // namespace support
