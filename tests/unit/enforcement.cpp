// SPDX-License-Identifier: BSL-1.0
#include <cordon/enforcement.hpp>

#include "support/catch.hpp"

using cordon::EffectSet;
using cordon::Enforcement;
using cordon::FileEffect;
using cordon::ReadOnly;
using cordon::WorkspaceWrite;

TEST_CASE("Enforcement is full when every promised effect is governed") {
  constexpr Enforcement full = Enforcement::of<WorkspaceWrite>(EffectSet::all());
  CHECK(full.full());
  CHECK(full.missing().empty());
  CHECK(full.level() == "full");
}

TEST_CASE("F48: enforcement is partial when one effect is missing, and names it") {
  for (FileEffect effect : cordon::all_file_effects) {
    const Enforcement partial = Enforcement::of<ReadOnly>(EffectSet::all() - EffectSet{effect});
    CHECK_FALSE(partial.full());
    CHECK(partial.missing() == EffectSet{effect});
    CHECK(partial.level() == "partial");
  }
}

TEST_CASE("A backend that governs nothing is partial with everything missing") {
  CHECK(Enforcement::of<ReadOnly>({}).missing() == EffectSet::all());
}

TEST_CASE("Enforcements are equal when the same is missing") {
  CHECK(Enforcement::of<ReadOnly>(EffectSet::all()) == Enforcement::of<WorkspaceWrite>(EffectSet::all()));
  CHECK_FALSE(Enforcement::of<ReadOnly>(EffectSet::all()) == Enforcement::of<ReadOnly>({}));
}

TEST_CASE("Nobody can make an enforcement up, or leave it out") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<Enforcement>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Enforcement, EffectSet>);
}
