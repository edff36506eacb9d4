// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cordon {

/// What of the machine a command can be limited in.
enum class Resource { address_space, file_size, open_files, cpu_seconds, processes, memory };

inline constexpr std::array all_resources{Resource::address_space, Resource::file_size, Resource::open_files,
                                          Resource::cpu_seconds,   Resource::processes, Resource::memory};

[[nodiscard]] constexpr std::string_view name(Resource resource) noexcept {
  switch (resource) {
    case Resource::address_space:
      return "address-space";
    case Resource::file_size:
      return "file-size";
    case Resource::open_files:
      return "open-files";
    case Resource::cpu_seconds:
      return "cpu-seconds";
    case Resource::processes:
      return "processes";
    case Resource::memory:
      return "memory";
  }
  return "unknown";
}

/// The one with this name, if any.
[[nodiscard]] constexpr std::optional<Resource> resource_named(std::string_view text) noexcept {
  for (const Resource resource : all_resources)
    if (name(resource) == text) return resource;
  return std::nullopt;
}

/// How much of the machine a command may use. What is not set is not limited by cordon. A limit that this program
/// itself is under, and that is narrower, stays.
///
/// The first four hold for each process by itself, in every mode and with every backend, and no confined command can
/// raise them; uid 0 with full access can. The last two hold for the command with all that it starts, and which of them
/// can be had depends on the machine: every execution tells what it got, as an AppliedLimit.
struct ResourceLimits {
  std::optional<std::uint64_t> address_space = {};  ///< bytes mapped
  std::optional<std::uint64_t> file_size = {};      ///< bytes of a file that it writes: SIGXFSZ, or EFBIG
  std::optional<std::uint64_t> open_files = {};     ///< at least 8: less starts nothing
  std::optional<std::uint64_t> cpu_seconds = {};    ///< SIGXCPU, and a second later SIGKILL
  /// Processes and threads at a time. By a control group; else by RLIMIT_NPROC, which nothing but the command is
  /// counted in where its backend gives it a user namespace of its own (since Linux 5.14), and which does not bind uid
  /// 0.
  std::optional<std::uint64_t> processes = {};
  /// Bytes, by a control group, of at least `least_memory`. Beyond them something of the command is killed. Swap counts
  /// where the kernel accounts it.
  std::optional<std::uint64_t> memory = {};

  static constexpr std::uint64_t least_memory = std::uint64_t{16} << 20;
  static constexpr std::uint64_t least_open_files = 8;

  [[nodiscard]] constexpr std::optional<std::uint64_t>& of(Resource resource) noexcept {
    switch (resource) {
      case Resource::address_space:
        return address_space;
      case Resource::file_size:
        return file_size;
      case Resource::open_files:
        return open_files;
      case Resource::cpu_seconds:
        return cpu_seconds;
      case Resource::processes:
        return processes;
      case Resource::memory:
        break;
    }
    return memory;
  }
  [[nodiscard]] constexpr std::optional<std::uint64_t> of(Resource resource) const noexcept {
    return ResourceLimits(*this).of(resource);
  }

  /// Calls `action(resource, value)` for each that is set.
  template <class Action>
  void for_each(Action action) const {
    for (const Resource resource : all_resources)
      if (const auto value = of(resource)) action(resource, *value);
  }

  friend bool operator==(const ResourceLimits&, const ResourceLimits&) = default;
};

/// What holds a limit.
enum class LimitedBy {
  nothing,         ///< this machine has no means that this user may use
  rlimit,          ///< setrlimit(2); for `processes`, in a user namespace of the command's own
  rlimit_of_user,  ///< the same, but all processes of this user are counted, not only the command's
  control_group,   ///< cgroups(7)
};

[[nodiscard]] constexpr std::string_view name(LimitedBy means) noexcept {
  switch (means) {
    case LimitedBy::nothing:
      return "nothing";
    case LimitedBy::rlimit:
      return "rlimit";
    case LimitedBy::rlimit_of_user:
      return "rlimit-of-user";
    case LimitedBy::control_group:
      return "control-group";
  }
  return "unknown";
}

/// A limit that was asked for, and what came of it in one execution.
struct AppliedLimit {
  Resource resource;
  std::uint64_t value;
  LimitedBy by;

  friend bool operator==(const AppliedLimit&, const AppliedLimit&) = default;
};

}  // namespace cordon
