// SPDX-License-Identifier: BSL-1.0
#pragma once

// Control groups of both versions, of which only the limits on processes and on memory are used. Source: cgroups(7),
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ in the kernel.

#include <algorithm>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::os {

enum class Controller { pids, memory };

namespace detail {

/// A directory in which a group with a controller can be made.
struct GroupParent {
  std::string directory;
  bool unified = false;  ///< version 2, where one group has all controllers
};

[[nodiscard]] inline bool has_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(separator));
    if (first == word) return true;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return false;
}

[[nodiscard]] inline std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Where the hierarchy with `controller` (empty: version 2) is mounted, and the group `path` of it lies there. Empty
/// when it is not in sight.
[[nodiscard]] inline std::string group_directory(std::string_view controller, std::string_view path) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::string skipped;
    std::string root;
    std::string point;
    std::istringstream(line) >> skipped >> skipped >> skipped >> root >> point;
    std::string type;
    std::string options;
    std::istringstream(line.substr(dash + 3)) >> type >> skipped >> options;
    const bool found = controller.empty() ? type == "cgroup2" : type == "cgroup" && has_word(options, controller, ',');
    if (!found || !is_within(path, root)) continue;
    const std::string_view below = root == "/" ? path : path.substr(root.size());
    return below == "/" ? point : point + std::string(below);
  }
  return {};
}

/// Nothing is switched on for it: in version 2 the controller has to be there already for groups beside or below this
/// program's.
[[nodiscard]] inline std::optional<GroupParent> parent_for(std::string_view controller) {
  std::ifstream groups("/proc/self/cgroup");
  std::optional<GroupParent> parent;
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view path = std::string_view(line).substr(second + 1);
    if (has_word(controllers, controller, ',')) {
      std::string directory = group_directory(controller, path);
      if (directory.empty()) return std::nullopt;
      return GroupParent{std::move(directory), false};
    }
    if (!controllers.empty()) continue;
    // A group with processes has no controllers for groups below it, unless it is the first of all.
    const std::string own = group_directory("", path);
    for (const std::string& directory : {own, own.substr(0, own.rfind('/'))})
      if (!own.empty() && has_word(first_line_of(directory + "/cgroup.subtree_control"), controller, ' ') &&
          may_write(directory + "/cgroup.procs")) {
        parent = GroupParent{directory, true};
        break;
      }
  }
  return parent;
}

}  // namespace detail

/// A control group for one command and all that it starts. It is made beside or below the group of this program and
/// goes with this object, when nothing is in it any more; after the end of a program that was killed it stays, empty.
class ControlGroup {
 public:
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) = delete;
  ~ControlGroup() {
    if (processes_ && made_by_ == Kernel::call(SYS_getpid)) remove_directory(directory_);
  }

  /// A process that writes "0" here has entered it, with all that it starts from then on.
  [[nodiscard]] int processes() const noexcept { return processes_.get(); }

  /// Groups that hold each of the limits that this user can set; `held` tells which those are.
  [[nodiscard]] static std::vector<ControlGroup> make(const std::vector<std::pair<Controller, std::uint64_t>>& limits,
                                                      std::vector<Controller>& held) {
    std::vector<ControlGroup> groups;
    for (const auto& [controller, value] : limits) {
      const auto parent = detail::parent_for(controller == Controller::pids ? "pids" : "memory");
      if (!parent) continue;
      const auto same = [&](const ControlGroup& group) { return parent->unified && group.unified_; };
      auto group = std::find_if(groups.begin(), groups.end(), same);
      if (group == groups.end()) {
        ControlGroup made(*parent);
        if (!made.processes_) continue;
        groups.push_back(std::move(made));
        group = groups.end() - 1;
      }
      if (group->limit(controller, value)) held.push_back(controller);
    }
    return groups;
  }

 private:
  explicit ControlGroup(const detail::GroupParent& parent)
      : directory_(parent.directory + "/cordon-" + std::to_string(Kernel::call(SYS_getpid)) + "-" +
                   random_name<Kernel>()),
        unified_(parent.unified) {
    if (make_directory(directory_) < 0) return;
    processes_ = Fd(open_file<Kernel>((directory_ + "/cgroup.procs").c_str(), O_WRONLY));
    if (!processes_) remove_directory(directory_);
  }

  bool set(const char* file, std::uint64_t value) const {
    const Fd opened(open_file<Kernel>((directory_ + "/" + file).c_str(), O_WRONLY));
    return opened && write_all<Kernel>(opened.get(), std::to_string(value)) == 0;
  }

  [[nodiscard]] bool limit(Controller controller, std::uint64_t value) const {
    if (controller == Controller::pids) return set("pids.max", value);
    if (!set(unified_ ? "memory.max" : "memory.limit_in_bytes", value)) return false;
    // Where swap is accounted: none, since it would only be slow.
    if (unified_)
      (void)set("memory.swap.max", 0);
    else
      (void)set("memory.memsw.limit_in_bytes", value);
    return true;
  }

  std::string directory_;
  bool unified_ = false;
  Fd processes_;
  long made_by_ = Kernel::call(SYS_getpid);
};

}  // namespace cordon::os
