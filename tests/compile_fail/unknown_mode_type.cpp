// SPDX-License-Identifier: BSL-1.0
// A type of your own is no mode, even with a name and a comparison.
// expect: is_read_only_workspace_write_or_danger_full_access.*evaluated to

#include <cordon/policy.hpp>
#include <string_view>

struct AlmostReadOnly {
  static constexpr std::string_view name = "almost-read-only";
  friend constexpr bool operator==(AlmostReadOnly, AlmostReadOnly) = default;
};

#ifdef CORDON_BREAK
using Mode = AlmostReadOnly;
#else
using Mode = cordon::ReadOnly;
#endif

inline const cordon::PolicyScope& scope_of(const cordon::Policy<Mode>& policy) {
  return policy.scope();
}
