// SPDX-License-Identifier: BSL-1.0

// Runners that are not cordon's: stand-ins that are shell scripts, with and without a status channel.

#include <cordon/backend/observed.hpp>
#include <cordon/backend/reporting.hpp>
#include <cordon/harness.hpp>

#include <filesystem>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using cordon::Argv;
using cordon::CommandEnding;
using cordon::Reporting;
using cordon::RunnerFailure;
using cordon::SandboxUnavailableError;
using cordon::process::Exited;
using cordon::process::NotExecutable;
using cordon::process::Signalled;
using support::StandIn;

namespace {

/// A runner that does this, with the command in "$@".
StandIn runner(const std::string& script) {
  return {.runner = {"/bin/sh", "-c", script, "runner"}};
}

template <class B>
cordon::RunResult run(B backend, const Argv& command) {
  cordon::Harness<B, cordon::AnswererChain<>, cordon::AcceptPartial> harness(std::move(backend));
  return harness.run(support::policy<cordon::ReadOnly>(), command, support::options_with_path());
}

template <class B>
RunnerFailure failure(B backend, const Argv& command) {
  try {
    const auto result = run(std::move(backend), command);
    FAIL("a result, with the ending " << result.ending.index());
  } catch (const SandboxUnavailableError& error) {
    REQUIRE(error.failure());
    return *error.failure();
  }
  throw std::logic_error("unreachable");
}

Reporting<StandIn> reporting(const std::string& script) {
  return Reporting<StandIn>(runner(script));
}

const Argv fine{"/bin/sh", "-c", "exit 7"};

}  // namespace

TEST_CASE("CLS-01, T-SPN-19: a runner without a channel failed when both its exit code and its words say so") {
  const auto failed = failure(runner("echo scripted: no namespaces >&2; exit 125"), fine);
  CHECK(failed.stage == "runner");
  CHECK(failed.detail == "scripted: no namespaces");
  CHECK(run(runner("echo scripted: no namespaces >&2; exit 1"), fine).ending == CommandEnding(Exited{1}));
  CHECK(run(runner("echo something else >&2; exit 125"), fine).ending == CommandEnding(Exited{125}));
  CHECK(run(runner("exec \"$@\""), fine).ending == CommandEnding(Exited{7}));
}

TEST_CASE("T-SPN-01, T-SPN-14, T-SPN-15: a runner that can't be executed is the sandbox's failure") {
  const support::TempDirectory directory;
  const StandIn missing{.runner = {directory.path() + "/a runner"}};
  const auto failed = failure(missing, fine);
  CHECK(failed.stage == "exec-runner");
  CHECK(failed.error == ENOENT);
  CHECK(failed.detail.starts_with(missing.runner.front()));
  const StandIn locked{.runner = {directory.file("runner", "#!/bin/sh\n", 0644)}};
  CHECK(failure(locked, fine).error == EACCES);
  CHECK(failure(Reporting<StandIn>(missing), fine).stage == "exec-runner");
}

TEST_CASE("T-SPN-11, T-SPN-12: a working directory that is none is the caller's error, whatever the runner is") {
  cordon::Harness<StandIn, cordon::AnswererChain<>, cordon::AcceptPartial> harness(StandIn{.runner = {"/nonexistent"}});
  for (const char* directory : {"/nonexistent", "/etc/passwd"}) {
    auto there = support::options_with_path();
    there.working_directory = directory;
    CHECK_THROWS_AS(harness.run(support::policy<cordon::ReadOnly>(), fine, there), cordon::SpawnError);
  }
}

TEST_CASE("T-CLS-19: with a channel, a command that speaks like the runner and exits like it is a command") {
  const Argv forger{"/bin/sh", "-c", "echo scripted: no namespaces >&2; exit 125"};
  CHECK(run(reporting("exec \"$@\""), forger).ending == CommandEnding(Exited{125}));
  CHECK(failure(runner("exec \"$@\""), forger).detail == "scripted: no namespaces");  // which words alone can't tell
}

TEST_CASE("With a channel, a runner that starts nothing failed, whatever it prints and exits with") {
  for (const char* script : {"exit 0", "exit 1", "echo fine; exit 0", "echo scripted: no >&2; exit 3", "kill -9 $$"}) {
    INFO(script);
    CHECK(failure(reporting(script), fine).stage == "runner");
  }
  CHECK(failure(reporting("echo scripted: no >&2; exit 125"), fine).detail == "scripted: no");
  // Whatever it does instead, too.
  CHECK(failure(reporting("exec /bin/sh -c 'exit 7'"), fine).stage == "runner");
}

TEST_CASE("With a channel, what can't be executed is the command") {
  CHECK(run(reporting("exec \"$@\""), Argv{"/nonexistent/program"}).ending == CommandEnding(NotExecutable{ENOENT}));
  CHECK(run(reporting("exec \"$@\""), Argv{"/etc/passwd"}).ending == CommandEnding(NotExecutable{EACCES}));
  CHECK(run(reporting("exec \"$@\""), Argv{"no-such-program-in-path"}).ending == CommandEnding(NotExecutable{ENOENT}));
}

TEST_CASE("With a channel, a command ends as it ends, and has no descriptor of it") {
  CHECK(run(reporting("exec \"$@\""), fine).ending == CommandEnding(Exited{7}));
  CHECK(run(reporting("exec \"$@\""), Argv{"/bin/sh", "-c", "kill -TERM $$"}).ending == CommandEnding(Signalled{15}));
  CHECK(run(reporting("exec \"$@\""), Argv{"/bin/sh", "-c", "ls /proc/$$/fd"}).out.text() == "0\n1\n2\n");
}

TEST_CASE("A runner that closes the channel runs nothing") {
  const support::TempDirectory directory;
  const Argv command{"/bin/sh", "-c", "echo ran >'" + directory.path() + "/ran'"};
  CHECK(failure(reporting("exec 3>&-; exec \"$@\""), command).stage == "runner");
  CHECK_FALSE(support::exists(directory.path() + "/ran"));
}

TEST_CASE("A runner that is none runs nothing, with a channel or without") {
  const support::TempDirectory directory;
  const Argv command{"/bin/sh", "-c", "echo ran >'" + directory.path() + "/ran'"};
  CHECK_THROWS_AS(run(StandIn{}, command), SandboxUnavailableError);
  CHECK_THROWS_AS(run(Reporting<StandIn>(StandIn{}), command), SandboxUnavailableError);
  CHECK_THROWS_AS(run(cordon::Observed<StandIn>(StandIn{}), command), SandboxUnavailableError);
  // Those that wrap the command and not the first stage in its place, or the other way round.
  StandIn forgetful = runner("exec \"$@\"");
  for (const std::string& program :
       {command.elements().front(), std::filesystem::read_symlink("/proc/self/exe").string()}) {
    forgetful.only = program;
    CHECK_THROWS_AS(run(Reporting<StandIn>(forgetful), command), SandboxUnavailableError);
  }
  CHECK_FALSE(support::exists(directory.path() + "/ran"));
}

TEST_CASE("What writes into the channel and is not the first stage makes the runner one that failed") {
  CHECK(failure(reporting("echo nonsense!!! >&3; exec \"$@\""), fine).error == EPROTO);
}
