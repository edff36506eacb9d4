// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace support {

/// What a filter that is none of seccomp's answers: an instruction that nobody expects, or its end.
inline constexpr std::uint32_t no_answer = ~std::uint32_t{0};

/// What a filter answers to one call, step by step as the kernel takes it: the classic BPF that seccomp takes, as far
/// as filters here use it. `load(offset)` gives the four bytes of the call there.
template <class Load>
constexpr std::uint32_t answer_of(std::span<const sock_filter> filter, Load&& load) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& step = filter[at];
    bool yes = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        accumulator = load(step.k);
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        yes = accumulator == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        yes = accumulator >= step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        yes = (accumulator & step.k) != 0;
        break;
      default:
        return no_answer;
    }
    at += yes ? step.jt : step.jf;
  }
  return no_answer;
}

}  // namespace support
