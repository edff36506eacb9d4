// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/jsonl_log.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/fake_kernel.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::content_of;
using support::TempDirectory;

namespace {

/// Sixty-four digits that depend on every byte; nothing that anybody should trust.
std::string stand_in(std::string_view bytes) {
  std::string digits;
  std::uint64_t value = 1469598103934665603ULL;
  for (int round = 0; round != 4; ++round) {
    for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[value >> static_cast<unsigned>(i) & 15U];
  }
  return digits;
}

std::string code_of(const std::string& path, ChainHash chain) {
  try {
    (void)read_log(path, chain);
  } catch (const LogError& error) {
    return std::string(name(error.code())) + " " + std::to_string(error.line());
  }
  return "none";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

TEST_CASE("LOG-K3 in a chained log no line can be changed, left out, exchanged or put in without a broken link") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    JsonlLog log = JsonlLog::create(path, {"s", 0}, {.chain = stand_in});
    log.append(support::one_of_each());
  }
  {
    JsonlLog log = JsonlLog::open(path, {.chain = stand_in});
    const std::vector<Event> more{ModeSwitched{read_only}};
    log.append(more);
    log.append(more);
  }
  const std::vector<std::string> lines = lines_of(content_of(path));
  const LogReport sound = read_log(path, stand_in);
  CHECK(sound.header.chained);
  CHECK(lines.back().find(sound.last_hash) != std::string::npos);
  // Not to be checked is not to be refused: the events are the same.
  CHECK(read_log(path).state == sound.state);
  CHECK(read_log(path).last_hash.empty());

  for (std::size_t i = 0; i != lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    // The name of the session, or the time of the event.
    changed[i].replace(changed[i].find(i == 0 ? "\"s\"" : "\"time\":1"), i == 0 ? 3 : 8,
                       i == 0 ? "\"t\"" : "\"time\":2");
    const std::size_t broken = i == 0 ? 2 : i + 1;
    CHECK(code_of(place.file("changed", joined(changed), 0600), stand_in) == "LOG_CORRUPT " + std::to_string(broken));
    CHECK(code_of(place.file("changed", joined(changed), 0600), nullptr) == "none");
  }
  std::vector<std::string> exchanged = lines;
  const std::size_t last = lines.size() - 1;
  std::swap(exchanged[last], exchanged[last - 1]);
  std::swap(exchanged[last].at(7), exchanged[last - 1].at(7));
  CHECK(code_of(place.file("changed", joined(exchanged), 0600), stand_in).starts_with("LOG_CORRUPT"));
  // Cut at a line it is sound: what it ended with has to be known from elsewhere.
  std::vector<std::string> cut(lines.begin(), lines.end() - 1);
  const LogReport shorter = read_log(place.file("changed", joined(cut), 0600), stand_in);
  CHECK(shorter.last_hash != sound.last_hash);
}

TEST_CASE("a log is chained from its beginning or not at all") {
  const TempDirectory place;
  const std::string chained = place.path() + "/chained";
  const std::string plain = place.path() + "/plain";
  const std::vector<Event> one{ModeSwitched{read_only}};
  JsonlLog::create(chained, {"s", 0}, {.chain = stand_in}).append(one);
  JsonlLog::create(plain, {"s", 0}).append(one);
  CHECK_THROWS_AS(JsonlLog::open(chained), LogError);
  JsonlLog::open(plain, {.chain = stand_in}).append(one);
  CHECK(code_of(plain, stand_in) == "none");
  CHECK(read_log(plain, stand_in).last_hash.empty());

  const std::vector<std::string> with = lines_of(content_of(chained));
  const std::vector<std::string> without = lines_of(content_of(plain));
  for (const ChainHash chain : {ChainHash{nullptr}, ChainHash{stand_in}}) {
    CHECK(code_of(place.file("mixed", with[0] + without[1], 0600), chain) == "LOG_CORRUPT 2");
    CHECK(code_of(place.file("mixed", without[0] + with[1], 0600), chain) == "LOG_CORRUPT 2");
  }
}

TEST_CASE("the chain goes on behind what failed, what was torn and what waited") {
  using Log = BasicJsonlLog<support::FakeKernel>;
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  const std::vector<Event> wide{ModeSwitched{danger_full_access}};
  const std::vector<Event> narrow{ModeSwitched{read_only}};
  support::FakeKernel::allow_all();
  {
    Log log = Log::create(path, {"s", 0}, {.batch_bytes = 10'000, .chain = stand_in});
    log.append(narrow);
    const std::vector<Event> turn{TurnStarted{1}};
    log.append(turn);
    support::FakeKernel::refuse(SYS_write, 0, ENOSPC);
    CHECK_THROWS_AS(log.append(wide), LogError);
    support::FakeKernel::allow_all();
    log.append(narrow);
  }
  CHECK(code_of(path, stand_in) == "none");
  {
    std::ofstream file(path, std::ios::app);
    file << R"({"seq":3,"time":1,"type":"permission/preset","data":{"preset":"p","switches":1},"hash":")"
         << "x";
  }
  JsonlLog::open(path, {.chain = stand_in}).append(narrow);
  CHECK(code_of(path, stand_in) == "none");
  CHECK(read_log(path, stand_in).state.size() == 4);
}
