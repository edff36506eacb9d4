// SPDX-License-Identifier: BSL-1.0

// Roots and protected paths against a command that changes what they are made of.

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::PolicyInvalidError;

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
