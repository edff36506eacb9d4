// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/spawn.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

using cordon::Argv;
using cordon::SpawnError;
using cordon::process::Completed;
using cordon::process::Exited;
using cordon::process::Input;
using cordon::process::NotExecutable;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using support::options_with_path;
using support::run;
using support::run_shell;
using support::TempDirectory;
using support::unconfined;
using namespace std::chrono_literals;

namespace {

int not_executable(const Completed& done) {
  const auto* refused = std::get_if<NotExecutable>(&done.ending);
  return refused != nullptr ? refused->error : 0;
}

/// The value of a line "Name:\tvalue" of /proc/self/status.
std::string status_line(const std::string& status, const std::string& name) {
  const auto at = status.find(name + ":\t");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 2;
  return status.substr(begin, status.find('\n', begin) - begin);
}

std::string sized(std::size_t size) {
  std::string text(size, 'x');
  for (std::size_t at = 0; at < size; ++at) text[at] = static_cast<char>('a' + at % 23);
  return text;
}

}  // namespace

TEST_CASE("T-EXE-01: an exit code is the command's own, from 0 to 255") {
  const int code = GENERATE(0, 1, 3, 125, 126, 127, 128, 129, 137, 255);
  CHECK(run_shell("exit " + std::to_string(code)).ending == cordon::process::Ending(Exited{code}));
}

TEST_CASE("A command that dies by a signal is signalled, not exited") {
  const int signal = GENERATE(SIGKILL, SIGTERM, SIGSEGV, SIGUSR1, SIGPIPE);
  CHECK(run_shell("kill -" + std::to_string(signal) + " $$").ending == cordon::process::Ending(Signalled{signal}));
}

TEST_CASE("T-SPN-05, T-SPN-06, T-SPN-16: a program that can't be executed is an ending with the reason, and no error") {
  const TempDirectory directory;
  CHECK(not_executable(run(Argv({"/nonexistent/program"}))) == ENOENT);
  CHECK(not_executable(run(Argv({"no-such-program-anywhere"}))) == ENOENT);
  CHECK(not_executable(run(Argv({directory.file("plain", "#!/bin/sh\n", 0644)}))) == EACCES);
  CHECK(not_executable(run(Argv({directory.path()}))) == EACCES);
  CHECK(not_executable(run(Argv({directory.file("noise", "\1\2\3 no program", 0755)}))) == ENOEXEC);
  CHECK(not_executable(run(Argv({directory.file("empty", "", 0755)}))) == ENOEXEC);
  CHECK(support::no_child_is_left());
}

TEST_CASE("A program whose interpreter is missing is told from one that is missing") {
  const TempDirectory directory;
  const std::string orphan = directory.file("orphan", "#!/no/such/interpreter\n", 0755);
  const cordon::process::Ending without_interpreter(NotExecutable{ENOENT, true});
  CHECK(run(Argv({orphan})).ending == without_interpreter);
  RunOptions options;
  options.environment = {"PATH=" + directory.path() + ":/usr/bin"};
  CHECK(run(Argv({"orphan"}), options).ending == without_interpreter);
  const TempDirectory other;
  (void)other.file("orphan", "#!/bin/sh\n", 0644);
  options.environment = {"PATH=" + directory.path() + ":" + other.path()};
  CHECK(run(Argv({"orphan"}), options).ending == cordon::process::Ending(NotExecutable{EACCES}));
}

TEST_CASE("A script without #! is not handed to a shell behind the caller's back") {
  const TempDirectory directory;
  const std::string marker = directory.path() + "/marker";
  CHECK(not_executable(run(Argv({directory.file("script", "echo x >" + marker + "\n", 0755)}))) == ENOEXEC);
  CHECK_FALSE(support::exists(marker));
}

