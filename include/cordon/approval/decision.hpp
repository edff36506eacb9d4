// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/argv_prefix.hpp>
#include <cordon/session/event.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// What an answerer says about one request. Closed: there is no other answer, and no decision by default.
class [[nodiscard]] Decision {
 public:
  /// This action, once.
  static Decision allow() { return Decision(ApprovalResult::allowed_once, {}); }

  /// This action, once; and for the rest of the session the user is not to be asked again about actions of the same
  /// mode, root and directory whose commands these begin. What they are must have been shown. It is no grant: each of
  /// those actions gets its own, with its own record.
  static Decision allow_and_remember(std::vector<ArgvPrefix> prefixes) {
    Decision decision = allow();
    decision.remember_ = std::move(prefixes);
    return decision;
  }

  static Decision reject(std::string reason = {}) { return Decision(ApprovalResult::rejected, std::move(reason)); }
  /// Whoever was asked does not want to be: the prompt was closed.
  static Decision cancel(std::string reason = {}) { return Decision(ApprovalResult::cancelled, std::move(reason)); }
  /// Nobody could be asked.
  static Decision unavailable(std::string reason = {}) {
    return Decision(ApprovalResult::unavailable, std::move(reason));
  }

  /// Nobody answered.
  static Decision nobody() {
    Decision decision = unavailable("nobody is here who could answer");
    decision.signed_ = true;
    return decision;
  }

  [[nodiscard]] ApprovalResult result() const noexcept { return result_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// Empty: nobody.
  [[nodiscard]] const std::string& answered_by() const noexcept { return answered_by_; }
  [[nodiscard]] const std::vector<ArgvPrefix>& remember() const noexcept { return remember_; }

  [[nodiscard]] bool is_from_nobody() const noexcept { return signed_ && answered_by_.empty(); }

  /// Signs it, unless somebody has.
  void sign(std::string_view answerer) {
    if (!std::exchange(signed_, true)) answered_by_ = answerer;
  }

 private:
  Decision(ApprovalResult result, std::string reason) : result_(result), reason_(std::move(reason)) {}

  ApprovalResult result_;
  std::string reason_;
  std::string answered_by_;
  bool signed_ = false;
  std::vector<ArgvPrefix> remember_;
};

}  // namespace cordon
