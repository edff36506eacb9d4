// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/spill.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cordon/harness.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "support/catch.hpp"
#include "support/fake_kernel.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"
#include "support/scripted_backend.hpp"
#include "support/temp_directory.hpp"

namespace process = cordon::process;
using process::Capture;
using process::RunOptions;
using process::SpillDirectory;
using process::SpillFacts;
using support::FakeKernel;
using support::run_shell;
using support::TempDirectory;
using State = SpillFacts::State;

namespace {

using Recorder = process::detail::Recorder<FakeKernel>;

/// What ten bytes at a time, `times` times, come to, of which ten are kept.
Capture recorded(const std::shared_ptr<const SpillDirectory>& directory, int times, std::uint64_t max_spill = 1000) {
  Recorder recorder("stdout", 10, directory, max_spill);
  for (int i = 0; i != times; ++i) recorder.append(std::to_string(i) + "23456789");
  return recorder.finish();
}

std::size_t files_in(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()));
}

unsigned permissions_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777U;
}

RunOptions options(const std::shared_ptr<const SpillDirectory>& directory) {
  RunOptions result = support::options_with_path();
  result.max_output = 1000;
  result.spill = directory;
  return result;
}

}  // namespace

TEST_CASE("T-EXE-05: output up to the cap makes no file; one byte more and there is one with the whole stream") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path() + "/spill");
  const auto done =
      run_shell("head -c 1000 /dev/zero | tr '\\0' a; head -c 1001 /dev/zero | tr '\\0' b >&2", options(directory));
  CHECK_FALSE(done.out.truncated());
  CHECK_FALSE(done.out.spill());
  REQUIRE(done.err.truncated());
  REQUIRE(done.err.spill());
  const SpillFacts& facts = *done.err.spill();
  CHECK(facts.state == State::complete);
  CHECK(facts.bytes == 1001);
  CHECK(facts.error == 0);
  CHECK(facts.path.starts_with(directory->path() + "/stderr-"));
  CHECK(support::content_of(facts.path) == std::string(1001, 'b'));
  CHECK(files_in(directory->path()) == 1);
}

TEST_CASE("A spill is a file of mode 0600 in a directory of mode 0700") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path() + "/spill");
  CHECK(permissions_of(directory->path()) == 0700);
  const auto done = run_shell("seq 1000", options(directory));
  REQUIRE(done.out.spill());
  CHECK(permissions_of(done.out.spill()->path) == 0600);
}

TEST_CASE("Both streams spill, each to its own file, also of commands that run at the same time") {
  const auto directory = std::make_shared<const SpillDirectory>();
  const auto many =
      "for i in 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; done; echo $0";
  auto one = process::spawn(support::unconfined({"sh", "-c", many, "one"}), options(directory));
  auto two = process::spawn(support::unconfined({"sh", "-c", many, "two"}), options(directory));
  const auto first = one.wait();
  const auto second = two.wait();
  for (const Capture* capture : {&first.out, &first.err, &second.out, &second.err}) {
    REQUIRE(capture->spill());
    CHECK(capture->spill()->bytes == capture->seen());
    CHECK(support::content_of(capture->spill()->path).size() == capture->seen());
  }
  CHECK(support::content_of(first.out.spill()->path).ends_with("one\n"));
  CHECK(support::content_of(second.out.spill()->path).ends_with("two\n"));
  CHECK(files_in(directory->path()) == 4);
}

TEST_CASE("A spill has every byte in order, however the stream arrives, also when writes are short") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path());
  FakeKernel::refuse(-1);
  FakeKernel::most = GENERATE(0U, 1U, 7U);
  const Capture capture = recorded(directory, 5);
  REQUIRE(capture.spill());
  CHECK(capture.spill()->state == State::complete);
  CHECK(support::content_of(capture.spill()->path) == "023456789123456789223456789323456789423456789");
  CHECK(capture.spill()->bytes == 45);
}

TEST_CASE("T-EXE-06: a spill that would be larger than its cap is removed, and the tail is intact") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path());
  FakeKernel::refuse(-1);
  CHECK(recorded(directory, 5, 45).spill()->state == State::complete);
  const Capture capture = recorded(directory, 5, 44);
  CHECK(*capture.spill() == SpillFacts{State::over_cap, 36, 0, ""});
  CHECK(capture.tail() == "56789");
  CHECK(capture.seen() == 45);
  CHECK(files_in(temp.path()) == 1);

  SECTION("and never made when the first byte beyond what is kept is beyond its cap") {
    CHECK(*recorded(directory, 5, 5).spill() == SpillFacts{State::over_cap, 0, 0, ""});
    CHECK(*recorded(directory, 5, 0).spill() == SpillFacts{State::over_cap, 0, 0, ""});
    CHECK(FakeKernel::calls[SYS_openat] == 2);
  }
}

