// SPDX-License-Identifier: BSL-1.0

// Commands that want more of the machine than their policy gives them.

#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "kernel/support.hpp"

using namespace kernel_tests;
using namespace std::chrono_literals;
using cordon::AppliedLimit;
using cordon::CommandEnding;
using cordon::LimitedBy;
using cordon::Resource;
using cordon::ResourceLimits;
using cordon::process::Exited;
using cordon::process::Signalled;

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

cordon::PolicyRequest request_for(const Place& place, const ResourceLimits& limits) {
  cordon::PolicyRequest request;
  request.workspace_root = place.workspace();
  request.resources = limits;
  return request;
}

template <class U>
cordon::RunResult run(const Place& place, const ResourceLimits& limits, const cordon::Argv& command) {
  auto options = plain_options();
  options.limits.wall = 60s;
  return harness<U>().run(policy_for<typename U::Mode>(request_for(place, limits)), command, options);
}

template <class U>
cordon::RunResult run_shell(const Place& place, const ResourceLimits& limits, const std::string& script) {
  return run<U>(place, limits, cordon::shell(script));
}

/// What holds a limit of the whole tree for this user on this machine, as far as it is known without cordon.
template <class U>
LimitedBy expected(Resource resource, const char* controller) {
  std::error_code ignored;
  const std::string version_1 = std::string("/sys/fs/cgroup/") + controller;
  if (is_root() && std::filesystem::exists(version_1 + "/cgroup.procs", ignored)) return LimitedBy::control_group;
  if (is_root() && read_file("/sys/fs/cgroup/cgroup.subtree_control").find(controller) != std::string::npos)
    return LimitedBy::control_group;
  if (is_root() || resource == Resource::memory) return LimitedBy::nothing;
  const bool guarded = Facts<U>::guards_first_process();
  const bool own_users = own_processes<U> ? guarded : !landlock_alone<U> && can_have_namespaces();
  return own_users ? LimitedBy::rlimit : LimitedBy::rlimit_of_user;
}

/// Directories that cordon made for control groups of this program and that are still there.
std::size_t groups_left() {
  const std::string ours = "cordon-" + std::to_string(::getpid()) + "-";
  std::size_t count = 0;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator entry("/sys/fs/cgroup", ignored), end; entry != end;
       entry.increment(ignored))
    if (entry->path().filename().string().starts_with(ours)) ++count;
  return count;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("F77: a limit on each process binds it, and it can't raise it", "[limits]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  SECTION("open files") {
    const auto done =
        run_shell<TestType>(place, {.open_files = 20},
                            "ulimit -n; ulimit -Hn 4096 2>/dev/null && echo raised; i=3; "
                            "while eval \"exec $i</dev/null\" 2>/dev/null && [ $i -lt 9 ]; do i=$((i + 1)); "
                            "done; bash -c 'for i in {3..60}; do eval \"exec $i</dev/null\" || exit 0; done; "
                            "echo opened sixty' 2>/dev/null");
    CHECK(done.out.text() == "20\n");
    CHECK(done.limits == std::vector{AppliedLimit{Resource::open_files, 20, LimitedBy::rlimit}});
  }
  SECTION("address space") {
    const ResourceLimits limits{.address_space = 200 * mebibyte};
    CHECK(run_shell<TestType>(place, limits, "ulimit -v; ulimit -Hv unlimited 2>/dev/null && echo raised").out.text() ==
          "204800\n");
    CHECK(run<TestType>(place, limits, payload("memory", {"100000000"})).ending == CommandEnding(Exited{0}));
    CHECK(run<TestType>(place, limits, payload("memory", {"400000000"})).ending == CommandEnding(Exited{1}));
  }
}

TEMPLATE_LIST_TEST_CASE("F77: so large a file and so much processor time, and no more", "[limits]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  SECTION("the size of a file") {
    const auto done = run_shell<TestType>(place, {.file_size = mebibyte},
                                          "ulimit -Hf unlimited 2>/dev/null && echo raised; "
                                          "head -c 3000000 /dev/zero >large; echo $?; wc -c <large");
    CHECK(done.out.text() == std::to_string(128 + SIGXFSZ) + "\n1048576\n");
  }
  SECTION("processor time") {
    const auto done = run_shell<TestType>(place, {.cpu_seconds = 1},
                                          "trap 'echo told' XCPU; ulimit -Ht 100 2>/dev/null; while :; do :; done");
    CHECK(done.ending == CommandEnding(Signalled{SIGKILL}));
    CHECK(done.out.text().starts_with("told\n"));
  }
}

