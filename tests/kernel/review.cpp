// SPDX-License-Identifier: BSL-1.0

// What a hostile review found once, so that it stays found.

#include <pty.h>

#include <cstdlib>
#include <set>

#include "kernel/support.hpp"

using namespace kernel_tests;

namespace {

/// The name of a terminal of the host that this user may open.
class HostTerminal {
 public:
  HostTerminal() {
    char name[64] = {};
    if (::openpty(&main_, &other_, name, nullptr, nullptr) == 0) name_ = name;
  }
  ~HostTerminal() {
    ::close(main_);
    ::close(other_);
  }
  HostTerminal(const HostTerminal&) = delete;
  HostTerminal& operator=(const HostTerminal&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// What was written to the terminal so far.
  [[nodiscard]] std::string shown() const {
    ::fcntl(main_, F_SETFL, O_NONBLOCK);
    char buffer[256];
    const ssize_t got = ::read(main_, buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
  }

 private:
  int main_ = -1;
  int other_ = -1;
  std::string name_;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("The terminals of the host are out of reach, or can at least not be typed into", "[review]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("python3")) return;
  const HostTerminal terminal;
  REQUIRE_FALSE(terminal.name().empty());
  const std::string script =
      "import fcntl, os, sys, termios\n"
      "try:\n"
      "  fd = os.open(sys.argv[1], os.O_RDWR)\n"
      "  os.write(fd, b'written')\n"
      "except OSError:\n"
      "  sys.exit(1)\n"
      "try:\n"
      "  fcntl.ioctl(fd, termios.TIOCSTI, b'x')\n"
      "except OSError:\n"
      "  sys.exit(1)\n";
  const Attempt attempt = run_under<TestType>(place, cordon::Argv({"/usr/bin/python3", "-c", script, terminal.name()}));
  CHECK(attempt.status == 1);
  if (!landlock_alone<TestType>) CHECK(terminal.shown().empty());
}

TEMPLATE_LIST_TEST_CASE("A file system can't be mounted anew inside, not even detached", "[review]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Attempt attempt = run_under<TestType>(place, payload("open-file-system", {"tmpfs"}));
  INFO(attempt.out);
  CHECK(attempt.status == 1);
}

TEMPLATE_LIST_TEST_CASE("Message queues are the sandbox's own, where it has namespaces", "[review]", Confinements) {
  const Place place;
  if (landlock_alone<TestType> || !usable<TestType>(place)) return;
  const Attempt attempt = run_under<TestType>(place, cordon::Argv({"/bin/readlink", "/proc/self/ns/ipc"}));
  CHECK(attempt.status == 0);
  CHECK(attempt.out != std::filesystem::read_symlink("/proc/self/ns/ipc").string() + "\n");
}

TEMPLATE_LIST_TEST_CASE("A backend with mounts has namespaces ready, and bubblewrap and Landlock have a keeper",
                        "[review]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  using cordon::process::TreeKeeper;
  const auto result = harness<TestType>().run(policy_for<typename TestType::Mode>(place.workspace()),
                                              cordon::shell("setsid sleep 600 & exit 0"), plain_options());
  CHECK(result.tree == (Facts<TestType>::own_namespaces() ? TreeKeeper::pid_namespace : TreeKeeper::subreaper));
  CHECK((result.outlived >= 1 || own_processes<TestType>));
}

TEMPLATE_LIST_TEST_CASE("No command can trace another", "[review]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto other =
      cordon::process::spawn(harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()),
                                                         cordon::Argv({"/bin/sleep", "600"})),
                             plain_options());
  CHECK(run_under<TestType>(place, payload("trace", {std::to_string(other.pid())})).status == 1);
}

TEMPLATE_LIST_TEST_CASE("No two commands are in the same namespaces at the same time", "[review]", Confinements) {
  const Place place;
  if (!Facts<TestType>::own_namespaces() || !usable<TestType>(place)) return;
  const auto confined = harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()),
                                                    cordon::Argv({"/bin/sleep", "600"}));
  const auto namespaces_of = [](cordon::process::Child& child) {
    std::set<std::string> found;
    for (const char* space : {"user", "pid", "mnt", "ipc"})
      found.insert(std::filesystem::read_symlink("/proc/" + std::to_string(child.pid()) + "/ns/" + space).string());
    return found;
  };
  auto first = cordon::process::spawn(confined, plain_options());
  auto second = cordon::process::spawn(confined, plain_options());
  auto ours = namespaces_of(first);
  const std::size_t count = ours.size();
  ours.merge(namespaces_of(second));
  CHECK(ours.size() == 2 * count);
}

TEST_CASE("Landlock grants no TMPDIR that a symlink leads to", "[review]") {
  using Subject = Under<cordon::Landlock, cordon::WorkspaceWrite>;
  Place place;
  if (!usable<Subject>(place)) return;
  const std::string link = place.path() + "/temp";
  std::filesystem::create_symlink(place.outside(), link);
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("TMPDIR", link.c_str(), 1);
  cordon::Landlock backend;
  const auto confined = cordon::confine(backend, policy_for<cordon::WorkspaceWrite>(place.workspace()),
                                        cordon::Argv({"/bin/sh", "-c", "echo x >" + place.out("new")}));
  if (before != nullptr)
    ::setenv("TMPDIR", saved.c_str(), 1);
  else
    ::unsetenv("TMPDIR");
  CHECK(confined.shared_temp() == std::vector<std::string>{"/tmp", "/dev/shm"});
  (void)cordon::process::run(confined, plain_options());
  CHECK_FALSE(place.outside_changed());
}

TEST_CASE("A workspace below the private /tmp is put nowhere else by what an earlier command left there", "[review]") {
  using Subject = Under<cordon::Layered<cordon::MountNamespace, cordon::Landlock>, cordon::WorkspaceWrite>;
  const Scratch parent("/tmp");
  const std::string workspace = parent.path() + "/deep/project";
  std::filesystem::create_directories(workspace);
  Place place;
  if (!usable<Subject>(place)) return;
  const auto policy = policy_for<cordon::WorkspaceWrite>(workspace);
  const auto run = [&](const std::string& script) {
    return harness<Subject>().run(policy, cordon::Argv({"/bin/sh", "-c", script}), plain_options());
  };
  (void)run("cd / && mv '" + parent.path() + "' /tmp/moved; ln -s '" + place.outside() + "' '" + parent.path() + "'");
  try {
    (void)run("true");
  } catch (const cordon::Error&) {
    // nothing could be put there: as good
  }
  CHECK_FALSE(place.outside_changed());
}
