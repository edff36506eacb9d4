// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/os/linux/control_group.hpp>
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
};

namespace detail {

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
        result.push_back({RLIMIT_CPU, value, value + 1});
        break;
      case Resource::processes:
        if (setup.own_user_namespace || !grouped)
          result.push_back({RLIMIT_NPROC, value + setup.counted_by_rlimit, value + setup.counted_by_rlimit});
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
      wanted.emplace_back(os::Controller::pids, *setup.limits.processes + setup.counted_by_group);
    if (setup.limits.memory) wanted.emplace_back(os::Controller::memory, *setup.limits.memory);
    std::vector<os::Controller> held;
    if (!wanted.empty()) groups_ = os::ControlGroup::make(wanted, held);
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
  std::vector<os::ControlGroup> groups_;
  std::vector<os::ProcessLimit> limits_;
  std::vector<AppliedLimit> applied_;
};

}  // namespace detail

}  // namespace cordon::process
