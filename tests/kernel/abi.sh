#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The effect matrix on kernels that this machine does not run: the Landlock of every older ABI, none (0), and switched off
# (-1), by the clamp in tests/support/abi_clamp.cpp. Labels and attacks must agree in each. Run by as_user.sh, from the
# directory that holds the programs.
set -u
failed=0
number=0
for abi in -1 0 1 2 3 4 5 6; do
  number=$((number + 1))
  # Where the ABI leaves a backend unusable there is nothing to attack; the others must still hold.
  require=$([ "$abi" -ge 2 ] && echo "${CORDON_REQUIRE_KERNEL:-0}" || echo 0)
  if CORDON_REQUIRE_KERNEL=$require ./cordon_abi_clamp "$abi" ./cordon_kernel_tests 'What escapes is exactly*' > "abi$abi.log" 2>&1; then
    echo "ok $number - Landlock ABI $abi: $(tail -n 2 "abi$abi.log" | head -n 1)"
  else
    echo "not ok $number - Landlock ABI $abi"
    tail -n 60 "abi$abi.log"
    failed=1
  fi
done
echo "1..$number"
exit $failed
