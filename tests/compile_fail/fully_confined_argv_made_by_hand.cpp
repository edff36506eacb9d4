// SPDX-License-Identifier: BSL-1.0
// A FullyConfinedArgv comes out of a check only; its private witness can't be written as `{}`.
// expect: private

#include <cordon/confined.hpp>
#include <utility>

inline cordon::FullyConfinedArgv<cordon::ReadOnly> forge(cordon::ConfinedArgv<cordon::ReadOnly> confined) {
#ifdef CORDON_BREAK
  return cordon::FullyConfinedArgv<cordon::ReadOnly>({}, std::move(confined));
#else
  return cordon::FullyConfinedArgv<cordon::ReadOnly>::require(std::move(confined));
#endif
}
