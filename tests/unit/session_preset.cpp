// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/preset.hpp>

#include <string>

#include "support/catch.hpp"

using namespace cordon;

namespace {

std::string refusal_of(const std::string& json) {
  try {
    (void)PresetTable::parse(json);
  } catch (const PolicyInvalidError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("PRE-01 the default table: workspace-write asks, danger-full-access asks nobody") {
  const PresetTable table;
  REQUIRE(table.entries().size() == 2);
  CHECK(table.entries()[0].name == "workspace-write");
  CHECK(table.entries()[0].knobs == Knobs{workspace_write, ApprovalPolicy::ask});
  CHECK(table.entries()[1].name == "danger-full-access");
  CHECK(table.entries()[1].knobs == Knobs{danger_full_access, ApprovalPolicy::never});
  CHECK(table.find("custom") == nullptr);
  CHECK(table.find("constructor") == nullptr);
  CHECK(table.find("") == nullptr);
}

TEST_CASE("PRE-02 PRE-03 T-PRE-05 the name is the selection while it fits, else the first that does, else custom") {
  static constexpr StaticPresets presets({{"first", {read_only, ApprovalPolicy::ask}},
                                          {"second", {read_only, ApprovalPolicy::ask}},
                                          {"other", {workspace_write, ApprovalPolicy::never}}});
  const PresetTable table(presets);
  const Knobs both{read_only, ApprovalPolicy::ask};
  CHECK(table.name_of(both, {}) == "first");
  CHECK(table.name_of(both, "second") == "second");
  CHECK(table.name_of(both, "other") == "first");
  CHECK(table.name_of(both, "gone") == "first");
  CHECK(table.name_of({workspace_write, ApprovalPolicy::never}, "second") == "other");
  CHECK(table.name_of({read_only, ApprovalPolicy::never}, "first") == "custom");
  CHECK(PresetTable().name_of({read_only, ApprovalPolicy::ask}, {}) == "custom");
}

TEST_CASE("PRE-06 T-PRE-07 T-PRE-08 what a deployment gives is to be described by a preset") {
  const PresetTable table;
  CHECK_NOTHROW(table.require_described({workspace_write, ApprovalPolicy::ask}));
  CHECK_THROWS_AS(table.require_described({workspace_write, ApprovalPolicy::never}), PolicyInvalidError);
  CHECK(table.name_of({workspace_write, ApprovalPolicy::never}, {}) == "custom");
}

TEST_CASE("T-PRE-09 PRE-11 a table from JSON is that table, or refused with what is wrong with it") {
  const PresetTable table = PresetTable::parse(
      R"({"presets":[{"name":"careful","mode":"read-only","approval":"never"},{"approval":"ask","name":"é","mode":"workspace-write"}]})");
  REQUIRE(table.entries().size() == 2);
  CHECK(table.find("careful")->knobs == Knobs{read_only, ApprovalPolicy::never});
  CHECK(table.find("\u00e9")->knobs == Knobs{workspace_write, ApprovalPolicy::ask});

  const auto refused = [](const std::string& json, const std::string& because) {
    INFO(json);
    CHECK(refusal_of(json).find(because) != std::string::npos);
  };
  refused("", "at byte 0");
  refused("{", "at byte 1");
  refused("[]", "no list");
  refused(R"({"presets":{}})", "no list");
  refused(R"({"presets":[]})", "no preset");
  refused(R"({"presets":[1]})", "not an object");
  refused(R"({"presets":[{"name":"custom","mode":"read-only","approval":"ask"}]})", "custom");
  refused(R"({"presets":[{"name":"","mode":"read-only","approval":"ask"}]})", "no name");
  refused(
      R"({"presets":[{"name":"a","mode":"read-only","approval":"ask"},{"name":"a","mode":"read-only","approval":"ask"}]})",
      "one name");
  refused(R"({"presets":[{"name":"a","mode":"yolo","approval":"ask"}]})", "unknown mode 'yolo'");
  refused(R"({"presets":[{"name":"a","mode":"read-only","approval":"maybe"}]})", "unknown approval policy 'maybe'");
  refused(R"({"presets":[{"name":"a","mode":"read-only"}]})", "unknown approval policy ''");
  refused(R"({"presets":[{"name":"a","mode":"read-only","approval":"ask","network":"no"}]})", "\"network\"");
  refused(R"({"presets":[{"name":7,"mode":"read-only","approval":"ask"}]})", "\"name\"");
}
