// SPDX-License-Identifier: BSL-1.0
#include <cordon/backend/refuse.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"

using cordon::ReadOnly;
using cordon::Refuse;
using cordon::WorkspaceWrite;
using support::policy;

TEST_CASE("T-PRV-05: without a backend every confined mode is unavailable, with the mode and a remedy in the error") {
  Refuse backend;
  const auto message = [&](const auto& under) {
    try {
      (void)cordon::confine(backend, under, cordon::Argv({"true"}));
    } catch (const cordon::SandboxUnavailableError& error) {
      CHECK(error.code() == cordon::ErrorCode::sandbox_unavailable);
      CHECK_FALSE(error.failure().has_value());
      return std::string(error.what());
    }
    return std::string("confined");
  };
  CHECK(message(policy<ReadOnly>()).find("read-only") != std::string::npos);
  CHECK(message(policy<WorkspaceWrite>()).find("workspace-write") != std::string::npos);
  CHECK(message(policy<ReadOnly>()).find("PlatformBackend") != std::string::npos);
  CHECK(message(policy<ReadOnly>()).find("danger") == std::string::npos);
}

TEST_CASE("Refuse is a backend whose probe says no, with a reason and a remedy") {
  STATIC_REQUIRE(cordon::Backend<Refuse>);
  Refuse backend;
  const auto verdict = backend.probe(policy<ReadOnly>());
  REQUIRE_FALSE(verdict.usable());
  CHECK_FALSE(verdict.problem()->reason.empty());
  CHECK_FALSE(verdict.problem()->remedy.empty());
}
