// SPDX-License-Identifier: BSL-1.0
#pragma once

// Asks the human at the terminal. Written for programs that show lines there; one that draws a whole screen itself asks
// in its own way.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/commands.hpp>
#include <cordon/approval/display.hpp>
#include <cordon/approval/request.hpp>
#include <cordon/os/linux/terminal.hpp>
#include <cordon/process/child.hpp>
#include <cordon/process/options.hpp>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

struct TerminalPromptOptions {
  std::string path = "/dev/tty";  ///< opened for each question; /dev/tty is the controlling terminal
  /// What is typed until a page has been there for so long was meant for something else.
  std::chrono::milliseconds shown_at_least{300};
  /// What takes more than this can't be allowed, since nobody would read it.
  std::size_t most_lines = 200;
  std::size_t most_bytes = std::size_t{64} << 10;
  /// What may be remembered about an action. Null: nothing ever.
  std::function<std::vector<ArgvPrefix>(const Action&)> rules = rules_to_remember;
};

namespace detail {

/// One question at a time in this program, whoever asks.
class TerminalTurn {
 public:
  /// Waits for it, until somebody asks to stop.
  explicit TerminalTurn(const std::stop_token& stop) {
    Shared& turns = shared();
    std::unique_lock lock(turns.mutex);
    mine_ = turns.free.wait(lock, stop, [&] { return !turns.taken; }) && !stop.stop_requested();
    if (mine_) turns.taken = true;
  }
  ~TerminalTurn() {
    if (!mine_) return;
    Shared& turns = shared();
    const std::lock_guard lock(turns.mutex);
    turns.taken = false;
    turns.free.notify_all();
  }
  TerminalTurn(const TerminalTurn&) = delete;
  TerminalTurn& operator=(const TerminalTurn&) = delete;

  explicit operator bool() const noexcept { return mine_; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable_any free;
    bool taken = false;
  };
  static Shared& shared() {
    static Shared turns;
    return turns;
  }

  bool mine_ = false;
};

/// A terminal while somebody is asked there. Its mode is put back at the end, but not when others have it by then.
class AskedTerminal {
 public:
  using Clock = std::chrono::steady_clock;
  using K = os::Kernel;

  enum class Event { ready, nothing, stopped, gone };
  struct Typed {
    Event event = Event::ready;
    char key = 0;  ///< 0: nothing that is a key by itself
  };

  static constexpr char interrupt = 3;
  static constexpr char end_of_file = 4;
  static constexpr char escape = 27;

  AskedTerminal(const std::string& path, const std::stop_token& stop)
      : terminal_(os::open_file<K>(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK)),
        bell_(os::make_event<K>()),
        usable_(terminal_ && bell_ && os::terminal_mode<K>(terminal_.get(), before_) >= 0 && !in_background()),
        ring_(stop, process::detail::RingOnStop<K>{bell_.get()}) {
    if (usable_) take();
  }
  ~AskedTerminal() {
    if (!usable_ || in_background()) return;
    os::discard_typed<K>(terminal_.get());
    os::set_terminal_mode<K>(terminal_.get(), before_);
  }
  AskedTerminal(const AskedTerminal&) = delete;
  AskedTerminal& operator=(const AskedTerminal&) = delete;

  [[nodiscard]] bool usable() const noexcept { return usable_; }

  [[nodiscard]] process::TerminalSize size() const noexcept {
    process::TerminalSize size;
    unsigned short rows = 0;
    unsigned short columns = 0;
    (void)os::terminal_size<K>(terminal_.get(), rows, columns);
    if (rows != 0) size.rows = rows;
    if (columns != 0) size.columns = columns;
    return size;
  }

