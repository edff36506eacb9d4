// SPDX-License-Identifier: BSL-1.0
#pragma once

// Confinement by bubblewrap (bwrap), version 0.4 or newer.
//
// bubblewrap makes the tree read-only and binds the writable roots over it. It leaves two promised effects ungoverned:
// a read-only mount does not stop a write into a FIFO, and in a nested namespace a command can mount the host's cgroups
// anew, writable. A program that is its own runner (it calls cordon::runner::entry first in main) closes these gaps:
// bubblewrap then starts the program again inside the sandbox, as a guard that adds Landlock rules and a seccomp filter
// and execs the command. Without that, the enforcement is partial {fifo_write, mount_topology}.
//
// As uid 0 three more things are needed, each measured as an escape without it: every capability is dropped inside a
// user namespace; /dev is made read-only before bubblewrap binds the device nodes (root owns them, and could chmod the
// host's /dev/null); and /proc is remounted read-only.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cordon/backend/backend.hpp>
#include <cordon/backend/escape_probe.hpp>
#include <cordon/backend/probe_cache.hpp>
#include <cordon/backend/roots.hpp>
#include <cordon/backend/temp_area.hpp>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/landlock.hpp>
#include <cordon/os/linux/mount.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/runner/grammar.hpp>
#include <cordon/runner/self.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace bubblewrap {

/// Its mounts answer that they are read-only (SBX-34), and its guard what they leave open.
using UnguardedDialect = Dialect<DenialSignatures<"read-only file system", "invalid cross-device link">,
                                 RunnerFailureRule<ExitCodes<>, Fatal<"bwrap: ">>>;
using GuardedDialect =
    Dialect<DenialSignatures<"read-only file system", "permission denied", "invalid cross-device link">,
            runner::FailureRule, RunnerFailureRule<ExitCodes<>, Fatal<"bwrap: ">>>;

[[nodiscard]] inline DialectView dialect(bool guarded) noexcept {
  return guarded ? GuardedDialect::view() : UnguardedDialect::view();
}

/// What one bubblewrap sandbox is made from.
struct Job {
  std::string binary;  ///< absolute
  bool writable = false;
  PolicyScope scope;
  bool guarded = false;    ///< the program is its own runner, and Landlock can close what mounts leave open
  bool all_rules = false;  ///< the guard's rules cover every right, not only what the mounts leave open
  bool root = false;       ///< the caller is uid 0
  std::chrono::milliseconds start_limit{10000};
};

/// The roots that the command may change.
[[nodiscard]] inline std::vector<std::string> writable_roots(const Job& job) {
  return outermost_roots(job.scope, job.writable);
}

/// The options that describe the sandbox, in bubblewrap's 0.4 vocabulary. A later mount covers an earlier one, so paths
/// come shortest first. `new_session` is to be false when the command has a terminal that it was made the controlling
/// one of before. Source: SBX-29, SBX-30, lessons 4.
[[nodiscard]] inline std::vector<std::string> profile(const Job& job, const std::string& working_directory,
                                                      bool new_session = true) {
  struct Mount {
    std::string option;
    std::string path;
  };
  std::vector<Mount> mounts;
  for (const std::string& root : writable_roots(job)) mounts.push_back({"--bind", root});
  if (job.writable)
    for (const std::string& path : job.scope.protected_paths) mounts.push_back({"--ro-bind", path});
  std::stable_sort(mounts.begin(), mounts.end(),
                   [](const Mount& a, const Mount& b) { return a.path.size() < b.path.size(); });
  const bool broad = !mounts.empty() && mounts.front().path == "/";
  if (broad) mounts.erase(mounts.begin());

  std::vector<std::string> options{
      broad ? "--bind" : "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc"};
  const auto add = [&](std::initializer_list<std::string> words) { options.insert(options.end(), words); };
  if (job.root) add({"--remount-ro", "/proc", "--unshare-user", "--cap-drop", "ALL"});
  add({"--unshare-ipc"});
  if (new_session) add({"--new-session"});
  if (job.writable && !broad) add({"--tmpfs", "/tmp"});
  for (const Mount& mount : mounts) add({mount.option, mount.path, mount.path});
  add({"--chdir", working_directory});
  return options;
}

/// The variables of the command. Its temp directory is the private /tmp, or under read-only the private /dev/shm, since
/// large here-documents need a file in every mode.
[[nodiscard]] inline std::vector<std::string> environment(const Job& job, std::vector<std::string> entries) {
  return with_temp(std::move(entries), job.writable ? "/tmp" : "/dev/shm", writable_roots(job));
}

