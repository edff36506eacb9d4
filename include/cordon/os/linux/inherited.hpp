// SPDX-License-Identifier: BSL-1.0
#pragma once

// What a process has from the thread that clones it. A process which is made once to clone commands later passes on
// what was so then: where this text has changed since, another has to be made.

#include <sys/prctl.h>
#include <sys/resource.h>

#include <array>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/paths.hpp>
#include <string>
#include <string_view>

namespace cordon::os {

/// All that the calling thread passes on and that can be asked for, as text that only equality is meant for: ids and
/// groups, capabilities, umask, resource limits, scheduling, allowed processors and memory, control group, security
/// label, the number of seccomp filters, root directory and namespaces. Not in it: keyrings, and a Landlock domain,
/// which can't be asked for; see `reaches_into`.
[[nodiscard]] inline std::string inherited_state() {
  std::string state;
  std::array<char, 8192> text;
  const auto read = [&](const char* path) {
    const Fd file(open_file<Kernel>(path, O_RDONLY));
    const long got = file ? read_some<Kernel>(file.get(), std::as_writable_bytes(std::span(text))) : 0;
    return std::string_view(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  };
  for (std::string_view rest = read("/proc/thread-self/status"); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    for (const std::string_view name :
         {"Umask", "Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp", "Cpus_allowed:", "Mems_allowed:"})
      if (line.starts_with(name)) state += line;
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  for (const char* path : {"cgroup", "oom_score_adj", "attr/current"})
    state += read(("/proc/thread-self/" + std::string(path)).c_str());

  const auto number = [&](auto value) { state += ' ' + std::to_string(value); };
  for (int resource = 0; resource != RLIM_NLIMITS; ++resource) {
    std::uint64_t limits[2] = {};
    (void)Kernel::call(SYS_prlimit64, 0, resource, 0, arg(limits));
    number(limits[0]);
    number(limits[1]);
  }
  std::array<unsigned char, 56> scheduling{};  // struct sched_attr
  (void)Kernel::call(SYS_sched_getattr, 0, arg(scheduling.data()), sizeof scheduling, 0);
  state.append(reinterpret_cast<const char*>(scheduling.data()), scheduling.size());
  constexpr long of_process = 1;
  number(Kernel::call(SYS_ioprio_get, of_process, 0));
  number(Kernel::call(SYS_prctl, PR_GET_TIMERSLACK));
  number(Kernel::call(SYS_personality, 0xffffffffUL));
  for (const char* place : {"/", "/proc/thread-self/ns/mnt", "/proc/thread-self/ns/net", "/proc/thread-self/ns/uts",
                            "/proc/thread-self/ns/user", "/proc/thread-self/ns/cgroup",
                            "/proc/thread-self/ns/pid_for_children", "/proc/thread-self/ns/time_for_children"}) {
    FileFacts facts;
    (void)stat_path(place, facts);
    number(facts.device);
    number(facts.inode);
  }
  return state;
}

/// True when the calling thread may look into the process whose directory in /proc is `entry`. It no longer may when it
/// has entered a Landlock domain that the process is not in.
template <class K>
[[nodiscard]] bool reaches_into(int entry) noexcept {
  return K::call(SYS_faccessat, entry, arg("root"), F_OK) == 0;
}

}  // namespace cordon::os
