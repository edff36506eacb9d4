// SPDX-License-Identifier: BSL-1.0
#pragma once

// ptrace(2) as a process that shares its parent's memory may use it: nothing here calls anything but the kernel.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <cordon/os/linux/kernel.hpp>
#include <cstddef>
#include <cstdint>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::os::tracing {

// Requests, options and events by the kernel's numbers: the C library's and the kernel's headers can't be included
// together.
inline constexpr long resume = 7;           // PTRACE_CONT
inline constexpr long resume_to_exit = 24;  // PTRACE_SYSCALL
inline constexpr long seize = 0x4206;
inline constexpr long listen = 0x4208;
inline constexpr long get_syscall_info = 0x420e;

inline constexpr long mark_syscall_stops = 1;  // PTRACE_O_TRACESYSGOOD
inline constexpr long follow_fork = 1L << 1U;
inline constexpr long follow_vfork = 1L << 2U;
inline constexpr long follow_clone = 1L << 3U;
inline constexpr long stop_for_filter = 1L << 7U;
inline constexpr long kill_with_tracer = 1L << 20U;

inline constexpr int filter_event = 7;  // PTRACE_EVENT_SECCOMP
inline constexpr int stop_event = 128;  // PTRACE_EVENT_STOP
inline constexpr int syscall_stop = SIGTRAP | 0x80;

inline constexpr std::uint8_t at_exit = 2;    // PTRACE_SYSCALL_INFO_EXIT
inline constexpr std::uint8_t at_filter = 3;  // PTRACE_SYSCALL_INFO_SECCOMP

/// The kernel's struct ptrace_syscall_info, from 5.3 on.
struct SyscallInfo {
  std::uint8_t op;
  std::uint8_t padding[3];
  std::uint32_t architecture;
  std::uint64_t instruction_pointer;
  std::uint64_t stack_pointer;
  std::uint64_t number;        ///< at an exit: the result
  std::uint64_t arguments[6];  ///< at an exit: the first byte tells whether the result is an error
  std::uint32_t answer;
};
static_assert(sizeof(SyscallInfo) == 88);

/// ptrace(2). 0 or more, or -errno.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) long
request(long what, long pid, long address, long data) noexcept {
  return K::call(SYS_ptrace, what, pid, address, data);
}

/// Reads up to `size` bytes, at most a page, of the memory of process `pid` at `address`. It stops before a page that
/// is not there. The bytes read, or -errno. Source: process_vm_readv(2).
template <class K>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) long
read_memory(long pid, std::uint64_t address, void* to, std::size_t size) noexcept {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t to_page_end = page - address % page;
  const std::size_t first = to_page_end < size ? static_cast<std::size_t>(to_page_end) : size;
  iovec ours;
  ours.iov_base = to;
  ours.iov_len = size;
  iovec theirs[2];
  theirs[0].iov_base = reinterpret_cast<void*>(address);
  theirs[0].iov_len = first;
  theirs[1].iov_base = reinterpret_cast<void*>(address + first);
  theirs[1].iov_len = size - first;
  return K::call(SYS_process_vm_readv, pid, arg(&ours), 1, arg(theirs), first == size ? 1 : 2, 0);
}

}  // namespace cordon::os::tracing

#pragma GCC diagnostic pop
