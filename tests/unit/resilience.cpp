// SPDX-License-Identifier: BSL-1.0

// The launch path against a kernel that refuses each of its steps in turn.

#include <pthread.h>

#include <chrono>
#include <climits>
#include <cordon/backend/in_process.hpp>
#include <cordon/process/spawn.hpp>
#include <thread>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/temp_directory.hpp"

namespace process = cordon::process;
using process::RunOptions;

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

/// The real kernel, but for one call. The keeper and the child share this program's memory, so they count on where the
/// parent was. The keeper's closing of descriptors does not count: nothing depends on it.
struct FakeKernel {
  static inline int refuse_at = 0;  ///< the number of the set-up call that fails; 0 for none
  static inline int refusal = EMFILE;
  static inline int count = 0;
  static inline long refused = -1;  ///< the system call that did fail
  static inline bool started = false;
  static inline long parent = 0;
  static inline bool cloned = false;  ///< the child made the call that failed

  [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                              no_stack_protector)) static bool
  refuses(long number) noexcept {
    if (++count != refuse_at) return false;
    refused = number;
    cloned = cordon::os::Kernel::call(SYS_getpid) != parent;
    return true;
  }

  [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                              no_stack_protector)) static long
  call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
    const bool setting_up = number == SYS_pipe2 || number == SYS_eventfd2 || number == SYS_openat ||
                            number == SYS_fcntl || number == SYS_dup3 || (number == SYS_close_range && b == INT_MAX) ||
                            number == SYS_setsid || number == SYS_rt_sigaction || number == SYS_prctl ||
                            number == SYS_chdir || number == SYS_sendmsg || number == SYS_recvmsg ||
                            number == SYS_ioctl;
    if (setting_up && refuses(number)) {
      if (started && !cloned) {
        // The command is running: give it the time that a slow machine would.
        const timespec pause{0, 300'000'000};
        cordon::os::Kernel::call(SYS_nanosleep, cordon::os::arg(&pause), 0);
      }
      return -refusal;
    }
    return cordon::os::Kernel::call(number, a, b, c, d, e, f);
  }

  [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                              no_stack_protector)) static long
  clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd) noexcept {
    if (refuses(SYS_clone)) return -refusal;
    const long pid = cordon::os::Kernel::clone(entry, stack_top, flags, argument, pidfd);
    started = true;
    return pid;
  }

  static void reset(int at, int error = EMFILE) {
    refuse_at = at;
    refusal = error;
    parent = ::getpid();
    count = 0;
    refused = -1;
    started = false;
  }
};

#pragma GCC diagnostic pop

/// A launch like another, with a setup of its own.
class Altered : public process::Launch {
 public:
  explicit Altered(std::unique_ptr<process::Launch> launch) : launch_(std::move(launch)), setup_(launch_->setup()) {}
  [[nodiscard]] const process::ChildSetup& setup() const noexcept override { return setup_; }
  [[nodiscard]] process::Ending exec_failed(process::NotExecutable why) const override {
    return launch_->exec_failed(why);
  }
  [[nodiscard]] process::Ending settle(std::optional<cordon::os::WaitStatus> status, std::string_view text) override {
    return launch_->settle(status, text);
  }
  [[nodiscard]] bool current() const noexcept override { return launch_->current(); }
  [[nodiscard]] std::unique_ptr<process::Launch> renewed() override { return launch_->renewed(); }
  void gone() noexcept override { launch_->gone(); }

 private:
  std::unique_ptr<process::Launch> launch_;

 protected:
  process::ChildSetup setup_;
};

/// One step of the confinement is a system call that no kernel has.
class WithOneStepRefused final : public Altered {
 public:
  WithOneStepRefused(std::unique_ptr<process::Launch> launch, std::size_t at) : Altered(std::move(launch)) {
    setup_.confinement.at(at).number = -1;
  }
};

/// It runs another command, and is slow to find out that its init is not that of the program any more.
class SlowlyFoundStale final : public Altered {
 public:
  SlowlyFoundStale(std::unique_ptr<process::Launch> launch, std::vector<std::string> argv)
      : Altered(std::move(launch)) {
    setup_.argv = std::move(argv);
  }
  [[nodiscard]] bool current() const noexcept override {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return false;
  }
};

process::BasicChild<FakeKernel> start(const cordon::Argv& command, RunOptions options = {}) {
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  const std::string directory = "/";
  return process::detail::launch_command<FakeKernel>(
      std::make_unique<process::detail::DirectLaunch>(process::LaunchRequest{command, environment, directory}),
      std::move(options));
}

