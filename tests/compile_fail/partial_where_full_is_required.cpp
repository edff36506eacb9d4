// SPDX-License-Identifier: BSL-1.0
// What may be partial can't stand in for what is full.
// expect: cordon: a ConfinedArgv may be enforced only partially; write cordon::require_full

#include <cordon/confined.hpp>
#include <utility>

inline const cordon::Argv& deploy(const cordon::FullyConfinedArgv<cordon::WorkspaceWrite>& full) {
  return full.confined().command();
}

inline cordon::Argv use(cordon::ConfinedArgv<cordon::WorkspaceWrite> confined) {
#ifdef CORDON_BREAK
  return deploy(confined);
#else
  return deploy(cordon::require_full(std::move(confined)));
#endif
}
