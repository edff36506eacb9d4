// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace support {

/// The same numbers in every run, on every machine: std::mt19937 is exact, distributions are not.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// A number below `limit`.
  [[nodiscard]] std::size_t below(std::size_t limit) { return engine_() % limit; }
  [[nodiscard]] bool chance() { return (engine_() & 1U) != 0; }

  template <class Container>
  [[nodiscard]] const auto& pick(const Container& container) {
    return container[below(std::size(container))];
  }

  /// Up to `longest` characters of `alphabet`.
  [[nodiscard]] std::string text(std::string_view alphabet, std::size_t longest) {
    std::string result(below(longest + 1), ' ');
    for (char& c : result) c = alphabet[below(alphabet.size())];
    return result;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace support
