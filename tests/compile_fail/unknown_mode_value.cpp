// SPDX-License-Identifier: BSL-1.0
// A SandboxMode holds none but the three modes.
// expect: is_read_only_workspace_write_or_danger_full_access.*evaluated to

#include <cordon/mode.hpp>
#include <string_view>

struct AlmostFullAccess {
  static constexpr std::string_view name = "danger-full-access";
};

#ifdef CORDON_BREAK
inline constexpr cordon::SandboxMode mode{AlmostFullAccess{}};
#else
inline constexpr cordon::SandboxMode mode{cordon::DangerFullAccess{}};
#endif
