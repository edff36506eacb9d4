// SPDX-License-Identifier: BSL-1.0
#pragma once

// Reads JSON that may come from anybody: strict, bounded in depth and memory, and without a copy of what has no escapes
// in it. Writes strings. See docs/decisions/0010 for why this is not a library's.

#include <algorithm>
#include <charconv>
#include <cordon/detail/hex.hpp>
#include <cordon/detail/utf8.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cordon::detail {

/// One value and, right behind it, what is in it.
struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };
  Kind kind = Kind::null;
  std::uint32_t end = 0;       ///< the number of the node behind its last descendant
  std::int64_t integer = 0;    ///< also 0 and 1 of a boolean
  std::string_view text = {};  ///< of a string; of a real, as it was written
};

/// A value of a document that must outlive it. Members come in their order.
class JsonValue {
 public:
  using Kind = JsonNode::Kind;

  JsonValue(const std::vector<JsonNode>& nodes, std::uint32_t at) noexcept : nodes_(&nodes), at_(at) {}

  [[nodiscard]] Kind kind() const noexcept { return node().kind; }
  [[nodiscard]] bool is(Kind kind) const noexcept { return node().kind == kind; }
  /// Of a string.
  [[nodiscard]] std::string_view text() const noexcept { return node().text; }
  /// Of an integer or a boolean.
  [[nodiscard]] std::int64_t integer() const noexcept { return node().integer; }

  /// Of an array or an object: calls `visit` for each element, or for each key and value, while that returns true.
  template <class Visit>
  bool each(Visit&& visit) const {
    for (std::uint32_t i = at_ + 1; i < node().end;) {
      const JsonValue value(*nodes_, i);
      i = value.node().end;
      if constexpr (std::is_invocable_v<Visit&, std::string_view, JsonValue>) {
        const JsonValue member(*nodes_, i);
        i = member.node().end;
        if (!visit(value.text(), member)) return false;
      } else if (!visit(value)) {
        return false;
      }
    }
    return true;
  }

  /// The member of an object.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const {
    std::optional<JsonValue> found;
    if (!is(Kind::object)) return found;
    each([&](std::string_view name, JsonValue value) {
      if (name == key) found = value;
      return !found;
    });
    return found;
  }

 private:
  [[nodiscard]] const JsonNode& node() const noexcept { return (*nodes_)[at_]; }
  const std::vector<JsonNode>* nodes_;
  std::uint32_t at_;
};

/// A text as JSON. One can be used again and again, and keeps its memory. Source: RFC 8259, made stricter: no key twice
/// in an object, no lone surrogate, no integer that 64 bits don't hold.
class JsonDocument {
 public:
  static constexpr std::size_t max_depth = 64;
  static constexpr std::size_t max_nodes = std::size_t{1} << 21U;

  /// False when it is not exactly one JSON value; then `problem` and `offset` tell why and where. What the document
  /// gives out points into `text`.
  ///
  /// JavaScript writes half of a surrogate pair as an escape; with `lone_surrogates` that is read as U+FFFD.
  [[nodiscard]] bool parse(std::string_view text, bool lone_surrogates = false) {
    text_ = text;
    lone_surrogates_ = lone_surrogates;
    at_ = 0;
    nodes_.clear();
    decoded_.clear();
    problem_ = {};
    skip_space();
    if (!value(0)) return false;
    skip_space();
    return at_ == text_.size() || fail("something follows the value");
  }

  [[nodiscard]] JsonValue root() const noexcept { return {nodes_, 0}; }
  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t offset() const noexcept { return at_; }

 private:
  using Kind = JsonNode::Kind;

  bool fail(std::string_view problem) noexcept {
    problem_ = problem;
    return false;
  }
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  /// Room for one more node; its number, or nothing.
  bool add(Kind kind) {
    if (nodes_.size() == max_nodes) return fail("it has too many values");
    nodes_.push_back({kind, static_cast<std::uint32_t>(nodes_.size() + 1)});
    return true;
  }

  bool value(std::size_t depth) {
    switch (peek()) {
      case '{':
      case '[':
        return depth < max_depth ? container(depth) : fail("it is nested too deeply");
      case '"':
        return add(Kind::string) && string(nodes_.size() - 1);
      case 't':
        return word("true", Kind::boolean, 1);
      case 'f':
        return word("false", Kind::boolean, 0);
      case 'n':
        return word("null", Kind::null, 0);
      default:
        return number();
    }
  }

  bool word(std::string_view spelled, Kind kind, int integer) {
    if (text_.substr(at_, spelled.size()) != spelled) return fail("there is no such value");
    at_ += spelled.size();
    if (!add(kind)) return false;
    nodes_.back().integer = integer;
    return true;
  }

  bool container(std::size_t depth) {
    const bool object = text_[at_++] == '{';
    const char last = object ? '}' : ']';
    const std::size_t self = nodes_.size();
    if (!add(object ? Kind::object : Kind::array)) return false;
    skip_space();
    if (peek() == last) {
      ++at_;
      return true;
    }
    while (true) {
      if (object) {
        if (peek() != '"') return fail("a key is missing");
        if (!add(Kind::string) || !string(nodes_.size() - 1)) return false;
        skip_space();
        if (peek() != ':') return fail("a colon is missing");
        ++at_;
        skip_space();
      }
      if (!value(depth + 1)) return false;
      skip_space();
      const char next = peek();
      if (next != ',' && next != last) return fail(at_ == text_.size() ? "it has no end" : "a comma is missing");
      ++at_;
      if (next == last) break;
      skip_space();
    }
    nodes_[self].end = static_cast<std::uint32_t>(nodes_.size());
    return !object || keys_differ(self);
  }

