// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cordon/os/linux/fd.hpp>
#include <cstring>

namespace cordon::os {

/// A message that carries N descriptors over a Unix socket, ready before the numbers are open. Source: unix(7). It
/// points into itself, so it stays where it was made.
template <std::size_t N>
class FdMessage {
 public:
  explicit FdMessage(const std::array<int, N>& fds) noexcept {
    vector_ = {&byte_, 1};
    message_.msg_iov = &vector_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  }
  FdMessage(const FdMessage&) = delete;
  FdMessage& operator=(const FdMessage&) = delete;

  [[nodiscard]] const msghdr& get() const noexcept { return message_; }

 private:
  char byte_ = 'f';
  iovec vector_{};
  msghdr message_{};
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(N * sizeof(int))> control_{};
};

/// Takes N descriptors out of a socket without waiting. False when they are not there.
template <class K, std::size_t N>
[[nodiscard]] bool receive_fds(int socket, std::array<BasicFd<K>, N>& fds) noexcept {
  char byte = 0;
  iovec vector{&byte, 1};
  alignas(cmsghdr) std::array<unsigned char, CMSG_SPACE(N * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (retry<K>(SYS_recvmsg, socket, arg(&message), MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(N * sizeof(int)))
    return false;
  std::array<int, N> numbers{};
  std::memcpy(numbers.data(), CMSG_DATA(header), sizeof numbers);
  for (std::size_t i = 0; i != N; ++i) fds[i] = BasicFd<K>(numbers[i]);
  return true;
}

}  // namespace cordon::os
