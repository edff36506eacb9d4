// SPDX-License-Identifier: BSL-1.0
#include <cordon/detail/json.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using cordon::detail::append_json_string;
using cordon::detail::JsonDocument;
using cordon::detail::JsonValue;
using Kind = JsonValue::Kind;

namespace {

std::string problem_of(const std::string& text) {
  JsonDocument document;
  return document.parse(text) ? "none" : std::string(document.problem());
}

}  // namespace

TEST_CASE("every kind of value is read as it was written") {
  JsonDocument document;
  REQUIRE(document.parse(R"( {"a":[1,-2,0,true,false,null,1.5,-0,1e3],"b":{"c":""}, "d":"x"} )"));
  const JsonValue root = document.root();
  REQUIRE(root.is(Kind::object));
  std::vector<Kind> kinds;
  std::vector<std::int64_t> integers;
  root.find("a")->each([&](JsonValue element) {
    kinds.push_back(element.kind());
    integers.push_back(element.integer());
    return true;
  });
  CHECK(kinds == std::vector{Kind::integer, Kind::integer, Kind::integer, Kind::boolean, Kind::boolean, Kind::null,
                             Kind::real, Kind::real, Kind::real});
  CHECK(integers == std::vector<std::int64_t>{1, -2, 0, 1, 0, 0, 0, 0, 0});
  CHECK(root.find("b")->find("c")->text().empty());
  CHECK(root.find("d")->text() == "x");
  CHECK_FALSE(root.find("e"));
  std::vector<std::string> keys;
  root.each([&](std::string_view key, JsonValue) {
    keys.emplace_back(key);
    return keys.size() < 2;
  });
  CHECK(keys == std::vector<std::string>{"a", "b"});
}

TEST_CASE("escapes mean what they say, and texts before and behind one another stay whole") {
  JsonDocument document;
  REQUIRE(document.parse(R"(["plain","\"\\\/\b\f\n\r\t","\u0041\u00e9\u20ac\ud83d\ude00","end\u0000of"])"));
  std::vector<std::string> texts;
  document.root().each([&](JsonValue element) {
    texts.emplace_back(element.text());
    return true;
  });
  CHECK(texts ==
        std::vector<std::string>{"plain", "\"\\/\b\f\n\r\t", "A\u00e9\u20ac\U0001f600", std::string("end\0of", 6)});
}

TEST_CASE("what is not exactly one JSON value is refused, with the place") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{1:2}",
                           "01",
                           "-01",
                           "1.",
                           ".5",
                           "-",
                           "+1",
                           "1e",
                           "1e+",
                           "nul",
                           "True",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "'x'",
                           "\"x",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800x\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\x01\"",
                           "\"\n\"",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "1 2",
                           "{}{}",
                           "\xef\xbb\xbf{}",
                           "[1]x",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "123456789012345678901234567890",
                           "/*c*/1",
                           "1//"}) {
    INFO(text);
    CHECK(problem_of(text) != "none");
  }
  CHECK(problem_of(std::string("[1\0]", 4)) != "none");
  CHECK(problem_of("9223372036854775807") == "none");
  CHECK(problem_of("-9223372036854775808") == "none");
  JsonDocument document;
  CHECK_FALSE(document.parse("[1, 2, x]"));
  CHECK(document.offset() == 7);
}

TEST_CASE("a key that is there twice is refused, also among many, also spelled with an escape") {
  CHECK(problem_of(R"({"a":1,"a":1})") == "a key is there twice");
  CHECK(problem_of(R"({"a":1,"\u0061":2})") == "a key is there twice");
  CHECK(problem_of(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})") == "none");
  std::string many = "{";
  for (int i = 0; i != 5000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  CHECK(problem_of(many + "\"k5000\":0}") == "none");
  CHECK(problem_of(many + "\"k4711\":0}") == "a key is there twice");
}

TEST_CASE("what is nested too deeply, or has too many values, is refused without being read to its end") {
  CHECK(problem_of(std::string(64, '[') + std::string(64, ']')) == "none");
  CHECK(problem_of(std::string(65, '[') + std::string(65, ']')) == "it is nested too deeply");
  CHECK(problem_of(std::string(10'000'000, '[')) == "it is nested too deeply");
  std::string many = "[";
  for (std::size_t i = 0; i != JsonDocument::max_nodes; ++i) many += "0,";
  CHECK(problem_of(many + "0]") == "it has too many values");
}

TEST_CASE("a document can be used again") {
  JsonDocument document;
  CHECK_FALSE(document.parse("{\"a\\n\":"));
  REQUIRE(document.parse("\"a\\nb\""));
  CHECK(document.root().text() == "a\nb");
  REQUIRE(document.parse("[2]"));
  CHECK(document.problem().empty());
}

TEST_CASE("a text is written so that it comes back, on one line, and drives no terminal") {
  std::string all;
  for (int c = 0; c != 128; ++c) all += static_cast<char>(c);
  all += "\u00e9\u2028\U0001f600";
  std::string written;
  append_json_string(written, all);
  for (const char c : written) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  JsonDocument document;
  REQUIRE(document.parse(written));
  CHECK(document.root().text() == all);
}
