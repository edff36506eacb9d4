// SPDX-License-Identifier: BSL-1.0

// Roots and protected paths against a command that changes what they are made of.

#include <sys/mount.h>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::PolicyInvalidError;
using cordon::process::Exited;

namespace {

/// Runs `script`, with the workspace as $1 and what is outside as $2.
template <class U>
Attempt run_script(const cordon::Policy<cordon::WorkspaceWrite>& policy, const Place& place,
                   const std::string& script) {
  cordon::process::RunOptions options = plain_options();
  options.working_directory = "/";
  return run_under<U>(policy, cordon::Argv({"/bin/sh", "-c", script, "sh", place.workspace(), place.outside()}),
                      options);
}

cordon::Policy<cordon::WorkspaceWrite> policy_of(const std::string& workspace, std::vector<std::string> write,
                                                 std::vector<std::string> protect = {}) {
  cordon::PolicyRequest request;
  request.workspace_root = workspace;
  request.write = std::move(write);
  request.protect = std::move(protect);
  return policy_for<cordon::WorkspaceWrite>(std::move(request));
}

/// Runs under a policy whose roots were changed since: whatever comes of it, it must not get out.
template <class U>
void attack_again(const cordon::Policy<cordon::WorkspaceWrite>& policy, const Place& place) {
  try {
    const Attempt attempt = run_script<U>(
        policy, place, "echo x >>\"$2/file\"; echo x >\"$2/new\"; rm \"$2/other\"; echo x >\"$1/a/project/new\"");
    INFO(attempt.out << attempt.err);
  } catch (const cordon::Error& error) {
    INFO(error.what());
  }
  CHECK_FALSE(place.outside_changed());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "A policy means the same directories in its second run, whatever the first one did to them (POL-02, F17)",
    "[roots]", Writing) {
  Place place;
  if (!usable<TestType>(place)) return;
  std::filesystem::create_directories(place.in("a/project"));
  const std::string link = GENERATE("../../outside", "@O", "/oldroot@O", "/newroot@O", "/proc/1/root@O");
  std::string target = link;
  if (const auto at = target.find("@O"); at != std::string::npos) target.replace(at, 2, place.outside());
  INFO("a symlink to " << target);

  SECTION("a writable root inside another") {
    const auto policy = policy_of(place.workspace(), {place.in("a/project")});
    CHECK(run_script<TestType>(policy, place, "cd \"$1\" && mv a b && mkdir a && ln -s '" + target + "' a/project")
              .status == 0);
    attack_again<TestType>(policy, place);
  }
  SECTION("a workspace inside a writable root") {
    const auto policy = policy_of(place.in("a/project"), {place.workspace()});
    CHECK(run_script<TestType>(policy, place, "cd \"$1\" && mv a b && mkdir a && ln -s '" + target + "' a/project")
              .status == 0);
    attack_again<TestType>(policy, place);
  }
  SECTION("a protected path below a directory") {
    if (!Facts<TestType>::protects) return;
    std::filesystem::create_directory(place.out("kept"));
    place.remember();
    std::filesystem::create_directories(place.in("a/kept"));
    const auto policy = policy_of(place.workspace(), {}, {place.in("a/kept")});
    CHECK(run_script<TestType>(policy, place, "cd \"$1\" && mv a b && ln -s '" + target + "' a").status == 0);
    attack_again<TestType>(policy, place);
  }
}

TEMPLATE_LIST_TEST_CASE("A root that a command of another policy replaced by a symlink leads nowhere (POL-02, F17)",
                        "[roots]", Writing) {
  Place place;
  if (!usable<TestType>(place)) return;
  std::filesystem::create_directories(place.in("a/project"));
  const auto wide = policy_of(place.workspace(), {});
  const bool as_workspace = GENERATE(true, false);
  const Place other;
  const auto narrow =
      as_workspace ? policy_of(place.in("a/project"), {}) : policy_of(other.workspace(), {place.in("a/project")});
  if (GENERATE(true, false)) (void)run_script<TestType>(narrow, place, "true");
  const bool whole_path = GENERATE(true, false);  // the root itself, or a directory on the way to it
  if (whole_path) std::filesystem::create_directory(place.out("project"));
  place.remember();
  CHECK(run_script<TestType>(wide, place,
                             whole_path ? "cd \"$1\" && mv a b && ln -s ../outside a"
                                        : "cd \"$1\" && mv a b && mkdir a && ln -s \"$2\" a/project")
            .status == 0);
  attack_again<TestType>(narrow, place);
}

TEMPLATE_LIST_TEST_CASE("A root that was replaced between two runs is the new directory, and the old one is outside",
                        "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string extra = place.path() + "/extra";
  const std::string gone = place.path() + "/gone";
  std::filesystem::create_directory(extra);
  const auto policy = policy_of(place.workspace(), {extra});
  const std::string replaced = GENERATE(true, false) ? place.workspace() : extra;
  CHECK(run_script<TestType>(policy, place, "echo x >'" + replaced + "/first'").succeeded());
  std::filesystem::rename(replaced, gone);
  std::filesystem::create_directory(replaced);
  const Tree before = tree_of(gone);
  CHECK(run_script<TestType>(policy, place, "echo x >'" + replaced + "/second'").succeeded());
  CHECK(exists(replaced + "/second"));
  (void)run_script<TestType>(policy, place, "echo x >'" + gone + "/third'");
  CHECK(tree_of(gone) == before);
}

TEMPLATE_LIST_TEST_CASE("A mount that the host makes in the workspace between two runs is where the second one writes",
                        "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (!is_root() || !cordon::os::has_capability<cordon::os::Kernel>(cordon::os::cap_sys_admin)) {
    SUCCEED("only uid 0 can mount");
    return;
  }
  const auto policy = policy_of(place.workspace(), {});
  CHECK(run_script<TestType>(policy, place, "echo x >\"$1/sub/before\"").succeeded());
  REQUIRE(::mount("none", place.in("sub").c_str(), "tmpfs", 0, "mode=0777") == 0);
  const Attempt attempt = run_script<TestType>(policy, place, "echo x >\"$1/sub/during\"; ls \"$1/sub\"");
  CHECK(attempt.out == "during\n");
  CHECK(exists(place.in("sub/during")));
  harness<TestType>().backend().invalidate();  // gives back what keeps the mount busy
  CHECK(::umount2(place.in("sub").c_str(), MNT_DETACH) == 0);
  CHECK_FALSE(exists(place.in("sub/during")));
}

