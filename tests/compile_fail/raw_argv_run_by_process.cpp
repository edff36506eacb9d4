// SPDX-License-Identifier: BSL-1.0
// process::run takes no raw Argv either, since it is `spawn`, then `wait`.
// expect: cordon: only a ConfinedArgv or an UnconfinedArgv can be spawned; write harness.confine

#include <cordon/process/spawn.hpp>
#include <utility>

inline cordon::process::Capture output_of(cordon::UnconfinedArgv unconfined) {
#ifdef CORDON_BREAK
  return cordon::process::run(unconfined.command()).out;
#else
  return cordon::process::run(std::move(unconfined)).out;
#endif
}
