// SPDX-License-Identifier: BSL-1.0
// A type of an AnswererChain has to opt in.
// expect: cordon: every argument of AnswererChain<...> must be a cordon::Answerer; write `using cordon_concept

#include <cordon/approval/answerer_chain.hpp>

struct SaysYes {
  static constexpr std::string_view name = "says-yes";
  cordon::Decision operator()(const cordon::ApprovalRequest&, const auto&) { return cordon::Decision::allow(); }
};

struct Opted : SaysYes {
  using cordon_concept = cordon::AnswererTag;
};

#ifdef CORDON_BREAK
using A = SaysYes;
#else
using A = Opted;
#endif

inline constexpr auto count = cordon::AnswererChain<A>::size;
