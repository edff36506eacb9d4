// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/action.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/approvals.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::TempDirectory;

namespace {

void write_program(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("the digest of an action is another when anything in it is another") {
  const TempDirectory place("/var/tmp");
  const auto scope = [](PolicyRequest request) { return support::policy<WorkspaceWrite>(std::move(request)).scope(); };
  const PolicyScope plain = scope({.workspace_root = place.path()});
  std::filesystem::create_directory(place.path() + "/sub");
  const PolicyScope protected_one = scope({.workspace_root = place.path(), .protect = {"sub"}});
  const PolicyScope wide = scope({.workspace_root = place.path(), .write = {"/var/tmp"}});
  const PolicyScope limited = scope({.workspace_root = place.path(), .resources = {.processes = 10}});
  const PolicyScope elsewhere = scope({.workspace_root = place.path() + "/sub"});
  process::RunOptions in_sub;
  in_sub.working_directory = place.path() + "/sub";
  process::RunOptions with_variable;
  with_variable.environment = {"A=b"};
  process::RunOptions with_input;
  with_input.input = process::Input::bytes("x");
  process::RunOptions with_empty_input;
  with_empty_input.input = process::Input::bytes("");
  process::RunOptions with_copied_input;
  with_copied_input.input = process::Input::copy_of(0);
  process::RunOptions with_terminal;
  with_terminal.terminal = process::TerminalSize{};
  const std::vector<Action> actions{{{"/bin/true"}, read_only, plain, {}},
                                    {{"/bin/true", ""}, read_only, plain, {}},
                                    {{"/bin/true", "a", "b"}, read_only, plain, {}},
                                    {{"/bin/true", "a b"}, read_only, plain, {}},
                                    {{"/bin/true", "ab"}, read_only, plain, {}},
                                    {{"/bin/false"}, read_only, plain, {}},
                                    {{"/bin/true"}, workspace_write, plain, {}},
                                    {{"/bin/true"}, danger_full_access, plain, {}},
                                    {{"/bin/true"}, read_only, protected_one, {}},
                                    {{"/bin/true"}, read_only, wide, {}},
                                    {{"/bin/true"}, read_only, limited, {}},
                                    {{"/bin/true"}, read_only, elsewhere, {}},
                                    {{"/bin/true"}, read_only, plain, in_sub},
                                    {{"/bin/true"}, read_only, plain, with_variable},
                                    {{"/bin/true"}, read_only, plain, with_input},
                                    {{"/bin/true"}, read_only, plain, with_empty_input},
                                    {{"/bin/true"}, read_only, plain, with_copied_input},
                                    {{"/bin/true"}, read_only, plain, with_terminal}};
  std::set<std::string> digests;
  for (const Action& action : actions) digests.insert(action.digest());
  CHECK(digests.size() == actions.size());
  CHECK(Action({"/bin/true"}, read_only, plain, {}).digest() == actions.front().digest());
  CHECK(actions.front().digest().size() == 64);
}

TEST_CASE("the digest of a command is the same under each mode, and the one that a run without a grant has") {
  const PolicyScope scope = support::policy<ReadOnly>("/var/tmp").scope();
  const Action narrow({"/bin/true"}, read_only, scope, {});
  const Action wide({"/bin/true"}, danger_full_access, scope, {});
  CHECK(narrow.command_digest() == wide.command_digest());
  CHECK(Action::digest_of_command({"/bin/true"}, scope, {}) == narrow.command_digest());
  CHECK(Action({"/bin/false"}, read_only, scope, {}).command_digest() != narrow.command_digest());
}

TEST_CASE("an action knows which file its program is, as the command's own PATH and directory lead there") {
  const TempDirectory place("/var/tmp");
  write_program(place.path() + "/tool", "#!/bin/sh\n");
  process::RunOptions options;
  options.environment = {"PATH=relative:" + place.path() + ":/bin"};
  const PolicyScope scope = support::policy<ReadOnly>(place.path()).scope();
  CHECK(Action({"tool"}, read_only, scope, options).executable().path == place.path() + "/tool");
  CHECK(Action({"./tool"}, read_only, scope, options).executable().path == place.path() + "/tool");
  CHECK(Action({"no-such-tool"}, read_only, scope, options).executable().path.empty());
  std::filesystem::create_symlink(place.path() + "/tool", place.path() + "/link");
  CHECK(Action({"./link"}, read_only, scope, options).executable().path == place.path() + "/tool");
}

TEST_CASE("a program that each process finds elsewhere is no program of an action") {
  const TempDirectory place("/var/tmp");
  write_program(place.path() + "/tool", "#!/bin/sh\n");
  const PolicyScope scope = support::policy<ReadOnly>(place.path()).scope();
  process::RunOptions options;
  options.environment = {"PATH=/proc/self/cwd:" + place.path()};
  const auto refused = [&](const std::string& program) {
    try {
      (void)Action({program}, read_only, scope, options);
      return false;
    } catch (const ArgvInvalidError&) {
      return true;
    }
  };
  std::filesystem::create_symlink("/proc/self/cwd/tool", place.path() + "/link");
  std::filesystem::create_symlink("link", place.path() + "/second");
  for (const char* program : {"/proc/self/cwd/tool", "/proc/thread-self/cwd/tool", "/proc/self/root/bin/true",
                              "/proc/1/root/bin/true", "/dev/fd/3", "./link", "./second", "tool", "no-such-tool"}) {
    CAPTURE(program);
    CHECK(refused(program));
  }
  CHECK_FALSE(refused("./tool"));

  // One that leads there only later is another.
  std::filesystem::create_symlink("/bin/true", place.path() + "/later");
  const Action action({"./later"}, read_only, scope, {});
  CHECK(action.unchanged());
  std::filesystem::remove(place.path() + "/later");
  std::filesystem::create_symlink("/proc/self/root/bin/true", place.path() + "/later");
  CHECK_FALSE(action.unchanged());
}

TEST_CASE("a program that was written, exchanged or removed since is not the same executable") {
  const TempDirectory place("/var/tmp");
  const std::string tool = place.path() + "/tool";
  write_program(tool, "#!/bin/sh\n");
  const PolicyScope scope = support::policy<ReadOnly>(place.path()).scope();
  const auto frozen = [&] { return Action({tool}, read_only, scope, {}); };
  const Action same = frozen();
  CHECK(same.unchanged());
  const Action written = frozen();
  ::usleep(20'000);  // longer than the kernel's clock tick
  write_program(tool, "#!/bin/sX\n");
  CHECK_FALSE(written.unchanged());
  const Action exchanged = frozen();
  write_program(tool + ".new", "#!/bin/sX\n");
  std::filesystem::rename(tool + ".new", tool);
  CHECK_FALSE(exchanged.unchanged());
  const Action removed = frozen();
  std::filesystem::remove(tool);
  CHECK_FALSE(removed.unchanged());
}

TEST_CASE("the environment of an action is told as what it adds and removes") {
  const EnvironmentDelta delta = EnvironmentDelta::between({"A=1", "B=2", "C=3"}, {"A=1", "B=other", "D=4"});
  CHECK(delta.set == std::vector<std::string>{"B=other", "D=4"});
  CHECK(delta.removed == std::vector<std::string>{"C"});
  CHECK(EnvironmentDelta::between({"A=1"}, {"A=1"}) == EnvironmentDelta{});
}

TEST_CASE("the directory of an action is the one that a symlink led to when it was frozen") {
  const TempDirectory place("/var/tmp");
  std::filesystem::create_directory(place.path() + "/real");
  std::filesystem::create_symlink("real", place.path() + "/link");
  process::RunOptions options;
  options.working_directory = place.path() + "/link";
  const Action action({"/bin/true"}, read_only, support::policy<ReadOnly>(place.path()).scope(), options);
  CHECK(action.working_directory() == place.path() + "/real");
  CHECK(action.options().working_directory == place.path() + "/real");
}
