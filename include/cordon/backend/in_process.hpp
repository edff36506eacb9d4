// SPDX-License-Identifier: BSL-1.0
#pragma once

// Confinement without a helper program: the child of cordon's own launch confines itself by prepared system calls, or
// the runner makes the same calls. MountNamespace, Landlock and the two together are combinations of the steps here;
// their order is fixed by this file, not by the caller.

#include <linux/securebits.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cordon/backend/backend.hpp>
#include <cordon/backend/escape_probe.hpp>
#include <cordon/backend/probe_cache.hpp>
#include <cordon/backend/roots.hpp>
#include <cordon/backend/temp_area.hpp>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/inherited.hpp>
#include <cordon/os/linux/landlock.hpp>
#include <cordon/os/linux/mount.hpp>
#include <cordon/os/linux/observed_calls.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/os/linux/refused_calls.hpp>
#include <cordon/process/init.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/runner/grammar.hpp>
#include <cordon/runner/self.hpp>
#include <cordon/sinks.hpp>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::in_process {

using K = os::Kernel;

/// What the running kernel and user allow, asked anew for each wrap: it costs four system calls.
struct Machine {
  int landlock_abi = 0;  ///< 0: none
  unsigned uid = 0;
  unsigned gid = 0;
  bool admin = false;         ///< may make mount namespaces without a user namespace
  bool may_override = false;  ///< holds CAP_DAC_OVERRIDE
  bool may_drop = false;      ///< may change its capabilities and securebits
  bool may_map = false;       ///< may map every id that it has itself into a new user namespace

  [[nodiscard]] static Machine here() noexcept {
    Machine machine;
    machine.landlock_abi = static_cast<int>(std::max(0L, os::landlock::abi<K>()));
    machine.uid = os::effective_uid<K>();
    machine.gid = os::effective_gid<K>();
    const auto capabilities = os::effective_capabilities<K>();
    const auto holds = [&](unsigned capability) { return (capabilities >> capability & 1U) != 0; };
    machine.admin = machine.uid == 0 && holds(os::cap_sys_admin);
    machine.may_override = machine.uid == 0 && holds(os::cap_dac_override);
    machine.may_drop = holds(os::cap_setpcap);
    machine.may_map = machine.uid == 0 && holds(os::cap_setuid) && holds(os::cap_setgid);
    return machine;
  }
};

/// Which steps are taken.
struct Layers {
  bool mounts = false;
  bool landlock = false;

  friend bool operator==(Layers, Layers) = default;
};

/// One confinement, ready to be turned into system calls.
struct Job {
  Layers layers;
  bool writable = false;
  PolicyScope scope;
  std::string temp;                      ///< becomes /tmp; empty: /tmp stays what it is
  std::string shared_memory;             ///< becomes /dev/shm; empty: /dev/shm stays what it is
  std::vector<std::string> shared_temp;  ///< directories of the host that Landlock alone has to grant for temp files
};

/// The user namespace that a command is in.
enum class Users { of_caller, own_with_one_id, own_with_all_ids };

/// Which one, for a command that makes its namespaces itself and can map one id only. uid 0 does without where it can,
/// so that a workspace of another user can be written; but only next to Landlock, since without either uid 0 could
/// reach other processes of uid 0 that hold no capabilities, and through their /proc entries the host's own mounts.
[[nodiscard]] inline Users users_without_help(Layers layers, const Machine& machine) noexcept {
  return layers.mounts && !(machine.admin && layers.landlock) ? Users::own_with_one_id : Users::of_caller;
}

/// The roots that the command may change.
[[nodiscard]] inline std::vector<std::string> writable_roots(const Job& job) {
  return outermost_roots(job.scope, job.writable);
}

/// The effects that each combination governs, for a kernel with this Landlock ABI (0: none). This table is what
/// `Enforcement` is computed from; the probe can only take away from it, and tests/kernel attacks every cell.
[[nodiscard]] constexpr EffectSet governed(Layers layers, int landlock_abi) noexcept {
  EffectSet set;
  if (layers.mounts) set = set | (EffectSet::all() - EffectSet{FileEffect::fifo_write});
  if (layers.landlock && landlock_abi >= 1) {
    EffectSet by_landlock = EffectSet::all() - EffectSet{FileEffect::metadata};
    if (landlock_abi < 3) by_landlock = by_landlock - EffectSet{FileEffect::truncate};
    if (landlock_abi < 5) by_landlock = by_landlock - EffectSet{FileEffect::device};
    set = set | by_landlock;
  }
  return set;
}

/// Owns what the prepared calls point to, and keeps their order.
class Steps {
 public:
  void call(process::Stage stage, long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
    calls_.push_back({number, {a, b, c, d, e, 0}, stage});
  }

  /// The text's address, good for as long as this object lives.
  long text(std::string content) { return os::arg(texts_.emplace_back(std::move(content)).c_str()); }

  /// A copy of a plain struct, good for as long as this object lives.
  template <class T>
  long data(const T& value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    return os::arg(texts_.emplace_back(bytes, sizeof value).data());
  }

  [[nodiscard]] std::vector<process::PreparedCall>& calls() noexcept { return calls_; }

 private:
  std::deque<std::string> texts_;
  std::vector<process::PreparedCall> calls_;
};

/// Writes the steps of one job. Descriptors that the child opens are predictable: its table is its own, everything
/// behind the status descriptor is closed, and the kernel gives out the lowest free number.
class Writer {
  static constexpr std::string_view terminals = "/dev/pts";
  static constexpr std::string_view multiplexer = "/dev/ptmx";
  static constexpr std::uint64_t terminal_rights =
      os::landlock::read_rights | os::landlock::write_file | os::landlock::truncate | os::landlock::ioctl_dev;

