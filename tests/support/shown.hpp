// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cordon/process/options.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace support {

/// How many descriptors of terminals this program has, and how many of them a program that it starts would inherit.
/// Without its own standard streams.
struct OpenTerminals {
  int all = 0;
  int inherited = 0;

  OpenTerminals() {
    for (int fd = 3; fd != 4096; ++fd) {
      if (::isatty(fd) != 1) continue;
      ++all;
      if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) ++inherited;
    }
  }
};

/// What a command showed on its own terminal so far.
class Shown {
 public:
  /// `options` with a terminal, whose output comes here.
  [[nodiscard]] cordon::process::RunOptions on(cordon::process::RunOptions options,
                                               cordon::process::TerminalSize size = {}) const {
    options.terminal = size;
    options.limits.wall = std::chrono::seconds(30);
    options.on_output = [text = text_](cordon::process::Stream, std::string_view bytes) { *text += bytes; };
    return options;
  }

  [[nodiscard]] const std::string& text() const noexcept { return *text_; }
  [[nodiscard]] bool has(const std::string& text) const { return text_->find(text) != std::string::npos; }

  /// Follows `command`, a Child or a Running, until `text` is there. False when it ended before.
  template <class Command>
  [[nodiscard]] bool wait(Command& command, const std::string& text) const {
    while (!has(text))
      if (command.wait_for(std::chrono::milliseconds(5))) return has(text);
    return true;
  }

 private:
  std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
};

}  // namespace support
