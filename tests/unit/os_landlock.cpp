// SPDX-License-Identifier: BSL-1.0
#include <cordon/os/linux/landlock.hpp>

#include "support/catch.hpp"

namespace landlock = cordon::os::landlock;
using K = cordon::os::Kernel;

TEST_CASE("T-LLR-14: the rights that each ABI knows") {
  const std::uint64_t first = 0x1fff;  // bits 0 to 12
  CHECK(landlock::known_rights(-1) == 0);
  CHECK(landlock::known_rights(0) == 0);
  CHECK(landlock::known_rights(1) == first);
  CHECK(landlock::known_rights(2) == (first | 0x2000));
  CHECK(landlock::known_rights(3) == (first | 0x6000));
  CHECK(landlock::known_rights(4) == (first | 0x6000));
  for (int abi : {5, 6, 7, 8, 20}) CHECK(landlock::known_rights(abi) == (first | 0xe000));
}

TEST_CASE("The kernel's ABI is a number above 0, or an errno that says why there is none") {
  const long abi = landlock::abi<K>();
  CHECK(abi != 0);
  if (abi < 0) CHECK((abi == -ENOSYS || abi == -EOPNOTSUPP));
}

TEST_CASE("The kernel takes exactly the rights that its ABI knows") {
  const int abi = static_cast<int>(landlock::abi<K>());
  if (abi < 1) return;
  const cordon::os::Fd ruleset(landlock::create_ruleset<K>(landlock::known_rights(abi)));
  REQUIRE(ruleset);
  CHECK(::fcntl(ruleset.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(landlock::create_ruleset<K>(1ULL << 60) == -EINVAL);

  CHECK(landlock::grant<K>(ruleset.get(), "/", landlock::read_rights) == 0);
  CHECK(landlock::grant<K>(ruleset.get(), "/nonexistent", landlock::read_rights) == -ENOENT);
  CHECK(landlock::grant<K>(ruleset.get(), "/dev/null", landlock::file_rights & landlock::known_rights(abi)) == 0);
  CHECK(landlock::grant<K>(ruleset.get(), "/dev/null", landlock::read_rights | landlock::make_dir) == 0);
}
