// SPDX-License-Identifier: BSL-1.0
#include <cordon/approval/answerers/prefix_rules.hpp>

#include <string>
#include <utility>
#include <vector>

#include "support/actions.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using namespace cordon;
using support::action_in;
using support::action_of;

namespace {

std::string refusal_of(const std::string& json) {
  try {
    (void)PrefixRules::parse(json);
  } catch (const PolicyInvalidError& error) {
    return error.what();
  }
  return "none";
}

std::string one_rule(const std::string& members) {
  return "{\"rules\":[{" + members + "}]}";
}

/// "next" when the rules pass it on.
std::string said(const PrefixRules& rules, const Action& action) {
  const auto decision = rules.decide(action);
  return decision ? std::string(name(decision->result())) : "next";
}

PrefixRules readers() {
  return PrefixRules::parse(R"({"rules":[
    {"prefix":["git","log"],"decision":"allow"}, {"prefix":["ls"],"decision":"allow"},
    {"prefix":["find"],"decision":"allow"}, {"prefix":["echo"],"decision":"allow"},
    {"prefix":["cat"],"decision":"allow"}]})");
}

}  // namespace

TEST_CASE("F102 what rules allow of commands that read") {
  const PrefixRules rules = readers();
  const std::string scripts[] = {
      "git log",
      "git log -1",
      "git log | cat",
      "git log 2>&1",
      "git log >/dev/null 2>&1",
      "ls -la; git log",
      "ls\ngit log\n",
      "ls && git log || echo none",
      "git log --format='%h %s' -- \"a b\"",
      "git log --grep='$(x)'",
      "echo 'a; b' \"c && d\" \\$e",
      "find . -name '*.cpp' ! -path './build/*' | cat",
      "find . -type f 2>/dev/null",
      "git log HEAD~3..HEAD@{1}",
      "git log \\\n  --oneline \\\n  --stat",
      "echo 'it'\\''s'",
      "cat <&0 </dev/null",
      "echo \xc3\xa9 '\xe2\x80\x8b'",
      "bash -c 'git log | cat'",
      "  ls  ;  ",
      "echo if then",
      "git log --text",
      "echo \"a\\.b\" 'c\\d' e#f g=h",
      "cat README.md | cat -n",
      "echo",
  };
  for (const std::string& script : scripts) {
    INFO(script);
    for (const char* shell : {"bash", "sh", "dash", "/bin/bash", "/bin/sh"})
      CHECK(said(rules, action_of({shell, "-c", script})) == "allowed-once");
  }
  CHECK(said(rules, action_of({"git", "log", "-1"})) == "allowed-once");
  CHECK(said(rules, action_of({"git", "log", "; rm -rf /", "$(x)", "*"})) == "allowed-once");
  CHECK(said(rules, action_of({"find", ".", "-newer", "x"})) == "allowed-once");

  const support::TempDirectory home("/var");
  std::vector<std::string> environment = support::plain_environment;
  environment.push_back("HOME=" + home.path());
  PolicyScope scope;
  scope.workspace_root = "/tmp";
  CHECK(said(rules, action_in(environment, {"bash", "-lc", "git log | cat"}, scope, workspace_write)) ==
        "allowed-once");
  CHECK(said(rules, action_in(environment, {"bash", "-l", "-c", "git log | cat"}, scope, workspace_write)) ==
        "allowed-once");
}

