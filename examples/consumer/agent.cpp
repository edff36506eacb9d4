// SPDX-License-Identifier: BSL-1.0
#include "agent.hpp"

#include <cordon/cordon.hpp>

using Agent = cordon::Harness<cordon::PlatformBackend>;
static_assert(Agent::backend_can_be_full<cordon::WorkspaceWrite>);

std::string run_read_only(const std::string& script) {
  Agent agent;
  const auto policy = agent.resolve({.mode = cordon::read_only});
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return policy.visit(
      [&](const cordon::Policy<cordon::ReadOnly>& read_only) {
        const auto result = agent.run(read_only, cordon::shell(script), options);
        if (result.denied()) return std::string("denied");
        const auto* exited = std::get_if<cordon::process::Exited>(&result.ending);
        return std::string(exited != nullptr && exited->code == 0 ? "fine" : "failed");
      },
      [](const auto&) { return std::string("unexpected mode"); });
}
