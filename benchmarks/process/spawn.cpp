// SPDX-License-Identifier: BSL-1.0

// What a confined spawn costs beside a plain one: posix_spawn, cordon in each composition, then fork+exec and
// bubblewrap with the reference profile. The contenders of a series take turns in one run, each round in another order,
// so that the machine's mood hits all of them alike, and each a few times in a row, of which the first are not counted:
// what a spawn leaves to be cleaned up, such as bubblewrap's namespaces, is paid by the next, and that is to be one of
// its own. What is printed is the median of each and its ratio to posix_spawn's. Several series, since a fork makes the
// next write to each page of this program dearer.
//
//   spawn_benchmark [ROUNDS] [RESIDENT_MIB] [BUSY_THREADS]

#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cordon/cordon.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void wait_for_exit(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) std::abort();
}

struct Contender {
  std::string name;
  std::function<void()> once;
  std::vector<double> microseconds;
};

/// Measures a series and prints it; the first contender is what the others are compared to.
void measure(std::vector<Contender> contenders, int rounds) {
  std::vector<Contender*> order;
  for (Contender& contender : contenders) order.push_back(&contender);
  std::minstd_rand random(1);
  constexpr int uncounted = 2;
  constexpr int in_a_row = 8;
  for (int round = -in_a_row; round < rounds; round += in_a_row - uncounted) {
    std::shuffle(order.begin(), order.end(), random);
    for (Contender* contender : order)
      for (int i = 0; i != in_a_row; ++i) {
        const auto begun = Clock::now();
        contender->once();
        const std::chrono::duration<double, std::micro> taken = Clock::now() - begun;
        if (round >= 0 && i >= uncounted) contender->microseconds.push_back(taken.count());
      }
  }
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  const double base = median(contenders.front().microseconds);
  for (Contender& contender : contenders) {
    const double value = median(contender.microseconds);
    std::printf("%-26s %8.0f us   %5.2f x %s\n", contender.name.c_str(), value, value / base,
                contenders.front().name.c_str());
  }
}

void plain_spawn(const std::vector<const char*>& argv) {
  pid_t pid = 0;
  if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char* const*>(argv.data()), environ) != 0)
    std::abort();
  wait_for_exit(pid);
}

void fork_and_exec() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(127);
  }
  wait_for_exit(pid);
}

template <class Backend>
std::function<void()> confined(Backend& backend, const cordon::ExecutionPolicy& policy) {
  return [&backend, &policy] {
    policy.visit(
        [&](const cordon::Policy<cordon::WorkspaceWrite>& write) {
          const auto argv = cordon::confine(backend, write, cordon::Argv({"/bin/true"}));
          const auto done = cordon::process::run(argv);
          if (done.ending != cordon::process::Ending(cordon::process::Exited{0})) std::abort();
        },
        [](const auto&) { std::abort(); });
  };
}

/// Keeps this thread, and what it starts, on the processor that it is on, for as long as it lives.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    if (::sched_getaffinity(0, sizeof all_, &all_) != 0 || ::sched_setaffinity(0, sizeof one, &one) != 0) std::abort();
  }
  ~OnOneProcessor() { (void)::sched_setaffinity(0, sizeof all_, &all_); }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;

 private:
  cpu_set_t all_{};
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  const int rounds = number(1, 300);
  std::vector<char> resident(static_cast<std::size_t>(number(2, 0)) << 20U, 'x');
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = number(3, 0); i > 0; --i)
    busy.emplace_back([&] {
      while (!stop) std::this_thread::yield();
    });

  cordon::MountNamespace mounts;
  cordon::Landlock landlock;
  cordon::Layered<cordon::MountNamespace, cordon::Landlock> layered;
  cordon::Bubblewrap bubblewrap;
  const auto policy = cordon::PolicyResolver::resolve({.mode = cordon::workspace_write, .workspace_root = "/var/tmp"});
  const auto full = cordon::PolicyResolver::resolve({.mode = cordon::danger_full_access, .workspace_root = "/var/tmp"});
  const auto unconfined = [&] {
    full.visit(
        [](const cordon::Policy<cordon::DangerFullAccess>& p) {
          (void)cordon::process::run(cordon::UnconfinedArgv(p, cordon::Argv({"/bin/true"})));
        },
        [](const auto&) {});
  };
  const Contender plain{"posix_spawn", [] { plain_spawn({"/bin/true", nullptr}); }, {}};
  const Contender best{"cordon, Layered", confined(layered, policy), {}};
  std::printf("%d rounds, %zu MiB resident, %zu busy threads, uid %u\n", rounds, resident.size() >> 20U, busy.size(),
              ::getuid());
  const std::vector<Contender> in_process{plain,
                                          {"cordon, unconfined", unconfined, {}},
                                          {"cordon, Landlock", confined(landlock, policy), {}},
                                          {"cordon, MountNamespace", confined(mounts, policy), {}},
                                          best};
  {
    const OnOneProcessor here;
    measure(in_process, rounds);
    measure({plain,
             {"bwrap, reference profile",
              [] {
                plain_spawn({"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc",
                             "--die-with-parent", "--tmpfs", "/tmp", "--bind", "/var/tmp", "/var/tmp", "--",
                             "/bin/true", nullptr});
              },
              {}},
             best},
            rounds);
    measure({plain, {"cordon, Bubblewrap", confined(bubblewrap, policy), {}}}, rounds);
    measure({plain, {"fork + exec", fork_and_exec, {}}}, rounds);
  }
  std::puts("with every processor:");
  measure(in_process, rounds);
  stop = true;
  for (std::thread& thread : busy) thread.join();
}
