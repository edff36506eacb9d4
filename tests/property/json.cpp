// SPDX-License-Identifier: BSL-1.0
#include <cordon/detail/json.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

using cordon::detail::JsonDocument;
using cordon::detail::JsonValue;
using Json = nlohmann::json;

namespace {

/// What both libraries make of a text. Refuses what cordon is meant to refuse beside what is no JSON.
class StrictSax : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t value) override { return value <= INT64_MAX; }
  bool number_float(number_float_t, const string_t& text) override {
    return text.find_first_of(".eE") != std::string::npos || text == "-0";
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& key) override { return keys_.back().insert(key).second; }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // A number that no double holds is valid JSON, which cordon keeps as it was written.
    out_of_range = error.id == 406;
    return false;
  }
  bool out_of_range = false;

 private:
  std::vector<std::set<std::string>> keys_;
};

Json value_of(JsonValue value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return nullptr;
    case JsonValue::Kind::boolean:
      return value.integer() == 1;
    case JsonValue::Kind::integer:
      return value.integer();
    case JsonValue::Kind::real:
      return Json::parse(value.text());
    case JsonValue::Kind::string:
      return std::string(value.text());
    case JsonValue::Kind::array: {
      Json list = Json::array();
      value.each([&](JsonValue element) {
        list.push_back(value_of(element));
        return true;
      });
      return list;
    }
    case JsonValue::Kind::object: {
      Json object = Json::object();
      value.each([&](std::string_view key, JsonValue member) {
        object[std::string(key)] = value_of(member);
        return true;
      });
      return object;
    }
  }
  return nullptr;
}

std::string some_text(support::Random& random) {
  static const std::string pieces[] = {"a",    "\xc3\xa9", "\xf0\x9f\x98\x80",       "\\n", "\\u00e9", "\\ud83d\\ude00",
                                       "\\\"", "/",        "longer than eight bytes"};
  std::string text = "\"";
  for (std::size_t i = random.below(5); i > 0; --i) text += random.pick(pieces);
  return text + "\"";
}

std::string some_json(support::Random& random, int depth) {
  static const std::string plain[] = {
      "null", "true", "false", "0", "-0", "17", "-9223372036854775808", "1.5", "1e5", "2E-3", "9223372036854775807"};
  const std::size_t kind = random.below(depth > 4 ? 2 : 4);
  if (kind == 0) return random.pick(plain);
  if (kind == 1) return some_text(random);
  std::string text = kind == 2 ? "[" : "{";
  for (std::size_t i = random.below(5), all = i; i > 0; --i) {
    if (i != all) text += random.chance() ? "," : " ,\t";
    if (kind == 3) text += some_text(random) + (random.chance() ? ":" : " : ");
    text += some_json(random, depth + 1);
  }
  return text + (kind == 2 ? "]" : "}");
}

}  // namespace

TEST_CASE("what is read agrees with another library, for texts that are JSON and for those that nearly are") {
  support::Random random(20261130);
  JsonDocument document;
  int taken = 0;
  for (int i = 0; i != 20'000; ++i) {
    std::string text = some_json(random, 0);
    static const std::string noise = "\"\\{}[]:,0-.eEu \n\x01\x7f\x80\xc3\xed\xff";
    for (std::size_t damage = random.below(3); damage > 0; --damage) {
      const std::size_t at = random.below(text.size() + 1);
      if (random.chance())
        text.insert(at, 1, noise[random.below(noise.size())]);
      else
        text.erase(at, 1 + random.below(3));
    }
    StrictSax sax;
    const bool expected = Json::sax_parse(text, &sax);
    if (sax.out_of_range) continue;
    const bool found = document.parse(text);
    INFO(text);
    REQUIRE(found == expected);
    if (!found) continue;
    ++taken;
    REQUIRE(value_of(document.root()) == Json::parse(text));
  }
  CHECK(taken > 5'000);
}
