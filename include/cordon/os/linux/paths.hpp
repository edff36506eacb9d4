// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cordon/detail/within.hpp>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/mount.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::os {

/// What a path leads to, symlinks followed.
struct FileFacts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  unsigned mode = 0;
  unsigned owner = 0;
  std::uint64_t size = 0;
  std::uint64_t special_device = 0;  ///< what a device node stands for
  std::uint64_t names = 0;           ///< hard links

  [[nodiscard]] bool directory() const noexcept { return S_ISDIR(mode); }
  [[nodiscard]] bool regular() const noexcept { return S_ISREG(mode); }
  [[nodiscard]] bool world_writable() const noexcept { return (mode & S_IWOTH) != 0; }
};

namespace detail {
[[nodiscard]] inline FileFacts facts_of(const struct stat& raw) noexcept {
  return {static_cast<std::uint64_t>(raw.st_dev),
          static_cast<std::uint64_t>(raw.st_ino),
          raw.st_mode,
          raw.st_uid,
          static_cast<std::uint64_t>(raw.st_size),
          static_cast<std::uint64_t>(raw.st_rdev),
          static_cast<std::uint64_t>(raw.st_nlink)};
}
}  // namespace detail

/// stat(2). 0, or -errno.
[[nodiscard]] inline int stat_path(const std::string& path, FileFacts& facts) noexcept {
  struct stat raw {};
  if (::stat(path.c_str(), &raw) != 0) return -errno;
  facts = detail::facts_of(raw);
  return 0;
}

/// When the file was made, in nanoseconds since 1970; 0 where the file system does not tell. Source: statx(2),
/// STATX_BTIME.
[[nodiscard]] inline std::int64_t time_of_birth(const std::string& path) noexcept {
  struct statx facts {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &facts) != 0 || (facts.stx_mask & STATX_BTIME) == 0) return 0;
  return static_cast<std::int64_t>(facts.stx_btime.tv_sec) * 1'000'000'000 + facts.stx_btime.tv_nsec;
}

/// What a path leads to, and when that began and last changed, in nanoseconds since 1970; 0 where that is not known.
struct FileTimes {
  FileFacts facts;
  std::int64_t born = 0;
  std::int64_t changed = 0;
};

/// stat(2) and statx(2). 0, or -errno.
[[nodiscard]] inline int times_of(const std::string& path, FileTimes& times) noexcept {
  struct stat raw {};
  if (::stat(path.c_str(), &raw) != 0) return -errno;
  times = {detail::facts_of(raw), time_of_birth(path),
           static_cast<std::int64_t>(raw.st_ctim.tv_sec) * 1'000'000'000 + raw.st_ctim.tv_nsec};
  return 0;
}

/// lstat(2): of a symlink itself. 0, or -errno.
[[nodiscard]] inline int stat_name(const std::string& path, FileFacts& facts) noexcept {
  struct stat raw {};
  if (::lstat(path.c_str(), &raw) != 0) return -errno;
  facts = detail::facts_of(raw);
  return 0;
}

/// fstat(2). 0, or -errno.
[[nodiscard]] inline int stat_open(int fd, FileFacts& facts) noexcept {
  struct stat raw {};
  if (::fstat(fd, &raw) != 0) return -errno;
  facts = detail::facts_of(raw);
  return 0;
}

/// True when `fd` is open on a character device that is the same one.
[[nodiscard]] inline bool is_same_device(int fd, const FileFacts& device) noexcept {
  struct stat raw {};
  return ::fstat(fd, &raw) == 0 && S_ISCHR(raw.st_mode) &&
         static_cast<std::uint64_t>(raw.st_rdev) == device.special_device;
}

[[nodiscard]] inline bool is_symlink(const std::string& path) noexcept {
  struct stat raw {};
  return ::lstat(path.c_str(), &raw) == 0 && S_ISLNK(raw.st_mode);
}

/// The path that the kernel reaches, absolute and without a symlink in it. 0, or -errno. Source: realpath(3); `link/..`
/// is therefore the parent of what the link leads to (POL-02).
[[nodiscard]] inline int canonical_path(const std::string& path, std::string& result) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (!real) return -errno;
  result = real.get();
  return 0;
}

