// SPDX-License-Identifier: BSL-1.0
#pragma once

// Rules about commands, by the words that they begin with. A prefix speaks for whatever may follow it: a rule about
// `git log` is one about every option of it. It does not govern what a program reads, such as the configuration of a
// repository, nor what a script says that is called by its path.

#include <algorithm>
#include <array>
#include <concepts>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/commands.hpp>
#include <cordon/approval/request.hpp>
#include <cordon/detail/json.hpp>
#include <cordon/dialect.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

enum class RuleDecision : std::uint8_t {
  allow,   ///< nobody is asked
  ask,     ///< whoever comes next is; makes an exception to a shorter rule that allows
  reject,  ///< nobody is asked, and it does not happen
};

struct PrefixRule {
  ArgvPrefix prefix;
  RuleDecision decision = RuleDecision::ask;
  std::optional<SandboxMode> max_mode = {};  ///< the widest that it allows; none: all of them
  std::string reason = {};
  std::vector<std::vector<std::string>> match =
      {};  ///< examples that the rule must be about, checked when it is loaded
  std::vector<std::vector<std::string>> no_match = {};  ///< and that it must not be about
};

/// One rule of a StaticPrefixRules.
struct StaticPrefixRule {
  static constexpr std::size_t most_words = 16;
  std::array<std::string_view, most_words> words = {};
  std::size_t count = 0;
  RuleDecision decision = RuleDecision::ask;
  bool exact = false;
  std::optional<SandboxMode> max_mode = {};
  std::string_view reason = {};

  /// Nothing may follow.
  [[nodiscard]] constexpr StaticPrefixRule alone() const {
    StaticPrefixRule rule = *this;
    rule.exact = true;
    return rule;
  }
  [[nodiscard]] constexpr StaticPrefixRule up_to(SandboxMode mode) const {
    StaticPrefixRule rule = *this;
    rule.max_mode = mode;
    return rule;
  }
  [[nodiscard]] constexpr StaticPrefixRule because(std::string_view why) const {
    StaticPrefixRule rule = *this;
    rule.reason = why;
    return rule;
  }

  [[nodiscard]] constexpr detail::WordSpan prefix() const noexcept { return detail::WordSpan(words).first(count); }
  /// Looked at from the end, where two differ: a compiler counts its steps.
  [[nodiscard]] constexpr bool same_prefix(const StaticPrefixRule& other) const noexcept {
    if (exact != other.exact || count != other.count) return false;
    for (std::size_t i = count; i != 0; --i)
      if (words[i - 1] != other.words[i - 1]) return false;
    return true;
  }
};

namespace detail {

template <class... Words>
[[nodiscard]] constexpr StaticPrefixRule static_rule(RuleDecision decision, const Words&... words) {
  static_assert(sizeof...(Words) >= 1 && sizeof...(Words) <= StaticPrefixRule::most_words,
                "cordon: a rule has 1 to 16 words; write a longer one in JSON");
  StaticPrefixRule rule;
  ((rule.words[rule.count++] = words), ...);
  rule.decision = decision;
  return rule;
}

/// Whether a rule that allows this allows anything.
[[nodiscard]] constexpr bool allows_anything(WordSpan prefix, bool exact) noexcept {
  return exact ? hides_a_command(prefix, prefix.size()) : leaves_a_command_open(prefix);
}

}  // namespace detail

template <std::convertible_to<std::string_view>... Words>
[[nodiscard]] constexpr StaticPrefixRule allow_prefix(const Words&... words) {
  return detail::static_rule(RuleDecision::allow, words...);
}
template <std::convertible_to<std::string_view>... Words>
[[nodiscard]] constexpr StaticPrefixRule ask_prefix(const Words&... words) {
  return detail::static_rule(RuleDecision::ask, words...);
}
template <std::convertible_to<std::string_view>... Words>
[[nodiscard]] constexpr StaticPrefixRule reject_prefix(const Words&... words) {
  return detail::static_rule(RuleDecision::reject, words...);
}

