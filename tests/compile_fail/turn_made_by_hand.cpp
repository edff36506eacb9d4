// SPDX-License-Identifier: BSL-1.0
// A command outside a turn is not to be recorded, so only a session opens one.
// expect: private

#include <cordon/session/session.hpp>

inline std::uint64_t record(cordon::Session<cordon::MemoryLog>& session) {
#ifdef CORDON_BREAK
  cordon::Turn<cordon::MemoryLog> turn(nullptr, 1, false);
  (void)session;
#else
  auto turn = session.begin_turn();
#endif
  return turn.record(cordon::ExecUnconfined{{"x"}, "/w", "y"});
}
