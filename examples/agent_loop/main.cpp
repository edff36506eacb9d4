// SPDX-License-Identifier: BSL-1.0

// What an agent program does around one command, played with a model that says what is written here: it is denied,
// asks, is allowed once, has to ask again, and at last meets a session in which nobody is asked. Prints what the model
// is told and then the log, without what differs from run to run.

#include <cordon/cordon.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

/// In the place of the user: allows the first action that he is asked about, and rejects the next.
using Answerers = cordon::AnswererChain<cordon::Scripted>;
using Agent = cordon::Harness<cordon::PlatformBackend, Answerers>;
using Turn = cordon::Turn<cordon::MemoryLog>;

class Loop {
 public:
  Loop(Agent& agent, Turn& turn, std::string workspace) : agent_(agent), turn_(turn), workspace_(std::move(workspace)) {
    std::cout << cordon::runtime_context(turn_.effective_mode(), turn_.approval_policy(), ceiling());
  }

  /// The model calls its tool.
  void call(const cordon::Argv& command) {
    say("the model runs it");
    const auto policy = cordon::resolve(turn_, {.workspace_root = workspace_}).policy;
    tell([&] {
      return policy.visit(
          [&](const cordon::Policy<cordon::DangerFullAccess>& full) {
            return run_in(turn_, agent_, cordon::UnconfinedArgv(full, command), full_access_reason(turn_, false),
                          options());
          },
          [&](const auto& confined) { return run_in(turn_, agent_, confined, command, options()); });
    });
  }

  /// The model calls it again, with a wider mode and a reason.
  void ask(const cordon::Argv& command, cordon::SandboxMode mode, const std::string& reason) {
    say("the model asks for " + std::string(mode.name()));
    tell([&] {
      return cordon::run_escalated<cordon::OnlyAfterDenial>(
          turn_, agent_, command, mode, reason, {.roots = {.workspace_root = workspace_}, .options = options()});
    });
  }

 private:
  [[nodiscard]] cordon::SandboxMode ceiling() const { return agent_.approvals().options().ceiling; }

  static cordon::process::RunOptions options() {
    cordon::process::RunOptions options;
    options.environment = {"PATH=/usr/bin:/bin"};
    return options;
  }

  template <class Run>
  void tell(Run&& run) {
    try {
      const cordon::RunResult result = run();
      const auto escalation = cordon::escalation_for(turn_.effective_mode(), turn_.approval_policy(), ceiling());
      std::cout << without(cordon::tool_result(result, escalation)) << '\n';
    } catch (const cordon::Error& error) {
      std::cout << name(error.code()) << ": " << error.what() << '\n';
    }
  }

  static void say(const std::string& what) { std::cout << "--- " << what << '\n'; }

  /// The text without the name of the workspace, which is another each time.
  [[nodiscard]] std::string without(std::string text) const {
    for (auto at = text.find(workspace_); at != std::string::npos; at = text.find(workspace_))
      text.replace(at, workspace_.size(), "WORKSPACE");
    return text;
  }

  Agent& agent_;
  Turn& turn_;
  std::string workspace_;
};

void print(const cordon::Record& record) {
  std::cout << record.seq << ' ' << type_of(record.event);
  std::visit(cordon::detail::Overloaded{
                 [](const cordon::ApprovalAsked& asked) { std::cout << ' ' << asked.reason; },
                 [](const cordon::ApprovalDecided& decided) {
                   std::cout << ' ' << name(decided.outcome) << " by " << decided.answered_by;
                 },
                 [](const cordon::ExecConfined& exec) {
                   std::cout << ' ' << exec.mode.name() << (exec.allowed_by.empty() ? "" : ", by a grant");
                 },
                 [](const cordon::ExecSettled& settled) {
                   std::cout << ' ' << settled.outcome << ", denials: " << settled.denials.size();
                 },
                 [](const cordon::ApprovalPolicySwitched& changed) { std::cout << ' ' << name(changed.policy); },
                 [](const auto&) {}},
             record.event);
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  if (argc != 2) {
    std::cerr << "usage: agent_loop DIRECTORY\n";
    return 2;
  }
  const std::string workspace = argv[1];
  Agent agent(cordon::PlatformBackend(),
              Answerers(cordon::Scripted({cordon::Decision::allow(), cordon::Decision::reject("not twice")})),
              {.ceiling = cordon::workspace_write});
  cordon::Session<cordon::MemoryLog> session(cordon::MemoryLog(cordon::new_session({})),
                                             {cordon::read_only, cordon::ApprovalPolicy::ask});
  {
    auto turn = session.begin_turn();
    Loop loop(agent, turn, workspace);
    const cordon::Argv command({"/bin/sh", "-c", "echo note >>notes && cat notes"});
    loop.call(command);
    loop.ask(command, cordon::workspace_write, "the note has to be kept");
    loop.ask(command, cordon::workspace_write, "and another one");
    loop.ask(command, cordon::danger_full_access, "or everything");
    session.set_approval_policy(cordon::ApprovalPolicy::never);
    loop.call(command);
    loop.ask(command, cordon::workspace_write, "please");
    turn.end();
  }
  std::cout << "--- the log\n";
  session.for_each(print);
  return 0;
} catch (const cordon::Error& error) {
  std::cerr << name(error.code()) << ": " << error.what() << '\n';
  return 125;
}
