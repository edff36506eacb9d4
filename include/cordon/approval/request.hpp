// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/action.hpp>
#include <cordon/os/linux/fd.hpp>
#include <memory>
#include <string>
#include <utility>

namespace cordon {

/// One question: may this action happen? Its id is a nonce of 128 bits, made here and used for nothing else, so that an
/// answer to one question is none to another. Move-only: asking takes it.
class ApprovalRequest : public std::enable_shared_from_this<ApprovalRequest> {
 public:
  /// `tool` is what the model called, `call_id` its number of that call, `reason` what a human is told about why. All
  /// of these may come from a model: show them neutralised (see display.hpp), never as they are.
  ApprovalRequest(std::string tool, Action action, std::string reason = {}, std::string call_id = {})
      : id_(os::random_name<os::Kernel>() + os::random_name<os::Kernel>()),
        tool_(std::move(tool)),
        action_(std::move(action)),
        reason_(std::move(reason)),
        call_id_(std::move(call_id)) {}
  ApprovalRequest(ApprovalRequest&&) noexcept = default;
  ApprovalRequest& operator=(ApprovalRequest&&) = delete;

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& tool() const noexcept { return tool_; }
  [[nodiscard]] const Action& action() const noexcept { return action_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] const std::string& call_id() const noexcept { return call_id_; }

 private:
  std::string id_;
  std::string tool_;
  Action action_;
  std::string reason_;
  std::string call_id_;
};

}  // namespace cordon