TEST_CASE("T-EXE-06: a spill whose close fails is removed, and the tail is intact") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path());
  FakeKernel::refuse(SYS_close, 0, EDQUOT);
  const Capture capture = recorded(directory, 5);
  CHECK(*capture.spill() == SpillFacts{State::failed, 45, EDQUOT, ""});
  CHECK(capture.tail() == "56789");
  CHECK(files_in(temp.path()) == 0);
}

TEST_CASE("A spill that the system refuses is a fact with its errno: the capture goes on, and nothing is left behind") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path());
  const auto descriptors = support::open_descriptors();
  SECTION("when it is made") {
    FakeKernel::refuse(SYS_openat, 0, EMFILE);
    CHECK(*recorded(directory, 5).spill() == SpillFacts{State::failed, 0, EMFILE, ""});
    CHECK(FakeKernel::calls[SYS_openat] == 1);  // tried once
    CHECK(FakeKernel::calls[SYS_unlinkat] == 0);
  }
  SECTION("at the first write, or a later one") {
    const int error = GENERATE(ENOSPC, EDQUOT, EIO);
    const int at = GENERATE(0, 1, 3);
    FakeKernel::refuse(SYS_write, at, error);
    const Capture capture = recorded(directory, 5);
    CHECK(*capture.spill() == SpillFacts{State::failed, std::uint64_t(9 * at), error, ""});
    CHECK(FakeKernel::calls[SYS_write] == at + 1);
    CHECK(capture.text() == "0234556789");
    CHECK(capture.dropped() == 35);
  }
  CHECK(files_in(temp.path()) == 0);
  CHECK(support::open_descriptors() == descriptors);
}

TEST_CASE("A program that may make no large file gets a fact and no signal, and the command goes on") {
  const TempDirectory temp;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto directory = std::make_shared<const SpillDirectory>(temp.path());
    const auto done = run_shell("head -c 1000000 /dev/zero; exit 5", options(directory));
    const SpillFacts expected{State::failed, 100000, EFBIG, ""};
    ::_exit(support::exited_with(done, 5) && done.out.seen() == 1000000 && done.out.spill() == expected ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(files_in(temp.path()) == 0);
}

TEST_CASE("A spill follows nothing that lies in its place, and takes no other file away") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path() + "/spill");
  SECTION("its directory was exchanged meanwhile") {
    std::filesystem::rename(directory->path(), temp.path() + "/moved");
    (void)temp.directory("elsewhere");
    (void)temp.symlink("spill", temp.path() + "/elsewhere");
    FakeKernel::refuse(-1);
    CHECK(recorded(directory, 5).spill()->state == State::complete);
    CHECK(files_in(temp.path() + "/elsewhere") == 0);
    CHECK(files_in(temp.path() + "/moved") == 1);
  }
  SECTION("there is a file of its name already, or a symlink") {
    FakeKernel::refuse(SYS_getrandom, 0, ENOSYS);  // so that the name can be known
    if (GENERATE(false, true))
      (void)temp.file("spill/stdout-0000000000000000", "mine");
    else
      (void)temp.symlink("spill/stdout-0000000000000000", temp.file("target", "mine"));
    CHECK(*recorded(directory, 5).spill() == SpillFacts{State::failed, 0, EEXIST, ""});
    CHECK(support::content_of(directory->path() + "/stdout-0000000000000000") == "mine");
  }
}

TEST_CASE("The spill of a command that is given up is removed") {
  const TempDirectory temp;
  const auto directory = std::make_shared<const SpillDirectory>(temp.path());
  {
    auto child = process::spawn(support::unconfined({"sh", "-c", "seq 10000; sleep 600"}), options(directory));
    (void)child.wait_for(std::chrono::milliseconds(300));
    CHECK(files_in(temp.path()) == 1);

    SECTION("but not by a process that was forked meanwhile") {
      const pid_t copy = ::fork();
      if (copy == 0) {
        { const auto gone = std::move(child); }
        ::_exit(0);
      }
      REQUIRE(::waitpid(copy, nullptr, 0) == copy);
      CHECK(files_in(temp.path()) == 1);
    }
  }
  CHECK(files_in(temp.path()) == 0);
}

