// SPDX-License-Identifier: BSL-1.0

// What a session log costs beside the system calls that it can't do without: appends beside write(2) of the same bytes,
// durable ones beside write(2) and fdatasync(2), reading, and asking a long live session for its mode. Each pair takes
// turns in one run.
//
//   log_benchmark [EVENTS] [DIRECTORY]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cordon/session/jsonl_log.hpp>
#include <cordon/session/session.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace cordon;
using Clock = std::chrono::steady_clock;

double seconds_of(const auto& act) {
  const auto begun = Clock::now();
  act();
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct PlainFile {
  explicit PlainFile(const std::string& path)
      : fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~PlainFile() { ::close(fd); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  void write(const std::string& text) const {
    if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  }
  int fd;
};

void append(JsonlLog& log, Event event) {
  const Event events[]{std::move(event)};
  log.append(events);
}

}  // namespace

int main(int argc, char** argv) {
  const int events = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  const std::string place =
      (argc > 2 ? argv[2] : "/var/tmp") + std::string("/cordon-log-benchmark-") + std::to_string(::getpid());
  const std::string path = place + "/log";

  {
    JsonlLog log = JsonlLog::create(path, {"s", 0});
    log.flush();
    JsonlLog batched = JsonlLog::create(place + "/batched", {"s", 0}, {.batch_bytes = 64 << 10});
    batched.flush();
    const PlainFile plain(place + "/plain");
    std::string line;
    detail::write_record(line, {1000, detail::time_now(), TurnStarted{1000}});
    std::vector<double> ours;
    std::vector<double> in_batches;
    std::vector<double> theirs;
    constexpr int burst = 2000;
    std::uint64_t turn = 0;
    for (int round = 0; round != 50; ++round) {
      const auto turns = [&](JsonlLog& to) {
        return seconds_of([&] {
                 for (int i = 0; i != burst / 2; ++i) {
                   append(to, TurnStarted{turn + static_cast<std::uint64_t>(i) + 1});
                   append(to, TurnEnded{turn + static_cast<std::uint64_t>(i) + 1});
                 }
               }) /
               burst;
      };
      ours.push_back(turns(log));
      in_batches.push_back(turns(batched));
      turn += burst / 2;
      theirs.push_back(seconds_of([&] {
                         for (int i = 0; i != burst; ++i) plain.write(line);
                       }) /
                       burst);
    }
    const double base = median(theirs);
    std::printf("append, not durable        %9.0f events/s   %5.2f x write(2)\n", 1 / median(ours),
                median(ours) / base);
    std::printf("append, batches of 64 KiB  %9.0f events/s   %5.2f x write(2)\n", 1 / median(in_batches),
                median(in_batches) / base);
  }
  {
    JsonlLog log = JsonlLog::create(place + "/durable", {"s", 0});
    log.flush();
    const PlainFile plain(place + "/synced");
    std::string line;
    detail::write_record(line, {1000, detail::time_now(), ModeSwitched{read_only}});
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round != 300; ++round) {
      ours.push_back(seconds_of([&] { append(log, ModeSwitched{read_only}); }));
      theirs.push_back(seconds_of([&] {
        plain.write(line);
        if (::fdatasync(plain.fd) != 0) std::abort();
      }));
    }
    std::printf("append, durable            %9.0f us         %5.2f x write(2) + fdatasync(2)\n", median(ours) * 1e6,
                median(ours) / median(theirs));
  }
  {
    const std::string many = place + "/many";
    {
      const PlainFile file(many);
      std::string text;
      detail::write_header(text, {"s", 0});
      const Event kinds[]{
          ExecConfined{{"git", "commit", "-m", "a message"}, workspace_write, "/home/u/project", "layered", {}},
          ModeSwitched{read_only}, ApprovalPolicySwitched{ApprovalPolicy::ask}};
      detail::write_record(text, {0, 1, TurnStarted{1}});
      std::uint64_t seq = 1;
      while (seq != static_cast<std::uint64_t>(events)) {
        detail::write_record(text, {seq, 1, kinds[seq % 3]});
        ++seq;
        if (seq % 3 == 1 && seq != static_cast<std::uint64_t>(events)) {
          detail::write_record(text, {seq, 1, ExecSettled{seq - 1, "exited", 0}});
          ++seq;
        }
        if (text.size() > (1U << 20U)) {
          file.write(text);
          text.clear();
        }
      }
      file.write(text);
    }
    std::vector<double> taken;
    LogReport report;
    for (int round = 0; round != 5; ++round) taken.push_back(seconds_of([&] { report = read_log(many); }));
    std::printf("read %9llu events      %9.0f MB/s\n", static_cast<unsigned long long>(report.state.size()),
                static_cast<double>(report.sound_size) / median(taken) / 1e6);
    const Session<JsonlLog> session(JsonlLog::open(many));
    constexpr int asks = 10'000'000;
    std::size_t sum = 0;
    const double each = seconds_of([&] {
      for (int i = 0; i != asks; ++i) sum += session.effective_mode().name().size();
    });
    std::printf("effective mode of it       %9.1f ns%s\n", each / asks * 1e9, sum == 0 ? "?" : "");
  }
  const std::string remove = "rm -rf '" + place + "'";
  return std::system(remove.c_str());
}
