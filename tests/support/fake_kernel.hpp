// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cordon/os/linux/kernel.hpp>
#include <cstddef>
#include <map>

namespace support {

/// The real kernel, but for the calls that a test refuses. One for the program, so for tests of one thread.
struct FakeKernel {
  static inline long refused = -1;  ///< the system call
  static inline int from = 0;       ///< how many of it succeed before
  static inline int error = 0;
  static inline std::size_t most = 0;  ///< bytes that one write takes; 0 for all
  static inline long also = -1;        ///< another system call, which fails with EIO
  static inline int left = -1;         ///< calls until the program is as good as dead; negative: it lives
  static inline std::map<long, int> calls;
  static inline void (*observe)(long number) = [](long) {};  ///< called when a call has happened

  static long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
    // Even of a dead program the kernel closes the files; and the test that goes on needs its signals as they were.
    if (left == 0 && (number == SYS_close || number == SYS_rt_sigprocmask))
      return cordon::os::Kernel::call(number, a, b, c, d);
    if (left == 0) return -EIO;
    if (left > 0) --left;
    if (number == also) return -EIO;
    if (number == SYS_write && most != 0) c = std::min(c, static_cast<long>(most));
    if (calls[number]++ >= from && number == refused) {
      if (number == SYS_close) cordon::os::Kernel::call(number, a);
      return -error;
    }
    const long result = cordon::os::Kernel::call(number, a, b, c, d, e, f);
    observe(number);
    return result;
  }

  static void refuse(long number, int after = 0, int with = 0) {
    refused = number;
    from = after;
    error = with;
    most = 0;
    also = -1;
    left = -1;
    observe = [](long) {};
    calls.clear();
  }
  static void allow_all() { refuse(-1); }
  /// Only the next `count` calls happen.
  static void die_after(int count) {
    allow_all();
    left = count;
  }
};

}  // namespace support