  /// Shows all of `text`: `ready`, `stopped` or `gone`.
  [[nodiscard]] Event show(std::string_view text) const noexcept {
    while (!text.empty()) {
      if (const Event event = wait_for(POLLOUT); event != Event::ready) return event;
      const long written = show_some(text);
      if (written == -EAGAIN) {  // there is room, but not for a whole newline
        if (const Event event = wait_for(0, Clock::now() + std::chrono::milliseconds(10)); event != Event::nothing)
          return event;
        continue;
      }
      if (written < 0) return Event::gone;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return Event::ready;
  }

  /// As much as there is room for, for words that nobody answers.
  void mention(std::string_view text) const noexcept {
    if (!in_background()) (void)show_some(text);
  }

  /// Drops what is typed for so long, and before: `nothing`, `stopped` or `gone`.
  [[nodiscard]] Event drop_keys(std::chrono::milliseconds time) const noexcept {
    take();
    const auto until = Clock::now() + time;
    while (true) {
      const Event event = wait_for(POLLIN, until);
      if (event != Event::ready) return event;
      if (Clock::now() >= until) return Event::nothing;
      os::discard_typed<K>(terminal_.get());
    }
  }

  /// The next key. What comes together, as what is pasted and the arrow keys do, is none; an interrupt among it is.
  [[nodiscard]] Typed key() const noexcept {
    constexpr std::chrono::milliseconds apart{30};
    Typed typed{};
    std::size_t count = 0;
    bool interrupted = false;
    do {  // also again when the kernel woke us for nothing
      typed.event = wait_for(POLLIN);
      while (typed.event == Event::ready) {
        char keys[64];
        const long got = os::read_some<K>(terminal_.get(), std::as_writable_bytes(std::span(keys)));
        if (got == 0 || (got < 0 && got != -EAGAIN)) return {Event::gone};
        const std::string_view read(keys, static_cast<std::size_t>(std::max(got, 0L)));
        interrupted = interrupted || read.find(interrupt) != std::string_view::npos;
        count += read.size();
        if (read.size() == 1) typed.key = read.front();
        typed.event = wait_for(POLLIN, Clock::now() + apart);
      }
    } while (typed.event == Event::nothing && count == 0);
    if (typed.event != Event::nothing) return typed;
    return {Event::ready, interrupted ? interrupt : count == 1 ? typed.key : '\0'};
  }

 private:
  [[nodiscard]] bool in_background() const noexcept { return os::in_background<K>(terminal_.get()); }

  void take() const noexcept {
    os::set_terminal_mode<K>(terminal_.get(), before_.for_single_keys());
    os::discard_typed<K>(terminal_.get());
  }

  [[nodiscard]] long show_some(std::string_view text) const noexcept {
    return os::write_some<K>(terminal_.get(), std::as_bytes(std::span(text)));
  }

  [[nodiscard]] Event wait_for(short wanted, std::optional<Clock::time_point> until = {}) const noexcept {
    while (true) {
      int milliseconds = -1;
      if (until) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
        milliseconds = static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
      }
      pollfd set[] = {{bell_.get(), POLLIN, 0}, {terminal_.get(), wanted, 0}};
      const long ready = os::poll_once<K>(set, milliseconds);
      if (ready == -EINTR) continue;
      if (set[0].revents != 0) return Event::stopped;
      if (ready < 0 || (set[1].revents & ~wanted) != 0 || in_background()) return Event::gone;
      if (set[1].revents != 0) return Event::ready;
      if (until && Clock::now() >= *until) return Event::nothing;
    }
  }

  os::NotStoppedByTerminal<K> not_stopped_;
  os::Fd terminal_;
  os::Fd bell_;
  os::TerminalMode before_;
  bool usable_;
  std::stop_callback<process::detail::RingOnStop<K>> ring_;  ///< gone before the bell
};

/// What a question looks like on a screen of one size.
class QuestionPages {
 public:
  static constexpr std::size_t least_rows = 14;

