// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cordon/os/linux/fd.hpp>
#include <cstdint>

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

/// How the process behind `pidfd` ended, also when somebody else reaped it. 0, or -errno: Linux before 6.15 can't tell.
/// Source: PIDFD_GET_INFO in the kernel's uapi/linux/pidfd.h.
template <class K>
[[nodiscard]] long exit_information(int pidfd, WaitStatus& status) noexcept {
  struct {
    std::uint64_t mask = 1U << 3U;  // PIDFD_INFO_EXIT
    std::uint64_t cgroup = 0;
    std::uint32_t ids[11] = {};
    std::int32_t exit_code = 0;
  } info;
  static_assert(sizeof info == 64);
  constexpr long get_info = _IOWR(0xff, 11, char[64]);
  const long result = K::call(SYS_ioctl, pidfd, get_info, arg(&info));
  if (result < 0) return result;
  if ((info.mask & 1U << 3U) == 0) return -ENODATA;
  status.signalled = WIFSIGNALED(info.exit_code);
  status.value = status.signalled ? WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code);
  return 0;
}

/// True while the process behind `pidfd` is a child of ours that nobody has reaped: its number is still its own.
template <class K>
[[nodiscard]] bool unreaped(int pidfd) noexcept {
  siginfo_t info{};
  return retry<K>(SYS_waitid, 3, pidfd, arg(&info), WEXITED | __WALL | WNOHANG | WNOWAIT, 0) == 0;
}

/// A pidfd for a process that is not necessarily a child, or -errno.
template <class K>
[[nodiscard]] long open_pidfd(int pid) noexcept {
  return K::call(SYS_pidfd_open, pid, 0);
}

template <class K>
long send_signal(int pidfd, int signal) noexcept {
  return K::call(SYS_pidfd_send_signal, pidfd, signal, 0, 0);
}

/// True when the calling thread has this capability in its effective set. Source: capget(2).
template <class K>
[[nodiscard]] bool has_capability(unsigned capability) noexcept {
  struct {
    std::uint32_t version = 0x20080522;  // _LINUX_CAPABILITY_VERSION_3
    std::int32_t pid = 0;
  } header;
  struct {
    std::uint32_t effective = 0, permitted = 0, inheritable = 0;
  } sets[2];
  if (K::call(SYS_capget, arg(&header), arg(sets)) < 0) return false;
  return (sets[capability / 32].effective >> (capability % 32) & 1U) != 0;
}

inline constexpr unsigned cap_dac_override = 1;
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
