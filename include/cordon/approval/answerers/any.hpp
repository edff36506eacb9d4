// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/request.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cordon {

/// An answerer that is only known at run time: any other one, or a function that answers in words. Decisions are signed
/// with the name that it was given.
class AnyAnswerer {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "any";

  /// Another answerer, with its type forgotten.
  template <class A>
  requires(!std::same_as<A, AnyAnswerer>) && Answerer<A> explicit AnyAnswerer(A answerer)
      : name_(A::name),
  answer_([held = std::make_shared<A>(std::move(answerer))](const ApprovalRequest& request, const AnyNext& next) {
    return (*held)(request, next);
  }) {}

  /// A function that gives the wire name of an outcome, or nothing to pass the question on. Any other word is
  /// `unavailable` (APR-05).
  AnyAnswerer(std::string who, std::function<std::optional<std::string>(const ApprovalRequest&)> words)
      : name_(std::move(who)), answer_([words = std::move(words)](const ApprovalRequest& request, const AnyNext& next) {
          const auto word = words(request);
          return word ? meaning_of(*word) : next();
        }) {}

  Decision operator()(const ApprovalRequest& request, const AnyNext& next) const {
    Decision decision = answer_(request, next);
    decision.sign_by_copy(name_);
    return decision;
  }

  /// What a word from outside means.
  static Decision meaning_of(std::string_view word) {
    if (word == cordon::name(ApprovalResult::allowed_once)) return Decision::allow();
    if (word == cordon::name(ApprovalResult::rejected)) return Decision::reject();
    if (word == cordon::name(ApprovalResult::cancelled)) return Decision::cancel();
    if (word == cordon::name(ApprovalResult::unavailable)) return Decision::unavailable("it says so");
    return Decision::unavailable("it gave an answer that is none");
  }

 private:
  std::string name_;
  std::function<Decision(const ApprovalRequest&, const AnyNext&)> answer_;
};

}  // namespace cordon