  bool keys_differ(std::size_t object) {
    const JsonValue self(nodes_, static_cast<std::uint32_t>(object));
    std::string_view few[16];
    std::size_t count = 0;
    const bool differ = self.each([&](std::string_view key, JsonValue) {
      if (count == std::size(few)) return false;
      for (std::size_t i = 0; i != count; ++i)
        if (few[i] == key) return false;
      few[count++] = key;
      return true;
    });
    if (differ) return true;
    std::vector<std::string_view> keys;
    self.each([&](std::string_view key, JsonValue) {
      keys.push_back(key);
      return true;
    });
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) == keys.end() || fail("a key is there twice");
  }

  /// True when none of eight bytes ends a string, begins an escape or is not ASCII. Each test leaves the high bit of a
  /// byte set that it found; a borrow from a byte below can only make it find too much.
  [[nodiscard]] static bool plain(const char* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    constexpr std::uint64_t each = 0x0101010101010101ULL;
    const std::uint64_t quote = word ^ (each * '"');
    const std::uint64_t escape = word ^ (each * '\\');
    return (((quote - each) | (escape - each) | (word - each * 0x20) | word) & (each * 0x80)) == 0;
  }

  bool string(std::size_t node) {
    const std::size_t begin = ++at_;
    std::size_t kept = begin;  // what is before is decoded already
    std::optional<std::size_t> decoded;
    while (true) {
      while (at_ + 8 <= text_.size() && plain(text_.data() + at_)) at_ += 8;
      if (at_ == text_.size()) return fail("a string has no end");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20) return fail("a control character is not escaped");
      if (c >= 0x80) {
        const std::size_t length = character_length(text_.substr(at_));
        if (length == 0) return fail("it is not UTF-8");
        at_ += length;
      } else if (c != '\\') {
        ++at_;
      } else {
        if (!decoded) {
          // All of it fits, so that what was given out stays where it is.
          if (decoded_.capacity() < text_.size()) {
            if (!decoded_.empty()) return fail("it is too long");
            decoded_.reserve(text_.size());
          }
          decoded = decoded_.size();
        }
        decoded_.append(text_.substr(kept, at_ - kept));
        if (!escape()) return false;
        kept = at_;
      }
    }
    nodes_[node].text = text_.substr(begin, at_ - begin);
    if (decoded) {
      decoded_.append(text_.substr(kept, at_ - kept));
      nodes_[node].text = std::string_view(decoded_).substr(*decoded);
    }
    ++at_;
    return true;
  }

  bool escape() {
    ++at_;
    const char c = peek();
    if (c == 'u') {
      ++at_;
      std::uint32_t point = 0;
      if (!four_digits(point)) return false;
      if (point >= 0xd800 && point < 0xe000 && !pair(point)) return false;
      append_character(point);
      return true;
    }
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    const std::size_t which = c == '\0' ? std::string_view::npos : names.find(c);
    if (which == std::string_view::npos) return fail("there is no such escape");
    decoded_ += meant[which];
    ++at_;
    return true;
  }

  /// Makes a character of the surrogate that was read and the one that follows.
  bool pair(std::uint32_t& point) {
    const std::size_t behind = at_;
    if (point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      std::uint32_t low = 0;
      if (!four_digits(low)) return false;
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10U) + (low - 0xdc00);
        return true;
      }
    }
    at_ = behind;
    point = 0xfffd;
    return lone_surrogates_ || fail("half a surrogate pair");
  }

  bool four_digits(std::uint32_t& value) {
    for (int i = 0; i != 4; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return fail("an escape has fewer than four digits");
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  void append_character(std::uint32_t point) {
    const auto byte = [&](std::uint32_t value) { decoded_ += static_cast<char>(value); };
    if (point < 0x80) {
      byte(point);
    } else if (point < 0x800) {
      byte(0xc0U | point >> 6U);
      byte(0x80U | (point & 0x3fU));
    } else if (point < 0x10000) {
      byte(0xe0U | point >> 12U);
      byte(0x80U | (point >> 6U & 0x3fU));
      byte(0x80U | (point & 0x3fU));
    } else {
      byte(0xf0U | point >> 18U);
      byte(0x80U | (point >> 12U & 0x3fU));
      byte(0x80U | (point >> 6U & 0x3fU));
      byte(0x80U | (point & 0x3fU));
    }
  }

  bool digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ != begin || fail("there is no such value");
  }

  /// -0 and everything with a fraction or an exponent is a real: no integer of a log is written so.
  bool number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const bool zero = peek() == '0';
    if (!digits()) return false;
    const std::string_view whole = text_.substr(begin, at_ - begin);
    if (zero && whole.size() > (whole.front() == '-' ? 2U : 1U)) return fail("a number begins with 0");
    bool real = whole == "-0";
    if (peek() == '.') {
      real = true;
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    if (!add(real ? Kind::real : Kind::integer)) return false;
    nodes_.back().text = text_.substr(begin, at_ - begin);
    if (real) return true;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), nodes_.back().integer);
    return error == std::errc() || fail("a number is too large to be kept");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<JsonNode> nodes_;
  std::string decoded_;
  std::string_view problem_;
  bool lone_surrogates_ = false;
};

/// Appends a string as JSON. It must be UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t kept = 0;
  for (std::size_t i = 0; i != text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) continue;
    out.append(text.substr(kept, i - kept));
    kept = i + 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else {
      out += "\\u00";
      append_hex(out, c);
    }
  }
  out.append(text.substr(kept));
  out += '"';
}

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace cordon::detail
