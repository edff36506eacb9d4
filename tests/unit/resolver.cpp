// SPDX-License-Identifier: BSL-1.0
#include <cordon/policy/resolver.hpp>

#include "support/catch.hpp"
#include "support/policies.hpp"
#include "support/temp_directory.hpp"

using cordon::PolicyInvalidError;
using cordon::PolicyRequest;
using cordon::PolicyResolver;
using cordon::SandboxMode;
using support::TempDirectory;

namespace {

using Paths = std::vector<std::string>;

PolicyRequest writing(const std::string& workspace) {
  PolicyRequest request;
  request.mode = cordon::workspace_write;
  request.workspace_root = workspace;
  return request;
}

Paths writable_roots(const PolicyRequest& request) {
  return PolicyResolver::resolve(request).visit([](const auto& policy) { return policy.writable_roots(); });
}

std::string refusal(const PolicyRequest& request) {
  try {
    (void)PolicyResolver::resolve(request);
  } catch (const PolicyInvalidError& error) {
    return error.what();
  }
  return "";
}

bool refused_because(const PolicyRequest& request, const std::string& words) {
  return refusal(request).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("T-POL-01: an empty request is read-only at the current directory") {
  const TempDirectory directory;
  const support::InDirectory inside(directory.path());
  const auto policy = PolicyResolver::resolve({});
  CHECK(policy.mode() == SandboxMode(cordon::read_only));
  CHECK(policy.scope().workspace_root == directory.path());
  CHECK(policy.scope().extra_roots.empty());
  CHECK(policy.scope().protected_paths.empty());
  CHECK_FALSE(policy.scope().session_id.has_value());
}

TEST_CASE("T-POL-01: a current directory that is gone is refused, and nothing else is taken instead") {
  const TempDirectory directory;
  const support::InDirectory inside(directory.directory("gone"));
  std::filesystem::remove(directory.path() + "/gone");
  CHECK_THROWS_AS(PolicyResolver::resolve({}), PolicyInvalidError);
}

TEST_CASE("T-POL-02: dots and double slashes in the workspace are resolved") {
  const TempDirectory directory;
  const std::string sub = directory.directory("sub");
  const std::string name = directory.path().substr(directory.path().rfind('/') + 1);
  CHECK(PolicyResolver::resolve(writing(directory.path() + "/../" + name + "/.//sub/")).scope().workspace_root == sub);
}

TEST_CASE("T-POL-02: a relative workspace is meant from the current directory") {
  const TempDirectory directory;
  const std::string sub = directory.directory("sub");
  const support::InDirectory inside(directory.path());
  CHECK(PolicyResolver::resolve(writing("sub")).scope().workspace_root == sub);
}

TEST_CASE("T-POL-02: `link/..` is the parent of what the link leads to, as the kernel walks it") {
  const TempDirectory directory;
  (void)directory.directory("far/target");
  (void)directory.directory("near");
  (void)directory.symlink("near/link", directory.path() + "/far/target");
  CHECK(PolicyResolver::resolve(writing(directory.path() + "/near/link/..")).scope().workspace_root ==
        directory.path() + "/far");
}

TEST_CASE("F31: a symlinked workspace becomes the directory that it leads to") {
  const TempDirectory directory;
  const std::string real = directory.directory("real");
  const std::string link = directory.symlink("link", real);
  CHECK(PolicyResolver::resolve(writing(link)).scope().workspace_root == real);

  SECTION("and retargeting the link later moves nothing") {
    const auto policy = PolicyResolver::resolve(writing(link));
    const std::string other = directory.directory("other");
    std::filesystem::remove(link);
    (void)directory.symlink("link", other);
    CHECK(policy.scope().workspace_root == real);
  }
}

TEST_CASE("F31: symlinked writable roots and protected paths become what they lead to") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string real = directory.directory("real");
  const std::string kept = directory.directory("work/kept");
  request.write = {directory.symlink("link", real)};
  request.protect = {directory.symlink("work/link-to-kept", kept)};
  const auto policy = PolicyResolver::resolve(request);
  CHECK(policy.scope().extra_roots == Paths{real});
  CHECK(policy.scope().protected_paths == Paths{kept});
}

TEST_CASE("T-PRV-20: only workspace-write has writable roots, canonical and each once") {
  const TempDirectory directory;
  const std::string work = directory.directory("work");
  const std::string other = directory.directory("other");
  PolicyRequest request = writing(work);
  request.write = {other, directory.symlink("link", other), work, other + "/."};
  request.write_if_exists = {other};

  CHECK(writable_roots(request) == Paths{work, other});
  request.mode = cordon::read_only;
  CHECK(writable_roots(request).empty());
  request.mode = cordon::danger_full_access;
  CHECK(writable_roots(request).empty());
}

TEST_CASE("F31: a writable root is refused when a symlink that a command could have made leads to it") {
  const TempDirectory directory;
  const std::string victim = directory.directory("victim");
  PolicyRequest request = writing(directory.directory("work"));
  const std::string inner = directory.symlink("work/link", victim);
  std::string spelled = inner;
  SECTION("by itself") {}
  SECTION("with a slash after it") {
    spelled += "/";
  }
  SECTION("in the middle") {
    (void)directory.directory("victim/deep");
    spelled += "/deep";
  }
  SECTION("through the caller's link to the workspace") {
    spelled = directory.symlink("to-work", directory.path() + "/work") + "/link";
  }
  SECTION("through the caller's link to that link") {
    spelled = directory.symlink("to-link", inner);
  }
  SECTION("in another writable root, named earlier") {
    request.write = {directory.directory("more")};
    spelled = directory.symlink("more/link", victim);
  }
  SECTION("optionally") {
    request.write_if_exists = {spelled};
    CHECK_FALSE(refusal(request).empty());
    request.write_if_exists.clear();
  }
  request.write.push_back(spelled);
  CHECK(refused_because(request, victim));
}

TEST_CASE("F31: a symlink in a writable root leads to no other root, whichever is named first") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string more = directory.directory("more");
  const std::string link = directory.symlink("more/link", directory.directory("victim"));
  request.write = {link, more};
  CHECK_FALSE(refusal(request).empty());
}

