// SPDX-License-Identifier: BSL-1.0
#pragma once

// Composes a backend, an answerer chain and a partial rule into the thing that an agent program holds.
//
//   cordon::Harness<cordon::PlatformBackend> harness;
//   const auto policy = harness.resolve({.mode = cordon::workspace_write, .workspace_root = "/w"});
//   const auto argv = cordon::shell("make -j2");
//   const auto result = policy.visit(
//       [&](const cordon::Policy<cordon::DangerFullAccess>& p) { return harness.run(cordon::UnconfinedArgv(p, argv));
//       },
//       [&](const auto& p) { return harness.run(p, argv); });

#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/service.hpp>
#include <cordon/backend/backend.hpp>
#include <cordon/backend/refuse.hpp>
#include <cordon/partial_rule.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/running.hpp>
#include <memory>
#include <type_traits>
#include <utility>

namespace cordon {

/// The two gates in one type. Can't be copied: a Harness owns its answerers, and its backend together with the commands
/// that it started.
///
/// Thread-safe: `resolve`, `confine`, `start` and `run` may be called from several threads at once.
template <class B = Refuse, AnswererChainLike Chain = AnswererChain<>, PartialRule Rule = RefusePartialUnlessReadOnly>
class Harness {
  static_assert(
      Backend<B>,
      "cordon: Harness<Backend, ...> needs a backend type, for example cordon::PlatformBackend; a type of your "
      "own must say `using cordon_concept = cordon::BackendTag` and have a name, can_be_full<M>, probe, wrap and "
      "invalidate");

 public:
  /// Whether this composition can ever reach full enforcement of M: for a static_assert in a consumer's own build.
  template <ConfinedMode M>
  static constexpr bool backend_can_be_full = B::template can_be_full<M>;

  static_assert(
      Rule::template accepts_partial<ReadOnly> || Rule::template accepts_partial<WorkspaceWrite> ||
          backend_can_be_full<ReadOnly> || backend_can_be_full<WorkspaceWrite>,
      "cordon: this backend can never be full and this rule refuses anything less, so nothing could ever run; "
      "choose another backend, or cordon::RefusePartialUnlessReadOnly");

  Harness() = default;
  explicit Harness(B backend, Chain answerers = {}, ApprovalOptions options = {})
      : backend_(std::make_shared<B>(std::move(backend))), approvals_(std::move(answerers), std::move(options)) {}
  Harness(Harness&&) noexcept = default;
  Harness& operator=(Harness&&) noexcept = default;

  [[nodiscard]] B& backend() noexcept { return *backend_; }

  /// The second gate: see ApprovalService and run_escalated.
  [[nodiscard]] ApprovalService<Chain>& approvals() noexcept { return approvals_; }

  /// What a request comes to. Throws PolicyInvalidError; touches nothing.
  [[nodiscard]] ExecutionPolicy resolve(const PolicyRequest& request) const { return PolicyResolver::resolve(request); }

  /// Wraps an argv. Throws SandboxUnavailableError, or EnforcementPartialError when the rule refuses what the backend
  /// leaves ungoverned. Runs nothing.
  template <ConfinedMode M>
  ConfinedArgv<M> confine(const Policy<M>& policy, const Argv& command) {
    ConfinedArgv<M> confined = cordon::confine(*backend_, policy, command);
    if constexpr (!Rule::template accepts_partial<M>) (void)require_full(confined);
    return confined;
  }

  /// Full access has nothing to confine, and a policy that nobody looked into may be full access.
  template <class Other>
  requires(std::is_same_v<Other, Policy<DangerFullAccess>> ||
           std::is_same_v<Other, ExecutionPolicy>) void confine(const Other&, const Argv&) {
    static_assert(detail::always_false<Other>,
                  "cordon: confine takes a Policy<ReadOnly> or a Policy<WorkspaceWrite>; in full access write "
                  "cordon::UnconfinedArgv(policy, argv), and visit an ExecutionPolicy to learn which it is");
  }

  /// Confines and starts. What `run` throws at once is thrown here; what is known only at the end, by Running::wait.
  template <ConfinedMode M>
  [[nodiscard]] Running start(const Policy<M>& policy, const Argv& command, process::RunOptions options = {}) {
    return start(confine(policy, command), std::move(options));
  }

