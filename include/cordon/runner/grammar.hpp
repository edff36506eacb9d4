// SPDX-License-Identifier: BSL-1.0
#pragma once

// The runner's command line. A runner is started with words that say all it has to know; it reads no environment
// variable and no file.
//
//   PROGRAM --cordon-runner STAGE [--OPTION VALUE]… -- COMMAND [ARGUMENT…]
//
// Each option takes exactly one value, consumed verbatim even when it looks like an option (LLR-04).

#include <charconv>
#include <cordon/dialect.hpp>
#include <cordon/error.hpp>
#include <cordon/resource_limits.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cordon::runner {

/// The word that tells a program to be a runner instead of itself.
inline constexpr std::string_view keyword = "--cordon-runner";

/// The exit status of a runner that could not run the command.
inline constexpr int failure_status = 125;

/// How it says so, for whoever spawns a confined argv without cordon and has no status channel.
using FailureRule = RunnerFailureRule<ExitCodes<failure_status>, Fatal<"cordon-runner: ">>;

/// A parsed runner command line, or one to be written.
struct Words {
  std::string stage;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> command;

  /// The values given for an option, in order.
  [[nodiscard]] std::vector<std::string> all(std::string_view option) const {
    std::vector<std::string> values;
    for (const auto& [name, value] : options)
      if (name == option) values.push_back(value);
    return values;
  }

  /// The only value of an option; empty when it is absent. Throws ArgvInvalidError when it is there twice.
  [[nodiscard]] std::string one(std::string_view option) const {
    const auto values = all(option);
    if (values.size() > 1) throw ArgvInvalidError(std::string(option) + " given twice");
    return values.empty() ? std::string() : values.front();
  }

  /// Adds the limits as options: `--limit NAME=NUMBER`.
  void limit(const ResourceLimits& limits) {
    limits.for_each([&](Resource resource, std::uint64_t value) {
      options.emplace_back("--limit", std::string(name(resource)) + "=" + std::to_string(value));
    });
  }

  /// The limits given. Throws ArgvInvalidError.
  [[nodiscard]] ResourceLimits limits() const {
    ResourceLimits result;
    for (const std::string& text : all("--limit")) {
      const auto equals = text.find('=');
      const auto resource = resource_named(std::string_view(text).substr(0, equals));
      std::uint64_t value = 0;
      const char* const last = text.data() + text.size();
      if (equals == std::string::npos || !resource ||
          std::from_chars(text.data() + equals + 1, last, value) != std::from_chars_result{last, std::errc()})
        throw ArgvInvalidError("not a limit: '" + text + "'");
      result.of(*resource) = value;
    }
    return result;
  }

  friend bool operator==(const Words&, const Words&) = default;
};

/// The command line after the program: keyword, stage, options, "--", command.
[[nodiscard]] inline std::vector<std::string> format(const Words& words) {
  std::vector<std::string> line{std::string(keyword), words.stage};
  for (const auto& [name, value] : words.options) {
    line.push_back(name);
    line.push_back(value);
  }
  line.emplace_back("--");
  line.insert(line.end(), words.command.begin(), words.command.end());
  return line;
}

/// The inverse of `format`, for what follows the program. Only `known` options are taken. Throws ArgvInvalidError,
/// saying which word is wrong.
[[nodiscard]] inline Words parse(std::span<const std::string> line, std::span<const std::string_view> known) {
  if (line.size() < 2 || line[0] != keyword) throw ArgvInvalidError("missing stage");
  Words words;
  words.stage = line[1];
  std::size_t at = 2;
  for (; at != line.size() && line[at] != "--"; at += 2) {
    bool recognised = false;
    for (std::string_view option : known) recognised = recognised || option == line[at];
    if (!recognised) throw ArgvInvalidError("unknown argument " + line[at]);
    if (at + 1 == line.size()) throw ArgvInvalidError(line[at] + " needs a value");
    words.options.emplace_back(line[at], line[at + 1]);
  }
  if (at == line.size() || at + 1 == line.size()) throw ArgvInvalidError("missing command after --");
  words.command.assign(line.begin() + static_cast<std::ptrdiff_t>(at) + 1, line.end());
  return words;
}

}  // namespace cordon::runner
