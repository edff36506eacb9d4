// SPDX-License-Identifier: BSL-1.0
#pragma once

// From refused system calls, which an observer saw, to denials: which of them did the sandbox refuse?

#include <algorithm>
#include <array>
#include <cordon/classify/denial.hpp>
#include <cordon/effect.hpp>
#include <cordon/os/linux/observed_calls.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/observer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace detail {

/// A refused call, with what this program finds out about it when the command has ended.
class JudgedCall {
  using K = os::Kernel;

 public:
  JudgedCall(const process::RefusedCall& call, const DenialContext& context)
      : call_(call), context_(context), row_(os::observed_call(call.number)) {
    if (row_ == nullptr) return;
    path_ = place_of(call.path);
    to_path_ = place_of(call.to_path);
    effect_ = effect();
  }

  /// True when the sandbox refused it: it is about a path that the command may not change, and this program could have
  /// done it.
  [[nodiscard]] bool is_denial() const {
    if (row_ == nullptr || !refused_path().starts_with('/')) return false;
    return possible();
  }

  [[nodiscard]] Denial denial() const {
    const bool grantable = effect_ != FileEffect::device && effect_ != FileEffect::mount_topology &&
                           !is_within_any(refused_path(), context_.protected_paths) && !of_process(refused_path());
    return {effect_,
            refused_path(),
            std::string(error_name(call_.error)),
            std::string(row_->name),
            Evidence::observed,
            !grantable        ? std::string()
            : makes_unnamed() ? refused_path()
                              : grant_for(refused_path(), context_)};
  }

 private:
  /// A name that means another file for each process.
  [[nodiscard]] static bool of_process(std::string_view path) {
    constexpr std::array<std::string_view, 6> names{"/proc/self", "/proc/thread-self", "/dev/fd",
                                                    "/dev/stdin", "/dev/stdout",       "/dev/stderr"};
    return is_within_any(path, names);
  }

  /// What takes a name away or puts one there is about the name itself, whatever a symlink of that name leads to.
  [[nodiscard]] bool about_names() const noexcept {
    return row_->effect == FileEffect::create || row_->effect == FileEffect::remove ||
           row_->effect == FileEffect::rename_link;
  }

