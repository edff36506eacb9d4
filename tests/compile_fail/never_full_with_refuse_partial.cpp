// SPDX-License-Identifier: BSL-1.0
// A backend that is never full and a rule that wants full could never run anything.
// expect: cordon: this backend can never be full and this rule refuses anything less.*; choose another backend

#include <cordon/harness.hpp>
#include <string_view>

struct NeverFull {
  using cordon_concept = cordon::BackendTag;
  static constexpr std::string_view name = "never-full";
  template <cordon::ConfinedMode M>
  static constexpr bool can_be_full = false;
  template <cordon::ConfinedMode M>
  cordon::Availability probe(const cordon::Policy<M>&);
  template <cordon::ConfinedMode M>
  cordon::Confinement wrap(const cordon::Policy<M>&, const cordon::Argv&);
  void invalidate() noexcept;
};

#ifdef CORDON_BREAK
using Rule = cordon::RefusePartial;
#else
using Rule = cordon::RefusePartialUnlessReadOnly;
#endif

inline NeverFull& backend_of(cordon::Harness<NeverFull, cordon::AnswererChain<>, Rule>& harness) {
  return harness.backend();
}