  QuestionPages(const ApprovalRequest& request, const std::vector<ArgvPrefix>& rules,
                const TerminalPromptOptions& options, process::TerminalSize size)
      : rows_(std::max<std::size_t>(size.rows, least_rows)), lines_(describe(request, size.columns)) {
    add_rules(request.action(), rules, size.columns);
    std::size_t bytes = 0;
    for (const std::string& line : lines_) bytes += line.size();
    const bool large_enough = size.rows >= least_rows && size.columns >= Fields::least_columns;
    const bool whole = lines_.size() <= options.most_lines && bytes <= options.most_bytes;
    can_allow_ = large_enough && whole;
    can_remember_ = can_allow_ && !rules.empty();
    if (!whole) leave_out();
    lines_.insert(lines_.begin(), "-------- May this be done? --------");
    if (!whole) choices_.push_back("Too long to be shown: can't be allowed.");
    if (!large_enough) choices_.push_back("Window too small: can't be allowed.");
    if (can_allow_) choices_.push_back("y  allow, this once");
    if (can_remember_) choices_.push_back("a  allow, and keep the rules above");
    choices_.push_back("n  reject");
    choices_.push_back("q  cancel");
  }

  /// The next page. The last one has the choices, and as many lines before them as there is room for.
  [[nodiscard]] std::string next() {
    const std::size_t room_at_end = rows_ - choices_.size() - 2;
    const std::size_t left = lines_.size() - shown_;
    std::string page;
    const auto add = [&](const std::vector<std::string>& lines, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i != to; ++i) page += lines[i] + "\n";
    };
    at_end_ = left <= room_at_end;
    if (at_end_) {
      add(lines_, lines_.size() - std::min(lines_.size(), room_at_end), lines_.size());
      add(choices_, 0, choices_.size());
      shown_ = lines_.size();
    } else {
      const std::size_t end = shown_ + std::min(left, rows_ - 2);
      add(lines_, shown_, end);
      shown_ = end;
    }
    return page;
  }

  /// The line on which keys are waited for.
  [[nodiscard]] std::string question() const {
    if (at_end_)
      return std::string("Your answer (") + (can_allow_ ? "y " : "") + (can_remember_ ? "a " : "") + "n q): ";
    return std::to_string(shown_) + " of " + std::to_string(lines_.size()) + " lines (space n q): ";
  }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  [[nodiscard]] bool offers_allow() const noexcept { return at_end_ && can_allow_; }
  [[nodiscard]] bool offers_rules() const noexcept { return at_end_ && can_remember_; }

 private:
  void add_rules(const Action& action, const std::vector<ArgvPrefix>& rules, std::size_t columns) {
    if (rules.empty()) return;
    Fields fields(columns);
    fields.add_each("rules", rules, [](const ArgvPrefix& rule) {
      return shown_argv(rule.words) + (rule.exact ? " [exactly this]" : " [and whatever follows]");
    });
    fields.add("hold for", "[this session, in mode] " + std::string(action.mode().name()) + " [workspace] " +
                               shown_word(action.scope().workspace_root) + " [directory] " +
                               shown_word(action.working_directory()));
    for (std::string& line : fields.take()) lines_.push_back(std::move(line));
  }

  /// Keeps the first lines and the last.
  void leave_out() {
    constexpr std::size_t kept = 30;
    if (lines_.size() <= 2 * kept) return;
    const auto begin = lines_.begin() + kept;
    const auto end = lines_.end() - kept;
    *begin = "[... " + std::to_string(end - begin) + " lines are left out here ...]";
    lines_.erase(begin + 1, end);
  }

  std::size_t rows_;
  std::vector<std::string> lines_;
  std::vector<std::string> choices_;
  std::size_t shown_ = 0;
  bool at_end_ = false;
  bool can_allow_ = false;
  bool can_remember_ = false;
};

}  // namespace detail

/// Asks on the controlling terminal, whatever stdin and stdout are. Where there is none, or others have it (see job
/// control), the next answerer is asked.
///
/// Shows the whole action as `describe` does, page by page, and what would be remembered; only then it can be allowed.
/// What is longer than the options say, or does not fit into the window, can only be rejected or cancelled. When the
/// window changes, all is shown again. One key answers: `y` allows, `a` allows and remembers, `n` rejects; `q`, Escape,
/// Ctrl-C and Ctrl-D cancel. No other key answers anything, nor does what was typed before a page could be read, or
/// what comes as a burst. There is no default, and no time limit but `next.stop()`, which cancels at once, as the end
/// of the terminal does.
///
/// While it asks, keys have no effect of their own and are not shown. After that the terminal is as it was, also when
/// something is thrown; not when the program is killed meanwhile, nor when others have got the terminal. A program that
/// stops itself meanwhile has to put it back.
///
/// Takes the terminal for one of UTF-8. It keeps nobody from it: what else the program, or a command that can open it,
/// shows there meanwhile can cover the question, and what else reads there takes keys away.
class TerminalPrompt {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "terminal";

