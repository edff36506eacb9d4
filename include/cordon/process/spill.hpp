// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/detail/error_text.hpp>
#include <cordon/error.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/capture.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::process {

/// Where output that is larger than what is kept of it goes to as a whole: one file a stream, which only this user can
/// read. A program holds one, say for a session, and gives it to each of its runs; see RunOptions::spill.
///
/// A file is made when the first byte is beyond what is kept. It stays only when it has the whole stream, and is
/// removed otherwise. Writing it takes place on the thread that waits, so a slow file system slows the command and its
/// limits. No quota holds for all the files together. What a command wrote is stored as it is, with every secret in it.
///
/// The directory is looked up once, here: no later change of the path leads a file elsewhere. A confined command that
/// could write in it is not started. With full access, or by another name of the same place (a bind mount), a command
/// can change what it spilled. Thread-safe.
class SpillDirectory {
 public:
  /// A new directory below /var/tmp or /tmp, which goes with all that is in it when its last owner does. Throws
  /// SpawnError.
  SpillDirectory()
      : own_(std::make_unique<os::PrivateDirectory>(std::initializer_list<std::string_view>{"/var/tmp", "/tmp"})) {
    if (own_->path().empty())
      throw SpawnError("no directory for spilled output can be made in /var/tmp or /tmp", EACCES);
    open(own_->path());
  }

  /// This directory, whose files stay when cordon is done. It is made if it is missing; one that is there must belong
  /// to this user and be closed to all others (mode 0700). Throws SpawnError, also when the path ends in a symlink.
  explicit SpillDirectory(const std::string& path) {
    if (const int made = os::make_directory(path); made < 0 && made != -EEXIST) fail(path, -made);
    open(path);
  }

  /// Canonical.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Open for as long as this lives.
  [[nodiscard]] int descriptor() const noexcept { return directory_.get(); }

 private:
  [[noreturn]] static void fail(const std::string& path, int error) {
    throw SpawnError("output can't be spilled to " + path + ": " + cordon::detail::error_text(error), error);
  }

  void open(const std::string& path) {
    const long opened = os::open_file<os::Kernel>(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (opened < 0) fail(path, static_cast<int>(-opened));
    directory_ = os::Fd(opened);
    os::FileFacts facts;
    if (const int result = os::stat_open(directory_.get(), facts); result < 0) fail(path, -result);
    if (facts.owner != os::effective_uid<os::Kernel>() || (facts.mode & 0077U) != 0)
      throw SpawnError("output can't be spilled to " + path +
                           ": others can enter it; name a directory of your own with mode 0700, or one to be made",
                       EACCES);
    if (const int result = os::canonical_path(path, path_); result < 0) fail(path, -result);
  }

  std::unique_ptr<os::PrivateDirectory> own_;
  std::string path_;
  os::Fd directory_;
};

namespace detail {

/// What is kept of one stream, and its spill. Move-only, and for one thread at a time. A spill that is not finished is
/// removed with it, but not by a process that was forked meanwhile.
template <class K>
class Recorder {
 public:
  /// `directory` may be null; `stream` is how the name of the file begins.
  Recorder(std::string stream, std::size_t max_kept, std::shared_ptr<const SpillDirectory> directory,
           std::uint64_t max_spill)
      : capture_(max_kept), stream_(std::move(stream)), directory_(std::move(directory)), max_spill_(max_spill) {}
  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder() {
    if (file_ && made_by_ == os::Kernel::call(SYS_getpid)) remove();
  }

  /// Takes the next bytes of the stream. A spill that fails is a fact of it, and no error.
  void append(std::string_view bytes) {
    if (directory_ && !facts_ && capture_.seen() + bytes.size() > capture_.cap()) spill(bytes);
    capture_.append(bytes);
  }

  [[nodiscard]] const Capture& capture() const noexcept { return capture_; }

  /// The file that has the whole stream so far; empty when there is none.
  [[nodiscard]] std::string path() const { return file_ ? directory_->path() + "/" + name_ : std::string(); }

  /// What came of the stream, which is over.
  [[nodiscard]] Capture finish() {
    if (file_) {
      std::string whole = path();
      const long closed = os::close_file<K>(file_);
      if (closed < 0)
        give_up(SpillFacts::State::failed, closed);
      else
        facts_ = SpillFacts{SpillFacts::State::complete, written_, 0, std::move(whole)};
    }
    if (facts_) capture_.set_spill(*std::move(facts_));
    return std::move(capture_);
  }

 private:
  void spill(std::string_view bytes) {
    if (capture_.seen() + bytes.size() > max_spill_) return give_up(SpillFacts::State::over_cap, 0);
    long result = file_ ? 0 : create();
    if (result >= 0 && written_ == 0) result = write(capture_.text());
    if (result >= 0) result = write(bytes);
    if (result < 0) give_up(SpillFacts::State::failed, result);
  }

  [[nodiscard]] long create() {
    std::string name = stream_ + "-" + os::random_name<K>();
    const long opened =
        os::open_file_in<K>(directory_->descriptor(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (opened < 0) return opened;
    file_ = os::BasicFd<K>(opened);
    name_ = std::move(name);
    return 0;
  }

  [[nodiscard]] long write(std::string_view text) {
    for (auto left = std::as_bytes(std::span(text)); !left.empty();) {
      const long count = os::write_some<K>(file_.get(), left);
      if (count < 0) return count;
      left = left.subspan(static_cast<std::size_t>(count));
      written_ += static_cast<std::uint64_t>(count);
    }
    return 0;
  }

  void give_up(SpillFacts::State why, long result) {
    facts_ = SpillFacts{why, written_, static_cast<int>(-result), {}};
    if (!name_.empty()) remove();
  }

  void remove() noexcept {
    os::remove_file_in<K>(directory_->descriptor(), name_.c_str());
    file_.reset();
  }

  Capture capture_;
  std::string stream_;
  std::shared_ptr<const SpillDirectory> directory_;
  std::uint64_t max_spill_;
  os::BasicFd<K> file_;
  std::string name_;  ///< empty until there is a file
  std::uint64_t written_ = 0;
  std::optional<SpillFacts> facts_;
  long made_by_ = os::Kernel::call(SYS_getpid);
};

/// Throws SpawnError when a confined command could write to its own spill.
inline void require_outside(const SpillDirectory& spill, const std::vector<std::string>& writable) {
  for (const std::string& root : writable)
    if (os::is_within(spill.path(), root))
      throw SpawnError("the output of a command can't be spilled to " + spill.path() + ", since it may write in " +
                           root + "; name a directory elsewhere",
                       EINVAL);
}

}  // namespace detail

}  // namespace cordon::process
