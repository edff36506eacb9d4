// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/commands.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "support/actions.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::action_in;
using support::action_of;
using support::plain_environment;

namespace {

using Words = std::vector<std::string>;
using Commands = std::vector<Words>;

bool unreadable(const std::string& script) {
  return !shell_commands(script);
}

bool for_rules(const std::vector<std::string>& environment, const Argv& command, const std::string& workspace) {
  PolicyScope scope;
  scope.workspace_root = workspace;
  return commands_for_rules(action_in(environment, command, scope, workspace_write)).has_value();
}

}  // namespace

TEST_CASE("F102 the commands of a script are what a shell would run, as the words that each program gets") {
  const std::pair<std::string, Commands> scripts[] = {
      {"git log", {{"git", "log"}}},
      {"  git\tlog  ", {{"git", "log"}}},
      {"git log; date", {{"git", "log"}, {"date"}}},
      {"git log;", {{"git", "log"}}},
      {"git log\ndate\n", {{"git", "log"}, {"date"}}},
      {"\n\n git log \n\n date", {{"git", "log"}, {"date"}}},
      {"a && b || c | d", {{"a"}, {"b"}, {"c"}, {"d"}}},
      {"a &&\n\n b |\n c", {{"a"}, {"b"}, {"c"}}},
      {"a&&b||c|d;e", {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}},
      {"git log \\\n  --oneline", {{"git", "log", "--oneline"}}},
      {"a 'b c' \"d e\" f\\ g ''", {{"a", "b c", "d e", "f g", ""}}},
      {"a 'b'\"c\"d\\e", {{"a", "bcde"}}},
      {"a '$x `y` \\ \n'", {{"a", "$x `y` \\ \n"}}},
      {R"(a "\$x \` \" \\ \. \n")", {{"a", R"($x ` " \ \. \n)"}}},
      {R"(a \$x \; \| \& \* \# \')", {{"a", "$x", ";", "|", "&", "*", "#", "'"}}},
      {"a 2>&1 >/dev/null 2> /dev/null </dev/null b", {{"a", "b"}}},
      {"a>/dev/null 2>&1|b", {{"a"}, {"b"}}},
      {"a &>/dev/null; b", {{"a"}, {"b"}}},
      {">/dev/null a", {{"a"}}},
      {"a 2 >/dev/null", {{"a", "2"}}},
      {"[ -f x ] && a ]", {{"[", "-f", "x", "]"}, {"a", "]"}}},
      {"git show HEAD@{1} HEAD^{tree} {} HEAD~1 a#b x=1",
       {{"git", "show", "HEAD@{1}", "HEAD^{tree}", "{}", "HEAD~1", "a#b", "x=1"}}},
      {"find . ! -name x", {{"find", ".", "!", "-name", "x"}}},
      {"echo if then { done", {}},
      {"echo if then done", {{"echo", "if", "then", "done"}}},
      {"a \xc3\xa9 \xc2\xa0", {{"a", "\xc3\xa9", "\xc2\xa0"}}},
      {"a b\r", {{"a", "b\r"}}},
      {"cd x", {{"cd", "x"}}},
      {"printf '%s\\n%%n%d' a | b", {{"printf", "%s\\n%%n%d", "a"}, {"b"}}},
  };
  for (const auto& [script, expected] : scripts) {
    INFO(script);
    const auto found = shell_commands(script);
    CHECK(found.has_value() == !expected.empty());
    if (found) CHECK(*found == expected);
  }
}

