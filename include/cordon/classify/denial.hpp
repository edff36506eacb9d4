// SPDX-License-Identifier: BSL-1.0
#pragma once

// Reading denials out of what a command printed. Text is the weakest evidence there is: what it says is held against
// what is known, and every finding says that it was inferred.

#include <algorithm>
#include <array>
#include <climits>
#include <cordon/classify/locale.hpp>
#include <cordon/confined.hpp>
#include <cordon/dialect.hpp>
#include <cordon/effect.hpp>
#include <cordon/mode.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/os/linux/process.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/sinks.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon {

/// How a verdict is known.
enum class Evidence {
  observed,  ///< the system call was seen
  reported,  ///< an out-of-band channel said so
  inferred,  ///< the command's own words
};

[[nodiscard]] constexpr std::string_view name(Evidence evidence) noexcept {
  switch (evidence) {
    case Evidence::observed:
      return "observed";
    case Evidence::reported:
      return "reported";
    case Evidence::inferred:
      return "inferred";
  }
  return "unknown";
}

/// One thing that the sandbox refused.
struct Denial {
  FileEffect effect = FileEffect::write;
  std::string path = {};         ///< absolute; empty when it is not known
  std::string error = {};        ///< the name of the errno, for example "EROFS"
  std::string system_call = {};  ///< empty when it is not known
  Evidence evidence = Evidence::inferred;
  /// The least that would have let it pass: a writable root, or the name of a mode when it is the workspace that the
  /// mode keeps from being written. Empty when that is not known.
  std::string grant = {};

  friend bool operator==(const Denial&, const Denial&) = default;
};

/// What a classifier needs to know about the run.
struct DenialContext {
  /// How this command says what `dialect` calls a denial: `words_of`.
  std::vector<ErrorWords> words = {};
  std::optional<int> exit_code = {};  ///< empty: ended by a signal, or by cordon
  std::string working_directory = {};
  bool command_known = false;  ///< its words were read for `went_to`; else nothing says that it went anywhere
  std::vector<std::string> went_to = {};  ///< directories where its words say that it goes: `named_destinations`
  std::string read_only_workspace = {};   ///< the workspace, in the mode that keeps it from being written
  std::vector<std::string> writable_roots = {};
  std::vector<std::string> private_temp = {};     ///< that it can write, and sees in the place of the host's
  std::vector<std::string> protected_paths = {};  ///< inside them, and still read-only
};

/// What is known from the start of a run of `confined`: not its words, and not how it ended.
template <ConfinedMode M>
[[nodiscard]] DenialContext context_of(const ConfinedArgv<M>& confined, const std::string& working_directory) {
  const PolicyScope& scope = confined.policy().scope();
  constexpr bool writable = std::is_same_v<M, WorkspaceWrite>;
  DenialContext context{.working_directory = working_directory.empty() ? scope.workspace_root : working_directory,
                        .read_only_workspace = writable ? std::string() : scope.workspace_root,
                        .writable_roots = confined.policy().writable_roots(),
                        .private_temp = confined.private_temp(),
                        .protected_paths = writable ? scope.protected_paths : std::vector<std::string>()};
  context.writable_roots.insert(context.writable_roots.end(), confined.shared_temp().begin(),
                                confined.shared_temp().end());
  return context;
}

