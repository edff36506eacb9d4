// SPDX-License-Identifier: BSL-1.0
// A grant is used in its turn, so that it is recorded.
// expect: cordon: run takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv, a ConfinedArgv, or an
// UnconfinedArgv; get there by visiting the ExecutionPolicy that resolve returned. A grant is run by cordon::run_in

#include <cordon/audit.hpp>
#include <cordon/harness.hpp>
#include <cordon/session/log.hpp>
#include <utility>

inline void run(cordon::Turn<cordon::MemoryLog>& turn, cordon::Harness<>& harness, cordon::AllowedOnce grant) {
#ifdef CORDON_BREAK
  (void)turn;
  harness.run(std::move(grant));
#else
  (void)cordon::run_in(turn, harness, std::move(grant));
#endif
}
