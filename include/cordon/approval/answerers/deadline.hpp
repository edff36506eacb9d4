// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/request.hpp>
#include <cordon/approval/service.hpp>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

namespace cordon {

/// Gives an answerer so much time and no more: then it is `unavailable`, and what it says later is dropped. The thread
/// that it blocks is left to it. It may answer or pass the question on; what those behind it say it does not see.
template <class A>
class Deadline {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = A::name;

  Deadline(std::chrono::milliseconds limit, A answerer)
      : limit_(limit), alone_(std::make_shared<AnswererChain<A>>(std::move(answerer))) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) {
    // The thread may outlive this call, so it becomes an owner of the request.
    Decision decision = detail::ask_beside(alone_, request.shared_from_this(), next.stop(), limit_);
    return decision.is_from_nobody() ? next() : decision;
  }

 private:
  std::chrono::milliseconds limit_;
  std::shared_ptr<AnswererChain<A>> alone_;
};

}  // namespace cordon
