// SPDX-License-Identifier: BSL-1.0
#include <signal.h>
#include <cordon/escalation.hpp>

#include <cordon/approval/answerers/callback.hpp>
#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/harness.hpp>
#include <cordon/jobs.hpp>
#include <cordon/session/jsonl_log.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::OpenTurn;
using support::StandIn;
using support::TempDirectory;

namespace {

using Asking = Harness<StandIn, AnswererChain<Scripted>>;

Asking asking(const Scripted& script, ApprovalOptions options = {}) {
  return Asking(StandIn{{"/usr/bin/env"}}, AnswererChain<Scripted>(script), std::move(options));
}

EscalationDetails in(const std::string& root) {
  return {.roots = {.workspace_root = root}, .call_id = "call 3"};
}

/// Tells that it ran, and how often.
struct Marker {
  TempDirectory place{"/var/tmp"};
  Argv command{"/bin/sh", "-c", "echo ran >>" + place.path() + "/ran; echo out; echo err >&2; exit 3"};
  [[nodiscard]] int runs() const {
    std::ifstream file(place.path() + "/ran");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
};

/// A harness that calls `confining` first, and starts what `starting` starts.
struct Crooked {
  Asking own;
  std::function<void()> confining = [] {};
  std::function<Running(Asking&, process::RunOptions)> starting = {};
  std::vector<std::string> protected_paths = {};

  auto& approvals() { return own.approvals(); }
  template <ConfinedMode M>
  ConfinedArgv<M> confine(const Policy<M>& policy, const Argv& command) {
    confining();
    protected_paths = policy.scope().protected_paths;
    return own.confine(policy, command);
  }
  Running start(auto&& what, process::RunOptions options) {
    if (starting) return starting(own, std::move(options));
    return own.start(std::move(what), std::move(options));
  }
};

void write_tool(const std::string& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

std::string code_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(name(error.code()));
  }
  return "none";
}

}  // namespace

TEST_CASE("T-ESC-01: what can be asked for is what is wider, and not above the ceiling") {
  CHECK(wider_modes(read_only) == std::vector<SandboxMode>{workspace_write, danger_full_access});
  CHECK(wider_modes(workspace_write) == std::vector<SandboxMode>{danger_full_access});
  CHECK(wider_modes(danger_full_access).empty());
  CHECK(wider_modes(read_only, workspace_write) == std::vector<SandboxMode>{workspace_write});
  CHECK(wider_modes(read_only, read_only).empty());
}

TEST_CASE("T-ESC-03: a justification of nothing but blanks is refused, and nobody is asked") {
  OpenTurn open;
  const Scripted script({Decision::allow()});
  auto harness = asking(script);
  const Marker marker;
  const std::uint64_t size = open.session.state().size();
  for (const char* blank : {"", "   ", "\t\n\r", "\xc2\xa0\xe2\x80\x8b", "\xff"})
    CHECK(code_of([&] {
            (void)run_escalated(open.turn, harness, marker.command, danger_full_access, blank, in(marker.place.path()));
          }) == "ESCALATION_INVALID");
  CHECK(script.asked().empty());
  CHECK(marker.runs() == 0);
  CHECK(open.session.state().size() == size);
}

TEST_CASE("T-ESC-04, F96: a mode that is not wider runs at once under the one in effect, and nobody is asked") {
  const Scripted script({Decision::reject()});
  for (const SandboxMode effective :
       {SandboxMode(read_only), SandboxMode(workspace_write), SandboxMode(danger_full_access)}) {
    OpenTurn open({effective, ApprovalPolicy::never});
    auto harness = asking(script);
    const Marker marker;
    for (const SandboxMode mode : {SandboxMode(read_only), effective}) {
      const RunResult result =
          run_escalated(open.turn, harness, marker.command, mode, "because", in(marker.place.path()));
      CHECK(result.mode == effective);
    }
    CHECK(marker.runs() == 2);
    CHECK(open.events<ApprovalAsked>().empty());
    CHECK(open.events<ExecConfined>().size() + open.events<ExecUnconfined>().size() == 2);
  }
  CHECK(script.asked().empty());
}

