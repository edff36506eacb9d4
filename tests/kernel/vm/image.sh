#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# image.sh IMAGE SCRIPT PROGRAM…: an initial file system that holds busybox, a few of this machine's programs and each
# PROGRAM (in /test) with the libraries they need. Its init makes a real root that can be pivoted, mounts what a system
# has, and runs SCRIPT.
set -eu
image=$1 script=$2
shift 2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,proc,sys,tmp,etc,newroot,usr/bin,usr/sbin,sbin,run,var/tmp,test,root}
chmod 755 "$root" "$root"/*

libraries_of() { # PROGRAM
  ldd "$1" 2>/dev/null | grep -oE '/[^ )]+' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -Lu "$library" "$root$library"
  done
}
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in $("$root/bin/busybox" --list); do
  [ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
done
for program in bash bwrap setpriv su mount; do
  path=$(readlink -f "$(command -v $program)")
  cp "$path" "$root/usr/bin/$program"
  libraries_of "$path"
done
chmod 4755 "$root/usr/bin/su" "$root/usr/bin/mount"  # what the set-uid attacks start
for program in "$@"; do
  cp "$program" "$root/test/"
  libraries_of "$program"
done
cp "$script" "$root/run-tests"
chmod 755 "$root/run-tests" "$root"/test/*
printf 'root:x:0:0::/root:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\n' > "$root/etc/group"

cat > "$root/init" <<'INIT'
#!/bin/busybox sh
# The first root can't be pivoted away from: continue on one that can.
busybox mount -t tmpfs -o size=90%,mode=755 root /newroot
for entry in /*; do [ "$entry" = /newroot ] || busybox cp -a "$entry" /newroot/; done
exec busybox switch_root /newroot /second-init
INIT
cat > "$root/second-init" <<'INIT'
#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t securityfs security /sys/kernel/security
busybox mount -t cgroup2 cgroup /sys/fs/cgroup
busybox mount -t devtmpfs dev /dev
busybox mkdir -p /dev/pts /dev/shm
busybox mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
busybox mount -t tmpfs -o mode=1777 shm /dev/shm
busybox mount -t tmpfs -o mode=1777 tmp /tmp
busybox chmod 1777 /var/tmp
[ -e /dev/fd ] || busybox ln -s /proc/self/fd /dev/fd
busybox stty -F /dev/ttyS1 raw -echo 2>/dev/null
export PATH=/usr/bin:/bin HOME=/tmp
cd /
/run-tests >/dev/ttyS1 2>&1 </dev/null
echo "@status $?" >/dev/ttyS1
busybox sync
busybox poweroff -f
INIT
chmod 755 "$root/init" "$root/second-init"
(cd "$root" && find . -mindepth 1 -print0 | cpio --null -o -H newc -R 0:0 --quiet) > "$image"
