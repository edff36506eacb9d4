// SPDX-License-Identifier: BSL-1.0
#include <cordon/runner/grammar.hpp>

#include <array>

#include "support/catch.hpp"

using cordon::runner::Words;
using Line = std::vector<std::string>;

namespace {

constexpr std::array<std::string_view, 2> known{"--write", "--mode"};

std::string refusal(const Line& line) {
  try {
    (void)cordon::runner::parse(line, known);
  } catch (const cordon::ArgvInvalidError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A line is the keyword, the stage, the options, --, and the command") {
  const Words words{"guard", {{"--write", "/a"}, {"--mode", "x"}, {"--write", "/b"}}, {"prog", "arg"}};
  CHECK(format(words) ==
        Line{"--cordon-runner", "guard", "--write", "/a", "--mode", "x", "--write", "/b", "--", "prog", "arg"});
  CHECK(cordon::runner::parse(format(words), known) == words);
}

TEST_CASE("LLR-04: the value of an option is taken as it is, also when it looks like an option or the end") {
  const Words words{
      "guard", {{"--write", "--mode"}, {"--write", "--"}, {"--mode", ""}, {"--write", "--cordon-runner"}}, {"prog"}};
  CHECK(cordon::runner::parse(format(words), known) == words);
}

TEST_CASE("Everything after -- is the command's, also what looks like ours") {
  const Words words{"guard", {}, {"prog", "--write", "/", "--", "--cordon-runner", ""}};
  CHECK(cordon::runner::parse(format(words), known) == words);
}

TEST_CASE("Every incomplete or unknown line is refused, and the word at fault is named") {
  CHECK(refusal({}).find("stage") != std::string::npos);
  CHECK(refusal({"--cordon-runner"}).find("stage") != std::string::npos);
  CHECK_FALSE(refusal({"other", "guard", "--", "prog"}).empty());
  CHECK(refusal({"--cordon-runner", "guard"}).find("--") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "--"}).find("command") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "prog"}).find("prog") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "--unknown", "x", "--", "prog"}).find("--unknown") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "--writ", "x", "--", "prog"}).find("--writ") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "--write=x", "--", "prog"}).find("--write=x") != std::string::npos);
  CHECK(refusal({"--cordon-runner", "guard", "--write"}).find("--write needs a value") != std::string::npos);
  CHECK_FALSE(refusal({"--cordon-runner", "guard", "--write", "--"}).empty());
  CHECK_FALSE(refusal({"--cordon-runner", "guard", "--write", "--", "prog"}).empty());
}

TEST_CASE("An option is looked up by its name: all values in order, or the only one") {
  const Words words{"guard", {{"--write", "/a"}, {"--mode", "x"}, {"--write", "/b"}}, {"prog"}};
  CHECK(words.all("--write") == Line{"/a", "/b"});
  CHECK(words.all("--other").empty());
  CHECK(words.one("--mode") == "x");
  CHECK(words.one("--other") == "");
  CHECK_THROWS_AS(words.one("--write"), cordon::ArgvInvalidError);
}

TEST_CASE("Limits are options like others, and what is none is refused") {
  Words words{"confine", {}, {"prog"}};
  const cordon::ResourceLimits limits{.open_files = 20, .memory = ~std::uint64_t{0}};
  words.limit(limits);
  CHECK(words.options == std::vector<std::pair<std::string, std::string>>{{"--limit", "open-files=20"},
                                                                          {"--limit", "memory=18446744073709551615"}});
  CHECK(words.limits() == limits);
  for (const char* wrong : {"", "=", "open-files", "open-files=", "open-files=-1", "open-files=20x", "open-files= 20",
                            "open-files=18446744073709551616", "files=20"}) {
    INFO(wrong);
    CHECK_THROWS_AS((Words{"confine", {{"--limit", wrong}}, {"prog"}}.limits()), cordon::ArgvInvalidError);
  }
}
