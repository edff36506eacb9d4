// SPDX-License-Identifier: BSL-1.0
// A mode that was approved for one call can't be kept for the next.
// expect: deleted

#include <cordon/session/resolve.hpp>
#include <utility>

inline cordon::ResolvedPolicy resolve_once(cordon::ExplicitMode& approved) {
#ifdef CORDON_BREAK
  cordon::ExplicitMode kept = approved;
  return cordon::resolve(cordon::SessionDefaults{}, {}, std::move(kept));
#else
  return cordon::resolve(cordon::SessionDefaults{}, {}, std::move(approved));
#endif
}
