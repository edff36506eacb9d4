// SPDX-License-Identifier: BSL-1.0

// A command on a terminal of its own, without confinement.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cordon/harness.hpp>
#include <cordon/jobs.hpp>
#include <cstdlib>
#include <filesystem>
#include <stop_token>
#include <string>

#include "support/catch.hpp"
#include "support/jobs.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/shown.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using cordon::Argv;
using cordon::SpawnError;
using cordon::process::Child;
using cordon::process::Completed;
using cordon::process::Ending;
using cordon::process::Exited;
using cordon::process::Input;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using cordon::process::Stream;
using cordon::process::TerminalSize;
using cordon::process::TimedOut;
using support::options_with_path;
using support::Shown;
using support::unconfined;
using support::unique_sleep;
using support::who_run;
using namespace std::chrono_literals;

namespace {

RunOptions on_terminal(TerminalSize size = {}) {
  return Shown().on(options_with_path(), size);
}

Argv script(const std::string& text) {
  return Argv({"/bin/sh", "-c", text});
}

Child started(const Argv& command, RunOptions options = on_terminal()) {
  return cordon::process::spawn(unconfined(command), std::move(options));
}

Completed outcome(const std::string& text, RunOptions options = on_terminal()) {
  return started(script(text), std::move(options)).wait();
}

/// What a command says that has no terminal.
template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const SpawnError& error) {
    CHECK(error.error() == ENOTTY);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A command has its own terminal as stdin, stdout, stderr and as the controlling one of its session") {
  const Completed done = outcome(
      "test -t 0 -a -t 1 -a -t 2 && tty && stty size && echo by-name >/dev/tty && echo error >&2 && "
      "read -r pid name state parent group session terminal front rest </proc/$$/stat && test $session = $$ && "
      "test $front = $$ && test $terminal != 0",
      on_terminal({11, 222}));
  CHECK(support::exited_with(done, 0));
  const std::string out = done.out.text();
  CHECK(out.starts_with("/dev/pts/"));
  CHECK(out.ends_with("\r\n11 222\r\nby-name\r\nerror\r\n"));
  CHECK(done.err.seen() == 0);
}

TEST_CASE("A command has no other descriptor of its terminal, and no child of this program inherits one") {
  // Seen from below: a shell has descriptors of its own while it looks at itself.
  const Completed done = outcome("tty; sh -c 'for fd in /proc/$PPID/fd/*; do readlink $fd; done'; true");
  const std::string terminal = done.out.text().substr(0, done.out.text().find('\n') + 1);
  CHECK(done.out.text() == terminal + terminal + terminal + terminal);
  const Child running = started(Argv{"sleep", unique_sleep()});
  const support::OpenTerminals open;
  CHECK(open.all >= 2);
  CHECK(open.inherited == 0);
}

TEST_CASE("A program without a controlling terminal does not get one by giving a command a terminal") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const Completed done = outcome("true");
    ::_exit(support::exited_with(done, 0) && ::open("/dev/tty", O_RDWR) < 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("What is in the foreground of a terminal that is resized hears of it") {
  const Shown shown;
  Child child = started(script("trap 'stty size; exit 5' WINCH; echo up; while :; do sleep 0.01; done"),
                        shown.on(options_with_path()));
  CHECK(shown.wait(child, "up"));
  child.resize({40, 100});
  CHECK(support::exited_with(child.wait(), 5));
  CHECK(shown.has("40 100\r\n"));
  child.resize({50, 100});  // without effect
  child.type("x");
}

TEST_CASE("The keys for interrupt, quit and end of file do what they do") {
  const auto [keys, ending] =
      GENERATE(std::pair{"\x03", Ending(Signalled{SIGINT})}, std::pair{"\x1c", Ending(Signalled{SIGQUIT})},
               std::pair{"\x04", Ending(Exited{0})});
  Child child = started(Argv{"cat"});
  child.type(keys);
  CHECK(child.wait().ending == ending);
}

TEST_CASE("What is typed is shown, and comes after the input") {
  const Shown shown;
  RunOptions options = shown.on(options_with_path());
  options.input = Input::bytes("one\n");
  Child child = started(script("read -r a; cat; read -r b; echo \"<$a><$b>\""), std::move(options));
  child.type("two\n");
  CHECK(support::exited_with(child.wait(), 0));
  CHECK(shown.has("one\r\n"));
  CHECK(shown.has("two\r\n"));
  CHECK(shown.has("<one><two>\r\n"));
}

TEST_CASE("Input is typed, and its end is the key for end of file, also in the middle of a line") {
  std::string lines;
  for (int i = 0; i != 3000; ++i) lines += std::string(99, 'x') + "\n";
  const std::string content = GENERATE_COPY(as<std::string>(), "", "one\ntwo\n", "no line", lines, lines + "no line");
  const bool copied = GENERATE(false, true);
  const support::TempDirectory directory;
  RunOptions options = on_terminal();
  options.max_output = 1 << 21;
  const int file = ::open(directory.file("input", content).c_str(), O_RDONLY | O_CLOEXEC);
  options.input = copied ? Input::copy_of(file) : Input::bytes(content);
  const Completed done = started(Argv{"wc", "-c"}, std::move(options)).wait();
  ::close(file);
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.text().ends_with(std::to_string(content.size()) + "\r\n"));
}

