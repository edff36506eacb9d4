// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/answerers/any.hpp>
#include <cordon/approval/answerers/callback.hpp>
#include <cordon/approval/answerers/command.hpp>
#include <cordon/approval/answerers/deadline.hpp>
#include <cordon/approval/answerers/deferred.hpp>
#include <cordon/approval/answerers/scripted.hpp>

#include <atomic>
#include <chrono>
#include <cordon/detail/json.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using namespace std::chrono_literals;
using support::OpenTurn;
using support::request;

namespace {

template <class... As>
Decision ask(As... answerers) {
  const auto asked = std::make_shared<const ApprovalRequest>(request());
  return AnswererChain<As...>(std::move(answerers)...)(*asked);
}

std::string said(const Decision& decision) {
  return std::string(name(decision.result())) + " by " + decision.answered_by();
}

}  // namespace

TEST_CASE("a callback decides, or passes it on with nothing") {
  const auto one = [](const ApprovalRequest&) -> std::optional<Decision> { return Decision::reject(); };
  const auto none = [](const ApprovalRequest&) -> std::optional<Decision> { return std::nullopt; };
  CHECK(said(ask(Callback(one))) == "rejected by callback");
  CHECK(ask(Callback(none)).is_from_nobody());
  CHECK(said(ask(Callback(none), Scripted({Decision::allow()}))) == "allowed-once by scripted");
  STATIC_REQUIRE_FALSE(AnswererChain<Callback<decltype(one)>>::immediate);
  STATIC_REQUIRE(AnswererChain<Callback<decltype(one), true>>::immediate);
}

TEST_CASE("T-APR-05: a word from outside is an outcome, or unavailable") {
  const auto says = [](const char* word) {
    return AnyAnswerer("phone", [word](const ApprovalRequest&) -> std::optional<std::string> { return word; });
  };
  CHECK(said(ask(says("allowed-once"))) == "allowed-once by phone");
  CHECK(said(ask(says("rejected"))) == "rejected by phone");
  CHECK(said(ask(says("cancelled"))) == "cancelled by phone");
  for (const char* word : {"unavailable", "sure", "", "allowed-once ", "ALLOWED-ONCE", "allow", "yes", "true", "1"})
    CHECK(said(ask(says(word))) == "unavailable by phone");
  CHECK(ask(AnyAnswerer("phone", [](const ApprovalRequest&) -> std::optional<std::string> {
          return std::nullopt;
        })).is_from_nobody());
}

TEST_CASE("an answerer whose type was forgotten answers as it did, with its own name") {
  CHECK(said(ask(AnyAnswerer(Scripted({Decision::reject()})))) == "rejected by scripted");
  CHECK(ask(AnyAnswerer(Scripted({}))).is_from_nobody());
  CHECK(said(ask(AnyAnswerer(Scripted({})), Scripted({Decision::allow()}))) == "allowed-once by scripted");
}

TEST_CASE("T-APR-14: an answerer for another session is not asked, one for this or for all is") {
  PolicyScope scope = support::policy<ReadOnly>("/var/tmp").scope();
  scope.session_id = "mine";
  const ApprovalRequest asked("shell", Action({"/bin/true"}, danger_full_access, scope, {}));
  const Scripted foreign({Decision::allow()});
  const Scripted own({});
  const Scripted global({Decision::reject()});
  AnswererChain<ForSession<Scripted>, ForSession<Scripted>, Scripted> chain(ForSession<Scripted>("other", foreign),
                                                                            ForSession<Scripted>("mine", own), global);
  CHECK(chain(asked).result() == ApprovalResult::rejected);
  CHECK(foreign.asked().empty());
  CHECK(own.asked().size() == 1);
  CHECK(global.asked().size() == 1);
}

TEST_CASE("an answerer that is not there passes everything on") {
  CHECK(ask(Maybe<Scripted>()).is_from_nobody());
  CHECK(said(ask(Maybe(Scripted({Decision::allow()})))) == "allowed-once by scripted");
}

TEST_CASE("a scripted answerer remembers what it was asked, and passes on when its script ends") {
  Scripted script({Decision::allow(), Decision::reject()});
  AnswererChain<Scripted> chain(script);
  CHECK(chain(request({"/bin/a"}, workspace_write)).result() == ApprovalResult::allowed_once);
  CHECK(chain(request({"/bin/b"})).result() == ApprovalResult::rejected);
  CHECK(chain(request({"/bin/c"})).is_from_nobody());
  const auto asked = script.asked();
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].argv == std::vector<std::string>{"/bin/a"});
  CHECK(asked[0].mode == "workspace-write");
  CHECK(asked[0].reason == "because");
  CHECK(asked[1].id != asked[0].id);
}

