#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# What runs in the guest: the effect matrix and the escape suite, as uid 0 and as an ordinary user.
failed=0
seconds() { busybox cut -d . -f 1 /proc/uptime; }

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
  # Of the matrix what differs between kernels; and that each attack works at all there.
  for suite in 'What escapes is exactly*,Every effect happens*' '[escape]'; do
    begun=$(seconds)
    if $run ./cordon_kernel_tests "$suite" > log 2>&1; then verdict=ok; else verdict='not ok'; failed=1; fi
    echo "$verdict - $who, $suite: $(busybox grep -v '^$' log | busybox tail -n 1) in $(($(seconds) - begun)) s"
    busybox grep -hE '^ *(SKIPPED|not possible here)' log | busybox sort | busybox uniq -c
    [ "$verdict" = ok ] || busybox grep -B 8 -A 12 FAILED log
  done
done
exit $failed
