// SPDX-License-Identifier: BSL-1.0
// What confine returns must not be dropped: the command would then run some other way.
// expect: cordon: the result of confine is the only thing that may be spawned; spawn it, or don't confine

#include <cordon/backend/refuse.hpp>

inline void wrap(cordon::Refuse& backend, const cordon::Policy<cordon::ReadOnly>& policy, const cordon::Argv& command) {
#ifdef CORDON_BREAK
  cordon::confine(backend, policy, command);
#else
  const auto confined = cordon::confine(backend, policy, command);
  (void)confined.backend();
#endif
}