/// Rules that are checked when they are compiled: `constexpr cordon::StaticPrefixRules mine({allow_prefix("git",
/// "log"), reject_prefix("git", "push").because("a human pushes")});`
template <std::size_t N>
class StaticPrefixRules {
 public:
  consteval StaticPrefixRules(const StaticPrefixRule (&rules)[N]) {
    for (std::size_t i = 0; i != N; ++i) {
      const StaticPrefixRule& rule = rules_[i] = rules[i];
      for (std::string_view word : rule.prefix())
        if (detail::is_blank(word)) throw "cordon: a word of a rule is blank; write the word that a command has there";
      if (rule.decision == RuleDecision::allow && detail::allows_anything(rule.prefix(), rule.exact))
        throw "cordon: a rule allows whatever command follows; name the command itself, or ask";
      if (rule.decision != RuleDecision::allow && rule.max_mode)
        throw "cordon: up_to is for a rule that allows; leave it out";
      for (std::size_t other = 0; other != i; ++other)
        if (rule.same_prefix(rules[other])) throw "cordon: two rules are about one prefix; keep one of them";
    }
  }
  [[nodiscard]] constexpr const StaticPrefixRule* begin() const noexcept { return rules_.data(); }
  [[nodiscard]] constexpr const StaticPrefixRule* end() const noexcept { return rules_.data() + N; }

 private:
  std::array<StaticPrefixRule, N> rules_;
};

/// The answerer that goes by rules. It looks at every command of an action: one that a rule rejects is enough to reject
/// it; it is allowed when each of them is, by the longest rule that begins it. Whatever the rules say nothing about,
/// and whatever can't be taken apart (see commands_for_rules), it passes on.
///
/// What rejects is no barrier: a program has other names, and other programs do the same. It saves a question.
class PrefixRules {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "rules";
  static constexpr bool immediate = true;

  /// Throws PolicyInvalidError for a rule that can't be one, and for an example that is none.
  explicit PrefixRules(std::vector<PrefixRule> rules) : rules_(std::move(rules)) {
    for (std::size_t i = 0; i != rules_.size(); ++i) check(i);
  }

  template <std::size_t N>
  explicit PrefixRules(const StaticPrefixRules<N>& rules) {
    for (const StaticPrefixRule& rule : rules)
      rules_.push_back({.prefix = {{rule.prefix().begin(), rule.prefix().end()}, rule.exact},
                        .decision = rule.decision,
                        .max_mode = rule.max_mode,
                        .reason = std::string(rule.reason)});
  }

  /// From `{"rules":[{"prefix":["git","log"],"decision":"allow"},…]}`. A rule may also have `exact`, `max_mode`,
  /// `reason`, and the examples `match` and `no_match`, each a list of words or a script. Throws PolicyInvalidError.
  [[nodiscard]] static PrefixRules parse(std::string_view json) {
    detail::JsonDocument document;
    if (!document.parse(json))
      refuse(std::string(document.problem()) + ", at byte " + std::to_string(document.offset()));
    if (!document.root().is(Kind::object)) refuse("they are no object with a list \"rules\"");
    std::vector<PrefixRule> rules;
    bool listed = false;
    document.root().each([&](std::string_view key, detail::JsonValue list) {
      if (key != "rules") refuse("there is no \"" + std::string(key) + "\" beside the list \"rules\"");
      if (!list.is(Kind::array)) refuse("\"rules\" is no list");
      listed = true;
      list.each([&](detail::JsonValue value) {
        rules.push_back(parse_rule(rules.size(), value));
        return true;
      });
      return true;
    });
    if (!listed) refuse("there is no list \"rules\"");
    return PrefixRules(std::move(rules));
  }

  [[nodiscard]] const std::vector<PrefixRule>& rules() const noexcept { return rules_; }

  Decision operator()(const ApprovalRequest& request, const auto& next) const {
    if (std::optional<Decision> decision = decide(request.action())) return *std::move(decision);
    return next();
  }

  /// Nothing when these rules don't decide it.
  [[nodiscard]] std::optional<Decision> decide(const Action& action) const {
    const std::vector<std::string>& argv = action.command().elements();
    if (const PrefixRule* rule = rejecting(argv)) return reject(*rule);
    const auto commands = commands_of(argv);
    if (!commands || rules_.empty()) return std::nullopt;
    for (const std::vector<std::string>& command : *commands)
      if (const PrefixRule* rule = rejecting(command)) return reject(*rule);
    const auto is_allowed = [&](const std::vector<std::string>& command) { return allows(command, action.mode()); };
    // The words first: whether rules may speak about them is looked up in the file system.
    if (!std::all_of(commands->begin(), commands->end(), is_allowed) || !commands_for_rules(action))
      return std::nullopt;
    return Decision::allow();
  }

