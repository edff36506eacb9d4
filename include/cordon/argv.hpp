// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cordon/detail/overloaded.hpp>
#include <cordon/error.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// The exact program and arguments. Never a shell line: nothing in cordon splits, joins, expands or quotes it.
///
/// An Argv always names a program (first element not empty) and holds no NUL byte, since no operating system could
/// pass one on. It cannot be spawned; only a ConfinedArgv or an UnconfinedArgv can.
class Argv {
 public:
  /// Throws ArgvInvalidError when there is no program, or when an element holds a NUL byte.
  explicit Argv(std::vector<std::string> elements) : elements_(std::move(elements)) {
    if (elements_.empty() || elements_.front().empty())
      throw ArgvInvalidError("the argv names no program; its first element must be a path or a name");
    for (const std::string& element : elements_)
      if (element.find('\0') != std::string::npos)
        throw ArgvInvalidError("an argv element holds a NUL byte, which no program can receive; remove it");
  }

  Argv(std::initializer_list<std::string> elements) : Argv(std::vector<std::string>(elements)) {}

  /// A single text is not an argv: use `cordon::shell("…")`, or list the program and its arguments.
  template <std::convertible_to<std::string_view> Text>
  Argv(const Text&) {
    static_assert(detail::always_false<Text>,
                  "cordon: a string is not an Argv; write cordon::shell(\"...\") for a shell command, or "
                  "cordon::Argv({\"program\", \"argument\"})");
  }

  [[nodiscard]] const std::string& program() const noexcept { return elements_.front(); }
  [[nodiscard]] const std::vector<std::string>& elements() const noexcept { return elements_; }

  friend bool operator==(const Argv&, const Argv&) = default;

 private:
  std::vector<std::string> elements_;
};

/// The only spelling of a shell command: exactly `{"bash", "-c", script}`.
[[nodiscard]] inline Argv shell(std::string script) {
  return Argv({"bash", "-c", std::move(script)});
}

}  // namespace cordon
