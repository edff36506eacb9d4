// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/backend.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace cordon {

/// Tries backends in order; the first whose probe succeeds confines. When none does, SandboxUnavailableError names
/// every one with its reason. A backend's probe remembers its verdict, so the walk is cheap after the first time.
template <class... Backends>
class FirstUsable {
  static_assert(sizeof...(Backends) > 0,
                "cordon: FirstUsable<...> needs at least one backend; write cordon::Refuse for none");
  static_assert(
      (Backend<Backends> && ...),
      "cordon: every argument of FirstUsable<...> must be a cordon::Backend; write "
      "`using cordon_concept = cordon::BackendTag` in it, and the members that cordon/backend/backend.hpp lists");

 public:
  using cordon_concept = BackendTag;
  static constexpr std::string_view name = "first-usable";
  template <ConfinedMode M>
  static constexpr bool can_be_full = (Backends::template can_be_full<M> || ...);

  FirstUsable() = default;
  explicit FirstUsable(Backends... backends) requires(sizeof...(Backends) > 0) : backends_(std::move(backends)...) {}

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>& policy) {
    Problems problems;
    Availability found = Availability::unusable("", "");
    const bool any = std::apply(
        [&](auto&... backend) {
          return (try_one(backend, policy, problems, [&](auto&, const Availability& verdict) { found = verdict; }) ||
                  ...);
        },
        backends_);
    return any ? found : Availability::unusable(problems.reasons, problems.remedies);
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>& policy, const Argv& command) {
    Problems problems;
    std::optional<Confinement> result;
    std::apply(
        [&](auto&... backend) {
          (try_one(backend, policy, problems,
                   [&](auto& usable, const Availability&) { result = usable.wrap(policy, command); }) ||
           ...);
        },
        backends_);
    if (!result)
      throw SandboxUnavailableError("mode " + std::string(M::name) + " needs a sandbox, and none is usable here: " +
                                    problems.reasons + "; " + problems.remedies);
    return *std::move(result);
  }

  void invalidate() noexcept {
    std::apply([](auto&... backend) { (backend.invalidate(), ...); }, backends_);
  }

  /// Calls `visit` with each backend, in order.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::apply([&](auto&... backend) { (visit(backend), ...); }, backends_);
  }

 private:
  struct Problems {
    std::string reasons;
    std::string remedies;
  };

  template <class B, ConfinedMode M, class Use>
  static bool try_one(B& backend, const Policy<M>& policy, Problems& problems, Use&& use) {
    const Availability verdict = backend.probe(policy);
    if (const auto* problem = verdict.problem()) {
      const auto add = [](std::string& texts, std::string_view between, const std::string& text) {
        if (!texts.empty()) texts += between;
        texts += text;
      };
      add(problems.reasons, "; ", std::string(B::name) + ": " + problem->reason);
      if (problems.remedies.find(problem->remedy) == std::string::npos)
        add(problems.remedies, "; or ", problem->remedy);
      return false;
    }
    use(backend, verdict);
    return true;
  }

  std::tuple<Backends...> backends_;
};

}  // namespace cordon