 private:
  using Kind = detail::JsonValue::Kind;

  [[noreturn]] static void refuse(const std::string& problem) {
    throw PolicyInvalidError("the rules can't be used: " + problem);
  }
  /// Rules are counted from 1.
  [[noreturn]] static void refuse(std::size_t rule, const std::vector<std::string>& words, const std::string& problem) {
    refuse("rule " + std::to_string(rule + 1) + (words.empty() ? "" : " (" + shown(words) + ")") + " " + problem);
  }

  [[nodiscard]] static std::string shown(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  }

  [[nodiscard]] static Decision reject(const PrefixRule& rule) {
    return Decision::reject("a rule rejects " + shown(rule.prefix.words) +
                            (rule.reason.empty() ? std::string() : ": " + rule.reason));
  }

  [[nodiscard]] const PrefixRule* rejecting(const std::vector<std::string>& command) const noexcept {
    for (const PrefixRule& rule : rules_)
      if (rule.decision == RuleDecision::reject && rule.prefix.begins(command)) return &rule;
    return nullptr;
  }

  [[nodiscard]] bool allows(const std::vector<std::string>& command, SandboxMode mode) const {
    const PrefixRule* longest = nullptr;
    const auto reach = [](const PrefixRule& rule) { return std::pair(rule.prefix.words.size(), rule.prefix.exact); };
    for (const PrefixRule& rule : rules_)
      if (rule.prefix.begins(command) && (longest == nullptr || reach(rule) > reach(*longest))) longest = &rule;
    return longest != nullptr && longest->decision == RuleDecision::allow &&
           !(longest->max_mode && mode.wider_than(*longest->max_mode)) && prefixes_cover({longest->prefix}, command) &&
           !evades_exception(*longest, command);
  }

  /// Whether an option stands where a longer rule that does not allow has its word: `git -P push` beside one about `git
  /// push`.
  [[nodiscard]] bool evades_exception(const PrefixRule& rule, const std::vector<std::string>& command) const {
    const std::size_t next = rule.prefix.words.size();
    if (command.size() <= next || !command[next].starts_with('-')) return false;
    return std::any_of(rules_.begin(), rules_.end(), [&](const PrefixRule& other) {
      return other.decision != RuleDecision::allow && other.prefix.words.size() > next &&
             rule.prefix.begins(other.prefix.words);
    });
  }

  /// Whether the rule is about these commands: all of them when it allows, any of them otherwise.
  [[nodiscard]] static bool is_about(const PrefixRule& rule, const std::vector<std::string>& example) {
    const auto commands = commands_of(example);
    const bool allows = rule.decision == RuleDecision::allow;
    if (!allows && rule.prefix.begins(example)) return true;
    if (!commands) return false;
    const auto begun = [&](const std::vector<std::string>& command) {
      return allows ? prefixes_cover({rule.prefix}, command) : rule.prefix.begins(command);
    };
    return allows ? std::all_of(commands->begin(), commands->end(), begun)
                  : std::any_of(commands->begin(), commands->end(), begun);
  }

  void check(std::size_t at) const {
    const PrefixRule& rule = rules_[at];
    const std::vector<std::string>& words = rule.prefix.words;
    if (words.empty()) refuse(at, words, "has no prefix; name at least a program");
    if (detail::is_blank(words.front())) refuse(at, words, "begins with a blank word; name a program there");
    const std::vector<std::string_view> views(words.begin(), words.end());
    if (rule.decision == RuleDecision::allow && detail::allows_anything(detail::WordSpan(views), rule.prefix.exact))
      refuse(at, words,
             "would allow whatever command, script or program text follows; name the command itself, or ask");
    if (rule.decision != RuleDecision::allow && rule.max_mode)
      refuse(at, words, "has a max_mode, which is for one that allows; leave it out");
    for (std::size_t other = 0; other != at; ++other)
      if (rules_[other].prefix == rule.prefix &&
          (rules_[other].decision != rule.decision || rules_[other].max_mode != rule.max_mode))
        refuse(at, words,
               "decides otherwise than rule " + std::to_string(other + 1) +
                   ", which has the same prefix; keep one of them");
    for (const std::vector<std::string>& example : rule.match)
      if (!is_about(rule, example)) refuse(at, words, "does not match its example '" + shown(example) + "'");
    for (const std::vector<std::string>& example : rule.no_match)
      if (is_about(rule, example)) refuse(at, words, "matches '" + shown(example) + "', which it is not to match");
  }

