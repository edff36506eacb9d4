// SPDX-License-Identifier: BSL-1.0
#pragma once

// Makes a program its own runner. First thing in main:
//
//   int main(int argc, char** argv) {
//     if (const auto status = cordon::runner::entry(argc, argv)) return *status;
//     …
//   }
//
// When the program was started as itself, entry only notes that it was called. When cordon started it again as a
// runner (the second word is `--cordon-runner`), it applies confinement to itself and execs the command; it returns
// only to report that it could not, after one stderr line `cordon-runner: …`, with status 125. It never runs the
// command unconfined, and no environment variable changes what it does.

#include <sys/prctl.h>

#include <array>
#include <cordon/backend/bubblewrap.hpp>
#include <cordon/backend/sinks.hpp>
#include <cordon/os/linux/landlock.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/runner/grammar.hpp>
#include <cordon/runner/self.hpp>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::runner {

namespace detail {

using K = os::Kernel;

inline constexpr long close_on_exec_range = 4;  // CLOSE_RANGE_CLOEXEC

/// A step of the runner that failed: it ends the runner.
struct Failure {
  process::Stage stage;
  int error;
  std::string what;
};

inline long require(long result, process::Stage stage, std::string what) {
  if (result < 0) throw Failure{stage, static_cast<int>(-result), std::move(what)};
  return result;
}

[[nodiscard]] inline int descriptor(const std::string& text) {
  if (text.empty()) return -1;
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || number < 0 || number > 1'000'000) throw ArgvInvalidError("not a descriptor: " + text);
  return static_cast<int>(number);
}

[[nodiscard]] inline std::vector<std::string> ambient_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

/// The NUL-terminated texts in a memory file.
[[nodiscard]] inline std::vector<std::string> texts_from(int fd) {
  const std::string content = os::read_rest<K>(fd, std::numeric_limits<std::size_t>::max());
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < content.size(); at += texts.back().size() + 1) texts.emplace_back(content.c_str() + at);
  return texts;
}

/// Closes with Landlock what read-only mounts leave open: writing into FIFOs and devices that are not sinks. Regular
/// files and directories stay the business of the mounts; /proc is the sandbox's own.
inline void restrict_to(const std::vector<std::string>& writable) {
  namespace ll = os::landlock;
  using process::Stage;
  const int abi = static_cast<int>(require(ll::abi<K>(), Stage::landlock, "the kernel's Landlock"));
  const std::uint64_t handled =
      (ll::write_file | ll::make_char | ll::make_block | ll::refer | ll::ioctl_dev) & ll::known_rights(abi);
  const std::uint64_t writing = (ll::write_file | ll::ioctl_dev) & handled;
  const os::Fd ruleset(require(ll::create_ruleset<K>(handled), Stage::landlock, "making a ruleset"));
  const auto grant = [&](std::string_view path, std::uint64_t rights, bool optional) {
    const std::string text(path);
    const long result = ll::grant<K>(ruleset.get(), text.c_str(), rights);
    if (!(optional && result == -ENOENT)) require(result, Stage::landlock, text);
  };
  grant("/", ll::refer & handled, false);
  for (std::string_view sink : sinks) grant(sink, writing, true);
  for (std::string_view own : {"/proc", "/dev/shm"}) grant(own, writing, true);
  for (const std::string& root : writable) grant(root, writing, false);
  require(K::call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), Stage::privileges, "no_new_privs");
  require(ll::restrict_self<K>(ruleset.get()), Stage::landlock, "applying the ruleset");
}

/// execve, or the failure of it. `status` gets the record that everything before it is done.
[[noreturn]] inline void execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                 int status) {
  const auto candidates = process::detail::exec_candidates(argv.front(), environment);
  const auto candidate_pointers = process::detail::pointers_to(candidates);
  const auto arguments = process::detail::pointers_to(argv);
  const auto variables = process::detail::pointers_to(environment);
  process::StatusRecord record;
  record.stage = process::Stage::exec;
  if (status >= 0) require(os::write_some<K>(status, std::as_bytes(std::span(&record, 1))), process::Stage::exec, "status");
  const int error = process::detail::exec_first<K>(candidate_pointers.data(), arguments.data(), variables.data());
  throw Failure{process::Stage::exec, error, argv.front()};
}

