// SPDX-License-Identifier: BSL-1.0
#include <signal.h>
#include <cordon/running.hpp>

#include <chrono>
#include <cordon/harness.hpp>
#include <memory>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using cordon::Argv;
using cordon::CommandEnding;
using cordon::Harness;
using cordon::ReadOnly;
using cordon::Running;
using cordon::SandboxUnavailableError;
using cordon::WorkspaceWrite;
using cordon::process::Cancelled;
using cordon::process::Exited;
using cordon::process::Signalled;
using support::options_with_path;
using support::policy;
using support::StandIn;
using namespace std::chrono_literals;

namespace {

Argv script(const std::string& text) {
  return Argv({"/bin/sh", "-c", text});
}

/// The error that `action` ends with, when it is the sandbox's.
template <class Action>
std::string sandbox_error(Action action) {
  try {
    action();
  } catch (const SandboxUnavailableError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A command that was started runs, and says how it is confined, before it has come to anything") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  Running running = harness.start(policy<ReadOnly>(), script("echo begun; sleep 60"), options_with_path());
  CHECK(running.facts().mode == cordon::SandboxMode(cordon::read_only));
  CHECK(running.facts().backend == "stand-in");
  REQUIRE(running.facts().enforcement.has_value());
  CHECK(running.facts().enforcement->full());
  CHECK(::kill(static_cast<pid_t>(running.pid()), 0) == 0);
  CHECK_FALSE(running.wait_for(100ms));
  running.kill();
  CHECK(running.wait().ending == CommandEnding(Signalled{SIGKILL}));
}

TEST_CASE("CLS-13: a command without confinement has the facts of that") {
  Harness<> harness;
  Running running = harness.start(support::unconfined(script("exit 3")), options_with_path());
  CHECK(running.facts().mode == cordon::SandboxMode(cordon::danger_full_access));
  CHECK(running.facts().backend == "");
  CHECK_FALSE(running.facts().enforcement);
  const auto result = running.wait();
  CHECK(result.ending == CommandEnding(Exited{3}));
  CHECK_FALSE(result.denied());
}

TEST_CASE("T-DEN-10, T-DEN-12: the result of a command that was started is what run would have made of it") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const support::TempDirectory outside;
  std::string words = "Read-only file system";
  const auto denied = [&](const std::string& end) {
    const Argv command = script("echo 'touch: cannot touch " + outside.path() + "/x: " + words + "' >&2; " + end);
    return harness.start(policy<ReadOnly>(), command, options_with_path()).wait().denied();
  };
  CHECK(denied("exit 1"));
  CHECK(denied("exit 0"));
  CHECK_FALSE(denied("kill -9 $$"));
  words = "Permission denied";
  CHECK_FALSE(denied("exit 1"));
}

TEST_CASE("A runner failure that is known only at the end is the sandbox's error, and its harness hears of it") {
  int forgotten = 0;
  std::optional<Running> running;
  {
    Harness<StandIn> harness(StandIn{{"/usr/bin/env"}, &forgotten, true});
    running.emplace(harness.start(policy<WorkspaceWrite>(), Argv{"true"}));
    CHECK(forgotten == 0);
  }
  CHECK(sandbox_error([&] { (void)running->wait(); }).find("the runner's words") != std::string::npos);
  CHECK(forgotten == 1);
}

TEST_CASE("The partial rule holds for what is started, too") {
  const auto script_of = std::make_shared<support::Script>();
  script_of->governed = cordon::EffectSet{};
  Harness<support::ScriptedBackend<0>, cordon::AnswererChain<>, cordon::RefusePartial> harness{
      support::ScriptedBackend<0>(script_of)};
  CHECK_THROWS_AS((void)harness.start(policy<ReadOnly>(), Argv{"true"}), cordon::EnforcementPartialError);
  Harness<> none;
  CHECK_THROWS_AS((void)none.start(policy<ReadOnly>(), Argv{"true"}), SandboxUnavailableError);
}

TEST_CASE("T-EXE-11: output is read while the command runs, no byte of it twice, and the result has all of it") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  std::string shown;
  auto options = options_with_path();
  options.on_output = [&](cordon::process::Stream, std::string_view bytes) { shown += bytes; };
  Running running = harness.start(policy<ReadOnly>(), script("echo one; echo err >&2; sleep 0.3; echo two"), options);
  CHECK(running.read().out.text == "");
  CHECK_FALSE(running.wait_for(150ms));
  const auto first = running.read();
  CHECK(first.out.text == "one\n");
  CHECK(first.err.text == "err\n");
  const auto result = running.wait();
  const auto second = running.read();
  CHECK(second.out.text == "two\n");
  CHECK(second.out.offset == 4);
  CHECK(second.err.text == "");
  CHECK(result.out.text() == "one\ntwo\n");
  CHECK(shown.size() == 12);
}

TEST_CASE("A wait of no time takes what is there, until there is a result") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  Running running = harness.start(policy<ReadOnly>(), script("echo x; exit 5"), options_with_path());
  std::optional<cordon::RunResult> result;
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (!result && std::chrono::steady_clock::now() < give_up) result = running.wait_for(0ms);
  REQUIRE(result);
  CHECK(result->ending == CommandEnding(Exited{5}));
  CHECK(running.read().out.text == "x\n");
}

TEST_CASE("A command that is cancelled has its grace, and that is its ending whatever it makes of it") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  auto options = options_with_path();
  options.limits.grace = 200ms;
  const std::string trap = GENERATE("trap 'exit 0' TERM; ", "trap '' TERM; ", "");
  Running running = harness.start(policy<ReadOnly>(), script(trap + "while :; do sleep 0.05; done"), options);
  CHECK_FALSE(running.wait_for(100ms));
  running.cancel();
  CHECK(running.wait().ending == CommandEnding(Cancelled{}));
}

namespace {

/// A StandIn that remembers the plan it gave away last.
struct Remembers : StandIn {
  std::weak_ptr<const cordon::process::LaunchPlan>* plan = nullptr;

  template <cordon::ConfinedMode M>
  cordon::Confinement wrap(const cordon::Policy<M>& policy, const Argv& command) {
    cordon::Confinement result = StandIn::wrap(policy, command);
    *plan = result.launch;
    return result;
  }
};

}  // namespace

TEST_CASE("What a confinement owns lives as long as the command that runs in it") {
  std::weak_ptr<const cordon::process::LaunchPlan> plan;
  Remembers backend{{{"/usr/bin/env"}, nullptr, true}, &plan};
  std::optional<Running> running;
  {
    Harness<Remembers> harness(std::move(backend));
    running.emplace(harness.start(policy<ReadOnly>(), Argv{"true"}));
  }
  CHECK_FALSE(plan.expired());
  running.reset();
  CHECK(plan.expired());
}

TEST_CASE("A running command that is given up is ended and reaped") {
  const auto before = support::open_descriptors();
  {
    Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
    Running running = harness.start(policy<ReadOnly>(), script("sleep 60"), options_with_path());
    Running moved = std::move(running);
    CHECK(moved.pid() > 0);
  }
  CHECK(support::no_child_is_left());
  CHECK(support::open_descriptors() == before);
}