  [[nodiscard]] static std::vector<std::string> parse_words(std::size_t at, std::string_view key,
                                                            detail::JsonValue value) {
    std::vector<std::string> words;
    if (!value.is(Kind::array)) refuse(at, {}, "has a \"" + std::string(key) + "\" that is no list of words");
    value.each([&](detail::JsonValue word) {
      if (!word.is(Kind::string)) refuse(at, {}, "has a word in \"" + std::string(key) + "\" that is no text");
      words.emplace_back(word.text());
      return true;
    });
    return words;
  }

  [[nodiscard]] static std::vector<std::vector<std::string>> parse_examples(std::size_t at, std::string_view key,
                                                                            detail::JsonValue value) {
    std::vector<std::vector<std::string>> examples;
    if (!value.is(Kind::array)) refuse(at, {}, "has a \"" + std::string(key) + "\" that is no list of examples");
    value.each([&](detail::JsonValue example) {
      examples.push_back(example.is(Kind::string) ? std::vector<std::string>{"bash", "-c", std::string(example.text())}
                                                  : parse_words(at, key, example));
      return true;
    });
    return examples;
  }

  [[nodiscard]] static RuleDecision parse_decision(std::size_t at, std::string_view spelled) {
    if (spelled == "allow") return RuleDecision::allow;
    if (spelled == "ask" || spelled == "prompt") return RuleDecision::ask;
    if (spelled == "reject" || spelled == "forbid" || spelled == "forbidden" || spelled == "deny")
      return RuleDecision::reject;
    refuse(at, {}, "decides '" + std::string(spelled) + "'; write allow, ask or reject");
  }

  [[nodiscard]] static PrefixRule parse_rule(std::size_t at, detail::JsonValue value) {
    PrefixRule rule;
    bool decides = false;
    if (!value.is(Kind::object)) refuse(at, {}, "is no object");
    value.each([&](std::string_view key, detail::JsonValue member) {
      const auto text = [&] {
        if (!member.is(Kind::string)) refuse(at, {}, "has a \"" + std::string(key) + "\" that is no text");
        return member.text();
      };
      if (key == "prefix") {
        rule.prefix.words = parse_words(at, key, member);
      } else if (key == "decision") {
        rule.decision = parse_decision(at, text());
        decides = true;
      } else if (key == "exact") {
        if (!member.is(Kind::boolean)) refuse(at, {}, "has an \"exact\" that is neither true nor false");
        rule.prefix.exact = member.integer() == 1;
      } else if (key == "max_mode") {
        rule.max_mode = parse_mode(at, text());
      } else if (key == "reason") {
        rule.reason = text();
      } else if (key == "match") {
        rule.match = parse_examples(at, key, member);
      } else if (key == "no_match") {
        rule.no_match = parse_examples(at, key, member);
      } else {
        refuse(at, {},
               "has a \"" + std::string(key) +
                   "\"; a rule has prefix, decision, exact, max_mode, reason, match and no_match");
      }
      return true;
    });
    if (!decides) refuse(at, rule.prefix.words, "has no \"decision\"; write allow, ask or reject");
    return rule;
  }

  [[nodiscard]] static SandboxMode parse_mode(std::size_t at, std::string_view spelled) {
    try {
      return SandboxMode::parse(spelled);
    } catch (const PolicyInvalidError& error) {
      refuse(at, {}, std::string("has a max_mode that is none: ") + error.what());
    }
  }

  std::vector<PrefixRule> rules_;
};

}  // namespace cordon
