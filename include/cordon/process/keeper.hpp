// SPDX-License-Identifier: BSL-1.0
#pragma once

// The processes between this program and one command. None of them costs an exec: they are cloned from this program
// and share its memory, but neither its descriptors nor its signals. They run on memory that `launch_command` prepared,
// allocate nothing, lock nothing, throw nothing, and call nothing but the kernel.
//
// The keeper is the parent of the command and the reaper of everything that the command leaves behind, so that no
// descendant gets away by setsid or by a double fork, and it ends all of them when this program dies.
//
// Where a backend has a pid namespace ready, its first process does all that instead; see process/init.hpp.

#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>

#include <array>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/launch.hpp>
#include <cordon/process/stage.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The keeper runs beside a thread of this program with that thread's own thread-local storage: a sanitizer must not
// leave a single call in it. GCC does with no_sanitize, Clang needs to be told by a name that GCC does not know. The
// thread may end earlier and take that storage with it, so nothing may look for a stack protector's value there either.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::process {

/// What ends the processes that a command left behind, and all of them when it is to end.
enum class TreeKeeper {
  /// The keeper, as their reaper: nothing gets away.
  subreaper,
  /// A signal to the command's process group, where /proc can't be read: what called setsid gets away.
  process_group,
  /// A pid namespace of the command's own, which ends with its first process: nothing gets away.
  pid_namespace,
};

[[nodiscard]] constexpr std::string_view name(TreeKeeper keeper) noexcept {
  switch (keeper) {
    case TreeKeeper::subreaper:
      return "subreaper";
    case TreeKeeper::process_group:
      return "process-group";
    case TreeKeeper::pid_namespace:
      return "pid-namespace";
  }
  return "unknown";
}

namespace detail {

/// execve along `candidates` (null-terminated). Returns only on failure, with the errno that describes it best: a
/// program that exists and can't be executed says more than a directory that does not have it. `stage` is set when one
/// exists whose interpreter does not.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) int
exec_first(const char* const* candidates, const char* const* argv, const char* const* environment,
           Stage& stage) noexcept {
  int error = ENOENT;
  for (; *candidates != nullptr; ++candidates) {
    const int failed =
        static_cast<int>(-K::call(SYS_execve, os::arg(*candidates), os::arg(argv), os::arg(environment)));
    if (failed == ENOENT && K::call(SYS_faccessat, AT_FDCWD, os::arg(*candidates), F_OK) == 0)
      stage = Stage::interpreter;
    if (failed == ENOENT || failed == ENOTDIR) continue;
    stage = Stage::exec;
    error = failed;
    if (failed != EACCES) break;
  }
  return error;
}

/// The kernel's own layout of a signal action; all zero is the default action.
struct KernelSignalAction {
  void* handler = nullptr;
  unsigned long flags = 0;
  void* restorer = nullptr;
  std::uint64_t mask = 0;
};

/// What the command's process reads, and what it answers.
struct ChildView {
  const PreparedCall* calls = nullptr;
  std::size_t count = 0;
  const char* const* candidates = nullptr;
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
  int (*instead)(void*) = nullptr;  ///< called instead of execve
  bool observed = false;      ///< while it waits for `go`, a process that is not its ancestor may begin to trace it
  int go = 1;                 ///< 0: execve waits until it is 1; -1: there is to be none
  Stage stage = Stage::exec;  ///< the step that failed
  int error = 0;              ///< and its errno; 0 when execve has happened
};

/// The command's process, from clone to execve: makes the prepared calls, and reports the first that fails.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) int
child_main(void* raw) noexcept {
  auto* view = static_cast<ChildView*>(raw);
  for (std::size_t i = 0; i != view->count; ++i) {
    const PreparedCall* call = view->calls + i;
    const long* a = call->arguments;
    const long result = K::call(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result >= 0) continue;
    view->stage = call->stage;
    view->error = static_cast<int>(-result);
    K::call(SYS_exit_group, 125);
  }
  if (view->instead != nullptr) return view->instead(nullptr);
  while (__atomic_load_n(&view->go, __ATOMIC_ACQUIRE) == 0)
    K::call(SYS_futex, os::arg(&view->go), FUTEX_WAIT_PRIVATE, 0);
  if (view->go < 0) K::call(SYS_exit_group, 125);
  if (view->observed) K::call(SYS_prctl, PR_SET_PTRACER, 0);
  view->error = exec_first<K>(view->candidates, view->argv, view->environment, view->stage);
  K::call(SYS_exit_group, 125);
  return 0;
}

/// Lets a child that waits for it go on to execve, or not.
template <class K>
void let_go(ChildView& child, bool go) noexcept {
  __atomic_store_n(&child.go, go ? 1 : -1, __ATOMIC_RELEASE);
  K::call(SYS_futex, os::arg(&child.go), FUTEX_WAKE_PRIVATE, 1);
}

/// The ids of a user namespace that the keeper has to write, in the forms of user_namespaces(7).
struct IdMaps {
  const char* users = nullptr;
  std::size_t users_size = 0;
  const char* groups = nullptr;
  std::size_t groups_size = 0;
};

/// What the parent of a command reads, and what it answers.
struct CommandView {
  ChildView child;
  int (*main)(void*) = nullptr;  ///< of the command's process, which gets `child`
  void* stack = nullptr;         ///< and its stack's top

