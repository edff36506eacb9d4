// SPDX-License-Identifier: BSL-1.0
#pragma once

// The system calls that change files by a name or by a descriptor, and a seccomp filter that shows them to a tracer and
// lets everything else pass. It refuses nothing: it is for observation, behind whatever confines. Without a tracer the
// kernel answers ENOSYS to what is in the table.
//
// Not in it: what needs a descriptor that was opened for writing (write, ftruncate, fallocate and so on), since the
// open is; calls of another architecture (i386, x32); what io_uring does; open_by_handle_at, which takes a capability.
// Source: seccomp(2), path_resolution(7).

#include <fcntl.h>

#include <array>
#include <cordon/effect.hpp>
#include <cordon/os/linux/refused_calls.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cordon::os {

/// One system call of the table. Arguments are given by their place; -1: there is none.
struct ObservedCallRow {
  std::uint32_t number;
  std::string_view name;
  FileEffect effect;              ///< of an open or a mknod: to be told from `detail`
  std::int8_t directory = -1;     ///< a descriptor that a relative path begins at; -1: the working directory
  std::int8_t path = -1;          ///< -1: `directory` is the file itself
  std::int8_t to_directory = -1;  ///< the same for the second path
  std::int8_t to_path = -1;
  std::int8_t detail = -1;  ///< flags of an open, mode of a mknod, owner of a chown
};

// Numbers that older headers don't name.
inline constexpr std::uint32_t openat2_call = 437;
inline constexpr std::uint32_t fchmodat2_call = 452;
inline constexpr std::uint32_t setxattrat_call = 463;
inline constexpr std::uint32_t removexattrat_call = 466;
inline constexpr std::uint32_t file_setattr_call = 469;

