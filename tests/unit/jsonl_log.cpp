// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/jsonl_log.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/fake_kernel.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::content_of;
using support::FakeKernel;
using support::records_of;
using support::TempDirectory;
using support::types_of;

namespace {

const SessionHeader header{"s1", 5, "/w", FileIdentity{1, 2, 3}, "parent"};

template <class Log>
void append(Log& log, const std::vector<Event>& events) {
  log.append(events);
}

/// The code of the LogError that `act` throws, with its line and offset.
std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const LogError& error) {
    return std::string(name(error.code())) +
           (error.line() == 0 ? "" : " " + std::to_string(error.line()) + " " + std::to_string(error.offset()));
  } catch (const SessionInvalidError&) {
    return "SESSION_INVALID";
  }
  return "none";
}

unsigned permissions_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777U;
}

/// A log on the kernel whose calls fail on demand, with one event.
struct OnFakeKernel {
  TempDirectory place;
  const std::string path = place.path() + "/log";
  BasicJsonlLog<FakeKernel> log;

  explicit OnFakeKernel(SandboxMode mode)
      : log((FakeKernel::allow_all(), BasicJsonlLog<FakeKernel>::create(path, header))) {
    append(log, {ModeSwitched{mode}});
  }
};

const std::string first_line = R"({"version":1,"id":"s1","created_at":5})"
                               "\n";
std::string mode_line(int seq, const char* mode = "read-only") {
  return R"({"seq":)" + std::to_string(seq) + R"(,"time":1,"type":"sandbox/mode","data":{"mode":")" + mode + "\"}}\n";
}

}  // namespace

TEST_CASE("T-LOG-12 DUR-05 a log is made with its first event, 0600 in directories that are 0700") {
  const TempDirectory place;
  const std::string path = place.path() + "/a/b/log.jsonl";
  const mode_t mask = ::umask(0);
  {
    JsonlLog log = JsonlLog::create(path, header);
    CHECK_FALSE(support::exists(place.path() + "/a"));
    append(log, {ModeSwitched{read_only}});
  }
  ::umask(mask);
  CHECK(permissions_of(path) == 0600);
  CHECK(permissions_of(place.path() + "/a") == 0700);
  CHECK(permissions_of(place.path() + "/a/b") == 0700);
  const LogReport report = read_log(path);
  CHECK(report.header == header);
  CHECK(report.state.mode() == SandboxMode(read_only));
  CHECK(report.torn_bytes == 0);
  CHECK(report.sound_size == std::filesystem::file_size(path));
  // Nothing else is left there.
  CHECK(std::distance(std::filesystem::directory_iterator(place.path() + "/a/b"), {}) == 1);
}

TEST_CASE("DUR-05 a log never takes the place of a file") {
  const TempDirectory place;
  const std::string path = place.file("log", "mine");
  JsonlLog log = JsonlLog::create(path, header);
  CHECK(refusal([&] { append(log, {ModeSwitched{read_only}}); }) == "LOG_EXISTS");
  CHECK(content_of(path) == "mine");
  CHECK(std::distance(std::filesystem::directory_iterator(place.path()), {}) == 1);
  (void)place.symlink("link", place.path() + "/nowhere");
  JsonlLog through = JsonlLog::create(place.path() + "/link", header);
  CHECK(refusal([&] { through.flush(); }) == "LOG_EXISTS");
  CHECK_FALSE(support::exists(place.path() + "/nowhere"));
}

TEST_CASE("every event comes back from a file, and a later writer goes on behind it") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  std::vector<Event> written = support::one_of_each();
  {
    JsonlLog log = JsonlLog::create(path, header);
    append(log, {written.begin(), written.begin() + 2});
    append(log, {written.begin() + 2, written.end()});
  }
  JsonlLog log = JsonlLog::open(path);
  CHECK(log.header() == header);
  CHECK(log.torn_bytes() == 0);
  append(log, {ModeSwitched{read_only}});
  written.emplace_back(ModeSwitched{read_only});
  std::vector<Record> records;
  log.for_each([&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == written.size());
  for (std::size_t i = 0; i != written.size(); ++i) {
    CHECK(records[i].seq == i);
    CHECK(records[i].event == written[i]);
  }
  CHECK(records_of(path) == records);
}

