// SPDX-License-Identifier: BSL-1.0
// What a session remembers is what somebody said when he was asked: no program records it by itself.
// expect: TurnEvent

#include <cordon/session/session.hpp>

inline std::uint64_t record(cordon::Turn<cordon::MemoryLog>& turn) {
#ifdef CORDON_BREAK
  return turn.record(cordon::ApprovalRemembered{"id", {"rm"}, false, cordon::danger_full_access, "/", "/"});
#else
  return turn.record(cordon::ExecUnconfined{{"x"}, "/w", "y"});
#endif
}
