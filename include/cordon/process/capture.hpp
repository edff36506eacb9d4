// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/detail/utf8.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::process {

/// What became of the file that all of a stream was to be copied to; see SpillDirectory.
struct SpillFacts {
  enum class State {
    complete,  ///< `path` holds every byte that was read
    over_cap,  ///< it would have become larger than it may, and was removed
    failed,    ///< the system refused a step, and it was removed
  };
  State state = State::complete;
  std::uint64_t bytes = 0;  ///< written to it, also when it was removed then
  int error = 0;            ///< errno of the step that failed
  std::string path = {};    ///< empty unless complete

  friend bool operator==(const SpillFacts&, const SpillFacts&) = default;
};

[[nodiscard]] constexpr std::string_view name(SpillFacts::State state) noexcept {
  switch (state) {
    case SpillFacts::State::complete:
      return "complete";
    case SpillFacts::State::over_cap:
      return "over-cap";
    case SpillFacts::State::failed:
      return "failed";
  }
  return "unknown";
}

/// What is kept of one output stream: all of it up to a cap in bytes; beyond that its beginning and its end, half the
/// cap each, without a UTF-8 character that the cut goes through. Bytes that are no UTF-8 are kept as they are, and so
/// is a character that the stream itself ends in the middle of.
///
/// Holds the cap and six bytes, and less while less was written. For one thread at a time.
class Capture {
 public:
  /// Keeps `cap` bytes; 0 counts and keeps none.
  explicit Capture(std::size_t cap) : cap_(std::min(cap, std::numeric_limits<std::size_t>::max() / 2)) {}

  /// Takes the next bytes of the stream. Throws std::bad_alloc, and then has taken none or some of them.
  void append(std::string_view bytes) {
    const std::size_t first = std::min(bytes.size(), size() - store_.size());
    if (const std::size_t needed = store_.size() + first; needed > store_.capacity())
      store_.reserve(std::min(size(), std::max(needed, 2 * store_.capacity())));
    store_.insert(store_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(first));
    bytes.remove_prefix(first);
    seen_ += first;
    const std::size_t passed = bytes.size() - std::min(bytes.size(), ring_size());
    bytes.remove_prefix(passed);
    seen_ += passed;
    while (!bytes.empty()) {
      const std::size_t at = place_of(seen_);
      const std::size_t count = std::min(bytes.size(), size() - at);
      std::copy_n(bytes.begin(), count, store_.begin() + static_cast<std::ptrdiff_t>(at));
      bytes.remove_prefix(count);
      seen_ += count;
    }
  }

  /// The most that it keeps, in bytes.
  [[nodiscard]] std::size_t cap() const noexcept { return cap_; }
  /// Bytes that the command wrote, kept or not.
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
  /// The size of `text()`.
  [[nodiscard]] std::uint64_t kept() const { return head_end() + (seen_ - tail_begin()); }
  /// Bytes that are missing between `head()` and `tail()`.
  [[nodiscard]] std::uint64_t dropped() const { return seen_ - kept(); }
  [[nodiscard]] bool truncated() const noexcept { return seen_ > cap_; }

  /// The kept bytes before those that are missing; all when none is.
  [[nodiscard]] std::string head() const { return slice(0, head_end()); }
  /// The kept bytes behind those that are missing; none when none is.
  [[nodiscard]] std::string tail() const { return slice(tail_begin(), seen_); }
  /// The kept bytes, without a mark where the middle is missing.
  [[nodiscard]] std::string text() const { return head() + tail(); }

  /// The kept bytes for a reader: with a line where the middle is missing that says how much it is and, when a spill
  /// was asked for, where the whole is. A command can write such a line itself; `dropped()` can't be forged.
  [[nodiscard]] std::string marked_text() const {
    if (!truncated()) return text();
    std::string marked = head();
    if (!marked.empty() && !marked.ends_with('\n')) marked += '\n';
    marked += "[… " + std::to_string(dropped()) + " bytes left out";
    if (spill_) marked += spill_->path.empty() ? "; no file has the whole" : "; the whole is in " + spill_->path;
    return marked + " …]\n" + tail();
  }

  /// Empty when none was asked for, and when the kept bytes are the whole.
  [[nodiscard]] const std::optional<SpillFacts>& spill() const noexcept { return spill_; }
  void set_spill(SpillFacts facts) { spill_ = std::move(facts); }

 private:
  /// Bytes beyond each cut that tell whether it goes through a character.
  static constexpr std::size_t context = 3;

  [[nodiscard]] std::size_t head_size() const noexcept { return cap_ / 2; }
  [[nodiscard]] std::size_t tail_size() const noexcept { return cap_ - head_size(); }

  // The store: the first bytes of the stream, then a ring of the latest.
  [[nodiscard]] std::size_t size() const noexcept { return cap_ + 2 * context; }
  [[nodiscard]] std::size_t ring_begin() const noexcept { return head_size() + context; }
  [[nodiscard]] std::size_t ring_size() const noexcept { return tail_size() + context; }
  [[nodiscard]] std::size_t place_of(std::uint64_t offset) const noexcept {
    if (offset < ring_begin()) return static_cast<std::size_t>(offset);
    return ring_begin() + static_cast<std::size_t>((offset - ring_begin()) % ring_size());
  }

  /// The bytes of the stream from `begin` to `end`, which must be in the store.
  [[nodiscard]] std::string slice(std::uint64_t begin, std::uint64_t end) const {
    std::string bytes;
    bytes.reserve(static_cast<std::size_t>(end - begin));
    while (begin < end) {
      const std::size_t at = place_of(begin);
      const std::size_t room = (at < ring_begin() ? ring_begin() : size()) - at;
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(room, end - begin));
      bytes.append(store_.data() + at, count);
      begin += count;
    }
    return bytes;
  }

  /// Where the character that a cut at `offset` goes through begins and ends; `offset` twice when it goes through none.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> character_around(std::uint64_t offset) const {
    for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(context, offset); ++back) {
      const std::uint64_t begin = offset - back;
      const std::size_t length = cordon::detail::character_length(slice(begin, std::min(seen_, offset + context)));
      if (length > back) return {begin, begin + length};
    }
    return {offset, offset};
  }

  [[nodiscard]] std::uint64_t head_end() const { return truncated() ? character_around(head_size()).first : seen_; }
  [[nodiscard]] std::uint64_t tail_begin() const {
    return truncated() ? character_around(seen_ - tail_size()).second : seen_;
  }

  std::size_t cap_;
  std::uint64_t seen_ = 0;
  std::vector<char> store_;
  std::optional<SpillFacts> spill_;
};

}  // namespace cordon::process
