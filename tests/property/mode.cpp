// SPDX-License-Identifier: BSL-1.0
#include <cordon/mode.hpp>

#include <array>

#include "support/catch.hpp"
#include "support/random.hpp"

using cordon::SandboxMode;

namespace {

const std::array<SandboxMode, 3> modes{SandboxMode(cordon::read_only), SandboxMode(cordon::workspace_write),
                                       SandboxMode(cordon::danger_full_access)};

}  // namespace

TEST_CASE("A mode's name is parsed back to that mode") {
  for (const SandboxMode& mode : modes) CHECK(SandboxMode::parse(mode.name()) == mode);
}

TEST_CASE("A name with any one character changed, added or missing is no mode") {
  support::Random random(10);
  for (int round = 0; round != 3000; ++round) {
    const std::string name(random.pick(modes).name());
    std::string other = name;
    const std::size_t at = random.below(name.size());
    const char c = static_cast<char>(random.below(256));
    switch (random.below(3)) {
      case 0:
        other[at] = c;
        break;
      case 1:
        other.insert(at, 1, c);
        break;
      default:
        other.erase(at, 1);
        break;
    }
    if (other == name) continue;
    INFO(other);
    REQUIRE_THROWS_AS(SandboxMode::parse(other), cordon::PolicyInvalidError);
  }
}
