// SPDX-License-Identifier: BSL-1.0
// A backend says how its runner and its denials speak.
// expect: cordon: a Confinement needs the dialect of its backend

#include <cordon/confined.hpp>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using Mine = cordon::Dialect<cordon::DenialSignatures<"read-only file system">>;

inline cordon::Confinement wrapped() {
#ifdef CORDON_BREAK
  return {.argv = {"jail"}, .backend = "jail", .enforcement = cordon::Enforcement::of<cordon::ReadOnly>({})};
#else
  return {.argv = {"jail"},
          .backend = "jail",
          .enforcement = cordon::Enforcement::of<cordon::ReadOnly>({}),
          .dialect = Mine::view()};
#endif
}
