// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cordon/os/linux/fd.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cordon::os {

/// Blocks every signal for the calling thread while it lives.
template <class K>
class BlockAllSignals {
 public:
  BlockAllSignals() noexcept {
    const std::uint64_t all = ~0ULL;
    K::call(SYS_rt_sigprocmask, SIG_SETMASK, arg(&all), arg(&before_), sizeof before_);
  }
  ~BlockAllSignals() { K::call(SYS_rt_sigprocmask, SIG_SETMASK, arg(&before_), 0, sizeof before_); }
  BlockAllSignals(const BlockAllSignals&) = delete;
  BlockAllSignals& operator=(const BlockAllSignals&) = delete;

 private:
  std::uint64_t before_ = 0;
};

/// How a process ended, as the kernel tells it.
struct WaitStatus {
  bool signalled = false;
  int value = 0;  ///< exit code, or signal number
};

/// Waits for the process behind `pidfd`, which must be a child, and reaps it. 0, or -errno: -ECHILD when somebody
/// else in this program reaped it (or SIGCHLD is ignored), -EAGAIN when `block` is false and it still runs.
template <class K>
[[nodiscard]] long wait_for(int pidfd, bool block, WaitStatus& status) noexcept {
  siginfo_t info{};
  constexpr long by_pidfd = 3;  // P_PIDFD, which older C libraries don't name
  const long result = retry<K>(SYS_waitid, by_pidfd, pidfd, arg(&info), WEXITED | __WALL | (block ? 0 : WNOHANG), 0);
  if (result < 0) return result;
  if (info.si_pid == 0) return -EAGAIN;
  status.signalled = info.si_code != CLD_EXITED;
  status.value = info.si_status;
  return 0;
}

/// A pidfd for a process that is not necessarily a child, or -errno.
template <class K>
[[nodiscard]] long open_pidfd(long pid) noexcept {
  return K::call(SYS_pidfd_open, pid, 0);
}

template <class K>
long send_signal(int pidfd, int signal) noexcept {
  return K::call(SYS_pidfd_send_signal, pidfd, signal, 0, 0);
}

/// True when /proc speaks of this process's own pid namespace and lists the children of a process.
template <class K>
[[nodiscard]] bool proc_lists_children() noexcept {
  char text[16] = {};
  const long length = K::call(SYS_readlinkat, AT_FDCWD, arg("/proc/self"), arg(text), sizeof text);
  long pid = 0;
  for (long i = 0; i < length; ++i) pid = pid * 10 + (text[i] - '0');
  return pid == K::call(SYS_getpid) && K::call(SYS_faccessat, AT_FDCWD, arg("/proc/thread-self/children"), R_OK) == 0;
}

