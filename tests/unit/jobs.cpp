// SPDX-License-Identifier: BSL-1.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cordon/jobs.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cordon/harness.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/jobs.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/stand_in.hpp"

using cordon::Argv;
using cordon::CommandEnding;
using cordon::Harness;
using cordon::Job;
using cordon::JobOutput;
using cordon::Jobs;
using cordon::ReadOnly;
using cordon::Running;
using cordon::SandboxMode;
using cordon::SandboxUnavailableError;
using cordon::WorkspaceWrite;
using cordon::process::Cancelled;
using cordon::process::Exited;
using cordon::process::OutputLimit;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using cordon::process::TimedOut;
using support::options_with_path;
using support::policy;
using support::read_until;
using support::soon;
using support::StandIn;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

template <cordon::ConfinedMode M = ReadOnly>
Running start(const std::string& text, RunOptions options = options_with_path()) {
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  return harness.start(policy<M>(), Argv({"/bin/sh", "-c", text}), std::move(options));
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("F64: a command that is kept runs on when the call which started it has returned, until it is ended") {
  Jobs jobs;
  Job job = [&] { return jobs.keep(start("echo up; while :; do sleep 0.05; done")); }();
  CHECK(read_until(job, "up\n") == "up\n");
  CHECK(job.running());
  CHECK_FALSE(job.result());
  CHECK_FALSE(job.wait_for(50ms));
  CHECK(::kill(static_cast<pid_t>(job.pid()), 0) == 0);
  CHECK(job.kill());
  CHECK(job.wait().ending == CommandEnding(Signalled{SIGKILL}));
  CHECK_FALSE(job.running());
}

TEST_CASE("T-EXE-11: what a late reader lost is in a file that it is told of, whole when the job is over") {
  RunOptions options = options_with_path();
  options.max_output = 1000;
  const auto spill = std::make_shared<const cordon::process::SpillDirectory>();
  options.spill = spill;
  Jobs jobs;
  Job job = jobs.keep(start("seq 10000; echo up >&2; sleep 0.3; seq 5", options));
  CHECK(soon([&] { return job.read().err.text == "up\n"; }));
  const JobOutput early = job.read();
  CHECK_FALSE(early.out.spill.empty());
  CHECK(std::filesystem::exists(early.out.spill));
  const auto result = job.wait();
  const JobOutput late = job.read();
  REQUIRE(result.out.spill());
  CHECK(late.out.spill == result.out.spill()->path);
  CHECK(late.out.spill == early.out.spill);
  CHECK(std::filesystem::file_size(late.out.spill) == result.out.seen());
  CHECK(late.err.spill.empty());
}

TEST_CASE("T-EXE-11: a file that is gone with its command is not named") {
  RunOptions options = options_with_path();
  options.max_output = 1000;
  options.spill = std::make_shared<const cordon::process::SpillDirectory>();
  int pieces = 0;
  options.on_output = [&](cordon::process::Stream, std::string_view) {
    if (++pieces == 2) throw std::runtime_error("enough");
  };
  Jobs jobs;
  Job job = jobs.keep(start("seq 1000; sleep 0.2; seq 1000; sleep 9", options));
  CHECK_THROWS_AS((void)job.wait(), std::runtime_error);
  CHECK(job.read().out.spill.empty());
}

TEST_CASE("What a command wrote before it was kept can be read, once") {
  Jobs jobs;
  Running running = start("echo early; sleep 0.3; echo late");
  CHECK_FALSE(running.wait_for(150ms));
  SECTION("by the job") {
    Job job = jobs.keep(std::move(running));
    CHECK(job.wait().out.text() == "early\nlate\n");
    CHECK(job.read().out.text == "early\nlate\n");
  }
  SECTION("by nobody again") {
    CHECK(running.read().out.text == "early\n");
    Job job = jobs.keep(std::move(running));
    CHECK(job.wait().out.text() == "early\nlate\n");
    CHECK(job.read().out.text == "late\n");
  }
}

TEST_CASE(
    "T-EXE-11, EXE-10: the output of a job is read piece by piece, by all its handles together, also at its end") {
  Jobs jobs;
  Job job = jobs.keep(start("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.02; done; echo end >&2"));
  Job other = job;
  CHECK(other == job);
  std::string out;
  std::string err;
  bool ended = false;
  CHECK(soon([&] {
    for (Job* handle : {&job, &other}) {
      const JobOutput output = handle->read();
      CHECK(output.out.offset == out.size());
      CHECK_FALSE(output.out.lost_some());
      out += output.out.text;
      err += output.err.text;
      ended = output.ended;
    }
    return ended;
  }));
  CHECK(out == "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  CHECK(err == "end\n");
  CHECK(job.read().out.text == "");
  CHECK(job.wait().out.text() == out);
}

TEST_CASE("T-EXE-11: what nobody read in time is dropped from the front, counted and flagged") {
  Jobs jobs;
  auto options = options_with_path();
  options.max_output = 1000;
  Job job = jobs.keep(start("i=10000; while [ $i -lt 12000 ]; do echo $i; i=$((i+1)); done", options));
  CHECK(job.wait().out.seen() == 12000);
  const JobOutput output = job.read();
  CHECK(output.out.lost_some());
  CHECK(output.out.dropped == 11000);
  CHECK(output.out.offset == 11000);
  CHECK(output.out.text.size() == 1000);
  CHECK(output.out.text.ends_with("\n11998\n11999\n"));
  CHECK(job.read().out.dropped == 0);
}

TEST_CASE("EXE-11: an end is asked for once, and a stronger one may follow") {
  Jobs jobs;
  auto options = options_with_path();
  options.limits.grace = 60s;
  Job job = jobs.keep(start("trap 'echo heard' TERM; echo up; while :; do sleep 0.05; done", options));
  CHECK(read_until(job, "up\n") == "up\n");
  CHECK(job.terminate());
  CHECK_FALSE(job.terminate());
  CHECK(read_until(job, "heard\n") == "heard\n");
  CHECK(job.cancel());
  CHECK_FALSE(job.terminate());
  CHECK(read_until(job, "heard\n") == "heard\n");
  CHECK(job.running());
  CHECK(job.kill());
  CHECK_FALSE(job.kill());
  CHECK(job.wait().ending == CommandEnding(Cancelled{}));
  Job over = jobs.keep(start("true"));
  (void)over.wait();
  CHECK_FALSE(over.kill());
}

TEST_CASE("The limits of a job are kept though nobody waits") {
  Jobs jobs;
  auto options = options_with_path();
  options.limits.grace = 100ms;
  SECTION("wall") {
    options.limits.wall = 100ms;
    Job job = jobs.keep(start("while :; do echo x; sleep 0.01; done", options));
    CHECK(soon([&] { return !job.running(); }));
    CHECK(job.wait().ending == CommandEnding(TimedOut{TimedOut::Limit::wall}));
  }
  SECTION("idle") {
    options.limits.idle = 100ms;
    CHECK(jobs.keep(start("trap '' TERM; while :; do sleep 1; done", options)).wait().ending ==
          CommandEnding(TimedOut{TimedOut::Limit::idle}));
  }
  SECTION("output") {
    options.limits.output = 100000;
    CHECK(jobs.keep(start("yes", options)).wait().ending == CommandEnding(OutputLimit{}));
  }
  SECTION("stop") {
    std::stop_source stop;
    options.limits.stop = stop.get_token();
    Job job = jobs.keep(start("sleep 60", options));
    stop.request_stop();
    CHECK(job.wait().ending == CommandEnding(Cancelled{}));
  }
  SECTION("what is left running") {
    options.drain_limit = 50ms;
    const auto result = jobs.keep(start("sleep 60 & exit 4", options)).wait();
    CHECK(result.ending == CommandEnding(Exited{4}));
    CHECK(result.outlived == 1);
  }
}

TEST_CASE(
    "T-SPN-18, CLS-09, CLS-12, CLS-K3: a runner that fails settles its job as that error, and the output says so "
    "once") {
  int forgotten = 0;
  Jobs jobs;
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}, &forgotten, true});
  Job job = jobs.keep(harness.start(policy<ReadOnly>(), Argv{"true"}));
  CHECK_THROWS_AS((void)job.wait(), SandboxUnavailableError);
  CHECK_FALSE(job.running());
  CHECK(forgotten == 1);
  const JobOutput output = job.read();
  CHECK(output.ended);
  CHECK(output.note.find("the runner's words") != std::string::npos);
  CHECK(output.err.text == "runner words\n");
  CHECK(job.read().note == "");
  try {
    (void)job.result();
    FAIL("a runner failure that is no error");
  } catch (const SandboxUnavailableError& error) {
    REQUIRE(error.failure());
    CHECK(error.failure()->stage == "mount");
  }
  CHECK(jobs.keep(start("exit 6")).wait().ending == CommandEnding(Exited{6}));
}