/// The guard's words: what it grants, then the command. bubblewrap looks its sources up by name, so each root comes
/// with the identity that it had here: the guard refuses to go on over another one.
[[nodiscard]] inline runner::Words guard_words(const Job& job, const Argv& command) {
  runner::Words words{"guard", {}, command.elements()};
  for (const std::string& root : writable_roots(job)) {
    words.options.emplace_back("--write", root);
    std::string identity;
    if (os::exact_identity(root, identity) < 0) identity = "gone";
    words.options.emplace_back("--identity", identity);
  }
  if (job.writable) words.options.emplace_back("--write", "/tmp");
  if (job.all_rules) words.options.emplace_back("--layers", "landlock");
  words.limit(job.scope.resources);
  return words;
}

/// The steps that must come before bubblewrap itself. Only uid 0 needs them, and only with the capability to take them.
[[nodiscard]] inline std::vector<process::PreparedCall> before_exec(const Job& job) {
  std::vector<process::PreparedCall> calls;
  if (!job.root || !os::has_capability<os::Kernel>(os::cap_sys_admin)) return calls;
  using process::Stage;
  calls.push_back({SYS_unshare, {CLONE_NEWNS}, Stage::mount});
  calls.push_back({SYS_mount, {0, os::arg("/"), 0, MS_REC | MS_PRIVATE, 0}, Stage::mount});
  calls.push_back({SYS_mount, {os::arg("/dev"), os::arg("/dev"), 0, MS_BIND | MS_REC, 0}, Stage::mount});
  if (os::has_mount_setattr<os::Kernel>())
    calls.push_back(
        {os::mount_setattr_number,
         {AT_FDCWD, os::arg("/dev"), os::at_recursive, os::arg(&os::read_only_mount), sizeof os::read_only_mount},
         Stage::mount});
  else
    calls.push_back(
        {SYS_mount, {0, os::arg("/dev"), 0, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID, 0}, Stage::mount});
  return calls;
}

/// The number that follows `"key": ` in bubblewrap's status stream; empty when the key never came.
[[nodiscard]] inline std::optional<int> status_number(std::string_view stream, std::string_view key) {
  const auto at = stream.find("\"" + std::string(key) + "\":");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = stream.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  int value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The last line that is not blank, without control characters: a runner's own words, fit for one line.
[[nodiscard]] inline std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find_last_not_of("\r\n");
    if (end == std::string_view::npos) break;
    text = text.substr(0, end + 1);
    const auto start = text.rfind('\n');
    std::string line(start == std::string_view::npos ? text : text.substr(start + 1));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    if (line.find_first_not_of(' ') != std::string::npos) return line;
    text = start == std::string_view::npos ? std::string_view() : text.substr(0, start);
  }
  return {};
}

/// One bubblewrap sandbox being set up and followed.
///
/// Evidence, none of it within reach of the command: bubblewrap's JSON status (the command ran if there is an exit
/// code), the gate that bubblewrap reads once its mounts are done, and the guard's status record. Source:
/// bubblewrap.md.
class Launch final : public process::Launch {
  using K = os::Kernel;

