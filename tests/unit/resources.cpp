// SPDX-License-Identifier: BSL-1.0
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cordon/process/resources.hpp>
#include <cordon/process/spawn.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"

using cordon::AppliedLimit;
using cordon::LimitedBy;
using cordon::Resource;
using cordon::process::ResourceSetup;
using cordon::process::detail::process_limits;

namespace {

std::uint64_t own(int resource) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit.rlim_cur;
}

bool sets(const ResourceSetup& setup, bool grouped, int resource, std::uint64_t value) {
  for (const auto& limit : process_limits(setup, grouped))
    if (limit.resource == resource) return limit.soft == std::min<std::uint64_t>(value, own(resource));
  return false;
}

}  // namespace

TEST_CASE("A limit on processes counts what a runner has beside the command, and nothing else of the user") {
  const ResourceSetup alone{.limits = {.processes = 5}, .own_user_namespace = true, .counted_by_rlimit = 1};
  CHECK(sets(alone, false, RLIMIT_NPROC, 6));
  CHECK(sets(alone, true, RLIMIT_NPROC, 6));
  const ResourceSetup shared{.limits = {.processes = 5}};
  CHECK(sets(shared, false, RLIMIT_NPROC, 5));
  CHECK(process_limits(shared, true).empty());
}

TEST_CASE("What this program may not exceed stays as it is") {
  const ResourceSetup setup{.limits = {.open_files = 1ULL << 40U}};
  const auto limits = process_limits(setup, false);
  REQUIRE(limits.size() == 1);
  CHECK(limits[0].soft == own(RLIMIT_NOFILE));
  CHECK(limits[0].soft <= limits[0].hard);
}

TEST_CASE("Processor time ends with a signal that can be handled, and a second later with one that can't") {
  const auto limits = process_limits({.limits = {.cpu_seconds = 7}}, false);
  REQUIRE(limits.size() == 1);
  CHECK(limits[0].soft == 7);
  CHECK(limits[0].hard == 8);
}

TEST_CASE("Full access has the limits of its policy too, and says which") {
  cordon::PolicyRequest request;
  request.mode = cordon::danger_full_access;
  request.workspace_root = "/var/tmp";
  request.resources = {.file_size = 4096, .open_files = 50};
  const auto policy = cordon::PolicyResolver::resolve(request);
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin"};
  const auto done = policy.visit(
      [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
        auto child =
            cordon::process::spawn(cordon::UnconfinedArgv(full, cordon::shell("ulimit -n; ulimit -f")), options);
        CHECK(child.limits() == std::vector{AppliedLimit{Resource::file_size, 4096, LimitedBy::rlimit},
                                            AppliedLimit{Resource::open_files, 50, LimitedBy::rlimit}});
        return child.wait();
      },
      [](const auto&) -> cordon::process::Completed { throw std::logic_error("another mode"); });
  CHECK(done.out.text() == "50\n4\n");
}

TEST_CASE("The largest limits stay the largest, whatever is counted beside the command") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const ResourceSetup setup{
      .limits = {.cpu_seconds = most, .processes = most}, .own_user_namespace = true, .counted_by_rlimit = 1};
  for (const auto& limit : process_limits(setup, false)) {
    CHECK(limit.soft == own(limit.resource));
    CHECK(limit.hard >= limit.soft);
  }
}

TEST_CASE("A control group that the command may write is none that holds it") {
  const cordon::process::detail::LimitedResources limited(
      ResourceSetup{.limits = {.processes = 50, .memory = 1U << 30U}, .writes_groups = true});
  CHECK(limited.groups().empty());
  for (const AppliedLimit& limit : limited.applied()) CHECK(limit.by != LimitedBy::control_group);
}

TEST_CASE("Without descriptors it is not said that nothing holds a limit") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    try {
      const cordon::process::detail::LimitedResources limited(ResourceSetup{.limits = {.memory = 1U << 30U}});
      ::_exit(1);
    } catch (const cordon::SpawnError& error) {
      ::_exit(error.error() == EMFILE ? 0 : 2);
    }
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
}