/// The words that name the step which a system call belongs to.
/// `cloned`: the call was made by the child. `terminal`: of a command with one of its own.
std::string step_of(long number, bool cloned, bool terminal) {
  switch (number) {
    case SYS_pipe2:
      return "making a pipe";
    case SYS_eventfd2:
      return "making an event descriptor";
    case SYS_openat:
      return cloned ? "descriptors" : terminal ? "making a terminal" : "opening /dev/null";
    case SYS_ioctl:
      return cloned ? "session" : "making a terminal";
    case SYS_clone:
      return "clone";
    case SYS_dup3:
    case SYS_close_range:
      return "descriptors";
    case SYS_setsid:
      return "session";
    case SYS_rt_sigaction:
    case SYS_prctl:
      return "signals";
    case SYS_chdir:
      return "working-directory";
    default:
      return "";
  }
}

RunOptions options(bool piped, bool terminal) {
  RunOptions result;
  if (terminal) result.terminal.emplace();
  if (piped) result.input = process::Input::bytes("input");
  return result;
}

}  // namespace

TEST_CASE(
    "T-SPN-09: a launch that is refused any one step throws, names the step, runs nothing, and leaves nothing behind") {
  const bool piped = GENERATE(false, true);
  const bool terminal = GENERATE(false, true);
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
      auto child = start(command, options(piped, terminal));
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
    const bool keepers_own = message.find("clone: ") != std::string::npos && FakeKernel::cloned;
    CHECK(
        (keepers_own || message.find(step_of(FakeKernel::refused, FakeKernel::cloned, terminal)) != std::string::npos));
    CHECK_FALSE(support::exists(marker));
    CHECK(support::open_descriptors() == descriptors);
    CHECK(support::no_child_is_left());
    std::filesystem::remove(marker);
  }
  FakeKernel::reset(0);
  // 3 or 4 pipes, or a terminal and one pipe, and their copies, the clone, 5 descriptors, the session, 62 signal
  // actions, the directory.
  CHECK(refusals > 75);
}

TEST_CASE("A confinement step that is refused fails the sandbox: the command does not run, the step has its name") {
  using namespace cordon::in_process;
  const bool entering = GENERATE(false, true);  // namespaces that are there, or to be made in the child
  const support::TempDirectory directory;
  Job job;
  job.layers = {.mounts = true, .landlock = true};
  job.writable = true;
  job.scope.workspace_root = directory.path();
  const int abi = Machine::here().landlock_abi;
  if (abi == 0) return;
  auto preparations = std::make_shared<Preparations>();
  const std::string marker = directory.path() + "/marker";
  const cordon::Argv command({"/bin/sh", "-c", "echo ran >" + marker});
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  const auto launch = [&] {
    std::shared_ptr<Prepared> prepared = preparations->take(job);
    if (!entering) {
      prepared = std::make_shared<Prepared>();
      std::string refused;
      prepared->ruleset = cordon::os::Fd(make_ruleset(job, abi, refused));
    }
    return std::make_unique<Launch>(std::make_shared<const Job>(job), prepared, preparations,
                                    process::LaunchRequest{command, environment, directory.path()});
  };
  auto first = launch();
  const std::size_t steps = first->setup().confinement.size();
  if (entering) REQUIRE(first->setup().channel >= 0);
  CHECK(steps > (entering ? 2U : 12U));
  for (std::size_t at = 0; at != steps; ++at) {
    auto broken = std::make_unique<WithOneStepRefused>(launch(), at);
    const process::Stage stage = broken->setup().confinement[at].stage;
    INFO("step " << at << ", " << name(stage));
    try {
      const auto done = process::detail::launch_command<cordon::os::Kernel>(std::move(broken), {}).wait();
      const auto* failure = std::get_if<cordon::RunnerFailure>(&done.ending);
      REQUIRE(failure != nullptr);
      CHECK(process::confines(stage));
      CHECK(failure->stage == name(stage));
      CHECK(failure->error == ENOSYS);
    } catch (const cordon::SpawnError& error) {
      CHECK_FALSE(process::confines(stage));
      CHECK(error.error() == ENOSYS);
    }
    CHECK_FALSE(support::exists(marker));
  }
  first.reset();
  preparations.reset();
  CHECK(support::no_child_is_left());
}