TEMPLATE_LIST_TEST_CASE("F77: a command with all that it starts has so many processes and no more", "[limits]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const LimitedBy by = expected<TestType>(Resource::processes, "pids");
  constexpr std::uint64_t most = 60;
  const auto done = run<TestType>(place, {.processes = most}, payload("processes", {"200"}));
  CHECK(done.limits == std::vector{AppliedLimit{Resource::processes, most, by}});
  const int had = std::stoi("0" + done.out.text());
  if (by == LimitedBy::nothing)
    CHECK(had == 200);
  else if (by == LimitedBy::rlimit_of_user)
    CHECK(had <= static_cast<int>(most));
  else
    CHECK(had == static_cast<int>(most));
  CHECK(groups_left() == 0);
  // And the next command has none of it.
  CHECK(run<TestType>(place, {}, payload("processes", {"200"})).out.text() == "200");
}

TEMPLATE_LIST_TEST_CASE("F77: a fork bomb is held by its limit until it is ended", "[limits]", Writing) {
  const Place place;
  if (!usable<TestType>(place) || expected<TestType>(Resource::processes, "pids") == LimitedBy::nothing) return;
  (void)run_shell<TestType>(place, {}, "true");
  // What is kept ready is dropped when another program mounts something meanwhile.
  harness<TestType>().backend().invalidate();
  const auto descriptors = support::open_descriptors();
  auto options = plain_options();
  options.limits.wall = 1s;
  options.limits.grace = 100ms;
  const auto done = harness<TestType>().run(policy_for<typename TestType::Mode>(request_for(place, {.processes = 40})),
                                            payload("bomb"), options);
  CHECK(done.elapsed < 8s);
  CHECK(groups_left() == 0);
  harness<TestType>().backend().invalidate();
  CHECK(support::open_descriptors() == descriptors);
}

TEMPLATE_LIST_TEST_CASE("F77: memory beyond the limit can't be had, and this program is not what pays for it",
                        "[limits]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const LimitedBy by = expected<TestType>(Resource::memory, "memory");
  const auto limits = ResourceLimits{.memory = 48 * mebibyte};
  const cordon::Argv attempt = payload("memory", {"100000000"});
  const CommandEnding all_of_it = Exited{0};
  for (int i = 0; i != 3; ++i) {
    const auto done = run<TestType>(place, limits, attempt);
    CHECK(done.limits == std::vector{AppliedLimit{Resource::memory, 48 * mebibyte, by}});
    CHECK(done.ending == (by == LimitedBy::nothing ? all_of_it : CommandEnding(Signalled{SIGKILL})));
    CHECK(groups_left() == 0);
  }
  CHECK(run<TestType>(place, limits, payload("memory", {"20000000"})).ending == all_of_it);
  CHECK(run<TestType>(place, {}, attempt).ending == all_of_it);
}

TEMPLATE_LIST_TEST_CASE("The least memory that can be asked for is enough to start a program with all its arguments",
                        "[limits]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  std::vector<std::string> words{"/bin/sh", "-c", "echo $#", "sh"};
  for (int i = 0; i != 15; ++i) words.emplace_back(std::size_t{100000}, 'a');
  const auto done = run<TestType>(place, {.memory = ResourceLimits::least_memory}, cordon::Argv(words));
  CHECK(done.out.text() == "15\n");
}

