// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cordon/detail/mode_order.hpp>
#include <cordon/detail/overloaded.hpp>
#include <cordon/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cordon {

/// Everything can be read and executed, nothing can be changed except the sinks (`/dev/null` and its like).
struct ReadOnly {
  static constexpr std::string_view name = "read-only";
  friend constexpr bool operator==(ReadOnly, ReadOnly) = default;
};

/// As ReadOnly, and the workspace root, the extra writable roots and the private temp area can be changed.
struct WorkspaceWrite {
  static constexpr std::string_view name = "workspace-write";
  friend constexpr bool operator==(WorkspaceWrite, WorkspaceWrite) = default;
};

/// No confinement at all. A command gets here only by visiting an ExecutionPolicy.
struct DangerFullAccess {
  static constexpr std::string_view name = "danger-full-access";
  friend constexpr bool operator==(DangerFullAccess, DangerFullAccess) = default;
};

inline constexpr ReadOnly read_only{};
inline constexpr WorkspaceWrite workspace_write{};
inline constexpr DangerFullAccess danger_full_access{};

namespace detail {
using ModeOrder = TypeOrder<ReadOnly, WorkspaceWrite, DangerFullAccess>;

/// Named for the compiler, which prints it when a type is no Mode.
template <class M>
inline constexpr bool is_read_only_workspace_write_or_danger_full_access = ModeOrder::contains<M>;
}  // namespace detail

/// One of the three mode tags. The set is closed: a type of your own is never a Mode.
template <class M>
concept Mode = detail::is_read_only_workspace_write_or_danger_full_access<M>;

/// A mode that only runs behind a backend. DangerFullAccess is not one, which is why `confine` cannot take it.
template <class M>
concept ConfinedMode = Mode<M> && !std::is_same_v<M, DangerFullAccess>;

/// Wide permits strictly more than Narrow. Source: SBX-10.
template <class Wide, class Narrow>
concept WiderThan = Mode<Wide> && Mode<Narrow> &&(detail::ModeOrder::rank<Wide> > detail::ModeOrder::rank<Narrow>);

/// The closed run-time sum of the three modes: what a log, a command line or a configuration names.
///
/// There is no default mode and no unknown one; `parse` refuses every other spelling. A value type, safe to copy
/// and compare from any thread.
class SandboxMode {
 public:
  template <Mode M>
  constexpr SandboxMode(M mode) noexcept : mode_{mode} {}

  /// The mode with exactly this wire name. Throws PolicyInvalidError for every other text.
  static SandboxMode parse(std::string_view name) {
    if (name == ReadOnly::name) return read_only;
    if (name == WorkspaceWrite::name) return workspace_write;
    if (name == DangerFullAccess::name) return danger_full_access;
    throw PolicyInvalidError("unknown mode '" + std::string(name) +
                             "'; write read-only, workspace-write or danger-full-access");
  }

  /// The wire name.
  [[nodiscard]] constexpr std::string_view name() const noexcept {
    return std::visit([](auto mode) { return mode.name; }, mode_);
  }

  [[nodiscard]] constexpr bool wider_than(SandboxMode other) const noexcept {
    return mode_.index() > other.mode_.index();
  }

  [[nodiscard]] constexpr bool confined() const noexcept { return !std::holds_alternative<DangerFullAccess>(mode_); }

  /// Calls the handler for the mode held. Handlers must cover all three modes and return the same type.
  template <class... Handlers>
  constexpr decltype(auto) visit(Handlers&&... handlers) const {
    using Visitor = detail::Overloaded<std::decay_t<Handlers>...>;
    static_assert(std::is_invocable_v<Visitor&, ReadOnly> && std::is_invocable_v<Visitor&, WorkspaceWrite> &&
                      std::is_invocable_v<Visitor&, DangerFullAccess>,
                  "cordon: visiting a SandboxMode must handle ReadOnly, WorkspaceWrite and DangerFullAccess; add the "
                  "missing one");
    return std::visit(Visitor{std::forward<Handlers>(handlers)...}, mode_);
  }

  friend constexpr bool operator==(const SandboxMode&, const SandboxMode&) noexcept = default;

 private:
  std::variant<ReadOnly, WorkspaceWrite, DangerFullAccess> mode_;
};

}  // namespace cordon
