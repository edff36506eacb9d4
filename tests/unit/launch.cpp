// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/launch.hpp>
#include <cordon/process/spawn.hpp>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

namespace process = cordon::process;
using process::ChildSetup;
using process::Ending;
using process::RunOptions;
using process::detail::DirectLaunch;

namespace {

/// A launch with a setup of the test's choice, which notes what it is asked.
class NotingLaunch final : public process::Launch {
 public:
  struct Notes {
    bool started = false;
    std::string error_text;
  };

  NotingLaunch(ChildSetup setup, Notes& notes) : setup_(std::move(setup)), notes_(notes) {}
  [[nodiscard]] const ChildSetup& setup() const noexcept override { return setup_; }
  [[nodiscard]] Ending exec_failed(process::NotExecutable why) const override {
    return cordon::RunnerFailure{"exec-runner", why.error, "noted"};
  }
  void started() override { notes_.started = true; }
  [[nodiscard]] Ending settle(std::optional<cordon::os::WaitStatus> status, std::string_view error_text) override {
    notes_.error_text = error_text;
    return status ? process::ending_of(*status) : Ending(process::Exited{-1});
  }

 private:
  ChildSetup setup_;
  Notes& notes_;
};

ChildSetup running(std::vector<std::string> argv) {
  ChildSetup setup;
  setup.argv = std::move(argv);
  setup.environment = {"PATH=/usr/bin:/bin"};
  setup.working_directory = "/";
  return setup;
}

ChildSetup shell(const std::string& script) {
  return running({"/bin/sh", "-c", script});
}

process::Child start(ChildSetup setup, NotingLaunch::Notes& notes) {
  return process::detail::launch_command<cordon::os::Kernel>(std::make_unique<NotingLaunch>(std::move(setup), notes),
                                                             RunOptions{});
}

}  // namespace

TEST_CASE("A direct launch runs the command as it is") {
  const cordon::Argv command({"prog", "a", "b"});
  const std::vector<std::string> environment{"A=1"};
  const std::string directory = "/d";
  const DirectLaunch launch({command, environment, directory});
  CHECK(launch.setup().argv == command.elements());
  CHECK(launch.setup().environment == environment);
  CHECK(launch.setup().working_directory == directory);
  CHECK(launch.setup().descriptors.empty());
  CHECK(launch.setup().confinement.empty());
}

TEST_CASE("A direct launch's ending is that of the process") {
  const cordon::Argv command({"prog"});
  const std::vector<std::string> environment;
  const std::string directory = "/";
  DirectLaunch launch({command, environment, directory});
  CHECK(launch.settle(cordon::os::WaitStatus{false, 7}, "") == Ending(process::Exited{7}));
  CHECK(launch.settle(cordon::os::WaitStatus{true, 9}, "") == Ending(process::Signalled{9}));
  CHECK(launch.exec_failed({ENOENT}) == Ending(process::NotExecutable{ENOENT}));
}

TEST_CASE("A direct launch whose exit status was lost has no ending at all") {
  const cordon::Argv command({"prog"});
  const std::vector<std::string> environment;
  const std::string directory = "/";
  DirectLaunch launch({command, environment, directory});
  CHECK_THROWS_AS(launch.settle(std::nullopt, ""), cordon::SpawnError);
}

TEST_CASE("The descriptors of a launch become 3, 4, 5 in the child, whatever their numbers here, and no others do") {
  const support::TempDirectory directory;
  const cordon::os::Fd one(cordon::os::open_file<cordon::os::Kernel>(directory.file("one", "1").c_str(), O_RDONLY));
  const cordon::os::Fd two(cordon::os::open_file<cordon::os::Kernel>(directory.file("two", "2").c_str(), O_RDONLY));
  ChildSetup setup = shell("cat <&3; cat <&4; ls /proc/self/fd | tr '\\n' ' '");
  SECTION("in order") {
    setup.descriptors = {one.get(), two.get()};
    NotingLaunch::Notes notes;
    CHECK(start(setup, notes).wait().out.text() == "120 1 2 3 4 5 ");  // 5 is the directory that ls reads
  }
  SECTION("in the other order") {
    setup.descriptors = {two.get(), one.get()};
    NotingLaunch::Notes notes;
    CHECK(start(setup, notes).wait().out.text().starts_with("21"));
  }
}