TEST_CASE("T-LOG-27 a second writer is refused, in this process and in another; readers are not") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  JsonlLog log = JsonlLog::create(path, header);
  log.flush();
  CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_LOCKED");
  const pid_t other = ::fork();
  if (other == 0) ::_exit(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_LOCKED" ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(status == 0);
  CHECK(read_log(path).header == header);
  {
    const JsonlLog moved = std::move(log);
    CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_LOCKED");
  }
  CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "none");
}

TEST_CASE("LOG-K3 a log that others can write, or that is no file, is not written on") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  JsonlLog::create(path, header).flush();
  for (const unsigned mode : {0620U, 0602U, 0666U}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_FAILED");
  }
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(path.c_str(), 31337, 31337) == 0);
    CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_FAILED");
  }
  (void)place.symlink("link", path);
  CHECK(refusal([&] { (void)JsonlLog::open(place.path() + "/link"); }) == "LOG_FAILED");
  REQUIRE(::mkfifo((place.path() + "/fifo").c_str(), 0600) == 0);
  CHECK(refusal([&] { (void)JsonlLog::open(place.path() + "/fifo"); }) == "LOG_FAILED");
  CHECK(refusal([&] { (void)read_log(place.path() + "/fifo"); }) == "LOG_FAILED");
  CHECK(refusal([&] { (void)JsonlLog::open(place.path()); }) == "LOG_FAILED");
  CHECK(refusal([&] { (void)JsonlLog::open(place.path() + "/none"); }) == "LOG_FAILED");
  for (const char* bad : {"", "/", "x/"}) CHECK(refusal([&] { (void)JsonlLog::create(bad, header); }) == "LOG_FAILED");
}

TEST_CASE("T-LOG-18 what can't be recorded is refused, and the log is as it was") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  JsonlLog log = JsonlLog::create(path, header);
  append(log, {TurnStarted{1}});
  const std::string before = content_of(path);
  CHECK(refusal([&] { append(log, {IgnoredEvent{"x"}}); }) == "SESSION_INVALID");
  CHECK(refusal([&] { append(log, {ModeSwitched{read_only}, TurnStarted{2}}); }) == "SESSION_INVALID");
  CHECK(refusal([&] { append(log, {PresetSelected{"p", 1}}); }) == "SESSION_INVALID");
  CHECK(refusal([&] {
          append(log, {ApprovalAsked{"a", "t", "", std::string(cordon::detail::LogPlace::max_line, 'x')}});
        }) == "SESSION_INVALID");
  CHECK(content_of(path) == before);
  CHECK(log.state().size() == 1);
  append(log, {TurnEnded{1}});
  CHECK(records_of(path).size() == 2);
  CHECK(refusal([&] { (void)JsonlLog::create(path, {"", 0}); }) == "SESSION_INVALID");
  CHECK(refusal([&] { (void)JsonlLog::create(path, {"x", 0, "relative"}); }) == "SESSION_INVALID");
}

TEST_CASE("DUR-08 T-LOG-03 T-LOG-20 what does not begin with a header is refused") {
  const TempDirectory place;
  const auto read = [&](const std::string& content) {
    const std::string path = place.file("log", content, 0600);
    const std::string reading = refusal([&] { (void)read_log(path); });
    CHECK(refusal([&] { (void)JsonlLog::open(path); }) == reading);
    CHECK(content_of(path) == content);
    return reading;
  };
  CHECK(read("") == "LOG_CORRUPT 1 0");
  CHECK(read("not json") == "LOG_CORRUPT 1 0");
  CHECK(read("not json\n") == "LOG_CORRUPT 1 0");
  CHECK(read("\n") == "LOG_CORRUPT 1 0");
  CHECK(read("[]\n") == "LOG_CORRUPT 1 0");
  CHECK(read(first_line.substr(0, first_line.size() - 1)) == "LOG_CORRUPT 1 0");
  CHECK(read(mode_line(0)) == "LOG_CORRUPT 1 0");
  CHECK(read("{\"version\":2}\n") == "LOG_UNSUPPORTED 1 0");
  CHECK(read(first_line) == "none");
}

