// SPDX-License-Identifier: BSL-1.0

// What a program changes about itself between two commands, the second one has, whatever was prepared for the first.

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <cordon/os/linux/landlock.hpp>
#include <cstdio>
#include <thread>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::process::Exited;

namespace {

enum class Who { anybody, root, root_with_all_ids };

struct Change {
  const char* what;
  bool (*make)();
  const char* script;  ///< prints "changed" when it has the change
  Who who = Who::anybody;
};

bool write_to(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  return written;
}

constexpr std::array changes{
    Change{"the umask",
           [] {
             ::umask(0027);
             return true;
           },
           "test $(umask) = 0027"},
    Change{"a resource limit",
           [] {
             const rlimit limit{777, 777};
             return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
           },
           "test $(ulimit -n) = 777"},
    Change{"the niceness", [] { return ::setpriority(PRIO_PROCESS, 0, 7) == 0; }, "test $(nice) = 7"},
    Change{"the processors",
           [] {
             cpu_set_t one;
             CPU_ZERO(&one);
             CPU_SET(0, &one);
             return ::sched_setaffinity(0, sizeof one, &one) == 0;
           },
           "grep -q '^Cpus_allowed_list:.0$' /proc/self/status"},
    Change{"what the out-of-memory killer thinks of it", [] { return write_to("/proc/self/oom_score_adj", "500"); },
           "test $(cat /proc/self/oom_score_adj) = 500"},
    Change{"a seccomp filter",
           [] {
             sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
             const sock_fprog program{1, &allow};
             return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
           },
           "test $(sed -n 's/^Seccomp_filters:.//p' /proc/self/status) -gt $0"},
    Change{"its groups",
           [] {
             const gid_t group = 4242;
             return ::setgroups(1, &group) == 0;
           },
           "id -G | grep -qw 4242", Who::root_with_all_ids},
    Change{"its user",
           [] {
             // A process that changed its user is not dumpable, and what is not can map no ids.
             return ::setresuid(31337, 31337, 31337) == 0 && ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
           },
           "test $(id -u) = 31337", Who::root},
    Change{"the network", [] { return ::unshare(CLONE_NEWNET) == 0; }, "test $(grep -c : /proc/self/net/dev) = 1",
           Who::root},
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("A command inherits what the program is at that time, not what it was before", "[inherited]",
                        Writing) {
  for (const Change& change : changes) {
    if (change.who != Who::anybody && !is_root()) continue;
    if (change.who == Who::root_with_all_ids && own_processes<TestType>) continue;  // bubblewrap maps one id
    INFO(change.what);
    const Place place;
    if (is_root()) std::filesystem::permissions(test_directory(), std::filesystem::perms(0755));
    std::filesystem::permissions(place.path(), std::filesystem::perms(0777));
    std::filesystem::permissions(place.workspace(), std::filesystem::perms(0777));
    if (!usable<TestType>(place)) return;
    CHECK(in_fork([&] {
      HarnessOf<TestType> own;
      const auto policy = policy_for<typename TestType::Mode>(place.workspace());
      // Where the first command has a filter of cordon's already, the second has to have one more.
      const std::string before =
          own.run(policy, cordon::shell("sed -n 's/^Seccomp_filters:.//p' /proc/self/status"), plain_options())
              .out.text();
      const cordon::Argv second({"/bin/bash", "-c", change.script, before});
      const auto unchanged = own.run(policy, second, plain_options());
      if (unchanged.ending == cordon::CommandEnding(Exited{0}) || !change.make()) return false;
      const auto changed = own.run(policy, second, plain_options());
      std::fprintf(stderr, "%s", changed.err.text().c_str());
      return changed.ending == cordon::CommandEnding(Exited{0}) && changed.tree == unchanged.tree;
    }));
  }
}

TEMPLATE_LIST_TEST_CASE("A program that enters a Landlock domain takes its commands with it", "[inherited]", Writing) {
  namespace ll = cordon::os::landlock;
  using K = cordon::os::Kernel;
  const Place place;
  if (ll::abi<K>() < 1 || !usable<TestType>(place)) return;
  const bool refused = in_fork([&] {
    // It needs that, and from that it must not be told.
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    HarnessOf<TestType> own;
    const auto policy = policy_for<typename TestType::Mode>(place.workspace());
    const cordon::Argv make({"/bin/mkdir", place.in("before"), place.in("sub/before")});
    if (own.run(policy, make, plain_options()).ending != cordon::CommandEnding(Exited{0})) return false;
    const cordon::os::Fd nothing(ll::create_ruleset<K>(ll::make_dir));
    if (ll::restrict_self<K>(nothing.get()) != 0) return false;
    try {
      const cordon::Argv again({"/bin/mkdir", place.in("after")});
      return own.run(policy, again, plain_options()).ending != cordon::CommandEnding(Exited{0});
    } catch (const cordon::Error& error) {
      return error.code() == cordon::ErrorCode::sandbox_unavailable;
    }
  });
  CHECK(refused);
  CHECK(exists(place.in("before")));
  CHECK_FALSE(exists(place.in("after")));
}

TEMPLATE_LIST_TEST_CASE("Threads on processors of their own have their commands there too", "[inherited]", Writing) {
  const Place place;
  if (std::thread::hardware_concurrency() < 2 || !usable<TestType>(place)) return;
  HarnessOf<TestType> own;
  const auto policy = policy_for<typename TestType::Mode>(place.workspace());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const int processor : {0, 1})
    threads.emplace_back([&, processor] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(processor), &one);
      if (::sched_setaffinity(0, sizeof one, &one) != 0) ++wrong;
      const std::string script = "grep -q '^Cpus_allowed_list:." + std::to_string(processor) + "$' /proc/self/status";
      for (int i = 0; i != 5; ++i)
        if (own.run(policy, cordon::shell(script), plain_options()).ending != cordon::CommandEnding(Exited{0})) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
