// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/process.hpp>

#include <signal.h>

#include "support/catch.hpp"

namespace os = cordon::os;
using K = os::Kernel;

namespace {

/// A child that runs `body` and ends with what it returns.
template <class Body>
pid_t child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

}  // namespace

TEST_CASE("Waiting by pidfd tells the exit code, reaps, and finds nothing the second time") {
  const pid_t pid = child([] { return 7; });
  const os::Fd pidfd(os::open_pidfd<K>(pid));
  REQUIRE(pidfd);
  os::WaitStatus status;
  CHECK(os::wait_for<K>(pidfd.get(), true, status) == 0);
  CHECK_FALSE(status.signalled);
  CHECK(status.value == 7);
  CHECK(os::wait_for<K>(pidfd.get(), true, status) == -ECHILD);
}

TEST_CASE("A child that still runs is not waited for unless asked, and ends by the signal it is sent") {
  const pid_t pid = child([] {
    ::pause();
    return 0;
  });
  const os::Fd pidfd(os::open_pidfd<K>(pid));
  os::WaitStatus status;
  CHECK(os::wait_for<K>(pidfd.get(), false, status) == -EAGAIN);
  CHECK(os::send_signal<K>(pidfd.get(), SIGKILL) == 0);
  CHECK(os::wait_for<K>(pidfd.get(), true, status) == 0);
  CHECK(status.signalled);
  CHECK(status.value == SIGKILL);
}

TEST_CASE("A pidfd is closed on exec and a missing process has none") {
  const os::Fd self(os::open_pidfd<K>(::getpid()));
  CHECK(::fcntl(self.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(os::open_pidfd<K>(-1) == -EINVAL);
}

TEST_CASE("Signals are blocked while the guard lives, and as before after it") {
  sigset_t before;
  sigset_t during;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const os::BlockAllSignals<K> blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &during);
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGPIPE}) {
    CHECK(::sigismember(&during, signal) == 1);
    CHECK(::sigismember(&after, signal) == ::sigismember(&before, signal));
  }
}

TEST_CASE("The effective user is the C library's") {
  CHECK(os::effective_uid<K>() == ::geteuid());
}

TEST_CASE("A capability is had exactly when the kernel says so") {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  REQUIRE(file != nullptr);
  char line[256];
  unsigned long long effective = 0;
  bool found = false;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "CapEff: %llx", &effective) == 1) found = true;
  std::fclose(file);
  REQUIRE(found);
  for (unsigned capability : {0U, 1U, os::cap_sys_admin, 31U, 32U, 40U}) {
    INFO(capability);
    CHECK(os::has_capability<K>(capability) == ((effective >> capability & 1U) != 0));
  }
}
