#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# run.sh CACHE PROGRAM…: boots other kernels and runs guest.sh in each. CACHE keeps the kernels between runs. Exit 77 when
# the emulator is missing; a kernel that the mirror no longer serves is reported as not run.
set -u
here=$(dirname "$(readlink -f "$0")")
cache=$1
shift
for tool in qemu-system-x86_64 busybox cpio apt-get; do
  command -v $tool >/dev/null && continue
  echo "not run: no $tool" >&2
  [ "${CORDON_REQUIRE_VM:-0}" = 1 ] && exit 1
  exit 77
done
bash "$here/fetch.sh" "$cache" bullseye bookworm trixie forky
bash "$here/image.sh" "$cache/image" "$here/guest.sh" "$@" || exit 1

failed=0
boot() { # LABEL RELEASE [KERNEL-ARGUMENT…]
  local label=$1 release=$2
  shift 2
  if [ ! -e "$cache/vmlinuz-$release" ]; then
    echo "not run: $label ($release is no longer served)"
    return
  fi
  echo "== $label"
  bash "$here/boot.sh" "$cache/vmlinuz-$release" "$cache/image" "$@" || { failed=1; echo "== $label: failed"; }
}
begun=$SECONDS
boot '5.10, no Landlock, no mount_setattr' bullseye
boot '6.1, Landlock ABI 2' bookworm
boot '6.1, Landlock switched off' bookworm lsm=yama,apparmor
boot '6.1, no user namespaces' bookworm sysctl.user.max_user_namespaces=0
boot '6.12, Landlock ABI 6' trixie
boot '7.x, Landlock ABI 10' forky
echo "$((SECONDS - begun)) seconds"
exit $failed
