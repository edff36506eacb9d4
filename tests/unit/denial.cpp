// SPDX-License-Identifier: BSL-1.0
#include <cordon/classify/denial.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using cordon::Denial;
using cordon::DenialContext;
using cordon::Evidence;
using cordon::FileEffect;
using cordon::infer_denials;

namespace {

DenialContext context() {
  DenialContext result;
  result.signatures = {"read-only file system"};
  result.working_directory = "/w";
  result.writable_roots = {"/w"};
  return result;
}

std::vector<std::string> paths(std::string_view text, const DenialContext& in = context()) {
  std::vector<std::string> result;
  for (const Denial& denial : infer_denials(text, in)) result.push_back(denial.path);
  return result;
}

FileEffect effect(std::string_view line) {
  const auto denials = infer_denials(line, context());
  REQUIRE(denials.size() == 1);
  return denials.front().effect;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("T-DEN-03, F92: a denial has the path, the error, the needed grant, and says that it was inferred") {
  const auto denials = infer_denials("touch: cannot touch '/o/new': Read-only file system\n", context());
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "/o/new");
  CHECK(denials.front().error == "EROFS");
  CHECK(denials.front().grant == "/o");
  CHECK(denials.front().evidence == Evidence::inferred);
  CHECK(denials.front().system_call == "");
}

TEST_CASE("The path is found in what the usual programs print") {
  CHECK(paths("touch: cannot touch '/o/a b': Read-only file system") == Paths{"/o/a b"});
  CHECK(paths("touch: cannot touch \u2018/o/a\u2019: Read-only file system") == Paths{"/o/a"});
  CHECK(paths("bash: line 1: /o/a: Read-only file system") == Paths{"/o/a"});
  CHECK(paths("sh: 1: cannot create /o/a: Read-only file system") == Paths{"/o/a"});
  CHECK(paths("tee: /o/a: Read-only file system") == Paths{"/o/a"});
  CHECK(paths("error: cannot open \"/o/a\": Read-only file system") == Paths{"/o/a"});
  CHECK(paths("mv: cannot move '/w/x' to '/o/x': Read-only file system") == Paths{"/o/x"});
}

TEST_CASE("Signatures are compared without regard to case, and lines may end with a carriage return") {
  CHECK(paths("touch: cannot touch '/o/a': READ-ONLY FILE SYSTEM\r\n") == Paths{"/o/a"});
}

TEST_CASE("F90: a login that was refused is no denial, and what a Rust program says of a file is one") {
  DenialContext other = context();
  other.signatures = {"permission denied"};
  CHECK(paths("Permission denied (publickey)", other).empty());
  CHECK(paths("git@host: Permission denied (publickey,password).\r\n", other).empty());
  CHECK(paths("error: /o/x: Permission denied (os error 13)", other) == Paths{"/o/x"});
}

TEST_CASE("The error of a denial is the one that the words stand for") {
  DenialContext other = context();
  const auto error = [&](std::string_view signature) {
    other.signatures = {signature};
    return infer_denials("sh: /o/x: " + std::string(signature), other).at(0).error;
  };
  CHECK(error("read-only file system") == "EROFS");
  CHECK(error("permission denied") == "EACCES");
  CHECK(error("operation not permitted") == "EPERM");
}

TEST_CASE("T-DEN-05, T-DEN-06, F90: other messages are no denials") {
  for (const char* text : {"mount: Operation not permitted", "x: No such file or directory",
                           "Permission denied (publickey)", "", "\n\n\n", "read-only", "file system"}) {
    INFO(text);
    CHECK(paths(text).empty());
  }
}

TEST_CASE("T-DEN-04, T-DEN-07: what counts is the backend's own signatures") {
  DenialContext other = context();
  other.signatures = {"permission denied"};
  CHECK(paths("sh: /o/x: Permission denied", other) == Paths{"/o/x"});
  CHECK(paths("sh: /o/x: Read-only file system", other).empty());
  other.signatures = {"operation not permitted"};
  CHECK(paths("bash: /etc/x: Operation not permitted", other) == Paths{"/etc/x"});
  other.signatures = {};
  CHECK(paths("sh: /o/x: Read-only file system", other).empty());
  other.signatures = {""};
  CHECK(paths("sh: /o/x: Read-only file system", other).empty());
}

TEST_CASE("A message about a path inside a writable root is no denial by the sandbox") {
  CHECK(paths("touch: cannot touch '/w/a': Read-only file system").empty());
  CHECK(paths("touch: cannot touch 'a': Read-only file system").empty());
  CHECK(paths("touch: cannot touch '/wider/a': Read-only file system") == Paths{"/wider/a"});
}

TEST_CASE("A relative path is meant from the command's working directory") {
  DenialContext elsewhere = context();
  elsewhere.working_directory = "/o";
  CHECK(paths("touch: cannot touch 'a': Read-only file system", elsewhere) == Paths{"/o/a"});
}

TEST_CASE("A path that leaves the writable root by .. is outside, and a denial") {
  const support::TempDirectory directory;
  DenialContext in = context();
  in.working_directory = directory.directory("work");
  in.writable_roots = {in.working_directory};
  const std::string outside = directory.directory("other") + "/a";
  CHECK(paths("touch: cannot touch '../other/a': Read-only file system", in) == Paths{outside});
  CHECK(paths("bash: " + in.working_directory + "/../other/a: Read-only file system", in) == Paths{outside});
  (void)directory.symlink("work/link", directory.path() + "/other");
  CHECK(paths("touch: cannot touch 'link/a': Read-only file system", in) == Paths{outside});
}

TEST_CASE("A denial without a path is still one, and no grant is suggested for it") {
  const auto denials = infer_denials("Read-only file system", context());
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "");
  CHECK(denials.front().grant == "");
}

