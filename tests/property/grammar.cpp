// SPDX-License-Identifier: BSL-1.0
#include <cordon/runner/grammar.hpp>

#include <array>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

constexpr std::array<std::string_view, 4> known{"--write", "--mode", "--fd", "--x"};
constexpr std::string_view alphabet = "-=/ abw\n\"'$\xff";

/// A word that may well be mistaken for grammar.
std::string word(support::Random& random) {
  static const std::array<std::string, 5> special{"--", "--write", "--cordon-runner", "", "--x"};
  return random.chance() ? random.pick(special) : random.text(alphabet, 6);
}

}  // namespace

TEST_CASE("What is formatted is parsed back, whatever the words") {
  support::Random random(1);
  for (int round = 0; round != 3000; ++round) {
    cordon::runner::Words words;
    words.stage = word(random);
    for (std::size_t i = random.below(6); i != 0; --i) words.options.emplace_back(random.pick(known), word(random));
    for (std::size_t i = 1 + random.below(4); i != 0; --i) words.command.push_back(word(random));
    const cordon::runner::Words parsed = cordon::runner::parse(cordon::runner::format(words), known);
    REQUIRE(parsed.stage == words.stage);
    REQUIRE((parsed.options == words.options));
    REQUIRE(parsed.command == words.command);
  }
}

TEST_CASE("Any line is either refused or is exactly what its own words format to") {
  support::Random random(2);
  int parsed = 0;
  int refused = 0;
  for (int round = 0; round != 5000; ++round) {
    std::vector<std::string> line{"--cordon-runner"};
    for (std::size_t i = random.below(7); i != 0; --i) line.push_back(word(random));
    try {
      const auto words = cordon::runner::parse(line, known);
      ++parsed;
      REQUIRE(cordon::runner::format(words) == line);
      REQUIRE_FALSE(words.command.empty());
    } catch (const cordon::ArgvInvalidError&) {
      ++refused;
    }
  }
  CHECK(parsed > 100);
  CHECK(refused > 100);
}
