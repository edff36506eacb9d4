// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace cordon::detail {

/// Appends a byte as two lower case hexadecimal digits.
inline void append_hex(std::string& out, unsigned char byte) {
  constexpr const char* digits = "0123456789abcdef";
  out += digits[byte >> 4U];
  out += digits[byte & 15U];
}

}  // namespace cordon::detail
