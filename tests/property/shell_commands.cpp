// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/shell_commands.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/temp_directory.hpp"

namespace {

constexpr const char* programs[] = {"a", "f", "git", "ls"};

using Commands = std::vector<std::vector<std::string>>;

/// A shell in which every command of a script only writes down its words: bash hands whatever it finds no program for
/// to a function, dash has one for each of a few names. A command whose name begins with f fails. Bash writes line by
/// line, so newlines are written as what no script holds: commands of a pipeline write at one time.
class RecordingShell {
 public:
  explicit RecordingShell(const char* program) : program_(program) {}

  /// What each of these runs, given to one shell after the other; or to one of its own, with -c.
  std::vector<Commands> run(const std::vector<std::string>& scripts, bool alone = false) {
    std::filesystem::resize_file(log_, 0);
    std::filesystem::resize_file(errors_, 0);
    const std::string log = ">>" + log_;
    std::string begin;
    if (program_ == "bash") {
      begin = "command_not_found_handle() { printf '%s\\0' \"$#\" \"${@//$'\\n'/$'\\x02'}\" " + log +
              "; [[ $1 != f* ]]; }\n";
    } else {
      begin = "record() { printf '%s\\0' \"$#\" \"$@\" " + log + "; }\n";
      for (const std::string name : programs)
        begin += name + "() { record " + name + " \"$@\"; " + (name == "f" ? "return 1; }\n" : "}\n");
    }
    // What dash leaves running behind `&>` writes too.
    std::vector<std::string> words{
        program_, "-c", begin + "for script; do printf '%s\\0' 0 " + log + "; ( eval \"$script\"; wait ); done",
        program_};
    words.insert(words.end(), scripts.begin(), scripts.end());
    std::vector<std::string> environment{"PATH=" + empty_, "LC_ALL=C.UTF-8"};
    if (alone) {
      words = {program_, "-c", scripts.front()};
      environment.push_back(
          "BASH_FUNC_command_not_found_handle%%=() { printf '%s\\0' \"$#\" \"${@//$'\\n'/$'\\x02'}\" " + log +
          "; [[ $1 != f* ]]; }");
    }
    start(words, environment);
    complaint = support::content_of(errors_);
    return alone ? std::vector<Commands>{recorded().front()} : recorded();
  }

  std::string complaint;

 private:
  void start(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
    const auto pointers = [](const std::vector<std::string>& texts) {
      std::vector<char*> result;
      for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
      result.push_back(nullptr);
      return result;
    };
    posix_spawn_file_actions_t files;
    REQUIRE(::posix_spawn_file_actions_init(&files) == 0);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 2, errors_.c_str(), O_WRONLY | O_APPEND, 0);
    ::posix_spawn_file_actions_addchdir_np(&files, empty_.c_str());
    pid_t child = -1;
    REQUIRE(::posix_spawn(&child, ("/bin/" + program_).c_str(), &files, nullptr, pointers(words).data(),
                          pointers(environment).data()) == 0);
    ::posix_spawn_file_actions_destroy(&files);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
  }

  [[nodiscard]] std::vector<Commands> recorded() const {
    std::vector<Commands> all;
    const std::string log = support::content_of(log_);
    for (std::size_t at = 0; at < log.size();) {
      const auto next = [&] {
        std::string text = log.substr(at, log.find('\0', at) - at);
        at += text.size() + 1;
        std::replace(text.begin(), text.end(), '\x02', '\n');
        return text;
      };
      int left = std::stoi(next());
      if (left == 0 || all.empty()) all.emplace_back();
      if (left == 0) continue;
      std::vector<std::string>& words = all.back().emplace_back();
      for (; left > 0; --left) words.push_back(next());
    }
    if (all.empty()) all.emplace_back();
    return all;
  }

  std::string program_;
  support::TempDirectory directory_;
  std::string log_ = directory_.file("log");
  std::string errors_ = directory_.file("errors");
  std::string empty_ = directory_.directory("empty");
};