TEST_CASE("F101 F102 what rules about commands that read never allow") {
  const PrefixRules rules = readers();
  const std::string scripts[] = {
      // another command behind, before or in it
      "git log; evil",
      "git log && evil",
      "git log || evil",
      "git log | evil",
      "git log\nevil",
      "git log & evil",
      "git log &",
      "git log |& cat",
      "evil; git log",
      "git log;evil",
      "git log&&evil",
      "git log\n\n\nevil",
      "git log \\\n; evil",
      "git log;\tevil",
      "git log $(evil)",
      "git log `evil`",
      "git log \"$(evil)\"",
      "git log \"`evil`\"",
      "git log <(evil)",
      "git log >(evil)",
      "git log ${x:-$(evil)}",
      "git log $((`evil`))",
      "git log \"${x@P}\"",
      "git log $x",
      "git log $IFS",
      "$(git log)",
      "git log '\n' ; evil",
      "cat <<x\n$(evil)\nx",
      "cat <<'x'\ny\nx\nevil",
      "cat <<<$(evil)",
      "cat <<<a",
      "cat <<-x\nx\nevil",
      "echo a >&2 | evil",
      "git log 'a'$'\\''; evil'",
      // files
      "git log > x",
      "git log >> .bashrc",
      "git log >| x",
      "git log &> x",
      "git log >& x",
      "git log 2>x",
      "cat < /etc/shadow",
      "cat <> x",
      "echo x >~/.profile",
      "echo x >/dev/null2",
      "echo x > /dev/tcp/a/1",
      "echo a {x}>y",
      "git log >/dev/null > x",
      "echo x >'/dev/null'x",
      "echo x 1>&2x",
      "echo 12>x",
      // wrappers
      "sudo git log",
      "env git log",
      "env A=b git log",
      "xargs git log",
      "find . -exec evil ';'",
      "find . -exec evil \\;",
      "find . -execdir evil +",
      "find . -ok evil \\;",
      "find . -delete",
      "find . -fprintf x y",
      "bash -c 'evil'",
      "bash -c 'git log; evil'",
      "bash -c \"git log\" evil",
      "sh -c 'bash -c \"bash -c evil\"'",
      "bash x",
      "bash <x",
      "nice git log",
      "timeout 1 git log",
      "nohup git log",
      "time git log",
      "command git log",
      "builtin echo",
      "exec git log",
      "eval 'git log'",
      "eval git log",
      ". git log",
      "source x",
      "trap evil EXIT; ls",
      "trap 'evil' EXIT\ngit log",
      "python3 -c evil",
      "busybox ls",
      "! git log",
      "coproc git log",
      "ls | xargs evil",
      "cat x | sh",
      "cat x | bash -",
      "find . | xargs rm",
      "env -S 'git log'",
      "setsid git log",
      "parallel ls",
      // git itself
      "git -c core.pager=evil log",
      "git -c alias.log='!evil' log",
      "git --exec-path=/tmp log",
      "git -C /tmp log",
      "git --git-dir=/tmp/x log",
      "git log --ext-diff",
      "git log --output=x",
      "git log --outpu=x",
      "git log --textconv",
      "git",
      "git push",
      "git logs",
      "git  -p log",
      "git lo\\g\\ x",
      // other names
      "./git log",
      "../git log",
      "/tmp/git log",
      "/tmp/../usr/bin/git log",
      "bin/git log",
      "Git log",
      "GIT log",
      "git LOG",
      "\xef\xbd\x87it log",
      "g\xc4\xb1t log",
      "\xd0\xb3it log",
      "git\xc2\xa0log",
      "git\xe2\x80\x8b log",
      "\xe2\x80\x8bgit log",
      "git\r log",
      "git log\r",
      "git\xe3\x80\x80log",
      "git\xe2\x80\xa8log",
      "git\xe2\x80\xaelog",
      "git\\ log",
      "'git log'",
      "\"git log\"",
      "g''it\\ log",
      "git\\\nlog",
      "gi\\\nt log;evil",
      "git\vlog",
      // what a shell makes of words
      "{git,log}",
      "git {log,push}",
      "git log {a..b}",
      "git log *",
      "git log ?",
      "git log [a]",
      "git l?g",
      "g[i]t log",
      "git log ~",
      "ls ~/x",
      "git log @(a)",
      "git log !(a)",
      "echo a=~/b c=~",
      "git log # x",
      "# x\ngit log",
      "git log;# x",
      "git log $'a'",
      "git log $\"a\"",
      "((git log))",
      "((x=1)); git log",
      "let x=1; git log",
      "echo $((1))",
      "echo $[1]",
      "[[ -f x ]] && ls",
      // what changes what is behind it
      "A=b git log",
      "PATH=/tmp git log",
      "PATH=/tmp; git log",
      "export PATH=/tmp; git log",
      "cd /tmp && git log",
      "cd /tmp; ls",
      "pushd /tmp; ls",
      "alias ls=evil\nls",
      "hash -p /tmp/x ls; ls",
      "enable -f x ls; ls",
      "set -x; ls",
      "shopt -s expand_aliases; ls",
      "declare -x PATH=/tmp; ls",
      "readonly PATH; ls",
      "unset PATH; ls",
      "typeset PATH=/tmp; ls",
      "read PATH; ls",
      "echo /tmp | read PATH; ls",
      "printf %n PATH; ls",
      "printf -v PATH /tmp; ls",
      "mapfile PATH; ls",
      "ls() { evil; }; ls",
      "function ls { evil; }; ls",
      "ls () { evil\n}\nls",
      "git() (evil); git log",
      "PATH+=:/tmp git log",
      "IFS=x; ls",
      "a[1]=2 ls",
      "umask 0; ls",
      "exec 3>x; ls",
      "exec >x; ls",
      "LD_PRELOAD=/tmp/x ls",
      "GIT_PAGER=evil git log",
      "BASH_ENV=x bash -c ls",
      // what is no script
      "",
      " ",
      "git log '",
      "git log \"",
      "git log \\",
      "git log 'a\" ; evil",
      "git log \"a' ; evil",
      "git log ;;",
      "git log; ;",
      "; git log",
      "&& git log",
      "git log &&",
      "git log |",
      "git log || | ls",
      "(git log",
      "git log)",
      "{ git log; }",
      "{ git log",
      "(git log)",
      "if git log; then ls; fi",
      "while git log; do ls; done",
      "for x in a; do ls; done",
      "case a in a) ls;; esac",
      "select x in a; do ls; done",
      "until ls; do ls; done",
      "then ls",
      "do ls",
      "}; ls",
      "fi; ls",
      "git log \x01",
      "git log \x1b[2K",
      "git log '\x7f'",
      "git log \xff",
      "git log \xc0\xbb evil",
      "%1",
      "%git log",
      "git log %%; %1",
      "'' ls",
      "''",

      "echo \"\\`evil\\` $(evil)\"",
      "echo 'a'`evil`'b'",
      "echo \"a\"\"$(evil)\"",
      "echo \"\\\\$(evil)\"",
      "echo \\\\`evil`",
      "echo \"\\\\\"; evil; echo \"\"",
      "echo '\\'; evil; echo ''",
      "echo \"'\"; evil; echo \"'\"",
      "git log & >/dev/null evil",
      "git log &>/dev/null evil",
      "git log &>/dev/null; evil",
      "&>/dev/null evil",
      "git log 2>&1evil",
      "git log 2>&1&evil",
      "git log </dev/null<x",
      "git log\\\n;evil",
      "git log |\\\nevil",
  };
  for (const std::string& script : scripts) {
    // Also when the other command is there, and harmless.
    std::string date = script;
    for (std::size_t at = date.find("evil"); at != std::string::npos; at = date.find("evil"))
      date.replace(at, 4, "date");
    INFO(date);
    for (const char* shell : {"bash", "sh", "/bin/dash"}) {
      CHECK(said(rules, action_of({shell, "-c", script})) == "next");
      CHECK(said(rules, action_of({shell, "-c", date})) == "next");
    }
  }
  const std::string megabyte(1'000'000, 'a');
  for (const std::string& script : {"ls " + megabyte + "\ndate", "ls " + megabyte + "$(date)", "ls '" + megabyte,
                                    std::string(1'000'000, '(') + "ls"})
    CHECK(said(rules, action_of({"bash", "-c", script})) == "next");
  const std::vector<std::string> argvs[] = {
      {"bash"},
      {"bash", "git", "log"},
      {"bash", "-c"},
      {"bash", "-c", "--", "git log"},
      {"bash", "-c", "git log", "x"},
      {"bash", "-ic", "git log"},
      {"bash", "-xc", "git log"},
      {"bash", "-O", "extglob", "-c", "git log"},
      {"bash", "--rcfile", "x", "-c", "git log"},
      {"bash", "--init-file", "x", "-ic", "ls"},
      {"bash", "-s", "git log"},
      {"bash", "-c", "-c", "git log"},
      {"bash", "+c", "git log"},
      {"zsh", "-c", "git log"},
      {"/tmp/bash", "-c", "git log"},
      {"./bash", "-c", "git log"},
      {"env", "bash", "-c", "git log"},
      {"sudo", "bash", "-c", "git log"},
      {"bash", "-lc", "git log"},
      {"git log"},
      {"git", "log "},
      {"git", "-c", "x=y", "log"},
      {"git"},
      {"Git", "log"},
      {"git\n", "log"},
      {"find", ".", "-exec", "evil", ";"},
      {"find", "-fls", "x"},
      {"busybox", "sh", "-c", "git log"},
      {"git", "log", "--ext-diff"},
      {"/tmp/git", "log"},
      {"./ls"},
  };
  for (const std::vector<std::string>& argv : argvs) {
    INFO(argv.front() << " " << argv.back());
    CHECK(said(rules, action_of(Argv(argv))) == "next");
  }
}

