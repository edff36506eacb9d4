// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/action.hpp>
#include <cordon/approval/argv_prefix.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cordon {

[[nodiscard]] inline std::optional<std::vector<std::vector<std::string>>> commands_for_rules(const Action&) {
  return std::nullopt;
}

[[nodiscard]] inline bool prefixes_cover(const std::vector<ArgvPrefix>& prefixes,
                                         const std::vector<std::string>& argv) {
  for (const ArgvPrefix& prefix : prefixes)
    if (prefix.begins(argv)) return true;
  return false;
}

[[nodiscard]] inline std::vector<ArgvPrefix> rules_to_remember(const Action&) {
  return {};
}

}  // namespace cordon