TEST_CASE("T-ESC-06: rejected, cancelled and unavailable are three errors with three texts, and nothing runs") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::reject("too risky"), Decision::cancel(), Decision::unavailable()}));
  const Marker marker;
  const auto refusal = [&] {
    try {
      (void)run_escalated(open.turn, harness, marker.command, danger_full_access, "why", in(marker.place.path()));
    } catch (const ApprovalError& error) {
      return std::string(name(error.code())) + ": " + error.what();
    }
    return std::string("it ran");
  };
  const std::string rejected = refusal();
  const std::string cancelled = refusal();
  const std::string unavailable = refusal();
  CHECK(rejected.starts_with("APPROVAL_REJECTED: the command was not run"));
  CHECK(rejected.find("too risky") != std::string::npos);
  CHECK(cancelled.starts_with("APPROVAL_CANCELLED: the command was not run"));
  CHECK(unavailable.starts_with("APPROVAL_UNAVAILABLE: the command was not run"));
  CHECK(refusal().starts_with("APPROVAL_UNAVAILABLE"));  // nobody is left in the chain
  for (const std::string& text : {rejected, cancelled, unavailable})
    CHECK(text.find("danger-full-access") == std::string::npos);
  CHECK(marker.runs() == 0);
  CHECK(open.events<ExecUnconfined>().empty());
}

TEST_CASE(
    "T-ESC-08, F94, ESC-06: what is allowed runs once under that mode in the same root, and nothing of it stays") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow(), Decision::allow()}));
  const Marker marker;
  const RunResult wide =
      run_escalated(open.turn, harness, marker.command, danger_full_access, "why", in(marker.place.path()));
  CHECK(wide.mode == SandboxMode(danger_full_access));
  CHECK(wide.backend.empty());  // T-ESC-14: facts of a sandbox that there was not
  CHECK_FALSE(wide.enforcement);
  CHECK(wide.ending == CommandEnding(process::Exited{3}));
  CHECK(wide.out.text() == "out\n");
  const RunResult middle =
      run_escalated(open.turn, harness, marker.command, workspace_write, "why", in(marker.place.path()));
  CHECK(middle.mode == SandboxMode(workspace_write));
  CHECK(marker.runs() == 2);
  const auto asked = open.events<ApprovalAsked>();
  REQUIRE(asked.size() == 2);
  const auto unconfined = open.events<ExecUnconfined>();
  REQUIRE(unconfined.size() == 1);
  CHECK(unconfined.front().workspace_root == marker.place.path());
  CHECK(unconfined.front().allowed_by == "grant " + asked[0].id);
  const auto confined = open.events<ExecConfined>();
  REQUIRE(confined.size() == 1);
  CHECK(confined.front().mode == SandboxMode(workspace_write));
  CHECK(confined.front().allowed_by == "grant " + asked[1].id);
  CHECK(open.events<ModeSwitched>().empty());
  CHECK(open.turn.effective_mode() == SandboxMode(read_only));
  CHECK(resolve(open.turn, {.workspace_root = marker.place.path()}).policy.mode() == SandboxMode(read_only));
}

TEST_CASE("F97: the same command twice is two questions with two ids") {
  OpenTurn open;
  const Scripted script({Decision::allow(), Decision::reject()});
  auto harness = asking(script);
  const Marker marker;
  (void)run_escalated(open.turn, harness, marker.command, danger_full_access, "why", in(marker.place.path()));
  CHECK(code_of([&] {
          (void)run_escalated(open.turn, harness, marker.command, danger_full_access, "why", in(marker.place.path()));
        }) == "APPROVAL_REJECTED");
  REQUIRE(script.asked().size() == 2);
  CHECK(script.asked()[0].id != script.asked()[1].id);
  CHECK(marker.runs() == 1);
}

TEST_CASE("T-ESC-10, ESC-07: wider is what is wider than the session's mode, not than the deployment's") {
  OpenTurn narrowed({workspace_write, ApprovalPolicy::ask});
  narrowed.session.set_mode(read_only);
  const Scripted script({Decision::allow()});
  auto harness = asking(script);
  const Marker marker;
  CHECK(run_escalated(narrowed.turn, harness, marker.command, workspace_write, "why", in(marker.place.path())).mode ==
        SandboxMode(workspace_write));
  CHECK(script.asked().size() == 1);
  OpenTurn widened({read_only, ApprovalPolicy::ask});
  widened.session.set_mode(danger_full_access);
  CHECK(run_escalated(widened.turn, harness, marker.command, workspace_write, "why", in(marker.place.path())).mode ==
        SandboxMode(danger_full_access));
  CHECK(script.asked().size() == 1);
}

