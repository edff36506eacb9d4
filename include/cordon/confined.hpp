// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/argv.hpp>
#include <cordon/detail/overloaded.hpp>
#include <cordon/dialect.hpp>
#include <cordon/enforcement.hpp>
#include <cordon/policy.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon {

namespace process {
class LaunchPlan;
}

/// What a backend answers when it is asked to confine an argv: plain data. It can't be spawned; `cordon::confine`
/// turns it into a ConfinedArgv.
struct Confinement {
  std::vector<std::string> argv;                      ///< to spawn instead of the command
  std::string backend;                                ///< the name of the backend that did it
  Enforcement enforcement;                            ///< as measured on this kernel, for this user
  DialectView dialect;                                ///< how it speaks: `Dialect<…>::view()`
  std::vector<std::string> best_effort;               ///< protected paths that a determined command could replace
  std::vector<std::string> shared_temp;               ///< directories of the host that it can write for temp files
  std::shared_ptr<const process::LaunchPlan> launch;  ///< how cordon's own spawn starts it; null: spawn `argv` as it is
  std::vector<std::string> private_temp = {};         ///< directories that it can write and nobody else sees
};

/// An argv that a backend wrapped under a Policy<M>: the only thing that may be spawned in a restricted mode.
///
/// `argv()` may be handed to any process library. What cordon::process::spawn adds is the out-of-band status (did the
/// runner fail, or the command?), descriptor hygiene and the end of the whole process tree.
template <ConfinedMode M>
class [[nodiscard(
    "cordon: the result of confine is the only thing that may be spawned; spawn it, or don't confine")]] ConfinedArgv {
 public:
  using mode_type = M;

  [[nodiscard]] const std::vector<std::string>& argv() const noexcept {
    return confinement_.argv;
  }
  [[nodiscard]] const Argv& command() const noexcept {
    return command_;
  }
  [[nodiscard]] const Policy<M>& policy() const noexcept {
    return policy_;
  }
  [[nodiscard]] const std::string& backend() const noexcept {
    return confinement_.backend;
  }
  [[nodiscard]] Enforcement enforcement() const noexcept {
    return confinement_.enforcement;
  }
  /// How its runner and its denials speak, for whoever spawns `argv` without cordon.
  [[nodiscard]] const DialectView& dialect() const noexcept {
    return confinement_.dialect;
  }
  /// Protected paths that are nested below a writable directory: a command that renames their parent can replace them.
  [[nodiscard]] const std::vector<std::string>& best_effort() const noexcept {
    return confinement_.best_effort;
  }
  /// Temp directories of the host that the command can write, because this backend has no private one to give.
  [[nodiscard]] const std::vector<std::string>& shared_temp() const noexcept {
    return confinement_.shared_temp;
  }
  /// Temp directories that are the command's own, by the names that they have for it.
  [[nodiscard]] const std::vector<std::string>& private_temp() const noexcept {
    return confinement_.private_temp;
  }
  [[nodiscard]] const process::LaunchPlan* launch() const noexcept {
    return confinement_.launch.get();
  }

 private:
  friend struct Confine;
  ConfinedArgv(Policy<M> policy, Argv command, Confinement confinement)
      : policy_(std::move(policy)), command_(std::move(command)), confinement_(std::move(confinement)) {}

  Policy<M> policy_;
  Argv command_;
  Confinement confinement_;
};

/// A ConfinedArgv whose enforcement is known to be full: what a function takes that must not run anything less.
template <ConfinedMode M>
class FullyConfinedArgv {
 public:
  /// Throws EnforcementPartialError, naming what is missing.
  [[nodiscard]] static FullyConfinedArgv require(ConfinedArgv<M> confined) {
    if (!confined.enforcement().full())
      throw EnforcementPartialError(
          "backend " + confined.backend() + " enforces " + std::string(M::name) +
          " only partially on this machine; not governed: " + to_string(confined.enforcement().missing()) +
          ". Use a backend that is full here (see `cordon probe`)");
    return FullyConfinedArgv(Checked{}, std::move(confined));
  }

  /// A partial result can't stand in for a full one; ask with `FullyConfinedArgv<M>::require`, which checks.
  template <ConfinedMode N>
  FullyConfinedArgv(const ConfinedArgv<N>&) {
    static_assert(detail::always_false<N>,
                  "cordon: a ConfinedArgv may be enforced only partially; write "
                  "cordon::require_full(std::move(confined)), which throws when it is");
  }

  [[nodiscard]] const ConfinedArgv<M>& confined() const noexcept { return confined_; }

 private:
  struct Checked {};
  FullyConfinedArgv(Checked, ConfinedArgv<M> confined) : confined_(std::move(confined)) {}
  ConfinedArgv<M> confined_;
};

/// Throws EnforcementPartialError unless the enforcement is full.
template <ConfinedMode M>
[[nodiscard]] FullyConfinedArgv<M> require_full(ConfinedArgv<M> confined) {
  return FullyConfinedArgv<M>::require(std::move(confined));
}

/// An argv that may run with no confinement, because a Policy<DangerFullAccess> said so. Move-only: one authority,
/// one execution.
class UnconfinedArgv {
 public:
  using mode_type = DangerFullAccess;

  UnconfinedArgv(const Policy<DangerFullAccess>& policy, Argv command)
      : scope_(policy.scope()), command_(std::move(command)) {}

  template <ConfinedMode M>
  UnconfinedArgv(const Policy<M>&, const Argv&) {
    static_assert(detail::always_false<M>,
                  "cordon: a restricted policy can't run a command unconfined; write harness.confine(policy, argv), or "
                  "visit an ExecutionPolicy and handle Policy<DangerFullAccess>");
  }

  template <std::same_as<ExecutionPolicy> Unvisited>
  UnconfinedArgv(const Unvisited&, const Argv&) {
    static_assert(detail::always_false<Unvisited>,
                  "cordon: an ExecutionPolicy may be restricted; write policy.visit(...), with a handler that makes an "
                  "UnconfinedArgv from Policy<DangerFullAccess>");
  }

  UnconfinedArgv(UnconfinedArgv&&) noexcept = default;
  UnconfinedArgv& operator=(UnconfinedArgv&&) noexcept = default;
  UnconfinedArgv(const UnconfinedArgv&) = delete;
  UnconfinedArgv& operator=(const UnconfinedArgv&) = delete;

  [[nodiscard]] const Argv& command() const noexcept { return command_; }
  [[nodiscard]] const PolicyScope& scope() const noexcept { return scope_; }

 private:
  PolicyScope scope_;
  Argv command_;
};

namespace detail {
template <class>
inline constexpr bool is_spawnable = false;
template <ConfinedMode M>
inline constexpr bool is_spawnable<ConfinedArgv<M>> = true;
template <ConfinedMode M>
inline constexpr bool is_spawnable<FullyConfinedArgv<M>> = true;
template <>
inline constexpr bool is_spawnable<UnconfinedArgv> = true;
}  // namespace detail

/// What may be started: something a backend confined, or something a DangerFullAccess policy let go.
template <class S>
concept Spawnable = detail::is_spawnable<std::remove_cvref_t<S>>;

}  // namespace cordon
