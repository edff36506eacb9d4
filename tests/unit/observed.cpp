// SPDX-License-Identifier: BSL-1.0

#include <cordon/backend/observed.hpp>
#include <cordon/backend/platform.hpp>
#include <cordon/classify/observed.hpp>
#include <cordon/os/linux/observed_calls.hpp>
#include <cstring>
#include <set>
#include <span>

#include "support/catch.hpp"
#include "support/filter.hpp"
#include "support/policies.hpp"
#include "support/scripted_backend.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::TempDirectory;

namespace {

bool shown(std::uint32_t number, std::uint64_t flags = 0,
           std::uint32_t architecture = os::detail::native_architecture) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = architecture;
  data.args[1] = flags;
  data.args[2] = flags;
  const std::span filter(os::observing_filter.filter, os::observing_filter.len);
  const std::uint32_t answer = support::answer_of(filter, [&](std::uint32_t offset) {
    REQUIRE(offset + 4 <= sizeof data);
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&data) + offset, 4);
    return word;
  });
  REQUIRE((answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_TRACE));
  return answer == SECCOMP_RET_TRACE;
}

process::RefusedCall call(std::uint32_t number, int error, std::string path, std::uint64_t detail = 0,
                          std::string to_path = "") {
  return {number, error, 1, detail, std::move(path), std::move(to_path)};
}

std::vector<Denial> judge(const process::RefusedCall& refused, const DenialContext& context) {
  return observed_denials({{refused}, 0}, context);
}

}  // namespace

TEST_CASE("The filter shows every call of its table, and nothing else but opens for a change", "[observed]") {
  std::set<std::uint32_t> listed;
  for (const os::ObservedCallRow& row : os::observed_calls) {
    INFO(row.name);
    CHECK(listed.insert(row.number).second);
    CHECK(os::observed_call(row.number) == &row);
    CHECK((row.path >= 0 || row.directory >= 0));
    if (!os::detail::opens_by_flags(row.number)) CHECK(shown(row.number));
  }
  for (std::uint32_t number = 0; number != 1024; ++number) {
    INFO(number);
    if (!listed.contains(number)) CHECK_FALSE(shown(number, ~std::uint64_t{0}));
  }
}

TEST_CASE("An open is shown when its flags can change something", "[observed]") {
  std::vector<std::uint32_t> opens{SYS_openat};
#if defined(__x86_64__)
  opens.push_back(SYS_open);
#endif
  for (const std::uint32_t number : opens) {
    for (const int flags : {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE, O_WRONLY | O_CREAT | O_TRUNC,
                            O_RDWR | O_CLOEXEC, O_TMPFILE | O_WRONLY})
      CHECK(shown(number, static_cast<std::uint64_t>(flags)));
    for (const int flags : {O_RDONLY, O_RDONLY | O_DIRECTORY, O_CLOEXEC | O_NONBLOCK, O_PATH | O_NOFOLLOW, O_NOCTTY,
                            O_RDONLY | O_NOATIME | O_APPEND})
      CHECK_FALSE(shown(number, static_cast<std::uint64_t>(flags)));
    // The kernel reads the lower half.
    CHECK_FALSE(shown(number, std::uint64_t{O_WRONLY} << 32U));
  }
}

TEST_CASE("Calls of another architecture pass unseen", "[observed]") {
  for (const os::ObservedCallRow& row : os::observed_calls) {
    CHECK_FALSE(shown(row.number, O_WRONLY, AUDIT_ARCH_I386));
    CHECK_FALSE(shown(row.number | os::detail::x32_bit, O_WRONLY));
  }
}

TEST_CASE("The effect of a refused call is told by the call, its flags and what is there (F92)", "[observed]") {
  const TempDirectory place("/var/tmp");
  const std::string file = place.file("file", "x");
  const std::string fifo = place.path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const DenialContext context;
  const auto effect = [&](const process::RefusedCall& refused) {
    const auto denials = judge(refused, context);
    REQUIRE(denials.size() == 1);
    CHECK(denials.front().evidence == Evidence::observed);
    CHECK(denials.front().grant == place.path());
    return denials.front().effect;
  };
  CHECK(effect(call(SYS_openat, EROFS, file, O_WRONLY)) == FileEffect::write);
  CHECK(effect(call(SYS_openat, EROFS, file, O_WRONLY | O_CREAT)) == FileEffect::write);
  CHECK(effect(call(SYS_openat, EROFS, file, O_WRONLY | O_TRUNC)) == FileEffect::truncate);
  CHECK(effect(call(SYS_openat, EROFS, place.path() + "/new", O_WRONLY | O_CREAT)) == FileEffect::create);
  CHECK(effect(call(SYS_openat, EROFS, place.path(), O_WRONLY | O_TMPFILE)) == FileEffect::create);
  CHECK(effect(call(SYS_openat, EACCES, fifo, O_WRONLY)) == FileEffect::fifo_write);
  CHECK(effect(call(SYS_truncate, EROFS, file)) == FileEffect::truncate);
  CHECK(effect(call(SYS_unlinkat, EROFS, file)) == FileEffect::remove);
  CHECK(effect(call(SYS_fchmodat, EROFS, file)) == FileEffect::metadata);
  CHECK(effect(call(SYS_mkdirat, EROFS, place.path() + "/new")) == FileEffect::create);
  CHECK(effect(call(SYS_mknodat, EROFS, place.path() + "/new", S_IFIFO)) == FileEffect::create);
  CHECK(effect(call(SYS_renameat2, EROFS, file, 0, place.path() + "/new")) == FileEffect::rename_link);
}

