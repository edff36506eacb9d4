// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace cordon::detail {

/// A visitor put together from several callables.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// False for every type: lets a static_assert in a template fire only when that template is used.
template <class...>
inline constexpr bool always_false = false;

}  // namespace cordon::detail
