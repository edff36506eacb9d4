// SPDX-License-Identifier: BSL-1.0
// A question is asked in an open turn, which a session alone is not.
// expect: no match

#include <cordon/approval/service.hpp>
#include <cordon/session/log.hpp>
#include <utility>

inline cordon::ApprovalResult ask(cordon::Session<cordon::MemoryLog>& session, cordon::ApprovalRequest request) {
  cordon::ApprovalService<cordon::AnswererChain<>> service;
#ifdef CORDON_BREAK
  return service.request(session, std::move(request)).result();
#else
  auto turn = session.begin_turn();
  return service.request(turn, std::move(request)).result();
#endif
}