/// Where the words of a command say that it goes before it does the rest: what follows cd, pushd, chdir or -C in them,
/// as it stands there but for a variable at its beginning. Not a shell's reading: it is held against what the command
/// prints. At most 16.
[[nodiscard]] inline std::vector<std::string> named_destinations(const std::vector<std::string>& words,
                                                                 const std::vector<std::string>& environment) {
  constexpr std::string_view separators = " \t\n;&|()'\"`,";
  std::vector<std::string> found;
  bool follows = false;
  for (std::string_view rest : words) {
    while (found.size() < 16) {
      rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
      if (rest.empty()) break;
      const std::string_view token = rest.substr(0, rest.find_first_of(separators));
      rest.remove_prefix(token.size());
      if (token == "cd" || token == "pushd" || token == "-C" || token.ends_with("chdir")) {
        follows = true;
      } else if (follows && !token.starts_with('-')) {
        std::string place(token);
        if (token.starts_with('$')) {
          const bool braces = token.starts_with("${");
          const std::string_view name = token.substr(braces ? 2 : 1);
          const auto end = std::min(name.find(braces ? '}' : '/'), name.size());
          const char* const value = process::lookup(environment, name.substr(0, end));
          place = value == nullptr ? std::string() : value;
          if (value != nullptr && end != name.size()) place += name.substr(braces ? end + 1 : end);
        }
        if (!place.empty() && std::find(found.begin(), found.end(), place) == found.end())
          found.push_back(std::move(place));
        follows = false;
      }
    }
  }
  return found;
}

/// The denial texts of a dialect as a command says them that was started in `environment`: each that is the C library's
/// in that command's language too.
[[nodiscard]] inline std::vector<ErrorWords> words_of(const DialectView& dialect,
                                                      const std::vector<std::string>& environment) {
  std::vector<ErrorWords> result;
  const std::vector<ErrorWords> spoken = words_for_refusals(environment);
  for (std::string_view signature : dialect.denials) {
    if (detail::is_blank(signature)) continue;
    const auto is_meant = [&](const ErrorWords& words) { return detail::same_letters(words.words, signature); };
    const auto meant = std::find_if(spoken.begin(), spoken.end(), is_meant);
    if (meant == spoken.end()) result.push_back({0, std::string(signature)});
    for (const ErrorWords& words : spoken)
      if (meant != spoken.end() && words.error == meant->error) result.push_back(words);
  }
  return result;
}

namespace detail {

/// A line that has the words for an errno in it, and what is near them: the longest line costs no more than a long
/// path.
struct Message {
  std::string_view before;
  std::string_view after;

  Message(std::string_view said_before, std::string_view said_after) noexcept : before(said_before), after(said_after) {
    constexpr std::size_t reach = 2 * PATH_MAX;
    if (before.size() > reach) before.remove_prefix(before.size() - reach);
    after = after.substr(0, reach);
  }
};

[[nodiscard]] inline bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) noexcept {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}
[[nodiscard]] inline bool starts_with_any(std::string_view text,
                                          std::initializer_list<std::string_view> starts) noexcept {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

/// True when the words stand where programs put the C library's text: not in the middle of a sentence of somebody
/// else's, such as "Permission denied (publickey)" or "Permission denied by the server".
[[nodiscard]] inline bool stands_for_an_error(const Message& message) noexcept {
  const std::string_view after = message.after;
  const bool begins = message.before.empty() || ends_with_any(message.before, {": ", "] ", "(", ":", "- ", "\t"});
  const bool ends = after.empty() || after.find_first_not_of(" \t") == std::string_view::npos ||
                    starts_with_any(after, {".", ",", ":", ")", "]", "'", "\"", "\033", " (os error ", " at ", " @ ",
                                            " in ", " - ", "\\n"});
  return begins && ends;
}

/// Every text between quotation marks of the languages that the usual programs speak, from left to right. An ASCII
/// apostrophe in a word ("can't") opens nothing.
[[nodiscard]] inline std::vector<std::string_view> quoted_in(std::string_view text) {
  using Marks = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Marks, 10> all{Marks{"\u2018", "\u2019"},
                                             {"\u201c", "\u201d"},
                                             {"\u201e", "\u201c"},
                                             {"\u201e", "\u201d"},
                                             {"\u00ab\u00a0", "\u00a0\u00bb"},
                                             {"\u00ab", "\u00bb"},
                                             {"\u300c", "\u300d"},
                                             {"'", "'"},
                                             {"\"", "\""},
                                             {"`", "'"}};
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t next = at + 1;
    for (const auto& [open, close] : all) {
      if (!rest.starts_with(open)) continue;
      if (open.size() == 1 && at != 0 && std::string_view(" ([{=:,").find(text[at - 1]) == std::string_view::npos)
        continue;
      const auto end = rest.find(close, open.size());
      if (end == std::string_view::npos) continue;
      std::string_view inner = rest.substr(open.size(), end - open.size());
      while (inner.starts_with(' ')) inner.remove_prefix(1);
      while (inner.ends_with(' ')) inner.remove_suffix(1);
      if (!inner.empty()) found.push_back(inner);
      next = at + end + close.size();
      break;
    }
    at = next;
  }
  return found;
}