TEST_CASE("A name without a slash is looked up along the child's PATH, not the caller's") {
  const TempDirectory directory;
  (void)directory.directory("one");
  (void)directory.directory("two");
  (void)directory.file("two/cordon-test-program", "#!/bin/sh\nexit 42\n", 0755);
  RunOptions options;
  CHECK(not_executable(run(Argv({"cordon-test-program"}), options_with_path())) == ENOENT);
  options.environment = {"PATH=/nonexistent:" + directory.path() + "/one:" + directory.path() + "/two"};
  CHECK(support::exited_with(run(Argv({"cordon-test-program"}), options), 42));

  SECTION("and one that exists but may not be executed is reported when no other can be") {
    (void)directory.file("one/cordon-test-other", "", 0644);
    CHECK(not_executable(run(Argv({"cordon-test-other"}), options)) == EACCES);
  }
  SECTION("and one that may not be executed doesn't hide a later one that can") {
    (void)directory.file("one/cordon-test-program", "", 0644);
    CHECK(support::exited_with(run(Argv({"cordon-test-program"}), options), 42));
  }
}

TEST_CASE("F13: an empty or relative directory of the child's PATH is never searched") {
  const TempDirectory directory;
  (void)directory.file("cordon-test-program", "#!/bin/sh\nexit 42\n", 0755);
  RunOptions options;
  options.working_directory = directory.path();
  options.environment = {"PATH=" + GENERATE(as<std::string>(), "", ".", ":/usr/bin", "/usr/bin:", "./:..")};
  CHECK(not_executable(run(Argv({"cordon-test-program"}), options)) == ENOENT);
}

TEST_CASE("Without a PATH programs are found where every system has them") {
  CHECK(support::exited_with(run(Argv({"sh", "-c", "exit 5"}), RunOptions{}), 5));
}

TEST_CASE("A relative path with a slash is meant from the command's working directory") {
  const TempDirectory directory;
  (void)directory.directory("bin");
  (void)directory.file("bin/program", "#!/bin/sh\nexit 42\n", 0755);
  RunOptions options = options_with_path();
  options.working_directory = directory.path();
  CHECK(support::exited_with(run(Argv({"bin/program"}), options), 42));
  CHECK(support::exited_with(run(Argv({"./bin/program"}), options), 42));
  options.working_directory = directory.path() + "/bin";
  CHECK(not_executable(run(Argv({"bin/program"}), options)) == ENOENT);
}

TEST_CASE("A command begins in its working directory, which is the workspace unless another is named") {
  const TempDirectory directory;
  const std::string sub = directory.directory("sub");
  RunOptions options = options_with_path();
  CHECK(cordon::process::run(unconfined(Argv({"/bin/pwd"}), directory.path()), options).out.text() ==
        directory.path() + "\n");
  options.working_directory = sub;
  CHECK(cordon::process::run(unconfined(Argv({"/bin/pwd"}), directory.path()), options).out.text() == sub + "\n");
}

TEST_CASE(
    "T-SPN-11, T-SPN-12, T-SPN-17, T-SPN-21: a working directory that can't be entered is an error that names it") {
  const TempDirectory directory;
  (void)directory.file("file");
  RunOptions options = options_with_path();
  options.working_directory = directory.path() + GENERATE(as<std::string>(), "/missing", "/file");
  const auto descriptors = support::open_descriptors();
  try {
    (void)run(Argv({"true"}), options);
    FAIL("ran in " << options.working_directory);
  } catch (const SpawnError& error) {
    CHECK(error.code() == cordon::ErrorCode::spawn_failed);
    CHECK(std::string(error.what()).find(options.working_directory) != std::string::npos);
    CHECK(error.error() != 0);
  }
  CHECK(support::open_descriptors() == descriptors);
  CHECK(support::no_child_is_left());
}

TEST_CASE("F70: a command gets no descriptor of the caller, also not one that was left open for it") {
  const int low = ::open("/dev/null", O_RDONLY);
  const int high = ::fcntl(low, F_DUPFD, 200);
  REQUIRE(low >= 0);
  REQUIRE(high >= 200);
  const Completed done = run(Argv({"ls", "/proc/self/fd"}));
  ::close(low);
  ::close(high);
  CHECK(done.out.text() == "0\n1\n2\n3\n");  // 3 is the directory that ls reads
}

