// SPDX-License-Identifier: BSL-1.0

// The bubblewrap backend against shell scripts that stand in for bwrap: broken ones, slow ones, and lying ones.

#include <cordon/backend/bubblewrap.hpp>
#include <cordon/backend/first_usable.hpp>

#include <chrono>
#include <set>

#include "support/catch.hpp"
#include "support/fake_bwrap.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/scripted_backend.hpp"

using cordon::Availability;
using cordon::Bubblewrap;
using cordon::BubblewrapOptions;
using cordon::ReadOnly;
using cordon::SandboxUnavailableError;
using cordon::WorkspaceWrite;
using support::FakeBwrap;
using support::policy;
using support::SelfIsRunner;
using support::TempDirectory;
using namespace std::chrono_literals;

namespace {

Bubblewrap made_from(const std::string& binary, std::chrono::milliseconds limit = 5s) {
  BubblewrapOptions options;
  options.binary = binary;
  options.probe_limit = limit;
  return Bubblewrap(std::move(options));
}

std::string reason(const Availability& verdict) {
  return verdict.problem() != nullptr ? verdict.problem()->reason : "";
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// The JSON that bubblewrap prints, on the descriptor that it was given for it: first, and with the command's end.
const std::string report_child =
    "status=$(tr '\\0' '\\n' <&3 | grep -A1 -x -e --json-status-fd | tail -n 1)\n"
    "eval \"echo '{ \\\"child-pid\\\": '$$' }' >&$status\"\n";
const std::string forged_status = report_child +
                                  "run_command \"$@\"\n"
                                  "eval \"echo '{ \\\"exit-code\\\": '$?' }' >&$status\"\n";

/// The real bubblewrap, when it works here.
std::string real_binary() {
  Bubblewrap real;
  return real.probe(policy<ReadOnly>()).usable() ? real.binary() : "";
}

}  // namespace

TEST_CASE(
    "F1, F2, F5, F6, F7, F8, F9, F10, F22: a bubblewrap that can't set up is unusable, in its own words, and nothing "
    "runs") {
  const std::string text = GENERATE(
      as<std::string>(), "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
      "bwrap: Can't read /proc/sys/kernel/overflowuid: Permission denied",
      "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user "
      "namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.",
      "bwrap: Failed to make / slave: Permission denied", "bwrap: pivot_root: Invalid argument",
      "bwrap: fchdir to oldroot: No such file or directory",
      "bwrap: Creating new namespace failed: No space left on device",
      "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces. bwrap must be "
      "installed setuid on such systems.",
      "bwrap: Can't bind mount / on /newroot/: Unable to apply mount flags: remount \"/newroot/mnt/share\": "
      "Permission denied");
  const SelfIsRunner guarded(GENERATE(false, true));
  const FakeBwrap fake(FakeBwrap::failing_with(text));
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory workspace;

  const Availability verdict = backend.probe(policy<WorkspaceWrite>(workspace.path()));
  REQUIRE_FALSE(verdict.usable());
  CHECK(says(reason(verdict), text));
  CHECK(says(reason(verdict), fake.binary()));
  CHECK_FALSE(verdict.problem()->remedy.empty());
  CHECK_FALSE(says(verdict.problem()->remedy, "full access"));

  const cordon::Argv command({"/bin/sh", "-c", "echo x >'" + workspace.path() + "/marker'"});
  CHECK_THROWS_AS(backend.wrap(policy<WorkspaceWrite>(workspace.path()), command), SandboxUnavailableError);
  CHECK_THROWS_AS(backend.wrap(policy<ReadOnly>(workspace.path()), command), SandboxUnavailableError);
  CHECK_FALSE(support::exists(workspace.path() + "/marker"));
  CHECK_FALSE(fake.ran_a_command());
}

TEST_CASE("F11: the error of a bubblewrap that fails has its words, the mode and a remedy") {
  const FakeBwrap fake(FakeBwrap::failing_with("bwrap: Failed to make / slave: Permission denied"));
  Bubblewrap backend = made_from(fake.binary());
  try {
    (void)backend.wrap(policy<WorkspaceWrite>(), cordon::shell("true"));
    FAIL("wrapped by a bubblewrap that can't run");
  } catch (const SandboxUnavailableError& error) {
    CHECK(error.code() == cordon::ErrorCode::sandbox_unavailable);
    CHECK(says(error.what(), "workspace-write"));
    CHECK(says(error.what(), "Failed to make / slave"));
    CHECK(says(error.what(), cordon::bubblewrap::remedy_for("Failed to make / slave")));
  }
}

TEST_CASE("A reason is one line without control characters, whatever was printed") {
  const FakeBwrap fake("printf 'first\\n\\033[2Jlast\\007\\r\\n\\n' >&2; exit 1\n");
  Bubblewrap backend = made_from(fake.binary());
  const std::string text = reason(backend.probe(policy<ReadOnly>()));
  CHECK(says(text, "last"));
  CHECK(std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

TEST_CASE("A bubblewrap that ends without a word, well or badly, is unusable") {
  const FakeBwrap fake(
      GENERATE(as<std::string>(), "exit 0\n", "exit 1\n", "exit 125\n", "kill -9 $$\n", "echo done; echo sink\n"));
  const SelfIsRunner guarded(GENERATE(false, true));
  Bubblewrap backend = made_from(fake.binary());
  CHECK_FALSE(backend.probe(policy<ReadOnly>()).usable());
  CHECK_FALSE(backend.probe(policy<WorkspaceWrite>()).usable());
  CHECK_FALSE(fake.ran_a_command());
}

TEST_CASE("T-PRV-03: a bad verdict is remembered for its mode, until invalidate") {
  const FakeBwrap fake(FakeBwrap::failing_with("bwrap: no"));
  Bubblewrap backend = made_from(fake.binary());
  CHECK(fake.starts() == 0);
  (void)backend.probe(policy<ReadOnly>());
  CHECK(fake.starts() == 1);
  for (int i = 0; i != 3; ++i)
    CHECK_THROWS_AS(backend.wrap(policy<ReadOnly>(), cordon::shell("true")), SandboxUnavailableError);
  CHECK(fake.starts() == 1);
  (void)backend.probe(policy<WorkspaceWrite>());
  CHECK(fake.starts() == 2);
  backend.invalidate();
  (void)backend.probe(policy<ReadOnly>());
  CHECK(fake.starts() == 3);
}

TEST_CASE("T-PRV-06: a good verdict stands for every later wrap of its mode") {
  const std::string real = real_binary();
  if (real.empty()) return;
  const FakeBwrap fake("exec " + real + " \"$@\"\n");
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory one;
  const TempDirectory two;
  for (const std::string& workspace : {one.path(), two.path(), one.path()})
    CHECK_NOTHROW(backend.wrap(policy<WorkspaceWrite>(workspace), cordon::shell("true")));
  CHECK(fake.starts() == 1);
}

TEST_CASE("T-PRV-08: a bubblewrap that takes longer than the probe limit is unusable") {
  const FakeBwrap fake(GENERATE(std::string(), report_child) + "exec sleep 60\n");
  Bubblewrap backend = made_from(fake.binary(), 500ms);
  const auto begun = std::chrono::steady_clock::now();
  const Availability verdict = backend.probe(policy<ReadOnly>());
  CHECK(std::chrono::steady_clock::now() - begun < 30s);
  REQUIRE_FALSE(verdict.usable());
  CHECK(says(reason(verdict), "time"));
  CHECK(support::no_child_is_left());
}

TEST_CASE("T-PRV-08: a bubblewrap that leaves something running can't hold the probe beyond its limit") {
  const std::string before = GENERATE(std::string(), report_child);
  const SelfIsRunner guarded(GENERATE(false, true));
  const FakeBwrap fake(before + "setsid sleep 20 &\necho $! >\"$dir/pid\"\nsleep 0.2\necho 'bwrap: no' >&2\nexit 1\n");
  Bubblewrap backend = made_from(fake.binary(), 500ms);
  const auto begun = std::chrono::steady_clock::now();
  const Availability verdict = backend.probe(policy<ReadOnly>());
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
  CHECK_FALSE(verdict.usable());
  (void)support::run_shell("kill " + support::content_of(fake.directory() + "/pid"));
}

TEST_CASE("F66: a bubblewrap that names its child and then fails has run nothing") {
  const FakeBwrap fake(report_child +
                       "echo \"bwrap: Can't find source path /x: No such file or directory\" >&2\nexit 1\n");
  const SelfIsRunner guarded(GENERATE(false, true));
  Bubblewrap backend = made_from(fake.binary());
  const Availability verdict = backend.probe(policy<ReadOnly>());
  REQUIRE_FALSE(verdict.usable());
  CHECK(says(reason(verdict), "find source path"));
  CHECK_FALSE(fake.ran_a_command());
}

TEST_CASE("F65: a bubblewrap that always ends with 1 does not change a command's exit code") {
  const std::string real = real_binary();
  if (real.empty()) return;
  const FakeBwrap fake(real + " \"$@\"\nexit 1\n");
  const SelfIsRunner guarded(GENERATE(false, true));
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory workspace;
  const int code = GENERATE(0, 1, 7);
  const auto confined =
      cordon::confine(backend, policy<WorkspaceWrite>(workspace.path()), cordon::shell("exit " + std::to_string(code)));
  CHECK(support::exited_with(cordon::process::run(confined, support::options_with_path()), code));
}

TEST_CASE("F65: a bubblewrap that is too old to tell how the command ended is unusable") {
  const FakeBwrap fake(FakeBwrap::failing_with("bwrap: Unknown option --json-status-fd"));
  Bubblewrap backend = made_from(fake.binary());
  CHECK(says(reason(backend.probe(policy<ReadOnly>())), "Unknown option --json-status-fd"));
}

TEST_CASE("A bubblewrap that runs the command unconfined is found out by what the command could do") {
  const std::string body = GENERATE(as<std::string>(), "run_command \"$@\"\n", forged_status);
  const bool guarded = GENERATE(false, true);
  const SelfIsRunner runner(guarded);
  const FakeBwrap fake(body);
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory workspace;
  for (const Availability& verdict :
       {backend.probe(policy<ReadOnly>(workspace.path())), backend.probe(policy<WorkspaceWrite>(workspace.path()))}) {
    CHECK_FALSE(verdict.usable());
    CHECK_FALSE(reason(verdict).empty());
  }
  CHECK(fake.ran_a_command());
  CHECK_THROWS_AS(backend.wrap(policy<ReadOnly>(workspace.path()), cordon::shell("true")), SandboxUnavailableError);
}

TEST_CASE("A bubblewrap that claims an exit code and runs nothing is found out") {
  const FakeBwrap fake(report_child + "eval \"echo '{ \\\"exit-code\\\": 0 }' >&$status\"\n");
  const SelfIsRunner guarded(GENERATE(false, true));
  Bubblewrap backend = made_from(fake.binary());
  CHECK_FALSE(backend.probe(policy<ReadOnly>()).usable());
  CHECK_FALSE(backend.probe(policy<WorkspaceWrite>()).usable());
}

TEST_CASE("F1: the next backend is used when bubblewrap fails") {
  const FakeBwrap fake(FakeBwrap::failing_with("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"));
  cordon::FirstUsable<Bubblewrap, support::ScriptedBackend<1>> chain(made_from(fake.binary()),
                                                                     support::ScriptedBackend<1>());
  CHECK(chain.wrap(policy<WorkspaceWrite>(), cordon::shell("true")).backend == "scripted-one");
}

TEST_CASE("A bwrap that can't be trusted is never started") {
  const TempDirectory directory;
  std::string binary;
  SECTION("it is missing") {
    binary = directory.path() + "/missing";
  }
  SECTION("it is a directory") {
    binary = directory.directory("bwrap");
  }
  SECTION("it is not executable") {
    binary = directory.file("bwrap", "#!/bin/sh\n", 0644);
  }
  SECTION("anybody can write it") {
    binary = directory.file("bwrap", "#!/bin/sh\n", 0757);
  }
  SECTION("anybody can write it, behind a link") {
    binary = directory.symlink("link", directory.file("bwrap", "#!/bin/sh\n", 0757));
  }
  SECTION("anybody can replace it") {
    binary = directory.directory("open") + "/bwrap";
    (void)directory.file("open/bwrap", "#!/bin/sh\n", 0755);
    REQUIRE(::chmod(directory.directory("open").c_str(), 0777) == 0);
  }
  SECTION("anybody can replace the directory that it is in") {
    binary = directory.directory("open/bin") + "/bwrap";
    (void)directory.file("open/bin/bwrap", "#!/bin/sh\n", 0755);
    REQUIRE(::chmod((directory.path() + "/open").c_str(), 0777) == 0);
  }
  SECTION("its path is relative") {
    binary = "bwrap";
  }
  Bubblewrap backend = made_from(binary);
  CHECK(backend.binary() == "");
  const Availability verdict = backend.probe(policy<ReadOnly>());
  REQUIRE_FALSE(verdict.usable());
  CHECK(says(reason(verdict), binary));
  CHECK_THROWS_AS(backend.wrap(policy<ReadOnly>(), cordon::shell("true")), SandboxUnavailableError);
}

TEST_CASE("A bwrap inside the workspace or a writable root is never started: commands could replace it") {
  const FakeBwrap fake("run_command \"$@\"\n");
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory workspace;
  cordon::PolicyRequest request;
  SECTION("in the workspace") {
    request.workspace_root = fake.directory();
  }
  SECTION("in an extra root") {
    request.workspace_root = workspace.path();
    request.write = {fake.directory()};
  }
  SECTION("as an extra root") {
    request.workspace_root = workspace.path();
    request.write = {fake.binary()};
  }
  const auto writing = policy<WorkspaceWrite>(request);
  CHECK_FALSE(backend.probe(writing).usable());
  CHECK_THROWS_AS(backend.wrap(writing, cordon::shell("true")), SandboxUnavailableError);
  CHECK(fake.starts() == 0);
}

TEST_CASE("A bwrap inside the workspace is refused even after it served another workspace") {
  const std::string real = real_binary();
  if (real.empty()) return;
  const FakeBwrap fake("exec " + real + " \"$@\"\n");
  Bubblewrap backend = made_from(fake.binary());
  const TempDirectory elsewhere;
  REQUIRE(backend.probe(policy<WorkspaceWrite>(elsewhere.path())).usable());
  CHECK_THROWS_AS(backend.wrap(policy<WorkspaceWrite>(fake.directory()), cordon::shell("true")),
                  SandboxUnavailableError);
  CHECK_NOTHROW(backend.wrap(policy<WorkspaceWrite>(elsewhere.path()), cordon::shell("true")));
}

TEST_CASE("F13: without a bwrap on PATH nothing runs, and the reason says so") {
  const support::WithVariable path("PATH", "/nonexistent:/also/nonexistent");
  Bubblewrap backend;
  CHECK(backend.binary() == "");
  const Availability verdict = backend.probe(policy<ReadOnly>());
  REQUIRE_FALSE(verdict.usable());
  CHECK(says(reason(verdict), "bubblewrap was not found"));
  CHECK(says(verdict.problem()->remedy, "install"));
  CHECK_THROWS_AS(backend.wrap(policy<ReadOnly>(), cordon::shell("true")), SandboxUnavailableError);
}

TEST_CASE("The first bwrap along PATH that can be trusted is taken") {
  const TempDirectory open;
  (void)open.file("bwrap", "#!/bin/sh\n", 0777);
  const FakeBwrap fake("exit 1\n");
  const support::WithVariable path("PATH",
                                   ("/nonexistent:" + open.path() + ":" + fake.directory() + ":/usr/bin").c_str());
  CHECK(Bubblewrap().binary() == fake.binary());
}

TEST_CASE("F13: an empty or relative directory of PATH is never searched") {
  const FakeBwrap fake("run_command \"$@\"\n");
  const support::InDirectory inside(fake.directory());
  const support::WithVariable path("PATH", GENERATE(as<std::string>(), "", ":", ".", ".:", "::", "../x:.").c_str());
  CHECK(Bubblewrap().binary() == "");
}

TEST_CASE("The binary is resolved once: a later PATH changes nothing") {
  const FakeBwrap fake(FakeBwrap::failing_with("bwrap: the first"));
  const support::WithVariable path("PATH", (fake.directory() + ":/usr/bin:/bin").c_str());
  Bubblewrap backend;
  const support::WithVariable later("PATH", "/nonexistent");
  CHECK(backend.binary() == fake.binary());
  CHECK(says(reason(backend.probe(policy<ReadOnly>())), "the first"));
}

TEST_CASE("A probe leaves nothing behind: no file, no descriptor, no process") {
  const TempDirectory workspace;
  const auto scratch = [] {
    std::set<std::string> paths;
    for (const char* parent : {"/var/tmp", "/tmp"})
      for (const auto& entry : std::filesystem::directory_iterator(parent))
        if (const std::string name = entry.path().filename().string();
            name.starts_with("cordon-") && !name.starts_with("cordon-test"))
          paths.insert(entry.path().string());
    return paths;
  };
  const FakeBwrap fake("run_command \"$@\"\n");
  Bubblewrap backend = made_from(fake.binary());
  const auto descriptors = support::open_descriptors();
  const auto files = scratch();
  (void)backend.probe(policy<WorkspaceWrite>(workspace.path()));
  CHECK(support::open_descriptors() == descriptors);
  for (const std::string& path : scratch())  // another program's tests may be making and removing theirs
    CHECK((files.count(path) != 0 || support::soon([&] { return !support::exists(path); })));
  CHECK(support::no_child_is_left());
  CHECK(std::filesystem::is_empty(workspace.path()));
}
