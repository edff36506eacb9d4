// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
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

// For the attribute that GCC does not know; see process/keeper.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

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

namespace detail {
/// The kernel's struct pidfd_info, in the first form that tells how a process ended.
struct ProcessInformation {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t pid = 0;
  std::uint32_t ids[10] = {};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(ProcessInformation) == 64);

inline constexpr std::uint64_t told_pid = 1U << 0U;   // PIDFD_INFO_PID
inline constexpr std::uint64_t told_exit = 1U << 3U;  // PIDFD_INFO_EXIT

template <class K>
[[nodiscard]] long ask_pidfd(int pidfd, std::uint64_t what, ProcessInformation& answer) noexcept {
  constexpr long get_info = _IOWR(0xff, 11, char[64]);
  answer.mask = what;
  const long result = K::call(SYS_ioctl, pidfd, get_info, arg(&answer));
  if (result < 0) return result;
  return (answer.mask & what) == what ? 0 : -ENODATA;
}
}  // namespace detail

/// How the process behind `pidfd` ended, once it has been reaped, by whomever. 0, or -errno: Linux before 6.15 can't
/// tell. Source: PIDFD_GET_INFO in the kernel's uapi/linux/pidfd.h.
template <class K>
[[nodiscard]] long exit_information(int pidfd, WaitStatus& status) noexcept {
  detail::ProcessInformation info;
  const long result = detail::ask_pidfd<K>(pidfd, detail::told_exit, info);
  if (result < 0) return result;
  status.signalled = WIFSIGNALED(info.exit_code);
  status.value = status.signalled ? WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code);
  return 0;
}

/// The number of the process behind `pidfd` for this process; 0 when it has been reaped. Since Linux 6.13.
template <class K>
[[nodiscard]] long pid_behind(int pidfd) noexcept {
  detail::ProcessInformation info;
  return detail::ask_pidfd<K>(pidfd, detail::told_pid, info) < 0 ? 0 : static_cast<long>(info.pid);
}

/// Waits for a child that has nothing to tell, and reaps it. For processes that share memory, too.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
reap(long pid) noexcept {
  while (K::call(SYS_waitid, P_PID, pid, 0, WEXITED | __WALL, 0) == -EINTR) {
  }
}

namespace detail {
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) inline int
exit_at_once(void*) noexcept {
  Kernel::call(SYS_exit_group, 0);
  return 0;
}
}  // namespace detail

/// True when this kernel tells how a process ended that somebody else reaped. Found out once, with a process.
[[nodiscard]] inline bool tells_exit_of_reaped() {
  static const bool tells = [] {
    alignas(16) std::array<std::byte, 4096> stack;
    int pidfd = -1;
    long pid = 0;
    {
      const BlockAllSignals<Kernel> blocked;
      pid = Kernel::clone(detail::exit_at_once, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
                          nullptr, &pidfd);
    }
    if (pid < 0) return false;
    const Fd owned(pidfd);
    reap<Kernel>(pid);
    WaitStatus status;
    return exit_information<Kernel>(pidfd, status) == 0;
  }();
  return tells;
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

/// Sends `signal` to every process below `pid`, but not to its first `skipped` generations. A process that comes or
/// goes meanwhile may be missed; none that is not below `pid` is hit.
template <class K>
void signal_descendants(long pid, int signal, int skipped) {
  std::vector<long> generation{pid};
  for (int depth = 0; !generation.empty(); ++depth) {
    std::vector<long> next;
    for (const long parent : generation)
      for (const long child : children_of(parent)) {
        const BasicFd<K> pinned(open_pidfd<K>(child));
        if (!pinned || parent_of(child) != parent) continue;
        next.push_back(child);
        if (depth >= skipped) send_signal<K>(pinned.get(), signal);
      }
    generation = std::move(next);
  }
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

inline constexpr unsigned cap_dac_override = 1;
inline constexpr unsigned cap_setgid = 6;
inline constexpr unsigned cap_setuid = 7;
inline constexpr unsigned cap_setpcap = 8;
inline constexpr unsigned cap_sys_admin = 21;

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

}  // namespace cordon::os

#pragma GCC diagnostic pop
