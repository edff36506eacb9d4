// SPDX-License-Identifier: BSL-1.0
#pragma once

// In which words the C library of a command says why a system call failed. A command speaks the language of its own
// environment, which is not this program's.

#include <fcntl.h>
#include <locale.h>

#include <array>
#include <cerrno>
#include <cordon/dialect.hpp>
#include <cordon/os/linux/fd.hpp>
#include <cordon/os/linux/kernel.hpp>
#include <cordon/process/environment.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon {

/// One way to say that a call failed with `error`.
struct ErrorWords {
  int error = 0;
  std::string words = {};
};

/// The four answers of a sandbox to a call on a file, in the words of every C library that was not translated.
struct RefusalWords {
  int error;
  std::string_view name;
  std::string_view words;
};
inline constexpr std::array<RefusalWords, 4> refusal_words{
    RefusalWords{EROFS, "EROFS", "Read-only file system"}, RefusalWords{EACCES, "EACCES", "Permission denied"},
    RefusalWords{EPERM, "EPERM", "Operation not permitted"}, RefusalWords{EXDEV, "EXDEV", "Invalid cross-device link"}};

namespace detail {

/// What a catalogue of gettext has for `original`; empty when it has nothing, or is none. Source: the format in the
/// manual of GNU gettext, "MO Files".
[[nodiscard]] inline std::string_view translation(std::string_view catalogue, std::string_view original) noexcept {
  bool swapped = false;
  const auto number = [&](std::size_t at) -> std::size_t {
    std::uint32_t value = 0;
    if (at > catalogue.size() || catalogue.size() - at < sizeof value) return 0;
    std::memcpy(&value, catalogue.data() + at, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
  };
  const auto text = [&](std::size_t table, std::size_t index) -> std::string_view {
    const std::size_t length = number(table + index * 8);
    const std::size_t offset = number(table + index * 8 + 4);
    if (offset > catalogue.size() || catalogue.size() - offset < length) return {};
    return catalogue.substr(offset, length);
  };
  constexpr std::size_t magic = 0x950412de;
  swapped = number(0) != magic;
  if (number(0) != magic) return {};
  const std::size_t count = std::min(number(8), catalogue.size() / 16);
  for (std::size_t i = 0; i != count; ++i)
    if (text(number(12), i) == original) return text(number(16), i);
  return {};
}

/// The directories that a locale's messages may be in, the narrowest first: "de_AT.UTF-8@euro" gives de_AT@euro, de_AT,
/// de@euro, de. A name that leads elsewhere gives none.
[[nodiscard]] inline std::vector<std::string> catalogue_names(std::string_view locale) {
  if (locale.find('/') != std::string_view::npos || locale.starts_with('.')) return {};
  const auto cut = [&](char mark) {
    const auto at = locale.find(mark);
    const std::string_view part = at == std::string_view::npos ? std::string_view() : locale.substr(at);
    locale = locale.substr(0, at);
    return std::string(part);
  };
  const std::string modifier = cut('@');
  (void)cut('.');
  const std::string country = cut('_');
  const std::string language(locale);
  std::vector<std::string> names;
  for (const std::string& name : {language + country + modifier, language + country, language + modifier, language})
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

/// The languages that a program started in `environment` speaks, the first that has a translation before the others.
/// Empty: its texts are not translated. Source: setlocale(3), gettext(3).
[[nodiscard]] inline std::vector<std::string> languages_of(const std::vector<std::string>& environment) {
  std::string_view locale;
  for (std::string_view name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = process::lookup(environment, name);
    if (value == nullptr || *value == 0) continue;
    locale = value;
    break;
  }
  if (locale.empty() || locale == "C" || locale == "POSIX") return {};
  std::vector<std::string> languages;
  if (const char* list = process::lookup(environment, "LANGUAGE"); list != nullptr)
    for (std::string_view rest = list; !rest.empty();) {
      const auto end = rest.find(':');
      if (end != 0) languages.emplace_back(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  languages.emplace_back(locale);
  return languages;
}

inline constexpr std::array<std::string_view, 4> language_names{"LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"};

using LocaleHandle = std::unique_ptr<std::remove_pointer_t<locale_t>, decltype(&::freelocale)>;

}  // namespace detail

/// The variables of an environment that `words_for_refusals` looks at.
[[nodiscard]] inline std::vector<std::string> language_variables(const std::vector<std::string>& environment) {
  std::vector<std::string> found;
  for (std::string_view name : detail::language_names)
    if (const char* value = process::lookup(environment, name))
      found.push_back(std::string(name).append("=").append(value));
  return found;
}

/// How a command started in `environment` says each of `refusal_words`: in English, which many programs speak whatever
/// their locale is, and in its own language, where the system has that locale and a catalogue for it. Reads files;
/// changes no locale of this program. Thread-safe. A program with catalogues elsewhere is not covered.
[[nodiscard]] inline std::vector<ErrorWords> words_for_refusals(const std::vector<std::string>& environment) {
  using K = os::Kernel;
  std::vector<ErrorWords> found;
  const auto add = [&](int error, std::string_view words) {
    const auto same = [&](const ErrorWords& other) { return detail::same_letters(other.words, words); };
    if (!detail::is_blank(words) && std::none_of(found.begin(), found.end(), same))
      found.push_back({error, std::string(words)});
  };
  for (const RefusalWords& refusal : refusal_words) add(refusal.error, refusal.words);

  const std::vector<std::string> languages = detail::languages_of(environment);
  if (languages.empty()) return found;
  // A locale that the system does not have is no locale: such a program speaks English.
  const detail::LocaleHandle locale(::newlocale(LC_MESSAGES_MASK | LC_CTYPE_MASK, languages.back().c_str(), nullptr),
                                    &::freelocale);
  if (!locale) return found;
  // In its own character set, as it prints them.
  for (const RefusalWords& refusal : refusal_words) add(refusal.error, ::strerror_l(refusal.error, locale.get()));
  for (const std::string& language : languages)
    for (const std::string& name : detail::catalogue_names(language))
      for (const char* directory : {"/usr/share/locale/", "/usr/share/locale-langpack/"}) {
        const os::Fd file(os::open_file<K>((directory + name + "/LC_MESSAGES/libc.mo").c_str(), O_RDONLY));
        if (!file) continue;
        const std::string catalogue = os::read_rest<K>(file.get(), std::size_t{1} << 24U);
        for (const RefusalWords& refusal : refusal_words)
          add(refusal.error, detail::translation(catalogue, refusal.words));
      }
  return found;
}

}  // namespace cordon
