// SPDX-License-Identifier: BSL-1.0
// The facts of a running command are those of its wrap, so nobody else can put them beside a process.
// expect: private

#include <cordon/harness.hpp>
#include <utility>

#ifdef CORDON_BREAK
inline cordon::Running label(cordon::process::Child child) {
  return cordon::Running({cordon::read_only}, std::move(child));
}
#else
inline cordon::Running label(cordon::Running running) {
  return running;
}
#endif
