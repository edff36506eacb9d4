// SPDX-License-Identifier: BSL-1.0
#include "facts.hpp"

#include <chrono>
#include <cordon/detail/overloaded.hpp>
#include <cordon/detail/utf8.hpp>
#include <cstddef>
#include <variant>

namespace tool {

namespace {

Json stream_json(const cordon::process::Capture& capture, bool with_text) {
  Json stream{{"bytes", capture.seen()}, {"truncated", capture.truncated()}};
  if (with_text) stream["text"] = readable(capture.text());
  stream["dropped"] = capture.dropped();
  if (const auto& spill = capture.spill())
    stream["spill"] = {{"state", name(spill->state)},
                       {"path", spill->path.empty() ? Json(nullptr) : Json(readable(spill->path))},
                       {"bytes", spill->bytes},
                       {"errno", spill->error == 0 ? Json(nullptr) : Json(spill->error)}};
  else
    stream["spill"] = nullptr;
  return stream;
}

}  // namespace

std::string readable(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    if (const std::size_t length = cordon::detail::character_length(bytes); length != 0) {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    } else {
      const auto byte = static_cast<unsigned char>(bytes.front());
      text.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
      bytes.remove_prefix(1);
    }
  }
  return text;
}

Json enforcement_json(const std::optional<cordon::Enforcement>& enforcement) {
  if (!enforcement) return nullptr;
  Json missing = Json::array();
  enforcement->missing().for_each([&](cordon::FileEffect effect) { missing.push_back(name(effect)); });
  return {{"level", enforcement->level()}, {"missing", missing}};
}

Json blank_facts() {
  const Json stream = stream_json(cordon::process::Capture(0), false);
  return {{"version", 1},
          {"mode", nullptr},
          {"backend", nullptr},
          {"workspace_root", nullptr},
          {"enforcement", nullptr},
          {"outcome", nullptr},
          {"exit_code", nullptr},
          {"signal", nullptr},
          {"timed_out", false},
          {"elapsed_ms", 0.0},
          {"denied", false},
          {"denials", Json::array()},
          {"runner_failure", nullptr},
          {"error", nullptr},
          {"approval", nullptr},
          {"stdout", stream},
          {"stderr", stream},
          {"removed_env", Json::array()},
          {"skipped_roots", Json::array()},
          {"tree", nullptr},
          {"outlived", 0},
          {"best_effort_protected", Json::array()},
          {"shared_temp", Json::array()},
          {"limits", Json::object()},
          {"terminal", nullptr}};
}

Json denial_json(const cordon::Denial& denial) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(readable(text)); };
  return {{"effect", name(denial.effect)},       {"path", text_or_null(denial.path)},
          {"errno", text_or_null(denial.error)}, {"syscall", text_or_null(denial.system_call)},
          {"evidence", name(denial.evidence)},   {"grant", text_or_null(denial.grant)}};
}

void add_result(Json& facts, const cordon::RunResult& result, bool with_text) {
  facts["mode"] = result.mode.name();
  if (!result.backend.empty()) facts["backend"] = result.backend;
  facts["enforcement"] = enforcement_json(result.enforcement);
  std::visit(cordon::detail::Overloaded{
                 [&](const cordon::process::Exited& exited) {
                   facts["outcome"] = "exited";
                   facts["exit_code"] = exited.code;
                 },
                 [&](const cordon::process::Signalled& signalled) {
                   facts["outcome"] = "signalled";
                   facts["signal"] = signalled.number;
                 },
                 [&](const cordon::process::TimedOut& timed_out) {
                   facts["outcome"] = "timed_out";
                   facts["timed_out"] = true;
                   facts["limit"] = timed_out.limit == cordon::process::TimedOut::Limit::wall ? "wall" : "idle";
                 },
                 [&](const cordon::process::Cancelled&) { facts["outcome"] = "cancelled"; },
                 [&](const cordon::process::OutputLimit&) { facts["outcome"] = "output_limit"; },
                 [&](const cordon::process::NotExecutable&) { facts["outcome"] = "not_executable"; }},
             result.ending);
  facts["elapsed_ms"] = std::chrono::duration<double, std::milli>(result.elapsed).count();
  facts["tree"] = name(result.tree);
  facts["outlived"] = result.outlived;
  if (result.terminal) facts["terminal"] = {{"rows", result.terminal->rows}, {"columns", result.terminal->columns}};
  facts["denied"] = result.denied();
  for (const cordon::Denial& denial : result.denials) facts["denials"].push_back(denial_json(denial));
  facts["stdout"] = stream_json(result.out, with_text);
  facts["stderr"] = stream_json(result.err, with_text);
  for (const std::string& path : result.best_effort) facts["best_effort_protected"].push_back(readable(path));
  for (const cordon::AppliedLimit& limit : result.limits)
    facts["limits"][std::string(name(limit.resource))] = {{"value", limit.value}, {"by", name(limit.by)}};
  for (const std::string& path : result.shared_temp) facts["shared_temp"].push_back(readable(path));
}

}  // namespace tool