 public:
  /// `attached` launches are followed by us; the others are only exec'ed, by the runner.
  Launch(const Job& job, const process::LaunchRequest& request, bool attached) : job_(job) {
    std::vector<std::string> options;
    std::vector<std::string> rest;
    const auto give = [&](long fd, const char* what) {
      if (fd < 0)
        throw SpawnError(
            "can't start bubblewrap: " + std::string(what) + ": " + detail::error_text(static_cast<int>(-fd)),
            static_cast<int>(-fd));
      far_.emplace_back(fd);
      return std::to_string(first_number + far_.size());  // the options' memory file comes first
    };
    if (attached) {
      os::FdPair<K> json;
      os::FdPair<K> gate;
      os::FdPair<K> status;
      for (const long made : {os::make_pipe<K>(json), os::make_socket_pair<K>(gate), os::make_pipe<K>(status)})
        if (made < 0) give(made, "making a pipe");
      options = {"--json-status-fd", give(json.write.release(), "status"), "--block-fd",
                 give(gate.write.release(), "gate")};
      json_ = std::move(json.read);
      gate_ = std::move(gate.read);
      // Whatever a runner leaves behind may hold the other ends: nothing here waits for their end.
      for (const os::Fd* ours : {&json_, &gate_, &status.read}) os::set_nonblocking<K>(ours->get());
      if (job_.guarded) {
        status_ = std::move(status.read);
        status_number_ = give(status.write.release(), "status");
      }
    }
    const bool taken_before = request.terminal && !job_.guarded;
    for (std::string& option : profile(job_, request.working_directory, !taken_before))
      options.push_back(std::move(option));
    const std::vector<std::string> variables = environment(job_, request.environment);
    if (job_.guarded) {
      const std::string self = give(os::open_file<K>("/proc/self/exe", O_PATH), "opening this program");
      runner::Words words = guard_words(job_, request.command);
      words.options.emplace_back("--environment-fd", give(memory(variables), "the environment"));
      if (attached) words.options.emplace_back("--status-fd", status_number_);
      if (request.terminal) words.options.emplace_back("--terminal", "own");
      if (request.observed) words.options.emplace_back("--observe", "on");
      rest = runner::format(words);
      rest.insert(rest.begin(), "/proc/self/fd/" + self);
    } else {
      for (const std::string& entry : variables) {
        const auto equals = entry.find('=');
        for (std::string word : {std::string("--setenv"), entry.substr(0, equals), entry.substr(equals + 1)})
          options.push_back(std::move(word));
      }
      rest = request.command.elements();
    }
    const long options_file = memory(options);
    if (options_file < 0) give(options_file, "the options");
    far_.emplace(far_.begin(), options_file);

    setup_.argv = {job_.binary, "--args", std::to_string(first_number), "--"};
    setup_.argv.insert(setup_.argv.end(), rest.begin(), rest.end());
    setup_.working_directory = "/";
    setup_.wraps = true;
    // By the guard, in a session without bubblewrap's own processes: ^C is for the command alone then.
    setup_.terminal_to_come = job_.guarded;
    setup_.confinement = before_exec(job_);
    setup_.observed = request.observed;
    if (request.observed) {
      setup_.observed_roots = writable_roots(job_);
      setup_.observed_exceptions = job_.scope.protected_paths;
    }
    // bubblewrap is two processes itself; the one in the sandbox is in the command's user namespace.
    os::FileFacts binary;
    const bool own_users = job_.guarded && os::stat_path(job_.binary, binary) == 0 && (binary.mode & S_ISUID) == 0;
    setup_.resources = {
        job_.scope.resources, own_users, 1, 2, job_.guarded, writes_everything(job_.scope, job_.writable)};
    for (const auto& fd : far_) setup_.descriptors.push_back(fd.get());
  }

  [[nodiscard]] const process::ChildSetup& setup() const noexcept override { return setup_; }

  [[nodiscard]] process::Ending exec_failed(process::NotExecutable why) const override {
    return process::runner_not_executed(setup_, why);
  }

  /// Lets the command start when bubblewrap has set its sandbox up.
  void started() override {
    far_.clear();
    const auto deadline = process::Clock::now() + job_.start_limit;
    while (stream_.find('\n') == std::string::npos) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - process::Clock::now()).count();
      pollfd event{json_.get(), POLLIN, 0};
      const long ready = left <= 0 ? 0 : os::poll_once<K>(std::span(&event, 1), static_cast<int>(left));
      if (ready == -EINTR) continue;
      if (ready <= 0)
        throw SandboxUnavailableError("bubblewrap (" + job_.binary + ") did not set its sandbox up in time",
                                      RunnerFailure{"runner", ETIMEDOUT, "no status within the time limit"});
      std::array<std::byte, 512> buffer;
      const long got = os::read_some<K>(json_.get(), buffer);
      if (got == -EAGAIN) continue;
      if (got <= 0) return;  // it ended; settle finds out why
      stream_.append(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got));
    }
    (void)os::write_all<K>(gate_.get(), "g");
  }

  [[nodiscard]] process::Ending settle(std::optional<os::WaitStatus> status, std::string_view error_text) override {
    stream_ += os::read_rest<K>(json_.get(), 65536);
    const auto exit_code = status_number(stream_, "exit-code");
    if (job_.guarded) {
      const process::ReportedStatus reported = process::read_status<K>(status_.get());
      if (auto ending = reported.ending("guard")) return *std::move(ending);
      if (!reported.entered) return never_ran(error_text);
    } else if (!exit_code && !(status && status->signalled)) {
      return refused_by_exec(error_text) ? not_executable(error_text) : never_ran(error_text);
    }
    if (exit_code)
      return *exit_code > 128 && *exit_code <= 128 + 64 ? process::Ending(process::Signalled{*exit_code - 128})
                                                        : process::Ending(process::Exited{*exit_code});
    return process::ending_or_throw(status);
  }

 private:
  static constexpr std::size_t first_number = 3;

  /// A memory file that holds the texts, each ended by a NUL; or -errno.
  static long memory(const std::vector<std::string>& texts) {
    std::string content;
    for (const std::string& text : texts) content.append(text).push_back('\0');
    return os::memory_file<K>("cordon", content);
  }

  [[nodiscard]] process::Ending never_ran(std::string_view error_text) const {
    return RunnerFailure{"runner", 0, last_line(error_text)};
  }

  /// The gate's byte was read, so every mount was in place: only the exec (or a chdir) can have failed after that.
  [[nodiscard]] bool refused_by_exec(std::string_view error_text) const {
    std::byte unread;
    return os::read_some<K>(gate_.get(), std::span(&unread, 1)) == 0 &&
           last_line(error_text).starts_with("bwrap: execvp ");
  }

  /// Nothing but bubblewrap wrote to stderr, so its words can be trusted: they end with the C library's text for errno.
  [[nodiscard]] static process::Ending not_executable(std::string_view error_text) {
    const std::string line = last_line(error_text);
    for (int error : {ENOENT, EACCES, ENOTDIR, ELOOP, ENAMETOOLONG, E2BIG, ETXTBSY})
      if (line.ends_with(": " + detail::error_text(error))) return process::NotExecutable{error};
    return process::NotExecutable{ENOEXEC};
  }

  Job job_;
  process::ChildSetup setup_;
  std::vector<os::Fd> far_;  ///< what the child gets; the first holds the options
  std::string status_number_;
  os::Fd json_;
  os::Fd gate_;
  os::Fd status_;
  std::string stream_;
};

