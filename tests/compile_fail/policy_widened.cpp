// SPDX-License-Identifier: BSL-1.0
// The scope of a Policy<ReadOnly> is no way to a wider policy.
// expect: private

#include <cordon/policy.hpp>

inline cordon::PolicyScope widen(const cordon::Policy<cordon::ReadOnly>& narrow) {
#ifdef CORDON_BREAK
  return cordon::Policy<cordon::WorkspaceWrite>(narrow.scope()).scope();
#else
  return cordon::Policy<cordon::ReadOnly>(narrow).scope();
#endif
}
