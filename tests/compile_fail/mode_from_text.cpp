// SPDX-License-Identifier: BSL-1.0
// Text becomes a mode through SandboxMode::parse only, which refuses what it doesn't know.
// expect: is_read_only_workspace_write_or_danger_full_access.*evaluated to

#include <cordon/mode.hpp>

inline cordon::SandboxMode chosen() {
#ifdef CORDON_BREAK
  return cordon::SandboxMode("read-only");
#else
  return cordon::SandboxMode::parse("read-only");
#endif
}