TEST_CASE("A command gets default signal actions and an empty signal mask") {
  struct sigaction ignore {};
  struct sigaction interrupt {};
  struct sigaction pipe {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &interrupt);
  ::sigaction(SIGPIPE, &ignore, &pipe);
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const std::string status = run(Argv({"cat", "/proc/self/status"})).out.text();
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  struct sigaction interrupt_after {};
  ::sigaction(SIGINT, &interrupt, &interrupt_after);
  ::sigaction(SIGPIPE, &pipe, nullptr);

  CHECK(status_line(status, "SigBlk") == "0000000000000000");
  CHECK(status_line(status, "SigIgn") == "0000000000000000");
  CHECK(status_line(status, "SigCgt") == "0000000000000000");
  CHECK(::sigismember(&after, SIGUSR1) == 1);  // the caller's own are as they were
  CHECK(::sigismember(&after, SIGHUP) == 0);
  CHECK(interrupt_after.sa_handler == SIG_IGN);
}

TEST_CASE("F67: a command leads a session of its own and has no controlling terminal") {
  std::istringstream stat(run(Argv({"cat", "/proc/self/stat"})).out.text());
  std::string pid, name, state, parent, group, session, terminal;
  stat >> pid >> name >> state >> parent >> group >> session >> terminal;
  REQUIRE(std::stol(pid) > 0);
  CHECK(group == pid);
  CHECK(session == pid);
  CHECK(terminal == "0");
}

TEST_CASE("EXE-28: a command's environment is exactly what it was given") {
  RunOptions options;
  options.environment = {"B=2", "A=x=y", "EMPTY=", "PATH=/usr/bin:/bin"};
  CHECK(run(Argv({"env"}), options).out.text() == "B=2\nA=x=y\nEMPTY=\nPATH=/usr/bin:/bin\n");
  CHECK(run(Argv({"/usr/bin/env"}), RunOptions{}).out.text() == "");
}

TEST_CASE("Arguments arrive as they are") {
  const Completed done = run(Argv({"printf", "[%s]", "a b", "", "$HOME", "*", "\"'\\", "\n"}));
  CHECK(done.out.text() == "[a b][][$HOME][*][\"'\\][\n]");
}

TEST_CASE("Without input a command reads the end of the file at once") {
  const Completed done = run(Argv({"cat"}));
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.seen() == 0);
  CHECK(run_shell("readlink /proc/self/fd/0").out.text() == "/dev/null\n");
}

TEST_CASE("Input bytes arrive, all of them, then the end of the file") {
  const std::string content = sized(GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1} << 20));
  RunOptions options = options_with_path();
  options.input = Input::bytes(content);
  options.max_output = content.size() + 1;
  const Completed done = run(Argv({"cat"}), options);
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.seen() == content.size());
  CHECK((done.out.text() == content));
}

TEST_CASE("Input copied from a descriptor arrives, and the descriptor stays the caller's") {
  const TempDirectory directory;
  const std::string content = sized(300000);
  const int fd = ::open(directory.file("input", content).c_str(), O_RDONLY | O_CLOEXEC);
  RunOptions options = options_with_path();
  options.input = Input::copy_of(fd);
  SECTION("all of it") {
    const Completed done = run(Argv({"cat"}), options);
    CHECK(support::exited_with(done, 0));
    CHECK((done.out.text() == content));
  }
  SECTION("through a pipe: the command can't reopen the file behind it") {
    CHECK(run(Argv({"readlink", "/proc/self/fd/0"}), options).out.text().starts_with("pipe:"));
  }
  CHECK(::fcntl(fd, F_GETFD) == FD_CLOEXEC);
  ::close(fd);
}

TEST_CASE("Input copied from a pipe that stays open doesn't keep a command that ends") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(::write(ends[1], "line\n", 5) == 5);
  RunOptions options = options_with_path();
  options.input = Input::copy_of(ends[0]);
  CHECK(run(Argv({"head", "-n", "1"}), options).out.text() == "line\n");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("EXE-06: a command that doesn't read its input ends as it wants, and no SIGPIPE reaches the caller") {
  RunOptions options = options_with_path();
  options.input = Input::bytes(sized(std::size_t{4} << 20));
  CHECK(support::exited_with(run(Argv({"true"}), options), 0));
  CHECK(run_shell("exec 0<&-; sleep 0.1; echo on", options).out.text() == "on\n");
  CHECK(run(Argv({"head", "-c", "3"}), options).out.text() == "abc");
}

