// SPDX-License-Identifier: BSL-1.0
#include <cordon/process/environment.hpp>

#include <algorithm>

#include "support/catch.hpp"

using cordon::process::ChildEnvironment;
using cordon::process::EnvironmentPolicy;
using cordon::process::Inherit;
using cordon::process::make_environment;
using Words = std::vector<std::string>;

namespace {

EnvironmentPolicy inheriting(Inherit inherit) {
  EnvironmentPolicy policy;
  policy.inherit = inherit;
  return policy;
}

/// True when NAME=VALUE gets through Inherit::all.
bool kept(const std::string& name, const std::string& value = "x", bool confined = true) {
  const ChildEnvironment result = make_environment(inheriting(Inherit::all), {name + "=" + value}, confined);
  const bool there = result.entries == Words{name + "=" + value};
  CHECK(there == result.removed.empty());
  if (!there) {
    CHECK(result.entries.empty());
    CHECK(result.removed == Words{name});
  }
  return there;
}

}  // namespace

TEST_CASE("F73, EXE-28: by default a command inherits the core variables only") {
  const Words ambient{"PATH=/bin", "HOME=/h", "LANG=C", "LC_TIME=C", "TERM=x", "TZ=UTC", "EDITOR=vi", "GH_TOKEN=t"};
  const ChildEnvironment result = make_environment({}, ambient, true);
  CHECK(result.entries == Words{"PATH=/bin", "HOME=/h", "LANG=C", "LC_TIME=C", "TERM=x", "TZ=UTC"});
  CHECK(result.removed == Words{"EDITOR", "GH_TOKEN"});
}

TEST_CASE("Inheriting none means none, and all means all but secrets and injections") {
  const Words ambient{"PATH=/bin", "EDITOR=vi", "MY_SECRET=s", "LD_PRELOAD=x"};
  const ChildEnvironment none = make_environment(inheriting(Inherit::none), ambient, true);
  CHECK(none.entries.empty());
  CHECK(none.removed == Words{"EDITOR", "LD_PRELOAD", "MY_SECRET", "PATH"});
  const ChildEnvironment all = make_environment(inheriting(Inherit::all), ambient, true);
  CHECK(all.entries == Words{"PATH=/bin", "EDITOR=vi"});
  CHECK(all.removed == Words{"LD_PRELOAD", "MY_SECRET"});
}

TEST_CASE("T-EXE-07: names of secrets are removed in any case, and PATH is kept") {
  for (const char* name :
       {"MY_API_KEY", "db_password", "X_SECRET_Y", "GH_TOKEN", "AWS_SESSION_TOKEN", "PGPASSWORD", "MYSQL_PASSWD",
        "Secret", "ssh_key", "SSH_PRIVATE_KEY_PATH", "DB_PASS", "MYSQL_PWD", "github_pat"}) {
    INFO(name);
    CHECK_FALSE(kept(name));
  }
  for (const char* name : {"PATH", "PWD", "OLDPWD", "BYPASS", "COMPASS", "MY_PATH"}) {
    INFO(name);
    CHECK(kept(name, "/bin"));
  }
}

TEST_CASE("T-EXE-15, EXE-K4: pass phrases, credentials, authorisations and cookies are secrets too") {
  for (const char* name :
       {"GPG_PASSPHRASE", "GOOGLE_APPLICATION_CREDENTIALS", "credential", "HTTP_AUTH", "AUTHORIZATION",
        "Proxy_Authorization", "SSH_AUTH_SOCK", "NPM_AUTH", "SESSION_COOKIE", "cookiejar", "GIT_AUTHOR_AUTH"}) {
    INFO(name);
    CHECK_FALSE(kept(name));
  }
}

TEST_CASE("An author is no secret") {
  for (const char* name : {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "AUTHOR", "author"}) {
    INFO(name);
    CHECK(kept(name));
  }
}

TEST_CASE("EXE-K4: a URL with a password in it is a secret under any name, and one without is none") {
  for (const char* value :
       {"https://user:pw@host/path", "postgres://u:p@localhost:5432/db", "redis://:pw@host", "http://u:p@h",
        "amqp://u:p,w;x@host", "jdbc:postgresql://h/db?user=u&password=p", "jdbc:sqlserver://h;Pwd=p"}) {
    INFO(value);
    CHECK_FALSE(kept("DATABASE", value));
  }
  for (const char* value :
       {"https://host/path", "https://host:8080/a@b:c", "http://user@host:80/", "user:pw@host", "https://u:@host/", "",
        "://", "https://", "password=p", "http://a:80,https://u@b", "file:///a:b/c@d"}) {
    INFO(value);
    CHECK(kept("DATABASE", value));
  }
  CHECK_FALSE(kept("MIRRORS", "https://plain.example/ https://user:pw@host/"));
}

