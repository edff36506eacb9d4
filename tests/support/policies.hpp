// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/policy/resolver.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace support {

/// The policy of mode M that this request comes to.
template <cordon::ConfinedMode M>
[[nodiscard]] cordon::Policy<M> policy(cordon::PolicyRequest request) {
  request.mode = M{};
  return cordon::PolicyResolver::resolve(request).visit([]<cordon::Mode N>(const cordon::Policy<N>& found) {
    if constexpr (std::is_same_v<M, N>)
      return found;
    else
      return [](const auto&) -> cordon::Policy<M> { throw std::logic_error("a policy of another mode"); }(found);
  });
}

template <cordon::ConfinedMode M>
[[nodiscard]] cordon::Policy<M> policy(const std::string& workspace = "/var/tmp") {
  cordon::PolicyRequest request;
  request.workspace_root = workspace;
  return policy<M>(std::move(request));
}

}  // namespace support
