// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/argv_prefix.hpp>
#include <cordon/session/event.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// What an answerer says about one request. Closed: there is no other answer, and no decision by default. A value type;
/// copies share their texts.
class [[nodiscard]] Decision {
 public:
  /// This action, once.
  static Decision allow() noexcept { return Decision(ApprovalResult::allowed_once); }

  /// This action, once; and for the rest of the session the user is not to be asked again about actions of the same
  /// mode, root and directory whose commands these begin. What they are must have been shown. It is no grant: each of
  /// those actions gets its own, with its own record.
  static Decision allow_and_remember(std::vector<ArgvPrefix> prefixes) {
    return Decision(ApprovalResult::allowed_once, {.remember = std::move(prefixes)});
  }

  static Decision reject(std::string reason = {}) { return because(ApprovalResult::rejected, std::move(reason)); }
  /// Whoever was asked does not want to be: the prompt was closed.
  static Decision cancel(std::string reason = {}) { return because(ApprovalResult::cancelled, std::move(reason)); }
  /// Whoever waits for it asked for a stop.
  static Decision stopped() { return cancel("it was stopped"); }
  /// Nobody could be asked.
  static Decision unavailable(std::string reason = {}) {
    return because(ApprovalResult::unavailable, std::move(reason));
  }
  /// Nobody answered.
  static Decision nobody() noexcept {
    Decision decision(ApprovalResult::unavailable);
    decision.signed_ = true;
    return decision;
  }

  [[nodiscard]] ApprovalResult result() const noexcept { return result_; }
  [[nodiscard]] std::string reason() const {
    if (is_from_nobody()) return "nobody is here who could answer";
    return texts_ ? texts_->reason : std::string();
  }
  /// Empty: nobody.
  [[nodiscard]] std::string answered_by() const {
    return texts_ && !texts_->signer.empty() ? texts_->signer : std::string(signer_);
  }
  [[nodiscard]] std::vector<ArgvPrefix> remember() const {
    return texts_ ? texts_->remember : std::vector<ArgvPrefix>();
  }
  [[nodiscard]] bool is_from_nobody() const noexcept {
    return signed_ && signer_.empty() && (!texts_ || texts_->signer.empty());
  }

  /// Signs it, unless somebody has. `answerer` must live as long as the program, as a name in a type does.
  void sign(std::string_view answerer) noexcept {
    if (signed_) return;
    signed_ = true;
    signer_ = answerer;
  }
  /// The same with a name that need not.
  void sign_by_copy(std::string answerer) {
    if (signed_) return;
    signed_ = true;
    Texts texts = texts_ ? *texts_ : Texts{};
    texts.signer = std::move(answerer);
    texts_ = std::make_shared<const Texts>(std::move(texts));
  }

 private:
  struct Texts {
    std::string reason = {};
    std::string signer = {};
    std::vector<ArgvPrefix> remember = {};
  };

  explicit Decision(ApprovalResult result) noexcept : result_(result) {}
  Decision(ApprovalResult result, Texts texts)
      : result_(result), texts_(std::make_shared<const Texts>(std::move(texts))) {}
  static Decision because(ApprovalResult result, std::string reason) {
    return reason.empty() ? Decision(result) : Decision(result, {.reason = std::move(reason)});
  }

  ApprovalResult result_;
  bool signed_ = false;
  std::string_view signer_ = {};
  std::shared_ptr<const Texts> texts_ = {};
};

}  // namespace cordon
