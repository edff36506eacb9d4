// SPDX-License-Identifier: BSL-1.0
#pragma once

// Every system call of the launch path goes through `Kernel::call` (or `Kernel::clone`), and nothing above os/ calls
// the system in another way. A test replaces Kernel by a type whose calls fail on demand.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#if defined(__GLIBC__)
extern "C" int __clone(int (*entry)(void*), void* stack_top, int flags, void* argument, ...) noexcept;
#endif

// Attributes that GCC does not know keep every sanitizer out; see process/keeper.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::os {

/// The real kernel. `call` returns what the system call returned, or -errno. It touches no errno, allocates nothing
/// and is safe in a child that shares its parent's memory.
struct Kernel {
  [[clang::disable_sanitizer_instrumentation]] static
      __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector)) long
      call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
#if defined(__x86_64__) && defined(__LP64__)
    long result = 0;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
#else
    const long result = ::syscall(number, a, b, c, d, e, f);
    return result < 0 ? -errno : result;
#endif
  }

  /// clone(2) through the C library, with a stack of our own for the child. Returns the pid, or -errno.
  /// With CLONE_PIDFD or CLONE_PARENT_SETTID `answer` gets the pidfd or the pid.
  [[clang::disable_sanitizer_instrumentation]] static
      __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector)) long
      clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* answer) noexcept {
    const int saved = errno;
#if defined(__GLIBC__)
    // The name that ThreadSanitizer does not intercept: it takes every clone for a fork.
    const int pid = ::__clone(entry, stack_top, flags, argument, answer);
#else
    const int pid = ::clone(entry, stack_top, flags, argument, answer);
#endif
    const int failed = errno;
    errno = saved;
    return pid < 0 ? -failed : pid;
  }
};

#pragma GCC diagnostic pop

/// `call` again for as long as a signal interrupts it.
template <class K>
long retry(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result = 0;
  do result = K::call(number, a, b, c, d, e, f);
  while (result == -EINTR);
  return result;
}

/// A pointer as a system call argument.
[[nodiscard]] inline long arg(const void* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

}  // namespace cordon::os