[[nodiscard]] inline bool executable(const std::string& path) noexcept {
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

/// The working directory as the kernel knows it; empty when it can't be named.
[[nodiscard]] inline std::string current_directory() {
  const std::unique_ptr<char, void (*)(void*)> path(::getcwd(nullptr, 0), std::free);
  return path ? std::string(path.get()) : std::string();
}

using cordon::detail::is_within;

/// The text before the last slash; "/" for what is directly below it, "." for a bare name.
[[nodiscard]] inline std::string parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

/// True when something is there, symlinks followed.
[[nodiscard]] inline bool exists(const std::string& path) noexcept {
  FileFacts facts;
  return stat_path(path, facts) == 0;
}

/// A new file with this content. 0, or -errno.
[[nodiscard]] inline long create_file(const std::string& path, std::string_view content) noexcept {
  const long fd = open_file<Kernel>(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return fd;
  const Fd file(fd);
  return write_all<Kernel>(file.get(), content);
}

/// mkdir(2) with mode 0700. 0, or -errno.
[[nodiscard]] inline int make_directory(const std::string& path) noexcept {
  return ::mkdir(path.c_str(), 0700) == 0 ? 0 : -errno;
}

/// rmdir(2). 0, or -errno.
inline int remove_directory(const std::string& path) noexcept {
  return ::rmdir(path.c_str()) == 0 ? 0 : -errno;
}

/// Why this process may not write it: 0 when it may, or -errno. -EROFS: its mount is read-only.
[[nodiscard]] inline int write_refusal(const std::string& path) noexcept {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

/// True when this process may write it, by its mode and by how it is mounted.
[[nodiscard]] inline bool may_write(const std::string& path) noexcept {
  return write_refusal(path) == 0;
}

/// True when what is there lies on a mount, or a file system, that can't be written.
[[nodiscard]] inline bool on_read_only_mount(const std::string& path) noexcept {
  struct statvfs raw {};
  return ::statvfs(path.c_str(), &raw) == 0 && (raw.f_flag & ST_RDONLY) != 0;
}

/// mkfifo(3) with mode 0600. 0, or -errno.
[[nodiscard]] inline int make_fifo(const std::string& path) noexcept {
  return ::mkfifo(path.c_str(), 0600) == 0 ? 0 : -errno;
}

/// A symlink that lies on the way to a path.
struct PassedLink {
  std::string holder;  ///< the canonical directory that it is in
  std::string name;
};

/// Every symlink that the kernel follows on the way to `path`, those behind other links too. Ends early where the path
/// does not exist.
[[nodiscard]] inline std::vector<PassedLink> links_on(const std::string& path) {
  std::vector<PassedLink> links;
  std::string at = path.starts_with('/') ? "/" : current_directory();
  std::vector<std::string> left;  // the components to come, the next one last
  const auto push = [&](std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
      const auto slash = text.find('/');
      parts.emplace_back(text.substr(0, slash));
      text = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    }
    left.insert(left.end(), parts.rbegin(), parts.rend());
  };
  push(path);
  while (!left.empty() && links.size() < 64) {
    const std::string name = std::move(left.back());
    left.pop_back();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = parent_of(at);
      continue;
    }
    const std::string next = (at == "/" ? "" : at) + "/" + name;
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlink(next.c_str(), target.data(), target.size());
    if (length < 0) {
      at = next;
      continue;
    }
    links.push_back({at, name});
    target.resize(static_cast<std::size_t>(length));
    if (target.starts_with('/')) at = "/";
    push(target);
  }
  return links;
}

/// Whether a symlink that is in one of these canonical places leads on the way to `path`.
template <class Places>
[[nodiscard]] bool led_from(const std::string& path, const Places& places) {
  const std::vector<PassedLink> links = links_on(path);
  return std::any_of(links.begin(), links.end(),
                     [&](const PassedLink& link) { return cordon::detail::is_within_any(link.holder, places); });
}

/// Why somebody other than root and `uid` could exchange what is at this canonical path; empty when nobody can.
[[nodiscard]] inline std::string exchangeable_by_others(const std::string& path, unsigned uid) {
  FileFacts facts;
  if (stat_path(path, facts) < 0) return "can't be looked at";
  if (facts.owner != 0 && facts.owner != uid) return "belongs to another user";
  if (facts.world_writable()) return "can be written by anybody";
  for (std::string directory = parent_of(path);; directory = parent_of(directory)) {
    if (stat_path(directory, facts) < 0) return "lies in a directory that can't be looked at";
    if (facts.owner != 0 && facts.owner != uid) return "lies below " + directory + ", which belongs to another user";
    if (facts.world_writable() && (facts.mode & S_ISVTX) == 0)
      return "lies below " + directory + ", which anybody can write";
    if (directory == "/") return {};
  }
}

/// Where a path leads even if its end does not exist yet: the canonical form of the longest part that does, then the
/// rest. A path that is too long for the kernel comes back as it is.
[[nodiscard]] inline std::string resolved(const std::string& path) {
  std::string found;
  if (path.size() >= PATH_MAX) return path;
  std::string rest;
  for (std::string part = path; !part.empty() && part != "/";) {
    if (canonical_path(part, found) == 0) return rest.empty() ? found : (found == "/" ? "" : found) + rest;
    while (part.size() > 1 && part.ends_with('/')) part.pop_back();
    const auto slash = part.rfind('/');
    if (slash == std::string::npos) break;
    const std::string last = part.substr(slash + 1);
    if (!last.empty() && last != ".") rest.insert(0, "/" + last);
    part.resize(slash);
  }
  return path.starts_with('/') ? rest : path;
}

namespace detail {

/// Removes what is in the directory `fd`. Follows no symlink and no name twice, since whoever left it may still be
/// changing it; goes on after an error, and not deeper than descriptors reach.
inline void remove_content(int fd, int depth) noexcept {
  constexpr int deepest = 256;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), ::closedir);
  if (!listing) return;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || ::unlinkat(fd, entry->d_name, 0) == 0) continue;
    const Fd at(::openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at || depth == deepest) continue;
    const std::string link = "/proc/self/fd/" + std::to_string(at.get());
    (void)::chmod(link.c_str(), 0700);  // a command may have closed its own directories
    const Fd inside(::open(link.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (inside) remove_content(inside.get(), depth + 1);
    (void)::unlinkat(fd, entry->d_name, AT_REMOVEDIR);
  }
}

}  // namespace detail

