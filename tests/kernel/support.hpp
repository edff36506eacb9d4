// SPDX-License-Identifier: BSL-1.0
#pragma once

// What the kernel tests share: a workspace and a directory outside it, a picture of that directory which shows every
// change, and running a payload under each backend and mode.

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cordon/cordon.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/processes.hpp"

namespace kernel_tests {

/// The backends under test. One line for one more.
using KernelBackends =
    std::tuple<cordon::Layered<cordon::MountNamespace, cordon::Landlock>, cordon::MountNamespace, cordon::Landlock,
               cordon::Bubblewrap, cordon::Layered<cordon::Bubblewrap, cordon::Landlock>>;

/// A backend in a mode.
template <class B, class M>
struct Under {
  using Backend = B;
  using Mode = M;
};

namespace detail {
template <class... B>
auto in_each_mode(const std::tuple<B...>&) -> decltype(std::tuple_cat(
    std::declval<std::tuple<Under<B, cordon::ReadOnly>, Under<B, cordon::WorkspaceWrite>>>()...));
template <class M, class... B>
auto in_mode(const std::tuple<B...>&) -> std::tuple<Under<B, M>...>;
}  // namespace detail

/// Every backend in every confined mode, and in one of them.
using Confinements = decltype(detail::in_each_mode(std::declval<KernelBackends>()));
using Reading = decltype(detail::in_mode<cordon::ReadOnly>(std::declval<KernelBackends>()));
using Writing = decltype(detail::in_mode<cordon::WorkspaceWrite>(std::declval<KernelBackends>()));

/// Whether a backend gives the command a process table of its own, so that nothing of it outlives the run and nothing
/// outside can be seen or signalled. Not a file effect: the modes don't promise it.
template <class U>
inline constexpr bool own_processes = std::is_base_of_v<cordon::Bubblewrap, typename U::Backend>;

/// Landlock by itself: no mounts of its own, so temp directories are the host's and no path inside a root can be
/// protected.
template <class U>
inline constexpr bool landlock_alone = std::is_same_v<typename U::Backend, cordon::Landlock>;

/// Whether all of Landlock is applied, with what it scopes on this kernel: signals and abstract sockets from ABI 6 on.
template <class U>
[[nodiscard]] bool scopes() {
  using B = typename U::Backend;
  return !std::is_same_v<B, cordon::MountNamespace> && !std::is_same_v<B, cordon::Bubblewrap> &&
         cordon::os::landlock::abi<cordon::os::Kernel>() >= 6;
}

/// Whether this user can have namespaces of its own.
[[nodiscard]] inline bool can_have_namespaces() {
  static const bool can = [] {
    // Not fork and unshare: the kernel refuses that to a process with threads, such as a sanitizer has.
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
    if (pid == 0) ::_exit(0);
    int status = 1;
    return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
  }();
  return can;
}

/// What a backend gives or lacks beside the file effects. Each is said in docs/security-model.md.
template <class U>
struct Facts {
  using B = typename U::Backend;
  static constexpr bool own_temp = !landlock_alone<U>;         ///< a private /tmp and /dev/shm
  static constexpr bool protects = !landlock_alone<U>;         ///< read-only paths inside a writable root
  static constexpr bool devices_in_roots = landlock_alone<U>;  ///< a node that uid 0 put into a root can be opened
  static constexpr bool keeps_override = !own_processes<U>;    ///< uid 0 keeps CAP_DAC_OVERRIDE
  /// cordon's own spawn puts it into a pid namespace where nobody can mount, so that it needs no filter for that.
  [[nodiscard]] static bool own_namespaces() {
    return !own_processes<U> && !landlock_alone<U> && can_have_namespaces();
  }
  [[nodiscard]] static bool scoped() { return scopes<U>(); }  ///< signals and abstract sockets stop at the sandbox
  [[nodiscard]] static bool hides_processes() { return own_processes<U> || own_namespaces() || scopes<U>(); }
  [[nodiscard]] static bool guards_first_process() {  ///< without its guard, bubblewrap's own pid 1 is in reach
    return !own_processes<U> || cordon::os::landlock::abi<cordon::os::Kernel>() >= 2;
  }
};

/// What runs the commands of these tests: it takes a partial label as it comes.
template <class U>
using HarnessOf = cordon::Harness<typename U::Backend, cordon::AnswererChain<>, cordon::AcceptPartial>;

[[nodiscard]] inline bool is_root() {
  return ::geteuid() == 0;
}

[[nodiscard]] inline bool kernel_is_required() {
  const char* required = std::getenv("CORDON_REQUIRE_KERNEL");
  return required != nullptr && std::string(required) == "1";
}

/// A test that can't run here: fails where everything must run, otherwise says so.
inline void skip(const std::string& why) {
  if (kernel_is_required())
    FAIL("CORDON_REQUIRE_KERNEL=1, and this can't run: " << why);
  else
    WARN("SKIPPED: " << why);
}

/// Whether a tool that a test needs is there; a visible skip, or a failure where everything must run, when it is not.
[[nodiscard]] inline bool has_program(const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/bin/", "/usr/local/bin/"})
    if (::access((directory + name).c_str(), X_OK) == 0) return true;
  skip("there is no " + name);
  return false;
}

/// Where the programs of this test are, and where it may write.
[[nodiscard]] inline std::string test_directory() {
  if (const char* directory = std::getenv("CORDON_TEST_DIR")) return directory;
  return "/var/tmp";
}

[[nodiscard]] inline std::string program(const std::string& name) {
  if (const char* directory = std::getenv("CORDON_TEST_DIR")) return std::string(directory) + "/" + name;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

/// The argv of an attack.
[[nodiscard]] inline cordon::Argv payload(const std::string& attack, std::vector<std::string> arguments = {}) {
  std::vector<std::string> words{program("cordon_payload"), attack};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return cordon::Argv(std::move(words));
}

inline void write_file(const std::string& path, const std::string& content, unsigned mode = 0644) {
  std::ofstream(path, std::ios::binary) << content;
  if (::chmod(path.c_str(), mode) != 0) throw std::runtime_error("can't make " + path);
}

/// The content, as far as it can be read: what belongs to a process can vanish under the reader.
[[nodiscard]] inline std::string read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string content;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; fd >= 0 && (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
    content.append(buffer.data(), static_cast<std::size_t>(got));
  if (fd >= 0) ::close(fd);
  return content;
}

[[nodiscard]] inline bool exists(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0;
}

/// A directory of its own, removed with all it holds.
class Scratch {
 public:
  explicit Scratch(const std::string& parent = test_directory()) {
    std::string pattern = std::filesystem::canonical(parent).string() + "/kernel-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory can be made in " + parent);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Everything below a directory that a file effect could change: names, types, modes, owners, sizes, times, link
/// counts, extended attributes and contents. ctime is among it, which no program can set back.
using Tree = std::map<std::string, std::string>;

[[nodiscard]] inline Tree tree_of(const std::string& root) {
  Tree tree;
  const auto add = [&](const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) return;
    std::string text;
    for (long long value :
         {static_cast<long long>(facts.st_mode), static_cast<long long>(facts.st_uid),
          static_cast<long long>(facts.st_gid), static_cast<long long>(facts.st_nlink),
          static_cast<long long>(facts.st_size), static_cast<long long>(facts.st_blocks),
          static_cast<long long>(facts.st_mtim.tv_sec), static_cast<long long>(facts.st_mtim.tv_nsec),
          static_cast<long long>(facts.st_ctim.tv_sec), static_cast<long long>(facts.st_ctim.tv_nsec)})
      text += std::to_string(value) + " ";
    std::array<char, 4096> names{};
    const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
    if (length > 0) {
      for (ssize_t at = 0; at < length;) {
        const std::string name = names.data() + at;
        std::array<char, 4096> value{};
        const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
        text += name + "=" + std::string(value.data(), size > 0 ? static_cast<std::size_t>(size) : 0) + " ";
        at += static_cast<ssize_t>(name.size()) + 1;
      }
    }
    if (S_ISREG(facts.st_mode)) text += read_file(path);
    if (S_ISLNK(facts.st_mode)) text += std::filesystem::read_symlink(path).string();
    tree[path.substr(root.size())] = text;
  };
  add(root);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) add(entry.path().string());
  return tree;
}

/// A workspace, and beside it a directory that the same user may write and no sandbox may.
class Place {
 public:
  explicit Place(const std::string& parent = test_directory(), const std::string& name = "workspace")
      : scratch_(parent), workspace_(scratch_.path() + "/" + name), outside_(scratch_.path() + "/outside") {
    for (const std::string& directory :
         {workspace_, workspace_ + "/sub", outside_, outside_ + "/directory", outside_ + "/empty"})
      std::filesystem::create_directory(directory);
    write_file(workspace_ + "/mine", "12345678");
    for (const char* file : {"/file", "/other", "/directory/inner"}) write_file(outside_ + file, "12345678");
    attributes_ = ::setxattr(out("file").c_str(), "user.kept", "kept", 4, 0) == 0;
    if (::mkfifo(out("fifo").c_str(), 0600) != 0) throw std::runtime_error("no FIFO can be made");
    reader_ = ::open(out("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    before_ = tree_of(outside_);
  }
  ~Place() { ::close(reader_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] const std::string& workspace() const noexcept { return workspace_; }
  [[nodiscard]] const std::string& outside() const noexcept { return outside_; }
  [[nodiscard]] std::string in(const std::string& name) const { return workspace_ + "/" + name; }
  [[nodiscard]] std::string out(const std::string& name) const { return outside_ + "/" + name; }
  [[nodiscard]] const std::string& path() const noexcept { return scratch_.path(); }
  [[nodiscard]] bool has_attributes() const noexcept { return attributes_; }

  /// Takes the picture again: what the test itself changed is how it has to stay.
  void remember() { before_ = tree_of(outside_); }
  [[nodiscard]] const Tree& before() const noexcept { return before_; }
  [[nodiscard]] Tree now() const { return tree_of(outside_); }

  /// What came through the FIFO outside.
  [[nodiscard]] bool fifo_was_written() const {
    char byte = 0;
    return ::read(reader_, &byte, 1) > 0;
  }
  [[nodiscard]] bool outside_changed() const { return fifo_was_written() || now() != before_; }

 private:
  Scratch scratch_;
  std::string workspace_;
  std::string outside_;
  bool attributes_ = false;
  int reader_ = -1;
  Tree before_;
};

/// A place, with what root can have made beforehand.
[[nodiscard]] inline std::unique_ptr<Place> new_place() {
  auto place = std::make_unique<Place>();
  if (is_root()) REQUIRE(::mknod(place->out("null-node").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0);
  place->remember();
  return place;
}

/// The policy of mode M that a request comes to.
template <cordon::ConfinedMode M>
[[nodiscard]] cordon::Policy<M> policy_for(cordon::PolicyRequest request) {
  return support::policy<M>(std::move(request));
}

template <cordon::ConfinedMode M>
[[nodiscard]] cordon::Policy<M> policy_for(const std::string& workspace) {
  cordon::PolicyRequest request;
  request.workspace_root = workspace;
  return policy_for<M>(std::move(request));
}

/// One harness a backend, so that each probes once.
template <class U>
[[nodiscard]] HarnessOf<U>& harness() {
  static HarnessOf<U> shared;
  return shared;
}

/// False, with a visible skip or a failure, when the backend doesn't work here.
template <class U>
[[nodiscard]] bool usable(const Place& place) {
  const auto policy = policy_for<typename U::Mode>(place.workspace());
  const cordon::Availability verdict = harness<U>().backend().probe(policy);
  if (const auto* problem = verdict.problem()) skip(std::string(U::Backend::name) + ": " + problem->reason);
  return verdict.usable();
}

[[nodiscard]] inline cordon::process::RunOptions plain_options() {
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent"};
  return options;
}

/// What came of a command that ran.
struct Attempt {
  int status = -1;  ///< the exit status; 128+n for signal n
  std::string out;
  std::string err;

  [[nodiscard]] bool succeeded() const noexcept { return status == 0; }
  [[nodiscard]] bool impossible() const noexcept { return status == 2; }
};

[[nodiscard]] inline Attempt attempt_of(const cordon::RunResult& result) {
  Attempt attempt{-1, result.out.text(), result.err.text()};
  if (const auto* exited = std::get_if<cordon::process::Exited>(&result.ending)) attempt.status = exited->code;
  if (const auto* signalled = std::get_if<cordon::process::Signalled>(&result.ending))
    attempt.status = 128 + signalled->number;
  return attempt;
}

/// Runs `command` under the backend and mode of U.
template <class U>
[[nodiscard]] Attempt run_under(const cordon::Policy<typename U::Mode>& policy, const cordon::Argv& command,
                                cordon::process::RunOptions options = plain_options()) {
  return attempt_of(harness<U>().run(policy, command, std::move(options)));
}

template <class U>
[[nodiscard]] Attempt run_under(const Place& place, const cordon::Argv& command,
                                cordon::process::RunOptions options = plain_options()) {
  return run_under<U>(policy_for<typename U::Mode>(place.workspace()), command, std::move(options));
}

/// Runs a program as any other library would start it: posix_spawn, with empty input, and stdout and stderr in one
/// pipe. `environment` is all it gets.
[[nodiscard]] inline Attempt run_plainly(const std::vector<std::string>& argv,
                                         const std::vector<std::string>& environment = {"PATH=/usr/bin:/bin",
                                                                                        "LC_ALL=C"}) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  };
  int ends[2] = {-1, -1};
  int nothing[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0 || ::pipe2(nothing, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  ::close(nothing[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, nothing[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, argv.front().c_str(), &actions, nullptr, pointers(argv).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ::close(nothing[0]);
  Attempt attempt;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; failed == 0 && (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    attempt.out.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  if (failed != 0) throw std::runtime_error("can't start " + argv.front());
  int status = 0;
  ::waitpid(pid, &status, 0);
  attempt.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return attempt;
}

/// The same, of a shell script that must succeed: for preparing and cleaning up on the host.
inline void on_the_host(const std::string& script) {
  const Attempt done = run_plainly({"/bin/sh", "-c", script});
  INFO(script << "\n" << done.out);
  REQUIRE(done.status == 0);
}

/// The outcome of `body` in a process of its own, which is killed after a while.
template <class Body>
[[nodiscard]] bool in_fork(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

/// True when `condition` holds within three seconds.
template <class Condition>
[[nodiscard]] bool soon(Condition condition) {
  return support::soon(condition, std::chrono::seconds(3));
}

}  // namespace kernel_tests
