// SPDX-License-Identifier: BSL-1.0
// request_async does not wait, so nobody in its chain may.
// expect: cordon: request_async does not wait, so the chain may hold only answerers that say

#include <cordon/approval/answerers/deferred.hpp>
#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/approval/service.hpp>
#include <cordon/session/log.hpp>
#include <utility>

#ifdef CORDON_BREAK
using Chain = cordon::AnswererChain<cordon::Deferred>;
#else
using Chain = cordon::AnswererChain<cordon::Scripted>;
#endif

inline void ask(cordon::ApprovalService<Chain>& service, cordon::Turn<cordon::MemoryLog>& turn,
                cordon::ApprovalRequest request) {
  service.request_async(
      turn, std::move(request), [](const cordon::Responder&) {}, [](const cordon::ApprovalOutcome&) {});
}
