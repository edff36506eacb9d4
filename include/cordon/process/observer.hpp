// SPDX-License-Identifier: BSL-1.0
#pragma once

// The denial observer's process: it stands beside the keeper, traces a command from before its execve and everything
// that comes of it, and writes down which file-changing system calls were refused. It shares this program's memory as
// the keeper does, and the same rules hold for what it runs; see process/keeper.hpp.
//
// A process and not a thread: ptrace stops are told to whoever waits for any child of the tracer's process, and this
// program may do that in any thread. It decides nothing: a stopped process is always let go on with the call or the
// signal that it had. When it ends, the kernel ends all that it traces. Source: ptrace(2), seccomp(2).

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/observed_calls.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/os/linux/tracing.hpp>
#include <cordon/process/keeper.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace cordon::process {

/// A system call that was refused, as it was made.
struct RefusedCall {
  std::uint32_t number = 0;  ///< see os::observed_call
  int error = 0;             ///< EROFS, EACCES, EPERM or EXDEV
  long pid = 0;              ///< of the thread that made it first, as this program numbers it
  std::uint64_t detail = 0;  ///< what ObservedCallRow::detail names
  std::string path = {};     ///< as the process's own view names it; absolute, unless its directory can't be told
  std::string to_path = {};  ///< the second one of a rename or a link

  friend bool operator==(const RefusedCall&, const RefusedCall&) = default;
};

/// All that was refused to a command and what came of it, in order, each combination of call, path and error once.
struct Observations {
  std::vector<RefusedCall> calls;
  std::uint64_t left_out = 0;  ///< refused calls that there was no room for
};

namespace detail {

/// A stretch of the text that was written down.
struct TextRange {
  std::uint32_t at;
  std::uint32_t size;
};

/// One path of a call: `text` is what the call named, `base` the directory that it begins at when it is relative.
struct NotedPath {
  TextRange base;
  TextRange text;
};

struct NotedCall {
  std::uint32_t number;
  int error;
  long pid;
  std::uint64_t detail;
  NotedPath path;
  NotedPath to_path;
};

/// What the observer reads and writes. It is left as it is when it is made: nothing reads a part that was not written.
/// Plain arrays, since an element of another kind would be got by a call.
struct ObserverArea {
  static constexpr std::size_t most_calls = 1024;
  static constexpr std::size_t most_text = std::size_t{1} << 18U;
  static constexpr std::size_t most_at_once = 512;
  static constexpr std::size_t longest_looked_at = 2048;

  /// A thread that is in a call of the table; pid 0: a free place.
  struct Calling {
    long pid;
    os::tracing::SyscallInfo call;
  };