/// Makes `name` below the directory `base`, and the directories above it, without following a symlink that a command
/// left there. The end is a directory, or an empty file.
inline void make_below(const std::string& base, std::string_view name, bool directory) noexcept {
  Fd at(::open(base.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  while (at && !name.empty()) {
    const auto slash = name.find('/');
    const std::string part(name.substr(0, slash));
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    if (part.empty()) continue;
    if (name.empty() && !directory) {
      const Fd file(::openat(at.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      return;
    }
    (void)::mkdirat(at.get(), part.c_str(), 0700);
    at = Fd(::openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
}

/// The device and inode at exactly this path; a symlink in it is refused. 0, or -errno.
[[nodiscard]] inline long exact_identity(const std::string& path, std::string& identity) {
  const long opened = open_exactly<Kernel>(path.c_str());
  if (opened < 0) return opened;
  const Fd file(opened);
  struct stat raw {};
  if (::fstat(file.get(), &raw) != 0) return -errno;
  identity = std::to_string(raw.st_dev) + ":" + std::to_string(raw.st_ino);
  return 0;
}

/// A directory that only this user can enter, removed with all it holds when it goes out of scope: but not by a process
/// that was forked meanwhile, for as long as its maker is there.
class PrivateDirectory {
 public:
  /// Made below the first of `parents` that takes it; `path()` is empty when none does.
  explicit PrivateDirectory(std::initializer_list<std::string_view> parents) {
    for (std::string_view parent : parents) {
      std::string pattern = std::string(parent) + "/cordon-" + std::to_string(::getpid()) + "-XXXXXX";
      if (::mkdtemp(pattern.data()) == nullptr) continue;
      path_ = std::move(pattern);
      return;
    }
  }
  ~PrivateDirectory() {
    if (path_.empty() || (maker_ != ::getpid() && Kernel::call(SYS_kill, maker_, 0) != -ESRCH)) return;
    {
      const Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (directory) detail::remove_content(directory.get(), 0);
    }
    (void)::rmdir(path_.c_str());
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  pid_t maker_ = ::getpid();
  std::string path_;
};

}  // namespace cordon::os
