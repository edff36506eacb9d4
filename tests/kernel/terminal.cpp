// SPDX-License-Identifier: BSL-1.0

// A command on a terminal of its own, under every backend in both modes. That none leads to the terminal of its caller
// is in escape.cpp.

#include <signal.h>

#include <cordon/jobs.hpp>

#include "kernel/support.hpp"
#include "support/shown.hpp"

using namespace kernel_tests;
using cordon::CommandEnding;
using cordon::process::Exited;
using cordon::process::Input;
using cordon::process::NotExecutable;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using support::Shown;
using support::unique_sleep;
using support::who_run;

namespace {

/// Starts `command` on a terminal that `shown` shows.
template <class U>
cordon::Running start(const Place& place, const Shown& shown, const cordon::Argv& command,
                      RunOptions options = plain_options()) {
  return harness<U>().start(policy_for<typename U::Mode>(place.workspace()), command, shown.on(std::move(options)));
}

template <class U>
cordon::RunResult run(const Place& place, const std::string& script, RunOptions options = plain_options()) {
  return start<U>(place, Shown(), cordon::shell(script), std::move(options)).wait();
}

/// Whether the name of its terminal leads a command there: not where the mounts are its own and the terminal is not.
template <class U>
bool has_name() {
  return own_processes<U> || landlock_alone<U> || Facts<U>::own_namespaces();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("A command has a terminal of its own, by descriptor and by name", "[terminal]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  auto result = run<TestType>(place, "test -t 0 -a -t 1 -a -t 2 && stty size && echo name >/dev/tty && echo error >&2");
  INFO(result.out.text());
  CHECK(result.ending == CommandEnding(Exited{0}));
  CHECK(result.out.text() == "24 80\r\nname\r\nerror\r\n");
  CHECK(result.err.seen() == 0);
  CHECK(result.terminal == cordon::process::TerminalSize{24, 80});
  if (!has_name<TestType>()) return;
  result = run<TestType>(place, "tty && echo reopened >\"$(tty)\" && echo two | tee /dev/stderr");
  INFO(result.out.text());
  CHECK(result.ending == CommandEnding(Exited{0}));
  // What bubblewrap was given as stdout, it puts there.
  CHECK(result.out.text().starts_with(own_processes<TestType> ? "/dev/console\r\n" : "/dev/pts/"));
  CHECK(result.out.text().ends_with("\r\nreopened\r\ntwo\r\ntwo\r\n"));
}

TEMPLATE_LIST_TEST_CASE("The keys of a terminal are for the command, and a new size is heard of", "[terminal]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  SECTION("a command that is interrupted") {
    const Shown shown;
    cordon::Running running = start<TestType>(place, shown, cordon::shell("echo up; exec sleep 60"));
    CHECK(shown.wait(running, "up"));
    running.type("\x03");
    CHECK(running.wait().ending == CommandEnding(Signalled{SIGINT}));
  }
  SECTION("one that goes on") {
    const Shown shown;
    // Not dash, which a key that comes while it starts a program can leave hanging, without a sandbox too.
    const std::string script =
        "trap 'echo caught' INT; trap 'stty size; exit 7' WINCH; echo up; while :; do read -t 0.02; done";
    cordon::Running running = start<TestType>(place, shown, cordon::Argv{"bash", "-c", script});
    CHECK(shown.wait(running, "up"));
    running.type("\x03");
    CHECK(shown.wait(running, "caught"));
    running.resize({33, 44});
    CHECK(running.wait().ending == CommandEnding(Exited{7}));
    CHECK(shown.has("33 44\r\n"));
  }
  SECTION("one that reads its input to the end") {
    RunOptions options = plain_options();
    options.input = Input::bytes("one\ntwo");
    const auto result = start<TestType>(place, Shown(), cordon::Argv{"wc", "-c"}, std::move(options)).wait();
    CHECK(result.ending == CommandEnding(Exited{0}));
    CHECK(result.out.text().ends_with("7\r\n"));
  }
}

TEMPLATE_LIST_TEST_CASE("Programs that want a terminal find one: job control, python, a terminal in it, 10 MB",
                        "[terminal]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  SECTION("job control") {
    const Shown shown;
    cordon::Running running = start<TestType>(place, shown, cordon::Argv{"bash", "--norc", "--noprofile", "-i"});
    const std::string token = unique_sleep();
    running.type("sleep " + token + "\n");
    while (who_run(token).empty() && !running.wait_for(std::chrono::milliseconds(10))) continue;
    running.type("\x1a");
    CHECK(shown.wait(running, "Stopped"));
    running.type("kill -9 %1\nexit 7\nexit 7\n");
    const auto result = running.wait();
    INFO(shown.text());
    CHECK(result.ending == CommandEnding(Exited{7}));
    CHECK_FALSE(shown.has("no job control"));
    CHECK_FALSE(shown.has("cannot set terminal process group"));
  }
  SECTION("python") {
    if (!has_program("python3")) return;
    const std::string script =
        "import os, sys; assert os.isatty(0) and os.get_terminal_size() == (80, 24); "
        "assert os.getpgrp() == os.tcgetpgrp(0); "
        "import pty; pty.spawn(['/bin/sh', '-c', 'test -t 0 && echo inner'])";
    const auto result = start<TestType>(place, Shown(), cordon::Argv{"/usr/bin/python3", "-c", script}).wait();
    INFO(result.out.text());
    CHECK(result.ending == CommandEnding(Exited{0}));
    CHECK(result.out.text().ends_with("inner\r\n"));
  }
  SECTION("10 MB") {
    RunOptions options = plain_options();
    options.max_output = 100;
    const auto result = run<TestType>(place, "stty -opost; seq -f %015.0f 0 655359 | cat", std::move(options));
    CHECK(result.out.seen() == 10485760);
    CHECK(result.out.tail().ends_with("000000000655358\n000000000655359\n"));
  }
}

