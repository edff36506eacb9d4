// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cordon::process {

/// The step of a launch that a status record speaks about.
enum class Stage : std::uint16_t {
  descriptors = 1,    ///< stdin, stdout, stderr and the closing of all others
  session,            ///< setsid, and the controlling terminal
  signals,            ///< dispositions and mask
  working_directory,  ///< chdir
  runner,             ///< the runner ended before it came to the command
  arguments,          ///< the runner's own command line
  environment,        ///< the environment that the runner was to hand on
  user_namespace,     ///< the namespaces themselves, and the identity map
  mount,              ///< a change of the mount tree
  privileges,         ///< no_new_privs
  landlock,           ///< the Landlock ruleset or its enforcement
  exec,               ///< execve of the program itself
  interpreter,        ///< the same, for the want of what the first line of a script or a program's header names
  limits,             ///< a resource limit, or the control group that holds it
};

[[nodiscard]] constexpr std::string_view name(Stage stage) noexcept {
  switch (stage) {
    case Stage::descriptors:
      return "descriptors";
    case Stage::session:
      return "session";
    case Stage::signals:
      return "signals";
    case Stage::working_directory:
      return "working-directory";
    case Stage::runner:
      return "runner";
    case Stage::arguments:
      return "arguments";
    case Stage::environment:
      return "environment";
    case Stage::user_namespace:
      return "user-namespace";
    case Stage::mount:
      return "mount";
    case Stage::privileges:
      return "privileges";
    case Stage::landlock:
      return "landlock";
    case Stage::exec:
      return "exec";
    case Stage::interpreter:
      return "interpreter";
    case Stage::limits:
      return "limits";
  }
  return "unknown";
}

/// True for the steps that confine: when one of them fails, the sandbox failed.
[[nodiscard]] constexpr bool confines(Stage stage) noexcept {
  return stage == Stage::user_namespace || stage == Stage::mount || stage == Stage::privileges ||
         stage == Stage::landlock;
}

/// True for the steps that are execve: when one of them fails, the program was at fault.
[[nodiscard]] constexpr bool executes(Stage stage) noexcept {
  return stage == Stage::exec || stage == Stage::interpreter;
}

/// What travels over the status pipe of a runner.
///
/// It sends `{exec, 0}` when everything is in place and only execve is left. So: no record, the runner died; `{exec,
/// 0}` alone, the command ran; any record with an error, it did not.
struct StatusRecord {
  std::uint32_t magic = expected_magic;
  Stage stage = Stage::runner;
  std::uint16_t reserved = 0;
  std::int32_t error = 0;

  static constexpr std::uint32_t expected_magic = 0x636f7264;
};
static_assert(sizeof(StatusRecord) == 12);

}  // namespace cordon::process
