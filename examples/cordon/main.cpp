// SPDX-License-Identifier: BSL-1.0

// The cordon command-line tool: a thin command line over the library. All confinement is the library's.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cordon/runner/entry.hpp>
#include <cordon/version.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "classify.hpp"
#include "failure.hpp"
#include "run.hpp"
#include "session.hpp"

namespace {

/// A standard stream that the caller closed must not become the number of the next file that is opened.
void fill_standard_streams() {
  while (true) {
    const long fd = cordon::os::open_file<cordon::os::Kernel>("/dev/null", O_RDWR);
    if (fd < 0 || fd > 2) {
      if (fd > 2) cordon::os::Fd(fd).reset();
      return;
    }
  }
}

int main_or_throw(int argc, char** argv) {
  // The command is everything behind the first "--", taken as it is; CLI11 sees only what is before it.
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto separator = std::find(words.begin(), words.end(), "--");
  tool::RunArguments run;
  if (separator != words.end()) run.command.assign(separator + 1, words.end());
  words.erase(separator, words.end());
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first

  CLI::App app("Runs commands for a program that trusts nobody: confined, or not at all.", "cordon");
  app.set_version_flag("--version", std::to_string(CORDON_VERSION_MAJOR) + "." + std::to_string(CORDON_VERSION_MINOR) +
                                        "." + std::to_string(CORDON_VERSION_PATCH));
  app.require_subcommand(1);

  CLI::App& run_command =
      *app.add_subcommand("run", "Run PROGRAM under a mode: cordon run [options] -- PROGRAM [ARG...]");
  run_command.add_option("--mode", run.mode,
                         "read-only, workspace-write or danger-full-access (the session's, or read-only)");
  run_command.add_option("--workspace", run.workspace, "the workspace root, and the command's directory");
  run_command.add_flag("--allow-broad-root", run.allow_broad_root, "let / be a writable root");
  run_command.add_option("--cwd", run.cwd, "the command's directory when it is not the workspace root");
  run_command.add_option("--write", run.write, "one more writable root, which must exist")->expected(1)->take_all();
  run_command.add_option("--write-if-exists", run.write_if_exists, "one more writable root, skipped when missing")
      ->expected(1)
      ->take_all();
  run_command.add_option("--protect", run.protect, "read-only inside a writable root")->expected(1)->take_all();
  run_command.add_option("--backend", run.backend, "auto, layered, mount-namespace, landlock or bubblewrap")
      ->capture_default_str();
  run_command.add_option("--bwrap", run.bwrap, "the bubblewrap binary, as an absolute path");
  run_command.add_option("--partial", run.partial, "refuse, refuse-unless-read-only or accept")->capture_default_str();
  run_command.add_flag("--observe", run.observe, "see what is refused in the system calls, not in what is printed");
  run_command.add_flag("--capture", run.capture, "keep the output for the facts instead of passing it through");
  run_command.add_option("--max-output", run.max_output, "bytes kept per stream")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  run_command.add_option("--output-limit", run.output_limit, "end a command that writes more bytes than this")
      ->check(CLI::NonNegativeNumber);
  run_command.add_option("--spill", run.spill,
                         "copy output that is not kept whole to a file in this directory of mode 0700");
  run_command.add_option("--max-spill", run.max_spill, "bytes of such a file; one that would be larger is removed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  run_command.add_option("--stdin", run.input, "none, inherit or a file, which is copied")->capture_default_str();
  run_command.add_option("--terminal", run.terminal,
                         "give the command a terminal of its own: ROWSxCOLUMNS, or auto to be as large as this one");
  run_command.add_option("--inherit-env", run.inherit_env, "all, core or none")->capture_default_str();
  run_command.add_option("--env", run.env, "NAME=VALUE, set as given")->expected(1)->take_all();
  run_command
      .add_option("--limit", run.limits,
                  "address-space, file-size, open-files, cpu-seconds, processes or memory=NUMBER, with K, M or G")
      ->expected(1)
      ->take_all();
  run_command.add_option("--timeout", run.timeout, "seconds the command may take; then SIGTERM to its whole tree");
  run_command.add_option("--grace", run.grace, "seconds from that to SIGKILL (3)");
  run_command.add_option("--json", run.json, "write the facts here; - is stdout, with --capture");
  run_command.add_option("--session", run.session, "record the run in this session log, made when it is absent");
  run_command.add_option("--approval", run.approval, "ask or never, for the session from now on");
  run_command.add_option("--escalate", run.escalate,
                         "run this very command once under this wider mode, when somebody allows it");
  run_command.add_option("--justify", run.justify, "why it needs that, for whoever decides");
  run_command.add_option("--rules", run.rules, "a file of rules that decide first");
  run_command.add_option(
      "--approve-with", run.approve_with,
      "a program that decides: the request is a line of JSON on its stdin, its answer one on stdout");
  run_command.add_option("--approve-timeout", run.approve_timeout, "seconds that this program may take");
  run_command.add_flag("--ask", run.ask, "ask on the terminal, when none of those has decided");
  run_command.add_option("--ceiling", run.ceiling, "the widest mode that anybody may allow")->capture_default_str();

  std::string probe_workspace;
  bool probe_json = false;
  CLI::App& probe_command = *app.add_subcommand("probe", "Say what each backend can do here");
  probe_command.add_flag("--json", probe_json, "print one JSON object");
  probe_command.add_option("--workspace", probe_workspace, "the workspace to ask about (the current directory)");

  tool::ClassifyArguments classify;
  CLI::App& classify_command = *app.add_subcommand("classify", "Say what a command's stderr, read from stdin, tells");
  classify_command.add_option("--backend", classify.backend,
                              "whose dialect: auto, layered, mount-namespace, landlock or bubblewrap");
  classify_command.add_option("--exit", classify.exit_code, "the exit code of the command");
  classify_command.add_option("--signal", classify.signal, "the signal that ended it instead");
  classify_command.add_option("--cwd", classify.cwd, "its working directory (the workspace)");
  classify_command.add_option("--workspace", classify.workspace, "its workspace (the current directory)");
  classify_command.add_option("--mode", classify.mode, "its mode")->capture_default_str();
  const auto add_list = [&](const char* name, auto& list, const char* help) {
    classify_command.add_option(name, list, help)->expected(1)->take_all();
  };
  add_list("--write", classify.write, "one more writable root");
  add_list("--denial", classify.denials, "a denial signature of a dialect of your own, instead of --backend");
  add_list("--fatal", classify.fatal, "what a line of its runner that failed has in it");
  add_list("--allowed-exit", classify.allowed_exits, "an exit code with which its runner fails (any but 0)");
  add_list("--informational", classify.informational, "a whole line that its runner prints although it goes on");

  tool::SessionArguments session;
  std::function<int(const tool::SessionArguments&)> session_action;
  CLI::App& session_command = *app.add_subcommand("session", "Make, change and look at session logs");
  session_command.require_subcommand(1);
  const auto add_session_command = [&](const char* name, const char* help,
                                       int (*action)(const tool::SessionArguments&)) -> CLI::App& {
    CLI::App& command = *session_command.add_subcommand(name, help);
    command.add_option("FILE", session.file, "the session log")->required();
    command.callback([&session_action, action] { session_action = action; });
    return command;
  };
  CLI::App& new_command = add_session_command("new", "begin a log, never in the place of a file", tool::session_new);
  new_command.add_option("--cwd", session.cwd, "the directory that the session is about")->required();
  new_command.add_flag("--hash-chain", session.hash_chain, "give each record a hash of what is before it");
  const auto add_value = [&](CLI::App& command, const char* name, const char* help) {
    command.add_option(name, session.value, help)->required();
  };
  const auto add_defaults = [&](CLI::App& command) {
    command.add_option("--default-mode", session.default_mode, "the deployment's mode")->capture_default_str();
    command.add_option("--default-approval", session.default_approval, "the deployment's approval policy")
        ->capture_default_str();
  };
  CLI::App& mode_command = add_session_command("mode", "switch the mode", tool::session_mode);
  add_value(mode_command, "MODE", "read-only, workspace-write or danger-full-access");
  CLI::App& approval_command = add_session_command("approval", "switch the approval policy", tool::session_approval);
  add_value(approval_command, "POLICY", "ask or never");
  CLI::App& preset_command = add_session_command("preset", "select a preset", tool::session_preset);
  add_value(preset_command, "NAME", "workspace-write or danger-full-access");
  CLI::App& turn_command = add_session_command("turn", "begin or end a turn", tool::session_turn);
  turn_command.add_option("WHAT", session.value, "start or end")->required()->check(CLI::IsMember({"start", "end"}));
  CLI::App& show_command = add_session_command("show", "say what the session is", tool::session_show);
  show_command.add_flag("--json", session.json, "print one JSON object");
  for (CLI::App* command : {&mode_command, &approval_command, &preset_command, &show_command}) add_defaults(*command);
  add_session_command("verify", "0: sound; 1: only its end is torn; 2: corrupt", tool::session_verify);

  tool::ResolveArguments resolve;
  CLI::App& resolve_command = *app.add_subcommand("resolve", "Say which mode and root a command would have");
  resolve_command.add_option("--session", resolve.session, "a session log");
  resolve_command.add_option("--mode", resolve.mode, "the mode that was approved for this call");
  resolve_command.add_option("--default-mode", resolve.default_mode, "the deployment's mode")->capture_default_str();
  resolve_command.add_option("--root", resolve.root, "the configured root (the current directory)");

  try {
    app.parse(words);
  } catch (const CLI::Success& shown) {
    return app.exit(shown);  // --help and --version
  } catch (const CLI::ParseError& error) {
    return tool::complain("USAGE", std::string(error.what()) + "; see cordon --help");
  }
  if (classify_command.parsed()) return tool::classify(classify);
  if (probe_command.parsed()) return tool::probe(probe_workspace, probe_json);
  if (resolve_command.parsed()) return tool::resolve(resolve);
  if (session_action) return session_action(session);
  return tool::run(run);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = cordon::runner::entry(argc, argv)) return *status;
  fill_standard_streams();
  try {
    return main_or_throw(argc, argv);
  } catch (const tool::Failure& failure) {
    return tool::complain(failure.code, failure.what());
  } catch (const cordon::Error& error) {
    return tool::complain(name(error.code()), error.what());
  } catch (const std::exception& error) {
    return tool::complain("INTERNAL", error.what());
  }
}
