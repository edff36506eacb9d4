// SPDX-License-Identifier: BSL-1.0

// Real commands under every backend, each seen by the observer and read by its words: how often the words are right,
// for the plain rule of the field (CLS-06) and for cordon's.

#include <cstdio>
#include <sstream>

#include "kernel/support.hpp"

using namespace kernel_tests;

namespace {

struct Entry {
  std::string language;
  std::string script;
  bool says_why;
};

std::vector<Entry> corpus() {
  std::ifstream file(program("runs.txt"));
  REQUIRE(file);
  std::vector<Entry> entries;
  for (std::string line; std::getline(file, line);) {
    const auto tab = line.find('\t');
    if (line.starts_with('#') || tab == std::string::npos) continue;
    const std::size_t marked = line.starts_with('?') ? 1 : 0;
    entries.push_back({line.substr(marked, tab - marked), line.substr(tab + 1), marked == 0});
  }
  return entries;
}

/// A place with files that their own modes lock.
struct LockedPlace : Place {
  LockedPlace() {
    std::filesystem::create_directories(in("locked/closed"));
    write_file(in("locked/closed/there"), "x");
    write_file(in("locked/unreadable"), "x", 0000);
    write_file(in("locked/unwritable"), "x", 0444);
    if (::chmod(in("locked/closed").c_str(), 0500) != 0) throw std::runtime_error("can't lock a directory");
  }
  ~LockedPlace() { ::chmod(in("locked/closed").c_str(), 0700); }
};

/// How often one way to judge agrees with what was seen.
struct Score {
  std::string name;
  int right = 0;     ///< said and seen
  int invented = 0;  ///< said and not seen
  int missed = 0;    ///< seen and not said
  int passed = 0;    ///< neither

  void add(bool said, bool seen) { ++(said ? seen ? right : invented : seen ? missed : passed); }
  [[nodiscard]] double precision() const { return right == 0 ? 0 : 1.0 * right / (right + invented); }
  [[nodiscard]] double recall() const { return right == 0 ? 0 : 1.0 * right / (right + missed); }
};

struct Scores {
  Score plain{"the plain rule"};
  Score ours{"cordon"};
  Score all{"cordon, with those that don't say why"};
  std::string disagreements = {};
  int runs = 0;
};

template <class B, class M>
void judge(const std::vector<Entry>& entries, Scores& scores) {
  cordon::Harness<cordon::Observed<B>, cordon::AnswererChain<>, cordon::AcceptPartial> harness;
  {
    const Place place;
    if (!usable<Under<B, M>>(place)) return;
  }
  for (const Entry& entry : entries) {
    const LockedPlace place;
    const auto policy = policy_for<M>(place.workspace());
    auto options = plain_options();
    options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin",
                           "HOME=/nonexistent",
                           "LC_ALL=" + entry.language,
                           "O=" + place.outside(),
                           "W=" + place.workspace(),
                           "L=" + place.in("locked")};
    options.limits.wall = std::chrono::seconds(60);
    const auto confined = harness.confine(policy, cordon::shell(entry.script));
    const auto result = harness.run(confined, options);
    const auto* exited = std::get_if<cordon::process::Exited>(&result.ending);
    REQUIRE(exited != nullptr);
    const bool seen = result.denied();
    const std::string words = result.err.text();
    cordon::DenialContext context = cordon::context_of(confined, options.working_directory);
    context.words = cordon::words_of(confined.dialect(), options.environment);
    context.command_known = true;
    context.went_to = cordon::named_destinations({entry.script}, options.environment);
    context.exit_code = exited->code;
    const bool said = !cordon::infer_denials(words, context).empty();
    ++scores.runs;
    scores.all.add(said, seen);
    if (!entry.says_why) {
      CHECK((seen || !said));
      continue;
    }
    scores.plain.add(cordon::has_denial_signature(confined.dialect(), exited->code, words), seen);
    scores.ours.add(said, seen);
    if (said != seen)
      scores.disagreements += std::string(said ? "\n  invented: " : "\n  missed: ") + std::string(B::name) + " " +
                              std::string(M::name) + " " + entry.language + " " + entry.script + "\n    " + words;
  }
}

template <class... B>
void judge_all(const std::tuple<B...>*, const std::vector<Entry>& entries, Scores& scores) {
  (judge<B, cordon::WorkspaceWrite>(entries, scores), ...);
}

}  // namespace

TEST_CASE("What commands say is read as what was seen, more often than by the plain rule", "[corpus]") {
  Scores scores;
  judge_all(static_cast<const KernelBackends*>(nullptr), corpus(), scores);
  std::ostringstream report;
  report << scores.runs << " runs";
  for (const Score& score : {scores.plain, scores.ours, scores.all})
    report << "; " << score.name << ": precision " << score.precision() << ", recall " << score.recall();
  WARN(report.str() << scores.disagreements);
  CHECK(scores.runs >= 150);
  CHECK(scores.ours.precision() >= 0.98);
  CHECK(scores.ours.recall() >= 0.98);
  CHECK(scores.ours.precision() >= scores.plain.precision());
  CHECK(scores.ours.recall() >= scores.plain.recall());
}
