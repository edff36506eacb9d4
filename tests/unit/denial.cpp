// SPDX-License-Identifier: BSL-1.0
#include <cordon/classify/denial.hpp>

#include <cerrno>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using cordon::Denial;
using cordon::DenialContext;
using cordon::Evidence;
using cordon::FileEffect;
using cordon::infer_denials;

namespace {

/// "/w", the workspace, and "/o", which is outside and which this user may write, stand for directories of their own.
class World {
 public:
  World() { (void)directory_.directory("w"), (void)directory_.directory("o"); }

  [[nodiscard]] std::string real(std::string text) const {
    for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
      const bool is_one = text.compare(at, 2, "/w") == 0 || text.compare(at, 2, "/o") == 0;
      if (!is_one || (at + 2 < text.size() && text.find_first_of("/' \":", at + 2) != at + 2)) continue;
      text.insert(at, directory_.path());
      at += directory_.path().size() + 1;
    }
    return text;
  }
  [[nodiscard]] std::string shown(std::string path) const {
    if (path.starts_with(directory_.path())) path.erase(0, directory_.path().size());
    return path;
  }
  [[nodiscard]] const support::TempDirectory& directory() const { return directory_; }

 private:
  support::TempDirectory directory_;
};

const World& world() {
  static const World shared;
  return shared;
}

using Mounts = cordon::Dialect<cordon::DenialSignatures<"read-only file system", "invalid cross-device link">>;
using Rules = cordon::Dialect<cordon::DenialSignatures<"permission denied", "invalid cross-device link">>;

template <class Spoken = Mounts>
DenialContext context(std::optional<int> exit_code = 1) {
  DenialContext result;
  result.words = cordon::words_of(Spoken::view(), {});
  result.exit_code = exit_code;
  result.working_directory = world().real("/w");
  result.writable_roots = {world().real("/w")};
  return result;
}

std::vector<Denial> denials_in(const std::string& text, const DenialContext& in = context()) {
  return infer_denials(world().real(text), in);
}

std::vector<std::string> paths(const std::string& text, const DenialContext& in = context()) {
  std::vector<std::string> result;
  for (const Denial& denial : denials_in(text, in)) result.push_back(world().shown(denial.path));
  return result;
}

FileEffect effect(const std::string& line) {
  const auto denials = denials_in(line);
  REQUIRE(denials.size() == 1);
  return denials.front().effect;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("T-DEN-03, F92: a denial has the path, the error, the needed grant, and says that it was inferred") {
  const auto denials = denials_in("touch: cannot touch '/o/new': Read-only file system\n");
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == world().real("/o/new"));
  CHECK(denials.front().error == "EROFS");
  CHECK(denials.front().grant == world().real("/o"));
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
  const DenialContext rules = context<Rules>(255);
  CHECK(paths("Permission denied (publickey)", rules).empty());
  CHECK(paths("git@host: Permission denied (publickey,password).\r\n", rules).empty());
  CHECK(paths("error: /o/x: Permission denied (os error 13)", rules) == Paths{"/o/x"});
}

TEST_CASE("T-DEN-17: what others say with the same words is no denial") {
  const DenialContext rules = context<Rules>();
  for (const char* text : {"ssh: connect to host example port 22: Permission denied", "error: 403 Permission denied",
                           "HTTP 403: Permission denied by the server", "curl: (22) The requested URL: 403",
                           "user@host: Permission denied", "remote: Permission denied to someone.",
                           "/o/log:3:touch /o/x: permission denied by policy"}) {
    INFO(text);
    CHECK(paths(text, rules).empty());
  }
}

TEST_CASE("The error of a denial is the one that the words stand for") {
  CHECK(denials_in("sh: 1: /o/x: Read-only file system").at(0).error == "EROFS");
  CHECK(denials_in("sh: 1: /o/x: Permission denied", context<Rules>()).at(0).error == "EACCES");
  using Refuses = cordon::Dialect<cordon::DenialSignatures<"operation not permitted">>;
  CHECK(denials_in("sh: 1: /o/x: Operation not permitted", context<Refuses>()).at(0).error == "EPERM");
}