TEST_CASE("F31: a symlink inside a writable root that stays inside is no harm") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string sub = directory.directory("work/sub");
  request.write = {directory.symlink("work/link", sub)};
  CHECK(PolicyResolver::resolve(request).scope().extra_roots == Paths{sub});
}

TEST_CASE("F30: a writable root may be a regular file") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string file = directory.file("notes.txt");
  request.write = {file};
  CHECK(PolicyResolver::resolve(request).scope().extra_roots == Paths{file});
}

TEST_CASE("F30: a writable root that is a FIFO, a socket or a device is refused") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string fifo = directory.path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  SECTION("required") {
    request.write = {fifo};
  }
  SECTION("optional") {
    request.write_if_exists = {fifo};
  }
  CHECK(refused_because(request, fifo));
}

TEST_CASE("F32: a missing optional root is skipped and reported as the caller spelled it") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  const std::string there = directory.directory("there");
  const std::string missing = directory.path() + "/./missing";
  request.write_if_exists = {"/private/tmp/of-another-system", missing, there};
  const auto policy = PolicyResolver::resolve(request);
  CHECK(policy.scope().skipped_roots == Paths{"/private/tmp/of-another-system", missing});
  CHECK(policy.scope().extra_roots == Paths{there});
}

TEST_CASE("F32: a missing required root is refused by name") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.path());
  request.write = {directory.path() + "/missing"};
  CHECK(refused_because(request, directory.path() + "/missing"));
  CHECK(refused_because(request, "No such file or directory"));
}

TEST_CASE("T-KRN-22: / is no workspace and no writable root, however it is spelled") {
  const TempDirectory directory;
  const std::string spelling = GENERATE(as<std::string>(), "/", "//", "/..", "/tmp/..", "link");
  (void)directory.symlink("link", "/");
  const support::InDirectory inside(directory.path());
  CHECK(refused_because(writing(spelling), "/"));
  PolicyRequest request = writing(directory.path());
  request.write = {spelling};
  CHECK_FALSE(refusal(request).empty());
  request.write = {};
  request.write_if_exists = {spelling};
  CHECK_FALSE(refusal(request).empty());
}

TEST_CASE("T-KRN-22: / is taken when the caller says so in as many words") {
  PolicyRequest request = writing("/");
  request.allow_broad_root = true;
  CHECK(writable_roots(request) == Paths{"/"});
  CHECK(refused_because(writing("/"), "allow_broad_root"));
}

TEST_CASE("The kernel's own file systems hold no workspace and no writable root, even when / would be taken") {
  const std::string path = GENERATE(as<std::string>(), "/proc", "/proc/self", "/sys", "/dev", "/dev/shm", "/dev/pts");
  PolicyRequest request = writing(path);
  request.allow_broad_root = true;
  CHECK(refused_because(request, "kernel's own"));
  request.workspace_root = "/tmp";
  request.write = {path};
  CHECK(refused_because(request, "kernel's own"));
}

TEST_CASE("A directory below /dev/shm is a directory like others") {
  if (::access("/dev/shm", W_OK) != 0) return;
  const TempDirectory directory("/dev/shm");
  CHECK(PolicyResolver::resolve(writing(directory.path())).scope().workspace_root == directory.path());
}

TEST_CASE("A directory whose name only begins like a kernel directory is a directory like others") {
  const TempDirectory directory;
  const std::string work = directory.directory("devices");
  CHECK(PolicyResolver::resolve(writing(work)).scope().workspace_root == work);
}

