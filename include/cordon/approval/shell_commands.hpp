// SPDX-License-Identifier: BSL-1.0
#pragma once

// What a shell script runs, read without running it: for the few scripts where that can be told for certain.

#include <algorithm>
#include <cordon/detail/utf8.hpp>
#include <cordon/process/environment.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

namespace detail {

using Commands = std::vector<std::vector<std::string>>;

/// A format of printf that puts the number of characters so far into a variable.
[[nodiscard]] inline bool counts_output(std::string_view format) noexcept {
  for (std::size_t at = format.find('%'); at != std::string_view::npos; at = format.find('%', at + 1)) {
    at = format.find_first_not_of("-+ #'0123456789.*hjlLqtz", at + 1);
    if (at == std::string_view::npos) break;
    if (format[at] == 'n') return true;
  }
  return false;
}

/// Builtins that change nothing but their own exit status and output. All others may make a later command of the same
/// script another one: by a directory, a variable, an alias, a function, an option.
[[nodiscard]] inline bool changes_later_commands(const std::vector<std::string>& command) {
  constexpr std::string_view changing =
      ". alias bind builtin caller cd chdir command compgen complete compopt declare dirs disown enable eval exec "
      "export fc getopts hash help history let local mapfile popd pushd read readarray readonly set shift shopt source "
      "trap typeset ulimit umask unalias unset wait";
  if (command.front() == "printf")
    return command.size() > 1 &&
           (command[1].starts_with("-v") || std::any_of(command.begin() + 1, command.end(), counts_output));
  return process::detail::listed(command.front(), changing);
}

/// Reads the grammar that bash and dash have in common, and only so much of it that both mean the same by it. Whatever
/// else there is makes the whole script unreadable.
class ShellReader {
 public:
  explicit ShellReader(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] std::optional<Commands> read() {
    skip_lines();
    while (simple_command()) {
      if (at_end()) return std::move(commands_);
      if (accept("&&") || accept("||") || accept("|")) {
        skip_lines();
      } else if (accept(";") || peek() == '\n') {
        skip_lines();
        if (at_end()) return std::move(commands_);
      } else {
        break;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool at_end(std::size_t ahead = 0) const noexcept { return at_ + ahead >= text_.size(); }
  /// NUL at the end, which no script holds.
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept { return at_end(ahead) ? '\0' : text_[at_ + ahead]; }

  [[nodiscard]] static bool any_of(char c, std::string_view characters) noexcept {
    return characters.find(c) != std::string_view::npos;
  }
  /// Whether a word can't go on here, and no redirection begins.
  [[nodiscard]] bool at_boundary(std::size_t ahead = 0) const noexcept {
    return at_end(ahead) || any_of(peek(ahead), " \t\n;|&");
  }

  bool accept(std::string_view spelled) noexcept {
    if (!text_.substr(at_).starts_with(spelled)) return false;
    at_ += spelled.size();
    return true;
  }

  /// A line that ends in a backslash goes on in the next one; only where that joins no two words.
  void skip_blanks() noexcept {
    while (peek() == ' ' || peek() == '\t') {
      ++at_;
      while (peek() == '\\' && peek(1) == '\n' && !at_end(2)) at_ += 2;
    }
  }

  void skip_lines() noexcept {
    skip_blanks();
    while (peek() == '\n') {
      ++at_;
      skip_blanks();
    }
  }

  bool simple_command() {
    std::vector<std::string> words;
    bool closed = false;
    while (true) {
      skip_blanks();
      if (at_end() || any_of(peek(), "\n;|")) break;
      if (peek() == '&') {
        if (peek(1) != '>') break;
        // A shell without this spelling ends the command at the '&', and begins another with what follows.
        closed = true;
        ++at_;
        if (!redirection(false)) return false;
      } else if (any_of(peek(), "<>")) {
        if (!redirection(true)) return false;
      } else {
        Word word;
        if (closed || !read_word(word)) return false;
        if (any_of(peek(), "<>") && !at_end()) {
          const bool number = word.text.find_first_not_of("0123456789") == std::string::npos;
          if (word.braces) return false;  // names a variable for the descriptor
          if (number && (word.quoted || word.text.size() != 1)) return false;
          if (number) continue;
        }
        words.push_back(std::move(word.text));
      }
    }
    if (words.empty() || !names_a_program(words.front())) return false;
    commands_.push_back(std::move(words));
    return true;
  }

  /// From and to the null device, and from one descriptor to another.
  bool redirection(bool descriptors) noexcept {
    ++at_;
    const bool duplicates = descriptors && accept("&");
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (!duplicates) return accept("/dev/null") && at_boundary();
    if (!is_digit(peek())) return false;
    ++at_;
    return at_boundary();
  }

  struct Word {
    std::string text = {};
    bool quoted = false;
    bool braces = false;
  };

  bool read_word(Word& word) {
    const std::size_t begin = at_;
    while (!at_boundary() && !any_of(peek(), "<>")) {
      const char c = peek();
      if (any_of(c, "()$`*?}")) return false;
      if (c == '\'' || c == '"') {
        word.quoted = true;
        if (!(c == '"' ? double_quoted(word.text) : single_quoted(word.text))) return false;
      } else if (c == '\\') {
        word.quoted = true;
        ++at_;
        if (at_end() || peek() == '\n' || !character(word.text)) return false;
      } else if (c == '{') {
        word.braces = true;
        if (!braces(word.text)) return false;
      } else if ((c == '[' || c == ']') && (at_ != begin || !at_boundary(1))) {
        return false;
      } else if (c == '#' && at_ == begin) {
        return false;
      } else if (c == '~' && (word.text.empty() || any_of(word.text.back(), "=:"))) {
        return false;
      } else if (!character(word.text)) {
        return false;
      }
    }
    return true;
  }

  /// One that a shell has no use of its own for.
  bool character(std::string& text) {
    const std::size_t length = character_length(text_.substr(at_));
    const char c = peek();
    const bool control = (static_cast<unsigned char>(c) < 0x20 && !any_of(c, "\t\n\r")) || c == '\x7f';
    if (length == 0 || control) return false;
    text.append(text_.substr(at_, length));
    at_ += length;
    return true;
  }

  bool single_quoted(std::string& text) {
    for (++at_; !at_end() && peek() != '\'';)
      if (!character(text)) return false;
    return accept("'");
  }

  bool double_quoted(std::string& text) {
    for (++at_; !at_end() && peek() != '"';) {
      if (peek() == '$' || peek() == '`') return false;
      if (peek() == '\\') {
        if (peek(1) == '\n') return false;
        if (!at_end(1) && any_of(peek(1), "$`\"\\")) ++at_;
      }
      if (!character(text)) return false;
    }
    return accept("\"");
  }

  /// Braces around nothing that could make them a list or a sequence.
  bool braces(std::string& text) {
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return false;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (!std::all_of(inside.begin(), inside.end(), [](char c) { return is_name(c) || c == '-' || c == '/'; }))
      return false;
    text.append(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return true;
  }

  [[nodiscard]] static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  [[nodiscard]] static bool is_name(char c) noexcept {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  /// Not a word of the grammar, an assignment or a job; however it is quoted.
  [[nodiscard]] static bool names_a_program(std::string_view word) noexcept {
    constexpr std::string_view reserved =
        "! { } [[ ]] if then else elif fi case in esac for select while until do done function time coproc";
    return !word.empty() && word.front() != '%' && word.find('=') == std::string_view::npos &&
           !process::detail::listed(word, reserved);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Commands commands_;
};

}  // namespace detail

/// Every simple command of what bash or dash is given with -c, in the order in which they are written, as the words
/// that its program gets. Nothing when that can't be told for certain: when the script has any expansion,
/// substitution, compound command, function, assignment, comment, background command or here-document, writes or reads
/// a file other than /dev/null, is no valid script, or when a builtin in it may change what another of its commands
/// means.
///
/// Holds for a shell that begins with no function, alias or option of its own, in the C locale or one of UTF-8. Which
/// of the commands run, and what is at their names, it does not say.
[[nodiscard]] inline std::optional<std::vector<std::vector<std::string>>> shell_commands(std::string_view script) {
  std::optional<detail::Commands> commands = detail::ShellReader(script).read();
  if (commands && commands->size() > 1 &&
      std::any_of(commands->begin(), commands->end(), detail::changes_later_commands))
    return std::nullopt;
  return commands;
}

}  // namespace cordon
