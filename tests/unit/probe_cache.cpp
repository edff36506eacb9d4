// SPDX-License-Identifier: BSL-1.0
#include <cordon/backend/probe_cache.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/temp_directory.hpp"

using cordon::Availability;
using cordon::ProbeCache;
using cordon::ProbeKey;
using cordon::ReadOnly;
using cordon::WorkspaceWrite;
using support::policy;

TEST_CASE("T-PRV-03: a bad verdict is remembered like a good one") {
  ProbeCache cache;
  int probes = 0;
  for (int i = 0; i != 3; ++i) {
    const Availability verdict = cache.get({"read-only"}, [&] {
      ++probes;
      return Availability::unusable("why", "what to do");
    });
    CHECK(verdict.problem()->reason == "why");
  }
  CHECK(probes == 1);
}

TEST_CASE("Threads that ask for the same verdict at once probe once, and all get it") {
  ProbeCache cache;
  std::atomic<int> probes{0};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i)
    threads.emplace_back([&] {
      const Availability verdict = cache.get({"read-only"}, [&] {
        ++probes;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return Availability::unusable("why", "what to do");
      });
      if (verdict.problem()->reason == "why") ++good;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(probes == 1);
  CHECK(good == 4);
}

TEST_CASE("Different keys have different verdicts") {
  ProbeCache cache;
  int probes = 0;
  const auto ask = [&](const ProbeKey& key) {
    return cache.get(key, [&] { return Availability::unusable(std::to_string(++probes), ""); }).problem()->reason;
  };
  const ProbeKey keys[] = {{"read-only"},
                           {"workspace-write"},
                           {"workspace-write", true},
                           {"workspace-write", false, true},
                           {"workspace-write", false, false, true}};
  for (const ProbeKey& key : keys) (void)ask(key);
  CHECK(probes == 5);
  CHECK(ask(keys[0]) == "1");
  CHECK(ask(keys[4]) == "5");
}

TEST_CASE("Forgetting makes the next question a probe again") {
  ProbeCache cache;
  int probes = 0;
  const auto ask = [&] {
    (void)cache.get({"read-only"}, [&] {
      ++probes;
      return Availability::unusable("", "");
    });
  };
  ask();
  cache.forget();
  ask();
  ask();
  CHECK(probes == 2);
}

TEST_CASE("A probe that throws leaves no verdict behind, and no lock") {
  ProbeCache cache;
  CHECK_THROWS_AS(cache.get({"read-only"}, []() -> Availability { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(cache.get({"read-only"}, [] { return Availability::unusable("later", ""); }).problem()->reason == "later");
}

TEST_CASE("A key says the mode and the kind of roots, not the roots") {
  const support::TempDirectory one;
  const support::TempDirectory two;
  CHECK(ProbeKey::of(policy<WorkspaceWrite>(one.path())) == ProbeKey::of(policy<WorkspaceWrite>(two.path())));
  CHECK(ProbeKey::of(policy<WorkspaceWrite>(one.path())) != ProbeKey::of(policy<ReadOnly>(one.path())));

  cordon::PolicyRequest request;
  request.workspace_root = one.path();
  const ProbeKey plain = ProbeKey::of(policy<WorkspaceWrite>(request));
  SECTION("an extra root") {
    request.write = {two.path()};
  }
  SECTION("a protected path") {
    request.protect = {one.directory("kept")};
  }
  SECTION("a broad workspace") {
    request.allow_broad_root = true;
    request.workspace_root = "/";
  }
  CHECK(ProbeKey::of(policy<WorkspaceWrite>(request)) != plain);
}

TEST_CASE("A broad extra root is another kind than a narrow one") {
  const support::TempDirectory one;
  cordon::PolicyRequest request;
  request.workspace_root = one.path();
  request.allow_broad_root = true;
  request.write = {one.directory("x")};
  const ProbeKey narrow = ProbeKey::of(policy<WorkspaceWrite>(request));
  request.write = {"/"};
  CHECK(ProbeKey::of(policy<WorkspaceWrite>(request)) != narrow);
}
