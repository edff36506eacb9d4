// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::process {

/// What is kept of one output stream: all of it up to a cap in bytes; beyond that the first and the last half of the
/// cap. Never holds more than twice the cap, however much is written.
class Capture {
 public:
  explicit Capture(std::size_t cap) : cap_(cap) {}

  void append(std::string_view bytes) {
    seen_ += bytes.size();
    if (kept_.size() < head_size()) {
      const std::size_t room = std::min(bytes.size(), head_size() - kept_.size());
      kept_.append(bytes.substr(0, room));
      bytes.remove_prefix(room);
    }
    tail_.append(bytes);
    const std::size_t tail_size = cap_ - head_size();
    if (tail_.size() > 2 * tail_size) tail_.erase(0, tail_.size() - tail_size);
  }

  /// Bytes that the command wrote, kept or not.
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
  [[nodiscard]] bool truncated() const noexcept { return seen_ > cap_; }

  /// The kept bytes, without a mark where the middle is missing.
  [[nodiscard]] std::string text() const {
    const std::size_t tail_size = cap_ - head_size();
    return kept_ + (tail_.size() > tail_size ? tail_.substr(tail_.size() - tail_size) : tail_);
  }

 private:
  [[nodiscard]] std::size_t head_size() const noexcept { return cap_ / 2; }

  std::size_t cap_;
  std::uint64_t seen_ = 0;
  std::string kept_;
  std::string tail_;
};

}  // namespace cordon::process
