// SPDX-License-Identifier: BSL-1.0
// FirstUsable of no backend would be a backend that nobody named.
// expect: cordon: FirstUsable<...> needs at least one backend; write cordon::Refuse for none

#include <cordon/backend/first_usable.hpp>
#include <cordon/backend/refuse.hpp>

#ifdef CORDON_BREAK
using B = cordon::FirstUsable<>;
#else
using B = cordon::FirstUsable<cordon::Refuse>;
#endif

inline void forget(B& backend) {
  backend.invalidate();
}
