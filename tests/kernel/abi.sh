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

# What the tool and the runner say of an old kernel (T-LLR, F4, F10, F11, F12).
mkdir -p outside work
report() { # STATUS WHAT
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; cat out err; failed=1; fi
}
clamped() { # ABI COMMAND…: into out, err and $status
  local abi=$1
  shift
  ./cordon_abi_clamp "$abi" "$@" >out 2>err
  status=$?
}
for abi in -1 0; do
  for mode in read-only workspace-write; do
    clamped $abi ./cordon run --backend landlock --partial accept --mode $mode --workspace work -- touch outside/new work/new
    [ $status = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^cordon: SANDBOX_UNAVAILABLE: .*no Landlock' err && [ ! -s out ] &&
      [ ! -e outside/new ] && [ ! -e work/new ]
    report $? "F4 F11 F12: without Landlock ($abi) the backend refuses, and nothing runs in $mode"
  done
  clamped $abi ./cordon --cordon-runner confine --layers landlock --mode read-only --workspace "$PWD/work" -- touch outside/new
  [ $status = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^cordon-runner: landlock: ' err && [ ! -s out ] && [ ! -e outside/new ]
  report $? "T-LLR-03: without Landlock ($abi) the runner says one line, 125, and runs nothing"
done
# Neither Landlock nor namespaces, as on WSL 1.
without='for kind in user mnt; do echo 0 >/proc/sys/user/max_${kind}_namespaces || exit 9; done; exec "$@"'
if unshare --user --map-root-user sh -c "$without" sh true 2>/dev/null; then
  for backend in auto mount-namespace; do
    if [ $backend = auto ]; then reasons='mount-namespace+landlock: .*; bubblewrap: .*; landlock: '; else reasons='user-namespace'; fi
    clamped -1 unshare --user --map-root-user sh -c "$without" sh ./cordon run --backend $backend --partial accept \
      --workspace work -- touch outside/new work/new
    [ $status = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^cordon: SANDBOX_UNAVAILABLE: .*$reasons" err && [ ! -s out ] &&
      [ ! -e outside/new ] && [ ! -e work/new ]
    report $? "F4 F10: without Landlock and namespaces no backend is usable ($backend), each says why, and nothing runs"
  done
else
  echo "# not run: this user can't have namespaces of its own"
fi
for abi in 2 4; do
  clamped $abi ./cordon run --backend landlock --partial accept --json facts --mode read-only --workspace work -- false
  missing=$([ $abi = 2 ] && echo '"truncate","metadata","device"' || echo '"metadata","device"')
  [ $status = 1 ] && [ ! -s out ] && [ ! -s err ] && grep -qF "\"enforcement\":{\"level\":\"partial\",\"missing\":[$missing]" facts
  report $? "T-LLR-02 T-LLR-16: ABI $abi is partial in the facts, and a command's own failure is only its own"
  clamped $abi ./cordon run --backend landlock --partial refuse --mode read-only --workspace work -- touch outside/new
  [ $status = 125 ] && grep -q '^cordon: ENFORCEMENT_PARTIAL: ' err && [ ! -s out ]
  report $? "ABI $abi: partial can be refused, and then nothing runs"
done

echo "1..$number"
exit $failed
