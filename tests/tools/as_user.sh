#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# as_user.sh root|ordinary PROGRAM [FILE…]: runs PROGRAM as that kind of user, from a directory of its own that the
# user can enter and write. PROGRAM and the FILEs are copied there first, so that a build tree which only root can enter
# is no obstacle. CORDON_TEST_DIR names the directory. CORDON_TEST_SELECTION is handed to PROGRAM as its argument.
# Exit 77: this kind of user is out of reach here.
set -eu
kind=$1
shift
if [ "$kind" = root ] && [ "$(id -u)" != 0 ]; then
  echo "not run: this test needs uid 0" >&2
  [ "${CORDON_REQUIRE_KERNEL:-0}" = 1 ] && exit 1
  exit 77
fi
directory=$(mktemp -d /var/tmp/cordon-test.XXXXXX)
trap 'rm -rf "$directory"' EXIT
cp "$@" "$directory/"
chmod 755 "$directory"/*
program=$directory/$(basename "$1")
export CORDON_TEST_DIR=$directory HOME=$directory
cd "$directory"
if [ "$kind" = ordinary ] && [ "$(id -u)" = 0 ]; then
  # A uid without an account: the tests must not depend on one.
  chown -R 31337:31337 "$directory"
  mknod -m 666 "$directory/null-node" c 1 3  # a device that is no sink, which only uid 0 can make
  setpriv --reuid 31337 --regid 31337 --clear-groups --inh-caps=-all "$program" ${CORDON_TEST_SELECTION:+"$CORDON_TEST_SELECTION"}
else
  "$program" ${CORDON_TEST_SELECTION:+"$CORDON_TEST_SELECTION"}
fi
