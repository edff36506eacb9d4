// SPDX-License-Identifier: BSL-1.0
#pragma once

// A session log in a file: one JSON object a line, the first of them the header.

#include <algorithm>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/log_file.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/session/codec.hpp>
#include <cordon/session/log.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// A hash of bytes as 64 hexadecimal digits: `sha256`, of cordon/session/sha256.hpp.
using ChainHash = std::string (*)(std::string_view bytes);

/// What reading a log came to.
struct LogReport {
  SessionHeader header;
  SessionState state;
  std::uint64_t sound_size = 0;  ///< bytes up to the end of the last whole event
  /// What is behind that: a line, or a preset, that a crash cut off, or the zeros that a file system leaves. Whoever
  /// wrote it was never told that it is recorded.
  std::uint64_t torn_bytes = 0;
  /// Of a chained log that was read with the hash: that of its last event, or of its header. Whoever keeps it elsewhere
  /// can tell later that nothing before it was changed; within a log the chain shows only changes that were not made
  /// good.
  std::string last_hash = {};
};

namespace detail {

[[noreturn]] inline void fail_log(const std::string& path, const char* what, long error) {
  throw LogError(ErrorCode::log_failed, "the session log " + path + " can't be " + what + ": " +
                                            error_text(static_cast<int>(-error)) +
                                            "; see that its directory exists, has room and is yours");
}

/// True in what was moved from.
struct SetWhenMoved {
  SetWhenMoved() noexcept = default;
  SetWhenMoved(SetWhenMoved&& other) noexcept : value(std::exchange(other.value, true)) {}
  SetWhenMoved& operator=(SetWhenMoved&&) = delete;
  bool value = false;
};

/// Where the reader of a log is.
class LogPlace {
 public:
  static constexpr std::size_t max_line = std::size_t{1} << 26U;

  [[noreturn]] void line_too_long() {
    ++line_;
    refuse("a line is longer than " + std::to_string(max_line) + " bytes");
  }

 protected:
  explicit LogPlace(std::string path) : path_(std::move(path)) {}

  [[noreturn]] void refuse(const std::string& problem, ErrorCode code = ErrorCode::log_corrupt) const {
    throw LogError(code,
                   path_ + " line " + std::to_string(line_) + ", byte " + std::to_string(offset_) + ": " + problem +
                       (code == ErrorCode::log_corrupt
                            ? "; nothing behind it can be trusted: keep the file, and begin a new session"
                            : "; nothing is read of a log that is not understood whole"),
                   line_, offset_);
  }

  /// The file had no more lines.
  void require_header() {
    if (line_ != 0) return;
    ++line_;
    refuse("there is no header, not even one line");
  }

  std::uint64_t line_ = 0;    ///< counted from 1
  std::uint64_t offset_ = 0;  ///< of its first byte

 private:
  std::string path_;
};

/// Reads lines and makes records of them.
class LogLines : public LogPlace {
 public:
  explicit LogLines(std::string path, ChainHash chain = nullptr) : LogPlace(std::move(path)), chain_(chain) {}

  /// A whole line, without its newline. `visit` gets each Record that is complete.
  template <class Visit>
  void take(std::string_view line, Visit&& visit) {
    ++line_;
    try {
      if (!document_.parse(line)) throw CodecError(std::string(document_.problem()));
      if (line_ == 1) {
        report_.header = read_header(document_.root());
        if (report_.header.chained && chain_ != nullptr) hash_ = chain_(line);
      } else {
        Record record = read_record(document_.root(), report_.header.chained);
        if (record.seq != report_.state.size() + held_.size())
          throw CodecError("\"seq\" is " + std::to_string(record.seq) + " where it is to be " +
                           std::to_string(report_.state.size() + held_.size()));
        if (!hash_.empty()) check_link(line);
        take(std::move(record), visit);
      }
    } catch (const CodecError& error) {
      refuse(error.what(), error.unsupported ? ErrorCode::log_unsupported : ErrorCode::log_corrupt);
    }
    offset_ += line.size() + 1;
    if (!held_.empty()) return;
    report_.sound_size = offset_;
    report_.last_hash = hash_;
  }

  /// All of the file was taken but `rest` bytes, which end it without a newline.
  [[nodiscard]] LogReport finish(std::uint64_t rest) && {
    require_header();
    report_.torn_bytes = offset_ + rest - report_.sound_size;
    return std::move(report_);
  }

 private:
  void check_link(std::string_view line) {
    const std::size_t whole = line.size() < hash_end ? 0 : line.size() - hash_end;
    const std::string_view end = line.substr(whole);
    std::string expected = chain_(hash_ + std::string(line.substr(0, whole)) + "}");
    if (end != std::string(hash_member) + expected + "\"}") throw CodecError("the chain of hashes is broken");
    hash_ = std::move(expected);
  }

