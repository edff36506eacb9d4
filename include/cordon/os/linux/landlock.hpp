// SPDX-License-Identifier: BSL-1.0
#pragma once

// Landlock, with its constants spelled out: the headers of a build machine are older than the kernel that will run the
// program. Source: Documentation/userspace-api/landlock.rst; spec rows LLR-07, LLR-08.

#include <sys/stat.h>

#include <cordon/os/linux/fd.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cordon::os::landlock {

inline constexpr long create_ruleset_number = 444;
inline constexpr long add_rule_number = 445;
inline constexpr long restrict_self_number = 446;

enum Access : std::uint64_t {
  execute = 1ULL << 0,
  write_file = 1ULL << 1,
  read_file = 1ULL << 2,
  read_dir = 1ULL << 3,
  remove_dir = 1ULL << 4,
  remove_file = 1ULL << 5,
  make_char = 1ULL << 6,
  make_dir = 1ULL << 7,
  make_reg = 1ULL << 8,
  make_sock = 1ULL << 9,
  make_fifo = 1ULL << 10,
  make_block = 1ULL << 11,
  make_sym = 1ULL << 12,
  refer = 1ULL << 13,      ///< ABI 2
  truncate = 1ULL << 14,   ///< ABI 3
  ioctl_dev = 1ULL << 15,  ///< ABI 5
};

/// What a domain can't reach outside itself.
enum Scope : std::uint64_t {
  scope_abstract_socket = 1ULL << 0,  ///< ABI 6
  scope_signal = 1ULL << 1,           ///< ABI 6
};

/// Every file-system right that an ABI of this number knows and that cordon uses; 0 for a number below 1. ABI 4, 6, 7,
/// 8 and 10 add no file-system right; ABI 9 adds one for connecting to sockets, which modes don't speak about.
[[nodiscard]] constexpr std::uint64_t known_rights(int abi) noexcept {
  if (abi < 1) return 0;
  std::uint64_t rights = (1ULL << 13) - 1;
  if (abi >= 2) rights |= refer;
  if (abi >= 3) rights |= truncate;
  if (abi >= 5) rights |= ioctl_dev;
  return rights;
}

/// Every scope that an ABI of this number knows.
[[nodiscard]] constexpr std::uint64_t known_scopes(int abi) noexcept {
  return abi >= 6 ? scope_abstract_socket | scope_signal : 0;
}

inline constexpr std::uint64_t read_rights = execute | read_file | read_dir;

/// What makes sense on something that is not a directory; the kernel refuses the others there.
inline constexpr std::uint64_t file_rights = execute | write_file | read_file | truncate | ioctl_dev;

/// The ABI of the running kernel, or -errno: -ENOSYS not built in, -EOPNOTSUPP switched off.
template <class K>
[[nodiscard]] long abi() noexcept {
  return K::call(create_ruleset_number, 0, 0, 1);
}

/// A ruleset that handles these file-system rights, and scopes where there are any; or -errno. A kernel that does not
/// know scopes refuses the longer attribute only when they are asked for.
template <class K>
[[nodiscard]] long create_ruleset(std::uint64_t handled, std::uint64_t scopes = 0) noexcept {
  struct {
    std::uint64_t file_system;
    std::uint64_t network;
    std::uint64_t scopes;
  } const attributes{handled, 0, scopes};
  const std::size_t size = scopes == 0 ? sizeof attributes.file_system : sizeof attributes;
  return K::call(create_ruleset_number, arg(&attributes), static_cast<long>(size), 0);
}

/// The kernel's struct landlock_path_beneath_attr.
struct [[gnu::packed]] PathRule {
  std::uint64_t rights;
  std::int32_t fd;
};
inline constexpr long path_beneath = 1;

/// Grants `rights` below (or on) what `opened` is, a descriptor that this closes, or -errno; what only a directory can
/// have is left out for anything else. 0, or -errno.
template <class K>
[[nodiscard]] long grant_opened(int ruleset, long opened, std::uint64_t rights) noexcept {
  if (opened < 0) return opened;
  const BasicFd<K> target(opened);
  struct stat facts {};
  if (::fstat(target.get(), &facts) != 0) return -errno;
  if (!S_ISDIR(facts.st_mode)) rights &= file_rights;
  const PathRule rule{rights, target.get()};
  return K::call(add_rule_number, ruleset, path_beneath, arg(&rule), 0);
}

/// The same for a path, wherever symlinks lead it.
template <class K>
[[nodiscard]] long grant(int ruleset, const char* path, std::uint64_t rights) noexcept {
  return grant_opened<K>(ruleset, open_file<K>(path, O_PATH), rights);
}

/// Binds the calling thread, and all it will start, to the ruleset. It needs no_new_privs. 0, or -errno.
template <class K>
[[nodiscard]] long restrict_self(int ruleset) noexcept {
  return K::call(restrict_self_number, ruleset, 0);
}

}  // namespace cordon::os::landlock
