#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_beside.sh ROOT COMPILER: what runs beside a thread of the program, with that thread's storage, calls nothing that
# uses it: no sanitizer, no stack protector, no library. Compiles it with both and looks at what the machine code calls, from
# where such a process begins.
set -euo pipefail
cd "$1"
compiler=$2
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
# Where a noexcept function would end the program; nothing that it calls throws.
never='^__clang_call_terminate$'
roots='6detail(11keeper_main|10child_main|9init_main|13observer_main)INS_2os6KernelE'
"$compiler" -std=c++20 -Iinclude -O0 -fsanitize=thread -fstack-protector-all -c -o "$object" tests/support/beside.cpp
objdump -dr --no-show-raw-insn "$object" | awk -v roots="$roots" -v never="$never" '
  /^[0-9a-f]+ <.*>:$/ { current = substr($2, 2, length($2) - 3); here[current] = 1; next }
  /R_(X86_64|AARCH64)_/ { target = $NF; sub(/[-+]0x[0-9a-f]+$/, "", target); uses[current, ++count[current]] = target }
  /%fs:/ { uses[current, ++count[current]] = "__stack_chk_guard" }
  END {
    for (name in here) if (name ~ roots) { todo[++last] = name; seen[name] = 1 }
    if (last != 4) { print last + 0 " of the 4 places where such a process begins were found"; bad = 1 }
    for (i = 1; i <= last; ++i)
      for (n = 1; n <= count[todo[i]]; ++n) {
        target = uses[todo[i], n]
        if (target ~ never) continue
        if (target in here) { if (!(target in seen)) { seen[target] = 1; todo[++last] = target } }
        else if (target ~ /^(__tsan|__stack_chk|mem|str|_ZSt|_ZNSt|_Zn|_Zd)/) { print todo[i] " uses " target; bad = 1 }
      }
    exit bad
  }' >&2
