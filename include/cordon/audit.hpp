// SPDX-License-Identifier: BSL-1.0
#pragma once

// Commands that leave a record: what is to run is in the log before it runs, and what became of it after.

#include <algorithm>
#include <concepts>
#include <cordon/approval/outcome.hpp>
#include <cordon/argv.hpp>
#include <cordon/confined.hpp>
#include <cordon/os/linux/kernel.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/options.hpp>
#include <cordon/process/unread.hpp>
#include <cordon/running.hpp>
#include <cordon/session/resolve.hpp>
#include <cordon/session/session.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
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
  /// `by_grant`: not while the session asks for no approvals.
  template <class Exec>
  Announced(Turn<Log>& turn, Exec event, bool by_grant) : core_(turn.core_) {
    if (!core_) throw SessionInvalidError("this turn was moved; use what it was moved to");
    core_->append_chosen(turn.number(), [&](const SessionState& state, ApprovalPolicy policy, bool open) {
      if (!open) throw SessionInvalidError("the turn has ended; begin another");
      if (by_grant && policy == ApprovalPolicy::never)
        throw ApprovalError(ErrorCode::approval_rejected,
                            "approvals were switched off after this one was given; nothing runs on it");
      exec_ = state.size();
      std::vector<Event> events;
      events.emplace_back(std::move(event));
      return events;
    });
  }
  // For example when a callback of the program threw: the command was ended, and nobody knows how it would have.
  ~Announced() override { came_to_nothing("unknown"); }

  void came_to(const RunResult& result) override {
    try {
      settle(settled(exec_, result));
    } catch (const LogError& error) {
      throw UnrecordedError(error, result);
    } catch (const std::exception& error) {
      throw UnrecordedError(LogError(ErrorCode::log_failed, error.what()), result);
    }
  }
  void came_to_nothing(std::string_view outcome) noexcept override {
    // A fork has no command, and its copy of the session may be locked by a thread that it has not.
    if (made_by_ != os::Kernel::call(SYS_getpid)) return;
    try {
      settle(ExecSettled{exec_, std::string(outcome)});
    } catch (...) {
      // Why nothing ran says more than that this is not in the log yet.
    }
  }

 private:
  void settle(ExecSettled event) {
    if (const auto core = std::exchange(core_, nullptr)) core->settle(std::move(event));
  }

  std::shared_ptr<SessionCore<Log>> core_;  ///< until it is recorded
  std::uint64_t exec_ = 0;
  const long made_by_ = os::Kernel::call(SYS_getpid);
};

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

/// Follows what has been started to its end.
struct Wait {
  [[nodiscard]] RunResult operator()(Running& running) const { return running.wait(); }
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

/// Who will follow a command.
struct Followed {
  bool background = false;  ///< whoever likes, also when its turn has ended
  bool read = true;         ///< by Running::read
  template <class Follow>
  [[nodiscard]] static constexpr Followed by() noexcept {
    return {false, !std::is_same_v<Follow, Wait>};
  }
};
inline constexpr Followed in_background{true, true};

/// The start of each command that is recorded: `grant` is what allows it, if there is one, `recheck` throws when it may
/// not run after all, since something changed until it was announced.
struct Execution {
  template <SessionLog Log, class Exec, class Harness, class What, class Recheck>
  [[nodiscard]] static Running announce_and_start(Turn<Log>& turn, Exec event, Harness& harness, What&& what,
                                                  process::RunOptions options, Followed followed, bool by_grant,
                                                  Recheck&& recheck) {
    event.background = followed.background;
    if (!followed.read) options.unread = std::make_shared<process::UnreadOutput>(0);
    auto announced = std::make_unique<Announced<Log>>(turn, std::move(event), by_grant);
    try {
      recheck();
      Running running = harness.start(std::forward<What>(what), std::move(options));
      running.settlement_ = std::move(announced);
      return running;
    } catch (const SandboxUnavailableError& error) {
      announced->came_to_nothing(error.failure() ? "runner_failed" : "unavailable");
      throw;
    } catch (const Error&) {
      announced->came_to_nothing("unavailable");
      throw;
    }
  }