  /// Starts what was confined before.
  template <ConfinedMode M>
  [[nodiscard]] Running start(ConfinedArgv<M> confined, process::RunOptions options = {}) {
    const auto owned = std::make_shared<const ConfinedArgv<M>>(std::move(confined));
    read_by_handle(options);
    Running running = launch(*owned, std::move(options));
    running.confinement_ = owned;
    return running;
  }

  /// Starts with no confinement: only what came out of a Policy<DangerFullAccess>.
  [[nodiscard]] Running start(UnconfinedArgv command, process::RunOptions options = {}) {
    read_by_handle(options);
    return launch(std::move(command), std::move(options));
  }

  /// A raw argv, or a policy that nobody looked into, can't be started.
  template <class Raw, class... Rest>
  requires(!Spawnable<Raw> && !std::is_same_v<Raw, Policy<ReadOnly>> &&
           !std::is_same_v<Raw, Policy<WorkspaceWrite>>) void start(const Raw&, const Rest&...) {
    static_assert(
        detail::always_false<Raw>,
        "cordon: start takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv, a ConfinedArgv, or an "
        "UnconfinedArgv; get there by visiting the ExecutionPolicy that resolve returned");
  }

  /// Confines and runs. A runner that fails is a SandboxUnavailableError, never a result.
  template <ConfinedMode M>
  [[nodiscard]] RunResult run(const Policy<M>& policy, const Argv& command, process::RunOptions options = {}) {
    return run(confine(policy, command), std::move(options));
  }

  /// Runs what was confined before.
  template <ConfinedMode M>
  [[nodiscard]] RunResult run(const ConfinedArgv<M>& confined, process::RunOptions options = {}) {
    return launch(confined, std::move(options)).wait();
  }

  /// Runs with no confinement: only what came out of a Policy<DangerFullAccess>.
  [[nodiscard]] RunResult run(UnconfinedArgv command, process::RunOptions options = {}) {
    return launch(std::move(command), std::move(options)).wait();
  }

  /// A raw argv, or a policy that nobody looked into, can't be run.
  template <class Raw, class... Rest>
  requires(!Spawnable<Raw> && !std::is_same_v<Raw, Policy<ReadOnly>> &&
           !std::is_same_v<Raw, Policy<WorkspaceWrite>>) void run(const Raw&, const Rest&...) {
    static_assert(detail::always_false<Raw>,
                  "cordon: run takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv, a ConfinedArgv, or an "
                  "UnconfinedArgv; get there by visiting the ExecutionPolicy that resolve returned. A grant is run by "
                  "cordon::run_in(turn, harness, std::move(grant))");
  }

 private:
  /// Makes the handle a reader of the output.
  static void read_by_handle(process::RunOptions& options) {
    if (!options.unread) options.unread = std::make_shared<process::UnreadOutput>(options.max_output);
  }

  template <ConfinedMode M>
  [[nodiscard]] Running launch(const ConfinedArgv<M>& confined, process::RunOptions options) {
    if constexpr (!Rule::template accepts_partial<M>) (void)require_full(confined);
    DenialContext context = context_of(confined, options.working_directory);
    context.command_known = true;
    context.went_to = named_destinations(confined.command().elements(), options.environment);
    std::vector<std::string> language = language_variables(options.environment);
    RunFacts facts{M{},
                   confined.backend(),
                   confined.enforcement(),
                   confined.best_effort(),
                   confined.shared_temp(),
                   options.terminal};
    facts.removed_env = options.removed_env;
    try {
      Running running(std::move(facts), process::spawn(confined, std::move(options)));
      running.context_ = std::move(context);
      running.dialect_ = confined.dialect();
      running.language_ = std::move(language);
      running.invalidate_ = [backend = backend_] { backend->invalidate(); };
      return running;
    } catch (const SandboxUnavailableError&) {
      backend_->invalidate();
      throw;
    }
  }

  [[nodiscard]] static Running launch(UnconfinedArgv command, process::RunOptions options) {
    RunFacts facts{.mode = danger_full_access, .terminal = options.terminal};
    facts.removed_env = options.removed_env;
    return Running(std::move(facts), process::spawn(std::move(command), std::move(options)));
  }

  std::shared_ptr<B> backend_ = std::make_shared<B>();
  ApprovalService<Chain> approvals_;
};

}  // namespace cordon
