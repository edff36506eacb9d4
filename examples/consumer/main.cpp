// SPDX-License-Identifier: BSL-1.0
#include <cordon/cordon.hpp>
#include <cstdio>

#include "agent.hpp"

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  const std::string reading = run_read_only("ls / >/dev/null");
  const std::string writing = run_read_only("echo x > must-not-appear");
  std::printf("reading: %s, writing: %s\n", reading.c_str(), writing.c_str());
  return reading == "fine" && writing == "denied" ? 0 : 1;
}