TEST_CASE("CLS-14: the facts of a job are those of its own wrap, whatever its harness and its session do next") {
  Jobs jobs;
  Harness<StandIn> harness(StandIn{{"/usr/bin/env"}});
  Job writing = jobs.keep(harness.start(policy<WorkspaceWrite>(), Argv({"/bin/sleep", "0.3"})));
  Job reading = jobs.keep(harness.start(policy<ReadOnly>(), Argv({"/bin/sleep", "0.3"})));
  Job full = jobs.keep(harness.start(support::unconfined(Argv({"/bin/sleep", "0.3"}))));
  jobs.mode_is(cordon::read_only);
  harness = Harness<StandIn>(StandIn{{"/usr/bin/nice"}});
  CHECK(writing.facts().mode == SandboxMode(cordon::workspace_write));
  CHECK(reading.facts().mode == SandboxMode(cordon::read_only));
  CHECK(writing.wait().mode == SandboxMode(cordon::workspace_write));
  CHECK(writing.wait().enforcement == writing.facts().enforcement);
  CHECK(reading.wait().backend == "stand-in");
  CHECK(full.wait().mode == SandboxMode(cordon::danger_full_access));
  CHECK_FALSE(full.wait().enforcement);
}

TEST_CASE("A mode that is tightened shows on the jobs that exceed it, and ends those and no others") {
  Jobs jobs;
  auto options = options_with_path();
  options.limits.grace = 100ms;
  const std::string stubborn = "trap '' TERM; while :; do sleep 0.05; done";
  Job reading = jobs.keep(start<ReadOnly>(stubborn, options));
  Job writing = jobs.keep(start<WorkspaceWrite>(stubborn, options));
  Harness<> harness;
  Job full = jobs.keep(harness.start(support::unconfined(Argv({"/bin/sleep", "60"})), options));
  const auto exceeding = [&] {
    return std::vector<bool>{reading.exceeds_mode(), writing.exceeds_mode(), full.exceeds_mode()};
  };
  CHECK(exceeding() == std::vector{false, false, false});
  CHECK(jobs.end_exceeding().empty());
  jobs.mode_is(cordon::danger_full_access);
  CHECK(exceeding() == std::vector{false, false, false});
  jobs.mode_is(cordon::workspace_write);
  CHECK(exceeding() == std::vector{false, false, true});
  jobs.mode_is(cordon::read_only);
  CHECK(exceeding() == std::vector{false, true, true});
  CHECK(jobs.running() == std::vector{reading, writing, full});
  CHECK(jobs.end_exceeding() == std::vector{writing, full});
  CHECK(jobs.running() == std::vector{reading});
  CHECK(writing.result()->ending == CommandEnding(Cancelled{}));
  CHECK(full.result()->ending == CommandEnding(Cancelled{}));
  CHECK(reading.running());
  CHECK(writing.exceeds_mode());
}