TEST_CASE("F102 a script that says more than commands and words is not read at all") {
  const std::string scripts[] = {
      "",
      " ",
      "\n",
      ";",
      "&&",
      "a &&",
      "a ||",
      "a |",
      "a ;; b",
      "a ; ; b",
      "; a",
      "a\n; b",
      "a && ; b",
      "a &&& b",
      "a ||| b",
      "a\n&& b",
      "a & b",
      "a &",
      "a |& b",
      "a ;& b",
      "$a",
      "a $b",
      "a ${b}",
      "a $(b)",
      "a `b`",
      "a \"$b\"",
      "a \"$(b)\"",
      "a \"`b`\"",
      "a $'b'",
      "a $\"b\"",
      "a $((1))",
      "a$",
      "a $",
      "((a))",
      "(a)",
      "{ a; }",
      "a() { b; }",
      "function a { b; }",
      "a <(b)",
      "a >(b)",
      "a=(b)",
      "a {b,c}",
      "a {1..2}",
      "a b{c,d}e",
      "a {",
      "a }",
      "a {b",
      "a {'b',c}",
      "a {b}c,d}",
      "{a}>/dev/null b",
      "a {b}>/dev/null",
      "a *",
      "a ?",
      "a [b]",
      "a b[",
      "a [b",
      "a ]b",
      "a []",
      "a @(b)",
      "a ~",
      "a ~/b",
      "a ~b",
      "a b=~",
      "a b=c:~",
      "a ''~",
      "!",
      "! a",
      "a | ! b",
      "if a; then b; fi",
      "a; then",
      "while a; do b; done",
      "until a",
      "for a in b; do c; done",
      "case a in b) c;; esac",
      "select a",
      "time a",
      "a | time b",
      "coproc a",
      "[[ a ]]",
      "'if' a",
      "\\if a",
      "a; }",
      "{a,b}",
      "a=b",
      "a=b c",
      "a+=b c",
      "a[1]=b c",
      "a; b=c d",
      ">/dev/null a=b c",
      "'a'=b c",
      "# a",
      "a # b",
      "a;#b",
      "a\n# b",
      "a > b",
      "a >> b",
      "a >>/dev/null",
      "a >| b",
      "a <> b",
      "a < b",
      "a >b",
      "a >/dev/nullx",
      "a >/dev/null/../x",
      "a > /dev/tcp/x/1",
      "a &> b",
      "a &>> /dev/null",
      "a &>/dev/null b",
      "&>/dev/null a",
      "a >& b",
      "a >&/dev/null",
      "a 1>&2x",
      "a >&-",
      "a 2>&1-",
      "a 12>&1",
      "a 12>/dev/null",
      "a '2'>/dev/null",
      "a \\2>/dev/null",
      "a >'/dev/null'",
      "a > $b",
      "a 2>&$b",
      ">/dev/null",
      "a >",
      "a 2>&",
      "a >/dev/null(b)",
      "a << b\nb",
      "a <<- b",
      "a <<< b",
      "a <<'b'\nb\n",
      "a 'b",
      "a \"b",
      "a \\",
      "a b\\",
      "a \"b\\",
      "a '",
      "a b\\\nc",
      "a\\\n",
      "a \\\n",
      "a \"b\\\nc\"",
      std::string("a\0b", 3),
      "a \x01",
      "a \x1b",
      "a '\x7f'",
      "a \v b",
      "a \f b",
      "a \xff",
      "a \xc3",
      "a '\xc0\xaf'",
      "%1",
      "%a b",
      "''",
      "'' a",
      "\"\"",
      "cd a && b",
      "cd a; b",
      "a; export b",
      "alias a=b\na",
      "set -x; a",
      "exec a; b",
      ". a; b",
      "source a; b",
      "eval a; b",
      "trap a EXIT; b",
      "hash -p a b; b",
      "enable -n a; a",
      "builtin a; b",
      "command a; b",
      "shopt -s a; b",
      "declare a; b",
      "readonly a; b",
      "unset a; b",
      "typeset a; b",
      "read PATH </dev/null; a",
      "printf -v PATH a; b",
      "printf %n PATH; a",
      "printf 'x%-5.*hhn' PATH; a",
      "printf -- 'ab%n' PATH | a",
      "printf -vPATH a; b",
      "mapfile a; b",
      "let a; b",
      "umask 0; a",
      "cd a | b",
      "pushd a && b",
      "chdir a && b",
      "getopts a PATH; b",
      "local a; b",
      "unalias a; b",
      "wait -p PATH; a",
      "fc -s; a",
  };
  for (const std::string& script : scripts) {
    INFO(script);
    CHECK(unreadable(script));
  }
}

