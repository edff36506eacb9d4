// SPDX-License-Identifier: BSL-1.0
#include <cordon/backend/first_usable.hpp>
#include <cordon/backend/refuse.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/scripted_backend.hpp"

using cordon::Argv;
using cordon::EffectSet;
using cordon::FileEffect;
using cordon::FirstUsable;
using cordon::ReadOnly;
using cordon::SandboxUnavailableError;
using cordon::WorkspaceWrite;
using support::policy;
using support::Script;
using support::ScriptedBackend;

namespace {

struct Chain {
  std::shared_ptr<Script> first = std::make_shared<Script>();
  std::shared_ptr<Script> second = std::make_shared<Script>();
  FirstUsable<ScriptedBackend<0>, ScriptedBackend<1>> backend{ScriptedBackend<0>(first), ScriptedBackend<1>(second)};

  std::string refusal() {
    try {
      (void)backend.wrap(policy<WorkspaceWrite>(), Argv({"prog"}));
    } catch (const SandboxUnavailableError& error) {
      return error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("T-PRV-01: the first backend that is usable is taken, and the next one isn't probed") {
  Chain chain;
  const auto confinement = chain.backend.wrap(policy<WorkspaceWrite>(), Argv({"prog"}));
  CHECK(confinement.backend == "scripted-zero");
  CHECK(confinement.enforcement.full());
  CHECK(chain.second->probes == 0);
  CHECK(chain.second->wraps == 0);
}

TEST_CASE("T-PRV-02: the next backend is taken when the first is not usable, with the enforcement that it has") {
  Chain chain;
  chain.first->usable = false;
  SECTION("full") {
    CHECK(chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"})).backend == "scripted-one");
    CHECK(chain.backend.probe(policy<ReadOnly>()).enforcement()->full());
  }
  SECTION("partial") {
    chain.second->governed = EffectSet::all() - EffectSet{FileEffect::metadata};
    const auto confinement = chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"}));
    CHECK(confinement.backend == "scripted-one");
    CHECK(confinement.enforcement.missing() == EffectSet{FileEffect::metadata});
    CHECK(chain.backend.probe(policy<ReadOnly>()).enforcement()->missing() == EffectSet{FileEffect::metadata});
  }
  CHECK(chain.first->wraps == 0);
}

TEST_CASE("T-PRV-03: when none is usable every wrap throws the same error, and only the first one probes") {
  Chain chain;
  chain.first->usable = false;
  chain.second->usable = false;
  const std::string first = chain.refusal();
  CHECK_FALSE(first.empty());
  CHECK(chain.refusal() == first);
  CHECK(chain.refusal() == first);
  CHECK(chain.first->probes == 1);
  CHECK(chain.second->probes == 1);
}

TEST_CASE("T-PRV-06: three wraps walk the chain once") {
  Chain chain;
  chain.first->usable = false;
  for (int i = 0; i != 3; ++i) CHECK_NOTHROW(chain.backend.wrap(policy<WorkspaceWrite>(), Argv({"prog"})));
  CHECK(chain.first->probes == 1);
  CHECK(chain.second->probes == 1);
  CHECK(chain.second->wraps == 3);
}

TEST_CASE("T-PRV-21: the error has the code, the mode, and every backend's name, reason and remedy") {
  Chain chain;
  chain.first->usable = false;
  chain.first->reason = "reason zero";
  chain.first->remedy = "remedy zero";
  chain.second->usable = false;
  chain.second->reason = "reason one";
  chain.second->remedy = "remedy one";
  const std::string text = chain.refusal();
  for (const char* word :
       {"workspace-write", "scripted-zero: reason zero", "scripted-one: reason one", "remedy zero", "remedy one"}) {
    INFO(text);
    CHECK(text.find(word) != std::string::npos);
  }
  const auto verdict = chain.backend.probe(policy<WorkspaceWrite>());
  REQUIRE_FALSE(verdict.usable());
  CHECK(verdict.problem()->reason.find("reason zero") != std::string::npos);
  CHECK(verdict.problem()->reason.find("reason one") != std::string::npos);
  CHECK(verdict.problem()->remedy.find("remedy one") != std::string::npos);
}

TEST_CASE("F4: what helps two backends is said once") {
  Chain chain;
  chain.first->usable = false;
  chain.second->usable = false;
  chain.first->remedy = chain.second->remedy = "the remedy";
  const std::string text = chain.refusal();
  CHECK(text.find("the remedy") != std::string::npos);
  CHECK(text.find("the remedy") == text.rfind("the remedy"));
  CHECK(chain.backend.probe(policy<WorkspaceWrite>()).problem()->remedy == "the remedy");
}

TEST_CASE("invalidate reaches every backend, and the next wrap probes again") {
  Chain chain;
  chain.first->usable = false;
  (void)chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"}));
  chain.first->usable = true;
  CHECK(chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"})).backend == "scripted-one");
  chain.backend.invalidate();
  CHECK(chain.first->forgets == 1);
  CHECK(chain.second->forgets == 1);
  CHECK(chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"})).backend == "scripted-zero");
}

TEST_CASE("A verdict for one mode says nothing about the other") {
  Chain chain;
  (void)chain.backend.wrap(policy<ReadOnly>(), Argv({"prog"}));
  (void)chain.backend.wrap(policy<WorkspaceWrite>(), Argv({"prog"}));
  CHECK(chain.first->probes == 2);
}

TEST_CASE("Chains nest, and are as full as their fullest backend can be") {
  struct Names {
    std::vector<std::string> seen;
  } names;
  Chain chain;
  chain.backend.for_each([&](auto& backend) { names.seen.emplace_back(backend.name); });
  CHECK(names.seen == std::vector<std::string>{"scripted-zero", "scripted-one"});
  using Inner = FirstUsable<cordon::Refuse>;
  FirstUsable<Inner, ScriptedBackend<1>> outer;
  CHECK(outer.wrap(policy<ReadOnly>(), Argv({"prog"})).backend == "scripted-one");
  STATIC_REQUIRE(cordon::Backend<FirstUsable<Inner, ScriptedBackend<1>>>);
  STATIC_REQUIRE(FirstUsable<ScriptedBackend<0>>::can_be_full<ReadOnly>);
}
