#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# chain.sh APPROVAL_BENCHMARK: instructions of a chain of eight answerers beside those of the same by hand, with
# callgrind. What both take to start is taken off.
set -euo pipefail
count() { # WHICH ROUNDS
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
program=$1
rounds=20000
chain=$(($(count chain $rounds) - $(count chain 0)))
hand=$(($(count hand $rounds) - $(count hand 0)))
echo "instructions a request: chain $((chain / rounds / 9)), by hand $((hand / rounds / 9)), ratio $(awk "BEGIN { print $chain / $hand }")"