/// The fields of "program: what: …", without the program where there is more than one.
[[nodiscard]] inline std::vector<std::string_view> fields_of(std::string_view before) {
  while (before.ends_with(' ') || before.ends_with(':') || before.ends_with('(') || before.ends_with('['))
    before.remove_suffix(1);
  std::vector<std::string_view> fields;
  while (!before.empty()) {
    const auto end = before.find(": ");
    fields.push_back(before.substr(0, end));
    before = end == std::string_view::npos ? std::string_view() : before.substr(end + 2);
  }
  if (fields.size() > 1) fields.erase(fields.begin());
  return fields;
}

/// The absolute paths that begin in `text`: to its end, and to the next space.
inline void add_absolute(std::string_view text, std::vector<std::string_view>& found) {
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at + 1)) {
    if (at != 0 && std::string_view(" (=[").find(text[at - 1]) == std::string_view::npos) continue;
    std::string_view path = text.substr(at);
    if (at != 0 && text[at - 1] == '(') path = path.substr(0, path.find(')'));
    while (path.ends_with(' ') || path.ends_with(',') || path.ends_with(')')) path.remove_suffix(1);
    found.push_back(path);
    if (const auto space = path.find(' '); space != std::string_view::npos) found.push_back(path.substr(0, space));
  }
}

/// What a message may be about, as it stands there: quoted texts, absolute paths, and a name in a field of its own or
/// behind a verb. Many programs' shapes, no program's alone.
[[nodiscard]] inline std::vector<std::string_view> subjects_of(const Message& message) {
  std::vector<std::string_view> found = quoted_in(message.before);
  for (std::string_view text : quoted_in(message.after)) found.push_back(text);
  const std::vector<std::string_view> fields = fields_of(message.before);
  for (std::string_view field : fields) add_absolute(field, found);
  add_absolute(message.after, found);
  if (!found.empty() || fields.empty()) return found;
  // A relative name without quotes: "tee: name: …", "sh: 1: cannot create name: …".
  std::string_view field = fields.back();
  const std::size_t space = field.rfind(' ');
  if (space != std::string_view::npos) {
    const std::string verbs = lowered(field);
    for (const char* verb : {"create", "open", "write", "remove", "unlink", "mkdir", "rename", "lock", "touch"})
      if (verbs.find(verb) < space) return {field.substr(space + 1)};
    return {};
  }
  const bool is_program = message.before.find(": ") + 2 >= message.before.size();
  const bool is_number = field.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_program && !is_number && field.find_first_of("@()[]{}<>=") == std::string_view::npos) return {field};
  return {};
}

/// What was attempted, as far as the program's name or its verb tells; nothing when neither does.
[[nodiscard]] inline std::optional<FileEffect> effect_of(const Message& message) {
  const std::string text = lowered(message.before.substr(0, message.before.find_first_of("'\"/\u2018")));
  const std::string_view program = std::string_view(text).substr(0, text.find(':'));
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), program) != names.end();
  };
  const auto says = [&](std::initializer_list<std::string_view> verbs) {
    return std::any_of(verbs.begin(), verbs.end(),
                       [&](std::string_view verb) { return text.find(verb) != std::string::npos; });
  };
  if (is({"chmod", "chown", "chgrp", "setfattr", "setfacl", "chattr"}) ||
      says({"changing permissions", "changing owner", "changing group", "setting times", "setting attribute",
            "preserving"}))
    return FileEffect::metadata;
  if (is({"rm", "rmdir", "unlink", "shred"}) || says({"cannot remove", "cannot unlink", "failed to remove"}))
    return FileEffect::remove;
  if (says({"symbolic link"})) return FileEffect::create;
  if (is({"mv", "ln", "link", "rename"}) || says({"cannot move", "rename", "hard link"}))
    return FileEffect::rename_link;
  if (is({"truncate"})) return FileEffect::truncate;
  return std::nullopt;
}

