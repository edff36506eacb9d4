// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/session.hpp>

#include <cordon/session/jsonl_log.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/scripted_log.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::ScriptedLog;

namespace {

struct ScriptedSession {
  std::shared_ptr<ScriptedLog::Script> script = std::make_shared<ScriptedLog::Script>();
  Session<ScriptedLog> session;
  explicit ScriptedSession(SessionDefaults defaults = {}) : session(ScriptedLog(script), defaults) {}
};

Session<MemoryLog> memory_session(SessionDefaults defaults = {}) {
  return Session<MemoryLog>(MemoryLog(SessionHeader{"s", 0}), defaults);
}

}  // namespace

TEST_CASE("T-POL-09 POL-06 each switch is one event, and one that changes nothing is none") {
  ScriptedSession it;
  it.session.set_mode(workspace_write);
  it.session.set_mode(workspace_write);
  it.session.set_mode(read_only);
  CHECK(it.script->events == std::vector<Event>{ModeSwitched{workspace_write}, ModeSwitched{read_only}});
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
}

TEST_CASE("T-APR-18 APR-09 the same approval policy is no event, another is one") {
  ScriptedSession it;
  it.session.set_approval_policy(ApprovalPolicy::ask);
  CHECK(it.script->events.empty());
  it.session.set_approval_policy(ApprovalPolicy::never);
  it.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(it.script->events == std::vector<Event>{ApprovalPolicySwitched{ApprovalPolicy::never}});
  CHECK(it.session.approval_policy() == ApprovalPolicy::never);
  CHECK_THROWS_AS(parse_approval_policy("maybe"), PolicyInvalidError);
}

TEST_CASE("POL-01 a session that says nothing has what its deployment gives, and goes with it") {
  CHECK(memory_session().effective_mode() == SandboxMode(read_only));
  CHECK(memory_session().approval_policy() == ApprovalPolicy::ask);
  const auto other = memory_session({workspace_write, ApprovalPolicy::never});
  CHECK(other.effective_mode() == SandboxMode(workspace_write));
  CHECK(other.approval_policy() == ApprovalPolicy::never);
  // To set a mode pins it, also to what it is.
  ScriptedSession it({read_only, ApprovalPolicy::ask});
  it.session.set_mode(read_only);
  CHECK(it.script->events == std::vector<Event>{ModeSwitched{read_only}});
}

TEST_CASE("a switch to something wider counts when it is recorded, one to something narrower from the call on") {
  ScriptedSession it({workspace_write, ApprovalPolicy::ask});
  std::vector<std::string_view> seen;
  it.script->before = [&] {
    seen.push_back(it.session.effective_mode().name());
    seen.push_back(name(it.session.approval_policy()));
  };
  it.session.set_mode(danger_full_access);
  it.session.set_mode(read_only);
  it.session.set_approval_policy(ApprovalPolicy::never);
  it.session.set_approval_policy(ApprovalPolicy::ask);
  it.session.set_preset("danger-full-access");
  CHECK(seen == std::vector<std::string_view>{"workspace-write", "ask", "read-only", "ask", "read-only", "never",
                                              "read-only", "never", "read-only", "never"});
  CHECK(it.session.effective_mode() == SandboxMode(danger_full_access));
}

TEST_CASE("POL-K6 a switch that can't be recorded widens nothing, and what it narrowed stays so") {
  ScriptedSession it({workspace_write, ApprovalPolicy::ask});
  it.script->fails = true;
  CHECK_THROWS_AS(it.session.set_mode(danger_full_access), LogError);
  CHECK(it.session.effective_mode() == SandboxMode(workspace_write));
  CHECK_THROWS_AS(it.session.set_mode(read_only), LogError);
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
  CHECK_THROWS_AS(it.session.set_mode(danger_full_access), LogError);
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
  CHECK_THROWS_AS(it.session.set_approval_policy(ApprovalPolicy::never), LogError);
  it.script->fails = false;
  auto turn = it.session.begin_turn();
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
  CHECK(turn.effective_mode() == SandboxMode(read_only));
  CHECK(it.session.approval_policy() == ApprovalPolicy::never);
  turn.end();
  // Tried again it is recorded.
  it.session.set_mode(read_only);
  it.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(it.session.state().mode() == SandboxMode(read_only));
  CHECK(it.session.state().approval_policy() == ApprovalPolicy::never);
}

