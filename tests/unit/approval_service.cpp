// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/service.hpp>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cordon/approval/answerers/any.hpp>
#include <cordon/approval/answerers/deferred.hpp>
#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/audit.hpp>
#include <cordon/session/jsonl_log.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/scripted_log.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using namespace std::chrono_literals;
using support::OpenTurn;
using support::request;
using support::service_of;

namespace {

/// What it came to, in words; its grant is given back unused.
std::string words(ApprovalOutcome outcome) {
  const std::string by = outcome.answered_by();
  return std::string(name(outcome.result())) + (by.empty() ? "" : " by " + by);
}

std::string reason(ApprovalOutcome outcome) {
  return std::move(outcome).visit([](const AllowedOnce&) { return std::string("allowed"); },
                                  [](const auto& no) { return no.reason; });
}

const auto says_yes = [](const ApprovalRequest&, const AnyNext&) { return Decision::allow(); };
const auto passes_on = [](const ApprovalRequest&, const AnyNext& next) { return next(); };

/// Blocks for ever, or until the test lets it go.
struct Gate {
  std::promise<void> opened;
  std::shared_future<void> open{opened.get_future()};
  std::atomic<int> through{0};
  void pass() {
    open.wait();
    ++through;
  }
  void wait_for_through(int count) const {
    while (through < count) std::this_thread::sleep_for(1ms);
  }
};

}  // namespace

TEST_CASE("T-APR-01: in a turn that has ended nothing is asked, and the log says nothing of it") {
  OpenTurn open;
  auto service = service_of(says_yes);
  open.turn.end();
  const std::uint64_t size = open.session.state().size();
  try {
    (void)service.request(open.turn, request());
    FAIL("it was asked");
  } catch (const ApprovalError& error) {
    CHECK(error.code() == ErrorCode::approval_outside_turn);
  }
  CHECK(open.session.state().size() == size);
  Turn<MemoryLog> moved = std::move(open.turn);
  CHECK_THROWS_AS(service.request(open.turn, request()), ApprovalError);  // NOLINT: it was moved from
}

TEST_CASE("T-APR-02, F99: where nobody answers it is unavailable at once, with a reason, and exactly two events") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  CHECK(words(service.request(open.turn, request())) == "unavailable");
  CHECK(open.events<ApprovalAsked>().size() == 1);
  CHECK(open.events<ApprovalDecided>() ==
        std::vector<ApprovalDecided>{{open.events<ApprovalAsked>().front().id, ApprovalResult::unavailable}});
  CHECK(open.session.state().size() == 3);
  CHECK(reason(service.request(open.turn, request())).find("nobody") != std::string::npos);
  auto passing = service_of(passes_on);
  CHECK(words(passing.request(open.turn, request())) == "unavailable");
}

TEST_CASE("what is asked is in the log as the action is, with its digest, and masked where that is asked for") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service({}, {.mask = MaskSecrets{}});
  const Action action = support::action({"/bin/echo", "--password=hunter2"}, workspace_write);
  (void)service.request(open.turn, ApprovalRequest("shell", action, "why", "call 7"));
  const ApprovalAsked asked = open.events<ApprovalAsked>().front();
  CHECK(asked.tool == "shell");
  CHECK(asked.call_id == "call 7");
  CHECK(asked.reason == "why");
  CHECK(asked.mode == SandboxMode(workspace_write));
  CHECK(asked.argv == std::vector<std::string>{"/bin/echo", "--password=[masked]"});
  CHECK(asked.workspace_root == "/var/tmp");
  CHECK(asked.working_directory == "/var/tmp");
  CHECK(asked.digest == action.digest());
}

TEST_CASE("T-APR-03: what was not given is not in the line of the log") {
  const support::TempDirectory place("/var/tmp");
  const std::string path = place.path() + "/log";
  {
    Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}));
    auto turn = session.begin_turn();
    ApprovalService<AnswererChain<>> service;
    (void)service.request(turn, ApprovalRequest("shell", support::action()));
  }
  std::string line;
  std::ifstream log(path);
  for (int i = 0; i != 3; ++i) std::getline(log, line);
  CHECK(line.find("\"approval/asked\"") != std::string::npos);
  CHECK(line.find("call_id") == std::string::npos);
  CHECK(line.find("reason") == std::string::npos);
  std::getline(log, line);
  CHECK(line.find("answered_by") == std::string::npos);
}