  long pid;       ///< to be traced
  int bell;       ///< an event descriptor: rung when `attached` is known
  long attached;  ///< 0: not known yet; 1; or -errno
  std::size_t calls;
  std::size_t text_used;
  std::uint64_t left_out;
  std::size_t places;             ///< of `calling`, that were ever used
  const char* const* roots;       ///< null-terminated: what is refused in them need not be seen
  const char* const* exceptions;  ///< but in these it must
  std::size_t plain_size;         ///< of `plain`; 0: there is none
  Calling calling[most_at_once];
  char plain[longest_looked_at];  ///< a directory that no symlink was on the way to
  NotedCall noted[most_calls];
  char text[most_text];
  alignas(16) char stack[32768];
};

/// The place of thread `pid`, or with 0 a free one. Null when there is none.
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((
    no_sanitize("address", "undefined", "thread"), no_stack_protector)) inline ObserverArea::Calling*
find_calling(ObserverArea* area, long pid) noexcept {
  for (std::size_t i = 0; i != area->places; ++i)
    if (area->calling[i].pid == pid) return area->calling + i;
  if (pid != 0 || area->places == ObserverArea::most_at_once) return nullptr;
  ObserverArea::Calling* const place = area->calling + area->places;
  place->pid = 0;
  area->places = area->places + 1;
  return place;
}

/// True when the text begins with `place`, and that ends where a component does.
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline bool
lies_within(const char* text, const char* place) noexcept {
  if (place[0] == '/' && place[1] == 0) return text[0] == '/';
  std::size_t i = 0;
  for (; place[i] != 0; ++i)
    if (text[i] != place[i]) return false;
  return text[i] == 0 || text[i] == '/';
}

[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline bool
lies_within_any(const char* text, const char* const* places) noexcept {
  for (; *places != nullptr; ++places)
    if (lies_within(text, *places)) return true;
  return false;
}

[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline bool
goes_up(const char* path) noexcept {
  for (std::size_t i = 0; path[i] != 0; ++i)
    if ((i == 0 || path[i - 1] == '/') && path[i] == '.' && path[i + 1] == '.' &&
        (path[i + 2] == 0 || path[i + 2] == '/'))
      return true;
  return false;
}

/// Writes the name under which a thread's link in /proc leads to the directory, or file, that a path of its begins at.
/// False when there is none.
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline bool
write_base_link(char* link, long pid, const std::uint64_t* arguments, int directory) noexcept {
  const int descriptor = directory < 0 ? AT_FDCWD : static_cast<int>(arguments[directory]);
  if (descriptor == AT_FDCWD)
    write_proc_path(link, pid, "cwd", -1);
  else if (descriptor >= 0)
    write_proc_path(link, pid, "fd", descriptor);
  else
    return false;
  return true;
}

/// True when there is no symlink in a path up to its last slash, which is at `size`. That was found out before where it
/// is the directory of the last path: what could have changed it since would have been seen, and forgotten it.
template <class K>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) bool
is_plain_directory(ObserverArea* area, char* path, std::size_t size) noexcept {
  bool known = area->plain_size == size && size != 0;
  for (std::size_t i = 0; known && i != size; ++i) known = area->plain[i] == path[i];
  if (known || size == 0) return true;
  static constexpr std::uint64_t without_symlinks[3] = {O_PATH | O_CLOEXEC, 0, 4};  // struct open_how
  path[size] = 0;
  const long opened = K::call(os::openat2_call, AT_FDCWD, os::arg(path), os::arg(without_symlinks), 24);
  path[size] = '/';
  if (opened < 0) return opened == -ENOENT;
  K::call(SYS_close, opened);
  area->plain_size = size;
  for (std::size_t i = 0; i != size; ++i) {
    area->plain[i] = path[i];
    asm volatile("" ::: "memory");  // no call of memcpy
  }
  return true;
}

/// True when a path of a call surely leads into a root, and not into an exception: by its text, and by no symlink on
/// its way. `follows`: a symlink at its end would be followed.
template <class K>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) bool
leads_into_root(ObserverArea* area, long pid, const std::uint64_t* arguments, int directory, int named,
                bool follows) noexcept {
  constexpr std::size_t longest = ObserverArea::longest_looked_at;
  char room[2 * longest];  // the base ends where the text begins
  char* const text = room + longest;
  char* path = text;
  bool has_slash = false;
  text[0] = 0;
  if (named >= 0) {
    const long got = os::tracing::read_memory<K>(pid, arguments[named], text, longest);
    long size = 0;
    for (; size < got && text[size] != 0; ++size)
      if (text[size] == '/') has_slash = true;
    if (size >= got || goes_up(text)) return false;
  }
  if (text[0] != '/') {
    char link[64];
    char base[longest];
    if (!write_base_link(link, pid, arguments, directory)) return false;
    const long size = K::call(SYS_readlinkat, AT_FDCWD, os::arg(link), os::arg(base), longest - 1);
    if (size <= 0 || size >= static_cast<long>(longest) - 1 || base[0] != '/') return false;
    if (text[0] != 0 && size > 1) *--path = '/';
    for (long i = size; i > 0; --i) {
      *--path = base[i - 1];
      asm volatile("" ::: "memory");  // no call of memmove
    }
  }
  if (!lies_within_any(path, area->roots) || lies_within_any(path, area->exceptions)) return false;
  if (text[0] == 0) return true;  // the kernel's own name of it
  std::size_t slash = 0;
  for (std::size_t i = 0; path[i] != 0; ++i)
    if (path[i] == '/') slash = i;
  if (has_slash && !is_plain_directory<K>(area, path, slash)) return false;
  if (!follows) return true;
  const long linked = K::call(SYS_readlinkat, AT_FDCWD, os::arg(path), os::arg(room), 1);
  return linked == -EINVAL || linked == -ENOENT;
}

/// True when it need not be seen what becomes of a call.
template <class K>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) bool
is_of_no_interest(ObserverArea* area, long pid, const os::tracing::SyscallInfo* call) noexcept {
  if (*area->roots == nullptr) return false;
  const os::ObservedCallRow* const row = os::observed_call(call->number);
  if (row == nullptr) return false;
  const bool opens = row->effect == FileEffect::write;
  const bool makes_symlink = row->effect == FileEffect::create && row->path > 0 && row->directory != 0;
  if (row->effect == FileEffect::rename_link || makes_symlink) area->plain_size = 0;
  const bool only_new = opens && row->detail >= 0 && row->number != os::openat2_call &&
                        (call->arguments[row->detail] & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const bool follows = !only_new && row->effect != FileEffect::create && row->effect != FileEffect::remove;
  return leads_into_root<K>(area, pid, call->arguments, row->directory, row->path, follows) &&
         (row->to_path < 0 || leads_into_root<K>(area, pid, call->arguments, row->to_directory, row->to_path, follows));
}

/// Writes down one path of a call of thread `pid`: argument `named` of the call, which begins at the descriptor in
/// argument `directory`. Without room, or when the process is gone or can't be looked into, it stays empty.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
note_path(ObserverArea* area, long pid, const std::uint64_t* arguments, int directory, int named,
          NotedPath* path) noexcept {
  path->base.size = 0;
  path->text.size = 0;
  if (directory < 0 && named < 0) return;
  path->text.at = static_cast<std::uint32_t>(area->text_used);
  if (named >= 0) {
    char* const to = area->text + area->text_used;
    const long got = os::tracing::read_memory<K>(pid, arguments[named], to, 4096);
    long size = 0;
    while (size < got && to[size] != 0) ++size;
    path->text.size = static_cast<std::uint32_t>(size);
    area->text_used += static_cast<std::size_t>(size);
    if (size > 0 && to[0] == '/') return;
  }
  char link[64];
  if (!write_base_link(link, pid, arguments, directory)) return;
  path->base.at = static_cast<std::uint32_t>(area->text_used);
  const long got = K::call(SYS_readlinkat, AT_FDCWD, os::arg(link), os::arg(area->text + area->text_used), 4096);
  if (got <= 0) return;
  path->base.size = static_cast<std::uint32_t>(got);
  area->text_used += static_cast<std::size_t>(got);
}

[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) inline bool
same_text(const ObserverArea* area, const TextRange* a, const TextRange* b) noexcept {
  if (a->size != b->size) return false;
  for (std::uint32_t i = 0; i != a->size; ++i)
    if (area->text[a->at + i] != area->text[b->at + i]) return false;
  return true;
}

/// Writes down a call that was refused with `error`, unless it is there already.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
note_call(ObserverArea* area, long pid, const os::tracing::SyscallInfo* call, int error) noexcept {
  constexpr std::size_t for_one = std::size_t{4} * 4096;
  const os::ObservedCallRow* const row = os::observed_call(call->number);
  if (row == nullptr) return;
  if (area->calls == ObserverArea::most_calls || ObserverArea::most_text - area->text_used < for_one) {
    area->left_out = area->left_out + 1;
    return;
  }
  const std::uint64_t* const arguments = call->arguments;
  NotedCall* const noted = area->noted + area->calls;
  noted->number = row->number;
  noted->error = error;
  noted->pid = pid;
  noted->detail = row->detail < 0 ? 0 : arguments[row->detail];
  if (row->number == os::openat2_call) {
    std::uint64_t flags = 0;
    if (os::tracing::read_memory<K>(pid, arguments[row->detail], &flags, sizeof flags) < 0) flags = 0;
    if ((flags & os::changing_flags) == 0) return;
    noted->detail = flags;
  }
  const std::size_t before = area->text_used;
  note_path<K>(area, pid, arguments, row->directory, row->path, &noted->path);
  note_path<K>(area, pid, arguments, row->to_directory, row->to_path, &noted->to_path);
  for (std::size_t i = 0; i != area->calls; ++i) {
    const NotedCall* const known = area->noted + i;
    if (known->number == noted->number && known->error == error && known->detail == noted->detail &&
        same_text(area, &known->path.text, &noted->path.text) &&
        same_text(area, &known->path.base, &noted->path.base) &&
        same_text(area, &known->to_path.text, &noted->to_path.text) &&
        same_text(area, &known->to_path.base, &noted->to_path.base)) {
      area->text_used = before;
      return;
    }
  }
  area->calls = area->calls + 1;
}

/// Lets thread `pid` go on after the stop that `status` tells of, as it would have without it.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
serve_stop(ObserverArea* area, long pid, int status) noexcept {
  namespace tracing = os::tracing;
  ObserverArea::Calling* const place = find_calling(area, pid);
  const bool stopped = (status & 0xff) == 0x7f;
  if (!stopped) {  // it has ended
    if (place != nullptr) place->pid = 0;
    return;
  }
  const int signal = status >> 8 & 0xff;
  const int event = status >> 16;
  long how = tracing::resume;
  long deliver = 0;
  if (event == tracing::filter_event) {
    ObserverArea::Calling* const at = place != nullptr ? place : find_calling(area, 0);
    if (at != nullptr &&
        tracing::request<K>(tracing::get_syscall_info, pid, sizeof at->call, os::arg(&at->call)) >= 0 &&
        at->call.op == tracing::at_filter) {
      if (is_of_no_interest<K>(area, pid, &at->call)) {
        at->pid = 0;
      } else {
        at->pid = pid;
        how = tracing::resume_to_exit;
      }
    } else {
      area->left_out = area->left_out + 1;
    }
  } else if (event == tracing::stop_event) {
    // A group-stop lasts until SIGCONT, for who listens; the first stop of a new process or thread does not.
    if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) how = tracing::listen;
  } else if (event == 0 && signal == tracing::syscall_stop) {
    tracing::SyscallInfo info;
    if (place != nullptr && tracing::request<K>(tracing::get_syscall_info, pid, sizeof info, os::arg(&info)) >= 0 &&
        info.op == tracing::at_exit && (info.arguments[0] & 0xff) != 0) {
      const long error = -static_cast<long>(info.number);
      if (error == EROFS || error == EACCES || error == EPERM || error == EXDEV)
        note_call<K>(area, pid, &place->call, static_cast<int>(error));
    }
    if (place != nullptr) place->pid = 0;
  } else if (event == 0) {
    deliver = signal;
  }
  if (tracing::request<K>(how, pid, 0, deliver) < 0 && how != tracing::resume)
    tracing::request<K>(tracing::resume, pid, 0, 0);
}