TEMPLATE_LIST_TEST_CASE("On a terminal it is known, too, what became of a command", "[terminal]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  CHECK(start<TestType>(place, Shown(), cordon::Argv{"/nonexistent/program"}).wait().ending ==
        CommandEnding(NotExecutable{ENOENT}));
  const auto result = run<TestType>(place, "echo x >" + place.out("new"));
  CHECK(result.denied());
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("A command has no descriptor but its terminal, and leaves nothing behind", "[terminal]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  CHECK(start<TestType>(place, Shown(), payload("inherited-descriptors")).wait().ending == CommandEnding(Exited{1}));
  {
    const cordon::Running running = start<TestType>(place, Shown(), cordon::Argv{"sleep", "60"});
    const support::OpenTerminals open;
    CHECK(open.all >= 2);
    CHECK(open.inherited == 0);
  }
  harness<TestType>().backend().invalidate();
  const auto descriptors = support::open_descriptors();
  const std::string token = unique_sleep();
  for (int i = 0; i != 5; ++i) {
    const auto result = run<TestType>(place, "(trap '' HUP; exec setsid sleep " + token + ") & exit 3");
    CHECK(result.ending == CommandEnding(Exited{3}));
    CHECK(who_run(token).empty());
  }
  harness<TestType>().backend().invalidate();
  CHECK(support::open_descriptors() == descriptors);
}

TEMPLATE_LIST_TEST_CASE("A command can't take the terminals from the next one", "[terminal]", Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !Facts<TestType>::own_namespaces()) return;
  const auto result =
      run<TestType>(place, "chmod 0 /dev/pts/ptmx; chmod 0 /dev/ptmx; chmod 0 \"$(tty)\"; stat -c %a /dev/ptmx");
  INFO(result.out.text());
  CHECK(result.out.text().ends_with("\r\n666\r\n"));
  CHECK(run<TestType>(place, "exit 4").ending == CommandEnding(Exited{4}));
}

TEST_CASE("Bubblewrap without a guard gives a command a terminal of its own, too", "[terminal]") {
  const Place place;
  if (!usable<Under<cordon::Bubblewrap, cordon::ReadOnly>>(place)) return;
  const auto run_without_guard = [&](std::vector<std::string> command) {
    command.insert(command.begin(),
                   {program("cordon_without_runner"), "read-only", place.workspace(), "--terminal", "--"});
    return run_plainly(command);
  };
  const Attempt attempt =
      run_without_guard({"/bin/sh", "-c", "test -t 0 && echo by-name >/dev/tty && echo two | tee /dev/stderr; exit 6"});
  INFO(attempt.out);
  CHECK(attempt.status == 6);
  CHECK(attempt.out.ends_with("\nby-name\r\ntwo\r\ntwo\r\n"));
  CHECK(run_without_guard({"/nonexistent/program"}).out.find("not executable: 2\n") != std::string::npos);
}
