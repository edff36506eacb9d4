// SPDX-License-Identifier: BSL-1.0
#pragma once

// What a file that is appended to needs beside opening and writing.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cordon/os/linux/fd.hpp>
#include <cstdint>
#include <string>

namespace cordon::os {

/// An exclusive lock on a whole file that belongs to the open file, not to the process: it holds against every other
/// opening of it, also in this program, and is gone when it is closed. 0, -EAGAIN when another has it, or -errno.
/// Source: fcntl(2), F_OFD_SETLK.
template <class K>
[[nodiscard]] long lock_file(int fd) noexcept {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const long result = retry<K>(SYS_fcntl, fd, F_OFD_SETLK, arg(&whole));
  return result == -EACCES ? -EAGAIN : result;
}

/// fdatasync(2): what was written, and the length, is on the disk. 0, or -errno.
template <class K>
[[nodiscard]] long sync_data(int fd) noexcept {
  return retry<K>(SYS_fdatasync, fd);
}

/// fsync(2), also of a directory. 0, or -errno.
template <class K>
[[nodiscard]] long sync_file(int fd) noexcept {
  return retry<K>(SYS_fsync, fd);
}

/// ftruncate(2). 0, or -errno.
template <class K>
[[nodiscard]] long truncate_file(int fd, std::uint64_t size) noexcept {
  return retry<K>(SYS_ftruncate, fd, static_cast<long>(size));
}

/// mkdirat(2) with mode 0700. 0, or -errno.
template <class K>
[[nodiscard]] long make_directory_in(int directory, const char* name) noexcept {
  return K::call(SYS_mkdirat, directory, arg(name), 0700);
}

/// Gives the file `from` the name `to` in the same directory, unless there is one: then -EEXIST. 0, or -errno. Renamed,
/// so that it never has two names; only where the file system can't do that unless there is one, it has both for a
/// moment.
template <class K>
[[nodiscard]] long publish_in(int directory, const char* from, const char* to) noexcept {
  constexpr long no_replace = 1;
  const long renamed = K::call(SYS_renameat2, directory, arg(from), directory, arg(to), no_replace);
  if (renamed != -EINVAL && renamed != -ENOSYS) return renamed;
  const long linked = K::call(SYS_linkat, directory, arg(from), directory, arg(to), 0);
  return linked < 0 ? linked : remove_file_in<K>(directory, from);
}

/// True when files may become as large as they like, so that no write raises SIGXFSZ.
[[nodiscard]] inline bool file_size_unlimited() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

}  // namespace cordon::os
