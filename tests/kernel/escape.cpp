// SPDX-License-Identifier: BSL-1.0

// Every attack of the list, under each backend and mode. Names hold the rows of the specification that they pin.

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::FileEffect;

namespace {

/// In the arguments @O is the directory outside, @W the workspace, @P the process id of this program, @C the
/// capabilities that a command may have.
struct Attack {
  const char* row;
  FileEffect effect;  ///< what would have happened; a backend that calls it missing may let it
  const char* attack;
  std::vector<std::string> arguments;
};

std::vector<std::string> filled_in(std::vector<std::string> arguments, const Place& place,
                                   const std::string& capabilities) {
  const std::pair<std::string, std::string> names[] = {
      {"@O", place.outside()}, {"@W", place.workspace()}, {"@P", std::to_string(::getpid())}, {"@C", capabilities}};
  for (std::string& argument : arguments)
    for (const auto& [name, value] : names)
      for (auto at = argument.find(name); at != std::string::npos; at = argument.find(name))
        argument.replace(at, 2, value);
  return arguments;
}

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all{
      // the mount tree and the root
      {"T-KRN-12 T-KRN-13 SBX-K6 F68", FileEffect::mount_topology, "remount", {"@O", "@O/file"}},
      {"T-KRN-13 mount", FileEffect::mount_topology, "mount-something", {"@O"}},
      {"T-KRN-13 umount", FileEffect::mount_topology, "unmount", {}},
      {"T-KRN-13 unshare", FileEffect::mount_topology, "nested-namespace", {"@O", "@O/file"}},
      {"pivot_root", FileEffect::mount_topology, "pivot-root", {"@O", "@O/file"}},
      {"the host's cgroups", FileEffect::mount_topology, "open-file-system", {"cgroup2"}},
      {"chroot", FileEffect::write, "change-root", {"@O", "@O/file"}},
      {"cwd", FileEffect::write, "climb", {"@O/file"}},
      {"F68 capabilities", FileEffect::mount_topology, "keep-capabilities", {"@C"}},
      // other processes
      {"T-KRN-15 F87 LLR-K6 signal the harness", FileEffect::write, "signal", {"@P"}},
      {"LLR-K8 files of the harness", FileEffect::write, "process-files", {"@P", "@O/file"}},
      {"LLR-K8 ptrace the harness", FileEffect::write, "trace", {"@P"}},
      {"LLR-K8 memory of the harness", FileEffect::write, "write-memory", {"@P"}},
      {"LLR-K8 descriptors of the harness", FileEffect::write, "take-descriptor", {"@P"}},
      {"LLR-K8 files of pid 1", FileEffect::write, "process-files", {"1", "@O/file"}},
      {"LLR-K8 ptrace pid 1", FileEffect::write, "trace", {"1"}},
      {"LLR-K8 memory of pid 1", FileEffect::write, "write-memory", {"1"}},
      {"LLR-K8 descriptors of pid 1", FileEffect::write, "take-descriptor", {"1"}},
      {"F86 keyctl", FileEffect::fifo_write, "keyring-to-parent", {"@O/fifo"}},
      {"set-uid su", FileEffect::mount_topology, "become-by-setuid", {"/usr/bin/su"}},
      {"set-uid mount", FileEffect::mount_topology, "become-by-setuid", {"/usr/bin/mount"}},
      // paths
      {"symlink out: create", FileEffect::create, "create-file", {"@W/out-link/new"}},
      {"symlink out: write", FileEffect::write, "append", {"@W/file-link"}},
      {"symlink out: truncate", FileEffect::truncate, "truncate", {"@W/file-link"}},
      {"symlink out: truncate by open", FileEffect::truncate, "open-truncating", {"@W/file-link"}},
      {"symlink out: remove", FileEffect::remove, "unlink", {"@W/out-link/file"}},
      {"symlink out: mode", FileEffect::metadata, "chmod", {"@W/file-link"}},
      {"symlink out: attribute", FileEffect::metadata, "set-attribute", {"@W/file-link"}},
      {"symlink out: rename", FileEffect::rename_link, "rename", {"@W/mine", "@W/out-link/planted"}},
      {"symlink out: hard link", FileEffect::rename_link, "link", {"@W/out-link/file", "@W/hard"}},
      {"symlink out: FIFO", FileEffect::fifo_write, "append", {"@W/out-link/fifo"}},
      {".. behind a symlink", FileEffect::create, "create-file", {"@W/out-link/../planted"}},
      {".. out of the workspace", FileEffect::write, "append", {"@W/sub/../../outside/file"}},
      {"symlink by way of /proc", FileEffect::write, "append", {"/proc/self/root@O/file"}},
      {"symlink by way of the directory", FileEffect::write, "append", {"/proc/self/cwd/../outside/file"}},
      {"rename in", FileEffect::rename_link, "rename", {"@O/file", "@W/stolen"}},
      {"rename out", FileEffect::rename_link, "rename", {"@W/mine", "@O/planted"}},
      {"T-KRN-18 new hard link", FileEffect::rename_link, "link", {"@O/file", "@W/hard"}},
      {"F69 handle", FileEffect::write, "write-by-handle", {"@O/file", "@W"}},
      {"F82 io_uring", FileEffect::write, "write-by-io-uring", {"@O/file"}},
      // metadata
      {"T-KRN-14 F48 LLR-K5 mode", FileEffect::metadata, "chmod", {"@O/file"}},
      {"T-KRN-14 F48 LLR-K5 times", FileEffect::metadata, "set-times", {"@O/file"}},
      {"T-KRN-14 F48 LLR-K5 owner", FileEffect::metadata, "chown-to-self", {"@O/file"}},
      {"T-KRN-14 F48 LLR-K5 attribute", FileEffect::metadata, "set-attribute", {"@O/file"}},
      {"ACL", FileEffect::metadata, "set-acl", {"@O/file"}},
      {"fchmodat2", FileEffect::metadata, "chmod-newest", {"@O/file"}},
      {"mode of sinks",
       FileEffect::metadata,
       "chmod-to-same",
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}},
      {"mode of kernel files", FileEffect::metadata, "chmod-to-same", {"/proc/version", "/sys"}},
      {"mode by descriptor", FileEffect::metadata, "chmod-open-descriptors", {}},
      // descriptors and terminals
      {"F70 LLR-K8 inherited", FileEffect::write, "inherited-descriptors", {}},
      {"F70 standard streams", FileEffect::write, "reopen-standard-streams", {}},
      {"F67 terminals", FileEffect::device, "inject-into-terminal", {}},
      // devices, FIFOs, the kernel's own files
      {"T-KRN-13 mknod outside", FileEffect::device, "make-character-device", {"@O/node"}},
      {"LLR mknod c in the workspace", FileEffect::device, "make-character-device", {"@W/node"}},
      {"LLR mknod b in the workspace", FileEffect::device, "make-block-device", {"@W/node"}},
      {"devices",
       FileEffect::device,
       "open-for-writing",
       {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/port", "/dev/kvm", "/dev/fuse",
        "/dev/loop0", "/dev/loop-control", "/dev/net/tun", "/dev/uinput", "/dev/vsock", "/dev/rtc0", "/dev/tty1",
        "/dev/ttyS0"}},
      {"T-KRN-17 SBX-K9 FIFO", FileEffect::fifo_write, "append", {"@O/fifo"}},
      {"core_pattern", FileEffect::write, "open-for-writing", {"/proc/sys/kernel/core_pattern"}},
      {"binfmt_misc", FileEffect::write, "open-for-writing", {"/proc/sys/fs/binfmt_misc/register"}},
      {"sysrq-trigger", FileEffect::write, "open-for-writing", {"/proc/sysrq-trigger"}},
      {"cgroups",
       FileEffect::write,
       "open-for-writing",
       {"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/pids/release_agent", "/sys/fs/cgroup/systemd/release_agent"}},
      {"everything in /sys", FileEffect::write, "open-kernel-files", {"/sys"}},
      // Left out: what belongs to the sandbox's own namespaces and ends with them, and the pressure triggers, which
      // live in the descriptor that sets them.
      {"everything in /proc",
       FileEffect::write,
       "open-kernel-files",
       {"/proc", "/proc/sys/fs/mqueue", "/proc/sys/kernel/auto_msgmni", "/proc/sys/kernel/msgmax",
        "/proc/sys/kernel/msgmnb", "/proc/sys/kernel/msgmni", "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/kernel/pid_max", "/proc/sys/kernel/sem", "/proc/sys/kernel/shm_rmid_forced",
        "/proc/sys/kernel/shmall", "/proc/sys/kernel/shmmax", "/proc/sys/kernel/shmmni", "/proc/sys/kernel/sem_next_id",
        "/proc/sys/kernel/msg_next_id", "/proc/sys/kernel/shm_next_id", "/proc/sys/user", "/proc/pressure"}},
  };
  return all;
}