TEST_CASE("F102 nor when the environment or the place of a program makes another of it") {
  const PrefixRules rules = readers();
  const support::TempDirectory outside("/var");
  PolicyScope scope;
  scope.workspace_root = outside.directory("workspace");
  (void)outside.file("workspace/git", "#!/bin/sh\nevil", 0755);
  const auto in = [&](const std::string& entry, Argv command) {
    std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
    if (entry.starts_with("PATH=")) environment.clear();
    environment.push_back(entry);
    return said(rules, action_in(environment, std::move(command), scope, workspace_write));
  };
  CHECK(in("X=y", {"bash", "-c", "git log"}) == "allowed-once");
  CHECK(in("PATH=" + scope.workspace_root + ":/usr/bin:/bin", {"git", "log"}) == "next");
  CHECK(in("PATH=" + scope.workspace_root + ":/usr/bin:/bin", {"bash", "-c", "git log"}) == "next");
  CHECK(in("PATH=/usr/bin:/bin:", {"bash", "-c", "git log"}) == "next");
  for (const char* entry : {"BASH_ENV=/tmp/x", "ENV=/tmp/x", "BASH_FUNC_git%%=() { evil; }", "SHELLOPTS=xtrace"})
    CHECK(in(entry, {"bash", "-c", "git log"}) == "next");
  process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "GIT_PAGER=evil"};
  CHECK(said(rules, Action({"git", "log"}, workspace_write, scope, options)) == "next");
}