 public:
  Writer(const Job& job, const Machine& machine, Steps& steps, int first_free)
      : job_(job), machine_(machine), steps_(steps), next_(first_free) {}

  /// Maps the caller's own ids in the new user namespace. Source: user_namespaces(7).
  void identity_map() {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", std::to_string(machine_.uid) + " " + std::to_string(machine_.uid) + " 1");
    write_file("/proc/self/gid_map", std::to_string(machine_.gid) + " " + std::to_string(machine_.gid) + " 1");
  }

  /// The whole tree read-only, with the writable places put over it. A read-only mount lets devices be written, so
  /// the tree is without devices too, and the sinks are put over it. Terminals can't be put there: a terminal
  /// multiplexer only works on its own file system, so the sandbox gets one. The rules for that one are added to the
  /// Landlock ruleset in descriptor `ruleset` (-1: none). `own_processes`: in a pid namespace, with its own /proc.
  void mounts(int ruleset, bool own_processes) {
    set_attributes(AT_FDCWD, "/", os::at_recursive, os::private_mount);

    // While the tree is still as it was: a copy of everything that stays writable, or stays a device.
    struct Place {
      std::string target;
      int tree = -1;            ///< -1: copied when what covers it is in place
      std::string source = {};  ///< what is copied then
    };
    std::vector<Place> places;
    if (!job_.temp.empty()) places.push_back({"/tmp", clone_tree(job_.temp)});
    if (!job_.shared_memory.empty()) places.push_back({"/dev/shm", clone_tree(job_.shared_memory)});
    const std::vector<std::string> roots = writable_roots(job_);
    const bool broad = !roots.empty() && roots.front() == "/";
    for (const std::string& root : roots) {
      if (root == "/") continue;
      places.push_back({root, clone_tree(root)});
      set_attributes(places.back().tree, "", os::at_empty_path | os::at_recursive, os::mount_without_devices);
    }
    const bool own_terminals = os::exists(std::string(terminals));  // nobody else's can be written or typed into
    for (std::string_view sink : sinks) {
      const std::string path(sink);
      if (path == terminals || !os::exists(path) || os::is_symlink(path)) continue;
      if (path == multiplexer) {
        if (own_terminals) places.push_back({path, -1, std::string(terminals) + "/ptmx"});
        continue;
      }
      places.push_back({path, clone_tree(path)});
      set_attributes(places.back().tree, "", os::at_empty_path | os::at_recursive, os::read_only_mount);
    }
    if (own_terminals) places.push_back({std::string(terminals), new_terminals()});
    if (own_processes) places.push_back({"/proc", new_processes()});
    if (job_.writable)
      for (const std::string& path : job_.scope.protected_paths) places.push_back({path, -1, path});
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.target.size() < b.target.size(); });

    set_attributes(AT_FDCWD, "/", os::at_recursive,
                   broad ? os::mount_without_devices : os::read_only_mount_without_devices);
    for (Place& place : places) {
      if (place.tree < 0) {
        place.tree = clone_tree(place.source);
        set_attributes(place.tree, "", os::at_empty_path | os::at_recursive, os::read_only_mount);
      }
      const int onto = open_exactly(place.target);
      steps_.call(process::Stage::mount, os::move_mount_number, place.tree, os::arg(""), onto, os::arg(""),
                  os::move_from_empty_path | os::move_to_empty_path);
    }
    if (!own_terminals || ruleset < 0) return;
    for (std::string_view path : {terminals, multiplexer}) {
      const std::uint64_t rights = terminal_rights & os::landlock::known_rights(machine_.landlock_abi);
      const os::landlock::PathRule rule{path == terminals ? rights : rights & os::landlock::file_rights,
                                        open(std::string(path))};
      steps_.call(process::Stage::landlock, os::landlock::add_rule_number, ruleset, os::landlock::path_beneath,
                  steps_.data(rule), 0);
    }
  }

  /// In the user namespace of the child and in all below it nobody can make a mount namespace from then on, not even
  /// the nameless one of a detached mount: so nobody can mount anything, however privileged in a namespace of his own.
  /// After `mounts` with a /proc of its own. Source: namespaces(7), max_mnt_namespaces.
  void forbid_mounts() {
    steps_.call(process::Stage::mount, SYS_write, mount_limit_, os::arg("0"), 1);
    // Closed, but its number stays in use: the next ones can be told.
    steps_.call(process::Stage::mount, SYS_dup3, processes_, mount_limit_, O_CLOEXEC);
    set_attributes(processes_, "", os::at_empty_path, os::read_only_mount);
  }

  /// Waits until the ids of the user namespace are mapped.
  void await_map(int channel) { steps_.call(process::Stage::user_namespace, SYS_read, channel, steps_.text(" "), 1); }

  /// No capability but, for uid 0, the one to write files of other users in the workspace; and none regained, neither
  /// by uid 0 nor by a program's file. Source: capabilities(7). The bounding set is left alone: with no_new_privs and
  /// SECBIT_NOROOT locked nothing reads it any more, and dropping it costs as much as a tenth of a spawn.
  void drop_privileges(Users users) {
    using process::Stage;
    steps_.call(Stage::privileges, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
    if (!machine_.may_drop && users == Users::of_caller) return set_capabilities(0, 0);
    const std::uint32_t kept =
        machine_.may_override && users != Users::own_with_one_id ? 1U << os::cap_dac_override : 0;
    if (kept != 0) {
      set_capabilities(kept | 1U << os::cap_setpcap, kept);
      steps_.call(Stage::privileges, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, os::cap_dac_override);
    }
    steps_.call(Stage::privileges, SYS_prctl, PR_SET_SECUREBITS,
                SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
    set_capabilities(kept, kept);
  }

  /// Refuses what no other step takes away; see os/linux/refused_calls.hpp. After no_new_privs, or with all
  /// capabilities.
  void refuse_calls() {
    steps_.call(process::Stage::privileges, SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                os::arg(&os::refused_calls));
  }

  /// Shows a tracer what changes files. After everything else.
  void show_calls() {
    steps_.call(process::Stage::privileges, SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                os::arg(&os::observing_filter));
  }

  /// Binds the child to the ruleset in descriptor `ruleset`.
  void restrict_to(int ruleset) {
    steps_.call(process::Stage::landlock, os::landlock::restrict_self_number, ruleset, 0);
  }

  void close(int descriptor) { steps_.call(process::Stage::descriptors, SYS_close, descriptor); }

  /// Closes the plan's own descriptors, which the command must not have.
  void close_descriptors(std::size_t count) {
    if (count != 0)
      steps_.call(process::Stage::descriptors, SYS_close_range, process::first_descriptor,
                  process::first_descriptor + static_cast<long>(count) - 1, 0);
  }

 private:
  /// The number that the next descriptor of the child will have.
  int opened() { return next_++; }

  void set_attributes(long directory, const char* path, long flags, const os::MountAttributes& attributes) {
    steps_.call(process::Stage::mount, os::mount_setattr_number, directory, os::arg(path), flags, os::arg(&attributes),
                sizeof attributes);
  }

  void write_file(const char* path, const std::string& content) {
    using process::Stage;
    steps_.call(Stage::user_namespace, SYS_openat, AT_FDCWD, steps_.text(path), O_WRONLY | O_CLOEXEC);
    steps_.call(Stage::user_namespace, SYS_write, next_, steps_.text(content), static_cast<long>(content.size()));
    steps_.call(Stage::user_namespace, SYS_close, next_);
  }

  /// A /proc of the pid namespace that the child is in.
  int new_processes() {
    using process::Stage;
    steps_.call(Stage::mount, os::fsopen_number, os::arg("proc"), os::fsopen_cloexec);
    const int context = opened();
    steps_.call(Stage::mount, os::fsconfig_number, context, os::config_create, 0, 0, 0);
    steps_.call(Stage::mount, os::fsmount_number, context, os::fsmount_cloexec,
                os::attribute_no_set_uid | os::attribute_no_devices | os::attribute_no_exec);
    processes_ = opened();
    steps_.call(Stage::mount, SYS_openat, processes_, os::arg("sys/user/max_mnt_namespaces"), O_WRONLY | O_CLOEXEC);
    mount_limit_ = opened();
    return processes_;
  }

  /// A file system of terminals that nobody else has. Read-only, so that a command can't take /dev/ptmx away from the
  /// next one by its mode.
  int new_terminals() {
    using process::Stage;
    steps_.call(Stage::mount, os::fsopen_number, os::arg("devpts"), os::fsopen_cloexec);
    const int context = opened();
    for (const auto& [key, value] : {std::pair{"ptmxmode", "0666"}, std::pair{"mode", "0620"}})
      steps_.call(Stage::mount, os::fsconfig_number, context, os::config_set_string, os::arg(key), os::arg(value), 0);
    steps_.call(Stage::mount, os::fsconfig_number, context, os::config_create, 0, 0, 0);
    steps_.call(Stage::mount, os::fsmount_number, context, os::fsmount_cloexec, os::attribute_read_only);
    return opened();
  }

  int open(const std::string& path) {
    steps_.call(process::Stage::mount, SYS_openat, AT_FDCWD, steps_.text(path), O_PATH | O_CLOEXEC);
    return opened();
  }

  int open_exactly(const std::string& path) {
    steps_.call(process::Stage::mount, os::openat2_number, AT_FDCWD, steps_.text(path), os::arg(&os::exact_path),
                sizeof os::exact_path);
    return opened();
  }

  int clone_tree(const std::string& path) {
    const int source = open_exactly(path);
    steps_.call(process::Stage::mount, os::open_tree_number, source, os::arg(""),
                os::open_tree_clone | os::open_tree_cloexec | os::at_empty_path | os::at_recursive);
    return opened();
  }

  void set_capabilities(std::uint32_t permitted, std::uint32_t inheritable) {
    struct {
      std::uint32_t version = 0x20080522;
      std::int32_t pid = 0;
    } const header;
    const std::uint32_t sets[6] = {permitted, permitted, inheritable, 0, 0, 0};
    steps_.call(process::Stage::privileges, SYS_capset, steps_.data(header), steps_.data(sets));
  }

  const Job& job_;
  const Machine& machine_;
  Steps& steps_;
  int next_;
  int processes_ = -1;    ///< the mount of the new /proc
  int mount_limit_ = -1;  ///< a file in it, open for writing
};

/// The Landlock ruleset of a job, or -errno; then `refused` is the path of the rule that could not be made.
[[nodiscard]] inline long make_ruleset(const Job& job, int abi, std::string& refused) {
  namespace ll = os::landlock;
  const std::uint64_t handled = ll::known_rights(abi);
  const std::uint64_t writing = handled & ~static_cast<std::uint64_t>(ll::make_char | ll::make_block);
  const long made = ll::create_ruleset<K>(handled, ll::known_scopes(abi));
  if (made < 0) return made;
  os::Fd ruleset(made);
  long failed = 0;
  const auto grant = [&](const std::string& path, std::uint64_t rights, bool optional) {
    const long result = ll::grant<K>(ruleset.get(), path.c_str(), rights & handled);
    if (result >= 0 || (optional && result == -ENOENT) || failed != 0) return;
    failed = result;
    refused = path;
  };
  grant("/", ll::read_rights, false);
  for (std::string_view sink : sinks)
    grant(std::string(sink), ll::read_rights | ll::write_file | ll::truncate | ll::ioctl_dev, true);
  // A root is granted where it was resolved to, never where a symlink leads that was put there since.
  for (const std::string& root : writable_roots(job)) {
    const long result = ll::grant_opened<K>(ruleset.get(), os::open_exactly<K>(root.c_str()), writing & handled);
    if (result >= 0 || failed != 0) continue;
    failed = result;
    refused = root;
  }
  for (const std::string& own : {job.temp, job.shared_memory})
    if (!own.empty()) grant(own, writing, false);
  for (const std::string& host : job.shared_temp) grant(host, writing, true);
  return failed < 0 ? failed : ruleset.release();
}

/// The ids that this process has, each mapped to itself, in the form of user_namespaces(7).
[[nodiscard]] inline std::string identity_of(const char* map) {
  std::ifstream file(map);
  std::string result;
  for (unsigned long inside = 0, outside = 0, count = 0; file >> inside >> outside >> count;)
    result += std::to_string(inside) + " " + std::to_string(inside) + " " + std::to_string(count) + "\n";
  return result;
}

/// The paths that a preparation is bound to.
[[nodiscard]] inline std::vector<std::string> bound_paths(const Job& job) {
  std::vector<std::string> paths = writable_roots(job);
  for (const auto* more : {&job.scope.protected_paths, &job.shared_temp})
    paths.insert(paths.end(), more->begin(), more->end());
  for (const std::string& own : {job.temp, job.shared_memory})
    if (!own.empty()) paths.push_back(own);
  return paths;
}

/// What a job needs that outlives one command: its ruleset, and namespaces where they can be had. One command at a time
/// uses it: the pid namespace is how all processes of a command are ended, and none of them can meet another's.
class Prepared {
 public:
  std::string key;    ///< the job and the files that it was made for; empty: for one command only
  std::string state;  ///< what its init inherited; see os::inherited_state. Empty without
  unsigned generation = 0;
  std::vector<os::Fd> held;  ///< every path that it was made for, so that no other file can get its inode number
  os::Fd ruleset;            ///< none without Landlock
  Machine machine = Machine::here();
  Users users = Users::own_with_one_id;

  /// Makes the namespaces with their init. False when the kernel refuses one of them.
  [[nodiscard]] bool make_namespaces(const Job& job);
  [[nodiscard]] bool has_namespaces() const noexcept { return static_cast<bool>(init_); }
  [[nodiscard]] int channel() const noexcept { return channel_.get(); }
  [[nodiscard]] int init() const noexcept { return init_.get(); }
  /// The directory of its terminals; -1 when it has none.
  [[nodiscard]] int terminals() const noexcept { return terminals_.get(); }

  void begin() noexcept { in_use_ = has_namespaces(); }
  void end() noexcept { in_use_ = false; }

  /// False when another command can't be put into it: the last one left something there, its init was ended, or it is
  /// a fork's copy of it, or it has not the mounts or the Landlock domain that this program has now.
  [[nodiscard]] bool usable() const {
    if (!has_namespaces()) return true;
    if (in_use_ || made_by_ != ::getpid()) return false;
    std::array<pollfd, 2> events{pollfd{init_.get(), POLLIN, 0}, pollfd{mounts_.get(), POLLPRI, 0}};
    return os::poll_once<K>(events, 0) == 0 && os::reaches_into<K>(entry_.get());
  }

 private:
  os::Fd channel_;
  std::optional<process::Child> process_;  ///< init
  os::Fd init_;                            ///< its pidfd
  os::Fd entry_;                           ///< its directory in /proc
  os::Fd terminals_;                       ///< its /dev/pts, taken before any command was in there
  os::Fd mounts_;                          ///< has an event when a mount of this program came or went since
  int made_by_ = 0;
  bool in_use_ = false;
};

/// The child that makes the namespaces of a job, and becomes their init.
class InitLaunch final : public process::Launch {
 public:
  InitLaunch(const Job& job, const Machine& machine, Users users, const os::Channel<K>& channel, int ruleset)
      : children_ended_(os::make_signal_event<K>(SIGCHLD)) {
    using namespace process::detail;
    setup_.working_directory = "/";
    setup_.instead = init_main<K>;
    setup_.descriptors = {channel.theirs.get(), children_ended_.get()};
    static_assert(init_channel == process::first_descriptor && init_children_ended == init_channel + 1 &&
                  init_ruleset == init_children_ended + 1);
    if (ruleset >= 0) setup_.descriptors.push_back(ruleset);
    setup_.clone_flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID;
    const auto map = [&](const char* own, unsigned id) {
      return users == Users::own_with_all_ids ? identity_of(own) : std::to_string(id) + " " + std::to_string(id) + " 1";
    };
    setup_.user_map = map("/proc/self/uid_map", machine.uid);
    setup_.group_map = map("/proc/self/gid_map", machine.gid);
    setup_.mapped = channel.ours.get();
    Writer writer(job, machine, steps_, process::first_free_descriptor(setup_));
    writer.await_map(init_channel);
    writer.mounts(ruleset >= 0 ? init_ruleset : -1, true);
    writer.forbid_mounts();
    // Once and for all: what a command inherits costs it nothing, and its end leaves nothing to be cleaned up. What
    // keeps it out of its init is the capabilities that only the init has.
    writer.refuse_calls();
    if (ruleset >= 0) {
      writer.restrict_to(init_ruleset);
      writer.close(init_ruleset);
    }
    setup_.confinement = std::move(steps_.calls());
  }

  [[nodiscard]] const process::ChildSetup& setup() const noexcept override { return setup_; }

 private:
  os::Fd children_ended_;
  Steps steps_;
  process::ChildSetup setup_;
};

inline bool Prepared::make_namespaces(const Job& job) try {
  users = machine.may_map ? Users::own_with_all_ids : Users::own_with_one_id;
  made_by_ = ::getpid();
  mounts_ = os::Fd(os::open_file<K>("/proc/thread-self/mountinfo", O_RDONLY));
  os::Channel<K> channel;
  if (!mounts_ || os::make_channel<K>(channel) < 0) return false;
  process_.emplace(process::detail::launch_command<K>(
      std::make_unique<InitLaunch>(job, machine, users, channel, ruleset.get()), {}));
  channel_ = std::move(channel.ours);
  entry_ = os::Fd(os::open_file<K>(("/proc/" + std::to_string(process_->pid())).c_str(), O_PATH | O_DIRECTORY));
  terminals_ = os::Fd(os::open_file_in<K>(entry_.get(), "root/dev/pts", O_PATH | O_DIRECTORY));
  if (process_->started() && entry_) init_ = os::Fd(os::open_pidfd<K>(process_->pid()));
  return has_namespaces();
} catch (const Error&) {
  return false;
}

/// What was prepared before, for the same job over the same files, by a program in the same state. A Landlock rule
/// speaks of an inode and a namespace has a copy of the mounts, so a root that was replaced or a mount that came or
/// went since needs new ones. Thread-safe.
class Preparations {
 public:
  /// For one command; to be given back. What was used last comes first, or with `state` what was made in that. Throws
  /// SandboxUnavailableError when the kernel refuses.
  [[nodiscard]] std::shared_ptr<Prepared> take(const Job& job, const std::string* state = nullptr) {
    const std::string key = key_of(job);
    unsigned generation = 0;
    {
      const std::scoped_lock lock(mutex_);
      generation = generation_;
      std::erase_if(idle_, [](const auto& known) { return !known->usable(); });
      const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const auto& known) {
        return known->key == key && (state == nullptr || known->state == *state);
      });
      if (found != idle_.end()) {
        auto prepared = std::move(*found);
        idle_.erase(found);
        return prepared;
      }
    }
    const auto state_now = [&] { return job.layers.mounts ? os::inherited_state() : std::string(); };
    std::string before = state_now();
    auto prepared = make(job);
    prepared->generation = generation;
    // Else something changed meanwhile: it is for this command only.
    if (key_of(job) == key && state_now() == before) prepared->key = key;
    if (prepared->has_namespaces()) prepared->state = std::move(before);
    return prepared;
  }

  /// Has something ready for a job like this one. What that is worth by the time of the command, the launch finds out.
  void prepare(const Job& job) {
    const std::string key = key_of(job);
    {
      const std::scoped_lock lock(mutex_);
      if (std::any_of(idle_.begin(), idle_.end(), [&](const auto& known) { return known->key == key; })) return;
    }
    give_back(take(job));
  }

  /// When the command is over, with whatever it left running.
  void give_back(std::shared_ptr<Prepared> prepared) noexcept try {
    if (prepared->key.empty() || !prepared->usable()) return;
    const std::scoped_lock lock(mutex_);
    if (prepared->generation != generation_) return;
    if (idle_.size() >= capacity) idle_.pop_back();
    idle_.push_front(std::move(prepared));
  } catch (const std::exception&) {
    // There is no memory to keep it.
  }

  void forget() noexcept {
    const std::scoped_lock lock(mutex_);
    ++generation_;
    idle_.clear();
  }

 private:
  static constexpr std::size_t capacity = 8;

  [[noreturn]] static void fail(process::Stage stage, long error, const std::string& path) {
    RunnerFailure failure{std::string(name(stage)), static_cast<int>(-error),
                          (path.empty() ? "" : path + ": ") + detail::error_text(static_cast<int>(-error))};
    throw SandboxUnavailableError("the sandbox could not be prepared, at " + failure.stage + ": " + failure.detail +
                                      "; see that the workspace and the writable roots still exist, and what "
                                      "`cordon probe` says",
                                  failure);
  }

  [[nodiscard]] static std::shared_ptr<Prepared> make(const Job& job) {
    auto prepared = std::make_shared<Prepared>();
    for (const std::string& path : bound_paths(job))
      if (const long opened = os::open_file<K>(path.c_str(), O_PATH); opened >= 0)
        prepared->held.emplace_back(opened);
      else if (opened != -ENOENT)
        fail(process::Stage::descriptors, opened, path);
    if (job.layers.landlock) {
      std::string refused;
      const long made = make_ruleset(job, prepared->machine.landlock_abi, refused);
      if (made < 0) fail(process::Stage::landlock, made, refused);
      prepared->ruleset = os::Fd(made);
    }
    // Where they are refused, as in a container that hides parts of /proc, each command makes its own.
    if (job.layers.mounts && os::proc_lists_children<K>()) (void)prepared->make_namespaces(job);
    return prepared;
  }

  static std::string key_of(const Job& job) {
    std::string key(1, job.writable ? 'w' : 'r');
    const auto add = [&](const std::string& path) {
      os::FileFacts facts;
      (void)os::stat_path(path, facts);
      key += '\0' + path + '\0' + std::to_string(facts.device) + ':' + std::to_string(facts.inode);
    };
    for (const std::string& root : writable_roots(job)) add(root);
    key += '\1';
    for (const std::string& path : job.scope.protected_paths) add(path);
    key += '\1';
    for (const std::string& own : {job.temp, job.shared_memory}) add(own);
    for (const std::string& host : job.shared_temp) add(host);
    return key;
  }

  std::mutex mutex_;
  std::deque<std::shared_ptr<Prepared>> idle_;
  unsigned generation_ = 0;
};