/// The processes whose parent is `pid`, in no particular order; empty where /proc doesn't tell. Source: proc(5).
[[nodiscard]] inline std::vector<long> children_of(long pid) {
  std::vector<long> children;
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator task(tasks, ignored), end; !ignored && task != end;
       task.increment(ignored)) {
    std::ifstream list(task->path() / "children");
    for (long child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

/// The parent of process `pid`, or -1.
[[nodiscard]] inline long parent_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const auto name_end = text.rfind(')');
  long parent = -1;
  char state = 0;
  if (name_end != std::string::npos) std::istringstream(text.substr(name_end + 1)) >> state >> parent;
  return parent;
}

/// Sends `signal` once to every process below `pid`, but not to its first `skipped` generations. The whole tree is
/// looked up before any of it is hit, since what loses its parent changes its place; and again until nothing new is in
/// it twice, since it may change its place from one not yet looked at to one that was. Of a very large tree, or one
/// that never stops growing, a part may be missed; none that is not below `pid` is hit.
template <class K>
void signal_descendants(long pid, int signal, int skipped) {
  constexpr std::size_t most_at_once = 256;
  constexpr int most_rounds = 10;
  std::vector<long> hit;
  int quiet_rounds = 0;
  for (int round = 0; round != most_rounds && quiet_rounds != 2; ++round) {
    std::vector<std::pair<long, BasicFd<K>>> found;
    std::vector<long> generation{pid};
    for (int depth = 0; !generation.empty() && found.size() < most_at_once; ++depth) {
      std::vector<long> next;
      for (const long parent : generation)
        for (const long child : children_of(parent)) {
          BasicFd<K> pinned(open_pidfd<K>(child));
          if (!pinned || parent_of(child) != parent) continue;
          next.push_back(child);
          if (depth >= skipped && std::find(hit.begin(), hit.end(), child) == hit.end() && found.size() < most_at_once)
            found.emplace_back(child, std::move(pinned));
        }
      generation = std::move(next);
    }
    quiet_rounds = found.empty() ? quiet_rounds + 1 : 0;
    for (const auto& [child, pinned] : found) {
      send_signal<K>(pinned.get(), signal);
      hit.push_back(child);
    }
  }
}

/// A limit of setrlimit(2). The kernel's struct rlimit64 begins at `soft`.
struct ProcessLimit {
  int resource = 0;
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

/// Lowers both to what the calling process may not exceed itself: only that can always be set.
inline void keep_narrower(ProcessLimit& limit) noexcept {
  std::uint64_t own[2] = {RLIM_INFINITY, RLIM_INFINITY};
  (void)Kernel::call(SYS_prlimit64, 0, limit.resource, 0, arg(own));
  limit.hard = std::min(limit.hard, own[1]);
  limit.soft = std::min({limit.soft, limit.hard, own[0]});
}

/// The capabilities in the effective set of the calling thread, one bit each; none when they can't be told. Source:
/// capget(2).
template <class K>
[[nodiscard]] std::uint64_t effective_capabilities() noexcept {
  struct {
    std::uint32_t version = 0x20080522;  // _LINUX_CAPABILITY_VERSION_3
    std::int32_t pid = 0;
  } header;
  struct {
    std::uint32_t effective = 0, permitted = 0, inheritable = 0;
  } sets[2];
  if (K::call(SYS_capget, arg(&header), arg(sets)) < 0) return 0;
  return static_cast<std::uint64_t>(sets[1].effective) << 32U | sets[0].effective;
}

template <class K>
[[nodiscard]] bool has_capability(unsigned capability) noexcept {
  return (effective_capabilities<K>() >> capability & 1U) != 0;
}

inline constexpr unsigned cap_chown = 0;
inline constexpr unsigned cap_dac_override = 1;
inline constexpr unsigned cap_fowner = 3;
inline constexpr unsigned cap_setgid = 6;
inline constexpr unsigned cap_setuid = 7;
inline constexpr unsigned cap_setpcap = 8;
inline constexpr unsigned cap_sys_admin = 21;
inline constexpr unsigned cap_mknod = 27;

/// The highest capability that the running kernel knows.
[[nodiscard]] inline unsigned last_capability() noexcept {
  static const unsigned last = [] {
    unsigned capability = 0;
    while (capability < 63 && Kernel::call(SYS_prctl, PR_CAPBSET_READ, capability + 1) >= 0) ++capability;
    return capability;
  }();
  return last;
}

template <class K>
[[nodiscard]] unsigned effective_uid() noexcept {
  return static_cast<unsigned>(K::call(SYS_geteuid));
}

template <class K>
[[nodiscard]] unsigned effective_gid() noexcept {
  return static_cast<unsigned>(K::call(SYS_getegid));
}

/// True for the uid 0 of the machine, which RLIMIT_NPROC does not bind, by whatever number this user namespace has for
/// it: what the kernel owns in /proc belongs to it. Source: copy_process in the kernel's kernel/fork.c.
[[nodiscard]] inline bool is_root_of_machine() noexcept {
  struct stat owner {};
  return ::stat("/proc/sys/kernel", &owner) != 0 || owner.st_uid == effective_uid<Kernel>();
}

}  // namespace cordon::os
