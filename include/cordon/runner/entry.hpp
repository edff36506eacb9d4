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
#include <cordon/backend/in_process.hpp>
#include <cordon/os/linux/landlock.hpp>
#include <cordon/os/linux/observed_calls.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/runner/grammar.hpp>
#include <cordon/runner/self.hpp>
#include <cordon/sinks.hpp>
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
  int status = -1;  ///< where the status descriptor is by now; -1: where it was
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

/// The NUL-terminated texts in a memory file.
[[nodiscard]] inline std::vector<std::string> texts_from(int fd) {
  const std::string content = os::read_rest<K>(fd, std::numeric_limits<std::size_t>::max());
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < content.size(); at += texts.back().size() + 1) texts.emplace_back(content.c_str() + at);
  return texts;
}

/// The guard's ruleset when Landlock only closes what read-only mounts leave open: writing into FIFOs and into devices
/// that are not sinks. Files and directories stay the business of the mounts; /proc is the sandbox's own. Or -errno.
[[nodiscard]] inline long ruleset_beside_mounts(const std::vector<std::string>& writable, int abi) {
  namespace ll = os::landlock;
  const std::uint64_t handled =
      (ll::write_file | ll::make_char | ll::make_block | ll::refer | ll::ioctl_dev) & ll::known_rights(abi);
  const std::uint64_t writing = (ll::write_file | ll::ioctl_dev) & handled;
  const long made = ll::create_ruleset<K>(handled);
  if (made < 0) return made;
  os::Fd ruleset(made);
  long failed = 0;
  const auto grant = [&](std::string_view path, std::uint64_t rights, bool optional) {
    const long result = ll::grant<K>(ruleset.get(), std::string(path).c_str(), rights);
    if (result < 0 && !(optional && result == -ENOENT) && failed == 0) failed = result;
  };
  grant("/", ll::refer & handled, false);
  for (std::string_view sink : sinks) grant(sink, writing, true);
  for (std::string_view own : {"/proc", "/dev/shm"}) grant(own, writing, true);
  for (const std::string& root : writable) grant(root, writing, false);
  return failed < 0 ? failed : ruleset.release();
}

/// Makes stdin the controlling terminal of a session that begins here.
inline void take_terminal() {
  require(K::call(SYS_setsid), process::Stage::session, "a session of its own");
  require(K::call(SYS_ioctl, 0, TIOCSCTTY, 0), process::Stage::session, "the terminal of the session");
}

/// Restricts this process inside bubblewrap.
inline void restrict_guard(const Words& words) {
  using process::Stage;
  const int abi = static_cast<int>(require(os::landlock::abi<K>(), Stage::landlock, "the kernel's Landlock"));
  const std::vector<std::string> writable = words.all("--write");
  long made = 0;
  if (words.one("--layers") == "landlock") {
    in_process::Job job;
    job.shared_temp = writable;
    job.shared_memory = "/dev/shm";
    std::string refused;
    made = in_process::make_ruleset(job, abi, refused);
  } else {
    made = ruleset_beside_mounts(writable, abi);
  }
  const os::Fd ruleset(require(made, Stage::landlock, "making the rules"));
  if (!words.one("--terminal").empty()) {
    namespace ll = os::landlock;
    const std::uint64_t rights = (ll::write_file | ll::ioctl_dev) & ll::known_rights(abi);
    require(ll::grant<K>(ruleset.get(), "/proc/self/fd/0", rights), Stage::landlock, "the command's own terminal");
  }
  require(K::call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), Stage::privileges, "no_new_privs");
  require(os::landlock::restrict_self<K>(ruleset.get()), Stage::landlock, "applying the rules");
  require(K::call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, os::arg(&os::refused_calls)), Stage::privileges,
          "refusing calls");
  const std::vector<std::string> identities = words.all("--identity");
  for (std::size_t i = 0; i != identities.size(); ++i) {
    std::string found;
    const std::string& root = writable.at(i);
    require(os::exact_identity(root, found), Stage::mount, root);
    if (found != identities[i]) throw Failure{Stage::mount, ESTALE, root + " was replaced while it was mounted"};
  }
}

/// Opens the null device again where stdin, stdout or stderr is it: in the view of the sandbox, where its mode and
/// owner can't be changed through the descriptor.
inline void reopen_null_devices() {
  os::FileFacts null;
  if (os::stat_path("/dev/null", null) < 0) return;
  for (int fd = 0; fd != 3; ++fd) {
    if (!os::is_same_device(fd, null)) continue;
    const long flags = K::call(SYS_fcntl, fd, F_GETFL);
    const os::Fd again(require(os::open_file<K>("/dev/null", static_cast<int>(flags & O_ACCMODE)),
                               process::Stage::descriptors, "/dev/null"));
    require(K::call(SYS_dup3, again.get(), fd, 0), process::Stage::descriptors, "placing a descriptor");
  }
}

/// Limits this process by setrlimit.
inline void limit(const process::ResourceSetup& setup) {
  for (const os::ProcessLimit& limit : process::detail::process_limits(setup, false))
    require(K::call(SYS_prlimit64, 0, limit.resource, os::arg(&limit.soft), 0), process::Stage::limits,
            "limiting this process");
}

