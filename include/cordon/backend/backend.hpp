// SPDX-License-Identifier: BSL-1.0
#pragma once

// The backend concept, and `confine`: the only function that makes a ConfinedArgv.
//
//   struct MyJail {
//     using cordon_concept = cordon::BackendTag;
//     static constexpr std::string_view name = "my-jail";
//     template <cordon::ConfinedMode M> static constexpr bool can_be_full = false;
//     template <cordon::ConfinedMode M> cordon::Availability probe(const cordon::Policy<M>&);
//     template <cordon::ConfinedMode M> cordon::Confinement wrap(const cordon::Policy<M>&, const cordon::Argv&);
//     void invalidate() noexcept;
//   };

#include <algorithm>
#include <concepts>
#include <cordon/confined.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// A type opts in to the backend contract by `using cordon_concept = cordon::BackendTag;`. Nothing becomes a backend
/// by having the right member names.
struct BackendTag {};

/// Whether a backend can confine under a given policy here and now: the enforcement it reaches, or the reason it
/// can't and what would help.
class Availability {
 public:
  struct Unusable {
    std::string reason;  ///< one line, what failed
    std::string remedy;  ///< one line, what an operator can do; never "use full access"
  };

  [[nodiscard]] static Availability usable(Enforcement enforcement) { return Availability{enforcement}; }
  [[nodiscard]] static Availability unusable(std::string reason, std::string remedy) {
    return Availability{Unusable{std::move(reason), std::move(remedy)}};
  }

  [[nodiscard]] bool usable() const noexcept { return std::holds_alternative<Enforcement>(state_); }
  /// Null when unusable.
  [[nodiscard]] const Enforcement* enforcement() const noexcept { return std::get_if<Enforcement>(&state_); }
  /// Null when usable.
  [[nodiscard]] const Unusable* problem() const noexcept { return std::get_if<Unusable>(&state_); }

 private:
  explicit Availability(std::variant<Enforcement, Unusable> state) : state_(std::move(state)) {}
  std::variant<Enforcement, Unusable> state_;
};

/// The opt-in clause.
template <class B>
concept TaggedAsBackend = std::derived_from<typename B::cordon_concept, BackendTag>;

/// It has a name to put into facts and errors.
template <class B>
concept NamedBackend = requires {
  { B::name } -> std::convertible_to<std::string_view>;
};

/// It says at compile time whether it can ever be full in mode M.
template <class B, class M>
concept KnowsItsLimits = requires {
  requires std::same_as<decltype(B::template can_be_full<M>), const bool>;
};

/// It can find out whether it works under a policy.
template <class B, class M>
concept ProbesUnder = requires(B& backend, const Policy<M>& policy) {
  { backend.probe(policy) } -> std::same_as<Availability>;
};

/// It can wrap an argv under a policy.
template <class B, class M>
concept WrapsUnder = requires(B& backend, const Policy<M>& policy, const Argv& argv) {
  { backend.wrap(policy, argv) } -> std::same_as<Confinement>;
};

/// It forgets what it learned when a runner turned out not to work.
template <class B>
concept ForgetsVerdicts = requires(B& backend) {
  { backend.invalidate() }
  noexcept;
};

/// A policy type that confines commands. Satisfied by Refuse, Bubblewrap, FirstUsable and your own types.
///
/// Laws, tested over every model in tests/unit/backend_laws.cpp and tests/kernel:
///  - `wrap` never returns the caller's argv unchanged, and throws SandboxUnavailableError when it can't confine;
///  - the enforcement it reports is what an attack on this kernel finds;
///  - `probe` costs nothing the second time, until `invalidate`;
///  - `probe` and `wrap` may be called from several threads at once.
template <class B>
concept Backend = TaggedAsBackend<B> && NamedBackend<B> && std::movable<B> && ForgetsVerdicts<B> &&
    KnowsItsLimits<B, ReadOnly> && KnowsItsLimits<B, WorkspaceWrite> && ProbesUnder<B, ReadOnly> &&
    ProbesUnder<B, WorkspaceWrite> && WrapsUnder<B, ReadOnly> && WrapsUnder<B, WorkspaceWrite>;

/// The protected paths that a command can put others in the place of: by renaming the directory above one that is not a
/// direct child of a writable root (F35), or by exchanging the symlink through which it was named (F26).
[[nodiscard]] inline std::vector<std::string> replaceable_protections(const std::vector<std::string>& roots,
                                                                      const PolicyScope& scope) {
  std::vector<std::string> replaceable;
  for (const std::string& path : scope.protected_paths) {
    const std::string parent = path.substr(0, path.rfind('/'));
    const auto is_parent = [&](const std::string& root) { return root == parent || (root == "/" && parent.empty()); };
    const auto& linked = scope.linked_protections;
    if (std::none_of(roots.begin(), roots.end(), is_parent) ||
        std::find(linked.begin(), linked.end(), path) != linked.end())
      replaceable.push_back(path);
  }
  return replaceable;
}

namespace detail {

/// What `backend` makes of `command`. Throws SandboxUnavailableError when that is the command as it was, with nothing
/// that starts it otherwise.
template <class B, ConfinedMode M>
[[nodiscard]] Confinement wrapped(B& backend, const Policy<M>& policy, const Argv& command) {
  Confinement confinement = backend.wrap(policy, command);
  if (confinement.argv.empty() || (confinement.argv == command.elements() && confinement.launch == nullptr))
    throw SandboxUnavailableError("backend " + confinement.backend +
                                  " gave the command back as it was; a backend must wrap it or refuse");
  return confinement;
}

}  // namespace detail

/// The type of `cordon::confine`, the only thing that can make a ConfinedArgv.
struct Confine {
  /// Wraps `command` under `policy`. Throws SandboxUnavailableError when the backend can't confine it; nothing is
  /// executed either way. Thread-safe when the backend is. That the result must be used is said by ConfinedArgv itself:
  /// a second [[nodiscard]] here would hide its sentence.
  template <class B, ConfinedMode M>
  ConfinedArgv<M> operator()(B& backend, const Policy<M>& policy, const Argv& command) const {
    static_assert(Backend<B>,
                  "cordon: this type is not a backend; it needs `using cordon_concept = cordon::BackendTag`, a name, "
                  "can_be_full<M>, probe, wrap and a noexcept invalidate (see cordon/backend/backend.hpp)");
    return ConfinedArgv<M>(policy, command, detail::wrapped(backend, policy, command));
  }

  /// DangerFullAccess has nothing to confine.
  template <class B>
  void operator()(B&, const Policy<DangerFullAccess>&, const Argv&) const {
    static_assert(detail::always_false<B>,
                  "cordon: confine takes a Policy<ReadOnly> or a Policy<WorkspaceWrite>; in full access write "
                  "cordon::UnconfinedArgv(policy, argv)");
  }
};

inline constexpr Confine confine{};

}  // namespace cordon