[[noreturn]] inline void guard(const Words& words, int status) {
  using process::Stage;
  const int environment_fd = descriptor(words.one("--environment-fd"));
  const auto environment = environment_fd >= 0 ? texts_from(environment_fd) : ambient_environment();
  require(K::call(SYS_close_range, 3, std::numeric_limits<int>::max(), close_on_exec_range), Stage::descriptors,
          "closing descriptors");
  restrict_to(words.all("--write"));
  execute(words.command, environment, status);
}

/// Applies a bubblewrap plan to this process, for a caller that spawned the plain argv.
[[noreturn]] inline void bubblewrap(const Words& words) {
  using process::Stage;
  cordon::bubblewrap::Job job;
  job.binary = words.one("--binary");
  const SandboxMode mode = SandboxMode::parse(words.one("--mode"));
  if (!mode.confined()) throw ArgvInvalidError("--mode danger-full-access needs no runner");
  job.writable = mode == SandboxMode(workspace_write);
  job.scope.workspace_root = words.one("--workspace");
  job.scope.extra_roots = words.all("--write");
  job.scope.protected_paths = words.all("--protect");
  job.guarded = os::landlock::abi<K>() >= 2;
  job.root = os::effective_uid<K>() == 0;
  if (!job.binary.starts_with('/') || !job.scope.workspace_root.starts_with('/'))
    throw ArgvInvalidError("--binary and --workspace must be absolute paths");

  const Argv command(words.command);
  const auto environment = ambient_environment();
  const std::string directory = os::current_directory();
  const cordon::bubblewrap::Launch launch(job, {command, environment, directory}, false);
  const process::ChildSetup& setup = launch.setup();
  std::vector<os::Fd> lifted;
  for (int fd : setup.descriptors)
    lifted.emplace_back(require(os::duplicate_from<K>(fd, 32), Stage::descriptors, "duplicating a descriptor"));
  int next = 3;
  for (const os::Fd& fd : lifted)
    require(K::call(SYS_dup3, fd.get(), next++, 0), Stage::descriptors, "placing a descriptor");
  require(K::call(SYS_close_range, next, std::numeric_limits<int>::max(), close_on_exec_range), Stage::descriptors,
          "closing descriptors");
  for (const process::PreparedCall& call : setup.confinement) {
    const long* a = call.arguments;
    require(K::call(call.number, a[0], a[1], a[2], a[3], a[4], a[5]), call.stage, "preparing /dev");
  }
  execute(setup.argv, setup.environment, -1);
}

[[nodiscard]] inline int run(const std::vector<std::string>& line) {
  static constexpr std::array<std::string_view, 8> options{"--write",   "--protect",        "--binary",   "--mode",
                                                           "--workspace", "--environment-fd", "--close-fd", "--status-fd"};
  int status = -1;
  Failure failure{process::Stage::arguments, EINVAL, ""};
  try {
    const Words words = parse(line, options);
    status = descriptor(words.one("--status-fd"));
    if (words.stage == "guard") guard(words, status);
    if (words.stage == "bubblewrap") bubblewrap(words);
    throw ArgvInvalidError("unknown stage " + words.stage);
  } catch (const Failure& failed) {
    failure = failed;
    failure.what = std::string(name(failed.stage)) + ": " + failed.what + ": " + cordon::detail::error_text(failed.error);
  } catch (const std::exception& error) {
    failure.what = error.what();
  }
  if (status >= 0) {
    process::StatusRecord record;
    record.stage = failure.stage;
    record.error = failure.error;
    (void)os::write_some<K>(status, std::as_bytes(std::span(&record, 1)));
  } else {
    (void)os::write_all<K>(2, "cordon-runner: " + cordon::bubblewrap::last_line(failure.what) + "\n");
  }
  return failure_status;
}

}  // namespace detail

/// See the head of this file. Call it before anything else in main, from the only thread. Empty: go on as usual.
[[nodiscard]] inline std::optional<int> entry(int argc, const char* const* argv) {
  detail::entry_was_called.store(true, std::memory_order_release);
  if (argc < 2 || argv[1] != keyword) return std::nullopt;
  return detail::run(std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace cordon::runner
