// SPDX-License-Identifier: BSL-1.0
#include <cordon/detail/sha256.hpp>

#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace {
std::string sha256(std::string_view bytes) {
  cordon::detail::Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}
}  // namespace

TEST_CASE("the digests are those of FIPS 180-4") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("it is no matter in which pieces the bytes come") {
  const std::string text(200, 'x');
  for (std::size_t cut = 0; cut != text.size(); ++cut) {
    cordon::detail::Sha256 hash;
    hash.update(text.substr(0, cut));
    hash.update(text.substr(cut));
    CHECK(hash.finish() == sha256(text));
  }
}
