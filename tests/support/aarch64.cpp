// SPDX-License-Identifier: BSL-1.0

// For tools/check_aarch64.sh, which compiles this for aarch64 and runs nothing: everything that an observed run
// consists of is generated, and the observer's table and filter are checked by the compiler.

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cordon/cordon.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "support/filter.hpp"

#if !defined(__aarch64__)
#error "this is for aarch64 alone"
#endif

namespace {

namespace os = cordon::os;

struct Numbered {
  std::string_view name;
  std::uint32_t number;
};

/// As Linux's include/uapi/asm-generic/unistd.h has them, written down once more: the headers here are older than some.
constexpr Numbered expected[] = {
    {"setxattr", 5},        {"lsetxattr", 6},     {"fsetxattr", 7},       {"removexattr", 14}, {"lremovexattr", 15},
    {"fremovexattr", 16},   {"mknodat", 33},      {"mkdirat", 34},        {"unlinkat", 35},    {"symlinkat", 36},
    {"linkat", 37},         {"renameat", 38},     {"umount2", 39},        {"mount", 40},       {"pivot_root", 41},
    {"truncate", 45},       {"fchmod", 52},       {"fchmodat", 53},       {"fchownat", 54},    {"fchown", 55},
    {"openat", 56},         {"utimensat", 88},    {"renameat2", 276},     {"open_tree", 428},  {"move_mount", 429},
    {"fsmount", 432},       {"openat2", 437},     {"mount_setattr", 442}, {"fchmodat2", 452},  {"setxattrat", 463},
    {"removexattrat", 466}, {"file_setattr", 469}};

constexpr bool table_is_right() {
  std::size_t rows = 0;
  for (const os::ObservedCallRow& row : os::observed_calls) {
    std::size_t found = 0;
    for (const Numbered& each : expected)
      if (each.name == row.name && each.number == row.number) ++found;
    if (found != 1) return false;
    ++rows;
  }
  return rows == std::size(expected);
}
static_assert(table_is_right());
static_assert(os::detail::native_architecture == 0xc00000b7U);

constexpr std::uint32_t answer_of(std::uint32_t architecture, std::uint32_t number, std::uint32_t flags) {
  return support::answer_of(os::detail::observing_program, [&](std::uint32_t offset) {
    return offset == offsetof(seccomp_data, nr)        ? number
           : offset == offsetof(seccomp_data, arch)    ? architecture
           : offset == offsetof(seccomp_data, args[2]) ? flags
                                                       : 0;
  });
}

constexpr bool filter_is_right() {
  constexpr std::uint32_t native = os::detail::native_architecture;
  for (std::uint32_t number = 0; number != 1024; ++number) {
    bool listed = false;
    for (const Numbered& each : expected) listed = listed || each.number == number;
    const bool open = number == 56;
    // O_RDONLY, and with all but what changes something; O_WRONLY; O_CREAT; O_TRUNC; __O_TMPFILE: by the kernel's
    // numbers.
    if (answer_of(native, number, 0) != (listed && !open ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW)) return false;
    for (const std::uint32_t flag : {01U, 02U, 0100U, 01000U, 020000000U})
      if (answer_of(native, number, flag) != (listed ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW)) return false;
    if (answer_of(native, number, ~(03U | 0100U | 01000U | 020000000U)) !=
        (listed && !open ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW))
      return false;
    if (answer_of(0x40000028U, number, 01U) != SECCOMP_RET_ALLOW) return false;  // a 32-bit call
  }
  return true;
}
static_assert(filter_is_right());

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  cordon::Harness<cordon::Observed<cordon::PlatformBackend>, cordon::AnswererChain<>, cordon::AcceptPartial> harness;
  const auto policy = cordon::PolicyResolver::resolve({.mode = cordon::workspace_write, .workspace_root = "/tmp"});
  policy.visit(
      [&](const cordon::Policy<cordon::WorkspaceWrite>& write) { (void)harness.run(write, cordon::shell("true"), {}); },
      [](const auto&) {});
}