TEST_CASE(
    "T-LOG-05 T-LOG-07 T-LOG-08 T-LOG-19 damage before the end is told with line and byte, and nothing is skipped") {
  const TempDirectory place;
  const std::string sound = first_line + mode_line(0);
  const std::string at = " 3 " + std::to_string(sound.size());
  for (const std::string& bad :
       {mode_line(2), mode_line(0), std::string("\n"), std::string("{}\n"), std::string("{\n"), mode_line(1, "yolo"),
        first_line, std::string(100, '\0') + "\n", mode_line(1).insert(5, 1, '\0'), "\xef\xbb\xbf" + mode_line(1),
        std::string(100'000, '[') + "\n",
        std::string(R"({"seq":1,"time":1,"type":"turn/end","data":{"turn":1,"reason":"completed"}})"
                    "\n")}) {
    for (const std::string& rest : {std::string(), mode_line(1), mode_line(2), std::string("torn")}) {
      const std::string path = place.file("log", sound + bad + rest, 0600);
      CHECK(refusal([&] { (void)read_log(path); }) == "LOG_CORRUPT" + at);
      CHECK(refusal([&] { (void)JsonlLog::open(path); }) == "LOG_CORRUPT" + at);
      CHECK(content_of(path) == sound + bad + rest);
    }
  }
  const std::string unknown = place.file("log",
                                         sound +
                                             R"({"seq":1,"time":1,"type":"from/later","data":{}})"
                                             "\n" +
                                             mode_line(2),
                                         0600);
  CHECK(refusal([&] { (void)read_log(unknown); }) == "LOG_UNSUPPORTED" + at);
  const std::string ignorable = place.file("log",
                                           sound +
                                               R"({"seq":1,"time":1,"type":"from/later","data":{},"ignorable":true})"
                                               "\n" +
                                               mode_line(2, "workspace-write"),
                                           0600);
  CHECK(read_log(ignorable).state.mode() == SandboxMode(workspace_write));
}

TEST_CASE("T-LOG-09 T-LOG-16 DUR-K7 what a crash cut off is dropped and counted, at every byte; what is before stays") {
  const TempDirectory place;
  std::string whole = first_line + mode_line(0) + mode_line(1, "workspace-write");
  whole += R"({"seq":2,"time":1,"type":"exec/x","data":{"argv":"é"},"ignorable":true})"
           "\n";
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i != whole.size(); ++i)
    if (whole[i] == '\n') ends.push_back(i + 1);
  for (const std::size_t zeros : {std::size_t{0}, std::size_t{1}, std::size_t{5000}})
    for (std::size_t cut = ends.front(); cut <= whole.size(); ++cut) {
      const std::string path = place.file("log", whole.substr(0, cut) + std::string(zeros, '\0'), 0600);
      std::size_t sound = 0;
      for (const std::size_t end : ends)
        if (end <= cut) sound = end;
      const LogReport report = read_log(path);
      REQUIRE(report.sound_size == sound);
      REQUIRE(report.torn_bytes == cut - sound + zeros);
      JsonlLog log = JsonlLog::open(path);
      REQUIRE(log.torn_bytes() == report.torn_bytes);
      REQUIRE(content_of(path) == whole.substr(0, sound));
      append(log, {ModeSwitched{read_only}});
      REQUIRE(content_of(path).substr(0, sound) == whole.substr(0, sound));
      REQUIRE(records_of(path).size() == log.state().size());
    }
}

TEST_CASE("PRE-K6 a preset is one: a log that ends inside it does not have it, cut at any byte") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    JsonlLog log = JsonlLog::create(path, header);
    append(log, {ModeSwitched{read_only}});
  }
  const std::string before = content_of(path);
  {
    JsonlLog log = JsonlLog::open(path);
    append(log,
           {PresetSelected{"p", 2}, ModeSwitched{danger_full_access}, ApprovalPolicySwitched{ApprovalPolicy::never}});
  }
  const std::string after = content_of(path);
  for (std::size_t cut = before.size(); cut != after.size(); ++cut) {
    const std::string torn = place.file("torn", after.substr(0, cut), 0600);
    const LogReport report = read_log(torn);
    REQUIRE(report.state.mode() == SandboxMode(read_only));
    REQUIRE_FALSE(report.state.selected_preset());
    REQUIRE(report.torn_bytes == cut - before.size());
    REQUIRE(records_of(torn).size() == 1);
    (void)JsonlLog::open(torn);
    REQUIRE(content_of(torn) == before);
  }
  // With something else in its place it is no crash.
  const std::size_t line = after.find('\n', before.size()) + 1;
  const std::string broken =
      place.file("broken",
                 after.substr(0, line) + R"({"seq":2,"time":1,"type":"turn/start","data":{"turn":1}})"
                                         "\n",
                 0600);
  CHECK(refusal([&] { (void)read_log(broken); }).starts_with("LOG_CORRUPT 4"));
}

