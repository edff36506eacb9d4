// SPDX-License-Identifier: BSL-1.0
#include <cordon/effect.hpp>

#include <set>

#include "support/catch.hpp"
#include "support/random.hpp"

using cordon::EffectSet;
using cordon::FileEffect;

namespace {

using Model = std::set<FileEffect>;

struct Both {
  EffectSet set;
  Model model;
};

Both any(support::Random& random) {
  Both both;
  for (FileEffect effect : cordon::all_file_effects)
    if (random.chance()) {
      both.set = both.set | EffectSet{effect};
      both.model.insert(effect);
    }
  return both;
}

bool same(EffectSet set, const Model& model) {
  Model members;
  set.for_each([&](FileEffect effect) { members.insert(effect); });
  return members == model;
}

}  // namespace

TEST_CASE("Effect sets behave like sets") {
  support::Random random(3);
  for (int round = 0; round != 3000; ++round) {
    const Both a = any(random);
    const Both b = any(random);
    Model united = a.model;
    united.insert(b.model.begin(), b.model.end());
    Model common;
    Model rest;
    for (FileEffect effect : a.model) (b.model.count(effect) != 0 ? common : rest).insert(effect);
    REQUIRE(same(a.set, a.model));
    REQUIRE(same(a.set | b.set, united));
    REQUIRE(same(a.set & b.set, common));
    REQUIRE(same(a.set - b.set, rest));
    REQUIRE((a.set == b.set) == (a.model == b.model));
    REQUIRE(a.set.empty() == a.model.empty());
    REQUIRE(a.set.contains(b.set) == (united == a.model));
  }
}

TEST_CASE("The laws of set algebra hold") {
  support::Random random(4);
  const EffectSet all = EffectSet::all();
  for (int round = 0; round != 3000; ++round) {
    const EffectSet a = any(random).set;
    const EffectSet b = any(random).set;
    const EffectSet c = any(random).set;
    REQUIRE(((a | b) | c) == (a | (b | c)));
    REQUIRE((a | b) == (b | a));
    REQUIRE((a & b) == (b & a));
    REQUIRE((a & (b | c)) == ((a & b) | (a & c)));
    REQUIRE((a | (a & b)) == a);
    REQUIRE((all - (a | b)) == ((all - a) & (all - b)));
    REQUIRE(((a - b) | (a & b)) == a);
    REQUIRE((a - b - c) == (a - (b | c)));
    REQUIRE((a - a).empty());
  }
}