TEST_CASE("The longest rule of each command decides, and one that rejects is enough") {
  const PrefixRules rules = PrefixRules::parse(R"({"rules":[
    {"prefix":["git"],"decision":"allow"}, {"prefix":["git","commit"],"decision":"prompt"},
    {"prefix":["git","commit","--dry-run"],"decision":"allow","exact":true},
    {"prefix":["git","push"],"decision":"forbidden","reason":"a human pushes"},
    {"prefix":["git","push","--dry-run"],"decision":"allow"}, {"prefix":["sudo"],"decision":"deny"},
    {"prefix":["ls"],"decision":"allow","max_mode":"workspace-write"}, {"prefix":["bash","-x"],"decision":"forbid"}]})");
  CHECK(said(rules, action_of({"git", "status"})) == "allowed-once");
  CHECK(said(rules, action_of({"git", "commit"})) == "next");
  CHECK(said(rules, action_of({"git", "commit", "--dry-run"})) == "allowed-once");
  CHECK(said(rules, action_of({"git", "commit", "--dry-run", "-a"})) == "next");
  CHECK(said(rules, action_of({"git", "push"})) == "rejected");
  CHECK(said(rules, action_of({"git", "push", "--dry-run"})) == "rejected");
  CHECK(said(rules, action_of({"bash", "-c", "git status && git push origin"})) == "rejected");
  CHECK(said(rules, action_of({"bash", "-c", "bash -c 'git push'"})) == "rejected");
  CHECK(said(rules, action_of({"bash", "-c", "git status; git commit"})) == "next");
  CHECK(said(rules, action_of({"sudo", "git", "status"})) == "rejected");
  CHECK(said(rules, action_of({"bash", "-x", "a"})) == "rejected");
  CHECK(said(rules, action_of({"cat"})) == "next");
  CHECK(said(rules, action_of({"bash", "-c", "git status; cat"})) == "next");
  // Also where nothing is allowed.
  PolicyScope scope;
  scope.workspace_root = "/";
  CHECK(said(rules, action_in(support::plain_environment, {"git", "push"}, scope, read_only)) == "rejected");
  CHECK(said(rules, action_in(support::plain_environment, {"bash", "-c", "ls | git push"}, scope, read_only)) ==
        "rejected");
  CHECK(said(rules, action_in(support::plain_environment, {"git", "status"}, scope, read_only)) == "next");

  CHECK(said(rules, action_of({"ls"}, read_only)) == "allowed-once");
  CHECK(said(rules, action_of({"ls"}, workspace_write)) == "allowed-once");
  CHECK(said(rules, action_of({"ls"}, danger_full_access)) == "next");
  CHECK(said(rules, action_of({"bash", "-c", "ls; git status"}, danger_full_access)) == "next");

  CHECK(rules.decide(action_of({"git", "push", "x"}))->reason() == "a rule rejects git push: a human pushes");
  CHECK(rules.decide(action_of({"sudo", "x"}))->reason() == "a rule rejects sudo");
  CHECK(said(PrefixRules(std::vector<PrefixRule>{}), action_of({"ls"})) == "next");
}

