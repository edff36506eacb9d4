// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/error.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon {

/// Whether somebody is asked when an action needs an approval. Source: APR-09.
enum class ApprovalPolicy : std::uint8_t {
  ask,    ///< the answerers are asked
  never,  ///< nobody is: it is rejected
};

[[nodiscard]] constexpr std::string_view name(ApprovalPolicy policy) noexcept {
  return policy == ApprovalPolicy::ask ? "ask" : "never";
}

/// The policy with exactly this wire name. Throws PolicyInvalidError for every other text.
[[nodiscard]] inline ApprovalPolicy parse_approval_policy(std::string_view text) {
  for (const ApprovalPolicy policy : {ApprovalPolicy::ask, ApprovalPolicy::never})
    if (text == name(policy)) return policy;
  throw PolicyInvalidError("unknown approval policy '" + std::string(text) + "'; write ask or never");
}

/// Lets fewer actions through than the other.
[[nodiscard]] constexpr bool stricter_than(ApprovalPolicy a, ApprovalPolicy b) noexcept {
  return a == ApprovalPolicy::never && b == ApprovalPolicy::ask;
}

}  // namespace cordon
