// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/inherited.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <vector>

#include "support/catch.hpp"

namespace os = cordon::os;
using os::inherited_state;

TEST_CASE("What a process inherits is the same text as long as nothing changes, whatever the thread does meanwhile") {
  const std::string before = inherited_state();
  CHECK_FALSE(before.empty());
  std::vector<char> memory(std::size_t{64} << 20U, 'x');
  const os::Fd descriptor(os::open_file<os::Kernel>("/dev/null", O_RDONLY));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  CHECK(inherited_state() == before);
}

TEST_CASE("A change of what a process inherits is a change of the text") {
  const std::string before = inherited_state();
  const mode_t old = ::umask(0);
  ::umask(old ^ 011U);
  CHECK(inherited_state() != before);
  ::umask(old);
  CHECK(inherited_state() == before);
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  const rlimit other{limit.rlim_cur == 0 ? limit.rlim_max : 0, limit.rlim_max};
  if (other.rlim_cur == limit.rlim_cur) return;  // the limit can't be changed here
  ::setrlimit(RLIMIT_CORE, &other);
  CHECK(inherited_state() != before);
  ::setrlimit(RLIMIT_CORE, &limit);
  CHECK(inherited_state() == before);
}

TEST_CASE("A process of the same domain can be reached into, one that is gone can't") {
  const os::Fd own(os::open_file<os::Kernel>("/proc/self", O_PATH | O_DIRECTORY));
  CHECK(os::reaches_into<os::Kernel>(own.get()));
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const os::Fd entry(os::open_file<os::Kernel>(("/proc/" + std::to_string(child)).c_str(), O_PATH | O_DIRECTORY));
  CHECK(os::reaches_into<os::Kernel>(entry.get()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(os::reaches_into<os::Kernel>(entry.get()));
}