TEST_CASE("T-APR-04: an answerer that throws, whatever it throws, is unavailable") {
  OpenTurn open;
  auto service =
      service_of([](const ApprovalRequest&, const AnyNext&) -> Decision { throw std::runtime_error("no connection"); });
  CHECK(words(service.request(open.turn, request())) == "unavailable");
  CHECK(reason(service.request(open.turn, request())).find("no connection") != std::string::npos);
  auto odd = service_of([](const ApprovalRequest&, const AnyNext&) -> Decision { throw 42; });
  CHECK(words(odd.request(open.turn, request())) == "unavailable");
  std::stop_source stop;
  CHECK(words(odd.request(open.turn, request(), stop.get_token())) == "unavailable");
  CHECK(open.session.state().unanswered().empty());
}

TEST_CASE("T-APR-06: what was stopped before is cancelled, and nobody is asked") {
  OpenTurn open;
  int calls = 0;
  auto service = service_of([&](const ApprovalRequest&, const AnyNext&) {
    ++calls;
    return Decision::allow();
  });
  std::stop_source stop;
  stop.request_stop();
  CHECK(words(service.request(open.turn, request(), stop.get_token())) == "cancelled");
  CHECK(calls == 0);
  CHECK(open.events<ApprovalDecided>().size() == 1);
}

TEST_CASE("T-APR-07, F109: a stop while an answerer blocks is cancelled at once, and its late answer is dropped") {
  OpenTurn open;
  const auto gate = std::make_shared<Gate>();
  const auto told = std::make_shared<std::atomic<bool>>(false);
  auto service = service_of([gate, told](const ApprovalRequest&, const AnyNext& next) {
    gate->open.wait();
    *told = next.stop().stop_requested();
    gate->pass();
    return Decision::allow();
  });
  std::stop_source stop;
  std::jthread stopper([&] {
    while (open.events<ApprovalAsked>().empty()) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);
    stop.request_stop();
  });
  CHECK(words(service.request(open.turn, request(), stop.get_token())) == "cancelled");
  CHECK(gate->through == 0);
  gate->opened.set_value();
  gate->wait_for_through(1);
  std::this_thread::sleep_for(10ms);
  CHECK(*told);
  const auto decided = open.events<ApprovalDecided>();
  REQUIRE(decided.size() == 1);
  CHECK(decided.front().outcome == ApprovalResult::cancelled);
}

TEST_CASE("a stop in the moment of the answer wins over it") {
  OpenTurn open;
  std::stop_source stop;
  const auto stops = [&](const ApprovalRequest&, const AnyNext&) {
    stop.request_stop();
    return Decision::allow();
  };
  auto waiting = service_of(stops);
  CHECK(words(waiting.request(open.turn, request(), stop.get_token())) == "cancelled");
  stop = std::stop_source();
  auto immediate = service_of<true>(stops);
  CHECK(words(immediate.request(open.turn, request(), stop.get_token())) == "cancelled");
}

TEST_CASE("who takes longer than the time limit is unavailable, and the log says why") {
  OpenTurn open;
  const auto gate = std::make_shared<Gate>();
  auto service = service_of(
      [gate](const ApprovalRequest&, const AnyNext&) {
        gate->pass();
        return Decision::allow();
      },
      {.time_limit = 20ms});
  CHECK(words(service.request(open.turn, request())) == "unavailable by time-limit");
  gate->opened.set_value();
  gate->wait_for_through(1);
}

