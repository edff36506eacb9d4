#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_documents.sh ROOT COMPILER TOOL: the C++ of the README and of the guide compiles, each whole program by itself and
# each fragment among what its text speaks of; the rules of the guide say what they should.
set -euo pipefail
cd "$1"
compiler=$2
tool=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

blocks() { awk -v language="$1" '$0 == "```" language { inside = 1; ++n; next } $0 == "```" { inside = 0 }
                                 inside { print > ("'"$scratch"'/" name "." n "." language) }' name="$3" "$2"; }
for document in README.md docs/guide.md; do
  blocks cpp $document "$(basename $document .md)"
  blocks json $document "$(basename $document .md)"
done

# All in one translation unit, since reading the headers is what takes time.
{
  cat "$scratch"/*.cpp | grep -h '^#include' | sort -u
  printf '#include <unistd.h>\n'
  number=0
  for block in "$scratch"/*.cpp; do
    number=$((number + 1))
    printf 'namespace example_%d {\n' $number
    if grep -q '^#include <cordon/' "$block"; then
      printf '#line 1 "%s"\n' "$(basename "$block")"
      sed 's/^#include.*//' "$block"
    else
      printf 'void fragment(cordon::Harness<cordon::PlatformBackend>& harness, const cordon::Policy<cordon::WorkspaceWrite>& policy,\n'
      printf '              const cordon::RunResult& result) {\ncordon::process::RunOptions options;\n{\n'
      printf '#line 1 "%s"\n' "$(basename "$block")"
      sed 's/^…$//; s/…/{}/' "$block" | sed '/RunOptions options;$/d'
      printf '}\n(void)harness, (void)policy, (void)result;\n}\n'
    fi
    printf '}  // namespace example_%d\n' $number
  done
} >"$scratch/documents.cc"
[ "$number" -ge 10 ] || { echo "only $number blocks of C++ were found in the documents" >&2; exit 1; }
# A main that is no main, being in a namespace, has to return.
"$compiler" -std=c++20 -Wall -Wextra -Werror -Wno-return-type -Iinclude -fsyntax-only -x c++ "$scratch/documents.cc"

# What the rules of the guide say about two commands.
mkdir "$scratch/w"
decided() {
  "$tool" run --workspace "$scratch/w" --rules "$scratch/guide.1.json" --escalate workspace-write --justify documented --json "$scratch/facts" \
    -- "$@" >"$scratch/output" 2>&1 || true
  grep -oE '"outcome":"(allowed-once|rejected|unavailable)"' "$scratch/facts"
}
[ "$(decided git log)" = '"outcome":"allowed-once"' ]
[ "$(decided git push)" = '"outcome":"rejected"' ]
