// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/spawn.hpp>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "support/temp_directory.hpp"

namespace support {

/// The authority to run `command` unconfined, from the only place that gives it.
[[nodiscard]] inline cordon::UnconfinedArgv unconfined(cordon::Argv command, const std::string& workspace = "/tmp") {
  cordon::PolicyRequest request;
  request.mode = cordon::danger_full_access;
  request.workspace_root = workspace;
  const auto policy = cordon::PolicyResolver::resolve(request);
  using Result = cordon::UnconfinedArgv;
  return policy.visit(
      [&](const cordon::Policy<cordon::DangerFullAccess>& full) -> Result {
        return {full, std::move(command)};
      },
      [](const cordon::Policy<cordon::ReadOnly>&) -> Result { throw std::logic_error("asked for full access"); },
      [](const cordon::Policy<cordon::WorkspaceWrite>&) -> Result { throw std::logic_error("asked for full access"); });
}

[[nodiscard]] inline cordon::process::RunOptions options_with_path() {
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return options;
}

/// Runs `command` unconfined, with a plain PATH.
[[nodiscard]] inline cordon::process::Completed run(cordon::Argv command,
                                                    cordon::process::RunOptions options = options_with_path()) {
  return cordon::process::run(unconfined(std::move(command)), std::move(options));
}

[[nodiscard]] inline cordon::process::Completed run_shell(const std::string& script,
                                                          cordon::process::RunOptions options = options_with_path()) {
  return run(cordon::Argv({"/bin/sh", "-c", script}), std::move(options));
}

[[nodiscard]] inline bool exited_with(const cordon::process::Completed& done, int code) {
  const auto* exited = std::get_if<cordon::process::Exited>(&done.ending);
  return exited != nullptr && exited->code == code;
}

/// How many descriptors this process has open; the one that counts is counted too, each time.
[[nodiscard]] inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

/// A number of seconds that no other sleep uses.
[[nodiscard]] inline std::string unique_sleep() {
  static std::atomic<int> count{0};
  return "60.0" + std::to_string(::getpid()) + "0" + std::to_string(++count);
}

/// The processes, but for this one, whose command line holds `token`.
[[nodiscard]] inline std::vector<pid_t> who_run(const std::string& token) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(::getpid())) continue;
    if (content_of(entry.path().string() + "/cmdline").find(token) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

/// True when this process has no child left, alive or dead, of any kind.
[[nodiscard]] inline bool no_child_is_left() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == -1 && errno == ECHILD;
}

}  // namespace support
