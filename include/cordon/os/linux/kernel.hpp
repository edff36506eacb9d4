// SPDX-License-Identifier: BSL-1.0
#pragma once

// Every system call of the launch path goes through `Kernel::call` (or `Kernel::clone`), and nothing above os/ calls
// the system in another way. A test replaces Kernel by a type whose calls fail on demand.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

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

  /// clone(2) with a stack of our own for the child, which calls `entry` and exits with its result. Returns the pid, or
  /// -errno. With CLONE_PIDFD or CLONE_PARENT_SETTID `answer` gets the pidfd or the pid. Not through the C library
  /// where that can be helped: it would write the errno of a thread that may be gone.
  [[clang::disable_sanitizer_instrumentation]] static
      __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector)) long
      clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* answer) noexcept {
#if (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)
    auto* top = static_cast<void**>(stack_top) - 2;
    top[0] = argument;
    top[1] = reinterpret_cast<void*>(entry);
#endif
#if defined(__x86_64__) && defined(__LP64__)
    long result = SYS_clone;
    register long r10 asm("r10") = 0;
    register long r8 asm("r8") = 0;
    asm volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "popq %%rdi\n\t"
        "popq %%rax\n\t"
        "callq *%%rax\n\t"
        "movl %%eax, %%edi\n\t"
        "movl %[exit], %%eax\n\t"
        "syscall\n"
        "1:"
        : "+a"(result)
        : "D"(static_cast<long>(flags)), "S"(top), "d"(answer), "r"(r10), "r"(r8), [exit] "i"(SYS_exit_group)
        : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = SYS_clone;
    register long x0 asm("x0") = flags;
    register void* x1 asm("x1") = top;
    register int* x2 asm("x2") = answer;
    register long x3 asm("x3") = 0;
    register long x4 asm("x4") = 0;
    asm volatile(
        "svc 0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "ldp x0, x1, [sp], #16\n\t"
        "blr x1\n\t"
        "mov x8, %[exit]\n\t"
        "svc 0\n"
        "1:"
        : "+r"(x0)
        : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit_group)
        : "memory", "cc");
    return x0;
#else
    const int saved = errno;
    const int pid = ::clone(entry, stack_top, flags, argument, answer);
    const int failed = errno;
    errno = saved;
    return pid < 0 ? -failed : pid;
#endif
  }
};

/// A pointer as a system call argument.
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline long
arg(const void* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

#pragma GCC diagnostic pop

/// `call` again for as long as a signal interrupts it.
template <class K>
long retry(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result = 0;
  do result = K::call(number, a, b, c, d, e, f);
  while (result == -EINTR);
  return result;
}

}  // namespace cordon::os
