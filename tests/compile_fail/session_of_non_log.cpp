// SPDX-License-Identifier: BSL-1.0
// A session needs something to append to.
// expect: SessionLog

#include <cordon/session/session.hpp>
#include <vector>

#ifdef CORDON_BREAK
using Log = std::vector<cordon::Event>;
#else
using Log = cordon::MemoryLog;
#endif
inline void use(cordon::Session<Log>*) {}
