// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cordon/os/linux/fd.hpp>
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

  [[nodiscard]] bool directory() const noexcept { return S_ISDIR(mode); }
  [[nodiscard]] bool regular() const noexcept { return S_ISREG(mode); }
  [[nodiscard]] bool world_writable() const noexcept { return (mode & S_IWOTH) != 0; }
};

/// stat(2). 0, or -errno.
[[nodiscard]] inline int stat_path(const std::string& path, FileFacts& facts) noexcept {
  struct stat raw {};
  if (::stat(path.c_str(), &raw) != 0) return -errno;
  facts = {static_cast<std::uint64_t>(raw.st_dev),  static_cast<std::uint64_t>(raw.st_ino), raw.st_mode, raw.st_uid,
           static_cast<std::uint64_t>(raw.st_size), static_cast<std::uint64_t>(raw.st_rdev)};
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

/// The same text, or the text after `prefix` begins with '/': lexical containment of canonical paths.
[[nodiscard]] inline bool is_within(std::string_view path, std::string_view ancestor) noexcept {
  if (ancestor == "/") return path.starts_with('/');
  return path.starts_with(ancestor) && (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

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
/// rest.
[[nodiscard]] inline std::string resolved(const std::string& path) {
  std::string found;
  if (canonical_path(path, found) == 0) return found;
  const auto slash = path.find_last_not_of('/') == std::string::npos ? 0 : path.rfind('/', path.find_last_not_of('/'));
  if (slash == std::string::npos || slash == 0) return path;
  const std::string parent = resolved(path.substr(0, slash));
  const std::string last = path.substr(slash + 1);
  if (last.empty() || last == "." || last == "./") return parent;
  return (parent == "/" ? "" : parent) + "/" + last;
}

/// A directory that only this user can enter, removed with all it holds when it goes out of scope.
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
    if (path_.empty()) return;
    const auto remove_one = [](const char* path, const struct stat*, int, struct FTW*) { return ::remove(path); };
    ::nftw(path_.c_str(), remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace cordon::os
