// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cordon/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::process {

/// How much of the caller's environment a command gets to see.
enum class Inherit {
  none,  ///< nothing
  core,  ///< what programs need to find themselves: PATH, HOME, locale, terminal type and the like
  all,   ///< everything that isn't a secret or an injection
};

/// What the command's environment is made from. The runner's own environment is fixed and never this one.
struct EnvironmentPolicy {
  Inherit inherit = Inherit::core;
  /// Set last, exactly as given: an explicit value is never dropped.
  std::vector<std::pair<std::string, std::string>> set = {};
};

struct ChildEnvironment {
  std::vector<std::string> entries;  ///< "NAME=VALUE"
  std::vector<std::string> removed;  ///< every inherited name that the command does not get, sorted
};

namespace detail {

[[nodiscard]] constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

[[nodiscard]] inline std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return upper(c); });
  return result;
}

/// True when `name` is one of the words, which are separated by single spaces.
[[nodiscard]] constexpr bool listed(std::string_view name, std::string_view words) noexcept {
  // By hand: compilers count their steps, and std::string_view::find takes several for a character.
  const char* const text = words.data();
  const char* const wanted = name.data();
  const std::size_t end = words.size();
  for (std::size_t at = 0;; ++at) {
    std::size_t same = 0;
    while (same != name.size() && at != end && text[at] == wanted[same] && text[at] != ' ') ++at, ++same;
    if (same == name.size() && (at == end || text[at] == ' ')) return true;
    while (at != end && text[at] != ' ') ++at;
    if (at == end) return false;
  }
}

/// True when a URL in `value` holds a password: as user:password@host, or among its parameters.
[[nodiscard]] inline bool has_url_with_password(std::string_view value) {
  auto scheme = value.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string parameters = upper(value);
  for (std::string_view word : {"PASSWORD=", "PASSWD=", "PWD="})
    if (parameters.find(word) != std::string::npos) return true;
  for (; scheme != std::string_view::npos; scheme = value.find("://", scheme + 3)) {
    const auto begin = scheme + 3;
    const std::string_view authority = value.substr(begin, value.find_first_of("/ \t\n", begin) - begin);
    const auto at = authority.rfind('@');
    const auto colon = authority.find(':');
    if (at != std::string_view::npos && colon != std::string_view::npos && colon + 1 < at) return true;
  }
  return false;
}

}  // namespace detail

/// True for the few variables that Inherit::core passes on.
[[nodiscard]] inline bool is_core_variable(std::string_view name) noexcept {
  return name.starts_with("LC_") || detail::listed(name,
                                                   "PATH HOME USER LOGNAME USERNAME SHELL LANG LANGUAGE TERM COLORTERM "
                                                   "TZ TMPDIR TEMP TMP NO_COLOR");
}

/// True when the name says that the value is a secret, or the value is a URL with a password in it. A heuristic: it can
/// miss a secret behind an innocent name, which is why Inherit::core is the default.
[[nodiscard]] inline bool looks_secret(std::string_view name, std::string_view value) {
  const std::string upper = detail::upper(name);
  for (std::string_view word : {"KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "COOKIE"})
    if (upper.find(word) != std::string::npos) return true;
  for (std::string_view end : {"_PASS", "_PWD", "_PAT"})
    if (upper.ends_with(end)) return true;
  for (auto at = upper.find("AUTH"); at != std::string::npos; at = upper.find("AUTH", at + 1)) {
    const std::string_view rest = std::string_view(upper).substr(at);
    const bool author = rest.starts_with("AUTHOR") && !rest.starts_with("AUTHORI");
    if (!author) return true;  // GIT_AUTHOR_NAME is no secret, AUTHORIZATION is
  }
  return detail::has_url_with_password(value);
}

/// True for variables that make a loader, a shell, an interpreter, make or git run or read something of the caller's
/// choice.
[[nodiscard]] inline bool injects_code(std::string_view name) noexcept {
  for (std::string_view prefix :
       {"LD_", "DYLD_", "MALLOC_", "BASH_FUNC_", "GIT_CONFIG", "GIT_TRACE", "GIT_SSH", "NPM_CONFIG_", "npm_config_"})
    if (name.starts_with(prefix)) return true;
  return detail::listed(
      name,
      "GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH OPENSSL_CONF BASH_ENV ENV SHELLOPTS BASHOPTS BASH_LOADABLES_PATH PS0 "
      "PS4 PROMPT_COMMAND IFS CDPATH ZDOTDIR FPATH LESSOPEN LESSCLOSE MAKEFLAGS MAKEFILES GNUMAKEFLAGS PYTHONSTARTUP "
      "PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONUSERBASE NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB "
      "PERL5DB PERLLIB RUBYOPT RUBYLIB LUA_INIT PHPRC PHP_INI_SCAN_DIR JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS "
      "_JAVA_OPTIONS DOTNET_STARTUP_HOOKS SSH_ASKPASS SUDO_ASKPASS GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE "
      "GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_EDITOR "
      "GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS GIT_ALLOW_PROTOCOL");
}

/// The environment of one command. `ambient` is the caller's ("NAME=VALUE" each). Under a confined mode variables that
/// inject code are dropped too; with full access the command could set them itself, so they stay. Throws
/// ArgvInvalidError for a name or a value that no environment can hold.
[[nodiscard]] inline ChildEnvironment make_environment(const EnvironmentPolicy& policy,
                                                       const std::vector<std::string>& ambient, bool confined) {
  ChildEnvironment result;
  for (const auto& [name, value] : policy.set)
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos)
      throw ArgvInvalidError("the environment variable '" + name +
                             "' has an empty name, or '=' in its name, or a NUL byte");
  const auto set_explicitly = [&](std::string_view name) {
    return std::any_of(policy.set.begin(), policy.set.end(), [&](const auto& entry) { return entry.first == name; });
  };
  for (const std::string& entry : ambient) {
    const auto equals = entry.find('=', 1);
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(entry).substr(0, equals);
    if (set_explicitly(name)) continue;
    const bool kept = (policy.inherit == Inherit::all || (policy.inherit == Inherit::core && is_core_variable(name))) &&
                      !looks_secret(name, std::string_view(entry).substr(equals + 1)) &&
                      !(confined && injects_code(name));
    if (kept)
      result.entries.push_back(entry);
    else
      result.removed.emplace_back(name);
  }
  for (auto entry = policy.set.begin(); entry != policy.set.end(); ++entry) {
    const bool overridden =
        std::any_of(entry + 1, policy.set.end(), [&](const auto& later) { return later.first == entry->first; });
    if (!overridden) result.entries.push_back(entry->first + "=" + entry->second);
  }
  std::sort(result.removed.begin(), result.removed.end());
  result.removed.erase(std::unique(result.removed.begin(), result.removed.end()), result.removed.end());
  return result;
}

/// All that this process has, as "NAME=VALUE". Not while another thread changes it.
[[nodiscard]] inline std::vector<std::string> ambient_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

/// The value of NAME in a list of "NAME=VALUE"; null when it is not there.
[[nodiscard]] inline const char* lookup(const std::vector<std::string>& environment, std::string_view name) noexcept {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.c_str() + name.size() + 1;
  return nullptr;
}

}  // namespace cordon::process
