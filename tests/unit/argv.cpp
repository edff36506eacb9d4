// SPDX-License-Identifier: BSL-1.0
#include <cordon/argv.hpp>

#include "support/catch.hpp"

using cordon::Argv;
using Words = std::vector<std::string>;

TEST_CASE("An argv keeps its words exactly, however strange") {
  const Words words{"prog", "", "a b", "$HOME", "*", "'\"\\", "\n", "--", "\xff\xfe"};
  const Argv argv(words);
  CHECK(argv.elements() == words);
  CHECK(argv.program() == "prog");
}

TEST_CASE("A shell command has exactly one spelling") {
  CHECK(cordon::shell("a | b; $(c)").elements() == Words{"bash", "-c", "a | b; $(c)"});
  CHECK(cordon::shell("").elements() == Words{"bash", "-c", ""});
}

TEST_CASE("An argv without a program is refused") {
  CHECK_THROWS_AS(Argv(Words{}), cordon::ArgvInvalidError);
  CHECK_THROWS_AS(Argv(Words{""}), cordon::ArgvInvalidError);
  CHECK_THROWS_AS(Argv(Words{"", "x"}), cordon::ArgvInvalidError);
}

TEST_CASE("A NUL byte anywhere is refused, because no program could receive it") {
  const std::string nul("a\0b", 3);
  CHECK_THROWS_AS(Argv(Words{nul}), cordon::ArgvInvalidError);
  CHECK_THROWS_AS(Argv(Words{"prog", "x", nul}), cordon::ArgvInvalidError);
  CHECK_THROWS_AS(cordon::shell(nul), cordon::ArgvInvalidError);
  CHECK_THROWS_AS(Argv({"prog", std::string(1, '\0')}), cordon::ArgvInvalidError);
}

TEST_CASE("The error of a bad argv has its code") {
  try {
    (void)Argv(Words{});
    FAIL("took an argv without a program");
  } catch (const cordon::Error& error) {
    CHECK(error.code() == cordon::ErrorCode::argv_invalid);
  }
}

TEST_CASE("Argvs are equal when all their words are") {
  CHECK(Argv({"a", "b"}) == Argv({"a", "b"}));
  CHECK_FALSE(Argv({"a", "b"}) == Argv({"a b"}));
  CHECK_FALSE(Argv({"a", ""}) == Argv({"a"}));
}