TEMPLATE_LIST_TEST_CASE("A mount that the host makes outside while a command runs is not writable for it", "[roots]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (!is_root() || !cordon::os::has_capability<cordon::os::Kernel>(cordon::os::cap_sys_admin)) {
    SUCCEED("only uid 0 can mount");
    return;
  }
  // A mount that passes on what is mounted below it.
  REQUIRE(::mount(place.outside().c_str(), place.outside().c_str(), nullptr, MS_BIND, nullptr) == 0);
  REQUIRE(::mount(nullptr, place.outside().c_str(), nullptr, MS_SHARED, nullptr) == 0);
  const auto confined = harness<TestType>().confine(
      policy_of(place.workspace(), {}),
      cordon::Argv({"/bin/sh", "-c",
                    "echo >\"$1/ready\"; while [ ! -e \"$1/go\" ]; do sleep 0.02; done; echo x >\"$2/empty/new\"", "sh",
                    place.workspace(), place.outside()}));
  auto child = cordon::process::spawn(confined, plain_options());
  CHECK(soon([&] { return exists(place.in("ready")); }));
  REQUIRE(::mount("none", place.out("empty").c_str(), "tmpfs", 0, "mode=0777") == 0);
  write_file(place.in("go"), "");
  CHECK(child.wait().ending != cordon::process::Ending(Exited{0}));
  CHECK_FALSE(exists(place.out("empty/new")));
  harness<TestType>().backend().invalidate();
  CHECK(::umount2(place.out("empty").c_str(), MNT_DETACH) == 0);
  CHECK(::umount2(place.outside().c_str(), MNT_DETACH) == 0);
}

