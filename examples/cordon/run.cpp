// SPDX-License-Identifier: BSL-1.0
#include "run.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cordon/cordon.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "facts.hpp"
#include "failure.hpp"
#include "session.hpp"

namespace tool {

namespace {

namespace os = cordon::os;
using cordon::process::Stream;
using cordon::process::TerminalSize;

cordon::process::Inherit parse_inherit(const std::string& text) {
  using cordon::process::Inherit;
  if (text == "all") return Inherit::all;
  if (text == "core") return Inherit::core;
  if (text == "none") return Inherit::none;
  throw Failure("USAGE", "--inherit-env takes all, core or none, not '" + text + "'");
}

/// Where the facts go: a file that is opened before anything runs, so that a run is never left without its record.
class FactsFile {
 public:
  explicit FactsFile(const RunArguments& arguments) {
    if (arguments.json.empty()) return;
    if (arguments.json == "-") {
      if (!arguments.capture)
        throw Failure("USAGE", "--json - needs --capture, since stdout is the command's otherwise");
      number_ = 1;
      return;
    }
    const long fd =
        os::open_file<os::Kernel>(arguments.json.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
      throw Failure("USAGE", "--json " + arguments.json + ": " + cordon::detail::error_text(static_cast<int>(-fd)));
    file_ = os::Fd(fd);
    number_ = file_.get();
    os::FileFacts facts;
    os::FileFacts log;
    if (arguments.session && os::stat_open(number_, facts) == 0 && os::stat_path(*arguments.session, log) == 0 &&
        facts.device == log.device && facts.inode == log.inode)
      throw Failure("USAGE", "--json and --session name the same file; give each its own");
    // Facts of an earlier run must not be taken for those of one that was killed. What is no regular file has no
    // length.
    (void)os::truncate_file<os::Kernel>(number_, 0);
  }

  void write(const Json& facts) const {
    if (number_ >= 0) (void)os::write_all<os::Kernel>(number_, facts.dump() + "\n");
  }

 private:
  os::Fd file_;
  int number_ = -1;
};

/// The command's input. The descriptor behind a file must outlive the run.
cordon::process::Input open_input(const std::string& spelled, os::Fd& file) {
  if (spelled == "none") return cordon::process::Input::none();
  if (spelled == "inherit") return cordon::process::Input::copy_of(0);
  os::FileFacts facts;
  if (os::stat_path(spelled, facts) == 0 && facts.directory())
    throw Failure("USAGE", "--stdin " + spelled + " is a directory; name a file");
  // A FIFO without a writer is waited for while the command runs, within its limits.
  const long fd = os::open_file<os::Kernel>(spelled.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd < 0) throw Failure("USAGE", "--stdin " + spelled + ": " + cordon::detail::error_text(static_cast<int>(-fd)));
  file = os::Fd(fd);
  return cordon::process::Input::copy_of(file.get());
}

/// The size of the terminal that this program was started on, if any.
std::optional<TerminalSize> screen_size() {
  for (const int fd : {0, 1, 2})
    if (winsize size{}; ::ioctl(fd, TIOCGWINSZ, &size) == 0) return TerminalSize{size.ws_row, size.ws_col};
  return std::nullopt;
}

TerminalSize parse_terminal(const std::string& text) {
  TerminalSize size = screen_size().value_or(TerminalSize{});
  if (text == "auto") return size;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, size.rows);
  if (rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x') {
    const auto columns = std::from_chars(rows.ptr + 1, end, size.columns);
    if (columns.ec == std::errc() && columns.ptr == end && size.rows != 0 && size.columns != 0) return size;
  }
  throw Failure("USAGE", "--terminal takes auto or ROWSxCOLUMNS, such as 24x80, not '" + text + "'");
}

/// While it lives every key of our own terminal is handed on as it is, for the command's terminal to make sense of.
class RawKeyboard {
 public:
  explicit RawKeyboard(bool wanted) {
    if (!wanted || ::tcgetattr(0, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(0, TCSANOW, &raw) == 0;
  }
  ~RawKeyboard() {
    if (changed_) ::tcsetattr(0, TCSANOW, &before_);
  }
  RawKeyboard(const RawKeyboard&) = delete;
  RawKeyboard& operator=(const RawKeyboard&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

/// Waits for a command whose terminal is to be as large as ours. Looked at, since the thread that waits is the only one
/// that may resize it, and SIGWINCH would not end its wait.
cordon::RunResult follow_screen(cordon::Running& running) {
  auto size = running.facts().terminal;
  while (true) {
    if (auto result = running.wait_for(std::chrono::milliseconds(100))) return *std::move(result);
    if (const auto now = screen_size(); now && now != size) {
      size = now;
      running.resize(*now);
    }
  }
}

cordon::process::EnvironmentPolicy environment_of(const RunArguments& arguments) {
  cordon::process::EnvironmentPolicy policy{.inherit = parse_inherit(arguments.inherit_env)};
  for (const std::string& entry : arguments.env) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure("USAGE", "--env takes NAME=VALUE, not '" + entry + "'");
    policy.set.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return policy;
}

/// Seconds as people write them: 2, 0.5. More than ten minutes is ten minutes.
std::chrono::milliseconds seconds(const std::string& option, const std::string& text, bool zero_too) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0 ||
      (value == 0 && !zero_too))
    throw Failure("USAGE", option + " takes a number of seconds, such as 2 or 0.5, not '" + text + "'");
  return std::chrono::milliseconds(static_cast<long>(std::ceil(std::min(value, 600.0) * 1000)));
}

/// Each limit as people write it: memory=512M, processes=100.
cordon::ResourceLimits limits_of(const std::vector<std::string>& spelled) {
  cordon::ResourceLimits limits;
  for (const std::string& text : spelled) {
    const auto equals = std::min(text.find('='), text.size());
    const auto resource = cordon::resource_named(std::string_view(text).substr(0, equals));
    const char* const last = text.data() + text.size();
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(std::min(text.data() + equals + 1, last), last, value);
    unsigned shift = 0;
    if (error == std::errc() && end != last)
      for (const auto& [unit, bits] : {std::pair('K', 10U), std::pair('M', 20U), std::pair('G', 30U)})
        if (*end == unit) shift = bits;
    if (shift != 0) ++end;
    if (!resource || error != std::errc() || end != last || value << shift >> shift != value)
      throw Failure("USAGE", "--limit takes NAME=NUMBER, such as memory=512M or processes=100, not '" + text + "'");
    limits.of(*resource) = value << shift;
  }
  return limits;
}

/// Cancels the command when this program is told to end, and then knows by which signal.
class CancelOnSignal {
 public:
  CancelOnSignal() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    waiter_ = std::jthread([this, set](const std::stop_token& done) {
      int number = 0;
      while (::sigwait(&set, &number) == 0 && !done.stop_requested()) {
        number_ = number;
        source_.request_stop();
      }
    });
  }
  ~CancelOnSignal() {
    waiter_.request_stop();
    ::pthread_kill(waiter_.native_handle(), SIGHUP);
  }
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  std::stop_source source_;
  std::atomic<int> number_{0};
  std::jthread waiter_;
};

/// The log of a run: a file, or nothing that outlives it.
class RunLog {
 public:
  explicit RunLog(cordon::MemoryLog log) : log_(std::move(log)) {}
  explicit RunLog(cordon::JsonlLog log) : log_(std::move(log)) {}

