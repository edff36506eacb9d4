// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/display.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using cordon::Action;
using cordon::ApprovalRequest;
using cordon::Argv;
using cordon::describe;
using cordon::shown;
using cordon::shown_argv;
using cordon::shown_word;

namespace {

ApprovalRequest request(Argv command, cordon::PolicyScope scope = {.workspace_root = "/var/tmp"},
                        cordon::SandboxMode mode = cordon::workspace_write, std::string reason = {}) {
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin"};
  return ApprovalRequest("bash", Action(std::move(command), mode, std::move(scope), std::move(options)),
                         std::move(reason));
}

/// The lines of the field with this label.
std::vector<std::string> field(const std::vector<std::string>& lines, const std::string& label) {
  std::vector<std::string> found;
  auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.starts_with(label + " "); });
  while (line != lines.end() && (found.empty() || line->starts_with(" "))) found.push_back(*line++);
  return found;
}

/// What a field says, put together again.
std::string content(const std::vector<std::string>& lines, const std::string& label) {
  std::string whole;
  for (const std::string& line : field(lines, label)) whole += line.substr(13);
  return whole;
}

}  // namespace

TEST_CASE("Text that prints is shown as it is, in any script") {
  for (const std::string text : {"", "ls -l ~ | grep \"x\" && 'y'", "na\u00efve", "\u65e5\u672c\u8a9e", "\u05e9\u05dc",
                                 "\U0001f600", "e\u0301", "a        b"})
    CHECK(shown(text) == text);
}

