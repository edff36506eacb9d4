// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tool {

/// `cordon classify`, as its command line gave it.
struct ClassifyArguments {
  std::string backend;
  std::optional<int> exit_code;
  std::optional<int> signal;  ///< then the exit code says nothing
  std::string cwd;
  std::string workspace;
  std::string mode = "read-only";
  std::vector<std::string> write;
  std::vector<std::string> fatal;
  std::vector<int> allowed_exits;
  std::vector<std::string> informational;
  std::vector<std::string> denials;
};

/// Reads stderr of a command from standard input and prints the verdict on it; the exit status of the tool.
int classify(const ClassifyArguments& arguments);

}  // namespace tool
