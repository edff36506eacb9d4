// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/process/options.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::process {

/// A piece of one output stream, without gaps, and where it lies in the whole. Two pieces never overlap.
struct Piece {
  std::string text;
  std::uint64_t offset = 0;   ///< bytes of the stream before `text`
  std::uint64_t dropped = 0;  ///< how many of those, right before `text`, were never given to anybody

  [[nodiscard]] bool lost_some() const noexcept { return dropped != 0; }
};

/// What came on both streams since the last time that it was taken.
struct NewOutput {
  Piece out;
  Piece err;
};

/// Output that nobody has taken yet: per stream the last `cap` bytes. What comes before those is dropped and counted,
/// so a reader that is too slow loses the oldest, and knows how much. Holds at most twice the cap of each stream.
/// Thread-safe.
class UnreadOutput {
 public:
  explicit UnreadOutput(std::size_t cap) noexcept : cap_(cap) {}

  void append(Stream stream, std::string_view bytes) {
    const std::scoped_lock lock(mutex_);
    Pending& pending = stream == Stream::out ? out_ : err_;
    pending.seen += bytes.size();
    if (bytes.size() >= cap_) {
      pending.text.assign(bytes.substr(bytes.size() - cap_));
      return;
    }
    pending.text.append(bytes);
    if (pending.text.size() > 2 * cap_) keep_last(pending.text);
  }

  /// Gives each byte at most once, in order.
  [[nodiscard]] NewOutput take() {
    const std::scoped_lock lock(mutex_);
    return {take(out_), take(err_)};
  }

 private:
  struct Pending {
    std::string text;
    std::uint64_t seen = 0;   ///< bytes of the stream
    std::uint64_t given = 0;  ///< bytes of it before the end of the last piece
  };

  void keep_last(std::string& text) const {
    if (text.size() > cap_) text.erase(0, text.size() - cap_);
  }

  [[nodiscard]] Piece take(Pending& pending) const {
    keep_last(pending.text);
    Piece piece{std::exchange(pending.text, {}), 0, 0};
    piece.offset = pending.seen - piece.text.size();
    piece.dropped = piece.offset - std::exchange(pending.given, pending.seen);
    return piece;
  }

  const std::size_t cap_;
  mutable std::mutex mutex_;
  Pending out_;
  Pending err_;
};

}  // namespace cordon::process