  [[nodiscard]] const cordon::SessionHeader& header() const {
    return std::visit([](const auto& log) -> const cordon::SessionHeader& { return log.header(); }, log_);
  }
  [[nodiscard]] const cordon::SessionState& state() const {
    return std::visit([](const auto& log) -> const cordon::SessionState& { return log.state(); }, log_);
  }
  void append(std::span<const cordon::Event> events) {
    std::visit([&](auto& log) { log.append(events); }, log_);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    std::visit([&](auto& log) { log.for_each(visit); }, log_);
  }
  void require_own_name() const {
    if (const auto* file = std::get_if<cordon::JsonlLog>(&log_)) file->require_own_name();
  }
  /// Empty without a file.
  [[nodiscard]] std::string path() const {
    const auto* file = std::get_if<cordon::JsonlLog>(&log_);
    return file == nullptr ? std::string() : file->path();
  }
  [[nodiscard]] std::string real_path() const {
    const auto* file = std::get_if<cordon::JsonlLog>(&log_);
    return file == nullptr ? std::string() : file->real_path();
  }

 private:
  std::variant<cordon::MemoryLog, cordon::JsonlLog> log_;
};

using Session = cordon::Session<RunLog>;

/// The session that `--session` names, made in the workspace when there is none yet; without, one in memory, which has
/// no directory of its own.
RunLog open_log(const RunArguments& arguments) {
  if (!arguments.session) return RunLog(cordon::MemoryLog(cordon::new_session({})));
  os::FileFacts facts;
  if (os::stat_name(*arguments.session, facts) == 0)
    return RunLog(cordon::JsonlLog::open(*arguments.session, {.chain = chain_hash()}));
  const std::string directory = arguments.workspace.empty() ? os::current_directory() : arguments.workspace;
  cordon::JsonlLog log = cordon::JsonlLog::create(*arguments.session, cordon::new_session(directory));
  log.flush();
  return RunLog(std::move(log));
}

/// Who decides, in this order.
using Answerers = cordon::AnswererChain<cordon::Maybe<cordon::PrefixRules>, cordon::Maybe<cordon::CommandAnswerer>,
                                        cordon::Maybe<cordon::TerminalPrompt>>;

/// The second gate, as the command line gave it.
struct Escalating {
  std::optional<cordon::SandboxMode> mode;
  std::string justification;
  Answerers answerers;
  cordon::ApprovalOptions options;
};

/// What a run is recorded with, and what it may become.
struct Recorder {
  cordon::Turn<RunLog> turn;
  std::string full_access_reason;
  Escalating escalating;
};

template <class Rule, class Backend>
cordon::RunResult run_with(Backend backend, Recorder& recorder, const cordon::ExecutionPolicy& policy,
                           const cordon::Argv& command, cordon::process::RunOptions options, bool follows_screen) {
  cordon::Harness<Backend, Answerers, Rule> harness(std::move(backend), std::move(recorder.escalating.answerers),
                                                    std::move(recorder.escalating.options));
  options.unread = std::make_shared<cordon::process::UnreadOutput>(0);  // follow_screen reads nothing
  const auto follow = [&](cordon::Running& running) {
    return follows_screen ? follow_screen(running) : running.wait();
  };
  if (const auto& mode = recorder.escalating.mode)
    return ask_and_run(recorder.turn, harness,
                       cordon::escalation_request(cordon::Action(command, *mode, policy.scope(), std::move(options)),
                                                  recorder.escalating.justification),
                       cordon::MaskSecrets{}, follow);
  return policy.visit(
      [&](const cordon::Policy<cordon::DangerFullAccess>& full_access) {
        return run_in(recorder.turn, harness, cordon::UnconfinedArgv(full_access, command), recorder.full_access_reason,
                      std::move(options), cordon::MaskSecrets{}, follow);
      },
      [&](const auto& confined) {
        return run_in(recorder.turn, harness, confined, command, std::move(options), cordon::MaskSecrets{}, follow);
      });
}

using Layered = cordon::Layered<cordon::MountNamespace, cordon::Landlock>;

/// Calls `use` with the backend that the arguments name. Throws when there is none, or none that the rule could accept.
template <class Rule, class Use>
auto with_backend(const RunArguments& arguments, Use&& use) {
  const cordon::BubblewrapOptions bubblewrap{.binary = arguments.bwrap};
  if (arguments.backend == "auto") {
    // A binary that the caller names is meant to be used.
    if (!arguments.bwrap.empty()) return use(cordon::Bubblewrap(bubblewrap));
    return use(cordon::PlatformBackend());
  }
  if (arguments.backend == "layered") return use(Layered());
  if (arguments.backend == "bubblewrap") return use(cordon::Bubblewrap(bubblewrap));
  if constexpr (!std::is_same_v<Rule, cordon::RefusePartial>) {  // those can never be full
    if (arguments.backend == "mount-namespace") return use(cordon::MountNamespace());
    if (arguments.backend == "landlock") return use(cordon::Landlock());
  } else if (arguments.backend == "mount-namespace" || arguments.backend == "landlock") {
    throw cordon::EnforcementPartialError("backend " + arguments.backend +
                                          " alone can never be full, and --partial refuse accepts nothing less; use "
                                          "--backend layered");
  }
  throw Failure("USAGE", "--backend takes auto, layered, mount-namespace, landlock or bubblewrap, not '" +
                             arguments.backend + "'");
}

/// Calls `use` with the partial rule that the arguments name.
template <class Use>
auto with_rule(const RunArguments& arguments, Use&& use) {
  if (arguments.partial == "refuse") return use(cordon::RefusePartial{});
  if (arguments.partial == "refuse-unless-read-only") return use(cordon::RefusePartialUnlessReadOnly{});
  if (arguments.partial == "accept") return use(cordon::AcceptPartial{});
  throw Failure("USAGE", "--partial takes refuse, refuse-unless-read-only or accept, not '" + arguments.partial + "'");
}

/// Says what is wrong with the backend and the rule, before there is anything that could be left behind.
void check_backend(const RunArguments& arguments) {
  with_rule(arguments, [&]<class Rule>(Rule) { with_backend<Rule>(arguments, [](const auto&) {}); });
}

cordon::RunResult run_command(const RunArguments& arguments, Recorder& recorder, const cordon::ExecutionPolicy& policy,
                              const cordon::Argv& command, cordon::process::RunOptions options) {
  const bool follows_screen = arguments.terminal == "auto";
  return with_rule(arguments, [&]<class Rule>(Rule) {
    return with_backend<Rule>(arguments, [&]<class Backend>(Backend backend) {
      if (arguments.observe)
        return run_with<Rule>(cordon::Observed<Backend>(std::move(backend)), recorder, policy, command,
                              std::move(options), follows_screen);
      return run_with<Rule>(std::move(backend), recorder, policy, command, std::move(options), follows_screen);
    });
  });
}

void pass_through(Stream stream, std::string_view bytes) {
  const int fd = stream == Stream::out ? 1 : 2;
  std::span<const std::byte> left = std::as_bytes(std::span(bytes));
  while (!left.empty()) {
    const long written = os::write_some<os::Kernel>(fd, left);
    if (written == -EAGAIN) {  // whoever gave it to us reads slowly, and asked not to be waited for
      pollfd event{fd, POLLOUT, 0};
      (void)os::poll_once<os::Kernel>(std::span(&event, 1), -1);
    } else if (written < 0) {
      return;
    } else {
      left = left.subspan(static_cast<std::size_t>(written));
    }
  }
}

int report(const FactsFile& file, Json& facts, const std::string& outcome, const std::string& code,
           const std::string& message) {
  facts["outcome"] = outcome;
  facts["error"] = {{"code", code}, {"message", readable(message)}};
  file.write(facts);
  return complain(code, message);
}

std::string outcome_of(const cordon::Error& error) {
  switch (error.code()) {
    case cordon::ErrorCode::sandbox_unavailable:
    case cordon::ErrorCode::spawn_failed:
      return "unavailable";
    default:
      return "refused";
  }
}

int exit_status(const FactsFile& file, Json& facts, const cordon::RunResult& result, const std::string& program,
                int cancelled_by) {
  if (const auto* refused = std::get_if<cordon::process::NotExecutable>(&result.ending))
    return report(file, facts, "not_executable", "NOT_EXECUTABLE",
                  program + ": " + (refused->interpreter_missing ? "its interpreter: " : "") +
                      cordon::detail::error_text(refused->error));
  file.write(facts);
  if (const auto* signalled = std::get_if<cordon::process::Signalled>(&result.ending)) return 128 + signalled->number;
  if (const auto* exited = std::get_if<cordon::process::Exited>(&result.ending)) return exited->code;
  return std::holds_alternative<cordon::process::Cancelled>(result.ending) ? 128 + cancelled_by : 124;
}

std::string content_of(const std::string& option, const std::string& path) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  const os::Fd file(os::open_file<os::Kernel>(path.c_str(), O_RDONLY | O_NONBLOCK));
  os::FileFacts facts;
  if (!file || os::stat_open(file.get(), facts) < 0 || !facts.regular())
    throw Failure("USAGE", option + " " + path + " can't be read, or is no regular file; name one that is");
  std::string content = os::read_rest<os::Kernel>(file.get(), most);
  if (content.size() == most)
    throw Failure("USAGE", option + " " + path + " is larger than a megabyte; make it shorter");
  return content;
}

/// Throws when what was said about it can't be meant.
Escalating escalating_of(const RunArguments& arguments) {
  using cordon::ErrorCode;
  Escalating escalating;
  escalating.options.ceiling = cordon::SandboxMode::parse(arguments.ceiling);
  escalating.options.mask = cordon::MaskSecrets{};
  if (arguments.escalate) escalating.mode = cordon::SandboxMode::parse(*arguments.escalate);
  if (arguments.escalate && !arguments.justify)
    throw cordon::ApprovalError(ErrorCode::escalation_invalid,
                                "--escalate needs --justify; say why the command needs it");
  if (arguments.justify && !arguments.escalate)
    throw cordon::ApprovalError(ErrorCode::escalation_invalid,
                                "--justify needs --escalate; name the mode that it is about, or leave it out");
  if (arguments.justify) cordon::require_justification(*arguments.justify);
  cordon::Maybe<cordon::PrefixRules> rules;
  cordon::Maybe<cordon::CommandAnswerer> program;
  cordon::Maybe<cordon::TerminalPrompt> prompt;
  if (!arguments.rules.empty())
    rules = cordon::Maybe(cordon::PrefixRules::parse(content_of("--rules", arguments.rules)));
  if (arguments.approve_timeout && arguments.approve_with.empty())
    throw Failure("USAGE", "--approve-timeout needs --approve-with; name the program that it is for");
  if (!arguments.approve_with.empty()) {
    cordon::CommandAnswererOptions options;
    if (arguments.approve_timeout) options.time_limit = seconds("--approve-timeout", *arguments.approve_timeout, false);
    program = cordon::Maybe(cordon::CommandAnswerer(cordon::Argv({arguments.approve_with}), options));
  }
  if (arguments.ask) prompt = cordon::Maybe(cordon::TerminalPrompt());
  escalating.answerers = Answerers(std::move(rules), std::move(program), std::move(prompt));
  return escalating;
}

/// The policy of the session, whose own log its commands can't write.
cordon::ExecutionPolicy resolve_for(Session& session, cordon::PolicyRequest roots,
                                    std::optional<cordon::SandboxMode> explicit_mode) {
  if (!roots.workspace_root.empty() && !session.header().cwd.empty()) {
    std::string named;
    if (os::canonical_path(roots.workspace_root, named) < 0 || named != session.header().cwd)
      throw cordon::PolicyInvalidError("--workspace " + roots.workspace_root +
                                       " is not the directory of the session, " + session.header().cwd +
                                       "; leave it out, or begin another session");
  }
  return resolve_protected(session, std::move(roots), explicit_mode);
}

}  // namespace

int run(const RunArguments& arguments) {
  const FactsFile file(arguments);
  Json facts = blank_facts();
  try {
    std::optional<cordon::SandboxMode> explicit_mode;
    if (arguments.mode) explicit_mode = cordon::SandboxMode::parse(*arguments.mode);
    facts["mode"] = arguments.mode.value_or(std::string(cordon::ReadOnly::name));
    std::optional<cordon::ApprovalPolicy> approval;
    if (arguments.approval) approval = cordon::parse_approval_policy(*arguments.approval);
    const cordon::Argv command(arguments.command);
    const cordon::PolicyRequest roots{.workspace_root = arguments.workspace,
                                      .write = arguments.write,
                                      .write_if_exists = arguments.write_if_exists,
                                      .protect = arguments.protect,
                                      .allow_broad_root = arguments.allow_broad_root,
                                      .resources = limits_of(arguments.limits)};
    const CancelOnSignal cancel;
    os::Fd input;
    cordon::process::RunOptions options;
    options.working_directory = arguments.cwd;
    options.input = open_input(arguments.input, input);
    if (arguments.terminal) options.terminal = parse_terminal(*arguments.terminal);
    options.max_output = arguments.max_output;
    options.max_spill = arguments.max_spill;
    options.limits.output = arguments.output_limit;
    if (!arguments.spill.empty()) options.spill = std::make_shared<cordon::process::SpillDirectory>(arguments.spill);
    if (arguments.timeout) options.limits.wall = seconds("--timeout", *arguments.timeout, false);
    options.limits.grace = seconds("--grace", arguments.grace, true);
    options.limits.stop = cancel.token();
    if (!arguments.capture) options.on_output = pass_through;
    const cordon::process::EnvironmentPolicy variables = environment_of(arguments);
    // What is wrong with the command line is said before there is a log.
    check_backend(arguments);
    Escalating escalating = escalating_of(arguments);
    if (arguments.session) {
      cordon::PolicyScope scope = cordon::PolicyResolver::resolve(roots).scope();
      scope.extra_roots.push_back(scope.workspace_root);
      cordon::refuse_linked_log(*arguments.session, scope.extra_roots);
    }
    Session session(open_log(arguments));
    if (approval) session.set_approval_policy(*approval);
    cordon::ExecutionPolicy policy = resolve_for(session, roots, explicit_mode);
    facts["mode"] = policy.mode().name();
    // What is not wider than what it has anyway needs nobody's leave.
    if (escalating.mode && !escalating.mode->wider_than(policy.mode())) escalating.mode.reset();
    if (escalating.mode) {
      policy = resolve_for(session, roots, escalating.mode);
      escalating.justification = *arguments.justify;
      escalating.options.observer = [&facts](const cordon::Event& event) {
        if (const auto* decided = std::get_if<cordon::ApprovalDecided>(&event))
          facts["approval"] = {
              {"id", decided->id},
              {"outcome", name(decided->outcome)},
              {"answered_by", decided->answered_by.empty() ? Json(nullptr) : Json(decided->answered_by)}};
      };
    }
    const cordon::SandboxMode mode = policy.mode();
    facts["workspace_root"] = readable(policy.scope().workspace_root);
    for (const std::string& root : policy.scope().skipped_roots) facts["skipped_roots"].push_back(readable(root));
    cordon::process::ChildEnvironment environment =
        make_environment(variables, cordon::process::ambient_environment(), mode.confined());
    for (const std::string& name : environment.removed) facts["removed_env"].push_back(readable(name));
    options.environment = std::move(environment.entries);
    options.removed_env = std::move(environment.removed);
    auto held = session.continue_turn();
    Recorder recorder{held ? *std::move(held) : session.begin_turn(),
                      full_access_reason(session, explicit_mode.has_value()), std::move(escalating)};
    // What it came to is not undone by a log that has no room for it.
    const auto unrecorded = [&](const cordon::LogError& error) {
      facts["error"] = {{"code", name(error.code())}, {"message", readable(error.what())}};
      complain(name(error.code()), error.what());
    };
    const cordon::RunResult result = [&] {
      const RawKeyboard raw(arguments.terminal && arguments.input == "inherit");
      try {
        return run_command(arguments, recorder, policy, command, std::move(options));
      } catch (const cordon::UnrecordedError& error) {
        unrecorded(error);
        return error.result();
      }
    }();
    try {
      if (!held && facts["error"].is_null()) recorder.turn.end();
    } catch (const cordon::LogError& error) {
      unrecorded(error);
    }
    add_result(facts, result, arguments.capture);
    return exit_status(file, facts, result, command.program(), cancel.number());
  } catch (const cordon::SandboxUnavailableError& error) {
    if (const auto& failure = error.failure())
      facts["runner_failure"] = {{"stage", failure->stage},
                                 {"errno", failure->error == 0 ? Json(nullptr) : Json(failure->error)},
                                 {"detail", readable(failure->detail)}};
    return report(file, facts, error.failure() ? "runner_failed" : "unavailable", std::string(name(error.code())),
                  error.what());
  } catch (const cordon::Error& error) {
    return report(file, facts, outcome_of(error), std::string(name(error.code())), error.what());
  } catch (const Failure& error) {
    return report(file, facts, "refused", error.code, error.what());
  }
}

}  // namespace tool
