// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/effect.hpp>
#include <string_view>

namespace cordon {

/// How much of a mode's promise a backend keeps on this kernel, for this user id: `full`, or `partial` with the
/// effects that are promised and not governed. There is no third level; "none" is an error instead (SBX-04).
class Enforcement {
 public:
  /// The enforcement of mode M by a backend that governs `governed`.
  template <ConfinedMode M>
  [[nodiscard]] static constexpr Enforcement of(EffectSet governed) noexcept {
    return Enforcement{promised<M>() - governed};
  }

  [[nodiscard]] constexpr bool full() const noexcept { return missing_.empty(); }
  /// Promised and not governed; empty exactly when `full()`.
  [[nodiscard]] constexpr EffectSet missing() const noexcept { return missing_; }
  [[nodiscard]] constexpr std::string_view level() const noexcept { return full() ? "full" : "partial"; }

  friend constexpr bool operator==(Enforcement, Enforcement) noexcept = default;

 private:
  explicit constexpr Enforcement(EffectSet missing) noexcept : missing_(missing) {}
  EffectSet missing_;
};

}  // namespace cordon
