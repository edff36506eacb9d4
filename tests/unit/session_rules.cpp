// SPDX-License-Identifier: BSL-1.0

// What a session remembers of an answer: never a grant.

#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/approval/service.hpp>
#include <cordon/audit.hpp>
#include <cordon/session/jsonl_log.hpp>
#include <string>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::OpenTurn;

namespace {

using Service = ApprovalService<AnswererChain<Scripted>>;

process::RunOptions plain_options() {
  process::RunOptions options;
  options.environment = process::make_environment({}, process::ambient_environment(), true).entries;
  return options;
}

Action git(std::vector<std::string> words, SandboxMode mode = workspace_write, const std::string& root = "/usr/share",
           process::RunOptions options = plain_options()) {
  words.insert(words.begin(), "git");
  return {Argv(std::move(words)), mode, support::policy<ReadOnly>(root).scope(), std::move(options)};
}

Decision remembers(std::vector<std::string> words, bool exact = false) {
  return Decision::allow_and_remember({{std::move(words), exact}});
}

template <class Log>
std::string ask(Service& service, Turn<Log>& turn, Action action) {
  const ApprovalOutcome outcome = service.request(turn, ApprovalRequest("shell", std::move(action)));
  return std::string(name(outcome.result())) + " by " + outcome.answered_by();
}

}  // namespace

TEST_CASE(
    "F97, F107: what the user does not want to be asked again is allowed anew each time, and recorded each time") {
  OpenTurn open;
  const Scripted user({remembers({"git", "log"})});
  Service service{AnswererChain<Scripted>(user)};
  CHECK(ask(service, open.turn, git({"log", "-1"})) == "allowed-once by scripted");
  for (int i = 0; i != 3; ++i) CHECK(ask(service, open.turn, git({"log", "-2"})) == "allowed-once by session-rules");
  CHECK(user.asked().size() == 1);
  CHECK(open.events<ApprovalAsked>().size() == 4);
  CHECK(open.events<ApprovalDecided>().size() == 4);
  const auto remembered = open.events<ApprovalRemembered>();
  REQUIRE(remembered.size() == 1);
  CHECK(remembered.front() == ApprovalRemembered{open.events<ApprovalAsked>().front().id,
                                                 {"git", "log"},
                                                 false,
                                                 workspace_write,
                                                 "/usr/share",
                                                 "/usr/share",
                                                 git({}).setting_digest()});
}

TEST_CASE("F100: a rule holds for its mode, its root and its directory, and asks again anywhere else") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(Scripted({remembers({"git", "log"})}))};
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  CHECK(ask(service, open.turn, git({"log"}, danger_full_access)) == "unavailable by ");
  CHECK(ask(service, open.turn, git({"log"}, workspace_write, "/usr/lib")) == "unavailable by ");
  process::RunOptions elsewhere = plain_options();
  elsewhere.working_directory = "/usr/share/doc";
  CHECK(ask(service, open.turn, git({"log"}, workspace_write, "/usr/share", elsewhere)) == "unavailable by ");
  process::RunOptions from_below = plain_options();
  from_below.working_directory = "/usr/share";
  CHECK(ask(service, open.turn, git({"log"}, workspace_write, "/usr/lib", from_below)) == "unavailable by ");
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by session-rules");
}

TEST_CASE("F101, F102: a rule is about every command of a script, and no more than it says") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(Scripted({remembers({"git", "log"}, true)}))};
  const auto script = [](const std::string& text) {
    return Action(shell(text), workspace_write, support::policy<ReadOnly>("/usr/share").scope(), plain_options());
  };
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  CHECK(ask(service, open.turn, script("git log; git log && git log 2>&1")) == "allowed-once by session-rules");
  for (const char* more : {"git log; date", "git log && rm x", "git log\nid", "git log -1", "git log $(id)",
                           "git log >x", "git push", "./git log", "git log &", "A=b git log", "git  log | sh"}) {
    CAPTURE(more);
    CHECK(ask(service, open.turn, script(more)) == "unavailable by ");
  }
  process::RunOptions poisoned = plain_options();
  poisoned.environment.push_back("GIT_PAGER=evil");
  CHECK(ask(service, open.turn, git({"log"}, workspace_write, "/usr/share", poisoned)) == "unavailable by ");
}

TEST_CASE("never and the ceiling win over what a session remembers") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(Scripted({remembers({"git", "log"})}))};
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  Service low(AnswererChain<Scripted>(Scripted({})), {.ceiling = read_only});
  CHECK(ask(low, open.turn, git({"log"})) == "rejected by ceiling");
  open.session.set_approval_policy(ApprovalPolicy::never);
  CHECK(ask(service, open.turn, git({"log"})) == "rejected by policy");
}

TEST_CASE("nothing is remembered of an answer that speaks about other commands, or hides what it is about") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(
      Scripted({remembers({"rm"}), remembers({}), remembers({""}), remembers({"sh"}), remembers({"git", "log"})}))};
  const auto remembered = [&] { return open.events<ApprovalRemembered>().size(); };
  for (int i = 0; i != 3; ++i) CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  CHECK(ask(service, open.turn,
            {{"sh", "script"}, workspace_write, support::policy<ReadOnly>("/usr/share").scope(), plain_options()}) ==
        "allowed-once by scripted");
  CHECK(remembered() == 0);
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  CHECK(remembered() == 1);
}

