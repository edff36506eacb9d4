// SPDX-License-Identifier: BSL-1.0
// One approval is for one action: a grant can't be kept beside the one that is used.
// expect: deleted

#include <cordon/approval/outcome.hpp>
#include <utility>

inline cordon::AllowedOnce keep(cordon::AllowedOnce& grant) {
#ifdef CORDON_BREAK
  return grant;
#else
  return std::move(grant);
#endif
}