/// A socket that listens; connections wait in its queue.
class Listener {
 public:
  Listener(const std::string& name, bool abstract) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t offset = abstract ? 1 : 0;
    std::copy(name.begin(), name.end(), address.sun_path + offset);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + offset + name.size());
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(fd_, 4) != 0)
      throw std::runtime_error("no listener: " + name);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  int fd_ = -1;
};

/// Makes a terminal, and a process for which it is the controlling one; `body` runs there and gives its exit status.
/// What it wrote there comes back as its output.
template <class Body>
Attempt on_a_terminal(Body&& body) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return {};
  const std::string name = ::ptsname(terminal);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::setsid();
    const int own = ::open(name.c_str(), O_RDWR);
    if (own < 0 || ::ioctl(own, TIOCSCTTY, 0) != 0) ::_exit(99);
    for (int fd : {0, 1, 2}) ::dup2(own, fd);
    ::_exit(body());
  }
  Attempt attempt;
  std::array<char, 4096> shown;
  for (ssize_t got = 0; (got = ::read(terminal, shown.data(), shown.size())) > 0;)  // an error: it has no process left
    attempt.out.append(shown.data(), static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  attempt.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return attempt;
}

/// What the label of U says can happen outside.
template <class U>
cordon::EffectSet missing_under(const Place& place) {
  return harness<U>()
      .confine(policy_for<typename U::Mode>(place.workspace()), cordon::Argv({"/bin/true"}))
      .enforcement()
      .missing();
}

