// SPDX-License-Identifier: BSL-1.0
#include <cordon/session/sha256.hpp>

#include <cordon/detail/sha256.hpp>
#include <cordon/session/jsonl_log.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/session.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;

TEST_CASE("SHA-256 of what the standard gives as examples") {
  // FIPS 180-4, and the examples that NIST publishes for it.
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("the digests of actions are SHA-256 as libcrypto computes it, of texts of every length") {
  support::Random random(20261202);
  for (std::size_t length = 0; length != 300; ++length) {
    std::string text;
    for (std::size_t i = 0; i != length; ++i) text += static_cast<char>(random.below(256));
    detail::Sha256 hash;
    hash.update(text);
    CHECK(hash.finish() == sha256(text));
  }
}

TEST_CASE("LOG-K3 a log that is chained with it shows where it was edited") {
  const support::TempDirectory place;
  const std::string path = place.path() + "/log";
  {
    JsonlLog log = JsonlLog::create(path, {"s", 0}, {.chain = sha256});
    log.append(support::one_of_each());
  }
  std::string content = support::content_of(path);
  const LogReport report = read_log(path, sha256);
  CHECK(content.find(report.last_hash) != std::string::npos);
  const std::size_t at = content.find("danger-full-access\"}}");
  CHECK(at == std::string::npos);  // the hash is behind it
  content.replace(content.find("workspace-write"), 15, "danger-full-access");
  const std::string edited = place.file("edited", content, 0600);
  CHECK_NOTHROW(read_log(edited));
  CHECK_THROWS_AS(read_log(edited, sha256), LogError);
}
