// SPDX-License-Identifier: BSL-1.0
// A number is no set of effects.
// expect: no matching

#include <cordon/effect.hpp>

#ifdef CORDON_BREAK
inline constexpr cordon::EffectSet effects{3};
#else
inline constexpr cordon::EffectSet effects{cordon::FileEffect::create, cordon::FileEffect::write};
#endif
