// SPDX-License-Identifier: BSL-1.0

// The label, measured: for every backend and mode each file effect is attempted outside the roots, as the user who runs
// this. What got out must be what the enforcement calls missing, no more and no less.

#include <functional>

#include "kernel/support.hpp"

using namespace kernel_tests;
using cordon::EffectSet;
using cordon::FileEffect;

namespace {

/// One attempt to cause an effect outside the roots.
struct EffectAttempt {
  FileEffect effect;
  std::string attack;
  std::vector<std::string> arguments;
};

/// At least one for each effect; more where there are several ways.
std::vector<EffectAttempt> attempts_in(const Place& place) {
  const std::string file = place.out("file");
  std::vector<EffectAttempt> all{
      {FileEffect::create, "create-file", {place.out("new")}},
      {FileEffect::create, "make-directory", {place.out("new")}},
      {FileEffect::create, "make-symlink", {place.out("new")}},
      {FileEffect::create, "make-fifo", {place.out("new")}},
      {FileEffect::create, "make-socket", {place.out("new")}},
      {FileEffect::create, "make-unnamed", {place.outside()}},
      {FileEffect::write, "append", {file}},
      {FileEffect::write, "write-mapped", {file}},
      {FileEffect::write, "punch-hole", {file}},
      {FileEffect::write, "allocate", {file}},
      {FileEffect::write, "write-by-sendfile", {file}},
      {FileEffect::write, "write-by-splice", {file}},
      {FileEffect::write, "write-by-copy-range", {file}},
      {FileEffect::write, "write-by-io-uring", {file}},
      {FileEffect::write, "write-by-handle", {file, place.workspace()}},
      {FileEffect::truncate, "truncate", {file}},
      {FileEffect::truncate, "open-truncating", {file}},
      {FileEffect::remove, "unlink", {file}},
      {FileEffect::remove, "remove-directory", {place.out("empty")}},
      {FileEffect::rename_link, "rename", {file, place.out("renamed")}},
      {FileEffect::rename_link, "rename", {file, place.in("stolen")}},
      {FileEffect::rename_link, "rename", {place.in("mine"), place.out("planted")}},
      {FileEffect::rename_link, "rename", {place.in("mine"), file}},
      {FileEffect::rename_link, "exchange", {place.in("mine"), file}},
      {FileEffect::rename_link, "exchange", {place.out("other"), file}},
      {FileEffect::rename_link, "link", {file, place.out("linked")}},
      {FileEffect::rename_link, "link", {file, place.in("linked")}},
      {FileEffect::rename_link, "link", {place.in("mine"), place.out("linked")}},
      {FileEffect::metadata, "chmod", {file}},
      {FileEffect::metadata, "chmod", {place.out("directory")}},
      {FileEffect::metadata, "chmod-descriptor", {file}},
      {FileEffect::metadata, "chmod-newest", {file}},
      {FileEffect::metadata, "chown-to-self", {file}},
      {FileEffect::metadata, "set-times", {file}},
      {FileEffect::metadata, "set-attribute", {file}},
      {FileEffect::metadata, "set-acl", {file}},
      {FileEffect::metadata, "set-inode-flags", {file}},
      {FileEffect::device, "make-character-device", {place.out("node")}},
      {FileEffect::device, "make-block-device", {place.out("node")}},
      {FileEffect::device, "make-whiteout", {place.out("node")}},
      {FileEffect::fifo_write, "append", {place.out("fifo")}},
      {FileEffect::mount_topology, "remount", {place.outside(), file}},
      {FileEffect::mount_topology, "mount-something", {place.outside()}},
      {FileEffect::mount_topology, "unmount", {}},
      {FileEffect::mount_topology, "nested-namespace", {place.outside(), file}},
      {FileEffect::mount_topology, "pivot-root", {place.outside(), file}},
      {FileEffect::mount_topology, "open-file-system", {"cgroup2"}},  // the host's, and writable
  };
  if (place.has_attributes()) all.push_back({FileEffect::metadata, "remove-attribute", {file}});
  if (is_root()) {
    // root owns the nodes in /dev and the files of /proc and /sys, and can have device nodes lie about anywhere.
    all.push_back({FileEffect::metadata,
                   "chmod-to-same",
                   {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}});
    all.push_back(
        {FileEffect::metadata, "chmod-to-same", {"/proc/version", "/proc/uptime", "/proc/sys/kernel/hostname"}});
    all.push_back({FileEffect::metadata, "chmod-to-same", {"/sys", "/sys/kernel/uevent_seqnum"}});
    all.push_back({FileEffect::metadata, "chmod-open-descriptors", {}});
    all.push_back({FileEffect::device, "open-for-writing", {place.out("null-node")}});
    all.push_back({FileEffect::device, "control-device", {place.out("null-node")}});
    all.push_back({FileEffect::write, "open-kernel-files", {"/proc"}});
    all.push_back({FileEffect::write, "open-kernel-files", {"/sys"}});
  } else if (exists(program("null-node"))) {  // which uid 0 left there for this test
    all.push_back({FileEffect::device, "open-for-writing", {program("null-node")}});
    all.push_back({FileEffect::device, "control-device", {program("null-node")}});
  }
  return all;
}

struct Measured {
  EffectSet escaped;
  EffectSet tried;
  std::string how;  ///< the attempts that got out
};

using Way = std::function<Attempt(const Place&, const cordon::Argv&)>;

/// In one place, and in another one after each attempt that got out.
Measured measure(const Way& run) {
  Measured result;
  auto place = new_place();
  const std::size_t count = attempts_in(*place).size();
  for (std::size_t i = 0; i != count; ++i) {
    const EffectAttempt tried = attempts_in(*place)[i];
    const Attempt attempt = run(*place, payload(tried.attack, tried.arguments));
    const bool escaped = place->outside_changed() || attempt.succeeded();
    INFO(tried.attack << ": " << attempt.out << attempt.err);
    CHECK((attempt.status == 0 || attempt.status == 1 || attempt.status == 2));
    const EffectSet effect{tried.effect};
    if (!attempt.impossible()) result.tried = result.tried | effect;
    if (!escaped) continue;
    result.escaped = result.escaped | effect;
    result.how += "\n  " + std::string(name(tried.effect)) + " by " + tried.attack + ": " + attempt.out;
    place = new_place();
  }
  return result;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("What escapes is exactly what the enforcement calls missing", "[effects]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const auto confined =
      harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()), cordon::Argv({"/bin/true"}));

