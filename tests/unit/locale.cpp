// SPDX-License-Identifier: BSL-1.0
#include <cordon/classify/locale.hpp>

#include "support/catch.hpp"

using cordon::ErrorWords;
using cordon::words_for_refusals;
using cordon::detail::catalogue_names;
using cordon::detail::languages_of;
using cordon::detail::translation;

namespace {

using Words = std::vector<std::string>;

/// A catalogue of gettext with these pairs.
std::string catalogue(const std::vector<std::pair<std::string, std::string>>& pairs, bool swapped = false) {
  std::string file;
  const auto number = [&](std::size_t value) {
    auto raw = static_cast<std::uint32_t>(value);
    if (swapped) raw = __builtin_bswap32(raw);
    file.append(reinterpret_cast<const char*>(&raw), sizeof raw);
  };
  const std::size_t tables = 28;
  std::size_t at = tables + pairs.size() * 16;
  for (std::size_t value :
       {std::size_t{0x950412de}, std::size_t{0}, pairs.size(), tables, tables + pairs.size() * 8, std::size_t{0}, at})
    number(value);
  std::string texts;
  for (const auto& text : pairs) number(text.first.size()), number(at + texts.size()), texts += text.first + '\0';
  for (const auto& text : pairs) number(text.second.size()), number(at + texts.size()), texts += text.second + '\0';
  return file + texts;
}

}  // namespace

TEST_CASE("Without a language of its own a command says it in English, and only so") {
  for (const Words& environment : {Words{}, Words{"LANG=C"}, Words{"LC_ALL=POSIX", "LANG=de_DE.UTF-8"},
                                   Words{"LC_ALL=C", "LANGUAGE=de"}, Words{"LANG="}, Words{"LANG=xx_NOWHERE.UTF-8"}}) {
    const auto words = words_for_refusals(environment);
    REQUIRE(words.size() == 4);
    CHECK(words[0].error == EROFS);
    CHECK(words[0].words == "Read-only file system");
    CHECK(words[1].words == "Permission denied");
    CHECK(words[2].words == "Operation not permitted");
    CHECK(words[3].words == "Invalid cross-device link");
  }
}

TEST_CASE("The first of LC_ALL, LC_MESSAGES and LANG that says something decides, and LANGUAGE goes before it") {
  CHECK(languages_of({"LC_ALL=a", "LC_MESSAGES=b", "LANG=c"}) == Words{"a"});
  CHECK(languages_of({"LC_ALL=", "LC_MESSAGES=b", "LANG=c"}) == Words{"b"});
  CHECK(languages_of({"LANG=c", "LANGUAGE=x:y::z"}) == Words{"x", "y", "z", "c"});
  CHECK(languages_of({"LANG=C", "LANGUAGE=x"}).empty());
}

TEST_CASE("A locale's catalogues are looked for from the narrowest to the widest, and nowhere else") {
  CHECK(catalogue_names("de_AT.UTF-8@euro") == Words{"de_AT@euro", "de_AT", "de@euro", "de"});
  CHECK(catalogue_names("de") == Words{"de"});
  CHECK(catalogue_names("zh_CN.UTF-8") == Words{"zh_CN", "zh"});
  CHECK(catalogue_names("../../etc").empty());
  CHECK(catalogue_names(".").empty());
  CHECK(catalogue_names("").empty());
}

TEST_CASE("A catalogue gives the translation that it has, in either order of bytes") {
  for (bool swapped : {false, true}) {
    const std::string file =
        catalogue({{"", "header"}, {"Permission denied", "Keine Berechtigung"}, {"x", "y"}}, swapped);
    CHECK(translation(file, "Permission denied") == "Keine Berechtigung");
    CHECK(translation(file, "x") == "y");
    CHECK(translation(file, "Permission").empty());
  }
}

TEST_CASE("A damaged catalogue gives nothing and reads nothing beyond its end") {
  const std::string whole = catalogue({{"a", "b"}, {"Permission denied", "Keine Berechtigung"}});
  for (std::size_t length = 0; length != whole.size(); ++length) {
    const std::string part = whole.substr(0, length);
    const std::string_view found = translation(part, "Permission denied");
    CHECK((found.empty() || found == "Keine Berechtigung"));
  }
  for (std::size_t at = 0; at != 60; ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    (void)translation(damaged, "Permission denied");
  }
}
