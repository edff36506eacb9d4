// SPDX-License-Identifier: BSL-1.0
// Nobody allows whatever comes behind sudo.
// expect: cordon: a rule allows whatever command follows

#include <cordon/approval/answerers/prefix_rules.hpp>

inline constexpr cordon::StaticPrefixRules rules({
#ifdef CORDON_BREAK
    cordon::allow_prefix("sudo"),
#else
    cordon::ask_prefix("sudo"),
#endif
});
