// SPDX-License-Identifier: BSL-1.0

// abi_clamp N PROGRAM [ARGUMENT…]: runs PROGRAM so that the kernel's Landlock looks like ABI N. Below 1 there is none:
// 0 answers ENOSYS (not built in), any negative number EOPNOTSUPP (switched off). For tests: a supervisor answers
// landlock_create_ruleset and landlock_restrict_self by seccomp user notification. What ABI N does not know is refused
// as such a kernel refuses it; what it knows is passed on, so that it is really enforced.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint32_t create_ruleset = 444;
constexpr std::uint32_t restrict_self = 446;
constexpr int setup_failed = 126;

std::uint64_t file_rights(int abi) {
  std::uint64_t rights = (1ULL << 13U) - 1;
  if (abi >= 2) rights |= 1ULL << 13U;
  if (abi >= 3) rights |= 1ULL << 14U;
  if (abi >= 5) rights |= 1ULL << 15U;
  return rights;
}

bool send_fd(int socket, int fd) {
  char byte = 'l';
  iovec vector{&byte, 1};
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(socket, &message, 0) == 1;
}

int receive_fd(int socket) {
  char byte = 0;
  iovec vector{&byte, 1};
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  int fd = -1;
  if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

/// In the child: a filter whose notifications go to the parent, then the program.
[[noreturn]] void become(int socket, char** argv) {
  if (::geteuid() != 0) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::array<sock_filter, 5> filter{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                     {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, create_ruleset},
                                     {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, restrict_self},
                                     {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
                                     {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  const int listener =
      static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  if (listener < 0 || !send_fd(socket, listener)) ::_exit(setup_failed);
  ::close(listener);
  ::execvp(argv[0], argv);
  ::_exit(127);
}

/// What a kernel of this ABI answers to landlock_create_ruleset: an errno, or 0 when it would take it.
int answer_to_create(int abi, const seccomp_notif& request) {
  constexpr std::size_t largest = 256;
  std::array<unsigned char, largest> attribute{};
  const std::size_t size = std::min<std::size_t>(request.data.args[1], largest);
  iovec local{attribute.data(), size};
  iovec remote{reinterpret_cast<void*>(request.data.args[0]), size};
  if (size != 0 && ::process_vm_readv(static_cast<pid_t>(request.pid), &local, 1, &remote, 1, 0) < 0) return EFAULT;
  const std::size_t known_size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  if (std::any_of(attribute.begin() + static_cast<std::ptrdiff_t>(known_size), attribute.end(),
                  [](unsigned char b) { return b != 0; }))
    return E2BIG;
  std::array<std::uint64_t, 3> words{};
  std::memcpy(words.data(), attribute.data(), sizeof words);
  const bool unknown = (words[0] & ~file_rights(abi)) != 0 || (words[1] & ~(abi >= 4 ? 3ULL : 0ULL)) != 0 ||
                       (words[2] & ~(abi >= 6 ? 3ULL : 0ULL)) != 0;
  return unknown ? EINVAL : 0;
}

void answer(int listener, int abi) {
  seccomp_notif request{};
  seccomp_notif_resp response{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
  response.id = request.id;
  const bool asks_version = static_cast<std::uint32_t>(request.data.nr) == create_ruleset && request.data.args[2] == 1;
  int error = 0;
  if (abi < 1)
    error = abi == 0 ? ENOSYS : EOPNOTSUPP;
  else if (asks_version)
    response.val = abi;
  else if (static_cast<std::uint32_t>(request.data.nr) == create_ruleset)
    error = request.data.args[2] != 0 ? EINVAL : answer_to_create(abi, request);
  else if ((request.data.args[1] & (abi >= 7 ? ~7ULL : ~0ULL)) != 0)
    error = EINVAL;
  if (error != 0)
    response.error = -error;
  else if (!asks_version)
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return setup_failed;
  const int abi = std::atoi(argv[1]);
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return setup_failed;
  const pid_t pid = ::fork();
  if (pid < 0) return setup_failed;
  if (pid == 0) become(sockets[1], argv + 2);
  ::close(sockets[1]);
  const int listener = receive_fd(sockets[0]);
  if (listener < 0) return setup_failed;
  // The listener hangs up when the last process behind the filter is gone.
  pollfd event{listener, POLLIN, 0};
  while (::poll(&event, 1, -1) >= 0 || errno == EINTR) {
    if ((event.revents & POLLIN) != 0)
      answer(listener, abi);
    else if (event.revents != 0)
      break;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
