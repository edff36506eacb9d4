// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/capture.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

TEST_CASE("A capture keeps what a simple cut of the whole output would keep, however it arrives") {
  support::Random random(5);
  for (int round = 0; round != 2000; ++round) {
    const std::size_t cap = random.below(40);
    cordon::process::Capture capture(cap);
    std::string whole;
    for (std::size_t pieces = random.below(12); pieces != 0; --pieces) {
      const std::string piece = random.text(std::string_view("ab\0\n\xff", 5), random.chance() ? 5 : 120);
      capture.append(piece);
      whole += piece;
    }
    const std::size_t head = cap / 2;
    const std::string expected =
        whole.size() <= cap ? whole : whole.substr(0, head) + whole.substr(whole.size() - (cap - head));
    REQUIRE((capture.text() == expected));
    REQUIRE(capture.seen() == whole.size());
    REQUIRE(capture.truncated() == (whole.size() > cap));
  }
}
