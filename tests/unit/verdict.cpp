// SPDX-License-Identifier: BSL-1.0
#include <cordon/classify/verdict.hpp>

#include <cerrno>

#include "support/catch.hpp"

using namespace cordon;
using process::Capture;
using process::Exited;

namespace {

RunResult result(CommandEnding ending, std::vector<Denial> denials = {}) {
  return {RunFacts{.mode = workspace_write}, ending, Capture(0), Capture(0), {}, {}, 0, std::move(denials)};
}

Denial denial(const std::string& path, const std::string& grant) {
  return {.effect = FileEffect::create, .path = path, .error = "EROFS", .grant = grant};
}

std::string told(const Verdict& verdict, Escalation escalation = Escalation::available) {
  return text_for_model(verdict, workspace_write, escalation);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A result has exactly one verdict") {
  CHECK(std::holds_alternative<CommandRan>(verdict_of(result(Exited{0}))));
  CHECK(std::holds_alternative<CommandRan>(verdict_of(result(Exited{125}))));
  CHECK(std::holds_alternative<CommandRan>(verdict_of(result(process::Signalled{9}))));
  CHECK(std::holds_alternative<NotExecutable>(verdict_of(result(NotExecutable{ENOENT}))));
  const auto denied = verdict_of(result(Exited{0}, {denial("/o/x", "/o")}));
  REQUIRE(std::holds_alternative<Denied>(denied));
  CHECK(std::get<Denied>(denied).denials.front().path == "/o/x");
  CHECK(std::get<Denied>(denied).ending == CommandEnding(Exited{0}));
}

TEST_CASE(
    "CLS-08, T-DEN-09: that the runner failed is an error and no result, and its verdict has stage, errno and detail") {
  const auto failed = verdict_of(SandboxUnavailableError("no", RunnerFailure{"mount", EPERM, "words"}));
  REQUIRE(std::holds_alternative<RunnerFailed>(failed));
  CHECK(std::get<RunnerFailed>(failed).stage == "mount");
  CHECK(std::get<RunnerFailed>(failed).error == EPERM);
  CHECK(std::get<RunnerFailed>(failed).detail == "words");
  CHECK(std::get<RunnerFailed>(verdict_of(SandboxUnavailableError("why"))).detail == "why");
}

TEST_CASE("F92, ESC-09: the model is told what was refused, and the least that it can ask for") {
  const std::string text = told(verdict_of(result(Exited{1}, {denial("/o/x", "/o")})));
  CHECK(text ==
        "[sandbox workspace-write: refused create /o/x (EROFS, inferred)]\n"
        "If it is needed, ask once for this very command with /o writable, and say why.");
  CHECK(
      has(told(Denied{Exited{1}, {denial("/w/x", "workspace-write")}}), "with the mode workspace-write, and say why"));
  CHECK(has(told(Denied{Exited{1}, {denial("/o/x", "/o"), denial("/p/x", "/p")}}), "exactly what it has to write"));
}

TEST_CASE("Nobody is told to ask where nobody can be asked, and nobody is sent to full access") {
  const Verdict denied = Denied{Exited{1}, {denial("/o/x", "/o")}};
  CHECK_FALSE(has(told(denied, Escalation::unavailable), "ask once"));
  CHECK(has(told(denied, Escalation::unavailable), "can't be granted here"));
  for (const Verdict& verdict : {denied, Verdict(RunnerFailed{"mount", EPERM, "x"}), Verdict(NotExecutable{ENOENT})})
    for (const Escalation escalation : {Escalation::available, Escalation::unavailable})
      CHECK_FALSE(has(told(verdict, escalation), "full"));
}

TEST_CASE("F95, ESC-10: a fault of the sandbox is called one, and not the command's") {
  const std::string text = told(RunnerFailed{"mount", EPERM, "x"});
  CHECK(has(text, "did not run"));
  CHECK(has(text, "fault of the sandbox"));
  CHECK(told(CommandRan{Exited{1}}).empty());
}

TEST_CASE("A path can't end the line that it is told in, and many denials don't drown the reader") {
  std::vector<Denial> many;
  for (int i = 0; i != 9; ++i) many.push_back(denial("/o/\n\033[2J" + std::to_string(i), "/o"));
  const std::string text = told(Denied{Exited{1}, many});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_FALSE(has(text, "\033"));
  CHECK(has(text, "and 4 more]"));
}
