// SPDX-License-Identifier: BSL-1.0
// In the background, too, a grant owns the action that it is for.
// expect: no match

#include <cordon/audit.hpp>
#include <cordon/harness.hpp>
#include <cordon/session/log.hpp>
#include <utility>

inline cordon::Running start(cordon::Turn<cordon::MemoryLog>& turn, cordon::Harness<>& harness,
                             cordon::AllowedOnce grant) {
#ifdef CORDON_BREAK
  return cordon::start_in(turn, harness, std::move(grant), cordon::Argv({"another"}));
#else
  return cordon::start_in(turn, harness, std::move(grant));
#endif
}