TEST_CASE("A command that does not read what is typed holds up nobody") {
  RunOptions options = on_terminal();
  std::string lines;
  for (int i = 0; i != 100000; ++i) lines += "a line\n";
  options.input = Input::bytes(lines);
  CHECK(support::exited_with(outcome("sleep 0.2; exit 3", std::move(options)), 3));
}

TEST_CASE("With Input::none nothing is typed, and the terminal stays open for input") {
  RunOptions options = on_terminal();
  options.limits.wall = 200ms;
  CHECK(outcome("cat", std::move(options)).ending == Ending(TimedOut{}));
}

TEST_CASE("Ten megabytes come through a terminal whole and in order") {
  std::string expected;
  for (int i = 0; i != 655360; ++i) {
    std::string number = std::to_string(i);
    expected += std::string(15 - number.size(), '0') + number + "\n";
  }
  RunOptions options = on_terminal();
  options.max_output = std::size_t{1} << 24;
  const Completed done = outcome("stty -opost; seq -f %015.0f 0 655359", std::move(options));
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.seen() == expected.size());
  CHECK((done.out.text() == expected));
}

TEST_CASE("What a command writes right before its end is not lost") {
  for (int i = 0; i != 50; ++i) REQUIRE(outcome("printf %05000d 1").out.seen() == 5000);
}

TEST_CASE("What a command leaves running on its terminal is hung up, and ends with it") {
  const support::TempDirectory directory;
  const std::string marker = directory.path() + "/marker";
  const std::string other = directory.path() + "/other";
  const std::string token = unique_sleep();
  const auto begun = std::chrono::steady_clock::now();
  const Completed done = outcome("(trap 'echo hup >" + marker + "' HUP; echo ready >" + marker +
                                 "; while :; do sleep 0.01; "
                                 "done) & (trap '' HUP; echo ready >" +
                                 other + "; exec sleep " + token + ") & while ! test -s " + marker + " -a -s " + other +
                                 "; do sleep 0.01; done; echo end");
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.text().starts_with("end\r\n"));
  CHECK(done.outlived >= 2);
  CHECK(support::content_of(marker) == "hup\n");
  CHECK(who_run(token).empty());
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("Limits, a stop, the grace and the spill are the same on a terminal") {
  using namespace cordon::process;
  RunOptions options = on_terminal();
  options.limits.grace = 100ms;
  const std::string token = unique_sleep();
  const std::string stubborn = "trap '' TERM HUP INT; echo up; sleep " + token + "; sleep " + token;
  SECTION("idle") {
    options.limits.idle = 200ms;
    CHECK(outcome(stubborn, options).ending == Ending(TimedOut{TimedOut::Limit::idle}));
  }
  SECTION("wall") {
    options.limits.wall = 200ms;
    CHECK(outcome(stubborn, options).ending == Ending(TimedOut{}));
  }
  SECTION("output") {
    options.limits.output = 100000;
    CHECK(outcome("yes", options).ending == Ending(OutputLimit{}));
  }
  SECTION("stop") {
    std::stop_source source;
    options.limits.stop = source.get_token();
    options.on_output = [&](Stream, std::string_view) { source.request_stop(); };
    CHECK(outcome(stubborn, options).ending == Ending(Cancelled{}));
  }
  SECTION("spill") {
    options.max_output = 100;
    options.spill = std::make_shared<SpillDirectory>();
    const Completed done = outcome("seq 1000", options);
    REQUIRE(done.out.spill());
    CHECK(support::content_of(done.out.spill()->path).ends_with("\r\n999\r\n1000\r\n"));
  }
  CHECK(who_run(token).empty());
}

