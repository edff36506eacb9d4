// SPDX-License-Identifier: BSL-1.0
#pragma once

// Commands that leave a record: what is to run is in the log before it runs, and what became of it after.

#include <algorithm>
#include <concepts>
#include <cordon/approval/outcome.hpp>
#include <cordon/argv.hpp>
#include <cordon/confined.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/options.hpp>
#include <cordon/running.hpp>
#include <cordon/session/resolve.hpp>
#include <cordon/session/session.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// What a log shows of an argv: gives the elements that are recorded.
template <class M>
concept ArgvMask = requires(const M& mask, const std::vector<std::string>& argv) {
  { mask(argv) } -> std::convertible_to<std::vector<std::string>>;
};

/// Everything.
struct ShowAll {
  std::vector<std::string> operator()(const std::vector<std::string>& argv) const { return argv; }
};

/// All but what looks like a secret: the value of NAME=VALUE and --name=value where the name says so, what follows an
/// option of such a name, and URLs with a password. A heuristic, as it is for environment variables.
struct MaskSecrets {
  static constexpr std::string_view masked = "[masked]";

  std::vector<std::string> operator()(std::vector<std::string> argv) const {
    bool next = false;
    for (std::string& word : argv) {
      const std::size_t equals = word.find('=');
      const std::string_view name = std::string_view(word).substr(0, equals);
      const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
      const std::string_view bare = name.substr(dashes);
      const bool secret_name = process::looks_secret(bare, {});
      if (std::exchange(next, false)) {
        word = masked;
      } else if (equals != std::string::npos &&
                 process::looks_secret(bare, std::string_view(word).substr(equals + 1))) {
        word.replace(equals + 1, std::string::npos, masked);
      } else if (process::looks_secret({}, word)) {
        word = masked;
      } else {
        next = equals == std::string::npos && dashes != 0 && secret_name;
      }
    }
    return argv;
  }
};

/// A command has run, and its log has no room for how it ended. That is in `result`.
class UnrecordedError : public LogError {
 public:
  UnrecordedError(const LogError& why, RunResult result)
      : LogError(why.code(), std::string("the command has run, but its end could not be recorded: ") + why.what(),
                 why.line(), why.offset()),
        result_(std::make_shared<const RunResult>(std::move(result))) {}

  [[nodiscard]] const RunResult& result() const noexcept { return *result_; }

 private:
  std::shared_ptr<const RunResult> result_;
};

namespace detail {

[[nodiscard]] inline std::string_view outcome_name(const CommandEnding& ending) noexcept {
  constexpr std::string_view names[] = {"exited",    "signalled",    "timed_out",
                                        "cancelled", "output_limit", "not_executable"};
  return names[ending.index()];
}

[[nodiscard]] inline ExecSettled settled(std::uint64_t exec, const RunResult& result) {
  ExecSettled event{exec, std::string(outcome_name(result.ending))};
  if (const auto* exited = std::get_if<process::Exited>(&result.ending)) event.exit_code = exited->code;
  if (const auto* signalled = std::get_if<process::Signalled>(&result.ending)) event.signal = signalled->number;
  for (const Denial& denial : result.denials) event.denials.push_back({denial.effect, denial.path, denial.error});
  return event;
}

/// A command that is announced in the log, until it is recorded there what it came to.
template <class Log>
class Announced final : public Settlement {
 public:
  template <class Exec>
  Announced(Turn<Log>& turn, Exec event) : core_(turn.core_), exec_(turn.record(std::move(event))) {}
  // For example when a callback of the program threw: the command was ended, and nobody knows how it would have.
  ~Announced() override { came_to_nothing("unknown"); }

  void came_to(const RunResult& result) override {
    try {
      settle(settled(exec_, result));
    } catch (const LogError& error) {
      throw UnrecordedError(error, result);
    }
  }
  void came_to_nothing(std::string_view outcome) noexcept override {
    try {
      settle(ExecSettled{exec_, std::string(outcome)});
    } catch (...) {
      // Why nothing ran says more than that this is not in the log.
    }
  }

 private:
  void settle(const ExecSettled& event) {
    if (const auto core = std::exchange(core_, nullptr)) core->settle(event);
  }