  template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask, class Recheck>
  [[nodiscard]] static Running start_confined(Turn<Log>& turn, Harness& harness, const Policy<M>& policy,
                                              const Argv& command, process::RunOptions options, const Mask& mask,
                                              Followed followed, std::string digest, std::string grant,
                                              Recheck&& recheck) {
    ConfinedArgv<M> confined = harness.confine(policy, command);
    if (const std::string log = file_of(turn); !log.empty()) refuse_own_log(confined, log);
    const bool by_grant = !grant.empty();
    ExecConfined event{mask(command.elements()),
                       M{},
                       policy.workspace_root(),
                       confined.backend(),
                       confined.enforcement().missing(),
                       std::move(grant),
                       std::move(digest)};
    return announce_and_start(turn, std::move(event), harness, std::move(confined), std::move(options), followed,
                              by_grant, recheck);
  }

  template <class Harness, SessionLog Log, ArgvMask Mask, class Recheck>
  [[nodiscard]] static Running start_unconfined(Turn<Log>& turn, Harness& harness, UnconfinedArgv command,
                                                std::string allowed_by, process::RunOptions options, const Mask& mask,
                                                Followed followed, std::string digest, bool by_grant,
                                                Recheck&& recheck) {
    ExecUnconfined event{mask(command.command().elements()), command.scope().workspace_root, std::move(allowed_by),
                         std::move(digest)};
    return announce_and_start(turn, std::move(event), harness, std::move(command), std::move(options), followed,
                              by_grant, recheck);
  }
};

/// What uses a grant up.
struct UseGrant {
  template <SessionLog Log>
  static void require(const AllowedOnce& grant, const Turn<Log>& turn, SandboxMode ceiling) {
    const Action& action = grant.action();  // throws when it was used
    if (grant.turn_ != turn.number() || grant.session_ != turn.core_)
      throw ApprovalError(ErrorCode::approval_outside_turn,
                          "this grant was given in another turn, and ended with that; ask again");
    require_unchanged(action);
    // Whoever allowed it.
    if (action.mode().wider_than(ceiling))
      throw ApprovalError(ErrorCode::approval_rejected,
                          "nothing wider than " + std::string(ceiling.name()) + " runs with this harness");
  }
  static void require_unchanged(const Action& action) {
    if (!action.unchanged())
      throw ApprovalError(ErrorCode::action_changed,
                          "the program " + action.command().program() +
                              ", its directory or a root is not the one that was approved any more; ask again");
  }

  template <class Harness, SessionLog Log, ArgvMask Mask>
  [[nodiscard]] static Running start(Turn<Log>& turn, Harness& harness, const AllowedOnce& grant, const Mask& mask,
                                     Followed followed) {
    require(grant, turn, harness.approvals().options().ceiling);
    const Action& action = grant.action();
    const auto recheck = [&] { require_unchanged(action); };
    return action.mode().visit([&]<Mode M>(M) {
      const Policy<M> policy = grant.policy<M>();
      Running running = [&] {
        if constexpr (ConfinedMode<M>)
          return Execution::start_confined(turn, harness, policy, action.command(), action.options(), mask, followed,
                                           action.command_digest(), "grant " + grant.id(), recheck);
        else
          return Execution::start_unconfined(turn, harness, UnconfinedArgv(policy, action.command()),
                                             "grant " + grant.id(), action.options(), mask, followed,
                                             action.command_digest(), true, recheck);
      }();
      if (const SandboxMode mode = running.facts().mode; mode != SandboxMode(M{}))
        throw ApprovalError(ErrorCode::action_changed, "the harness started the command under " +
                                                           std::string(mode.name()) + ", and " + std::string(M::name) +
                                                           " was granted; it was ended");
      return running;
    });
  }
};

}  // namespace detail

