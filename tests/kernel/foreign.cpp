// SPDX-License-Identifier: BSL-1.0

// What uid 0 keeps inside: where the tree is confined without a user namespace, the one capability that a workspace of
// another user needs, and nothing that opens a file outside. An ordinary user keeps none.

#include <linux/securebits.h>
#include <sys/prctl.h>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::FileEffect;

namespace {

constexpr unsigned somebody = 31337;  // as in tests/tools/as_user.sh; no account is needed

/// Gives a whole tree to somebody, and closes it to everybody else.
void give_away(const std::string& path) {
  on_the_host("chown -R " + std::to_string(somebody) + ":" + std::to_string(somebody) + " '" + path +
              "' && chmod -R go-rwx '" + path + "'");
}

/// True where this test can give files away, and the backend lets uid 0 write them.
template <class U>
[[nodiscard]] bool works_for_others(const Place& place) {
  if (!usable<U>(place)) return false;
  if (is_root() && Facts<U>::keeps_override) return true;
  SUCCEED("only uid 0 can have a workspace of another user, and only with CAP_DAC_OVERRIDE write it");
  return false;
}

template <class U>
void must_work(const Place& place, const std::string& script, const std::string& expected) {
  const Attempt attempt = run_under<U>(
      place, cordon::shell("set -e; export HOME=\"$PWD/home\" npm_config_cache=\"$PWD/home/cache\"; " + script));
  INFO(script << "\n" << attempt.out << attempt.err);
  CHECK(attempt.status == 0);
  CHECK(attempt.out == expected);
}

/// Git looks at who owns a repository, and at no configuration in it that says otherwise.
const std::string git = "git -c safe.directory='*' -c user.name=t -c user.email=t@example.invalid ";

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "A command has CAP_DAC_OVERRIDE as uid 0 where that is said, and no other capability (F68, F69)", "[foreign]",
    Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string bits = is_root() && Facts<TestType>::keeps_override ? "0000000000000002" : "0000000000000000";
  std::string expected;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) expected += std::string(set) + ":\t" + bits + "\n";
  // Once as it starts, and once behind another execve, which could give uid 0 all of them back.
  const std::vector<std::string> look{"/bin/grep", "-E", "^Cap(Inh|Prm|Eff|Amb):", "/proc/self/status"};
  for (std::vector<std::string> words : {look, {"/bin/sh", "-c", "\"$@\"; :", "sh"}}) {
    if (words != look) words.insert(words.end(), look.begin(), look.end());
    const Attempt attempt = run_under<TestType>(place, cordon::Argv(std::move(words)));
    CHECK(attempt.status == 0);
    CHECK(attempt.out == expected);
  }
  const Attempt regain = run_under<TestType>(place, payload("regain-capabilities"));
  INFO(regain.out);
  CHECK(regain.status == 1);
}

TEMPLATE_LIST_TEST_CASE("no_new_privs, the filter and the locked securebits are there", "[foreign]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Attempt attempt = run_under<TestType>(place, payload("show-privileges"));
  INFO(attempt.out);
  CHECK(attempt.out.find("no_new_privs 1\n") != std::string::npos);
  const bool filtered = !own_processes<TestType> && !Facts<TestType>::own_namespaces();
  CHECK((attempt.out.find("seccomp 2\n") != std::string::npos || !filtered));
  // Without a user namespace of its own an ordinary user's command has nothing that securebits could give back.
  if (own_processes<TestType> || (landlock_alone<TestType> && !is_root())) return;
  constexpr unsigned locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                              SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                              SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  CHECK(attempt.out.find("securebits " + std::to_string(locked) + "\n") != std::string::npos);
}

