// SPDX-License-Identifier: BSL-1.0
#pragma once

// Which commands an action runs, as far as rules about them may go by it.

#include <algorithm>
#include <cordon/approval/action.hpp>
#include <cordon/approval/argv_prefix.hpp>
#include <cordon/approval/hidden_command.hpp>
#include <cordon/approval/shell_commands.hpp>
#include <cordon/detail/within.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/spawn.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace detail {

/// One command, or the shell that reads a script of them.
struct ReadCommand {
  std::vector<std::string> words;
  bool in_script = false;
  bool shell = false;
  bool login = false;
};

/// The script that a shell is given, when it is given nothing else.
[[nodiscard]] inline const std::string* script_of(const std::vector<std::string>& argv, bool& login) {
  constexpr std::string_view shells =
      "bash sh dash /bin/bash /usr/bin/bash /bin/sh /usr/bin/sh /bin/dash /usr/bin/dash";
  if (argv.size() < 3 || argv.size() > 4 || !listed(argv[0], shells)) return nullptr;
  const bool apart = argv.size() == 4 && argv[1] == "-l" && argv[2] == "-c";
  login = apart || argv[1] == "-lc";
  if (!apart && (argv.size() != 3 || (argv[1] != "-c" && argv[1] != "-lc"))) return nullptr;
  // Options go on behind -c.
  return argv.back().starts_with('-') || argv.back().starts_with('+') ? nullptr : &argv.back();
}

/// Adds what `argv` runs; false when that can't be told. A script within a script within a script is a command like any
/// other.
inline bool read_commands(std::vector<ReadCommand>& found, const std::vector<std::string>& argv, int depth) {
  constexpr int deepest = 2;
  bool login = false;
  const std::string* script = depth < deepest ? script_of(argv, login) : nullptr;
  if (script == nullptr) {
    found.push_back({argv, depth > 0});
    return true;
  }
  found.push_back({argv, depth > 0, true, login});
  const std::optional<Commands> commands = shell_commands(*script);
  return commands && std::all_of(commands->begin(), commands->end(), [&](const std::vector<std::string>& words) {
           return read_commands(found, words, depth + 1);
         });
}

[[nodiscard]] inline Commands without_shells(std::vector<ReadCommand> found) {
  Commands commands;
  for (ReadCommand& command : found)
    if (!command.shell) commands.push_back(std::move(command.words));
  return commands;
}

/// Says whether the programs of one action are where nobody but this user and root can have put them.
class ProgramPlaces {
 public:
  explicit ProgramPlaces(const Action& action) : action_(action), written_{action.scope().workspace_root} {
    const std::vector<std::string>& roots = action.scope().extra_roots;
    written_.insert(written_.end(), roots.begin(), roots.end());
    // What /proc leads to depends on who asks.
    for (const char* place : {"/tmp", "/var/tmp", "/dev/shm", "/proc"}) {
      written_.emplace_back(place);
      written_.push_back(os::resolved(place));
    }
  }

  /// A program by this name, and nothing that could come before it when it is looked up.
  [[nodiscard]] bool hold(const std::string& program) {
    const auto [known, added] = known_.try_emplace(program, false);
    if (added) known->second = look(program);
    return known->second;
  }

  /// Whether every directory of PATH is one that no command can have written: programs find others there.
  [[nodiscard]] bool hold_path() const {
    const char* path = process::lookup(action_.options().environment, "PATH");
    for (std::string_view rest = path != nullptr ? path : "/";; rest.remove_prefix(rest.find(':') + 1)) {
      if (!rest.starts_with('/') || written(std::string(rest.substr(0, rest.find(':'))))) return false;
      if (rest.find(':') == std::string_view::npos) return true;
    }
  }

  /// Whether this path, whatever is or is not there, can be made to lead elsewhere by a command or another user.
  [[nodiscard]] bool exchangeable(const std::string& path) const {
    if (written(path)) return true;
    const auto by_others = [&](const std::string& place) { return !os::exchangeable_by_others(place, user_).empty(); };
    for (const os::PassedLink& link : os::links_on(path))
      if (by_others(link.holder)) return true;
    std::string place = os::resolved(path);
    while (!os::exists(place) && place != "/") place = os::parent_of(place);
    return by_others(place);
  }

 private:
  [[nodiscard]] bool written(const std::string& path) const {
    std::string place = os::resolved(path);
    if ((path + "/").find("/../") != std::string::npos || is_within_any(place, written_)) return true;
    for (; !os::exists(place) && place != "/"; place = os::parent_of(place))
      if (os::is_symlink(place)) return true;  // leads to what is not there yet
    return os::led_from(path, written_);
  }

  [[nodiscard]] bool look(const std::string& program) const {
    const std::vector<std::string>& environment = action_.options().environment;
    const std::string& directory = action_.working_directory();
    const ExecutableIdentity found = ExecutableIdentity::of(program, environment, directory);
    return !found.path.empty() && !found.found_past(ExecutableIdentity::candidates(program, environment, directory),
                                                    [&](const std::string& path) { return exchangeable(path); });
  }

  const Action& action_;
  std::vector<std::string> written_;
  unsigned user_ = os::effective_uid<os::Kernel>();
  std::map<std::string, bool> known_;
};