  std::shared_ptr<SessionCore<Log>> core_;  ///< until it is recorded
  std::uint64_t exec_;
};

/// The end of what runs is told to who announced it.
struct Execution {
  static void settle_by(Running& running, std::unique_ptr<Settlement> settlement) noexcept {
    running.settlement_ = std::move(settlement);
  }
};

/// Announces a command, and runs or starts it. What is thrown is recorded too, and thrown on.
template <SessionLog Log, class Exec, class Execute>
[[nodiscard]] auto announce_and(Turn<Log>& turn, Exec event, Execute&& execute) {
  using Result = std::invoke_result_t<Execute&>;
  static_assert(std::is_same_v<Result, RunResult> || std::is_same_v<Result, Running>,
                "cordon: the `execute` of run_in returns the RunResult of what it ran, or the Running of what it "
                "started");
  event.background = std::is_same_v<Result, Running>;
  auto announced = std::make_unique<Announced<Log>>(turn, std::move(event));
  try {
    Result result = execute();
    if constexpr (std::is_same_v<Result, Running>)
      Execution::settle_by(result, std::move(announced));
    else
      announced->came_to(result);
    return result;
  } catch (const SandboxUnavailableError& error) {
    announced->came_to_nothing(error.failure() ? "runner_failed" : "unavailable");
    throw;
  } catch (const SpawnError&) {
    announced->came_to_nothing("unavailable");
    throw;
  }
}

/// Refuses a command that could write the log of its own session, and so say itself what it may do from now on.
template <ConfinedMode M>
void refuse_own_log(const ConfinedArgv<M>& confined, const std::string& log) {
  std::vector<std::string> writable = confined.policy().writable_roots();
  writable.insert(writable.end(), confined.shared_temp().begin(), confined.shared_temp().end());
  if (!is_within_any(log, writable)) return;
  for (const std::string& path : confined.policy().scope().protected_paths)
    if (os::is_within(log, path) &&
        std::find(confined.best_effort().begin(), confined.best_effort().end(), path) == confined.best_effort().end())
      return;
  throw PolicyInvalidError("the session log " + log +
                           " lies where the command can write, which could then widen its own session; keep the log "
                           "elsewhere, or protect it (see protect_log)");
}

template <SessionLog Log>
[[nodiscard]] std::string file_of(Turn<Log>& turn) {
  if constexpr (requires(const Log& log) { log.require_own_name(); })
    return turn.with_log([](const Log& log) {
      log.require_own_name();
      return log.real_path();
    });
  else
    return {};
}

struct RunByHarness {
  template <class Harness, class What>
  RunResult operator()(Harness& harness, What&& what, process::RunOptions options) const {
    return harness.run(std::forward<What>(what), std::move(options));
  }
};
struct StartByHarness {
  template <class Harness, class What>
  Running operator()(Harness& harness, What&& what, process::RunOptions options) const {
    return harness.start(std::forward<What>(what), std::move(options));
  }
};

}  // namespace detail

/// Throws PolicyInvalidError when a symlink in one of `roots` leads to the log: where a command can write, it may have
/// been made by one, and lead to another log the next time.
inline void refuse_linked_log(const std::string& log, const std::vector<std::string>& roots) {
  for (const os::PassedLink& link : os::links_on(log))
    if (detail::is_within_any(link.holder, roots))
      throw PolicyInvalidError("the session log " + log + " is reached by the symlink " + link.name + " in " +
                               link.holder + ", which a command may have made; name the log itself if that is meant");
}

/// Keeps a session log that lies in a writable root from being written, or replaced, by the commands of its session:
/// what of its path is right below the root is made read-only. For a log outside nothing is added. Throws as
/// refuse_linked_log does. Does not tell a log that a command has put there before from one of yours: keep logs where
/// no command can write.
template <class Log>
void protect_log(PolicyRequest& request, const ExecutionPolicy& unprotected, const Log& log) {
  const std::string path = log.real_path();
  const auto protect_in = [&](const Policy<WorkspaceWrite>& policy) {
    const std::vector<std::string> roots = policy.writable_roots();
    refuse_linked_log(log.path(), roots);
    std::string innermost;
    for (const std::string& root : roots)
      if (os::is_within(path, root) && root.size() > innermost.size()) innermost = root;
    if (innermost.empty() || innermost == path) return;
    const std::size_t begin = innermost == "/" ? 1 : innermost.size() + 1;
    request.protect.push_back(path.substr(0, path.find('/', begin)));
  };
  unprotected.visit([](const Policy<ReadOnly>&) {}, protect_in, [](const Policy<DangerFullAccess>&) {});
}

