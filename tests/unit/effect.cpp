// SPDX-License-Identifier: BSL-1.0
#include <cordon/effect.hpp>

#include <set>

#include "support/catch.hpp"

using cordon::EffectSet;
using cordon::FileEffect;

TEST_CASE("Every effect has a name of its own") {
  std::set<std::string> names;
  for (FileEffect effect : cordon::all_file_effects) names.insert(std::string(name(effect)));
  CHECK(names == std::set<std::string>{"create", "write", "truncate", "remove", "rename_link", "metadata", "device",
                                       "fifo_write", "mount_topology"});
}

TEST_CASE("A set holds what was put in and nothing else") {
  const EffectSet set{FileEffect::write, FileEffect::device, FileEffect::write};
  for (FileEffect effect : cordon::all_file_effects)
    CHECK(set.contains(effect) == (effect == FileEffect::write || effect == FileEffect::device));
  CHECK_FALSE(set.empty());
  CHECK(EffectSet{}.empty());
}

TEST_CASE("The set of all effects holds each of them") {
  for (FileEffect effect : cordon::all_file_effects) CHECK(EffectSet::all().contains(effect));
  CHECK(EffectSet::all() - EffectSet::all() == EffectSet{});
}

TEST_CASE("Containment of sets is inclusion") {
  const EffectSet some{FileEffect::create, FileEffect::remove};
  CHECK(EffectSet::all().contains(some));
  CHECK(some.contains(EffectSet{FileEffect::remove}));
  CHECK(some.contains(EffectSet{}));
  CHECK_FALSE(some.contains(EffectSet{FileEffect::remove, FileEffect::write}));
  CHECK_FALSE(EffectSet{}.contains(some));
}

TEST_CASE("A set is written in the order of declaration") {
  CHECK(to_string(EffectSet{FileEffect::fifo_write, FileEffect::create}) == "create, fifo_write");
  CHECK(to_string(EffectSet{FileEffect::metadata}) == "metadata");
  CHECK(to_string(EffectSet{}) == "");
}

TEST_CASE("A confined mode promises every effect, and full access promises none") {
  STATIC_REQUIRE(cordon::promised<cordon::ReadOnly>() == EffectSet::all());
  STATIC_REQUIRE(cordon::promised<cordon::WorkspaceWrite>() == EffectSet::all());
  STATIC_REQUIRE(cordon::promised<cordon::DangerFullAccess>().empty());
}