/// True when this program, unconfined, could have done that by the ordinary permissions of the file system. Without an
/// effect: written it, or made it. Where its directory is missing too, the nearest one that is there decides.
[[nodiscard]] inline bool caller_could(const std::string& path, std::optional<FileEffect> effect) {
  os::FileFacts file;
  const bool exists = os::stat_path(path, file) == 0;
  if (!exists || effect == FileEffect::remove || effect == FileEffect::rename_link) {
    std::string directory = os::parent_of(path);
    while (directory != "/" && !os::exists(directory)) directory = os::parent_of(directory);
    return os::may_write(directory);
  }
  const int refusal = os::write_refusal(path);
  if (refusal == 0) return true;
  return effect == FileEffect::metadata && refusal == -EACCES && file.owner == os::effective_uid<os::Kernel>();
}

/// True when the policy let the command write there, or what it calls so is a private directory of its own.
[[nodiscard]] inline bool is_granted(const std::string& path, const DenialContext& context) noexcept {
  if (is_within_any(path, sinks)) return true;
  if (is_within_any(path, context.protected_paths)) return false;
  const std::string& workspace = context.read_only_workspace;
  return is_within_any(path, context.writable_roots) ||
         (is_within_any(path, context.private_temp) && (workspace.empty() || !os::is_within(path, workspace)));
}

/// The least that lets `path` be written.
[[nodiscard]] inline std::string grant_for(const std::string& path, const DenialContext& context) {
  if (path.empty()) return {};
  const std::string& workspace = context.read_only_workspace;
  if (!workspace.empty() && os::is_within(path, workspace)) return std::string(WorkspaceWrite::name);
  return os::parent_of(path);
}

[[nodiscard]] inline std::string absolute(std::string_view subject, const DenialContext& context) {
  std::string path(subject);
  if (!path.starts_with('/')) path.insert(0, context.working_directory + "/");
  return path.size() < PATH_MAX ? os::resolved(path) : std::string();
}

/// True when `error`, for `path`, is what this sandbox answers and ordinary permissions do not.
[[nodiscard]] inline bool refused_by_sandbox(const std::string& path, int error, std::optional<FileEffect> effect,
                                             const DenialContext& context) {
  if (path.empty() || is_granted(path, context)) return false;
  os::FileFacts file;
  const bool exists = os::stat_path(path, file) == 0;
  if (error == EACCES) {
    // Where mounts are read-only they answer first, but for what is no file of theirs.
    const auto says_read_only = [](const ErrorWords& words) { return words.error == EROFS; };
    const bool mounts = std::any_of(context.words.begin(), context.words.end(), says_read_only);
    const bool special = exists && !file.regular() && !file.directory();
    if (mounts && !special) return false;
    // A file that can't be executed is refused with the same words.
    if (context.exit_code == 126 && exists && file.regular() && !os::executable(path)) return false;
  }
  if (error == EROFS && exists && !effect)
    return caller_could(path, effect) || caller_could(path, FileEffect::remove) ||
           caller_could(path, FileEffect::metadata);
  return caller_could(path, effect);
}