TEST_CASE("A shell on its own terminal has job control") {
  const Shown shown;
  Child child = started(Argv{"bash", "--norc", "--noprofile", "-i"}, shown.on(options_with_path()));
  const std::string token = unique_sleep();
  child.type("sleep " + token + "\n");
  while (who_run(token).empty() && !child.wait_for(10ms)) continue;
  child.type("\x1a");
  CHECK(shown.wait(child, "Stopped"));
  child.type("kill -9 %1\nexit 7\nexit 7\n");
  const Completed done = child.wait();
  INFO(shown.text());
  CHECK(support::exited_with(done, 7));
  CHECK_FALSE(shown.has("no job control"));
}

TEST_CASE("Who has no terminal is told how to get one, by every handle") {
  const std::string remedy = "RunOptions::terminal";
  Child child = started(Argv{"cat"}, options_with_path());
  CHECK(complaint([&] { child.resize({}); }).find(remedy) != std::string::npos);
  CHECK(complaint([&] { child.type("x"); }).find(remedy) != std::string::npos);
  cordon::Harness<support::StandIn> harness(support::StandIn{{"/usr/bin/env"}});
  cordon::Running running = harness.start(support::policy<cordon::ReadOnly>(), Argv{"cat"}, options_with_path());
  CHECK_FALSE(running.facts().terminal);
  CHECK(complaint([&] { running.resize({}); }).find(remedy) != std::string::npos);
  CHECK(complaint([&] { running.type("x"); }).find(remedy) != std::string::npos);
  cordon::Jobs jobs;
  cordon::Job job = jobs.keep(std::move(running));
  CHECK(complaint([&] { job.resize({}); }).find(remedy) != std::string::npos);
  CHECK(complaint([&] { job.type("x"); }).find(remedy) != std::string::npos);
}

TEST_CASE("The terminal of a job is typed into and resized from anywhere") {
  cordon::Harness<support::StandIn> harness(support::StandIn{{"/usr/bin/env"}});
  cordon::Jobs jobs;
  cordon::Job job = jobs.keep(
      harness.start(support::policy<cordon::ReadOnly>(),
                    script("trap 'stty size' WINCH; echo up; while :; do read -r word && echo \"<$word>\"; done"),
                    on_terminal({7, 8})));
  CHECK(job.facts().terminal == TerminalSize{7, 8});
  CHECK(support::read_until(job, "up\r\n").ends_with("up\r\n"));
  CHECK(job.type("he"));
  CHECK(job.type("llo\n"));
  CHECK(support::read_until(job, "<hello>").find("<hello>") != std::string::npos);
  CHECK(job.resize({9, 10}));
  CHECK(job.resize({11, 12}));
  CHECK(support::read_until(job, "11 12").find("11 12") != std::string::npos);
  CHECK(job.type("\x03"));
  CHECK(job.wait().ending == cordon::CommandEnding(Signalled{SIGINT}));
  CHECK_FALSE(job.type("x"));
  CHECK_FALSE(job.resize({}));
}

TEST_CASE("Commands on terminals leave no descriptor and no process behind") {
  (void)outcome("true");
  const auto descriptors = support::open_descriptors();
  for (int i = 0; i != 20; ++i) {
    (void)outcome("echo x; (trap '' HUP; sleep 0.01) & exit 1");
    const Child dropped = started(Argv{"cat"});
  }
  CHECK(support::open_descriptors() == descriptors);
  CHECK(support::no_child_is_left());
}