TEST_CASE("A core variable whose value holds a secret is removed as well") {
  const ChildEnvironment result = make_environment({}, {"HOME=ftp://u:pw@host", "LC_TOKEN=x"}, true);
  CHECK(result.entries.empty());
  CHECK(result.removed == Words{"HOME", "LC_TOKEN"});
}

TEST_CASE(
    "F72, EXE-K4: what makes a loader, shell, interpreter, make or git run code is dropped when confined, and only "
    "then") {
  for (const char* name : {"LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "LD_AUDIT",
                           "DYLD_INSERT_LIBRARIES",
                           "GLIBC_TUNABLES",
                           "BASH_ENV",
                           "ENV",
                           "SHELLOPTS",
                           "BASH_FUNC_ls%%",
                           "PROMPT_COMMAND",
                           "PYTHONPATH",
                           "PYTHONSTARTUP",
                           "NODE_OPTIONS",
                           "PERL5OPT",
                           "RUBYOPT",
                           "JAVA_TOOL_OPTIONS",
                           "GIT_CONFIG_COUNT",
                           "GIT_CONFIG_GLOBAL",
                           "GIT_SSH_COMMAND",
                           "GIT_DIR",
                           "GIT_EXTERNAL_DIFF",
                           "GIT_OBJECT_DIRECTORY",
                           "GIT_COMMON_DIR",
                           "GIT_SEQUENCE_EDITOR",
                           "npm_config_script_shell",
                           "ZDOTDIR",
                           "MAKEFLAGS",
                           "LESSOPEN",
                           "SSH_ASKPASS",
                           "_JAVA_OPTIONS",
                           "OPENSSL_CONF",
                           "SUDO_ASKPASS",
                           "IFS"}) {
    INFO(name);
    CHECK_FALSE(kept(name, "x", true));
    CHECK(kept(name, "x", false));
  }
}

TEST_CASE("A name that only resembles a dangerous one is kept") {
  for (const char* name : {"MY_LD_PRELOAD", "LDFLAGS", "ENVIRONMENT", "PYTHONUNBUFFERED", "GITHUB_REPOSITORY", "PATHS",
                           "GIT_COMMITTER_EMAIL", "GIT_SSL_CAINFO", "OPTIONS", "PS", "ENV ", "ENV SHELLOPTS"}) {
    INFO(name);
    CHECK(kept(name));
  }
}

TEST_CASE("T-EXE-07, EXE-28: an explicit value always survives, and is not called removed") {
  EnvironmentPolicy policy;
  policy.set = {{"GH_TOKEN", "explicit"}, {"LD_PRELOAD", "lib"}, {"PATH", "/mine"}};
  const ChildEnvironment result = make_environment(policy, {"GH_TOKEN=ambient", "PATH=/bin", "LD_PRELOAD=other"}, true);
  CHECK(result.entries == Words{"GH_TOKEN=explicit", "LD_PRELOAD=lib", "PATH=/mine"});
  CHECK(result.removed.empty());
}

TEST_CASE("Of two explicit values for one name the last one wins, and is there once") {
  EnvironmentPolicy policy;
  policy.set = {{"A", "1"}, {"B", "2"}, {"A", "3"}};
  CHECK(make_environment(policy, {"A=0"}, true).entries == Words{"B=2", "A=3"});
}

TEST_CASE("F74: the removed names are sorted and each there once, without values") {
  const Words ambient{"Z_TOKEN=1", "A_TOKEN=2", "Z_TOKEN=3", "M_KEY=secret-value"};
  const ChildEnvironment result = make_environment({}, ambient, true);
  CHECK(result.removed == Words{"A_TOKEN", "M_KEY", "Z_TOKEN"});
}

TEST_CASE("Entries that are no variables are dropped without harm") {
  const ChildEnvironment result =
      make_environment(inheriting(Inherit::all), {"", "NOEQUALS", "=x", "A=", "B=c=d"}, true);
  CHECK(result.entries == Words{"A=", "B=c=d"});
}

TEST_CASE("A value is looked up by its whole name, and the first one counts") {
  using cordon::process::lookup;
  const Words entries{"PATHS=no", "PATH=/bin", "PATH=/later", "EMPTY=", "A=b=c"};
  REQUIRE(lookup(entries, "PATH") != nullptr);
  CHECK(std::string(lookup(entries, "PATH")) == "/bin");
  CHECK(std::string(lookup(entries, "EMPTY")) == "");
  CHECK(std::string(lookup(entries, "A")) == "b=c");
  CHECK(lookup(entries, "PAT") == nullptr);
  CHECK(lookup(entries, "MISSING") == nullptr);
}
