// SPDX-License-Identifier: BSL-1.0
#pragma once

// The only gateway to Boost.Hana in the vocabulary: a type list, and a type's place in it. Hana's own types never
// reach a signature of cordon, so they never reach a diagnostic either.

#include <boost/hana/equal.hpp>
#include <boost/hana/index_if.hpp>
#include <boost/hana/not_equal.hpp>
#include <boost/hana/optional.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <cstddef>
#include <type_traits>

namespace cordon::detail {

/// An ordered list of types, narrowest first.
template <class... Ts>
struct TypeOrder {
  static constexpr auto types = boost::hana::tuple_t<Ts...>;

  template <class T>
  static constexpr bool contains = (std::is_same_v<T, Ts> || ...);

  /// The place of T, counted from 0. T must be in the list.
  template <class T>
  static constexpr std::size_t rank = std::remove_reference_t<
      decltype(boost::hana::index_if(types, boost::hana::equal.to(boost::hana::type_c<T>)).value())>::value;
};

}  // namespace cordon::detail
