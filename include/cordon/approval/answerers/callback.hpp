// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/request.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace cordon {

/// Asks a function of the program: `std::optional<Decision>(const ApprovalRequest&)`, empty to pass the question on.
/// `Callback<F, true>` is for one whose answer takes no time.
template <class F, bool Immediate = false>
class Callback {
  static_assert(
      requires(F & function, const ApprovalRequest& request) {
        { function(request) } -> std::same_as<std::optional<Decision>>;
      },
      "cordon: a Callback needs a function that takes a const cordon::ApprovalRequest& and gives a "
      "std::optional<cordon::Decision>, empty to pass the question on");

 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "callback";
  static constexpr bool immediate = Immediate;

  explicit Callback(F function) : function_(std::move(function)) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) {
    if (auto decision = function_(request)) return *std::move(decision);
    return next();
  }

 private:
  F function_;
};

/// For a program that has an answerer or has none: without one it passes everything on.
template <class A>
class Maybe {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = A::name;
  static constexpr bool immediate = detail::is_immediate<A>;

  Maybe() = default;
  explicit Maybe(A answerer) : answerer_(std::move(answerer)) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) {
    return answerer_ ? (*answerer_)(request, next) : next();
  }

 private:
  std::optional<A> answerer_;
};

/// An answerer for one session only, by its id: it is not asked about the actions of others (APR-07).
template <class A>
class ForSession {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = A::name;
  static constexpr bool immediate = detail::is_immediate<A>;

  ForSession(std::string session, A answerer) : session_(std::move(session)), answerer_(std::move(answerer)) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) {
    return request.action().scope().session_id == session_ ? answerer_(request, next) : next();
  }

 private:
  std::string session_;
  A answerer_;
};

}  // namespace cordon