TEST_CASE("hostile input ends in an error, in the memory of a line") {
  const TempDirectory place;
  const std::string path = place.file("log", first_line, 0600);
  // A line of a gigabyte, which takes no room on the disk. Zeros up to the end are torn, but only so many.
  REQUIRE(::truncate(path.c_str(), 1 << 30) == 0);
  long most = 0;
  const auto in_little_memory = [&](auto&& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act() ? 0 : 1);
    int status = 0;
    rusage used{};
    REQUIRE(::wait4(child, &status, 0, &used) == child);
    if (most == 0) most = used.ru_maxrss + 400'000;  // what it has from the program that forked it, and a few lines
    CHECK(used.ru_maxrss < most);
    return status == 0;
  };
  REQUIRE(in_little_memory([] { return true; }));
  CHECK(in_little_memory([&] { return refusal([&] { (void)read_log(path); }).starts_with("LOG_CORRUPT 2"); }));
  {
    std::ofstream file(path, std::ios::app);
    file << "\n" << mode_line(0);
  }
  CHECK(in_little_memory([&] { return refusal([&] { (void)read_log(path); }).starts_with("LOG_CORRUPT 2"); }));
  for (const std::string& bad :
       {std::string(R"({"seq":0,"seq":0,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})"),
        std::string(R"({"seq":0,"time":NaN,"type":"sandbox/mode","data":{"mode":"read-only"}})"),
        std::string(R"({"seq":0,"time":1e400,"type":"sandbox/mode","data":{"mode":"read-only"}})"),
        std::string(R"({"seq":18446744073709551616,"time":1,"type":"sandbox/mode","data":{"mode":"read-only"}})"),
        std::string(R"({"seq":0,"time":1,"type":"\ud800","data":{}})")})
    CHECK(refusal([&] { (void)read_log(place.file("bad", first_line + bad + "\n", 0600)); }) ==
          "LOG_CORRUPT 2 " + std::to_string(first_line.size()));
}

TEST_CASE("DUR-06 T-LOG-13 T-LOG-23 an append that fails half-way leaves nothing behind, and can be made again") {
  for (const int error : {ENOSPC, EIO, EDQUOT, EFBIG}) {
    OnFakeKernel made(read_only);
    auto& [place, path, log] = made;
    const std::string before = content_of(path);
    FakeKernel::refuse(SYS_write, 2, error);
    FakeKernel::most = 10;
    CHECK(refusal([&] { append(log, {ModeSwitched{danger_full_access}}); }) == "LOG_FAILED");
    CHECK(FakeKernel::calls[SYS_write] == 3);
    CHECK(content_of(path) == before);
    CHECK(log.state().mode() == SandboxMode(read_only));
    FakeKernel::allow_all();
    append(log, {ModeSwitched{workspace_write}});
    const std::vector<Record> records = records_of(path);
    REQUIRE(records.size() == 2);
    CHECK(records[1].seq == 1);
    CHECK(records[1].event == Event(ModeSwitched{workspace_write}));
  }
}

