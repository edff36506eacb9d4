// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/answerer_chain.hpp>

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"

using cordon::AnswererChain;
using cordon::AnyNext;
using cordon::ApprovalRequest;
using cordon::ApprovalResult;
using cordon::Decision;

namespace {

struct Base {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "base";
};
struct Yes : Base {
  static constexpr bool immediate = true;
  Decision operator()(const ApprovalRequest&, const auto&) { return Decision::allow(); }
};
struct PassesOn : Base {
  Decision operator()(const ApprovalRequest&, const auto& next) { return next(); }
};
struct NoTemplate : Base {
  Decision operator()(const ApprovalRequest&, const AnyNext& next) const { return next(); }
};
struct Untagged {
  [[maybe_unused]] static constexpr std::string_view name = "untagged";
  Decision operator()(const ApprovalRequest&, const auto&) { return Decision::allow(); }
};
struct TaggedAsSomethingElse : Untagged {
  using cordon_concept = Untagged;
};
struct Immovable : Yes {
  Immovable(Immovable&&) = delete;
};
struct Nameless {
  using cordon_concept = cordon::AnswererTag;
  Decision operator()(const ApprovalRequest&, const auto&) { return Decision::allow(); }
};
struct SaysBool : Base {
  bool operator()(const ApprovalRequest&, const auto&) { return true; }
};

/// Writes down that it was asked, and does what its script says.
struct Speaker {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "speaker";
  enum class Does { allows, rejects, passes_on, turns_around } does;
  std::vector<int>* asked;
  int number;
  Decision operator()(const ApprovalRequest&, const auto& next) {
    asked->push_back(number);
    switch (does) {
      case Does::allows:
        return Decision::allow();
      case Does::rejects:
        return Decision::reject();
      case Does::passes_on:
        return next();
      case Does::turns_around:
        break;
    }
    return next().result() == ApprovalResult::allowed_once ? Decision::reject("not even then") : Decision::cancel();
  }
};
using enum Speaker::Does;

}  // namespace

TEST_CASE("Only a type that opts in, has a name and gives a Decision is an answerer") {
  STATIC_REQUIRE(cordon::Answerer<Yes>);
  STATIC_REQUIRE(cordon::Answerer<NoTemplate>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<Untagged>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<TaggedAsSomethingElse>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<Immovable>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<Nameless>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<SaysBool>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<int>);
}

TEST_CASE("A chain knows how many it asks and whether that takes time, and the empty one is a chain too") {
  STATIC_REQUIRE(AnswererChain<>::size == 0);
  STATIC_REQUIRE(AnswererChain<Yes, Yes>::size == 2);
  STATIC_REQUIRE(AnswererChain<>::immediate);
  STATIC_REQUIRE(AnswererChain<Yes, Yes>::immediate);
  STATIC_REQUIRE_FALSE(AnswererChain<Yes, PassesOn>::immediate);
  STATIC_REQUIRE(cordon::AnswererChainLike<AnswererChain<>>);
  STATIC_REQUIRE(cordon::AnswererChainLike<AnswererChain<Yes>>);
  STATIC_REQUIRE_FALSE(cordon::AnswererChainLike<Yes>);
  STATIC_REQUIRE_FALSE(cordon::AnswererChainLike<std::tuple<Yes>>);
}

TEST_CASE("prepend and append make the type of a longer chain") {
  STATIC_REQUIRE(std::is_same_v<AnswererChain<Yes>::prepend<PassesOn>, AnswererChain<PassesOn, Yes>>);
  STATIC_REQUIRE(std::is_same_v<AnswererChain<Yes>::append<PassesOn>, AnswererChain<Yes, PassesOn>>);
  STATIC_REQUIRE(std::is_same_v<AnswererChain<>::append<Yes>, AnswererChain<Yes>>);
}

TEST_CASE("T-APR-12, T-APR-13: the first that does not pass it on decides, and those behind are not asked") {
  std::vector<int> asked;
  AnswererChain<Speaker, Speaker, Speaker> chain(Speaker{passes_on, &asked, 1}, Speaker{allows, &asked, 2},
                                                 Speaker{rejects, &asked, 3});
  const ApprovalRequest request = support::request();
  CHECK(chain(request).result() == ApprovalResult::allowed_once);
  CHECK(asked == std::vector<int>{1, 2});
}

TEST_CASE("a chain in which all pass it on comes to nobody, who signs nothing") {
  std::vector<int> asked;
  AnswererChain<Speaker, NoTemplate> chain(Speaker{passes_on, &asked, 1}, NoTemplate{});
  const Decision decision = chain(support::request());
  CHECK(decision.result() == ApprovalResult::unavailable);
  CHECK(decision.is_from_nobody());
  CHECK(decision.answered_by().empty());
  CHECK(AnswererChain<>()(support::request()).is_from_nobody());
}

TEST_CASE("a decision is signed by whoever made it: behind others, and also one who looked at what the next said") {
  std::vector<int> asked;
  AnswererChain<NoTemplate, PassesOn, Yes> plain;
  CHECK(plain(support::request()).answered_by() == "base");
  AnswererChain<Speaker, Yes> chain(Speaker{turns_around, &asked, 1}, Yes{});
  const Decision decision = chain(support::request());
  CHECK(decision.result() == ApprovalResult::rejected);
  CHECK(decision.answered_by() == "speaker");
}
