// SPDX-License-Identifier: BSL-1.0
#include <cordon/resource_limits.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/policies.hpp"

using cordon::Resource;
using cordon::ResourceLimits;

TEST_CASE("Every resource has a limit and a name of its own") {
  std::set<std::string> names;
  ResourceLimits limits;
  std::uint64_t value = 0;
  for (const Resource resource : cordon::all_resources) {
    names.insert(std::string(name(resource)));
    CHECK(cordon::resource_named(name(resource)) == resource);
    limits.of(resource) = ++value;
  }
  CHECK(names.size() == cordon::all_resources.size());
  CHECK_FALSE(cordon::resource_named(""));
  CHECK_FALSE(cordon::resource_named("memory "));
  CHECK(limits == ResourceLimits{1, 2, 3, 4, 5, 6});
  std::vector<std::pair<Resource, std::uint64_t>> seen;
  limits.for_each([&](Resource resource, std::uint64_t set) { seen.emplace_back(resource, set); });
  CHECK(seen.size() == 6);
  CHECK(seen.front() == std::pair(Resource::address_space, std::uint64_t{1}));
  CHECK(seen.back() == std::pair(Resource::memory, std::uint64_t{6}));
}

TEST_CASE("Without a limit there is none to go through") {
  ResourceLimits{}.for_each([](Resource, std::uint64_t) { FAIL("a limit that nobody set"); });
  CHECK(ResourceLimits{}.of(Resource::memory) == std::nullopt);
}

TEST_CASE("Every means has a name of its own") {
  using cordon::LimitedBy;
  std::set<std::string_view> names;
  for (const LimitedBy means :
       {LimitedBy::nothing, LimitedBy::rlimit, LimitedBy::rlimit_of_user, LimitedBy::control_group})
    names.insert(name(means));
  CHECK(names.size() == 4);
}

TEST_CASE("A limit under which nothing runs is no policy, and the error says what would be one") {
  const auto refused = [](const ResourceLimits& limits) -> std::string {
    cordon::PolicyRequest request;
    request.workspace_root = "/var/tmp";
    request.resources = limits;
    try {
      const auto policy = cordon::PolicyResolver::resolve(request);
      CHECK(policy.scope().resources == limits);
    } catch (const cordon::PolicyInvalidError& error) {
      return error.what();
    }
    return {};
  };
  for (const Resource resource : cordon::all_resources) {
    ResourceLimits limits;
    limits.of(resource) = 0;
    INFO(name(resource));
    CHECK(refused(limits).find(std::string(name(resource))) != std::string::npos);
  }
  CHECK(refused({.open_files = 7}).find("at least 8") != std::string::npos);
  CHECK(refused({.open_files = 8}).empty());
  CHECK(refused({.memory = (16U << 20U) - 1}).find("at least 16777216") != std::string::npos);
  CHECK(refused({.memory = 16U << 20U}).empty());
  CHECK(refused({1, 1, 8, 1, 1, ~0ULL}).empty());
}