TEST_CASE("an answer behind the time limit is too late also when nobody looked in between") {
  OpenTurn open;
  auto service = service_of(
      [](const ApprovalRequest&, const AnyNext&) {
        const auto begun = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begun < 3ms) continue;
        return Decision::allow();
      },
      {.time_limit = 1ms});
  std::vector<std::string> outcomes;
  // Who waits gets the only processor when nobody else wants it: the limit is over, and the answer there, by then.
  std::jthread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, &none);
    for (int i = 0; i != 20; ++i) outcomes.push_back(words(service.request(open.turn, request())));
  }).join();
  CHECK(outcomes == std::vector<std::string>(20, "unavailable by time-limit"));
}

TEST_CASE("an answerer may replace the service that asks it") {
  OpenTurn open;
  using Self = ApprovalService<AnswererChain<AnyAnswerer>>;
  std::optional<Self> service;
  service.emplace(
      AnswererChain<AnyAnswerer>(AnyAnswerer("itself", [&, text = std::string(100, 'x')](const ApprovalRequest&) {
        service.emplace(
            AnswererChain<AnyAnswerer>(AnyAnswerer("none", [](const ApprovalRequest&) { return std::nullopt; })));
        return std::optional<std::string>(text.size() == 100 ? "rejected" : "");
      })));
  CHECK(words(service->request(open.turn, request())) == "rejected by itself");
}

TEST_CASE("T-APR-09: never is rejected whatever the chain says, wherever in it, and nobody is asked") {
  OpenTurn open({read_only, ApprovalPolicy::never});
  int calls = 0;
  const auto counts = [&](const ApprovalRequest&, const AnyNext&) {
    ++calls;
    return Decision::allow();
  };
  using A = support::Answering<decltype(counts)>;
  using Chain = AnswererChain<A>::prepend<A>::append<A>;
  ApprovalService<Chain> service(Chain(A{counts}, A{counts}, A{counts}));
  CHECK(words(service.request(open.turn, request())) == "rejected by policy");
  CHECK(calls == 0);
  CHECK(open.events<ApprovalAsked>().size() == 1);
  CHECK(open.events<ApprovalDecided>().size() == 1);
  open.session.set_approval_policy(ApprovalPolicy::ask);
  CHECK(words(service.request(open.turn, request())) == "allowed-once by test");
}

TEST_CASE("T-APR-10: the session's policy counts, not the deployment's, in both directions") {
  OpenTurn asks({read_only, ApprovalPolicy::ask});
  auto service = service_of(says_yes);
  asks.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(words(service.request(asks.turn, request())) == "rejected by policy");
  OpenTurn refuses({read_only, ApprovalPolicy::never});
  refuses.session.set_approval_policy(ApprovalPolicy::ask);
  CHECK(words(service.request(refuses.turn, request())) == "allowed-once by test");
}

TEST_CASE("never that is said while somebody is asked takes back what he allows") {
  OpenTurn open;
  auto service = service_of([&](const ApprovalRequest&, const AnyNext&) {
    open.session.set_approval_policy(ApprovalPolicy::never);
    return Decision::allow();
  });
  CHECK(words(service.request(open.turn, request())) == "rejected by policy");
  CHECK(open.events<ApprovalDecided>().front().answered_by == "policy");
}

TEST_CASE("F104: nobody in the chain exceeds the ceiling") {
  OpenTurn open;
  int calls = 0;
  auto service = service_of(
      [&](const ApprovalRequest&, const AnyNext&) {
        ++calls;
        return Decision::allow();
      },
      {.ceiling = workspace_write});
  CHECK(words(service.request(open.turn, request())) == "rejected by ceiling");
  CHECK(calls == 0);
  CHECK(words(service.request(open.turn, request({"/bin/true"}, workspace_write))) == "allowed-once by test");
}

TEST_CASE("T-APR-15, APR-08: who looks on and throws changes nothing, and sees both events after they are recorded") {
  OpenTurn open;
  std::vector<std::string> seen;
  auto service =
      service_of(says_yes, {.observer = [&](const Event& event) {
                   seen.push_back(std::string(type_of(event)) + " " + std::to_string(open.session.state().size()));
                   throw std::runtime_error("mine");
                 }});
  CHECK(words(service.request(open.turn, request())) == "allowed-once by test");
  CHECK(seen == std::vector<std::string>{"approval/asked 2", "approval/decided 3"});
}

