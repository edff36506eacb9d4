// SPDX-License-Identifier: BSL-1.0
// Visiting a SandboxMode means a handler for each of the three modes.
// expect: cordon: visiting a SandboxMode must handle ReadOnly, WorkspaceWrite and DangerFullAccess; add the missing one

#include <cordon/mode.hpp>

inline int rank(cordon::SandboxMode mode) {
  return mode.visit([](cordon::ReadOnly) { return 0; },
#ifndef CORDON_BREAK
                    [](cordon::WorkspaceWrite) { return 1; },
#endif
                    [](cordon::DangerFullAccess) { return 2; });
}
