// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cordon/process/capture.hpp>
#include <cordon/process/unread.hpp>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/random.hpp"

using cordon::process::Capture;
using cordon::process::Stream;
using cordon::process::UnreadOutput;

namespace {

/// The length of the character that begins at `at`, by decoding it; 0 when there is none.
std::size_t decoded_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || text.size() - at < length) return 0;
  unsigned number = lead & (0x7fU >> length);
  for (std::size_t i = 1; i != length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0U) != 0x80) return 0;
    number = number << 6U | (next & 0x3fU);
  }
  static constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = number >= 0xd800 && number <= 0xdfff;
  return number < least[length] || number > 0x10ffff || surrogate ? 0 : length;
}

bool between_characters(std::string_view text, std::size_t at) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, at); ++back)
    if (decoded_length(text, at - back) > back) return false;
  return true;
}

/// Well-formed characters of all lengths, halves of them, and bytes that are never part of one.
std::string some_text(support::Random& random, std::size_t longest) {
  static constexpr std::string_view units[] = {"a",        "\n",       "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                               "\xe2\x82", "\xf0\x9f", "\x80",     "\xed\xa0\x80", "\xff",
                                               "\xc0\x80"};
  std::string text;
  for (std::size_t left = random.below(longest + 1); left != 0; --left) text += random.pick(units);
  return text;
}

}  // namespace

TEST_CASE("A capture keeps what a cut of the whole output between characters would keep, however it arrives") {
  support::Random random(5);
  for (int round = 0; round != 4000; ++round) {
    const std::size_t cap = random.below(40);
    Capture capture(cap);
    std::string whole;
    for (std::size_t pieces = random.below(12); pieces != 0; --pieces) {
      const std::string text = some_text(random, random.chance() ? 5 : 60);
      const std::string piece = text.substr(0, text.size() - random.below(std::min<std::size_t>(text.size(), 3) + 1));
      capture.append(piece);
      whole += piece;
    }
    std::size_t head = whole.size();
    std::size_t tail = whole.size();
    if (whole.size() > cap) {
      head = cap / 2;
      while (!between_characters(whole, head)) --head;
      tail = whole.size() - (cap - cap / 2);
      while (!between_characters(whole, tail)) ++tail;
    }
    REQUIRE((capture.head() == whole.substr(0, head)));
    REQUIRE((capture.tail() == whole.substr(tail)));
    REQUIRE((capture.text() == whole.substr(0, head) + whole.substr(tail)));
    REQUIRE(capture.seen() == whole.size());
    REQUIRE(capture.kept() == capture.text().size());
    REQUIRE(capture.dropped() == tail - head);
    REQUIRE(capture.truncated() == (whole.size() > cap));
  }
}

TEST_CASE("T-EXE-11: a stream read while it comes gives each byte once, in order, and counts each that was lost") {
  support::Random random(7);
  for (int round = 0; round != 2000; ++round) {
    const std::size_t cap = random.below(60);
    UnreadOutput unread(cap);
    std::string whole;
    std::uint64_t at = 0;
    const auto take = [&](bool last) {
      const auto piece = unread.take(last).out;
      REQUIRE(piece.text.size() <= cap);
      REQUIRE(piece.offset == at + piece.dropped);
      REQUIRE(piece.text == whole.substr(piece.offset, piece.text.size()));
      at = piece.offset + piece.text.size();
      REQUIRE(whole.size() - at <= (last ? 0U : 3U));
    };
    for (std::size_t pieces = random.below(20); pieces != 0; --pieces) {
      const std::string piece = some_text(random, random.chance() ? 4 : 40);
      unread.append(Stream::out, piece);
      whole += piece;
      if (random.chance()) take(false);
    }
    take(true);
    REQUIRE(at == whole.size());
  }
}

TEST_CASE("EXE-K5: no piece of a stream of characters begins or ends in one, however it came and whatever was lost") {
  support::Random random(11);
  for (int round = 0; round != 2000; ++round) {
    UnreadOutput unread(4 + random.below(60));
    std::string whole;
    for (std::size_t count = random.below(200); count != 0; --count)
      whole += random.chance() ? "e" : random.chance() ? "\u00e9" : "\U0001f600";
    std::string_view rest = whole;
    while (!rest.empty()) {
      const std::size_t size = std::min<std::size_t>(1 + random.below(20), rest.size());
      unread.append(Stream::err, rest.substr(0, size));
      rest.remove_prefix(size);
      if (!rest.empty() && random.chance()) continue;
      const auto piece = unread.take(rest.empty()).err;
      for (std::string_view text = piece.text; !text.empty();) {
        const std::size_t length = cordon::detail::character_length(text);
        REQUIRE(length != 0);
        text.remove_prefix(length);
      }
    }
  }
}