TEST_CASE("T-APR-17: each question has an id of its own, and a request made twice is two questions") {
  std::set<std::string> ids;
  for (int i = 0; i != 1000; ++i) ids.insert(request().id());
  CHECK(ids.size() == 1000);
  CHECK(ids.begin()->size() == 32);
}

TEST_CASE("APR-08: no grant comes out of a decision that can't be recorded, or a question") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  auto service = service_of(says_yes);
  int calls = 0;
  auto counting = service_of([&](const ApprovalRequest&, const AnyNext&) {
    ++calls;
    return Decision::allow();
  });
  script->fails = true;
  CHECK_THROWS_AS(counting.request(turn, request()), LogError);
  CHECK(calls == 0);
  script->fails = false;
  script->before = [&] { script->fails = std::holds_alternative<ApprovalAsked>(script->events.back()); };
  CHECK_THROWS_AS(service.request(turn, request()), LogError);
  CHECK(std::none_of(script->events.begin(), script->events.end(),
                     [](const Event& event) { return std::holds_alternative<ApprovalDecided>(event); }));
}

TEST_CASE("F107: each decision is one event, those that nobody was asked about too") {
  OpenTurn open;
  auto service = service_of(says_yes, {.ceiling = workspace_write});
  std::stop_source stopped;
  stopped.request_stop();
  (void)service.request(open.turn, request());
  (void)service.request(open.turn, request({"/bin/true"}, workspace_write));
  (void)service.request(open.turn, request(), stopped.get_token());
  open.session.set_approval_policy(ApprovalPolicy::never);
  (void)service.request(open.turn, request());
  const auto asked = open.events<ApprovalAsked>();
  const auto decided = open.events<ApprovalDecided>();
  REQUIRE(asked.size() == 4);
  REQUIRE(decided.size() == 4);
  for (std::size_t i = 0; i != 4; ++i) CHECK(asked[i].id == decided[i].id);
  CHECK(decided[0].answered_by == "ceiling");
  CHECK(decided[1].answered_by == "test");
  CHECK(decided[2].answered_by.empty());
  CHECK(decided[3].answered_by == "policy");
}

TEST_CASE("T-APR-25: a question that a crash left open is closed as cancelled, and gives no grant") {
  const support::TempDirectory place("/var/tmp");
  const std::string path = place.path() + "/log";
  {
    Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}));
    auto turn = session.begin_turn();
    ApprovalService<AnswererChain<>> service;
    std::optional<Responder> asked;
    service.request_async(
        turn, request(), [&](Responder responder) { asked.emplace(std::move(responder)); }, [](ApprovalOutcome) {});
    std::filesystem::copy_file(path, path + ".crashed");
  }
  Session<JsonlLog> resumed(JsonlLog::open(path + ".crashed"));
  CHECK(resumed.state().unanswered().empty());
  const auto records = support::records_of(path + ".crashed");
  CHECK(std::get<ApprovalDecided>(records[2].event) ==
        ApprovalDecided{std::get<ApprovalAsked>(records[1].event).id, ApprovalResult::cancelled});
}

TEST_CASE("a turn that ends while somebody is asked has the question as cancelled, and that is its outcome") {
  OpenTurn open;
  auto service = service_of([&](const ApprovalRequest&, const AnyNext&) {
    open.turn.end();
    return Decision::allow();
  });
  CHECK(words(service.request(open.turn, request())) == "cancelled");
  const auto decided = open.events<ApprovalDecided>();
  REQUIRE(decided.size() == 1);
  CHECK(decided.front().outcome == ApprovalResult::cancelled);
}

// --- without waiting ------------------------------------------------------------------------------------------------

namespace {

/// A question asked without waiting, and what became of it.
struct Asked {
  std::optional<Responder> responder;
  std::vector<std::string> outcomes;

