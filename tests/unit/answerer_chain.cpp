// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/answerer_chain.hpp>

#include <tuple>

#include "support/catch.hpp"

using cordon::AnswererChain;

namespace {

struct Yes {
  using cordon_concept = cordon::AnswererTag;
};
struct Untagged {};
struct TaggedAsSomethingElse {
  using cordon_concept = Untagged;
};
struct Immovable {
  using cordon_concept = cordon::AnswererTag;
  Immovable(Immovable&&) = delete;
};

}  // namespace

TEST_CASE("Only a type that opts in is an answerer") {
  STATIC_REQUIRE(cordon::Answerer<Yes>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<Untagged>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<TaggedAsSomethingElse>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<Immovable>);
  STATIC_REQUIRE_FALSE(cordon::Answerer<int>);
}

TEST_CASE("A chain knows how many it asks, and the empty one is a chain too") {
  STATIC_REQUIRE(AnswererChain<>::size == 0);
  STATIC_REQUIRE(AnswererChain<Yes, Yes>::size == 2);
  STATIC_REQUIRE(cordon::AnswererChainLike<AnswererChain<>>);
  STATIC_REQUIRE(cordon::AnswererChainLike<AnswererChain<Yes>>);
  STATIC_REQUIRE_FALSE(cordon::AnswererChainLike<Yes>);
  STATIC_REQUIRE_FALSE(cordon::AnswererChainLike<std::tuple<Yes>>);
  [[maybe_unused]] const AnswererChain<Yes> made{Yes{}};
  [[maybe_unused]] const AnswererChain<> empty;
}
