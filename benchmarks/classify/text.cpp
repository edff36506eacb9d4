// SPDX-License-Identifier: BSL-1.0

// What it costs to look for denials in what a command printed, in GB/s, beside the plain way: a copy in lower case, in
// which each signature is looked for. The text is what a large build prints, with one denial as its last line. Both
// take turns in one run; what is printed is the median of each.
//
//   text_benchmark [ROUNDS] [MEGABYTES]

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cordon/classify/denial.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using Dialect = cordon::Dialect<
    cordon::DenialSignatures<"read-only file system", "permission denied", "invalid cross-device link">>;

bool lower_and_find(const std::string& text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto denials = Dialect::view().denials;
  return std::any_of(denials.begin(), denials.end(),
                     [&](std::string_view signature) { return lowered.find(signature) != std::string::npos; });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::size_t size = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100) * 1000000;
  std::string text;
  for (int i = 0; text.size() < size; ++i)
    text += "/usr/src/project/source/file" + std::to_string(i % 977) +
            ".cpp:42:17: warning: comparison of integer expressions of different signedness [-Wsign-compare]\n";
  const std::string directory = cordon::os::current_directory();
  text += "touch: cannot touch '" + directory + "/outside': Read-only file system\n";

  cordon::DenialContext context;
  context.words = cordon::words_of(Dialect::view(), {});
  context.exit_code = 1;
  context.working_directory = "/";
  struct Contender {
    const char* name;
    std::function<bool()> once;
    std::vector<double> seconds = {};
  };
  std::vector<Contender> contenders{
      {"lower and find", [&] { return lower_and_find(text); }},
      {"has_denial_signature", [&] { return cordon::has_denial_signature(Dialect::view(), 1, text); }},
      {"infer_denials", [&] { return !cordon::infer_denials(text, context).empty(); }}};
  for (int round = -1; round < rounds; ++round)
    for (Contender& contender : contenders) {
      const auto begun = std::chrono::steady_clock::now();
      if (!contender.once()) std::abort();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
      if (round >= 0) contender.seconds.push_back(taken.count());
    }
  std::printf("%zu MB, %d rounds\n", text.size() / 1000000, rounds);
  double first = 0;
  for (Contender& contender : contenders) {
    std::nth_element(contender.seconds.begin(), contender.seconds.begin() + rounds / 2, contender.seconds.end());
    const double median = contender.seconds[static_cast<std::size_t>(rounds / 2)];
    if (first == 0) first = median;
    std::printf("%-22s %7.2f GB/s  %6.1f times as fast\n", contender.name,
                static_cast<double>(text.size()) / median / 1e9, first / median);
  }
}
