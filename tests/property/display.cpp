// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/display.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

std::string encoded(std::uint32_t number) {
  if (number < 0x80) return std::string(1, static_cast<char>(number));
  const std::size_t length = number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
  std::string text(length, ' ');
  for (std::size_t i = length; --i != 0; number >>= 6U) text[i] = static_cast<char>(0x80U | (number & 0x3fU));
  text[0] = static_cast<char>((length == 2 ? 0xc0U : length == 3 ? 0xe0U : 0xf0U) | number);
  return text;
}

/// What is dangerous, what imitates how that is shown, and what is neither.
std::string some_text(support::Random& random, std::size_t longest) {
  static const std::vector<std::string> units = {"a",
                                                 "b",
                                                 "1",
                                                 " ",
                                                 "  ",
                                                 "         ",
                                                 "\\",
                                                 "'",
                                                 "$'",
                                                 "\"",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 "u",
                                                 "x",
                                                 "n",
                                                 "spaces",
                                                 "\\n",
                                                 "\\x1b",
                                                 "\\u{202e}",
                                                 "\\{12 spaces}",
                                                 "[not ASCII: \\u{430}]",
                                                 "\n",
                                                 "\r",
                                                 "\t",
                                                 "\x1b",
                                                 "\x1b[2J",
                                                 "\x7f",
                                                 "\x9b",
                                                 "\xff",
                                                 "\xc3",
                                                 "\xe2\x82",
                                                 "\u0430",
                                                 "\u00e9",
                                                 "\u0301",
                                                 "\u202e",
                                                 "\u200b",
                                                 "\u00a0",
                                                 "\u05d0",
                                                 "\u65e5",
                                                 "\U0001f600",
                                                 "\u009b",
                                                 "\ufeff",
                                                 "\U000e0041"};
  std::string text;
  for (std::size_t left = random.below(longest + 1); left != 0; --left) {
    if (random.below(8) != 0)
      text += random.pick(units);
    else
      text += random.chance() ? encoded(static_cast<std::uint32_t>(1 + random.below(0x10ffff)))
                              : std::string(1, static_cast<char>(1 + random.below(255)));
  }
  return text;
}

/// Written once more, from the list of what must never be shown.
bool never_shown(std::uint32_t n) {
  const auto within = [n](std::uint32_t first, std::uint32_t last) { return n >= first && n <= last; };
  return n < 0x20 || within(0x7f, 0xa0) || n == 0x61c || within(0x2000, 0x200f) || within(0x2028, 0x202f) ||
         within(0x205f, 0x206f) || n == 0xfeff || n == 0xad || n == 0x180e || n == 0x34f || within(0x115f, 0x1160) ||
         n == 0x3164 || n == 0xffa0 || within(0xfe00, 0xfe0f) || within(0x180b, 0x180d) || within(0xe0000, 0xe0fff) ||
         n == 0x3000 || within(0xe000, 0xf8ff) || n >= 0xf0000 || (n & 0xfffeU) == 0xfffe || within(0xfdd0, 0xfdef) ||
         within(0xd800, 0xdfff);
}

/// Whether a screen takes it for what it is: characters only, and none that must not be there.
bool harmless(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = cordon::detail::character_length(text);
    if (length == 0 || never_shown(cordon::detail::code_point(text, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// The text that is shown so. Throws where no text is.
std::string read_back(std::string_view text, char quote = 0) {
  std::string result;
  while (!text.empty()) {
    const auto take = [&](std::size_t count) {
      const std::string_view taken = text.substr(0, count);
      text.remove_prefix(count);
      return std::string(taken);
    };
    if (text.front() != '\\') {
      result += take(1);
      continue;
    }
    take(1);
    const std::string kind = take(1);
    if (kind == "\\" || (quote != 0 && kind[0] == quote)) {
      result += kind;
    } else if (kind == "n" || kind == "r" || kind == "t") {
      result += kind == "n" ? '\n' : kind == "r" ? '\r' : '\t';
    } else if (kind == "x") {
      result += static_cast<char>(std::stoi(take(2), nullptr, 16));
    } else if (kind == "u") {
      take(1);
      result += encoded(static_cast<std::uint32_t>(std::stoul(take(text.find('}')), nullptr, 16)));
      take(1);
    } else if (kind == "{") {
      result += std::string(std::stoul(take(text.find(' '))), ' ');
      take(std::string_view(" spaces}").size());
    } else {
      throw std::invalid_argument("not written by shown()");
    }
  }
  return result;
}

/// The argv that is shown so.
std::vector<std::string> argv_read_back(std::string_view text) {
  std::vector<std::string> argv;
  while (!text.empty()) {
    if (text.starts_with("[")) {
      text.remove_prefix(text.find(']') + 1);
    } else if (text.starts_with("'")) {
      const auto end = text.find('\'', 1);
      argv.emplace_back(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    } else if (text.starts_with("$'")) {
      std::size_t end = 2;
      while (text.at(end) != '\'') end += text[end] == '\\' ? 2 : 1;
      argv.push_back(read_back(text.substr(2, end - 2), '\''));
      text.remove_prefix(end + 1);
    } else {
      const auto end = std::min(text.find(' '), text.size());
      argv.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
    }
    if (text.starts_with(" ")) text.remove_prefix(1);
  }
  return argv;
}

}  // namespace

TEST_CASE("Every character alone is shown as a screen can bear it, and as no other") {
  for (std::uint32_t number = 0; number != 0x110000; ++number) {
    if (number >= 0xd800 && number < 0xe000) continue;
    const std::string text = "a" + encoded(number);
    const std::string shown = cordon::shown(text);
    if (!harmless(shown) || read_back(shown) != text || !harmless(cordon::shown_word(text))) FAIL(number);
  }
}

TEST_CASE("Whatever is shown is harmless, on one line, and stands for one text only") {
  support::Random random(17);
  for (int round = 0; round != 20000; ++round) {
    const std::string text = some_text(random, 12);
    const std::string shown = cordon::shown(text);
    REQUIRE(harmless(shown));
    REQUIRE(read_back(shown) == text);
    REQUIRE(shown.find("         ") == std::string::npos);
  }
}

TEST_CASE("No two argvs look the same") {
  support::Random random(19);
  std::map<std::string, std::vector<std::string>> seen;
  for (int round = 0; round != 20000; ++round) {
    std::vector<std::string> argv(random.below(4));
    for (std::string& word : argv) word = some_text(random, random.chance() ? 2 : 8);
    const std::string shown = cordon::shown_argv(argv);
    REQUIRE(harmless(shown));
    REQUIRE(argv_read_back(shown) == argv);
    REQUIRE(seen.try_emplace(shown, argv).first->second == argv);
  }
}

TEST_CASE("However it is broken into lines, a description says what is shown on one, and no line begins like another") {
  support::Random random(23);
  for (int round = 0; round != 3000; ++round) {
    cordon::detail::Fields fields(40 + random.below(60));
    const std::string text = cordon::shown_argv({some_text(random, 30), some_text(random, 60)});
    fields.add("label", text);
    std::string whole;
    for (const std::string& line : fields.take()) {
      REQUIRE(line.starts_with(whole.empty() ? "label        " : "            |"));
      REQUIRE(harmless(line));
      whole += line.substr(13);
    }
    REQUIRE(whole == text);
  }
}