TEST_CASE("One thread follows all jobs, and none does before the first") {
  const auto before = threads();
  Jobs jobs;
  CHECK(threads() == before);
  jobs.prepare();  // ESC-08: whether there is a thread for them can be known before anything is started
  CHECK(threads() == before + 1);
  std::vector<Job> all;
  for (int i = 0; i != 50; ++i) all.push_back(jobs.keep(start("echo " + std::to_string(i) + "; sleep 0.2")));
  all.push_back(jobs.keep(start("sleep 60")));
  CHECK(threads() == before + 1);
  for (int i = 0; i != 50; ++i) CHECK(all[static_cast<std::size_t>(i)].wait().out.text() == std::to_string(i) + "\n");
  CHECK(jobs.running() == std::vector{all.back()});
}

TEST_CASE("EXE-12: the end of Jobs is the end of every job and leaves nothing, but the handles stay") {
  const auto descriptors = support::open_descriptors();
  const auto before = threads();
  {
    std::vector<Job> handles;
    {
      Jobs jobs;
      auto options = options_with_path();
      options.limits.grace = 100ms;
      handles.push_back(jobs.keep(start("echo last; trap '' TERM; while :; do sleep 0.05; done", options)));
      handles.push_back(jobs.keep(start("setsid sleep 60 & exit 2", options)));
      handles.push_back(jobs.keep(start("exit 7")));
      CHECK(read_until(handles[0], "last\n") == "last\n");
      (void)handles[2].wait();
      jobs.mode_is(cordon::read_only);
    }
    CHECK(threads() == before);
    CHECK(support::no_child_is_left());
    CHECK(handles[0].result()->ending == CommandEnding(Cancelled{}));
    CHECK(handles[2].wait().ending == CommandEnding(Exited{7}));
    for (Job& job : handles) {
      CHECK_FALSE(job.kill());
      CHECK_FALSE(job.exceeds_mode());
      CHECK(job.read().ended);
    }
  }
  CHECK(support::open_descriptors() == descriptors);
}

