// SPDX-License-Identifier: BSL-1.0
// Only the ApprovalService makes a grant.
// expect: private

#include <cordon/approval/service.hpp>
#include <cordon/session/log.hpp>
#include <memory>
#include <utility>

inline cordon::ApprovalResult ask(cordon::Turn<cordon::MemoryLog>& turn, cordon::ApprovalRequest request) {
#ifdef CORDON_BREAK
  const cordon::AllowedOnce mine(std::make_shared<const cordon::ApprovalRequest>(std::move(request)), nullptr,
                                 turn.number());
  return cordon::ApprovalResult::allowed_once;
#else
  cordon::ApprovalService<cordon::AnswererChain<> > service;
  return service.request(turn, std::move(request)).result();
#endif
}