  template <class Chain>
  void ask(ApprovalService<Chain>& service, Turn<MemoryLog>& turn, const std::stop_token& stop = {}) {
    service.request_async(
        turn, request(), [this](Responder given) { responder.emplace(std::move(given)); },
        [this](ApprovalOutcome outcome) { outcomes.push_back(words(std::move(outcome))); }, stop);
  }
};

}  // namespace

TEST_CASE("who is asked without waiting answers when he likes, from any thread, once") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  Asked asked;
  asked.ask(service, open.turn);
  REQUIRE(asked.responder);
  CHECK(asked.outcomes.empty());
  CHECK(asked.responder->pending());
  CHECK(asked.responder->request().action().command().program() == "/bin/true");
  bool counted = false;
  std::jthread([&] { counted = asked.responder->answer(Decision::allow(), "window"); }).join();
  CHECK(counted);
  CHECK(asked.outcomes == std::vector<std::string>{"allowed-once by window"});
  CHECK_FALSE(asked.responder->answer(Decision::reject()));
  asked.responder.reset();
  CHECK(asked.outcomes.size() == 1);
  CHECK(open.events<ApprovalDecided>().size() == 1);
}

TEST_CASE("a responder that is destroyed answers unavailable") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  Asked asked;
  asked.ask(service, open.turn);
  asked.responder.reset();
  CHECK(asked.outcomes == std::vector<std::string>{"unavailable"});
  service.request_async(
      open.turn, request(), [](const Responder&) {},
      [&](ApprovalOutcome outcome) { asked.outcomes.push_back(words(std::move(outcome))); });
  CHECK(asked.outcomes == std::vector<std::string>{"unavailable", "unavailable"});
}

TEST_CASE("a stop decides a question that nobody waits for, and the answer comes too late") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  Asked asked;
  std::stop_source stop;
  asked.ask(service, open.turn, stop.get_token());
  stop.request_stop();
  CHECK(asked.outcomes == std::vector<std::string>{"cancelled"});
  CHECK_FALSE(asked.responder->pending());
  CHECK_FALSE(asked.responder->answer(Decision::allow()));
  CHECK(asked.outcomes.size() == 1);
  Asked late;
  late.ask(service, open.turn, stop.get_token());
  CHECK_FALSE(late.responder);
  CHECK(late.outcomes == std::vector<std::string>{"cancelled"});
}

TEST_CASE("without waiting too: never, the ceiling, the chain and the time limit come before who is asked") {
  OpenTurn open;
  Asked asked;
  ApprovalService<AnswererChain<>> low({}, {.ceiling = read_only});
  asked.ask(low, open.turn);
  auto answering = service_of<true>([](const ApprovalRequest&, const AnyNext&) { return Decision::reject(); });
  asked.ask(answering, open.turn);
  auto failing = service_of<true>([](const ApprovalRequest&, const AnyNext&) -> Decision { throw 1; });
  asked.ask(failing, open.turn);
  CHECK_FALSE(asked.responder);
  ApprovalService<AnswererChain<>> short_of_time({}, {.time_limit = 1ms});
  asked.ask(short_of_time, open.turn);
  std::this_thread::sleep_for(5ms);
  asked.responder->answer(Decision::allow());
  open.session.set_approval_policy(ApprovalPolicy::never);
  asked.ask(answering, open.turn);
  CHECK(asked.outcomes == std::vector<std::string>{"rejected by ceiling", "rejected by test", "unavailable",
                                                   "unavailable by time-limit", "rejected by policy"});
}

TEST_CASE("without waiting too: a turn that ended meanwhile, and a log that has no room, give no grant") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  Asked asked;
  asked.ask(service, open.turn);
  open.turn.end();
  CHECK_FALSE(asked.responder->pending());
  CHECK_FALSE(asked.responder->answer(Decision::allow()));
  CHECK(asked.outcomes == std::vector<std::string>{"cancelled"});

  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script)};
  auto turn = session.begin_turn();
  std::optional<Responder> responder;
  std::string outcome;
  service.request_async(
      turn, request(), [&](Responder given) { responder.emplace(std::move(given)); },
      [&](ApprovalOutcome given) { outcome = words(std::move(given)); });
  script->fails = true;
  responder->answer(Decision::allow());
  CHECK(outcome == "unavailable");
}

