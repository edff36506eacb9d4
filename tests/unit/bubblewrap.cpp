// SPDX-License-Identifier: BSL-1.0

// The parts of the bubblewrap backend that need no bubblewrap. bubblewrap_stand_ins.cpp has the probe.

#include <cordon/backend/bubblewrap.hpp>

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "support/fake_bwrap.hpp"

namespace bubblewrap = cordon::bubblewrap;
using bubblewrap::Job;
using Words = std::vector<std::string>;

namespace {

Job read_only_job() {
  Job job;
  job.binary = "/usr/bin/bwrap";
  job.scope.workspace_root = "/w";
  return job;
}

Job writing_job(std::string workspace = "/w") {
  Job job = read_only_job();
  job.writable = true;
  job.scope.workspace_root = std::move(workspace);
  return job;
}

/// Where `words` begins in `line`; the end when it is not in it.
Words::const_iterator find(const Words& line, const Words& words) {
  return std::search(line.begin(), line.end(), words.begin(), words.end());
}

bool has(const Words& line, const Words& words) {
  return find(line, words) != line.end();
}

bool in_order(const Words& line, const Words& first, const Words& second) {
  return has(line, first) && has(line, second) && find(line, first) < find(line, second);
}

std::string number_text(std::string_view stream, std::string_view key) {
  const auto number = bubblewrap::status_number(stream, key);
  return number ? std::to_string(*number) : "none";
}

}  // namespace

