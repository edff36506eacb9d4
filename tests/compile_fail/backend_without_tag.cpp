// SPDX-License-Identifier: BSL-1.0
// The right member names don't make a backend: it has to opt in.
// expect: cordon: this type is not a backend; it needs `using cordon_concept = cordon::BackendTag`.*TaggedAsBackend

#include <cordon/backend/backend.hpp>
#include <string_view>

struct Untagged {
  static constexpr std::string_view name = "untagged";
  template <cordon::ConfinedMode M>
  static constexpr bool can_be_full = false;
  template <cordon::ConfinedMode M>
  cordon::Availability probe(const cordon::Policy<M>&);
  template <cordon::ConfinedMode M>
  cordon::Confinement wrap(const cordon::Policy<M>&, const cordon::Argv&);
  void invalidate() noexcept;
};

#ifdef CORDON_BREAK
using B = Untagged;
#else
struct Tagged : Untagged {
  using cordon_concept = cordon::BackendTag;
};
using B = Tagged;
#endif

inline void wrap(B& backend, const cordon::Policy<cordon::ReadOnly>& policy, const cordon::Argv& command) {
  (void)cordon::confine(backend, policy, command);
}
