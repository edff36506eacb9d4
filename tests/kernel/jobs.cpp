// SPDX-License-Identifier: BSL-1.0

// Commands that run on under real confinement: what they say, what they are, and how they are ended.

#include <signal.h>

#include <chrono>
#include <filesystem>

#include <cordon/approval/answerers/scripted.hpp>
#include <cordon/escalation.hpp>

#include "kernel/support.hpp"
#include "support/jobs.hpp"

using namespace kernel_tests;
using namespace std::chrono_literals;
using cordon::CommandEnding;
using cordon::Job;
using cordon::JobOutput;
using cordon::Jobs;
using cordon::SandboxMode;
using cordon::process::Cancelled;
using cordon::process::Exited;
using cordon::process::RunOptions;
using cordon::process::Signalled;
using support::unique_sleep;
using support::who_run;

namespace {

template <class U>
cordon::Running start(HarnessOf<U>& own, const Place& place, const std::string& script,
                      RunOptions options = plain_options()) {
  return own.start(policy_for<typename U::Mode>(place.workspace()), cordon::shell(script), std::move(options));
}

template <class U>
cordon::Running start(const Place& place, const std::string& script, RunOptions options = plain_options()) {
  return start<U>(harness<U>(), place, script, std::move(options));
}

std::string read_until(Job& job, const std::string& text) {
  return support::read_until(job, text, 3s);
}

std::ptrdiff_t entries(const char* directory) {
  return std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("T-EXE-11: under a flood no byte is given twice, and those that nobody got are counted",
                        "[jobs]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  Jobs jobs;
  auto options = plain_options();
  options.max_output = 10000;
  // Each line is as long as every other and says where it lies.
  Job job = jobs.keep(start<TestType>(place, "seq -f %015.0f 0 199999; seq -f %015.0f 0 199 >&2", options));
  std::uint64_t out = 0;
  std::uint64_t err = 0;
  bool ended = false;
  CHECK(soon([&] {
    const JobOutput output = job.read();
    ended = output.ended;
    for (const auto& [piece, read] : {std::pair(&output.out, &out), std::pair(&output.err, &err)}) {
      REQUIRE(piece->offset == *read + piece->dropped);
      REQUIRE(piece->text.size() <= options.max_output);
      std::uint64_t at = piece->offset;
      std::string text = piece->text;
      text.insert(0, std::string(at % 16, '.'));
      at -= at % 16;
      for (std::size_t line = at == piece->offset ? 0 : 16; line + 16 <= text.size(); line += 16)
        REQUIRE(std::stoull(text.substr(line, 15)) == (at + line) / 16);
      *read = piece->offset + piece->text.size();
    }
    return ended;
  }));
  CHECK(out == 200000 * 16);
  CHECK(err == 200 * 16);
  CHECK(job.wait().ending == CommandEnding(Exited{0}));
  CHECK(job.wait().out.seen() == out);
}

TEMPLATE_LIST_TEST_CASE("F64: a job outlives the harness, the policy and the scope that started it, confined as before",
                        "[jobs]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  Jobs jobs;
  Job job = [&] {
    HarnessOf<TestType> own;
    return jobs.keep(start<TestType>(own, place,
                                     "echo up; until [ -e go ]; do sleep 0.05; done; mktemp || echo none; echo x > " +
                                         place.out("file") + "; echo x > made; exit 3"));
  }();
  CHECK(read_until(job, "up\n") == "up\n");
  CHECK(job.running());
  write_file(place.in("go"), "");
  const auto result = job.wait();
  CHECK(result.ending == CommandEnding(Exited{3}));
  CHECK_FALSE(place.outside_changed());
  constexpr bool writes = std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>;
  CHECK(exists(place.in("made")) == writes);
  const std::string temp = job.read().out.text;
  INFO(temp << result.err.text());
  CHECK((temp != "none\n") == (writes || Facts<TestType>::own_temp));
  if (!Facts<TestType>::own_temp) std::filesystem::remove(temp.substr(0, temp.size() - 1));
}

TEMPLATE_LIST_TEST_CASE("A tightened mode ends the jobs that exceed it, with all they started, while the others run on",
                        "[jobs]", KernelBackends) {
  using Reads = Under<TestType, cordon::ReadOnly>;
  using Writes = Under<TestType, cordon::WorkspaceWrite>;
  const Place place;
  if (!usable<Reads>(place) || !usable<Writes>(place)) return;
  Jobs jobs;
  auto options = plain_options();
  options.limits.grace = 100ms;
  const std::string token = unique_sleep();
  Job reading = jobs.keep(start<Reads>(place, "echo up; while :; do sleep 0.05; echo x; done", options));
  Job writing = jobs.keep(start<Writes>(
      place, "trap '' TERM; setsid sleep " + token + " & echo up; while :; do echo x >> written; sleep 0.01; done",
      options));
  CHECK(read_until(reading, "up\n").starts_with("up\n"));
  CHECK(read_until(writing, "up\n") == "up\n");
  CHECK(soon([&] { return !who_run(token).empty(); }));
  jobs.mode_is(cordon::read_only);
  CHECK(writing.exceeds_mode());
  CHECK(writing.running());
  CHECK(jobs.end_exceeding() == std::vector{writing});
  CHECK(who_run(token).empty());
  const auto size = std::filesystem::file_size(place.in("written"));
  CHECK(writing.result()->ending == CommandEnding(Cancelled{}));
  CHECK(writing.facts().mode == SandboxMode(cordon::workspace_write));
  (void)reading.read();
  CHECK(read_until(reading, "x\n").find("x\n") != std::string::npos);
  CHECK(reading.running());
  CHECK(std::filesystem::file_size(place.in("written")) == size);
}

TEMPLATE_LIST_TEST_CASE("F59: the end of a job is the end of what called setsid, forked away and ignores signals",
                        "[jobs]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  Jobs jobs;
  const std::string token = unique_sleep();
  Job job = jobs.keep(start<TestType>(place, "for i in 1 2 3; do (trap '' TERM HUP; setsid setsid sleep " + token +
                                                 " & ) ; done; echo up; sleep " + token));
  CHECK(read_until(job, "up\n") == "up\n");
  CHECK(soon([&] { return who_run(token).size() >= 4; }));
  CHECK(job.kill());
  CHECK(job.wait().ending == CommandEnding(Signalled{SIGKILL}));
  CHECK(who_run(token).empty());
}

TEMPLATE_LIST_TEST_CASE("CLS-14: the facts of jobs in different modes never mix, also when the session's mode changed",
                        "[jobs]", KernelBackends) {
  using Reads = Under<TestType, cordon::ReadOnly>;
  using Writes = Under<TestType, cordon::WorkspaceWrite>;
  const Place place;
  if (!usable<Reads>(place) || !usable<Writes>(place)) return;
  Jobs jobs;
  const std::string script = "until [ -e go ]; do sleep 0.02; done; echo x > made.by-";
  Job reading = jobs.keep(start<Reads>(place, script + "reading"));
  Job writing = jobs.keep(start<Writes>(place, script + "writing"));
  jobs.mode_is(cordon::danger_full_access);
  jobs.mode_is(cordon::read_only);
  write_file(place.in("go"), "");
  const auto read = reading.wait();
  const auto written = writing.wait();
  CHECK(read.mode == SandboxMode(cordon::read_only));
  CHECK(written.mode == SandboxMode(cordon::workspace_write));
  CHECK(read.backend == reading.facts().backend);
  CHECK(read.enforcement ==
        harness<Reads>().confine(policy_for<cordon::ReadOnly>(place.workspace()), cordon::Argv{"true"}).enforcement());
  CHECK(read.denied());
  CHECK_FALSE(written.denied());
  CHECK(written.ending == CommandEnding(Exited{0}));
}

TEMPLATE_LIST_TEST_CASE(
    "T-ESC-08, T-ESC-14: a job that was allowed keeps its mode over the end of its turn, and lends it to nobody",
    "[jobs]", KernelBackends) {
  using Reads = Under<TestType, cordon::ReadOnly>;
  using Writes = Under<TestType, cordon::WorkspaceWrite>;
  using Allowing = cordon::AnswererChain<cordon::Scripted>;
  const Place place;
  if (!usable<Reads>(place) || !usable<Writes>(place)) return;
  cordon::Session<cordon::MemoryLog> session(cordon::MemoryLog({"s", 0}));
  auto turn = session.begin_turn();
  cordon::Harness<TestType, Allowing, cordon::AcceptPartial> own(
      TestType(), Allowing(cordon::Scripted({cordon::Decision::allow(), cordon::Decision::allow()})));
  const cordon::EscalationDetails details{.roots = {.workspace_root = place.workspace()}, .options = plain_options()};
  const std::string script = "until [ -e go ]; do sleep 0.02; done; echo x >made.by-";
  Jobs jobs;
  const Job inside = jobs.keep(start_escalated(turn, own, cordon::shell(script + "inside; echo x >" + place.out("no")),
                                               cordon::workspace_write, "a server", details));
  const Job anywhere = jobs.keep(start_escalated(turn, own, cordon::shell(script + "full; echo x >" + place.out("yes")),
                                                 cordon::danger_full_access, "a server", details));
  turn.end();
  auto next = session.begin_turn();
  const auto between = run_in(next, own, policy_for<cordon::ReadOnly>(place.workspace()),
                              cordon::shell("echo x >made.by-next"), plain_options());
  CHECK(between.denied());
  write_file(place.in("go"), "");
  CHECK(inside.wait().denied());
  CHECK(anywhere.wait().ending == CommandEnding(Exited{0}));
  CHECK(anywhere.facts().backend.empty());
  CHECK_FALSE(anywhere.facts().enforcement);
  for (const char* made : {"made.by-inside", "made.by-full"}) CHECK(std::filesystem::exists(place.in(made)));
  CHECK_FALSE(std::filesystem::exists(place.in("made.by-next")));
  CHECK_FALSE(std::filesystem::exists(place.out("no")));
  CHECK(std::filesystem::exists(place.out("yes")));
  CHECK(session.state().in_background().empty());
}

TEMPLATE_LIST_TEST_CASE("Twenty jobs at once have one thread, and their end leaves no process, descriptor or thread",
                        "[jobs]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  (void)run_under<TestType>(place, cordon::Argv{"true"});  // what the harness keeps ready, it keeps
  const std::string token = unique_sleep();
  const auto threads = entries("/proc/self/task");
  const auto descriptors = entries("/proc/self/fd");
  std::vector<Job> all;
  {
    HarnessOf<TestType> own;
    Jobs jobs;
    for (int i = 0; i != 20; ++i) all.push_back(jobs.keep(start<TestType>(own, place, "echo up; exec sleep " + token)));
    CHECK(entries("/proc/self/task") == threads + 1);
    for (Job& job : all) CHECK(read_until(job, "up\n") == "up\n");
    CHECK(jobs.running() == all);
    CHECK(entries("/proc/self/task") == threads + 1);
    for (std::size_t i = 0; i != all.size(); i += 2) CHECK(all[i].terminate());
    for (std::size_t i = 0; i != all.size(); i += 2) CHECK(all[i].wait().ending == CommandEnding(Signalled{SIGTERM}));
    CHECK(jobs.running().size() == 10);
  }
  for (Job& job : all) CHECK_FALSE(job.running());
  CHECK(all[1].wait().ending == CommandEnding(Cancelled{}));
  all.clear();
  CHECK(who_run(token).empty());
  CHECK(entries("/proc/self/task") == threads);
  CHECK(entries("/proc/self/fd") == descriptors);
}

TEST_CASE("A runner that is gone by the time of its job is the sandbox's error, at the latest in its job (T-SPN-18)",
          "[jobs]") {
  using U = Under<cordon::Bubblewrap, cordon::WorkspaceWrite>;
  const Place place;
  if (!usable<U>(place)) return;
  const Scratch scratch;
  const std::string binary = scratch.path() + "/bwrap";
  std::filesystem::copy_file(cordon::Bubblewrap().binary(), binary);
  std::filesystem::permissions(binary, std::filesystem::perms(0755));
  HarnessOf<U> own(cordon::Bubblewrap(cordon::BubblewrapOptions{.binary = binary}));
  const auto confined = own.confine(policy_for<cordon::WorkspaceWrite>(place.workspace()), cordon::shell("echo ran"));
  std::filesystem::remove(binary);
  write_file(binary, "#!/bin/sh\necho bwrap: broken >&2\nexit 1\n", 0755);
  Jobs jobs;
  Job job = jobs.keep(own.start(confined, plain_options()));
  CHECK_THROWS_AS((void)job.wait(), cordon::SandboxUnavailableError);
  const JobOutput output = job.read();
  CHECK(output.ended);
  CHECK(output.out.text.empty());
  CHECK(output.note.find("nothing was executed") != std::string::npos);
}
