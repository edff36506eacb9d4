// SPDX-License-Identifier: BSL-1.0
#pragma once

// A pair of sockets between this program and a process that shares its memory: orders go one way, with descriptors,
// reports the other, with a process number that the kernel translates between pid namespaces. Source: unix(7).
// The functions of the process's side call nothing but the kernel; see process/keeper.hpp.

#include <sys/socket.h>

#include <array>
#include <cordon/os/linux/fd.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::os {

template <class K>
struct Channel {
  BasicFd<K> ours;    ///< sends orders, receives reports
  BasicFd<K> theirs;  ///< the other way round
};

/// 0, or -errno.
template <class K>
[[nodiscard]] long make_channel(Channel<K>& channel) noexcept {
  int ends[2] = {-1, -1};
  const long made = K::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, arg(ends));
  if (made < 0) return made;
  channel = {BasicFd<K>(ends[0]), BasicFd<K>(ends[1])};
  const int on = 1;
  return K::call(SYS_setsockopt, ends[0], SOL_SOCKET, SO_PASSCRED, arg(&on), sizeof on);
}

namespace detail {

/// The kernel's cmsghdr with what belongs to it. Without initializers: they would be a constructor, which knows nothing
/// of stack protectors and sanitizers.
template <class T>
struct ControlMessage {
  std::size_t size;
  int level;
  int type;
  T content;
};

/// The one message of `bytes` with the control data of `control`.
template <class T>
struct Packet {
  iovec part;
  msghdr head;

  [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                              no_stack_protector))
  Packet(void* bytes, std::size_t size, ControlMessage<T>* control) noexcept {
    part.iov_base = bytes;
    part.iov_len = size;
    head.msg_name = nullptr;
    head.msg_namelen = 0;
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = control == nullptr ? 0 : sizeof *control;
    head.msg_flags = 0;
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
};

}  // namespace detail

/// The most descriptors that come with one order.
inline constexpr std::size_t most_ordered = 5;

/// Sends an order, with up to `most_ordered` descriptors. The bytes sent, or -errno.
template <class K, class Order>
[[nodiscard]] long send_order(int channel, Order order, std::span<const int> descriptors) noexcept {
  if (descriptors.size() > most_ordered) return -EINVAL;
  detail::ControlMessage<std::array<int, most_ordered>> control{
      CMSG_LEN(descriptors.size_bytes()), SOL_SOCKET, SCM_RIGHTS, {}};
  std::copy(descriptors.begin(), descriptors.end(), control.content.begin());
  detail::Packet packet(&order, sizeof order, descriptors.empty() ? nullptr : &control);
  packet.head.msg_controllen = descriptors.empty() ? 0 : CMSG_SPACE(descriptors.size_bytes());
  return retry<K>(SYS_sendmsg, channel, arg(&packet.head), MSG_NOSIGNAL);
}

/// Receives an order. Its descriptors, if any, get the lowest free numbers, in order, and stay open over an exec. The
/// bytes received, 0 at the end, or -errno.
template <class K, class Order>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) long
receive_order(int channel, Order& order) noexcept {
  detail::ControlMessage<std::array<int, most_ordered>> control;
  detail::Packet packet(&order, sizeof order, &control);
  const long got = K::call(SYS_recvmsg, channel, arg(&packet.head), 0);
  return (packet.head.msg_flags & MSG_CTRUNC) != 0 ? -EMFILE : got;
}

/// Sends a report that speaks of process `pid` as the sender numbers it. That takes CAP_SYS_ADMIN over the sender's pid
/// namespace when it is not the sender's own. The bytes sent, or -errno.
template <class K, class Report>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) long
send_report(int channel, Report report, long pid) noexcept {
  detail::ControlMessage<ucred> control;
  control.size = CMSG_LEN(sizeof(ucred));
  control.level = SOL_SOCKET;
  control.type = SCM_CREDENTIALS;
  control.content.pid = static_cast<pid_t>(pid);
  control.content.uid = static_cast<uid_t>(K::call(SYS_getuid));
  control.content.gid = static_cast<gid_t>(K::call(SYS_getgid));
  detail::Packet packet(&report, sizeof report, &control);
  return K::call(SYS_sendmsg, channel, arg(&packet.head), MSG_NOSIGNAL);
}

/// Receives a report and the process that it speaks of, as the caller numbers it. The bytes received, 0 when the other
/// side is gone, or -errno: -EAGAIN when `block` is false and there is none.
template <class K, class Report>
[[nodiscard]] long receive_report(int channel, Report& report, long& pid, bool block) noexcept {
  detail::ControlMessage<ucred> control{};
  detail::Packet packet(&report, sizeof report, &control);
  const long got = retry<K>(SYS_recvmsg, channel, arg(&packet.head), MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT));
  if (got > 0) pid = control.content.pid;
  return got;
}

}  // namespace cordon::os

#pragma GCC diagnostic pop
