// SPDX-License-Identifier: BSL-1.0
#include <sys/stat.h>

#include <cordon/os/linux/paths.hpp>
#include <filesystem>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

namespace os = cordon::os;

TEST_CASE("A path is within another when it is that path or goes on below it") {
  CHECK(os::is_within("/a", "/a"));
  CHECK(os::is_within("/a/b", "/a"));
  CHECK(os::is_within("/a/b/c", "/a/b"));
  CHECK(os::is_within("/", "/"));
  CHECK(os::is_within("/a", "/"));
  CHECK_FALSE(os::is_within("/ab", "/a"));
  CHECK_FALSE(os::is_within("/a-b/c", "/a"));
  CHECK_FALSE(os::is_within("/a", "/a/b"));
  CHECK_FALSE(os::is_within("/", "/a"));
  CHECK_FALSE(os::is_within("/b/a", "/a"));
  CHECK_FALSE(os::is_within("a", "/"));
  CHECK_FALSE(os::is_within("", "/"));
}

TEST_CASE("The parent of a path is the text before its last slash, and / is its own") {
  CHECK(os::parent_of("/a/b") == "/a");
  CHECK(os::parent_of("/a") == "/");
  CHECK(os::parent_of("/") == "/");
}

TEST_CASE("POL-02: a canonical path is where the kernel ends up") {
  const support::TempDirectory directory;
  const std::string target = directory.directory("far/target");
  const std::string link = directory.symlink("link", target);
  std::string found;
  CHECK(os::canonical_path(link, found) == 0);
  CHECK(found == target);
  CHECK(os::canonical_path(link + "/..", found) == 0);
  CHECK(found == directory.path() + "/far");
  found = "before";
  CHECK(os::canonical_path(directory.path() + "/missing", found) == -ENOENT);
  CHECK(os::canonical_path(directory.file("file") + "/below", found) == -ENOTDIR);
  CHECK(os::canonical_path(directory.symlink("circle", directory.path() + "/circle"), found) == -ELOOP);
  CHECK(found == "before");
}

TEST_CASE("The facts of a path are those of what it leads to") {
  const support::TempDirectory directory;
  os::FileFacts facts;
  REQUIRE(os::stat_path(directory.file("file", "12345", 0646), facts) == 0);
  CHECK(facts.regular());
  CHECK_FALSE(facts.directory());
  CHECK(facts.size == 5);
  CHECK(facts.owner == ::geteuid());
  CHECK(facts.world_writable());
  os::FileFacts linked;
  REQUIRE(os::stat_path(directory.symlink("link", directory.path() + "/file"), linked) == 0);
  CHECK(linked.inode == facts.inode);
  CHECK(linked.device == facts.device);
  REQUIRE(os::stat_path(directory.path(), facts) == 0);
  CHECK(facts.directory());
  CHECK_FALSE(facts.world_writable());
  CHECK(os::stat_path(directory.path() + "/missing", facts) == -ENOENT);
}

TEST_CASE("A file is executable when its owner may execute it") {
  const support::TempDirectory directory;
  CHECK(os::executable(directory.file("program", "", 0700)));
  CHECK_FALSE(os::executable(directory.file("text", "", 0600)));
  CHECK_FALSE(os::executable(directory.path() + "/missing"));
}

TEST_CASE("Existence follows symlinks") {
  const support::TempDirectory directory;
  CHECK(os::exists(directory.path()));
  CHECK_FALSE(os::exists(directory.path() + "/missing"));
  CHECK_FALSE(os::exists(directory.symlink("dangling", directory.path() + "/missing")));
}

TEST_CASE("A new file is private and never replaces one that is there") {
  const support::TempDirectory directory;
  const std::string path = directory.path() + "/new";
  CHECK(os::create_file(path, "content") == 0);
  CHECK(support::content_of(path) == "content");
  os::FileFacts facts;
  REQUIRE(os::stat_path(path, facts) == 0);
  CHECK((facts.mode & 0077U) == 0);
  CHECK(os::create_file(path, "other") == -EEXIST);
  CHECK(support::content_of(path) == "content");
  CHECK(os::create_file(directory.symlink("link", directory.path() + "/through"), "x") == -EEXIST);
  CHECK_FALSE(os::exists(directory.path() + "/through"));
}

