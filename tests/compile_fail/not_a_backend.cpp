// SPDX-License-Identifier: BSL-1.0
// A Harness is composed around a backend.
// expect: cordon: Harness<Backend, ...> needs a backend type, for example cordon::PlatformBackend

#include <cordon/harness.hpp>
#include <utility>

struct NoBackendAtAll {};

#ifdef CORDON_BREAK
using B = NoBackendAtAll;
#else
using B = cordon::Refuse;
#endif

inline B& backend_of(cordon::Harness<B>& harness) {
  return harness.backend();
}
