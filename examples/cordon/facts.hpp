// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/harness.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

using Json = nlohmann::ordered_json;

/// Bytes as text: what is not valid UTF-8 becomes `\xNN`.
std::string readable(std::string_view bytes);

/// `{"level", "missing"}`, or null without confinement.
Json enforcement_json(const std::optional<cordon::Enforcement>& enforcement);

/// The facts object of cli.md before anything is known: every key is there.
Json blank_facts();

Json denial_json(const cordon::Denial& denial);

/// What the run came to. `with_text`: add the kept output.
void add_result(Json& facts, const cordon::RunResult& result, bool with_text);

}  // namespace tool
