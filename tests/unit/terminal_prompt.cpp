// SPDX-License-Identifier: BSL-1.0

// Questions on real terminals. The test types on one side, the prompt has the other.

#include <cordon/approval/answerers/terminal_prompt.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

using cordon::Action;
using cordon::ApprovalRequest;
using cordon::ApprovalResult;
using cordon::Argv;
using cordon::ArgvPrefix;
using cordon::Decision;
using cordon::TerminalPrompt;
using cordon::TerminalPromptOptions;
using namespace std::chrono_literals;

namespace os = cordon::os;

namespace {

using K = os::Kernel;

ApprovalRequest request(Argv command, std::string reason = {}) {
  cordon::process::RunOptions options;
  options.environment = cordon::process::ambient_environment();
  return ApprovalRequest(
      "bash", Action(std::move(command), cordon::workspace_write, {.workspace_root = "/var/tmp"}, std::move(options)),
      std::move(reason));
}

/// The rest of a chain: says that it was asked.
struct Behind {
  std::stop_token token = {};
  Decision operator()() const { return Decision::unavailable("asked behind"); }
  [[nodiscard]] const std::stop_token& stop() const noexcept { return token; }
};

/// Sits before a terminal.
class Human {
 public:
  explicit Human(unsigned short rows = 50, unsigned short columns = 100) {
    REQUIRE(os::make_terminal<K>(-1, terminal_) >= 0);
    resize(rows, columns);
    char name[64] = {};
    REQUIRE(::ptsname_r(terminal_.ours.get(), name, sizeof name) == 0);
    path_ = name;
  }
  ~Human() { end(); }
  Human(const Human&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int theirs() const noexcept { return terminal_.theirs.get(); }

  void resize(unsigned short rows, unsigned short columns) const {
    os::set_terminal_size<K>(terminal_.ours.get(), rows, columns);
  }

  void type(std::string_view keys) const { REQUIRE(os::write_all<K>(terminal_.ours.get(), keys) == 0); }

  /// Reads on until `text` has been shown `times` times in all. False when it is not within ten seconds.
  [[nodiscard]] bool sees(std::string_view text, std::size_t times = 1) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (count(text) < times) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      look();
    }
    return true;
  }

  /// Pages on until `question` is asked, when so many questions have been before.
  void page_to(std::string_view question, std::string_view key = " ", std::size_t before = 0) {
    for (std::size_t pages = before + 1; pages != before + 40; ++pages) {
      const std::size_t times = count(question);
      REQUIRE(sees("q): ", pages));
      if (count(question) != times) return;
      type(key);
    }
    FAIL("this is never asked: " << question);
  }

  /// Reads what is shown now and soon.
  void look(std::chrono::milliseconds soon = 20ms) {
    pollfd set[] = {{terminal_.ours.get(), POLLIN, 0}};
    while (os::poll_once<K>(set, static_cast<int>(soon.count())) > 0) {
      char bytes[4096];
      const long got = os::read_some<K>(terminal_.ours.get(), std::as_writable_bytes(std::span(bytes)));
      if (got <= 0) {
        std::this_thread::sleep_for(soon);
        return;
      }
      seen_.append(bytes, static_cast<std::size_t>(got));
    }
  }

  [[nodiscard]] std::size_t count(std::string_view text) const {
    std::size_t times = 0;
    for (auto at = seen_.find(text); at != std::string::npos; at = seen_.find(text, at + 1)) ++times;
    return times;
  }
  [[nodiscard]] const std::string& seen() const noexcept { return seen_; }

  [[nodiscard]] os::TerminalMode mode() const {
    os::TerminalMode mode;
    REQUIRE(os::terminal_mode<K>(theirs(), mode) >= 0);
    return mode;
  }
  [[nodiscard]] bool echoes() const { return (mode().local & 8U) != 0; }

  /// What a program would read that is started now.
  [[nodiscard]] long unread() const {
    int bytes = 0;
    ::ioctl(theirs(), FIONREAD, &bytes);
    return bytes;
  }