TEMPLATE_LIST_TEST_CASE("A mount that only another user can look into is in nobody's way (F22)", "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string where = GENERATE(true, false) ? place.in("sub") : place.out("empty");
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=31337,group_id=31337";  // nobody serves it
  if (device < 0 || ::mount("none", where.c_str(), "fuse", 0, options.c_str()) != 0) {
    ::close(device);
    SUCCEED("no such file system can be mounted here");
    return;
  }
  const Attempt attempt = run_under<TestType>(
      place, cordon::Argv({"/bin/sh", "-c", "echo x >new; ls \"$1\"; echo x >\"$1/new\"; echo ran", "sh", where}));
  harness<TestType>().backend().invalidate();
  CHECK(::umount2(where.c_str(), MNT_DETACH) == 0);
  ::close(device);
  INFO(attempt.err);
  CHECK(attempt.out == "ran\n");
  CHECK(attempt.err.find("Permission denied") != std::string::npos);  // it is in sight
  CHECK(exists(place.in("new")));
}

TEMPLATE_LIST_TEST_CASE("A protected path that was replaced between two runs is the new one", "[roots]", Writing) {
  const Place place;
  if (!Facts<TestType>::protects || !usable<TestType>(place)) return;
  write_file(place.in("kept"), "old");
  const auto policy = policy_of(place.workspace(), {}, {"kept"});
  CHECK_FALSE(run_script<TestType>(policy, place, "echo x >\"$1/kept\"").succeeded());
  std::filesystem::remove(place.in("kept"));
  write_file(place.in("kept"), "new");
  CHECK(run_script<TestType>(policy, place, "cat \"$1/kept\"").out == "new");
  CHECK_FALSE(run_script<TestType>(policy, place, "echo x >\"$1/kept\"").succeeded());
  CHECK(read_file(place.in("kept")) == "new");
}

TEMPLATE_LIST_TEST_CASE("A protected path that is a child of a root holds against everything (F34, F35, SBX-K11)",
                        "[roots]", Writing) {
  Place place;
  if (!Facts<TestType>::protects || !usable<TestType>(place)) return;
  std::filesystem::create_directories(place.in(".git/hooks"));
  write_file(place.in(".git/config"), "original");
  write_file(place.in("kept"), "original");
  const auto policy = policy_of(place.workspace(), {}, {".git", "kept"});
  const Tree before = tree_of(place.in(".git"));
  const std::string script = GENERATE(
      "echo x >\"$1/kept\"", "rm -f \"$1/kept\"", "mv \"$1/kept\" \"$1/moved\"",
      "echo x >\"$1/y\"; mv \"$1/y\" \"$1/kept\"", "ln \"$1/kept\" \"$1/hard\" && echo x >\"$1/hard\"",
      "echo x >\"$1/.git/config\"", "echo x >\"$1/.git/hooks/pre-commit\"",
      "echo x >\"$1/y\"; mv \"$1/y\" \"$1/.git/hooks/pre-commit\"", "ln \"$1/mine\" \"$1/.git/hooks/pre-commit\"",
      "mv \"$1/.git\" \"$1/git\"", "rm -rf \"$1/.git\"", "chmod 777 \"$1/.git/config\"", "rmdir \"$1/.git/hooks\"",
      "mkdir \"$1/o\"; mv -T \"$1/o\" \"$1/.git\"", "ln -sfn ../outside \"$1/.git\"; test -L \"$1/.git\"");
  INFO(script);
  const Attempt attempt = run_script<TestType>(policy, place, script);
  CHECK_FALSE(attempt.succeeded());
  CHECK(read_file(place.in("kept")) == "original");
  CHECK(tree_of(place.in(".git")) == before);
}

