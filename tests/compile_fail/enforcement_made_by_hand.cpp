// SPDX-License-Identifier: BSL-1.0
// Enforcement is what a backend governs, measured against a mode; nobody declares it full.
// expect: private

#include <cordon/enforcement.hpp>

inline constexpr cordon::Enforcement claimed() {
#ifdef CORDON_BREAK
  return cordon::Enforcement(cordon::EffectSet{});
#else
  return cordon::Enforcement::of<cordon::ReadOnly>(cordon::EffectSet::all());
#endif
}
