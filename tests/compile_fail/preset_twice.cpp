// SPDX-License-Identifier: BSL-1.0
// A name means one preset.
// expect: cordon: presets need names that differ

#include <cordon/session/preset.hpp>

inline constexpr cordon::StaticPresets presets({
    {"careful", {cordon::read_only, cordon::ApprovalPolicy::ask}},
#ifdef CORDON_BREAK
    {"careful", {cordon::workspace_write, cordon::ApprovalPolicy::ask}},
#else
    {"other", {cordon::workspace_write, cordon::ApprovalPolicy::ask}},
#endif
});