TEST_CASE("A launch into a namespace that is refused any one step runs nothing, and leaves nothing behind") {
  using namespace cordon::in_process;
  const bool terminal = GENERATE(false, true);
  const support::TempDirectory directory;
  Job job;
  job.layers = {.mounts = true, .landlock = Machine::here().landlock_abi > 0};
  job.writable = true;
  job.scope.workspace_root = directory.path();
  job.scope.resources = {.open_files = 100, .processes = 1000};
  const std::string marker = directory.path() + "/marker";
  const cordon::Argv command({"/bin/sh", "-c", "echo ran >" + marker});
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  auto preparations = std::make_shared<Preparations>();
  preparations->prepare(job);
  const auto descriptors = support::open_descriptors();
  int refusals = 0;
  for (int at = 1;; ++at) {
    REQUIRE(at < 100);
    auto launch = std::make_unique<Launch>(std::make_shared<const Job>(job), preparations->take(job), preparations,
                                           process::LaunchRequest{command, environment, directory.path()});
    REQUIRE(launch->setup().channel >= 0);
    FakeKernel::reset(at);
    std::string message;
    bool refused = true;
    try {
      auto child = process::detail::launch_command<FakeKernel>(std::move(launch), options(false, terminal));
      if (FakeKernel::refused == -1) {
        CHECK(support::exited_with(child.wait(), 0));
        CHECK(support::exists(marker));
        break;
      }
      refused = std::holds_alternative<cordon::RunnerFailure>(child.wait().ending);
    } catch (const cordon::Error& error) {
      message = error.what();
    }
    ++refusals;
    INFO("refused: call " << at << ", system call " << FakeKernel::refused << ": " << message);
    CHECK(refused);
    // The one that tells that the command has begun comes too late to keep it from that: it is ended then.
    if (FakeKernel::refused != SYS_recvmsg) CHECK_FALSE(support::exists(marker));
    std::filesystem::remove(marker);
    FakeKernel::reset(0);
    preparations->prepare(job);  // what was refused may have cost a preparation
    CHECK(support::open_descriptors() == descriptors);
  }
  FakeKernel::reset(0);
  CHECK(refusals > 10);
  preparations.reset();
  CHECK(support::no_child_is_left());
}

TEST_CASE("A command does nothing before it is known that its init is still that of the program") {
  using namespace cordon::in_process;
  const support::TempDirectory directory;
  Job job;
  job.layers.mounts = true;
  job.writable = true;
  job.scope.workspace_root = directory.path();
  auto preparations = std::make_shared<Preparations>();
  preparations->prepare(job);
  const cordon::Argv command({"/bin/sh", "-c", "echo ran >renewed"});
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  auto launch = std::make_unique<Launch>(std::make_shared<const Job>(job), preparations->take(job), preparations,
                                         process::LaunchRequest{command, environment, directory.path()});
  REQUIRE(launch->setup().channel >= 0);
  auto stale = std::make_unique<SlowlyFoundStale>(std::move(launch),
                                                  std::vector<std::string>{"/bin/sh", "-c", "echo ran >stale"});
  CHECK(support::exited_with(process::detail::launch_command<cordon::os::Kernel>(std::move(stale), {}).wait(), 0));
  CHECK(support::exists(directory.path() + "/renewed"));
  CHECK_FALSE(support::exists(directory.path() + "/stale"));
}

TEST_CASE("An init clones commands also when the storage of the thread that made it is gone") {
  using namespace cordon::in_process;
  const support::TempDirectory directory;
  Job job;
  job.layers.mounts = true;
  job.scope.workspace_root = directory.path();
  auto preparations = std::make_shared<Preparations>();
  auto both = std::pair(preparations, job);
  const auto prepare = [](void* given) -> void* {
    auto& [where, what] = *static_cast<decltype(both)*>(given);
    where->prepare(what);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{100} << 20U);  // too large to be kept for the next thread
  REQUIRE(::pthread_create(&thread, &attributes, prepare, &both) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  const cordon::Argv command({"/bin/sh", "-c", "sleep 0.01 & exit 5"});
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  for (int i = 0; i != 3; ++i) {
    auto launch = std::make_unique<Launch>(std::make_shared<const Job>(job), preparations->take(job), preparations,
                                           process::LaunchRequest{command, environment, "/"});
    REQUIRE(launch->setup().channel >= 0);
    CHECK(support::exited_with(process::detail::launch_command<cordon::os::Kernel>(std::move(launch), {}).wait(), 5));
  }
}

TEST_CASE("A copied descriptor that can't be had is called by its name") {
  FakeKernel::reset(3, ENFILE);  // two pipes, then the copy of the first's end
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
