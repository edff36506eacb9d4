// SPDX-License-Identifier: BSL-1.0
#pragma once

// Pseudo terminals. Source: pty(7), ioctl_tty(2).

#include <sys/ioctl.h>

#include <cordon/os/linux/fd.hpp>

namespace cordon::os {

/// The two sides of a terminal.
template <class K>
struct Terminal {
  BasicFd<K> ours;    ///< types, and is shown what is written; never blocks
  BasicFd<K> theirs;  ///< what a program has as its terminal
};

/// Makes a terminal in the file system of terminals whose directory is `terminals`, or -1: in the one of /dev/ptmx. The
/// other side is opened through ours, not by a name, and no side becomes the caller's controlling terminal. 0, or
/// -errno.
template <class K>
[[nodiscard]] long make_terminal(int terminals, Terminal<K>& made) noexcept {
  constexpr int flags = O_RDWR | O_NOCTTY | O_NONBLOCK;
  const long opened = terminals < 0 ? open_file<K>("/dev/ptmx", flags) : open_file_in<K>(terminals, "ptmx", flags);
  if (opened < 0) return opened;
  made.ours = BasicFd<K>(opened);
  const int locked = 0;
  if (const long result = K::call(SYS_ioctl, opened, TIOCSPTLCK, arg(&locked)); result < 0) return result;
  const long peer = K::call(SYS_ioctl, opened, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (peer < 0) return peer;
  made.theirs = BasicFd<K>(peer);
  return 0;
}

/// Says how large a terminal is. When that is new, its foreground process group gets SIGWINCH. 0, or -errno.
template <class K>
long set_terminal_size(int terminal, unsigned short rows, unsigned short columns) noexcept {
  const winsize size{rows, columns, 0, 0};
  return K::call(SYS_ioctl, terminal, TIOCSWINSZ, arg(&size));
}

}  // namespace cordon::os
