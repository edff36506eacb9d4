// SPDX-License-Identifier: BSL-1.0
#pragma once

// How a runner and a sandbox speak: the texts in which a runner says that it failed, and those in which a command says
// that it was refused something. A dialect is a type, and what could never be evidence does not compile.
//
//   using MyJail = cordon::Dialect<
//       cordon::DenialSignatures<"read-only file system">,
//       cordon::RunnerFailureRule<cordon::ExitCodes<125>, cordon::Fatal<"my-jail: ">,
//                                 cordon::Informational<"my-jail: older kernel, some rules are missing">>>;
//
// Text is the weakest evidence: where a status channel exists, nothing here is asked about the runner.

#include <algorithm>
#include <array>
#include <concepts>
#include <cordon/detail/overloaded.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace cordon {

namespace detail {
[[nodiscard]] constexpr bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}
}  // namespace detail

/// A string literal as a template argument.
template <std::size_t N>
struct Text {
  char characters[N]{};
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, characters); }
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters, N - 1}; }
};

/// A runner failure rule at run time. All texts are compared without regard to the case of ASCII letters.
struct RunnerRule {
  std::span<const int> exit_codes;                  ///< those that it applies to; empty: every one but 0
  std::span<const std::string_view> fatal;          ///< a line that has one of them is the evidence
  std::span<const std::string_view> informational;  ///< lines that are exactly one of them are passed over
};

/// A dialect at run time: views of texts that outlive it. Made by `Dialect<…>::view()`; one that is put together by
/// hand may hold blank texts, which match nothing.
struct DialectView {
  DialectView(std::span<const std::string_view> denial_texts, std::span<const RunnerRule> runner_rules) noexcept
      : denials(denial_texts), rules(runner_rules) {}

  /// There is no dialect by default: a backend says how it speaks.
  template <class Nothing = void>
  DialectView() {
    static_assert(detail::always_false<Nothing>,
                  "cordon: a Confinement needs the dialect of its backend; write .dialect = MyDialect::view(), where "
                  "using MyDialect = cordon::Dialect<cordon::DenialSignatures<\"...\">>");
  }

  std::span<const std::string_view> denials;  ///< the C library's words for what this sandbox answers
  std::span<const RunnerRule> rules;          ///< tried in this order, and before any denial
};

/// What a command prints when the sandbox refused it something.
template <Text... Signatures>
struct DenialSignatures {
  static_assert((!detail::is_blank(Signatures.view()) && ...),
                "cordon: a blank denial signature would match every text; leave it out of DenialSignatures<…>");
  static constexpr std::array<std::string_view, sizeof...(Signatures)> texts{Signatures.view()...};
};

/// The exit codes with which a runner tells that it failed. None: every code but 0, where the runner has no code of its
/// own.
template <int... Codes>
struct ExitCodes {
  static_assert(((Codes > 0 && Codes < 256) && ...),
                "cordon: an exit code that tells of a failure is 1 to 255; 0 is success, and a signal is no exit code");
  static constexpr std::array<int, sizeof...(Codes)> values{Codes...};
};

/// What a line of a runner that failed has in it.
template <Text... Signatures>
struct Fatal {
  static_assert(sizeof...(Signatures) != 0,
                "cordon: a runner failure rule without a fatal signature would take an exit code for evidence, which a "
                "command can have as well; write Fatal<\"the runner's prefix: \">");
  static_assert((!detail::is_blank(Signatures.view()) && ...),
                "cordon: a blank fatal signature would match every line; leave it out of Fatal<…>");
  static constexpr std::array<std::string_view, sizeof...(Signatures)> texts{Signatures.view()...};
};

/// Whole lines that a runner prints although it goes on.
template <Text... Lines>
struct Informational {
  static_assert((!detail::is_blank(Lines.view()) && ...),
                "cordon: a blank informational line says nothing; leave it out of Informational<…>");
  static constexpr std::array<std::string_view, sizeof...(Lines)> texts{Lines.view()...};
};

namespace detail {
template <class>
inline constexpr bool is_denial_signatures = false;
template <Text... T>
inline constexpr bool is_denial_signatures<DenialSignatures<T...>> = true;
template <class>
inline constexpr bool is_exit_codes = false;
template <int... C>
inline constexpr bool is_exit_codes<ExitCodes<C...>> = true;
template <class>
inline constexpr bool is_fatal = false;
template <Text... T>
inline constexpr bool is_fatal<Fatal<T...>> = true;
template <class>
inline constexpr bool is_informational = false;
template <Text... T>
inline constexpr bool is_informational<Informational<T...>> = true;
}  // namespace detail

/// One way of a runner to fail: with one of these exit codes *and* one of these texts, never with one alone. Source:
/// CLS-01 to CLS-05.
template <class Codes, class FatalTexts, class InformationalLines = Informational<>>
struct RunnerFailureRule {
  static_assert(detail::is_exit_codes<Codes> && detail::is_fatal<FatalTexts> &&
                    detail::is_informational<InformationalLines>,
                "cordon: write RunnerFailureRule<ExitCodes<…>, Fatal<\"…\">, Informational<\"…\">>, in this order");
  static constexpr RunnerRule rule{Codes::values, FatalTexts::texts, InformationalLines::texts};
};