  int pid = 0;                 ///< the command's process as its parent numbers it, or -errno when it was not cloned
  bool over = false;           ///< the command has ended
  os::WaitStatus status;       ///< and how
  std::uint32_t outlived = 0;  ///< processes that ended later than the command
};

/// What the keeper reads beside. Its answers may be read when it has rung or is gone.
struct KeeperView {
  CommandView command;
  int clone_flags = 0;           ///< namespaces of the command
  long parent = 0;               ///< this program
  int bell = -1;                 ///< an event descriptor: rung when the command ended and something it left did not
  bool whole_tree = true;        ///< false: only the process group can be ended
  const IdMaps* maps = nullptr;  ///< of the user namespace that the command is cloned into
  int mapped = -1;               ///< a byte is written here when they are in place
};

/// Asks the keeper to end all that still runs.
inline constexpr int end_request = SIGUSR1;
/// Tells the keeper that the thread which made it is gone; it finds out whether this program is.
inline constexpr int parent_changed = SIGUSR2;

/// The keeper's children, as the kernel lists them; see proc(5).
inline constexpr const char* children_file = "/proc/thread-self/children";

/// The list of the calling process's children, or -errno.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) long
open_children() noexcept {
  return K::call(SYS_openat, AT_FDCWD, os::arg(children_file), O_RDONLY | O_CLOEXEC);
}

/// Sends SIGKILL to every child of the calling process that `list` shows. None of the numbers can have become another
/// process's: only the caller reaps them.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
kill_children(int list) noexcept {
  char text[4096];
  long offset = 0;
  long pid = 0;
  while (true) {
    const long got = K::call(SYS_pread64, list, os::arg(text), sizeof text, offset);
    if (got <= 0) return;
    offset += got;
    for (long i = 0; i != got; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        pid = pid * 10 + (text[i] - '0');
      } else {
        if (pid > 0) K::call(SYS_kill, pid, SIGKILL);
        pid = 0;
      }
    }
  }
}

template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
ring(int bell) noexcept {
  const std::uint64_t once = 1;
  K::call(SYS_write, bell, os::arg(&once), sizeof once);
}

/// Reaps every child that has ended. False when there is none left, running or not. What has ended by the time that
/// the command is found to have did not outlive it.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) bool
reap_children(CommandView* command) noexcept {
  const bool was_over = command->over;
  while (true) {
    siginfo_t info;
    info.si_pid = 0;
    const long result = K::call(SYS_waitid, P_ALL, 0, os::arg(&info), WEXITED | WNOHANG | __WALL, 0);
    if (result == -EINTR) continue;
    if (result < 0) return false;
    if (info.si_pid == 0) return true;
    if (info.si_pid != command->pid || command->over) {
      if (was_over) command->outlived = command->outlived + 1;
      continue;
    }
    command->status.signalled = info.si_code != CLD_EXITED;
    command->status.value = info.si_status;
    command->over = true;
  }
}

/// True when the command has ended and nobody has reaped it yet.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) bool
has_ended(long pid) noexcept {
  siginfo_t info;
  info.si_pid = 0;
  return K::call(SYS_waitid, P_PID, pid, os::arg(&info), WEXITED | WNOHANG | WNOWAIT | __WALL, 0) == 0 &&
         info.si_pid != 0;
}

/// Writes "/proc/PID/NAME" with, if it is not negative, "/NUMBER" behind it.
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) inline void
write_proc_path(char* path, long pid, const char* name, long number) noexcept {
  const auto digits = [path](long value, std::size_t at)
      __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector)) {
    char reversed[20];
    std::size_t count = 0;
    do {
      reversed[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0) path[at++] = reversed[--count];
    return at;
  };
  std::size_t at = 0;
  for (const char* c = "/proc/"; *c != 0; ++c) path[at++] = *c;
  at = digits(pid, at);
  path[at++] = '/';
  for (const char* c = name; *c != 0; ++c) path[at++] = *c;
  if (number >= 0) {
    path[at++] = '/';
    at = digits(number, at);
  }
  path[at] = 0;
}

