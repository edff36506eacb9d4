// SPDX-License-Identifier: BSL-1.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cordon/audit.hpp>

#include <cordon/harness.hpp>
#include <cordon/jobs.hpp>
#include <cordon/session/jsonl_log.hpp>
#include <cordon/session/resolve.hpp>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/scripted_backend.hpp"
#include "support/scripted_log.hpp"
#include "support/session.hpp"
#include "support/stand_in.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::policy;
using support::StandIn;
using support::TempDirectory;

namespace {

Session<MemoryLog> memory_session(SessionDefaults defaults = {}) {
  return Session<MemoryLog>(MemoryLog(SessionHeader{"s", 0}), defaults);
}

std::vector<Event> events_of(Session<MemoryLog>& session) {
  std::vector<Event> events;
  session.for_each([&](const Record& record) { events.push_back(record.event); });
  return events;
}

UnconfinedArgv unconfined(const Argv& command, const std::string& root) {
  std::vector<UnconfinedArgv> made;
  PolicyResolver::resolve({.mode = danger_full_access, .workspace_root = root})
      .visit([&](const Policy<DangerFullAccess>& policy) { made.emplace_back(policy, command); }, [](const auto&) {});
  return std::move(made.front());
}

}  // namespace

TEST_CASE("a confined command is recorded before it runs, with how it is confined, and after, with what it came to") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const Argv command({"/bin/sh", "-c", "echo 'sh: cannot create /etc/x: Read-only file system' >&2; exit 2"});
  const auto result = run_in(turn, harness, policy<WorkspaceWrite>("/var/tmp"), command);
  turn.end();
  const std::vector<Event> events = events_of(session);
  REQUIRE(events.size() == 4);
  CHECK(events[1] ==
        Event(ExecConfined{command.elements(),
                           workspace_write,
                           "/var/tmp",
                           "stand-in",
                           {},
                           "",
                           Action::digest_of_command(command, policy<WorkspaceWrite>("/var/tmp").scope(), {})}));
  const auto& settled = std::get<ExecSettled>(events[2]);
  CHECK(settled.exec == 1);
  CHECK(settled.outcome == "exited");
  CHECK(settled.exit_code == 2);
  CHECK(settled.denials.size() == result.denials.size());
}

TEST_CASE("what is not governed is in the record, and a signal is") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  const auto script = std::make_shared<support::Script>();
  script->governed = EffectSet::all() - EffectSet{FileEffect::metadata};
  Harness<support::ScriptedBackend<0>, AnswererChain<>, AcceptPartial> scripted{support::ScriptedBackend<0>(script)};
  CHECK_THROWS_AS(run_in(turn, scripted, policy<ReadOnly>("/var/tmp"), Argv({"true"})), SandboxUnavailableError);
  std::vector<Event> events = events_of(session);
  REQUIRE(events.size() == 3);
  CHECK(std::get<ExecConfined>(events[1]).missing == EffectSet{FileEffect::metadata});
  CHECK(std::get<ExecSettled>(events[2]).outcome == "runner_failed");

  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  (void)run_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sh", "-c", "kill -9 $$"}));
  const auto settled = std::get<ExecSettled>(events_of(session).back());
  CHECK(settled.outcome == "signalled");
  CHECK(settled.signal == 9);
  CHECK_FALSE(settled.exit_code);
}

TEST_CASE("what the backend refuses before anything is confined leaves no record of a command") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<> refusing;
  CHECK_THROWS_AS(run_in(turn, refusing, policy<ReadOnly>("/var/tmp"), Argv({"true"})), SandboxUnavailableError);
  CHECK(events_of(session).size() == 1);
}

TEST_CASE("a command with no confinement is recorded with what allowed it") {
  auto session = memory_session({workspace_write, ApprovalPolicy::ask});
  CHECK(full_access_reason(session, true) == "explicit mode");
  CHECK(full_access_reason(session, false) == "deployment default");
  session.set_mode(danger_full_access);
  CHECK(full_access_reason(session, false) == "session mode");
  session.set_preset("danger-full-access");
  CHECK(full_access_reason(session, false) == "preset danger-full-access");
  auto turn = session.begin_turn();
  Harness<> harness;
  const Argv command({"/bin/sh", "-c", "exit 4"});
  (void)run_in(turn, harness, unconfined(command, "/var/tmp"), full_access_reason(session, false));
  const auto events = events_of(session);
  CHECK(events[events.size() - 2] ==
        Event(ExecUnconfined{command.elements(), "/var/tmp", "preset danger-full-access",
                             Action::digest_of_command(command, policy<ReadOnly>("/var/tmp").scope(), {})}));
  CHECK(std::get<ExecSettled>(events.back()).exit_code == 4);
}