/// The variables of the command: its temp directory is the private one, or with Landlock alone what the host has.
[[nodiscard]] inline std::vector<std::string> environment(const Job& job, std::vector<std::string> entries) {
  std::vector<std::string> writable = writable_roots(job);
  if (!job.temp.empty()) return with_temp(std::move(entries), "/tmp", std::move(writable));
  if (!job.shared_memory.empty()) return with_temp(std::move(entries), "/dev/shm", std::move(writable));
  if (job.shared_temp.empty()) return entries;
  writable.insert(writable.end(), job.shared_temp.begin(), job.shared_temp.end());
  // These are the host's: what a TMPDIR names in them has to be there already (F39).
  if (const char* given = process::lookup(entries, "TMPDIR"); given != nullptr && !os::exists(given))
    std::erase_if(entries, [](const std::string& entry) { return entry.starts_with("TMPDIR="); });
  return with_temp(std::move(entries), "/tmp", std::move(writable));
}

/// One confined execution: in namespaces that are ready, or in those that it makes.
class Launch final : public process::Launch {
 public:
  /// `prepared` is given back to `preparations` when the execution is over; null: to nobody.
  Launch(std::shared_ptr<const Job> shared_job, std::shared_ptr<Prepared> prepared,
         std::shared_ptr<Preparations> preparations, const process::LaunchRequest& request)
      : job_(std::move(shared_job)), prepared_(std::move(prepared)), preparations_(std::move(preparations)) {
    const Job& job = *job_;
    setup_.argv = request.command.elements();
    setup_.environment = environment(job, request.environment);
    setup_.working_directory = request.working_directory;
    setup_.resources.limits = job.scope.resources;
    setup_.resources.writes_groups = writes_everything(job.scope, job.writable);
    setup_.observed = request.observed;
    if (request.observed) {
      setup_.observed_roots = writable_roots(job);
      setup_.observed_exceptions = job.scope.protected_paths;
    }
    terminal_ = request.terminal;
    if (prepared_->has_namespaces()) {
      setup_.resources.own_user_namespace = true;
      setup_.resources.counted_by_rlimit = 1;  // init
      prepared_->begin();
      setup_.channel = prepared_->channel();
      setup_.init = prepared_->init();
      setup_.terminals = prepared_->terminals();
      // The refused calls are those of init.
      Writer writer(job, prepared_->machine, steps_, 0);
      writer.drop_privileges(prepared_->users);
      if (request.observed) writer.show_calls();
      setup_.confinement = std::move(steps_.calls());
      return;
    }
    const Machine machine = Machine::here();
    const int ruleset = prepared_->ruleset ? process::first_descriptor : -1;
    if (ruleset >= 0) setup_.descriptors.push_back(prepared_->ruleset.get());
    Writer writer(job, machine, steps_, process::first_free_descriptor(setup_));
    const Users users = users_without_help(job.layers, machine);
    if (job.layers.mounts) {
      const bool own = users == Users::own_with_one_id;
      setup_.clone_flags = CLONE_NEWNS | CLONE_NEWIPC | (own ? CLONE_NEWUSER : 0);
      setup_.resources.own_user_namespace = own;
      if (own) writer.identity_map();
      writer.mounts(ruleset, false);
    }
    writer.drop_privileges(users);
    if (ruleset >= 0) writer.restrict_to(ruleset);
    writer.refuse_calls();
    writer.close_descriptors(setup_.descriptors.size());
    if (request.observed) writer.show_calls();
    setup_.confinement = std::move(steps_.calls());
  }
  ~Launch() override {
    if (preparations_) preparations_->give_back(std::move(prepared_));
  }

