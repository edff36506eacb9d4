// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/paths.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using Names = std::vector<std::string>;

/// A canonical path of up to four short names, as its names.
Names any(support::Random& random) {
  static const Names choices{"a", "b", "ab", "a.b", "a b"};
  Names names;
  for (std::size_t i = random.below(5); i != 0; --i) names.push_back(random.pick(choices));
  return names;
}

std::string path_of(const Names& names) {
  if (names.empty()) return "/";
  std::string path;
  for (const std::string& name : names) path += "/" + name;
  return path;
}

bool begins_with(const Names& names, const Names& prefix) {
  return prefix.size() <= names.size() && std::equal(prefix.begin(), prefix.end(), names.begin());
}

}  // namespace

TEST_CASE("Containment of canonical paths is containment of their names") {
  support::Random random(8);
  int within = 0;
  for (int round = 0; round != 5000; ++round) {
    const Names ancestor = any(random);
    Names path = any(random);
    if (random.chance()) path.insert(path.begin(), ancestor.begin(), ancestor.end());
    INFO(path_of(path) << " in " << path_of(ancestor));
    REQUIRE(cordon::os::is_within(path_of(path), path_of(ancestor)) == begins_with(path, ancestor));
    if (begins_with(path, ancestor)) ++within;
  }
  CHECK(within > 1000);
  CHECK(within < 4900);
}

TEST_CASE("A path is within its parent, and not the other way round") {
  support::Random random(9);
  for (int round = 0; round != 2000; ++round) {
    Names names = any(random);
    names.emplace_back("end");
    const std::string path = path_of(names);
    names.pop_back();
    REQUIRE(cordon::os::parent_of(path) == path_of(names));
    REQUIRE(cordon::os::is_within(path, cordon::os::parent_of(path)));
    REQUIRE_FALSE(cordon::os::is_within(cordon::os::parent_of(path), path));
  }
}
