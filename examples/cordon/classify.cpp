// SPDX-License-Identifier: BSL-1.0
#include "classify.hpp"

#include <cordon/backend/platform.hpp>
#include <cordon/classify/verdict.hpp>
#include <iostream>
#include <iterator>

#include "facts.hpp"
#include "failure.hpp"

namespace tool {

namespace {

cordon::DialectView dialect_of(const std::string& backend) {
  using namespace cordon;
  if (backend == "auto" || backend == "layered") return in_process::LayeredDialect::view();
  if (backend == "mount-namespace") return in_process::MountsDialect::view();
  if (backend == "landlock") return in_process::LandlockDialect::view();
  if (backend == "bubblewrap") return bubblewrap::GuardedDialect::view();
  throw Failure("USAGE", "--backend takes auto, layered, mount-namespace, landlock or bubblewrap, not '" + backend +
                             "'; or describe a dialect with --denial and --fatal");
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

Json verdict_of(const ClassifyArguments& arguments, const cordon::DialectView& dialect, const std::string& text) {
  Json verdict{{"verdict", "command"}, {"detail", nullptr}, {"denials", Json::array()}};
  const std::optional<int> exit_code = arguments.signal ? std::nullopt : arguments.exit_code;
  if (const auto line = cordon::runner_failure_line(dialect, exit_code, text)) {
    verdict["verdict"] = "runner_failed";
    verdict["detail"] = readable(*line);
    return verdict;
  }
  const auto mode = cordon::SandboxMode::parse(arguments.mode);
  if (!mode.confined()) return verdict;
  const bool writable = mode == cordon::workspace_write;
  cordon::DenialContext context;
  context.words = cordon::words_of(dialect, cordon::process::ambient_environment());
  context.exit_code = exit_code;
  const std::string here = cordon::os::current_directory();
  const std::string workspace = cordon::os::resolved(arguments.workspace.empty() ? here : arguments.workspace);
  context.working_directory = arguments.cwd.empty() ? workspace : cordon::os::resolved(arguments.cwd);
  if (!writable) context.read_only_workspace = workspace;
  if (writable) {
    context.writable_roots = {workspace};
    for (const std::string& path : arguments.write) context.writable_roots.push_back(cordon::os::resolved(path));
  }
  const auto denials = cordon::infer_denials(text, context);
  if (denials.empty()) return verdict;
  verdict["verdict"] = "denied";
  verdict["detail"] = readable(cordon::detail::sentence_on(denials.front()));
  for (const cordon::Denial& denial : denials) verdict["denials"].push_back(denial_json(denial));
  return verdict;
}

}  // namespace

int classify(const ClassifyArguments& arguments) {
  if (!arguments.exit_code && !arguments.signal)
    throw Failure("USAGE", "say how the command ended: --exit N or --signal N");
  const bool custom = !arguments.denials.empty() || !arguments.fatal.empty();
  if (custom == !arguments.backend.empty())
    throw Failure("USAGE", "name a backend, or describe a dialect with --denial and --fatal, and not both");
  const std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  Json verdict;
  if (custom) {
    const auto denials = views_of(arguments.denials);
    const auto fatal = views_of(arguments.fatal);
    const auto informational = views_of(arguments.informational);
    const cordon::RunnerRule rule{arguments.allowed_exits, fatal, informational};
    const auto rules = std::span(&rule, arguments.fatal.empty() ? 0 : 1);
    verdict = verdict_of(arguments, cordon::DialectView(denials, rules), text);
  } else {
    verdict = verdict_of(arguments, dialect_of(arguments.backend), text);
  }
  std::cout << verdict.dump() << "\n";
  return std::cout.flush() ? 0 : 1;
}

}  // namespace tool
