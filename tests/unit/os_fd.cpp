// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/fd.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <set>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

namespace os = cordon::os;
using K = os::Kernel;
using os::Fd;
using os::FdPair;

namespace {

bool open_and_close_on_exec(int fd) {
  return ::fcntl(fd, F_GETFD) == FD_CLOEXEC;
}
bool open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

FdPair<K> pipe() {
  FdPair<K> pair;
  REQUIRE(os::make_pipe(pair) >= 0);
  return pair;
}

std::atomic<int> pipe_signals{0};

}  // namespace

TEST_CASE("F70: every descriptor that is made is closed on exec") {
  const support::TempDirectory directory;
  const FdPair<K> ends = pipe();
  FdPair<K> sockets;
  REQUIRE(os::make_socket_pair(sockets) >= 0);
  const Fd file(os::open_file<K>(directory.file("f").c_str(), O_RDONLY));
  const Fd copy(os::duplicate_from<K>(file.get(), 100));
  const Fd memory(os::memory_file<K>("name", "content"));
  for (int fd : {ends.read.get(), ends.write.get(), sockets.read.get(), sockets.write.get(), file.get(), copy.get(),
                 memory.get()}) {
    INFO(fd);
    CHECK(open_and_close_on_exec(fd));
  }
}

TEST_CASE("A descriptor is closed once, by its last owner") {
  int number = -1;
  {
    FdPair<K> ends = pipe();
    number = ends.read.get();
    Fd moved = std::move(ends.read);
    CHECK(ends.read.get() == -1);
    CHECK_FALSE(ends.read);
    CHECK(moved.get() == number);
    CHECK(open(number));
    const int other = ends.write.get();
    moved = std::move(ends.write);
    CHECK_FALSE(open(number));
    CHECK(open(other));
    moved.reset();
    CHECK_FALSE(open(other));
    CHECK_FALSE(moved);
  }
  int released = -1;
  {
    FdPair<K> ends = pipe();
    released = ends.read.release();
  }
  CHECK(open(released));
  ::close(released);
}

TEST_CASE("Moving a descriptor onto itself keeps it") {
  FdPair<K> ends = pipe();
  Fd& same = ends.read;
  ends.read = std::move(same);
  CHECK(open(ends.read.get()));
}

TEST_CASE("What fails gives the negative errno, and leaves errno alone") {
  errno = 0;
  CHECK(os::open_file<K>("/nonexistent/file", O_RDONLY) == -ENOENT);
  CHECK(os::duplicate_from<K>(-1, 0) == -EBADF);
  std::byte byte{};
  CHECK(os::read_some<K>(-1, std::span(&byte, 1)) == -EBADF);
  CHECK(os::write_some<K>(-1, std::span(&byte, 1)) == -EBADF);
  CHECK(errno == 0);
}

TEST_CASE("A copy has at least the number that was asked for, and is the same file") {
  const FdPair<K> ends = pipe();
  const Fd copy(os::duplicate_from<K>(ends.write.get(), 150));
  CHECK(copy.get() >= 150);
  REQUIRE(os::write_all<K>(copy.get(), "x") == 0);
  std::byte byte{};
  CHECK(os::read_some<K>(ends.read.get(), std::span(&byte, 1)) == 1);
}

