// SPDX-License-Identifier: BSL-1.0
#pragma once

// Text that a model wrote, made fit to be shown to a human. What is shown stands for one text only: what a screen would
// act on, hide or reorder is written out, and a backslash is doubled, so that nothing imitates what is written out.
// This governs what is seen, not whether it is understood: letters that look alike are pointed out, no more.

#include <algorithm>
#include <charconv>
#include <cordon/approval/request.hpp>
#include <cordon/detail/characters.hpp>
#include <cordon/detail/hex.hpp>
#include <cordon/process/environment.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace detail {

/// Longer runs are shown as a number: nothing is pushed out of sight.
inline constexpr std::size_t most_spaces = 8;
/// More on one character are written out.
inline constexpr std::size_t most_marks = 2;
/// Behind one word.
inline constexpr std::size_t most_listed = 8;

/// What is shown as it is, besides ASCII.
enum class Letters { all, left_to_right, none };

struct Neutral {
  std::string text;
  bool escaped = false;                     ///< not as it was written
  std::vector<std::uint32_t> foreign = {};  ///< the first that are outside ASCII and shown as they are, each once
  bool more_foreign = false;
};

inline void append_code_point(std::string& out, std::uint32_t number) {
  char digits[8];
  out += "\\u{";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
  out += '}';
}