TEMPLATE_LIST_TEST_CASE("All limits at once, and a limit of this program's own that is narrower stays", "[limits]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const ResourceLimits all{.address_space = 4096 * mebibyte,
                           .file_size = 64 * mebibyte,
                           .open_files = 100,
                           .cpu_seconds = 50,
                           .processes = 100,
                           .memory = 512 * mebibyte};
  const auto done = run_shell<TestType>(place, all, "ulimit -v; ulimit -f; ulimit -n; ulimit -t");
  CHECK(done.out.text() == "4194304\n65536\n100\n50\n");
  CHECK(done.limits.size() == 6);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit own{800, 800};
    if (::setrlimit(RLIMIT_NOFILE, &own) != 0) ::_exit(2);
    HarnessOf<TestType> fresh;
    const auto policy = policy_for<cordon::WorkspaceWrite>(request_for(place, {.open_files = 1000}));
    const auto narrow = fresh.run(policy, cordon::shell("ulimit -n"), plain_options());
    ::_exit(narrow.out.text() == "800\n" ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
}

TEMPLATE_LIST_TEST_CASE("The plain argv limits each process, whoever spawns it", "[limits]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto policy = policy_for<typename TestType::Mode>(request_for(place, {.open_files = 30, .cpu_seconds = 40}));
  CHECK(run_plainly(harness<TestType>().confine(policy, cordon::shell("ulimit -n; ulimit -t")).argv()).out ==
        "30\n40\n");
}

TEMPLATE_LIST_TEST_CASE("A command can't leave its control group", "[limits]", Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !is_root()) return;
  const auto done =
      run_shell<TestType>(place, {.processes = 50, .memory = 64 * mebibyte},
                          "find /sys/fs/cgroup -name cgroup.procs | while read -r group; do echo $$ >\"$group\" "
                          "&& echo \"moved $group\"; done 2>/dev/null; grep -c cordon- /proc/self/cgroup");
  CHECK(done.out.text().find("moved") == std::string::npos);
  CHECK(done.out.text().substr(0, 1) != "0");
}

TEMPLATE_LIST_TEST_CASE("A control group that a process can be started in from outside can't be entered so", "[limits]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !Facts<TestType>::guards_first_process()) return;
  for (const char* group : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"})
    if (exists(std::string(group) + "/cgroup.procs"))
      CHECK(run_under<TestType>(place, payload("start-in-group", {group})).status == 1);
}

TEMPLATE_LIST_TEST_CASE("Where every file may be written no control group is said to hold", "[limits]", Writing) {
  if (!is_root()) return;
  const Place place;
  if (!usable<TestType>(place)) return;
  cordon::PolicyRequest request = request_for(place, {.processes = 50, .memory = 64 * mebibyte});
  request.write = {"/"};
  request.allow_broad_root = true;
  const auto done =
      harness<TestType>().run(policy_for<cordon::WorkspaceWrite>(request), cordon::shell("true"), plain_options());
  REQUIRE(done.limits.size() == 2);
  for (const AppliedLimit& limit : done.limits) CHECK(limit.by == LimitedBy::nothing);
}

TEMPLATE_LIST_TEST_CASE("A command sets limits of its own, but of no process that keeps it", "[limits]", Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !Facts<TestType>::guards_first_process()) return;
  CHECK(run_under<TestType>(place, payload("limit-process", {"0"})).succeeded());
  const std::string mine = std::to_string(::getpid());
  const auto try_all =
      cordon::Argv({"/bin/sh", "-c", "for pid in 1 $PPID \"$2\"; do \"$1\" limit-process $pid && exit 0; done; exit 1",
                    "sh", program("cordon_payload"), mine});
  const Attempt attempt = run_under<TestType>(place, try_all);
  INFO(attempt.out << attempt.err);
  CHECK(attempt.status == 1);
  CHECK(run_under<TestType>(place, cordon::shell("exit 0")).succeeded());
}

TEMPLATE_LIST_TEST_CASE("The next command finds no memory that the last one left", "[limits]", Confinements) {
  if (landlock_alone<TestType>) return;  // it shares them with the user, as the security model says
  const Place place;
  if (!usable<TestType>(place)) return;
  for (int i = 0; i != 3; ++i) {
    CHECK(run_under<TestType>(place, payload("count-ipc")).out == "0");
    CHECK(run_under<TestType>(place, payload("leave-ipc")).succeeded());
  }
  CHECK(run_under<TestType>(place, payload("count-ipc")).out == "0");
}
