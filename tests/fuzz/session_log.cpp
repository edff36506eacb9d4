// SPDX-License-Identifier: BSL-1.0

// Feeds the reader of session logs with anything. What it takes has to come back from being written, byte for byte or
// at least event for event; what it refuses, it refuses with a LogError.

#include <cordon/session/jsonl_log.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<cordon::Record> records;
  const auto read = [](std::string_view log, auto&& visit) {
    cordon::detail::LogLines lines("log");
    for (std::size_t newline = 0; (newline = log.find('\n')) != std::string_view::npos; log.remove_prefix(newline + 1))
      lines.take(log.substr(0, newline), visit);
    return std::move(lines).finish(log.size());
  };
  try {
    const cordon::LogReport report = read(text, [&](const cordon::Record& record) { records.push_back(record); });
    if (report.sound_size + report.torn_bytes != size || report.state.size() != records.size()) std::abort();
    std::string again;
    cordon::detail::write_header(again, report.header);
    for (const cordon::Record& record : records) {
      // Its data is not kept.
      if (std::holds_alternative<cordon::IgnoredEvent>(record.event)) return 0;
      cordon::detail::write_record(again, record);
    }
    std::vector<cordon::Record> once_more;
    const cordon::LogReport same = read(again, [&](const cordon::Record& record) { once_more.push_back(record); });
    if (same.header != report.header || same.state != report.state || once_more != records) std::abort();
  } catch (const cordon::LogError&) {
  }
  return 0;
}