template <class U>
inline constexpr bool can_write = std::is_same_v<typename U::Mode, cordon::WorkspaceWrite>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("Each attack is refused, and outside nothing changes", "[escape]", Confinements) {
  const Place first;
  if (!usable<TestType>(first)) return;
  const cordon::EffectSet missing = missing_under<TestType>(first);
  const std::string capabilities = is_root() && Facts<TestType>::keeps_override ? "2" : "0";  // CAP_DAC_OVERRIDE
  for (const Attack& attack : attacks()) {
    Place place;
    std::filesystem::create_symlink(place.outside(), place.in("out-link"));
    std::filesystem::create_symlink(place.out("file"), place.in("file-link"));
    const Attempt attempt =
        run_under<TestType>(place, payload(attack.attack, filled_in(attack.arguments, place, capabilities)));
    INFO(attack.row << " (" << attack.attack << "): " << attempt.out << attempt.err);
    if (attempt.impossible()) WARN("not possible here: " << attack.row << ": " << attempt.out);
    if (missing.contains(attack.effect)) {
      if (attack.effect == FileEffect::mount_topology)
        CHECK_FALSE(place.outside_changed());  // no mount over it gives way
      continue;
    }
    if (attack.attack == std::string("signal") && !Facts<TestType>::hides_processes()) {
      CHECK(attempt.succeeded());  // not a file effect, and not governed by mounts alone
      continue;
    }
    CHECK_FALSE(place.outside_changed());
    CHECK_FALSE(exists(place.path() + "/planted"));
    const bool on_first_process = !attack.arguments.empty() && attack.arguments.front() == "1";
    if (on_first_process && !Facts<TestType>::guards_first_process()) continue;  // it can do no more than the command
    CHECK((attempt.status == 1 || attempt.impossible()));
  }
}

TEMPLATE_LIST_TEST_CASE("What is not a file effect is not governed, and this is what happens", "[escape][not-governed]",
                        Confinements) {
  Place place;
  if (!usable<TestType>(place)) return;

  SECTION("T-KRN-16 F79 SBX-K9 LLR-K7: a Unix socket outside can be connected to") {
    const Listener listener(place.out("socket"), false);
    place.remember();
    CHECK(run_under<TestType>(place, payload("connect-path", {place.out("socket")})).succeeded());
    CHECK_FALSE(place.outside_changed());
  }
  SECTION("F80: so can an abstract one, unless Landlock scopes it") {
    const std::string name = "cordon-test-" + std::to_string(::getpid());
    const Listener listener(name, true);
    CHECK(run_under<TestType>(place, payload("connect-abstract", {name})).succeeded() != Facts<TestType>::scoped());
  }
  SECTION("T-KRN-18 SBX-K10: a hard link made before the run leads outside, where the workspace can be written") {
    std::filesystem::create_hard_link(place.out("file"), place.in("hard"));
    place.remember();
    CHECK(run_under<TestType>(place, payload("append", {place.in("hard")})).succeeded() == can_write<TestType>);
    CHECK(place.outside_changed() == can_write<TestType>);
    CHECK(read_file(place.out("file")) == (can_write<TestType> ? "12345678x" : "12345678"));
  }
  SECTION("F84: file modes don't touch the network") {
    if (!has_program("python3")) return;
    const Attempt attempt =
        run_under<TestType>(place, cordon::Argv({"/usr/bin/python3", "-c",
                                                 "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
                                                 "c = socket.create_connection(s.getsockname())\nprint('talked')"}));
    INFO(attempt.err);
    CHECK(attempt.out == "talked\n");
  }
}