/// execve, or the failure of it. `status` gets the record that everything before it is done.
[[noreturn]] inline void execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                 int status) {
  const auto candidates = process::detail::exec_candidates(argv.front(), environment);
  const auto candidate_pointers = process::detail::pointers_to(candidates);
  const auto arguments = process::detail::pointers_to(argv);
  const auto variables = process::detail::pointers_to(environment);
  reopen_null_devices();
  process::StatusRecord record;
  record.stage = process::Stage::exec;
  if (status >= 0)
    require(os::write_some<K>(status, std::as_bytes(std::span(&record, 1))), process::Stage::exec, "status");
  const int error =
      process::detail::exec_first<K>(candidate_pointers.data(), arguments.data(), variables.data(), record.stage);
  throw Failure{record.stage, error, argv.front()};
}

[[noreturn]] inline void guard(const Words& words, int status) {
  using process::Stage;
  const int environment_fd = descriptor(words.one("--environment-fd"));
  const auto environment = environment_fd >= 0 ? texts_from(environment_fd) : process::ambient_environment();
  require(K::call(SYS_close_range, 3, std::numeric_limits<int>::max(), close_on_exec_range), Stage::descriptors,
          "closing descriptors");
  if (!words.one("--terminal").empty()) take_terminal();
  restrict_guard(words);
  limit({.limits = words.limits(), .own_user_namespace = true, .counted_by_rlimit = 1});
  if (!words.one("--observe").empty())
    require(K::call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, os::arg(&os::observing_filter)), Stage::privileges,
            "showing calls");
  execute(words.command, environment, status);
}

/// Only says that it was reached, and execs the command: the first program inside a sandbox that is not cordon's.
[[noreturn]] inline void tell(const Words& words, int status) {
  if (status < 0) throw ArgvInvalidError("tell needs --status-fd");
  require(K::call(SYS_close_range, 3, std::numeric_limits<int>::max(), close_on_exec_range),
          process::Stage::descriptors, "closing descriptors");
  execute(words.command, process::ambient_environment(), status);
}

/// Does to this process what cordon's own launch does to its child, and execs the command.
[[noreturn]] inline void apply(const process::ChildSetup& setup, int status) {
  using process::Stage;
  constexpr int out_of_the_way = 64;
  std::vector<os::Fd> lifted;
  for (int fd : setup.descriptors)
    lifted.emplace_back(
        require(os::duplicate_from<K>(fd, out_of_the_way), Stage::descriptors, "duplicating a descriptor"));
  const os::Fd null(require(os::open_file<K>("/dev/null", O_RDONLY), Stage::descriptors, "/dev/null"));
  const os::Fd own(require(os::duplicate_from<K>(status >= 0 ? status : null.get(), out_of_the_way), Stage::descriptors,
                           "duplicating a descriptor"));
  int next = process::first_descriptor;
  for (const os::Fd& fd : lifted)
    require(K::call(SYS_dup3, fd.get(), next++, 0), Stage::descriptors, "placing a descriptor");
  const int own_number = next++;  // the place of the status descriptor, so that the plan's numbers hold here too
  require(K::call(SYS_dup3, own.get(), own_number, O_CLOEXEC), Stage::descriptors, "placing a descriptor");
  require(K::call(SYS_close_range, next, std::numeric_limits<int>::max(), 0), Stage::descriptors,
          "closing descriptors");
  const int reached = status >= 0 ? own_number : -1;
  try {
    if (setup.clone_flags != 0)
      require(K::call(SYS_unshare, static_cast<long>(setup.clone_flags)), Stage::user_namespace, "making namespaces");
    for (const process::PreparedCall& call : setup.confinement) {
      const long* a = call.arguments;
      require(K::call(call.number, a[0], a[1], a[2], a[3], a[4], a[5]), call.stage, "confining this process");
    }
    require(K::call(SYS_chdir, os::arg(setup.working_directory.c_str())), Stage::working_directory,
            setup.working_directory);
    if (!setup.resources.runner_sets_rlimits) limit(setup.resources);
    execute(setup.argv, setup.environment, reached);
  } catch (Failure& failure) {
    failure.status = reached;
    for (os::Fd& fd : lifted) (void)fd.release();  // the numbers are closed, or somebody else's by now
    throw;
  }
}

/// What all plans are written from.
struct PolicyWords {
  bool writable = false;
  PolicyScope scope;

  explicit PolicyWords(const Words& words) {
    const SandboxMode mode = SandboxMode::parse(words.one("--mode"));
    if (!mode.confined()) throw ArgvInvalidError("--mode danger-full-access needs no runner");
    writable = mode == SandboxMode(workspace_write);
    scope.workspace_root = words.one("--workspace");
    scope.extra_roots = words.all("--write");
    scope.protected_paths = words.all("--protect");
    scope.resources = words.limits();
    std::vector<std::string> paths = scope.extra_roots;
    paths.insert(paths.end(), scope.protected_paths.begin(), scope.protected_paths.end());
    paths.push_back(scope.workspace_root);
    for (const std::string& path : paths)
      if (!path.starts_with('/')) throw ArgvInvalidError("not an absolute path: '" + path + "'");
  }
};

