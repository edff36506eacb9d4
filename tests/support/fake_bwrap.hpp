// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/runner/self.hpp>
#include <string>

#include "support/temp_directory.hpp"

namespace support {

/// A shell script that stands in for bwrap. It notes each start; what it does then is `body`, in which `$command` runs
/// what bubblewrap was given to run, and `$dir` is a scratch directory.
class FakeBwrap {
 public:
  explicit FakeBwrap(const std::string& body, unsigned mode = 0755) { write(body, mode); }

  [[nodiscard]] const std::string& binary() const noexcept { return binary_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_.path(); }
  [[nodiscard]] std::size_t starts() const { return content_of(directory_.path() + "/starts").size() / 2; }
  [[nodiscard]] bool ran_a_command() const { return exists(directory_.path() + "/ran"); }

  /// Prints `text` and ends, as bubblewrap does when it can't set up.
  [[nodiscard]] static std::string failing_with(const std::string& text) {
    return "cat >&2 <<'END'\n" + text + "\nEND\nexit 1\n";
  }

 private:
  void write(const std::string& body, unsigned mode) {
    const std::string& dir = directory_.path();
    binary_ = directory_.file("bwrap",
                              "#!/bin/sh\n"
                              "dir='" +
                                  dir +
                                  "'\n"
                                  "echo s >>\"$dir/starts\"\n"
                                  "run_command() {\n"
                                  "  while [ \"$1\" != -- ]; do shift; done\n"
                                  "  shift\n"
                                  "  echo r >>\"$dir/ran\"\n"
                                  "  \"$@\"\n"
                                  "}\n" +
                                  body,
                              mode);
  }

  TempDirectory directory_;
  std::string binary_;
};

/// Whether this program counts as its own runner while this object lives.
class SelfIsRunner {
 public:
  explicit SelfIsRunner(bool is) : before_(cordon::runner::detail::entry_was_called.exchange(is)) {}
  ~SelfIsRunner() { cordon::runner::detail::entry_was_called.store(before_); }
  SelfIsRunner(const SelfIsRunner&) = delete;
  SelfIsRunner& operator=(const SelfIsRunner&) = delete;

 private:
  bool before_;
};

/// Sets an environment variable of this process while it lives; null removes it.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = ::getenv(name)) {
      before_ = before;
      had_ = true;
    }
    set(value);
  }
  ~WithVariable() { set(had_ ? before_.c_str() : nullptr); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr)
      ::setenv(name_.c_str(), value, 1);
    else
      ::unsetenv(name_.c_str());
  }
  std::string name_;
  std::string before_;
  bool had_ = false;
};

}  // namespace support