TEST_CASE("What a screen acts on, hides or reorders is written out") {
  CHECK(shown("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(shown("\x1b[2J\x1b]0;x\x07") == "\\x1b[2J\\x1b]0;x\\x07");
  CHECK(shown(std::string("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(shown("\xc2\x9b"
              "2J") == "\\u{9b}2J");
  CHECK(shown("a\xff\xc3(\xed\xa0\x80") == "a\\xff\\xc3(\\xed\\xa0\\x80");
  CHECK(shown("\u202e\u2066\u061c\u200f") == "\\u{202e}\\u{2066}\\u{61c}\\u{200f}");
  CHECK(shown("\u200b\u200d\u2060\ufeff\u00ad\u180e\u034f\u3164\uffa0\u115f") ==
        "\\u{200b}\\u{200d}\\u{2060}\\u{feff}\\u{ad}\\u{180e}\\u{34f}\\u{3164}\\u{ffa0}\\u{115f}");
  CHECK(shown("x\ufe0f\U000e0041\U000e0100") == "x\\u{fe0f}\\u{e0041}\\u{e0100}");
  CHECK(shown("\u2028\u2029\u00a0\u2003\u202f\u3000") == "\\u{2028}\\u{2029}\\u{a0}\\u{2003}\\u{202f}\\u{3000}");
  CHECK(shown("\ue000\ufffe\U0010ffff\U000f0000") == "\\u{e000}\\u{fffe}\\u{10ffff}\\u{f0000}");
}

TEST_CASE("Nothing imitates what is written out") {
  CHECK(shown("\\x1b") == "\\\\x1b");
  CHECK(shown("\\u{202e}") == "\\\\u{202e}");
  CHECK(shown("\\{40 spaces}") == "\\\\{40 spaces}");
}

TEST_CASE("Many spaces are a number") {
  CHECK(shown("ls" + std::string(40, ' ') + "; rm") == "ls\\{40 spaces}; rm");
  CHECK(shown(std::string(9, ' ')) == "\\{9 spaces}");
}

TEST_CASE("Marks need something to stand on, and do not pile up") {
  CHECK(shown("a\u0301\u0302\u0303\u0304") == "a\u0301\u0302\\u{303}\\u{304}");
  CHECK(shown("\u0301") == "\\u{301}");
  CHECK(shown("a \u0301") == "a \\u{301}");
  CHECK(shown("a\n\u0301") == "a\\n\\u{301}");
}

TEST_CASE("The words of a command are seen to begin and to end") {
  CHECK(shown_argv({"git", "commit", "-m", "a b"}) == "git commit -m 'a b'");
  CHECK(shown_argv({"echo", "", " "}) == "echo '' ' '");
  CHECK(shown_argv({"echo", "it's"}) == "echo $'it\\'s'");
  CHECK(shown_argv({"grep", "a\\.b"}) == "grep $'a\\\\.b'");
  CHECK(shown_argv({"bash", "-c", "one\ntwo"}) == "bash -c $'one\\ntwo'");
  CHECK(shown_argv({"A=b", "C=d"}) == "'A=b' C=d");
  CHECK(shown_argv({"a;b"}) == "'a;b'");
  CHECK(shown_argv({"a b"}) != shown_argv({"a", "b"}));
  CHECK(shown_argv({"a' 'b"}) != shown_argv({"a", "b"}));
}

TEST_CASE("Letters that could be mistaken for others are pointed out, and written out where the program is named") {
  CHECK(shown_argv({"\u0455h", "p\u0430th"}) == "$'\\u{455}h' 'p\u0430th' [not ASCII: \\u{430}]");
  CHECK(shown_word("x [not ASCII: \\u{430}]") == "$'x [not ASCII: \\\\u{430}]'");
  CHECK(shown_word("\u05d0/1") == "$'\\u{5d0}/1'");
  CHECK(shown_word("\u00e4\u00f6\u00fc\u00c4\u00d6\u00dc\u00e0\u00e1\u00e2\u00e4") ==
        "'\u00e4\u00f6\u00fc\u00c4\u00d6\u00dc\u00e0\u00e1\u00e2\u00e4' [not ASCII: \\u{e4} \\u{f6} \\u{fc} \\u{c4} "
        "\\u{d6} \\u{dc} \\u{e0} \\u{e1} and others]");
}

TEST_CASE("A request is described whole") {
  cordon::PolicyScope scope{.workspace_root = "/var/tmp",
                            .extra_roots = {"/srv/one", "/srv/two words"},
                            .protected_paths = {"/var/tmp/.git"}};
  scope.resources.of(cordon::Resource::processes) = 7;
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "CORDON_TEST_TOKEN=hidden", "CORDON_TEST=\x1b[2J",
                         "GIT_CONFIG_KEY_0=core.pager"};
  options.input = cordon::process::Input::bytes("rm -rf /\n");
  ::setenv("CORDON_TEST_LEFT", "x", 1);
  const ApprovalRequest asked("bash\x1b", Action(Argv{"ls", "-l"}, cordon::workspace_write, scope, std::move(options)),
                              "because\nprogram /bin/true");
  ::unsetenv("CORDON_TEST_LEFT");
  const std::vector<std::string> lines = describe(asked);
  CHECK(content(lines, "digest") == asked.action().digest().substr(0, 16));
  CHECK(content(lines, "tool") == "$'bash\\x1b'");
  CHECK(content(lines, "mode") == "workspace-write");
  CHECK(content(lines, "workspace") == "/var/tmp");
  CHECK(field(lines, "can write") ==
        std::vector<std::string>{"can write    /var/tmp", "             /srv/one", "             '/srv/two words'"});
  CHECK(content(lines, "but not") == "/var/tmp/.git");
  CHECK(content(lines, "limits") == "processes=7");
  CHECK(content(lines, "sets").find("CORDON_TEST=$'\\x1b[2J'") != std::string::npos);
  CHECK(content(lines, "sets").find("CORDON_TEST_TOKEN=[masked]") != std::string::npos);
  CHECK(content(lines, "sets").find("GIT_CONFIG_KEY_0=core.pager [can make a program run other code]") !=
        std::string::npos);
  CHECK(content(lines, "without").find("CORDON_TEST_LEFT") != std::string::npos);
  CHECK(content(lines, "input") == "$'rm -rf /\\n'");
  CHECK(content(lines, "model says") == "because\\nprogram /bin/true");
  CHECK(content(lines, "directory") == "/var/tmp");
  CHECK(content(lines, "program").ends_with("/ls"));
  CHECK(content(lines, "command") == "ls -l");
}

TEST_CASE("What a mode can write is said, and full access loudly") {
  const auto of = [](cordon::SandboxMode mode) {
    return describe(request(Argv{"ls"}, {.workspace_root = "/var/tmp"}, mode));
  };
  CHECK(content(of(cordon::read_only), "can write") == "[nothing]");
  CHECK(content(of(cordon::danger_full_access), "can write") == "[everything]");
  CHECK(content(of(cordon::danger_full_access), "mode").find("NOT CONFINED") != std::string::npos);
  CHECK(content(describe(request(Argv{"/no/such"})), "program") == "[not found]");
  CHECK(content(of(cordon::read_only), "input") == "[none]");
  CHECK(content(of(cordon::read_only), "reason") == "[none given]");
}

TEST_CASE("No line is longer than the screen is wide, and a broken one can be put together again") {
  std::string script;
  for (int i = 0; i != 60; ++i)
    script += "echo word" + std::to_string(i) + (i % 7 == 0 ? "   \u65e5\u672c\u8a9e\n" : " x ");
  const std::string long_word(300, 'x');
  std::string wide_word;
  for (int i = 0; i != 150; ++i) wide_word += "\u65e5";
  for (const std::size_t columns : {40U, 61U, 80U, 200U}) {
    const std::vector<std::string> lines = describe(request(Argv{"bash", "-c", script, long_word, wide_word}), columns);
    CHECK(content(lines, "command") == shown_argv({"bash", "-c", script, long_word, wide_word}));
    for (const std::string& line : lines) {
      const auto wide =
          std::count_if(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xc0; });
      const auto more = std::count_if(line.begin(), line.end(),
                                      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
      CHECK(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(line.size()) - more + wide) < columns);
      CHECK_FALSE(line.ends_with(' '));
    }
    const auto command = field(lines, "command");
    CHECK(
        std::all_of(command.begin() + 1, command.end(), [](const auto& l) { return l.starts_with("            |"); }));
  }
}

TEST_CASE("The lines of a script are on lines of their own") {
  CHECK(field(describe(request(cordon::shell("cd x\nmake\n"))), "command") ==
        std::vector<std::string>{"command      bash -c $'cd x\\n", "            |make\\n'"});
}

TEST_CASE("What is written out is not broken") {
  std::string text;
  for (int i = 0; i != 50; ++i) text += "\u202e\x1b\\";
  for (std::size_t columns = 40; columns != 60; ++columns)
    for (std::string line : field(describe(request(Argv{"ls", text}), columns), "command")) {
      CHECK(line.find("\\u{202e") == line.find("\\u{202e}"));
      CHECK_FALSE(line.ends_with("\\u"));
      CHECK_FALSE(line.ends_with("\\x"));
      CHECK_FALSE(line.ends_with("\\x1"));
    }
}
