// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cordon::detail {

/// The length of the well-formed UTF-8 character that `text` begins with; 0 when it begins with none. Source: the table
/// of well-formed byte sequences in the Unicode standard, section 3.9.
[[nodiscard]] constexpr std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto within = [](unsigned value, unsigned low, unsigned high) { return value >= low && value <= high; };
  const auto follows = [&](std::size_t i) { return within(byte(i), 0x80, 0xbf); };
  if (text.empty()) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (within(lead, 0xc2, 0xdf)) return follows(1) ? 2 : 0;
  if (within(lead, 0xe0, 0xef)) {
    const bool second = within(byte(1), lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf);
    return second && follows(2) ? 3 : 0;
  }
  if (within(lead, 0xf0, 0xf4)) {
    const bool second = within(byte(1), lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// How many bytes at the end of `text` may be the beginning of a character whose rest is still to come: 0 to 3.
[[nodiscard]] constexpr std::size_t unfinished_length(std::string_view text) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0x80 && byte < 0xc0) continue;
    const std::size_t whole = byte < 0xc2 || byte > 0xf4 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return whole > back ? back : 0;
  }
  return 0;
}

}  // namespace cordon::detail
