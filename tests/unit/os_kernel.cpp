// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/kernel.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include "support/catch.hpp"

namespace os = cordon::os;
using os::Kernel;

namespace {

struct InterruptedTwice {
  static inline int calls = 0;
  static long call(long, long a, long, long, long, long, long) noexcept { return ++calls < 3 ? -EINTR : a; }
};

}  // namespace

TEST_CASE("A call gives what the kernel gives, or the negative errno, and never touches errno") {
  errno = 7;
  CHECK(Kernel::call(SYS_getpid) == ::getpid());
  CHECK(Kernel::call(SYS_close, -1) == -EBADF);
  CHECK(Kernel::call(100000) == -ENOSYS);
  CHECK(errno == 7);
}

TEST_CASE("All six arguments arrive") {
  const long page = ::sysconf(_SC_PAGESIZE);
  const long fd = Kernel::call(SYS_memfd_create, os::arg("cordon-test"), 0);
  REQUIRE(fd >= 0);
  REQUIRE(Kernel::call(SYS_ftruncate, fd, 2 * page) == 0);
  REQUIRE(Kernel::call(SYS_pwrite64, fd, os::arg("x"), 1, page) == 1);
  const long address = Kernel::call(SYS_mmap, 0, page, PROT_READ, MAP_PRIVATE, fd, page);
  REQUIRE(address > 0);
  CHECK(*reinterpret_cast<const char*>(address) == 'x');  // the sixth argument is the offset
  CHECK(Kernel::call(SYS_munmap, address, page) == 0);
  CHECK(Kernel::call(SYS_close, fd) == 0);
}

TEST_CASE("An interrupted call is made again until it isn't") {
  InterruptedTwice::calls = 0;
  CHECK(os::retry<InterruptedTwice>(0, 42) == 42);
  CHECK(InterruptedTwice::calls == 3);
}

TEST_CASE("A clone that the kernel refuses is a negative errno, and leaves errno alone") {
  errno = 7;
  alignas(16) static char stack[4096];
  CHECK(Kernel::clone([](void*) { return 0; }, stack + sizeof stack, CLONE_THREAD, nullptr, nullptr) == -EINVAL);
  CHECK(errno == 7);
}
