// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/backend.hpp>
#include <cordon/backend/probe_cache.hpp>
#include <cordon/process/launch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cordon {

namespace detail {

/// What a backend planned, with an observer beside it.
class ObservedPlan final : public process::LaunchPlan {
 public:
  explicit ObservedPlan(std::shared_ptr<const process::LaunchPlan> plan) : plan_(std::move(plan)) {}

  [[nodiscard]] std::unique_ptr<process::Launch> prepare(const process::LaunchRequest& request) const override {
    process::LaunchRequest observed = request;
    observed.observed = true;
    auto launch = plan_->prepare(observed);
    if (!launch->setup().observed)
      throw SandboxUnavailableError("what the sandbox refuses can't be observed: " +
                                    process::LaunchPlan::unobservable());
    return launch;
  }
  [[nodiscard]] std::string unobservable() const override { return plan_->unobservable(); }

 private:
  std::shared_ptr<const process::LaunchPlan> plan_;
};

/// Empty when what `confinement` starts can be observed, otherwise why not.
[[nodiscard]] inline std::string unobservable(const Confinement& confinement) {
  if (confinement.launch == nullptr)
    return "its command is not started by cordon itself; use a backend of this library";
  return confinement.launch->unobservable();
}

}  // namespace detail

/// The backend B, with an observer of what it refuses: each file-changing system call of a command that failed with
/// EROFS, EACCES, EPERM or EXDEV is seen, with its path and its errno, whatever the command says and does about it. So
/// RunResult::denials is a list of facts (Evidence::observed), and its text is not looked at. What the observer shows
/// is os::observed_calls; what becomes a denial, `observed_denials`.
///
/// Name, enforcement and plain argv are those of B, and so is what the command may do: a filter shows the calls to a
/// process that traces the command from before its execve, with everything that comes of it, and changes nothing.
///
/// The command notices it in two ways. It finds its processes traced, so a debugger in it can't attach. And a process
/// made with CLONE_UNTRACED gets ENOSYS for the calls that would be shown.
///
/// Throws SandboxUnavailableError, and nothing runs, when ptrace or seccomp is not allowed, or when B can't be
/// observed: bubblewrap can in a program that is its own runner, and not when its binary is set-uid.
///
/// Not observed: what another process library starts from `argv()`; what a filter of B refuses itself, such as mount;
/// a bind(2) of a socket, ioctl(2) for inode flags, io_uring, and calls of another architecture. Reading is no change
/// of a file. Thread-safe as B is. Source: ptrace(2), seccomp(2).
template <class B>
class Observed {
  static_assert(Backend<B>,
                "cordon: Observed<B> needs a backend, for example cordon::Observed<cordon::PlatformBackend>");

 public:
  using cordon_concept = BackendTag;
  static constexpr std::string_view name = B::name;
  template <ConfinedMode M>
  static constexpr bool can_be_full = B::template can_be_full<M>;

  Observed() = default;
  explicit Observed(B backend) : backend_(std::move(backend)) {}

  [[nodiscard]] B& backend() noexcept { return backend_; }

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>& policy) {
    return cache_.get(ProbeKey::of(policy), [&] {
      const Availability verdict = backend_.probe(policy);
      if (!verdict.usable()) return verdict;
      try {
        const std::string why = detail::unobservable(backend_.wrap(policy, Argv({"/bin/true"})));
        if (!why.empty()) return Availability::unusable(why, "run without an observer");
      } catch (const SandboxUnavailableError& error) {
        return Availability::unusable(error.what(), "run `cordon probe`");
      }
      return verdict;
    });
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>& policy, const Argv& command) {
    Confinement result = detail::wrapped(backend_, policy, command);
    if (const std::string why = detail::unobservable(result); !why.empty())
      throw SandboxUnavailableError("what " + result.backend + " refuses can't be observed: " + why);
    result.launch = std::make_shared<detail::ObservedPlan>(std::move(result.launch));
    return result;
  }

  void invalidate() noexcept {
    backend_.invalidate();
    cache_.forget();
  }

 private:
  B backend_;
  ProbeCache cache_;
};

}  // namespace cordon