  void hang_up() { terminal_.ours.reset(); }
  void end() { terminal_ = {}; }

 private:
  os::Terminal<K> terminal_;
  std::string path_;
  std::string seen_;
};

/// A question that waits for its answer.
class Asked {
 public:
  Asked(const Human& human, Argv command, TerminalPromptOptions options = quick(), std::string reason = {})
      : request_(request(std::move(command), std::move(reason))) {
    options.path = human.path();
    decision_ = std::async(std::launch::async, [this, prompt = TerminalPrompt(std::move(options))]() mutable {
      return prompt(request_, Behind{stop_.get_token()});
    });
  }
  ~Asked() { stop_.request_stop(); }
  Asked(const Asked&) = delete;

  static TerminalPromptOptions quick() {
    TerminalPromptOptions options;
    options.shown_at_least = 0ms;
    options.rules = nullptr;
    return options;
  }

  void stop() { stop_.request_stop(); }
  [[nodiscard]] bool waits(std::chrono::milliseconds time = 100ms) const {
    return decision_.wait_for(time) == std::future_status::timeout;
  }
  [[nodiscard]] Decision decision() {
    if (decision_.wait_for(10s) == std::future_status::timeout) {
      stop_.request_stop();
      FAIL_CHECK("nothing was decided");
    }
    return decision_.get();
  }
  [[nodiscard]] ApprovalResult result() { return decision().result(); }

 private:
  ApprovalRequest request_;
  std::stop_source stop_;
  std::future<Decision> decision_;
};

const std::string prompt_line = "Your answer (y n q): ";

TerminalPromptOptions with_rules() {
  TerminalPromptOptions options = Asked::quick();
  options.rules = [](const Action&) {
    return std::vector<ArgvPrefix>{{{"git", "log"}, false}, {{"make", "a b"}, true}};
  };
  return options;
}

}  // namespace

TEST_CASE("One key answers, and each says one thing") {
  const auto [keys, result] =
      GENERATE(std::pair{"y", ApprovalResult::allowed_once}, std::pair{"n", ApprovalResult::rejected},
               std::pair{"q", ApprovalResult::cancelled}, std::pair{"\x1b", ApprovalResult::cancelled},
               std::pair{"\x03", ApprovalResult::cancelled}, std::pair{"\x04", ApprovalResult::cancelled});
  Human human;
  Asked asked(human, Argv{"rm", "-r", "a b"});
  REQUIRE(human.sees(prompt_line));
  CHECK(human.count("command      rm -r 'a b'\r\n") == 1);
  human.type(keys);
  const Decision decision = asked.decision();
  CHECK(decision.result() == result);
  CHECK(decision.remember().empty());
}

TEST_CASE("No other key answers, and there is no default") {
  Human human;
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  std::size_t times = 1;
  const std::string long_burst = std::string(64, 'x') + "y";  // its last key is read alone
  for (const std::string keys : {"\r", "\n", " ", "Y", "x", "\t", "\x7f", "a", "1", "yes\r", "\x1b[A",
                                 "\x1b[200~y\x1b[201~", "yy", "\xd1\x83", "\x1a", "\x1c", "\x13", long_burst.c_str()}) {
    human.type(keys);
    INFO(keys);
    REQUIRE(human.sees(prompt_line, ++times));
  }
  CHECK(asked.waits(0ms));
  human.type("y");
  CHECK(asked.result() == ApprovalResult::allowed_once);
}

TEST_CASE("An interrupt among other keys is one") {
  Human human;
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  human.type("yy\x03yy");
  CHECK(asked.result() == ApprovalResult::cancelled);
}

TEST_CASE("What was typed before the question is no answer to it, and is not read later") {
  const std::string early = GENERATE(as<std::string>(), "y", "y\n", "yyyy\nyy");
  Human human;
  human.type(early);
  std::this_thread::sleep_for(50ms);
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  CHECK(asked.waits());
  CHECK(human.count(prompt_line) == 1);
  human.type("n");
  CHECK(asked.result() == ApprovalResult::rejected);
  CHECK(human.unread() == 0);
}