  [[nodiscard]] std::string place_of(std::string path) const {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!path.starts_with('/') || of_process(path)) return path;
    const std::string_view last = std::string_view(path).substr(path.rfind('/') + 1);
    if (!about_names() || last.empty() || last == "." || last == "..") return os::resolved(path);
    const std::string parent = os::resolved(os::parent_of(path));
    return (parent == "/" ? "" : parent) + "/" + std::string(last);
  }

  [[nodiscard]] bool is_open() const noexcept { return row_->effect == FileEffect::write; }
  /// The flags of an open; those of creat are its own.
  [[nodiscard]] std::uint64_t flags() const noexcept {
    return row_->detail >= 0 ? call_.detail : std::uint64_t{O_WRONLY | O_CREAT | O_TRUNC};
  }
  [[nodiscard]] bool makes_unnamed() const noexcept {
    return is_open() && (flags() & O_TMPFILE) == static_cast<std::uint64_t>(O_TMPFILE);
  }
  [[nodiscard]] bool makes_device() const noexcept {
    return row_->effect == FileEffect::create && row_->detail >= 0 && (S_ISCHR(call_.detail) || S_ISBLK(call_.detail));
  }

  [[nodiscard]] FileEffect effect() const {
    if (makes_device()) return FileEffect::device;
    if (!is_open()) return row_->effect;
    os::FileFacts facts;
    if (makes_unnamed() || os::stat_path(path_, facts) < 0) return FileEffect::create;
    if (S_ISFIFO(facts.mode)) return FileEffect::fifo_write;
    if (S_ISCHR(facts.mode) || S_ISBLK(facts.mode)) return FileEffect::device;
    return (flags() & O_TRUNC) != 0 ? FileEffect::truncate : FileEffect::write;
  }

  /// The command may not change what is there.
  [[nodiscard]] bool off_limits(const std::string& path) const {
    if (path.empty()) return false;
    if (is_within_any(path, context_.protected_paths)) return true;
    return !is_within_any(path, context_.writable_roots) && !is_within_any(path, context_.private_temp);
  }

  /// The first path of the call that is off limits; empty when none is.
  [[nodiscard]] const std::string& refused_path() const {
    static const std::string none;
    return off_limits(path_) ? path_ : off_limits(to_path_) ? to_path_ : none;
  }

  [[nodiscard]] static bool may_change(const std::string& directory) {
    return os::may_write(directory) && os::executable(directory);
  }

  /// In a directory with the sticky bit only the owners may take a name away.
  [[nodiscard]] static bool may_remove(const std::string& path) {
    os::FileFacts file;
    os::FileFacts directory;
    const std::string parent = os::parent_of(path);
    if (os::stat_name(path, file) < 0 || os::stat_path(parent, directory) < 0 || !may_change(parent)) return false;
    const unsigned self = os::effective_uid<K>();
    return (directory.mode & S_ISVTX) == 0 || file.owner == self || directory.owner == self ||
           os::has_capability<K>(os::cap_fowner);
  }

  [[nodiscard]] bool may_set() const {
    os::FileFacts facts;
    if (os::stat_path(path_, facts) < 0 || os::on_read_only_mount(path_)) return false;
    const unsigned self = os::effective_uid<K>();
    const bool changes_owner = row_->detail >= 0;
    const auto owner = static_cast<std::uint32_t>(call_.detail);
    if (changes_owner && owner != ~std::uint32_t{0} && owner != facts.owner && !os::has_capability<K>(os::cap_chown))
      return false;
    if (facts.owner == self || os::has_capability<K>(os::cap_fowner)) return true;
    const bool mode_or_owner = changes_owner || row_->name.find("chmod") != std::string_view::npos;
    return !mode_or_owner && os::may_write(path_);
  }

  /// Off limits on one side only, and between places that are one file system for this program.
  [[nodiscard]] bool may_move() const {
    const bool moves = row_->name.starts_with("rename");
    for (const std::string* path : {&path_, &to_path_}) {
      if (!off_limits(*path)) continue;
      if (path == &path_ && !moves) {
        os::FileFacts facts;
        if (os::stat_name(*path, facts) < 0) return false;
      } else if (path == &path_ ? !may_remove(*path) : !may_change(os::parent_of(*path))) {
        return false;
      }
    }
    if (call_.error != EXDEV) return true;
    os::FileFacts from;
    os::FileFacts to;
    return os::stat_path(os::parent_of(path_), from) < 0 || os::stat_path(os::parent_of(to_path_), to) < 0 ||
           from.device == to.device || is_within_any(path_, context_.private_temp) ||
           is_within_any(to_path_, context_.private_temp);
  }

  /// Whether this program could do it, as far as can be told without doing it.
  [[nodiscard]] bool possible() const {
    const std::string& path = refused_path();
    if (of_process(path)) return true;
    switch (effect_) {
      case FileEffect::create:
        return may_change(makes_unnamed() ? path : os::parent_of(path));
      case FileEffect::write:
      case FileEffect::truncate:
      case FileEffect::fifo_write:
        return os::may_write(path);
      case FileEffect::device:
        return makes_device() ? os::has_capability<K>(os::cap_mknod) && may_change(os::parent_of(path))
                              : os::may_write(path);
      case FileEffect::remove:
        return may_remove(path);
      case FileEffect::rename_link:
        return may_move();
      case FileEffect::metadata:
        return may_set();
      case FileEffect::mount_topology:
        return os::has_capability<K>(os::cap_sys_admin);
    }
    return false;
  }

  const process::RefusedCall& call_;
  const DenialContext& context_;
  const os::ObservedCallRow* row_;
  std::string path_;
  std::string to_path_;
  FileEffect effect_ = FileEffect::write;
};

}  // namespace detail

/// The denials among the calls that an observer saw refused, each once, in order. Not one of them is:
///  - a call about a path that the sandbox lets the command change: a writable root or a temp directory. What refused
///    that is the file's own mode, or a rule for everybody;
///  - a call that this program could not have done either, as it is now: in a directory or to a file that it may not
///    write, to metadata of a file of another user, or about a name that is not there.
///
/// The effect of an open is `fifo_write` or `device` by what is there now; `create` when nothing is, or for O_TMPFILE;
/// then `truncate` for O_TRUNC; otherwise `write`. Of a rename or a link that is about two paths the first is named
/// that the command may not change. `grant` is the directory that holds the path; empty for devices, mounts, protected
/// paths and /proc, where no writable root would help.
///
/// Looks at the file system, and is right for what it finds there: as far as it changed since, a call may be missed or
/// be called a denial. Thread-safe.
[[nodiscard]] inline std::vector<Denial> observed_denials(const process::Observations& observed,
                                                          const DenialContext& context) {
  std::vector<Denial> denials;
  for (const process::RefusedCall& call : observed.calls) {
    const detail::JudgedCall judged(call, context);
    if (!judged.is_denial()) continue;
    Denial denial = judged.denial();
    if (std::find(denials.begin(), denials.end(), denial) == denials.end()) denials.push_back(std::move(denial));
  }
  return denials;
}

}  // namespace cordon
