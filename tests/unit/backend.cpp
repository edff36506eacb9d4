// SPDX-License-Identifier: BSL-1.0
#include <cordon/backend/backend.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/scripted_backend.hpp"

using cordon::Availability;
using cordon::Backend;
using cordon::ConfinedMode;
using cordon::Confinement;
using cordon::EffectSet;
using cordon::Enforcement;
using cordon::Policy;
using cordon::ReadOnly;
using cordon::WorkspaceWrite;

namespace {

/// The least that is a backend.
struct Archetype {
  using cordon_concept = cordon::BackendTag;
  static constexpr std::string_view name = "archetype";
  template <ConfinedMode M>
  static constexpr bool can_be_full = false;
  template <ConfinedMode M>
  Availability probe(const Policy<M>&) {
    return Availability::usable(Enforcement::of<M>(EffectSet::all()));
  }
  template <ConfinedMode M>
  Confinement wrap(const Policy<M>&, const cordon::Argv&) {
    return support::confinement({"/archetype"}, name, Enforcement::of<M>(EffectSet::all()));
  }
  void invalidate() noexcept {}
};

// One near miss a clause: the archetype, but for what its name says.

struct Untagged {
  static constexpr std::string_view name = "untagged";
  template <ConfinedMode M>
  [[maybe_unused]] static constexpr bool can_be_full = false;
  template <ConfinedMode M>
  Availability probe(const Policy<M>& policy) {
    return Archetype{}.probe(policy);
  }
  template <ConfinedMode M>
  Confinement wrap(const Policy<M>& policy, const cordon::Argv& argv) {
    return Archetype{}.wrap(policy, argv);
  }
  void invalidate() noexcept {}
};

struct TaggedAsSomethingElse : Archetype {
  struct OtherTag {};
  using cordon_concept = OtherTag;
};

struct Nameless : Archetype {
  void name() const;
};

struct NamedByNumber : Archetype {
  static constexpr int name = 7;
};

struct Immovable : Archetype {
  Immovable() = default;
  Immovable(Immovable&&) = delete;
};

struct NeverForgets : Archetype {
  void invalidate(int) noexcept;
};

struct ForgetsButMayThrow : Archetype {
  void invalidate() {}
};

struct DoesNotKnowItsLimits {
  using cordon_concept = cordon::BackendTag;
  static constexpr std::string_view name = "without limits";
  template <ConfinedMode M>
  Availability probe(const Policy<M>& policy) {
    return Archetype{}.probe(policy);
  }
  template <ConfinedMode M>
  Confinement wrap(const Policy<M>& policy, const cordon::Argv& argv) {
    return Archetype{}.wrap(policy, argv);
  }
  void invalidate() noexcept {}
};

struct CountsItsLimits : Archetype {
  template <ConfinedMode M>
  static constexpr int can_be_full = 1;
};

struct KnowsItsLimitsOnlyReadOnly : Archetype {
  template <class M>
  requires std::same_as<M, ReadOnly>
  static constexpr bool can_be_full = true;
};

struct ProbesWithBool : Archetype {
  template <ConfinedMode M>
  bool probe(const Policy<M>&) {
    return true;
  }
};

struct ProbesOnlyReadOnly : Archetype {
  Availability probe(const Policy<ReadOnly>& policy) { return Archetype::probe(policy); }
};

struct ProbesOnlyWriting : Archetype {
  Availability probe(const Policy<WorkspaceWrite>& policy) { return Archetype::probe(policy); }
};

struct WrapsIntoWords : Archetype {
  template <ConfinedMode M>
  std::vector<std::string> wrap(const Policy<M>&, const cordon::Argv& argv) {
    return argv.elements();
  }
};

struct WrapsOnlyReadOnly : Archetype {
  Confinement wrap(const Policy<ReadOnly>& policy, const cordon::Argv& argv) { return Archetype::wrap(policy, argv); }
};

struct WrapsOnlyWriting : Archetype {
  Confinement wrap(const Policy<WorkspaceWrite>& policy, const cordon::Argv& argv) {
    return Archetype::wrap(policy, argv);
  }
};

struct Broken : Archetype {
  template <ConfinedMode M>
  Confinement wrap(const Policy<M>&, const cordon::Argv&) {
    throw cordon::SandboxUnavailableError("broken");
  }
};

}  // namespace

TEST_CASE("The archetype is a backend") {
  STATIC_REQUIRE(Backend<Archetype>);
}

