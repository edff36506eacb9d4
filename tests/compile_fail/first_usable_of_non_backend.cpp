// SPDX-License-Identifier: BSL-1.0
// FirstUsable tries backends and nothing else.
// expect: cordon: every argument of FirstUsable<...> must be a cordon::Backend; write `using cordon_concept

#include <cordon/backend/first_usable.hpp>
#include <cordon/backend/refuse.hpp>

struct JustForgets {
  void invalidate() noexcept {}
};

#ifdef CORDON_BREAK
using B = cordon::FirstUsable<cordon::Refuse, JustForgets>;
#else
using B = cordon::FirstUsable<cordon::Refuse>;
#endif

inline void forget(B& backend) {
  backend.invalidate();
}
