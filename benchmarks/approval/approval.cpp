// SPDX-License-Identifier: BSL-1.0

// approval_benchmark: what a question costs. Without arguments: nanoseconds of a request with both of its events on a
// MemoryLog, and of a chain of eight answerers beside the same eight written as one function. `chain N` and `hand N` do
// one of the two N times, for a tool that counts instructions: chain.sh.

#include <algorithm>
#include <chrono>
#include <cordon/cordon.hpp>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cordon::ApprovalRequest;
using cordon::Decision;

/// Allows one program and passes everything else on.
template <int N>
struct Allows {
  using cordon_concept = cordon::AnswererTag;
  static constexpr std::string_view name = "allows";
  static constexpr bool immediate = true;
  std::string program = "/bin/program" + std::to_string(N);
  Decision operator()(const ApprovalRequest& request, const auto& next) {
    if (request.action().command().program() == program) return Decision::allow();
    return next();
  }
};

template <int... N>
using ChainOf = cordon::AnswererChain<Allows<N>...>;
using Chain = ChainOf<0, 1, 2, 3, 4, 5, 6, 7>;

/// What somebody writes who has eight programs to allow, and signs what he decides.
struct Hand {
  std::string programs[8];
  Hand() {
    for (int i = 0; i != 8; ++i) programs[i] = "/bin/program" + std::to_string(i);
  }
  Decision operator()(const ApprovalRequest& request) const {
    const std::string& program = request.action().command().program();
    const auto allow = [] {
      Decision decision = Decision::allow();
      decision.sign("allows");
      return decision;
    };
    if (program == programs[0]) return allow();
    if (program == programs[1]) return allow();
    if (program == programs[2]) return allow();
    if (program == programs[3]) return allow();
    if (program == programs[4]) return allow();
    if (program == programs[5]) return allow();
    if (program == programs[6]) return allow();
    if (program == programs[7]) return allow();
    return Decision::nobody();
  }
};

cordon::Action action(int program) {
  return {cordon::Argv({"/bin/program" + std::to_string(program), "argument"}),
          cordon::workspace_write,
          cordon::PolicyResolver::resolve({.workspace_root = "/var/tmp"}).scope(),
          {}};
}

template <class Ask>
int ask_all(Ask& ask, const std::vector<ApprovalRequest>& requests, long rounds) {
  int allowed = 0;
  for (long i = 0; i != rounds; ++i)
    for (const ApprovalRequest& request : requests)
      if (ask(request).result() == cordon::ApprovalResult::allowed_once) ++allowed;
  return allowed;
}

double nanoseconds(auto&& run, long count) {
  std::vector<double> times;
  for (int i = 0; i != 15; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun).count() /
                    static_cast<double>(count));
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<ApprovalRequest> requests;
  for (int program = 0; program != 9; ++program) requests.emplace_back("command", action(program));
  Chain chain;
  const Hand hand;
  if (argc == 3) {
    const long rounds = std::atol(argv[2]);
    const int allowed =
        argv[1] == std::string_view("chain") ? ask_all(chain, requests, rounds) : ask_all(hand, requests, rounds);
    return allowed == 8 * rounds ? 0 : 1;
  }
  constexpr long rounds = 20'000;
  int sum = 0;
  const double of_chain = nanoseconds([&] { sum += ask_all(chain, requests, rounds); }, 9 * rounds);
  const double of_hand = nanoseconds([&] { sum += ask_all(hand, requests, rounds); }, 9 * rounds);
  std::cout << "a chain of eight: " << of_chain << " ns, by hand " << of_hand << " ns, ratio " << of_chain / of_hand
            << '\n';

  constexpr int questions = 2'000;
  std::vector<double> times;
  for (int series = 0; series != 15; ++series) {
    cordon::Session<cordon::MemoryLog> session(cordon::MemoryLog(cordon::SessionHeader{"s", 0}));
    auto turn = session.begin_turn();
    cordon::ApprovalService<Chain> service;
    std::vector<ApprovalRequest> asked;
    for (int i = 0; i != questions; ++i) asked.emplace_back("command", action(i % 8), "because");
    const auto begun = std::chrono::steady_clock::now();
    for (ApprovalRequest& request : asked)
      if (service.request(turn, std::move(request)).result() == cordon::ApprovalResult::allowed_once) ++sum;
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count() /
                    questions);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  std::cout << "a request and both of its events on a MemoryLog: " << times[7] << " us\n";
  std::cout << "an action frozen, its program looked up and its digest made: "
            << nanoseconds([&] { sum += static_cast<int>(action(1).digest().size()); }, 1) / 1000 << " us\n";
  return sum > 0 ? 0 : 1;
}
