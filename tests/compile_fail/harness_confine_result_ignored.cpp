// SPDX-License-Identifier: BSL-1.0
// What Harness::confine returns must not be dropped either.
// expect: cordon: the result of confine is the only thing that may be spawned; spawn it, or don't confine

#include <cordon/harness.hpp>

inline void wrap(cordon::Harness<>& harness, const cordon::Policy<cordon::WorkspaceWrite>& policy,
                 const cordon::Argv& command) {
#ifdef CORDON_BREAK
  harness.confine(policy, command);
#else
  const auto confined = harness.confine(policy, command);
  (void)confined.backend();
#endif
}
