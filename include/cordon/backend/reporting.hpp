// SPDX-License-Identifier: BSL-1.0
#pragma once

// A status channel for a runner that has none: whether it got as far as running the command is then known, and not read
// out of what was printed.

#include <cordon/backend/backend.hpp>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/kernel.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/runner/grammar.hpp>
#include <cordon/runner/self.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace reporting {

/// Starts the runner with this program, as the first stage, where its command would be.
class Launch final : public process::Launch {
  using K = os::Kernel;

 public:
  Launch(const process::LaunchRequest& request, const DialectView& dialect) : dialect_(dialect) {
    os::FdPair<K> pipe;
    if (const long made = os::make_pipe<K>(pipe); made < 0)
      throw SpawnError("can't start a command: making a pipe: " + detail::error_text(static_cast<int>(-made)),
                       static_cast<int>(-made));
    (void)os::set_nonblocking<K>(pipe.read.get());
    status_ = std::move(pipe.read);
    far_ = std::move(pipe.write);
    setup_ = process::detail::DirectLaunch(request).setup();
    setup_.descriptors = {far_.get()};
    setup_.wraps = true;
  }

  [[nodiscard]] const process::ChildSetup& setup() const noexcept override { return setup_; }
  [[nodiscard]] process::Ending exec_failed(process::NotExecutable why) const override {
    return process::runner_not_executed(setup_, why);
  }
  void started() override { far_.reset(); }

  [[nodiscard]] process::Ending settle(std::optional<os::WaitStatus> status, std::string_view error_text) override {
    const process::ReportedStatus reported = process::read_status<K>(status_.get());
    if (auto ending = reported.ending("first stage")) return *std::move(ending);
    if (reported.entered) return process::ending_or_throw(status);
    std::optional<std::string> line;
    if (status && !status->signalled) line = runner_failure_line(dialect_, status->value, error_text);
    return RunnerFailure{"runner", 0,
                         line.value_or("it ended without starting the command, or closed the descriptors that it was "
                                       "given")};
  }

 private:
  DialectView dialect_;
  process::ChildSetup setup_;
  os::Fd status_;
  os::Fd far_;
};

class Plan final : public process::LaunchPlan {
 public:
  Plan(Argv staged, DialectView dialect) : staged_(std::move(staged)), dialect_(dialect) {}
  [[nodiscard]] std::unique_ptr<process::Launch> prepare(const process::LaunchRequest& request) const override {
    return std::make_unique<Launch>(process::LaunchRequest{staged_, request.environment, request.working_directory,
                                                           request.terminal, request.resources},
                                    dialect_);
  }

 private:
  Argv staged_;
  DialectView dialect_;
};

}  // namespace reporting

/// The backend B, with a status channel where it has none of its own: what it runs is this program first, which says
/// that it was reached, or why the command can't be executed, and then becomes the command. A runner that fails is told
/// from a command that fails whatever either prints, and from one that can't be executed (T-CLS-19).
///
/// Only for cordon's own spawn; `argv()` stays B's. Needs a program that is its own runner and that can be executed
/// inside the sandbox under its path, and a runner that leaves descriptor 3 open; otherwise nothing runs. Says nothing
/// about what B confines. Thread-safe when B is.
template <Backend B>
class Reporting {
 public:
  using cordon_concept = BackendTag;
  static constexpr std::string_view name = B::name;
  template <ConfinedMode M>
  static constexpr bool can_be_full = B::template can_be_full<M>;

  Reporting() = default;
  explicit Reporting(B backend) : backend_(std::move(backend)) {}

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>& policy) {
    if (!runner::self_is_runner())
      return Availability::unusable("this program is not its own runner, so nothing can report from inside the sandbox",
                                    "call cordon::runner::entry first in main");
    return backend_.probe(policy);
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>& policy, const Argv& command) {
    const Availability verdict = probe(policy);
    if (const auto* problem = verdict.problem())
      throw SandboxUnavailableError(std::string(name) + ": " + problem->reason + "; " + problem->remedy);
    Confinement confinement = detail::wrapped(backend_, policy, command);
    if (confinement.launch != nullptr) return confinement;  // it has a channel
    std::string self;
    if (os::canonical_path(runner::self_program, self) < 0 || !os::executable(self))
      throw SandboxUnavailableError(std::string(name) +
                                    ": this program has no path any more under which it can be "
                                    "executed inside the sandbox; start it again from where it is");
    runner::Words words{"tell", {}, command.elements()};
    words.options.emplace_back("--status-fd", std::to_string(process::first_descriptor));
    std::vector<std::string> staged = runner::format(words);
    staged.insert(staged.begin(), self);
    confinement.launch = std::make_shared<reporting::Plan>(
        Argv(detail::wrapped(backend_, policy, Argv(std::move(staged))).argv), confinement.dialect);
    return confinement;
  }

  void invalidate() noexcept { backend_.invalidate(); }

  [[nodiscard]] B& backend() noexcept { return backend_; }

 private:
  B backend_;
};

}  // namespace cordon