TEST_CASE("what a callback of the program throws is thrown on, and the end of the command recorded as unknown") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  process::RunOptions options;
  options.on_output = [](process::Stream, std::string_view) { throw std::runtime_error("mine"); };
  CHECK_THROWS_WITH(run_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/echo", "x"}), std::move(options)),
                    "mine");
  CHECK(std::get<ExecSettled>(events_of(session).back()).outcome == "unknown");
  // Also when it is what is thrown where nothing runs.
  options.on_output = [](process::Stream, std::string_view) { throw SpawnError("mine", EMFILE); };
  CHECK_THROWS_AS(run_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/echo", "x"}), std::move(options)),
                  SpawnError);
  CHECK(std::get<ExecSettled>(events_of(session).back()).outcome == "unknown");
}

TEST_CASE("how a command ended outlives a log that has no room for it, and why one did not run says more than that") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  // The command is announced, and then the log is full.
  script->before = [&] { script->fails = std::holds_alternative<ExecConfined>(script->events.back()); };
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const Argv command({"/bin/sh", "-c", "echo out; exit 5"});
  try {
    (void)run_in(turn, harness, policy<ReadOnly>("/var/tmp"), command);
    FAIL("nobody was told");
  } catch (const UnrecordedError& error) {
    CHECK(error.code() == ErrorCode::log_failed);
    CHECK(std::string(error.what()).find("has run") != std::string::npos);
    CHECK(error.result().ending == CommandEnding(process::Exited{5}));
    CHECK(error.result().out.text() == "out\n");
  }
  // It is recorded when there is room.
  script->fails = false;
  script->before = [] {};
  turn.record(ExecUnconfined{{"x"}, "/w", "y"});
  CHECK(script->events[2] == Event(ExecSettled{1, "exited", 5}));
  script->before = [&] { script->fails = std::holds_alternative<ExecConfined>(script->events.back()); };
  Harness<support::ScriptedBackend<0>> scripted;
  CHECK_THROWS_AS(run_in(turn, scripted, policy<ReadOnly>("/var/tmp"), Argv({"true"})), SandboxUnavailableError);
}

TEST_CASE("a command is not run when the log has another name, or is not where it was") {
  const TempDirectory place("/var/tmp");
  const std::string path = place.path() + "/log";
  Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}));
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const auto run = [&] { return run_in(turn, harness, policy<WorkspaceWrite>("/usr"), Argv({"/bin/true"})); };
  CHECK_NOTHROW(run());
  std::filesystem::create_hard_link(path, place.path() + "/other");
  CHECK_THROWS_AS(run(), LogError);
  std::filesystem::remove(place.path() + "/other");
  CHECK_NOTHROW(run());
  std::filesystem::rename(path, place.path() + "/moved");
  CHECK_THROWS_AS(run(), LogError);
}

TEST_CASE("what can't be recorded is not run") {
  const TempDirectory place;
  Session<JsonlLog> session(JsonlLog::create(place.file("taken"), {"s", 0}));
  Harness<> harness;
  CHECK_THROWS_AS(session.begin_turn(), LogError);
  CHECK_FALSE(support::exists(place.path() + "/marker"));
}

TEST_CASE("a command that could write the log of its session is refused, or the log protected") {
  const TempDirectory place("/var/tmp");
  Session<JsonlLog> session(JsonlLog::create(place.path() + "/in/log", {"s", 0}));
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const Argv command({"/bin/sh", "-c", "true"});
  const auto run = [&](PolicyRequest request) {
    return run_in(turn, harness, policy<WorkspaceWrite>(std::move(request)), command);
  };
  CHECK_THROWS_AS(run({.workspace_root = place.path()}), PolicyInvalidError);
  CHECK_THROWS_AS(run({.workspace_root = place.path() + "/in"}), PolicyInvalidError);
  CHECK_THROWS_AS(run({.workspace_root = "/usr", .write = {place.path() + "/in/log"}}), PolicyInvalidError);
  CHECK_NOTHROW(run({.workspace_root = place.directory("other")}));
  CHECK_NOTHROW(run_in(turn, harness, policy<ReadOnly>(place.path()), command));

  const auto protected_by = [&](const PolicyRequest& request) {
    PolicyRequest copy = request;
    copy.mode = workspace_write;
    session.with_log([&](const JsonlLog& log) { protect_log(copy, PolicyResolver::resolve(copy), log); });
    return copy.protect;
  };
  using Paths = std::vector<std::string>;
  CHECK(protected_by({.workspace_root = place.path()}) == Paths{place.path() + "/in"});
  CHECK(protected_by({.workspace_root = place.path() + "/in"}) == Paths{place.path() + "/in/log"});
  CHECK(protected_by({.workspace_root = place.path() + "/other"}).empty());
  CHECK(protected_by({.workspace_root = place.path(), .write = {place.path() + "/in"}}) ==
        Paths{place.path() + "/in/log"});
  PolicyRequest request{.workspace_root = place.path()};
  request.protect = protected_by(request);
  CHECK_NOTHROW(run(request));

  // Through a link that a command may have made, the same name can mean another log next time.
  (void)place.symlink("link", place.path() + "/in");
  Session<JsonlLog> through(JsonlLog::create(place.path() + "/link/second", {"s", 0}));
  through.set_mode(read_only);
  PolicyRequest inside{.mode = workspace_write, .workspace_root = place.path()};
  CHECK_THROWS_AS(
      through.with_log([&](const JsonlLog& log) { protect_log(inside, PolicyResolver::resolve(inside), log); }),
      PolicyInvalidError);
}

