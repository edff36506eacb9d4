#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_format.sh ROOT: every source file is formatted the way clang-format 14 does it.
set -eu
formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ] || ! "$formatter" --version | grep -q 'version 14\.'; then
  echo "not run: clang-format 14 is not installed" >&2
  [ "${CORDON_REQUIRE_FORMAT:-0}" = 1 ] && exit 1
  exit 77
fi
cd "$1"
find include tests benchmarks examples -name '*.hpp' -o -name '*.cpp' | sort | xargs "$formatter" --dry-run --Werror