TEST_CASE("What is typed before a question could be read is no answer to it") {
  Human human;
  TerminalPromptOptions options = Asked::quick();
  options.shown_at_least = 400ms;
  Asked asked(human, Argv{"true"}, options);
  REQUIRE(human.sees("n  reject"));
  for (int i = 0; i != 5; ++i) {
    human.type("y");
    human.look(40ms);
  }
  CHECK(human.count(prompt_line) == 0);
  REQUIRE(human.sees(prompt_line));
  CHECK(asked.waits());
  human.type("y");
  CHECK(asked.result() == ApprovalResult::allowed_once);
}

TEST_CASE("Keys are not shown while it asks, and the terminal is as it was afterwards") {
  Human human;
  const os::TerminalMode before = human.mode();
  REQUIRE(human.echoes());
  const auto same = [](const os::TerminalMode& a, const os::TerminalMode& b) {
    return a.input == b.input && a.output == b.output && a.control == b.control && a.local == b.local &&
           std::equal(std::begin(a.keys), std::end(a.keys), std::begin(b.keys));
  };
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  CHECK_FALSE(human.echoes());
  SECTION("answered") {
    human.type("#y");
    REQUIRE(human.sees(prompt_line, 2));
    CHECK(human.count("#") == 0);
    human.type("y");
  }
  SECTION("stopped") {
    asked.stop();
  }
  (void)asked.decision();
  CHECK(same(human.mode(), before));
}

TEST_CASE("However a question ends, the terminal is as it was, and what was typed meanwhile is gone") {
  Human human;
  const os::TerminalMode before = human.mode();
  {
    const std::stop_source source;
    const cordon::detail::AskedTerminal terminal(human.path(), source.get_token());
    REQUIRE(terminal.usable());
    CHECK_FALSE(human.echoes());
    human.type("rm -r x\n");
    while (human.unread() == 0) std::this_thread::sleep_for(1ms);
  }
  CHECK(human.mode().local == before.local);
  CHECK(human.unread() == 0);
}

TEST_CASE("What is typed behind an answer is not read by others") {
  Human human;
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  human.type("n");
  std::this_thread::sleep_for(5ms);
  human.type("\x03rm -r x\n");
  CHECK(asked.result() != ApprovalResult::allowed_once);
  human.look();
  CHECK(human.unread() == 0);
}

TEST_CASE("Rules are kept only when they are offered, and are shown in full") {
  Human human;
  SECTION("offered") {
    Asked asked(human, Argv{"git", "log", "-p"}, with_rules());
    REQUIRE(human.sees("Your answer (y a n q): "));
    CHECK(human.count("rules        git log [and whatever follows]\r\n             make 'a b' [exactly this]\r\n") ==
          1);
    CHECK(human.count("[this session, in mode] workspace-write [workspace] /var/tmp [directory] /var/tmp") == 1);
    SECTION("and taken") {
      human.type("a");
      const Decision decision = asked.decision();
      CHECK(decision.result() == ApprovalResult::allowed_once);
      CHECK(decision.remember() == with_rules().rules(request(Argv{"x"}).action()));
    }
    SECTION("and not taken") {
      human.type("y");
      CHECK(asked.decision().remember().empty());
    }
  }
  SECTION("offered by default: exactly what rules may speak about") {
    TerminalPromptOptions options = Asked::quick();
    options.rules = TerminalPromptOptions().rules;
    Asked asked(human, Argv{"true"}, options);
    REQUIRE(human.sees("Your answer (y a n q): "));
    human.type("a");
    CHECK(asked.decision().remember() == std::vector<ArgvPrefix>{{{"true"}, true}});
  }
  SECTION("there are none") {
    TerminalPromptOptions options = Asked::quick();
    if (GENERATE(false, true))
      options.rules = nullptr;
    else
      options.rules = [](const Action&) { return std::vector<ArgvPrefix>(); };
    Asked asked(human, Argv{"git", "log", "-p"}, options);
    REQUIRE(human.sees(prompt_line));
    human.type("a");
    REQUIRE(human.sees(prompt_line, 2));
    human.type("n");
    CHECK(asked.result() == ApprovalResult::rejected);
  }
}

