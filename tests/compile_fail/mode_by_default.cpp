// SPDX-License-Identifier: BSL-1.0
// There is no default mode.
// expect: no matching

#include <cordon/mode.hpp>

#ifdef CORDON_BREAK
inline constexpr cordon::SandboxMode mode{};
#else
inline constexpr cordon::SandboxMode mode{cordon::read_only};
#endif