std::string some_script(support::Random& random) {
  static const std::string pieces[] = {"a",
                                       "f",
                                       "git",
                                       "ls",
                                       "log",
                                       "-1",
                                       "--",
                                       "x=1",
                                       "'b c'",
                                       "\"d e\"",
                                       "\"\\$x\"",
                                       "\"\\n\"",
                                       "''",
                                       "\\ ",
                                       "\\'",
                                       "\\\"",
                                       "\\\\",
                                       "\\*",
                                       "\\$",
                                       "\\a",
                                       "\\;",
                                       "'\\'",
                                       "\"'\"",
                                       "'\"'",
                                       "'$a'",
                                       "'`a`'",
                                       "'\n'",
                                       "\"\n\"",
                                       "a#b",
                                       "~",
                                       "a~",
                                       "=~",
                                       ":~",
                                       "{}",
                                       "{a}",
                                       "@{1}",
                                       "{a,b}",
                                       "{1..2}",
                                       "}",
                                       "{",
                                       "!",
                                       "!a",
                                       "%",
                                       "%a",
                                       "^",
                                       "[",
                                       "]",
                                       "[a]",
                                       "*",
                                       "?",
                                       "$a",
                                       "`a`",
                                       "$(a)",
                                       "(a)",
                                       "#",
                                       "2",
                                       "12",
                                       "2>&1",
                                       ">&2",
                                       "1>&2x",
                                       "2>& 1",
                                       "<&0",
                                       ">&-",
                                       "2>&1-",
                                       ">/dev/null",
                                       "2>/dev/null",
                                       "</dev/null",
                                       "&>/dev/null",
                                       ">/dev/nullx",
                                       "> /dev/null",
                                       ">>/dev/null",
                                       ">|/dev/null",
                                       "12>/dev/null",
                                       "<>/dev/null",
                                       "{a}>/dev/null",
                                       "<<a",
                                       "<<<a",
                                       "<(a)",
                                       "|&",
                                       "&",
                                       "\r",
                                       "\t",
                                       "\xc3\xa9",
                                       "\xc2\xa0",
                                       "\xe2\x80\x8b",
                                       "\xe2\x80\xa8",
                                       "\xc3\x81",
                                       "\xc3\x88",
                                       "\\\xc3\xa9",
                                       "\xef\xbd\x87",
                                       "\x81",
                                       "\xff",
                                       "\x01",
                                       "\x7f",
                                       "\\\n",
                                       " \\\n",
                                       "if",
                                       "then",
                                       "done",
                                       "time",
                                       "in",
                                       "echo",
                                       "true",
                                       "false",
                                       "a=b",
                                       "a+=b",
                                       "a[1]=b",
                                       "-",
                                       "+",
                                       ",",
                                       "..",
                                       "a,b",
                                       "@",
                                       "'",
                                       "\"",
                                       "\\",
                                       "/dev/null",
                                       "'if'",
                                       "\\if",
                                       "i\\f",
                                       "\"!\"",
                                       "'!'",
                                       "~a",
                                       "''~",
                                       "\"\"~",
                                       "''#",
                                       "''{a}"};
  static const std::string between[] = {" ",   " ",  " ", " ",   " ",    " ",  "",   "",     "",      "\t",  ";",
                                        " ; ", "\n", "|", " | ", " && ", "&&", "||", " || ", " \\\n", ";\n", " &&\n"};
  static const std::string names[] = {"a", "f", "git", "ls", "git log"};
  if (random.below(4) == 0) return "a " + random.text("aaf  \\\\''\"\"~{}[]!#%^=:;|&<>2-,./@+\t\n\r", 10);
  std::string script;
  for (std::size_t commands = 1 + random.below(3); commands > 0; --commands) {
    script += random.pick(names);
    for (std::size_t words = random.below(5); words > 0; --words)
      script += (random.below(6) == 0 ? random.pick(between) : " ") + random.pick(pieces);
    static const std::string separators[] = {"; ", " && ", " || ", " | ",    "\n",   ";",
                                             "|",  "&&",   "||",   " \n\n ", " &&\n"};
    if (commands > 1) script += random.pick(separators);
  }
  if (random.below(8) == 0) script += random.pick(between);
  if (random.below(8) == 0) script.insert(random.below(script.size() + 1), random.pick(pieces));
  return script;
}

/// Whether all of `some` are in `all`, in that order.
bool is_part_of(const Commands& some, const Commands& all) {
  std::size_t at = 0;
  for (const auto& command : some) {
    while (at != all.size() && all[at] != command) ++at;
    if (at++ >= all.size()) return false;
  }
  return true;
}

}  // namespace

void check(const std::string& script, Commands read, Commands ran) {
  // Those of a pipeline run at one time, and so does what `&>` leaves behind in dash.
  if (script.find('|') != std::string::npos || script.find("&>") != std::string::npos) {
    std::sort(ran.begin(), ran.end());
    std::sort(read.begin(), read.end());
  } else if (ran.empty() || ran.front() != read.front()) {
    CHECK(std::find(std::begin(programs), std::end(programs), read.front().front()) == std::end(programs));
  }
  CHECK(is_part_of(ran, read));
}

TEST_CASE("F102 what a script is read as is what bash and dash run, word for word, whatever it is made of") {
  support::Random random(20261202);
  RecordingShell shells[] = {RecordingShell("bash"), RecordingShell("dash")};
  const char* more = std::getenv("CORDON_TEST_SCRIPTS");
  constexpr std::size_t at_once = 50;
  for (int round = more != nullptr ? std::atoi(more) : 4; round > 0; --round) {
    std::vector<std::string> scripts;
    while (scripts.size() < at_once)
      if (std::string script = some_script(random); cordon::shell_commands(script))
        scripts.push_back(std::move(script));
    for (RecordingShell& shell : shells) {
      const std::vector<Commands> ran = shell.run(scripts);
      INFO(shell.complaint);
      REQUIRE(ran.size() == at_once);
      CHECK(shell.complaint.find("yntax error") == std::string::npos);
      CHECK(shell.complaint.find("unexpected") == std::string::npos);
      for (std::size_t i = 0; i != at_once; ++i) {
        INFO(scripts[i]);
        check(scripts[i], *cordon::shell_commands(scripts[i]), ran[i]);
      }
    }
    INFO(scripts.front());
    const Commands alone = shells[0].run({scripts.front()}, true).front();
    check(scripts.front(), *cordon::shell_commands(scripts.front()), alone);
  }
}