TEST_CASE("EXE-06: writing to a closed pipe is an error and never a signal") {
  struct sigaction count {};
  struct sigaction before {};
  count.sa_handler = [](int) { ++pipe_signals; };
  ::sigaction(SIGPIPE, &count, &before);
  pipe_signals = 0;
  FdPair<K> ends = pipe();
  ends.read.reset();
  const std::byte byte{};
  CHECK(os::write_some<K>(ends.write.get(), std::span(&byte, 1)) == -EPIPE);
  CHECK(os::write_all<K>(ends.write.get(), "text") == -EPIPE);
  sigset_t mask;
  sigset_t pending;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ::sigpending(&pending);
  CHECK(::sigismember(&mask, SIGPIPE) == 0);
  CHECK(::sigismember(&pending, SIGPIPE) == 0);
  CHECK(pipe_signals == 0);

  SECTION("and one that was pending before is still delivered") {
    sigset_t block;
    ::sigemptyset(&block);
    ::sigaddset(&block, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &block, nullptr);
    ::raise(SIGPIPE);
    CHECK(os::write_some<K>(ends.write.get(), std::span(&byte, 1)) == -EPIPE);
    CHECK(pipe_signals == 0);
    ::pthread_sigmask(SIG_UNBLOCK, &block, nullptr);
    CHECK(pipe_signals == 1);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_CASE("A file that grew as large as this program may make one is an error and never a signal") {
  const support::TempDirectory directory;
  const Fd file(os::open_file<K>((directory.path() + "/f").c_str(), O_WRONLY | O_CREAT, 0600));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{4, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const long result = os::write_all<K>(file.get(), "123456");
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(result == -EFBIG);
  CHECK(support::content_of(directory.path() + "/f") == "1234");
  sigset_t pending;
  ::sigpending(&pending);
  CHECK(::sigismember(&pending, SIGXFSZ) == 0);
}

TEST_CASE("A file is opened and removed in the directory that was opened, wherever it has gone") {
  const support::TempDirectory directory;
  (void)directory.directory("before");
  const Fd opened(os::open_file<K>((directory.path() + "/before").c_str(), O_RDONLY | O_DIRECTORY));
  std::filesystem::rename(directory.path() + "/before", directory.path() + "/after");
  const Fd file(os::open_file_in<K>(opened.get(), "f", O_WRONLY | O_CREAT | O_EXCL, 0600));
  REQUIRE(file);
  CHECK(open_and_close_on_exec(file.get()));
  CHECK(support::exists(directory.path() + "/after/f"));
  CHECK(os::open_file_in<K>(opened.get(), "f", O_WRONLY | O_CREAT | O_EXCL, 0600) == -EEXIST);
  CHECK(os::remove_file_in<K>(opened.get(), "f") == 0);
  CHECK(os::remove_file_in<K>(opened.get(), "f") == -ENOENT);
  CHECK_FALSE(support::exists(directory.path() + "/after/f"));
}

TEST_CASE("A file that is closed says whether that went well, and is closed once") {
  Fd file(os::memory_file<K>("name", ""));
  const int number = file.get();
  CHECK(os::close_file(file) == 0);
  CHECK_FALSE(file);
  CHECK_FALSE(open(number));
  CHECK(os::close_file(file) == -EBADF);
}

TEST_CASE("Names that nobody can guess differ") {
  std::set<std::string> names;
  for (int i = 0; i != 100; ++i) {
    const std::string name = os::random_name<K>();
    CHECK(name.size() == 16);
    CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
    names.insert(name);
  }
  CHECK(names.size() == 100);
}

TEST_CASE("A memory file is read from its start") {
  const std::string content("a\0b", 3);
  const Fd file(os::memory_file<K>("name", content));
  REQUIRE(file);
  CHECK(os::read_rest<K>(file.get(), 100) == content);
  CHECK(os::read_rest<K>(file.get(), 100) == "");
  const Fd empty(os::memory_file<K>("name", ""));
  CHECK(os::read_rest<K>(empty.get(), 100) == "");
}

TEST_CASE("The rest of a file is read up to the limit and no further") {
  const Fd file(os::memory_file<K>("name", std::string(10000, 'x')));
  CHECK(os::read_rest<K>(file.get(), 0) == "");
  CHECK(os::read_rest<K>(file.get(), 7000).size() == 7000);
  CHECK(os::read_rest<K>(file.get(), 7000).size() == 3000);
}

TEST_CASE("A non-blocking descriptor says that there is nothing yet") {
  const FdPair<K> ends = pipe();
  REQUIRE(os::set_nonblocking<K>(ends.read.get()) >= 0);
  std::byte byte{};
  CHECK(os::read_some<K>(ends.read.get(), std::span(&byte, 1)) == -EAGAIN);
}

TEST_CASE("Polling tells who is ready, or that nobody was in time") {
  const FdPair<K> ends = pipe();
  pollfd set[2] = {{ends.read.get(), POLLIN, 0}, {-1, POLLIN, 0}};
  CHECK(os::poll_once<K>(set, 0) == 0);
  REQUIRE(os::write_all<K>(ends.write.get(), "x") == 0);
  CHECK(os::poll_once<K>(set, 5000) == 1);
  CHECK((set[0].revents & POLLIN) != 0);
  CHECK(set[1].revents == 0);
}

TEST_CASE("Both ends of a socket pair can be written") {
  FdPair<K> sockets;
  REQUIRE(os::make_socket_pair(sockets) >= 0);
  REQUIRE(os::write_all<K>(sockets.read.get(), "a") == 0);
  REQUIRE(os::write_all<K>(sockets.write.get(), "b") == 0);
  CHECK(os::read_rest<K>(sockets.read.get(), 1) == "b");
  CHECK(os::read_rest<K>(sockets.write.get(), 1) == "a");
}