TEST_CASE("A step that fails has its name and number in the outcome, and the command doesn't run") {
  const support::TempDirectory directory;
  ChildSetup setup = shell("echo x >" + directory.path() + "/marker");
  NotingLaunch::Notes notes;
  SECTION("one that confines is a runner failure") {
    setup.confinement.push_back({SYS_close, {-1}, process::Stage::landlock});
    const auto done = start(setup, notes).wait();
    const auto* failure = std::get_if<cordon::RunnerFailure>(&done.ending);
    REQUIRE(failure != nullptr);
    CHECK(failure->stage == "landlock");
    CHECK(failure->error == EBADF);
  }
  SECTION("another is an error") {
    setup.confinement.push_back({SYS_close, {-1}, process::Stage::session});
    try {
      (void)start(setup, notes);
      FAIL("started although a step failed");
    } catch (const cordon::SpawnError& error) {
      CHECK(error.error() == EBADF);
      CHECK(std::string(error.what()).find("session") != std::string::npos);
    }
  }
  CHECK_FALSE(notes.started);
  CHECK_FALSE(support::exists(directory.path() + "/marker"));
  CHECK(support::no_child_is_left());
}

TEST_CASE("Confinement steps are made in order and stop at the first that fails") {
  const support::TempDirectory directory;
  const std::string first = directory.path() + "/first";
  const std::string last = directory.path() + "/last";
  ChildSetup setup = shell("true");
  const auto make = [](const std::string& path) {
    return process::PreparedCall{SYS_mkdirat, {AT_FDCWD, cordon::os::arg(path.c_str()), 0700}, process::Stage::mount};
  };
  setup.confinement = {make(first), make(first), make(last)};
  NotingLaunch::Notes notes;
  CHECK(std::holds_alternative<cordon::RunnerFailure>(start(setup, notes).wait().ending));
  CHECK(support::exists(first));
  CHECK_FALSE(support::exists(last));
}

TEST_CASE("Confinement steps act on the child and not on this process") {
  ChildSetup setup = shell("umask");
  setup.confinement = {{SYS_umask, {0123}, process::Stage::runner}};
  NotingLaunch::Notes notes;
  const mode_t before = ::umask(022);
  CHECK(start(setup, notes).wait().out.text() == "0123\n");
  CHECK(::umask(before) == 022);
}

TEST_CASE("A launch hears that the program started, and what stderr said") {
  NotingLaunch::Notes notes;
  const auto done = start(shell("echo words >&2; exit 3"), notes).wait();
  CHECK(notes.started);
  CHECK(notes.error_text == "words\n");
  CHECK(done.ending == Ending(process::Exited{3}));
}

TEST_CASE("A launch decides what it means that its program can't be executed, and nothing started then") {
  NotingLaunch::Notes notes;
  const auto done = start(running({"/nonexistent/runner"}), notes).wait();
  CHECK_FALSE(notes.started);
  CHECK(done.ending == Ending(cordon::RunnerFailure{"exec-runner", ENOENT, "noted"}));
}

TEST_CASE("A launch whose start throws leaves no process behind") {
  class Throwing final : public process::Launch {
   public:
    [[nodiscard]] const ChildSetup& setup() const noexcept override { return setup_; }
    [[nodiscard]] Ending exec_failed(process::NotExecutable why) const override { return why; }
    void started() override { throw cordon::SandboxUnavailableError("no"); }
    [[nodiscard]] Ending settle(std::optional<cordon::os::WaitStatus>, std::string_view) override {
      return process::Exited{0};
    }

   private:
    ChildSetup setup_ = shell("sleep 600");
  };
  const auto before = support::open_descriptors();
  CHECK_THROWS_AS(process::detail::launch_command<cordon::os::Kernel>(std::make_unique<Throwing>(), RunOptions{}),
                  cordon::SandboxUnavailableError);
  CHECK(support::no_child_is_left());
  CHECK(support::open_descriptors() == before);
}

TEST_CASE("A launch with too many descriptors is refused before anything starts") {
  ChildSetup setup = shell("true");
  setup.descriptors.assign(100, 0);
  NotingLaunch::Notes notes;
  CHECK_THROWS_AS(start(setup, notes), cordon::SpawnError);
  CHECK_FALSE(notes.started);
}