/// The table. What only one of the architectures has is there only.
inline constexpr ObservedCallRow observed_calls[] = {
    // open and openat are in it for their names; the filter looks at their flags first.
    {SYS_openat, "openat", FileEffect::write, 0, 1, -1, -1, 2},
    {openat2_call, "openat2", FileEffect::write, 0, 1, -1, -1, 2},
    {SYS_mkdirat, "mkdirat", FileEffect::create, 0, 1},
    {SYS_mknodat, "mknodat", FileEffect::create, 0, 1, -1, -1, 2},
    {SYS_symlinkat, "symlinkat", FileEffect::create, 1, 2},
    {SYS_unlinkat, "unlinkat", FileEffect::remove, 0, 1},
    {SYS_renameat2, "renameat2", FileEffect::rename_link, 0, 1, 2, 3},
    {SYS_linkat, "linkat", FileEffect::rename_link, 0, 1, 2, 3},
    {SYS_truncate, "truncate", FileEffect::truncate, -1, 0},
    {SYS_fchmod, "fchmod", FileEffect::metadata, 0},
    {SYS_fchmodat, "fchmodat", FileEffect::metadata, 0, 1},
    {fchmodat2_call, "fchmodat2", FileEffect::metadata, 0, 1},
    {SYS_fchown, "fchown", FileEffect::metadata, 0, -1, -1, -1, 1},
    {SYS_fchownat, "fchownat", FileEffect::metadata, 0, 1, -1, -1, 2},
    {SYS_utimensat, "utimensat", FileEffect::metadata, 0, 1},
    {SYS_setxattr, "setxattr", FileEffect::metadata, -1, 0},
    {SYS_lsetxattr, "lsetxattr", FileEffect::metadata, -1, 0},
    {SYS_fsetxattr, "fsetxattr", FileEffect::metadata, 0},
    {SYS_removexattr, "removexattr", FileEffect::metadata, -1, 0},
    {SYS_lremovexattr, "lremovexattr", FileEffect::metadata, -1, 0},
    {SYS_fremovexattr, "fremovexattr", FileEffect::metadata, 0},
    {setxattrat_call, "setxattrat", FileEffect::metadata, 0, 1},
    {removexattrat_call, "removexattrat", FileEffect::metadata, 0, 1},
    {file_setattr_call, "file_setattr", FileEffect::metadata, 0, 1},
    {SYS_mount, "mount", FileEffect::mount_topology, -1, 1},
    {SYS_umount2, "umount2", FileEffect::mount_topology, -1, 0},
    {SYS_pivot_root, "pivot_root", FileEffect::mount_topology, -1, 0},
    {428, "open_tree", FileEffect::mount_topology, 0, 1},
    {429, "move_mount", FileEffect::mount_topology, 2, 3},
    {432, "fsmount", FileEffect::mount_topology, 0},
    {442, "mount_setattr", FileEffect::mount_topology, 0, 1},
#if defined(__x86_64__)
    {SYS_open, "open", FileEffect::write, -1, 0, -1, -1, 1},
    {SYS_creat, "creat", FileEffect::write, -1, 0},
    {SYS_mkdir, "mkdir", FileEffect::create, -1, 0},
    {SYS_mknod, "mknod", FileEffect::create, -1, 0, -1, -1, 1},
    {SYS_symlink, "symlink", FileEffect::create, -1, 1},
    {SYS_unlink, "unlink", FileEffect::remove, -1, 0},
    {SYS_rmdir, "rmdir", FileEffect::remove, -1, 0},
    {SYS_rename, "rename", FileEffect::rename_link, -1, 0, -1, 1},
    {SYS_link, "link", FileEffect::rename_link, -1, 0, -1, 1},
    {SYS_chmod, "chmod", FileEffect::metadata, -1, 0},
    {SYS_chown, "chown", FileEffect::metadata, -1, 0, -1, -1, 1},
    {SYS_lchown, "lchown", FileEffect::metadata, -1, 0, -1, -1, 1},
    {SYS_utime, "utime", FileEffect::metadata, -1, 0},
    {SYS_utimes, "utimes", FileEffect::metadata, -1, 0},
    {SYS_futimesat, "futimesat", FileEffect::metadata, 0, 1},
#endif
    {SYS_renameat, "renameat", FileEffect::rename_link, 0, 1, 2, 3},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

/// The row of a system call, or null. Reads the table only, and is safe in a process that shares its parent's memory
/// and the storage of one of its threads: see process/keeper.hpp.
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((
    no_sanitize("address", "undefined", "thread"), no_stack_protector)) constexpr const ObservedCallRow*
observed_call(std::uint64_t number) noexcept {
  for (const ObservedCallRow& row : observed_calls)
    if (row.number == number) return &row;
  return nullptr;
}

#pragma GCC diagnostic pop

/// The flags with which an open may change something.
inline constexpr std::uint32_t changing_flags = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

namespace detail {

[[nodiscard]] constexpr bool opens_by_flags(std::uint32_t number) noexcept {
#if defined(__x86_64__)
  if (number == SYS_open) return true;
#endif
  return number == SYS_openat;
}

inline constexpr std::size_t always_shown = [] {
  std::size_t count = 0;
  for (const ObservedCallRow& row : observed_calls)
    if (!opens_by_flags(row.number)) ++count;
  return count;
}();

constexpr sock_filter if_at_least(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {BPF_JMP | BPF_JGE | BPF_K, yes, no, value};
}

// Where the filter's parts are: jumps only go forward.
inline constexpr std::size_t shown_begin = 4;                        ///< one test for each call that is always shown
inline constexpr std::size_t by_flags = shown_begin + always_shown;  ///< the tests for open and openat
inline constexpr std::size_t second_flags = by_flags + 2;            ///< of open: its second argument
inline constexpr std::size_t third_flags = second_flags + 2;
inline constexpr std::size_t test_flags = third_flags + 1;
inline constexpr std::size_t pass = test_flags + 1;
inline constexpr std::size_t show = pass + 1;
static_assert(show < 256, "jumps in a filter are of one byte");

inline constexpr std::array<sock_filter, show + 1> observing_program = [] {
  std::array<sock_filter, show + 1> code{};
  code[0] = load(offsetof(seccomp_data, arch));
  code[1] = if_equal(native_architecture, 0, over(1, pass));
  code[2] = load(offsetof(seccomp_data, nr));
  code[3] = if_at_least(x32_bit, over(3, pass), 0);
  std::size_t at = shown_begin;
  for (const ObservedCallRow& row : observed_calls)
    if (!opens_by_flags(row.number)) {
      code[at] = if_equal(row.number, over(at, show), 0);
      ++at;
    }
  code[by_flags] = if_equal(SYS_openat, over(by_flags, third_flags), 0);
#if defined(__x86_64__)
  code[by_flags + 1] = if_equal(SYS_open, 0, over(by_flags + 1, pass));
#else
  code[by_flags + 1] = if_equal(SYS_openat, 0, over(by_flags + 1, pass));
#endif
  code[second_flags] = load(offsetof(seccomp_data, args[1]));
  code[second_flags + 1] = {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(test_flags - second_flags - 2)};
  code[third_flags] = load(offsetof(seccomp_data, args[2]));
  code[test_flags] = {BPF_JMP | BPF_JSET | BPF_K, over(test_flags, show), 0, changing_flags};
  code[pass] = answer(SECCOMP_RET_ALLOW);
  code[show] = answer(SECCOMP_RET_TRACE);
  return code;
}();

}  // namespace detail

/// The filter, for prctl(PR_SET_SECCOMP). To be installed behind every other step of a confinement: whatever another
/// filter refuses, it refuses first and unseen.
inline constexpr sock_fprog observing_filter{static_cast<unsigned short>(detail::observing_program.size()),
                                             const_cast<sock_filter*>(detail::observing_program.data())};

}  // namespace cordon::os