/// `text` on one line. `quote` gets a backslash, unless it is 0.
[[nodiscard]] inline Neutral neutralised(std::string_view text, Letters letters, char quote = 0) {
  Neutral result;
  std::string& out = result.text;
  const auto escape = [&](std::string_view escaped) {
    out += escaped;
    result.escaped = true;
  };
  std::size_t marks_allowed = 0;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::uint32_t number = length == 0 ? 0 : code_point(text, length);
    const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t marks_before = std::exchange(marks_allowed, 0);
    if (length == 0) {
      escape("\\x");
      append_hex(out, static_cast<unsigned char>(text.front()));
    } else if (spaces > most_spaces) {
      escape("\\{" + std::to_string(spaces) + " spaces}");
      text.remove_prefix(spaces - 1);
    } else if (number == '\n') {
      escape("\\n");
    } else if (number == '\r') {
      escape("\\r");
    } else if (number == '\t') {
      escape("\\t");
    } else if (number < 0x20 || number == 0x7f) {
      escape("\\x");
      append_hex(out, static_cast<unsigned char>(number));
    } else if (number == '\\' || (quote != 0 && number == static_cast<unsigned char>(quote))) {
      escape("\\");
      out += text.front();
    } else if (number < 0x80) {
      out += text.front();
      if (number != ' ') marks_allowed = most_marks;
      if (number == ' ' && spaces > 1) {
        out.append(spaces - 1, ' ');
        text.remove_prefix(spaces - 1);
      }
    } else {
      const bool mark = is_among(marks, number);
      if (letters == Letters::none || is_among(not_to_be_seen, number) || (mark && marks_before == 0) ||
          (letters == Letters::left_to_right && is_among(right_to_left, number))) {
        result.escaped = true;
        append_code_point(out, number);
      } else {
        out += text.substr(0, length);
        marks_allowed = mark ? marks_before - 1 : most_marks;
        const bool listed = std::find(result.foreign.begin(), result.foreign.end(), number) != result.foreign.end();
        if (!listed && result.foreign.size() == most_listed)
          result.more_foreign = true;
        else if (!listed)
          result.foreign.push_back(number);
      }
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

[[nodiscard]] inline std::string word(std::string_view text, Letters letters, std::string_view plain_signs) {
  const auto plain = [&](char c) {
    const char lower = static_cast<char>(static_cast<unsigned char>(c) | 0x20U);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || plain_signs.find(c) != std::string_view::npos;
  };
  Neutral neutral = neutralised(text, letters, '\'');
  if (neutral.escaped)
    neutral.text = "$'" + neutral.text + "'";
  else if (text.empty() || !std::all_of(text.begin(), text.end(), plain))
    neutral.text = "'" + neutral.text + "'";
  if (neutral.foreign.empty()) return std::move(neutral.text);
  neutral.text += " [not ASCII:";
  for (const std::uint32_t number : neutral.foreign) {
    neutral.text += ' ';
    append_code_point(neutral.text, number);
  }
  if (neutral.more_foreign) neutral.text += " and others";
  neutral.text += ']';
  return std::move(neutral.text);
}

inline constexpr std::string_view plain_signs = "_@%+=:,./-";

/// The name of a program or a tool: what is not ASCII is written out. With a sign like that of an assignment it is
/// quoted, since a shell would take it for one.
[[nodiscard]] inline std::string strict_word(std::string_view text) {
  return word(text, Letters::none, "_@%+:,./-");
}

}  // namespace detail

/// `text` on one line. As it was: ASCII that prints, and letters, signs and ideographs of any script, with up to two
/// marks each. Written out: `\n`, `\r`, `\t` and `\\`; `\x1b` for other control characters of ASCII and for bytes that
/// are no UTF-8; `\u{202e}` for other control and format characters, what is invisible or private, spaces but the plain
/// one, and marks that have nothing to stand on; `\{40 spaces}` for more than eight spaces. No two texts look the same.
[[nodiscard]] inline std::string shown(std::string_view text) {
  return detail::neutralised(text, detail::Letters::all).text;
}

/// One word of a command, or a path, so that its ends are seen: as it is, `'in quotes'`, or `$'with \n written out'` as
/// by `shown`; `\'` is a quote in it. Scripts that are written from right to left are written out. Behind a word with
/// letters outside ASCII is said which they are: `[not ASCII: \u{430}]`. A bracket that is part of a word is in quotes.
[[nodiscard]] inline std::string shown_word(std::string_view text) {
  return detail::word(text, detail::Letters::left_to_right, detail::plain_signs);
}

/// A command, each word as by `shown_word`, with all that is not ASCII written out in the program's name. No two argvs
/// look the same.
[[nodiscard]] inline std::string shown_argv(const std::vector<std::string>& argv) {
  std::string line;
  for (std::size_t i = 0; i != argv.size(); ++i) {
    if (i != 0) line += ' ';
    line += i == 0 ? detail::strict_word(argv[i]) : shown_word(argv[i]);
  }
  return line;
}

namespace detail {

/// Fields on lines that are never longer than a screen is wide, so that no field begins where a label does.
///
/// A line that goes on has `|` before what follows, directly: nothing but the break is added, and no space is hidden at
/// the end of a line. Everything outside ASCII counts as two columns, which is the most that any screen gives it.
class Fields {
 public:
  static constexpr std::size_t least_columns = 40;

  explicit Fields(std::size_t columns)
      : room_(std::max(columns, least_columns) - margin - 1) {}  // some screens wrap when the last column is filled

  /// `text` must have been neutralised. An empty label: one more of what the field before it has.
  void add(std::string_view label, std::string_view text) {
    std::string line(label);
    line.resize(margin, ' ');
    while (true) {
      const std::size_t cut = fitting(text);
      lines_.push_back(line.append(text.substr(0, cut)));
      text.remove_prefix(cut);
      if (text.empty()) return;
      line.assign(margin - 1, ' ');
      line += '|';
    }
  }

  template <class Range, class Show>
  void add_each(std::string_view label, const Range& entries, Show show) {
    for (const auto& entry : entries) {
      add(label, show(entry));
      label = {};
    }
  }

  [[nodiscard]] std::vector<std::string> take() noexcept { return std::move(lines_); }

 private:
  static constexpr std::size_t margin = 13;

  /// The length of what is not taken apart: a character with its marks, or all of what stands for one.
  [[nodiscard]] static std::size_t unit_length(std::string_view text) noexcept {
    if (text.starts_with("\\u{") || text.starts_with("\\{")) return std::min(text.find('}'), text.size() - 1) + 1;
    if (text.starts_with('\\')) return std::min<std::size_t>(text.starts_with("\\x") ? 4 : 2, text.size());
    std::size_t length = std::max<std::size_t>(character_length(text), 1);
    while (const std::size_t next = character_length(text.substr(length))) {
      if (!is_among(marks, code_point(text.substr(length), next))) break;
      length += next;
    }
    return length;
  }

  [[nodiscard]] static std::size_t width(std::string_view unit) noexcept {
    std::size_t columns = 0;
    for (const char c : unit) {
      const auto byte = static_cast<unsigned char>(c);
      columns += byte < 0x80 ? 1 : byte >= 0xc0 ? 2 : 0;
    }
    return columns;
  }

  /// How much of `text` goes on this line: up to a line break in it, else what there is room for, rather between words.
  [[nodiscard]] std::size_t fitting(std::string_view text) const noexcept {
    std::size_t at = 0;
    std::size_t columns = 0;
    std::size_t between_words = 0;
    while (at != text.size()) {
      const std::size_t length = unit_length(text.substr(at));
      const std::string_view unit = text.substr(at, length);
      columns += width(unit);
      if (columns > room_ && at != 0) break;
      // No run of spaces is so long that it begins before this and ends behind the line.
      if (unit == " " && columns > room_ / 2 && text[at - 1] != ' ') between_words = at;
      at += length;
      if (unit == "\\n" && at != text.size() && text.substr(at, 2) != "\\n" && text[at] != '\'') return at;
    }
    return at == text.size() || between_words == 0 ? at : between_words;
  }

  std::size_t room_;
  std::vector<std::string> lines_;
};

[[nodiscard]] inline std::string shown_variable(std::string_view entry) {
  const std::size_t equals = std::min(entry.find('='), entry.size());
  const std::string_view name = entry.substr(0, equals);
  const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
  const std::string begin = strict_word(name) + "=";
  if (process::injects_code(name)) return begin + shown_word(value) + " [can make a program run other code]";
  return begin + (process::looks_secret(name, value) ? "[masked]" : shown_word(value));
}

[[nodiscard]] inline std::string shown_input(const process::Input& input) {
  if (input.content()) return shown_word(*input.content());
  return input.piped() ? "[what the program has open, which is not known]" : "[none]";
}

}  // namespace detail

/// All that a human needs to see of a request, on lines of at most `columns` columns, but never less than 40. The words
/// of the model are marked as such. Variables with secrets have their values masked, unless they can make a program run
/// other code. Notes in brackets are not part of what was asked, except in what the model says.
[[nodiscard]] inline std::vector<std::string> describe(const ApprovalRequest& request, std::size_t columns = 80) {
  const Action& action = request.action();
  const PolicyScope& scope = action.scope();
  detail::Fields fields(columns);
  fields.add("digest", action.digest().substr(0, 16));
  fields.add("tool", detail::strict_word(request.tool()));
  fields.add("mode", std::string(action.mode().name()) +
                         (action.mode().confined() ? "" : " [NOT CONFINED: it can change everything that you can]"));
  fields.add("workspace", shown_word(scope.workspace_root));
  action.mode().visit([&](ReadOnly) { fields.add("can write", "[nothing]"); },
                      [&](WorkspaceWrite) {
                        fields.add("can write", shown_word(scope.workspace_root));
                        fields.add_each("", scope.extra_roots, shown_word);
                        fields.add_each("but not", scope.protected_paths, shown_word);
                      },
                      [&](DangerFullAccess) { fields.add("can write", "[everything]"); });
  std::string_view label = "limits";
  scope.resources.for_each([&](Resource resource, std::uint64_t value) {
    fields.add(std::exchange(label, {}), std::string(name(resource)) + "=" + std::to_string(value));
  });
  fields.add_each("sets", action.environment().set, detail::shown_variable);
  if (!action.environment().removed.empty()) {
    std::string names;
    for (const std::string& removed : action.environment().removed)
      names += (names.empty() ? "" : " ") + detail::strict_word(removed);
    fields.add("without", names);
  }
  fields.add("input", detail::shown_input(action.options().input));
  if (request.reason().empty())
    fields.add("reason", "[none given]");
  else
    fields.add("model says", shown(request.reason()));
  fields.add("directory", shown_word(action.working_directory()));
  fields.add("program",
             action.executable().path.empty() ? "[not found]" : detail::strict_word(action.executable().path));
  fields.add("command", shown_argv(action.command().elements()));
  return fields.take();
}

}  // namespace cordon
