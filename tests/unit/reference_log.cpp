// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/reference_log.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::TempDirectory;

namespace {

const std::string header =
    R"({"type":"session","version":0,"id":"s-1","createdAt":1789569619308,"cwd":"/home/u/p","delegationDepth":0})"
    "\n";

std::string event(int seq, const std::string& type, const std::string& data = "{}", const std::string& more = "") {
  return R"({"type":")" + type + R"(","seq":)" + std::to_string(seq) + R"(,"time":1789569619400,"data":)" + data +
         more + "}\n";
}

ReferenceReport read(const std::string& content) {
  const TempDirectory place;
  return read_reference_log(place.file("session.jsonl", content));
}

std::string refusal(const std::string& content) {
  try {
    (void)read(content);
  } catch (const LogError& error) {
    return std::string(name(error.code())) + " " + std::to_string(error.line());
  }
  return "none";
}

}  // namespace

TEST_CASE("DUR-04 a real session's log folds to its mode, policy, preset and questions, whatever else is in it") {
  const std::string log =
      header + event(0, "permission/preset", R"({"preset":"workspace-write"})") +
      event(1, "sandbox/mode", R"({"mode":"workspace-write"})") + event(2, "approval/policy", R"({"policy":"ask"})") +
      event(3, "turn/start", R"({"turn":1})") + event(4, "step/start", R"({"turn":1,"step":1})") +
      event(5, "user/message", R"({"message":{"content":[{"type":"text","text":"half \ud83d of a pair"}],"n":1.5}})",
            R"(,"surfaceOp":"append","sourceEventSeqs":[1,2])") +
      R"({"type":"reasoning-chunks","seq0":6,"time0":1789569619500,"data":{"turn":1,"step":1,"index":0,"dt":[37,-2,0],"texts":["The"," user","",""]}})"
      "\n"
      R"({"type":"tool-call-chunks","seq0":10,"time0":1789569619600,"data":{"turn":1,"step":1,"index":1,"dt":[0,1],"id":"c","name":"bash","args":["{","}",""]}})"
      "\n" +
      event(13, "approval/asked", R"({"id":"a","toolName":"bash","reason":"x"})") +
      event(14, "approval/decided", R"({"id":"a","outcome":"rejected"})") +
      event(15, "approval/asked", R"({"id":"b","toolName":"bash"})") +
      event(16, "made-by/plugin", R"({"x":[]})", R"(,"ignorable":true)");
  const ReferenceReport report = read(log);
  CHECK(report.id == "s-1");
  CHECK(report.created_at == 1789569619308);
  CHECK(report.cwd == "/home/u/p");
  CHECK(report.mode == SandboxMode(workspace_write));
  CHECK(report.approval_policy == ApprovalPolicy::ask);
  CHECK(report.selected_preset == std::string("workspace-write"));
  CHECK(report.open_turn == 1U);
  CHECK(report.unanswered == std::vector<std::string>{"b"});
  CHECK(report.events == 17);
  CHECK(report.kept_bytes == log.size());
  CHECK(report.ignored_bytes == 0);
  CHECK_FALSE(read(log + event(17, "turn/end", R"({"turn":1,"reason":{"kind":"completed"}})")).open_turn);
}

TEST_CASE("T-LOG-03 T-LOG-04 T-LOG-20 what is no header of that system is refused") {
  for (const char* bad : {"", "not json", "not json\n", "[]\n", "{}\n",
                          R"({"type":"session"})"
                          "\n"})
    CHECK(refusal(bad) == "LOG_CORRUPT 1");
  const auto with = [](const std::string& created, const std::string& depth, const std::string& more = "") {
    return R"({"type":"session","version":0,"id":"s","createdAt":)" + created + R"(,"delegationDepth":)" + depth +
           more + "}\n";
  };
  CHECK(refusal(with("1", "0")) == "none");
  CHECK(refusal(with("1", "0", R"(,"agentPreset":"x","origin":"subagent","seedLength":3,"parentSession":"p")")) ==
        "none");
  for (const char* created : {"1.5", "-1", "9007199254740992", "-0", "\"1\"", "null"})
    CHECK(refusal(with(created, "0")) == "LOG_CORRUPT 1");
  for (const char* depth : {"\"1\"", "1.5", "-1", "-0"}) CHECK(refusal(with("1", depth)) == "LOG_CORRUPT 1");
  CHECK(refusal(R"({"type":"session","version":0,"id":"s","createdAt":1})"
                "\n") == "LOG_CORRUPT 1");
  CHECK(refusal(with("1", "0", R"(,"agentPreset":7)")) == "LOG_CORRUPT 1");
  // Policy lives in events alone (LOG-04).
  CHECK(refusal(with("1", "0", R"(,"sandboxMode":"danger-full-access")")) == "LOG_CORRUPT 1");
  CHECK(refusal(R"({"type":"session","version":1,"other":true})"
                "\n") == "LOG_UNSUPPORTED 1");
}

TEST_CASE(
    "T-LOG-05 T-LOG-07 T-LOG-08 T-LOG-09 DUR-07 damage ends what counts, unless something that decides comes after "
    "it") {
  const std::string first = header + event(0, "user/message");
  for (const std::string& bad :
       {event(2, "user/message"), std::string("{\n"), std::string("bad line\n"),
        std::string(R"({"type":"text-chunks","seq0":1,"time0":1,"data":{"dt":[],"texts":[]}})"
                    "\n"),
        std::string(R"({"type":"text-chunks","seq0":1,"time0":1,"data":{"dt":[1],"texts":["a"]}})"
                    "\n")}) {
    INFO(bad);
    const ReferenceReport report = read(first + bad + event(3, "assistant/message"));
    CHECK(report.events == 1);
    CHECK(report.kept_bytes == first.size());
    CHECK(report.ignored_bytes == bad.size() + event(3, "assistant/message").size());
    CHECK(refusal(first + bad + event(4, "turn/end", R"({"turn":1})")) == "LOG_CORRUPT 3");
    // DUR-K8: nor may a switch get lost.
    CHECK(refusal(first + bad + event(4, "sandbox/mode", R"({"mode":"read-only"})")) == "LOG_CORRUPT 3");
  }
  CHECK(refusal(first + event(2, "sandbox/mode", R"({"mode":"read-only"})")) == "LOG_CORRUPT 3");
  const ReferenceReport torn = read(first + R"({"type":"user/mes)");
  CHECK(torn.events == 1);
  CHECK(torn.ignored_bytes == 17);
}

TEST_CASE("T-LOG-19 T-POL-10 what is not known is refused: an event type, a mode, a policy") {
  CHECK(refusal(header + event(0, "later/invention")) == "LOG_UNSUPPORTED 2");
  CHECK(refusal(header + event(0, "sandbox/mode", R"({"mode":"yolo"})")) == "LOG_CORRUPT 2");
  CHECK(refusal(header + event(0, "approval/policy", R"({"policy":"maybe"})")) == "LOG_CORRUPT 2");
}

TEST_CASE("its header tells which system's a log is") {
  const TempDirectory place;
  CHECK(is_reference_log(place.file("a", header)));
  CHECK_FALSE(is_reference_log(place.file("b", R"({"version":1,"id":"s","created_at":0})"
                                               "\n")));
  CHECK_FALSE(is_reference_log(place.file("c")));
  CHECK_FALSE(is_reference_log(place.file("d", "\xff\n")));
}
