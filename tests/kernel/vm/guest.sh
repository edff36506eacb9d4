#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# What runs in the guest: the effect matrix, as uid 0 and as an ordinary user.
failed=0
for who in root ordinary; do
  directory=/var/tmp/$who
  mkdir "$directory"
  cp /test/* "$directory"
  cd "$directory" || exit 1
  export CORDON_TEST_DIR=$directory HOME=$directory
  run=
  [ $who = root ] || { busybox chown -R 31337:31337 "$directory"; run="/usr/bin/setpriv --reuid 31337 --regid 31337 --clear-groups --inh-caps=-all"; }
  [ $who = root ] || busybox mknod -m 666 "$directory/null-node" c 1 3
  ./cordon probe | sed -n '1p;3,7p'
  if $run ./cordon_kernel_tests 'What escapes is exactly*' > log 2>&1; then
    echo "ok - $who: $(busybox grep -v '^$' log | busybox tail -n 1)"
  else
    echo "not ok - $who"
    busybox grep -A 12 FAILED log
    failed=1
  fi
done
exit $failed
