// SPDX-License-Identifier: BSL-1.0

// What is read out of the words of real programs: what the sandbox refused, and what it did not.

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::Denial;
using cordon::FileEffect;

namespace {

template <class U>
cordon::RunResult result_of(const Place& place, const std::string& script, const std::string& language = "C") {
  auto options = plain_options();
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=" + language,
                         "O=" + place.outside(), "W=" + place.workspace()};
  return harness<U>().run(policy_for<typename U::Mode>(place.workspace()), cordon::shell(script), std::move(options));
}

/// The paths that were refused; "?" for one that is not known.
template <class U>
std::string refused(const Place& place, const std::string& script, const std::string& language = "C") {
  std::string paths;
  const auto result = result_of<U>(place, script, language);
  INFO(script << ": " << result.err.text());
  for (const Denial& denial : result.denials) paths += (denial.path.empty() ? "?" : denial.path) + " ";
  CHECK(result.denied() == !paths.empty());
  return paths;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("F92, T-DEN-03, T-DEN-04: what real programs say of a write outside is a denial, with its path",
                        "[denials]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string file = place.out("file") + " ";
  const std::string made = place.out("new") + " ";
  CHECK(refused<TestType>(place, "touch $O/new") == made);
  CHECK(refused<TestType>(place, "echo x >$O/new") == made);
  CHECK(refused<TestType>(place, "cp $W/mine $O/new") == made);
  CHECK(refused<TestType>(place, "mkdir $O/new") == made);
  CHECK(refused<TestType>(place, "rm $O/file") == file);
  CHECK(refused<TestType>(place, "mv $O/file $O/new").find(place.outside()) == 0);
  CHECK(refused<TestType>(place, "ln -s x $O/new") == made);
  CHECK(refused<TestType>(place, "tee $O/new <$W/mine >/dev/null") == made);
  CHECK(refused<TestType>(place, "dd if=$W/mine of=$O/new status=none") == made);
  CHECK(refused<TestType>(place, "sh -c 'echo x >$O/new'") == made);
  if (has_program("python3")) {
    CHECK(refused<TestType>(place, "python3 -c \"open('$O/new', 'w')\"") == made);
    CHECK(refused<TestType>(place, "python3 -c \"import os; os.mkdir('$O/new')\"") == made);
  }
  if (has_program("git")) CHECK(refused<TestType>(place, "git init -q $O/new").find(place.out("new")) == 0);
  const Denial denial = result_of<TestType>(place, "touch $O/new").denials.at(0);
  CHECK(denial.effect == FileEffect::create);
  CHECK(denial.grant == place.outside());
  CHECK(denial.error == (landlock_alone<TestType> ? "EACCES" : "EROFS"));
  CHECK(denial.evidence == cordon::Evidence::inferred);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("CLS-K1: a command that swallows its status is denied all the same", "[denials]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string made = place.out("new") + " ";
  CHECK(refused<TestType>(place, "touch $O/new || true") == made);
  CHECK(refused<TestType>(place, "touch $O/new; exit 0") == made);
  CHECK(refused<TestType>(place, "{ touch $O/new; } 2>&1 | cat >&2") == made);
}

TEMPLATE_LIST_TEST_CASE("F89, F90, T-DEN-17: what is no file outside is no denial, whatever is printed", "[denials]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  for (const char* script : {"grep zzz /etc/passwd", "exit 1", "exit 126", "exit 127", "no-such-program",
                             "ls /nonexistent", "echo 'Permission denied (publickey)' >&2; exit 255",
                             "echo 'git@host: Permission denied (publickey).' >&2; exit 1",
                             "echo 'ssh: connect to host example port 22: Permission denied' >&2; exit 255",
                             "echo 'error: 403 Permission denied' >&2; exit 1",
                             "echo 'HTTP/1.1 403 Forbidden: Permission denied' >&2; exit 22",
                             "echo 'a read-only file system is a file system that is read-only' >&2; exit 1",
                             "echo 'the sandbox denied it' >&2; exit 1", "touch /dev/null; echo x >/dev/null; exit 1",
                             "kill -9 $$", "sh ./mine-is-no-script; exit 0"}) {
    INFO(script);
    CHECK(refused<TestType>(place, script).empty());
  }
}