TEST_CASE("POL-K6 an event that can't be made durable is not acknowledged, and is not there") {
  OnFakeKernel made(read_only);
  auto& [place, path, log] = made;
  const std::string before = content_of(path);
  FakeKernel::refuse(SYS_fdatasync, 0, ENOSPC);
  CHECK(refusal([&] { append(log, {ModeSwitched{danger_full_access}}); }) == "LOG_FAILED");
  // Nor on the disk, where it may have come in spite of the error.
  CHECK(FakeKernel::calls[SYS_ftruncate] == 1);
  CHECK(FakeKernel::calls[SYS_fsync] == 1);
  CHECK(content_of(path) == before);
  // All that was before is on the disk, so it may go on.
  FakeKernel::allow_all();
  append(log, {TurnStarted{1}});
  CHECK(FakeKernel::calls[SYS_fdatasync] == 0);
  // Not so where the kernel may have lost what was not durable yet.
  FakeKernel::refuse(SYS_fdatasync, 0, EIO);
  CHECK(refusal([&] { append(log, {ModeSwitched{danger_full_access}}); }) == "LOG_FAILED");
  FakeKernel::allow_all();
  CHECK(refusal([&] { append(log, {TurnEnded{1}}); }) == "LOG_FAILED");
  CHECK(log.state().open_turn());
}

TEST_CASE("T-LOG-14 where what is half written can't be removed either, both are told, and nothing more is taken") {
  OnFakeKernel made(read_only);
  auto& [place, path, log] = made;
  FakeKernel::refuse(SYS_ftruncate, 0, EIO);
  FakeKernel::most = 10;
  try {
    // The second write fails because the file may not grow.
    FakeKernel::refused = SYS_write;
    FakeKernel::from = 1;
    FakeKernel::error = ENOSPC;
    append(log, {ModeSwitched{workspace_write}});
    FAIL("it was taken");
  } catch (const LogError&) {
  }
  // One call can be refused at a time, so the cut worked; the other way round:
  FakeKernel::refuse(SYS_ftruncate, 0, EIO);
  FakeKernel::most = 0;
  const rlimit small{std::filesystem::file_size(path) + 10, RLIM_INFINITY};
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit limited{small.rlim_cur, old.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limited) == 0);
  std::string message;
  try {
    append(log, {ModeSwitched{workspace_write}});
  } catch (const LogError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_DFL);
  CHECK(message.find("File too large") != std::string::npos);
  CHECK(message.find("Input/output error") != std::string::npos);
  CHECK(refusal([&] { append(log, {ModeSwitched{workspace_write}}); }) == "LOG_FAILED");
  // What is half there is torn for a reader, and goes as soon as it can be made to.
  CHECK(read_log(path).torn_bytes == 10);
  CHECK(read_log(path).state.mode() == SandboxMode(read_only));
  FakeKernel::allow_all();
  append(log, {ModeSwitched{workspace_write}});
  CHECK(read_log(path).torn_bytes == 0);
  CHECK(records_of(path).size() == 2);
}

TEST_CASE("POL-K6 a switch that was refused and could not be removed does not stand in the way of a narrower one") {
  OnFakeKernel made(workspace_write);
  auto& [place, path, log] = made;
  // The whole line is there, neither durable nor to be had away: fdatasync fails, and then fsync behind the cut.
  FakeKernel::refuse(SYS_fdatasync, 0, EIO);
  FakeKernel::also = SYS_fsync;
  CHECK(refusal([&] { append(log, {ModeSwitched{danger_full_access}}); }) == "LOG_FAILED");
  CHECK(refusal([&] { append(log, {ModeSwitched{read_only}}); }) == "LOG_FAILED");
  FakeKernel::allow_all();
  append(log, {ModeSwitched{read_only}});
  CHECK(read_log(path).state.mode() == SandboxMode(read_only));
  CHECK(records_of(path).size() == 2);
}