namespace detail {
template <class>
inline constexpr bool is_runner_failure_rule = false;
template <class C, class F, class I>
inline constexpr bool is_runner_failure_rule<RunnerFailureRule<C, F, I>> = true;
}  // namespace detail

/// Denial signatures and runner failure rules. The rules come first whenever both could match.
template <class Denials, class... Rules>
struct Dialect {
  static_assert(detail::is_denial_signatures<Denials> && (detail::is_runner_failure_rule<Rules> && ...),
                "cordon: write Dialect<DenialSignatures<\"…\">, RunnerFailureRule<…>…>, in this order");
  static constexpr std::array<RunnerRule, sizeof...(Rules)> rules{Rules::rule...};
  [[nodiscard]] static DialectView view() noexcept { return {Denials::texts, rules}; }
};

namespace detail {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return lower(c); });
  return result;
}

[[nodiscard]] inline bool same_letters(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Where `needle` begins in `text`, from `from` on, without regard to the case of ASCII letters; npos when it does not.
/// A blank needle is nowhere. Looks at sixteen places at once, for the first and the last character of the needle.
[[nodiscard]] inline std::size_t find_letters(std::string_view text, std::string_view needle,
                                              std::size_t from = 0) noexcept {
  if (is_blank(needle) || text.size() < needle.size()) return std::string_view::npos;
  // For a letter, setting this bit makes both cases one; for other characters a few more candidates are looked at.
  constexpr unsigned char case_bit = 0x20;
  using Block __attribute__((vector_size(16), may_alias, aligned(1))) = unsigned char;
  using Halves __attribute__((vector_size(16))) = unsigned long long;
  const std::size_t last = needle.size() - 1;
  const auto folded = [](char c) { return static_cast<unsigned char>(static_cast<unsigned char>(c) | case_bit); };
  const unsigned char begin = folded(needle.front());
  const unsigned char end = folded(needle.back());
  const auto is_at = [&](std::size_t at) { return same_letters(text.substr(at, needle.size()), needle); };
  std::size_t at = from;
  for (; at + last + sizeof(Block) <= text.size(); at += sizeof(Block)) {
    const Block first_ones = *reinterpret_cast<const Block*>(text.data() + at) | case_bit;
    const Block last_ones = *reinterpret_cast<const Block*>(text.data() + at + last) | case_bit;
    const Halves both = reinterpret_cast<Halves>((first_ones == begin) & (last_ones == end));
    if ((both[0] | both[1]) == 0) continue;
    for (std::size_t i = 0; i != sizeof(Block); ++i)
      if (is_at(at + i)) return at + i;
  }
  for (; at + needle.size() <= text.size(); ++at)
    if (is_at(at)) return at;
  return std::string_view::npos;
}

/// Takes the next line off `text`, without its end.
[[nodiscard]] inline std::string_view take_line(std::string_view& text) noexcept {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace detail

/// The line in which a runner says that it failed, as it stands there; nothing when none does. `exit_code` is empty
/// when a signal ended it, and then there is none. For runners without a status channel only: a command can print such
/// a line. Source: CLS-01 to CLS-05, T-CLS.
[[nodiscard]] inline std::optional<std::string> runner_failure_line(const DialectView& dialect,
                                                                    std::optional<int> exit_code,
                                                                    std::string_view error_text) {
  if (!exit_code || *exit_code == 0) return std::nullopt;
  for (const RunnerRule& rule : dialect.rules) {
    if (!rule.exit_codes.empty() &&
        std::find(rule.exit_codes.begin(), rule.exit_codes.end(), *exit_code) == rule.exit_codes.end())
      continue;
    for (std::string_view rest = error_text; !rest.empty();) {
      const std::string_view line = detail::take_line(rest);
      const auto is_line = [&](std::string_view text) { return detail::same_letters(text, line); };
      const auto is_in = [&](std::string_view text) {
        return detail::find_letters(line, text) != std::string_view::npos;
      };
      if (std::none_of(rule.informational.begin(), rule.informational.end(), is_line) &&
          std::any_of(rule.fatal.begin(), rule.fatal.end(), is_in))
        return std::string(line);
    }
  }
  return std::nullopt;
}

/// The plain rule of the field, which looks at nothing but an exit status and the words (CLS-06): for comparison.
/// cordon's own verdict is `infer_denials`.
[[nodiscard]] inline bool has_denial_signature(const DialectView& dialect, std::optional<int> exit_code,
                                               std::string_view error_text) noexcept {
  if (!exit_code || *exit_code == 0) return false;
  return std::any_of(dialect.denials.begin(), dialect.denials.end(), [&](std::string_view signature) {
    return detail::find_letters(error_text, signature) != std::string_view::npos;
  });
}

}  // namespace cordon
