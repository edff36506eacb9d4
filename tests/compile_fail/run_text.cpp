// SPDX-License-Identifier: BSL-1.0
// Harness::run takes no command line.
// expect: cordon: a string is not an Argv; write cordon::shell

#include <cordon/harness.hpp>

inline void run(cordon::Harness<>& harness, const cordon::Policy<cordon::ReadOnly>& policy) {
#ifdef CORDON_BREAK
  (void)harness.run(policy, "ls -l");
#else
  (void)harness.run(policy, cordon::shell("ls -l"));
#endif
}
