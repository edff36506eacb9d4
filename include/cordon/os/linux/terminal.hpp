// SPDX-License-Identifier: BSL-1.0
#pragma once

// Terminals: pseudo ones, and what can be asked of any. Source: pty(7), ioctl_tty(2).

#include <sys/ioctl.h>

#include <cordon/os/linux/fd.hpp>
#include <cstdint>

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

/// What a terminal says its size is; both are 0 where nobody has told it. 0, or -errno.
template <class K>
[[nodiscard]] long terminal_size(int terminal, unsigned short& rows, unsigned short& columns) noexcept {
  winsize size{};
  const long result = K::call(SYS_ioctl, terminal, TIOCGWINSZ, arg(&size));
  rows = size.ws_row;
  columns = size.ws_col;
  return result;
}

/// How a terminal treats what is typed and shown: the kernel's struct termios, by names that are no macros. Source:
/// asm-generic/termbits.h, which x86 and ARM use.
struct TerminalMode {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  std::uint32_t control = 0;
  std::uint32_t local = 0;
  unsigned char discipline = 0;
  unsigned char keys[19] = {};

  /// The same, but each key is given at once, shown nowhere, and has no effect of its own; and a newline begins a line.
  [[nodiscard]] TerminalMode for_single_keys() const noexcept {
    constexpr std::uint32_t stop_keys = 0x400;                          // IXON
    constexpr std::uint32_t processed = 1, newlines = 4;                // OPOST, ONLCR
    constexpr std::uint32_t signals = 1, lines = 2, extended = 0x8000;  // ISIG, ICANON, IEXTEN
    constexpr std::uint32_t echo = 8, echo_newline = 0x40;              // ECHO, ECHONL
    TerminalMode mode = *this;
    mode.input &= ~stop_keys;
    mode.output |= processed | newlines;
    mode.local &= ~(signals | lines | extended | echo | echo_newline);
    mode.keys[5] = 0;  // VTIME
    mode.keys[6] = 1;  // VMIN
    return mode;
  }
};

/// 0, or -errno: -ENOTTY for what is no terminal.
template <class K>
[[nodiscard]] long terminal_mode(int terminal, TerminalMode& mode) noexcept {
  return K::call(SYS_ioctl, terminal, TCGETS, arg(&mode));
}

/// At once, whatever is still to be shown. 0, or -errno.
template <class K>
long set_terminal_mode(int terminal, const TerminalMode& mode) noexcept {
  return retry<K>(SYS_ioctl, terminal, TCSETS, arg(&mode));
}

/// Throws away what was typed and not read. 0, or -errno.
template <class K>
long discard_typed(int terminal) noexcept {
  constexpr long typed = 0;  // TCIFLUSH
  return retry<K>(SYS_ioctl, terminal, TCFLSH, typed);
}

/// True when others have the caller's controlling terminal, so that the caller would be stopped if it used it. Never
/// true for another terminal.
template <class K>
[[nodiscard]] bool in_background(int terminal) noexcept {
  int front = 0;
  return K::call(SYS_ioctl, terminal, TIOCGPGRP, arg(&front)) >= 0 && front != K::call(SYS_getpgid, 0);
}

/// While it lives, the calling thread is not stopped for the use of a terminal in the background: a read is -EIO.
template <class K>
class NotStoppedByTerminal {
 public:
  NotStoppedByTerminal() noexcept {
    const std::uint64_t both = 1ULL << (SIGTTIN - 1) | 1ULL << (SIGTTOU - 1);
    K::call(SYS_rt_sigprocmask, SIG_BLOCK, arg(&both), arg(&before_), sizeof before_);
  }
  ~NotStoppedByTerminal() { K::call(SYS_rt_sigprocmask, SIG_SETMASK, arg(&before_), 0, sizeof before_); }
  NotStoppedByTerminal(const NotStoppedByTerminal&) = delete;
  NotStoppedByTerminal& operator=(const NotStoppedByTerminal&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace cordon::os