  template <class Visit>
  void take(Record record, Visit&& visit) {
    const auto* preset = std::get_if<PresetSelected>(&record.event);
    const bool alone = held_.empty() && (preset == nullptr || preset->switches == 0);
    if (held_.empty() && !alone) with_held_ = report_.state;
    SessionState& state = alone ? report_.state : with_held_;
    if (const std::string_view problem = state.apply(record.event); !problem.empty())
      throw CodecError(std::string(problem));
    if (alone) return static_cast<void>(visit(std::as_const(record)));
    // A preset counts when all of its switches are there.
    held_.push_back(std::move(record));
    if (!with_held_.complete()) return;
    report_.state = with_held_;
    for (const Record& each : std::exchange(held_, {})) visit(each);
  }

  ChainHash chain_;
  JsonDocument document_;
  LogReport report_;
  std::string hash_;  ///< of the last line; empty when nothing is checked
  SessionState with_held_;
  std::vector<Record> held_;
};

/// Calls `take` with each line of an open file, from its beginning, without its newline. One pass. The bytes behind the
/// last newline.
template <class K, class Take>
[[nodiscard]] std::size_t read_lines(int fd, const std::string& path, LogPlace& place, Take&& take) {
  std::vector<char> buffer(std::size_t{1} << 18U);
  std::size_t begin = 0;  // of the line that is not whole yet
  std::size_t end = 0;
  for (std::uint64_t at = 0;;) {
    if (end == buffer.size()) {
      if (begin != 0) {
        std::memmove(buffer.data(), buffer.data() + begin, end - begin);
        end -= begin;
        begin = 0;
      } else {
        if (buffer.size() >= LogPlace::max_line) place.line_too_long();
        buffer.resize(buffer.size() * 2);
      }
    }
    const long got = os::retry<K>(SYS_pread64, fd, os::arg(buffer.data() + end), static_cast<long>(buffer.size() - end),
                                  static_cast<long>(at));
    if (got < 0) fail_log(path, "read", got);
    if (got == 0) return end - begin;
    at += static_cast<std::uint64_t>(got);
    std::size_t searched = end;
    end += static_cast<std::size_t>(got);
    while (const void* newline = std::memchr(buffer.data() + searched, '\n', end - searched)) {
      const auto stop = static_cast<std::size_t>(static_cast<const char*>(newline) - buffer.data());
      take(std::string_view(buffer.data() + begin, stop - begin));
      begin = searched = stop + 1;
    }
  }
}

template <class K, class Visit>
[[nodiscard]] LogReport read_log(int fd, const std::string& path, Visit&& visit, ChainHash chain) {
  LogLines lines(path, chain);
  const std::size_t rest = read_lines<K>(fd, path, lines, [&](std::string_view line) { lines.take(line, visit); });
  return std::move(lines).finish(rest);
}

/// Opens what is a regular file: nothing that could block or be endless.
template <class K>
[[nodiscard]] os::BasicFd<K> open_log(const std::string& path, int flags, os::FileFacts& facts) {
  const long fd = os::open_file<K>(path.c_str(), flags | O_NONBLOCK);
  if (fd < 0) fail_log(path, "opened", fd);
  os::BasicFd<K> file(fd);
  if (os::stat_open(file.get(), facts) < 0 || !facts.regular())
    throw LogError(ErrorCode::log_failed, path + " is not a regular file; name a session log");
  return file;
}

[[nodiscard]] inline os::Fd open_log_to_read(const std::string& path) {
  os::FileFacts unused;
  return open_log<os::Kernel>(path, O_RDONLY, unused);
}

}  // namespace detail

/// Reads a log while somebody may be writing it: takes no lock and changes nothing. `visit` gets each Record in order.
/// Throws LogError: LOG_CORRUPT with line and byte for damage anywhere but at the end, LOG_UNSUPPORTED for another
/// version or an event type that is not known, LOG_FAILED when the system refuses. Memory: some five
/// times the longest line, which may have 64 MiB. Reading over an append that is just being taken back may find damage
/// that is not there a moment later.
template <class Visit>
LogReport read_log(const std::string& path, Visit&& visit, ChainHash chain = nullptr) {
  const os::Fd file = detail::open_log_to_read(path);
  return detail::read_log<os::Kernel>(file.get(), path, std::forward<Visit>(visit), chain);
}

inline LogReport read_log(const std::string& path, ChainHash chain = nullptr) {
  return read_log(
      path, [](const Record&) {}, chain);
}

