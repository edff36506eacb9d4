// SPDX-License-Identifier: BSL-1.0
// A grant owns the action that it is for: there is no way to say another one.
// expect: no match

#include <cordon/audit.hpp>
#include <cordon/harness.hpp>
#include <cordon/session/log.hpp>
#include <utility>

inline cordon::RunResult run(cordon::Turn<cordon::MemoryLog>& turn, cordon::Harness<>& harness,
                             cordon::AllowedOnce grant) {
#ifdef CORDON_BREAK
  return cordon::run_in(turn, harness, std::move(grant), cordon::Argv({"another"}));
#else
  return cordon::run_in(turn, harness, std::move(grant));
#endif
}
