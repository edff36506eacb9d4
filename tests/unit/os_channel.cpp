// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/channel.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/catch.hpp"
#include "support/processes.hpp"

namespace os = cordon::os;
using K = os::Kernel;

namespace {

struct Order {
  int number = 0;
};
enum class Report { first, second };

os::Channel<K> channel() {
  os::Channel<K> made;
  REQUIRE(os::make_channel<K>(made) >= 0);
  return made;
}

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_ino == second.st_ino &&
         first.st_dev == second.st_dev;
}

}  // namespace

TEST_CASE("Both ends of a channel are closed on exec") {
  const auto both = channel();
  CHECK(::fcntl(both.ours.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(::fcntl(both.theirs.get(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("An order arrives whole, with its descriptors on the lowest free numbers, in order") {
  const auto both = channel();
  os::FdPair<K> pipe;
  REQUIRE(os::make_pipe<K>(pipe) >= 0);
  const os::Fd null(os::open_file<K>("/dev/null", O_RDONLY));
  const std::array<int, 3> sent{pipe.write.get(), null.get(), pipe.read.get()};
  CHECK(os::send_order<K>(both.ours.get(), Order{7}, sent) == sizeof(Order));
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) == 0; };
  std::vector<int> free;
  for (int fd = 0; free.size() != 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) free.push_back(fd);
  Order order;
  CHECK(os::receive_order<K>(both.theirs.get(), order) == sizeof(Order));
  CHECK(order.number == 7);
  for (std::size_t i = 0; i != 3; ++i) {
    CHECK(is_open(free[i]));  // and not closed on exec
    CHECK(same_file(free[i], sent[i]));
    ::close(free[i]);
  }
}

TEST_CASE("An order without descriptors brings none") {
  const auto both = channel();
  CHECK(os::send_order<K>(both.ours.get(), Order{8}, {}) == sizeof(Order));
  const auto before = support::open_descriptors();
  Order order;
  CHECK(os::receive_order<K>(both.theirs.get(), order) == sizeof(Order));
  CHECK(order.number == 8);
  CHECK(support::open_descriptors() == before);
}

TEST_CASE("An order whose descriptors don't fit is told as such") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    os::Channel<K> both;
    const os::Fd null(os::open_file<K>("/dev/null", O_RDONLY));
    const std::array<int, 3> sent{null.get(), null.get(), null.get()};
    Order order;
    const bool good = os::make_channel<K>(both) >= 0 && os::send_order<K>(both.ours.get(), Order{9}, sent) > 0;
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    ::_exit(good && os::receive_order<K>(both.theirs.get(), order) == -EMFILE && order.number == 9 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("A report names a process, and is not waited for unless asked") {
  const auto both = channel();
  Report report = Report::first;
  long pid = 0;
  CHECK(os::receive_report<K>(both.ours.get(), report, pid, false) == -EAGAIN);
  CHECK(os::send_report<K>(both.theirs.get(), Report::second, ::getpid()) == sizeof(Report));
  CHECK(os::receive_report<K>(both.ours.get(), report, pid, true) == sizeof(Report));
  CHECK(report == Report::second);
  CHECK(pid == ::getpid());
}

TEST_CASE("The other side's end is the end of the channel, and no signal") {
  auto both = channel();
  both.theirs.reset();
  Report report = Report::first;
  long pid = 0;
  CHECK(os::receive_report<K>(both.ours.get(), report, pid, true) == 0);
  CHECK(os::send_order<K>(both.ours.get(), Order{1}, {}) == -EPIPE);
  both = channel();
  both.ours.reset();
  Order order;
  CHECK(os::receive_order<K>(both.theirs.get(), order) == 0);
}
