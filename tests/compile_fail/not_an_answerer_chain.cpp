// SPDX-License-Identifier: BSL-1.0
// An answerer alone is no chain: a Harness takes an AnswererChain of it.
// expect: AnswererChainLike

#include <cordon/harness.hpp>

struct AsksPerson {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "person";
  cordon::Decision operator()(const cordon::ApprovalRequest&, const auto& next) { return next(); }
};

#ifdef CORDON_BREAK
using Chain = AsksPerson;
#else
using Chain = cordon::AnswererChain<AsksPerson>;
#endif

inline cordon::Refuse& backend_of(cordon::Harness<cordon::Refuse, Chain>& harness) {
  return harness.backend();
}
