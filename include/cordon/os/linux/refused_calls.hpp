// SPDX-License-Identifier: BSL-1.0
#pragma once

// A seccomp filter for what neither mounts nor Landlock refuse:
//  - TIOCSTI and TIOCLINUX, which type into a terminal (F67), compared by their low half as the kernel does;
//  - the mount interface, old and new. Landlock refuses most of it, but a detached mount of a file system such as
//  cgroup2,
//    made in a nested namespace, would let uid 0 change the host's.
// All of it answers EPERM. Source: seccomp(2).

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
inline constexpr std::uint8_t request = 15;  ///< where the request of an ioctl is looked at
inline constexpr std::uint8_t allow = 18;
inline constexpr std::uint8_t refuse = 19;

/// A jump from `at` to `to`.
constexpr std::uint8_t over(std::size_t at, std::size_t to) {
  return static_cast<std::uint8_t>(to - at - 1);
}

inline constexpr std::array<sock_filter, 20> program{{
    /* 0 */ load(offsetof(seccomp_data, arch)),
    /* 1 */ if_equal(native_architecture, 0, over(1, 6)),
    /* 2 */ load(offsetof(seccomp_data, nr)),
    /* 3 */ if_equal(SYS_mount, over(3, refuse), 0),
    /* 4 */ if_equal(SYS_umount2, over(4, refuse), 0),
    /* 5 */ if_equal(SYS_ioctl, over(5, request), 0),
    /* 6 */ load(offsetof(seccomp_data, nr)),
    /* 7 */ {BPF_ALU | BPF_AND | BPF_K, 0, 0, ~x32_bit},
    /* 8 */ {BPF_JMP | BPF_JGE | BPF_K, 0, over(8, 10), 428},  // open_tree, move_mount, fsopen, fsconfig, fsmount,
                                                               // fspick
    /* 9 */ {BPF_JMP | BPF_JGT | BPF_K, 0, over(9, refuse), 433},
    /* 10 */ if_equal(442, over(10, refuse), 0),  // mount_setattr
    /* 11 */ if_equal(open_tree_attr, over(11, refuse), 0),
    /* 12 */ if_equal(x32_ioctl, over(12, request), 0),
    /* 13 */ if_equal(i386_ioctl, over(13, request), over(13, allow)),
    /* 14 */ answer(SECCOMP_RET_ALLOW),
    /* 15 */ load(offsetof(seccomp_data, args[1])),
    /* 16 */ if_equal(TIOCSTI, over(16, refuse), 0),
    /* 17 */ if_equal(TIOCLINUX, over(17, refuse), 0),
    /* 18 */ answer(SECCOMP_RET_ALLOW),
    /* 19 */ answer(SECCOMP_RET_ERRNO | EPERM),
}};

}  // namespace detail

inline constexpr sock_fprog refused_calls{static_cast<unsigned short>(detail::program.size()),
                                          const_cast<sock_filter*>(detail::program.data())};

}  // namespace cordon::os
