// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

namespace cordon::runner {

namespace detail {
inline std::atomic<bool> entry_was_called{false};
}

/// True when this program called `cordon::runner::entry` first in main: then it may be executed again, through
/// /proc/self/exe, as its own runner. Never decided by an environment variable or by PATH.
[[nodiscard]] inline bool self_is_runner() noexcept { return detail::entry_was_called.load(std::memory_order_acquire); }

}  // namespace cordon::runner