TEST_CASE("A script of a megabyte is read, or not, in no time") {
  std::string script;
  while (script.size() < 1'000'000) script += "git log 'a b' \"c\" | cat\n";
  REQUIRE(shell_commands(script));
  CHECK(shell_commands(script)->size() == 2 * (script.size() / 24));
  CHECK(unreadable(script + "$"));
  CHECK(unreadable(std::string(1'000'000, '{')));
  CHECK(unreadable("a " + std::string(1'000'000, '"') + "'"));
  CHECK(shell_commands("a " + std::string(1'000'000, 'x')));
}

TEST_CASE("F101 a shell with nothing but a script is what the script runs; any other argv is itself") {
  const Commands both{{"a"}, {"b"}};
  for (const char* shell :
       {"bash", "sh", "dash", "/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh", "/bin/dash", "/usr/bin/dash"}) {
    CHECK(commands_of({shell, "-c", "a | b"}) == both);
    CHECK(commands_of({shell, "-lc", "a | b"}) == both);
    CHECK(commands_of({shell, "-l", "-c", "a | b"}) == both);
    CHECK(commands_of({shell, "-c", "a | b > c"}) == std::nullopt);
  }
  CHECK(commands_of({"git", "log"}) == Commands{{"git", "log"}});
  CHECK(commands_of({}) == std::nullopt);
  CHECK(commands_of({"bash", "-c", "bash -c 'a | b'"}) == both);
  CHECK(commands_of({"bash", "-c", "bash -c 'a > b'"}) == std::nullopt);
  CHECK(commands_of({"bash", "-c", "bash -c 'bash -c \"a | b\"'"}) == Commands{{"bash", "-c", "a | b"}});

  const Commands themselves{{"bash"},
                            {"bash", "a"},
                            {"bash", "-c"},
                            {"bash", "-c", "-x"},
                            {"bash", "-c", "+x"},
                            {"bash", "-c", "--"},
                            {"bash", "-c", "a", "b"},
                            {"bash", "-x", "-c", "a"},
                            {"bash", "-cl", "a"},
                            {"bash", "-ic", "a"},
                            {"bash", "--login", "-c", "a"},
                            {"bash", "-c", "-l", "a"},
                            {"bash", "-c", "-c", "a"},
                            {"bash", "-lc", "-c", "a"},
                            {"bash", "-c", "--", "a"},
                            {"./bash", "-c", "a"},
                            {"/tmp/bash", "-c", "a"},
                            {"zsh", "-c", "a"},
                            {"/bin//bash", "-c", "a"}};
  for (const Words& argv : themselves) {
    CHECK(commands_of(argv) == Commands{argv});
    CHECK(hides_a_command(argv, argv.size()));
  }
}

