// SPDX-License-Identifier: BSL-1.0
// Only the resolver mints an ExecutionPolicy.
// expect: private

#include <cordon/policy/resolver.hpp>

inline cordon::ExecutionPolicy mint(const cordon::Policy<cordon::WorkspaceWrite>& policy) {
#ifdef CORDON_BREAK
  return cordon::ExecutionPolicy(policy);
#else
  return cordon::PolicyResolver::resolve({.mode = cordon::workspace_write, .workspace_root = policy.workspace_root()});
#endif
}
