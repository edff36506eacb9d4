// SPDX-License-Identifier: BSL-1.0

// Whose fault is it? What the command does or prints is always its own result; what the runner can't do never is.

#include <signal.h>

#include <sstream>
#include <thread>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::SandboxUnavailableError;
using cordon::process::Exited;
using cordon::process::NotExecutable;
using cordon::process::Signalled;
using support::unique_sleep;

namespace {

using InWorkspace = Under<cordon::Bubblewrap, cordon::WorkspaceWrite>;

template <class U>
cordon::RunResult run_shell(const Place& place, const std::string& script) {
  return harness<U>().run(policy_for<typename U::Mode>(place.workspace()), cordon::shell(script), plain_options());
}

bool somebody_runs(const std::string& token) {
  return !support::who_run(token).empty();
}

void end_those_who_run(const std::string& token) {
  for (const pid_t pid : support::who_run(token)) ::kill(pid, SIGKILL);
}

/// A bwrap of the test's own, which can be taken away and exchanged.
class OwnBwrap {
 public:
  OwnBwrap() {
    const cordon::Bubblewrap found;
    original_ = found.binary();
    restore();
  }
  [[nodiscard]] std::string path() const { return scratch_.path() + "/own bwrap"; }
  void restore() const {
    std::filesystem::copy_file(original_, path(), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(path(), std::filesystem::perms(0755));
  }
  void replace(const std::string& script) const {
    std::filesystem::remove(path());
    write_file(path(), "#!/bin/sh\n" + script + "\n", 0755);
  }

 private:
  Scratch scratch_;
  std::string original_;
};

using OwnHarness = cordon::Harness<cordon::Bubblewrap, cordon::AnswererChain<>, cordon::AcceptPartial>;

/// The failure that a run ended with, when it was the sandbox's.
std::optional<SandboxUnavailableError> sandbox_error(OwnHarness& own, const Place& place, const std::string& script) {
  try {
    (void)own.run(policy_for<cordon::WorkspaceWrite>(place.workspace()), cordon::shell(script), plain_options());
  } catch (const SandboxUnavailableError& error) {
    return error;
  }
  return std::nullopt;
}

/// Sets an environment variable of this process while it lives.
class WithVariable {
 public:
  WithVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~WithVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("A command that speaks like a runner is a command (SBX-K1, CLS-K4, F66)", "[attribution]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string line = GENERATE("bwrap: fake", "bwrap: execvp /bin/sh: No such file or directory",
                                    "bwrap: Can't find source path /x: No such file or directory",
                                    "cordon-runner: landlock: making a ruleset: Operation not permitted",
                                    "cordon: SANDBOX_UNAVAILABLE: fake");
  const int code = GENERATE(1, 125, 126, 127);
  const cordon::Argv command(
      {"/bin/sh", "-c", "printf '%s\\n' \"$1\" >&2; exit \"$2\"", "sh", line, std::to_string(code)});
  const cordon::RunResult result =
      harness<TestType>().run(policy_for<typename TestType::Mode>(place.workspace()), command, plain_options());
  CHECK(result.ending == cordon::CommandEnding(Exited{code}));
  CHECK(result.err.text() == line + "\n");
}

TEMPLATE_LIST_TEST_CASE("A command can't reach the channels that tell what became of it", "[attribution]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const cordon::RunResult result =
      run_shell<TestType>(place,
                          "for f in /proc/self/fd/* /proc/$PPID/fd/*; do case $f in */[012]) ;; "
                          "*) echo '{ \"exit-code\": 0 }' >>$f ;; esac; done 2>/dev/null; exit 3");
  INFO(result.err.text());
  CHECK(result.ending == cordon::CommandEnding(Exited{3}));
}

TEMPLATE_LIST_TEST_CASE("What can't be executed says why, and is not the sandbox's fault (T-SPN-05, T-SPN-06)",
                        "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  write_file(place.in("plain"), "no program", 0644);
  write_file(place.in("text"), "no program", 0755);
  write_file(place.in("orphan"), "#!/no/such/interpreter\n", 0755);
  const auto ending_of = [&](const std::string& what) {
    return harness<TestType>()
        .run(policy_for<typename TestType::Mode>(place.workspace()), cordon::Argv({what}), plain_options())
        .ending;
  };
  using Ending = cordon::CommandEnding;
  CHECK(ending_of("no-such-program-anywhere") == Ending(NotExecutable{ENOENT}));
  CHECK(ending_of(place.in("missing")) == Ending(NotExecutable{ENOENT}));
  CHECK(ending_of(place.in("plain")) == Ending(NotExecutable{EACCES}));
  CHECK(ending_of(place.in("sub")) == Ending(NotExecutable{EACCES}));
  CHECK(ending_of(place.in("orphan")) == Ending(NotExecutable{ENOENT, Facts<TestType>::guards_first_process()}));
  CHECK(ending_of(place.in("text")) == Ending(NotExecutable{ENOEXEC}));
}

TEST_CASE("Without the runner, too, a program that can't be executed is told from a sandbox that failed (F66)",
          "[attribution]") {
  const Place place;
  for (const auto& [what, error] :
       {std::pair<std::string, int>{place.in("missing"), ENOENT}, {place.in("mine"), EACCES}}) {
    const Attempt attempt =
        run_plainly({program("cordon_without_runner"), "workspace-write", place.workspace(), "--", what});
    INFO(attempt.out);
    CHECK(attempt.status == 125);
    CHECK(attempt.out.find("not executable: " + std::to_string(error)) != std::string::npos);
  }
  const Attempt forged = run_plainly({program("cordon_without_runner"), "read-only", place.workspace(), "--", "/bin/sh",
                                      "-c", "echo 'bwrap: execvp sh: No such file or directory' >&2; exit 1"});
  CHECK(forged.status == 1);
  CHECK(forged.out.find("not executable") == std::string::npos);
}

TEST_CASE("A root that is gone when the command is to start is the sandbox's failure (T-KRN-23)", "[attribution]") {
  const Place place;
  if (!usable<InWorkspace>(place)) return;
  const std::string extra = place.path() + "/extra";
  std::filesystem::create_directory(extra);
  std::filesystem::create_directory(place.in("kept"));
  cordon::PolicyRequest request;
  request.workspace_root = place.workspace();
  const std::string what = GENERATE("extra root", "protected path", "workspace");
  std::string gone = place.workspace();
  if (what == "extra root") request.write = {gone = extra};
  if (what == "protected path") request.protect = {gone = place.in("kept")};
  const auto policy = policy_for<cordon::WorkspaceWrite>(request);
  std::filesystem::remove_all(gone);

  cordon::process::RunOptions options = plain_options();
  options.working_directory = "/";
  const std::string marker = place.out("executed");
  try {
    (void)harness<InWorkspace>().run(policy, cordon::shell("echo ran; touch '" + marker + "'"), options);
    FAIL("it ran without its " << what);
  } catch (const SandboxUnavailableError& error) {
    REQUIRE(error.failure());
    CHECK_FALSE(error.failure()->stage.empty());
    INFO(error.what());
    CHECK(std::string(error.what()).find(gone) != std::string::npos);
  }
  CHECK_FALSE(place.outside_changed());
  // The workspace itself is where the command would start: the error is about that.
  if (what == "workspace")
    CHECK_THROWS_AS((void)harness<InWorkspace>().run(policy, cordon::shell("true"), plain_options()), cordon::Error);
  // The next command, under a policy that holds, is not affected.
  const Place other;
  CHECK(run_under<InWorkspace>(other, cordon::shell("echo fine >here")).succeeded());
}

TEST_CASE(
    "A bwrap that disappears or changes after it was probed is the sandbox's failure, and noticed when it is back "
    "(T-SPN-01, T-SPN-08, T-SPN-14, T-SPN-15, T-SPN-19)",
    "[attribution]") {
  const Place place;
  if (!usable<InWorkspace>(place)) return;
  const OwnBwrap bwrap;
  OwnHarness own{cordon::Bubblewrap({.binary = bwrap.path()})};
  REQUIRE_FALSE(sandbox_error(own, place, "echo first >ran"));

  SECTION("gone, or not executable any more") {
    const int reason = GENERATE(ENOENT, EACCES, ENOEXEC);
    if (reason == ENOENT) std::filesystem::remove(bwrap.path());
    if (reason == EACCES) std::filesystem::permissions(bwrap.path(), std::filesystem::perms(0644));
    if (reason == ENOEXEC) {
      std::filesystem::remove(bwrap.path());
      write_file(bwrap.path(), "\1\2\3 no program", 0755);
    }
    const auto error = sandbox_error(own, place, "echo second >ran");
    REQUIRE(error);
    REQUIRE(error->failure());
    CHECK(error->failure()->stage == "exec-runner");
    CHECK(error->failure()->error == reason);
    CHECK(std::string(error->what()).find(bwrap.path()) != std::string::npos);
  }
  SECTION("fails") {
    bwrap.replace("echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2; exit 1");
    const auto error = sandbox_error(own, place, "echo second >ran");
    REQUIRE(error);
    REQUIRE(error->failure());
    CHECK(error->failure()->stage == "runner");
    CHECK(error->failure()->detail == "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted");
  }
  SECTION("ends well without doing anything") {
    bwrap.replace("exit 0");
    const auto error = sandbox_error(own, place, "echo second >ran");
    REQUIRE(error);
    CHECK(error->failure());
  }
  SECTION("kills itself") {
    bwrap.replace("kill -9 $$");
    CHECK(sandbox_error(own, place, "echo second >ran"));
  }
  CHECK(read_file(place.in("ran")) == "first\n");
  CHECK_FALSE(place.outside_changed());
  std::filesystem::remove(bwrap.path());
  bwrap.restore();
  CHECK_FALSE(sandbox_error(own, place, "echo third >ran"));
  CHECK(read_file(place.in("ran")) == "third\n");
}

TEST_CASE(
    "What the probe meets decides: a bwrap that fails, hangs or confines nothing runs nothing (F1, F2, F5, F6, F13)",
    "[attribution]") {
  const Place place;
  const OwnBwrap bwrap;
  const auto failing = [](const std::string& text) { return "echo '" + text + "' >&2; exit 1"; };
  const std::string script =
      GENERATE_COPY(failing("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"),
                    failing("bwrap: Can.t read /proc/sys/kernel/overflowuid: Permission denied"),
                    failing("bwrap: No permissions to create new namespace"),
                    failing("bwrap: Failed to make / slave: Permission denied"),
                    failing("bwrap: pivot_root: Invalid argument"), std::string("sleep 60"), std::string("exit 0"),
                    // confines nothing, but runs what it is given
                    std::string("while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\""));
  bwrap.replace(script);
  OwnHarness own{cordon::Bubblewrap({.binary = bwrap.path(), .probe_limit = std::chrono::milliseconds(700)})};
  INFO(script);
  const auto error = sandbox_error(own, place, "touch here '" + place.out("executed") + "'");
  REQUIRE(error);
  CHECK(std::string(error->what()).find("bubblewrap") != std::string::npos);
  CHECK_FALSE(exists(place.in("here")));
  CHECK_FALSE(place.outside_changed());
}

TEST_CASE("Without any bwrap nothing runs (F13)", "[attribution]") {
  const Place place;
  const WithVariable path("PATH", "/nonexistent");
  OwnHarness own;
  CHECK(sandbox_error(own, place, "touch '" + place.out("executed") + "'"));
  CHECK_FALSE(place.outside_changed());
}

TEST_CASE("A bwrap that lies in the workspace is never the sandbox (SBX-K12)", "[attribution]") {
  const Place place;
  if (!usable<InWorkspace>(place)) return;
  const std::string marker = place.out("planted-ran");
  write_file(place.in("bwrap"), "#!/bin/sh\necho x >>'" + marker + "'\nexec /usr/bin/bwrap \"$@\"\n", 0755);

  SECTION("first in PATH") {
    const WithVariable path("PATH", place.workspace() + ":/usr/bin:/bin");
    OwnHarness own;
    (void)sandbox_error(own, place, "true");
  }
  SECTION("by way of a relative PATH entry") {
    const std::string before = std::filesystem::current_path().string();
    std::filesystem::current_path(place.workspace());
    {
      const WithVariable path("PATH", ".::/usr/bin:/bin");
      OwnHarness own;
      (void)sandbox_error(own, place, "true");
    }
    std::filesystem::current_path(before);
  }
  SECTION("named outright") {
    OwnHarness own{cordon::Bubblewrap({.binary = place.in("bwrap")})};
    CHECK(sandbox_error(own, place, "true"));
  }
  CHECK_FALSE(exists(marker));
}

TEMPLATE_LIST_TEST_CASE("Loader and shell variables meant for the command don't reach the runner (F72)",
                        "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("cc")) return;
  const std::string source = place.in("evil.c");
  const std::string library = place.in("evil.so");
  write_file(source, R"(#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
__attribute__((constructor)) static void loaded(void) {
  const char* marker = getenv("MARKER");
  int fd = marker ? open(marker, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd >= 0) close(fd);
  dprintf(1, "loaded into %s\n", program_invocation_short_name);
})");
  on_the_host("cc -shared -fPIC -o '" + library + "' '" + source + "'");
  write_file(place.in("env.sh"), "echo sourced; echo x >'" + place.out("sourced") + "'\n");

  cordon::process::RunOptions options = plain_options();
  for (const std::string& entry :
       {"LD_PRELOAD=" + library, "MARKER=" + place.out("marker"), "BASH_ENV=" + place.in("env.sh"),
        "ENV=" + place.in("env.sh"), "GCONV_PATH=" + place.workspace(),
        std::string("GLIBC_TUNABLES=glibc.malloc.check=3")})
    options.environment.push_back(entry);
  const Attempt attempt = run_under<TestType>(place, cordon::Argv({"/bin/true"}), options);
  INFO(attempt.err);
  CHECK(attempt.status == 0);
  CHECK(attempt.out == "loaded into true\n");  // into the command it was meant for, and into nothing before it
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE(
    "A command has the variables that it was given and those of its temp directory, none of the caller's or a runner's "
    "(F72, F73)",
    "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const WithVariable ours("CORDON_TEST_OURS", "the caller's");
  const cordon::process::RunOptions options = plain_options();
  std::vector<std::string> given = options.environment;
  std::sort(given.begin(), given.end());
  const auto variables = [](std::istringstream text) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
      if (!line.starts_with("TMPDIR=") && !line.starts_with("TMPPREFIX=")) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const cordon::Argv command({"/usr/bin/env"});
  CHECK(variables(std::istringstream(run_under<TestType>(place, command, options).out)) == given);
}

TEMPLATE_LIST_TEST_CASE("The plain argv confines whoever spawns it, FIFOs included (T-KRN-17)", "[attribution]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto policy = policy_for<typename TestType::Mode>(place.workspace());
  const auto plainly = [&](const std::string& script) {
    return run_plainly(harness<TestType>().confine(policy, cordon::Argv({"/bin/sh", "-c", script})).argv(),
                       {"PATH=/usr/bin:/bin", "LC_ALL=C", "GIVEN=to the command"});
  };
  CHECK(plainly("echo \"$GIVEN\"; exit 7").out == "to the command\n");
  CHECK(plainly("exit 7").status == 7);
  CHECK(plainly("echo x >'" + place.out("new") + "'").status != 0);
  const bool governs_fifos = !harness<TestType>()
                                  .confine(policy, cordon::Argv({"true"}))
                                  .enforcement()
                                  .missing()
                                  .contains(cordon::FileEffect::fifo_write);
  if (governs_fifos) CHECK(plainly("echo x >'" + place.out("fifo") + "'").status != 0);
  const bool writable = std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>;
  CHECK((plainly("echo x >'" + place.in("new") + "'").status == 0) == writable);
  CHECK(exists(place.in("new")) == writable);
  CHECK_FALSE(place.outside_changed());

  const Attempt missing = run_plainly(harness<TestType>().confine(policy, cordon::Argv({"/no/such/program"})).argv());
  CHECK(missing.status == 125);
  CHECK(missing.out.find("cordon-runner: ") == 0);
  CHECK(std::count(missing.out.begin(), missing.out.end(), '\n') == 1);
}

TEMPLATE_LIST_TEST_CASE("A signal is a signal, an exit is an exit (SBX-K13)", "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  using Ending = cordon::CommandEnding;
  CHECK(run_shell<TestType>(place, "kill -9 $$").ending == Ending(Signalled{9}));
  CHECK(run_shell<TestType>(place, "kill -15 $$").ending == Ending(Signalled{15}));
  CHECK(run_shell<TestType>(place, "kill -6 $$").ending == Ending(Signalled{6}));
  CHECK(run_shell<TestType>(place, "exit 0").ending == Ending(Exited{0}));
  CHECK(run_shell<TestType>(place, "exit 7").ending == Ending(Exited{7}));
  CHECK(run_shell<TestType>(place, "exit 128").ending == Ending(Exited{128}));
  CHECK(run_shell<TestType>(place, "exit 255").ending == Ending(Exited{255}));
}

TEMPLATE_LIST_TEST_CASE("Killing a child ends all that it started", "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string together = unique_sleep();
  const std::string apart = unique_sleep();
  const auto confined =
      harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()),
                                  cordon::shell("trap '' HUP TERM INT; sleep " + together + " & (sleep " + together +
                                                " &); setsid sleep " + apart + " & sleep 0.1; echo up; wait"));
  cordon::process::RunOptions options = plain_options();
  bool up = false;
  options.on_output = [&](cordon::process::Stream, std::string_view) { up = true; };
  auto child = cordon::process::spawn(confined, std::move(options));
  for (int i = 0; i != 100 && !up; ++i) (void)child.wait_for(std::chrono::milliseconds(50));
  REQUIRE(up);
  CHECK(somebody_runs(together));
  CHECK(somebody_runs(apart));
  child.kill();
  const auto done = child.wait();
  CHECK_FALSE(std::holds_alternative<Exited>(done.ending));
  CHECK(soon([&] { return !somebody_runs(together); }));
  // A session of its own is out of reach without a process table of its own: LLR-K9.
  CHECK(soon([&] { return !somebody_runs(apart); }));
  end_those_who_run(apart);
}

TEST_CASE("A cancel at any moment means that nothing runs on", "[attribution]") {
  const Place place;
  if (!usable<InWorkspace>(place)) return;
  const auto policy = policy_for<cordon::WorkspaceWrite>(place.workspace());
  for (int i = 0; i != 30; ++i) {
    const auto confined = harness<InWorkspace>().confine(policy, cordon::shell("sleep 0.1; echo x >>late"));
    auto child = cordon::process::spawn(confined, plain_options());
    ::usleep(static_cast<useconds_t>(i) * 1000);
    child.kill();
    (void)child.wait();
  }
  ::usleep(300000);
  CHECK_FALSE(exists(place.in("late")));
}

TEMPLATE_LIST_TEST_CASE("What a command leaves running is gone when it has ended (F59, LLR-K9)", "[attribution]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string together = unique_sleep();
  const std::string apart = unique_sleep();
  const cordon::RunResult result = run_shell<TestType>(
      place, "trap '' HUP TERM; sleep " + together + " >/dev/null 2>&1 & setsid sleep " + apart +
                 " >/dev/null 2>&1 & (setsid nohup sleep " + apart + " >/dev/null 2>&1 &); sleep 0.1; exit 4");
  CHECK(result.ending == cordon::CommandEnding(Exited{4}));
  CHECK(soon([&] { return !somebody_runs(together); }));
  CHECK(soon([&] { return !somebody_runs(apart); }));
  end_those_who_run(apart);
}

TEMPLATE_LIST_TEST_CASE("A command can't leave a sibling of its own to the next command, or to its caller",
                        "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string token = unique_sleep();
  const cordon::RunResult result = harness<TestType>().run(policy_for<typename TestType::Mode>(place.workspace()),
                                                           payload("leave-sibling", {token}), plain_options());
  CHECK(result.ending == cordon::CommandEnding(Exited{0}));
  CHECK(soon([&] { return !somebody_runs(token); }));
  end_those_who_run(token);
  siginfo_t ours{};
  (void)::waitid(P_ALL, 0, &ours, WEXITED | WNOHANG | WNOWAIT | __WALL);
  CHECK(ours.si_pid == 0);
}

TEMPLATE_LIST_TEST_CASE("A fork of the caller takes nothing away from it, and can run commands itself", "[attribution]",
                        Writing) {
  const Place place;
  if (landlock_alone<TestType> || !usable<TestType>(place)) return;
  using Own = cordon::Harness<typename TestType::Backend, cordon::AnswererChain<>, cordon::AcceptPartial>;
  std::optional<Own> own(std::in_place);
  const auto policy = policy_for<typename TestType::Mode>(place.workspace());
  CHECK(own->run(policy, cordon::shell("echo kept >/tmp/file"), plain_options()).out.text().empty());
  if (own->run(policy, cordon::shell("cat /tmp/file"), plain_options()).out.text().empty()) return;  // not kept
  const pid_t fork = ::fork();
  if (fork == 0) {
    bool good = false;
    try {
      good = own->run(policy, cordon::shell("cat /tmp/file"), plain_options()).out.text() == "kept\n";
      own.reset();
    } catch (const std::exception&) {
      good = false;
    }
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(fork, &status, 0);
  CHECK(status == 0);
  CHECK(own->run(policy, cordon::shell("cat /tmp/file"), plain_options()).out.text() == "kept\n");
}

TEMPLATE_LIST_TEST_CASE("What was prepared and then killed by somebody is made anew", "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  CHECK(run_shell<TestType>(place, "exit 3").ending == cordon::CommandEnding(Exited{3}));
  for (const long keeper : cordon::os::children_of(::getpid()))
    for (const long prepared : cordon::os::children_of(keeper)) {
      ::kill(static_cast<pid_t>(prepared), SIGKILL);
      CHECK(soon([&] { return ::kill(static_cast<pid_t>(prepared), 0) != 0; }));
    }
  CHECK(run_shell<TestType>(place, "exit 4").ending == cordon::CommandEnding(Exited{4}));
}

TEMPLATE_LIST_TEST_CASE("A program that replaces itself leaves nothing behind that was prepared", "[attribution]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place) || !Facts<TestType>::own_namespaces()) return;
  const std::string token = unique_sleep();
  const pid_t caller = ::fork();
  if (caller == 0) {
    HarnessOf<TestType> own;
    (void)own.run(policy_for<typename TestType::Mode>(place.workspace()), cordon::shell("true"), plain_options());
    if (!cordon::os::children_of(::getpid()).empty()) ::execlp("sleep", "sleep", token.c_str(), nullptr);
    ::_exit(1);
  }
  CHECK(soon([&] { return somebody_runs(token); }));
  // Nobody reaps the keeper then, but it has ended.
  CHECK(soon([&] {
    const auto left = cordon::os::children_of(caller);
    return std::all_of(left.begin(), left.end(), [](long pid) {
      return read_file("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
    });
  }));
  ::kill(caller, SIGKILL);
  ::waitpid(caller, nullptr, 0);
}

TEST_CASE("A program that changed its user and is killed leaves no command behind", "[attribution]") {
  if (::geteuid() != 0) return;
  const Place place;
  const std::string token = unique_sleep();
  const pid_t caller = ::fork();
  if (caller == 0) {
    std::optional<cordon::process::Child> child;
    cordon::Harness<>()
        .resolve({.mode = cordon::danger_full_access, .workspace_root = place.workspace()})
        .visit(
            [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
              child.emplace(cordon::process::spawn(cordon::UnconfinedArgv(full, cordon::Argv({"/bin/sleep", token})),
                                                   plain_options()));
            },
            [](const auto&) {});
    if (::setresuid(31337, 31337, 31337) != 0) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = -1;
  ::waitpid(caller, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(soon([&] { return !somebody_runs(token); }));
  end_those_who_run(token);
}

TEMPLATE_LIST_TEST_CASE("What a command leaves in a session of its own is counted, and heard within the drain limit",
                        "[attribution]", Confinements) {
  const Place place;
  // With bubblewrap all is gone together with the command.
  if (own_processes<TestType> || !usable<TestType>(place)) return;
  cordon::process::RunOptions options = plain_options();
  options.drain_limit = std::chrono::seconds(10);
  const cordon::RunResult result =
      harness<TestType>().run(policy_for<typename TestType::Mode>(place.workspace()),
                              cordon::shell("setsid sh -c 'sleep 1; echo late' & sleep 0.3; echo early"), options);
  CHECK(result.out.text() == "early\nlate\n");
  CHECK(result.outlived >= 1);
}

TEMPLATE_LIST_TEST_CASE("What has ended and was reaped by nobody is nothing that is left (T-EXE-10)", "[attribution]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const cordon::RunResult result = run_shell<TestType>(place, "true & true & exec sleep 0.2");
  CHECK(result.ending == cordon::CommandEnding(Exited{0}));
  if (!own_processes<TestType>) CHECK(result.outlived == 0);  // bubblewrap has a process of its own that may
}

TEMPLATE_LIST_TEST_CASE("A caller that ignores SIGCHLD gets the right result", "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  class IgnoreChildren {
   public:
    IgnoreChildren() { before_ = ::signal(SIGCHLD, SIG_IGN); }
    ~IgnoreChildren() { ::signal(SIGCHLD, before_); }
    IgnoreChildren(const IgnoreChildren&) = delete;
    IgnoreChildren& operator=(const IgnoreChildren&) = delete;

   private:
    void (*before_)(int);
  };
  const IgnoreChildren ignoring;
  CHECK(run_shell<TestType>(place, "exit 3").ending == cordon::CommandEnding(Exited{3}));
}

TEMPLATE_LIST_TEST_CASE("A command outlives the thread that spawned it (F61)", "[attribution]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto confined = harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()),
                                                    cordon::shell("sleep 0.3; exit 3"));
  std::optional<cordon::process::Child> child;
  std::thread([&] { child.emplace(cordon::process::spawn(confined, plain_options())); }).join();
  CHECK(child->wait().ending == cordon::process::Ending(Exited{3}));
}