TEMPLATE_LIST_TEST_CASE(
    "With .git protected git can't be led to other hooks, and what only has git's names is free (F29, F55)", "[roots]",
    Writing) {
  const Place place;
  if (!Facts<TestType>::protects || !usable<TestType>(place) || !has_program("git")) return;
  std::filesystem::create_directory(place.in("config"));
  write_file(place.in("HEAD"), "no ref");
  const std::string git = "git -c user.name=t -c user.email=t@example.invalid ";
  on_the_host("cd '" + place.workspace() + "' && git init -q . && git add . && " + git + "commit -qm one");
  const Tree before = tree_of(place.in(".git"));
  const auto policy = policy_of(place.workspace(), {}, {".git"});
  const auto run = [&](const std::string& script) {
    cordon::process::RunOptions options = plain_options();
    options.environment.push_back("HOME=" + place.outside());
    return run_under<TestType>(policy, cordon::shell(script), options);
  };
  CHECK_FALSE(run("git config core.hooksPath evil").succeeded());
  CHECK_FALSE(run("git config --global core.hooksPath evil").succeeded());
  CHECK(tree_of(place.in(".git")) == before);
  CHECK_FALSE(place.outside_changed());
  const Attempt attempt =
      run("set -e; echo x >config/file; echo x >HEAD; git format-patch --stdout --root HEAD -- | grep -c '^From '");
  INFO(attempt.err);
  CHECK(attempt.out == "1\n");
  // Without the protection it is as docs/security-model.md says: the workspace is the command's.
  CHECK(run_under<TestType>(place, cordon::shell("git config core.hooksPath evil")).succeeded());
}

TEMPLATE_LIST_TEST_CASE("A workspace below directories that can be passed through but not read (F15)", "[roots]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string passage = place.path() + "/passage";
  const std::string workspace = passage + "/inner/workspace";
  std::filesystem::create_directories(workspace);
  for (const std::string& directory : {passage + "/inner", passage}) {
    REQUIRE(::chmod(directory.c_str(), is_root() ? 0711 : 0111) == 0);
    if (is_root()) REQUIRE(::chown(directory.c_str(), 31337, 31337) == 0);
  }
  const Attempt attempt =
      run_under<TestType>(policy_for<cordon::WorkspaceWrite>(workspace), cordon::shell("echo x >new; cat new"));
  INFO(attempt.err);
  CHECK(attempt.out == "x\n");
  for (const std::string& directory : {passage, passage + "/inner"}) ::chmod(directory.c_str(), 0755);
  CHECK(exists(workspace + "/new"));
}

TEMPLATE_LIST_TEST_CASE(
    "The plain argv names the roots, then what is protected, each in the order of the request "
    "(T-LLR-17)",
    "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  std::vector<std::string> protect;
  if (Facts<TestType>::protects) protect = {place.in("sub"), place.in("mine")};
  const auto policy = policy_of(place.workspace(), {place.out("directory"), place.out("empty")}, protect);
  const auto argv = harness<TestType>().confine(policy, cordon::Argv({"prog", "--write", "/"})).argv();
  std::vector<std::string> expected{"--workspace",          place.workspace(), "--write",
                                    place.out("directory"), "--write",         place.out("empty")};
  for (const std::string& path : protect) expected.insert(expected.end(), {"--protect", path});
  std::vector<std::string> found;
  for (auto word = argv.begin(); *word != "--"; ++word)
    if (*word == "--workspace" || *word == "--write" || *word == "--protect")
      found.insert(found.end(), {word[0], word[1]});
  CHECK(found == expected);
  CHECK(std::vector<std::string>(argv.end() - 4, argv.end()) == std::vector<std::string>{"--", "prog", "--write", "/"});
}

TEMPLATE_LIST_TEST_CASE("A protected path further down is reported as best effort (F35)", "[roots]", Writing) {
  const Place place;
  std::filesystem::create_directories(place.in("sub/.git"));
  const auto policy = policy_of(place.workspace(), {}, {place.in("sub/.git")});
  if (!Facts<TestType>::protects || !usable<TestType>(place)) return;
  const auto result = harness<TestType>().run(policy, cordon::Argv({"/bin/true"}), plain_options());
  CHECK(result.best_effort == std::vector<std::string>{place.in("sub/.git")});
}

TEMPLATE_LIST_TEST_CASE("A backend that can't protect refuses the policy instead", "[roots]", Writing) {
  const Place place;
  if (Facts<TestType>::protects || !usable<TestType>(place)) return;
  std::filesystem::create_directory(place.in(".git"));
  CHECK_THROWS_AS(harness<TestType>().confine(policy_of(place.workspace(), {}, {".git"}), cordon::Argv({"/bin/true"})),
                  cordon::SandboxUnavailableError);
}

