// SPDX-License-Identifier: BSL-1.0
// Harness::run takes the UnconfinedArgv away from its caller.
// expect: deleted

#include <cordon/harness.hpp>
#include <utility>

inline cordon::RunResult run(cordon::Harness<>& harness, cordon::UnconfinedArgv unconfined) {
#ifdef CORDON_BREAK
  return harness.run(unconfined);
#else
  return harness.run(std::move(unconfined));
#endif
}
