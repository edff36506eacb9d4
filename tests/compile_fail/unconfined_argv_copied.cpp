// SPDX-License-Identifier: BSL-1.0
// One authority, one execution: an UnconfinedArgv can't be copied.
// expect: deleted

#include <cordon/confined.hpp>
#include <utility>

inline cordon::UnconfinedArgv twice(cordon::UnconfinedArgv once) {
#ifdef CORDON_BREAK
  cordon::UnconfinedArgv copy = once;
  return copy;
#else
  cordon::UnconfinedArgv moved = std::move(once);
  return moved;
#endif
}
