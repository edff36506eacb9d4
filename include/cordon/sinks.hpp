// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string_view>

namespace cordon {

/// What even a read-only command may write to and control, because programs need it and nothing is kept there. The
/// last one is a directory: the terminals of this mount.
inline constexpr std::array<std::string_view, 8> sinks{"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                                       "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts"};

}  // namespace cordon
