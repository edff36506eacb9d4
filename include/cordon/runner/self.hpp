// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

namespace cordon::runner {

/// How a program names itself to whoever spawns it: the link is followed in the child, before its own exec.
inline constexpr const char* self_program = "/proc/self/exe";

/// What stands in an argv when there is no runner: it can't be executed, so nothing runs unconfined.
inline constexpr const char* no_program = "/dev/null/cordon-runner-is-missing";

namespace detail {
inline std::atomic<bool> entry_was_called{false};
}

/// True when this program called `cordon::runner::entry` first in main: then it may be executed again, through
/// /proc/self/exe, as its own runner. Never decided by an environment variable or by PATH.
[[nodiscard]] inline bool self_is_runner() noexcept {
  return detail::entry_was_called.load(std::memory_order_acquire);
}

}  // namespace cordon::runner