/// A link or a rename between the two sides of a sandbox is answered with EXDEV, as between two file systems. One of
/// the two is there: without a sandbox a missing one would have been what failed.
[[nodiscard]] inline std::string crossing(const std::vector<std::string>& paths, const DenialContext& context) {
  for (const std::string& outside : paths)
    for (const std::string& inside : paths) {
      if (is_granted(outside, context) || !is_granted(inside, context)) continue;
      os::FileFacts one;
      os::FileFacts other;
      const auto device_of = [](const std::string& path, os::FileFacts& facts) {
        return os::stat_path(path, facts) == 0 || os::stat_path(os::parent_of(path), facts) == 0;
      };
      if (!os::exists(outside) && !os::exists(inside)) continue;
      if (device_of(outside, one) && device_of(inside, other) && one.device == other.device) return outside;
    }
  return {};
}

[[nodiscard]] inline std::string_view error_name(int error) noexcept {
  for (const RefusalWords& refusal : refusal_words)
    if (refusal.error == error) return refusal.name;
  return "";
}

/// Relative names in a message that this sandbox, and ordinary permission, would have let be written where the command
/// began: who says of one that it was refused means another directory. Empty when an absolute path may be what is
/// meant.
[[nodiscard]] inline std::vector<std::string_view> names_elsewhere(const std::vector<std::string_view>& subjects,
                                                                   std::optional<FileEffect> effect,
                                                                   const DenialContext& context) {
  std::vector<std::string_view> names;
  for (std::string_view subject : subjects) {
    const std::string path = absolute(subject, context);
    const bool granted = !path.empty() && is_granted(path, context);
    if (!granted && subject.starts_with('/')) return {};
    if (granted && !subject.starts_with('/') && caller_could(path, effect)) names.push_back(subject);
  }
  return names;
}

/// Where a command may have gone, by its own words.
struct Elsewhere {
  std::string path = {};  ///< that was refused there; empty when it is not known
  bool possible = true;   ///< that the sandbox refused it, and not something that holds for everybody
};

/// Looks for the names in the directories where the command said it would go. Where one of those is off limits to it,
/// but none could have been written by this program, it was not the sandbox.
[[nodiscard]] inline Elsewhere find_elsewhere(const std::vector<std::string_view>& names, int error,
                                              std::optional<FileEffect> effect, const DenialContext& context) {
  Elsewhere result;
  for (const std::string& place : context.went_to) {
    DenialContext there = context;
    there.working_directory = absolute(place, context);
    os::FileFacts facts;
    if (os::stat_path(there.working_directory, facts) < 0 || !facts.directory()) continue;
    for (std::string_view name : names) {
      std::string path = absolute(name, there);
      if (refused_by_sandbox(path, error, effect, context)) return {std::move(path), true};
      if (!path.empty() && !is_granted(path, context)) result.possible = false;
    }
  }
  return result;
}

/// The denial that one message speaks of, if it does.
[[nodiscard]] inline std::optional<Denial> denial_in(const Message& message, int error, const DenialContext& context) {
  if (!stands_for_an_error(message)) return std::nullopt;
  std::vector<std::string_view> subjects = subjects_of(message);
  subjects.resize(std::min<std::size_t>(subjects.size(), 32));
  std::vector<std::string> paths;
  for (std::string_view subject : subjects)
    if (auto path = absolute(subject, context); !path.empty()) paths.push_back(std::move(path));
  const std::optional<FileEffect> effect = effect_of(message);
  Denial denial;
  denial.error = error_name(error);
  if (error == EXDEV) {
    denial.path = crossing(paths, context);
    denial.effect = FileEffect::rename_link;
    if (denial.path.empty()) return std::nullopt;
  } else {
    // "from" and then "to": it is the second that could not be made.
    const auto found = std::find_if(paths.rbegin(), paths.rend(), [&](const std::string& path) {
      return refused_by_sandbox(path, error, effect, context);
    });
    const bool failed = context.exit_code.value_or(0) != 0;
    const std::vector<std::string_view> names = names_elsewhere(subjects, effect, context);
    if (found != paths.rend()) {
      denial.path = *found;
    } else if (!names.empty()) {
      Elsewhere elsewhere = find_elsewhere(names, error, effect, context);
      // Only mounts say EROFS; EACCES is said by the modes of files too.
      if (elsewhere.path.empty() && (!context.command_known || !elsewhere.possible || !failed || error != EROFS))
        return std::nullopt;
      denial.path = std::move(elsewhere.path);
    } else if (!paths.empty() || !failed || (error == EACCES && !is_blank(message.before))) {
      return std::nullopt;
    }
    denial.effect =
        effect.value_or(!denial.path.empty() && !os::exists(denial.path) ? FileEffect::create : FileEffect::write);
  }
  denial.grant = grant_for(denial.path, context);
  return denial;
}

}  // namespace detail