  [[nodiscard]] const process::ChildSetup& setup() const noexcept override { return setup_; }
  [[nodiscard]] bool current() const noexcept override try {
    return renewed_ || prepared_->state == os::inherited_state();
  } catch (const std::exception&) {
    return false;
  }
  [[nodiscard]] std::unique_ptr<process::Launch> renewed() override {
    const std::string state = os::inherited_state();
    const Argv command(setup_.argv);
    auto again = std::make_unique<Launch>(
        job_, preparations_->take(*job_, &state), preparations_,
        process::LaunchRequest{command, setup_.environment, setup_.working_directory, terminal_, {}, setup_.observed});
    again->renewed_ = true;
    return again;
  }
  void gone() noexcept override { prepared_->end(); }

 private:
  std::shared_ptr<const Job> job_;
  std::shared_ptr<Prepared> prepared_;
  std::shared_ptr<Preparations> preparations_;
  Steps steps_;
  process::ChildSetup setup_;
  bool terminal_ = false;
  bool renewed_ = false;
};

class Plan final : public process::LaunchPlan {
 public:
  Plan(Job job, std::shared_ptr<Preparations> preparations, std::shared_ptr<const TempArea> temp)
      : job_(std::make_shared<const Job>(std::move(job))),
        preparations_(std::move(preparations)),
        temp_(std::move(temp)) {}
  [[nodiscard]] std::unique_ptr<process::Launch> prepare(const process::LaunchRequest& request) const override {
    return std::make_unique<Launch>(job_, preparations_->take(*job_), preparations_, request);
  }
  [[nodiscard]] std::string unobservable() const override { return {}; }