TEST_CASE("A workspace that is missing, no directory, or a dangling or circular link is refused by name") {
  const TempDirectory directory;
  (void)directory.file("file");
  (void)directory.symlink("dangling", directory.path() + "/nowhere");
  (void)directory.symlink("circle", directory.path() + "/circle");
  const std::string name = GENERATE(as<std::string>(), "missing", "file", "file/below", "dangling", "circle");
  CHECK(refused_because(writing(directory.path() + "/" + name), directory.path() + "/" + name));
}

TEST_CASE("A NUL byte or an empty text in any path is refused") {
  const TempDirectory directory;
  const std::string with_nul = directory.path() + std::string("\0/x", 3);
  CHECK_FALSE(refusal(writing(with_nul)).empty());
  const std::string bad = GENERATE(0, 1) == 0 ? with_nul : std::string();
  PolicyRequest request = writing(directory.path());
  SECTION("in a writable root") {
    request.write = {bad};
  }
  SECTION("in an optional root") {
    request.write_if_exists = {bad};
  }
  SECTION("in a protected path") {
    request.protect = {with_nul};
  }
  CHECK_FALSE(refusal(request).empty());
}

TEST_CASE("A relative protected path is meant from the workspace, not from the current directory") {
  const TempDirectory directory;
  const std::string kept = directory.directory("work/kept");
  const TempDirectory elsewhere;
  (void)elsewhere.directory("kept");
  const support::InDirectory inside(elsewhere.path());
  PolicyRequest request = writing(directory.path() + "/work");
  request.protect = {"kept", kept, "./kept/"};
  CHECK(PolicyResolver::resolve(request).scope().protected_paths == Paths{kept});
}

TEST_CASE("A protected path inside an extra root is taken") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  request.write = {directory.directory("more")};
  request.protect = {directory.file("more/kept")};
  CHECK(PolicyResolver::resolve(request).scope().protected_paths == Paths{directory.path() + "/more/kept"});
}

TEST_CASE("A protected path must exist, inside a writable root, and be no root itself") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.directory("work"));
  (void)directory.directory("work-beside");
  (void)directory.symlink("work/out", directory.path() + "/work-beside");
  const std::string path = GENERATE(as<std::string>(), "missing", ".", "..", "../work", "../work-beside", "out");
  request.protect = {path};
  CHECK(refused_because(request, path));
}

TEST_CASE("F26: a protected path is marked when a symlink in a writable root was on its way, and only then") {
  const TempDirectory directory;
  const std::string kept = directory.directory("work/kept");
  (void)directory.directory("work/sub");
  (void)directory.symlink("work/sub/link", "../kept");
  (void)directory.symlink("link-outside", directory.path() + "/work");
  PolicyRequest request = writing(directory.path() + "/work");
  for (const auto& [path, marked] : std::vector<std::pair<std::string, bool>>{
           {"sub/link", true},
           {directory.path() + "/work/sub/link", true},
           {"kept", false},
           {"sub/../kept", false},
           {directory.path() + "/link-outside/kept", false},
       }) {
    request.protect = Paths{path};
    INFO(path);
    const cordon::PolicyScope scope = PolicyResolver::resolve(request).scope();
    CHECK(scope.protected_paths == Paths{kept});
    CHECK(scope.linked_protections == (marked ? Paths{kept} : Paths{}));
  }
}

TEST_CASE("A session's name is carried unchanged") {
  PolicyRequest request = writing("/tmp");
  request.session_id = "S1";
  CHECK(PolicyResolver::resolve(request).scope().session_id == std::optional<std::string>("S1"));
}

TEST_CASE("The request's mode, and no other, is the policy's") {
  const SandboxMode mode =
      GENERATE(as<SandboxMode>(), cordon::read_only, cordon::workspace_write, cordon::danger_full_access);
  PolicyRequest request = writing("/tmp");
  request.mode = mode;
  const auto policy = PolicyResolver::resolve(request);
  CHECK(policy.mode() == mode);
  const auto visited = policy.visit([]<cordon::Mode M>(const cordon::Policy<M>&) { return SandboxMode(M{}); });
  CHECK(visited == mode);
}

TEST_CASE("Resolving touches nothing") {
  const TempDirectory directory;
  PolicyRequest request = writing(directory.path());
  request.write_if_exists = {directory.path() + "/missing"};
  const auto before = std::filesystem::last_write_time(directory.path());
  (void)PolicyResolver::resolve(request);
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK(std::filesystem::last_write_time(directory.path()) == before);
}

TEST_CASE("A policy and the sum that holds it speak of the same scope") {
  const TempDirectory directory;
  const auto policy = support::policy<cordon::WorkspaceWrite>(directory.path());
  CHECK(policy.workspace_root() == directory.path());
  CHECK(policy.scope() == PolicyResolver::resolve(writing(directory.path())).scope());
}