  explicit TerminalPrompt(TerminalPromptOptions options = {}) : options_(std::move(options)) {}

  Decision operator()(const ApprovalRequest& request, const auto& next) const {
    std::optional<Decision> decision = ask(request, next.stop());
    return decision ? *std::move(decision) : next();
  }

 private:
  using Event = detail::AskedTerminal::Event;

  static Decision over(Event event) {
    return Decision::cancel(event == Event::stopped ? "nobody waits for the answer any more"
                                                    : "the terminal is gone, or others have it");
  }

  /// Nothing where nobody can be asked.
  [[nodiscard]] std::optional<Decision> ask(const ApprovalRequest& request, const std::stop_token& stop) const {
    const detail::TerminalTurn turn(stop);
    if (!turn) return over(Event::stopped);
    const std::vector<ArgvPrefix> rules = options_.rules ? options_.rules(request.action()) : std::vector<ArgvPrefix>();
    const detail::AskedTerminal terminal(options_.path, stop);
    if (!terminal.usable()) return std::nullopt;
    // What was shown before may have left the screen in colours that hide, or with other letters.
    Event event = terminal.show("\x1b[0m\x0f\x1b(B\n");
    while (event == Event::ready) {
      const process::TerminalSize size = terminal.size();
      detail::QuestionPages pages(request, rules, options_, size);
      std::optional<Decision> decision;
      do event = show_next(terminal, pages);
      while (event == Event::ready && (event = answered(terminal, pages, size, rules, decision)) == Event::nothing);
      if (decision) return decision;
    }
    if (event == Event::stopped) terminal.mention("\nThe question is over: nobody waits for an answer.\n");
    return over(event);
  }

  [[nodiscard]] Event show_next(const detail::AskedTerminal& terminal, detail::QuestionPages& pages) const {
    if (const Event event = terminal.show(pages.next()); event != Event::ready) return event;
    if (const Event event = terminal.drop_keys(options_.shown_at_least); event != Event::nothing) return event;
    return terminal.show(pages.question());
  }

  /// Waits for keys that mean something: `nothing` when the next page is asked for, `ready` when there is a decision,
  /// or none and all is to be shown again.
  [[nodiscard]] static Event answered(const detail::AskedTerminal& terminal, const detail::QuestionPages& pages,
                                      process::TerminalSize size, const std::vector<ArgvPrefix>& rules,
                                      std::optional<Decision>& decision) {
    using Terminal = detail::AskedTerminal;
    const auto decide = [&](std::string_view said, Decision made) {
      terminal.mention(std::string(said) + "\n");
      decision = std::move(made);
      return Event::ready;
    };
    while (true) {
      const Terminal::Typed typed = terminal.key();
      if (typed.event != Event::ready) return typed.event;
      const bool same_size = terminal.size() == size;
      switch (typed.key) {
        case 'n':
          return decide("rejected", Decision::reject());
        case 'q':
        case Terminal::escape:
        case Terminal::interrupt:
        case Terminal::end_of_file:
          return decide("cancelled", Decision::cancel("the prompt was closed"));
        case 'y':
          if (same_size && pages.offers_allow()) return decide("allowed, this once", Decision::allow());
          break;
        case 'a':
          if (same_size && pages.offers_rules())
            return decide("allowed, with the rules above", Decision::allow_and_remember(rules));
          break;
        case ' ':
        case '\r':
        case '\n':
          if (same_size && !pages.at_end()) {
            terminal.mention("\n");
            return Event::nothing;
          }
          break;
        default:
          break;
      }
      if (const Event event = terminal.show(same_size ? "\a\r" + pages.question() : "\n");
          event != Event::ready || !same_size)
        return event;
    }
  }

  TerminalPromptOptions options_;
};

}  // namespace cordon