 private:
  std::shared_ptr<const Job> job_;
  std::shared_ptr<Preparations> preparations_;
  std::shared_ptr<const TempArea> temp_;  ///< lives as long as a command may use it
};

[[nodiscard]] inline std::string name_of(Layers layers) {
  std::string name = layers.mounts ? "mount-namespace" : "";
  if (layers.landlock) name += name.empty() ? "landlock" : "+landlock";
  return name;
}

/// A read-only mount answers before Landlock does; to a link from one side to the other both say the same.
using MountsDialect =
    Dialect<DenialSignatures<"read-only file system", "invalid cross-device link">, runner::FailureRule>;
using LandlockDialect =
    Dialect<DenialSignatures<"permission denied", "invalid cross-device link">, runner::FailureRule>;
using LayeredDialect =
    Dialect<DenialSignatures<"read-only file system", "permission denied", "invalid cross-device link">,
            runner::FailureRule>;

[[nodiscard]] inline DialectView dialect_of(Layers layers) noexcept {
  if (!layers.mounts) return LandlockDialect::view();
  return layers.landlock ? LayeredDialect::view() : MountsDialect::view();
}

/// The runner's words for a job.
[[nodiscard]] inline runner::Words words_for(const Job& job, const Argv& command) {
  runner::Words words{"confine", {}, command.elements()};
  const auto option = [&](std::string_view name, const std::string& value) {
    words.options.emplace_back(std::string(name), value);
  };
  option("--layers", name_of(job.layers));
  option("--mode", std::string(job.writable ? WorkspaceWrite::name : ReadOnly::name));
  option("--workspace", job.scope.workspace_root);
  for (const std::string& root : job.scope.extra_roots) option("--write", root);
  for (const std::string& path : job.scope.protected_paths) option("--protect", path);
  if (!job.temp.empty()) option("--temp", job.temp);
  if (!job.shared_memory.empty()) option("--shared-memory", job.shared_memory);
  for (const std::string& host : job.shared_temp) option("--shared-temp", host);
  words.limit(job.scope.resources);
  return words;
}