TEST_CASE("a protection that a command can get round protects no log") {
  const TempDirectory place("/var/tmp");
  Session<JsonlLog> session(JsonlLog::create(place.path() + "/in/log", {"s", 0}));
  auto turn = session.begin_turn();
  const auto script = std::make_shared<support::Script>();
  Harness<support::ScriptedBackend<0>> harness{support::ScriptedBackend<0>(script)};
  const auto request = [&] {
    return policy<WorkspaceWrite>({.workspace_root = place.path(), .protect = {place.path() + "/in"}});
  };
  CHECK_THROWS_AS(run_in(turn, harness, request(), Argv({"true"})), SandboxUnavailableError);
  script->best_effort = {place.path() + "/in"};
  CHECK_THROWS_AS(run_in(turn, harness, request(), Argv({"true"})), PolicyInvalidError);
  script->best_effort = {};
  script->shared_temp = {"/var/tmp"};
  CHECK_THROWS_AS(run_in(turn, harness, policy<WorkspaceWrite>("/usr"), Argv({"true"})), PolicyInvalidError);
}

TEST_CASE("LOG-K4 secrets in an argv can be masked in the record, and the command gets them all the same") {
  const MaskSecrets mask;
  using Words = std::vector<std::string>;
  CHECK(mask(Words{"curl", "-H", "x", "--token", "abc", "--password=hunter2", "API_KEY=s3", "LANG=C",
                   "https://me:pw@example.org/", "--token"}) == Words{"curl", "-H", "x", "--token", "[masked]",
                                                                      "--password=[masked]", "API_KEY=[masked]",
                                                                      "LANG=C", "[masked]", "--token"});
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const auto result = run_in(turn, harness, policy<ReadOnly>("/var/tmp"),
                             Argv({"/bin/sh", "-c", "echo $2", "sh", "--token", "abc"}), {}, mask);
  CHECK(result.out.text() == "abc\n");
  CHECK(std::get<ExecConfined>(events_of(session)[1]).argv.back() == "[masked]");
}

TEST_CASE("a command in the background is announced as that, and settled when it ends, though its turn is over") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  Jobs jobs;
  const TempDirectory place("/var/tmp");
  const Argv waits({"/bin/sh", "-c", "until test -e '" + place.path() + "/gate'; do sleep 0.02; done; exit 4"});
  const Job job = jobs.keep(start_in(turn, harness, policy<ReadOnly>(place.path()), waits));
  const Job full = jobs.keep(start_in(turn, harness, unconfined(waits, place.path()), "explicit mode"));
  turn.end();
  auto next = session.begin_turn();
  next.end();
  CHECK(session.state().in_background() == std::vector<std::uint64_t>{1, 2});
  (void)place.file("gate");
  CHECK(job.wait().ending == CommandEnding(process::Exited{4}));
  CHECK(full.wait().ending == CommandEnding(process::Exited{4}));
  const std::vector<Event> events = events_of(session);
  REQUIRE(events.size() == 8);
  CHECK(std::get<ExecConfined>(events[1]).background);
  CHECK(std::get<ExecUnconfined>(events[2]).background);
  CHECK(std::get<ExecUnconfined>(events[2]).allowed_by == "explicit mode");
  CHECK(std::get<ExecSettled>(events[6]).exit_code == 4);
  CHECK(std::get<ExecSettled>(events[7]).exit_code == 4);
  CHECK(session.state().in_background().empty());
}

TEST_CASE("a command in the background that nobody follows any more ends, and its end is recorded as unknown") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  long pid = 0;
  {
    const Running running =
        start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sleep", support::unique_sleep()}));
    pid = running.pid();
    CHECK(session.state().in_background().size() == 1);
  }
  CHECK(::kill(static_cast<pid_t>(pid), 0) != 0);
  CHECK(std::get<ExecSettled>(events_of(session).back()).outcome == "unknown");
  {
    Jobs jobs;
    process::RunOptions options;
    options.on_output = [](process::Stream, std::string_view) { throw std::runtime_error("mine"); };
    const Job job =
        jobs.keep(start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/echo", "x"}), std::move(options)));
    CHECK_THROWS_WITH(job.wait(), "mine");
    CHECK(std::get<ExecSettled>(events_of(session).back()) == ExecSettled{3, "unknown"});
  }
  CHECK(session.state().in_background().empty());
}