class Plan final : public process::LaunchPlan {
 public:
  explicit Plan(Job job) : job_(std::move(job)) {}
  [[nodiscard]] std::unique_ptr<process::Launch> prepare(const process::LaunchRequest& request) const override {
    require_unchanged(job_.scope, job_.writable);
    return std::make_unique<Launch>(job_, request, true);
  }
  [[nodiscard]] std::string unobservable() const override {
    if (!job_.guarded)
      return "this program is not its own runner, or has no Landlock ABI 2, so nothing inside bubblewrap can show what "
             "is refused; call cordon::runner::entry first in main";
    os::FileFacts binary;
    if (os::stat_path(job_.binary, binary) == 0 && (binary.mode & S_ISUID) != 0)
      return job_.binary + " is set-uid, which a traced program can't make use of; use one that is not";
    return {};
  }

 private:
  Job job_;
};

/// What an operator can do about a bubblewrap that fails with this line. Source: field reports F1 to F22.
[[nodiscard]] inline std::string remedy_for(std::string_view line) {
  struct Known {
    std::string_view text;
    std::string_view remedy;
  };
  static constexpr std::array<Known, 10> known{
      Known{"RTM_NEWADDR",
            "this host's security module refuses user namespaces their network set-up (F1); give bwrap a "
            "profile that allows user namespaces"},
      Known{"overflowuid", "this service hides /proc/sys from bwrap (F2); make it readable for the service"},
      Known{"Failed to make / slave", "this container may not change mount propagation (F6); allow mount calls in it"},
      Known{"fchdir to oldroot", "this environment only emulates a root (F8); run on a real Linux kernel"},
      Known{"pivot_root", "the root of this system is not a mount that can be exchanged (F7); start from a real root"},
      Known{"No permissions to create", "allow user namespaces for this user, or install bwrap with its set-uid bit"},
      Known{"does not support user namespaces",
            "this kernel has no user namespaces, as WSL 1 has none (F10); run on a Linux kernel that has, such as "
            "WSL 2's"},
      Known{"Creating new namespace failed", "allow more user namespaces (user.max_user_namespaces)"},
      Known{"apply mount flags",
            "the mount that it names can't be made read-only by its path (F22); unmount it, or use a backend with "
            "mounts of its own"},
      Known{"mount proc", "this container masks /proc; give it an unmasked one"}};
  for (const Known& entry : known)
    if (line.find(entry.text) != std::string_view::npos) return std::string(entry.remedy);
  return "run `cordon probe` and make its bubblewrap line pass";
}

}  // namespace bubblewrap

struct BubblewrapOptions {
  std::string binary = {};                      ///< absolute; empty: the first usable `bwrap` along this process's PATH
  std::chrono::milliseconds probe_limit{5000};  ///< a probe that takes longer means: unusable (SBX-24)
  /// Take the whole of Landlock as a second layer, not only what bubblewrap leaves open; unusable when that can't be.
  bool with_landlock = false;
};

