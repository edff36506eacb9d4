// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace support {

/// A new directory with a canonical path, removed with all it holds.
class TempDirectory {
 public:
  explicit TempDirectory(const std::string& parent = "/tmp") {
    std::string pattern = parent + "/cordon-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory below " + parent);
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] std::string directory(std::string_view name) const {
    const std::string path = path_ + "/" + std::string(name);
    std::filesystem::create_directories(path);
    return path;
  }

  [[nodiscard]] std::string file(std::string_view name, std::string_view content = "", unsigned mode = 0644) const {
    const std::string path = path_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

  [[nodiscard]] std::string symlink(std::string_view name, const std::string& target) const {
    const std::string path = path_ + "/" + std::string(name);
    std::filesystem::create_symlink(target, path);
    return path;
  }

 private:
  std::string path_;
};

[[nodiscard]] inline bool exists(const std::string& path) {
  return std::filesystem::exists(path);
}

[[nodiscard]] inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // what belongs to a process can vanish under the reader, and is no reason to throw
  return text.str();
}

/// True when `condition` holds within `limit`.
template <class Condition>
[[nodiscard]] bool soon(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (condition()) return true;
  return condition();
}

/// Changes the working directory while it lives.
class InDirectory {
 public:
  explicit InDirectory(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InDirectory() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  std::filesystem::path before_;
};

}  // namespace support