/// Writes `text` to /proc/PID/NAME. 0, or -errno.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) long
write_proc(int pid, const char* name, const char* text, std::size_t size) noexcept {
  char path[64];
  write_proc_path(path, pid, name, -1);
  const long fd = K::call(SYS_openat, AT_FDCWD, os::arg(path), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  const long written = K::call(SYS_write, fd, os::arg(text), static_cast<long>(size));
  K::call(SYS_close, fd);
  return written < 0 ? written : 0;
}

/// Maps the ids of the command's user namespace, and lets it go on. When that fails the command is ended.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
map_ids(KeeperView* view) noexcept {
  const IdMaps* maps = view->maps;
  const int pid = view->command.pid;
  long result = write_proc<K>(pid, "setgroups", "deny", 4);
  if (result >= 0) result = write_proc<K>(pid, "uid_map", maps->users, maps->users_size);
  if (result >= 0) result = write_proc<K>(pid, "gid_map", maps->groups, maps->groups_size);
  if (result >= 0) result = K::call(SYS_write, view->mapped, os::arg("m"), 1);
  if (result >= 0) return;
  view->command.child.stage = Stage::user_namespace;
  view->command.child.error = static_cast<int>(-result);
  K::call(SYS_kill, pid, SIGKILL);
}

/// The keeper, from clone to exit. Every signal is blocked when it begins.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) int
keeper_main(void* raw) noexcept {
  auto* view = static_cast<KeeperView*>(raw);
  CommandView* const command = &view->command;
  // This program may ignore the end of its children; the keeper may not.
  static constexpr KernelSignalAction default_action{};
  long result = K::call(SYS_rt_sigaction, SIGCHLD, os::arg(&default_action), 0, sizeof default_action.mask);
  if (result >= 0) result = K::call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  if (result >= 0) result = K::call(SYS_prctl, PR_SET_PDEATHSIG, parent_changed);
  if (result >= 0)
    result = K::clone(command->main, command->stack, CLONE_VM | CLONE_PARENT_SETTID | SIGCHLD | view->clone_flags,
                      &command->child, &command->pid);
  if (result < 0) {
    command->pid = static_cast<int>(result);
    K::call(SYS_exit_group, 0);
  }
  if (view->maps != nullptr) map_ids<K>(view);
  if (view->bell > 0) K::call(SYS_close_range, 0, view->bell - 1, 0);
  K::call(SYS_close_range, view->bell + 1, ~0U, 0);

  // This program's end, told without a signal: one it may not send when it has other privileges by then.
  static constexpr std::uint64_t every = ~0ULL;
  pollfd events[2] = {
      {static_cast<int>(K::call(SYS_pidfd_open, view->parent, 0)), POLLIN, 0},
      {static_cast<int>(K::call(SYS_signalfd4, -1, os::arg(&every), sizeof every, O_CLOEXEC)), POLLIN, 0}};
  bool ending = K::call(SYS_getppid) != view->parent;
  bool told = false;
  long list = -1;
  while (true) {
    // Only while the leader is not reaped is the group's number sure to be its own.
    if (!view->whole_tree && (ending || has_ended<K>(command->pid))) K::call(SYS_kill, -command->pid, SIGKILL);
    if (!reap_children<K>(command) || (command->over && !view->whole_tree)) break;
    if (command->over && !told) {
      told = true;
      ring<K>(view->bell);
    }
    if (ending && view->whole_tree) {
      if (list < 0) list = open_children<K>();
      if (list >= 0)
        kill_children<K>(static_cast<int>(list));
      else
        view->whole_tree = false;
    }
    // A process whose parent was killed becomes a child without a signal: look again soon.
    static constexpr timespec soon{0, 1'000'000};
    static constexpr timespec now{0, 0};
    if (events[0].fd >= 0 && events[1].fd >= 0) {
      K::call(SYS_ppoll, os::arg(events), 2, os::arg(ending ? &soon : nullptr), 0, 0);
      if (events[0].revents != 0) {
        ending = true;
        events[1].fd = -1;
      }
    }
    const timespec* limit = events[0].fd >= 0 && events[1].fd >= 0 ? &now : ending ? &soon : nullptr;
    const long signal = K::call(SYS_rt_sigtimedwait, os::arg(&every), 0, os::arg(limit), sizeof every);
    if (signal == end_request || K::call(SYS_getppid) != view->parent) ending = true;
  }
  K::call(SYS_exit_group, 0);
  return 0;
}

/// What those processes run on. It must outlive them.
struct KeeperArea {
  KeeperView view;
  IdMaps maps;
  std::vector<std::string> candidates;
  std::vector<const char*> candidate_pointers;
  std::vector<const char*> argv;
  std::vector<const char*> environment;
  std::vector<PreparedCall> calls;
  // Left as they are: nothing reads them before it has written.
  alignas(16) std::array<std::byte, 16384> keeper_stack;
  alignas(16) std::array<std::byte, 16384> child_stack;
};

}  // namespace detail

}  // namespace cordon::process

#pragma GCC diagnostic pop
