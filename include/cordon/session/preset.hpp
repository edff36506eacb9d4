// SPDX-License-Identifier: BSL-1.0
#pragma once

// Presets: names for a mode and an approval policy together. That is all they govern: not the network, not what a
// program reads, not which tools a model is given.

#include <algorithm>
#include <array>
#include <cordon/approval_policy.hpp>
#include <cordon/detail/json.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/session/fold.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// The two things that a preset sets.
struct Knobs {
  SandboxMode mode = read_only;
  ApprovalPolicy approval = ApprovalPolicy::ask;
  friend constexpr bool operator==(const Knobs&, const Knobs&) = default;
};

/// What a deployment gives to sessions that say nothing (POL-01, APR-09).
using SessionDefaults = Knobs;

struct Preset {
  std::string_view name;
  Knobs knobs;
};

/// What a session has that no preset describes. Never the name of one, and not to be selected.
inline constexpr std::string_view custom_preset = "custom";

namespace detail {

/// What keeps presets from being a table; empty when nothing does.
template <class Presets>
[[nodiscard]] constexpr std::string_view preset_problem(const Presets& presets) noexcept {
  std::size_t count = 0;
  for (const auto& preset : presets) {
    if (preset.name.empty()) return "a preset has no name";
    if (preset.name == custom_preset) return "custom is what is called what no preset describes; name it otherwise";
    std::size_t before = 0;
    for (const auto& other : presets)
      if (before++ < count && other.name == preset.name) return "two presets have one name; rename one";
    ++count;
  }
  return count == 0 ? "there is no preset" : "";
}

}  // namespace detail

/// A table that is checked when it is compiled: `constexpr cordon::StaticPresets mine({{"name", {mode, approval}},
/// …});`
template <std::size_t N>
class StaticPresets {
 public:
  consteval StaticPresets(const Preset (&presets)[N]) {
    for (std::size_t i = 0; i != N; ++i) presets_[i] = presets[i];
    if (!detail::preset_problem(presets_).empty())
      throw "cordon: presets need names that differ, and none of them may be custom";
  }
  [[nodiscard]] constexpr const Preset* begin() const noexcept { return presets_; }
  [[nodiscard]] constexpr const Preset* end() const noexcept { return presets_ + N; }

 private:
  Preset presets_[N];
};

/// Source: PRE-01.
inline constexpr StaticPresets default_presets({
    {"workspace-write", {workspace_write, ApprovalPolicy::ask}},
    {"danger-full-access", {danger_full_access, ApprovalPolicy::never}},
});

/// The presets of a program. A value type.
class PresetTable {
 public:
  struct Entry {
    std::string name;
    Knobs knobs;
  };

  PresetTable() : PresetTable(default_presets) {}

  template <std::size_t N>
  explicit PresetTable(const StaticPresets<N>& presets) {
    for (const Preset& preset : presets) entries_.push_back({std::string(preset.name), preset.knobs});
  }

  /// From `{"presets":[{"name":…,"mode":…,"approval":…},…]}`. Throws PolicyInvalidError.
  [[nodiscard]] static PresetTable parse(std::string_view json) {
    using Kind = detail::JsonValue::Kind;
    detail::JsonDocument document;
    if (!document.parse(json))
      refuse(std::string(document.problem()) + ", at byte " + std::to_string(document.offset()));
    const auto list = document.root().find("presets");
    if (!list || !list->is(Kind::array)) refuse("there is no list \"presets\"");
    PresetTable table(Empty{});
    list->each([&](detail::JsonValue element) {
      std::string texts[3];
      if (!element.is(Kind::object)) refuse("a preset is not an object");
      element.each([&](std::string_view key, detail::JsonValue value) {
        constexpr std::array<std::string_view, 3> keys{"name", "mode", "approval"};
        const auto which = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
        if (which == keys.size() || !value.is(Kind::string))
          refuse("a preset has name, mode and approval, which are texts; not \"" + std::string(key) + "\"");
        texts[which] = value.text();
        return true;
      });
      table.entries_.push_back({texts[0], {SandboxMode::parse(texts[1]), parse_approval_policy(texts[2])}});
      return true;
    });
    if (const std::string_view problem = detail::preset_problem(table.entries_); !problem.empty())
      refuse(std::string(problem));
    return table;
  }

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

  /// Null when there is none, and for `custom`.
  [[nodiscard]] const Entry* find(std::string_view name) const noexcept {
    for (const Entry& entry : entries_)
      if (entry.name == name) return &entry;
    return nullptr;
  }

  /// Throws SessionInvalidError when there is none.
  [[nodiscard]] const Entry& require(std::string_view name) const {
    if (const Entry* entry = find(name)) return *entry;
    std::string known;
    for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.name;
    throw SessionInvalidError("there is no preset '" + std::string(name) + "' to select; there are " + known);
  }

  /// The name for these knobs: the selected preset while it fits, else the first that does, else `custom` (PRE-02,
  /// PRE-03).
  [[nodiscard]] std::string_view name_of(const Knobs& knobs,
                                         const std::optional<std::string>& selected) const noexcept {
    if (selected)
      if (const Entry* entry = find(*selected); entry != nullptr && entry->knobs == knobs) return entry->name;
    for (const Entry& entry : entries_)
      if (entry.knobs == knobs) return entry.name;
    return custom_preset;
  }

  /// Throws PolicyInvalidError unless a preset describes what a deployment gives; with that said in as many words,
  /// nothing has to (PRE-06).
  void require_described(const SessionDefaults& defaults) const {
    if (name_of(defaults, {}) == custom_preset)
      refuse("none of them is mode " + std::string(defaults.mode.name()) + " with approval " +
             std::string(name(defaults.approval)) + ", which this deployment begins with");
  }

 private:
  struct Empty {};
  explicit PresetTable(Empty) {}
  [[noreturn]] static void refuse(const std::string& problem) {
    throw PolicyInvalidError("the table of presets can't be used: " + problem);
  }
  std::vector<Entry> entries_;
};

/// A session that was delegated has what its parent gave it, or nothing: never a deployment's default, which may be
/// wider.
[[nodiscard]] inline SessionDefaults defaults_for(const SessionHeader& header,
                                                  const SessionDefaults& defaults) noexcept {
  return header.parent.empty() ? defaults : SessionDefaults{read_only, ApprovalPolicy::never};
}

/// What a session has in effect: its own last switches, else what its deployment gives.
[[nodiscard]] inline Knobs knobs_of(const SessionState& state, const SessionDefaults& defaults) noexcept {
  return {state.mode().value_or(defaults.mode), state.approval_policy().value_or(defaults.approval)};
}

}  // namespace cordon
