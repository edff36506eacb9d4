// SPDX-License-Identifier: BSL-1.0
#pragma once

// Reading denials out of what a command printed. Text is the weakest evidence there is, so every finding says that it
// was inferred.

#include <algorithm>
#include <cordon/effect.hpp>
#include <cordon/os/linux/paths.hpp>
#include <optional>
#include <string>
#include <string_view>
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
  std::string grant = {};  ///< the writable root that would have let it pass; empty when none would

  friend bool operator==(const Denial&, const Denial&) = default;
};

/// What the text classifier needs to know about the run.
struct DenialContext {
  std::vector<std::string_view> signatures = {};  ///< lower case
  std::string working_directory = {};
  std::vector<std::string> writable_roots = {};
};

namespace detail {

[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// The text between quotation marks that ends `text` (or begins it, with `at_start`); empty when there is none.
[[nodiscard]] inline std::string_view quoted(std::string_view text, bool at_start) {
  using Marks = std::pair<std::string_view, std::string_view>;
  for (const auto& [open, close] : {Marks{"\u2018", "\u2019"}, Marks{"'", "'"}, Marks{"\"", "\""}}) {
    if (at_start && text.starts_with(open)) {
      const auto end = text.find(close, open.size());
      if (end != std::string_view::npos) return text.substr(open.size(), end - open.size());
    }
    if (!at_start && text.ends_with(close) && text.size() > close.size()) {
      const std::string_view rest = text.substr(0, text.size() - close.size());
      const auto start = rest.rfind(open);
      if (start != std::string_view::npos) return rest.substr(start + open.size());
    }
  }
  return {};
}

/// The path that a message speaks of, where `before` and `after` are what stands around the words for the errno. Known
/// shapes: "touch: cannot touch 'a b'", "bash: line 1: f", "OSError: [Errno 30] …: '/p'", "fatal: cannot mkdir /p".
/// Empty when it has another shape.
[[nodiscard]] inline std::string path_in(std::string_view before, std::string_view after) {
  const auto trim = [](std::string_view text) {
    while (text.ends_with(' ') || text.ends_with(':') || text.ends_with(']') || text.ends_with('['))
      text.remove_suffix(1);
    while (text.starts_with(' ') || text.starts_with(':') || text.starts_with(',')) text.remove_prefix(1);
    return text;
  };
  const bool errno_first =
      before.find("[Errno ") != std::string_view::npos || before.find("EROFS") != std::string_view::npos;
  before = trim(before);
  after = trim(after);
  if (const auto path = quoted(before, false); !path.empty() && !errno_first) return std::string(path);
  if (const auto path = quoted(after, true); !path.empty()) return std::string(path);
  if (const auto path = quoted(after, false); !path.empty()) return std::string(path);
  if (errno_first) return {};
  const auto colon = before.rfind(": ");
  std::string_view field = colon == std::string_view::npos ? before : before.substr(colon + 2);
  if (field.starts_with('/')) return std::string(field);
  if (const auto word = field.rfind(" /"); word != std::string_view::npos) return std::string(field.substr(word + 1));
  if (field.starts_with("cannot create ")) field.remove_prefix(14);  // dash
  return std::string(field);
}

/// The effect that the verb of a message names; the words of the path are not the message's.
[[nodiscard]] inline FileEffect effect_in(std::string_view message, const std::string& path) {
  const auto says = [&](std::string_view verb) { return message.find(verb) != std::string_view::npos; };
  if (says("cannot remove") || says("cannot unlink") || says("failed to remove")) return FileEffect::remove;
  if (says("cannot move") || says("rename") || says("hard link")) return FileEffect::rename_link;
  if (says("changing permissions") || says("changing owner") || says("changing group") || says("setting times") ||
      says("setting attribute") || says("preserving"))
    return FileEffect::metadata;
  return os::exists(path) ? FileEffect::write : FileEffect::create;
}

}  // namespace detail

/// The denials that `error_text` speaks of, each path once. A message about a path inside a writable root is not one:
/// the sandbox allows that write, so something else refused it.
[[nodiscard]] inline std::vector<Denial> infer_denials(std::string_view error_text, const DenialContext& context) {
  std::vector<Denial> denials;
  while (!error_text.empty()) {
    const auto end = error_text.find('\n');
    std::string_view line = error_text.substr(0, end);
    error_text = end == std::string_view::npos ? std::string_view() : error_text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string lowered = detail::lower(line);
    for (std::string_view signature : context.signatures) {
      const auto at = signature.empty() ? std::string::npos : lowered.find(signature);
      if (at == std::string::npos) continue;
      const std::string_view after = line.substr(at + signature.size());
      if (after.starts_with(" (") && !after.starts_with(" (os error ")) continue;  // ssh: about a login, not a file
      Denial denial;
      denial.error = signature == "permission denied"         ? "EACCES"
                     : signature == "operation not permitted" ? "EPERM"
                                                              : "EROFS";
      denial.path = detail::path_in(line.substr(0, at), after);
      if (denial.path.size() >= PATH_MAX) denial.path.clear();
      const std::string message =
          lowered.substr(0, denial.path.empty() ? at : std::min(at, line.substr(0, at).rfind(denial.path)));
      if (!denial.path.empty())
        denial.path =
            os::resolved(denial.path.starts_with('/') ? denial.path : context.working_directory + "/" + denial.path);
      denial.effect = detail::effect_in(message, denial.path);
      denial.grant = denial.path.empty() ? "" : os::parent_of(denial.path);
      const auto same = [&](const Denial& other) { return other.path == denial.path; };
      const auto allowed = [&](const std::string& root) { return os::is_within(denial.path, root); };
      if (std::none_of(denials.begin(), denials.end(), same) &&
          (denial.path.empty() || std::none_of(context.writable_roots.begin(), context.writable_roots.end(), allowed)))
        denials.push_back(std::move(denial));
      break;
    }
  }
  return denials;
}

}  // namespace cordon
