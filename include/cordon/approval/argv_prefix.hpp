// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace cordon {

/// The first words of an argv, or all of them: what a rule speaks about. Words are compared byte by byte and whole, so
/// that nothing which only looks like one, or leads to one, is one.
struct ArgvPrefix {
  std::vector<std::string> words;
  bool exact = false;  ///< nothing may follow

  [[nodiscard]] bool begins(const std::vector<std::string>& argv) const {
    return !words.empty() && words.size() <= argv.size() && (!exact || words.size() == argv.size()) &&
           std::equal(words.begin(), words.end(), argv.begin());
  }

  friend bool operator==(const ArgvPrefix&, const ArgvPrefix&) = default;
};

}  // namespace cordon
