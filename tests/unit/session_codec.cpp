// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/codec.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/session.hpp"

using namespace cordon;
using detail::CodecError;
using detail::JsonDocument;

namespace {

Record record_of(const std::string& line) {
  JsonDocument document;
  REQUIRE(document.parse(line));
  return detail::read_record(document.root());
}

std::string refusal_of(const std::string& line) {
  JsonDocument document;
  if (!document.parse(line)) return std::string(document.problem());
  try {
    (void)detail::read_record(document.root());
  } catch (const CodecError& error) {
    return error.what();
  }
  return "none";
}

std::string header_refusal_of(const std::string& line) {
  JsonDocument document;
  if (!document.parse(line)) return std::string(document.problem());
  try {
    (void)detail::read_header(document.root());
  } catch (const CodecError& error) {
    return (error.unsupported ? "unsupported: " : "") + std::string(error.what());
  }
  return "none";
}

}  // namespace

TEST_CASE("LOG-01 LOG-02 every event comes back as it was, also text that is no UTF-8") {
  std::uint64_t seq = 0;
  for (const Event& event : support::one_of_each()) {
    const Record record{seq++, 1796163904212, event};
    std::string line;
    detail::write_record(line, record);
    INFO(line);
    CHECK(line.find('\n') == line.size() - 1);
    line.pop_back();
    CHECK(record_of(line) == record);
  }
}

TEST_CASE("the lines of a log are stable, for whoever reads them without cordon") {
  std::string line;
  detail::write_record(line, {7, 5, ExecConfined{{"a", "b"}, workspace_write, "/w", "layered", {}}});
  CHECK(line == R"({"seq":7,"time":5,"type":"exec/confined","data":{"argv":["a","b"],"mode":"workspace-write",)"
                R"("workspace_root":"/w","backend":"layered","enforcement":"full","missing":[]}})"
                "\n");
  line.clear();
  detail::write_record(line, {0, 5, ApprovalAsked{"i", "t"}});
  // T-APR-03: what is absent has no key.
  CHECK(line == R"({"seq":0,"time":5,"type":"approval/asked","data":{"id":"i","tool":"t"}})"
                "\n");
}

TEST_CASE("LOG-06 T-LOG-19 an event type that is not known is refused by its name, unless it may be ignored") {
  CHECK(refusal_of(R"({"seq":0,"time":1,"type":"tool/call","data":{}})").find("'tool/call'") != std::string::npos);
  CHECK(record_of(R"({"seq":0,"time":1,"type":"tool/call","data":[],"ignorable":true})").event ==
        Event(IgnoredEvent{"tool/call"}));
  CHECK(refusal_of(R"({"seq":0,"time":1,"type":"tool/call","data":{},"ignorable":false})") != "none");
  // A type that is known is read, whatever it says of itself.
  CHECK(refusal_of(R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"yolo"},"ignorable":true})") ==
        "there is no mode 'yolo'");
}

TEST_CASE("T-POL-10 POL-07 POL-K5 an unknown mode or policy in a log is refused, and said") {
  CHECK(refusal_of(R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"Read-Only"}})") ==
        "there is no mode 'Read-Only'");
  CHECK(refusal_of(R"({"seq":0,"time":1,"type":"approval/policy","data":{"policy":"maybe"}})") ==
        "there is no policy 'maybe'");
}

TEST_CASE("LOG-01 a line that is not exactly a record is refused") {
  const std::string good = R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})";
  CHECK(refusal_of(good) == "none");
  for (
      const char* bad : {
          R"([])",
          R"({"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":-1,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":"0","time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":0.0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":-0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":0,"time":null,"type":"sandbox/mode","data":{"mode":"read-only"}})",
          R"({"seq":0,"time":1,"type":7,"data":{"mode":"read-only"}})",
          R"({"seq":0,"time":1,"type":"sandbox/mode"})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":null})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":{}})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only","root":"/"}})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"},"extra":1})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":{"hex":"726561642d6f6e6c79"}}})",
          R"({"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"},"ignorable":1})",
          R"({"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"detached":"yes"}})",
          R"({"seq":0,"time":1,"type":"turn/end","data":{"turn":1,"reason":"bored"}})",
          R"({"seq":0,"time":1,"type":"approval/decided","data":{"id":"x","outcome":"sure"}})",
          R"({"seq":0,"time":1,"type":"exec/unconfined","data":{"argv":"x","workspace_root":"/","allowed_by":"x"}})",
          R"({"seq":0,"time":1,"type":"exec/unconfined","data":{"argv":[1],"workspace_root":"/","allowed_by":"x"}})",
          R"({"seq":0,"time":1,"type":"exec/unconfined","data":{"argv":[{"hex":"f"}],"workspace_root":"/","allowed_by":"x"}})",
          R"({"seq":0,"time":1,"type":"exec/unconfined","data":{"argv":[{"hex":"fx"}],"workspace_root":"/","allowed_by":"x"}})",
          R"({"seq":0,"time":1,"type":"exec/confined","data":{"argv":[],"mode":"read-only","workspace_root":"/","backend":"b","enforcement":"full","missing":["metadata"]}})",
          R"({"seq":0,"time":1,"type":"exec/confined","data":{"argv":[],"mode":"read-only","workspace_root":"/","backend":"b","enforcement":"partial","missing":["magic"]}})",
      }) {
    INFO(bad);
    CHECK(refusal_of(bad) != "none");
  }
}

TEST_CASE("LOG-04 T-LOG-04 T-LOG-20 a header is one of this version, or refused; a newer one before anything else") {
  CHECK(header_refusal_of(R"({"version":1,"id":"x","created_at":0})") == "none");
  CHECK(header_refusal_of(
            R"({"version":1,"id":"x","created_at":9007199254740991,"cwd":"/w","cwd_identity":"1:2:3","parent":"p"})") ==
        "none");
  CHECK(header_refusal_of(R"({"version":2,"everything":"else"})").starts_with("unsupported: it has version 2"));
  CHECK(header_refusal_of(R"({"version":0})").starts_with("unsupported: it has version 0"));
  for (const char* bad : {R"([])",
                          R"("x")",
                          R"({})",
                          R"({"version":"1","id":"x","created_at":0})",
                          R"({"version":1.0,"id":"x","created_at":0})",
                          R"({"version":1,"created_at":0})",
                          R"({"version":1,"id":"","created_at":0})",
                          R"({"version":1,"id":"x"})",
                          R"({"version":1,"id":"x","created_at":1.5})",
                          R"({"version":1,"id":"x","created_at":-1})",
                          R"({"version":1,"id":"x","created_at":9007199254740992})",
                          R"({"version":1,"id":"x","created_at":-0})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"w"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":7})",
                          R"({"version":1,"id":"x","created_at":0,"cwd_identity":"1:2"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","cwd_identity":"1"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","cwd_identity":"1:"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","cwd_identity":"1:2:3x"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","cwd_identity":"1:2"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","cwd_identity":"1:2:"})",
                          R"({"version":1,"id":"x","created_at":0,"cwd":"/w","chain":"md5"})",
                          R"({"version":1,"id":"x","created_at":0,"mode":"read-only"})"}) {
    INFO(bad);
    CHECK(header_refusal_of(bad) != "none");
    CHECK_FALSE(header_refusal_of(bad).starts_with("unsupported"));
  }
}