TEST_CASE("a log with a second name is not written on, nor one whose name leads elsewhere") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  JsonlLog log = JsonlLog::create(path, header);
  log.flush();
  CHECK_NOTHROW(log.require_own_name());
  std::filesystem::create_hard_link(path, place.path() + "/other");
  CHECK(refusal([&] { log.require_own_name(); }) == "LOG_FAILED");
  std::filesystem::rename(path, place.path() + "/moved");
  CHECK(refusal([&] { log.require_own_name(); }) == "LOG_FAILED");
  { const JsonlLog closed = std::move(log); }
  CHECK(refusal([&] { (void)JsonlLog::open(place.path() + "/moved"); }) == "LOG_FAILED");
  std::filesystem::remove(place.path() + "/other");
  CHECK(refusal([&] { (void)JsonlLog::open(place.path() + "/moved"); }) == "none");
}

TEST_CASE("a fork of the program that writes a log writes nothing on it, nor does what a log was moved from") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  JsonlLog log = JsonlLog::create(path, header, {.batch_bytes = 10'000});
  log.flush();
  append(log, {TurnStarted{1}});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = refusal([&] { append(log, {ModeSwitched{danger_full_access}}); }) == "LOG_FAILED" &&
                         refusal([&] { log.flush(); }) == "LOG_FAILED";
    { const JsonlLog dropped = std::move(log); }
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(records_of(path).empty());
  JsonlLog moved = std::move(log);
  std::string said;
  try {
    append(log, {TurnEnded{1}});
  } catch (const LogError& error) {
    said = error.what();
  }
  CHECK(said.find("was moved") != std::string::npos);
  append(moved, {TurnEnded{1}});
  moved.flush();
  CHECK(records_of(path).size() == 2);
}

TEST_CASE("what is torn is gone from the disk before a writer goes on, or nobody goes on") {
  using Log = BasicJsonlLog<FakeKernel>;
  const TempDirectory place;
  const std::string torn = first_line + mode_line(0) + "{";
  FakeKernel::allow_all();
  (void)Log::open(place.file("log", torn, 0600));
  CHECK(FakeKernel::calls[SYS_ftruncate] == 1);
  CHECK(FakeKernel::calls[SYS_fsync] == 1);
  for (const long number : {SYS_ftruncate, SYS_fsync}) {
    FakeKernel::refuse(number, 0, EIO);
    CHECK(refusal([&] { (void)Log::open(place.file("log", torn, 0600)); }) == "LOG_FAILED");
  }
  FakeKernel::allow_all();
}

TEST_CASE("DUR-05 each directory that is made for a log is on the disk, as its name is") {
  using Log = BasicJsonlLog<FakeKernel>;
  const TempDirectory place;
  FakeKernel::allow_all();
  Log log = Log::create(place.path() + "/a/b/log", header);
  log.flush();
  // The two directories that got a new one, the file, and the directory that it is in.
  CHECK(FakeKernel::calls[SYS_fsync] == 4);
}

TEST_CASE("a log that is replaced while it is opened is not taken for the one of its name") {
  static std::string path;
  const TempDirectory place;
  path = place.file("log", first_line, 0600);
  FakeKernel::allow_all();
  FakeKernel::observe = [](long number) {
    if (number != SYS_fcntl) return;
    std::filesystem::rename(path, path + ".old");
    std::ofstream(path) << first_line << mode_line(0, "danger-full-access");
  };
  CHECK(refusal([&] { (void)BasicJsonlLog<FakeKernel>::open(path); }) == "LOG_FAILED");
  FakeKernel::allow_all();
}

TEST_CASE("what has too many values to be read is not written") {
  const TempDirectory place;
  JsonlLog log = JsonlLog::create(place.path() + "//d//log", header);
  append(log, {TurnStarted{1}});
  CHECK(refusal([&] {
          append(log, {ExecUnconfined{std::vector<std::string>(2'100'000, ""), "/w", "x"}});
        }) == "SESSION_INVALID");
  append(log, {ExecUnconfined{std::vector<std::string>(100'000, "a b"), "/w", "x"}});
  CHECK(records_of(place.path() + "/d/log").size() == 2);
}

TEST_CASE("a file that may not grow costs an event, not the program") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit small{300, 300};
    ::setrlimit(RLIMIT_FSIZE, &small);
    JsonlLog log = JsonlLog::create(path, header);
    int taken = 0;
    const std::string last = refusal([&] {
      for (; taken != 100; ++taken)
        append(log, {ModeSwitched{taken % 2 == 0 ? SandboxMode(read_only) : workspace_write}});
    });
    ::_exit(last == "LOG_FAILED" ? taken : 200);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) < 100);
  CHECK(records_of(path).size() == static_cast<std::size_t>(WEXITSTATUS(status)));
  CHECK(read_log(path).torn_bytes == 0);
}

TEST_CASE("DUR-05 whatever call of its making fails, there is a whole log or none") {
  using Log = BasicJsonlLog<FakeKernel>;
  for (const long number : {SYS_openat, SYS_mkdirat, SYS_write, SYS_fsync, SYS_fcntl, SYS_renameat2})
    for (const int after : {0, 1, 2}) {
      const TempDirectory place;
      const std::string path = place.path() + "/a/log";
      FakeKernel::refuse(number, after, EIO);
      Log log = Log::create(path, header);
      const std::string result = refusal([&] { append(log, {ModeSwitched{read_only}}); });
      INFO(number << " " << after);
      CHECK(support::exists(path) == (result == "none"));
      if (result != "none") {
        FakeKernel::allow_all();
        append(log, {ModeSwitched{read_only}});
      }
      CHECK(records_of(path).size() == 1);
      CHECK(std::distance(std::filesystem::directory_iterator(place.path() + "/a"), {}) == 1);
    }
}

TEST_CASE("POL-K6 at whatever system call a program dies, what it was told is recorded, and the mode is not wider") {
  using Log = BasicJsonlLog<FakeKernel>;
  const std::vector<SandboxMode> modes{danger_full_access, read_only, workspace_write, read_only, danger_full_access};
  for (int calls = 0; calls != 80; ++calls) {
    const TempDirectory place;
    const std::string path = place.path() + "/log";
    std::size_t told = 0;
    FakeKernel::die_after(calls);
    {
      Log log = Log::create(path, header);
      try {
        for (const SandboxMode mode : modes) {
          append(log, {ModeSwitched{mode}});
          ++told;
        }
        append(log, {PresetSelected{"p", 2}, ModeSwitched{read_only}, ApprovalPolicySwitched{ApprovalPolicy::never}});
        ++told;
      } catch (const LogError&) {
      }
    }
    FakeKernel::allow_all();
    INFO(calls << " calls, " << told << " told");
    if (!support::exists(path)) {
      REQUIRE(told == 0);
      continue;
    }
    JsonlLog log = JsonlLog::open(path);
    const std::size_t recorded = log.state().size();
    REQUIRE(recorded >= std::min(told, modes.size()));
    if (told > modes.size()) {
      REQUIRE(recorded == modes.size() + 3);
    } else if (recorded > told) {
      // Of what was on its way when the program died, it may be there, whole.
      REQUIRE((recorded == told + 1 || (told == modes.size() && recorded == told + 3)));
    }
  }
}

TEST_CASE("DUR-12 what need not be durable may wait for its batch, in order, and goes out with what must") {
  const TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    JsonlLog log = JsonlLog::create(path, header, {.batch_bytes = 200});
    log.flush();
    append(log, {TurnStarted{1}});
    CHECK(records_of(path).empty());
    append(log, {TurnEnded{1}});
    append(log, {TurnStarted{2}});
    CHECK(records_of(path).size() == 3);
    append(log, {TurnEnded{2}});
    CHECK(records_of(path).size() == 3);
    append(log, {ModeSwitched{read_only}});
    CHECK(records_of(path).size() == 5);
    append(log, {TurnStarted{3}});
    log.flush();
    CHECK(records_of(path).size() == 6);
    append(log, {TurnEnded{3}});
    std::size_t seen = 0;
    log.for_each([&](const Record&) { ++seen; });
    CHECK(seen == 7);
    append(log, {TurnStarted{4}});
  }
  CHECK(records_of(path).size() == 8);
  CHECK(read_log(path).state.turns() == 4);
}
