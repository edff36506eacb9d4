// SPDX-License-Identifier: BSL-1.0

// The launch path against a kernel that refuses each of its steps in turn.

#include <cordon/process/spawn.hpp>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

namespace process = cordon::process;
using process::RunOptions;

namespace {

/// The real kernel, but for one call. The child shares this program's memory, so it counts on where the parent was.
struct FakeKernel {
  static inline int refuse_at = 0;  ///< the number of the set-up call that fails; 0 for none
  static inline int refusal = EMFILE;
  static inline int count = 0;
  static inline long refused = -1;  ///< the system call that did fail
  static inline bool started = false;

  __attribute__((no_sanitize("address", "undefined", "thread"))) static bool refuses(long number) noexcept {
    if (++count != refuse_at) return false;
    refused = number;
    return true;
  }

  __attribute__((no_sanitize("address", "undefined", "thread"))) static long call(long number, long a = 0, long b = 0,
                                                                                  long c = 0, long d = 0, long e = 0,
                                                                                  long f = 0) noexcept {
    const bool setting_up = number == SYS_pipe2 || number == SYS_openat || number == SYS_fcntl || number == SYS_dup3 ||
                            number == SYS_close_range || number == SYS_setsid || number == SYS_rt_sigaction ||
                            number == SYS_chdir;
    if (setting_up && refuses(number)) {
      if (started) {
        // The command is running: give it the time that a slow machine would.
        const timespec pause{0, 300'000'000};
        cordon::os::Kernel::call(SYS_nanosleep, cordon::os::arg(&pause), 0);
      }
      return -refusal;
    }
    return cordon::os::Kernel::call(number, a, b, c, d, e, f);
  }

  static long clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd) noexcept {
    if (refuses(SYS_clone)) return -refusal;
    const long pid = cordon::os::Kernel::clone(entry, stack_top, flags, argument, pidfd);
    started = true;
    return pid;
  }

  static void reset(int at, int error = EMFILE) {
    refuse_at = at;
    refusal = error;
    count = 0;
    refused = -1;
    started = false;
  }
};

process::BasicChild<FakeKernel> start(const cordon::Argv& command, RunOptions options = {}) {
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  const std::string directory = "/";
  return process::launch_command<FakeKernel>(
      std::make_unique<process::DirectLaunch>(process::LaunchRequest{command, environment, directory}),
      std::move(options));
}

/// The words that name the step which a system call belongs to.
std::string step_of(long number) {
  switch (number) {
    case SYS_pipe2:
      return "making a pipe";
    case SYS_openat:
      return "opening /dev/null";
    case SYS_clone:
      return "clone";
    case SYS_dup3:
    case SYS_close_range:
      return "descriptors";
    case SYS_setsid:
      return "session";
    case SYS_rt_sigaction:
      return "signals";
    case SYS_chdir:
      return "working-directory";
    default:
      return "";
  }
}

RunOptions options(bool piped) {
  RunOptions result;
  if (piped) result.input = process::Input::bytes("input");
  return result;
}

}  // namespace

TEST_CASE("A launch that is refused any one step throws, names the step, runs nothing, and leaves nothing behind") {
  const bool piped = GENERATE(false, true);
  const support::TempDirectory directory;
  const std::string marker = directory.path() + "/marker";
  const cordon::Argv command({"/bin/sh", "-c", "echo ran >" + marker});
  const auto descriptors = support::open_descriptors();
  int refusals = 0;
  for (int at = 1;; ++at) {
    REQUIRE(at < 1000);
    FakeKernel::reset(at);
    std::string message;
    try {
      auto child = start(command, options(piped));
      if (FakeKernel::refused == -1) {
        CHECK(support::exited_with(child.wait(), 0));
        CHECK(support::exists(marker));
        break;
      }
    } catch (const cordon::SpawnError& error) {
      message = error.what();
      CHECK(error.error() == EMFILE);
    }
    ++refusals;
    INFO("refused: call " << at << ", system call " << FakeKernel::refused << ": " << message);
    CHECK(message.find(cordon::detail::error_text(EMFILE)) != std::string::npos);
    CHECK(message.find(step_of(FakeKernel::refused)) != std::string::npos);
    CHECK_FALSE(support::exists(marker));
    CHECK(support::open_descriptors() == descriptors);
    CHECK(support::no_child_is_left());
    std::filesystem::remove(marker);
  }
  FakeKernel::reset(0);
  // 3 or 4 pipes and their copies, the clone, 5 descriptors, the session, 62 signal actions, the directory.
  CHECK(refusals > 75);
}

TEST_CASE("A copied descriptor that can't be had is called by its name") {
  FakeKernel::reset(2, ENFILE);  // the first pipe, then the copy of its first end
  try {
    (void)start(cordon::Argv({"true"}));
    FAIL("started without descriptors");
  } catch (const cordon::SpawnError& error) {
    CHECK(error.error() == ENFILE);
    CHECK(std::string(error.what()).find("duplicating a descriptor") != std::string::npos);
  }
  FakeKernel::reset(0);
}

TEST_CASE("A clone that is refused for a while doesn't spoil the next one") {
  FakeKernel::reset(0);
  CHECK(support::exited_with(start(cordon::Argv({"true"})).wait(), 0));
  const int calls = FakeKernel::count;
  for (int at = 1; at <= calls; at += 7) {
    FakeKernel::reset(at, EAGAIN);
    CHECK_THROWS_AS(start(cordon::Argv({"true"})), cordon::SpawnError);
    FakeKernel::reset(0);
    REQUIRE(support::exited_with(start(cordon::Argv({"true"})).wait(), 0));
  }
}