TEST_CASE("T-DEN-05, T-DEN-06, F90: other messages are no denials") {
  for (const char* text : {"mount: Operation not permitted", "x: No such file or directory",
                           "Permission denied (publickey)", "", "\n\n\n", "read-only", "file system"}) {
    INFO(text);
    CHECK(paths(text).empty());
  }
}

TEST_CASE("T-DEN-04, T-DEN-07, CLS-07: what counts is the backend's own signatures") {
  CHECK(paths("sh: /o/x: Permission denied", context<Rules>()) == Paths{"/o/x"});
  CHECK(paths("sh: /o/x: Read-only file system", context<Rules>()).empty());
  using Refuses = cordon::Dialect<cordon::DenialSignatures<"operation not permitted">>;
  CHECK(paths("bash: /o/x: Operation not permitted", context<Refuses>()) == Paths{"/o/x"});
  DenialContext nothing = context();
  nothing.words = {};
  CHECK(paths("sh: /o/x: Read-only file system", nothing).empty());
  nothing.words = {{EROFS, ""}, {EROFS, " "}};
  CHECK(paths("sh: /o/x: Read-only file system", nothing).empty());
}

TEST_CASE("T-DEN-01, T-DEN-02, T-DEN-12: words without a path are nothing without an exit status that failed") {
  for (const std::optional<int> exit_code : {std::optional<int>(0), std::optional<int>()}) {
    CHECK(paths("Permission denied", context<Rules>(exit_code)).empty());
    CHECK(paths("Read-only file system", context(exit_code)).empty());
  }
  CHECK(paths("touch: cannot touch '/o/x': Read-only file system", context(std::nullopt)).empty());
  CHECK(paths("Permission denied", context<Rules>(1)) == Paths{""});  // T-DEN-10
}

TEST_CASE("CLS-K1: a denial is one whatever the exit status was, when its path proves it") {
  CHECK(paths("touch: cannot touch '/o/x': Read-only file system", context(0)) == Paths{"/o/x"});
  CHECK(paths("sh: 1: /o/x: Permission denied", context<Rules>(0)) == Paths{"/o/x"});
}

TEST_CASE("What the caller could not have written anyway is no denial") {
  const std::string mine = world().directory().file("o/unwritable", "x", 0444);
  if (cordon::os::effective_uid<cordon::os::Kernel>() != 0)
    CHECK(paths("sh: 1: /o/unwritable: Permission denied", context<Rules>()).empty());
  const char* locked = "touch: cannot touch '/etc/cordon-locked': Read-only file system";
  CHECK(paths(locked).size() == (cordon::os::effective_uid<cordon::os::Kernel>() == 0 ? 1 : 0));
}

TEST_CASE("A sink is no denial, and a protected path inside a root is one") {
  DenialContext in = context();
  CHECK(paths("sh: 1: /dev/null: Read-only file system", in).empty());
  in.protected_paths = {world().real("/w/.git")};
  CHECK(paths("touch: cannot touch '/w/.git/x': Read-only file system", in) == Paths{"/w/.git/x"});
  CHECK(paths("touch: cannot touch '/w/.github': Read-only file system", in).empty());
}

TEST_CASE("What a command may not write in a temp directory of its own is its own affair") {
  DenialContext in = context();
  in.private_temp = {world().real("/o")};
  CHECK(paths("sh: 1: cannot create /o/x: Read-only file system\n") == Paths{"/o/x"});
  CHECK(paths("sh: 1: cannot create /o/x: Read-only file system\n", in).empty());
  // Not so where that holds what is protected, or the workspace of a mode that writes none.
  in.protected_paths = {world().real("/o")};
  CHECK(paths("sh: 1: cannot create /o/x: Read-only file system\n", in) == Paths{"/o/x"});
  in.protected_paths = {};
  in.read_only_workspace = world().real("/o");
  CHECK(paths("sh: 1: cannot create /o/x: Read-only file system\n", in) == Paths{"/o/x"});
}

TEST_CASE("T-DEN-14: a file that is no program is refused with the same words") {
  (void)world().directory().file("o/script", "x");
  CHECK(paths("bash: line 1: /o/script: Permission denied", context<Rules>(126)).empty());
  CHECK(paths("bash: line 1: /o/script: Permission denied", context<Rules>(1)) == Paths{"/o/script"});
}

