// SPDX-License-Identifier: BSL-1.0
// Only the resolver mints a Policy<DangerFullAccess>.
// expect: private

#include <cordon/policy.hpp>

inline cordon::Policy<cordon::DangerFullAccess> mint(const cordon::Policy<cordon::DangerFullAccess>& given) {
#ifdef CORDON_BREAK
  return cordon::Policy<cordon::DangerFullAccess>(given.scope());
#else
  return given;
#endif
}
