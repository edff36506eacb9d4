// SPDX-License-Identifier: BSL-1.0
// What became of a question is one of four, and each has to be handled.
// expect: cordon: visiting an ApprovalOutcome must handle AllowedOnce, Rejected, Cancelled and Unavailable

#include <cordon/approval/outcome.hpp>
#include <utility>

inline int handle(cordon::ApprovalOutcome outcome) {
  return std::move(outcome).visit([](const cordon::AllowedOnce&) { return 0; },
                                  [](const cordon::Rejected&) { return 1; },
#ifndef CORDON_BREAK
                                  [](const cordon::Cancelled&) { return 2; },
#endif
                                  [](const cordon::Unavailable&) { return 3; });
}
