// SPDX-License-Identifier: BSL-1.0
// cordon::confine takes a backend.
// expect: cordon: this type is not a backend; it needs `using cordon_concept = cordon::BackendTag`

#include <cordon/backend/refuse.hpp>

struct HasNothing {};

#ifdef CORDON_BREAK
using B = HasNothing;
#else
using B = cordon::Refuse;
#endif

inline void wrap(B& backend, const cordon::Policy<cordon::ReadOnly>& policy, const cordon::Argv& command) {
  (void)cordon::confine(backend, policy, command);
}
