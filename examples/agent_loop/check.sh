#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check.sh AGENT_LOOP: runs the example and compares what it prints with what is written in expected.txt.
set -euo pipefail
place=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$place"' EXIT
"$1" "$place" | diff "$(dirname "$0")/expected.txt" -
