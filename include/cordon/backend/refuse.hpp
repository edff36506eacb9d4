// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/backend.hpp>

namespace cordon {

/// The backend that never confines and so never lets anything run: the default of Harness, and the platform backend
/// where cordon has none.
struct Refuse {
  using cordon_concept = BackendTag;
  static constexpr std::string_view name = "refuse";
  template <ConfinedMode M>
  static constexpr bool can_be_full = true;  // nothing runs, so nothing gets out

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>&) const {
    return Availability::unusable(reason, remedy);
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>&, const Argv&) const {
    throw SandboxUnavailableError("mode " + std::string(M::name) + " needs a sandbox: " + reason + "; " + remedy);
  }

  void invalidate() const noexcept {}

 private:
  static constexpr const char* reason = "this program was built without a sandbox backend";
  static constexpr const char* remedy = "compose cordon::PlatformBackend, or a backend of your own, into its Harness";
};

}  // namespace cordon