TEST_CASE("F101 a program that runs what its arguments say hides it, however it is called") {
  const std::pair<Words, std::size_t> hidden[] = {
      {{"sudo", "git", "log"}, 3},
      {{"/usr/bin/sudo", "git"}, 2},
      {{"env", "A=b", "git"}, 3},
      {{"xargs", "git", "log"}, 3},
      {{"nice", "git"}, 2},
      {{"timeout", "1", "git"}, 3},
      {{"bash", "a.sh"}, 2},
      {{"python3", "-c", "x"}, 3},
      {{"python3.11", "x.py"}, 2},
      {{"/opt/perl5.36.0", "x"}, 2},
      {{"perl5.36-x86_64-linux-gnu", "x"}, 2},
      {{"python3.11d", "x"}, 2},
      {{"vim.basic", "x"}, 2},
      {{"nc.openbsd", "x"}, 2},
      {{"gcc-12", "-wrapper", "x"}, 1},
      {{"docker-compose", "run", "x"}, 2},
      {{"node", "x.js"}, 2},
      {{"awk", "{}"}, 2},
      {{"busybox", "ls"}, 2},
      {{"eval", "a"}, 2},
      {{".", "a"}, 2},
      {{"command", "git", "log"}, 3},
      {{"builtin", "echo"}, 2},
      {{"trap", "a", "EXIT"}, 3},
      {{"vim", "x"}, 2},
      {{"less", "x"}, 2},
      {{"ld-linux-x86-64.so.2", "git"}, 2},
      {{"npx", "a"}, 2},
      {{"find", ".", "-exec", "rm", "{}", ";"}, 1},
      {{"find", ".", "-delete"}, 2},
      {{"find", ".", "-fprintf", "x"}, 1},
      {{"find", ".", "-okdir", "a"}, 1},
      {{"find", ".", "-exec", "rm", "-rf", "/", ";"}, 4},
      {{"find", ".", "-exec", "rm"}, 3},
      {{"git", "-c", "core.pager=x", "log"}, 1},
      {{"git", "-C", "x", "log"}, 1},
      {{"git", "--exec-path=x", "log"}, 1},
      {{"git", "--git-dir", "x", "log"}, 1},
      {{"git", "-p", "log"}, 1},
      {{"git", "-c", "x=y", "log"}, 2},
      {{"git", "log", "--ext-diff"}, 2},
      {{"git", "log", "--output=x"}, 2},
      {{"git", "log", "--outp", "x"}, 2},
      {{"git", "grep", "-Ox", "a"}, 2},
      {{"git", "grep", "--open-files-in-pager=x"}, 2},
      {{"git", "fetch", "--upload-pack=x"}, 2},
      {{"git", "fetch", "--upl=x"}, 2},
      {{"git", "rebase", "-x", "a"}, 2},
      {{"git", "bisect", "run", "a"}, 2},
      {{"git", "bisect", "run", "a"}, 3},
      {{"git", "submodule", "foreach", "a"}, 2},
      {{"git", "config", "core.pager", "x"}, 1},
      {{"git", "clone", "ext::a"}, 2},
      {{"git", "clone", "-c", "a=b", "x"}, 2},
      {{"git", "difftool", "-x", "a"}, 2},
      {{"tar", "xf", "a", "--to-command=x"}, 1},
      {{"tar", "xf", "a", "--to-c=x"}, 1},
      {{"tar", "xIf", "x", "a"}, 1},
      {{"tar", "-xIx", "-f", "a"}, 1},
      {{"tar", "xf", "a", "--checkpoint-action=exec=x"}, 1},
      {{"make", "SHELL=x"}, 1},
      {{"make", "-f", "x"}, 1},
      {{"make", "all", "CC=x"}, 2},
      {{"sort", "--compress-program=x", "a"}, 1},
      {{"sort", "-o", "a"}, 1},
      {{"sort", "-uoa", "b"}, 1},
      {{"rsync", "-ae", "x", "a", "b"}, 1},
      {{"rsync", "--rsh=x"}, 1},
      {{"sed", "1e x", "a"}, 1},
      {{"sed", "s/a/b/e", "a"}, 1},
      {{"sed", "-n", "w x"}, 2},
      {{"sed", "-n", "1p", "-e", "1e x"}, 1},
      {{"sed", "-e", "1e x"}, 2},
      {{"sed", "-i", "1e x"}, 2},
      {{"npm", "exec", "a"}, 1},
      {{"docker", "run", "a"}, 2},
      {{"docker", "run", "a"}, 1},
      {{"uv", "run", "a"}, 1},
      {{"yarn", "a"}, 1},
      {{"printf", "-v", "PATH"}, 1},
      {{"[", "-v", "a[$(b)]", "]"}, 1},
      {{"test", "-v", "a[$(b)]"}, 1},
      {{"rg", "--pre=x", "a"}, 1},
      {{"split", "--filter=x", "a"}, 1},
      {{"tar", "tf", "-oProxyCommand=x:y"}, 1},
      {{"gcc", "--prefix=x/", "a.c"}, 1},
      {{"gcc", "-c", "--specs=x"}, 2},
      {{"gcc", "--plugin=./x.so"}, 1},
      {{"clang", "-fpass-plugin=./x.so"}, 1},
      {{"gcc-nm", "--plugin", "x.so"}, 1},
      {{"x86_64-linux-gnu-gcc", "-wrapper", "x"}, 1},
      {{"x86_64-linux-gnu-ld", "-plugin", "x"}, 1},
      {{"cpp", "-wrapper", "x"}, 1},
      {{"cmake", "--build", "b", "--", "--eval=x"}, 3},
      {{"npm", "pack", "--git", "x"}, 2},
      {{"kubectl", "get", "pods", "--kubeconfig=x"}, 2},
      {{"git", "submodule--helper", "foreach", "x"}, 1},
      {{"slogin", "-oProxyCommand=x", "y"}, 1},
      {{"rsync", "--daemon", "--config=x"}, 1},
      {{"cpio", "-F", "a:b"}, 1},
      {{"ccache", "git"}, 2},
      {{"qemu-x86_64-static", "x"}, 2},
      {{"rename", "s/a/b/e", "x"}, 2},
      {{"exiftool", "-if", "x", "a"}, 2},
      {{"zless", "x"}, 2},
      {{"git", "merge-index", "x", "-a"}, 2},
      {{"go", "build", "-ldflags=-extld=x"}, 2},
      {{"g++", "a.o", "-Wl,--plugin,x.so"}, 1},
      {{"gcc", "a.o", "-Xlinker", "-plugin=x.so"}, 1},
      {{"clang", "-fuse-ld=/tmp/x"}, 1},
      {{"ar", "--plugin", "x.so"}, 1},
      {{"mvn", "exec:exec"}, 1},
      {{"pytest", "-p", "x"}, 1},
      {{"pip3", "--python", "x", "install"}, 1},
      {{"pdflatex", "-shell-escape", "x"}, 1},
      {{"openssl", "x509", "-engine", "x"}, 1},
      {{"ssh-keygen", "-D", "x.so"}, 1},
      {{"rpm", "--eval", "%(x)"}, 1},
      {{"gh", "repo", "clone", "a", "--", "-cx=y"}, 2},
      {{}, 0},
      {{"git"}, 0},
  };
  for (const auto& [argv, words] : hidden) {
    INFO((argv.empty() ? std::string() : argv.front() + " " + argv.back()) << ", " << words);
    CHECK(hides_a_command(argv, words));
  }
  const std::pair<Words, std::size_t> open[] = {
      {{"git", "log", "-1"}, 2},
      {{"git", "--no-pager", "log"}, 1},
      {{"git", "log", "--text", "--oneline", "--stat"}, 2},
      {{"git", "log"}, 1},
      {{"git"}, 1},
      {{"git", "-C", "x", "log", "-1"}, 4},
      {{"git", "-c", "x=y", "log"}, 4},
      {{"git", "clean", "-fdx"}, 2},
      {{"git", "diff", "-c"}, 2},
      {{"git", "commit", "-m", "x"}, 2},
      {{"git", "config", "--get", "x"}, 3},
      {{"git", "bisect", "good"}, 2},
      {{"find", ".", "-name", "x"}, 1},
      {{"find"}, 1},
      {{"find", ".", "-delete"}, 3},
      {{"find", ".", "-exec", "rm", "{}", ";"}, 6},
      {{"ls", "-la"}, 1},
      {{"cat", "x"}, 1},
      {{"tar", "xzf", "a"}, 1},
      {{"tar", "--exclude=F", "-czf", "a"}, 1},
      {{"make", "-j4", "all"}, 1},
      {{"sort", "-u", "a"}, 1},
      {{"rsync", "-a", "x", "y"}, 1},
      {{"sed", "-n", "1,5p", "a"}, 1},
      {{"sed", "-n", "$p"}, 2},
      {{"sed", "s/a/b/", "x"}, 2},
      {{"sed", "--sandbox", "s/a/b/", "x"}, 1},
      {{"npm", "test"}, 1},
      {{"docker", "ps"}, 1},
      {{"python3", "--version"}, 2},
      {{"echo", ""}, 1},
      {{"printf", "%s", "-v"}, 1},
      {{"[", "-f", "x", "]"}, 1},
      {{"ssh-keygen", "-l"}, 1},
      {{"gcc", "-c", "plugin.c"}, 1},
      {{"go", "build", "-ldflags=-s"}, 2},
      {{"mvn", "-q", "test"}, 1},
      {{"pytest", "-q", "tests"}, 1},
      {{"pip3", "list"}, 1},
      {{"gcc-12", "-c", "x.c"}, 1},
      {{"rg", "--pretty", "a"}, 1},
      {{"docker", "logs", ""}, 1},
  };
  for (const auto& [argv, words] : open) {
    INFO(argv.front() << " " << argv.back() << ", " << words);
    CHECK_FALSE(hides_a_command(argv, words));
  }
  CHECK(hides_a_command({"python3", "--version", "x"}, 2));
}

