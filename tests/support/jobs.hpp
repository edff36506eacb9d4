// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cordon/jobs.hpp>
#include <string>

#include "support/temp_directory.hpp"

namespace support {

/// Reads until `text` is in the output, or nothing more comes, or `limit` is over.
[[nodiscard]] inline std::string read_until(cordon::Job& job, const std::string& text,
                                            std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  std::string seen;
  (void)soon(
      [&] {
        const cordon::JobOutput output = job.read();
        seen += output.out.text;
        return output.ended || seen.find(text) != std::string::npos;
      },
      limit);
  return seen;
}

}  // namespace support
