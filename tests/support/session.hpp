// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/session/jsonl_log.hpp>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/temp_directory.hpp"

namespace support {

[[nodiscard]] inline std::vector<cordon::Record> records_of(const std::string& path) {
  std::vector<cordon::Record> records;
  (void)cordon::read_log(path, [&](const cordon::Record& record) { records.push_back(record); });
  return records;
}

[[nodiscard]] inline std::vector<std::string> types_of(const std::vector<cordon::Record>& records) {
  std::vector<std::string> types;
  for (const cordon::Record& record : records) types.emplace_back(type_of(record.event));
  return types;
}

/// One event of each type, in an order in which they may come.
[[nodiscard]] inline std::vector<cordon::Event> one_of_each() {
  using namespace cordon;
  const std::vector<std::string> argv{"git", "commit", "-m", "caf\u00e9 \"x\"\n\t\\", "\xff\xfe", ""};
  return {ModeSwitched{workspace_write, "delegation"},
          ApprovalPolicySwitched{ApprovalPolicy::ask, ""},
          PresetSelected{"danger-full-access", 2},
          ModeSwitched{danger_full_access},
          ApprovalPolicySwitched{ApprovalPolicy::never},
          TurnStarted{1, true},
          ApprovalAsked{"a1", "shell", "call 1", "to write /etc/x", danger_full_access, argv, "/w", "/w/d", "d1"},
          ApprovalAsked{"a2", "shell"},
          ApprovalDecided{"a2", ApprovalResult::unavailable},
          ApprovalDecided{"a1", ApprovalResult::allowed_once, "terminal"},
          ApprovalRemembered{"a1", argv, true, workspace_write, "/w\xff", "/w", "d4"},
          ApprovalRemembered{"a1", {"git", "log"}, false, danger_full_access, "/w", "/w", "d5"},
          ExecConfined{argv, read_only, "/w\xff", "layered", EffectSet{FileEffect::metadata, FileEffect::fifo_write},
                       "grant a1", "d2", true},
          ExecUnconfined{argv, "/w", "explicit mode", "d3", true},
          ExecSettled{12, "exited", 3, {}, {{FileEffect::write, "/etc/x", "EROFS"}, {FileEffect::create}}},
          ExecSettled{13, "signalled", {}, 9},
          TurnEnded{1, TurnEnding::completed}};
}

/// A random event that may come in `state`.
[[nodiscard]] inline cordon::Event some_event(Random& random, const cordon::SessionState& state) {
  using namespace cordon;
  const std::vector<SandboxMode> modes{read_only, workspace_write, danger_full_access};
  while (true) {
    switch (random.below(8)) {
      case 0:
        return ModeSwitched{random.pick(modes)};
      case 1:
        return ApprovalPolicySwitched{random.chance() ? ApprovalPolicy::ask : ApprovalPolicy::never};
      case 2:
        return PresetSelected{random.text("ab\xc3", 3) + "p", 0};
      case 3:
        if (!state.open_turn()) return TurnStarted{state.turns() + 1, random.chance()};
        if (state.unanswered().empty()) return TurnEnded{state.turns(), TurnEnding::interrupted};
        break;
      case 4:
        if (state.open_turn())
          return ApprovalAsked{"id" + std::to_string(state.size()), "shell", random.text("x\"\\\n", 4)};
        break;
      case 5:
        if (!state.unanswered().empty())
          return ApprovalDecided{random.pick(state.unanswered()), ApprovalResult::rejected};
        break;
      case 6:
        if (state.open_turn()) return ExecUnconfined{{random.text("ab \xff\x01", 5)}, "/w", "x", "", random.chance()};
        break;
      default:
        if (const auto& open = random.chance() ? state.in_background() : state.unsettled(); !open.empty())
          return ExecSettled{random.pick(open), "exited", 0};
    }
  }
}

}  // namespace support