TEST_CASE("A link from one side to the other is refused as between two file systems") {
  (void)world().directory().file("o/from", "x");
  const std::string text = "ln: failed to create hard link '/w/l' => '/o/from': Invalid cross-device link";
  CHECK(paths(text) == Paths{"/o/from"});
  CHECK(effect(text) == FileEffect::rename_link);
  CHECK(paths("ln: failed to create hard link '/w/l' => '/w/from': Invalid cross-device link").empty());
  CHECK(paths("cmake -E rename: '/o/missing' to '/w/missing': Invalid cross-device link").empty());
  CHECK(paths("ln: failed to create hard link '/w/l' => '/proc/version': Invalid cross-device link").empty());
}

TEST_CASE("Where mounts answer first, 'Permission denied' can only be about what is no file") {
  using Both = cordon::Dialect<cordon::DenialSignatures<"read-only file system", "permission denied">>;
  const std::string fifo = world().directory().path() + "/o/fifo";
  REQUIRE((cordon::os::make_fifo(fifo) == 0 || cordon::os::exists(fifo)));
  CHECK(paths("sh: 1: /o/fifo: Permission denied", context<Both>()) == Paths{"/o/fifo"});
  CHECK(paths("sh: 1: /o/from: Permission denied", context<Both>()).empty());
}

TEST_CASE("Thousands of messages cost thousands of lookups, and no more denials than somebody reads") {
  std::string text;
  for (int i = 0; i != 3000; ++i) text += "touch: cannot touch '/o/" + std::to_string(i) + "': Read-only file system\n";
  CHECK(denials_in(text).size() == 64);
}

TEST_CASE("A message about a path inside a writable root is no denial by the sandbox") {
  CHECK(paths("touch: cannot touch '/w/a': Read-only file system").empty());
  CHECK(paths("touch: cannot touch '" + world().real("/w") + "ider/a': Read-only file system") == Paths{"/wider/a"});
}

TEST_CASE("A relative path is meant from the command's working directory") {
  DenialContext elsewhere = context();
  elsewhere.working_directory = world().real("/o");
  CHECK(paths("touch: cannot touch 'a': Read-only file system", elsewhere) == Paths{"/o/a"});
}

TEST_CASE(
    "A relative name that could be written where the command began means another directory when EROFS is said of it") {
  DenialContext in = context(1);
  // Without its words nothing says that it went anywhere.
  CHECK(paths("touch: cannot touch 'a': Read-only file system", in).empty());
  in.command_known = true;
  const auto denials =
      denials_in("touch: cannot touch 'a': Read-only file system\nrm: cannot remove 'b': Read-only file system", in);
  REQUIRE(denials.size() == 1);
  CHECK(denials.front().path == "");
  CHECK(denials.front().grant == "");
  CHECK(denials.front().error == "EROFS");
  CHECK(denials.front().evidence == Evidence::inferred);
  CHECK(paths("bash: line 1: a: Read-only file system", in) == Paths{""});
  CHECK(paths("mv: cannot move '/w/a' to 'b': Read-only file system", in) == Paths{""});
  CHECK(paths("OSError: [Errno 30] Read-only file system: 'a'", in) == Paths{""});
  DenialContext rules = context<Rules>();
  rules.command_known = true;
  // Not when it went well, for another error, or where an absolute path may be what is meant.
  in.exit_code = 0;
  CHECK(paths("touch: cannot touch 'a': Read-only file system", in).empty());
  in.exit_code = 1;
  CHECK(paths("sh: 1: cannot create a: Permission denied", rules).empty());
  if (cordon::os::effective_uid<cordon::os::Kernel>() != 0)
    CHECK(paths("mv: cannot move 'a' to '/etc/cordon-locked': Read-only file system", in).empty());
  CHECK(paths("touch: cannot touch '/w/a': Read-only file system", in).empty());
  CHECK(paths("ln: failed to create hard link 'a' => 'b': Invalid cross-device link", in).empty());
}