TEST_CASE("Each path is reported once, in the order of the messages") {
  CHECK(paths("a: /o/1: Read-only file system\nb: /o/2: Read-only file system\nc: /o/1: Read-only file system\n") ==
        Paths{"/o/1", "/o/2"});
}

TEST_CASE("The path is found where python, git and others put it") {
  CHECK(paths("OSError: [Errno 30] Read-only file system: '/o/p'") == Paths{"/o/p"});
  CHECK(paths("fatal: cannot mkdir /o/p: Read-only file system") == Paths{"/o/p"});
  CHECK(paths("error: could not lock config file /o/config: Read-only file system") == Paths{"/o/config"});
  CHECK(paths("Error: EROFS: read-only file system, open '/o/p'") == Paths{"/o/p"});
  CHECK(paths("sed: couldn't open temporary file /o/sedX: Read-only file system") == Paths{"/o/sedX"});
  CHECK(paths("OSError: [Errno 30] Read-only file system: '/w/p'").empty());
}

TEST_CASE("A message of an unknown shape is a denial without a path, not one inside a root") {
  const auto denials = infer_denials("OSError: [Errno 30] Read-only file system", context());
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "");
}

TEST_CASE("A path that no kernel takes costs nothing") {
  std::string line;
  for (int i = 0; i != 60000; ++i) line += "/a";
  const auto denials = infer_denials(line + ": Read-only file system", context());
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "");
}

TEST_CASE("The effect is read from the verb") {
  CHECK(effect("rm: cannot remove '/o/a': Read-only file system") == FileEffect::remove);
  CHECK(effect("unlink: cannot unlink '/o/a': Read-only file system") == FileEffect::remove);
  CHECK(effect("mv: cannot move '/w/a' to '/o/a': Read-only file system") == FileEffect::rename_link);
  CHECK(effect("ln: failed to create hard link '/o/a': Read-only file system") == FileEffect::rename_link);
  CHECK(effect("chmod: changing permissions of '/o/a': Read-only file system") == FileEffect::metadata);
  CHECK(effect("chown: changing ownership of '/o/a': Read-only file system") == FileEffect::metadata);
  CHECK(effect("touch: setting times of '/o/a': Read-only file system") == FileEffect::metadata);
  CHECK(effect("mkdir: cannot create directory '/o/none': Read-only file system") == FileEffect::create);
}

TEST_CASE("Opening a file that exists is a write, and one that does not is a creation") {
  const support::TempDirectory directory;
  CHECK(effect("bash: " + directory.file("there") + ": Read-only file system") == FileEffect::write);
  CHECK(effect("bash: " + directory.path() + "/missing: Read-only file system") == FileEffect::create);
}

TEST_CASE("Making a symbolic link is a creation") {
  CHECK(effect("ln: failed to create symbolic link '/o/none': Read-only file system") == FileEffect::create);
}

TEST_CASE("The words in a path say nothing about the effect") {
  CHECK(effect("touch: cannot touch '/o/removed': Read-only file system") == FileEffect::create);
  CHECK(effect("bash: /o/blinker/permission: Read-only file system") == FileEffect::create);
}

TEST_CASE("Every kind of evidence has its name") {
  CHECK(name(Evidence::observed) == "observed");
  CHECK(name(Evidence::reported) == "reported");
  CHECK(name(Evidence::inferred) == "inferred");
}