/// Confines with bubblewrap. See the head of this file for what it governs.
///
/// The binary is resolved once, to an absolute path outside the workspace and every writable root, owned by root or by
/// the caller. The probe runs the real profile and tries to break it; its verdict is kept per mode and kind of roots
/// until a runner fails. Thread-safe.
///
/// Not governed: sockets, signals inside the sandbox, hard links made before the run, and an exit status above 128,
/// which bubblewrap gives for a signal and for a plain exit alike: it is read as the signal.
class Bubblewrap {
 public:
  using cordon_concept = BackendTag;
  static constexpr std::string_view name = "bubblewrap";
  template <ConfinedMode M>
  static constexpr bool can_be_full = true;

  explicit Bubblewrap(BubblewrapOptions options = {}) : options_(std::move(options)) {
    if (options_.probe_limit <= std::chrono::milliseconds::zero())
      throw PolicyInvalidError("the probe limit of bubblewrap must be positive; leave it at its default of 5 seconds");
    resolve_binary();
  }

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>& policy) {
    const std::string binary = binary_for(policy.scope());
    if (binary.empty())
      return Availability::unusable(
          "bubblewrap was not found: " +
              (binaries_.empty() ? refused_ : binaries_.front() + " lies in the workspace or a writable root"),
          "install bubblewrap, in a directory that commands can't write");
    ProbeKey key = ProbeKey::of(policy);
    key.runner = binary;
    return cache_.get(key, [&] { return probe_now<M>(policy, binary); });
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>& policy, const Argv& command) {
    const bubblewrap::Job job = job_for(policy.scope(), std::is_same_v<M, WorkspaceWrite>);
    const Availability verdict = probe(policy);
    if (const auto* problem = verdict.problem())
      throw SandboxUnavailableError("mode " + std::string(M::name) +
                                    " needs a sandbox, and bubblewrap can't give one: " + problem->reason + "; " +
                                    problem->remedy);
    Confinement result{plain_argv(job, command),
                       options_.with_landlock ? "bubblewrap+landlock" : std::string(name),
                       *verdict.enforcement(),
                       bubblewrap::dialect(job.guarded),
                       {},
                       {},
                       std::make_shared<bubblewrap::Plan>(job),
                       {"/dev/shm"}};
    if (job.writable) result.private_temp.emplace_back("/tmp");
    if (job.writable) result.best_effort = replaceable_protections(bubblewrap::writable_roots(job), job.scope);
    return result;
  }

  void invalidate() noexcept { cache_.forget(); }

  /// The absolute path of the binary that is tried first; empty when none was found.
  [[nodiscard]] std::string binary() const { return binaries_.empty() ? std::string() : binaries_.front(); }

 private:
  void resolve_binary() {
    if (!options_.binary.empty()) {
      consider(options_.binary);
      return;
    }
    const char* path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
    while (true) {
      const auto colon = rest.find(':');
      const std::string_view directory = rest.substr(0, colon);
      if (directory.starts_with('/')) consider(std::string(directory) + "/bwrap");
      if (colon == std::string_view::npos) break;
      rest.remove_prefix(colon + 1);
    }
    if (binaries_.empty() && refused_.empty()) refused_ = "no bwrap in any absolute directory of PATH";
  }

  /// Takes the candidate, or remembers why not.
  void consider(const std::string& candidate) {
    std::string found;
    os::FileFacts file;
    const auto refuse = [&](const std::string& why) {
      if (refused_.empty()) refused_ = candidate + " " + why;
    };
    if (!candidate.starts_with('/')) return refuse("is not an absolute path");
    if (const int result = os::canonical_path(candidate, found); result < 0) {
      if (!options_.binary.empty()) refuse("can't be found: " + detail::error_text(-result));
      return;
    }
    if (os::stat_path(found, file) < 0 || !file.regular() || !os::executable(found))
      return refuse("is no program that can be executed");
    if (const std::string why = os::exchangeable_by_others(found, os::effective_uid<os::Kernel>()); !why.empty())
      return refuse(why);
    if (std::find(binaries_.begin(), binaries_.end(), found) == binaries_.end()) binaries_.push_back(found);
  }

  /// The first binary that no command under this scope could have put there, in whatever mode; empty when there is
  /// none.
  [[nodiscard]] std::string binary_for(const PolicyScope& scope) const {
    std::vector<std::string> roots = scope.extra_roots;
    roots.push_back(scope.workspace_root);
    for (const std::string& binary : binaries_) {
      const auto holds = [&](const std::string& root) { return root != "/" && os::is_within(binary, root); };
      if (std::none_of(roots.begin(), roots.end(), holds)) return binary;
    }
    return {};
  }

  [[nodiscard]] bubblewrap::Job job_for(const PolicyScope& scope, bool writable) const {
    bubblewrap::Job job;
    job.binary = binary_for(scope);
    job.writable = writable;
    job.scope = scope;
    job.all_rules = options_.with_landlock;
    job.guarded = runner::self_is_runner() && os::landlock::abi<os::Kernel>() >= 2;  // ABI 1 would refuse every rename
    job.root = os::effective_uid<os::Kernel>() == 0;
    return job;
  }

  /// The argv for other process libraries: through this program as runner, or bubblewrap's own.
  [[nodiscard]] static std::vector<std::string> plain_argv(const bubblewrap::Job& job, const Argv& command) {
    std::vector<std::string> argv;
    if (runner::self_is_runner()) {
      runner::Words words{"bubblewrap", {}, command.elements()};
      const auto option = [&](std::string_view name, const std::string& value) {
        words.options.emplace_back(std::string(name), value);
      };
      option("--binary", job.binary);
      option("--mode", std::string(job.writable ? WorkspaceWrite::name : ReadOnly::name));
      option("--workspace", job.scope.workspace_root);
      if (job.all_rules) option("--layers", "landlock");
      words.limit(job.scope.resources);
      for (const std::string& root : job.scope.extra_roots) option("--write", root);
      for (const std::string& path : job.scope.protected_paths) option("--protect", path);
      argv = runner::format(words);
      argv.insert(argv.begin(), runner::self_program);
      return argv;
    }
    argv = bubblewrap::profile(job, job.scope.workspace_root);
    argv.insert(argv.begin(), job.binary);
    argv.emplace_back("--");
    argv.insert(argv.end(), command.elements().begin(), command.elements().end());
    return argv;
  }

  template <ConfinedMode M>
  [[nodiscard]] Availability probe_now(const Policy<M>& policy, const std::string& binary) const {
    if (options_.with_landlock && !runner::self_is_runner())
      return Availability::unusable("this program is not its own runner, so nothing can add Landlock inside bubblewrap",
                                    "call cordon::runner::entry first in main");
    if (options_.with_landlock && os::landlock::abi<os::Kernel>() < 2)
      return Availability::unusable("this kernel has no Landlock ABI 2", "run a kernel from 5.19 on with Landlock");
    EscapeProbe attempt(policy.scope(), std::is_same_v<M, WorkspaceWrite>);
    if (!attempt.error().empty())
      return Availability::unusable("the probe could not be set up: " + attempt.error(),
                                    "make /var/tmp or /tmp a directory that this user can write");
    bubblewrap::Job job = job_for(attempt.scope(), std::is_same_v<M, WorkspaceWrite>);
    job.binary = binary;
    job.start_limit = options_.probe_limit;
    process::RunOptions run;
    run.environment = attempt.environment();
    run.working_directory = "/";
    try {
      const Argv script = attempt.argv();
      auto launch = bubblewrap::Plan(job).prepare({script, run.environment, run.working_directory});
      auto child = process::detail::launch_command<os::Kernel>(std::move(launch), std::move(run));
      const auto done = child.wait_for(options_.probe_limit);
      if (!done)
        return Availability::unusable("bubblewrap (" + binary + ") did not end within the probe's time limit",
                                      "find out what makes it hang, or raise the probe limit");
      if (const auto* failure = std::get_if<RunnerFailure>(&done->ending)) {
        const std::string why = failure->detail.empty() ? "it ended without running the command" : failure->detail;
        return Availability::unusable("bubblewrap (" + binary + ") failed at " + failure->stage + ": " + why,
                                      bubblewrap::remedy_for(why));
      }
      const EffectSet left_to_the_guard{FileEffect::fifo_write, FileEffect::mount_topology};
      return attempt.verdict<M>(*done, EffectSet::all() - (job.guarded ? EffectSet{} : left_to_the_guard));
    } catch (const Error& error) {
      return Availability::unusable(error.what(), bubblewrap::remedy_for(error.what()));
    }
  }

  BubblewrapOptions options_;
  std::vector<std::string> binaries_;
  std::string refused_;
  ProbeCache cache_;
};

}  // namespace cordon
