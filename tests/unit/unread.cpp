// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/unread.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using cordon::process::NewOutput;
using cordon::process::Stream;
using cordon::process::UnreadOutput;

TEST_CASE("T-EXE-11: output that was taken is not given again, and each piece says where it lies") {
  UnreadOutput unread(100);
  CHECK(unread.take().out.text == "");
  unread.append(Stream::out, "one ");
  unread.append(Stream::out, "two ");
  NewOutput first = unread.take();
  CHECK(first.out.text == "one two ");
  CHECK(first.out.offset == 0);
  unread.append(Stream::out, "three");
  NewOutput second = unread.take();
  CHECK(second.out.text == "three");
  CHECK(second.out.offset == 8);
  CHECK_FALSE(second.out.lost_some());
  CHECK(unread.take().out.text == "");
}

TEST_CASE("The streams are kept apart, each with its own cap") {
  UnreadOutput unread(4);
  unread.append(Stream::out, "123456");
  unread.append(Stream::err, "abc");
  const NewOutput output = unread.take();
  CHECK(output.out.text == "3456");
  CHECK(output.out.dropped == 2);
  CHECK(output.err.text == "abc");
  CHECK(output.err.dropped == 0);
}

TEST_CASE("T-EXE-11: what was dropped unread is counted, and what is kept is the end in one piece") {
  UnreadOutput unread(10);
  std::string all;
  const auto size = GENERATE(1U, 3U, 9U, 10U, 11U, 25U);
  std::uint64_t read = 0;
  for (int i = 0; i != 40; ++i) {
    const std::string bytes(size, static_cast<char>('a' + i % 26));
    all += bytes;
    unread.append(Stream::out, bytes);
    if (i % 7 != 6 && i != 39) continue;
    const auto piece = unread.take().out;
    CHECK(piece.text.size() == std::min<std::size_t>(10, all.size() - read));
    CHECK(piece.offset == read + piece.dropped);
    CHECK(piece.text == all.substr(piece.offset));
    CHECK(piece.lost_some() == (piece.offset != read));
    read = all.size();
  }
}

TEST_CASE("Without room nothing is kept, and all is counted") {
  UnreadOutput unread(0);
  unread.append(Stream::err, "abc");
  CHECK(unread.take().err.dropped == 3);
  CHECK(unread.take().err.dropped == 0);
}

TEST_CASE("Threads that read at the same time share the output, no byte twice and none lost") {
  UnreadOutput unread(std::size_t{1} << 20);
  std::uint64_t counted[2] = {0, 0};
  {
    std::jthread writer([&] {
      for (int i = 0; i != 2000; ++i) unread.append(Stream::out, "0123456789");
    });
    std::vector<std::jthread> readers;
    for (auto& count : counted)
      readers.emplace_back([&unread, &count] {
        for (int i = 0; i != 500; ++i) {
          const auto piece = unread.take().out;
          count += piece.text.size() + piece.dropped;
        }
      });
  }
  CHECK(counted[0] + counted[1] + unread.take().out.text.size() == 20000);
}

TEST_CASE("EXE-K5: a character whose end is still to come is given with its end, or when there is none") {
  UnreadOutput unread(100);
  unread.append(Stream::out, "caf\xc3");
  CHECK(unread.take().out.text == "caf");
  CHECK(unread.take().out.text == "");
  unread.append(Stream::out, "\xa9 \xf0\x9f\x98");
  const NewOutput second = unread.take();
  CHECK(second.out.text == "\xc3\xa9 ");
  CHECK(second.out.offset == 3);
  CHECK_FALSE(second.out.lost_some());
  const NewOutput last = unread.take(true);
  CHECK(last.out.text == "\xf0\x9f\x98");
  CHECK(last.out.offset == 6);
}

TEST_CASE("EXE-K5: what was cut off with lost bytes is lost too; other bytes that are no characters stay") {
  UnreadOutput unread(4);
  unread.append(Stream::out, "\xf0\x9f\x98\x80 ab");
  const NewOutput cut = unread.take();
  CHECK(cut.out.text == " ab");
  CHECK(cut.out.dropped == 4);
  unread.append(Stream::out, "\x80\xff\x80\x80");
  const NewOutput binary = unread.take();
  CHECK(binary.out.text == "\x80\xff\x80\x80");
  CHECK_FALSE(binary.out.lost_some());
}

TEST_CASE("T-EXE-11: a piece names the file that has the whole stream, if one has") {
  UnreadOutput unread(4);
  unread.append(Stream::out, "123456");
  CHECK(unread.take().out.spill.empty());
  unread.spills_to(Stream::out, "/spill/stdout-1");
  unread.append(Stream::out, "123456");
  const NewOutput output = unread.take();
  CHECK(output.out.lost_some());
  CHECK(output.out.spill == "/spill/stdout-1");
  CHECK(output.err.spill.empty());
  unread.spills_to(Stream::out, {});
  CHECK(unread.take().out.spill.empty());
}
