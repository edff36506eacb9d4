// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cerrno>
#include <cordon/backend/backend.hpp>
#include <cordon/process/launch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/scripted_backend.hpp"

namespace support {

/// A backend whose runner is a program of the test's: it is started with the command behind a --.
struct StandIn {
  using cordon_concept = cordon::BackendTag;
  static constexpr std::string_view name = "stand-in";
  template <cordon::ConfinedMode M>
  static constexpr bool can_be_full = true;

  std::vector<std::string> runner;
  int* forgotten = nullptr;
  bool fails = false;
  std::string only = {};  ///< the one program that it wraps; empty: every one

  template <cordon::ConfinedMode M>
  cordon::Availability probe(const cordon::Policy<M>&) {
    return cordon::Availability::usable(cordon::Enforcement::of<M>(cordon::EffectSet::all()));
  }
  template <cordon::ConfinedMode M>
  cordon::Confinement wrap(const cordon::Policy<M>&, const cordon::Argv& command) {
    std::vector<std::string> argv;
    if (only.empty() || only == command.elements().front()) argv = runner;
    argv.insert(argv.end(), command.elements().begin(), command.elements().end());
    cordon::Confinement result = confinement(argv, name, cordon::Enforcement::of<M>(cordon::EffectSet::all()));
    if (fails) result.launch = std::make_shared<FailingPlan>();
    return result;
  }
  void invalidate() noexcept {
    if (forgotten != nullptr) ++*forgotten;
  }

 private:
  struct FailingLaunch final : cordon::process::Launch {
    explicit FailingLaunch(const cordon::process::LaunchRequest& request) {
      made.argv = {"/bin/sh", "-c", "echo runner words >&2; exit 1"};
      made.environment = request.environment;
      made.working_directory = "/";
    }
    [[nodiscard]] const cordon::process::ChildSetup& setup() const noexcept override { return made; }
    [[nodiscard]] cordon::process::Ending exec_failed(cordon::process::NotExecutable why) const override {
      return cordon::RunnerFailure{"exec-runner", why.error, ""};
    }
    [[nodiscard]] cordon::process::Ending settle(std::optional<cordon::os::WaitStatus>, std::string_view) override {
      return cordon::RunnerFailure{"mount", EPERM, "the runner's words"};
    }
    cordon::process::ChildSetup made;
  };
  struct FailingPlan final : cordon::process::LaunchPlan {
    [[nodiscard]] std::unique_ptr<cordon::process::Launch> prepare(
        const cordon::process::LaunchRequest& request) const override {
      return std::make_unique<FailingLaunch>(request);
    }
  };
};

}  // namespace support