namespace detail {

/// The message about the words that are at `at` in `text`: the line that they stand in, with the line before when that
/// ends with a colon and nothing else is before them, and with the next line that is not blank when their line ends
/// with a colon and that one is an absolute path. So CMake and others wrap what they say.
[[nodiscard]] inline Message message_at(std::string_view text, std::size_t begin, std::size_t line_size, std::size_t at,
                                        std::size_t size) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  std::size_t end = std::max(begin + line_size, at + size);
  std::size_t words = at;
  if (is_blank(text.substr(begin, at - begin)) && begin != 0) {
    const auto last = text.find_last_not_of(blanks, begin - 1);
    if (last != std::string_view::npos && text[last] == ':') {
      const auto newline = text.rfind('\n', last);
      begin = newline == std::string_view::npos ? 0 : newline + 1;
      words = last + 1;
    }
  }
  if (const auto last = text.find_last_not_of(blanks, end - 1); text[last] == ':' && last >= at + size) {
    const auto next = text.find_first_not_of(blanks, end);
    if (next != std::string_view::npos && text[next] == '/') end = std::min(text.find('\n', next), text.size());
  }
  return Message(text.substr(begin, words - begin), text.substr(at + size, end - at - size));
}

}  // namespace detail

/// The denials that `error_text` speaks of, each path once, as far as what it says is true: a path that the policy lets
/// be written, a sink, and what the caller could not have written without a sandbox either are none; an outside path
/// that ordinary permissions allow is one, whatever the exit status was. A message without a path counts only with an
/// exit status that is not 0, and nothing counts without an exit status. A relative name is meant from where the
/// command began. Where it could have been written there, the command went elsewhere: to a directory that its own words
/// name, or else, when the command is known, what it was refused with EROFS is a denial without a path. Looks at the
/// file system, as it is when it is called. Thread-safe. What it can't tell: a command that prints somebody else's
/// message about a path that it could not write either; see Observed.
[[nodiscard]] inline std::vector<Denial> infer_denials(std::string_view error_text, const DenialContext& context) {
  constexpr std::size_t most = 64;
  struct Found {
    std::size_t at;
    Denial denial;
  };
  std::vector<Found> found;
  if (!context.exit_code) return {};
  for (const ErrorWords& words : context.words) {
    std::size_t from = 0;
    while (found.size() < most) {
      const auto at = detail::find_letters(error_text, words.words, from);
      if (at == std::string_view::npos) break;
      const auto newline = error_text.rfind('\n', at);
      const std::size_t begin = at == 0 || newline == std::string_view::npos ? 0 : newline + 1;
      std::string_view rest = error_text.substr(begin);
      const std::string_view line = detail::take_line(rest);
      from = begin + line.size();
      const detail::Message message = detail::message_at(error_text, begin, line.size(), at, words.words.size());
      auto denial = detail::denial_in(message, words.error, context);
      const auto same = [&](const Found& other) { return other.denial.path == denial->path; };
      if (denial && std::none_of(found.begin(), found.end(), same)) found.push_back({at, std::move(*denial)});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  std::vector<Denial> denials;
  for (Found& each : found) denials.push_back(std::move(each.denial));
  return denials;
}

}  // namespace cordon