TEST_CASE("T-PRV-10: the read-only profile is the tree read-only, private devices and a private PID namespace") {
  const Words options = bubblewrap::profile(read_only_job(), "/w");
  const Words expected{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc"};
  REQUIRE(options.size() > expected.size());
  CHECK(std::equal(expected.begin(), expected.end(), options.begin()));
  CHECK_FALSE(has(options, {"--bind"}));
  CHECK_FALSE(has(options, {"--tmpfs"}));
  CHECK(has(options, {"--new-session"}));
  CHECK(has(options, {"--chdir", "/w"}));
}

TEST_CASE("T-PRV-11: workspace-write adds a private /tmp and then the workspace") {
  const Words options = bubblewrap::profile(writing_job(), "/w/sub");
  const Words expected{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc"};
  REQUIRE(options.size() > expected.size());
  CHECK(std::equal(expected.begin(), expected.end(), options.begin()));
  CHECK(has(options, {"--tmpfs", "/tmp", "--bind", "/w", "/w"}));
  CHECK(has(options, {"--chdir", "/w/sub"}));
}

TEST_CASE("T-PRV-10: nothing in a profile ends the command with a thread, or takes its network away") {
  Job job = GENERATE(0, 1) == 0 ? read_only_job() : writing_job();
  job.root = GENERATE(false, true);
  const Words options = bubblewrap::profile(job, "/w");
  CHECK_FALSE(has(options, {"--die-with-parent"}));
  CHECK_FALSE(has(options, {"--unshare-net"}));
  CHECK_FALSE(has(options, {"--unshare-all"}));
}

TEST_CASE("A profile speaks only bubblewrap 0.4") {
  // The options of bubblewrap 0.4.0 that take these numbers of values.
  const std::set<std::string> none{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--new-session"};
  const std::set<std::string> one{"--dev", "--proc", "--tmpfs", "--chdir", "--remount-ro", "--cap-drop"};
  const std::set<std::string> two{"--bind", "--ro-bind"};
  Job job = writing_job();
  job.scope.extra_roots = {"/other"};
  job.scope.protected_paths = {"/w/.git"};
  job.root = GENERATE(false, true);
  const Words options = bubblewrap::profile(job, "/w");
  for (std::size_t at = 0; at < options.size();) {
    INFO(options[at]);
    REQUIRE(none.count(options[at]) + one.count(options[at]) + two.count(options[at]) == 1);
    at += 1 + one.count(options[at]) + 2 * two.count(options[at]);
    REQUIRE(at <= options.size());
  }
}

TEST_CASE("F68: root keeps no capability, and its /proc is read-only") {
  Job job = GENERATE(0, 1) == 0 ? read_only_job() : writing_job();
  job.root = true;
  const Words options = bubblewrap::profile(job, "/w");
  CHECK(has(options, {"--unshare-user"}));
  CHECK(has(options, {"--cap-drop", "ALL"}));
  CHECK(in_order(options, {"--proc", "/proc"}, {"--remount-ro", "/proc"}));
}

TEST_CASE("F68: an ordinary user needs none of that") {
  const Words options = bubblewrap::profile(writing_job(), "/w");
  CHECK_FALSE(has(options, {"--cap-drop"}));
  CHECK_FALSE(has(options, {"--remount-ro"}));
}

TEST_CASE("F38: a workspace under /tmp is bound after the private /tmp") {
  CHECK(in_order(bubblewrap::profile(writing_job("/tmp/work"), "/"), {"--tmpfs", "/tmp"},
                 {"--bind", "/tmp/work", "/tmp/work"}));
  CHECK(in_order(bubblewrap::profile(writing_job("/tmp"), "/"), {"--tmpfs", "/tmp"}, {"--bind", "/tmp", "/tmp"}));
}

TEST_CASE("A path is mounted after every path that holds it, whatever the order of the request") {
  Job job = writing_job("/a/b/c");
  job.scope.extra_roots = {"/a", "/a/b/c/d/e"};
  job.scope.protected_paths = {"/a/b/c/d", "/a/b"};
  const Words options = bubblewrap::profile(job, "/");
  CHECK(in_order(options, {"--bind", "/a", "/a"}, {"--ro-bind", "/a/b", "/a/b"}));
  CHECK(in_order(options, {"--ro-bind", "/a/b", "/a/b"}, {"--bind", "/a/b/c", "/a/b/c"}));
  CHECK(in_order(options, {"--bind", "/a/b/c", "/a/b/c"}, {"--ro-bind", "/a/b/c/d", "/a/b/c/d"}));
  CHECK(in_order(options, {"--ro-bind", "/a/b/c/d", "/a/b/c/d"}, {"--bind", "/a/b/c/d/e", "/a/b/c/d/e"}));
}

TEST_CASE("A protected path that is also a root stays protected") {
  Job job = writing_job();
  job.scope.extra_roots = {"/w/x"};
  job.scope.protected_paths = {"/w/x"};
  CHECK(in_order(bubblewrap::profile(job, "/"), {"--bind", "/w/x", "/w/x"}, {"--ro-bind", "/w/x", "/w/x"}));
}

TEST_CASE("Under read-only no root is bound, and nothing has to be protected") {
  Job job = read_only_job();
  job.scope.extra_roots = {"/other"};
  job.scope.protected_paths = {"/w/.git"};
  const Words options = bubblewrap::profile(job, "/");
  CHECK(std::count(options.begin(), options.end(), "--ro-bind") == 1);
  CHECK(std::count(options.begin(), options.end(), "--bind") == 0);
}

TEST_CASE("A broad root makes the tree writable, keeps private devices, and hides no /tmp") {
  Job job = writing_job("/");
  SECTION("as the workspace") {}
  SECTION("as an extra root") {
    job.scope.workspace_root = "/w";
    job.scope.extra_roots = {"/"};
  }
  job.scope.protected_paths = {"/w/kept"};
  const Words options = bubblewrap::profile(job, "/");
  CHECK(std::equal(options.begin(), options.begin() + 5, Words{"--bind", "/", "/", "--dev", "/dev"}.begin()));
  CHECK_FALSE(has(options, {"--tmpfs"}));
  CHECK(std::count(options.begin(), options.end(), "/") == 3);
  CHECK(has(options, {"--ro-bind", "/w/kept", "/w/kept"}));
}

TEST_CASE("A broad root under read-only is read-only") {
  Job job = read_only_job();
  job.scope.workspace_root = "/";
  CHECK(has(bubblewrap::profile(job, "/"), {"--ro-bind", "/", "/"}));
  CHECK_FALSE(has(bubblewrap::profile(job, "/"), {"--bind", "/", "/"}));
}

TEST_CASE("Under workspace-write the temp directory is one that the command can write") {
  const auto tmpdir = [](const Job& job, Words entries) {
    const Words result = bubblewrap::environment(job, std::move(entries));
    CHECK(std::count_if(result.begin(), result.end(),
                        [](const std::string& entry) { return entry.starts_with("TMPDIR="); }) == 1);
    return std::string(cordon::process::lookup(result, "TMPDIR"));
  };
  CHECK(tmpdir(writing_job(), {}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/tmp"}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/var/tmp/t"}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/tmpfoo"}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR="}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/var/tmp", "TMPDIR=/home/me"}) == "/tmp");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/w/t"}) == "/w/t");
  CHECK(tmpdir(writing_job(), {"TMPDIR=/wide"}) == "/tmp");
  Job job = writing_job();
  job.scope.extra_roots = {"/cache"};
  CHECK(tmpdir(job, {"TMPDIR=/cache/t"}) == "/cache/t");
}