TEST_CASE("F75: output beyond the cap is counted and not kept") {
  RunOptions options = options_with_path();
  options.max_output = 1000;
  const Completed done = run_shell("head -c 5000000 /dev/zero; printf end; printf small >&2", options);
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.seen() == 5000003);
  CHECK(done.out.truncated());
  CHECK(done.out.text().size() == 1000);
  CHECK(done.out.text().ends_with("end"));
  CHECK_FALSE(done.err.truncated());
  CHECK(done.err.text() == "small");
}

TEST_CASE("Both streams are read at once, so neither can block the command") {
  const Completed done =
      run_shell("for i in 1 2 3 4 5; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; done");
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.seen() == 500000);
  CHECK(done.err.seen() == 500000);
}

TEST_CASE("Output is shown as it arrives, whole and by stream, whatever the cap") {
  std::string out;
  std::string err;
  RunOptions options = options_with_path();
  options.max_output = 4;
  options.on_output = [&](cordon::process::Stream stream, std::string_view bytes) {
    (stream == cordon::process::Stream::out ? out : err).append(bytes);
  };
  (void)run_shell("echo one; echo two >&2; echo three", options);
  CHECK(out == "one\nthree\n");
  CHECK(err == "two\n");
}

TEST_CASE("A command that closes its streams early is still followed to its end") {
  CHECK(support::exited_with(run_shell("exec >&- 2>&-; sleep 0.2; exit 4"), 4));
}

TEST_CASE("wait_for gives up at its limit, and wait still gets the rest") {
  auto child = cordon::process::spawn(unconfined(Argv({"/bin/sh", "-c", "echo a; read line; echo $line; exit 6"})), [] {
    RunOptions options = options_with_path();
    options.input = Input::bytes("");
    return options;
  }());
  SECTION("the command ends by itself") {
    const Completed done = child.wait();
    CHECK(support::exited_with(done, 6));
  }
  auto sleeper =
      cordon::process::spawn(unconfined(Argv({"/bin/sh", "-c", "echo a; sleep 2; echo b"})), options_with_path());
  CHECK_FALSE(sleeper.wait_for(50ms).has_value());
  CHECK_FALSE(sleeper.wait_for(0ms).has_value());
  const Completed done = sleeper.wait();
  CHECK(support::exited_with(done, 0));
  CHECK(done.out.text() == "a\nb\n");
  CHECK(done.elapsed >= 1s);
}

