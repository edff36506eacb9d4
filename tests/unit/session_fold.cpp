// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/fold.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/session.hpp"

using namespace cordon;

namespace {

SessionState after(const std::vector<Event>& events) {
  SessionState state;
  for (const Event& event : events) {
    INFO(type_of(event));
    REQUIRE(state.apply(event).empty());
  }
  return state;
}

std::string refusal(const std::vector<Event>& before, const Event& event) {
  SessionState state = after(before);
  const SessionState same = state;
  const std::string_view problem = state.apply(event);
  if (!problem.empty()) CHECK(state == same);
  return std::string(problem);
}

}  // namespace

TEST_CASE("T-POL-09 the last switch counts, and without one there is none") {
  CHECK_FALSE(after({}).mode());
  CHECK_FALSE(after({}).approval_policy());
  const SessionState state = after({ModeSwitched{danger_full_access}, ApprovalPolicySwitched{ApprovalPolicy::never},
                                    ModeSwitched{read_only}, ApprovalPolicySwitched{ApprovalPolicy::ask}});
  CHECK(state.mode() == SandboxMode(read_only));
  CHECK(state.approval_policy() == ApprovalPolicy::ask);
  CHECK(state.size() == 4);
}

TEST_CASE("LOG-08 what belongs to a turn needs one, and turns are one after the other") {
  for (const Event& event : {Event(ApprovalAsked{"a", "t"}), Event(ExecConfined{{"x"}, read_only, "/w", "b"}),
                             Event(ExecUnconfined{{"x"}, "/w", "y"}), Event(ExecSettled{0, "exited"}),
                             Event(ApprovalDecided{"a"}), Event(TurnEnded{1}), Event(TurnEnded{0})}) {
    INFO(type_of(event));
    CHECK_FALSE(refusal({}, event).empty());
    CHECK_FALSE(refusal({TurnStarted{1}, TurnEnded{1}}, event).empty());
  }
  CHECK_FALSE(refusal({TurnStarted{1}}, TurnStarted{2}).empty());
  CHECK_FALSE(refusal({TurnStarted{1}}, TurnEnded{2}).empty());
  CHECK_FALSE(refusal({}, TurnStarted{2}).empty());
  CHECK_FALSE(refusal({TurnStarted{1}, TurnEnded{1}}, TurnStarted{1}).empty());
  CHECK(refusal({TurnStarted{1}, TurnEnded{1}}, TurnStarted{2}).empty());
  // Switches do not need one.
  CHECK(refusal({}, ModeSwitched{read_only}).empty());
}

TEST_CASE("APR-11 a decision answers an open question, once; a turn does not end over one") {
  const std::vector<Event> asked{TurnStarted{1}, ApprovalAsked{"a", "t"}};
  CHECK(after(asked).unanswered() == std::vector<std::string>{"a"});
  CHECK_FALSE(refusal(asked, ApprovalAsked{"a", "t"}).empty());
  CHECK_FALSE(refusal(asked, ApprovalDecided{"b"}).empty());
  CHECK_FALSE(refusal(asked, TurnEnded{1}).empty());
  CHECK_FALSE(refusal({TurnStarted{1}}, ApprovalAsked{"", "t"}).empty());
  CHECK_FALSE(refusal({TurnStarted{1}}, ApprovalAsked{"a", ""}).empty());
  const std::vector<Event> decided{TurnStarted{1}, ApprovalAsked{"a", "t"}, ApprovalDecided{"a"}};
  CHECK(after(decided).unanswered().empty());
  CHECK_FALSE(refusal(decided, ApprovalDecided{"a"}).empty());
}