TEST_CASE("an outcome that a program does not take ends no program, when it is a stop that decides") {
  OpenTurn open;
  ApprovalService<AnswererChain<>> service;
  std::stop_source stop;
  std::optional<Responder> responder;
  service.request_async(
      open.turn, request(), [&](Responder given) { responder.emplace(std::move(given)); },
      [](const ApprovalOutcome&) { throw std::runtime_error("mine"); }, stop.get_token());
  stop.request_stop();
  CHECK_FALSE(responder->pending());
  CHECK(open.session.state().unanswered().empty());
}

// --- many at a time -------------------------------------------------------------------------------------------------

TEST_CASE("eight threads ask, answer, stop and drop: each question is decided once, and no answer reaches another") {
  OpenTurn open;
  Deferred queue;
  ApprovalService<AnswererChain<Deferred>> service(AnswererChain<Deferred>{queue});
  ApprovalService<AnswererChain<>> without_waiting;
  std::atomic<bool> done{false};
  std::atomic<int> allowed{0};
  std::atomic<int> outcomes{0};
  std::atomic<bool> mixed_up{false};
  std::mutex parked_mutex;
  std::vector<Responder> parked;
  constexpr int each = 60;
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed != 3; ++seed)
      threads.emplace_back([&, seed] {
        support::Random random(seed);
        for (int i = 0; i != each; ++i) {
          std::stop_source stop;
          std::optional<std::jthread> stopper;
          if (random.below(3) == 0)
            stopper.emplace([stop]() mutable {
              std::this_thread::sleep_for(1ms);
              stop.request_stop();
            });
          const auto outcome = service.request(open.turn, request({"/bin/true", "sync"}), stop.get_token());
          ++outcomes;
          if (outcome.result() == ApprovalResult::allowed_once) ++allowed;
        }
      });
    for (unsigned seed = 0; seed != 2; ++seed)
      threads.emplace_back([&] {
        for (int i = 0; i != each; ++i)
          without_waiting.request_async(
              open.turn, request({"/bin/true", "async"}),
              [&](Responder responder) {
                const std::scoped_lock lock(parked_mutex);
                parked.push_back(std::move(responder));
              },
              [&](const ApprovalOutcome&) { ++outcomes; });
      });
    std::jthread answering([&] {
      while (!done) {
        for (const std::string& id : queue.pending()) {
          queue.with(id, [&](const ApprovalRequest& asked) {
            if (asked.id() != id) mixed_up = true;
          });
          queue.answer(id, Decision::allow());
          queue.answer(id, Decision::reject());  // a second click
        }
        std::this_thread::yield();
      }
    });
    std::jthread dropping([&] {
      support::Random random(9);
      while (!done) {
        std::vector<Responder> taken;
        {
          const std::scoped_lock lock(parked_mutex);
          taken.swap(parked);
        }
        for (Responder& responder : taken)
          if (random.chance()) responder.answer(Decision::reject());
        std::this_thread::yield();
      }
    });
    std::jthread switching([&] {
      while (!done) {
        (void)open.session.approval_policy();
        (void)open.session.state();
        std::this_thread::yield();
      }
    });
    threads.clear();
    while (outcomes != 5 * each) std::this_thread::sleep_for(1ms);
    done = true;
  }
  CHECK(outcomes == 5 * each);
  CHECK_FALSE(mixed_up);
  const auto asked = open.events<ApprovalAsked>();
  const auto decided = open.events<ApprovalDecided>();
  CHECK(asked.size() == 5 * each);
  CHECK(decided.size() == 5 * each);
  std::set<std::string> ids;
  for (const auto& event : decided) ids.insert(event.id);
  CHECK(ids.size() == decided.size());
  CHECK(open.session.state().unanswered().empty());
  CHECK(allowed > 0);
}
