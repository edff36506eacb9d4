// SPDX-License-Identifier: BSL-1.0
// An answerer gives a Decision: nothing that only could be taken for one.
// expect: cordon: an Answerer gives a cordon::Decision and nothing else

#include <cordon/approval/answerer_chain.hpp>

struct Answers {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "answers";
#ifdef CORDON_BREAK
  bool operator()(const cordon::ApprovalRequest&, const auto&) {
    return true;
  }
#else
  cordon::Decision operator()(const cordon::ApprovalRequest&, const auto&) {
    return cordon::Decision::reject();
  }
#endif
};

inline constexpr auto count = cordon::AnswererChain<Answers>::size;