TEMPLATE_LIST_TEST_CASE("A command lives in namespaces of its own (lessons 4)", "[escape]", Confinements) {
  if constexpr (std::is_same_v<typename TestType::Backend, cordon::Bubblewrap>) {
    const Place place;
    if (!usable<TestType>(place)) return;
    for (const char* kind : {"user", "mnt", "pid", "ipc"}) {
      const std::string link = std::string("/proc/self/ns/") + kind;
      const Attempt attempt = run_under<TestType>(place, cordon::Argv({"/bin/readlink", link}));
      CHECK(attempt.status == 0);
      CHECK(attempt.out != std::filesystem::read_symlink(link).string() + "\n");
    }
  }
}

TEMPLATE_LIST_TEST_CASE("A command with a process table of its own sees nobody else's processes", "[escape]",
                        Confinements) {
  const Place place;
  if (!own_processes<TestType> || !usable<TestType>(place)) return;
  const std::string harness_directory = "/proc/" + std::to_string(::getpid());
  CHECK_FALSE(run_under<TestType>(place, cordon::Argv({"/bin/ls", "-d", harness_directory})).succeeded());
  CHECK(run_under<TestType>(place, cordon::Argv({"/bin/sh", "-c", "test -d /proc/$$ && test -r /proc/self/status"}))
            .succeeded());
}

TEMPLATE_LIST_TEST_CASE("A process that swaps a directory for a symlink wins no race", "[escape]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (!can_write<TestType> && !Facts<TestType>::own_temp) {
    SUCCEED("there is nothing that it could swap");
    return;
  }
  const std::string where = can_write<TestType> ? place.workspace() : "/dev/shm";
  const Attempt attempt = run_under<TestType>(place, payload("race-directory", {where, place.outside()}));
  INFO(attempt.out);
  CHECK(attempt.status == 1);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("No descriptor of the caller gets in, however it was opened (F70, LLR-K8)", "[escape]",
                        Confinements) {
  Place place;
  if (!usable<TestType>(place)) return;
  const int file = ::open(place.out("file").c_str(), O_RDWR);  // inherited by every child that doesn't close it
  const int directory = ::open(place.outside().c_str(), O_RDONLY | O_DIRECTORY);
  const int high = ::fcntl(file, F_DUPFD, 700);
  const cordon::Argv command = payload("inherited-descriptors");
  const Attempt attempt = run_under<TestType>(place, command);
  Attempt without_runner = attempt;
  if (std::is_same_v<typename TestType::Backend, cordon::Bubblewrap>)  // the only one that can do without
    without_runner = run_plainly({program("cordon_without_runner"), std::string(TestType::Mode::name),
                                  place.workspace(), "--", command.elements()[0], command.elements()[1]});
  const auto confined = harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()), command);
  const Attempt plain = run_plainly(confined.argv());
  for (int fd : {file, directory, high}) ::close(fd);
  INFO(attempt.out << without_runner.out << plain.out);
  CHECK(attempt.status == 1);
  CHECK(without_runner.status == 1);
  CHECK(plain.status == 1);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("Nothing can be typed into the caller's terminal (F67)", "[escape]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto confined = harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()),
                                                    payload("inject-into-terminal"));
  // The attack itself works: from outside a sandbox, where this kernel lets anybody type at all.
  const auto spawned_with_the_terminal = [](const std::vector<std::string>& argv) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    char path[] = "PATH=/usr/bin:/bin";
    char* environment[] = {path, nullptr};
    pid_t pid = -1;
    int status = 0;
    if (::posix_spawn(&pid, words[0], nullptr, nullptr, words.data(), environment) != 0 ||
        ::waitpid(pid, &status, 0) < 0)
      return 98;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
  };
  if (!on_a_terminal([&] { return spawned_with_the_terminal(confined.command().elements()); }).succeeded())
    WARN("typing into a terminal is switched off here (dev.tty.legacy_tiocsti), so nothing is shown by this test");
  const Attempt by_cordon = on_a_terminal([&] {
    const Attempt attempt = attempt_of(harness<TestType>().run(confined, plain_options()));
    (void)!::write(1, attempt.out.data(), attempt.out.size());
    return attempt.status;
  });
  // What it has of its own it may type into; into the caller's nothing comes, however much it tries.
  for (const bool terminal : {false, true}) {
    const Attempt typed = on_a_terminal([&] {
      termios raw{};
      ::tcgetattr(0, &raw);
      ::cfmakeraw(&raw);
      ::tcsetattr(0, TCSANOW, &raw);
      cordon::process::RunOptions options = plain_options();
      if (terminal) options.terminal.emplace();
      (void)harness<TestType>().run(confined, std::move(options));
      pollfd input{0, POLLIN, 0};
      return ::poll(&input, 1, 0);
    });
    INFO((terminal ? "on a terminal of its own" : "without a terminal"));
    CHECK(typed.status == 0);
    if (!landlock_alone<TestType>) CHECK(typed.out == "");
  }
  const Attempt by_another = on_a_terminal([&] { return spawned_with_the_terminal(confined.argv()); });
  for (const Attempt& attempt : {by_cordon, by_another}) {
    INFO(attempt.out);
    CHECK(attempt.status == 1);
    CHECK(attempt.out.find("refused: terminals") != std::string::npos);
  }
}

