// SPDX-License-Identifier: BSL-1.0
// A text is not an Argv: nothing in cordon splits a command line.
// expect: cordon: a string is not an Argv; write cordon::shell

#include <cordon/argv.hpp>

inline cordon::Argv listing() {
#ifdef CORDON_BREAK
  return cordon::Argv("ls -l");
#else
  return cordon::Argv({"ls", "-l"});
#endif
}
