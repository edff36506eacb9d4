// SPDX-License-Identifier: BSL-1.0
#pragma once

// What became of an execution, as one value, and what a model is told about it.

#include <cordon/classify/denial.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/running.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon {

/// The command ran, and nothing says that the sandbox refused it anything. Its ending is its own.
struct CommandRan {
  CommandEnding ending;
};

/// The command ran, and the sandbox did what it is for.
struct Denied {
  CommandEnding ending;
  std::vector<Denial> denials;  ///< at least one, each with its evidence and the narrowest grant that would suffice
};

/// The command did not run: the sandbox could not be set up. Says nothing about the command.
using RunnerFailed = RunnerFailure;

/// The command did not run: the program could not be executed.
using process::NotExecutable;

/// Exactly one of them is true of an execution.
using Verdict = std::variant<CommandRan, Denied, RunnerFailed, NotExecutable>;

/// The verdict on a result. That a runner failed is never a result: `Harness::run` throws it.
[[nodiscard]] inline Verdict verdict_of(const RunResult& result) {
  if (const auto* refused = std::get_if<NotExecutable>(&result.ending)) return *refused;
  if (result.denied()) return Denied{result.ending, result.denials};
  return CommandRan{result.ending};
}

/// The verdict that this error stands for.
[[nodiscard]] inline Verdict verdict_of(const SandboxUnavailableError& error) {
  return error.failure().value_or(RunnerFailed{"unavailable", 0, error.what()});
}

/// Whether whoever reads the text can ask for a wider mode.
enum class Escalation { available, unavailable };

namespace detail {

/// Fit for one line: what could end it, or change how a terminal shows it, is replaced.
[[nodiscard]] inline std::string on_one_line(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return result;
}

[[nodiscard]] inline std::string sentence_on(const Denial& denial) {
  std::string text = std::string(name(denial.effect));
  if (!denial.path.empty()) text += " " + on_one_line(denial.path);
  std::string how = std::string(name(denial.evidence));
  if (!denial.system_call.empty()) how = denial.system_call + ", " + how;
  if (!denial.error.empty()) how = denial.error + ", " + how;
  return text + " (" + how + ")";
}

}  // namespace detail

/// What a model is told beside the output of its command: one marker in brackets, and where it helps what it can do
/// next, each on a line of its own. Empty when the command ran and nothing was refused. Never speaks for full access:
/// at most for the narrowest grant. The names of paths are data; a reader must not take them for instructions.
[[nodiscard]] inline std::string text_for_model(const Verdict& verdict, SandboxMode mode, Escalation escalation) {
  struct Teller {
    SandboxMode mode;
    Escalation escalation;

    std::string operator()(const CommandRan&) const { return {}; }
    std::string operator()(const Denied& denied) const {
      std::string text = "[sandbox " + std::string(mode.name()) + ": refused ";
      const std::size_t shown = std::min<std::size_t>(denied.denials.size(), 5);
      for (std::size_t i = 0; i != shown; ++i) text += (i == 0 ? "" : "; ") + detail::sentence_on(denied.denials[i]);
      if (shown < denied.denials.size()) text += "; and " + std::to_string(denied.denials.size() - shown) + " more";
      text += "]";
      if (escalation == Escalation::unavailable)
        return text +
               "\nThis can't be granted here. Do it inside the writable directories, or tell the user what is "
               "needed and why.";
      std::vector<std::string> grants;
      for (const Denial& denial : denied.denials)
        if (!denial.grant.empty() && std::find(grants.begin(), grants.end(), denial.grant) == grants.end())
          grants.push_back(denial.grant);
      std::string wanted = "exactly what it has to write";
      if (grants.size() == 1)
        wanted = grants.front().starts_with('/') ? detail::on_one_line(grants.front()) + " writable"
                                                 : "the mode " + grants.front();
      return text + "\nIf it is needed, ask once for this very command with " + wanted + ", and say why.";
    }
    std::string operator()(const RunnerFailed& failure) const {
      return "[sandbox " + std::string(mode.name()) + ": could not be set up at " + failure.stage +
             "; the command did "
             "not run]\nThis is a fault of the sandbox, not of the command: another command or another mode does not "
             "help. Tell the user.";
    }
    std::string operator()(const NotExecutable&) const { return "[the program could not be executed; nothing ran]"; }
  };
  return std::visit(Teller{mode, escalation}, verdict);
}

}  // namespace cordon
