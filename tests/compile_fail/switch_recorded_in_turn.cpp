// SPDX-License-Identifier: BSL-1.0
// Mode, policy and preset have one write path: the session's.
// expect: TurnEvent

#include <cordon/session/session.hpp>

inline void widen(cordon::Session<cordon::MemoryLog>& session, cordon::Turn<cordon::MemoryLog>& turn) {
#ifdef CORDON_BREAK
  turn.record(cordon::ModeSwitched{cordon::danger_full_access});
  (void)session;
#else
  session.set_mode(cordon::danger_full_access);
  (void)turn;
#endif
}
