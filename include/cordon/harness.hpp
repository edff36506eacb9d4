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
#include <cordon/backend/backend.hpp>
#include <cordon/backend/refuse.hpp>
#include <cordon/classify/denial.hpp>
#include <cordon/partial_rule.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/spawn.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// How a command ended. What a runner did wrong is never in here.
using CommandEnding = std::variant<process::Exited, process::Signalled, process::TimedOut, process::Cancelled,
                                   process::OutputLimit, process::NotExecutable>;

/// The facts of one execution.
struct RunResult {
  SandboxMode mode;
  std::string backend;                     ///< empty without confinement
  std::optional<Enforcement> enforcement;  ///< empty without confinement
  CommandEnding ending;
  process::Capture out;
  process::Capture err;
  std::chrono::nanoseconds elapsed{};
  process::TreeKeeper tree = process::TreeKeeper::subreaper;  ///< what saw to it that nothing was left running
  std::uint32_t outlived = 0;                                 ///< processes that ended later than the command itself
  std::vector<Denial> denials;
  std::vector<std::string> best_effort;  ///< protected paths that the command could have replaced
  std::vector<std::string> shared_temp;  ///< temp directories of the host that the command could write

  [[nodiscard]] bool denied() const noexcept { return !denials.empty(); }
};

/// The two gates in one type. Copies of nothing: a Harness owns its backend and its answerers.
///
/// Thread-safe: `resolve`, `confine` and `run` may be called from several threads at once.
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
  explicit Harness(B backend, Chain answerers = {}) : backend_(std::move(backend)), answerers_(std::move(answerers)) {}

  [[nodiscard]] B& backend() noexcept { return backend_; }

  /// What a request comes to. Throws PolicyInvalidError; touches nothing.
  [[nodiscard]] ExecutionPolicy resolve(const PolicyRequest& request) const { return PolicyResolver::resolve(request); }

  /// Wraps an argv. Throws SandboxUnavailableError, or EnforcementPartialError when the rule refuses what the backend
  /// leaves ungoverned. Runs nothing.
  template <ConfinedMode M>
  ConfinedArgv<M> confine(const Policy<M>& policy, const Argv& command) {
    ConfinedArgv<M> confined = cordon::confine(backend_, policy, command);
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

  /// Confines and runs. A runner that fails is a SandboxUnavailableError, never a result.
  template <ConfinedMode M>
  [[nodiscard]] RunResult run(const Policy<M>& policy, const Argv& command, process::RunOptions options = {}) {
    return run(confine(policy, command), std::move(options));
  }

  /// Runs what was confined before.
  template <ConfinedMode M>
  [[nodiscard]] RunResult run(const ConfinedArgv<M>& confined, process::RunOptions options = {}) {
    if constexpr (!Rule::template accepts_partial<M>) (void)require_full(confined);
    DenialContext context{
        confined.denial_signatures(),
        options.working_directory.empty() ? confined.policy().workspace_root() : options.working_directory,
        confined.policy().writable_roots()};
    context.writable_roots.insert(context.writable_roots.end(), confined.shared_temp().begin(),
                                  confined.shared_temp().end());
    process::Completed done = [&] {
      try {
        return process::run(confined, std::move(options));
      } catch (const SandboxUnavailableError&) {
        backend_.invalidate();
        throw;
      }
    }();
    if (const auto* failure = std::get_if<RunnerFailure>(&done.ending)) {
      backend_.invalidate();
      std::string message =
          "the sandbox (" + confined.backend() + ") failed before it ran the command; nothing was executed";
      if (!failure->detail.empty()) message += ". Runner failure: " + failure->detail;
      throw SandboxUnavailableError(message, *failure);
    }
    RunResult result = result_of(M{}, std::move(done));
    result.backend = confined.backend();
    result.enforcement = confined.enforcement();
    result.best_effort = confined.best_effort();
    result.shared_temp = confined.shared_temp();
    const auto* exited = std::get_if<process::Exited>(&result.ending);
    if (exited != nullptr && exited->code != 0) result.denials = infer_denials(result.err.text(), context);
    return result;
  }

  /// Runs with no confinement: only what came out of a Policy<DangerFullAccess>.
  [[nodiscard]] RunResult run(UnconfinedArgv command, process::RunOptions options = {}) {
    return result_of(danger_full_access, process::run(std::move(command), std::move(options)));
  }

  /// A raw argv, or a policy that nobody looked into, can't be run.
  template <class Raw, class... Rest>
  requires(!Spawnable<Raw> && !std::is_same_v<Raw, Policy<ReadOnly>> &&
           !std::is_same_v<Raw, Policy<WorkspaceWrite>>) void run(const Raw&, const Rest&...) {
    static_assert(detail::always_false<Raw>,
                  "cordon: run takes a Policy<ReadOnly> or Policy<WorkspaceWrite> with an Argv, a ConfinedArgv, or an "
                  "UnconfinedArgv; get there by visiting the ExecutionPolicy that resolve returned");
  }

 private:
  static RunResult result_of(SandboxMode mode, process::Completed done) {
    const auto command_ending = [](const auto& ending) -> CommandEnding {
      if constexpr (std::is_same_v<std::decay_t<decltype(ending)>, RunnerFailure>)
        return process::NotExecutable{ending.error};  // without a runner there is none; see run
      else
        return ending;
    };
    return RunResult{.mode = mode,
                     .backend = {},
                     .enforcement = {},
                     .ending = std::visit(command_ending, done.ending),
                     .out = std::move(done.out),
                     .err = std::move(done.err),
                     .elapsed = done.elapsed,
                     .tree = done.tree,
                     .outlived = done.outlived,
                     .denials = {},
                     .best_effort = {},
                     .shared_temp = {}};
  }

  B backend_;
  [[no_unique_address]] Chain answerers_;
};

}  // namespace cordon
