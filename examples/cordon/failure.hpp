// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/display.hpp>
#include <cordon/error.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tool {

/// The exit status when cordon did not run the command.
inline constexpr int not_run = 125;

/// A refusal of the tool itself: a wrong command line, or an option that is not built yet.
struct Failure : std::runtime_error {
  Failure(std::string failure_code, const std::string& message)
      : std::runtime_error(message), code(std::move(failure_code)) {}
  std::string code;
};

/// The one line that says why the tool did not do what it was asked. Gives the exit status for that.
inline int complain(std::string_view code, const std::string& message) {
  std::fprintf(stderr, "cordon: %s: %s\n", std::string(code).c_str(), cordon::shown(message).c_str());
  return not_run;
}

}  // namespace tool
