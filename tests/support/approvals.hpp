// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/service.hpp>
#include <cordon/session/session.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/policies.hpp"

namespace support {

/// What a chain is asked about when only the chain matters.
[[nodiscard]] inline cordon::Action action(cordon::Argv command = {"/bin/true"},
                                           cordon::SandboxMode mode = cordon::danger_full_access,
                                           cordon::process::RunOptions options = {}) {
  return {std::move(command), mode, policy<cordon::ReadOnly>("/var/tmp").scope(), std::move(options)};
}

[[nodiscard]] inline cordon::ApprovalRequest request(cordon::Argv command = {"/bin/true"},
                                                     cordon::SandboxMode mode = cordon::danger_full_access) {
  return cordon::ApprovalRequest("command", action(std::move(command), mode), "because", "call 1");
}

/// A session in memory, with a turn open.
struct OpenTurn {
  explicit OpenTurn(cordon::SessionDefaults defaults = {})
      : session(cordon::MemoryLog(cordon::SessionHeader{"s", 0}), defaults), turn(session.begin_turn()) {}

  template <class E>
  [[nodiscard]] std::vector<E> events() const {
    std::vector<E> found;
    session.for_each([&](const cordon::Record& record) {
      if (const auto* event = std::get_if<E>(&record.event)) found.push_back(*event);
    });
    return found;
  }

  cordon::Session<cordon::MemoryLog> session;
  cordon::Turn<cordon::MemoryLog> turn;
};

/// Does what its function says.
template <class F, bool Immediate = false>
struct Answering {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "test";
  static constexpr bool immediate = Immediate;
  F function;
  cordon::Decision operator()(const cordon::ApprovalRequest& request, const cordon::AnyNext& next) {
    return function(request, next);
  }
};

/// A service with one such answerer, and what is asked after it.
template <bool Immediate = false, class F>
[[nodiscard]] auto service_of(F function, cordon::ApprovalOptions options = {}) {
  using A = Answering<F, Immediate>;
  return cordon::ApprovalService<cordon::AnswererChain<A>>(cordon::AnswererChain<A>(A{std::move(function)}),
                                                           std::move(options));
}

}  // namespace support