struct Options {
  /// An absolute path to a separate runner (see the CMake function cordon_add_runner), for `ConfinedArgv::argv()`.
  /// Empty: this program, when it is its own runner. cordon's own spawn needs neither.
  std::string runner = {};
};

/// The backend behind MountNamespace, Landlock and Layered of the two. Thread-safe.
template <Layers L>
class Confiner {
 public:
  explicit Confiner(Options options = {}) : options_(std::move(options)) {}

  using cordon_concept = BackendTag;
  static constexpr Layers layers = L;
  template <ConfinedMode M>
  static constexpr bool can_be_full = governed(L, 10).contains(promised<M>());

  template <ConfinedMode M>
  [[nodiscard]] Availability probe(const Policy<M>& policy) {
    return cache_.get(ProbeKey::of(policy), [&] { return probe_now<M>(policy); });
  }

  template <ConfinedMode M>
  [[nodiscard]] Confinement wrap(const Policy<M>& policy, const Argv& command) {
    const Availability verdict = probe(policy);
    if (const auto* problem = verdict.problem())
      throw SandboxUnavailableError("mode " + std::string(M::name) + " needs a sandbox, and " + name_of(L) +
                                    " can't give one: " + problem->reason + "; " + problem->remedy);
    const auto temp = L.mounts ? temps_.of(policy.scope().session_id.value_or("")) : nullptr;
    Job job = job_for(policy.scope(), std::is_same_v<M, WorkspaceWrite>, temp.get());
    Confinement result{
        plain_argv(job, command), name_of(L), *verdict.enforcement(), dialect_of(L), {}, {}, nullptr, {}};
    if (!job.temp.empty()) result.private_temp.emplace_back("/tmp");
    if (!job.shared_memory.empty()) result.private_temp.emplace_back("/dev/shm");
    if (job.writable) result.best_effort = replaceable_protections(writable_roots(job), job.scope);
    result.shared_temp = job.shared_temp;
    preparations_->prepare(job);  // what fails, fails here
    result.launch = std::make_shared<Plan>(std::move(job), preparations_, temp);
    return result;
  }

