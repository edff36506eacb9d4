// SPDX-License-Identifier: BSL-1.0

// What the runner's entry does with a line that it can't take. What it does with one that it can is in tests/kernel.

#include <cordon/policy/resolver.hpp>
#include <cordon/runner/entry.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/catch.hpp"

namespace {

using K = cordon::os::Kernel;

struct Outcome {
  int status = -1;
  std::string error_text;
};

/// Calls entry with `words` after the program, with stderr kept. Only for words that entry refuses.
Outcome refused(std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  cordon::os::FdPair<K> pipe;
  REQUIRE(cordon::os::make_pipe(pipe) >= 0);
  const int before = ::dup(2);
  ::dup2(pipe.write.get(), 2);
  const auto status = cordon::runner::entry(static_cast<int>(words.size()), words.data());
  ::dup2(before, 2);
  ::close(before);
  pipe.write.reset();
  return {status.value_or(-1), cordon::os::read_rest<K>(pipe.read.get(), 65536)};
}

}  // namespace

TEST_CASE("A program that is started as itself goes on as itself") {
  const char* none[] = {"program"};
  const char* other[] = {"program", "--version", "--cordon-runner", "guard"};
  CHECK_FALSE(cordon::runner::entry(1, none).has_value());
  CHECK_FALSE(cordon::runner::entry(4, other).has_value());
  CHECK_FALSE(cordon::runner::entry(0, none).has_value());
  CHECK(cordon::runner::self_is_runner());
}

TEST_CASE("A runner that can't take its line ends with 125 and one line of its own") {
  const std::vector<std::vector<const char*>> lines{
      {"--cordon-runner"},
      {"--cordon-runner", "guard"},
      {"--cordon-runner", "guard", "--"},
      {"--cordon-runner", "guard", "--unknown", "x", "--", "prog"},
      {"--cordon-runner", "unknown-stage", "--", "prog"},
      {"--cordon-runner", "guard", "--environment-fd", "x", "--", "prog"},
      {"--cordon-runner", "guard", "--environment-fd", "-1", "--", "prog"},
      {"--cordon-runner", "guard", "--status-fd", "3x", "--", "prog"},
      {"--cordon-runner", "guard", "--environment-fd", "1", "--environment-fd", "1", "--", "prog"},
      {"--cordon-runner", "bubblewrap", "--", "prog"},
      {"--cordon-runner", "bubblewrap", "--mode", "yolo", "--binary", "/b", "--workspace", "/", "--", "prog"},
      {"--cordon-runner", "bubblewrap", "--mode", "danger-full-access", "--binary", "/b", "--workspace", "/", "--",
       "prog"},
      {"--cordon-runner", "bubblewrap", "--mode", "read-only", "--workspace", "/", "--", "prog"},
      {"--cordon-runner", "bubblewrap", "--mode", "read-only", "--binary", "bwrap", "--workspace", "/", "--", "prog"},
      {"--cordon-runner", "bubblewrap", "--mode", "read-only", "--binary", "/b", "--workspace", "w", "--", "prog"},
      {"--cordon-runner", "guard", "--unknown\nline", "x", "--", "prog"}};
  for (const auto& line : lines) {
    const Outcome outcome = refused(line);
    INFO(outcome.error_text);
    CHECK(outcome.status == 125);
    CHECK(outcome.error_text.starts_with("cordon-runner: "));
    CHECK(outcome.error_text.find('\n') == outcome.error_text.size() - 1);
  }
}

TEST_CASE("A runner with a status descriptor reports there too, and prints one line at most") {
  cordon::os::FdPair<K> pipe;
  REQUIRE(cordon::os::make_pipe(pipe) >= 0);
  const std::string number = std::to_string(pipe.write.get());
  const Outcome outcome = refused({"--cordon-runner", "unknown-stage", "--status-fd", number.c_str(), "--", "prog"});
  CHECK(outcome.status == 125);
  CHECK(std::count(outcome.error_text.begin(), outcome.error_text.end(), '\n') <= 1);
  cordon::process::StatusRecord record;
  REQUIRE(cordon::os::read_some<K>(pipe.read.get(), std::as_writable_bytes(std::span(&record, 1))) == sizeof record);
  CHECK(record.magic == cordon::process::StatusRecord::expected_magic);
  CHECK(record.stage == cordon::process::Stage::arguments);
  CHECK(record.error != 0);
}

TEST_CASE("A guard that is shown another directory than it was told does not go on") {
  const std::string identity = "1:1";
  // The rules bind this very process, so a child plays the guard.
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(::readlink("/proc/self/exe", self.data(), self.size())));
  const auto policy =
      cordon::PolicyResolver::resolve({.mode = cordon::danger_full_access, .workspace_root = "/var/tmp"});
  policy.visit(
      [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
        const auto done = cordon::process::run(
            cordon::UnconfinedArgv(full, cordon::Argv({self, "--cordon-runner", "guard", "--write", "/var/tmp",
                                                       "--identity", identity, "--", "/bin/sh", "-c", "echo ran"})));
        CHECK(done.ending == cordon::process::Ending(cordon::process::Exited{125}));
        CHECK(done.out.text() == "");
        if (cordon::os::landlock::abi<K>() >= 1) CHECK(done.err.text().find("was replaced") != std::string::npos);
      },
      [](const auto&) { FAIL("another mode"); });
}