TEST_CASE("T-ESC-15: the record of an approval has the mode and the justification, and the call, inside the turn") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  (void)run_escalated(open.turn, harness, marker.command, workspace_write, "it builds there", in(marker.place.path()));
  open.turn.end();
  std::vector<std::string> types;
  open.session.for_each([&](const Record& record) { types.emplace_back(type_of(record.event)); });
  CHECK(types == std::vector<std::string>{"turn/start", "approval/asked", "approval/decided", "exec/confined",
                                          "exec/settled", "turn/end"});
  const ApprovalAsked asked = open.events<ApprovalAsked>().front();
  CHECK(asked.reason == "workspace-write: it builds there");
  CHECK(asked.call_id == "call 3");
  CHECK(open.events<ApprovalDecided>().front() == ApprovalDecided{asked.id, ApprovalResult::allowed_once, "scripted"});
}

TEST_CASE("T-ESC-16: with OnlyAfterDenial a command that was refused nothing is not asked about") {
  const TempDirectory place("/var/tmp");
  const Scripted script({Decision::allow()});
  auto harness = asking(script);
  OpenTurn open;
  const Argv denied({"/bin/sh", "-c", "echo 'sh: cannot create /etc/x: Read-only file system' >&2; exit 2"});
  const auto escalate = [&](const Argv& command) {
    return code_of([&] {
      (void)run_escalated<OnlyAfterDenial>(open.turn, harness, command, danger_full_access, "why", in(place.path()));
    });
  };
  CHECK(escalate(denied) == "ESCALATION_INVALID");
  const auto run = [&](const Argv& command) {
    return run_in(open.turn, harness, support::policy<ReadOnly>(place.path()), command);
  };
  CHECK_FALSE(run({"/bin/true"}).denied());
  CHECK(escalate({"/bin/true"}) == "ESCALATION_INVALID");
  const bool was_denied = run(denied).denied();
  CHECK(was_denied);
  CHECK(escalate({"/bin/sh", "-c", "rm -r /"}) == "ESCALATION_INVALID");
  CHECK(script.asked().empty());
  CHECK(escalate(denied) == "none");
  CHECK(script.asked().size() == 1);
}

TEST_CASE("the static form runs under the mode that it names, from the policy that it has") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow(), Decision::reject()}));
  const Marker marker;
  const auto policy = support::policy<ReadOnly>(marker.place.path());
  CHECK(run_escalated(open.turn, harness, policy, marker.command, workspace_write, "why").mode ==
        SandboxMode(workspace_write));
  CHECK(code_of([&] { (void)run_escalated(open.turn, harness, policy, marker.command, danger_full_access, "why"); }) ==
        "APPROVAL_REJECTED");
  CHECK(marker.runs() == 1);
}

TEST_CASE("a stop before or while somebody is asked runs nothing, and one after the grant neither (ESC-08, ESC-13)") {
  OpenTurn open;
  std::stop_source stop;
  const auto stops = [&](const ApprovalRequest&) -> std::optional<Decision> {
    stop.request_stop();
    return Decision::allow();
  };
  AnswererChain chain{Callback(stops)};
  Harness<StandIn, decltype(chain)> harness(StandIn{{"/usr/bin/env"}}, std::move(chain));
  const Marker marker;
  EscalationDetails details = in(marker.place.path());
  details.options.limits.stop = stop.get_token();
  for (int i = 0; i != 2; ++i)
    CHECK(code_of([&] { (void)run_escalated(open.turn, harness, marker.command, workspace_write, "why", details); }) ==
          "APPROVAL_CANCELLED");
  CHECK(marker.runs() == 0);

  auto allowing = asking(Scripted({Decision::allow()}));
  stop = std::stop_source();
  process::RunOptions options;
  options.limits.stop = stop.get_token();
  std::optional<RunResult> result;
  allowing.approvals()
      .request(open.turn,
               ApprovalRequest("shell", Action(marker.command, workspace_write,
                                               support::policy<ReadOnly>(marker.place.path()).scope(), options)))
      .visit(
          [&](AllowedOnce grant) {
            stop.request_stop();
            result = run_in(open.turn, allowing, std::move(grant));
          },
          [](const auto&) {});
  REQUIRE(result);
  CHECK(std::holds_alternative<process::Cancelled>(result->ending));
  CHECK(marker.runs() == 0);
}

// --- the grant itself -----------------------------------------------------------------------------------------------