TEMPLATE_LIST_TEST_CASE("uid 0 works in a workspace of another user: git, tar and npm", "[foreign][work]", Writing) {
  const Place place;
  if (!works_for_others<TestType>(place)) return;
  std::filesystem::create_directory(place.in("home"));

  SECTION("plain files") {
    write_file(place.in("private"), "1", 0600);
    give_away(place.workspace());
    must_work<TestType>(place,
                        "echo 2 >>private; cat private; mkdir d; mv private d/; echo 3 >sub/new; rm -r d; "
                        "cat sub/new",
                        "12\n3\n");
  }
  SECTION("git: a repository of somebody's") {
    if (!has_program("git")) return;
    on_the_host("cd '" + place.workspace() +
                "' && git init -q -b main repo && cd repo && echo a >a && git add a && git -c user.name=t -c "
                "user.email=t@example.invalid commit -qm zero");
    give_away(place.workspace());
    must_work<TestType>(place,
                        "cd repo; echo b >>a; " + git + "add a; " + git + "commit -qm one; " + git +
                            "worktree add -q ../tree -b other; cd ../tree; echo c >c; " + git + "add c; " + git +
                            "commit -qm two; " + git + "status --short; " + git + "log --oneline | wc -l; cd ..; " +
                            git + "init -q -b main fresh; cd fresh; " + git + "commit -q --allow-empty -m zero; " +
                            git + "log --oneline | wc -l",
                        "3\n1\n");
  }
  SECTION("tar") {
    if (!has_program("tar")) return;
    on_the_host("cd '" + place.workspace() +
                "' && mkdir -p t/d && echo 1 >t/d/f && chmod 640 t/d/f && tar cf own.tar t" + " && chown -R " +
                std::to_string(somebody) + " t && tar cf theirs.tar t");
    give_away(place.workspace());
    must_work<TestType>(place, "mkdir x y; tar xpf own.tar -C x; stat -c '%a %u' x/t/d/f; cat x/t/d/f", "640 0\n1\n");
    // Owners need CAP_CHOWN, which is not kept: tar says so and fails, unless it is told to leave them.
    must_work<TestType>(place,
                        "mkdir z; tar xf theirs.tar -C y --no-same-owner; stat -c %u y/t/d/f; "
                        "tar xf theirs.tar -C z 2>/dev/null || echo refused; cat z/t/d/f",
                        "0\nrefused\n1\n");
  }
  SECTION("npm: pack and install a local package") {
    if (!has_program("npm")) return;
    on_the_host("cd '" + place.workspace() +
                "' && mkdir lib app && printf '{\"name\":\"lib\",\"version\":\"1.0.0\",\"main\":\"i.js\"}' "
                ">lib/package.json && echo 'module.exports = 41' >lib/i.js && "
                "printf '{\"name\":\"app\",\"version\":\"1.0.0\"}' >app/package.json");
    give_away(place.workspace());
    must_work<TestType>(place,
                        "npm='npm --offline --silent --no-audit --no-fund --no-update-notifier'; "
                        "cd lib; $npm pack >/dev/null; cd ../app; $npm install ../lib/lib-1.0.0.tgz >/dev/null; "
                        "node -p 'require(\"lib\") + 1'; $npm install ../lib >/dev/null; test -L node_modules/lib; "
                        "node -p 'require(\"lib\") + 2'",
                        "42\n43\n");
  }
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("Where uid 0 keeps no capability, files of other users stay as their mode says", "[foreign]",
                        Writing) {
  const Place place;
  if (!is_root() || Facts<TestType>::keeps_override) {
    SUCCEED("not the case here");
    return;
  }
  if (!usable<TestType>(place)) return;
  write_file(place.in("theirs"), "1", 0644);
  write_file(place.in("open"), "1", 0666);
  on_the_host("chown " + std::to_string(somebody) + " '" + place.in("theirs") + "' '" + place.in("open") + "'");
  const Attempt attempt = run_under<TestType>(place, cordon::shell("echo x >>theirs; echo x >>open && echo done"));
  CHECK(attempt.out == "done\n");
  CHECK(read_file(place.in("theirs")) == "1");
}

TEMPLATE_LIST_TEST_CASE("Outside nothing changes for uid 0, whoever owns it and whatever its mode", "[foreign][escape]",
                        Confinements) {
  const Place first;
  if (!usable<TestType>(first)) return;
  if (!is_root()) {
    SUCCEED("only uid 0 can have such files; what an ordinary user finds outside is in escape.cpp");
    return;
  }
  const cordon::EffectSet missing =
      harness<TestType>()
          .confine(policy_for<typename TestType::Mode>(first.workspace()), cordon::Argv({"/bin/true"}))
          .enforcement()
          .missing();
  struct Try {
    FileEffect effect;
    const char* attack;
    std::vector<std::string> arguments;
  };
  const auto [owner, mode] =
      GENERATE(table<unsigned, unsigned>({{0, 0600}, {0, 0000}, {somebody, 0600}, {somebody, 0666}}));
  const std::vector<Try> tries{
      {FileEffect::write, "append", {"@O/file"}},
      {FileEffect::write, "write-by-handle", {"@O/file", "@W"}},
      {FileEffect::write, "append", {"@O/directory/inner"}},
      {FileEffect::truncate, "truncate", {"@O/file"}},
      {FileEffect::truncate, "open-truncating", {"@O/file"}},
      {FileEffect::create, "create-file", {"@O/new"}},
      {FileEffect::create, "create-file", {"@O/directory/new"}},
      {FileEffect::remove, "unlink", {"@O/directory/inner"}},
      {FileEffect::remove, "remove-directory", {"@O/empty"}},
      {FileEffect::rename_link, "rename", {"@O/file", "@W/stolen"}},
      {FileEffect::rename_link, "link", {"@O/file", "@W/linked"}},
      {FileEffect::rename_link, "exchange", {"@W/mine", "@O/file"}},
      {FileEffect::metadata, "chmod", {"@O/file"}},
      {FileEffect::metadata, "chown-to-self", {"@O/file"}},
      {FileEffect::metadata, "set-times", {"@O/file"}},
      {FileEffect::metadata, "set-attribute", {"@O/file"}},
      {FileEffect::device, "make-character-device", {"@W/node"}},
      {FileEffect::mount_topology, "remount", {"@O", "@O/file"}},
      {FileEffect::write, "open-for-writing", {"/etc/shadow", "/etc/passwd", "/root"}},
  };
  Place place;
  for (const std::string& top : {place.outside(), place.workspace()}) {
    REQUIRE(::lchown(top.c_str(), owner, owner) == 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top))
      REQUIRE(::lchown(entry.path().c_str(), owner, owner) == 0);
  }
  for (const char* file : {"file", "other", "directory/inner"}) REQUIRE(::chmod(place.out(file).c_str(), mode) == 0);
  for (const char* directory : {"directory", "empty", "."})
    REQUIRE(::chmod(place.out(directory).c_str(), mode | 0100U) == 0);
  place.remember();
  for (const Try& attempt : tries) {
    if (missing.contains(attempt.effect)) continue;
    std::vector<std::string> arguments = attempt.arguments;
    for (std::string& argument : arguments)
      for (const auto& [name, value] : {std::pair{"@O", place.outside()}, {"@W", place.workspace()}})
        if (argument.starts_with(name)) argument.replace(0, 2, value);
    const Attempt done = run_under<TestType>(place, payload(attempt.attack, std::move(arguments)));
    INFO(attempt.attack << " on a file of " << owner << " with mode " << std::oct << mode << ": " << done.out
                        << done.err);
    CHECK((done.status == 1 || done.impossible()));
    REQUIRE_FALSE(place.outside_changed());
  }
}

TEMPLATE_LIST_TEST_CASE(
    "Landlock lets no device node be made in a workspace, not even the kind that takes no capability", "[foreign]",
    Writing) {
  using B = typename TestType::Backend;
  const Place place;
  if (std::is_same_v<B, cordon::MountNamespace> || std::is_same_v<B, cordon::Bubblewrap> || !usable<TestType>(place))
    return;
  const Attempt attempt = run_under<TestType>(place, payload("make-whiteout", {place.in("node")}));
  INFO(attempt.out);
  CHECK(attempt.status == 1);
  CHECK_FALSE(exists(place.in("node")));
}

TEMPLATE_LIST_TEST_CASE("Who owns a file is seen as it is without a user namespace, and as 65534 in one (F50)",
                        "[foreign][not-governed]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Attempt attempt = run_under<TestType>(place, cordon::Argv({"/usr/bin/stat", "-c", "%u", "/etc/passwd"}));
  const bool own_users = !landlock_alone<TestType> && !(is_root() && Facts<TestType>::keeps_override);
  CHECK(attempt.out == (own_users && !is_root() ? "65534\n" : "0\n"));
}