TEMPLATE_LIST_TEST_CASE("A file in the workspace that its own mode keeps from being written is no denial", "[denials]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  write_file(place.in("locked"), "x", 0000);
  std::filesystem::create_directory(place.in("sandbox"));
  REQUIRE(::chmod(place.in("sandbox").c_str(), 0500) == 0);
  for (const char* script : {"echo x >locked; exit 1", "cat locked; exit 1", "touch sandbox/new; exit 1",
                             "./locked; exit 126", "cp mine sandbox/mine; exit 1"}) {
    INFO(script);
    CHECK(refused<TestType>(place, script).empty());
  }
  REQUIRE(::chmod(place.in("sandbox").c_str(), 0700) == 0);
}

TEMPLATE_LIST_TEST_CASE("T-DEN-17: what an ordinary user could not have written anyway is no denial", "[denials]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (is_root()) {
    SUCCEED("uid 0 may write everything");
    return;
  }
  for (const char* script : {"cat /etc/shadow", "touch /etc/new", "echo x >/etc/passwd", "rm /etc/passwd",
                             "mkdir /usr/new", "chmod 777 /etc/passwd", "ls /root", "cat /proc/1/environ"}) {
    INFO(script);
    CHECK(refused<TestType>(place, script).empty());
  }
}

TEMPLATE_LIST_TEST_CASE("A FIFO and a link across are refused in other words", "[denials]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (!std::is_same_v<typename TestType::Backend, cordon::MountNamespace>)
    CHECK(refused<TestType>(place, "echo x >$O/fifo") == place.out("fifo") + " ");
  const std::string linked = refused<TestType>(place, "ln $O/file $W/linked");
  if constexpr (std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>)
    CHECK(linked == place.out("file") + " ");
}

TEMPLATE_LIST_TEST_CASE("In read-only the workspace is what a mode would open", "[denials]", Reading) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto result = result_of<TestType>(place, "touch new");
  REQUIRE(result.denials.size() == 1);
  CHECK(result.denials.front().path == place.in("new"));
  CHECK(result.denials.front().grant == "workspace-write");
}

TEMPLATE_LIST_TEST_CASE("T-DEN-16, CLS-K2: a command is understood in its own language", "[denials]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  for (const char* language : {"de_DE.UTF-8", "zh_CN.UTF-8", "fr_FR.UTF-8"}) {
    if (const auto spoken = cordon::words_for_refusals({std::string("LC_ALL=") + language}); spoken.size() < 8) {
      skip(std::string("there is no locale ") + language + " with its translations");
      continue;
    }
    const auto result = result_of<TestType>(place, "touch $O/new", language);
    INFO(language << ": " << result.err.text());
    CHECK(result.err.text().find("ermission denied") == std::string::npos);
    CHECK(result.err.text().find("ead-only") == std::string::npos);
    REQUIRE(result.denials.size() == 1);
    CHECK(result.denials.front().path == place.out("new"));
    CHECK(refused<TestType>(place, "LC_ALL=C touch $O/new", language) == place.out("new") + " ");
  }
}

TEMPLATE_LIST_TEST_CASE("T-CLS-19, T-DEN-09: words of a runner are words, and a denial beside them is one", "[denials]",
                        Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  for (const char* line :
       {"cordon-runner: mount: no", "bwrap: Can't find source path /gone", "landlock-run: exec failed"}) {
    const std::string words = std::string("echo \"") + line + "\" >&2; ";
    CHECK(refused<TestType>(place, words + "exit 125").empty());
    CHECK(refused<TestType>(place, words + "touch $O/new; exit 125") == place.out("new") + " ");
  }
}
