// SPDX-License-Identifier: BSL-1.0
// A rule names the words that a command has.
// expect: cordon: a word of a rule is blank

#include <cordon/approval/answerers/prefix_rules.hpp>

inline constexpr cordon::StaticPrefixRules rules({
#ifdef CORDON_BREAK
    cordon::allow_prefix("git", ""),
#else
    cordon::allow_prefix("git", "log"),
#endif
});
