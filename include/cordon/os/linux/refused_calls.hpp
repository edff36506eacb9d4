// SPDX-License-Identifier: BSL-1.0
#pragma once

// A seccomp filter for what neither mounts nor Landlock refuse:
//  - TIOCSTI and TIOCLINUX, which type into a terminal (F67), compared by their low half as the kernel does;
//  - the mount interface, old and new: a detached mount of a file system such as cgroup2, made in a nested namespace,
//    would let uid 0 change the host's;
//  - prlimit that sets a limit of another process: whoever keeps the command has the same user, and could be stopped
//    by it from keeping anything;
//  - clone3, which makes a process in another control group: neither a read-only mount nor Landlock is asked about
//  that.
//    It answers ENOSYS, at which everybody goes on to clone.
// The others answer EPERM. Source: seccomp(2).

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace cordon::os {

namespace detail {

#if defined(__x86_64__)
inline constexpr std::uint32_t native_architecture = AUDIT_ARCH_X86_64;
#else
inline constexpr std::uint32_t native_architecture = AUDIT_ARCH_AARCH64;
#endif

constexpr sock_filter load(std::uint32_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset};
}
constexpr sock_filter if_equal(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
}
constexpr sock_filter answer(std::uint32_t value) {
  return {BPF_RET | BPF_K, 0, 0, value};
}

inline constexpr std::uint32_t x32_bit = 0x40000000;
inline constexpr std::uint32_t i386_ioctl = 54;
inline constexpr std::uint32_t x32_ioctl = 514;
inline constexpr std::uint32_t open_tree_attr = 467;
#if defined(__x86_64__)
inline constexpr std::uint32_t foreign_prlimit = 340;  // of i386
#else
inline constexpr std::uint32_t foreign_prlimit = 369;  // of 32-bit ARM
#endif
inline constexpr std::uint32_t enter_clone3 = 435;

// Where the program goes on.
inline constexpr std::uint8_t common = 8;
inline constexpr std::uint8_t old_tables = 15;
inline constexpr std::uint8_t request = 18;  ///< where the request of an ioctl is looked at
inline constexpr std::uint8_t others = 21;   ///< where it is found out whose limits are to be set
inline constexpr std::uint8_t allow = 27;
inline constexpr std::uint8_t refuse = 28;
inline constexpr std::uint8_t unknown = 29;

/// A jump from `at` to `to`.
constexpr std::uint8_t over(std::size_t at, std::size_t to) {
  return static_cast<std::uint8_t>(to - at - 1);
}

inline constexpr std::array<sock_filter, 30> program{{
    /* 0 */ load(offsetof(seccomp_data, arch)),
    /* 1 */ if_equal(native_architecture, 0, over(1, common)),
    /* 2 */ load(offsetof(seccomp_data, nr)),
    /* 3 */ if_equal(SYS_mount, over(3, refuse), 0),
    /* 4 */ if_equal(SYS_umount2, over(4, refuse), 0),
    /* 5 */ if_equal(SYS_ioctl, over(5, request), 0),
    /* 6 */ if_equal(SYS_prlimit64, over(6, others), 0),
    /* 7 */ if_equal(SYS_prlimit64 | x32_bit, over(7, others), 0),
    /* 8 */ load(offsetof(seccomp_data, nr)),
    /* 9 */ {BPF_ALU | BPF_AND | BPF_K, 0, 0, ~x32_bit},
    // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick
    /* 10 */ {BPF_JMP | BPF_JGE | BPF_K, 0, over(10, old_tables), 428},
    /* 11 */ {BPF_JMP | BPF_JGT | BPF_K, 0, over(11, refuse), 433},
    /* 12 */ if_equal(442, over(12, refuse), 0),  // mount_setattr
    /* 13 */ if_equal(open_tree_attr, over(13, refuse), 0),
    /* 14 */ if_equal(enter_clone3, over(14, unknown), 0),
    /* 15 */ if_equal(x32_ioctl, over(15, request), 0),
    /* 16 */ if_equal(i386_ioctl, over(16, request), 0),
    /* 17 */ if_equal(foreign_prlimit, over(17, others), over(17, allow)),
    /* 18 */ load(offsetof(seccomp_data, args[1])),
    /* 19 */ if_equal(TIOCSTI, over(19, refuse), 0),
    /* 20 */ if_equal(TIOCLINUX, over(20, refuse), over(20, allow)),
    /* 21 */ load(offsetof(seccomp_data, args[0])),
    /* 22 */ if_equal(0, over(22, allow), 0),
    /* 23 */ load(offsetof(seccomp_data, args[2])),
    /* 24 */ if_equal(0, 0, over(24, refuse)),
    /* 25 */ load(offsetof(seccomp_data, args[2]) + 4),
    /* 26 */ if_equal(0, over(26, allow), over(26, refuse)),
    /* 27 */ answer(SECCOMP_RET_ALLOW),
    /* 28 */ answer(SECCOMP_RET_ERRNO | EPERM),
    /* 29 */ answer(SECCOMP_RET_ERRNO | ENOSYS),
}};

}  // namespace detail

inline constexpr sock_fprog refused_calls{static_cast<unsigned short>(detail::program.size()),
                                          const_cast<sock_filter*>(detail::program.data())};

}  // namespace cordon::os