TEST_CASE("a result is that of a command of this turn, once") {
  const std::vector<Event> begun{TurnStarted{1}, ExecConfined{{"x"}, read_only, "/w", "b"}};
  CHECK(after(begun).unsettled() == std::vector<std::uint64_t>{1});
  CHECK_FALSE(refusal(begun, ExecSettled{0, "exited"}).empty());
  const std::vector<Event> settled{TurnStarted{1}, ExecConfined{{"x"}, read_only, "/w", "b"}, ExecSettled{1, "exited"}};
  CHECK_FALSE(refusal(settled, ExecSettled{1, "exited"}).empty());
  const std::vector<Event> over{TurnStarted{1}, ExecConfined{{"x"}, read_only, "/w", "b"}, TurnEnded{1},
                                TurnStarted{2}};
  CHECK_FALSE(refusal(over, ExecSettled{1, "exited"}).empty());
}

TEST_CASE(
    "a command in the background is open over the end of its turn, and its result comes in any turn, or in none") {
  const std::vector<Event> over{TurnStarted{1}, ExecConfined{{"x"}, read_only, "/w", "b"},
                                ExecConfined{{"x"}, read_only, "/w", "b", {}, "", "", true},
                                ExecUnconfined{{"x"}, "/w", "y", "", true}, TurnEnded{1}};
  CHECK(after(over).unsettled().empty());
  CHECK(after(over).in_background() == std::vector<std::uint64_t>{2, 3});
  CHECK_FALSE(refusal(over, ExecSettled{1, "exited"}).empty());
  std::vector<Event> one = over;
  one.emplace_back(ExecSettled{2, "exited"});
  CHECK(after(one).in_background() == std::vector<std::uint64_t>{3});
  CHECK_FALSE(refusal(one, ExecSettled{2, "exited"}).empty());
  one.emplace_back(TurnStarted{2});
  CHECK(refusal(one, ExecSettled{3, "exited"}).empty());
}

TEST_CASE("what a reader would refuse can't be recorded: a preset of three switches, full access that is confined") {
  CHECK_FALSE(refusal({}, PresetSelected{"p", 3}).empty());
  CHECK_FALSE(refusal({TurnStarted{1}}, ExecConfined{{"x"}, danger_full_access, "/w", "b"}).empty());
}

TEST_CASE("questions and commands without an end are so many and no more") {
  std::vector<Event> asked{TurnStarted{1}};
  std::vector<Event> begun{TurnStarted{1}};
  for (std::size_t i = 0; i != SessionState::most_open; ++i) {
    asked.emplace_back(ApprovalAsked{std::to_string(i), "t"});
    begun.emplace_back(ExecUnconfined{{"x"}, "/w", "y"});
  }
  CHECK_FALSE(refusal(asked, ApprovalAsked{"more", "t"}).empty());
  CHECK_FALSE(refusal(begun, ExecUnconfined{{"x"}, "/w", "y"}).empty());
  for (Event& event : begun)
    if (auto* exec = std::get_if<ExecUnconfined>(&event)) exec->background = true;
  for (const Event& event : {Event(TurnEnded{1}), Event(TurnStarted{2})}) begun.push_back(event);
  CHECK_FALSE(refusal(begun, ExecUnconfined{{"x"}, "/w", "y"}).empty());
}

TEST_CASE("PRE-K6 a preset is complete with the last of its switches, and nothing else comes between") {
  SessionState state = after({PresetSelected{"p", 2}});
  CHECK_FALSE(state.complete());
  CHECK_FALSE(refusal({PresetSelected{"p", 2}}, TurnStarted{1}).empty());
  CHECK_FALSE(refusal({PresetSelected{"p", 2}}, PresetSelected{"q", 0}).empty());
  state = after({PresetSelected{"p", 2}, ModeSwitched{read_only}});
  CHECK_FALSE(state.complete());
  state = after({PresetSelected{"p", 2}, ModeSwitched{read_only}, ApprovalPolicySwitched{ApprovalPolicy::ask}});
  CHECK(state.complete());
  CHECK(state.selected_preset() == std::string("p"));
}

TEST_CASE("one of each event in an order that may be is taken") {
  const SessionState state = after(support::one_of_each());
  CHECK(state.mode() == SandboxMode(danger_full_access));
  CHECK(state.turns() == 1);
  CHECK_FALSE(state.open_turn());
}
