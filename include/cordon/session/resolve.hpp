// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/session/session.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cordon {

/// Who said which mode it is.
enum class PolicySource : std::uint8_t {
  explicit_mode,  ///< the one that was approved for this call
  session,        ///< the last switch in its log
  deployment,     ///< the default
};

[[nodiscard]] constexpr std::string_view name(PolicySource source) noexcept {
  switch (source) {
    case PolicySource::explicit_mode:
      return "explicit";
    case PolicySource::session:
      return "session";
    case PolicySource::deployment:
      return "deployment";
  }
  return "unknown";
}

/// A mode that was approved for one call. Move-only, and gone with the resolution that used it: nothing remembers it.
class ExplicitMode {
 public:
  explicit ExplicitMode(SandboxMode mode) noexcept : mode_(mode) {}
  ExplicitMode(ExplicitMode&& other) noexcept : mode_(std::exchange(other.mode_, std::nullopt)) {}
  ExplicitMode& operator=(ExplicitMode&&) = delete;

  /// The mode, once. Throws PolicyInvalidError the second time.
  [[nodiscard]] SandboxMode take() {
    if (!mode_) throw PolicyInvalidError("this mode was used for another call already; have it approved again");
    return *std::exchange(mode_, std::nullopt);
  }

 private:
  std::optional<SandboxMode> mode_;
};

struct ResolvedPolicy {
  ExecutionPolicy policy;
  PolicySource source;
};

namespace detail {
[[noreturn]] inline void refuse_directory(const SessionHeader& header) {
  throw PolicyInvalidError("the directory of session " + header.id + ", " + header.cwd +
                           ", is not there any more, or is another one now; begin a session in the one that is meant");
}
}  // namespace detail

/// The policy for one call: mode and root together, of the same session (POL-03, POL-04).
///
/// The mode is the explicit one, else the session's last switch, else the deployment's default. The root is the
/// session's directory, which has to be the very one that it began in (POL-K4); a session without one, and a call
/// without a session, have `roots.workspace_root`. `roots.mode` does not count. Throws PolicyInvalidError.
[[nodiscard]] inline ResolvedPolicy resolve(const SessionHeader& header, const SessionState& state,
                                            const SessionDefaults& defaults, PolicyRequest roots = {},
                                            std::optional<ExplicitMode> explicit_mode = {}) {
  const PolicySource source = explicit_mode  ? PolicySource::explicit_mode
                              : state.mode() ? PolicySource::session
                                             : PolicySource::deployment;
  roots.mode = explicit_mode ? explicit_mode->take() : state.mode().value_or(defaults_for(header, defaults).mode);
  roots.session_id = header.id;
  if (header.cwd.empty()) return {PolicyResolver::resolve(roots), source};
  std::string found;
  if (os::canonical_path(header.cwd, found) < 0 || found != header.cwd) detail::refuse_directory(header);
  roots.workspace_root = header.cwd;
  ExecutionPolicy policy = PolicyResolver::resolve(roots);
  os::FileFacts facts;
  if (policy.scope().workspace_root != header.cwd || os::stat_path(header.cwd, facts) < 0 ||
      (header.cwd_identity &&
       *header.cwd_identity != FileIdentity{facts.device, facts.inode, os::time_of_birth(header.cwd)}))
    detail::refuse_directory(header);
  return {std::move(policy), source};
}

/// The same for a Session, or for a Turn of one.
template <class SessionOrTurn>
requires requires(const SessionOrTurn& session) {
  { session.effective_mode() } -> std::same_as<SandboxMode>;
}
[[nodiscard]] ResolvedPolicy resolve(const SessionOrTurn& session, PolicyRequest roots = {},
                                     std::optional<ExplicitMode> explicit_mode = {}) {
  SessionState state = session.state();
  // A narrower mode that is not recorded yet counts already.
  if (session.effective_mode() != state.mode().value_or(session.defaults().mode))
    (void)state.apply(ModeSwitched{session.effective_mode()});
  return resolve(session.header(), state, session.defaults(), std::move(roots), std::move(explicit_mode));
}

/// Without a session.
[[nodiscard]] inline ResolvedPolicy resolve(const SessionDefaults& defaults, PolicyRequest roots = {},
                                            std::optional<ExplicitMode> explicit_mode = {}) {
  const PolicySource source = explicit_mode ? PolicySource::explicit_mode : PolicySource::deployment;
  roots.mode = explicit_mode ? explicit_mode->take() : defaults.mode;
  roots.session_id.reset();
  return {PolicyResolver::resolve(roots), source};
}

/// The header of a session in `directory`, which is named by what it is now and not by a symlink that leads there. An
/// empty one: a session without a directory. Throws PolicyInvalidError.
[[nodiscard]] inline SessionHeader new_session(const std::string& directory, std::string id = {}) {
  SessionHeader header{id.empty() ? os::random_name<os::Kernel>() + os::random_name<os::Kernel>() : std::move(id),
                       detail::time_now()};
  if (directory.empty()) return header;
  // What a policy would say about it is said now.
  header.cwd = PolicyResolver::resolve({.workspace_root = directory, .allow_broad_root = true}).scope().workspace_root;
  os::FileFacts facts;
  if (os::stat_path(header.cwd, facts) < 0)
    throw PolicyInvalidError("the directory " + directory + " can't be used; create it first, or name another");
  header.cwd_identity = FileIdentity{facts.device, facts.inode, os::time_of_birth(header.cwd)};
  return header;
}

}  // namespace cordon