TEST_CASE("POL-K6 what one failed switch made narrower, only a switch of the same thing widens") {
  ScriptedSession it({danger_full_access, ApprovalPolicy::ask});
  const auto failing = [&](auto&& act) {
    it.script->fails = true;
    CHECK_THROWS_AS(act(), LogError);
    it.script->fails = false;
  };
  it.session.set_mode(danger_full_access);
  failing([&] { it.session.set_mode(read_only); });
  it.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
  // A wider one that fails does not either, although the log has a still wider one.
  failing([&] { it.session.set_mode(workspace_write); });
  CHECK(it.session.effective_mode() == SandboxMode(read_only));
  // The log says this already; to the session it is a switch.
  it.session.set_mode(danger_full_access);
  CHECK(it.session.effective_mode() == SandboxMode(danger_full_access));
  CHECK(it.script->events.back() == Event(ModeSwitched{danger_full_access}));

  failing([&] { it.session.set_mode(read_only); });
  it.session.set_preset("danger-full-access");
  CHECK(it.session.effective_mode() == SandboxMode(danger_full_access));
  CHECK(it.session.preset() == "danger-full-access");
}

TEST_CASE("T-PRE-01 T-PRE-02 T-PRE-03 PRE-04 a preset is one append: the selection, the mode, the approval policy") {
  ScriptedSession it({workspace_write, ApprovalPolicy::ask});
  CHECK(it.session.preset() == "workspace-write");
  it.session.set_preset("workspace-write");
  CHECK(it.script->events.empty());
  it.session.set_preset("danger-full-access");
  CHECK(it.script->events == std::vector<Event>{PresetSelected{"danger-full-access", 2},
                                                ModeSwitched{danger_full_access},
                                                ApprovalPolicySwitched{ApprovalPolicy::never}});
  CHECK(it.script->appends == std::vector<std::size_t>{3});
  CHECK(it.session.preset() == "danger-full-access");
  it.session.set_preset("danger-full-access");
  CHECK(it.script->appends.size() == 1);
}

TEST_CASE("PRE-05 from a state that drifted the selection is recorded again, and only what drifted repaired") {
  ScriptedSession it({workspace_write, ApprovalPolicy::ask});
  it.session.set_preset("danger-full-access");
  it.session.set_mode(read_only);
  CHECK(it.session.preset() == "custom");
  it.script->events.clear();
  it.session.set_preset("danger-full-access");
  CHECK(it.script->events ==
        std::vector<Event>{PresetSelected{"danger-full-access", 1}, ModeSwitched{danger_full_access}});
}

TEST_CASE("PRE-04 T-PRE-05 a preset that is not in the table, custom included, is refused and nothing recorded") {
  ScriptedSession it;
  for (const char* name : {"custom", "", "constructor", "Workspace-Write"})
    CHECK_THROWS_AS(it.session.set_preset(name), SessionInvalidError);
  CHECK_THROWS_AS(it.session.pin("custom"), SessionInvalidError);
  CHECK(it.script->events.empty());
}

TEST_CASE("PRE-07 PRE-08 a new session can be pinned with three events; one that has events is left alone") {
  ScriptedSession it({workspace_write, ApprovalPolicy::ask});
  it.session.pin("workspace-write");
  CHECK(it.script->events == std::vector<Event>{PresetSelected{"workspace-write", 2}, ModeSwitched{workspace_write},
                                                ApprovalPolicySwitched{ApprovalPolicy::ask}});
  it.session.pin("danger-full-access");
  CHECK(it.script->events.size() == 3);
}