namespace {

std::vector<AllowedOnce> granted(OpenTurn& open, Asking& harness, const Action& action) {
  std::vector<AllowedOnce> grants;
  harness.approvals()
      .request(open.turn, ApprovalRequest("shell", action))
      .visit([&](AllowedOnce grant) { grants.push_back(std::move(grant)); }, [](const auto&) {});
  return grants;
}

}  // namespace

TEST_CASE("a grant that was used is worth nothing") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  auto grants = granted(open, harness, support::action(marker.command));
  REQUIRE(grants.size() == 1);
  CHECK(grants.front().action().command() == marker.command);
  (void)run_in(open.turn, harness, std::move(grants.front()));
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "APPROVAL_USED");
  CHECK(code_of([&] { (void)grants.front().id(); }) == "APPROVAL_USED");
  CHECK(marker.runs() == 1);
}

TEST_CASE("a grant is worth nothing in another turn, or another session") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow(), Decision::allow()}));
  const Marker marker;
  auto late = granted(open, harness, support::action(marker.command));
  open.turn.end();
  Turn<MemoryLog> next = open.session.begin_turn();
  CHECK(code_of([&] { (void)run_in(next, harness, std::move(late.front())); }) == "APPROVAL_OUTSIDE_TURN");

  // Of the same name: what counts is which one it is.
  Session<MemoryLog> other(MemoryLog(SessionHeader{"s", 0}));
  OpenTurn mine;
  Turn<MemoryLog> theirs = other.begin_turn();
  auto foreign = granted(mine, harness, support::action(marker.command));
  REQUIRE(foreign.size() == 1);
  CHECK(foreign.front().action().mode() == SandboxMode(danger_full_access));
  CHECK(code_of([&] { (void)run_in(theirs, harness, std::move(foreign.front())); }) == "APPROVAL_OUTSIDE_TURN");
  CHECK(marker.runs() == 0);
}

TEST_CASE("a grant is worth nothing with a harness whose ceiling is lower") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  auto low = asking(Scripted({}), {.ceiling = workspace_write});
  const Marker marker;
  auto grants = granted(open, harness, support::action(marker.command));
  CHECK(code_of([&] { (void)run_in(open.turn, low, std::move(grants.front())); }) == "APPROVAL_REJECTED");
  CHECK(marker.runs() == 0);
  CHECK(open.events<ExecUnconfined>().empty());
}

TEST_CASE("a grant for a turn that has ended runs nothing") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  auto grants = granted(open, harness, support::action(marker.command));
  open.turn.end();
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "SESSION_INVALID");
  CHECK(marker.runs() == 0);
}

TEST_CASE("a program that is exchanged after it was approved is not run") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const TempDirectory place("/var/tmp");
  const std::string tool = place.path() + "/tool";
  write_tool(tool, "true\n");
  auto grants = granted(open, harness, support::action({tool}));
  write_tool(tool + ".new", "touch " + place.path() + "/evil\n");
  std::filesystem::rename(tool + ".new", tool);
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "ACTION_CHANGED");
  CHECK_FALSE(std::filesystem::exists(place.path() + "/evil"));
  CHECK(open.events<ExecUnconfined>().empty());
}

TEST_CASE("a directory or a root that is exchanged after it was approved is not run in") {
  OpenTurn open;
  auto harness = asking(Scripted(std::vector<Decision>(6, Decision::allow())));
  const TempDirectory place("/var/tmp");
  for (const char* name : {"work", "work/sub", "extra", "elsewhere"})
    std::filesystem::create_directory(place.path() + "/" + name);
  const PolicyScope scope =
      support::policy<WorkspaceWrite>({.workspace_root = place.path() + "/work", .write = {place.path() + "/extra"}})
          .scope();
  process::RunOptions options;
  options.working_directory = place.path() + "/work/sub";
  const std::string exchanged = GENERATE("work", "work/sub", "extra");
  const bool by_symlink = GENERATE(true, false);
  auto grants = granted(open, harness, Action({"/bin/sh", "-c", "echo x >ran"}, danger_full_access, scope, options));
  std::filesystem::rename(place.path() + "/" + exchanged, place.path() + "/moved");
  if (by_symlink)
    std::filesystem::create_directory_symlink(place.path() + "/elsewhere", place.path() + "/" + exchanged);
  else
    std::filesystem::create_directory(place.path() + "/" + exchanged);
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "ACTION_CHANGED");
  CHECK_FALSE(std::filesystem::exists(place.path() + "/elsewhere/ran"));
}