struct JsonlOptions {
  /// Events that need not be durable are written when this many bytes of them have come together, or with the next that
  /// has to be. 0: at once. What waits is lost when the program is killed.
  std::size_t batch_bytes = 0;
  /// Gives each record of a new log a hash of itself and of the one before. A log that was begun so is written on so:
  /// then this is needed, and ignored for one that was not.
  ChainHash chain = nullptr;
};

/// A session log in a file that only its owner can read, written by one process at a time. K is the kernel; tests give
/// one whose calls fail.
///
/// Events that `is_durable` are on the disk when `append` returns. When it throws, they are not in the file; if even
/// that can't be had, or the disk lost what was written before, the log takes no more events until it is opened again.
template <class K = os::Kernel>
class BasicJsonlLog {
 public:
  /// A log to come: the file is made with the first event, or by `flush` (T-LOG-12). Never replaces a file.
  [[nodiscard]] static BasicJsonlLog create(std::string path, SessionHeader header, JsonlOptions options = {}) {
    BasicJsonlLog log(std::move(path), options);
    log.header_ = std::move(header);
    log.header_.chained = options.chain != nullptr;
    // What was written is to be read again.
    std::string line;
    detail::write_header(line, log.header_);
    try {
      detail::JsonDocument document;
      if (!document.parse(line)) throw detail::CodecError(std::string(document.problem()));
      (void)detail::read_header(document.root());
    } catch (const detail::CodecError& error) {
      throw SessionInvalidError("a session can't begin with this header: " + std::string(error.what()));
    }
    if (options.chain != nullptr) log.hash_ = options.chain(std::string_view(line).substr(0, line.size() - 1));
    log.pending_ = std::move(line);
    return log;
  }

  /// Opens a log to write on. What a crash cut off at its end is removed; `torn_bytes` tells how much. Throws LogError:
  /// LOG_LOCKED while another writes it, LOG_FAILED also for a file that others can write, since a log decides what its
  /// session may do, and what read_log throws.
  [[nodiscard]] static BasicJsonlLog open(std::string path, JsonlOptions options = {}) {
    BasicJsonlLog log(std::move(path), options);
    os::FileFacts facts;
    log.file_ = detail::open_log<K>(log.path_, O_RDWR | O_APPEND | O_NOFOLLOW, facts);
    if (facts.owner != static_cast<unsigned>(K::call(SYS_geteuid)) || (facts.mode & 022U) != 0)
      throw LogError(ErrorCode::log_failed, "the session log " + log.path_ +
                                                " belongs to, or can be written by, somebody else, who could widen "
                                                "what the session may do; make it yours alone (chmod 600)");
    if (const long locked = os::lock_file<K>(log.file_.get()); locked == -EAGAIN)
      throw LogError(ErrorCode::log_locked,
                     "the session log " + log.path_ + " is being written by another process; let that end first");
    else if (locked < 0)
      detail::fail_log(log.path_, "locked", locked);
    log.require_own_name();
    LogReport report = detail::read_log<K>(
        log.file_.get(), log.path_, [](const Record&) {}, options.chain);
    if (report.header.chained && options.chain == nullptr)
      throw LogError(ErrorCode::log_unsupported, "the session log " + log.path_ +
                                                     " has a chain of hashes, which only a program with libcrypto can "
                                                     "write on; build cordon with CORDON_WITH_LIBCRYPTO");
    if (report.torn_bytes != 0) {
      long cut = os::truncate_file<K>(log.file_.get(), report.sound_size);
      if (cut >= 0) cut = os::sync_file<K>(log.file_.get());
      if (cut < 0) detail::fail_log(log.path_, "repaired", cut);
    }
    log.header_ = std::move(report.header);
    log.state_ = std::move(report.state);
    log.size_ = log.synced_ = report.sound_size;
    log.torn_ = report.torn_bytes;
    log.hash_ = std::move(report.last_hash);
    return log;
  }

  /// What it is moved from takes nothing more.
  BasicJsonlLog(BasicJsonlLog&&) noexcept = default;
  BasicJsonlLog& operator=(BasicJsonlLog&&) = delete;
  /// Writes what waits; `flush` is for whoever wants to know whether that went well.
  ~BasicJsonlLog() {
    if (!file_ || !here()) return;
    try {
      if (!pending_.empty()) write_out(false);
    } catch (const std::exception&) {
      // Nobody was told that it is recorded for good.
    }
  }

