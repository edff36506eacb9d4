// SPDX-License-Identifier: BSL-1.0
#pragma once

// The first process of a pid namespace that a backend has ready. It stays there, clones the commands that are put into
// it, one after the other, and is the parent of each and of whatever that leaves behind. Nothing gets away from it, and
// nothing inside can signal it; its own end is the end of all. Like the keeper, to which it is the command, it shares
// this program's memory: what a program gives to its children by inheritance, the command has as of the time when its
// init was made (see os/linux/inherited.hpp).

#include <poll.h>
#include <sys/signalfd.h>

#include <cordon/os/linux/channel.hpp>
#include <cordon/process/keeper.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::process::detail {

/// What init is asked for: to start a command, or to send a signal to all that is in the namespace. The first comes
/// with the command's first three descriptors, and more. Without initializers, as os::detail::ControlMessage is.
struct InitOrder {
  CommandView* command;
  int signal;
};

/// What it tells, in this order; `over` only when something is left then, `gone` when nothing is, `used_up` when no
/// process is but something else, that the next command would find: then init is going to end. `waiting` is said by the
/// command's own process before `started`: nothing but its execve is left, and that is to be allowed.
enum class InitReport { started, over, gone, used_up, waiting };

/// The descriptors of init, which a command must not keep.
inline constexpr int init_channel = first_descriptor;
inline constexpr int init_children_ended = init_channel + 1;  ///< a signalfd for SIGCHLD
inline constexpr int init_ruleset = init_children_ended + 1;  ///< of Landlock, if any; closed when it is set up
/// What comes with an order behind the command's first three: the control groups that the command enters.
inline constexpr int init_received = init_children_ended + 1;

/// Whether the IPC namespace has shared memory, semaphores or message queues of System V in it. Source: shmctl(2),
/// semctl(2), msgctl(2).
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) bool
holds_memory() noexcept {
  constexpr long shared_memory_info = 14;
  constexpr long semaphore_info = 19;
  constexpr long message_info = 12;
  int numbers[32];
  numbers[0] = 0;  // shm_info::used_ids, msginfo::msgpool
  K::call(SYS_shmctl, 0, shared_memory_info, os::arg(numbers));
  if (numbers[0] != 0) return true;
  K::call(SYS_msgctl, 0, message_info, os::arg(numbers));
  if (numbers[0] != 0) return true;
  numbers[7] = 0;  // seminfo::semusz
  K::call(SYS_semctl, 0, 0, semaphore_info, os::arg(numbers));
  return numbers[7] != 0;
}

/// Init, from the end of its set-up on: every signal is blocked, and 0 to 2 are free.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) int
init_main(void*) noexcept {
  CommandView* command = nullptr;
  bool told = false;
  pollfd events[2] = {{init_channel, POLLIN, 0}, {init_children_ended, POLLIN, 0}};
  while (true) {
    if (K::call(SYS_ppoll, os::arg(events), 2, 0, 0, 0) == -EINVAL) return 0;
    if (events[1].revents != 0) {
      signalfd_siginfo once;
      K::call(SYS_read, init_children_ended, os::arg(&once), sizeof once);
    }
    if (events[0].revents != 0) {
      InitOrder order;
      order.command = nullptr;
      order.signal = 0;
      const long got = os::receive_order<K>(init_channel, order);
      // This program is gone, or has no use for the namespace any more.
      if (got <= 0 && got != -EINTR && got != -EMFILE) return 0;
      if (order.command == nullptr) {
        if (got > 0) K::call(SYS_kill, -1, order.signal);
      } else {
        command = order.command;
        told = false;
        command->pid = static_cast<int>(got < 0 ? got
                                                : K::clone(command->main, command->stack,
                                                           CLONE_VM | CLONE_VFORK | SIGCHLD, &command->child, nullptr));
        K::call(SYS_close_range, 0, init_channel - 1, 0);
        K::call(SYS_close_range, init_received, ~0U, 0);
        os::send_report<K>(init_channel, InitReport::started, command->pid > 0 ? command->pid : 1);
      }
    }
    if (command == nullptr) continue;
    if (!reap_children<K>(command)) {
      command = nullptr;
      const bool used_up = holds_memory<K>();
      os::send_report<K>(init_channel, used_up ? InitReport::used_up : InitReport::gone, 1);
      if (used_up) return 0;
    } else if (command->over && !told) {
      told = true;
      os::send_report<K>(init_channel, InitReport::over, 1);
    }
  }
}

}  // namespace cordon::process::detail

#pragma GCC diagnostic pop
