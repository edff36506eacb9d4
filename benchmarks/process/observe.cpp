// SPDX-License-Identifier: BSL-1.0

// What an observer costs: the same confined command with it and without, in turns, and the median of the pairs' ratios.
// The commands change many files, which is what the observer looks at: a clone of a local repository, a copy of a tree
// of 2,000 files, and one that changes none. Source and copies are in a directory of their own, and each run makes a
// copy of its own that stays until the end: where files were removed a moment ago, ext4 takes several times as long to
// make new ones, which would be most of what is measured.
//
//   observe_benchmark [ROUNDS]

#include <algorithm>
#include <chrono>
#include <cordon/cordon.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Plain = cordon::Layered<cordon::MountNamespace, cordon::Landlock>;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Backend>
double milliseconds(Backend& backend, const cordon::Policy<cordon::WorkspaceWrite>& policy, const std::string& script) {
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"};
  const auto argv = cordon::confine(backend, policy, cordon::Argv({"/bin/sh", "-c", script}));
  const auto begun = Clock::now();
  const auto done = cordon::process::run(argv, std::move(options));
  const std::chrono::duration<double, std::milli> taken = Clock::now() - begun;
  if (done.ending == cordon::process::Ending(cordon::process::Exited{0})) return taken.count();
  std::fprintf(stderr, "%s failed: %s\n", script.c_str(), std::string(done.err.text()).c_str());
  std::exit(1);
}

/// Runs `script` with a name in $new that nobody had yet; `prepare` likewise, before it and not measured.
void measure(const cordon::Policy<cordon::WorkspaceWrite>& policy, std::string_view name, const std::string& script,
             const std::string& prepare, int rounds) {
  static int fresh = 0;
  Plain plain;
  cordon::Observed<Plain> observed;
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> ratios;
  for (int round = -2; round < rounds; ++round) {
    double taken[2] = {};
    for (int turn = 0; turn != 2; ++turn) {
      const bool observing = (turn == 0) == (round % 2 == 0);
      const std::string set = "new=new" + std::to_string(++fresh) + "; ";
      (void)milliseconds(plain, policy, set + prepare);
      taken[observing ? 1 : 0] =
          observing ? milliseconds(observed, policy, set + script) : milliseconds(plain, policy, set + script);
    }
    if (round < 0) continue;
    without.push_back(taken[0]);
    with.push_back(taken[1]);
    ratios.push_back(taken[1] / taken[0]);
  }
  std::printf("%-28s without %8.1f ms   with %8.1f ms   %5.2f x\n", std::string(name).c_str(), median(without),
              median(with), median(ratios));
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  const cordon::os::PrivateDirectory directory({"/var/tmp", "/tmp"});
  const auto policy =
      cordon::PolicyResolver::resolve({.mode = cordon::workspace_write, .workspace_root = directory.path()});
  policy.visit(
      [&](const cordon::Policy<cordon::WorkspaceWrite>& write) {
        Plain plain;
        (void)milliseconds(plain, write,
                           "mkdir tree && cd tree && for d in $(seq 1 40); do mkdir $d; for f in $(seq 1 50); do "
                           "seq 1 200 >$d/$f; done; done && git init -q . && git add -A && "
                           "git -c user.name=a -c user.email=a@b.c commit -q -m all && mv .git ../origin.git && "
                           "cd ../origin.git && git config core.bare true");
        measure(write, "cp -r of 2,000 files", "cp -r tree $new", "true", rounds);
        measure(write, "git clone of 2,000 files", "git -c safe.directory='*' clone -q origin.git $new", "true",
                rounds);
        measure(write, "find, which changes nothing", "find tree -type f -exec grep -l 199 {} + >/dev/null", "true",
                rounds);
        measure(write, "rm -r of 2,000 files", "rm -r $new", "cp -r tree $new", rounds);
      },
      [](const auto&) { std::abort(); });
}
