// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/session.hpp>

#include <cordon/session/jsonl_log.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::Random;
using support::TempDirectory;

TEST_CASE("the state of a live session is the fold over its records, at every prefix, in memory and in a file") {
  Random random(20261130);
  const TempDirectory place;
  const SessionDefaults defaults{workspace_write, ApprovalPolicy::ask};
  for (int round = 0; round != 20; ++round) {
    const std::string path = place.path() + "/" + std::to_string(round);
    JsonlLog file = JsonlLog::create(path, {"s", 0}, {.batch_bytes = random.below(2) * 500});
    file.flush();
    MemoryLog memory(SessionHeader{"s", 0});
    std::vector<SessionState> states;
    for (int i = 0; i != 60; ++i) {
      const std::vector<Event> events{support::some_event(random, memory.state())};
      memory.append(events);
      file.append(events);
      REQUIRE(file.state() == memory.state());
      states.push_back(memory.state());
    }
    file.flush();
    SessionState pure;
    std::size_t at = 0;
    (void)read_log(path, [&](const Record& record) {
      REQUIRE(record.seq == at);
      REQUIRE(record.event == memory.records()[at].event);
      REQUIRE(pure.apply(record.event).empty());
      REQUIRE(pure == states[at]);
      REQUIRE(knobs_of(pure, defaults) == knobs_of(states[at++], defaults));
    });
    CHECK(at == 60);
  }
}

TEST_CASE("a log that was changed at random is refused or read as a prefix of what it was, never as something else") {
  Random random(20261130);
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  std::vector<Record> records;
  {
    JsonlLog log = JsonlLog::create(path, {"s", 0});
    for (int i = 0; i != 30; ++i) {
      const std::vector<Event> events{support::some_event(random, log.state())};
      log.append(events);
    }
    log.for_each([&](const Record& record) { records.push_back(record); });
  }
  const std::string whole = support::content_of(path);
  int refused = 0;
  for (int i = 0; i != 2'000; ++i) {
    std::string changed = whole;
    // Cut, or with a stretch of lines missing: what a disk or a careless hand does.
    if (random.chance()) {
      changed.resize(random.below(changed.size()));
    } else {
      const std::size_t at = changed.find('\n', random.below(changed.size())) + 1;
      changed.erase(at, changed.find('\n', at) + 1 - at);
    }
    const std::string other = place.file("changed", changed, 0600);
    std::vector<Record> seen;
    try {
      (void)read_log(other, [&](const Record& record) { seen.push_back(record); });
    } catch (const LogError&) {
      ++refused;
    }
    REQUIRE(seen.size() <= records.size());
    for (std::size_t r = 0; r != seen.size(); ++r) REQUIRE(seen[r] == records[r]);
  }
  CHECK(refused > 500);
}

TEST_CASE("sets of switches in any order leave what the last of each said") {
  Random random(7);
  const std::vector<SandboxMode> modes{read_only, workspace_write, danger_full_access};
  for (int round = 0; round != 200; ++round) {
    Session<MemoryLog> session(MemoryLog(SessionHeader{"s", 0}));
    Knobs expected{read_only, ApprovalPolicy::ask};
    for (int i = 0; i != 12; ++i) {
      const auto& preset = random.pick(session.presets().entries());
      switch (random.below(3)) {
        case 0:
          expected.mode = random.pick(modes);
          session.set_mode(expected.mode);
          break;
        case 1:
          expected.approval = random.chance() ? ApprovalPolicy::ask : ApprovalPolicy::never;
          session.set_approval_policy(expected.approval);
          break;
        default:
          expected = preset.knobs;
          session.set_preset(preset.name);
          REQUIRE(session.preset() == preset.name);
      }
      REQUIRE(session.effective_mode() == expected.mode);
      REQUIRE(session.approval_policy() == expected.approval);
      REQUIRE(session.preset() == PresetTable().name_of(expected, session.state().selected_preset()));
    }
  }
}