TEST_CASE("a deadline ends an answerer that blocks, and one that is in time counts") {
  const auto let_go = std::make_shared<std::promise<void>>();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const auto told = std::make_shared<std::atomic<bool>>(false);
  auto blocks = [open = let_go->get_future().share(), done, told](const ApprovalRequest& asked, const AnyNext& next) {
    open.wait();
    *told = next.stop().stop_requested() && !asked.id().empty();  // the request is still there
    *done = true;
    return Decision::allow();
  };
  using Blocking = support::Answering<decltype(blocks)>;
  CHECK(said(ask(Deadline(10ms, Blocking{blocks}))) == "unavailable by time-limit");
  let_go->set_value();
  while (!*done) std::this_thread::sleep_for(1ms);
  CHECK(*told);
  CHECK(said(ask(Deadline(10s, Scripted({Decision::reject()})))) == "rejected by scripted");
  CHECK(said(ask(Deadline(10s, Scripted({})), Scripted({Decision::allow()}))) == "allowed-once by scripted");
  auto throws = [](const ApprovalRequest&, const AnyNext&) -> Decision { throw std::runtime_error("x"); };
  CHECK(ask(Deadline(10s, support::Answering<decltype(throws)>{throws})).result() == ApprovalResult::unavailable);
}

TEST_CASE("a queue is answered by ids: an answer to one question is none to another, and a second click is dropped") {
  OpenTurn open;
  Deferred queue;
  ApprovalService<AnswererChain<Deferred>> service(AnswererChain<Deferred>{queue});
  ApprovalResult first{};
  ApprovalResult second{};
  std::string old;
  {
    std::jthread one([&] { first = service.request(open.turn, request()).result(); });
    while (queue.pending().empty()) std::this_thread::sleep_for(1ms);
    old = queue.pending().front();
    std::string shown;
    CHECK(queue.with(old, [&](const ApprovalRequest& asked) { shown = asked.action().command().program(); }));
    CHECK(shown == "/bin/true");
    CHECK_FALSE(queue.answer("another", Decision::allow()));
    CHECK(queue.answer(old, Decision::reject()));
  }
  CHECK(first == ApprovalResult::rejected);
  {
    std::jthread two([&] { second = service.request(open.turn, request()).result(); });
    while (queue.pending().empty()) std::this_thread::sleep_for(1ms);
    CHECK_FALSE(queue.answer(old, Decision::allow()));  // a stale click
    CHECK_FALSE(queue.with(old, [](const ApprovalRequest&) {}));
    CHECK(queue.answer(queue.pending().front(), Decision::cancel()));
    CHECK_FALSE(queue.answer(old, Decision::allow()));
  }
  CHECK(second == ApprovalResult::cancelled);
  CHECK(queue.pending().empty());
}

TEST_CASE("a queue that is closed, or whose caller is gone, has nothing open any more") {
  OpenTurn open;
  Deferred queue;
  ApprovalService<AnswererChain<Deferred>> service(AnswererChain<Deferred>{queue});
  std::stop_source stop;
  {
    std::jthread stopper([&] {
      while (queue.pending().empty()) std::this_thread::sleep_for(1ms);
      stop.request_stop();
    });
    CHECK(service.request(open.turn, request(), stop.get_token()).result() == ApprovalResult::cancelled);
  }
  while (!queue.pending().empty()) std::this_thread::sleep_for(1ms);
  std::jthread closer([&] {
    while (queue.pending().empty()) std::this_thread::sleep_for(1ms);
    queue.close();
  });
  CHECK(service.request(open.turn, request()).result() == ApprovalResult::unavailable);
  CHECK(service.request(open.turn, request()).result() == ApprovalResult::unavailable);
}

TEST_CASE("what is told of a new question and throws is unavailable, and leaves nothing in the queue") {
  Deferred queue([](const ApprovalRequest&) { throw std::runtime_error("no window"); });
  OpenTurn open;
  ApprovalService<AnswererChain<Deferred>> service(AnswererChain<Deferred>{queue});
  CHECK(service.request(open.turn, request()).result() == ApprovalResult::unavailable);
  CHECK(queue.pending().empty());
}

// --- another program ------------------------------------------------------------------------------------------------

namespace {

/// An answerer that is a script of /bin/sh.
struct Script {
  explicit Script(const std::string& text, CommandAnswererOptions options = {})
      : answerer(Argv({"/bin/sh", "-c", text}), options) {}
  CommandAnswerer answerer;
  Decision ask(const ApprovalRequest& about, const std::stop_token& stop = {}) {
    return AnswererChain<CommandAnswerer>(answerer)(about, stop);
  }
};

}  // namespace