TEST_CASE("An exception out of a callback ends its own job, and nothing else") {
  Jobs jobs;
  Job bystander = jobs.keep(start("sleep 0.5; exit 3"));
  auto options = options_with_path();
  bool is_standard = true;
  SECTION("of a kind that can be told") {
    options.on_output = [](cordon::process::Stream, std::string_view) { throw std::runtime_error("no paper"); };
  }
  SECTION("of any kind") {
    is_standard = false;
    options.on_output = [](cordon::process::Stream, std::string_view) { throw 7; };
  }
  Job job = jobs.keep(start("echo x; sleep 60", options));
  if (is_standard)
    CHECK_THROWS_AS((void)job.wait(), std::runtime_error);
  else
    CHECK_THROWS_AS((void)job.wait(), int);
  const JobOutput output = job.read();
  CHECK(output.out.text == "x\n");
  CHECK(output.note.find(is_standard ? "no paper" : "callback") != std::string::npos);
  CHECK(::kill(static_cast<pid_t>(job.pid()), 0) == -1);
  CHECK(bystander.wait().ending == CommandEnding(Exited{3}));
}

TEST_CASE("The pump has no signal handler of the program to run") {
  static std::atomic<long> heard_by{0};
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { heard_by = ::gettid(); };
  REQUIRE(::sigaction(SIGUSR2, &action, &before) == 0);
  Jobs jobs;
  Job job = jobs.keep(start("sleep 60"));
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGUSR2);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  ::kill(::getpid(), SIGUSR2);
  std::this_thread::sleep_for(100ms);
  CHECK(heard_by == 0);
  REQUIRE(::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0);
  CHECK(heard_by == ::gettid());
  CHECK(job.running());
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST_CASE("A process that was forked has no jobs to end, and doesn't wait for any") {
  auto jobs = std::make_unique<Jobs>();
  Job job = jobs->keep(start("sleep 60"));
  const pid_t forked = ::fork();
  if (forked == 0) {
    ::alarm(5);
    jobs.reset();
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(forked, &status, 0) == forked);
  CHECK(status == 0);
  CHECK(job.running());
}

TEST_CASE("Jobs and their handles are for any thread") {
  Jobs jobs;
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> threads_of_all;
    for (int t = 0; t != 4; ++t)
      threads_of_all.emplace_back([&, t] {
        for (int i = 0; i != 8; ++i) {
          Job job = jobs.keep(start<WorkspaceWrite>("echo x; sleep 60"));
          std::jthread reader([job]() mutable {
            while (!job.read().ended) std::this_thread::sleep_for(1ms);
          });
          std::jthread waiter([job, &ended] {
            if (job.wait().ending != CommandEnding(Exited{0})) ++ended;
          });
          jobs.mode_is(t % 2 == 0 ? SandboxMode(cordon::read_only) : SandboxMode(cordon::workspace_write));
          if (i % 2 == 0) (void)jobs.end_exceeding();
          (void)job.exceeds_mode();
          (void)jobs.running();
          job.kill();
        }
      });
  }
  CHECK(ended == 32);
  CHECK(jobs.running().empty());
}
