// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <stdlib.h>

#include <cordon/approval/action.hpp>
#include <cordon/argv.hpp>
#include <cordon/mode.hpp>
#include <cordon/policy.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/options.hpp>
#include <string>
#include <utility>
#include <vector>

namespace support {

inline const std::vector<std::string> plain_environment{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"};

/// An action of a program whose own environment is the same, so that this one is no change.
[[nodiscard]] inline cordon::Action action_in(const std::vector<std::string>& environment, cordon::Argv command,
                                              cordon::PolicyScope scope, cordon::SandboxMode mode) {
  const std::vector<std::string> before = cordon::process::ambient_environment();
  const auto set = [](const std::vector<std::string>& entries) {
    for (const std::string& entry : entries)
      ::setenv(entry.substr(0, entry.find('=')).c_str(), entry.substr(entry.find('=') + 1).c_str(), 1);
  };
  set(environment);
  cordon::process::RunOptions options;
  options.environment = environment;
  cordon::Action action(std::move(command), mode, std::move(scope), std::move(options));
  for (const std::string& entry : environment) ::unsetenv(entry.substr(0, entry.find('=')).c_str());
  set(before);
  return action;
}

/// With no workspace to speak of.
[[nodiscard]] inline cordon::Action action_of(cordon::Argv command,
                                              cordon::SandboxMode mode = cordon::danger_full_access) {
  cordon::PolicyScope scope;
  scope.workspace_root = "/tmp";
  return action_in(plain_environment, std::move(command), std::move(scope), mode);
}

}  // namespace support
