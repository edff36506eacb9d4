// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/approval/decision.hpp>
#include <cordon/detail/overloaded.hpp>
#include <cstddef>
#include <stop_token>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cordon {

class ApprovalRequest;

/// A type opts in to the answerer contract by `using cordon_concept = cordon::AnswererTag;`.
struct AnswererTag {};

/// The rest of a chain, as an answerer sees it that is no template: it must not outlive the call that it was given to.
/// Calling it asks the answerers behind; nobody there is `unavailable`.
class AnyNext {
 public:
  template <class Next>
  requires(!std::is_same_v<Next, AnyNext>) AnyNext(const Next& next)
  noexcept : next_(&next), ask_([](const void* to) { return (*static_cast<const Next*>(to))(); }), stop_(next.stop()) {}

  Decision operator()() const { return ask_(next_); }

  /// Asked for when nobody waits for the answer any more.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  const void* next_;
  Decision (*ask_)(const void*);
  std::stop_token stop_;
};

namespace detail {
template <class A>
concept OptedInAnswerer = std::derived_from<typename A::cordon_concept, AnswererTag> && std::move_constructible<A>;

/// Named for the compiler, which prints it.
template <class A>
concept AnswersWithADecision = requires(A& answerer, const ApprovalRequest& request, const AnyNext& next) {
  { answerer(request, next) } -> std::same_as<Decision>;
};

template <class A>
concept HasAName = requires {
  // Of the type itself: a signature is a view of it.
  typename std::integral_constant<std::size_t, std::string_view(A::name).size()>;
};
}  // namespace detail

/// A type that may decide an approval request: `Decision operator()(const ApprovalRequest&, const auto& next)`, which
/// answers, or passes the question on with `return next();`, and `static constexpr std::string_view name`, by which its
/// decisions are signed. It may also look at what `next()` said.
///
/// Whatever it throws is `unavailable`. Several threads may ask at one time. One whose answer takes no time says
/// `static constexpr bool immediate = true`; all others are asked where nobody waits for them who has been told to
/// stop, and should return when `next.stop()` asks for it.
template <class A>
concept Answerer = detail::OptedInAnswerer<A> && detail::HasAName<A> && detail::AnswersWithADecision<A>;

namespace detail {
template <class A>
inline constexpr bool is_immediate = false;
template <class A>
requires requires {
  requires A::immediate;
}
inline constexpr bool is_immediate<A> = true;

/// One check a reason, so that the compiler says which.
template <class A>
constexpr bool check_answerer() {
  constexpr bool opted_in = OptedInAnswerer<A>;
  static_assert(opted_in,
                "cordon: every argument of AnswererChain<...> must be a cordon::Answerer; write "
                "`using cordon_concept = cordon::AnswererTag` in it, and let it be movable");
  if constexpr (opted_in) {
    static_assert(HasAName<A>,
                  "cordon: an Answerer signs what it decides; write `static constexpr std::string_view name = "
                  "\"...\"` in it");
    static_assert(AnswersWithADecision<A>,
                  "cordon: an Answerer gives a cordon::Decision and nothing else; write `cordon::Decision "
                  "operator()(const cordon::ApprovalRequest&, const auto& next)`, and return Decision::allow(), "
                  "Decision::reject(), Decision::cancel(), Decision::unavailable() or next()");
  }
  return true;
}
}  // namespace detail

/// The answerers of a harness, in the order in which they are asked: the first that does not pass a request on decides
/// it. The empty chain answers nothing, so nothing that needs an approval is ever allowed.
template <class... Answerers>
class AnswererChain {
  static_assert((detail::check_answerer<Answerers>() && ...));

 public:
  static constexpr std::size_t size = sizeof...(Answerers);
  /// Nobody in it takes time for an answer.
  static constexpr bool immediate = (detail::is_immediate<Answerers> && ...);

  /// The same chain with one more answerer, that is asked first or last.
  template <class A>
  using prepend = AnswererChain<A, Answerers...>;
  template <class A>
  using append = AnswererChain<Answerers..., A>;

  AnswererChain() = default;
  explicit AnswererChain(Answerers... answerers) requires(sizeof...(Answerers) > 0)
      : answerers_(std::move(answerers)...) {}

  /// What the chain says. Throws what an answerer throws.
  Decision operator()(const ApprovalRequest& request, const std::stop_token& stop = {}) {
    return Rest<0>(*this, request, stop)();
  }

  template <std::size_t I>
  [[nodiscard]] auto& get() noexcept {
    return std::get<I>(answerers_);
  }

 private:
  /// The answerers from the I-th on.
  template <std::size_t I>
  class Rest {
   public:
    Rest(AnswererChain& chain, const ApprovalRequest& request, const std::stop_token& stop) noexcept
        : chain_(chain), request_(request), stop_(stop) {}

    Decision operator()() const {
      if constexpr (I == size) {
        return Decision::nobody();
      } else {
        Decision decision = std::get<I>(chain_.answerers_)(request_, Rest<I + 1>(chain_, request_, stop_));
        decision.sign(chain_.template get<I>().name);
        return decision;
      }
    }

    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

   private:
    AnswererChain& chain_;
    const ApprovalRequest& request_;
    const std::stop_token& stop_;
  };

  [[no_unique_address]] std::tuple<Answerers...> answerers_;
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
