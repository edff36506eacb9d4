#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_aarch64.sh ROOT: compiles the library for aarch64, with clang and Debian's cross headers
# (libc6-dev-arm64-cross, libstdc++-12-dev-arm64-cross), and holds the observer's table and filter there against the
# kernel's numbers. Nothing is run. Exit 77: no such compiler, or no such headers.
set -eu
cd "$1"
compiler=clang++-16
flags=(--target=aarch64-linux-gnu -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude -Itests)
if ! echo '#include <string>' | "$compiler" "${flags[@]}" -fsyntax-only -x c++ - 2>/dev/null; then
  echo "not run: no $compiler for aarch64, or no headers" >&2
  exit 77
fi
# Step by step through the filter for each number takes more than the compiler allows by itself.
"$compiler" "${flags[@]}" -fconstexpr-steps=100000000 -c -o /dev/null tests/support/aarch64.cpp
