// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/stage.hpp>

#include <set>
#include <string>

#include "support/catch.hpp"

using cordon::process::Stage;

TEST_CASE("Every stage has a name of its own, and an unknown number is called so") {
  std::set<std::string> names;
  for (Stage stage : {Stage::descriptors, Stage::session, Stage::signals, Stage::working_directory, Stage::runner,
                      Stage::arguments, Stage::environment, Stage::user_namespace, Stage::mount, Stage::privileges,
                      Stage::landlock, Stage::exec, Stage::interpreter, Stage::limits})
    names.insert(std::string(name(stage)));
  CHECK(names.size() == 14);  // those listed above
  CHECK(names.count("unknown") == 0);
  CHECK(names.count("working-directory") == 1);
  CHECK(name(static_cast<Stage>(999)) == "unknown");
}

TEST_CASE("A status record fits one atomic write and begins as no message about any command") {
  STATIC_REQUIRE(sizeof(cordon::process::StatusRecord) <= 512);
  const cordon::process::StatusRecord record;
  CHECK(record.stage != Stage::exec);
  CHECK(record.error == 0);
}
