// SPDX-License-Identifier: BSL-1.0
// A job has one owner: Jobs takes the running command away from its caller.
// expect: deleted

#include <cordon/jobs.hpp>
#include <utility>

inline cordon::Job keep(cordon::Jobs& jobs, cordon::Running running) {
#ifdef CORDON_BREAK
  return jobs.keep(running);
#else
  return jobs.keep(std::move(running));
#endif
}