TEST_CASE("a turn is begun once, ends once, and ends as interrupted when it is dropped") {
  ScriptedSession it;
  {
    auto turn = it.session.begin_turn();
    CHECK(turn.number() == 1);
    CHECK_THROWS_AS(it.session.begin_turn(), SessionInvalidError);
    turn.end();
    turn.end();
  }
  CHECK(it.script->events == std::vector<Event>{TurnStarted{1}, TurnEnded{1, TurnEnding::completed}});
  {
    auto turn = it.session.begin_turn();
    const auto moved = std::move(turn);
    CHECK(moved.number() == 2);
    CHECK_THROWS_AS(turn.record(ExecUnconfined{{"x"}, "/w", "y"}), SessionInvalidError);
    CHECK_THROWS_AS(turn.effective_mode(), SessionInvalidError);
    CHECK_THROWS_AS(turn.end(), SessionInvalidError);
  }
  CHECK(it.script->events.back() == Event(TurnEnded{2, TurnEnding::interrupted}));
  CHECK_FALSE(it.session.continue_turn());
}

TEST_CASE("a turn outlives its session, and keeps its log") {
  const auto script = std::make_shared<ScriptedLog::Script>();
  auto turn = [&] {
    Session<ScriptedLog> session{ScriptedLog(script)};
    return session.begin_turn();
  }();
  CHECK(turn.record(ExecUnconfined{{"x"}, "/w", "y"}) == 1);
  CHECK(turn.record(ExecSettled{1, "exited", 0}) == 2);
  CHECK_THROWS_AS(turn.record(ExecSettled{1, "exited", 0}), SessionInvalidError);
  turn.end();
  CHECK_THROWS_AS(turn.record(ExecUnconfined{{"x"}, "/w", "y"}), SessionInvalidError);
  CHECK(script->events.back() == Event(TurnEnded{1, TurnEnding::completed}));
}

TEST_CASE("T-APR-25 APR-K7 what a crash left open is closed when the session goes on: no grant, no turn") {
  const support::TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    JsonlLog log = JsonlLog::create(path, {"s", 0});
    const std::vector<Event> events{TurnStarted{1}, ApprovalAsked{"a", "shell"},
                                    ExecConfined{{"x"}, read_only, "/w", "b"},
                                    ExecConfined{{"x"}, read_only, "/w", "b", {}, "", "", true}};
    log.append(events);
  }
  {
    const Session<JsonlLog> session(JsonlLog::open(path));
    CHECK(session.state().unanswered().empty());
    CHECK(session.state().in_background().empty());
    CHECK_FALSE(session.state().open_turn());
  }
  const auto records = support::records_of(path);
  REQUIRE(records.size() == 7);
  CHECK(records[4].event == Event(ApprovalDecided{"a", ApprovalResult::cancelled}));
  CHECK(records[5].event == Event(ExecSettled{3, "unknown"}));
  CHECK(records[6].event == Event(TurnEnded{1, TurnEnding::interrupted}));
  // With nothing open nothing is written.
  (void)Session<JsonlLog>(JsonlLog::open(path));
  CHECK(support::records_of(path).size() == 7);
}

TEST_CASE("a detached turn stays open from one process to the next, and only its end ends it") {
  const support::TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}));
    (void)session.begin_turn(true);
    session.flush();
  }
  {
    Session<JsonlLog> session(JsonlLog::open(path));
    auto turn = session.continue_turn();
    REQUIRE(turn);
    turn->record(ExecUnconfined{{"x"}, "/w", "y"});
  }
  Session<JsonlLog> session(JsonlLog::open(path));
  CHECK(session.state().open_turn());
  session.continue_turn()->end();
  CHECK_FALSE(session.state().open_turn());
}

