// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/environment.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "support/catch.hpp"
#include "support/random.hpp"

using cordon::process::EnvironmentPolicy;
using cordon::process::Inherit;
using Words = std::vector<std::string>;

namespace {

constexpr std::array<std::string_view, 10> secret_words{
    "KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "AUTH", "CREDENTIAL", "COOKIE", "AUTHORIZATION"};
constexpr std::array<Inherit, 3> all_policies{Inherit::none, Inherit::core, Inherit::all};

std::string in_any_case(support::Random& random, std::string_view word) {
  std::string result(word);
  for (char& c : result)
    if (random.chance()) c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string name_of(const std::string& entry) {
  return entry.substr(0, entry.find('='));
}

}  // namespace

TEST_CASE("F73: no inherited variable with a secret's name ever reaches a command, in any spelling") {
  support::Random random(6);
  for (int round = 0; round != 3000; ++round) {
    // Digits around the word, so that it is never part of "AUTHOR".
    const std::string name =
        "A" + random.text("0123_", 4) + in_any_case(random, random.pick(secret_words)) + random.text("0123_", 4);
    EnvironmentPolicy policy;
    policy.inherit = random.pick(all_policies);
    const auto result = cordon::process::make_environment(policy, {"PATH=/bin", name + "=value"}, random.chance());
    INFO(name);
    REQUIRE(std::none_of(result.entries.begin(), result.entries.end(),
                         [&](const std::string& entry) { return name_of(entry) == name; }));
    REQUIRE(std::count(result.removed.begin(), result.removed.end(), name) == 1);
  }
}

TEST_CASE("F74: every inherited variable is either handed on unchanged, set anew, or reported as removed") {
  support::Random random(7);
  const std::array<std::string, 12> names{"PATH", "HOME",   "LD_PRELOAD", "MY_TOKEN", "EDITOR", "ENV",
                                          "LANG", "LC_ALL", "GIT_DIR",    "FOO",      "BAR",    "GIT_AUTHOR_NAME"};
  for (int round = 0; round != 3000; ++round) {
    EnvironmentPolicy policy;
    policy.inherit = random.pick(all_policies);
    std::set<std::string> used;
    Words ambient;
    for (std::size_t i = random.below(8); i != 0; --i)
      if (const std::string& name = random.pick(names); used.insert(name).second)
        ambient.push_back(name + "=" + random.text("ab=/:", 5));
    for (std::size_t i = random.below(4); i != 0; --i)
      policy.set.emplace_back(random.pick(names), random.text("xy=", 3));

    const auto result = cordon::process::make_environment(policy, ambient, random.chance());
    std::set<std::string> entry_names;
    for (const std::string& entry : result.entries) REQUIRE(entry_names.insert(name_of(entry)).second);
    for (const std::string& entry : ambient) {
      const std::string name = name_of(entry);
      const bool set =
          std::any_of(policy.set.begin(), policy.set.end(), [&](const auto& s) { return s.first == name; });
      const bool handed_on = std::count(result.entries.begin(), result.entries.end(), entry) == 1;
      const bool removed = std::count(result.removed.begin(), result.removed.end(), name) == 1;
      INFO(entry);
      if (set)
        REQUIRE_FALSE(removed);
      else
        REQUIRE(handed_on != removed);
    }
    for (const auto& [name, value] : policy.set) {
      const auto last =
          std::find_if(policy.set.rbegin(), policy.set.rend(), [&](const auto& s) { return s.first == name; });
      REQUIRE(std::count(result.entries.begin(), result.entries.end(), name + "=" + last->second) == 1);
    }
    REQUIRE(std::is_sorted(result.removed.begin(), result.removed.end()));
    REQUIRE(std::adjacent_find(result.removed.begin(), result.removed.end()) == result.removed.end());
  }
}