TEST_CASE("wait_for gives up at its limit also when the output never pauses") {
  RunOptions options = options_with_path();
  options.on_output = [](cordon::process::Stream, std::string_view) { std::this_thread::sleep_for(10ms); };
  auto child = cordon::process::spawn(unconfined(Argv({"timeout", "20", "yes"})), options);
  const auto begun = std::chrono::steady_clock::now();
  CHECK_FALSE(child.wait_for(300ms).has_value());
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("kill ends a command that would not end, and wait says by what") {
  auto child =
      cordon::process::spawn(unconfined(Argv({"/bin/sh", "-c", "trap '' TERM INT; sleep 600"})), options_with_path());
  child.kill();
  CHECK(child.wait().ending == cordon::process::Ending(Signalled{SIGKILL}));
  CHECK_NOTHROW(child.kill());
}

TEST_CASE("A child that is given up is ended and reaped") {
  long pid = 0;
  {
    const auto child = cordon::process::spawn(unconfined(Argv({"sleep", "600"})), options_with_path());
    pid = child.pid();
    CHECK(::kill(static_cast<pid_t>(pid), 0) == 0);
    CHECK_FALSE(support::no_child_is_left());
  }
  CHECK(::kill(static_cast<pid_t>(pid), 0) == -1);
  CHECK(support::no_child_is_left());
}

TEST_CASE("A child can be moved, and only the last place ends it") {
  auto first = cordon::process::spawn(unconfined(Argv({"/bin/sh", "-c", "sleep 0.2; exit 9"})), options_with_path());
  auto second = std::move(first);
  { const auto gone = std::move(first); }
  CHECK(support::exited_with(second.wait(), 9));
}

TEST_CASE("F58: something in the background that holds the pipes delays the end by the drain limit only") {
  RunOptions options = options_with_path();
  options.drain_limit = 100ms;
  const auto begun = std::chrono::steady_clock::now();
  const Completed done = run_shell("setsid sleep 30 & echo $!; sleep 0.3; exit 2", options);
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
  CHECK(support::exited_with(done, 2));
  REQUIRE_FALSE(done.out.text().empty());
  CHECK(done.outlived >= 1);
  CHECK(::kill(std::stoi(done.out.text()), 0) == -1);
}

TEST_CASE("F58: something in the background that never stops writing delays the end by the drain limit only") {
  RunOptions options = options_with_path();
  options.drain_limit = 100ms;
  options.on_output = [](cordon::process::Stream, std::string_view) { std::this_thread::sleep_for(10ms); };
  const auto begun = std::chrono::steady_clock::now();
  const Completed done = run_shell("setsid timeout 20 yes & sleep 0.3; exit 2", options);
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  CHECK(support::exited_with(done, 2));
}

TEST_CASE("A command's limits end it, and the first cause is its ending") {
  using cordon::process::Cancelled;
  using cordon::process::Ending;
  using cordon::process::OutputLimit;
  using cordon::process::TimedOut;
  RunOptions options = options_with_path();
  options.limits.grace = 100ms;
  const auto begun = std::chrono::steady_clock::now();
  SECTION("wall time") {
    options.limits.wall = 200ms;
    CHECK(run_shell("sleep 600", options).ending == Ending(TimedOut{TimedOut::Limit::wall}));
  }
  SECTION("T-EXE-02: also when it exits with 0 on SIGTERM") {
    options.limits.wall = 200ms;
    options.limits.grace = 10s;
    const Completed done = run_shell("trap 'echo bye; exit 0' TERM; echo here; while :; do sleep 0.05; done", options);
    CHECK(done.ending == Ending(TimedOut{TimedOut::Limit::wall}));
    CHECK(done.out.text() == "here\nbye\n");
  }
  SECTION("also when it traps SIGTERM and stays") {
    options.limits.wall = 200ms;
    CHECK(run_shell("trap '' TERM; while :; do sleep 0.05; done", options).ending ==
          Ending(TimedOut{TimedOut::Limit::wall}));
  }
  SECTION("time without output, which output puts off") {
    options.limits.idle = 400ms;
    const Completed done = run_shell("for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; sleep 600", options);
    CHECK(done.ending == Ending(TimedOut{TimedOut::Limit::idle}));
    CHECK(done.out.text() == "1\n2\n3\n4\n5\n");
  }
  SECTION("output") {
    options.limits.output = 100'000;
    const Completed done = run_shell("yes", options);
    CHECK(done.ending == Ending(OutputLimit{}));
    CHECK(done.out.seen() > 100'000);
  }
  SECTION("a stop, asked for by another thread") {
    std::stop_source source;
    options.limits.stop = source.get_token();
    std::jthread asker([&] {
      std::this_thread::sleep_for(200ms);
      source.request_stop();
    });
    CHECK(run_shell("sleep 600", options).ending == Ending(Cancelled{}));
  }
  SECTION("T-SPN-20: a stop that was asked for before, and nothing starts") {
    std::stop_source source;
    source.request_stop();
    options.limits.stop = source.get_token();
    const support::TempDirectory directory;
    CHECK(run_shell("echo x >" + directory.path() + "/ran", options).ending == Ending(Cancelled{}));
    CHECK_FALSE(support::exists(directory.path() + "/ran"));
  }
  SECTION("a limit that is not reached changes nothing") {
    options.limits.wall = 20s;
    options.limits.idle = 20s;
    options.limits.output = 100;
    CHECK(run_shell("echo x; exit 3", options).ending == Ending(cordon::process::Exited{3}));
  }
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  CHECK(support::no_child_is_left());
}

TEST_CASE("T-EXE-10: what has ended and was reaped by nobody is nothing that is left") {
  const auto done = run_shell("true & true & exec sleep 0.2");
  CHECK(support::exited_with(done, 0));
  CHECK(done.outlived == 0);
  CHECK(done.elapsed < 2s);
  CHECK(run_shell("sleep 0.3 >/dev/null 2>&1 & exec sleep 0.05").outlived == 1);
}

TEST_CASE("T-EXE-08: the end of a parent takes none of its children out of the reach of SIGTERM") {
  for (int i = 0; i != 20; ++i) {
    RunOptions options = options_with_path();
    options.limits.output = 100'000;
    options.limits.grace = 20s;
    const auto begun = std::chrono::steady_clock::now();
    CHECK(run_shell("(yes & yes; true); true", options).ending ==
          cordon::process::Ending(cordon::process::OutputLimit{}));
    CHECK(std::chrono::steady_clock::now() - begun < 10s);
  }
}

TEST_CASE("T-EXE-08: a descendant in a session of its own that traps SIGTERM is ended after the grace") {
  RunOptions options = options_with_path();
  options.limits.wall = 500ms;
  options.limits.grace = 300ms;
  const std::string stubborn = "trap \"\" TERM; echo $$; while :; do sleep 0.05; done";
  const Completed done = run_shell("setsid sh -c '" + stubborn + "' & sleep 600", options);
  CHECK(done.ending == cordon::process::Ending(cordon::process::TimedOut{}));
  REQUIRE_FALSE(done.out.text().empty());
  CHECK(::kill(std::stoi(done.out.text()), 0) == -1);
  CHECK(support::no_child_is_left());
}

TEST_CASE("F59, F64: what a command leaves behind has ended when the command has, wherever it went") {
  const std::string where = GENERATE("setsid sleep 600 >/dev/null 2>&1 & echo $!",
                                     "(setsid sh -c 'sleep 600 >/dev/null 2>&1 & echo $!' &) ; sleep 0.2",
                                     "for i in 1 2 3 4 5 6 7 8; do setsid sleep 600 >/dev/null 2>&1 & done; echo $!");
  const Completed done = run_shell(where);
  CHECK(support::exited_with(done, 0));
  REQUIRE_FALSE(done.out.text().empty());
  CHECK(::kill(std::stoi(done.out.text()), 0) == -1);
  CHECK(done.outlived >= 1);
  CHECK(done.tree == cordon::process::TreeKeeper::subreaper);
  CHECK(support::no_child_is_left());
}

TEST_CASE("F77: processes that keep forking away are ended all the same") {
  RunOptions options = options_with_path();
  options.limits.wall = 500ms;
  options.limits.grace = 0ms;
  const auto begun = std::chrono::steady_clock::now();
  // Each generation leaves its session, makes the next one, and is gone.
  const support::TempDirectory directory;
  std::ofstream(directory.path() + "/next") << "setsid sh \"$0\" & exit 0\n";
  const Completed done = run_shell("sh " + directory.path() + "/next & sleep 600", options);
  CHECK(done.ending == cordon::process::Ending(cordon::process::TimedOut{}));
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  CHECK(support::no_child_is_left());
}

TEST_CASE("A command that is killed by itself was signalled, also with kill -9 $$") {
  CHECK(run_shell("kill -9 $$").ending == cordon::process::Ending(cordon::process::Signalled{9}));
}

TEST_CASE("What a background process writes within the drain limit is still collected") {
  RunOptions options = options_with_path();
  options.drain_limit = 10s;
  const Completed done = run_shell("setsid sh -c 'sleep 1; echo late' & sleep 0.3; echo early", options);
  CHECK(done.out.text() == "early\nlate\n");
}

TEST_CASE("F78: two hundred commands leak no descriptor and no process") {
  (void)run(Argv({"true"}));
  const auto before = support::open_descriptors();
  for (int i = 0; i != 100; ++i) {
    RunOptions options = options_with_path();
    if (i % 2 == 0) options.input = Input::bytes("x");
    REQUIRE(support::exited_with(run(Argv({"true"}), options), 0));
    REQUIRE(not_executable(run(Argv({"/nonexistent"}))) == ENOENT);
  }
  CHECK(support::open_descriptors() == before);
  CHECK(support::no_child_is_left());
}

TEST_CASE("Threads that start commands at the same time don't get in each other's way") {
  std::array<int, 4> good{};
  {
    std::vector<std::thread> threads;
    for (std::size_t id = 0; id != good.size(); ++id)
      threads.emplace_back([&good, id] {
        for (int i = 0; i != 15; ++i) {
          RunOptions options = options_with_path();
          const std::string content = std::to_string(id) + "-" + std::to_string(i) + sized(20000);
          options.input = Input::bytes(content);
          const Completed done = run(Argv({"cat"}), std::move(options));
          if (support::exited_with(done, 0) && done.out.text() == content) ++good[id];
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(good == std::array<int, 4>{15, 15, 15, 15});
  CHECK(support::no_child_is_left());
}

TEST_CASE("F61: a command outlives the thread that started it") {
  std::optional<cordon::process::Child> child;
  std::thread([&] {
    child.emplace(
        cordon::process::spawn(unconfined(Argv({"/bin/sh", "-c", "sleep 0.5; exit 8"})), options_with_path()));
  }).join();
  CHECK(support::exited_with(child->wait(), 8));
}

TEST_CASE("A command is kept also when the storage of the thread that started it is gone") {
  std::optional<cordon::process::Child> child;
  const auto start = [](void* place) -> void* {
    static_cast<std::optional<cordon::process::Child>*>(place)->emplace(cordon::process::spawn(
        unconfined(Argv({"/bin/sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!; sleep 60"})),
        options_with_path()));
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{100} << 20U);  // too large to be kept for the next thread
  REQUIRE(::pthread_create(&thread, &attributes, start, &child) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  CHECK_FALSE(child->wait_for(200ms));
  child->kill();
  const auto done = child->wait();
  CHECK(done.ending == cordon::process::Ending(Signalled{SIGKILL}));
  CHECK(::kill(std::stoi(done.out.text()), 0) == -1);
}

TEST_CASE("A program may ignore SIGCHLD, wait for any child, or have a SIGCHLD handler: commands are none of theirs") {
  static std::atomic<int> heard{0};
  heard = 0;
  struct sigaction action {};
  struct sigaction before {};
  const bool ignored = GENERATE(true, false);
  action.sa_handler = ignored ? SIG_IGN : [](int) { ++heard; };
  ::sigaction(SIGCHLD, &action, &before);
  std::atomic<bool> stop{false};
  std::atomic<int> stolen{0};
  std::thread thief([&] {
    while (!stop) {
      if (::waitpid(-1, nullptr, WNOHANG) > 0) ++stolen;
      std::this_thread::sleep_for(1ms);
    }
  });
  for (int code = 0; code != 20; ++code)
    CHECK(support::exited_with(run(Argv({"/bin/sh", "-c", "exit " + std::to_string(code)})), code));
  stop = true;
  thief.join();
  ::sigaction(SIGCHLD, &before, nullptr);
  CHECK(stolen == 0);
  CHECK(heard == 0);
}

TEST_CASE("The candidates of a lookup are the absolute directories of PATH, in order") {
  using cordon::process::detail::exec_candidates;
  using Paths = std::vector<std::string>;
  CHECK(exec_candidates("p", {"PATH=/a:b::/c:."}) == Paths{"/a/p", "/c/p"});
  CHECK(exec_candidates("p", {"PATH="}) == Paths{});
  CHECK(exec_candidates("./p", {"PATH=/a"}) == Paths{"./p"});
  CHECK(exec_candidates("/x/p", {"PATH=/a"}) == Paths{"/x/p"});
  CHECK(exec_candidates("p", {"PATH=/first", "PATH=/second"}) == Paths{"/first/p"});
}