TEST_CASE("A spill of a command that a limit ended has what was read until then") {
  const TempDirectory temp;
  RunOptions limited = options(std::make_shared<const SpillDirectory>(temp.path()));
  limited.limits.output = 100'000;
  const auto done = run_shell("exec yes", limited);
  CHECK(done.ending == process::Ending(process::OutputLimit{}));
  REQUIRE(done.out.spill());
  CHECK(done.out.spill()->state == State::complete);
  CHECK(support::content_of(done.out.spill()->path).size() == done.out.seen());
}

TEST_CASE("A spill directory of cordon's own goes with its last owner, one that was named stays with its files") {
  const TempDirectory temp;
  auto own = std::make_shared<const SpillDirectory>();
  const auto named = std::make_shared<const SpillDirectory>(temp.path() + "/spill");
  const std::string own_path = own->path();
  CHECK(permissions_of(own_path) == 0700);
  std::string files[2];
  {
    files[0] = run_shell("seq 1000", options(own)).out.spill()->path;
    files[1] = run_shell("seq 1000", options(named)).out.spill()->path;
  }
  CHECK(support::content_of(files[0]) == support::content_of(files[1]));
  own.reset();
  CHECK_FALSE(support::exists(own_path));
  CHECK(support::exists(files[1]));
}

TEST_CASE("A spill directory that is not this user's alone is refused before anything runs") {
  const TempDirectory temp;
  const std::string place = temp.directory("place");
  SECTION("others can enter it") {
    const unsigned mode = GENERATE(0755U, 0710U, 0701U, 0777U, 01777U);
    ::chmod(place.c_str(), mode);
    CHECK_THROWS_WITH(SpillDirectory(place), Catch::Matchers::Contains("mode 0700"));
  }
  SECTION("its name is a symlink") {
    ::chmod(place.c_str(), 0700);
    CHECK_THROWS_AS(SpillDirectory(temp.symlink("link", place)), cordon::SpawnError);
  }
  SECTION("it is no directory, or can't be made") {
    CHECK_THROWS_AS(SpillDirectory(temp.file("file")), cordon::SpawnError);
    CHECK_THROWS_AS(SpillDirectory(temp.path() + "/missing/spill"), cordon::SpawnError);
    CHECK_THROWS_AS(SpillDirectory(""), cordon::SpawnError);
  }
  SECTION("it belongs to another user") {
    if (::geteuid() != 0) return;
    ::chmod(place.c_str(), 0700);
    REQUIRE(::chown(place.c_str(), 31337, 31337) == 0);
    CHECK_THROWS_AS(SpillDirectory(place), cordon::SpawnError);
  }
}

TEST_CASE("A confined command that could write to its own spill is not started") {
  const TempDirectory temp;
  const std::string workspace = temp.directory("workspace");
  const auto inside = std::make_shared<const SpillDirectory>(workspace + "/spill");
  const auto through_a_link =
      std::make_shared<const SpillDirectory>(temp.symlink("link", workspace) + "/spill-behind-a-link");
  const auto outside = std::make_shared<const SpillDirectory>(temp.path() + "/workspace-spill");
  const auto script = std::make_shared<support::Script>();
  cordon::Harness<support::ScriptedBackend<0>> harness{support::ScriptedBackend<0>(script)};
  const auto write = support::policy<cordon::WorkspaceWrite>(workspace);
  const auto starts = [&](const auto& policy, const std::shared_ptr<const SpillDirectory>& directory) {
    try {
      // The scripted runner does not exist: that is how far it comes.
      (void)harness.run(policy, cordon::Argv({"true"}), options(directory));
      return false;
    } catch (const cordon::SandboxUnavailableError& error) {
      return error.failure() && error.failure()->stage == "exec-runner";
    } catch (const cordon::SpawnError& error) {
      CHECK(std::string(error.what()).find(workspace) != std::string::npos);
      return false;
    }
  };
  CHECK_FALSE(starts(write, inside));
  CHECK_FALSE(starts(write, through_a_link));
  CHECK(starts(write, outside));
  CHECK(starts(support::policy<cordon::ReadOnly>(workspace), inside));
  CHECK_THROWS_AS(process::run(cordon::require_full(harness.confine(write, cordon::Argv({"true"}))), options(inside)),
                  cordon::SpawnError);

  SECTION("nor one whose temp directory it lies in") {
    script->shared_temp = {temp.path()};
    CHECK_FALSE(starts(support::policy<cordon::ReadOnly>(workspace), outside));
  }
}
