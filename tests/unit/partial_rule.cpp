// SPDX-License-Identifier: BSL-1.0
#include <cordon/partial_rule.hpp>

#include "support/catch.hpp"

using cordon::ReadOnly;
using cordon::WorkspaceWrite;

namespace {

struct RuleForOneMode {
  template <class M>
  requires std::is_same_v<M, ReadOnly>
  static constexpr bool accepts_partial = true;
};

struct RuleWithNumbers {
  template <cordon::ConfinedMode M>
  static constexpr int accepts_partial = 1;
};

struct NoRule {};

}  // namespace

TEST_CASE("Each rule says for each mode whether a gap is acceptable") {
  STATIC_REQUIRE_FALSE(cordon::RefusePartial::accepts_partial<ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::RefusePartial::accepts_partial<WorkspaceWrite>);
  STATIC_REQUIRE(cordon::RefusePartialUnlessReadOnly::accepts_partial<ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::RefusePartialUnlessReadOnly::accepts_partial<WorkspaceWrite>);
  STATIC_REQUIRE(cordon::AcceptPartial::accepts_partial<ReadOnly>);
  STATIC_REQUIRE(cordon::AcceptPartial::accepts_partial<WorkspaceWrite>);
}

TEST_CASE("A rule is what answers yes or no for both confined modes") {
  STATIC_REQUIRE(cordon::PartialRule<cordon::RefusePartial>);
  STATIC_REQUIRE(cordon::PartialRule<cordon::RefusePartialUnlessReadOnly>);
  STATIC_REQUIRE(cordon::PartialRule<cordon::AcceptPartial>);
  STATIC_REQUIRE_FALSE(cordon::PartialRule<RuleForOneMode>);
  STATIC_REQUIRE_FALSE(cordon::PartialRule<RuleWithNumbers>);
  STATIC_REQUIRE_FALSE(cordon::PartialRule<NoRule>);
}