TEST_CASE("Rules are an answerer that takes no time, and asks the next one") {
  STATIC_REQUIRE(Answerer<PrefixRules>);
  STATIC_REQUIRE(AnswererChain<PrefixRules>::immediate);
  AnswererChain<PrefixRules> chain{readers()};
  const auto decided = [&](Argv command) { return chain(ApprovalRequest("shell", action_of(std::move(command)))); };
  CHECK(decided({"ls"}).result() == ApprovalResult::allowed_once);
  CHECK(decided({"ls"}).answered_by() == "rules");
  CHECK(decided({"rm"}).result() == ApprovalResult::unavailable);
  CHECK(decided({"rm"}).answered_by().empty());
}

TEST_CASE("Rules that are compiled are those rules") {
  static constexpr StaticPrefixRules mine(
      {allow_prefix("git", "log"), reject_prefix("git", "push").because("a human pushes"), ask_prefix("sudo"),
       allow_prefix("ls").alone().up_to(workspace_write), allow_prefix("python3", "--version").alone()});
  const PrefixRules rules(mine);
  REQUIRE(rules.rules().size() == 5);
  CHECK(rules.rules()[1].reason == "a human pushes");
  CHECK(rules.rules()[3].prefix == ArgvPrefix{{"ls"}, true});
  CHECK(said(rules, action_of({"git", "log", "-1"})) == "allowed-once");
  CHECK(said(rules, action_of({"git", "push"})) == "rejected");
  CHECK(said(rules, action_of({"sudo", "ls"})) == "next");
  CHECK(said(rules, action_of({"ls"}, workspace_write)) == "allowed-once");
  CHECK(said(rules, action_of({"ls"})) == "next");
  CHECK(said(rules, action_of({"ls", "-l"}, workspace_write)) == "next");
}

TEST_CASE("Rules that can't be rules are refused with what is wrong with them") {
  const auto refused = [](const std::string& json, const std::string& because) {
    INFO(json << "\n" << refusal_of(json));
    CHECK(refusal_of(json).find(because) != std::string::npos);
  };
  CHECK(refusal_of(R"({"rules":[]})") == "none");
  refused("", "at byte 0");
  refused("[]", "no object");
  refused("{}", "there is no list \"rules\"");
  refused(R"({"rules":{}})", "\"rules\" is no list");
  refused(R"({"rules":[],"more":1})", "no \"more\"");
  refused(R"({"rules":[1]})", "rule 1 is no object");
  refused(one_rule(R"("decision":"allow")"), "rule 1 has no prefix");
  refused(one_rule(R"("prefix":[],"decision":"allow")"), "rule 1 has no prefix");
  refused(one_rule(R"("prefix":["git"])"), "rule 1 (git) has no \"decision\"");
  refused(one_rule(R"("prefix":"git","decision":"allow")"), "no list of words");
  refused(one_rule(R"("prefix":[1],"decision":"allow")"), "no text");
  for (const char* word : {"", " ", "\\t"})
    refused(one_rule(R"("prefix":[")" + std::string(word) + R"("],"decision":"reject")"), "begins with a blank word");
  refused(one_rule(R"("prefix":["git"],"decision":"maybe")"), "decides 'maybe'; write allow, ask or reject");
  refused(one_rule(R"("prefix":["git"],"decision":"Allow")"), "decides 'Allow'");
  refused(one_rule(R"("prefix":["git"],"decision":true)"), "\"decision\" that is no text");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","max_mode":"wide")"), "unknown mode 'wide'");
  refused(one_rule(R"("prefix":["git"],"decision":"reject","max_mode":"read-only")"), "max_mode");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","exact":1)"), "neither true nor false");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","reason":1)"), "\"reason\" that is no text");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","mode":"read-only")"), "has a \"mode\"; a rule has prefix");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","match":"git"x)"), "at byte");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","match":"git")"), "no list of examples");
  refused(one_rule(R"("prefix":["git"],"decision":"allow","match":[1])"), "no list of words");
  refused(R"({"rules":[{"prefix":["ls"],"decision":"allow"},{"prefix":["ls"],"decision":"ask"}]})",
          "rule 2 (ls) decides otherwise than rule 1");
  CHECK(refusal_of(R"({"rules":[{"prefix":["ls"],"decision":"allow"},{"prefix":["ls"],"decision":"allow"}]})") ==
        "none");
  CHECK(refusal_of(
            R"({"rules":[{"prefix":["ls"],"decision":"allow"},{"prefix":["ls"],"decision":"ask","exact":true}]})") ==
        "none");
}

