// SPDX-License-Identifier: BSL-1.0
//
// Everything that runs in a process which shares this program's memory: see tools/check_beside.sh.
#include <cordon/cordon.hpp>

int beside(const cordon::Policy<cordon::WorkspaceWrite>& policy, const cordon::Argv& command) {
  cordon::Harness<cordon::Observed<cordon::PlatformBackend>> harness;
  return static_cast<int>(harness.run(policy, command).ending.index());
}
