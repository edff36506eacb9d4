// SPDX-License-Identifier: BSL-1.0
#include <cordon/harness.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/scripted_backend.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using cordon::Argv;
using cordon::ConfinedMode;
using cordon::Confinement;
using cordon::EffectSet;
using cordon::Enforcement;
using cordon::FileEffect;
using cordon::Harness;
using cordon::Policy;
using cordon::ReadOnly;
using cordon::SandboxUnavailableError;
using cordon::WorkspaceWrite;
using support::policy;
using support::ScriptedBackend;
using support::StandIn;

TEST_CASE("A harness without a backend runs nothing in a confined mode") {
  const support::TempDirectory directory;
  Harness<> harness;
  const Argv command({"/bin/sh", "-c", "echo x >" + directory.path() + "/marker"});
  CHECK_THROWS_AS(harness.run(policy<ReadOnly>(), command), SandboxUnavailableError);
  CHECK_THROWS_AS(harness.run(policy<WorkspaceWrite>(), command), SandboxUnavailableError);
  CHECK_FALSE(support::exists(directory.path() + "/marker"));
}

TEST_CASE("T-DEN-15, CLS-K5: a result says mode, backend and enforcement as they were") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const auto result = harness.run(policy<WorkspaceWrite>(), Argv({"/bin/sh", "-c", "echo out; exit 3"}));
  CHECK(result.mode == cordon::SandboxMode(cordon::workspace_write));
  CHECK(result.backend == "stand-in");
  REQUIRE(result.enforcement.has_value());
  CHECK(result.enforcement->full());
  CHECK(result.ending == cordon::CommandEnding(cordon::process::Exited{3}));
  CHECK(result.out.text() == "out\n");
  CHECK_FALSE(result.denied());
}

TEST_CASE("F11, T-PRV-21: a runner that fails is an exception with its words, and the verdict is forgotten") {
  int forgotten = 0;
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}, &forgotten, true});
  try {
    (void)harness.run(policy<ReadOnly>(), Argv({"true"}));
    FAIL("took a runner failure for a result");
  } catch (const SandboxUnavailableError& error) {
    CHECK(std::string(error.what()).find("the runner's words") != std::string::npos);
    CHECK(std::string(error.what()).find("stand-in") != std::string::npos);
    REQUIRE(error.failure().has_value());
    CHECK(error.failure()->stage == "mount");
    CHECK(error.failure()->error == EPERM);
  }
  CHECK(forgotten == 1);
}

TEST_CASE("The rule decides about partial enforcement before anything runs") {
  auto script = std::make_shared<support::Script>();
  script->governed = EffectSet::all() - EffectSet{FileEffect::metadata};
  const Argv command({"true"});
  SECTION("the default takes it for read-only alone") {
    Harness<ScriptedBackend<0>> harness{ScriptedBackend<0>(script)};
    CHECK_NOTHROW(harness.confine(policy<ReadOnly>(), command));
    CHECK_THROWS_AS(harness.confine(policy<WorkspaceWrite>(), command), cordon::EnforcementPartialError);
    CHECK_THROWS_AS(harness.run(policy<WorkspaceWrite>(), command), cordon::EnforcementPartialError);
  }
  SECTION("refused in both") {
    Harness<ScriptedBackend<0>, cordon::AnswererChain<>, cordon::RefusePartial> harness{ScriptedBackend<0>(script)};
    CHECK_THROWS_AS(harness.confine(policy<ReadOnly>(), command), cordon::EnforcementPartialError);
    CHECK_THROWS_AS(harness.confine(policy<WorkspaceWrite>(), command), cordon::EnforcementPartialError);
  }
  SECTION("accepted in both") {
    Harness<ScriptedBackend<0>, cordon::AnswererChain<>, cordon::AcceptPartial> harness{ScriptedBackend<0>(script)};
    CHECK_NOTHROW(harness.confine(policy<ReadOnly>(), command));
    CHECK_NOTHROW(harness.confine(policy<WorkspaceWrite>(), command));
  }
}

TEST_CASE("T-DEN-03, T-DEN-12, CLS-K1: words of denial count whatever the exit status is, and not without one") {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const support::TempDirectory outside;
  std::string words = "Read-only file system";
  const auto denied = [&](const std::string& end) {
    const Argv command(
        {"/bin/sh", "-c", "echo 'touch: cannot touch " + outside.path() + "/x: " + words + "' >&2; " + end});
    return harness.run(policy<ReadOnly>(), command).denied();
  };
  CHECK(denied("exit 1"));
  CHECK(denied("exit 0"));
  CHECK_FALSE(denied("kill -9 $$"));
  words = "Permission denied";
  CHECK_FALSE(denied("exit 1"));
}

TEST_CASE("Full access runs without a backend, and says so") {
  Harness<> harness;
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin"};
  options.removed_env = {"SECRET_TOKEN"};
  const auto result = harness.run(support::unconfined(Argv({"sh", "-c", "exit 4"})), options);
  CHECK(result.removed_env == std::vector<std::string>{"SECRET_TOKEN"});
  CHECK(result.mode == cordon::SandboxMode(cordon::danger_full_access));
  CHECK(result.backend == "");
  CHECK_FALSE(result.enforcement.has_value());
  CHECK(result.ending == cordon::CommandEnding(cordon::process::Exited{4}));
}

TEST_CASE("What a composition can reach is known at compile time") {
  STATIC_REQUIRE(Harness<StandIn>::backend_can_be_full<ReadOnly>);
  STATIC_REQUIRE(Harness<StandIn>::backend_can_be_full<WorkspaceWrite>);
}

namespace {

/// A StandIn that governs nothing.
struct Partial : StandIn {
  template <ConfinedMode M>
  Confinement wrap(const Policy<M>&, const Argv& command) {
    std::vector<std::string> argv{"/usr/bin/env"};
    argv.insert(argv.end(), command.elements().begin(), command.elements().end());
    return support::confinement(argv, name, Enforcement::of<M>(EffectSet{}));
  }
};

}  // namespace

TEST_CASE("The partial rule holds for what was confined before, too") {
  Partial backend;
  const auto confined = cordon::confine(backend, policy<ReadOnly>(), Argv{"true"});
  Harness<Partial, cordon::AnswererChain<>, cordon::RefusePartial> harness;
  CHECK_THROWS_AS((void)harness.run(confined), cordon::EnforcementPartialError);
}

TEST_CASE("A backend that gives the command back as it was confines nothing") {
  StandIn backend;  // with no runner
  CHECK_THROWS_AS((void)cordon::confine(backend, policy<ReadOnly>(), Argv{"true"}), SandboxUnavailableError);
}

TEST_CASE("An argv that was moved from starts nothing, and says so") {
  Argv argv{"true"};
  const Argv taken = std::move(argv);
  StandIn backend;
  backend.runner = {"/usr/bin/env"};
  const auto full = cordon::PolicyResolver::resolve({.mode = cordon::danger_full_access, .workspace_root = "/var/tmp"});
  full.visit(
      [&](const Policy<cordon::DangerFullAccess>& all) {
        CHECK_THROWS_AS((void)cordon::process::run(cordon::UnconfinedArgv(all, argv)), cordon::ArgvInvalidError);
      },
      [](const auto&) { FAIL("another mode"); });
}
