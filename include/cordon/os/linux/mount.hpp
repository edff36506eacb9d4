// SPDX-License-Identifier: BSL-1.0
#pragma once

// The mount interface of Linux 5.2 to 5.12, spelled out: older C libraries lack it. Sources: open_tree(2),
// move_mount(2), mount_setattr(2), openat2(2).

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cordon/os/linux/kernel.hpp>
#include <cstdint>

namespace cordon::os {

inline constexpr long open_tree_number = 428;
inline constexpr long move_mount_number = 429;
inline constexpr long fsopen_number = 430;
inline constexpr long fsconfig_number = 431;
inline constexpr long fsmount_number = 432;
inline constexpr long openat2_number = 437;
inline constexpr long mount_setattr_number = 442;

inline constexpr long at_recursive = 0x8000;
inline constexpr long at_empty_path = 0x1000;
inline constexpr long open_tree_clone = 1;
inline constexpr long open_tree_cloexec = O_CLOEXEC;
inline constexpr long fsopen_cloexec = 1;
inline constexpr long fsmount_cloexec = 1;
inline constexpr long config_set_string = 1;
inline constexpr long config_create = 6;
inline constexpr long move_from_empty_path = 0x04;
inline constexpr long move_to_empty_path = 0x40;

/// The kernel's struct mount_attr.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};

inline constexpr std::uint64_t attribute_read_only = 0x1;
inline constexpr std::uint64_t attribute_no_set_uid = 0x2;
inline constexpr std::uint64_t attribute_no_devices = 0x4;
inline constexpr std::uint64_t attribute_no_exec = 0x8;

inline constexpr MountAttributes read_only_mount{.set = attribute_read_only};
inline constexpr MountAttributes read_only_mount_without_devices{.set = attribute_read_only | attribute_no_devices};
inline constexpr MountAttributes mount_without_devices{.set = attribute_no_devices};
inline constexpr MountAttributes private_mount{.propagation = MS_PRIVATE};

/// The kernel's struct open_how.
struct OpenHow {
  std::uint64_t flags = 0;
  std::uint64_t mode = 0;
  std::uint64_t resolve = 0;
};

/// A path and nothing else: a symlink anywhere in it is refused with ELOOP.
inline constexpr OpenHow exact_path{.flags = O_PATH | O_CLOEXEC, .resolve = 0x04 /* RESOLVE_NO_SYMLINKS */};

/// A descriptor of exactly this path, or -errno; to be closed on exec, and good for nothing but naming it.
template <class K>
[[nodiscard]] long open_exactly(const char* path) noexcept {
  return K::call(openat2_number, AT_FDCWD, arg(path), arg(&exact_path), sizeof exact_path);
}

/// True on Linux 5.12 and newer.
template <class K>
[[nodiscard]] bool has_mount_setattr() noexcept {
  return K::call(mount_setattr_number, -1, 0, 0, 0, 0) != -ENOSYS;
}

}  // namespace cordon::os
