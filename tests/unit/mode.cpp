// SPDX-License-Identifier: BSL-1.0
#include <cordon/mode.hpp>

#include "support/catch.hpp"

using cordon::DangerFullAccess;
using cordon::ReadOnly;
using cordon::SandboxMode;
using cordon::WorkspaceWrite;

namespace {

struct Fourth {
  [[maybe_unused]] static constexpr std::string_view name = "fourth";
};

}  // namespace

TEST_CASE("The modes have their wire names and no others") {
  CHECK(SandboxMode(cordon::read_only).name() == "read-only");
  CHECK(SandboxMode(cordon::workspace_write).name() == "workspace-write");
  CHECK(SandboxMode(cordon::danger_full_access).name() == "danger-full-access");
}

TEST_CASE("Parsing is exact: the three names and nothing that looks like them") {
  CHECK(SandboxMode::parse("read-only") == SandboxMode(cordon::read_only));
  CHECK(SandboxMode::parse("workspace-write") == SandboxMode(cordon::workspace_write));
  CHECK(SandboxMode::parse("danger-full-access") == SandboxMode(cordon::danger_full_access));
  const std::string other =
      GENERATE(as<std::string>(), "", "yolo", "Read-Only", "read-only ", " read-only", "read_only", "read-onl",
               "read-onlyx", "workspace", "full", "danger-full-access\n", "none", "default");
  CHECK_THROWS_AS(SandboxMode::parse(other), cordon::PolicyInvalidError);
}

TEST_CASE("T-POL-08: the error for an unknown mode quotes it and lists the known ones") {
  try {
    (void)SandboxMode::parse("yolo");
    FAIL("took an unknown mode");
  } catch (const cordon::Error& error) {
    const std::string text = error.what();
    CHECK(error.code() == cordon::ErrorCode::policy_invalid);
    for (const char* word : {"'yolo'", "read-only", "workspace-write", "danger-full-access"})
      CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("The modes are ordered by what they permit, strictly") {
  STATIC_REQUIRE(cordon::WiderThan<WorkspaceWrite, ReadOnly>);
  STATIC_REQUIRE(cordon::WiderThan<DangerFullAccess, WorkspaceWrite>);
  STATIC_REQUIRE(cordon::WiderThan<DangerFullAccess, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::WiderThan<ReadOnly, WorkspaceWrite>);
  STATIC_REQUIRE_FALSE(cordon::WiderThan<ReadOnly, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::WiderThan<DangerFullAccess, DangerFullAccess>);
}

TEST_CASE("The order at run time is the order at compile time") {
  const SandboxMode modes[] = {cordon::read_only, cordon::workspace_write, cordon::danger_full_access};
  for (int a = 0; a != 3; ++a)
    for (int b = 0; b != 3; ++b) {
      CHECK(modes[a].wider_than(modes[b]) == (a > b));
      CHECK((modes[a] == modes[b]) == (a == b));
    }
}

TEST_CASE("Only the three tags are modes, and only two of them are confined") {
  STATIC_REQUIRE(cordon::Mode<ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::Mode<Fourth>);
  STATIC_REQUIRE_FALSE(cordon::Mode<const ReadOnly&>);
  STATIC_REQUIRE_FALSE(cordon::Mode<SandboxMode>);
  STATIC_REQUIRE(cordon::ConfinedMode<ReadOnly>);
  STATIC_REQUIRE(cordon::ConfinedMode<WorkspaceWrite>);
  STATIC_REQUIRE_FALSE(cordon::ConfinedMode<DangerFullAccess>);
  STATIC_REQUIRE_FALSE(cordon::ConfinedMode<Fourth>);
  CHECK(SandboxMode(cordon::read_only).confined());
  CHECK(SandboxMode(cordon::workspace_write).confined());
  CHECK_FALSE(SandboxMode(cordon::danger_full_access).confined());
}

TEST_CASE("There is no default mode") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<SandboxMode>);
}

TEST_CASE("Visiting calls the handler of the mode held") {
  const auto number = [](SandboxMode mode) {
    return mode.visit([](ReadOnly) { return 1; }, [](WorkspaceWrite) { return 2; }, [](DangerFullAccess) { return 3; });
  };
  CHECK(number(cordon::read_only) == 1);
  CHECK(number(cordon::workspace_write) == 2);
  CHECK(number(cordon::danger_full_access) == 3);
}

TEST_CASE("Modes work at compile time") {
  STATIC_REQUIRE(SandboxMode(cordon::danger_full_access).wider_than(cordon::read_only));
  STATIC_REQUIRE(SandboxMode(cordon::read_only) != SandboxMode(cordon::workspace_write));
}