TEST_CASE("waiting for it settles it once, and so does a runner that fails") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  {
    Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
    Running running = start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sh", "-c", "exit 5"}));
    CHECK(running.wait().ending == CommandEnding(process::Exited{5}));
    CHECK(std::get<ExecSettled>(events_of(session).back()).exit_code == 5);
  }
  CHECK(events_of(session).size() == 3);
  Harness<StandIn> failing(StandIn{{"/usr/bin/env"}, nullptr, true});
  {
    Running running = start_in(turn, failing, policy<ReadOnly>("/var/tmp"), Argv({"/bin/true"}));
    CHECK_THROWS_AS(running.wait(), SandboxUnavailableError);
  }
  CHECK(std::get<ExecSettled>(events_of(session).back()) == ExecSettled{3, "runner_failed"});
  CHECK(events_of(session).size() == 5);
  CHECK_THROWS_AS(start_in(turn, failing, policy<ReadOnly>("/var/tmp"), Argv({"/nowhere/program"}),
                           {.working_directory = "/nowhere"}),
                  Error);
  CHECK(session.state().in_background().empty());
}

TEST_CASE("what can't be recorded of the end of a job is told with what it came to") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  Jobs jobs;
  script->before = [&] { script->fails = std::holds_alternative<ExecConfined>(script->events.back()); };
  const Job job =
      jobs.keep(start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sh", "-c", "echo out; exit 5"})));
  try {
    (void)job.wait();
    FAIL("nobody was told");
  } catch (const UnrecordedError& error) {
    CHECK(error.result().ending == CommandEnding(process::Exited{5}));
    CHECK(error.result().out.text() == "out\n");
  }
  script->fails = false;
  script->before = [] {};
  turn.end();
  REQUIRE(script->events.size() == 4);
  CHECK(script->events[2] == Event(ExecSettled{1, "exited", 5}));
}

TEST_CASE("a log that fails in another way loses no result either") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  script->before = [&] {
    if (std::holds_alternative<ExecConfined>(script->events.back())) throw std::bad_alloc();
  };
  try {
    (void)run_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sh", "-c", "exit 5"}));
    FAIL("nobody was told");
  } catch (const UnrecordedError& error) {
    CHECK(error.code() == ErrorCode::log_failed);
    CHECK(error.result().ending == CommandEnding(process::Exited{5}));
  }
}

TEST_CASE("a fork ends no command in the log, and does not wait for who holds the session") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  std::optional<Running> running(
      start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sleep", support::unique_sleep()})));
  pid_t child = 0;
  session.with_log([&](const MemoryLog&) {
    child = ::fork();
    if (child != 0) return;
    ::alarm(10);
    running.reset();
    ::_exit(0);
  });
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(session.state().in_background().size() == 1);
  running.reset();
  CHECK(std::get<ExecSettled>(events_of(session).back()).outcome == "unknown");
}

TEST_CASE("nothing runs in a turn that has ended, also when another is open") {
  auto session = memory_session();
  auto ended = session.begin_turn();
  ended.end();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const TempDirectory place("/var/tmp");
  const Argv command({"/usr/bin/touch", place.path() + "/marker"});
  CHECK_THROWS_AS(run_in(ended, harness, policy<ReadOnly>("/var/tmp"), command), SessionInvalidError);
  CHECK_THROWS_AS(start_in(ended, harness, policy<ReadOnly>("/var/tmp"), command), SessionInvalidError);
  CHECK_FALSE(support::exists(place.path() + "/marker"));
  CHECK(events_of(session).size() == 3);
}

TEST_CASE("what could not be announced is not started in the background either") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  const TempDirectory place("/var/tmp");
  script->fails = true;
  CHECK_THROWS_AS(
      start_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/usr/bin/touch", place.path() + "/marker"})),
      LogError);
  CHECK_FALSE(support::exists(place.path() + "/marker"));
}

TEST_CASE("a command whose turn is ended while it runs has its result, and says that this is not recorded") {
  auto session = memory_session();
  auto turn = session.begin_turn();
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  process::RunOptions options;
  options.on_output = [&](process::Stream, std::string_view) { turn.end(); };
  try {
    (void)run_in(turn, harness, policy<ReadOnly>("/var/tmp"), Argv({"/bin/sh", "-c", "echo out; exit 6"}),
                 std::move(options));
    FAIL("nobody was told");
  } catch (const UnrecordedError& error) {
    CHECK(std::string(error.what()).find("its turn has ended") != std::string::npos);
    CHECK(error.result().ending == CommandEnding(process::Exited{6}));
  }
}
