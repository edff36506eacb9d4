// SPDX-License-Identifier: BSL-1.0
#include <cordon/detail/utf8.hpp>

#include <string>

#include "support/catch.hpp"

using cordon::detail::character_length;
using cordon::detail::unfinished_length;

namespace {

/// The UTF-8 form of a number, also of one that is no character.
std::string encoded(unsigned number, std::size_t length) {
  static constexpr unsigned marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  std::string text(length, ' ');
  for (std::size_t i = length; --i != 0; number >>= 6U) text[i] = static_cast<char>(0x80U | (number & 0x3fU));
  text[0] = static_cast<char>(marks[length] | number);
  return text;
}

}  // namespace

TEST_CASE("Every character of Unicode has its length, and half of it is none") {
  for (unsigned number = 0; number != 0x110000; ++number) {
    if (number >= 0xd800 && number < 0xe000) continue;
    const std::size_t length = number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    const std::string text = encoded(number, length);
    if (character_length(text + "x") != length) FAIL(number);
    if (character_length(text.substr(0, length - 1)) != 0) FAIL(number);
    if (length > 1 && character_length(text.substr(1)) != 0) FAIL(number);
    for (std::size_t had = 0; had <= length; ++had)
      if (unfinished_length("x" + text.substr(0, had)) != (had == length ? 0 : had)) FAIL(number);
  }
}

TEST_CASE("Surrogates, numbers beyond Unicode, and longer forms than needed are no characters") {
  for (unsigned number = 0xd800; number != 0xe000; ++number)
    if (character_length(encoded(number, 3)) != 0) FAIL(number);
  for (unsigned number = 0x110000; number != 0x200000; ++number)
    if (character_length(encoded(number, 4)) != 0) FAIL(number);
  for (unsigned number = 0; number != 0x80; ++number)
    if (character_length(encoded(number, 2)) != 0) FAIL(number);
  for (unsigned number = 0; number != 0x800; ++number)
    if (character_length(encoded(number, 3)) != 0) FAIL(number);
  for (unsigned number = 0; number != 0x10000; ++number)
    if (character_length(encoded(number, 4)) != 0) FAIL(number);
  for (const char* text : {"\xfe", "\xff", "\xf8\x88\x80\x80\x80"}) CHECK(character_length(text) == 0);
}

TEST_CASE("A character is not finished by what is none of its bytes") {
  CHECK(character_length("\xe2\x82x") == 0);
  CHECK(character_length("\xf0\x9f\x98 ") == 0);
  CHECK(character_length("\xf0\x9f \x80") == 0);
}

TEST_CASE("Only the beginning of a character waits for its end") {
  CHECK(unfinished_length("") == 0);
  CHECK(unfinished_length("\x80\x80\x80\x80") == 0);
  CHECK(unfinished_length("\xff") == 0);
  CHECK(unfinished_length("\xc0") == 0);
  CHECK(unfinished_length("\xe2\x82\xac\x80") == 0);
  CHECK(unfinished_length("\xf0") == 1);
}