TEST_CASE("F101 a rule that would allow whatever follows is refused; one that asks or rejects is not") {
  for (const char* prefix : {R"(["sudo"])", R"(["bash"])", R"(["env"])", R"(["python3"])", R"(["python3.11","-c"])",
                             R"(["bash","-c"])", R"(["xargs","git"])", R"(["/usr/bin/env","git"])", R"(["git","-c"])",
                             R"(["git","-C"])", R"(["find",".","-exec"])", R"(["find",".","-exec","rm"])",
                             R"(["docker","run"])", R"(["tar","-I"])", R"(["yarn"])", R"(["eval"])"}) {
    INFO(prefix);
    const std::string rule = R"("prefix":)" + std::string(prefix) + R"(,"decision":)";
    CHECK(refusal_of(one_rule(rule + "\"allow\"")).find("would allow whatever command") != std::string::npos);
    CHECK(refusal_of(one_rule(rule + "\"ask\"")) == "none");
    CHECK(refusal_of(one_rule(rule + "\"reject\"")) == "none");
  }
  for (const char* prefix : {R"(["find"])", R"(["git"])", R"(["sed"])", R"(["make"])", R"(["tar"])",
                             R"(["npm","test"])", R"(["sort"])", R"(["docker","ps"])", R"(["git","-C","x","log"])"}) {
    INFO(prefix);
    CHECK(refusal_of(one_rule(R"("prefix":)" + std::string(prefix) + R"(,"decision":"allow")")) == "none");
  }
}

TEST_CASE("The examples of a rule are held against it when it is loaded") {
  const auto with = [](const std::string& examples, const std::string& decision = "allow") {
    return refusal_of(one_rule(R"("prefix":["git","log"],"decision":")" + decision + "\"," + examples));
  };
  CHECK(with(R"json("match":[["git","log","-1"],"git log -1","git log | git log",["bash","-c","git log"]],
                "no_match":["git push","git log; ls","git log > x","git log $(x)",["git"],["git","log","--ext-diff"]])json") ==
        "none");
  CHECK(with(R"("match":["git push"])").find("rule 1 (git log) does not match its example 'bash -c git push'") !=
        std::string::npos);
  CHECK(with(R"("match":["git log > x"])").find("does not match") != std::string::npos);
  CHECK(with(R"("match":[["git log"]])").find("does not match") != std::string::npos);
  CHECK(with(R"("match":[[]])").find("does not match") != std::string::npos);
  CHECK(with(R"("no_match":["git log"])").find("matches 'bash -c git log', which it is not to match") !=
        std::string::npos);
  CHECK(with(R"("match":["ls; git log"],"no_match":["ls"])", "reject") == "none");
  CHECK(with(R"("no_match":["ls; git log"])", "reject").find("matches") != std::string::npos);
}

TEST_CASE("An option does not hide the word that a longer rule rejects or asks about") {
  const PrefixRules rules = PrefixRules::parse(R"({"rules":[
    {"prefix":["git"],"decision":"allow"}, {"prefix":["git","push"],"decision":"reject"},
    {"prefix":["ls"],"decision":"allow"}, {"prefix":["cat"],"decision":"allow"},
    {"prefix":["cat","/etc/x"],"decision":"ask"}]})");
  CHECK(said(rules, action_of({"git", "status"})) == "allowed-once");
  CHECK(said(rules, action_of({"git", "push"})) == "rejected");
  CHECK(said(rules, action_of({"git", "-P", "push"})) == "next");
  CHECK(said(rules, action_of({"git", "--no-pager", "push"})) == "next");
  CHECK(said(rules, action_of({"bash", "-c", "git -P push"})) == "next");
  CHECK(said(rules, action_of({"cat", "-n", "/etc/x"})) == "next");
  CHECK(said(rules, action_of({"ls", "-l"})) == "allowed-once");
}

namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV";

template <std::size_t... I>
consteval auto many(std::index_sequence<I...>) {
  return StaticPrefixRules<sizeof...(I)>({allow_prefix("some-tool", letters.substr(I, 1))...});
}

}  // namespace

TEST_CASE("Many rules are not too many for a compiler to check") {
  constexpr auto rules = many(std::make_index_sequence<letters.size()>());
  static_assert(letters.size() == 48);
  CHECK(std::distance(rules.begin(), rules.end()) == 48);
}