TEMPLATE_LIST_TEST_CASE("Protecting leaves nothing behind in the workspace (F23)", "[roots]", Writing) {
  const Place place;
  if (!Facts<TestType>::protects || !usable<TestType>(place)) return;
  std::filesystem::create_directory(place.in(".git"));
  const Tree before = tree_of(place.workspace());
  CHECK(run_script<TestType>(policy_of(place.workspace(), {}, {".git"}), place, "true").status == 0);
  CHECK(tree_of(place.workspace()) == before);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("A writable root can be a single file (F30)", "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Attempt attempt = run_script<TestType>(
      policy_of(place.workspace(), {place.out("file")}), place,
      "echo granted >\"$2/file\"; echo x >\"$2/new\"; echo x >>\"$2/other\"; mv \"$2/file\" \"$2/moved\"; true");
  CHECK(attempt.status == 0);
  CHECK(read_file(place.out("file")) == "granted\n");
  CHECK(read_file(place.out("other")) == "12345678");
  CHECK_FALSE(exists(place.out("new")));
  CHECK_FALSE(exists(place.out("moved")));
}

TEMPLATE_LIST_TEST_CASE("A workspace that is named by a symlink is the directory behind it (F31)", "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string link = place.path() + "/link";
  std::filesystem::create_symlink(place.workspace(), link);
  const auto policy = policy_for<cordon::WorkspaceWrite>(link);
  CHECK(policy.workspace_root() == place.workspace());
  cordon::process::RunOptions options = plain_options();
  options.working_directory = link;
  CHECK(run_under<TestType>(policy, cordon::shell("echo x >by-link"), options).succeeded());
  CHECK(exists(place.in("by-link")));
  // The link may lead elsewhere afterwards: the policy doesn't follow.
  std::filesystem::remove(link);
  std::filesystem::create_symlink(place.outside(), link);
  CHECK_FALSE(run_script<TestType>(policy, place, "echo x >\"$2/new\"").succeeded());
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE(
    "In a linked worktree git works when the repository that it belongs to is granted, without its hooks and "
    "configuration (F52, F25)",
    "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("git")) return;
  const std::string repository = place.out("repository");
  const std::string tree = place.in("tree");
  const std::string git = "git -c user.name=t -c user.email=t@example.invalid ";
  on_the_host("git init -q -b main '" + repository + "' && cd '" + repository + "' && " + git +
              "commit -q --allow-empty -m zero && git worktree add -q '" + tree + "' -b other && mkdir -p .git/hooks");
  const Tree before = tree_of(repository);
  const auto run_in_tree = [&](const cordon::Policy<cordon::WorkspaceWrite>& policy, const std::string& script) {
    return harness<TestType>().run(policy, cordon::shell(script), plain_options());
  };

  SECTION("not granted: the index can't be locked, and what was missing is named") {
    const auto result = run_in_tree(policy_of(tree, {}), "echo n >n && git add n");
    CHECK_FALSE(result.ending == cordon::CommandEnding(cordon::process::Exited{0}));
    REQUIRE(result.denials.size() == 1);
    CHECK(result.denials[0].path == repository + "/.git/worktrees/tree/index.lock");
    CHECK(result.denials[0].grant == repository + "/.git/worktrees/tree");
    CHECK(tree_of(repository) == before);
  }
  SECTION("granted") {
    std::vector<std::string> protect;
    if (Facts<TestType>::protects) protect = {repository + "/.git/hooks", repository + "/.git/config"};
    const auto policy = policy_of(tree, {repository + "/.git"}, protect);
    const auto result = run_in_tree(policy, "set -e; echo n >n; git add n; " + git + "commit -qm one; git status -s");
    INFO(result.err.text());
    CHECK(result.ending == cordon::CommandEnding(cordon::process::Exited{0}));
    CHECK(result.best_effort.empty());
    if (Facts<TestType>::protects) {
      (void)run_in_tree(policy, "cd '" + repository +
                                    "/.git'; echo x >hooks/post-commit; mv hooks h; git config core.hooksPath evil; "
                                    "echo x >>config; cp config c && mv c config; true");
      CHECK_FALSE(exists(repository + "/.git/hooks/post-commit"));
      CHECK(read_file(repository + "/.git/config").find("evil") == std::string::npos);
    }
  }
  SECTION("the .git of a worktree is a file: it can be protected, and what it does not hold can't") {
    CHECK_THROWS_AS(policy_of(tree, {}, {".git/hooks"}), PolicyInvalidError);
    if (!Facts<TestType>::protects) return;
    const std::string link = read_file(tree + "/.git");
    (void)run_in_tree(policy_of(tree, {}, {".git"}), "echo x >.git; rm -f .git; mv .git g; true");
    CHECK(read_file(tree + "/.git") == link);
  }
}

TEMPLATE_LIST_TEST_CASE(
    "A protected path that is named through a symlink is what it leads to, and the symlink is best effort (F26, F57)",
    "[roots]", Writing) {
  const Place place;
  if (!Facts<TestType>::protects || !usable<TestType>(place)) return;
  std::filesystem::create_directories(place.in(".git"));
  std::filesystem::create_directories(place.in("real/hooks"));
  std::filesystem::create_directories(place.in("hooks"));
  std::filesystem::create_symlink("../hooks", place.in(".git/hooks"));
  std::filesystem::create_symlink("real", place.in("link"));
  const auto best_effort_of = [&](const std::string& protect) {
    return harness<TestType>()
        .run(policy_of(place.workspace(), {}, {protect}), cordon::Argv({"/bin/true"}), plain_options())
        .best_effort;
  };
  using Paths = std::vector<std::string>;
  CHECK(best_effort_of(".git/hooks") == Paths{place.in("hooks")});
  CHECK(best_effort_of("link") == Paths{place.in("real")});
  CHECK(best_effort_of("link/hooks") == Paths{place.in("real/hooks")});
  CHECK(best_effort_of("hooks").empty());
  // What it leads to holds; the symlink can be exchanged, which is what best effort means.
  CHECK(run_script<TestType>(policy_of(place.workspace(), {}, {".git/hooks"}), place,
                             "cd \"$1\"; echo x >hooks/new || mv hooks h || rm .git/hooks && mkdir .git/hooks")
            .succeeded());
  CHECK(std::filesystem::is_empty(place.in("hooks")));
  CHECK_FALSE(std::filesystem::is_symlink(place.in(".git/hooks")));
}

TEMPLATE_LIST_TEST_CASE("What is to be protected must be there; it is not made, wherever it would lie (F27, F28)",
                        "[roots]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Tree before = tree_of(place.workspace());
  for (const std::string& missing : {std::string(".git"), std::string("sub/.git/hooks"), place.in("mine/x")})
    CHECK_THROWS_AS(policy_of(place.workspace(), {}, {missing}), PolicyInvalidError);
  CHECK(tree_of(place.workspace()) == before);
  // A directory of somebody else's, where the caller could not make a placeholder either.
  const auto policy = policy_of(place.workspace(), {"/usr/share"});
  const Attempt attempt = run_script<TestType>(policy, place, "cd \"$1\" && echo x >new && cat new");
  INFO(attempt.err);
  CHECK(attempt.out == "x\n");
}

TEST_CASE("The whole tree is no workspace (T-KRN-22, SBX-K11)", "[roots]") {
  const Place place;
  CHECK_THROWS_AS(policy_for<cordon::WorkspaceWrite>("/"), PolicyInvalidError);
  CHECK_THROWS_AS(policy_for<cordon::ReadOnly>("/"), PolicyInvalidError);
  CHECK_THROWS_AS(policy_of(place.workspace(), {"/"}), PolicyInvalidError);
  std::filesystem::create_symlink("/", place.in("root-link"));
  CHECK_THROWS_AS(policy_for<cordon::WorkspaceWrite>(place.in("root-link")), PolicyInvalidError);
}

TEST_CASE("A root that a confined command could have chosen by a symlink is refused (F31)", "[roots]") {
  const Place place;
  std::filesystem::create_symlink(place.outside(), place.in("build"));
  CHECK_THROWS_AS(policy_of(place.workspace(), {place.in("build")}), PolicyInvalidError);
}
