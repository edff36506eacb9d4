// SPDX-License-Identifier: BSL-1.0

// What it costs to read a command that writes far more than is kept: cordon beside the same bytes through a pipe into
// cat. The contenders take turns; what is printed is the median of each, its ratio to cat's, and how much memory this
// program held before and after, and at most.
//
//   output_benchmark [BYTES, also as 10G] [ROUNDS] [KEPT_BYTES]

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cordon/cordon.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// A number with K, M or G behind it, as head takes it.
unsigned long long bytes_of(const char* text) {
  char* end = nullptr;
  unsigned long long value = std::strtoull(text, &end, 10);
  for (const char unit : std::string("KMG")) {
    if (*end == '\0') break;
    value <<= 10U;
    if (*end == unit) break;
  }
  return value;
}

/// A line of /proc/self/status, in KiB.
long memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":") {
      long value = 0;
      status >> value;
      return value;
    }
  return 0;
}

void by_cat(const std::string& command) {
  const std::string script = command + " | cat >/dev/null";
  const char* const argv[] = {"sh", "-c", script.c_str(), nullptr};
  pid_t pid = 0;
  int status = 0;
  if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0 ||
      ::waitpid(pid, &status, 0) != pid || status != 0)
    std::abort();
}

struct Contender {
  std::string name;
  std::function<void()> once;
  std::vector<double> seconds;
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  const unsigned long long bytes = bytes_of(argc > 1 ? argv[1] : "10G");
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  cordon::process::RunOptions options;
  options.max_output = argc > 3 ? bytes_of(argv[3]) : 64'000;
  cordon::process::RunOptions shown = options;
  unsigned long long shown_bytes = 0;
  shown.on_output = [&](cordon::process::Stream, std::string_view piece) { shown_bytes += piece.size(); };
  cordon::process::RunOptions spilling = options;  // up to its cap, which is where the file is removed
  spilling.spill = std::make_shared<const cordon::process::SpillDirectory>();

  cordon::PlatformBackend backend;
  const auto confined = cordon::PolicyResolver::resolve({.mode = cordon::read_only, .workspace_root = "/usr"});
  const auto full = cordon::PolicyResolver::resolve({.mode = cordon::danger_full_access, .workspace_root = "/usr"});
  const auto run = [&](const cordon::ExecutionPolicy& policy, const std::string& command,
                       const cordon::process::RunOptions& with) {
    const cordon::Argv shell({"/bin/sh", "-c", "exec " + command});
    using cordon::process::Completed;
    const Completed done = policy.visit(
        [&](const cordon::Policy<cordon::DangerFullAccess>& p) -> Completed {
          return cordon::process::run(cordon::UnconfinedArgv(p, shell), with);
        },
        [&](const auto& p) -> Completed { return cordon::process::run(cordon::confine(backend, p, shell), with); });
    if (done.ending != cordon::process::Ending(cordon::process::Exited{0}) || done.out.seen() != bytes ||
        done.out.text().size() != std::min<unsigned long long>(bytes, options.max_output))
      std::abort();
  };

  std::printf("%.1f GB, %zu bytes kept, %d rounds\n", static_cast<double>(bytes) / 1e9, options.max_output, rounds);
  for (const std::string& command :
       {"head -c " + std::to_string(bytes) + " /dev/zero",  // writes of some KiB
        "dd if=/dev/zero bs=1M status=none iflag=count_bytes count=" + std::to_string(bytes)}) {
    std::vector<Contender> contenders{{"cat >/dev/null", [&] { by_cat(command); }, {}},
                                      {"cordon, unconfined", [&] { run(full, command, options); }, {}},
                                      {"cordon, confined", [&] { run(confined, command, options); }, {}},
                                      {"cordon, with a callback", [&] { run(full, command, shown); }, {}},
                                      {"cordon, with a spill", [&] { run(full, command, spilling); }, {}}};
    const long before = memory("VmRSS");
    for (int round = 0; round < rounds; ++round)
      for (Contender& contender : contenders) {
        const auto begun = Clock::now();
        contender.once();
        contender.seconds.push_back(std::chrono::duration<double>(Clock::now() - begun).count());
      }
    std::printf("%s\n", command.c_str());
    double base = 0;
    for (Contender& contender : contenders) {
      std::sort(contender.seconds.begin(), contender.seconds.end());
      const double value = static_cast<double>(bytes) / 1e6 / contender.seconds[contender.seconds.size() / 2];
      if (base == 0) base = value;
      std::printf("  %-26s %7.0f MB/s   %5.2f x cat\n", contender.name.c_str(), value, value / base);
    }
    std::printf("  memory: %ld KiB before, %ld KiB after, %ld KiB at most\n", before, memory("VmRSS"), memory("VmHWM"));
  }
}
