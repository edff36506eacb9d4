// SPDX-License-Identifier: BSL-1.0

// Many commands of every kind, ended in every way, on many threads: afterwards nothing of them is left. How long is
// CORDON_SOAK_SECONDS (default 10).

#include <array>
#include <atomic>
#include <cordon/cordon.hpp>
#include <cordon/os/linux/process.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

using namespace std::chrono_literals;
namespace process = cordon::process;
using process::Clock;

namespace {

const std::string token = support::unique_sleep();

/// Directories that a session of this program made in the shared places.
std::vector<std::string> leftovers() {
  std::vector<std::string> found;
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"})
    for (const auto& entry : std::filesystem::directory_iterator(place))
      if (entry.path().filename().string().starts_with("cordon-" + std::to_string(::getpid()) + "-"))
        found.push_back(entry.path());
  return found;
}

/// Resident memory of this process, in KiB.
long resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return 0;
}

constexpr std::array scripts{"true",
                             "exit 7",
                             "kill -9 $$",
                             "yes | head -c 3000000",
                             "echo out; echo err >&2",
                             "sleep TOKEN",
                             "sleep TOKEN & exit 0",
                             "setsid sleep TOKEN >/dev/null 2>&1 & exit 3",
                             "(setsid nohup sleep TOKEN &) ; true",
                             "trap '' TERM; sleep TOKEN; sleep TOKEN",
                             "sh -c 'sleep TOKEN & sleep TOKEN & wait' & sleep 0.01",
                             "echo x >file; rm -f file; mktemp >/dev/null",
                             "cat",
                             "no-such-program",
                             "exec 1>&- 2>&-; sleep 0.02"};

/// One command, started and ended in a way that `random` chooses.
template <class Harness, class Policy>
void one_of(Harness& harness, const Policy& policy, std::minstd_rand& random) {
  const auto choose = [&](unsigned below) { return static_cast<unsigned>(random()) % below; };
  std::string script = scripts.at(choose(scripts.size()));
  for (std::size_t at = 0; (at = script.find("TOKEN")) != std::string::npos;) script.replace(at, 5, token);
  process::RunOptions options = support::options_with_path();
  options.max_output = 4096;
  options.drain_limit = 20ms;
  options.limits.wall = std::chrono::milliseconds(20 + choose(150));
  options.limits.grace = std::chrono::milliseconds(choose(30));
  std::stop_source stop;
  if (choose(3) == 0) options.limits.stop = stop.get_token();
  if (choose(3) == 0) options.input = process::Input::bytes(std::string(choose(100000), 'x'));
  const auto confined = harness.confine(policy, cordon::Argv({"/bin/sh", "-c", script}));
  auto child = process::spawn(confined, std::move(options));
  const auto pause = std::chrono::microseconds(choose(20000));
  switch (choose(5)) {
    case 0:
      (void)child.wait();
      break;
    case 1:
      std::this_thread::sleep_for(pause);
      child.kill();
      (void)child.wait();
      break;
    case 2:
      std::this_thread::sleep_for(pause);
      stop.request_stop();
      (void)child.wait();
      break;
    case 3:
      (void)child.wait_for(std::chrono::duration_cast<std::chrono::milliseconds>(pause));
      child.terminate();
      (void)child.wait();
      break;
    default:
      std::this_thread::sleep_for(pause);  // and given up
  }
}

template <class Backend>
struct Subject {
  cordon::Harness<Backend, cordon::AnswererChain<>, cordon::AcceptPartial> harness;

  void one(const cordon::ExecutionPolicy& policy, std::minstd_rand& random) {
    policy.visit([&](const cordon::Policy<cordon::DangerFullAccess>&) {},
                 [&](const auto& confined) { one_of(harness, confined, random); });
  }
};

}  // namespace