TEST_CASE("Nothing of what a model wrote acts on the terminal") {
  const std::string hostile = GENERATE(as<std::string>(), "\x1b[2J\x1b[H\x1b[31m\x1b]0;title\x07", "rm -rf /\rls      ",
                                       "\u202egpj.exe", "\xff\xfe\xc3",
                                       "a\x08\x08\x08"
                                       "b",
                                       "\xc2\x9b"
                                       "2J",
                                       "ls\v\f\x7f\u200b\u2028");
  Human human;
  Asked asked(human, Argv{"ls", hostile, "--name=" + hostile}, Asked::quick(), "because " + hostile);
  REQUIRE(human.sees(prompt_line));
  std::string seen = human.seen();
  const std::string begin = "\x1b[0m\x0f\x1b(B\r\n";
  REQUIRE(seen.starts_with(begin.substr(0, begin.size() - 2)));
  seen.erase(0, seen.find('\n') + 1);
  for (std::size_t at = 0; at != seen.size(); ++at) {
    const auto byte = static_cast<unsigned char>(seen[at]);
    const bool line_end = byte == '\n' || (byte == '\r' && (seen[at + 1] == '\n' || seen[at + 1] == '\r'));
    if (!line_end && (byte < 0x20 || byte >= 0x7f)) FAIL("the byte " << int{byte} << " is shown");
  }
  CHECK(human.count(cordon::shown_word(hostile)) == 1);
  human.type("y");
  CHECK(asked.result() == ApprovalResult::allowed_once);
}

TEST_CASE("Blank lines and spaces push nothing out of sight") {
  Human human;
  Asked asked(human, Argv{"ls", "x" + std::string(40, '\n') + std::string(5000, ' ') + "; rm -r y"});
  REQUIRE(human.sees(prompt_line));
  CHECK(human.count("\\{5000 spaces}; rm -r y") == 1);
  CHECK(human.count("\r\n\r\n") == 0);
  CHECK(human.count("mode ") == 1);
  human.type("n");
  CHECK(asked.result() == ApprovalResult::rejected);
}

