#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# demo.sh CORDON: real commands in a temporary git repository, confined, denied and reported. Coloured on a terminal.
# Ends with 1 if anything goes differently from what it says.
set -u
cordon=$(readlink -f "$1")
place=$(mktemp -d /var/tmp/cordon-demo.XXXXXX) || exit 1
trap 'rm -rf "$place"' EXIT
workspace=$place/project
outside=$place/elsewhere
facts=$place/facts.json
mkdir "$workspace" "$outside"

if [ -t 1 ]; then bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'; else bold= green= red= plain=; fi
failed=0
expect() { # WHAT CONDITION…
  local what=$1
  shift
  if "$@"; then echo "  ${green}as it should be:${plain} $what"; else echo "  ${red}WRONG:${plain} not so: $what"; failed=1; fi
}
says() { grep -qF -- "$1" "$facts"; }
shown() {
  printf '\n%s$ cordon run' "$bold"
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./=-]+$ ]]; then printf ' %s' "$word"; else printf ' %s' "${word@Q}"; fi
  done
  printf '%s\n' "$plain"
}
run() {
  shown "$@"
  "$cordon" run --workspace "$workspace" --json "$facts" "$@" 2>&1 | sed 's/^/  /'
  status=${PIPESTATUS[0]}
}
denial() { # prints what the facts say about the first denial
  local mode path effect
  mode=$(sed -n 's/.*"mode":"\([^"]*\)".*/\1/p' "$facts")
  effect=$(sed -n 's/.*"denials":\[{"effect":"\([^"]*\)".*/\1/p' "$facts")
  path=$(sed -n 's/.*"denials":\[{[^}]*"path":"\([^"]*\)".*/\1/p' "$facts")
  echo "  ${red}the facts say denied:${plain} $effect $path (mode $mode)"
}

echo "Each command below also gets --workspace $workspace and --json, which writes the facts."
git -C "$workspace" init -q
echo 'int main() { return 0; }' > "$workspace/main.c"

echo "${bold}1. Reading is free${plain}"
run --mode read-only -- git status --short
expect 'git status works in read-only mode' test "$status" = 0
expect 'the sandbox governs everything that the mode promises' says '"enforcement":{"level":"full","missing":[]}'

echo; echo "${bold}2. A write in read-only mode is refused, and the refusal is a fact${plain}"
run --mode read-only -- bash -c 'echo "// changed" >> main.c'
denial
expect 'the command failed' test "$status" != 0
expect 'the file is as it was' test "$(wc -l < "$workspace/main.c")" = 1
expect 'the facts say denied' says '"denied":true'

echo; echo "${bold}3. The same write in workspace-write mode lands${plain}"
run --mode workspace-write -- bash -c 'echo "// changed" >> main.c'
expect 'the command succeeded' test "$status" = 0
expect 'the file has a second line' test "$(wc -l < "$workspace/main.c")" = 2

echo; echo "${bold}4. Outside the workspace nothing can be written, whatever the mode${plain}"
run --mode workspace-write -- bash -c 'echo stolen > ../elsewhere/file; touch ../elsewhere/other'
denial
expect 'the command failed' test "$status" != 0
expect 'nothing was made outside' test -z "$(ls -A "$outside")"

echo; echo "${bold}5. A sandbox that can't start is never a command that failed${plain}"
run --bwrap /nonexistent/bwrap -- touch must-not-exist
expect 'cordon refused with 125' test "$status" = 125
expect 'nothing ran' test ! -e "$workspace/must-not-exist"

echo; echo "${bold}6. A wider mode is for one command, once, when somebody allows it${plain}"
cat > "$place/reviewer" <<'END'
#!/bin/sh
# Stands in for a human: reads the request, a line of JSON, and allows what only makes a file called note.
if grep -q '"argv":\["touch","note"\]'; then outcome=allowed-once; else outcome=rejected; fi
echo "{\"outcome\":\"$outcome\"}"
END
chmod 755 "$place/reviewer"
run --mode read-only --escalate workspace-write --justify 'a note for the user' --approve-with "$place/reviewer" -- touch note
expect 'it was allowed' says '"outcome":"allowed-once","answered_by":"command"'
expect 'and ran under the mode that was granted' test -e "$workspace/note"
run --mode read-only --escalate danger-full-access --justify 'trust me' --approve-with "$place/reviewer" -- rm note
expect 'another command was rejected' test "$status" = 125
expect 'and did not run' test -e "$workspace/note"

echo; echo "${bold}7. What holds on this machine${plain}"
printf '\n%s$ cordon probe%s\n' "$bold" "$plain"
"$cordon" probe --workspace "$workspace" | sed 's/^/  /'
expect 'the platform backend is usable' test "${PIPESTATUS[0]}" = 0

echo
if [ $failed = 0 ]; then echo "${green}Everything went as it should.${plain}"; else echo "${red}Something went differently.${plain}"; fi
exit $failed
