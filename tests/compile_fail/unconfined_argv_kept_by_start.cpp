// SPDX-License-Identifier: BSL-1.0
// Harness::start takes the UnconfinedArgv away from its caller.
// expect: deleted

#include <cordon/harness.hpp>
#include <utility>

inline cordon::Running start(cordon::Harness<>& harness, cordon::UnconfinedArgv unconfined) {
#ifdef CORDON_BREAK
  return harness.start(unconfined);
#else
  return harness.start(std::move(unconfined));
#endif
}
