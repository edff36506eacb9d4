// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cordon::detail {

/// The same text, or the text after `ancestor` begins with '/': lexical containment of canonical paths.
[[nodiscard]] inline bool is_within(std::string_view path, std::string_view ancestor) noexcept {
  if (ancestor == "/") return path.starts_with('/');
  return path.starts_with(ancestor) && (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

/// The same for any of some places.
template <class Places>
[[nodiscard]] bool is_within_any(std::string_view path, const Places& places) noexcept {
  return std::any_of(std::begin(places), std::end(places),
                     [&](std::string_view place) { return is_within(path, place); });
}

}  // namespace cordon::detail
