// SPDX-License-Identifier: BSL-1.0

// Catch2's main, compiled once for all test programs. Every test program is its own runner.

#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include <cordon/runner/entry.hpp>

#include "support/catch.hpp"

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  return Catch::Session().run(argc, argv);
}
