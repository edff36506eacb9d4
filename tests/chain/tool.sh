#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# tool.sh CORDON: the tool writes, continues and verifies a chained log, and names the first broken link.
set -eu
cordon=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
log=$place/log
"$cordon" session new "$log" --cwd "$place" --hash-chain
"$cordon" session preset "$log" workspace-write
"$cordon" session mode "$log" read-only
"$cordon" run --session "$log" --mode danger-full-access -- true
"$cordon" session verify "$log" | grep -q '^chain of hashes: sound up to [0-9a-f]\{64\}$'
sed '3s/"workspace-write"/"danger-full-access"/' "$log" >"$place/edited"
offset=$(head -2 "$log" | wc -c)
status=0
"$cordon" session verify "$place/edited" 2>"$place/err" || status=$?
[ $status = 2 ]
grep -q "^cordon: LOG_CORRUPT: .* line 3, byte $offset: the chain of hashes is broken" "$place/err"
sed '4d; s/"seq":3/"seq":2/' "$log" >"$place/shorter"
! "$cordon" session verify "$place/shorter" 2>/dev/null
