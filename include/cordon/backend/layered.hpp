// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/bubblewrap.hpp>
#include <cordon/backend/landlock.hpp>
#include <cordon/backend/mount_namespace.hpp>
#include <cordon/detail/overloaded.hpp>
#include <type_traits>

namespace cordon {

/// Several backends at once, in one child: what each governs adds up. The order of the arguments does not matter; the
/// library knows which step has to come first.
template <class... Backends>
class Layered {
  static_assert(detail::always_false<Backends...>,
                "cordon: these backends can't be layered; write Layered<MountNamespace, Landlock> or "
                "Layered<Bubblewrap, Landlock>");
};

/// Mounts govern everything but FIFOs, Landlock governs those: full from Landlock ABI 1 on. The Linux default.
template <>
class Layered<MountNamespace, Landlock>
    : public in_process::Confiner<in_process::Layers{.mounts = true, .landlock = true}> {
 public:
  using Confiner::Confiner;
  static constexpr std::string_view name = "mount-namespace+landlock";
};

template <>
class Layered<Landlock, MountNamespace> : public Layered<MountNamespace, Landlock> {
 public:
  using Layered<MountNamespace, Landlock>::Layered;
};

/// Landlock inside bubblewrap, the other way round being impossible: Landlock forbids what bubblewrap has to do. The
/// guard that bubblewrap starts adds every Landlock rule. Needs a program that is its own runner.
template <>
class Layered<Bubblewrap, Landlock> : public Bubblewrap {
 public:
  static constexpr std::string_view name = "bubblewrap+landlock";

  explicit Layered(BubblewrapOptions options = {}) : Bubblewrap(with_landlock(std::move(options))) {}

 private:
  static BubblewrapOptions with_landlock(BubblewrapOptions options) {
    options.with_landlock = true;
    return options;
  }
};

template <>
class Layered<Landlock, Bubblewrap> : public Layered<Bubblewrap, Landlock> {
 public:
  using Layered<Bubblewrap, Landlock>::Layered;
};

}  // namespace cordon
