// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/capture.hpp>

#include "support/catch.hpp"

using cordon::process::Capture;

namespace {

Capture captured(std::size_t cap, std::initializer_list<std::string_view> pieces) {
  Capture capture(cap);
  for (std::string_view piece : pieces) capture.append(piece);
  return capture;
}

}  // namespace

TEST_CASE("T-EXE-05: output up to the cap is kept whole, however it arrives") {
  CHECK(captured(10, {"0123456789"}).text() == "0123456789");
  CHECK(captured(10, {"0", "12345", "", "6789"}).text() == "0123456789");
  CHECK_FALSE(captured(10, {"0123456789"}).truncated());
  CHECK(captured(10, {}).text() == "");
}

TEST_CASE("T-EXE-05: one byte more keeps the first and the last half, and says so") {
  const Capture capture = captured(10, {"0123456789", "x"});
  CHECK(capture.text() == "012346789x");
  CHECK(capture.truncated());
  CHECK(capture.seen() == 11);
}

TEST_CASE("F75: much more keeps the first and the last half") {
  Capture capture(8);
  capture.append("head");
  for (int i = 0; i != 10000; ++i) capture.append("0123456789");
  capture.append("tail");
  CHECK(capture.text() == "headtail");
  CHECK(capture.seen() == 100008);
}

TEST_CASE("One piece that is larger than the cap is cut the same way") {
  CHECK(captured(4, {"ab0123456789yz"}).text() == "abyz");
}

TEST_CASE("An odd cap loses no byte of itself, and a cap of nothing keeps nothing") {
  CHECK(captured(5, {"0123456789"}).text() == "01789");
  CHECK(captured(1, {"0123456789"}).text() == "9");
  CHECK(captured(0, {"0123456789"}).text() == "");
  CHECK(captured(0, {"0123456789"}).truncated());
  CHECK_FALSE(captured(0, {}).truncated());
}

TEST_CASE("Bytes are bytes: NUL and invalid UTF-8 are kept") {
  const std::string bytes("a\0\xff\xfe", 4);
  CHECK(captured(10, {bytes}).text() == bytes);
}