TEST_CASE("a grant is worth nothing once the session asks for no approvals") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  auto grants = granted(open, harness, support::action(marker.command));
  open.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "APPROVAL_REJECTED");
  CHECK(marker.runs() == 0);
}

TEST_CASE("what runs is the action that was asked about: its directory, environment and input too") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const TempDirectory place("/var/tmp");
  std::filesystem::create_directory(place.path() + "/sub");
  process::RunOptions options;
  options.working_directory = place.path() + "/sub";
  options.environment = {"GIVEN=value"};
  options.input = process::Input::bytes("typed");
  auto grants = granted(open, harness,
                        Action({"/bin/sh", "-c", "pwd; echo $GIVEN; cat"}, workspace_write,
                               support::policy<ReadOnly>(place.path()).scope(), std::move(options)));
  CHECK(run_in(open.turn, harness, std::move(grants.front())).out.text() == place.path() + "/sub\nvalue\ntyped");
}

TEST_CASE("a command that is asked for can't write its session's log either, in whichever mode that confines") {
  const TempDirectory place("/var/tmp");
  const std::string log = place.path() + "/log";
  Session<JsonlLog> session(JsonlLog::create(log, new_session(place.path())));
  auto turn = session.begin_turn();
  Crooked harness{asking(Scripted({Decision::allow()}))};
  (void)run_escalated(turn, harness, Argv({"/bin/true"}), workspace_write, "why");
  CHECK(harness.protected_paths == std::vector<std::string>{log});
}

TEST_CASE("how it is followed is the program's business, but not under which mode it runs") {
  OpenTurn open;
  const Marker marker;
  auto harness = asking(Scripted({Decision::allow()}));
  int followed = 0;
  const auto result = run_escalated(open.turn, harness, marker.command, workspace_write, "why", in(marker.place.path()),
                                    ShowAll{}, [&](Running& running) {
                                      ++followed;
                                      while (true)
                                        if (auto done = running.wait_for(std::chrono::milliseconds(20))) return *done;
                                    });
  CHECK(followed == 1);
  CHECK(result.ending == CommandEnding(process::Exited{3}));
  CHECK(open.events<ExecSettled>().back().exit_code == 3);

  long pid = 0;
  Crooked crooked{asking(Scripted({Decision::allow()}))};
  crooked.starting = [&](Asking& own, process::RunOptions options) {
    Running running =
        own.start(support::policy<ReadOnly>(marker.place.path()), Argv({"/bin/sleep", "60"}), std::move(options));
    pid = running.pid();
    return running;
  };
  CHECK(code_of([&] {
          (void)run_escalated(open.turn, crooked, marker.command, workspace_write, "why", in(marker.place.path()));
        }) == "ACTION_CHANGED");
  REQUIRE(pid > 0);
  CHECK(::kill(static_cast<pid_t>(pid), 0) != 0);
  CHECK(open.events<ExecSettled>().back().outcome == "unknown");
}

TEST_CASE("what changes while a granted command is confined still counts: never, and another program") {
  OpenTurn open({read_only, ApprovalPolicy::ask});
  const TempDirectory place("/var/tmp");
  const std::string tool = place.path() + "/tool";
  write_tool(tool, "true\n");
  Crooked harness{asking(Scripted({Decision::allow(), Decision::allow()}))};
  const auto code = [&] {
    return code_of(
        [&] { (void)run_escalated(open.turn, harness, Argv({tool}), workspace_write, "why", in(place.path())); });
  };
  harness.confining = [&] {
    write_tool(tool + ".new", "touch " + place.path() + "/swapped\n");
    std::filesystem::rename(tool + ".new", tool);
  };
  CHECK(code() == "ACTION_CHANGED");
  CHECK_FALSE(support::exists(place.path() + "/swapped"));
  CHECK(open.events<ExecSettled>().back().outcome == "unavailable");
  const std::size_t announced = open.events<ExecConfined>().size();
  harness.confining = [&] { open.session.set_approval_policy(ApprovalPolicy::never); };
  CHECK(code() == "APPROVAL_REJECTED");
  CHECK(open.events<ExecConfined>().size() == announced);
  CHECK_FALSE(support::exists(place.path() + "/swapped"));
}

