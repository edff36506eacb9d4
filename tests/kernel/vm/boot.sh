#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# boot.sh KERNEL IMAGE [KERNEL-ARGUMENT…]: boots KERNEL under qemu's own emulation with the initial file system IMAGE (see
# image.sh), prints what its /run-tests printed, and exits with its status; 124 when it took too long, 125 when the guest
# never got there.
set -u
kernel=$1 image=$2
shift 2
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
# One processor: two that are emulated on a busy machine spend most of their time waiting for each other.
timeout -k 5 "${CORDON_VM_SECONDS:-1100}" qemu-system-x86_64 -accel tcg,thread=multi -M q35 -cpu max -smp 1 -m 512M -nodefaults \
  -no-user-config -display none -no-reboot -nic none -kernel "$kernel" -initrd "$image" \
  -append "console=ttyS0 panic=-1 loglevel=4 $*" -serial "file:$work/log" -serial "file:$work/out" </dev/null 2>"$work/qemu"
status=$?
tr -d '\r' < "$work/out" | sed '/^@status /d'
result=$(tr -d '\r' < "$work/out" | sed -n 's/^@status //p' | tail -1)
[ -n "$result" ] && exit "$result"
cat "$work/qemu" >&2
tr -d '\r' < "$work/log" | tail -20 >&2
[ $status = 124 ] && exit 124
exit 125
