// SPDX-License-Identifier: BSL-1.0
// An Availability says usable with an enforcement, or unusable with a reason and a remedy.
// expect: private

#include <cordon/backend/backend.hpp>

inline cordon::Availability verdict() {
#ifdef CORDON_BREAK
  return cordon::Availability(cordon::Availability::Unusable{});
#else
  return cordon::Availability::unusable("no user namespaces", "set kernel.unprivileged_userns_clone to 1");
#endif
}