TEST_CASE("a turn that has ended records nothing in the next") {
  ScriptedSession it;
  auto stale = it.session.begin_turn(true);
  it.session.continue_turn()->end();
  auto next = it.session.begin_turn();
  CHECK_THROWS_AS(stale.record(ExecUnconfined{{"x"}, "/w", "y"}), SessionInvalidError);
  stale.end();
  CHECK(it.session.state().open_turn());
  next.end();
}

TEST_CASE("T-POL-12 T-POL-13 POL-10 a session that goes on is what it was, from its log alone") {
  const support::TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}), {workspace_write, ApprovalPolicy::ask});
    session.set_preset("danger-full-access");
    session.set_mode(read_only);
  }
  const Session<JsonlLog> session(JsonlLog::open(path), {danger_full_access, ApprovalPolicy::ask});
  CHECK(session.effective_mode() == SandboxMode(read_only));
  CHECK(session.approval_policy() == ApprovalPolicy::never);
  CHECK(session.preset() == "custom");
  CHECK(session.id() == "s");
}

TEST_CASE("POL-09 a child session has what its parent had then, as its own, and asks nobody") {
  auto parent = memory_session({workspace_write, ApprovalPolicy::ask});
  const auto child = parent.delegate(MemoryLog(SessionHeader{"c", 0, "/w", {}, "s"}));
  parent.set_mode(danger_full_access);
  CHECK(child.effective_mode() == SandboxMode(workspace_write));
  CHECK(child.approval_policy() == ApprovalPolicy::never);
  std::vector<Event> events;
  child.for_each([&](const Record& record) { events.push_back(record.event); });
  CHECK(events == std::vector<Event>{ApprovalPolicySwitched{ApprovalPolicy::never, "delegation"},
                                     ModeSwitched{workspace_write, "delegation"}});
  MemoryLog used(SessionHeader{"u", 0, "", {}, "s"});
  const std::vector<Event> one{ModeSwitched{read_only}};
  used.append(one);
  CHECK_THROWS_AS(parent.delegate(std::move(used)), SessionInvalidError);
  CHECK_THROWS_AS(parent.delegate(MemoryLog(SessionHeader{"c", 0})), SessionInvalidError);
  CHECK_THROWS_AS(parent.delegate(MemoryLog(SessionHeader{"c", 0, "", {}, "other"})), SessionInvalidError);

  const Session<MemoryLog> rooted(MemoryLog(SessionHeader{"r", 0, "/w/in"}));
  CHECK_NOTHROW(rooted.delegate(MemoryLog(SessionHeader{"c", 0, "/w/in/deeper", {}, "r"})));
  for (const char* outside : {"/w", "/w/inner", "/", ""})
    CHECK_THROWS_AS(rooted.delegate(MemoryLog(SessionHeader{"c", 0, outside, {}, "r"})), SessionInvalidError);

  // Where its beginning was cut off it has nothing, not what the deployment gives to others.
  const Session<MemoryLog> orphan(MemoryLog(SessionHeader{"o", 0, "", {}, "s"}),
                                  {danger_full_access, ApprovalPolicy::ask});
  CHECK(orphan.effective_mode() == SandboxMode(read_only));
  CHECK(orphan.approval_policy() == ApprovalPolicy::never);
}

TEST_CASE("threads may switch, ask and run in one session: every event is there once") {
  ScriptedSession it;
  auto turn = it.session.begin_turn();
  std::vector<std::jthread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i != 200; ++i) {
        it.session.set_mode(i % 2 == 0 ? SandboxMode(read_only) : danger_full_access);
        const std::uint64_t exec = turn.record(ExecUnconfined{{std::to_string(t), std::to_string(i)}, "/w", "x"});
        (void)it.session.effective_mode();
        (void)it.session.preset();
        turn.record(ExecSettled{exec, "exited", 0});
      }
    });
  threads.clear();
  turn.end();
  SessionState state;
  for (const Event& event : it.script->events) REQUIRE(state.apply(event).empty());
  CHECK(state == it.session.state());
  CHECK(state.mode() == it.session.effective_mode());
}
