// SPDX-License-Identifier: BSL-1.0
#include <cordon/dialect.hpp>

#include "support/catch.hpp"

using cordon::DenialSignatures;
using cordon::Dialect;
using cordon::DialectView;
using cordon::ExitCodes;
using cordon::Fatal;
using cordon::has_denial_signature;
using cordon::Informational;
using cordon::runner_failure_line;
using cordon::RunnerFailureRule;
using cordon::RunnerRule;

namespace {

using Line = std::optional<std::string>;

const std::string notice = "landlock-run: partial enforcement (older Landlock ABI)";

using Landlock = Dialect<DenialSignatures<"permission denied">,
                         RunnerFailureRule<ExitCodes<125>, Fatal<"landlock-run: ">,
                                           Informational<"landlock-run: partial enforcement (older Landlock ABI)">>>;
using Bwrap = Dialect<DenialSignatures<"read-only file system">, RunnerFailureRule<ExitCodes<>, Fatal<"bwrap: ">>>;

/// A dialect that was put together at run time, blanks included.
struct Loose {
  std::vector<int> codes;
  std::vector<std::string_view> fatal;
  std::vector<std::string_view> informational = {};
  std::vector<std::string_view> denials = {};

  [[nodiscard]] Line line(std::optional<int> code, std::string_view text) const {
    const RunnerRule rule{codes, fatal, informational};
    return runner_failure_line(DialectView(denials, std::span(&rule, 1)), code, text);
  }
};

Line landlock(std::optional<int> code, const std::string& text) {
  return runner_failure_line(Landlock::view(), code, text);
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

}  // namespace

TEST_CASE("T-CLS-01, T-CLS-02, T-CLS-03, T-CLS-04: the informational line alone is no failure") {
  for (int code : {1, 2, 125}) CHECK(landlock(code, notice) == std::nullopt);
  CHECK(landlock(125, upper(notice)) == std::nullopt);
  CHECK(landlock(125, notice + "\r\n") == std::nullopt);
}

TEST_CASE("T-CLS-06: the line behind the informational one is the evidence") {
  const std::string failed = "landlock-run: exec failed: No such file or directory";
  CHECK(landlock(125, notice + "\n" + failed) == Line(failed));
  CHECK(landlock(125, "before\r\n" + failed + "\r\nafter") == Line(failed));
}

TEST_CASE("T-CLS-07, CLS-05: without the exit code the text is nothing") {
  for (int code : {1, 2, 124, 126}) CHECK(landlock(code, "landlock-run: anything") == std::nullopt);
}

TEST_CASE("T-CLS-08: every diagnostic with the prefix counts, also one that nobody knows yet") {
  for (const char* words : {"usage: landlock-run -- COMMAND", "not enforced by kernel", "cannot open rule path /x",
                            "ruleset error", "exec failed", "out of memory", "something invented later"}) {
    const std::string line = std::string("landlock-run: ") + words;
    CHECK(landlock(125, line) == Line(line));
    CHECK(landlock(125, upper(line)) == Line(upper(line)));
  }
}

TEST_CASE("T-CLS-09, T-CLS-10, CLS-03: blank signatures match nothing, and the others go on working") {
  const Loose blank{{125}, {"", " ", "\t"}};
  CHECK(blank.line(125, "") == std::nullopt);
  CHECK(blank.line(125, notice) == std::nullopt);
  const Loose mixed{{125}, {"", "jail: "}};
  CHECK(mixed.line(125, "jail: no") == Line("jail: no"));
}

TEST_CASE("T-CLS-12, T-CLS-13: success and a signal are no failures of the runner") {
  CHECK(landlock(0, "landlock-run: exec failed") == std::nullopt);
  CHECK(landlock(std::nullopt, "landlock-run: exec failed") == std::nullopt);
  CHECK(runner_failure_line(Bwrap::view(), 0, "bwrap: x") == std::nullopt);
}

TEST_CASE("T-CLS-14: a rule without exit codes holds for every one but 0") {
  const std::string line = "bwrap: Can't find source path /gone: No such file or directory";
  for (int code : {1, 2, 255}) CHECK(runner_failure_line(Bwrap::view(), code, line) == Line(line));
}

TEST_CASE("T-CLS-15: rules are tried in their order") {
  using Two = Dialect<DenialSignatures<>, RunnerFailureRule<ExitCodes<3>, Fatal<"first: ">>,
                      RunnerFailureRule<ExitCodes<3, 4>, Fatal<"second: ">>>;
  CHECK(runner_failure_line(Two::view(), 4, "first: a\nsecond: b") == Line("second: b"));
  CHECK(runner_failure_line(Two::view(), 3, "second: b\nfirst: a") == Line("first: a"));
}

TEST_CASE("T-CLS-18: exit codes are each rule's own") {
  using Windows = Dialect<DenialSignatures<>, RunnerFailureRule<ExitCodes<127>, Fatal<"windows-acl-run: ">>>;
  CHECK(runner_failure_line(Windows::view(), 127, "windows-acl-run: x") == Line("windows-acl-run: x"));
  CHECK(runner_failure_line(Windows::view(), 1, "windows-acl-run: x") == std::nullopt);
}

TEST_CASE("CLS-04: an informational line with something behind it is none") {
  CHECK(landlock(125, notice + " and more") == Line(notice + " and more"));
  CHECK(landlock(125, " " + notice) == Line(" " + notice));
}

TEST_CASE("CLS-06: the plain rule of the field wants an exit status and the words, and asks for nothing else") {
  CHECK(has_denial_signature(Landlock::view(), 1, "x\nsh: /x: PERMISSION denied\n"));
  CHECK_FALSE(has_denial_signature(Landlock::view(), 0, "sh: /x: Permission denied"));
  CHECK_FALSE(has_denial_signature(Landlock::view(), std::nullopt, "sh: /x: Permission denied"));
  CHECK_FALSE(has_denial_signature(Landlock::view(), 1, "No such file or directory"));
  CHECK(has_denial_signature(Landlock::view(), 255, "Permission denied (publickey)"));  // why there is another (F90)
}

TEST_CASE("Letters are found without regard to their case, at every place of a text and in texts of every length") {
  for (const std::string needle : {"a", "Zq", "read-only file system", "\xC3\xA9t"})
    for (std::size_t length = 0; length != 70; ++length)
      for (std::size_t at = 0; at + needle.size() <= length; ++at) {
        std::string text(length, '.');
        text.replace(at, needle.size(), at % 2 == 0 ? needle : upper(needle));
        CHECK(cordon::detail::find_letters(text, needle) == at);
        CHECK(cordon::detail::find_letters(text, needle, at) == at);
        CHECK(cordon::detail::find_letters(text, needle, at + 1) == std::string_view::npos);
        text[at] = '\0';
        CHECK(cordon::detail::find_letters(text, needle) == std::string_view::npos);
      }
  CHECK(cordon::detail::find_letters("[{@`", "{") == 1);
  CHECK(cordon::detail::find_letters("[[[[[[[[[[[[[[[[[[[[", "{") == std::string_view::npos);
  CHECK(cordon::detail::find_letters("abc", "abc", 7) == std::string_view::npos);
}