TEST_CASE("A relative name is looked for where the command's own words say that it goes") {
  DenialContext in = context(0);
  in.went_to = {"/nonexistent", "missing", world().real("/o")};
  CHECK(paths("touch: cannot touch 'a': Read-only file system", in) == Paths{"/o/a"});
  in.went_to = {"../o"};
  CHECK(paths("bash: line 1: a: Read-only file system", in) == Paths{"/o/a"});
  DenialContext rules = context<Rules>();
  rules.went_to = {world().real("/o")};
  CHECK(paths("touch: cannot touch 'a': Permission denied", rules) == Paths{"/o/a"});
  CHECK(paths("ssh: connect to host example port 22: Permission denied", rules).empty());
  // There it could not have been written either, or it is a place of the workspace.
  if (cordon::os::effective_uid<cordon::os::Kernel>() != 0) {
    in = context(1);
    in.went_to = {"/etc"};
    CHECK(paths("touch: cannot touch 'a': Read-only file system", in).empty());
    rules.went_to = {"/etc"};
    CHECK(paths("touch: cannot touch 'a': Permission denied", rules).empty());
  }
  rules.went_to = {"."};
  CHECK(paths("touch: cannot touch 'a': Permission denied", rules).empty());
}

TEST_CASE("Where a command goes is read from its words") {
  const std::vector<std::string> environment{"O=/o", "LONG=/l"};
  const auto of = [&](std::vector<std::string> words) { return cordon::named_destinations(words, environment); };
  CHECK(of({"sh", "-c", "cd /o && touch x; (cd '../b'; pushd \"c\")"}) == Paths{"/o", "../b", "c"});
  CHECK(of({"sh", "-c", "cd $O/d; cd ${LONG}e; cd ${LONG}; cd $NONE; cd"}) == Paths{"/o/d", "/le", "/l"});
  CHECK(of({"make", "-C", "/o", "all"}) == Paths{"/o"});
  CHECK(of({"python3", "-c", "import os; os.chdir('/o'); open('x', 'w')"}) == Paths{"/o"});
  CHECK(of({"sh", "-c", "cd -- /o; cd /o"}) == Paths{"/o"});
  CHECK(of({"ls", "/o", "cda", "/x"}).empty());
  CHECK(of({"", "cd", "$", "${", "${}"}).empty());
  std::string many;
  for (int i = 0; i != 1000; ++i) many += "cd /" + std::to_string(i) + ";";
  CHECK(of({many}).size() == 16);
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
  const auto denials = denials_in("Read-only file system");
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

TEST_CASE("A message that is wrapped after a colon is read with its path") {
  const DenialContext rules = context<Rules>();
  CHECK(paths("  file failed to open for writing (Permission denied):\n\n    /o/p\n\n", rules) == Paths{"/o/p"});
  CHECK(paths("  file failed to open for writing (Permission denied):\n\n    /w/p\n\n", rules).empty());
  CHECK(paths("  file COPY cannot copy file \"/w/p\" to\n  \"/o/p\":\n  Permission denied.\n", rules) == Paths{"/o/p"});
  CHECK(paths("  file COPY cannot copy file to\n  \"/w/p\":\n  Permission denied.\n", rules).empty());
  CHECK(paths("/o/p:\n\n\nPermission denied", rules) == Paths{"/o/p"});
  // The lines around it are none of its business otherwise.
  CHECK(paths("reading /o/p\nsh: 1: cannot create x: Permission denied\n/o/q\n", rules).empty());
  CHECK(paths("/o/p:\nsh: 1: cannot create x: Permission denied:\nand /o/q\n", rules).empty());
  CHECK(paths("Permission denied:", rules) == Paths{""});
}

TEST_CASE("A message of an unknown shape is a denial without a path, not one inside a root") {
  const auto denials = denials_in("OSError: [Errno 30] Read-only file system");
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

TEST_CASE("No line is so long or so odd that reading it takes long") {
  for (const std::string piece :
       {"\n", ":\n", "/a", " /a", "'", " '", "(\"", "\u2018", "\u00ab\u00a0", ": ", "Permission denied"}) {
    std::string line;
    while (line.size() < 4000000) line += piece;
    for (const std::string& text : {line + ": Read-only file system", "Read-only file system: " + line, line})
      CHECK(denials_in(text).size() <= 1);
  }
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