/// `resolve`, with the session's own log protected: see protect_log. For a Session, or for a Turn of one; `mode` is the
/// one that was approved for this call.
template <class SessionOrTurn>
[[nodiscard]] ExecutionPolicy resolve_protected(const SessionOrTurn& session, PolicyRequest roots,
                                                std::optional<SandboxMode> mode = {}) {
  const auto resolve_now = [&] {
    std::optional<ExplicitMode> once;
    if (mode) once.emplace(*mode);
    return resolve(session, roots, std::move(once)).policy;
  };
  ExecutionPolicy policy = resolve_now();
  const std::size_t before = roots.protect.size();
  session.with_log([&]<class Log>(const Log& log) {
    if constexpr (requires { log.real_path(); })
      if (!log.path().empty()) protect_log(roots, policy, log);
  });
  return roots.protect.size() == before ? policy : resolve_now();
}

namespace detail {

/// The parts of run_in: `allowed_by` is the grant, if there is one.
template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask, class Execute>
[[nodiscard]] auto run_confined(Turn<Log>& turn, Harness& harness, const Policy<M>& policy, const Argv& command,
                                process::RunOptions options, const Mask& mask, Execute& execute, std::string allowed_by,
                                std::string digest) {
  ConfinedArgv<M> confined = harness.confine(policy, command);
  if (const std::string log = file_of(turn); !log.empty()) refuse_own_log(confined, log);
  ExecConfined event{mask(command.elements()),
                     M{},
                     policy.workspace_root(),
                     confined.backend(),
                     confined.enforcement().missing(),
                     std::move(allowed_by),
                     std::move(digest)};
  return announce_and(turn, std::move(event),
                      [&] { return execute(harness, std::move(confined), std::move(options)); });
}

template <class Harness, SessionLog Log, ArgvMask Mask, class Execute>
[[nodiscard]] auto run_unconfined(Turn<Log>& turn, Harness& harness, UnconfinedArgv command,
                                  process::RunOptions options, const Mask& mask, Execute& execute,
                                  std::string allowed_by, std::string digest) {
  ExecUnconfined event{mask(command.command().elements()), command.scope().workspace_root, std::move(allowed_by),
                       std::move(digest)};
  return announce_and(turn, std::move(event), [&] { return execute(harness, std::move(command), std::move(options)); });
}

[[nodiscard]] inline SandboxMode mode_of(const RunResult& result) noexcept {
  return result.mode;
}
[[nodiscard]] inline SandboxMode mode_of(const Running& running) noexcept {
  return running.facts().mode;
}

/// What uses a grant up.
struct UseGrant {
  template <SessionLog Log>
  static void require(const AllowedOnce& grant, const Turn<Log>& turn) {
    const Action& action = grant.action();  // throws when it was used
    if (grant.turn_ != turn.number() || grant.session_ != turn.core_)
      throw ApprovalError(ErrorCode::approval_outside_turn,
                          "this grant was given in another turn, and ended with that; ask again");
    if (!action.unchanged())
      throw ApprovalError(ErrorCode::action_changed,
                          "the program " + action.command().program() +
                              ", its directory or a root is not the one that was approved any more; ask again");
    if (turn.approval_policy() == ApprovalPolicy::never)
      throw ApprovalError(ErrorCode::approval_rejected,
                          "approvals were switched off after this one was given; nothing runs on it");
  }
  template <Mode M>
  [[nodiscard]] static Policy<M> policy(const AllowedOnce& grant) {
    return grant.policy<M>();
  }
};

}  // namespace detail

