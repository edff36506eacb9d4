// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/detail/utf8.hpp>
#include <cordon/process/options.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::process {

/// A piece of one output stream, without gaps, and where it lies in the whole. Two pieces never overlap. Its ends go
/// through no UTF-8 character, unless nothing more is to come.
struct Piece {
  std::string text;
  std::uint64_t offset = 0;   ///< bytes of the stream before `text`
  std::uint64_t dropped = 0;  ///< how many of those, right before `text`, were never given to anybody
  /// The file that the whole stream goes to, dropped bytes and all; empty without RunOptions::spill, for as long as
  /// nothing is in it, and when it could not hold all. It is complete when the command has its result.
  std::string spill = {};

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
    Pending& pending = of(stream);
    pending.seen += bytes.size();
    if (bytes.size() >= cap_) {
      pending.text.assign(bytes.substr(bytes.size() - cap_));
      return;
    }
    pending.text.append(bytes);
    if (pending.text.size() > 2 * cap_) keep_last(pending.text);
  }

  /// The whole stream goes, or went, to this file; to none when empty.
  void spills_to(Stream stream, std::string path) {
    const std::scoped_lock lock(mutex_);
    of(stream).spill = std::move(path);
  }

  /// Gives each byte at most once, in order. `last`: nothing more will come, so nothing is held back for it.
  [[nodiscard]] NewOutput take(bool last = false) {
    const std::scoped_lock lock(mutex_);
    return {take(out_, last), take(err_, last)};
  }

 private:
  struct Pending {
    std::string text;
    std::uint64_t seen = 0;   ///< bytes of the stream
    std::uint64_t given = 0;  ///< bytes of it before the end of the last piece
    std::string spill;
  };

  [[nodiscard]] Pending& of(Stream stream) noexcept { return stream == Stream::out ? out_ : err_; }

  void keep_last(std::string& text) const {
    if (text.size() > cap_) text.erase(0, text.size() - cap_);
  }

  [[nodiscard]] Piece take(Pending& pending, bool last) const {
    keep_last(pending.text);
    Piece piece{std::exchange(pending.text, {}), 0, 0, pending.spill};
    if (!last) {
      const std::size_t unfinished = cordon::detail::unfinished_length(piece.text);
      pending.text = piece.text.substr(piece.text.size() - unfinished);
      piece.text.resize(piece.text.size() - unfinished);
    }
    const std::uint64_t end = pending.seen - pending.text.size();
    if (end - piece.text.size() != pending.given) {  // the beginning of a character may be among what was dropped
      const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
      const auto limit = piece.text.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, piece.text.size()));
      piece.text.erase(piece.text.begin(), std::find_if_not(piece.text.begin(), limit, is_inside));
    }
    piece.offset = end - piece.text.size();
    piece.dropped = piece.offset - std::exchange(pending.given, end);
    return piece;
  }

  const std::size_t cap_;
  mutable std::mutex mutex_;
  Pending out_;
  Pending err_;
};

}  // namespace cordon::process
