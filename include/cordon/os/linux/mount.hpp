// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cordon/os/linux/kernel.hpp>
#include <cstdint>

namespace cordon::os {

inline constexpr long mount_setattr_number = 442;
inline constexpr long at_recursive = 0x8000;

/// The kernel's struct mount_attr. Source: mount_setattr(2).
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};

inline constexpr MountAttributes read_only_mount{.set = 1};

/// True on Linux 5.12 and newer.
template <class K>
[[nodiscard]] bool has_mount_setattr() noexcept {
  return K::call(mount_setattr_number, -1, 0, 0, 0, 0) != -ENOSYS;
}

}  // namespace cordon::os