TEST_CASE("What can't be shown whole can't be allowed, and says so") {
  const int what = GENERATE(0, 1, 2, 3);
  Human human;
  TerminalPromptOptions options = with_rules();
  std::string script;
  for (int i = 0; i != 300; ++i) script += "echo " + std::to_string(i) + "\n";
  std::vector<std::string> argv{"program"};
  if (what == 0) argv.push_back(std::string(200'000, 'x') + "the-tail");
  if (what == 1) argv = {"bash", "-c", script + "the-tail"};
  if (what == 2) {
    options.most_bytes = 900;
    argv.push_back(std::string(700, 'x') + "the-tail");
  }
  if (what == 3) {
    options.most_lines = 15;
    argv.push_back(std::string(700, 'x') + "the-tail");
  }
  const std::string asks = "Your answer (n q): ";
  Asked asked(human, Argv(argv), options);
  human.page_to(asks);
  CHECK(human.count("Too long to be shown: can't be allowed.") == 1);
  CHECK(human.count("the-tail'") + human.count("the-tail\r") == 1);
  CHECK(human.count("digest") == 1);
  CHECK((human.count("lines are left out here") != 0) == (what < 2));
  human.type("y");
  REQUIRE(human.sees(asks, 2));
  human.type("a");
  REQUIRE(human.sees(asks, 3));
  CHECK(asked.waits(0ms));
  human.type("n");
  CHECK(asked.result() == ApprovalResult::rejected);
}

TEST_CASE("What is longer than the screen is allowed only when all of it has been shown") {
  std::vector<std::string> argv{"program"};
  for (int i = 0; i != 300; ++i) argv.push_back("argument-" + std::to_string(i));
  Human human(24, 80);
  Asked asked(human, Argv(argv));
  SECTION("page by page") {
    const char* const key = GENERATE(" ", "\r", "\n");
    human.page_to(prompt_line, key);
    for (const std::string& word : argv) CHECK(human.count(word) != 0);
    human.type("y");
    CHECK(asked.result() == ApprovalResult::allowed_once);
  }
  SECTION("not allowed before") {
    REQUIRE(human.sees("22 of "));
    CHECK(human.count("y  allow") == 0);
    human.type("y");
    REQUIRE(human.sees("22 of ", 2));
    human.type("n");
    CHECK(asked.result() == ApprovalResult::rejected);
  }
  SECTION("rejected before") {
    REQUIRE(human.sees("22 of "));
    human.type("n");
    CHECK(asked.result() == ApprovalResult::rejected);
    CHECK(human.count("argument-299") == 0);
  }
  SECTION("cancelled before") {
    REQUIRE(human.sees("22 of "));
    human.type("\x03");
    CHECK(asked.result() == ApprovalResult::cancelled);
  }
}

TEST_CASE("No page is higher or wider than the window") {
  std::string script;
  for (int i = 0; i != 120; ++i) script += "echo \u65e5\u672c " + std::to_string(i) + "\n";
  const auto [rows, columns] = GENERATE(std::pair{14, 40}, std::pair{24, 80}, std::pair{30, 57});
  Human human(static_cast<unsigned short>(rows), static_cast<unsigned short>(columns));
  Asked asked(human, cordon::shell(script), with_rules());
  while (human.count("Your answer") == 0) {
    const std::size_t before = human.seen().size();
    REQUIRE(human.sees(" q): ", human.count(" q): ") + 1));
    const std::string page = human.seen().substr(before);
    CHECK(std::count(page.begin(), page.end(), '\n') <= rows);
    if (human.count("Your answer") == 0) human.type(" ");
  }
  std::size_t width = 0;
  for (const char c : human.seen().substr(human.seen().find("----"))) {
    const auto byte = static_cast<unsigned char>(c);
    width = c == '\r' || c == '\n' ? 0 : width + (byte < 0x80 ? 1 : byte >= 0xc0 ? 2 : 0);
    REQUIRE(width < static_cast<std::size_t>(columns));
  }
  human.type("q");
  CHECK(asked.result() == ApprovalResult::cancelled);
}

TEST_CASE("When the window changes all is shown again, and the key that came is no answer") {
  Human human(40, 100);
  Asked asked(human, Argv{"program", std::string(100, 'x')});
  REQUIRE(human.sees(prompt_line));
  human.resize(16, 50);
  human.type("y");
  REQUIRE(human.sees(" of ", 1));
  CHECK(asked.waits(0ms));
  human.page_to(prompt_line, " ", 1);
  CHECK(human.count("May this be done?") == 2);
  human.type("y");
  CHECK(asked.result() == ApprovalResult::allowed_once);
}

TEST_CASE("In a window that is too small nothing can be allowed") {
  const auto [rows, columns] = GENERATE(std::pair{13, 80}, std::pair{24, 39});
  Human human(static_cast<unsigned short>(rows), static_cast<unsigned short>(columns));
  Asked asked(human, Argv{"true"});
  human.page_to("Your answer (n q): ");
  CHECK(human.count("Window too small: can't be allowed.") == 1);
  human.type("y");
  CHECK(asked.waits());
  human.type("n");
  CHECK(asked.result() == ApprovalResult::rejected);
}

TEST_CASE("A terminal that nobody has told its size is taken for one of 24 lines") {
  Human human(0, 0);
  Asked asked(human, Argv{"true", std::string(1500, 'x')});
  REQUIRE(human.sees("22 of "));
  human.page_to(prompt_line);
  human.type("y");
  CHECK(asked.result() == ApprovalResult::allowed_once);
}

TEST_CASE("A stop ends the question at once, and says so") {
  Human human;
  Asked asked(human, Argv{"true"});
  REQUIRE(human.sees(prompt_line));
  const auto begun = std::chrono::steady_clock::now();
  asked.stop();
  CHECK(asked.result() == ApprovalResult::cancelled);
  CHECK(std::chrono::steady_clock::now() - begun < 2s);
  CHECK(human.sees("The question is over"));
  CHECK(human.echoes());
}

TEST_CASE("A stop ends the question also before keys count, and while nobody reads what is shown") {
  Human human;
  SECTION("before keys count") {
    TerminalPromptOptions options = Asked::quick();
    options.shown_at_least = 60s;
    Asked asked(human, Argv{"true"}, options);
    REQUIRE(human.sees("n  reject"));
    asked.stop();
    CHECK(asked.result() == ApprovalResult::cancelled);
  }
  SECTION("while nobody reads") {
    ::tcflow(human.theirs(), TCOOFF);
    Asked asked(human, Argv{"true"});
    CHECK(asked.waits());
    asked.stop();
    CHECK(asked.result() == ApprovalResult::cancelled);
    ::tcflow(human.theirs(), TCOON);
  }
}

TEST_CASE("After a stop nothing is asked") {
  Human human;
  std::stop_source source;
  source.request_stop();
  TerminalPromptOptions options = Asked::quick();
  options.path = human.path();
  CHECK(TerminalPrompt(options)(request(Argv{"true"}), Behind{source.get_token()}).result() ==
        ApprovalResult::cancelled);
  human.look();
  CHECK(human.seen().empty());
}

TEST_CASE("The end of the terminal cancels") {
  Human human;
  TerminalPromptOptions options = Asked::quick();
  const bool answerable = GENERATE(true, false);
  if (!answerable) options.shown_at_least = 60s;
  Asked asked(human, Argv{"true"}, options);
  REQUIRE(human.sees(answerable ? prompt_line : "q  cancel"));
  human.hang_up();
  CHECK(asked.result() == ApprovalResult::cancelled);
}

TEST_CASE("Two questions are asked one after the other, and a key answers one") {
  Human human;
  Asked first(human, Argv{"command-one"});
  REQUIRE(human.sees(prompt_line));
  Asked second(human, Argv{"command-two"});
  Asked third(human, Argv{"command-three"});
  CHECK(second.waits());
  CHECK(human.count("command-two") + human.count("command-three") == 0);
  third.stop();
  CHECK(third.result() == ApprovalResult::cancelled);
  human.type("y");
  CHECK(first.result() == ApprovalResult::allowed_once);
  REQUIRE(human.sees(prompt_line, 2));
  CHECK(human.count("command-two") == 1);
  CHECK(second.waits());
  human.type("n");
  CHECK(second.result() == ApprovalResult::rejected);
  CHECK(human.count("command-three") == 0);
}

TEST_CASE("Where there is no terminal the next answerer is asked") {
  const support::TempDirectory directory;
  for (const std::string& path :
       {directory.path() + "/missing", directory.file("file", "y\n"), std::string("/dev/null")}) {
    TerminalPromptOptions options = Asked::quick();
    options.path = path;
    CHECK(TerminalPrompt(options)(request(Argv{"true"}), Behind{}).reason() == "asked behind");
  }
}

TEST_CASE("An answer is signed, and questions leave no descriptor behind") {
  Human human;
  TerminalPromptOptions options = Asked::quick();
  options.path = human.path();
  cordon::AnswererChain<TerminalPrompt> chain{TerminalPrompt(options)};
  STATIC_REQUIRE_FALSE(decltype(chain)::immediate);
  const auto descriptors = support::open_descriptors();
  for (std::size_t i = 1; i != 4; ++i) {
    auto decision = std::async(std::launch::async, [&] { return chain(request(Argv{"true"})); });
    REQUIRE(human.sees(prompt_line, i));
    human.type("y");
    CHECK(decision.get().answered_by() == "terminal");
  }
  CHECK(support::open_descriptors() == descriptors);
}

namespace {

/// What `ask` says in a process that leads a session of its own, whose controlling terminal is that of `human`, if any.
template <class Ask>
pid_t forked(const Human* human, Ask ask) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(20);
  ::setsid();
  if (human != nullptr) ::ioctl(human->theirs(), TIOCSCTTY, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {0, 1}) ::dup2(nothing, stream);
  ::_exit(ask());
}

int asked_on_the_controlling_terminal() {
  ::alarm(20);
  const Decision decision = TerminalPrompt(Asked::quick())(request(Argv{"true"}), Behind{});
  return decision.reason() == "asked behind" ? 50 : static_cast<int>(decision.result());
}

int status_of(pid_t child) {
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("The controlling terminal is asked, whatever stdin and stdout are") {
  Human human;
  const pid_t child = forked(&human, asked_on_the_controlling_terminal);
  CHECK(human.sees(prompt_line));
  human.type("y");
  CHECK(status_of(child) == static_cast<int>(ApprovalResult::allowed_once));
}

TEST_CASE("Without a controlling terminal the next answerer is asked") {
  CHECK(status_of(forked(nullptr, asked_on_the_controlling_terminal)) == 50);
}

TEST_CASE("In the background nothing is asked, and nobody is stopped") {
  Human human;
  const pid_t child = forked(&human, [] {
    const pid_t behind = ::fork();
    if (behind == 0) {
      ::setpgid(0, 0);
      ::_exit(asked_on_the_controlling_terminal());
    }
    int status = -1;
    return ::waitpid(behind, &status, WUNTRACED) == behind && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  });
  CHECK(status_of(child) == 50);
  human.look();
  CHECK(human.seen().empty());
}

TEST_CASE("When others get the terminal meanwhile the question is over, and their terminal is left alone") {
  const bool answerable = GENERATE(true, false);
  Human human;
  os::FdPair<K> line;
  REQUIRE(os::make_socket_pair(line) == 0);
  const pid_t child = forked(&human, [&] {
    const int terminal = ::open("/dev/tty", O_RDWR);
    ::signal(SIGTTOU, SIG_IGN);
    const pid_t asking = ::fork();
    if (asking == 0) {
      ::alarm(20);
      ::signal(SIGTTOU, SIG_DFL);
      while (::tcgetpgrp(terminal) != ::getpid()) ::usleep(1000);
      TerminalPromptOptions options = Asked::quick();
      if (!answerable) options.shown_at_least = 1s;
      ::_exit(static_cast<int>(TerminalPrompt(options)(request(Argv{"true"}), Behind{}).result()));
    }
    ::setpgid(asking, asking);
    ::tcsetpgrp(terminal, asking);
    char byte = 0;
    if (::read(line.read.get(), &byte, 1) != 1) return 98;
    ::tcsetpgrp(terminal, ::getpgrp());
    if (::write(line.read.get(), &byte, 1) != 1) return 97;
    int status = -1;
    return ::waitpid(asking, &status, WUNTRACED) == asking && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  });
  CHECK(human.sees(answerable ? prompt_line : "q  cancel\r\n"));
  CHECK_FALSE(human.echoes());
  char byte = 'x';
  REQUIRE(::write(line.write.get(), &byte, 1) == 1);
  REQUIRE(::read(line.write.get(), &byte, 1) == 1);
  if (answerable) human.type("y");
  CHECK(status_of(child) == static_cast<int>(ApprovalResult::cancelled));
  human.look();
  CHECK(human.seen().ends_with(answerable ? prompt_line : "q  cancel\r\n"));
  CHECK((human.unread() != 0) == answerable);
  CHECK_FALSE(human.echoes());
}
