// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::process {

using Clock = std::chrono::steady_clock;

enum class Stream { out, err };

class SpillDirectory;
class UnreadOutput;

/// What a command reads on its standard input. A descriptor is copied through a pipe, never handed over: the command
/// can't reopen the file or the terminal behind it.
class Input {
 public:
  /// The null device.
  [[nodiscard]] static Input none() noexcept { return Input(); }
  /// These bytes, then end of file.
  [[nodiscard]] static Input bytes(std::string content) {
    Input input;
    input.content_ = std::move(content);
    return input;
  }
  /// What can be read from `descriptor`, which stays the caller's and must stay open until the command has ended.
  [[nodiscard]] static Input copy_of(int descriptor) noexcept {
    Input input;
    input.descriptor_ = descriptor;
    return input;
  }

  [[nodiscard]] bool piped() const noexcept { return content_ || descriptor_ >= 0; }
  [[nodiscard]] const std::optional<std::string>& content() const noexcept { return content_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  Input() = default;
  std::optional<std::string> content_;
  int descriptor_ = -1;
};

/// What ends a command that does not end by itself. The first that comes true wins and is how it ended: the whole tree
/// gets SIGTERM, and what is left of it after `grace` SIGKILL. Needs somebody who waits.
struct Limits {
  std::optional<std::chrono::milliseconds> wall = {};  ///< since its start
  std::optional<std::chrono::milliseconds> idle = {};  ///< without output
  std::optional<std::uint64_t> output = {};            ///< bytes of both streams together
  std::stop_token stop = {};                           ///< asked for by the caller, from any thread
  std::chrono::milliseconds grace{3000};
};

/// How many characters a terminal shows.
struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  friend bool operator==(TerminalSize, TerminalSize) = default;
};

struct RunOptions {
  std::string working_directory = {};         ///< as spelled by the caller; empty: the workspace root
  std::vector<std::string> environment = {};  ///< "NAME=VALUE"; see make_environment
  std::vector<std::string> removed_env = {};  ///< names that this one leaves out, for the facts
  Input input = Input::none();
  /// Gives the command a terminal of its own, of this size, as stdin, stdout and stderr and as the controlling terminal
  /// of its session. Nothing of it leads to a terminal of the caller's.
  ///
  /// All output is Stream::out, as a screen would get it: lines end in \r\n, and what is typed is echoed, until the
  /// command sets its terminal otherwise. The input is typed: a control character acts as its key does, a line of 4096
  /// bytes or more is cut by the kernel, and the end of the input is the end-of-file key, which programs that read keys
  /// take as they like. The terminal stays open after that; with Input::none nothing is typed. The environment is the
  /// caller's business, with TERM in it.
  std::optional<TerminalSize> terminal = {};
  std::size_t max_output = std::size_t{1} << 20;  ///< bytes kept per stream
  /// Where a stream of more than `max_output` bytes is copied to as a whole; nowhere when null.
  std::shared_ptr<const SpillDirectory> spill = {};
  std::uint64_t max_spill = std::uint64_t{64} << 20;  ///< bytes of such a copy
  /// Called with every piece of output as it arrives, on the thread that waits. Must not throw.
  std::function<void(Stream, std::string_view)> on_output = {};
  /// Gets the output as well, for whoever reads it bit by bit.
  std::shared_ptr<UnreadOutput> unread = {};
  Limits limits = {};
  /// What the command leaves running when it ends has this long to close the command's output. Then it is ended; what
  /// holds no output is ended at once.
  std::chrono::milliseconds drain_limit{500};
};

}  // namespace cordon::process
