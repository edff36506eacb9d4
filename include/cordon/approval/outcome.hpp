// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/request.hpp>
#include <cordon/detail/overloaded.hpp>
#include <cordon/error.hpp>
#include <cordon/policy.hpp>
#include <cordon/session/event.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace cordon {

namespace detail {
template <class Log>
class Question;
struct UseGrant;
}  // namespace detail

/// Leave to do one action, once: it owns the very action that was asked about, and `run_in(turn, harness,
/// std::move(grant))` does that one and no other, and uses it up. Move-only, and only the ApprovalService makes one. It
/// is of no use outside the turn that it was asked for in.
class [[nodiscard]] AllowedOnce {
 public:
  AllowedOnce(AllowedOnce&&) noexcept = default;
  AllowedOnce& operator=(AllowedOnce&&) = delete;
  AllowedOnce(const AllowedOnce&) = delete;
  AllowedOnce& operator=(const AllowedOnce&) = delete;

  /// Of the question. Throws ApprovalError (APPROVAL_USED) when it was moved from.
  [[nodiscard]] const std::string& id() const { return request().id(); }
  /// As it will run. Throws as `id`.
  [[nodiscard]] const Action& action() const { return request().action(); }

 private:
  template <class Log>
  friend class detail::Question;
  friend struct detail::UseGrant;

  AllowedOnce(std::shared_ptr<const ApprovalRequest> request, std::shared_ptr<const void> session, std::uint64_t turn)
      : request_(std::move(request)), session_(std::move(session)), turn_(turn) {}

  [[nodiscard]] const ApprovalRequest& request() const {
    if (!request_)
      throw ApprovalError(ErrorCode::approval_used,
                          "this grant was used already, for one action as it says; ask again");
    return *request_;
  }

  template <Mode M>
  [[nodiscard]] Policy<M> policy() const {
    return Policy<M>(action().scope());
  }

  std::shared_ptr<const ApprovalRequest> request_;
  std::shared_ptr<const void> session_;  ///< that it was given in: this very one, whatever others are called
  std::uint64_t turn_;
};

/// Whoever decides said no.
struct Rejected {
  std::string reason = {};
};
/// The question was taken back: the turn was stopped, or whoever was asked closed the prompt.
struct Cancelled {
  std::string reason = {};
};
/// Nobody could decide: nobody is there, or failed, or took too long.
struct Unavailable {
  std::string reason = {};
};

/// What became of a question. Closed: exactly one of the four.
class [[nodiscard]] ApprovalOutcome {
 public:
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] ApprovalResult result() const noexcept { return static_cast<ApprovalResult>(value_.index()); }
  /// Empty: nobody.
  [[nodiscard]] const std::string& answered_by() const noexcept { return answered_by_; }

  /// Calls the handler for what it is, with the grant itself when there is one. Handlers must cover AllowedOnce,
  /// Rejected, Cancelled and Unavailable, and return the same type.
  template <class... Handlers>
  decltype(auto) visit(Handlers&&... handlers) && {
    using Visitor = detail::Overloaded<std::decay_t<Handlers>...>;
    constexpr bool exhaustive = std::is_invocable_v<Visitor&, AllowedOnce> && std::is_invocable_v<Visitor&, Rejected> &&
                                std::is_invocable_v<Visitor&, Cancelled> && std::is_invocable_v<Visitor&, Unavailable>;
    static_assert(exhaustive,
                  "cordon: visiting an ApprovalOutcome must handle AllowedOnce, Rejected, Cancelled and Unavailable; "
                  "add the missing handler (AllowedOnce by value)");
    if constexpr (exhaustive) return std::visit(Visitor{std::forward<Handlers>(handlers)...}, std::move(value_));
  }

 private:
  template <class Log>
  friend class detail::Question;
  using Value = std::variant<AllowedOnce, Rejected, Cancelled, Unavailable>;
  static_assert(static_cast<int>(ApprovalResult::allowed_once) == 0 &&
                static_cast<int>(ApprovalResult::rejected) == 1 && static_cast<int>(ApprovalResult::cancelled) == 2 &&
                static_cast<int>(ApprovalResult::unavailable) == 3);

  ApprovalOutcome(std::string id, std::string answered_by, Value value)
      : id_(std::move(id)), answered_by_(std::move(answered_by)), value_(std::move(value)) {}

  std::string id_;
  std::string answered_by_;
  Value value_;
};

}  // namespace cordon
