// SPDX-License-Identifier: BSL-1.0
#include <cordon/confined.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/scripted_backend.hpp"

using cordon::Argv;
using cordon::ConfinedArgv;
using cordon::EffectSet;
using cordon::FileEffect;
using cordon::FullyConfinedArgv;
using cordon::ReadOnly;
using cordon::WorkspaceWrite;
using support::policy;
using support::ScriptedBackend;

namespace {

ScriptedBackend<0> backend_without(EffectSet missing) {
  auto script = std::make_shared<support::Script>();
  script->governed = EffectSet::all() - missing;
  return ScriptedBackend<0>(script);
}

}  // namespace

TEST_CASE("A confined argv carries the command, the policy and what the backend said") {
  auto script = std::make_shared<support::Script>();
  script->governed = EffectSet::all() - EffectSet{FileEffect::metadata};
  script->best_effort = {"/tmp/a/b"};
  ScriptedBackend<0> backend(script);
  const auto writing = policy<WorkspaceWrite>();
  const Argv command({"prog", "arg"});
  const ConfinedArgv<WorkspaceWrite> confined = cordon::confine(backend, writing, command);
  CHECK(confined.argv() == std::vector<std::string>{"/scripted/0", "--", "prog", "arg"});
  CHECK(confined.command() == command);
  CHECK(confined.policy().scope() == writing.scope());
  CHECK(confined.backend() == "scripted-zero");
  CHECK(confined.enforcement().missing() == EffectSet{FileEffect::metadata});
  REQUIRE(confined.dialect().denials.size() == 1);
  CHECK(confined.dialect().denials.front() == "read-only file system");
  CHECK(confined.best_effort() == std::vector<std::string>{"/tmp/a/b"});
  CHECK(confined.launch() == nullptr);
}

TEST_CASE("require_full lets a full confinement pass, unchanged") {
  ScriptedBackend<0> backend = backend_without({});
  const auto confined = cordon::confine(backend, policy<ReadOnly>(), Argv({"prog"}));
  const FullyConfinedArgv<ReadOnly> full = cordon::require_full(confined);
  CHECK(full.confined().argv() == confined.argv());
  CHECK(full.confined().enforcement().full());
}

TEST_CASE("require_full refuses a partial confinement and names all that is missing, and where") {
  ScriptedBackend<0> backend = backend_without({FileEffect::metadata, FileEffect::fifo_write});
  const auto confined = cordon::confine(backend, policy<WorkspaceWrite>(), Argv({"prog"}));
  try {
    (void)cordon::require_full(confined);
    FAIL("took a partial confinement for a full one");
  } catch (const cordon::EnforcementPartialError& error) {
    const std::string text = error.what();
    for (const char* word : {"scripted-zero", "workspace-write", "metadata", "fifo_write"})
      CHECK(text.find(word) != std::string::npos);
    CHECK(text.find("truncate") == std::string::npos);
    CHECK(error.code() == cordon::ErrorCode::enforcement_partial);
  }
}

TEST_CASE("An unconfined argv carries its command and scope, can be moved, and not copied") {
  auto first = support::unconfined(Argv({"prog"}), "/tmp");
  const auto second = std::move(first);
  CHECK(second.command() == Argv({"prog"}));
  CHECK(second.scope().workspace_root == "/tmp");
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<cordon::UnconfinedArgv>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<cordon::UnconfinedArgv>);
}

TEST_CASE("Only what a backend or full access made can be spawned") {
  STATIC_REQUIRE(cordon::Spawnable<ConfinedArgv<ReadOnly>>);
  STATIC_REQUIRE(cordon::Spawnable<const ConfinedArgv<WorkspaceWrite>&>);
  STATIC_REQUIRE(cordon::Spawnable<FullyConfinedArgv<ReadOnly>>);
  STATIC_REQUIRE(cordon::Spawnable<cordon::UnconfinedArgv>);
  STATIC_REQUIRE_FALSE(cordon::Spawnable<Argv>);
  STATIC_REQUIRE_FALSE(cordon::Spawnable<std::vector<std::string>>);
  STATIC_REQUIRE_FALSE(cordon::Spawnable<cordon::Confinement>);
  STATIC_REQUIRE_FALSE(cordon::Spawnable<cordon::Policy<cordon::DangerFullAccess>>);
  STATIC_REQUIRE_FALSE(cordon::Spawnable<ConfinedArgv<ReadOnly>*>);
}

TEST_CASE("Nobody else can make a confined argv or a policy") {
  STATIC_REQUIRE_FALSE(
      std::is_constructible_v<ConfinedArgv<ReadOnly>, cordon::Policy<ReadOnly>, Argv, cordon::Confinement>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<cordon::Policy<ReadOnly>, cordon::PolicyScope>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<cordon::Policy<cordon::DangerFullAccess>, cordon::PolicyScope>);
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<cordon::Policy<cordon::DangerFullAccess>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<cordon::ExecutionPolicy, cordon::Policy<cordon::DangerFullAccess>>);
}