/// The processor that thread `pid` ran on last, or -1. Source: proc(5), field 39 of stat.
template <class K>
[[nodiscard]] [[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                                          no_stack_protector)) long
processor_of(long pid) noexcept {
  char path[64];
  write_proc_path(path, pid, "stat", -1);
  const long file = K::call(SYS_openat, AT_FDCWD, os::arg(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[1024];
  const long size = K::call(SYS_read, file, os::arg(text), sizeof text);
  K::call(SYS_close, file);
  long at = 0;
  for (long i = 0; i < size; ++i)
    if (text[i] == ')') at = i;  // the name before it may hold anything, and nothing behind it does
  for (int field = 2; at < size && field != 39; ++at)
    if (text[at] == ' ') ++field;
  long processor = -1;
  for (; at < size && text[at] >= '0' && text[at] <= '9'; ++at)
    processor = (processor < 0 ? 0 : processor * 10) + (text[at] - '0');
  return processor;
}

/// Keeps the observer on the processor of what it traces: between two processors each stop costs two wake-ups of one
/// that sleeps, which is most of what it costs. Asked now and then, since a command wanders.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) void
stay_beside(long pid, unsigned stops, long* processor) noexcept {
  constexpr unsigned now_and_then = 64;
  if (stops % now_and_then != 0) return;
  const long found = processor_of<K>(pid);
  if (found < 0 || found == *processor || found >= 1024) return;
  *processor = found;
  unsigned long mask[16];
  for (unsigned long& word : mask) word = 0;
  mask[found / 64] = 1UL << (found % 64);
  K::call(SYS_sched_setaffinity, 0, sizeof mask, os::arg(mask));
}

/// The observer, from clone to exit. Every signal is blocked when it begins.
template <class K>
[[clang::disable_sanitizer_instrumentation]] __attribute__((no_sanitize("address", "undefined", "thread"),
                                                            no_stack_protector)) int
observer_main(void* raw) noexcept {
  namespace tracing = os::tracing;
  auto* area = static_cast<ObserverArea*>(raw);
  K::call(SYS_close_range, 0, area->bell - 1, 0);
  K::call(SYS_close_range, area->bell + 1, ~0U, 0);
  constexpr long options = tracing::mark_syscall_stops | tracing::follow_fork | tracing::follow_vfork |
                           tracing::follow_clone | tracing::stop_for_filter | tracing::kill_with_tracer;
  const long seized = tracing::request<K>(tracing::seize, area->pid, 0, options);
  __atomic_store_n(&area->attached, seized < 0 ? seized : 1, __ATOMIC_RELEASE);
  ring<K>(area->bell);
  K::call(SYS_close, area->bell);
  long processor = -1;
  for (unsigned stops = 0; seized >= 0; ++stops) {
    int status = 0;
    const long pid = K::call(SYS_wait4, -1, os::arg(&status), __WALL, 0);
    if (pid > 0) {
      stay_beside<K>(pid, stops, &processor);
      serve_stop<K>(area, pid, status);
    } else if (pid != -EINTR) {
      break;  // nothing is left to be traced
    }
  }
  K::call(SYS_exit_group, 0);
  return 0;
}

}  // namespace detail

/// One observer and what it wrote down. Like the Child that owns it, it is for one thread at a time.
template <class K>
class BasicObserver {
 public:
  /// What is refused inside of `roots`, but outside of `exceptions`, need not be seen: there the observer lets a call
  /// go on without waiting for its end, which halves what it costs. All paths are canonical.
  BasicObserver(std::vector<std::string> roots, std::vector<std::string> exceptions)
      : roots_(std::move(roots)), exceptions_(std::move(exceptions)), area_(new detail::ObserverArea) {
    const auto point = [](const std::vector<std::string>& texts, std::vector<const char*>& pointers) {
      for (const std::string& text : texts) pointers.push_back(text.c_str());
      pointers.push_back(nullptr);
      return pointers.data();
    };
    area_->roots = point(roots_, root_pointers_);
    area_->exceptions = point(exceptions_, exception_pointers_);
    area_->attached = 0;
    area_->calls = 0;
    area_->text_used = 0;
    area_->left_out = 0;
    area_->places = 0;
    area_->plain_size = 0;
  }
  ~BasicObserver() {
    if (made_by_ == K::call(SYS_getpid)) end(std::chrono::milliseconds(0));
  }
  BasicObserver(const BasicObserver&) = delete;
  BasicObserver& operator=(const BasicObserver&) = delete;

  /// Begins to trace process `pid`, which must wait. 0 when it is traced, or -errno: -EPERM when ptrace is not allowed.
  [[nodiscard]] long begin(long pid) {
    const long made = os::make_event<K>();
    if (made < 0) return made;
    const os::BasicFd<K> bell(made);
    area_->pid = pid;
    area_->bell = bell.get();
    int pidfd = -1;
    long cloned = 0;
    {
      const os::BlockAllSignals<K> blocked;
      cloned = K::clone(detail::observer_main<K>, area_->stack + sizeof area_->stack, CLONE_VM | CLONE_PIDFD,
                        area_.get(), &pidfd);
    }
    if (cloned < 0) return cloned;
    process_ = os::BasicFd<K>(pidfd);
    std::array<pollfd, 2> events{pollfd{bell.get(), POLLIN, 0}, pollfd{process_.get(), POLLIN, 0}};
    while (os::poll_once<K>(events, -1) == -EINTR) {
    }
    const long attached = __atomic_load_n(&area_->attached, __ATOMIC_ACQUIRE);
    return attached > 0 ? 0 : attached == 0 ? -ESRCH : attached;
  }

  /// What was refused, when everything that was traced has ended. What has not within `limit` is killed.
  [[nodiscard]] Observations finish(std::chrono::milliseconds limit) {
    end(limit);
    Observations result;
    result.left_out = area_->left_out;
    for (std::size_t i = 0; i != area_->calls; ++i) {
      const detail::NotedCall& noted = area_->noted[i];
      result.calls.push_back(
          {noted.number, noted.error, noted.pid, noted.detail, path_of(noted.path), path_of(noted.to_path)});
    }
    return result;
  }

 private:
  [[nodiscard]] std::string path_of(const detail::NotedPath& path) const {
    const std::string_view base(area_->text + path.base.at, path.base.size);
    const std::string_view text(area_->text + path.text.at, path.text.size);
    std::string result(base);
    if (!base.empty() && !text.empty() && base != "/") result += '/';
    result += text;
    return result;
  }

  /// The kernel ends everything that an observer traces when that ends.
  void end(std::chrono::milliseconds limit) noexcept {
    if (!process_) return;
    pollfd event{process_.get(), POLLIN, 0};
    if (os::poll_once<K>(std::span(&event, 1), static_cast<int>(limit.count())) <= 0)
      os::send_signal<K>(process_.get(), SIGKILL);
    os::WaitStatus unused;
    (void)os::wait_for<K>(process_.get(), true, unused);
    process_.reset();
  }

  const std::vector<std::string> roots_;
  const std::vector<std::string> exceptions_;
  std::vector<const char*> root_pointers_;
  std::vector<const char*> exception_pointers_;
  std::unique_ptr<detail::ObserverArea> area_;
  os::BasicFd<K> process_;
  long made_by_ = K::call(SYS_getpid);
};

}  // namespace cordon::process

#pragma GCC diagnostic pop
