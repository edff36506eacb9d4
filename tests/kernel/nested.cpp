// SPDX-License-Identifier: BSL-1.0

// A program that confines its commands, itself confined: an agent that an agent started.

#include "kernel/support.hpp"

using namespace kernel_tests;

namespace {

/// `cordon run` with the workspace inside the outer one: writes there, beside it, and outside of both.
cordon::Argv inner_run(const Place& place, const std::string& backend, const std::string& mode) {
  return cordon::Argv(
      {program("cordon"), "run", "--backend", backend, "--mode", mode, "--partial", "accept", "--workspace",
       place.in("sub"), "--", "/bin/sh", "-c",
       "echo ran; (echo x >in; echo x >../beside; echo x >\"$1/new\"; echo x >>\"$1/file\") 2>/dev/null; "
       "exit 0",
       "sh", place.outside()});
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("A sandbox inside a sandbox confines further or refuses, and never runs unconfined (F85)",
                        "[nested]", Confinements) {
  const bool writing = std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>;
  for (const char* backend : {"auto", "layered", "mount-namespace", "landlock", "bubblewrap"})
    for (const char* mode : {"read-only", "workspace-write"}) {
      const Place place;
      if (!usable<TestType>(place)) return;
      const Attempt attempt = run_under<TestType>(place, inner_run(place, backend, mode));
      INFO(backend << " " << mode << ": " << attempt.out << attempt.err);
      const bool ran = attempt.out == "ran\n";
      if (ran) {
        CHECK(attempt.status == 0);
        CHECK(exists(place.in("sub/in")) == (writing && mode == std::string("workspace-write")));
      } else {
        CHECK(attempt.status == 125);
        CHECK(attempt.out.empty());
        CHECK(attempt.err.find("cordon: SANDBOX_UNAVAILABLE: ") == 0);
        CHECK(std::count(attempt.err.begin(), attempt.err.end(), '\n') == 1);
        CHECK_FALSE(exists(place.in("sub/in")));
      }
      CHECK_FALSE(exists(place.in("beside")));
      CHECK_FALSE(place.outside_changed());
    }
}

TEMPLATE_LIST_TEST_CASE("Inside a sandbox with workspace-write, Landlock is the one that still works (F85)", "[nested]",
                        Writing) {
  if (cordon::os::landlock::abi<cordon::os::Kernel>() < 3) return skip("the inner sandbox needs Landlock ABI 3");
  for (const char* backend : {"auto", "landlock"})
    for (const char* mode : {"read-only", "workspace-write"}) {
      const Place place;
      if (!usable<TestType>(place)) return;
      const Attempt attempt = run_under<TestType>(place, inner_run(place, backend, mode));
      INFO(backend << " " << mode << ": " << attempt.out << attempt.err);
      CHECK(attempt.status == 0);
      CHECK(attempt.out == "ran\n");
    }
}

TEMPLATE_LIST_TEST_CASE("bubblewrap inside fails by itself, and what it was to run does not run (F85)", "[nested]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("bwrap")) return;
  const Attempt attempt =
      run_under<TestType>(place, cordon::Argv({"bwrap", "--ro-bind", "/", "/", "/bin/sh", "-c", "echo ran"}));
  INFO(attempt.err);
  const bool nests = own_processes<TestType> && !is_root();  // with its guard, no: Landlock forbids mounts
  CHECK((attempt.status != 0 || nests));
  CHECK((attempt.out.empty() || nests));
  CHECK_FALSE(place.outside_changed());
}

TEST_CASE("Landlock alone works when its probe's directory lies in a shared temp directory (F31, F85)", "[nested]") {
  using Subject = Under<cordon::Landlock, cordon::WorkspaceWrite>;
  const Place place;
  if (!usable<Subject>(place)) return;
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("TMPDIR", "/var/tmp", 1);
  cordon::Landlock backend;
  const cordon::Availability verdict = backend.probe(policy_for<cordon::WorkspaceWrite>(place.workspace()));
  if (before != nullptr)
    ::setenv("TMPDIR", saved.c_str(), 1);
  else
    ::unsetenv("TMPDIR");
  INFO((verdict.problem() != nullptr ? verdict.problem()->reason : ""));
  CHECK(verdict.usable());
}
