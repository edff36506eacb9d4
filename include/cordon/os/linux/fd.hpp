// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cordon/os/linux/kernel.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::os {

/// Owns one file descriptor. Every descriptor that cordon makes is close-on-exec.
template <class K>
class BasicFd {
 public:
  BasicFd() noexcept = default;
  explicit BasicFd(long fd) noexcept : fd_(static_cast<int>(fd)) {}
  BasicFd(BasicFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  BasicFd& operator=(BasicFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~BasicFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Gives the descriptor up to the caller.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) K::call(SYS_close, std::exchange(fd_, -1));  // never retried: Linux has freed the number on EINTR too
  }

 private:
  int fd_ = -1;
};

using Fd = BasicFd<Kernel>;

template <class K>
struct FdPair {
  BasicFd<K> read;
  BasicFd<K> write;
};

/// pipe2(2), or -errno.
template <class K>
[[nodiscard]] long make_pipe(FdPair<K>& pair) noexcept {
  int ends[2] = {-1, -1};
  const long result = K::call(SYS_pipe2, arg(ends), O_CLOEXEC);
  if (result >= 0) pair = {BasicFd<K>(ends[0]), BasicFd<K>(ends[1])};
  return result;
}

/// An event descriptor that never blocks, or -errno; see eventfd(2).
template <class K>
[[nodiscard]] long make_event() noexcept {
  return K::call(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
}

/// A signalfd(2) for one signal that never blocks, or -errno. It speaks of the process that reads it.
template <class K>
[[nodiscard]] long make_signal_event(int signal) noexcept {
  const std::uint64_t mask = 1ULL << (signal - 1);
  return K::call(SYS_signalfd4, -1, arg(&mask), sizeof mask, O_CLOEXEC | O_NONBLOCK);
}

/// A connected pair of stream sockets, or -errno. Both ends can be read and written.
template <class K>
[[nodiscard]] long make_socket_pair(FdPair<K>& pair) noexcept {
  int ends[2] = {-1, -1};
  const long result = K::call(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, arg(ends));
  if (result >= 0) pair = {BasicFd<K>(ends[0]), BasicFd<K>(ends[1])};
  return result;
}

/// openat(2) relative to the working directory; O_CLOEXEC is added. Or -errno.
template <class K>
[[nodiscard]] long open_file(const char* path, int flags, unsigned mode = 0) noexcept {
  return retry<K>(SYS_openat, AT_FDCWD, arg(path), flags | O_CLOEXEC, static_cast<long>(mode));
}

/// openat(2) relative to the directory `directory`; O_CLOEXEC is added. Or -errno.
template <class K>
[[nodiscard]] long open_file_in(int directory, const char* name, int flags, unsigned mode = 0) noexcept {
  return retry<K>(SYS_openat, directory, arg(name), flags | O_CLOEXEC, static_cast<long>(mode));
}

/// unlinkat(2) relative to the directory `directory`. 0, or -errno.
template <class K>
long remove_file_in(int directory, const char* name) noexcept {
  return K::call(SYS_unlinkat, directory, arg(name), 0);
}

/// close(2), for a file that was written: some file systems tell only now that it could not be. 0, or -errno; it is
/// closed in any case.
template <class K>
[[nodiscard]] long close_file(BasicFd<K>& file) noexcept {
  return K::call(SYS_close, file.release());
}

/// A copy of `fd` whose number is at least `lowest`, or -errno.
template <class K>
[[nodiscard]] long duplicate_from(int fd, int lowest) noexcept {
  return K::call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

template <class K>
long set_nonblocking(int fd) noexcept {
  return K::call(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
}

template <class K>
[[nodiscard]] long read_some(int fd, std::span<std::byte> buffer) noexcept {
  return retry<K>(SYS_read, fd, arg(buffer.data()), static_cast<long>(buffer.size()));
}

/// write(2) that never raises SIGPIPE or SIGXFSZ in the program that uses cordon: a reader that went away is -EPIPE, a
/// file that grew as large as this program may make one is -EFBIG.
template <class K>
[[nodiscard]] long write_some(int fd, std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t pipe_signal = 1ULL << (SIGPIPE - 1);
  constexpr std::uint64_t size_signal = 1ULL << (SIGXFSZ - 1);
  const std::uint64_t both = pipe_signal | size_signal;
  std::uint64_t before = 0;
  std::uint64_t pending = 0;
  K::call(SYS_rt_sigpending, arg(&pending), sizeof pending);
  K::call(SYS_rt_sigprocmask, SIG_BLOCK, arg(&both), arg(&before), sizeof before);
  const long result = retry<K>(SYS_write, fd, arg(bytes.data()), static_cast<long>(bytes.size()));
  const std::uint64_t raised = result == -EPIPE ? pipe_signal : result == -EFBIG ? size_signal : 0;
  if ((raised & ~pending) != 0) {
    const timespec now{0, 0};
    retry<K>(SYS_rt_sigtimedwait, arg(&raised), 0, arg(&now), sizeof raised);
  }
  K::call(SYS_rt_sigprocmask, SIG_SETMASK, arg(&before), 0, sizeof before);
  return result;
}

/// Writes all of it to a file or a pipe that has room. 0, or -errno.
template <class K>
[[nodiscard]] long write_all(int fd, std::string_view text) noexcept {
  std::span<const std::byte> left = std::as_bytes(std::span(text));
  while (!left.empty()) {
    const long written = write_some<K>(fd, left);
    if (written <= 0) return written < 0 ? written : -EIO;
    left = left.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

/// A memory file with this content, open for reading from its start; or -errno.
template <class K>
[[nodiscard]] long memory_file(const char* name, std::string_view content) noexcept {
  const long fd = K::call(SYS_memfd_create, arg(name), MFD_CLOEXEC);
  if (fd < 0) return fd;
  BasicFd<K> file(fd);
  if (const long result = write_all<K>(file.get(), content); result < 0) return result;
  if (const long result = K::call(SYS_lseek, file.get(), 0, SEEK_SET); result < 0) return result;
  return file.release();
}

/// Sixteen hexadecimal digits that nobody can guess.
template <class K>
[[nodiscard]] std::string random_name() {
  std::uint64_t bits = 0;
  (void)retry<K>(SYS_getrandom, arg(&bits), sizeof bits, 0);
  std::string digits(16, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[bits & 15U];
    bits >>= 4U;
  }
  return digits;
}

/// poll(2) once; `timeout_ms` as there. The number of ready descriptors, or -errno (-EINTR included).
template <class K>
[[nodiscard]] long poll_once(std::span<pollfd> set, int timeout_ms) noexcept {
#ifdef SYS_poll
  return K::call(SYS_poll, arg(set.data()), static_cast<long>(set.size()), timeout_ms);
#else
  timespec limit{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  return K::call(SYS_ppoll, arg(set.data()), static_cast<long>(set.size()), timeout_ms < 0 ? 0 : arg(&limit), 0, 0);
#endif
}

/// The rest of a file or pipe, at most `limit` bytes. What was read before an error is kept.
template <class K>
[[nodiscard]] std::string read_rest(int fd, std::size_t limit) {
  std::string text;
  std::byte buffer[4096];
  while (text.size() < limit) {
    const long got = read_some<K>(fd, std::span(buffer).first(std::min(sizeof buffer, limit - text.size())));
    if (got <= 0) break;
    text.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace cordon::os