TEST_CASE("Rules speak about programs that are where no command can have put them") {
  const support::TempDirectory outside("/var");
  const support::TempDirectory temp;
  const std::string workspace = outside.directory("workspace");
  const std::string tools = outside.directory("tools");
  (void)outside.file("tools/mine", "#!/bin/sh\n", 0755);
  (void)outside.file("workspace/mine", "#!/bin/sh\n", 0755);
  (void)outside.file("workspace/git", "#!/bin/sh\n", 0755);
  (void)outside.symlink("workspace/bin", "/usr/bin");
  (void)outside.symlink("tools/led", workspace + "/mine");
  const auto with_path = [](const std::string& path) { return Words{"PATH=" + path, "LC_ALL=C.UTF-8"}; };
  const Argv git{"git", "log"};
  const Argv script{"bash", "-c", "git log | cat"};

  CHECK(for_rules(plain_environment, git, workspace));
  CHECK(for_rules(plain_environment, script, workspace));
  CHECK(for_rules(plain_environment, {"/usr/bin/git", "log"}, workspace));
  CHECK(for_rules(with_path(tools), {"mine"}, workspace));
  CHECK(for_rules(with_path(tools + "/nothing:/usr/bin"), script, workspace));
  CHECK_FALSE(for_rules(plain_environment, {"no-such-program"}, workspace));
  CHECK_FALSE(for_rules(plain_environment, {"bash", "-c", "no-such-program"}, workspace));
  CHECK_FALSE(for_rules(with_path(tools), {"led"}, workspace));

  // The workspace, before or instead of it, whether or not it has one already.
  CHECK_FALSE(for_rules(plain_environment, {"./git", "log"}, workspace));
  CHECK_FALSE(for_rules(plain_environment, {workspace + "/git", "log"}, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + ":/usr/bin:/bin"), git, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + ":/usr/bin:/bin"), {"cat"}, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + "/none:/usr/bin:/bin"), git, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + "/bin"), git, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + "/../../../usr/bin"), git, workspace));
  CHECK_FALSE(for_rules(with_path("/tmp:/usr/bin:/bin"), git, workspace));
  CHECK_FALSE(for_rules(with_path(temp.path() + ":/usr/bin:/bin"), git, workspace));
  CHECK_FALSE(for_rules(plain_environment, {"bash", "-c", "./git log"}, workspace));
  CHECK_FALSE(for_rules(with_path(workspace + ":/usr/bin:/bin"), script, workspace));

  // Where cordon does not look, and others do.
  CHECK_FALSE(for_rules(with_path("/usr/bin:" + workspace), git, workspace));
  (void)outside.symlink("tools/none", workspace + "/none");
  CHECK_FALSE(for_rules(with_path("/usr/bin:" + tools + "/none"), git, workspace));
  CHECK_FALSE(for_rules(with_path("/usr/bin:/proc/self/cwd"), git, workspace));
  for (const char* path :
       {"bin:/usr/bin:/bin", ":/usr/bin:/bin", "/usr/bin:", "/usr/bin::/bin", "/usr/bin:.", "~/bin:/usr/bin", ""}) {
    CHECK_FALSE(for_rules(with_path(path), git, workspace));
    CHECK_FALSE(for_rules(with_path(path), script, workspace));
  }
  CHECK_FALSE(for_rules({"LC_ALL=C.UTF-8"}, script, workspace));

  CHECK(for_rules({"LC_ALL=C.UTF-8"}, git, workspace));

  // Another shell by the name of one that is known.
  (void)outside.symlink("tools/sh", "/usr/bin/git");
  CHECK_FALSE(for_rules(with_path(tools + ":/usr/bin"), {"sh", "-c", "git log"}, workspace));

  PolicyScope scope;
  scope.workspace_root = workspace;
  scope.extra_roots = {tools};
  CHECK_FALSE(commands_for_rules(action_in(with_path(tools), {"mine"}, scope, workspace_write)));
  scope.extra_roots = {"/usr"};
  CHECK_FALSE(commands_for_rules(action_in(plain_environment, git, scope, workspace_write)));

  // Writable by anybody, or another user's.
  const std::string shared = outside.directory("shared");
  (void)outside.file("shared/mine", "#!/bin/sh\n", 0755);
  CHECK(for_rules(with_path(shared), {"mine"}, workspace));
  REQUIRE(::chmod(shared.c_str(), 0777) == 0);
  CHECK_FALSE(for_rules(with_path(shared), {"mine"}, workspace));
  (void)outside.symlink("shared/led", "/usr/bin/git");
  CHECK_FALSE(for_rules(plain_environment, {shared + "/led"}, workspace));
  CHECK_FALSE(for_rules(with_path(shared + ":/usr/bin:/bin"), git, workspace));
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  CHECK_FALSE(for_rules(with_path(shared + ":/usr/bin:/bin"), git, workspace));
  if (::geteuid() == 0) {
    REQUIRE(::chmod(shared.c_str(), 0755) == 0);
    REQUIRE(::chown(shared.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(for_rules(with_path(shared + ":/usr/bin:/bin"), git, workspace));
  }
}

TEST_CASE("Rules speak about no action whose environment may make another of it") {
  const support::TempDirectory outside("/var");
  const std::string workspace = outside.directory("workspace");
  const Argv git{"git", "log"};
  const Argv script{"bash", "-c", "git log"};
  const Argv login{"bash", "-lc", "git log"};
  const auto with = [](std::initializer_list<std::string> more) {
    Words environment = plain_environment;
    environment.insert(environment.end(), more.begin(), more.end());
    return environment;
  };

  PolicyScope scope;
  scope.workspace_root = workspace;
  process::RunOptions options;
  options.environment = with({"CORDON_TEST_NEW=1"});
  CHECK_FALSE(commands_for_rules(Action(git, workspace_write, scope, options)));

  for (const char* entry : {"BASH_ENV=/x", "ENV=/x", "SHELLOPTS=xtrace", "BASHOPTS=extglob", "EXECIGNORE=*",
                            "BASH_FUNC_git%%=() { evil; }", "BASH_FUNC_git()=() { evil; }", "git=() { evil; }"}) {
    INFO(entry);
    CHECK(for_rules(with({entry}), git, workspace));
    CHECK_FALSE(for_rules(with({entry}), script, workspace));
  }

  // Of two variables of one name some programs take the first, some the last.
  char path[] = "PATH=/usr/bin:/bin";
  char other[] = "PATH=/var/other";
  char* twice[] = {path, other, nullptr};
  char** const before = std::exchange(environ, twice);
  process::RunOptions same;
  same.environment = {path, other};
  const Action with_two(git, workspace_write, scope, same);
  environ = before;
  CHECK(with_two.environment().set.empty());
  CHECK_FALSE(commands_for_rules(with_two));

  // What is typed, a pager would do.
  options.environment = {};
  options.terminal = process::TerminalSize{};
  CHECK(commands_for_rules(Action(git, workspace_write, scope, options)));
  options.input = process::Input::bytes("!evil\n");
  CHECK_FALSE(commands_for_rules(Action(git, workspace_write, scope, options)));
  options.terminal = {};
  CHECK(commands_for_rules(Action(git, workspace_write, scope, options)));

  // Bytes are other characters elsewhere.
  const Argv umlaut{"bash", "-c", "git log \xc3\xa9"};
  CHECK(for_rules(plain_environment, umlaut, workspace));
  CHECK(for_rules({"PATH=/usr/bin:/bin"}, umlaut, workspace));
  CHECK(for_rules({"PATH=/usr/bin:/bin", "LC_ALL=", "LANG=en_GB.utf8"}, umlaut, workspace));
  CHECK_FALSE(for_rules({"PATH=/usr/bin:/bin", "LANG=C", "LC_CTYPE=ja_JP.SJIS"}, umlaut, workspace));
  CHECK_FALSE(for_rules({"PATH=/usr/bin:/bin", "LANG=de_DE@euro"}, umlaut, workspace));
  CHECK(for_rules({"PATH=/usr/bin:/bin", "LANG=de_DE@euro"}, script, workspace));

  // A login shell begins with files.
  const std::string home = outside.directory("home");
  CHECK(for_rules(with({"HOME=" + home}), login, workspace));
  CHECK_FALSE(for_rules(plain_environment, login, workspace));
  CHECK_FALSE(for_rules(with({"HOME=" + workspace}), login, workspace));
  CHECK(for_rules(with({"HOME=" + workspace}), script, workspace));
  CHECK_FALSE(for_rules(with({"HOME=" + workspace, "SSH_CLIENT=x"}), script, workspace));
  (void)outside.symlink("home/.profile", workspace + "/profile");
  CHECK_FALSE(for_rules(with({"HOME=" + home}), login, workspace));
}

TEST_CASE("F101 what may be remembered is exactly what runs, and nothing when that says little") {
  const auto remembered = [](Argv command, SandboxMode mode = workspace_write) {
    return rules_to_remember(action_of(std::move(command), mode));
  };
  CHECK(remembered({"git", "log", "-1"}) == std::vector<ArgvPrefix>{{{"git", "log", "-1"}, true}});
  CHECK(remembered({"bash", "-lc", "git log"}).empty());  // with no HOME
  CHECK(remembered({"bash", "-c", "git log | cat; git log"}) ==
        std::vector<ArgvPrefix>{{{"git", "log"}, true}, {{"cat"}, true}});
  CHECK(remembered({"bash", "-c", "git log > x"}).empty());
  CHECK(remembered({"bash", "-c", "git log && sudo x"}).empty());
  CHECK(remembered({"bash", "x.sh"}).empty());
  CHECK(remembered({"env", "git", "log"}).empty());
  CHECK(remembered({"find", ".", "-exec", "./x", ";"}).empty());
  CHECK(remembered({"git", "-c", "core.pager=./x", "log"}).empty());
  // Not without confinement.
  CHECK(remembered({"git", "log", "-1"}, danger_full_access).empty());
}

TEST_CASE("Prefixes cover a command that one of them begins and that none hides") {
  const std::vector<ArgvPrefix> prefixes{{{"git", "log"}}, {{"find"}}, {{"ls"}, true}, {{"sudo"}}};
  CHECK(prefixes_cover(prefixes, {"git", "log", "-1"}));
  CHECK(prefixes_cover(prefixes, {"find", "."}));
  CHECK(prefixes_cover(prefixes, {"ls"}));
  CHECK_FALSE(prefixes_cover(prefixes, {"git"}));
  CHECK_FALSE(prefixes_cover(prefixes, {"git", "logs"}));
  CHECK_FALSE(prefixes_cover(prefixes, {"find", ".", "-delete"}));
  CHECK_FALSE(prefixes_cover(prefixes, {"ls", "-l"}));
  CHECK_FALSE(prefixes_cover(prefixes, {"sudo", "ls"}));
  CHECK_FALSE(prefixes_cover({}, {"ls"}));
  CHECK_FALSE(prefixes_cover({ArgvPrefix{}}, {"ls"}));
}
