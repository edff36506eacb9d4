// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cordon/detail/error_text.hpp>
#include <cordon/error.hpp>
#include <cordon/os/linux/control_group.hpp>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/resource_limits.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace cordon::process {

/// The limits of a command, and what its launch puts beside it that they would hold for too.
struct ResourceSetup {
  ResourceLimits limits = {};
  bool own_user_namespace = false;  ///< so RLIMIT_NPROC counts nothing but the command, and:
  unsigned counted_by_rlimit = 0;   ///< processes of a runner in that namespace
  unsigned counted_by_group = 0;    ///< processes of a runner that enters the control group with the command
  bool runner_sets_rlimits = false;
  bool writes_groups = false;  ///< the command may write the control groups, so that none can hold it
};

namespace detail {

[[nodiscard]] constexpr std::uint64_t sum(std::uint64_t value, std::uint64_t more) noexcept {
  return value > ~more ? ~std::uint64_t{0} : value + more;
}

/// The setrlimit(2) limits. Beside a control group, one that would count all processes of the user is left out.
[[nodiscard]] inline std::vector<os::ProcessLimit> process_limits(const ResourceSetup& setup, bool grouped) {
  std::vector<os::ProcessLimit> result;
  setup.limits.for_each([&](Resource resource, std::uint64_t value) {
    switch (resource) {
      case Resource::address_space:
        result.push_back({RLIMIT_AS, value, value});
        break;
      case Resource::file_size:
        result.push_back({RLIMIT_FSIZE, value, value});
        break;
      case Resource::open_files:
        result.push_back({RLIMIT_NOFILE, value, value});
        break;
      case Resource::cpu_seconds:
        result.push_back({RLIMIT_CPU, value, sum(value, 1)});
        break;
      case Resource::processes:
        if (setup.own_user_namespace || !grouped)
          result.push_back({RLIMIT_NPROC, sum(value, setup.counted_by_rlimit), sum(value, setup.counted_by_rlimit)});
        break;
      case Resource::memory:
        break;
    }
  });
  for (os::ProcessLimit& limit : result) os::keep_narrower(limit);
  return result;
}

/// The limits of one execution: control groups that go with this object, and what is set in the child.
class LimitedResources {
 public:
  LimitedResources() = default;
  explicit LimitedResources(const ResourceSetup& setup) {
    std::vector<std::pair<os::Controller, std::uint64_t>> wanted;
    if (setup.limits.processes)
      wanted.emplace_back(os::Controller::pids, sum(*setup.limits.processes, setup.counted_by_group));
    if (setup.limits.memory) wanted.emplace_back(os::Controller::memory, *setup.limits.memory);
    std::vector<os::Controller> held;
    if (!wanted.empty() && !setup.writes_groups) groups_ = os::ControlGroup::make(wanted, held);
    if (held.size() != wanted.size()) require_descriptors();
    const auto has = [&](os::Controller controller) {
      return std::find(held.begin(), held.end(), controller) != held.end();
    };
    if (!setup.runner_sets_rlimits) limits_ = process_limits(setup, has(os::Controller::pids));
    setup.limits.for_each([&](Resource resource, std::uint64_t value) {
      LimitedBy by = LimitedBy::rlimit;
      if (resource == Resource::memory)
        by = has(os::Controller::memory) ? LimitedBy::control_group : LimitedBy::nothing;
      else if (resource == Resource::processes)
        by = has(os::Controller::pids)  ? LimitedBy::control_group
             : os::is_root_of_machine() ? LimitedBy::nothing
             : setup.own_user_namespace ? LimitedBy::rlimit
                                        : LimitedBy::rlimit_of_user;
      applied_.push_back({resource, value, by});
    });
  }

  [[nodiscard]] const std::vector<os::ControlGroup>& groups() const noexcept { return groups_; }
  [[nodiscard]] const std::vector<os::ProcessLimit>& limits() const noexcept { return limits_; }
  [[nodiscard]] const std::vector<AppliedLimit>& applied() const noexcept { return applied_; }

 private:
  /// Throws SpawnError when it may be for the want of descriptors that a limit is not held.
  static void require_descriptors() {
    std::array<os::Fd, 4> some;
    for (os::Fd& fd : some) {
      const long opened = os::open_file<os::Kernel>("/dev/null", O_RDONLY);
      if (opened < 0)
        throw SpawnError("can't find out what holds the limits of a command: " +
                             cordon::detail::error_text(static_cast<int>(-opened)) + "; close some descriptors",
                         static_cast<int>(-opened));
      fd = os::Fd(opened);
    }
  }

  std::vector<os::ControlGroup> groups_;
  std::vector<os::ProcessLimit> limits_;
  std::vector<AppliedLimit> applied_;
};

}  // namespace detail

}  // namespace cordon::process