TEST_CASE("A private directory can be entered by its owner only, and is gone in the end with all it holds") {
  const support::TempDirectory directory;
  const std::string outside = directory.file("outside", "kept");
  std::string path;
  {
    const os::PrivateDirectory scratch{"/nonexistent", directory.path()};
    path = scratch.path();
    REQUIRE(os::is_within(path, directory.path()));
    os::FileFacts facts;
    REQUIRE(os::stat_path(path, facts) == 0);
    CHECK((facts.mode & 07777U) == 0700);
    CHECK(os::make_directory(path + "/deep") == 0);
    CHECK(os::make_directory(path + "/deep/er") == 0);
    CHECK(os::create_file(path + "/deep/er/file", "x") == 0);
    CHECK(os::make_fifo(path + "/fifo") == 0);
    std::filesystem::create_symlink(outside, path + "/link");
    std::filesystem::create_directory_symlink(directory.path(), path + "/up");
  }
  CHECK_FALSE(os::exists(path));
  CHECK(support::content_of(outside) == "kept");
}

TEST_CASE("A private directory that can't be made has no path") {
  CHECK(os::PrivateDirectory{"/nonexistent", "/proc"}.path() == "");
}

TEST_CASE("The current directory is the kernel's, and empty when it is gone") {
  const support::TempDirectory directory;
  const support::InDirectory inside(directory.directory("gone"));
  CHECK(os::current_directory() == directory.path() + "/gone");
  std::filesystem::remove(directory.path() + "/gone");
  CHECK(os::current_directory() == "");
}

TEST_CASE("A private directory is removed with closed directories in it, and nothing behind its symlinks") {
  const support::TempDirectory victim;
  const std::string kept = victim.file("kept", "x");
  std::string path;
  {
    const cordon::os::PrivateDirectory directory{victim.path()};
    path = directory.path();
    REQUIRE(std::filesystem::create_directories(path + "/a/closed/b"));
    (void)cordon::os::create_file(path + "/a/closed/b/f", "x");
    std::filesystem::create_directory_symlink(victim.path(), path + "/a/link");
    std::filesystem::create_symlink(kept, path + "/a/closed/file-link");
    REQUIRE(::chmod((path + "/a/closed").c_str(), 0) == 0);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(support::exists(kept));
}

TEST_CASE("A place is made below a directory, and through no symlink in it") {
  const support::TempDirectory directory;
  const std::string base = directory.directory("base");
  const std::string victim = directory.directory("victim");
  cordon::os::make_below(base, "/a/b/c", true);
  CHECK(std::filesystem::is_directory(base + "/a/b/c"));
  cordon::os::make_below(base, "a/b/file", false);
  CHECK(std::filesystem::is_regular_file(base + "/a/b/file"));
  std::filesystem::create_directory_symlink(victim, base + "/link");
  cordon::os::make_below(base, "link/planted", true);
  cordon::os::make_below(base, "link/planted-file", false);
  CHECK(std::filesystem::is_empty(victim));
}

TEST_CASE("A path that no kernel takes is resolved to itself, at once") {
  std::string path;
  for (int i = 0; i != 100000; ++i) path += "/a";
  CHECK(cordon::os::resolved(path) == path);
  CHECK(cordon::os::resolved("/nonexistent/a/./b//c") == "/nonexistent/a/b/c");
}

TEST_CASE("The identity of a path is refused when a symlink leads there") {
  const support::TempDirectory directory;
  const std::string real = directory.directory("real");
  std::string identity;
  CHECK(cordon::os::exact_identity(real, identity) == 0);
  std::string other;
  CHECK(cordon::os::exact_identity(directory.symlink("link", real), other) == -ELOOP);
  CHECK(cordon::os::exact_identity(directory.directory("real/inner"), other) == 0);
  CHECK(identity != other);
}
