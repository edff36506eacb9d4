// SPDX-License-Identifier: BSL-1.0
#include <cordon/model_text.hpp>

#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/harness.hpp>
#include <string>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/stand_in.hpp"

using namespace cordon;
using support::OpenTurn;
using support::StandIn;

namespace {

RunResult ran(const std::string& script) {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  return harness.run(support::policy<WorkspaceWrite>("/var/tmp"), Argv({"/bin/sh", "-c", script}));
}

}  // namespace

TEST_CASE("what a command printed is told as it is, its errors in a part of their own, and how it ended") {
  CHECK(tool_result(ran("echo out"), Escalation::available) == "out\n");
  CHECK(tool_result(ran("true"), Escalation::available).empty());
  CHECK(tool_result(ran("printf out; echo err >&2; exit 3"), Escalation::available) ==
        "out\n[stderr]\nerr\n[exit status 3]");
  CHECK(tool_result(ran("kill -9 $$"), Escalation::available) == "[ended by signal 9]");
}

TEST_CASE("T-ESC-13: a denial is marked before the exit marker, with a hint only where asking can succeed") {
  const RunResult result = ran("echo 'sh: 1: cannot create /etc/x: Read-only file system' >&2; exit 2");
  REQUIRE(result.denied());
  const std::string with = tool_result(result, Escalation::available);
  const std::string without = tool_result(result, Escalation::unavailable);
  for (const std::string& text : {with, without}) {
    const auto marker = text.find("[sandbox workspace-write: refused");
    REQUIRE(marker != std::string::npos);
    CHECK(marker < text.find("[exit status 2]"));
    CHECK(text.find("danger-full-access") == std::string::npos);
  }
  CHECK(with.find("ask once for this very command") != std::string::npos);
  CHECK(with.find("ask once") < with.find("[exit status 2]"));
  CHECK(without.find("ask once") == std::string::npos);
}

TEST_CASE("asking can succeed when a mode is wider, not above the ceiling, and somebody is asked") {
  CHECK(escalation_for(read_only, ApprovalPolicy::ask) == Escalation::available);
  CHECK(escalation_for(read_only, ApprovalPolicy::never) == Escalation::unavailable);
  CHECK(escalation_for(danger_full_access, ApprovalPolicy::ask) == Escalation::unavailable);
  CHECK(escalation_for(workspace_write, ApprovalPolicy::ask, workspace_write) == Escalation::unavailable);
}

TEST_CASE("APR-10: the context is the same bytes until something changes, and names only what can be asked for") {
  CHECK(runtime_context(read_only, ApprovalPolicy::ask) == runtime_context(read_only, ApprovalPolicy::ask));
  CHECK(runtime_context(read_only, ApprovalPolicy::ask) != runtime_context(read_only, ApprovalPolicy::never));
  CHECK(runtime_context(read_only, ApprovalPolicy::ask) ==
        "Sandbox mode: read-only. Commands can read files and change none.\n"
        "Approval policy: ask. A command that was refused something can be asked for once under workspace-write or "
        "danger-full-access, with a reason; the user decides.\n");
  CHECK(runtime_context(workspace_write, ApprovalPolicy::ask, workspace_write).find("danger") == std::string::npos);
  CHECK(runtime_context(read_only, ApprovalPolicy::never).find("wider") == std::string::npos);
  CHECK(runtime_context(danger_full_access, ApprovalPolicy::ask).find("no wider mode") != std::string::npos);
}

TEST_CASE("questions and decisions are no part of what a model is told") {
  OpenTurn open;
  Harness<StandIn, AnswererChain<Scripted>> harness(StandIn{{"/usr/bin/env"}},
                                                    AnswererChain<Scripted>(Scripted({Decision::allow()})));
  const std::string before = runtime_context(open.turn.effective_mode(), open.turn.approval_policy());
  const RunResult result = run_escalated(open.turn, harness, Argv({"/bin/echo", "x"}), workspace_write,
                                         "the reason that was given", {.roots = {.workspace_root = "/var/tmp"}});
  const std::string text = tool_result(result, Escalation::available);
  CHECK(text == "x\n");
  CHECK(runtime_context(open.turn.effective_mode(), open.turn.approval_policy()) == before);
}