TEST_CASE("F39: a TMPDIR below the private /tmp does not exist there, so it becomes /tmp itself") {
  const auto tmpdir = [](const Job& job, const std::string& value) {
    return std::string(cordon::process::lookup(bubblewrap::environment(job, {"TMPDIR=" + value}), "TMPDIR"));
  };
  CHECK(tmpdir(writing_job(), "/tmp/nope") == "/tmp");
  CHECK(tmpdir(writing_job("/tmp/work"), "/tmp/work/t") == "/tmp/work/t");
}

TEST_CASE("A TMPDIR that leaves the roots by .. is not one that the command can write") {
  const Words result = bubblewrap::environment(writing_job(), {"TMPDIR=/w/../etc"});
  CHECK(std::string(cordon::process::lookup(result, "TMPDIR")) == "/tmp");
}

TEST_CASE("zsh gets a prefix for its temporary files too") {
  const Words result = bubblewrap::environment(writing_job(), {"TMPPREFIX=/var/tmp/zsh", "A=1"});
  CHECK(std::string(cordon::process::lookup(result, "TMPPREFIX")).starts_with("/tmp/"));
  CHECK(has(result, {"A=1"}));
}

TEST_CASE("Under read-only the temp directory is the private /dev/shm, also for a workspace's own one") {
  const std::string given = GENERATE(as<std::string>(), "/var/tmp", "/w/t", "/tmp", "");
  const Words result = bubblewrap::environment(read_only_job(), {"TMPDIR=" + given, "A=1"});
  CHECK(std::string(cordon::process::lookup(result, "TMPDIR")) == "/dev/shm");
  CHECK(has(result, {"A=1"}));
}

TEST_CASE("A status number is read from bubblewrap's stream") {
  const std::string stream = "{ \"child-pid\": 4321, \"mnt-namespace\": 99 }\n{ \"exit-code\": 7 }\n";
  CHECK(number_text(stream, "child-pid") == "4321");
  CHECK(number_text(stream, "mnt-namespace") == "99");
  CHECK(number_text(stream, "exit-code") == "7");
  CHECK(number_text("{ \"exit-code\": 0 }", "exit-code") == "0");
}

TEST_CASE("A status stream that says nothing, or not all, gives no number") {
  const std::string stream =
      GENERATE(as<std::string>(), "", "\n", "{", "{ \"exit-co", "{ \"exit-code\"",
               "{ \"exit-code\":", "{ \"exit-code\": ", "{ \"exit-code\": }", "{ \"exit-code\": \"7\" }",
               "{ \"exit-code\": null }", "exit-code: 7", "{ \"not-exit-code\": 7 }", "{ \"exit-codes\": 7 }");
  INFO(stream);
  CHECK(number_text(stream, "exit-code") == "none");
}