  [[nodiscard]] const SessionHeader& header() const noexcept { return header_; }
  [[nodiscard]] const SessionState& state() const noexcept { return state_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The same with no symlink in it: where the kernel finds the file. Empty when its directory is gone.
  [[nodiscard]] std::string real_path() const {
    std::string directory;
    if (os::canonical_path(os::parent_of(path_), directory) < 0) return {};
    return (directory == "/" ? "" : directory) + "/" + path_.substr(path_.rfind('/') + 1);
  }
  /// The bytes that were cut off when it was opened.
  [[nodiscard]] std::uint64_t torn_bytes() const noexcept { return torn_; }

  /// Throws LogError when its name leads elsewhere by now, or it has a second name, by which a command could write it.
  void require_own_name() const {
    if (!file_) return;
    os::FileFacts facts;
    os::FileFacts named;
    if (os::stat_open(file_.get(), facts) < 0 || os::stat_name(path_, named) < 0 || named.device != facts.device ||
        named.inode != facts.inode)
      throw LogError(ErrorCode::log_failed, "the session log " + path_ +
                                                " is not where it was opened any more; put it back, and open it again");
    if (facts.names != 1)
      throw LogError(ErrorCode::log_failed, "the session log " + path_ +
                                                " has another name too (a hard link), by which a command could write "
                                                "it; remove that name");
  }

  void append(std::span<const Event> events) {
    if (events.empty()) return;
    require_usable();
    SessionState state = detail::state_after(state_, events);
    const std::size_t waiting = pending_.size();
    std::string hash = hash_;
    bool durable = false;
    try {
      const std::int64_t now = detail::time_now();
      for (std::size_t i = 0; i != events.size(); ++i) {
        const std::size_t begin = pending_.size();
        detail::write_record(pending_, {state_.size() + i, now, events[i]});
        if (!hash.empty()) add_hash(begin, hash);
        if (pending_.size() - begin >= detail::LogPlace::max_line)
          throw SessionInvalidError("an event is longer than a line of a session log may be; record less of it");
        if (pending_.size() - begin > some_line) require_readable(std::string_view(pending_).substr(begin));
        durable = durable || is_durable(events[i]);
      }
      if (durable || !file_ || pending_.size() >= options_.batch_bytes) write_out(durable);
    } catch (...) {
      pending_.resize(waiting);
      throw;
    }
    state_ = std::move(state);
    hash_ = std::move(hash);
  }

  /// Makes everything durable that was appended, and the file, if it was not there yet.
  void flush() {
    require_usable();
    if (!pending_.empty() || synced_ != size_) write_out(true);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    if (!file_) return;
    require_usable();
    write_out(false);
    (void)detail::read_log<K>(file_.get(), path_, std::forward<Visit>(visit), options_.chain);
  }

 private:
  static constexpr std::size_t some_line = std::size_t{1} << 16U;

  BasicJsonlLog(std::string path, JsonlOptions options) : path_(std::move(path)), options_(options) {
    const auto both_slashes = [](char a, char b) { return a == '/' && b == '/'; };
    path_.erase(std::unique(path_.begin(), path_.end(), both_slashes), path_.end());
    if (path_.empty() || path_.find('\0') != std::string::npos || path_.ends_with('/'))
      throw LogError(ErrorCode::log_failed, "'" + path_ + "' is no name for a session log; name a file");
  }

  /// Puts the hash of the line that begins there into it, and makes that the last one.
  void add_hash(std::size_t begin, std::string& hash) {
    pending_.pop_back();
    hash = options_.chain(hash + pending_.substr(begin));
    pending_.pop_back();
    pending_.append(detail::hash_member).append(hash).append("\"}\n");
  }

  /// What can be written can be read: only so long a line can have more values than a reader takes.
  static void require_readable(std::string_view line) {
    detail::JsonDocument document;
    if (!document.parse(line))
      throw SessionInvalidError("an event can't be recorded: " + std::string(document.problem()) +
                                "; record less of it");
  }

  /// In the program that opened it, and not in a fork of that, which shares the lock.
  [[nodiscard]] bool here() const noexcept { return !gone_.value && owner_ == K::call(SYS_getpid); }

  void require_usable() {
    if (!here())
      throw LogError(
          ErrorCode::log_failed,
          "the session log " + path_ + " was moved, or opened before a fork; open it in the program that writes");
    // What could not be removed before can perhaps be now.
    if (half_written_ && os::truncate_file<K>(file_.get(), size_) >= 0 && os::sync_file<K>(file_.get()) >= 0)
      half_written_ = false;
    if (half_written_ || lost_)
      throw LogError(ErrorCode::log_failed, "the session log " + path_ +
                                                " could not be written before, and takes nothing more; open it again");
  }

  /// Writes what waits. When it throws, that is not in the file, and still waits.
  void write_out(bool durable) {
    if (!file_) return make_file();
    const char* what = "written";
    long result = plain_writes_ ? write_plainly() : os::write_all<K>(file_.get(), pending_);
    if (result >= 0 && durable) {
      what = "made durable";
      result = os::sync_data<K>(file_.get());
    }
    if (result < 0) {
      long cut = os::truncate_file<K>(file_.get(), size_);
      // What is on the disk already has to go from there too.
      if (cut >= 0) cut = os::sync_file<K>(file_.get());
      // After a failed sync the kernel may have dropped what was written before and never synced.
      half_written_ = cut < 0;
      lost_ = what[0] == 'm' && synced_ != size_;
      if (cut < 0)
        throw LogError(ErrorCode::log_failed,
                       "the session log " + path_ + " can't be " + what + ": " +
                           detail::error_text(static_cast<int>(-result)) +
                           ", nor can what is half written be removed: " + detail::error_text(static_cast<int>(-cut)) +
                           "; make room, and open it again");
      detail::fail_log(path_, what, result);
    }
    size_ += pending_.size();
    if (durable) synced_ = size_;
    pending_.clear();
  }

  long write_plainly() noexcept {
    std::string_view left = pending_;
    while (!left.empty()) {
      const long written = os::retry<K>(SYS_write, file_.get(), os::arg(left.data()), static_cast<long>(left.size()));
      if (written <= 0) return written < 0 ? written : -EIO;
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
  }

  /// The file, with all that waits, under another name until it is whole and on the disk (DUR-05).
  void make_file() {
    const std::string directory = os::parent_of(path_);
    const std::string name = path_.substr(path_.rfind('/') + 1);
    const os::BasicFd<K> at = open_directory(directory);
    const std::string draft = "." + name.substr(0, 200) + "." + os::random_name<K>();
    const long fd =
        os::open_file_in<K>(at.get(), draft.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) detail::fail_log(path_, "made", fd);
    os::BasicFd<K> file(fd);
    long result = os::write_all<K>(file.get(), pending_);
    if (result >= 0) result = os::sync_file<K>(file.get());
    if (result >= 0) result = os::lock_file<K>(file.get());
    if (result >= 0) result = os::publish_in<K>(at.get(), draft.c_str(), name.c_str());
    if (result >= 0) {
      result = os::sync_file<K>(at.get());
      if (result < 0) os::remove_file_in<K>(at.get(), name.c_str());  // nobody was told of it
    }
    if (result < 0) {
      os::remove_file_in<K>(at.get(), draft.c_str());
      if (result == -EEXIST)
        throw LogError(ErrorCode::log_exists,
                       "there is a file " + path_ + " already; name another, or go on with that");
      detail::fail_log(path_, "made", result);
    }
    file_ = std::move(file);
    size_ = synced_ = pending_.size();
    pending_.clear();
  }

  /// Opens a directory; what of it is missing is made, for its owner only.
  [[nodiscard]] os::BasicFd<K> open_directory(const std::string& path) {
    long fd = os::open_file<K>(path.c_str(), O_RDONLY | O_DIRECTORY);
    if (fd == -ENOENT && path != "." && path != "/") {
      const os::BasicFd<K> parent = open_directory(os::parent_of(path));
      const std::string name = path.substr(path.rfind('/') + 1);
      const long made = os::make_directory_in<K>(parent.get(), name.c_str());
      if (made < 0 && made != -EEXIST) detail::fail_log(path_, "made", made);
      if (const long synced = os::sync_file<K>(parent.get()); synced < 0) detail::fail_log(path_, "made", synced);
      fd = os::open_file<K>(path.c_str(), O_RDONLY | O_DIRECTORY);
    }
    if (fd < 0) detail::fail_log(path_, "made", fd);
    return os::BasicFd<K>(fd);
  }

  std::string path_;
  JsonlOptions options_;
  SessionHeader header_;
  SessionState state_;
  os::BasicFd<K> file_;
  std::string pending_;
  std::uint64_t size_ = 0;    ///< of the file, with nothing half written
  std::uint64_t synced_ = 0;  ///< how much of that is on the disk
  std::uint64_t torn_ = 0;
  std::string hash_;  ///< of the last record; empty without a chain
  bool plain_writes_ = os::file_size_unlimited();
  bool half_written_ = false;  ///< there is more in the file than `size_`
  bool lost_ = false;          ///< what was written may not be in the file any more
  detail::SetWhenMoved gone_;
  long owner_ = K::call(SYS_getpid);
};

using JsonlLog = BasicJsonlLog<>;
static_assert(SessionLog<JsonlLog> && SessionLog<MemoryLog>);

}  // namespace cordon
