#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# What runs in the guest, as uid 0 and as an ordinary user: the effect matrix, the escape suite, the limits of resources,
# and how a command and all that it leaves behind are ended.
failed=0
seconds() { busybox cut -d . -f 1 /proc/uptime; }

# As a system's first program does; without it no group below the first has a controller.
echo '+pids +memory' > /sys/fs/cgroup/cgroup.subtree_control

for who in root ordinary; do
  directory=/var/tmp/$who
  mkdir "$directory"
  cp /test/* "$directory"
  cd "$directory" || exit 1
  export CORDON_TEST_DIR=$directory HOME=$directory
  run=
  if [ $who = ordinary ]; then
    busybox chown -R 31337:31337 "$directory"
    busybox mknod -m 666 "$directory/null-node" c 1 3
    run="/usr/bin/setpriv --reuid 31337 --regid 31337 --clear-groups --inh-caps=-all"
  fi
  $run ./cordon probe | busybox sed '/^No mode governs/d;/^$/d'
  # Where the namespaces can be had, a command is in them: it has the first small numbers to itself.
  host=$(busybox readlink /proc/self/ns/pid)
  for backend in mount-namespace layered; do
    if ! said=$($run ./cordon run --backend $backend --partial accept --mode read-only -- \
      busybox sh -c 'echo $$ $(busybox readlink /proc/self/ns/pid)' 2>&1); then
      echo "not run - $who, $backend: $said"
      continue
    fi
    place=prepared verdict=ok
    if [ "${said#* }" = "$host" ]; then place="its own"; elif [ "${said% *}" -gt 9 ]; then verdict='not ok'; fi
    if [ "$place" != prepared ] && $run busybox unshare -U true 2>/dev/null; then verdict='not ok'; fi
    [ "$verdict" = ok ] || failed=1
    echo "$verdict - $who, $backend: in $place namespaces, as process ${said% *}"
  done
  # Of the matrix what differs between kernels; and that each attack works at all there.
  for suite in 'What escapes is exactly*,Every effect happens*' '[escape]' '[limits]' \
    'Killing a child*,What a command leaves*,A caller that ignores SIGCHLD*,No two commands*,No command can trace*'; do
    begun=$(seconds)
    if $run ./cordon_kernel_tests "$suite" > log 2>&1; then verdict=ok; else verdict='not ok'; failed=1; fi
    echo "$verdict - $who, $suite: $(busybox grep -v '^$' log | busybox tail -n 1) in $(($(seconds) - begun)) s"
    busybox grep -hE '^ *(SKIPPED|not possible here)' log | busybox sort | busybox uniq -c
    [ "$verdict" = ok ] || busybox grep -B 8 -A 12 FAILED log
  done
done
exit $failed