/// Applies a bubblewrap plan to this process, for a caller that spawned the plain argv.
[[noreturn]] inline void bubblewrap(const Words& words, int status) {
  PolicyWords policy(words);
  cordon::bubblewrap::Job job;
  job.binary = words.one("--binary");
  if (!job.binary.starts_with('/')) throw ArgvInvalidError("--binary must be an absolute path");
  job.writable = policy.writable;
  job.scope = std::move(policy.scope);
  job.guarded = os::landlock::abi<K>() >= 2;
  job.all_rules = words.one("--layers") == "landlock";
  if (job.all_rules && !job.guarded) throw Failure{process::Stage::landlock, ENOSYS, "the kernel's Landlock"};
  job.root = os::effective_uid<K>() == 0;
  const Argv command(words.command);
  const auto environment = process::ambient_environment();
  const std::string directory = os::current_directory();
  require_unchanged(job.scope, job.writable);
  const cordon::bubblewrap::Launch launch(job, {command, environment, directory}, false);
  apply(launch.setup(), status);
}

/// Applies an in-process plan to this process.
[[noreturn]] inline void confine(const Words& words, int status) {
  PolicyWords policy(words);
  in_process::Job job;
  const std::string layers = words.one("--layers");
  for (const in_process::Layers known :
       {in_process::Layers{true, false}, in_process::Layers{false, true}, in_process::Layers{true, true}})
    if (in_process::name_of(known) == layers) job.layers = known;
  if (job.layers == in_process::Layers{}) throw ArgvInvalidError("unknown layers '" + layers + "'");
  job.writable = policy.writable;
  job.scope = std::move(policy.scope);
  job.temp = words.one("--temp");
  job.shared_memory = words.one("--shared-memory");
  job.shared_temp = words.all("--shared-temp");
  const Argv command(words.command);
  const auto environment = process::ambient_environment();
  const std::string directory = os::current_directory();
  auto prepared = std::make_shared<in_process::Prepared>();
  if (job.layers.landlock) {
    const int abi = prepared->machine.landlock_abi;
    if (abi == 0) throw Failure{process::Stage::landlock, ENOSYS, "the kernel's Landlock"};
    std::string refused;
    const long made = in_process::make_ruleset(job, abi, refused);
    prepared->ruleset = os::Fd(require(made, process::Stage::landlock, refused.empty() ? "making the rules" : refused));
  }
  const in_process::Launch launch(std::make_shared<const in_process::Job>(std::move(job)), prepared, nullptr,
                                  {command, environment, directory});
  apply(launch.setup(), status);
}

[[nodiscard]] inline int run(const std::vector<std::string>& line) {
  static constexpr std::array<std::string_view, 15> options{
      "--identity",       "--layers",    "--binary", "--mode",          "--workspace",
      "--write",          "--protect",   "--temp",   "--shared-memory", "--shared-temp",
      "--environment-fd", "--status-fd", "--limit",  "--terminal",      "--observe"};
  int status = -1;
  Failure failure{process::Stage::arguments, EINVAL, ""};
  try {
    const Words words = parse(line, options);
    status = descriptor(words.one("--status-fd"));
    if (words.stage == "guard") guard(words, status);
    if (words.stage == "bubblewrap") bubblewrap(words, status);
    if (words.stage == "confine") confine(words, status);
    if (words.stage == "tell") tell(words, status);
    throw ArgvInvalidError("unknown stage " + words.stage);
  } catch (const Failure& failed) {
    failure = failed;
    if (failed.status >= 0) status = failed.status;
    failure.what =
        std::string(name(failed.stage)) + ": " + failed.what + ": " + cordon::detail::error_text(failed.error);
  } catch (const std::exception& error) {
    failure.what = error.what();
  }
  if (status >= 0) {
    process::StatusRecord record;
    record.stage = failure.stage;
    record.error = failure.error;
    (void)os::write_some<K>(status, std::as_bytes(std::span(&record, 1)));
  }
  if (!executes(failure.stage) || status < 0)
    (void)os::write_all<K>(2, "cordon-runner: " + cordon::bubblewrap::last_line(failure.what) + "\n");
  return failure_status;
}

}  // namespace detail

/// See the head of this file. Call it before anything else in main, from the only thread. Empty: go on as usual.
[[nodiscard]] inline std::optional<int> entry(int argc, const char* const* argv) {
  detail::entry_was_called.store(true, std::memory_order_release);
  if (argc < 2 || argv[1] != keyword) return std::nullopt;
  return detail::run(std::vector<std::string>(argv + 1, argv + argc));
}

/// The whole main of a program that is nothing but a runner. See the CMake function cordon_add_runner.
[[nodiscard]] inline int main(int argc, const char* const* argv) {
  if (const auto status = entry(argc, argv)) return *status;
  (void)os::write_all<os::Kernel>(2, "cordon-runner: arguments: this program only runs what cordon asks it to\n");
  return failure_status;
}

}  // namespace cordon::runner
