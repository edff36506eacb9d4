// SPDX-License-Identifier: BSL-1.0
// custom is what no preset describes.
// expect: cordon: presets need names that differ

#include <cordon/session/preset.hpp>

inline constexpr cordon::StaticPresets presets({
#ifdef CORDON_BREAK
    {"custom", {cordon::read_only, cordon::ApprovalPolicy::ask}},
#else
    {"careful", {cordon::read_only, cordon::ApprovalPolicy::ask}},
#endif
});