  const Measured measured =
      measure([](const Place& at, const cordon::Argv& command) { return run_under<TestType>(at, command); });
  INFO("escaped:" << measured.how);
  CHECK(to_string(measured.escaped) == to_string(confined.enforcement().missing()));
  CHECK(measured.tried == EffectSet::all());
}

TEMPLATE_LIST_TEST_CASE("The label is the best one where this kernel and user have all that it takes (T-LLR-01)",
                        "[effects]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const bool landlock = cordon::os::landlock::abi<cordon::os::Kernel>() >= 5;
  const bool capable = !is_root() || cordon::os::has_capability<cordon::os::Kernel>(cordon::os::cap_sys_admin);
  if (!landlock || !capable) return skip("the best label needs Landlock ABI 5, and as uid 0 CAP_SYS_ADMIN");
  const auto confined =
      harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()), cordon::Argv({"/bin/true"}));
  std::string expected;
  if (std::is_same_v<typename TestType::Backend, cordon::MountNamespace>) expected = "fifo_write";
  if (std::is_same_v<typename TestType::Backend, cordon::Landlock>) expected = "metadata";
  CHECK(to_string(confined.enforcement().missing()) == expected);
}

TEMPLATE_LIST_TEST_CASE("The plain argv, started by another process library, holds the same label", "[effects]",
                        Confinements) {
  const Place usable_place;
  if (!usable<TestType>(usable_place)) return;
  std::string label;
  const Measured measured = measure([&](const Place& place, const cordon::Argv& command) {
    const auto confined = harness<TestType>().confine(policy_for<typename TestType::Mode>(place.workspace()), command);
    label = to_string(confined.enforcement().missing());
    return run_plainly(confined.argv());
  });
  INFO("escaped:" << measured.how);
  CHECK(to_string(measured.escaped) == label);
  CHECK(measured.tried == EffectSet::all());
}

TEST_CASE("Every effect happens when nothing confines, so an attempt that is refused was refused by the sandbox",
          "[effects]") {
  const Measured measured = measure([](const Place& place, const cordon::Argv& command) {
    cordon::PolicyRequest request;
    request.mode = cordon::danger_full_access;
    request.workspace_root = place.workspace();
    cordon::Harness<cordon::Refuse> harness;
    return harness.resolve(request).visit(
        [&](const cordon::Policy<cordon::DangerFullAccess>& policy) {
          return attempt_of(harness.run(cordon::UnconfinedArgv(policy, command), plain_options()));
        },
        [](const auto&) { return Attempt{}; });
  });
  INFO("escaped:" << measured.how);
  CHECK(to_string(measured.escaped) == to_string(EffectSet::all()));
}

TEMPLATE_LIST_TEST_CASE("A program that is not its own runner gets a partial label, and that one is exact too",
                        "[effects]", Confinements) {
  if constexpr (std::is_same_v<typename TestType::Backend, cordon::Bubblewrap>) {
    const Place usable_place;
    if (!usable<TestType>(usable_place)) return;
    std::string label;
    const Measured measured = measure([&](const Place& place, const cordon::Argv& command) {
      std::vector<std::string> words{program("cordon_without_runner"), std::string(TestType::Mode::name),
                                     place.workspace(), "--"};
      words.insert(words.end(), command.elements().begin(), command.elements().end());
      Attempt attempt = run_plainly(words);
      label = attempt.out.substr(0, attempt.out.find('\n'));
      return attempt;
    });
    INFO("escaped:" << measured.how);
    CHECK(label == "partial fifo_write mount_topology");
    CHECK(to_string(measured.escaped) == "fifo_write, mount_topology");
    CHECK(measured.tried == EffectSet::all());
  }
}

TEST_CASE("Without the runner a FIFO outside really can be written, in both modes", "[effects][T-KRN-17]") {
  if (!usable<Under<cordon::Bubblewrap, cordon::ReadOnly>>(Place())) return;
  for (const char* mode : {"read-only", "workspace-write"}) {
    const Place place;
    const Attempt attempt = run_plainly({program("cordon_without_runner"), mode, place.workspace(), "--", "/bin/sh",
                                         "-c", "echo written >'" + place.out("fifo") + "'"});
    INFO(mode << ": " << attempt.out);
    CHECK(attempt.out == "partial fifo_write mount_topology\n");
    CHECK(attempt.status == 0);
    CHECK(place.fifo_was_written());
  }
}