TEST_CASE("However commands end, no process, descriptor or directory of theirs is left", "[soak]") {
  const char* given = std::getenv("CORDON_SOAK_SECONDS");
  const auto deadline = Clock::now() + std::chrono::seconds(given != nullptr ? std::atoi(given) : 10);
  const auto descriptors = support::open_descriptors();
  std::atomic<long> commands{0};
  std::atomic<long> errors{0};
  {
    const support::TempDirectory workspace;
    Subject<cordon::Layered<cordon::MountNamespace, cordon::Landlock>> layered;
    Subject<cordon::MountNamespace> mounts;
    Subject<cordon::Landlock> landlock;
    Subject<cordon::Bubblewrap> bubblewrap;
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 6; ++seed)
      threads.emplace_back([&, seed] {
        std::minstd_rand random(seed);
        const auto policy = [&](cordon::SandboxMode mode) {
          return cordon::PolicyResolver::resolve({.mode = mode, .workspace_root = workspace.path()});
        };
        const cordon::ExecutionPolicy write = policy(cordon::workspace_write);
        const cordon::ExecutionPolicy read = policy(cordon::read_only);
        while (Clock::now() < deadline) {
          const cordon::ExecutionPolicy& chosen = random() % 3 == 0 ? read : write;
          try {
            switch (random() % 8) {
              case 0:
                bubblewrap.one(chosen, random);
                break;
              case 1:
              case 2:
                landlock.one(chosen, random);
                break;
              case 3:
              case 4:
                mounts.one(chosen, random);
                break;
              default:
                layered.one(chosen, random);
            }
            ++commands;
          } catch (const std::exception& error) {
            ++errors;
            std::fprintf(stderr, "%s\n", error.what());
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(support::soon([] { return support::who_run(token).empty(); }));
  }
  std::printf("%ld commands\n", commands.load());
  CHECK(commands > 50);
  CHECK(errors == 0);
  CHECK(support::soon(support::no_child_is_left));
  CHECK(support::open_descriptors() == descriptors);
  CHECK(leftovers().empty());
}

TEST_CASE("Confined commands by the thousand cost no descriptor, no process and no memory", "[soak]") {
  const int each = std::getenv("CORDON_SOAK_SECONDS") != nullptr ? 2000 : 500;
  const support::TempDirectory workspace;
  cordon::Harness<cordon::Layered<cordon::MountNamespace, cordon::Landlock>, cordon::AnswererChain<>,
                  cordon::AcceptPartial>
      harness;
  const auto policy =
      cordon::PolicyResolver::resolve({.mode = cordon::workspace_write, .workspace_root = workspace.path()});
  std::atomic<int> wrong{0};
  const auto run = [&](int count) {
    policy.visit(
        [&](const cordon::Policy<cordon::WorkspaceWrite>& write) {
          for (int i = 0; i != count; ++i)
            if (harness.run(write, cordon::Argv({"/bin/true"})).ending != cordon::CommandEnding(process::Exited{0}))
              ++wrong;
        },
        [](const auto&) {});
  };
  const auto run_together = [&] {
    std::vector<std::thread> threads;
    for (int i = 0; i != 8; ++i) threads.emplace_back([&] { run(each / 8); });
    for (std::thread& thread : threads) thread.join();
  };
  run_together();  // as much as will ever be ready at the same time
  const auto descriptors = support::open_descriptors();
  const auto processes = cordon::os::children_of(::getpid()).size();
  for (const auto& [what, body] :
       {std::pair<const char*, std::function<void()>>{"one after the other", [&] { run(each); }},
        {"eight at a time", run_together}}) {
    const long before = resident();
    body();
    const long grown = resident() - before;
    std::printf("%d commands, %s: resident memory grew by %ld KiB, %.1f bytes a command\n", each, what, grown,
                static_cast<double>(grown) * 1024 / each);
    CHECK(grown < 2048);
  }
  CHECK(wrong == 0);
  CHECK(support::open_descriptors() <= descriptors);
  CHECK(cordon::os::children_of(::getpid()).size() <= processes);
}
