// SPDX-License-Identifier: BSL-1.0
#include <cordon/detail/error_text.hpp>
#include <cordon/error.hpp>

#include <cerrno>
#include <type_traits>

#include "support/catch.hpp"

using cordon::ErrorCode;

TEST_CASE("Every error code has its stable name") {
  CHECK(name(ErrorCode::argv_invalid) == "ARGV_INVALID");
  CHECK(name(ErrorCode::policy_invalid) == "POLICY_INVALID");
  CHECK(name(ErrorCode::sandbox_unavailable) == "SANDBOX_UNAVAILABLE");
  CHECK(name(ErrorCode::enforcement_partial) == "ENFORCEMENT_PARTIAL");
  CHECK(name(ErrorCode::spawn_failed) == "SPAWN_FAILED");
}

TEST_CASE("Every error can be caught as cordon's, and as the standard library's, with its code and words") {
  const auto caught = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "words");
      return dynamic_cast<const cordon::Error&>(error).code();
    }
  };
  CHECK(caught(cordon::ArgvInvalidError("words")) == ErrorCode::argv_invalid);
  CHECK(caught(cordon::PolicyInvalidError("words")) == ErrorCode::policy_invalid);
  CHECK(caught(cordon::SandboxUnavailableError("words")) == ErrorCode::sandbox_unavailable);
  CHECK(caught(cordon::EnforcementPartialError("words")) == ErrorCode::enforcement_partial);
  CHECK(caught(cordon::SpawnError("words", EMFILE)) == ErrorCode::spawn_failed);
}

TEST_CASE("An unavailable sandbox says what its runner reported, when there was one") {
  CHECK_FALSE(cordon::SandboxUnavailableError("words").failure().has_value());
  const cordon::RunnerFailure failure{"mount", EPERM, "the runner's words"};
  CHECK(cordon::SandboxUnavailableError("words", failure).failure() == std::optional(failure));
}

TEST_CASE("A spawn error keeps the errno") {
  CHECK(cordon::SpawnError("words", EMFILE).error() == EMFILE);
}

TEST_CASE("The base error can't be thrown by itself") {
  STATIC_REQUIRE_FALSE(std::is_constructible_v<cordon::Error, ErrorCode, std::string>);
}

TEST_CASE("The text of an errno is the C locale's") {
  CHECK(cordon::detail::error_text(ENOENT) == "No such file or directory");
  CHECK(cordon::detail::error_text(EROFS) == "Read-only file system");
}
