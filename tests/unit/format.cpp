// SPDX-License-Identifier: BSL-1.0
#include <cordon/format.hpp>

#include "support/catch.hpp"

using cordon::EffectSet;
using cordon::Enforcement;
using cordon::FileEffect;

TEST_CASE("cordon's words can be formatted, by their wire names") {
  CHECK(fmt::format("{}", cordon::read_only) == "read-only");
  CHECK(fmt::format("{}", cordon::SandboxMode(cordon::workspace_write)) == "workspace-write");
  CHECK(fmt::format("{}", FileEffect::rename_link) == "rename_link");
  CHECK(fmt::format("{}", cordon::Evidence::inferred) == "inferred");
  CHECK(fmt::format("{}", cordon::ErrorCode::sandbox_unavailable) == "SANDBOX_UNAVAILABLE");
  CHECK(fmt::format("{}", cordon::Resource::open_files) == "open-files");
  CHECK(fmt::format("{}", cordon::LimitedBy::control_group) == "control-group");
  CHECK(fmt::format("{}", EffectSet{FileEffect::metadata, FileEffect::create}) == "create, metadata");
}

TEST_CASE("An enforcement is formatted with what is missing") {
  CHECK(fmt::format("{}", Enforcement::of<cordon::ReadOnly>(EffectSet::all())) == "full");
  const EffectSet missing{FileEffect::metadata, FileEffect::fifo_write};
  CHECK(fmt::format("{}", Enforcement::of<cordon::ReadOnly>(EffectSet::all() - missing)) ==
        "partial {metadata, fifo_write}");
}

TEST_CASE("Widths and fills work as for other text") {
  CHECK(fmt::format("[{:>10}]", cordon::read_only) == "[ read-only]");
  CHECK(fmt::format("[{:*<12}]", FileEffect::write) == "[write*******]");
}
