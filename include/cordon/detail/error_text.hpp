// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <system_error>

namespace cordon::detail {

/// What errno `error` means, in the C locale's words.
[[nodiscard]] inline std::string error_text(int error) {
  return std::generic_category().message(error);
}

}  // namespace cordon::detail
