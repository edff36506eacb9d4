// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/mode.hpp>
#include <type_traits>

namespace cordon {

/// What partial enforcement means to a program. A rule is a type with `accepts_partial<M>` for both confined modes.
struct RefusePartial {
  template <ConfinedMode M>
  static constexpr bool accepts_partial = false;
};

/// The default: a read-only command may run with a gap that is named, a command that may write may not.
struct RefusePartialUnlessReadOnly {
  template <ConfinedMode M>
  static constexpr bool accepts_partial = std::is_same_v<M, ReadOnly>;
};

struct AcceptPartial {
  template <ConfinedMode M>
  static constexpr bool accepts_partial = true;
};

template <class R>
concept PartialRule = requires {
  requires std::is_same_v<decltype(R::template accepts_partial<ReadOnly>), const bool>;
  requires std::is_same_v<decltype(R::template accepts_partial<WorkspaceWrite>), const bool>;
};

}  // namespace cordon
