// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/detail/overloaded.hpp>
#include <cordon/mode.hpp>
#include <cordon/resource_limits.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// The part of the file tree that a policy speaks about. All paths are absolute and canonical: they name what the
/// kernel would reach, with no symlink left in them.
struct PolicyScope {
  std::string workspace_root = {};                   ///< a directory
  std::vector<std::string> extra_roots = {};         ///< further writable roots; directories or regular files
  std::vector<std::string> protected_paths = {};     ///< read-only inside the writable roots
  std::vector<std::string> linked_protections = {};  ///< those that were named through a symlink in a writable root
  std::vector<std::string> skipped_roots = {};       ///< optional roots that did not exist, as the caller spelled them
  std::optional<std::string> session_id = {};
  ResourceLimits resources = {};

  friend bool operator==(const PolicyScope&, const PolicyScope&) = default;
};

/// A mode together with the scope it applies to: what a confined command may do, decided once and immutable.
///
/// Only PolicyResolver mints one, and a grant that is used up. A Policy<DangerFullAccess> is therefore reached only
/// through the ExecutionPolicy that a resolver returned, or through what somebody allowed.
template <Mode M>
class Policy {
 public:
  using mode_type = M;

  [[nodiscard]] const PolicyScope& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::string& workspace_root() const noexcept { return scope_.workspace_root; }

  /// What this mode lets a command change: nothing under ReadOnly, the workspace root and the extra roots under
  /// WorkspaceWrite. Under DangerFullAccess the answer is everything, which no list can say: it is empty there too.
  [[nodiscard]] std::vector<std::string> writable_roots() const {
    std::vector<std::string> roots;
    if constexpr (std::is_same_v<M, WorkspaceWrite>) {
      roots.push_back(scope_.workspace_root);
      roots.insert(roots.end(), scope_.extra_roots.begin(), scope_.extra_roots.end());
    }
    return roots;
  }

 private:
  friend class PolicyResolver;
  friend class AllowedOnce;
  explicit Policy(PolicyScope scope) : scope_(std::move(scope)) {}
  PolicyScope scope_;
};

/// The policy for one execution, whichever mode it turned out to have. `visit` is the only way in, so a program that
/// can run something unconfined has a handler that says so.
class ExecutionPolicy {
 public:
  [[nodiscard]] SandboxMode mode() const noexcept {
    return std::visit([]<class M>(const Policy<M>&) { return SandboxMode{M{}}; }, policy_);
  }

  [[nodiscard]] const PolicyScope& scope() const noexcept {
    return std::visit([](const auto& policy) -> const PolicyScope& { return policy.scope(); }, policy_);
  }

  /// Calls the handler for the policy held. Handlers must cover all three modes and return the same type.
  template <class... Handlers>
  decltype(auto) visit(Handlers&&... handlers) const {
    using Visitor = detail::Overloaded<std::decay_t<Handlers>...>;
    constexpr bool exhaustive = std::is_invocable_v<Visitor&, const Policy<ReadOnly>&> &&
                                std::is_invocable_v<Visitor&, const Policy<WorkspaceWrite>&> &&
                                std::is_invocable_v<Visitor&, const Policy<DangerFullAccess>&>;
    static_assert(exhaustive,
                  "cordon: visiting an ExecutionPolicy must handle Policy<ReadOnly>, Policy<WorkspaceWrite> and "
                  "Policy<DangerFullAccess>; add the missing handler");
    if constexpr (exhaustive) return std::visit(Visitor{std::forward<Handlers>(handlers)...}, policy_);
  }

 private:
  friend class PolicyResolver;
  template <Mode M>
  explicit ExecutionPolicy(Policy<M> policy) : policy_(std::move(policy)) {}
  std::variant<Policy<ReadOnly>, Policy<WorkspaceWrite>, Policy<DangerFullAccess>> policy_;
};

}  // namespace cordon