/// As Harness::run, in a turn of a session: `exec/confined` is recorded before the command starts, `exec/settled` when
/// it has ended. `execute(harness, confined, options)` runs or starts it another way, and what that returns is
/// returned. Throws what Harness::run throws, PolicyInvalidError when the command could write the session's own log,
/// and LogError when something can't be recorded: nothing has run then, unless it is an UnrecordedError, which has the
/// result.
template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask = ShowAll, class Execute = detail::RunByHarness>
[[nodiscard]] auto run_in(Turn<Log>& turn, Harness& harness, const Policy<M>& policy, const Argv& command,
                          process::RunOptions options = {}, const Mask& mask = {}, Execute execute = {}) {
  std::string digest = Action::digest_of_command(command, policy.scope(), options);
  return detail::run_confined(turn, harness, policy, command, std::move(options), mask, execute, {}, std::move(digest));
}

/// The same with no confinement. `allowed_by` says what allowed it: see `full_access_reason`.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Execute = detail::RunByHarness>
[[nodiscard]] auto run_in(Turn<Log>& turn, Harness& harness, UnconfinedArgv command, std::string allowed_by,
                          process::RunOptions options = {}, const Mask& mask = {}, Execute execute = {}) {
  std::string digest = Action::digest_of_command(command.command(), command.scope(), options);
  return detail::run_unconfined(turn, harness, std::move(command), std::move(options), mask, execute,
                                std::move(allowed_by), std::move(digest));
}

/// Does what a grant says, under the mode that it says, and uses it up: that action, in the turn that it was asked for
/// in, once. The record names the grant. Throws as the others, and ApprovalError: APPROVAL_USED when the grant was
/// used, APPROVAL_OUTSIDE_TURN when it is of another turn, ACTION_CHANGED when its program, its directory or a root is
/// not the one that was approved, APPROVAL_REJECTED when the session asks for no approvals by now. Nothing has run
/// then.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Execute = detail::RunByHarness>
[[nodiscard]] auto run_in(Turn<Log>& turn, Harness& harness, AllowedOnce grant, const Mask& mask = {},
                          Execute execute = {}) {
  detail::UseGrant::require(grant, turn);
  const Action& action = grant.action();
  const std::string allowed_by = "grant " + grant.id();
  return action.mode().visit([&]<Mode M>(M) {
    Policy<M> policy = detail::UseGrant::policy<M>(grant);
    auto result = [&] {
      if constexpr (ConfinedMode<M>)
        return detail::run_confined(turn, harness, policy, action.command(), action.options(), mask, execute,
                                    allowed_by, action.command_digest());
      else
        return detail::run_unconfined(turn, harness, UnconfinedArgv(policy, action.command()), action.options(), mask,
                                      execute, allowed_by, action.command_digest());
    }();
    if (const SandboxMode mode = detail::mode_of(result); mode != SandboxMode(M{}))
      throw ApprovalError(ErrorCode::action_changed, "the command ran under " + std::string(mode.name()) + ", and " +
                                                         std::string(M::name) +
                                                         " was granted; `execute` has to run what it is given");
    return result;
  });
}

/// As run_in, but does not wait: for a command that runs on in the background, with Jobs::keep. `exec/settled` is
/// recorded when its end is known to whoever follows it, also after the end of the turn, and as `unknown` when the
/// Running is dropped; until then the log stays open. What can't be recorded is an UnrecordedError from Running::wait
/// or Job::wait. Throws as run_in does; nothing runs then.
template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, const Policy<M>& policy, const Argv& command,
                               process::RunOptions options = {}, const Mask& mask = {}) {
  return run_in(turn, harness, policy, command, std::move(options), mask, detail::StartByHarness{});
}
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, UnconfinedArgv command, std::string allowed_by,
                               process::RunOptions options = {}, const Mask& mask = {}) {
  return run_in(turn, harness, std::move(command), std::move(allowed_by), std::move(options), mask,
                detail::StartByHarness{});
}
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, AllowedOnce grant, const Mask& mask = {}) {
  return run_in(turn, harness, std::move(grant), mask, detail::StartByHarness{});
}

/// Where full access comes from, in words for ExecUnconfined: the explicit mode of this call, the session's preset or
/// its last switch, or the deployment.
template <class SessionOrTurn>
[[nodiscard]] std::string full_access_reason(const SessionOrTurn& session, bool explicit_mode) {
  if (explicit_mode) return "explicit mode";
  const std::string preset = session.preset();
  const SessionState state = session.state();
  if (preset != custom_preset && state.selected_preset() == preset) return "preset " + preset;
  return state.mode() ? "session mode" : "deployment default";
}

}  // namespace cordon
