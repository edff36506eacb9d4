// SPDX-License-Identifier: BSL-1.0
#pragma once

#if defined(__linux__)
#include <cordon/backend/bubblewrap.hpp>
#include <cordon/backend/first_usable.hpp>
#include <cordon/backend/layered.hpp>
#else
#include <cordon/backend/refuse.hpp>
#endif

namespace cordon {

/// The backend for the operating system that the program is compiled for.
#if defined(__linux__)
using PlatformBackend = FirstUsable<Layered<MountNamespace, Landlock>, Bubblewrap, Landlock>;
#else
using PlatformBackend = Refuse;
#endif

}  // namespace cordon