  void invalidate() noexcept {
    cache_.forget();
    preparations_->forget();
  }

 private:
  [[nodiscard]] static Job job_for(const PolicyScope& scope, bool writable, const TempArea* temp) {
    Job job{.layers = L, .writable = writable, .scope = scope, .temp = {}, .shared_memory = {}, .shared_temp = {}};
    const std::vector<std::string> roots = writable_roots(job);
    const auto is_root = [&](std::string_view path) { return cordon::detail::is_within_any(path, roots); };
    if (temp != nullptr) {
      // Under read-only a workspace below /dev/shm has to stay in sight.
      const bool in_sight = !writable && os::is_within(scope.workspace_root, "/dev/shm");
      if (!is_root("/dev/shm") && !in_sight) job.shared_memory = temp->shared_memory();
      if (writable && !is_root("/tmp")) job.temp = temp->temp();
      // A root below a private directory needs something to be put on.
      for (const std::string& root : roots) {
        os::FileFacts facts;
        const bool directory = os::stat_path(root, facts) < 0 || facts.directory();
        if (!job.temp.empty() && os::is_within(root, "/tmp"))
          os::make_below(job.temp, std::string_view(root).substr(4), directory);
        if (!job.shared_memory.empty() && os::is_within(root, "/dev/shm"))
          os::make_below(job.shared_memory, std::string_view(root).substr(8), directory);
      }
    } else if (writable) {
      job.shared_temp = {"/tmp", "/dev/shm"};
      const char* named = std::getenv("TMPDIR");
      std::string found;
      // Never where a symlink leads: a command may have put it there.
      if (named != nullptr && os::canonical_path(named, found) == 0 && found == named && found != "/" &&
          !is_root(found)) {
        const std::array<std::string_view, 4> never{"/tmp", "/dev", "/proc", "/sys"};  // /tmp is granted already
        if (!cordon::detail::is_within_any(found, never)) job.shared_temp.push_back(found);
      }
    }
    return job;
  }