/// As Harness::start, in a turn of a session, for a command that runs on in the background, with Jobs::keep:
/// `exec/confined` is recorded before it starts, `exec/settled` when its end is known to whoever follows it, also after
/// the end of the turn, and as `unknown` when the Running is dropped; until then the log stays open. Throws what
/// Harness::start throws, PolicyInvalidError when the command could write the session's own log, and LogError when it
/// can't be announced: nothing runs then. What can't be recorded of its end is an UnrecordedError, with the result,
/// from Running::wait and Job::wait, and is recorded later if the log takes it.
///
/// Whoever follows the command waits for the log, and so for who reads it: within `for_each` and `with_log` of a
/// session no Running may be dropped, and no job waited for.
template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, const Policy<M>& policy, const Argv& command,
                               process::RunOptions options = {}, const Mask& mask = {},
                               detail::Followed followed = detail::in_background) {
  std::string digest = Action::digest_of_command(command, policy.scope(), options);
  return detail::Execution::start_confined(turn, harness, policy, command, std::move(options), mask, followed,
                                           std::move(digest), {}, [] {});
}

/// The same with no confinement. `allowed_by` says what allowed it: see `full_access_reason`.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, UnconfinedArgv command, std::string allowed_by,
                               process::RunOptions options = {}, const Mask& mask = {},
                               detail::Followed followed = detail::in_background) {
  std::string digest = Action::digest_of_command(command.command(), command.scope(), options);
  return detail::Execution::start_unconfined(turn, harness, std::move(command), std::move(allowed_by),
                                             std::move(options), mask, followed, std::move(digest), false, [] {});
}

/// Does what a grant says, under the mode that it says, and uses it up: that action, in the turn that it was asked for
/// in, once. The record names the grant. Throws as the others, and ApprovalError: APPROVAL_USED when the grant was
/// used, APPROVAL_OUTSIDE_TURN when it is of another turn, ACTION_CHANGED when its program, its directory or a root is
/// not the one that was approved, APPROVAL_REJECTED when the session asks for no approvals by now, or it is wider than
/// the ceiling of this harness. Nothing has run then.
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll>
[[nodiscard]] Running start_in(Turn<Log>& turn, Harness& harness, AllowedOnce grant, const Mask& mask = {},
                               detail::Followed followed = detail::in_background) {
  return detail::UseGrant::start(turn, harness, grant, mask, followed);
}

/// As start_in, and waits: the command ends with its turn at the latest, as far as the record goes. `follow(running)`
/// waits another way, and returns the result. Throws as start_in does, when nothing has run, and as Running::wait; an
/// UnrecordedError has the result.
template <class Harness, SessionLog Log, ConfinedMode M, ArgvMask Mask = ShowAll, class Follow = detail::Wait>
[[nodiscard]] RunResult run_in(Turn<Log>& turn, Harness& harness, const Policy<M>& policy, const Argv& command,
                               process::RunOptions options = {}, const Mask& mask = {}, Follow follow = {}) {
  Running running = start_in(turn, harness, policy, command, std::move(options), mask, detail::Followed::by<Follow>());
  return follow(running);
}
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Follow = detail::Wait>
[[nodiscard]] RunResult run_in(Turn<Log>& turn, Harness& harness, UnconfinedArgv command, std::string allowed_by,
                               process::RunOptions options = {}, const Mask& mask = {}, Follow follow = {}) {
  Running running = start_in(turn, harness, std::move(command), std::move(allowed_by), std::move(options), mask,
                             detail::Followed::by<Follow>());
  return follow(running);
}
template <class Harness, SessionLog Log, ArgvMask Mask = ShowAll, class Follow = detail::Wait>
[[nodiscard]] RunResult run_in(Turn<Log>& turn, Harness& harness, AllowedOnce grant, const Mask& mask = {},
                               Follow follow = {}) {
  Running running = start_in(turn, harness, std::move(grant), mask, detail::Followed::by<Follow>());
  return follow(running);
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