TEST_CASE("A status number that no int can hold is no number, and certainly not another one") {
  const std::string number =
      GENERATE(as<std::string>(), "4294967296", "2147483648", "-4294967296", "99999999999999999999999");
  INFO(number);
  CHECK(number_text("{ \"exit-code\": " + number + " }", "exit-code") == "none");
}

TEST_CASE("The last line is the last one that says something, on one line") {
  CHECK(bubblewrap::last_line("") == "");
  CHECK(bubblewrap::last_line("\n\r\n  \n") == "");
  CHECK(bubblewrap::last_line("one") == "one");
  CHECK(bubblewrap::last_line("one\ntwo\n") == "two");
  CHECK(bubblewrap::last_line("one\r\ntwo\r\n\r\n") == "two");
  CHECK(bubblewrap::last_line("one\ntwo\n   \n\t\n") == "two");
  CHECK(bubblewrap::last_line("\n\none") == "one");
}

TEST_CASE("The last line has no control characters left in it") {
  const std::string line = bubblewrap::last_line("a\n\033[31mred\007\tx\x7f\rrest\n");
  CHECK(
      std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  CHECK(line.find("red") != std::string::npos);
  CHECK(line.find("rest") != std::string::npos);
}

TEST_CASE("Every way in which bubblewrap is known to fail has a remedy of its own") {
  const Words lines{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
                    "bwrap: Can't read /proc/sys/kernel/overflowuid: Permission denied",
                    "bwrap: No permissions to create a new namespace, likely because the kernel does not allow it",
                    "bwrap: Failed to make / slave: Permission denied",
                    "bwrap: pivot_root: Invalid argument",
                    "bwrap: fchdir to oldroot: No such file or directory",
                    "bwrap: Creating new namespace failed: No space left on device",
                    "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces. "
                    "bwrap must be installed setuid on such systems.",
                    "bwrap: Can't bind mount / on /newroot/: Unable to apply mount flags: remount \"/newroot/mnt/s\": "
                    "Permission denied",
                    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"};
  const std::string fallback = bubblewrap::remedy_for("something else");
  CHECK_FALSE(fallback.empty());
  std::set<std::string> remedies;
  for (const std::string& line : lines) {
    INFO(line);
    const std::string remedy = bubblewrap::remedy_for(line);
    CHECK(remedy != fallback);
    CHECK(remedy.find("full access") == std::string::npos);
    CHECK(remedy.find("danger") == std::string::npos);
    CHECK(remedy.find("apparmor_restrict_unprivileged_userns") == std::string::npos);  // F1: no host-wide switch
    CHECK(remedy.find('\n') == std::string::npos);
    remedies.insert(remedy);
  }
  CHECK(remedies.size() == lines.size());
}

TEST_CASE("T-PRV-07: a probe limit of zero or less is refused at construction") {
  const auto limit = std::chrono::milliseconds(GENERATE(0, -1, -5000));
  cordon::BubblewrapOptions options;
  options.probe_limit = limit;
  CHECK_THROWS_AS(cordon::Bubblewrap(options), cordon::PolicyInvalidError);
}

TEST_CASE("The command follows a -- in every argv, word for word") {
  const cordon::Argv command({"prog", "--bind", "/", "/", "--", "a b", "", "$(x)"});
  const bool guarded = GENERATE(false, true);
  const bool attached = GENERATE(false, true);
  Job job = writing_job();
  job.guarded = guarded;
  const std::vector<std::string> environment{"SECRET=1"};
  const std::string directory = "/w";
  const bubblewrap::Launch launch(job, {command, environment, directory}, attached);
  const Words& argv = launch.setup().argv;
  REQUIRE(argv.size() > command.elements().size() + 3);
  CHECK(argv[0] == job.binary);
  CHECK(argv[1] == "--args");
  CHECK(argv[3] == "--");
  const auto begin = argv.end() - static_cast<std::ptrdiff_t>(command.elements().size());
  CHECK(Words(begin, argv.end()) == command.elements());
  CHECK(*(begin - 1) == "--");
}

TEST_CASE("F72: bubblewrap itself gets no variable, and the command's are on no command line") {
  const cordon::Argv command({"prog"});
  Job job = writing_job();
  job.guarded = GENERATE(false, true);
  const std::vector<std::string> environment{"LD_PRELOAD=/w/evil.so", "A=secret"};
  const std::string directory = "/w";
  const bubblewrap::Launch launch(job, {command, environment, directory}, true);
  CHECK(launch.setup().environment.empty());
  for (const std::string& word : launch.setup().argv) {
    CHECK(word.find("evil") == std::string::npos);
    CHECK(word.find("secret") == std::string::npos);
  }
}

TEST_CASE("F20: every descriptor that bubblewrap gets is given for one use only") {
  const cordon::Argv command({"prog"});
  Job job = writing_job();
  job.guarded = GENERATE(false, true);
  const std::vector<std::string> environment{"A=1"};
  const std::string directory = "/w";
  const bubblewrap::Launch launch(job, {command, environment, directory}, GENERATE(false, true));
  const auto& descriptors = launch.setup().descriptors;
  Words words = launch.setup().argv;
  const std::string content = cordon::os::read_rest<cordon::os::Kernel>(descriptors.front(), 1 << 20);
  for (std::size_t at = 0; at < content.size(); at += words.back().size() + 1) words.emplace_back(content.c_str() + at);
  const std::string of_this_program = "/proc/self/fd/";
  std::multiset<std::string> numbers;
  for (std::size_t at = 0; at != words.size(); ++at) {
    if (words[at].starts_with(of_this_program)) numbers.insert(words[at].substr(of_this_program.size()));
    if (words[at].ends_with("-fd") || words[at] == "--args") numbers.insert(words.at(at + 1));
  }
  std::multiset<std::string> expected;
  for (std::size_t i = 0; i != descriptors.size(); ++i) expected.insert(std::to_string(3 + i));
  CHECK(numbers == expected);
  CHECK(std::set<int>(descriptors.begin(), descriptors.end()).size() == descriptors.size());
}

TEST_CASE("bubblewrap's options arrive in a memory file, as its first descriptor") {
  const cordon::Argv command({"prog"});
  const std::vector<std::string> environment{"A=b=c"};
  const std::string directory = "/w/sub";
  const Job job = writing_job();
  const bubblewrap::Launch launch(job, {command, environment, directory}, false);
  REQUIRE_FALSE(launch.setup().descriptors.empty());
  CHECK(launch.setup().argv[2] == "3");
  const std::string content = cordon::os::read_rest<cordon::os::Kernel>(launch.setup().descriptors.front(), 1 << 20);
  Words options;
  for (std::size_t at = 0; at < content.size(); at += options.back().size() + 1)
    options.emplace_back(content.c_str() + at);
  CHECK(has(options, bubblewrap::profile(job, directory)));
  CHECK(has(options, {"--setenv", "A", "b=c"}));
}

TEST_CASE("The guard is told the roots that the command may change, and no protected path") {
  Job job = writing_job();
  job.scope.extra_roots = {"/other"};
  job.scope.protected_paths = {"/w/kept"};
  const cordon::Argv command({"prog", "x"});
  const auto words = bubblewrap::guard_words(job, command);
  const Words granted = words.all("--write");
  CHECK(std::set<std::string>(granted.begin(), granted.end()) == std::set<std::string>{"/w", "/other", "/tmp"});
  CHECK(words.command == command.elements());
  CHECK(bubblewrap::guard_words(read_only_job(), command).all("--write").empty());
}

TEST_CASE("An ordinary user's launch changes no mount of its own") {
  CHECK(bubblewrap::before_exec(read_only_job()).empty());
}
