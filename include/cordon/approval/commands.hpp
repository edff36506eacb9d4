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

[[nodiscard]] inline std::vector<ArgvPrefix> rules_to_remember(const Action&) {
  return {};
}

}  // namespace cordon