TEST_CASE("a program decides with one JSON object, and everything else is unavailable") {
  const ApprovalRequest asked = request();
  const auto says = [&](const std::string& text) { return Script("cat >/dev/null; " + text).ask(asked); };
  CHECK(said(says(R"(echo '{"outcome":"allowed-once"}')")) == "allowed-once by command");
  CHECK(said(says(R"(printf '{"outcome":"rejected","reason":"no"}')")) == "rejected by command");
  CHECK(says(R"(echo '{"outcome":"rejected","reason":"no"}')").reason() == "no");
  CHECK(said(says("echo '{\"outcome\":\"allowed-once\",\"id\":\"" + asked.id() + "\"}'")) == "allowed-once by command");
  for (
      const char* text :
      {R"(echo '{"outcome":"allowed-once","id":"another"}')", R"(echo '{"outcome":"allowed-once"}'; exit 1)",
       R"(echo '{"outcome":"allowed-once"}{"outcome":"rejected"}')",
       R"(echo '{"outcome":"rejected","outcome":"allowed-once"}')", R"(echo '{"outcome":"Allowed-Once"}')",
       R"(echo '{"outcome":["allowed-once"]}')", R"(echo '{"outcome":true}')", R"(echo '{"outcome":"cancelled"}')",
       R"(echo '{"outcome":"allowed-once","please":true}')", R"(echo '"allowed-once"')", "echo allowed-once", "true",
       R"(echo '{"outcome":"allowed-once"}' >&2)", R"(echo '{"outcome":"allowed-once"}'; kill -9 $$)",
       "head -c 3000000 /dev/zero",
       R"(spaces() { head -c 60000 /dev/zero | tr '\0' ' '; }; printf '{"outcome":'; spaces; echo '"rejected"}'; spaces; )"
       R"(echo no JSON; spaces; printf '"allowed-once"}')",
       R"(echo "{'outcome':'allowed-once'}")"}) {
    CAPTURE(text);
    CHECK(said(says(text)) == "unavailable by command");
  }
}

TEST_CASE("who is behind a program is asked when that could not decide, and not when it did") {
  const auto decided = [](const std::string& text, Scripted behind) {
    const ApprovalRequest asked = request();
    AnswererChain<CommandAnswerer, Scripted> chain(Script("cat >/dev/null; " + text).answerer, std::move(behind));
    return said(chain(asked));
  };
  CHECK(decided("exit 1", Scripted({Decision::allow()})) == "allowed-once by scripted");
  CHECK(decided("exit 1", Scripted({})) == "unavailable by command");
  CHECK(decided(R"(echo '{"outcome":"rejected"}')", Scripted({Decision::allow()})) == "rejected by command");
}

TEST_CASE("a program that is not there, takes too long or is stopped allows nothing") {
  const ApprovalRequest asked = request();
  CHECK(AnswererChain<CommandAnswerer>(CommandAnswerer(Argv({"/nonexistent"})))(asked).result() ==
        ApprovalResult::unavailable);
  const std::string late = R"(trap '' TERM; sleep 100; echo '{"outcome":"allowed-once"}')";
  const auto begun = std::chrono::steady_clock::now();
  CHECK(Script(late, {.time_limit = 50ms}).ask(asked).result() == ApprovalResult::unavailable);
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(50ms);
    stop.request_stop();
  });
  CHECK(Script(late).ask(asked, stop.get_token()).result() == ApprovalResult::cancelled);
  CHECK(std::chrono::steady_clock::now() - begun < 20s);
}

TEST_CASE("a program gets the whole action as one line of JSON, whatever is in it") {
  const support::TempDirectory place("/var/tmp");
  process::RunOptions options;
  options.environment = {"ADDED=x"};
  const Action action({"/bin/echo", "a\n\"b\"", "\xff\xfe", "\x1b[2J"}, workspace_write,
                      support::policy<WorkspaceWrite>(PolicyRequest{.workspace_root = place.path()}).scope(), options);
  const ApprovalRequest asked("sh\nell", action, "because \xe2\x80\xae", "7");
  const std::string file = place.path() + "/got";
  CHECK(Script("cat >" + file + R"(; echo '{"outcome":"allowed-once"}')").ask(asked).result() ==
        ApprovalResult::allowed_once);
  std::ifstream got(file);
  std::string line;
  REQUIRE(std::getline(got, line));
  std::string more;
  CHECK_FALSE(std::getline(got, more));
  detail::JsonDocument document;
  REQUIRE(document.parse(line));
  CHECK(document.root().find("id")->text() == asked.id());
  CHECK(document.root().find("tool")->text() == "sh\nell");
  const auto what = *document.root().find("action");
  CHECK(what.find("mode")->text() == "workspace-write");
  CHECK(what.find("workspace_root")->text() == place.path());
  CHECK(what.find("executable")->text() == action.executable().path);
  CHECK(what.find("digest")->text() == action.digest());
  std::vector<std::string> argv;
  what.find("argv")->each([&](detail::JsonValue word) {
    argv.push_back(detail::JsonMembers::text_of(word, "argv"));
    return true;
  });
  CHECK(argv == action.command().elements());
}

TEST_CASE("a program that decides has no secret of ours in its environment, and our directory") {
  ::setenv("CORDON_TEST_API_KEY", "hunter2", 1);
  const Decision decision =
      Script(R"(cat >/dev/null; test -z "$CORDON_TEST_API_KEY" && test "$PWD" = ")" +
             std::filesystem::current_path().string() + R"(" && echo '{"outcome":"allowed-once"}')")
          .ask(request());
  ::unsetenv("CORDON_TEST_API_KEY");
  CHECK(decision.result() == ApprovalResult::allowed_once);
}
