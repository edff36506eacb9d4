#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# run.sh CACHE GUEST PROGRAM…: boots another kernel and runs guest.sh in it. GUEST is a name from the list below; CACHE
# keeps the kernels between runs. Exit 77: the emulator is missing, or the mirror doesn't serve that kernel.
set -u
here=$(dirname "$(readlink -f "$0")")
cache=$1 guest=$2
shift 2
arguments=()
case $guest in  # what the first line of `cordon probe` must look like there, so that no other guest passes for this one
  5.10) release=bullseye expected='kernel 5\.10.*Landlock not available' ;;
  6.1) release=bookworm expected='kernel 6\.1\..*Landlock ABI 2' ;;
  6.1-without-landlock) release=bookworm expected='kernel 6\.1\..*Landlock not available' arguments=(lsm=yama,apparmor) ;;
  6.1-without-user-namespaces)
    release=bookworm expected='kernel 6\.1\..*Landlock ABI 2' arguments=(sysctl.user.max_user_namespaces=0) ;;
  6.12) release=trixie expected='kernel 6\.12.*Landlock ABI 6' ;;
  7.x) release=forky expected='kernel 7\..*Landlock ABI 1[0-9]' ;;
  *) echo "no such guest: $guest" >&2; exit 2 ;;
esac

not_run() {
  echo "not run: $guest: $1" >&2
  [ "${CORDON_REQUIRE_VM:-0}" = 1 ] && exit 1
  exit 77
}
for tool in qemu-system-x86_64 busybox cpio apt-get flock; do
  command -v $tool >/dev/null || not_run "no $tool"
done
mkdir -p "$cache"
flock "$cache" bash "$here/fetch.sh" "$cache" "$release"
[ -e "$cache/vmlinuz-$release" ] || not_run "no kernel of $release could be had"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bash "$here/image.sh" "$work/image" "$here/guest.sh" "$@" || exit 1
begun=$SECONDS
bash "$here/boot.sh" "$cache/vmlinuz-$release" "$work/image" ${arguments[@]+"${arguments[@]}"} | tee "$work/said"
status=${PIPESTATUS[0]}
echo "$guest: $((SECONDS - begun)) seconds"
grep -q "^$expected" "$work/said" || { echo "not the guest that was asked for: $expected" >&2; exit 1; }
exit "$status"