/// Whether text that is not ASCII is read the way it is written here.
[[nodiscard]] inline bool has_plain_locale(const std::vector<std::string>& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = process::lookup(environment, name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = process::detail::upper(value);
    return locale == "C" || locale == "POSIX" || locale.ends_with(".UTF-8") || locale.ends_with(".UTF8");
  }
  return true;
}

/// Whether a shell is one that shell_commands knows, and begins as it expects: with no function, option or file of
/// somebody else's choice, and a PATH of its own.
[[nodiscard]] inline bool begins_plain(const ReadCommand& shell, const Action& action, const ProgramPlaces& places) {
  const std::vector<std::string>& environment = action.options().environment;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (name.starts_with("BASH_FUNC_") || entry.find("=() {") != std::string::npos ||
        listed(name, "BASH_ENV ENV SHELLOPTS BASHOPTS EXECIGNORE"))
      return false;
  }
  if (process::lookup(environment, "PATH") == nullptr) return false;
  const std::string program = ExecutableIdentity::of(shell.words.front(), environment, action.working_directory()).path;
  if (!program.ends_with("/bash") && !program.ends_with("/dash")) return false;
  const auto ascii = [](const std::string& word) {
    return std::all_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  if (!ascii(shell.words.back()) && !has_plain_locale(environment)) return false;
  // One that is run for somebody who came over the network reads their files too.
  const bool reads_files = shell.login || process::lookup(environment, "SSH_CLIENT") != nullptr ||
                           process::lookup(environment, "SSH2_CLIENT") != nullptr;
  const char* home = process::lookup(environment, "HOME");
  if (!reads_files) return true;
  if (home == nullptr || *home != '/') return false;
  for (const char* file : {".bash_profile", ".bash_login", ".profile", ".bashrc", ".bash_logout"})
    if (places.exchangeable(std::string(home) + "/" + file)) return false;
  return true;
}

[[nodiscard]] inline bool names_differ(const std::vector<std::string>& environment) {
  std::vector<std::string_view> names;
  for (const std::string& entry : environment) names.push_back(std::string_view(entry).substr(0, entry.find('=')));
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

/// What every shell has built in, and runs instead of a program of that name. None of these runs anything.
inline constexpr std::string_view plain_builtins =
    ": [ alias cd echo exit false kill printf pwd set shift test times true "
    "type ulimit umask";

}  // namespace detail

/// The commands that an argv runs: itself, or those in the script of a shell that is given nothing but -c, or -l and
/// -c, and a script. Nothing when they can't be told. See shell_commands for what that is sure of.
[[nodiscard]] inline std::optional<std::vector<std::vector<std::string>>> commands_of(
    const std::vector<std::string>& argv) {
  std::vector<detail::ReadCommand> found;
  if (argv.empty() || !detail::read_commands(found, argv, 0)) return std::nullopt;
  return detail::without_shells(std::move(found));
}

/// The commands of an action, when rules may speak about them: nothing unless commands_of knows them, the environment
/// adds and changes no variable, nothing is typed at a terminal (a pager runs what it is told to), and each program is
/// there, at a place where neither a command under this scope nor another user can have put it, nor can put one that is
/// found before it. No directory of PATH may be one that commands write, and none relative.
///
/// Looks at the file system as it is now. Does not look at what programs read: configuration, repositories, startup
/// files of this user.
[[nodiscard]] inline std::optional<std::vector<std::vector<std::string>>> commands_for_rules(const Action& action) {
  std::vector<detail::ReadCommand> found;
  const process::RunOptions& options = action.options();
  detail::ProgramPlaces places(action);
  if (!detail::read_commands(found, action.command().elements(), 0) || !action.environment().set.empty() ||
      !detail::names_differ(options.environment) || (options.terminal && options.input.piped()) || !places.hold_path())
    return std::nullopt;
  for (const detail::ReadCommand& command : found) {
    if (command.shell && !detail::begins_plain(command, action, places)) return std::nullopt;
    const bool builtin = command.in_script && detail::listed(command.words.front(), detail::plain_builtins);
    if (!builtin && !places.hold(command.words.front())) return std::nullopt;
  }
  return detail::without_shells(std::move(found));
}

/// What may be offered to be allowed for the rest of a session: exactly the commands of this action, each once. Nothing
/// when rules may not speak about it, when any of them runs what its arguments say, which may be a file that changes,
/// and for what has an input or a terminal, or no confinement.
[[nodiscard]] inline std::vector<ArgvPrefix> rules_to_remember(const Action& action) {
  std::vector<ArgvPrefix> rules;
  if (!action.mode().confined() || action.is_typed_at()) return rules;
  const auto commands = commands_for_rules(action);
  if (!commands) return rules;
  for (const std::vector<std::string>& command : *commands) {
    if (hides_a_command(command, 1)) return {};
    ArgvPrefix rule{command, true};
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(std::move(rule));
  }
  return rules;
}

/// Whether one of these begins the command, and leaves open nothing of what it runs.
[[nodiscard]] inline bool prefixes_cover(const std::vector<ArgvPrefix>& prefixes,
                                         const std::vector<std::string>& command) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const ArgvPrefix& prefix) {
    return prefix.begins(command) && !hides_a_command(command, prefix.words.size());
  });
}

}  // namespace cordon
