// SPDX-License-Identifier: BSL-1.0

// An observer sees what is refused to a command, whatever the command says about it, and changes nothing else.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "kernel/support.hpp"
#include "support/shown.hpp"

using namespace kernel_tests;
using cordon::CommandEnding;
using cordon::Denial;
using cordon::FileEffect;
using cordon::SandboxUnavailableError;
using cordon::process::Exited;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using support::unique_sleep;
using support::who_run;

namespace {

template <class U>
using Observing =
    cordon::Harness<cordon::Observed<typename U::Backend>, cordon::AnswererChain<>, cordon::AcceptPartial>;

template <class U>
Observing<U>& observing() {
  static Observing<U> shared;
  return shared;
}

template <class U>
cordon::RunResult observe(const Place& place, const cordon::Argv& command, RunOptions options = plain_options()) {
  return observing<U>().run(policy_for<typename U::Mode>(place.workspace()), command, std::move(options));
}

std::string listed(const cordon::RunResult& result) {
  std::string text = std::string(result.out.text()) + std::string(result.err.text());
  for (const Denial& denial : result.denials)
    text += std::string(name(denial.effect)) + " " + denial.path + " " + denial.error + " " + denial.system_call + "\n";
  return text;
}

bool denies(const cordon::RunResult& result, const std::string& path) {
  return std::any_of(result.denials.begin(), result.denials.end(),
                     [&](const Denial& denial) { return denial.path == path; });
}

/// An attempt outside, and what an observer says of it.
struct Expected {
  FileEffect effect;
  std::string attack;
  std::vector<std::string> arguments;
  std::string path;
  std::vector<std::string> calls;
};

std::vector<Expected> attempts_in(const Place& place) {
  const std::string file = place.out("file");
  const std::string fresh = place.out("new");
  std::vector<Expected> all{
      {FileEffect::create, "create-file", {fresh}, fresh, {"openat", "open"}},
      {FileEffect::create, "make-directory", {fresh}, fresh, {"mkdir", "mkdirat"}},
      {FileEffect::create, "make-symlink", {fresh}, fresh, {"symlink", "symlinkat"}},
      {FileEffect::create, "make-fifo", {fresh}, fresh, {"mknod", "mknodat"}},
      {FileEffect::create, "make-unnamed", {place.outside()}, place.outside(), {"openat", "open"}},
      {FileEffect::write, "append", {file}, file, {"openat", "open"}},
      {FileEffect::write, "write-mapped", {file}, file, {"openat", "open"}},
      {FileEffect::truncate, "truncate", {file}, file, {"truncate"}},
      {FileEffect::truncate, "open-truncating", {file}, file, {"openat", "open"}},
      {FileEffect::remove, "unlink", {file}, file, {"unlink", "unlinkat"}},
      {FileEffect::remove, "remove-directory", {place.out("empty")}, place.out("empty"), {"rmdir", "unlinkat"}},
      {FileEffect::rename_link, "rename", {file, place.out("renamed")}, file, {"rename", "renameat", "renameat2"}},
      {FileEffect::rename_link, "rename", {file, place.in("stolen")}, file, {"rename", "renameat", "renameat2"}},
      {FileEffect::rename_link, "link", {file, place.out("linked")}, file, {"link", "linkat"}},
      {FileEffect::rename_link, "link", {file, place.in("linked")}, file, {"link", "linkat"}},
      {FileEffect::metadata, "chmod", {file}, file, {"chmod", "fchmodat", "fchmodat2"}},
      {FileEffect::metadata, "chmod-descriptor", {file}, file, {"fchmod"}},
      {FileEffect::metadata, "chmod-newest", {file}, file, {"fchmodat2"}},
      {FileEffect::metadata, "chown-to-self", {file}, file, {"chown", "fchownat", "lchown"}},
      {FileEffect::metadata, "set-times", {file}, file, {"utimensat", "utimes", "futimesat"}},
      {FileEffect::fifo_write, "append", {place.out("fifo")}, place.out("fifo"), {"openat", "open"}},
  };
  if (place.has_attributes()) {
    all.push_back({FileEffect::metadata, "set-attribute", {file}, file, {"setxattr", "lsetxattr"}});
    all.push_back({FileEffect::metadata, "remove-attribute", {file}, file, {"removexattr", "lremovexattr"}});
  }
  if (is_root()) {
    all.push_back({FileEffect::device, "make-character-device", {fresh}, fresh, {"mknod", "mknodat"}});
    all.push_back({FileEffect::device, "open-for-writing", {place.out("null-node")}, place.out("null-node"), {}});
  } else if (exists(program("null-node"))) {  // which uid 0 left there for this test
    all.push_back({FileEffect::device, "open-for-writing", {program("null-node")}, program("null-node"), {}});
  }
  return all;
}

/// Gives this process a filter that answers EPERM to system call `number`, once and for all.
bool forbid(std::uint32_t number) {
  std::array<sock_filter, 4> code{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                   {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
                                   {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                                   {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

/// Follows a command until it has said that it is up, or has ended.
void await_up(cordon::Running& running) {
  while (running.read().out.text.find("up") == std::string::npos)
    if (running.wait_for(std::chrono::milliseconds(5))) return;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Each refused effect is a denial with its call, path and errno (F92, T-DEN-16)", "[observed]",
                        Confinements) {
  auto place = new_place();
  if (!usable<TestType>(*place)) return;
  const std::size_t count = attempts_in(*place).size();
  for (std::size_t i = 0; i != count; ++i) {
    const Expected expected = attempts_in(*place)[i];
    const auto result = observe<TestType>(*place, payload(expected.attack, expected.arguments));
    INFO(expected.attack << " " << expected.path << "\n" << listed(result));
    const Attempt attempt = attempt_of(result);
    if (attempt.impossible()) continue;
    if (attempt.succeeded()) {
      // What is not governed was not refused.
      CHECK(result.enforcement->missing().contains(cordon::EffectSet{expected.effect}));
      CHECK_FALSE(denies(result, expected.path));
      place = new_place();
      continue;
    }
    const auto found = std::find_if(result.denials.begin(), result.denials.end(), [&](const Denial& denial) {
      return denial.path == expected.path && denial.effect == expected.effect;
    });
    REQUIRE(found != result.denials.end());
    CHECK(found->evidence == cordon::Evidence::observed);
    CHECK((found->error == "EROFS" || found->error == "EACCES" || found->error == "EPERM" || found->error == "EXDEV"));
    CHECK((expected.calls.empty() ||
           std::find(expected.calls.begin(), expected.calls.end(), found->system_call) != expected.calls.end()));
    if (expected.effect == FileEffect::device)
      CHECK(found->grant.empty());
    else
      CHECK(found->grant == (expected.attack == "make-unnamed" ? expected.path : cordon::os::parent_of(expected.path)));
    CHECK(result.unlisted_refusals == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("A refusal is seen whatever the command says and how it exits, and what is named is absolute",
                        "[observed]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto result =
      observe<TestType>(place, cordon::shell("cd '" + place.outside() +
                                             "' && { echo x >new || true; } 2>/dev/null; rm -f ./directory/inner "
                                             "2>/dev/null; cd directory; { echo x >>../other; } 2>/dev/null; exit 0"));
  INFO(listed(result));
  CHECK(result.ending == CommandEnding(Exited{0}));
  CHECK(result.err.seen() == 0);
  CHECK(denies(result, place.out("new")));
  CHECK(denies(result, place.out("directory/inner")));
  CHECK(denies(result, place.out("other")));
  CHECK(result.denials.front().evidence == cordon::Evidence::observed);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("Processes of every kind are followed", "[observed]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto touch = [&](const std::string& name) { return "touch '" + place.out(name) + "' 2>/dev/null"; };
  std::string script = "(" + touch("forked") + "); sh -c \"exec sh -c \\\"exec touch '" + place.out("executed") +
                       "'\\\"\" 2>/dev/null; (setsid sh -c \"sleep 0.05; touch '" + place.out("daemon") +
                       "'\" >&2 & ) 2>/dev/null; sleep 0.2; ";
  const bool python = has_program("python3");
  if (python) {
    write_file(place.in("threads.py"), R"(
import os, subprocess, sys, threading
where = sys.argv[1]
def attempt(name):
    try: os.open(where + name, os.O_WRONLY | os.O_CREAT)
    except OSError: pass
threads = [threading.Thread(target=attempt, args=("thread%d" % i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
subprocess.run(["touch", where + "spawned"], stderr=subprocess.DEVNULL)
os.posix_spawnp("touch", ["touch", where + "vforked"], {"PATH": "/usr/bin:/bin"})
os.wait()
def replace():
    os.execvp("touch", ["touch", where + "by-thread"])
threading.Thread(target=replace).start()
threading.Event().wait(20)
)");
    script += "python3 threads.py '" + place.outside() + "/' 2>/dev/null; ";
  }
  const auto result = observe<TestType>(place, cordon::shell(script + "exit 4"));
  INFO(listed(result));
  CHECK(result.ending == CommandEnding(Exited{4}));
  for (const char* name : {"forked", "executed", "daemon"}) CHECK(denies(result, place.out(name)));
  if (python) {
    for (int i = 0; i != 8; ++i) CHECK(denies(result, place.out("thread" + std::to_string(i))));
    for (const char* name : {"spawned", "vforked", "by-thread"}) CHECK(denies(result, place.out(name)));
  }
}

TEMPLATE_LIST_TEST_CASE("What the sandbox did not refuse is no denial", "[observed]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto none = [&](const std::string& script) {
    const auto result = observe<TestType>(place, cordon::shell(script));
    INFO(script << "\n" << listed(result));
    CHECK(result.denials.empty());
  };
  none("echo '/etc/x: Read-only file system' >&2; exit 1");
  none("cat /etc/passwd /nonexistent >/dev/null 2>&1; exit 1");
  none("cd '" + place.outside() + "'; rm -f missing; rmdir missing; mv missing there; truncate -c -s 0 missing; true");
  none("echo x >/nonexistent/x; echo x >/dev/null; mkdir -p '" + place.out("directory") + "'");
  if constexpr (std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>) {
    none("echo x >here && chmod 000 here && echo y >>here; mkdir closed && chmod 000 closed && touch closed/x");
    none("mkdir -p a/b && mv a c && ln c/b/../../mine other && rm -r c other && touch -d yesterday mine");
    none("cd /tmp && mkdir -m 000 closed-$$ && touch closed-$$/x; rmdir closed-$$");
  }
  if (!is_root())
    none("echo x >/proc/version; touch /etc/x; rm /etc/passwd; chmod 600 /etc/passwd; mkdir /usr/x; echo >/etc/hosts");
}

TEMPLATE_LIST_TEST_CASE("A way out of the workspace is seen: by a symlink, old or new, by .., by a descriptor",
                        "[observed]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto result = observe<TestType>(
      place,
      cordon::shell("exec 2>/dev/null; mkdir d; echo x >d/a; ln -s '" + place.out("directory") +
                    "' way; echo x >way/one; mkdir way/two; echo x >>way/inner; cd d; echo x >../../outside/three; "
                    "ln -s '" +
                    place.out("file") +
                    "' link; echo x >>link; cd ..; mkdir e; echo x >e/a; rm -r e; "
                    "ln -s '" +
                    place.out("directory") +
                    "' e; echo x >e/a; truncate -s 0 e/inner; cd way; "
                    "echo x >four; true"));
  INFO(listed(result));
  CHECK(result.ending == CommandEnding(Exited{0}));
  for (const char* name :
       {"directory/one", "directory/two", "directory/inner", "three", "file", "directory/a", "directory/four"})
    CHECK(denies(result, place.out(name)));
  CHECK(result.denials.size() == 7);
}

TEMPLATE_LIST_TEST_CASE("A protected path in the workspace is seen, and no grant would help", "[observed]", Writing) {
  const Place place;
  if (!usable<TestType>(place) || !Facts<TestType>::protects) return;
  write_file(place.in("sub/kept"), "x");
  cordon::PolicyRequest request;
  request.workspace_root = place.workspace();
  request.protect = {place.in("sub")};
  const auto result = observing<TestType>().run(policy_for<cordon::WorkspaceWrite>(request),
                                                cordon::shell("echo x >mine; echo y >sub/kept; true"), plain_options());
  INFO(listed(result));
  REQUIRE(result.denials.size() == 1);
  CHECK(result.denials.front().path == place.in("sub/kept"));
  CHECK(result.denials.front().effect == FileEffect::truncate);
  CHECK(result.denials.front().grant.empty());
}

TEMPLATE_LIST_TEST_CASE("Status, output and signals are those of a command that nobody observes", "[observed]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  // With job control, so that stops and their ends are seen by a parent that waits for them.
  for (const std::string script :
       {"echo out; echo err >&2; exit 7", "kill -TERM $$", "kill -KILL $$",
        "trap 'echo caught; exit 5' USR1; kill -USR1 $$; sleep 20",
        "sleep 20 & kill -STOP $!; sleep 0.1; kill -CONT $!; sleep 0.1; kill $!; wait $!; echo $?",
        "set -m; sh -c 'kill -STOP $$; echo resumed' & sleep 0.2; jobs | cut -d' ' -f3-; fg >/dev/null; echo $?",
        "(sleep 0.1; kill -CONT $$) & kill -STOP $$; echo on; wait; echo $?",
        "sh -c 'exit 3' | cat; seq 1 20000 | tail -1; ulimit -c", "exec sh -c 'echo replaced; exit 9'"}) {
    const auto without = harness<TestType>().run(policy_for<typename TestType::Mode>(place.workspace()),
                                                 cordon::shell(script), plain_options());
    const auto with = observe<TestType>(place, cordon::shell(script));
    INFO(script << "\n" << listed(with));
    CHECK(with.ending == without.ending);
    CHECK(with.out.text() == without.out.text());
    CHECK(with.err.text() == without.err.text());
    CHECK(with.backend == without.backend);
    CHECK(with.enforcement == without.enforcement);
    CHECK(with.tree == without.tree);
  }
  CHECK(observe<TestType>(place, cordon::Argv({place.in("missing")})).ending ==
        CommandEnding(cordon::process::NotExecutable{ENOENT}));
}

TEMPLATE_LIST_TEST_CASE("An observed command is ended as any other, and nothing of it is left", "[observed]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string token = unique_sleep();
  const std::string script =
      "touch '" + place.out("new") + "' 2>/dev/null; (setsid sleep " + token + " &); echo up; exec sleep " + token;
  const auto policy = policy_for<typename TestType::Mode>(place.workspace());
  SECTION("by a time limit") {
    RunOptions options = plain_options();
    options.limits.wall = std::chrono::milliseconds(400);
    options.limits.grace = std::chrono::milliseconds(100);
    const auto result = observe<TestType>(place, cordon::shell(script), std::move(options));
    CHECK(std::holds_alternative<cordon::process::TimedOut>(result.ending));
    CHECK(denies(result, place.out("new")));
  }
  SECTION("by being cancelled, or killed, while it is stopped") {
    cordon::Running running = observing<TestType>().start(policy, cordon::shell(script), plain_options());
    await_up(running);
    for (const pid_t pid : who_run(token)) ::kill(pid, SIGSTOP);
    const bool cancel = GENERATE(true, false);
    cancel ? running.cancel() : running.kill();
    const auto result = running.wait();
    CHECK((cancel ? std::holds_alternative<cordon::process::Cancelled>(result.ending)
                  : std::holds_alternative<Signalled>(result.ending)));
    CHECK(denies(result, place.out("new")));
  }
  SECTION("by the end of its handle") {
    cordon::Running running = observing<TestType>().start(policy, cordon::shell(script), plain_options());
    await_up(running);
  }
  SECTION("by the key for an interrupt") {
    const support::Shown shown;
    cordon::Running running = observing<TestType>().start(policy, cordon::shell(script), shown.on(plain_options()));
    CHECK(shown.wait(running, "up"));
    running.type("\x03");
    CHECK(running.wait().ending == CommandEnding(Signalled{SIGINT}));
  }
  SECTION("by the end of the program") {
    const pid_t program = ::fork();
    if (program == 0) {
      cordon::Running running = observing<TestType>().start(policy, cordon::shell(script), plain_options());
      (void)running.wait();
      ::_exit(0);
    }
    CHECK(soon([&] { return who_run(token).size() >= 2; }));
    ::kill(program, SIGKILL);
    int status = 0;
    ::waitpid(program, &status, 0);
  }
  CHECK(soon([&] { return who_run(token).empty(); }));
}

TEMPLATE_LIST_TEST_CASE("When the observer is killed, everything of the command is, and the next one is observed again",
                        "[observed]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string token = unique_sleep();
  cordon::Running running = observing<TestType>().start(
      policy_for<typename TestType::Mode>(place.workspace()),
      cordon::shell("(setsid sleep " + token + " &); echo up; exec sleep " + token), plain_options());
  await_up(running);
  std::istringstream status(read_file("/proc/" + std::to_string(who_run(token).back()) + "/status"));
  long tracer = 0;
  for (std::string word; status >> word;)
    if (word == "TracerPid:") status >> tracer;
  REQUIRE(tracer > 1);
  CHECK(::kill(static_cast<pid_t>(tracer), SIGKILL) == 0);
  CHECK(running.wait().ending == CommandEnding(Signalled{SIGKILL}));
  CHECK(who_run(token).empty());
  CHECK(denies(observe<TestType>(place, cordon::shell("echo x >'" + place.out("new") + "'")), place.out("new")));
}

TEMPLATE_LIST_TEST_CASE("Two hundred processes at once are all seen", "[observed]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto result = observe<TestType>(place, cordon::shell("for i in $(seq 200); do (echo x >'" + place.out("new") +
                                                             "'$i; echo x >file$i) 2>/dev/null & "
                                                             "done; wait; ls file* | wc -l"));
  INFO(listed(result));
  CHECK(result.out.text().find("200") != std::string::npos);
  for (int i = 1; i <= 200; ++i) CHECK(denies(result, place.out("new" + std::to_string(i))));
  CHECK(result.unlisted_refusals == 0);
}

TEMPLATE_LIST_TEST_CASE("Of more refusals than there is room for, the first are listed and the others counted",
                        "[observed]", Reading) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("perl")) return;
  const auto result = observe<TestType>(
      place,
      cordon::Argv({"perl", "-e", "for (1..1500) { mkdir $ARGV[0] . $_; mkdir $ARGV[0] . 'same' }", place.out("new")}));
  CHECK(result.denials.size() >= 1000);
  CHECK(result.denials.size() + result.unlisted_refusals >= 1500);
  CHECK(result.unlisted_refusals > 0);
  CHECK(denies(result, place.out("new1")));
}

TEMPLATE_LIST_TEST_CASE("Fifty observed commands, in several threads, leave no process and no descriptor", "[observed]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto once = [&] {
    return denies(observe<TestType>(place, cordon::shell("echo x >'" + place.out("new") + "'; true")),
                  place.out("new"));
  };
  CHECK(once());
  observing<TestType>().backend().invalidate();
  const auto before = support::open_descriptors();
  std::atomic<int> seen{0};
  std::vector<std::thread> threads;
  for (int t = 0; t != 5; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i != 10; ++i)
        if (once()) ++seen;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == 50);
  observing<TestType>().backend().invalidate();
  CHECK(soon([] { return support::who_run("cordon-no-such-command").empty(); }));
  CHECK(support::open_descriptors() == before);
}

TEMPLATE_LIST_TEST_CASE("Where ptrace is not allowed nothing runs, and the error says why", "[observed]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  CHECK(in_fork([&] {
    if (!forbid(SYS_ptrace)) return false;
    Observing<TestType> own;
    try {
      (void)own.run(policy_for<typename TestType::Mode>(place.workspace()),
                    cordon::shell("touch here '" + place.out("new") + "'"), plain_options());
    } catch (const SandboxUnavailableError& error) {
      if (std::string(error.what()).find("ptrace") == std::string::npos) throw;
      return support::no_child_is_left();
    }
    return false;
  }));
  CHECK_FALSE(exists(place.in("here")));
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("A program that waits for any child, or ignores their ends, takes nothing from the observer",
                        "[observed]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const bool ignore = GENERATE(false, true);
  CHECK(in_fork([&] {
    if (ignore) ::signal(SIGCHLD, SIG_IGN);
    std::atomic<bool> done{false};
    std::thread thief([&] {
      int status = 0;
      while (!done) {
        ::waitpid(-1, &status, WUNTRACED | WCONTINUED);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    Observing<TestType> own;
    int good = 0;
    for (int i = 0; i != 5; ++i) {
      const auto result = own.run(policy_for<typename TestType::Mode>(place.workspace()),
                                  cordon::shell("touch here '" + place.out("new") + "'; exit 6"), plain_options());
      if (denies(result, place.out("new")) && result.ending == CommandEnding(Exited{6})) ++good;
    }
    done = true;
    thief.join();
    return good == 5;
  }));
}
