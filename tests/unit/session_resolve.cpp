// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/resolve.hpp>

#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/scripted_log.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::TempDirectory;

namespace {

Session<MemoryLog> session_in(const std::string& directory, SessionDefaults defaults = {}) {
  return Session<MemoryLog>(MemoryLog(new_session(directory)), defaults);
}

struct Found {
  std::string_view mode;
  std::string root;
  std::string_view source;
  friend bool operator==(const Found&, const Found&) = default;
};
Found found(const ResolvedPolicy& resolved) {
  return {resolved.policy.mode().name(), resolved.policy.scope().workspace_root, name(resolved.source)};
}

}  // namespace

TEST_CASE(
    "T-POL-01 T-POL-03 without a session: what the deployment gives, in the configured root or where the program is") {
  const TempDirectory place;
  CHECK(found(resolve(SessionDefaults{})) == Found{"read-only", os::current_directory(), "deployment"});
  const ResolvedPolicy resolved = resolve(SessionDefaults{workspace_write}, {.workspace_root = place.path()});
  CHECK(found(resolved) == Found{"workspace-write", place.path(), "deployment"});
  CHECK_FALSE(resolved.policy.scope().session_id);
}

TEST_CASE("T-POL-04 POL-03 POL-04 mode and root come from one session, and reach no other") {
  const TempDirectory place;
  const std::string one = place.directory("1");
  const std::string two = place.directory("2");
  auto first = session_in(one, {workspace_write});
  auto second = session_in(two, {workspace_write});
  second.set_mode(read_only);
  CHECK(found(resolve(first)) == Found{"workspace-write", one, "deployment"});
  CHECK(found(resolve(second)) == Found{"read-only", two, "session"});
  CHECK(resolve(second).policy.scope().session_id == second.id());
  CHECK(first.id() != second.id());
  CHECK(found(resolve(SessionDefaults{workspace_write}, {.workspace_root = place.path()})) ==
        Found{"workspace-write", place.path(), "deployment"});
}

TEST_CASE("T-POL-05 POL-05 an explicit mode counts for one call, keeps the root, and is not remembered") {
  const TempDirectory place;
  auto session = session_in(place.path());
  session.set_mode(read_only);
  CHECK(found(resolve(session, {.workspace_root = "/usr"}, ExplicitMode(danger_full_access))) ==
        Found{"danger-full-access", place.path(), "explicit"});
  CHECK(found(resolve(session)) == Found{"read-only", place.path(), "session"});
  CHECK(session.state().size() == 1);
  ExplicitMode once(workspace_write);
  CHECK(once.take() == SandboxMode(workspace_write));
  CHECK_THROWS_AS(once.take(), PolicyInvalidError);
  ExplicitMode from(workspace_write);
  ExplicitMode to(std::move(from));
  CHECK_THROWS_AS(from.take(), PolicyInvalidError);
  CHECK(to.take() == SandboxMode(workspace_write));
}

TEST_CASE("POL-K6 a narrower mode that could not be recorded is what a policy has, too") {
  const auto script = std::make_shared<support::ScriptedLog::Script>();
  Session<support::ScriptedLog> session{support::ScriptedLog(script), {danger_full_access, ApprovalPolicy::ask}};
  session.set_mode(danger_full_access);
  script->fails = true;
  CHECK_THROWS_AS(session.set_mode(read_only), LogError);
  CHECK(resolve(session).policy.mode() == SandboxMode(read_only));
}

TEST_CASE("T-POL-06 a session without a directory has the configured root") {
  const TempDirectory place;
  const auto session = session_in("");
  CHECK(found(resolve(session, {.workspace_root = place.path()})).root == place.path());
  CHECK(found(resolve(session)).root == os::current_directory());
}

TEST_CASE("T-POL-02 POL-02 the directory of a session is what the kernel reaches by its name") {
  const TempDirectory place;
  const std::string target = place.directory("a/b");
  (void)place.symlink("link", target);
  CHECK(new_session(place.path() + "/link/..").cwd == place.path() + "/a");
  CHECK(new_session(place.path() + "/a/../a/./b").cwd == target);
  for (const std::string& bad : {place.path() + "/none", place.file("f"), std::string("/proc")})
    CHECK_THROWS_AS(new_session(bad), PolicyInvalidError);
}

TEST_CASE("POL-K4 whoever repoints a symlink, or puts another directory there, moves no session") {
  const TempDirectory place;
  const std::string here = place.directory("real");
  (void)place.symlink("link", here);
  const auto session = session_in(place.path() + "/link");
  std::filesystem::remove(place.path() + "/link");
  (void)place.symlink("link", place.directory("elsewhere"));
  CHECK(found(resolve(session)).root == here);

  std::filesystem::rename(here, place.path() + "/moved");
  CHECK_THROWS_AS(resolve(session), PolicyInvalidError);
  (void)place.symlink("real", place.path() + "/elsewhere");
  CHECK_THROWS_AS(resolve(session), PolicyInvalidError);
  // To where it has gone: the same directory, and yet not by its own name.
  std::filesystem::remove(here);
  (void)place.symlink("real", place.path() + "/moved");
  CHECK_THROWS_AS(resolve(session), PolicyInvalidError);
  std::filesystem::remove(here);
  (void)place.directory("real");
  CHECK_THROWS_AS(resolve(session), PolicyInvalidError);
  // An inode is used again; when it was made tells them apart, where that is known.
  if (os::time_of_birth(here) != 0) {
    const std::string again = place.directory("again");
    const auto remade = session_in(again);
    os::FileFacts before;
    REQUIRE(os::stat_path(again, before) == 0);
    std::filesystem::remove(again);
    (void)place.directory("again");
    CHECK_THROWS_AS(resolve(remade), PolicyInvalidError);
  }
  std::filesystem::remove(here);
  std::filesystem::rename(place.path() + "/moved", here);
  CHECK(found(resolve(session)).root == here);
}

TEST_CASE("/ is the directory of a session only as a root that somebody said yes to") {
  const auto session = session_in("/");
  CHECK_THROWS_AS(resolve(session), PolicyInvalidError);
  CHECK(found(resolve(session, {.allow_broad_root = true})).root == "/");
}
