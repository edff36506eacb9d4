// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cordon {

/// A type opts in to the answerer contract by `using cordon_concept = cordon::AnswererTag;`.
struct AnswererTag {};

/// A type that may decide an approval request.
template <class A>
concept Answerer = std::derived_from<typename A::cordon_concept, AnswererTag> && std::movable<A>;

/// The answerers of a harness, in the order in which they are asked. The empty chain answers nothing, so nothing that
/// needs an approval is ever allowed.
template <class... Answerers>
class AnswererChain {
  static_assert((Answerer<Answerers> && ...),
                "cordon: every argument of AnswererChain<...> must be a cordon::Answerer; write "
                "`using cordon_concept = cordon::AnswererTag` in it, and let it be movable");

 public:
  static constexpr std::size_t size = sizeof...(Answerers);

  AnswererChain() = default;
  explicit AnswererChain(Answerers... answerers) requires(sizeof...(Answerers) > 0)
      : answerers_(std::move(answerers)...) {}

 private:
  std::tuple<Answerers...> answerers_;
};

namespace detail {
template <class>
inline constexpr bool is_answerer_chain = false;
template <class... As>
inline constexpr bool is_answerer_chain<AnswererChain<As...>> = true;
}  // namespace detail

template <class C>
concept AnswererChainLike = detail::is_answerer_chain<C>;

}  // namespace cordon
