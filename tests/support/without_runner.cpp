// SPDX-License-Identifier: BSL-1.0

// cordon_without_runner MODE WORKSPACE [--terminal] -- COMMAND…: a program that uses cordon and is not its own runner,
// so that nothing adds Landlock rules inside bubblewrap. The first line on stdout is the enforcement, `LEVEL EFFECT…`;
// what follows is the command's. Exit status: the command's, 128+n for a signal, 125 when cordon refused.

#include <cordon/backend/bubblewrap.hpp>
#include <cordon/harness.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace {

template <cordon::ConfinedMode M>
int run(const cordon::Policy<M>& policy, const cordon::Argv& command, bool terminal) {
  cordon::Harness<cordon::Bubblewrap, cordon::AnswererChain<>, cordon::AcceptPartial> harness;
  const auto confined = harness.confine(policy, command);
  std::string line(confined.enforcement().level());
  confined.enforcement().missing().for_each([&](cordon::FileEffect effect) { line.append(" ").append(name(effect)); });
  std::printf("%s\n", line.c_str());
  cordon::process::RunOptions options;
  options.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  if (terminal) options.terminal.emplace();
  const cordon::RunResult result = harness.run(confined, std::move(options));
  std::printf("%s", result.out.text().c_str());
  std::fprintf(stderr, "%s", result.err.text().c_str());
  if (const auto* signalled = std::get_if<cordon::process::Signalled>(&result.ending)) return 128 + signalled->number;
  if (const auto* refused = std::get_if<cordon::process::NotExecutable>(&result.ending)) {
    std::fprintf(stderr, "not executable: %d\n", refused->error);
    return 125;
  }
  return std::get<cordon::process::Exited>(result.ending).code;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool terminal = words.size() > 2 && words[2] == "--terminal";
  if (terminal) words.erase(words.begin() + 2);
  if (words.size() < 4 || words[2] != "--") {
    std::fprintf(stderr, "cordon_without_runner MODE WORKSPACE [--terminal] -- COMMAND...\n");
    return 125;
  }
  try {
    const cordon::Argv command(std::vector<std::string>(words.begin() + 3, words.end()));
    cordon::PolicyRequest request;
    request.mode = cordon::SandboxMode::parse(words[0]);
    request.workspace_root = words[1];
    return cordon::PolicyResolver::resolve(request).visit(
        [&](const cordon::Policy<cordon::ReadOnly>& policy) { return run(policy, command, terminal); },
        [&](const cordon::Policy<cordon::WorkspaceWrite>& policy) { return run(policy, command, terminal); },
        [](const cordon::Policy<cordon::DangerFullAccess>&) -> int {
          throw cordon::PolicyInvalidError("there is nothing to confine in full access");
        });
  } catch (const cordon::Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(name(error.code())).c_str(), error.what());
    return 125;
  }
}
