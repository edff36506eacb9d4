// SPDX-License-Identifier: BSL-1.0
// Running a grant takes it away, so what runs it can't have it for a second time.
// expect: deleted

#include <cordon/audit.hpp>
#include <cordon/harness.hpp>
#include <cordon/session/log.hpp>
#include <utility>

inline cordon::RunResult run(cordon::Turn<cordon::MemoryLog>& turn, cordon::Harness<>& harness,
                             cordon::AllowedOnce& grant) {
#ifdef CORDON_BREAK
  (void)cordon::run_in(turn, harness, grant);
#endif
  return cordon::run_in(turn, harness, std::move(grant));
}