TEST_CASE("a rule that is about no command of what was asked is not kept beside one that is") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(
      Scripted({Decision::allow_and_remember({{{"git", "log"}, false}, {{"id"}, false}, {{"git", "push"}, false}})}))};
  CHECK(ask(service, open.turn, git({"log"})) == "allowed-once by scripted");
  const auto remembered = open.events<ApprovalRemembered>();
  REQUIRE(remembered.size() == 1);
  CHECK(remembered.front().words == std::vector<std::string>{"git", "log"});
}

TEST_CASE("what a mask hides is not in the reason of a question either") {
  OpenTurn open;
  Service service(AnswererChain<Scripted>(Scripted({Decision::reject()})), {.mask = MaskSecrets{}});
  (void)service.request(open.turn, ApprovalRequest("shell", git({"log"}),
                                                   "workspace-write: needs  https://u:hunter2@host/ and token=x "));
  REQUIRE(open.events<ApprovalAsked>().size() == 1);
  CHECK(open.events<ApprovalAsked>().front().reason == "workspace-write: needs  [masked] and token=[masked] ");
}

TEST_CASE("a rule dies with its session, and lives as long as that, whichever program goes on with it") {
  const support::TempDirectory place("/var/tmp");
  const std::string path = place.path() + "/log";
  {
    Session<JsonlLog> session(JsonlLog::create(path, {"s", 0}));
    auto turn = session.begin_turn();
    Service service{AnswererChain<Scripted>(Scripted({remembers({"git", "log"})}))};
    CHECK(ask(service, turn, git({"log"})) == "allowed-once by scripted");
  }
  Session<JsonlLog> resumed(JsonlLog::open(path));
  auto turn = resumed.begin_turn();
  Service nobody{AnswererChain<Scripted>(Scripted({}))};
  CHECK(ask(nobody, turn, git({"log"})) == "allowed-once by session-rules");
  OpenTurn another;
  CHECK(ask(nobody, another.turn, git({"log"})) == "unavailable by ");
}

TEST_CASE("a rule has a place in the log that older readers may ignore, and a program can't fill it without end") {
  OpenTurn open;
  const ApprovalRemembered rule{"id", {"git"}, false, read_only, "/w", "/w", "digest"};
  std::string line;
  detail::write_record(line, Record{0, 0, rule});
  CHECK(line.find("\"ignorable\":true") != std::string::npos);
  SessionState state = open.session.state();
  const auto allow = [&](ApprovalResult result) {
    CHECK(state.apply(ApprovalAsked{"id", "shell"}).empty());
    CHECK(state.apply(ApprovalDecided{"id", result, "user"}).empty());
  };
  CHECK_FALSE(state.apply(rule).empty());
  allow(ApprovalResult::rejected);
  CHECK_FALSE(state.apply(rule).empty());
  allow(ApprovalResult::allowed_once);
  CHECK_FALSE(state.apply(ApprovalRemembered{"another", {"git"}, false, read_only, "/w", "/w", "digest"}).empty());
  for (std::size_t i = 0; i != SessionState::most_remembered; ++i) CHECK(state.apply(rule).empty());
  CHECK_FALSE(state.apply(rule).empty());
  SessionState later = open.session.state();
  std::swap(state, later);
  allow(ApprovalResult::allowed_once);
  CHECK(state.apply(ExecUnconfined{{"x"}, "/w", "x"}).empty());
  CHECK_FALSE(state.apply(rule).empty());
}

TEST_CASE("a rule holds for what was shown: not with another root, protection, limit, variable or input") {
  OpenTurn open;
  Service service{AnswererChain<Scripted>(Scripted({remembers({"git", "log"}), remembers({"git", "log"})}))};
  const Argv command({"git", "log"});
  const auto scope = [](PolicyRequest request) {
    request.workspace_root = "/usr/share";
    return support::policy<ReadOnly>(std::move(request)).scope();
  };
  const auto with = [&](PolicyScope where, process::RunOptions options = plain_options()) {
    return ask(service, open.turn, Action(command, workspace_write, std::move(where), std::move(options)));
  };
  process::RunOptions typed = plain_options();
  typed.input = process::Input::bytes("patch");
  CHECK(with(scope({}), typed) == "allowed-once by scripted");
  CHECK(open.events<ApprovalRemembered>().empty());
  CHECK(with(scope({})) == "allowed-once by scripted");
  CHECK(with(scope({})) == "allowed-once by session-rules");
  CHECK(with(scope({.write = {"/usr/lib/locale"}})) == "unavailable by ");
  CHECK(with(scope({.protect = {"/usr/share/doc"}})) == "unavailable by ");
  CHECK(with(scope({.resources = {.processes = 100}})) == "unavailable by ");
  CHECK(with(scope({}), typed) == "unavailable by ");
  process::RunOptions less = plain_options();
  less.environment.pop_back();
  CHECK(with(scope({}), less) == "unavailable by ");
  process::RunOptions screen = plain_options();
  screen.terminal = process::TerminalSize{};
  CHECK(with(scope({}), screen) == "unavailable by ");
}

TEST_CASE("a rule that has in it what the log is not to show is not kept") {
  OpenTurn open;
  Service service(AnswererChain<Scripted>(Scripted({remembers({"git", "log", "--token=hunter2"}, true)})),
                  {.mask = MaskSecrets{}});
  CHECK(ask(service, open.turn, git({"log", "--token=hunter2"})) == "allowed-once by scripted");
  CHECK(open.events<ApprovalRemembered>().empty());
}