TEST_CASE("Each clause of the backend concept refuses its near miss") {
  STATIC_REQUIRE_FALSE(Backend<Untagged>);
  STATIC_REQUIRE_FALSE(Backend<TaggedAsSomethingElse>);
  STATIC_REQUIRE_FALSE(Backend<Nameless>);
  STATIC_REQUIRE_FALSE(Backend<NamedByNumber>);
  STATIC_REQUIRE_FALSE(Backend<Immovable>);
  STATIC_REQUIRE_FALSE(Backend<NeverForgets>);
  STATIC_REQUIRE_FALSE(Backend<ForgetsButMayThrow>);
  STATIC_REQUIRE_FALSE(Backend<DoesNotKnowItsLimits>);
  STATIC_REQUIRE_FALSE(Backend<CountsItsLimits>);
  STATIC_REQUIRE_FALSE(Backend<KnowsItsLimitsOnlyReadOnly>);
  STATIC_REQUIRE_FALSE(Backend<ProbesWithBool>);
  STATIC_REQUIRE_FALSE(Backend<ProbesOnlyReadOnly>);
  STATIC_REQUIRE_FALSE(Backend<ProbesOnlyWriting>);
  STATIC_REQUIRE_FALSE(Backend<WrapsIntoWords>);
  STATIC_REQUIRE_FALSE(Backend<WrapsOnlyReadOnly>);
  STATIC_REQUIRE_FALSE(Backend<WrapsOnlyWriting>);
}

TEST_CASE("Each near miss breaks the clause that it is named after, and keeps the others") {
  STATIC_REQUIRE_FALSE(cordon::TaggedAsBackend<Untagged>);
  STATIC_REQUIRE_FALSE(cordon::TaggedAsBackend<TaggedAsSomethingElse>);
  STATIC_REQUIRE(cordon::NamedBackend<Untagged>);
  STATIC_REQUIRE_FALSE(cordon::NamedBackend<Nameless>);
  STATIC_REQUIRE_FALSE(cordon::NamedBackend<NamedByNumber>);
  STATIC_REQUIRE_FALSE(std::movable<Immovable>);
  STATIC_REQUIRE_FALSE(cordon::ForgetsVerdicts<NeverForgets>);
  STATIC_REQUIRE_FALSE(cordon::ForgetsVerdicts<ForgetsButMayThrow>);
  STATIC_REQUIRE_FALSE(cordon::KnowsItsLimits<DoesNotKnowItsLimits, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::KnowsItsLimits<CountsItsLimits, ReadOnly>);
  STATIC_REQUIRE(cordon::KnowsItsLimits<KnowsItsLimitsOnlyReadOnly, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::KnowsItsLimits<KnowsItsLimitsOnlyReadOnly, WorkspaceWrite>);
  STATIC_REQUIRE_FALSE(cordon::ProbesUnder<ProbesWithBool, ReadOnly>);
  STATIC_REQUIRE(cordon::ProbesUnder<ProbesOnlyReadOnly, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::ProbesUnder<ProbesOnlyReadOnly, WorkspaceWrite>);
  STATIC_REQUIRE_FALSE(cordon::ProbesUnder<ProbesOnlyWriting, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::WrapsUnder<WrapsIntoWords, ReadOnly>);
  STATIC_REQUIRE(cordon::WrapsUnder<WrapsOnlyReadOnly, ReadOnly>);
  STATIC_REQUIRE_FALSE(cordon::WrapsUnder<WrapsOnlyReadOnly, WorkspaceWrite>);
  STATIC_REQUIRE_FALSE(cordon::WrapsUnder<WrapsOnlyWriting, ReadOnly>);
  STATIC_REQUIRE(cordon::TaggedAsBackend<WrapsOnlyWriting>);
}

TEST_CASE("An availability is usable with an enforcement, or unusable with a reason and a remedy, never both") {
  const Availability usable = Availability::usable(Enforcement::of<ReadOnly>(EffectSet::all()));
  CHECK(usable.usable());
  REQUIRE(usable.enforcement() != nullptr);
  CHECK(usable.enforcement()->full());
  CHECK(usable.problem() == nullptr);

  const Availability unusable = Availability::unusable("why", "what to do");
  CHECK_FALSE(unusable.usable());
  CHECK(unusable.enforcement() == nullptr);
  REQUIRE(unusable.problem() != nullptr);
  CHECK(unusable.problem()->reason == "why");
  CHECK(unusable.problem()->remedy == "what to do");
}

TEST_CASE("confine passes the backend's refusal on") {
  Broken backend;
  CHECK_THROWS_AS(cordon::confine(backend, support::policy<ReadOnly>(), cordon::Argv({"prog"})),
                  cordon::SandboxUnavailableError);
}