TEMPLATE_LIST_TEST_CASE("Device nodes and set-uid programs that lie about are dead inside", "[escape]", Confinements) {
  Place place;
  if (!usable<TestType>(place)) return;
  if (!is_root()) {
    SUCCEED("only uid 0 can make them");
    return;
  }
  REQUIRE(::mknod(place.in("null-node").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0);
  const std::string copy = place.in("payload");
  std::filesystem::copy_file(program("cordon_payload"), copy);
  REQUIRE(::chown(copy.c_str(), 31337, 31337) == 0);
  REQUIRE(::chmod(copy.c_str(), 06755) == 0);
  if (!(Facts<TestType>::devices_in_roots && can_write<TestType>)) {
    CHECK(run_under<TestType>(place, payload("open-for-writing", {place.in("null-node")})).status == 1);
    CHECK(run_under<TestType>(place, payload("control-device", {place.in("null-node")})).succeeded() ==
          missing_under<TestType>(place).contains(FileEffect::device));
  }
  CHECK(run_under<TestType>(place, payload("become-by-setuid", {copy})).status == 1);
}

TEMPLATE_LIST_TEST_CASE("A working directory that leads outside grants nothing there", "[escape]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  std::filesystem::create_symlink(place.outside(), place.in("out-link"));
  for (const std::string& directory :
       {place.outside(), place.in("out-link"), place.out("directory"), std::string("/")}) {
    cordon::process::RunOptions options = plain_options();
    options.working_directory = directory;
    CHECK_FALSE(run_under<TestType>(place, cordon::Argv({"/bin/sh", "-c", "echo x >new"}), options).succeeded());
    CHECK_FALSE(run_under<TestType>(place, cordon::Argv({"/bin/sh", "-c", "echo x >>file"}), options).succeeded());
  }
  CHECK_FALSE(place.outside_changed());
  CHECK_FALSE(exists("/new"));
}

TEMPLATE_LIST_TEST_CASE(
    "Temporary files and shared memory are the sandbox's own, or said to be shared (T-KRN-06, T-KRN-07, T-KRN-08, "
    "SBX-K7, F41)",
    "[escape]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto confined =
      harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()), cordon::Argv({"/bin/true"}));
  const auto& shared = confined.shared_temp();
  CHECK((shared.empty() || !Facts<TestType>::own_temp));
  const std::string name = "/cordon-test-" + std::to_string(::getpid());
  for (const std::string& directory : {std::string("/tmp"), std::string("/dev/shm")}) {
    const std::string file = directory + name;
    const Attempt attempt =
        run_under<TestType>(place, cordon::Argv({"/bin/sh", "-c", "echo x >\"$1\" && cat \"$1\"", "sh", file}));
    const bool own = Facts<TestType>::own_temp && directory == "/dev/shm";  // the one that every mode has
    CHECK(attempt.out == (can_write<TestType> || own ? "x\n" : ""));
    CHECK(exists(file) == (std::find(shared.begin(), shared.end(), directory) != shared.end()));
    ::unlink(file.c_str());
  }
}
