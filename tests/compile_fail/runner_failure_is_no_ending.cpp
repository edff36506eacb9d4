// SPDX-License-Identifier: BSL-1.0
// What a runner did wrong is no way for a command to end.
// expect: no matching

#include <cordon/harness.hpp>

#ifdef CORDON_BREAK
inline const cordon::CommandEnding ending{cordon::RunnerFailure{}};
#else
inline const cordon::CommandEnding ending{cordon::process::Exited{}};
#endif
