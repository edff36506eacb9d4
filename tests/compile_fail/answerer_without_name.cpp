// SPDX-License-Identifier: BSL-1.0
// Each decision says who made it, so an answerer has a name.
// expect: cordon: an Answerer signs what it decides; write `static constexpr std::string_view name

#include <cordon/approval/answerer_chain.hpp>

struct Answers {
  using cordon_concept = cordon::AnswererTag;
#ifndef CORDON_BREAK
  static constexpr std::string_view name = "answers";
#endif
  cordon::Decision operator()(const cordon::ApprovalRequest&, const auto&) {
    return cordon::Decision::reject();
  }
};

inline constexpr auto count = cordon::AnswererChain<Answers>::size;
