// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/session.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cordon/session/jsonl_log.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;

namespace {

/// Which of the switches it is: by these numbers the killed program tells what it was told.
Knobs knobs_number(unsigned char number) {
  constexpr SandboxMode modes[]{read_only, workspace_write, danger_full_access};
  return {modes[number % 3], number % 2 == 0 ? ApprovalPolicy::ask : ApprovalPolicy::never};
}

/// Goes on with the session, and tells of each switch before and after it.
[[noreturn]] void switch_for_ever(const std::string& path, int tell, unsigned seed) {
  support::Random random(seed);
  Session<JsonlLog> session(support::exists(path) ? JsonlLog::open(path) : JsonlLog::create(path, {"s", 0}));
  while (true) {
    const auto number = static_cast<unsigned char>(random.below(6));
    const Knobs knobs = knobs_number(number);
    const unsigned char begun[]{1, number};
    const unsigned char done[]{2, number};
    if (::write(tell, begun, 2) != 2) ::_exit(1);
    session.set_mode(knobs.mode);
    session.set_approval_policy(knobs.approval);
    if (random.below(4) == 0) (void)session.begin_turn();
    if (::write(tell, done, 2) != 2) ::_exit(1);
  }
}

}  // namespace

TEST_CASE("DUR-19 T-POL-13 a program that is killed 500 times has every switch that it was told of, and none wider") {
  const support::TempDirectory place;
  support::Random random(20261130);
  std::string path;
  std::uint64_t events = 0;
  std::size_t switches = 0;
  for (int kill = 0; kill != 500; ++kill) {
    // A new log now and then, so that its making is hit too.
    if (kill % 50 == 0) {
      path = place.path() + "/" + std::to_string(kill);
      events = 0;
    }
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe[0]);
      switch_for_ever(path, pipe[1], static_cast<unsigned>(kill));
    }
    ::close(pipe[1]);
    std::vector<unsigned char> told;
    // At any time, after its first word, or after its first switch: with a sanitizer it takes long to come so far.
    const std::size_t heard = kill % 5 == 0 ? 0 : kill % 5 == 1 ? 4 : 2;
    while (told.size() < heard) {
      unsigned char word[2];
      REQUIRE(::read(pipe[0], word, 2) == 2);
      told.insert(told.end(), word, word + 2);
    }
    ::usleep(static_cast<useconds_t>(random.below(6'000)));
    ::kill(child, SIGKILL);
    for (unsigned char buffer[4096];;) {
      const ssize_t got = ::read(pipe[0], buffer, sizeof buffer);
      if (got <= 0) break;
      told.insert(told.end(), buffer, buffer + got);
    }
    ::close(pipe[0]);
    REQUIRE(::waitpid(child, nullptr, 0) == child);

    if (!support::exists(path)) {
      for (std::size_t i = 0; i + 1 < told.size(); i += 2) REQUIRE(told[i] == 1);
      continue;
    }
    const LogReport report = read_log(path);
    REQUIRE(report.state.size() >= events);
    events = report.state.size();
    if (told.empty()) continue;
    switches += told.size() / 4;
    const bool under_way = told[told.size() - 2] == 1;
    const Knobs last = knobs_number(told.back());
    if (!under_way) {
      REQUIRE(knobs_of(report.state, {}) == last);
    } else {
      // What it had before, what was asked for, or the first half of that: nothing wider than both.
      const Knobs before = told.size() >= 4 ? knobs_number(told[told.size() - 3]) : last;
      const SandboxMode mode = report.state.mode().value_or(read_only);
      if (told.size() >= 4) REQUIRE((mode == before.mode || mode == last.mode));
    }
  }
  CHECK(switches >= 100);
}