TEST_CASE("T-ESC-08, T-ESC-14: what is allowed in the background runs once under that mode, and outlives its turn") {
  OpenTurn open;
  const Scripted script({Decision::allow(), Decision::allow()});
  auto harness = asking(script);
  const Marker marker;
  const Argv waits({"/bin/sh", "-c",
                    "until test -e '" + marker.place.path() + "/gate'; do sleep 0.02; done; echo ran >>'" +
                        marker.place.path() + "/ran'"});
  Jobs jobs;
  const Job full =
      jobs.keep(start_escalated(open.turn, harness, waits, danger_full_access, "a server", in(marker.place.path())));
  const Job middle = jobs.keep(start_escalated(open.turn, harness, support::policy<ReadOnly>(marker.place.path()),
                                               waits, workspace_write, "a server"));
  CHECK(full.facts().mode == SandboxMode(danger_full_access));
  CHECK(full.facts().backend.empty());
  CHECK_FALSE(full.facts().enforcement);
  CHECK(middle.facts().mode == SandboxMode(workspace_write));
  CHECK(middle.facts().backend == "stand-in");
  // The next command has the session's mode again.
  CHECK(resolve(open.turn, {.workspace_root = marker.place.path()}).policy.mode() == SandboxMode(read_only));
  open.turn.end();
  CHECK(open.session.state().in_background().size() == 2);
  (void)marker.place.file("gate");
  CHECK(full.wait().ending == CommandEnding(process::Exited{0}));
  CHECK(middle.wait().ending == CommandEnding(process::Exited{0}));
  CHECK(marker.runs() == 2);
  const auto asked = open.events<ApprovalAsked>();
  REQUIRE(asked.size() == 2);
  const auto unconfined = open.events<ExecUnconfined>();
  REQUIRE(unconfined.size() == 1);
  CHECK(unconfined.front().workspace_root == marker.place.path());
  CHECK(unconfined.front().allowed_by == "grant " + asked[0].id);
  CHECK(unconfined.front().background);
  const auto confined = open.events<ExecConfined>();
  REQUIRE(confined.size() == 1);
  CHECK(confined.front().allowed_by == "grant " + asked[1].id);
  CHECK(open.events<ExecSettled>().size() == 2);
  CHECK(open.events<ModeSwitched>().empty());
}

TEST_CASE("in the background too: what is not wider needs nobody's leave, and what nobody allows does not start") {
  OpenTurn open;
  const Scripted script({Decision::reject("no")});
  auto harness = asking(script);
  const Marker marker;
  CHECK(start_escalated(open.turn, harness, marker.command, read_only, "why", in(marker.place.path())).wait().mode ==
        SandboxMode(read_only));
  CHECK(script.asked().empty());
  CHECK(open.events<ExecConfined>().front().background);
  CHECK(code_of([&] {
          (void)start_escalated(open.turn, harness, marker.command, danger_full_access, "why", in(marker.place.path()));
        }) == "APPROVAL_REJECTED");
  CHECK(code_of([&] {
          (void)start_escalated<OnlyAfterDenial>(open.turn, harness, Argv({"/bin/true"}), danger_full_access, "why",
                                                 in(marker.place.path()));
        }) == "ESCALATION_INVALID");
  CHECK(marker.runs() == 1);
  CHECK(open.events<ExecUnconfined>().empty());
}

TEST_CASE("a grant is one command in the background, as it is in the foreground") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  auto grants = granted(open, harness,
                        Action(marker.command, workspace_write, support::policy<ReadOnly>("/var/tmp").scope(), {}));
  CHECK(start_in(open.turn, harness, std::move(grants.front())).wait().ending == CommandEnding(process::Exited{3}));
  CHECK(code_of([&] { (void)start_in(open.turn, harness, std::move(grants.front())); }) == "APPROVAL_USED");
  CHECK(code_of([&] { (void)run_in(open.turn, harness, std::move(grants.front())); }) == "APPROVAL_USED");
  CHECK(marker.runs() == 1);
}

TEST_CASE("ESC-08: what is stopped when it is allowed and has not started does not start in the background either") {
  OpenTurn open;
  auto harness = asking(Scripted({Decision::allow()}));
  const Marker marker;
  std::stop_source stop;
  process::RunOptions options;
  options.limits.stop = stop.get_token();
  auto grants = granted(
      open, harness,
      Action(marker.command, workspace_write, support::policy<ReadOnly>("/var/tmp").scope(), std::move(options)));
  stop.request_stop();
  Running running = start_in(open.turn, harness, std::move(grants.front()));
  CHECK(running.pid() == 0);
  CHECK(running.wait().ending == CommandEnding(process::Cancelled{}));
  CHECK(marker.runs() == 0);
  CHECK(open.events<ExecSettled>().back().outcome == "cancelled");
}
