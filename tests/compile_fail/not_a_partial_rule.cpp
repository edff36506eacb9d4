// SPDX-License-Identifier: BSL-1.0
// A rule says for both confined modes whether partial will do.
// expect: PartialRule

#include <cordon/harness.hpp>

struct Undecided {};

#ifdef CORDON_BREAK
using Rule = Undecided;
#else
using Rule = cordon::AcceptPartial;
#endif

inline cordon::Refuse& backend_of(cordon::Harness<cordon::Refuse, cordon::AnswererChain<>, Rule>& harness) {
  return harness.backend();
}