  [[nodiscard]] std::vector<std::string> plain_argv(const Job& job, const Argv& command) const {
    std::vector<std::string> argv = runner::format(words_for(job, command));
    argv.insert(argv.begin(), runner_for(job));
    return argv;
  }

  [[nodiscard]] std::string runner_for(const Job& job) const {
    if (options_.runner.empty()) return runner::self_is_runner() ? runner::self_program : runner::no_program;
    std::string found;
    std::vector<std::string> roots = writable_roots(job);
    roots.push_back(job.scope.workspace_root);
    const bool usable = options_.runner.starts_with('/') && os::canonical_path(options_.runner, found) == 0 &&
                        os::executable(found) && std::none_of(roots.begin(), roots.end(), [&](const std::string& root) {
                          return root != "/" && os::is_within(found, root);
                        });
    if (!usable)
      throw SandboxUnavailableError(
          "the runner " + options_.runner +
          " is not an executable at an absolute path outside the workspace and every writable "
          "root; install it where commands can't change it");
    return found;
  }

  template <ConfinedMode M>
  [[nodiscard]] Availability probe_now(const Policy<M>& policy) {
    const Machine machine = Machine::here();
    if (L.landlock && machine.landlock_abi == 0)
      return Availability::unusable("this kernel has no Landlock, or it is switched off",
                                    "run a kernel from 5.13 on with landlock in its list of security modules");
    if (L.mounts && !os::has_mount_setattr<K>())
      return Availability::unusable("this kernel has no mount_setattr", "run a kernel from 5.12 on");
    if (!L.mounts && !policy.scope().protected_paths.empty() && std::is_same_v<M, WorkspaceWrite>)
      return Availability::unusable("Landlock alone can't make a path read-only inside a writable root",
                                    "use a backend with mounts, or protect nothing");
    EscapeProbe attempt(policy.scope(), std::is_same_v<M, WorkspaceWrite>);
    if (!attempt.error().empty())
      return Availability::unusable("the probe could not be set up: " + attempt.error(),
                                    "make /var/tmp or /tmp a directory that this user can write");
    try {
      const TempArea temp;
      Job job = job_for(attempt.scope(), std::is_same_v<M, WorkspaceWrite>, L.mounts ? &temp : nullptr);
      // Where the attempt's own directory lies in a shared temp directory, nothing of it would be outside.
      std::erase_if(job.shared_temp,
                    [&](const std::string& host) { return os::is_within(attempt.scope().workspace_root, host); });
      const Plan plan(job, std::make_shared<Preparations>(), nullptr);
      process::RunOptions run;
      run.environment = attempt.environment();
      const Argv script = attempt.argv();
      auto launch = plan.prepare({script, run.environment, "/"});
      auto child = process::detail::launch_command<K>(std::move(launch), std::move(run));
      const auto done = child.wait_for(std::chrono::seconds(5));
      if (!done)
        return Availability::unusable("its probe did not end in time", "find out what makes /bin/sh hang in it");
      if (const auto* failure = std::get_if<RunnerFailure>(&done->ending)) return unusable_after(*failure);
      return attempt.verdict<M>(*done, governed(L, machine.landlock_abi));
    } catch (const SandboxUnavailableError& error) {
      if (error.failure()) return unusable_after(*error.failure());
      return Availability::unusable(error.what(), "run `cordon probe`");
    } catch (const Error& error) {
      return Availability::unusable(error.what(), "run `cordon probe`");
    }
  }

  [[nodiscard]] static Availability unusable_after(const RunnerFailure& failure) {
    const bool namespaces =
        failure.stage == name(process::Stage::user_namespace) || failure.stage == name(process::Stage::mount);
    return Availability::unusable("it failed at " + failure.stage + ": " + failure.detail,
                                  namespaces ? "allow user namespaces for this user (user.max_user_namespaces, and the "
                                               "profile of a security module)"
                                             : "see the kernel's log for what refuses it");
  }

  Options options_;
  ProbeCache cache_;
  TempAreas temps_;
  std::shared_ptr<Preparations> preparations_ = std::make_shared<Preparations>();
};

}  // namespace cordon::in_process