TEST_CASE("What the sandbox lets a command change is no denial, and what it protects there is one", "[observed]") {
  const TempDirectory place("/var/tmp");
  const std::string root = place.directory("root");
  const std::string kept = place.directory("root/kept");
  const std::string file = place.file("file", "x");
  const std::string inside = place.file("root/inside", "x");
  (void)place.file("root/kept/own", "x");
  DenialContext context;
  context.writable_roots = {root};
  context.protected_paths = {kept};
  context.private_temp = {"/tmp"};
  CHECK(judge(call(SYS_openat, EACCES, inside, O_WRONLY), context).empty());
  CHECK(judge(call(SYS_mkdirat, EACCES, "/tmp/closed/new"), context).empty());
  CHECK(judge(call(SYS_renameat2, EXDEV, inside, 0, "/tmp/there"), context).empty());
  const auto protection = judge(call(SYS_openat, EROFS, kept + "/own", O_WRONLY), context);
  REQUIRE(protection.size() == 1);
  CHECK(protection.front().grant.empty());

  // Of two paths the one that is off limits is named, by whatever way it was reached.
  const auto out = judge(call(SYS_renameat2, EXDEV, inside, 0, place.path() + "/out"), context);
  REQUIRE(out.size() == 1);
  CHECK(out.front().path == place.path() + "/out");
  (void)place.symlink("root/way", place.path());
  const auto behind = judge(call(SYS_openat, EROFS, root + "/way/file", O_WRONLY), context);
  REQUIRE(behind.size() == 1);
  CHECK(behind.front().path == file);
  // The link itself lies in the root.
  CHECK(judge(call(SYS_unlinkat, EPERM, root + "/way"), context).empty());
}

TEST_CASE("What this program could not do either is no denial", "[observed]") {
  const TempDirectory place("/var/tmp");
  const DenialContext context;
  CHECK(judge(call(SYS_unlinkat, EROFS, place.path() + "/missing"), context).empty());
  CHECK(judge(call(SYS_renameat2, EROFS, place.path() + "/missing", 0, place.path() + "/new"), context).empty());
  CHECK(judge(call(SYS_openat, EACCES, "", O_WRONLY), context).empty());
  CHECK(judge(call(SYS_openat, EACCES, "relative", O_WRONLY), context).empty());
  CHECK(judge(call(999, EACCES, "/etc/x"), context).empty());
  if (::geteuid() != 0) {
    CHECK(judge(call(SYS_openat, EACCES, "/proc/version", O_WRONLY), context).empty());
    CHECK(judge(call(SYS_mkdirat, EACCES, "/proc/new"), context).empty());
    CHECK(judge(call(SYS_openat, EROFS, "/etc/passwd", O_WRONLY), context).empty());
    CHECK(judge(call(SYS_fchmodat, EROFS, "/etc/passwd"), context).empty());
    CHECK(judge(call(SYS_openat, EROFS, "/etc/new", O_WRONLY | O_CREAT), context).empty());
    CHECK(judge(call(SYS_mknodat, EPERM, place.path() + "/node", S_IFCHR), context).empty());
    CHECK(judge(call(SYS_fchownat, EROFS, place.file("file"), 0), context).empty());
  }
}

TEST_CASE("A path that means another file for each process stays as it was named", "[observed]") {
  const auto denials = judge(call(SYS_openat, EROFS, "/proc/self/comm", O_WRONLY), {});
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "/proc/self/comm");
  CHECK(denials.front().grant.empty());
}

TEST_CASE("bubblewrap without a guard, or with a set-uid binary, says that it can't be observed", "[observed]") {
  bubblewrap::Job job;
  job.binary = "/bin/true";
  CHECK(bubblewrap::Plan(job).unobservable().find("runner") != std::string::npos);
  job.guarded = true;
  CHECK(bubblewrap::Plan(job).unobservable().empty());
  const TempDirectory place("/var/tmp");
  job.binary = place.file("bwrap", "", 04755);
  CHECK(bubblewrap::Plan(job).unobservable().find("set-uid") != std::string::npos);
}

TEST_CASE("An observed backend is probed once, until its verdict is forgotten", "[observed]") {
  const auto script = std::make_shared<support::Script>();
  Observed<support::ScriptedBackend<0>> observed{support::ScriptedBackend<0>(script)};
  for (int i = 0; i != 3; ++i) CHECK_FALSE(observed.probe(support::policy<ReadOnly>()).usable());
  CHECK(script->wraps == 1);
  observed.invalidate();
  CHECK(script->forgets == 1);
  CHECK_FALSE(observed.probe(support::policy<ReadOnly>()).usable());
  CHECK(script->wraps == 2);
}

TEST_CASE("An observed backend keeps the name and the limits of its own", "[observed]") {
  STATIC_REQUIRE(Backend<Observed<PlatformBackend>>);
  STATIC_REQUIRE(Observed<Landlock>::name == Landlock::name);
  STATIC_REQUIRE_FALSE(Observed<Landlock>::can_be_full<ReadOnly>);
  STATIC_REQUIRE(Observed<PlatformBackend>::can_be_full<ReadOnly>);
}
