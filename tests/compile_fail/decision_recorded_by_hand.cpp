// SPDX-License-Identifier: BSL-1.0
// A decision is in the log because somebody was asked: no program records one by itself.
// expect: TurnEvent

#include <cordon/session/session.hpp>

inline std::uint64_t record(cordon::Turn<cordon::MemoryLog>& turn) {
#ifdef CORDON_BREAK
  return turn.record(cordon::ApprovalDecided{"id", cordon::ApprovalResult::allowed_once, "terminal"});
#else
  return turn.record(cordon::ExecUnconfined{{"x"}, "/w", "y"});
#endif
}
