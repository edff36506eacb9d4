#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The cordon tool from outside: what it refuses, what it reports, what it runs. The programs are in $CORDON_TEST_DIR.
# Prints one line a check, as TAP does; ends with 1 if one failed.
set -u
export PATH=/usr/local/bin:/usr/bin:/bin
programs=${CORDON_TEST_DIR:?the directory of the programs}
cordon=$programs/cordon
place=$(mktemp -d "$programs/tool.XXXXXX") || exit 1
place=$(readlink -f "$place")
trap 'rm -rf "$place"' EXIT
workspace=$place/workspace
outside=$place/outside
bin=$place/bin
facts=$place/facts.json
mkdir "$workspace" "$outside" "$bin" "$workspace/sub"
echo mine >"$workspace/mine"
cd "$place" || exit 1

count=0
failed=0
report() { # OK WHAT
  count=$((count + 1))
  if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=$((failed + 1)); fi
}
check() { # WHAT COMMAND…: the command must succeed
  local what=$1
  shift
  if "$@"; then report 0 "$what"; else report 1 "$what"; fi
}
check_not() { # WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then report 1 "$what"; else report 0 "$what"; fi
}
equal() { # WHAT EXPECTED FOUND
  if [ "$2" = "$3" ]; then report 0 "$1"; else report 1 "$1"; printf '#  expected %q\n#  found    %q\n' "$2" "$3"; fi
}
says() { grep -qF -- "$1" "$facts"; }
run() { # ARGUMENT…: cordon run, into $out, $err and $status
  rm -f "$facts"
  out=$("$cordon" run "$@" 2>"$place/err")
  status=$?
  err=$(cat "$place/err")
}
in_workspace() { run --workspace "$workspace" --json "$facts" "$@"; }

refused() { # WHAT CODE ARGUMENT…: exit 125, one line on stderr, nothing executed
  local what=$1 code=$2
  shift 2
  rm -f "$outside/executed" "$workspace/executed"
  run "$@"
  equal "$what: exit status" 125 "$status"
  equal "$what: one line on stderr" 1 "$(wc -l <"$place/err")"
  check "$what: it says cordon: $code: …" grep -qE "^cordon: $code: .+" "$place/err"
  equal "$what: stdout is empty" '' "$out"
  check_not "$what: nothing was executed" test -e "$workspace/executed" -o -e "$outside/executed"
}
mark=(sh -c "touch '$outside/executed' '$workspace/executed'; echo ran")
run --workspace "$workspace" --mode danger-full-access -- "${mark[@]}"
check 'the command that must not run leaves its marks when it does' test -e "$workspace/executed" -a -e "$outside/executed" -a "$out" = ran

# --- bad input -------------------------------------------------------------------------------------------------------
refused 'unknown mode' POLICY_INVALID --workspace "$workspace" --mode yolo -- "${mark[@]}"
refused 'empty mode' POLICY_INVALID --workspace "$workspace" --mode '' -- "${mark[@]}"
refused 'mode in capitals' POLICY_INVALID --workspace "$workspace" --mode READ-ONLY -- "${mark[@]}"
refused 'no command after --' ARGV_INVALID --workspace "$workspace" --
refused 'no -- at all' ARGV_INVALID --workspace "$workspace"
refused 'empty program' ARGV_INVALID --workspace "$workspace" -- '' x
refused 'missing workspace' POLICY_INVALID --workspace "$place/missing" -- "${mark[@]}"
touch "$place/file"
refused 'workspace is a file' POLICY_INVALID --workspace "$place/file" -- "${mark[@]}"
ln -s nowhere "$place/dangling"
refused 'workspace is a dangling link' POLICY_INVALID --workspace "$place/dangling" -- "${mark[@]}"
ln -s loop "$place/loop"
refused 'workspace is a link to itself' POLICY_INVALID --workspace "$place/loop" -- "${mark[@]}"
ln -s / "$place/root-link"
for mode in read-only workspace-write; do
  refused "/ as workspace, $mode (T-KRN-22)" POLICY_INVALID --mode $mode --workspace / -- "${mark[@]}"
  refused "a link to / as workspace, $mode" POLICY_INVALID --mode $mode --workspace "$place/root-link" -- "${mark[@]}"
  refused "/ as a dotted workspace, $mode" POLICY_INVALID --mode $mode --workspace "$workspace/../../../../../../../.." -- "${mark[@]}"
done
refused '/ as a writable root' POLICY_INVALID --mode workspace-write --workspace "$workspace" --write / -- "${mark[@]}"
refused '/dev as a writable root' POLICY_INVALID --mode workspace-write --workspace "$workspace" --write /dev -- "${mark[@]}"
refused '/proc as workspace' POLICY_INVALID --mode workspace-write --workspace /proc -- "${mark[@]}"
refused 'missing writable root' POLICY_INVALID --mode workspace-write --workspace "$workspace" --write "$place/missing" -- "${mark[@]}"
refused 'protected path outside every root' POLICY_INVALID --mode workspace-write --workspace "$workspace" --protect "$outside" -- "${mark[@]}"
refused 'protected path that climbs out' POLICY_INVALID --mode workspace-write --workspace "$workspace" --protect sub/../../outside -- "${mark[@]}"
refused 'missing protected path' POLICY_INVALID --mode workspace-write --workspace "$workspace" --protect "$workspace/missing" -- "${mark[@]}"
refused 'the root itself protected' POLICY_INVALID --mode workspace-write --workspace "$workspace" --protect "$workspace" -- "${mark[@]}"
refused 'unknown option' USAGE --workspace "$workspace" --frobnicate -- "${mark[@]}"
refused 'unknown backend' USAGE --workspace "$workspace" --backend jail -- "${mark[@]}"
refused 'unknown partial rule' USAGE --workspace "$workspace" --partial maybe -- "${mark[@]}"
refused 'unknown environment rule' USAGE --workspace "$workspace" --inherit-env some -- "${mark[@]}"
refused '--env without =' USAGE --workspace "$workspace" --env NAME -- "${mark[@]}"
refused '--env without a name' USAGE --workspace "$workspace" --env =value -- "${mark[@]}"
refused '--max-output that is no number' USAGE --workspace "$workspace" --max-output many -- "${mark[@]}"
refused 'missing input file' '[A-Z_]+' --workspace "$workspace" --stdin "$place/missing" -- "${mark[@]}"
refused '--cwd that is missing' '[A-Z_]+' --workspace "$workspace" --cwd "$place/missing" -- "${mark[@]}"
refused 'a newline in what is complained about' POLICY_INVALID --workspace "$workspace" --mode $'a\nb' -- "${mark[@]}"
# --- no sandbox, no command ------------------------------------------------------------------------------------------
unusable() { # WHAT ARGUMENT…: in each confined mode, with each partial rule
  local what=$1 mode partial
  shift
  for mode in read-only workspace-write; do
    for partial in refuse accept; do
      refused "$what, $mode, $partial" SANDBOX_UNAVAILABLE --mode $mode --partial $partial --backend bubblewrap --workspace "$workspace" "$@" -- "${mark[@]}"
    done
  done
}
stand_in() { # TEXT: a bwrap that prints it and fails
  printf '#!/bin/sh\ncat >&2 <<"END"\n%s\nEND\nexit 1\n' "$1" >"$bin/bwrap"
  chmod 755 "$bin/bwrap"
}
unusable 'missing --bwrap' --bwrap "$place/no/bwrap"
unusable 'relative --bwrap' --bwrap bin/bwrap
unusable 'a directory as --bwrap' --bwrap "$bin"
touch "$place/plain" && chmod 644 "$place/plain"
unusable 'a --bwrap that is not executable' --bwrap "$place/plain"
unusable 'a --bwrap that is no program' --bwrap "$cordon"
while read -r name text; do
  stand_in "$text"
  unusable "$name by --bwrap" --bwrap "$bin/bwrap"
done <<'END'
F1 bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted
F2 bwrap: Can't read /proc/sys/kernel/overflowuid: Permission denied
F5 bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.
F6 bwrap: Failed to make / slave: Permission denied
F9 bwrap: Can't mount proc on /newroot/proc: Operation not permitted
END
stand_in 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted'
real_path=$PATH
with_path() { # PATH WHAT
  rm -f "$outside/executed"
  PATH=$1
  hash -r
  err=$("$cordon" run --backend bubblewrap --workspace "$workspace" -- /bin/sh -c "echo x >$outside/executed" 2>&1 >/dev/null)
  status=$?
  PATH=$real_path
  hash -r
  equal "$2: exit status" 125 "$status"
  equal "$2: one line" 1 "$(printf '%s\n' "$err" | wc -l)"
  check "$2: unavailable" grep -q '^cordon: SANDBOX_UNAVAILABLE: ' <<<"$err"
  check_not "$2: nothing was executed" test -e "$outside/executed"
}
with_path "$bin" 'F1 by PATH'
with_path /nonexistent 'no bwrap in PATH'
with_path '' 'empty PATH'
with_path .:bin 'only relative directories in PATH'
chmod 757 "$bin/bwrap"
with_path "$bin" 'a bwrap in PATH that anybody may write'
unusable 'a --bwrap that anybody may write' --bwrap "$bin/bwrap"
chmod 755 "$bin/bwrap" && chmod 777 "$bin"
with_path "$bin" 'a bwrap in PATH in a directory that anybody may write'
chmod 755 "$bin"
stand_in_that_confines_nothing='while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
printf '#!/bin/sh\n%s\n' "$stand_in_that_confines_nothing" >"$bin/bwrap"
unusable 'a --bwrap that confines nothing' --bwrap "$bin/bwrap"
# Planted where commands can write: the real one further along PATH may be used, this one never.
printf '#!/bin/sh\necho x >"%s"\nexec /usr/bin/bwrap "$@"\n' "$outside/planted" >"$workspace/bwrap"
chmod 755 "$workspace/bwrap"
PATH=$workspace:$real_path "$cordon" run --workspace "$workspace" -- /bin/true >/dev/null 2>&1
PATH=$workspace "$cordon" run --workspace "$workspace" -- /bin/true >/dev/null 2>&1
"$cordon" run --workspace "$workspace" --bwrap "$workspace/bwrap" --backend bubblewrap -- /bin/true >/dev/null 2>&1
check_not 'a bwrap planted in the workspace is not run (SBX-K12)' test -e "$outside/planted"
rm -f "$workspace/bwrap"

# --- what the modes allow --------------------------------------------------------------------------------------------
in_workspace -- touch made
check 'read-only: a write fails' test "$status" != 0 -a "$status" != 125
check_not 'read-only: no file is left (T-KRN-01)' test -e "$workspace/made"
check 'read-only: the system says why' grep -qi 'read-only file system' "$place/err"
for fact in '"denied":true' '"mode":"read-only"' '"outcome":"exited"' '"enforcement":{"level":' '"errno":"EROFS"' "\"path\":\"$workspace/made\"" '"error":null' '"runner_failure":null'; do
  check "read-only: facts hold $fact" says "$fact"
done
check 'read-only: facts name a backend' grep -qE '"backend":"[a-z+-]+"' "$facts"
in_workspace -- cat /etc/passwd
equal 'read-only: reading is free (T-KRN-02)' "$(cat /etc/passwd)" "$out"
in_workspace -- sh -c 'echo x >/dev/null && echo x >/dev/zero && echo fine'
equal 'read-only: sinks' fine "$out"
in_workspace --mode workspace-write -- sh -c 'echo x >made && mkdir deep && mv made deep/'
equal 'workspace-write: exit status' 0 "$status"
check 'workspace-write: the write landed (T-KRN-05)' test -s "$workspace/deep/made"
check 'workspace-write: facts' says '"mode":"workspace-write"'
check 'workspace-write: not denied' says '"denied":false'
for mode in read-only workspace-write; do
  in_workspace --mode $mode -- sh -c "echo x >'$outside/new'"
  check "$mode: outside is refused" test "$status" != 0
  check "$mode: and says so in the facts" says '"denied":true'
  check_not "$mode: nothing outside" test -e "$outside/new"
done
for backend in auto layered mount-namespace landlock bubblewrap; do
  in_workspace --observe --backend $backend --partial accept --mode workspace-write -- \
    sh -c "{ echo x >'$outside/new' || true; } 2>/dev/null; : >>mine"
  if grep -q '^cordon: SANDBOX_UNAVAILABLE: ' "$place/err"; then continue; fi
  equal "--observe, $backend: exit status" 0 "$status"
  for fact in '"denied":true' '"evidence":"observed"' '"effect":"create"' "\"path\":\"$outside/new\"" "\"grant\":\"$outside\""; do
    check "--observe, $backend: facts hold $fact" says "$fact"
  done
  check "--observe, $backend: facts name the call" grep -qE '"syscall":"open(at)?"' "$facts"
  in_workspace --observe --backend $backend --partial accept --mode workspace-write -- \
    sh -c 'echo "/etc/x: Read-only file system" >&2; exit 1'
  check "--observe, $backend: words are no denial" says '"denied":false'
done
in_workspace --mode danger-full-access -- sh -c "echo x >'$outside/full'"
check 'danger-full-access: nothing is confined' test -e "$outside/full"
check 'danger-full-access: facts say so' says '"enforcement":null'
check 'danger-full-access: no backend' says '"backend":null'
rm -f "$outside/full"

# --- options ---------------------------------------------------------------------------------------------------------
in_workspace --cwd "$workspace/sub" -- pwd
equal '--cwd' "$workspace/sub" "$out"
in_workspace -- pwd
equal 'the workspace is the directory' "$workspace" "$out"
out=$(cd "$workspace/sub" && "$cordon" run -- pwd)
equal 'without --workspace the current directory is it' "$workspace/sub" "$out"
in_workspace --mode workspace-write --write "$outside" -- sh -c "echo x >'$outside/granted'"
check '--write grants' test "$status" = 0 -a -e "$outside/granted"
in_workspace --mode read-only --write "$outside" -- sh -c "echo x >'$outside/not-granted'"
check '--write grants nothing under read-only' test "$status" != 0 -a ! -e "$outside/not-granted"
touch "$outside/single"
in_workspace --mode workspace-write --write "$outside/single" -- sh -c "echo x >'$outside/single'; echo x >'$outside/beside'"
check '--write of a file grants that file (F30)' test -s "$outside/single" -a ! -e "$outside/beside"
in_workspace --mode workspace-write --write-if-exists "$place/absent" --write-if-exists "$outside" -- sh -c "echo x >'$outside/optional'"
check '--write-if-exists skips and grants (F32)' test "$status" = 0 -a -e "$outside/optional"
check '--write-if-exists reports' says "\"skipped_roots\":[\"$place/absent\"]"
mkdir "$workspace/kept" && echo original >"$workspace/kept/file"
in_workspace --mode workspace-write --protect kept -- sh -c 'echo x >free; echo x >kept/file; echo x >kept/new; rm -rf kept; mv kept moved; echo ran'
equal '--protect: the command ran' ran "$out"
check '--protect: beside it is free' test -e "$workspace/free"
check '--protect: it is as it was' test "$(cat "$workspace/kept/file")" = original -a ! -e "$workspace/kept/new" -a ! -e "$workspace/moved"
in_workspace --partial refuse -- echo full
equal '--partial refuse runs where the label is full' full "$out"
in_workspace --capture -- sh -c 'echo to-out; echo to-err >&2'
equal '--capture keeps stdout to itself' '' "$out"
check '--capture: stdout in the facts' says '"text":"to-out\n"'
check '--capture: stderr in the facts' says '"text":"to-err\n"'
run --workspace "$workspace" --capture --json - -- echo kept
check '--json -' grep -qF '"text":"kept\n"' <<<"$out"
refused '--json - without --capture' USAGE --workspace "$workspace" --json - -- "${mark[@]}"
in_workspace --capture --max-output 10 -- sh -c 'printf 0123456789abcdefghij'
check '--max-output keeps head and tail (F75)' says '"text":"01234fghij"'
check '--max-output counts what it saw' says '"bytes":20,"truncated":true'
in_workspace --capture --max-output 8 -- printf 'abc\342\202\254-----\342\202\254xyz'
check '--max-output cuts between characters, and counts what is left out' says '"bytes":17,"truncated":true,"text":"abcxyz","dropped":11'
in_workspace --capture -- echo '[… 5 bytes left out …]'
check 'T-EXE-13: text that looks like a mark is text' says '"truncated":false,"text":"[… 5 bytes left out …]\n","dropped":0,"spill":null'
in_workspace --capture -- printf '\377\303'
check 'bytes that are no UTF-8 are escaped' says '"text":"\\xff\\xc3"'
echo given >"$place/input"
out=$(echo ours | "$cordon" run --workspace "$workspace" -- cat)
equal '--stdin none is the default' '' "$out"
out=$(echo ours | "$cordon" run --workspace "$workspace" --stdin inherit -- cat)
equal '--stdin inherit' ours "$out"
in_workspace --stdin "$place/input" -- cat
equal '--stdin FILE' given "$out"
mkfifo "$place/pipe"
{ sleep 0.2; echo late >"$place/pipe"; } &
in_workspace --stdin "$place/pipe" -- cat
equal '--stdin FIFO: whoever writes to it may come later' late "$out"
in_workspace --timeout 0.3 --stdin "$place/pipe" -- cat
equal '--stdin FIFO: the limits hold while nobody writes to it' 124 "$status"
in_workspace --mode workspace-write --stdin "$place/input" -- sh -c 'echo x >>/proc/self/fd/0; echo x >>/dev/stdin; true'
equal '--stdin FILE is a copy: the file can not be written' given "$(cat "$place/input")"
for bus in DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1/bus XDG_RUNTIME_DIR=/run/user/1 DOCKER_HOST=unix:///run/docker.sock SSH_AUTH_SOCK=/run/agent; do
  out=$(env "$bus" "$cordon" run --workspace "$workspace" -- env)
  check_not "core environment: where a service listens stays out (F81): $bus" grep -qF "$bus" <<<"$out"
done
export CORDON_TEST_PLAIN=plain CORDON_TEST_TOKEN=secret
in_workspace -- env
check_not 'core environment: other variables stay out' grep -q CORDON_TEST_PLAIN <<<"$out"
check_not 'core environment: secrets stay out (F73)' grep -q secret <<<"$out"
in_workspace --inherit-env all -- env
check '--inherit-env all: other variables come' grep -q CORDON_TEST_PLAIN=plain <<<"$out"
check_not '--inherit-env all: secrets stay out' grep -q secret <<<"$out"
check '--inherit-env all: what was removed is listed (F74)' says '"CORDON_TEST_TOKEN"'
in_workspace --inherit-env none --env A=1 --env 'B=x y=z' --env CORDON_TEST_TOKEN=given -- /usr/bin/env
check '--env sets' grep -qx A=1 <<<"$out"
check '--env keeps everything behind the first =' grep -qx 'B=x y=z' <<<"$out"
check '--env: an explicit secret survives' grep -qx CORDON_TEST_TOKEN=given <<<"$out"
equal '--inherit-env none: nothing but these and the temp directory' 3 "$(grep -vc '^TMP' <<<"$out")"
check_not '--env: what is set is not called removed' grep -q '"removed_env":\[.*"CORDON_TEST_TOKEN"' "$facts"
check '--inherit-env none: the rest is listed (F74)' grep -q '"removed_env":\[.*"CORDON_TEST_PLAIN".*"PATH"' "$facts"
in_workspace --inherit-env none --env A=1 --env A=2 --env LD_LIBRARY_PATH=/given -- /usr/bin/env
equal '--env: the last one wins, and an explicit loader variable survives' $'A=2\nLD_LIBRARY_PATH=/given' "$(grep -v '^TMP' <<<"$out")"
secret=(MY_API_KEY db_password X_SECRET_Y GH_TOKEN MY_PASSPHRASE MY_CREDENTIALS HTTP_AUTH MY_COOKIE MYSQL_PWD)
injection=(LD_LIBRARY_PATH BASH_ENV ENV GIT_DIR PYTHONSTARTUP NODE_OPTIONS)
for mode in read-only workspace-write danger-full-access; do
  for inherit in all core none; do
    out=$(env "${secret[@]/%/=hush}" A_URL=postgres://u:hush@h/db "${injection[@]/%/=/nonexistent}" \
      "$cordon" run --mode $mode --inherit-env $inherit --workspace "$workspace" --json "$facts" -- /usr/bin/env 2>&1)
    equal "$mode, --inherit-env $inherit: no secret comes (T-EXE-07, T-EXE-15)" 0 "$(grep -c hush <<<"$out")"
    kept=0
    [ $mode/$inherit = danger-full-access/all ] && kept=${#injection[@]}
    equal "$mode, --inherit-env $inherit: what injects code (F72)" $kept "$(grep -c '=/nonexistent$' <<<"$out")"
    listed=("${secret[@]}" A_URL)
    [ $kept = 0 ] && listed+=("${injection[@]}")
    for name in "${listed[@]}"; do
      check "$mode, --inherit-env $inherit: $name is listed (F74)" grep -q "\"removed_env\":\[[^]]*\"$name\"" "$facts"
    done
    [ $kept = 0 ] || check_not "$mode, --inherit-env $inherit: what is kept is not listed" grep -q '"removed_env":\[[^]]*"LD_LIBRARY_PATH"' "$facts"
  done
done

# --- the command line is the command's -------------------------------------------------------------------------------
in_workspace -- printf '%s,' '[a,b]' --json --mode danger-full-access -- '' '{x}' 'a b' $'c\nd' '$HOME' '*'
equal 'arguments arrive as they are' $'[a,b],--json,--mode,danger-full-access,--,,{x},a b,c\nd,$HOME,*,' "$out"
equal '… exit status' 0 "$status"
in_workspace -- sh -c 'exit 7'
equal 'the exit status is the command'\''s' 7 "$status"
check 'facts: exit code' says '"exit_code":7'
in_workspace -- sh -c 'kill -9 $$'
equal 'a signal is 128+n' 137 "$status"
check 'facts: signalled' says '"outcome":"signalled"'
check 'facts: which signal' says '"signal":9'
in_workspace -- sh -c 'echo "cordon: SANDBOX_UNAVAILABLE: fake" >&2; echo "bwrap: fake" >&2; exit 125'
equal 'a command that imitates cordon is a command' 125 "$status"
check 'facts: it exited' says '"outcome":"exited"'
check 'facts: no error' says '"error":null'
in_workspace -- no-such-program-anywhere
equal 'a program that is missing: exit status' 125 "$status"
check 'a program that is missing: said' grep -q '^cordon: NOT_EXECUTABLE: no-such-program-anywhere: No such file or directory$' "$place/err"
check 'a program that is missing: in the facts' says '"outcome":"not_executable"'
in_workspace -- "$workspace/sub"
check 'a directory is no program' says '"outcome":"not_executable"'
printf 'no program' >"$workspace/noise" && printf '#!/no/such/interpreter\n' >"$workspace/orphan" &&
  chmod 755 "$workspace/noise" "$workspace/orphan"
for backend in layered landlock bubblewrap; do
  while read -r program text; do
    in_workspace --backend $backend --partial accept -- "$program"
    equal "$backend: $program is said to be why (T-SPN-05)" "cordon: NOT_EXECUTABLE: $program: $text" "$err"
  done <<END
$workspace/none No such file or directory
$workspace/mine Permission denied
$workspace/noise Exec format error
$workspace/orphan its interpreter: No such file or directory
END
done
rm "$workspace/noise"
run --workspace "$workspace" --json "$facts" --bwrap "$place/no/bwrap" --backend bubblewrap -- true
check 'facts of a refusal: outcome' says '"outcome":"unavailable"'
check 'facts of a refusal: code' says '"code":"SANDBOX_UNAVAILABLE"'
run --workspace "$place/missing" --json "$facts" -- true
check 'facts of a wrong policy' says '"outcome":"refused"'

# --- probe -----------------------------------------------------------------------------------------------------------
probe=$("$cordon" probe --workspace "$workspace")
equal 'probe: exit status' 0 $?
check 'probe: names the backend' grep -q '^bubblewrap ' <<<"$probe"
check 'probe: says what is not governed' grep -qi 'hard links' <<<"$probe"
"$cordon" probe --json --workspace "$workspace" >"$facts"
equal 'probe --json: exit status' 0 $?
if python3=$(PATH=/usr/bin:/bin command -v python3); then
  check 'probe --json: well formed, and says what it must' "$python3" -c '
import json, os, sys
report = json.load(open(sys.argv[1]))
assert report["usable"] is True
assert report["uid"] == os.geteuid()
for backend in report["backends"]:
    if not backend["usable"]:
        assert backend["reason"] and backend["remedy"]
        continue
    for mode in ("read-only", "workspace-write"):
        enforcement = backend["modes"][mode]["enforcement"]
        assert enforcement["level"] == ("partial" if enforcement["missing"] else "full")
' "$facts"
else
  check 'probe --json: the platform is usable' says '"usable":true'
  check 'probe --json: a level' says '"level":"'
fi
PATH=/nonexistent "$cordon" probe --json --workspace "$workspace" >"$facts"
check 'probe without bwrap: bubblewrap has a reason' grep -q '"name":"bubblewrap","usable":false.*"reason":"' "$facts"

# --- through the tool, the payload finds nothing ---------------------------------------------------------------------
exec 9<"$outside"
in_workspace --mode workspace-write -- "$programs/cordon_payload" inherited-descriptors
equal 'inherited descriptors (F70)' 1 "$status"
exec 9<&-
for attack in chmod-open-descriptors reopen-standard-streams inject-into-terminal; do
  in_workspace --stdin inherit -- "$programs/cordon_payload" $attack
  equal "--stdin inherit: $attack is refused" 1 "$status"
done
in_workspace -- "$programs/cordon_payload" keep-capabilities 2
equal 'no capability is left but what reads files (F68)' 1 "$status"
in_workspace --backend bubblewrap -- "$programs/cordon_payload" keep-capabilities 0
equal 'none at all inside bubblewrap (F68)' 1 "$status"

# --- every backend by name -------------------------------------------------------------------------------------------
for backend in auto layered mount-namespace landlock bubblewrap; do
  for mode in read-only workspace-write; do
    in_workspace --backend $backend --mode $mode --partial accept -- sh -c "cat mine; echo x >'$outside/by-name'; echo x >>mine"
    equal "$backend, $mode: the command ran" mine "$out"
    check_not "$backend, $mode: nothing outside" test -e "$outside/by-name"
    if [ $mode = read-only ]; then expected=1; else expected=2; fi
    equal "$backend, $mode: the workspace" $expected "$(wc -l <"$workspace/mine")"
    check "$backend, $mode: facts name it" grep -qE '"backend":"[a-z+-]+"' "$facts"
    echo mine >"$workspace/mine"
  done
done

# --- a terminal of the command's own
in_workspace -- true
check 'without --terminal: facts' says '"terminal":null'
for backend in layered mount-namespace landlock bubblewrap; do
  in_workspace --backend $backend --partial accept --terminal 12x34 -- sh -c 'test -t 0 && test -t 1 && test -t 2 && stty size && echo error >&2'
  equal "$backend: --terminal" $'12 34\r\nerror\r' "$out"
  check "$backend: --terminal: facts" grep -qE '"terminal":\{("rows":12,"columns":34|"columns":34,"rows":12)\}' "$facts"
done
in_workspace --mode danger-full-access --terminal auto --stdin "$workspace/mine" -- cat
equal '--terminal auto, input from a file' $'mine\r\nmine\r' "$out"
for bad in '' big 80 80x x80 0x80 80x0 24x-1 24x99999 24x80x2; do
  refused "--terminal '$bad'" USAGE --workspace "$workspace" --terminal "$bad" -- "${mark[@]}"
done
if command -v python3 >/dev/null; then
  # Somebody at a terminal: keys go through raw, the size is followed, and afterwards all is as it was.
  said=$(python3 - "$cordon" "$workspace" <<'END'
import fcntl, os, pty, select, signal, struct, sys, termios, time
def attempt(script, meet):
    ours, theirs = pty.openpty()
    size(ours, 31, 41)
    before = termios.tcgetattr(theirs)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        for fd in 0, 1, 2: os.dup2(theirs, fd)
        os.execv(sys.argv[1], [sys.argv[1], "run", "--workspace", sys.argv[2], "--terminal", "auto", "--stdin", "inherit", "--", "sh", "-c", script])
    shown = b""
    def until(text):
        nonlocal shown
        end = time.time() + 15
        while text not in shown and time.time() < end:
            if select.select([ours], [], [], 0.1)[0]: shown += os.read(ours, 4096)
        return text in shown
    meet(pid, ours, theirs, until)
    status = os.waitpid(pid, 0)[1]
    print(os.waitstatus_to_exitcode(status), termios.tcgetattr(theirs) == before)
    os.close(theirs); os.close(ours)
def size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
def keys(pid, ours, theirs, until):
    print(until(b"up"), bool(termios.tcgetattr(theirs)[3] & termios.ICANON))
    size(ours, 32, 42)
    print(until(b"32 42"))
    os.write(ours, b"\x03")
    print(until(b"caught"))
    os.write(ours, b"end\n")
def told(number):
    def meet(pid, ours, theirs, until):
        until(b"up"); os.kill(pid, number)
    return meet
attempt('trap "echo caught" INT; trap "stty size" WINCH; echo up; while ! read -r word; do :; done; exit 9', keys)
for number in signal.SIGTERM, signal.SIGQUIT:
    attempt("echo up; sleep 60", told(number))
END
  )
  equal 'at a terminal: keys, size, interrupt, and its modes afterwards' $'True False\nTrue\nTrue\n9 True\n143 True\n131 True' "$said"
fi

# --- an exit status alone proves nothing, and a login that was refused is no file
for backend in layered landlock bubblewrap; do
  for script in 'grep zzz /etc/passwd' 'exit 1' 'exit 2' 'exit 126' 'exit 127' 'echo "git@host: Permission denied (publickey)." >&2; exit 255'; do
    in_workspace --backend $backend --partial accept -- sh -c "$script"
    check "$backend: $script: not denied (F89, F90)" says '"denied":false'
  done
  in_workspace --backend $backend --partial accept -- touch made
  if [ $backend = landlock ]; then errno=EACCES; else errno=EROFS; fi
  check "$backend: a denial has its errno" says "\"errno\":\"$errno\""
done

# --- the program itself may lie where its sandbox shows something else
hidden=$(mktemp -d /tmp/cordon-hidden.XXXXXX)
cp "$cordon" "$hidden/cordon"
for backend in layered mount-namespace landlock bubblewrap; do
  if [ $backend = landlock ]; then expected=shown; else expected=hidden; fi
  found=$("$hidden/cordon" run --backend $backend --partial accept --mode workspace-write --workspace "$workspace" --json "$facts" -- \
    sh -c 'if test -e "$1"; then echo shown; else echo hidden; fi' sh "$hidden/cordon" 2>&1)
  equal "$backend: a program that its own sandbox hides starts it (F18)" $expected "$found"
  case $backend in layered | bubblewrap) check "$backend: and it is as full (F18)" says '"level":"full"' ;; esac
done
rm -r "$hidden"

# --- the runner, by way of this shell and of python
runner() { "$cordon" --cordon-runner "$@" >"$place/out" 2>"$place/err"; status=$?; }
layers=mount-namespace+landlock
runner confine --layers $layers --mode read-only --workspace "$workspace" -- sh -c "echo ran; echo x >'$outside/by-runner'; exit 7"
equal 'T-LLR-11: the status of the command' 7 "$status"
equal 'the command ran' ran "$(cat "$place/out")"
check_not 'and wrote nothing outside' test -e "$outside/by-runner"
runner confine --layers $layers --mode workspace-write --workspace "$workspace" -- sh -c 'cd "$1" && echo x >by-runner' sh "$workspace"
check 'a write in the workspace lands' test -e "$workspace/by-runner"
runner confine --layers $layers --mode read-only --workspace "$workspace" -- sh -c 'kill -9 $$'
equal 'T-LLR-12: a signal is a signal' 137 "$status"
runner confine --layers $layers --mode read-only --workspace "$workspace" -- sh -c 'exit 125'
equal 'T-LLR-11: 125 can come from the command' 125 "$status"
check_not 'T-LLR-11: and then nothing is said' test -s "$place/err"
refused_by_runner() { # WHAT WORD ARGUMENT…
  local what=$1 word=$2
  shift 2
  runner "$@"
  equal "$what: 125" 125 "$status"
  equal "$what: one line" 1 "$(wc -l <"$place/err")"
  check "$what: it says what" grep -qF -- "$word" "$place/err"
  check "$what: it begins as it must" grep -q '^cordon-runner: ' "$place/err"
}
for words in '--probe' '--probe --' '--probe --probe' 'confine' 'confine --probe --layers landlock'; do
  # shellcheck disable=SC2086
  refused_by_runner "T-LLR-04: $words" '' $words
done
refused_by_runner 'T-LLR-05 no words at all' ''
PATH=$PATH FOO=bar runner confine --layers landlock --mode read-only --workspace "$workspace" -- env
equal 'T-LLR-13: a bare name is found in PATH' 0 "$status"
check 'T-LLR-13: the environment is handed on' grep -qx FOO=bar "$place/out"
check 'T-LLR-13: PATH is handed on' grep -qx "PATH=$PATH" "$place/out"
refused_by_runner 'T-LLR-05 no command' 'missing command' confine --layers $layers --mode read-only --workspace "$workspace"
refused_by_runner 'T-LLR-05 nothing behind --' 'missing command' confine --layers $layers --
refused_by_runner 'T-LLR-06 unknown option' --bogus confine --bogus x -- true
refused_by_runner 'T-LLR-07 an option without its value' --mode confine --mode
refused_by_runner 'T-LLR-09 a root that is missing' nonexistent confine --layers landlock --mode workspace-write --workspace /nonexistent -- touch "$outside/by-runner"
refused_by_runner 'T-LLR-10 a program that is missing' '/no/such: No such file' confine --layers $layers --mode read-only --workspace "$workspace" -- /no/such
check_not 'nothing ran in any of them' test -e "$outside/by-runner"
if command -v python3 >/dev/null; then
  said=$(python3 -c '
import subprocess, sys
p = subprocess.run([sys.argv[1], "--cordon-runner", "confine", "--layers", "mount-namespace+landlock", "--mode", "read-only",
  "--workspace", sys.argv[2], "--", "sh", "-c", "cat; echo x >by-python || exit 5"], input=b"given", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=sys.argv[2])
print(p.returncode, p.stdout.decode())' "$cordon" "$workspace")
  equal 'python subprocess: streams and status come through, the write does not' '5 given' "$said"
  check_not 'python subprocess: nothing was written' test -e "$workspace/by-python"
fi
if command -v strace >/dev/null && [ "$(id -u)" = 0 ]; then
  strace -f -qq -e trace=execve -o "$place/trace" "$cordon" run --workspace "$workspace" -- /bin/true 2>/dev/null &&
    equal 'no helper: /bin/true is all that is executed for a command' 1 "$(grep -c 'execve("/bin/true"' "$place/trace")"
fi

# --- time-outs and cancellation: the whole tree ends, also what trapped SIGTERM in a session of its own
ends() { # TAG: soon no process has it in its command line
  echo "$1" >"$place/pattern"
  for _ in $(seq 40); do
    grep -qsaf "$place/pattern" /proc/[0-9]*/cmdline || return 0
    sleep 0.1
  done
  return 1
}
for backend in layered mount-namespace landlock bubblewrap; do
  tag=86$RANDOM
  begun=$SECONDS
  "$cordon" run --backend $backend --partial accept --workspace "$workspace" --timeout 0.5 --grace 0.3 --capture --json "$facts" -- \
    sh -c "setsid sh -c 'trap \"\" TERM; sleep $tag; sleep $tag' & trap '' TERM; sleep $tag; sleep $tag" >/dev/null 2>"$place/err"
  equal "$backend: --timeout: 124" 124 $?
  check "$backend: --timeout: in time" test $((SECONDS - begun)) -le 5
  for fact in '"outcome":"timed_out"' '"timed_out":true' '"limit":"wall"'; do
    check "$backend: --timeout: $fact" says "$fact"
  done
  check "$backend: --timeout: nothing is left" ends $tag

  equal "$backend: T-EXE-02: a command that exits with 0 on SIGTERM was timed out all the same" 124 "$(
    "$cordon" run --backend $backend --partial accept --workspace "$workspace" --timeout 0.5 -- sh -c 'trap "exit 0" TERM; while :; do sleep 0.1; done' 2>/dev/null; echo $?)"

  "$cordon" run --backend $backend --partial accept --workspace "$workspace" --grace 0.3 --json "$facts" -- \
    sh -c "setsid sleep $tag & sleep $tag" 2>/dev/null &
  running=$!
  sleep 0.7
  kill -TERM $running
  wait $running
  equal "$backend: SIGTERM to cordon: 143" 143 $?
  check "$backend: SIGTERM to cordon: the facts" says '"outcome":"cancelled"'
  check "$backend: SIGTERM to cordon: nothing is left" ends $tag

  "$cordon" run --backend $backend --partial accept --workspace "$workspace" -- sh -c "setsid sleep $tag & sleep $tag" 2>/dev/null &
  running=$!
  sleep 0.7
  kill -KILL $running
  wait $running 2>/dev/null
  check "$backend: SIGKILL to cordon: nothing is left (F62)" ends $tag
done
"$cordon" run --mode danger-full-access --workspace "$workspace" --timeout 0.3 --grace 0.1 -- sh -c "setsid sleep 87$RANDOM & sleep 87" 2>/dev/null
equal 'unconfined: --timeout: 124' 124 $?

# --- more output than is wanted
"$cordon" run --workspace "$workspace" --output-limit 100000 --grace 0.1 --json "$facts" --capture -- yes >/dev/null 2>"$place/err"
equal '--output-limit: 124' 124 $?
check '--output-limit: the facts' says '"outcome":"output_limit"'
check '--output-limit: it is no time-out' says '"timed_out":false'
in_workspace --output-limit 100000 --capture -- head -c 100000 /dev/zero
check '--output-limit that is not passed changes nothing' says '"outcome":"exited","exit_code":0'
for backend in auto bubblewrap landlock; do
  in_workspace --backend $backend --partial accept --limit open-files=40 --limit file-size=1K -- sh -c 'ulimit -n; ulimit -f'
  equal "$backend: --limit binds the command" $'40\n2' "$out"
  check "$backend: --limit is a fact" says '"limits":{"file-size":{"value":1024,"by":"rlimit"},"open-files":{"value":40,"by":"rlimit"}}'
done
in_workspace --limit processes=100 --limit memory=1G -- true
check '--limit: what holds those of the whole tree is said' grep -qE '"limits":\{"processes":\{"value":100,"by":"[a-z-]+"\},"memory":\{"value":1073741824,"by":"(nothing|control-group)"\}\}' "$facts"
in_workspace -- true
check 'without --limit there is none' says '"limits":{}'
for bad in '' open-files open-files= =5 files=5 open-files=5x open-files=-5 memory=16777216T memory=99999999999G open-files=20MM; do
  refused "--limit '$bad'" USAGE --workspace "$workspace" --limit "$bad" -- "${mark[@]}"
done
for low in open-files=7 memory=15M processes=0 cpu-seconds=0; do
  refused "--limit $low" POLICY_INVALID --workspace "$workspace" --limit $low -- "${mark[@]}"
done
spill() { find "$place/spill" -type f; }
in_workspace --capture --spill "$place/spill" --max-output 10 -- sh -c 'seq 1000; echo short >&2'
equal '--spill: one file, with all of stdout' "$(seq 1000)" "$(cat "$(spill)")"
check '--spill: it is in the facts' says "\"spill\":{\"state\":\"complete\",\"path\":\"$(spill)\",\"bytes\":3893,\"errno\":null}"
check '--spill: what was kept whole has none' says '"text":"short\n","dropped":0,"spill":null'
equal '--spill: 0600 in 0700' '600 700' "$(stat -c %a "$(spill)" "$place/spill" | xargs)"
rm -r "$place/spill"
in_workspace --spill "$place/spill" --max-spill 5000 --max-output 10 -- head -c 5001 /dev/zero >/dev/null
check 'T-EXE-06: --max-spill: no file that is not whole' test -z "$(spill)"
check 'T-EXE-06: --max-spill: said' says '"spill":{"state":"over-cap","path":null,'
check 'T-EXE-06: --max-spill: the command is not ended' says '"outcome":"exited","exit_code":0'
chmod 755 "$place/spill"
refused '--spill that others can enter' SPAWN_FAILED --workspace "$workspace" --spill "$place/spill" -- "${mark[@]}"
refused '--spill in a writable root' SPAWN_FAILED --mode workspace-write --workspace "$workspace" --spill "$workspace/spill" -- "${mark[@]}"
rmdir "$workspace/spill"
if [ "$(id -u)" = 0 ]; then
  rm -rf "$place/spill"
  mkdir -m 700 "$place/spill"
  said=$(unshare --mount sh -c '
    mount -t tmpfs -o size=64k,mode=700 none "$2" || exit 1
    "$1" run --workspace "$3" --spill "$2" --max-output 10 --json "$4" -- sh -c "head -c 1000000 /dev/zero; echo end >&2" 2>&1 >/dev/null
    echo $?; ls "$2"' sh "$cordon" "$place/spill" "$workspace" "$facts")
  equal '--spill to a full disk: the command ends as it would' $'end\n0' "$said"
  check '--spill to a full disk: said' says '"spill":{"state":"failed","path":null,"bytes":65536,"errno":28}'
fi
for bad in -1 x ''; do
  refused "--output-limit '$bad'" USAGE --workspace "$workspace" --output-limit "$bad" -- "${mark[@]}"
  refused "--max-spill '$bad'" USAGE --workspace "$workspace" --max-spill "$bad" -- "${mark[@]}"
done

for bad in 0 -1 nan inf x ''; do
  refused "--timeout '$bad' (T-EXE-04)" USAGE --workspace "$workspace" --timeout "$bad" -- "${mark[@]}"
done

# --- a caller with capabilities that are handed on by execve, as a service manager gives them
if [ "$(id -u)" = 0 ]; then
  given=+dac_override,+dac_read_search,+sys_admin,+setpcap
  for backend in layered mount-namespace landlock; do
    for user in 0 31337; do
      for caps in $given ${given%,+setpcap} +dac_read_search,+setpcap; do
        left=$(setpriv --reuid $user --regid $user --clear-groups --inh-caps "$caps" --ambient-caps "$caps" "$cordon" run --backend $backend \
          --partial accept --workspace /usr/share -- grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status 2>"$place/err" | cut -f2 | sort -u)
        allowed=0000000000000000
        [ $user = 0 ] && allowed=0000000000000002
        equal "$backend: of a caller's ambient $caps the command of uid $user has what it may" $allowed "$left"
      done
    done
  done
fi

# --- where the caller lives in a chroot: entering the namespaces must not lead out of it
if [ "$(id -u)" = 0 ]; then
  mkdir "$place/jail"
  for backend in layered landlock; do  # in a chroot the kernel gives nobody a user namespace, which the others need
    said=$(unshare --mount sh -c '
      mount --rbind / "$1/jail" && mount -t tmpfs none "$1/jail/mnt" && echo inside >"$1/jail/mnt/marker"
      /usr/sbin/chroot "$1/jail" "$2" run --backend "$3" --partial accept --mode workspace-write --workspace "$4" -- \
        sh -c "cat /mnt/marker; echo x >by-chroot; echo x 2>/dev/null >/mnt/new; echo done" 2>&1
      cat "$1/jail/mnt/new" 2>&1 >/dev/null | grep -o "No such file"' sh "$place" "$cordon" $backend "$workspace")
    equal "$backend: a chroot stays the root" $'inside\ndone\nNo such file' "$said"
    check "$backend: and the workspace in it is the workspace" test -e "$workspace/by-chroot"
    rm -f "$workspace/by-chroot"
  done
fi

# --- where mounts of the host are shared, as a system's first process makes them; only uid 0 sees others' mounts change
if [ "$(id -u)" = 0 ]; then
  for backend in layered mount-namespace bubblewrap; do
    said=$(unshare --mount --propagation unchanged sh -c '
      mount --make-rshared / && grep -qE " /[^ ]* / .* shared:" /proc/self/mountinfo && echo shared
      before=$(cat /proc/self/mountinfo)
      "$1" run --backend "$2" --partial accept --mode workspace-write --workspace "$3" -- sh -c "echo ran; mktemp >/dev/null" 2>&1
      [ "$before" = "$(cat /proc/self/mountinfo)" ] && echo unchanged' sh "$cordon" $backend "$workspace")
    equal "$backend: no mount of the sandbox gets out where mounts are shared" $'shared\nran\nunchanged' "$said"
  done
fi

# --- values that mean nothing
for bad in '--max-output -1' '--max-output x' "--stdin $outside" '--stdin /nonexistent'; do
  # shellcheck disable=SC2086
  "$cordon" run --workspace "$workspace" $bad -- touch "$workspace/by-bad-value" >/dev/null 2>"$place/err"
  equal "$bad: 125" 125 $?
  equal "$bad: one line" 1 "$(grep -c '^cordon: USAGE: ' "$place/err")"
  check_not "$bad: nothing ran" test -e "$workspace/by-bad-value"
done

# --- streams that the caller closed, or that don't wait
"$cordon" run --workspace "$workspace" --json "$facts" -- sh -c 'echo into-the-facts' >&- 2>/dev/null
check_not 'a closed stdout is not the facts file' grep -q '^into-the-facts' "$facts"
check 'the facts are whole' grep -q '"outcome":"exited"' "$facts"
if command -v python3 >/dev/null; then
  bytes=$(python3 -c '
import fcntl, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
p = subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
time.sleep(0.5)
n = 0
while True:
    b = os.read(r, 65536)
    if not b: break
    n += len(b)
print(n if p.wait() == 0 else -1)' "$cordon" run --workspace "$workspace" -- head -c 1000000 /dev/zero)
  equal 'nothing is lost on a stdout that does not wait' 1000000 "$bytes"
fi
ln -s "$outside/victim" "$workspace/facts-link"
echo precious >"$outside/victim"
"$cordon" run --workspace "$workspace" --json "$workspace/facts-link" -- true >/dev/null 2>&1
equal 'a planted symlink is not taken for the facts file' precious "$(cat "$outside/victim")"

# --- cordon classify ---------------------------------------------------------------------------------------------------
verdict() { # ID EXPECTED STDERR ARGUMENT…: the verdict, with its detail or its paths
  local what=$1 expected=$2 text=$3 said found
  shift 3
  said=$(printf '%b' "$text" | (cd "$workspace" && "$cordon" classify "$@"))
  found=$(sed -E 's/^\{"verdict":"([a-z_]+)","detail":.*/\1/' <<<"$said")
  if [ "$found" = runner_failed ]; then
    found+=" $(sed -E 's/.*"detail":"([^"]*)".*/\1/' <<<"$said")"
  else
    found+=$(grep -oE '"path":"[^"]*"' <<<"$said" | sed -E 's/"path":"(.*)"/ \1/' | tr -d '\n')
  fi
  equal "$what" "$expected" "$found"
}
notice='landlock-run: partial enforcement (older Landlock ABI)'
reference=(--fatal 'landlock-run: ' --allowed-exit 125 --informational "$notice" --denial 'permission denied')
verdict T-CLS-01 command "$notice" "${reference[@]}" --exit 1
verdict T-CLS-03 command "$notice" "${reference[@]}" --exit 125
verdict T-CLS-04 command "${notice^^}" "${reference[@]}" --exit 125
verdict T-CLS-06 'runner_failed landlock-run: exec failed: x' "$notice\nlandlock-run: exec failed: x" "${reference[@]}" --exit 125
verdict T-CLS-07 command 'landlock-run: exec failed' "${reference[@]}" --exit 1
verdict T-CLS-09 command '' --fatal '' --fatal ' ' --fatal $'\t' --allowed-exit 125 --exit 125
verdict T-CLS-12 command 'landlock-run: x' "${reference[@]}" --exit 0
verdict T-CLS-13 command 'landlock-run: x' "${reference[@]}" --signal 9
verdict T-CLS-14 "runner_failed bwrap: Can't find source path /x" "bwrap: Can't find source path /x" --backend bubblewrap --exit 1
verdict T-DEN-01 command 'Permission denied' --backend landlock --exit 0
verdict T-DEN-03 "denied $outside/x" "touch: cannot touch $outside/x: Read-only file system" --backend layered --exit 1
verdict T-DEN-04 "denied $outside/x" "sh: $outside/x: Permission denied" --backend landlock --exit 1
verdict 'T-DEN-04, CLS-07' command "sh: $outside/x: Permission denied" --backend bubblewrap --exit 1
verdict T-DEN-05 command 'mount: Operation not permitted' --backend layered --exit 1
verdict T-DEN-06 command "cat: $outside/x: No such file or directory" --backend layered --exit 1
verdict T-DEN-07 "denied $outside/x" "bash: $outside/x: Operation not permitted" --denial 'operation not permitted' --exit 1
verdict T-DEN-09 'runner_failed cordon-runner: mount: no' "cordon-runner: mount: no\nsh: $outside/x: Permission denied" --backend landlock --exit 125
verdict T-DEN-10 "denied $outside/x" "$notice\nsh: $outside/x: Permission denied" "${reference[@]}" --exit 1
verdict T-DEN-11 'runner_failed landlock-run: exec failed' "$notice\nlandlock-run: exec failed\nsh: $outside/x: Permission denied" "${reference[@]}" --exit 125
verdict T-DEN-12 command "sh: $outside/x: Permission denied" --backend landlock --signal 9
verdict 'a write into a root' command "sh: 1: cannot create x: Read-only file system" --backend layered --exit 1 --mode workspace-write
verdict 'a write into one more root' command "touch: cannot touch '$outside/x': Read-only file system" --backend layered --exit 1 --mode workspace-write --write "$outside"
verdict 'read-only' "denied $workspace/x" "sh: 1: cannot create x: Read-only file system" --backend layered --exit 1
for wrong in '--exit 1' '--backend layered' '--backend jail --exit 1' '--backend layered --denial x --exit 1' '--backend layered --exit one' '--backend layered --mode yolo --exit 1'; do
  # shellcheck disable=SC2086
  out=$("$cordon" classify $wrong 2>"$place/err" </dev/null)
  status=$?
  equal "classify $wrong: refused" '125 1 ' "$status $(wc -l <"$place/err") $out"
done

# --- sessions --------------------------------------------------------------------------------------------------------
tool() { # ARGUMENT…: cordon, into $out, $err and $status
  out=$("$cordon" "$@" 2>"$place/err")
  status=$?
  err=$(cat "$place/err")
}
types() { sed 1d "$1" | grep -oE '"type":"[a-z]+/[a-z]+"' | cut -d'"' -f4 | paste -sd' '; }
log=$place/logs/session.jsonl
refused_session() { # WHAT CODE ARGUMENT…: exit 125, one line, and the log is what it was
  local what=$1 code=$2
  shift 2
  cp "$log" "$place/log-before" 2>/dev/null
  tool "$@"
  equal "$what: exit status" 125 "$status"
  check "$what: it says cordon: $code: …" grep -qE "^cordon: $code: .+" "$place/err"
  equal "$what: one line on stderr" 1 "$(wc -l <"$place/err")"
  check "$what: the log is as it was" cmp -s "$log" "$place/log-before"
}
tool session new "$log" --cwd "$workspace/sub/.."
equal 'session new' 0 "$status"
equal 'session new: a file and a directory of its own' '600 700' "$(stat -c %a "$log") $(stat -c %a "$place/logs")"
check 'session new: the header has the canonical directory' grep -q "^{\"version\":1,\"id\":\"[0-9a-f]*\",\"created_at\":[0-9]*,\"cwd\":\"$workspace\"" "$log"
refused_session 'session new over a log' LOG_EXISTS session new "$log" --cwd "$workspace"
refused_session 'session new without a directory' POLICY_INVALID session new "$place/other.jsonl" --cwd "$place/missing"
check_not 'session new without a directory: no log' test -e "$place/other.jsonl"
refused_session 'session mode yolo (T-POL-10)' POLICY_INVALID session mode "$log" yolo
refused_session 'session approval maybe (T-APR-18)' POLICY_INVALID session approval "$log" maybe
refused_session 'session preset custom (T-PRE-05)' SESSION_INVALID session preset "$log" custom
refused_session 'session turn end without one' SESSION_INVALID session turn "$log" end
refused_session 'session turn middle' USAGE session turn "$log" middle
refused_session 'session of no file' LOG_FAILED session mode "$place/missing.jsonl" read-only
tool session show "$log" --json
check 'session show of a new one: the deployment counts' grep -q '"effective_mode":"read-only","mode_source":"deployment","approval_policy":"ask","preset":"custom","open_turn":null,"events":0,"torn_bytes":0,"unanswered_asks":\[\]' <<<"$out"
tool session show "$log" --json --default-mode workspace-write --default-approval ask
check 'session show with the defaults of a deployment (T-PRE-01)' grep -q '"effective_mode":"workspace-write","mode_source":"deployment","approval_policy":"ask","preset":"workspace-write"' <<<"$out"
tool session preset "$log" danger-full-access
equal 'session preset: three events in this order (T-PRE-02)' 'permission/preset sandbox/mode approval/policy' "$(types "$log")"
tool session preset "$log" danger-full-access
equal 'session preset again: none (T-PRE-03)' 3 "$(types "$log" | wc -w)"
tool session mode "$log" read-only
tool session mode "$log" read-only
equal 'session mode twice: one event (T-POL-09)' 4 "$(types "$log" | wc -w)"
tool session show "$log" --json
check 'session show: drifted from its preset' grep -q '"effective_mode":"read-only","mode_source":"session","approval_policy":"never","preset":"custom"' <<<"$out"
tool resolve --session "$log"
equal 'resolve: the session' "{\"mode\":\"read-only\",\"workspace_root\":\"$workspace\",\"source\":\"session\"}" "$out"
tool resolve --session "$log" --mode workspace-write --root /usr
equal 'resolve: the explicit mode, with the root of the session (T-POL-05)' "{\"mode\":\"workspace-write\",\"workspace_root\":\"$workspace\",\"source\":\"explicit\"}" "$out"
tool resolve --root "$workspace" --default-mode workspace-write
equal 'resolve: the deployment (T-POL-03)' "{\"mode\":\"workspace-write\",\"workspace_root\":\"$workspace\",\"source\":\"deployment\"}" "$out"
tool session turn "$log" start
refused_session 'session turn start twice' SESSION_INVALID session turn "$log" start
tool session show "$log" --json
check 'session turn: open from one process to the next' grep -q '"open_turn":1' <<<"$out"
run --session "$log" -- sh -c 'echo in the session; echo x >>mine'
equal 'run --session: its directory and its mode' 'in the session' "$out"
equal 'run --session: in the turn that is open' 'turn/start exec/confined exec/settled' "$(types "$log" | cut -d' ' -f5-)"
check 'run --session: argv, mode, root, backend and enforcement are recorded' grep -qE "\"argv\":\[\"sh\",.*\"mode\":\"read-only\",\"workspace_root\":\"$workspace\",\"backend\":\"[a-z+-]+\",\"enforcement\":\"(full|partial)\"" "$log"
check 'run --session: its end and its denial' grep -qE "\"exec\":5,\"outcome\":\"exited\",\"exit_code\":[12],\"denials\":\[{\"effect\":\"write\",\"path\":\"$workspace/mine\",\"errno\":\"EROFS\"}\]" "$log"
tool session turn "$log" end
run --session "$log" --mode danger-full-access -- sh -c 'exit 7' --token secret
equal 'run --session --mode: once' 7 "$status"
check 'run --session --mode danger-full-access says what allowed it, and masks secrets' grep -q '"--token","\[masked\]"\],"workspace_root":"[^"]*","allowed_by":"explicit mode"' "$log"
equal 'run --session: a turn of its own' 'turn/start exec/unconfined exec/settled turn/end' "$(types "$log" | cut -d' ' -f9-)"
tool resolve --session "$log"
check 'an explicit mode is not remembered' grep -q '"mode":"read-only"' <<<"$out"
run --session "$log" --approval ask -- true
check 'run --approval switches the policy of the session' grep -q 'approval/policy","data":{"policy":"ask"}' "$log"
refused_session 'run --approval maybe' POLICY_INVALID run --session "$log" --approval maybe -- true
refused_session 'run --session with another workspace' POLICY_INVALID run --session "$log" --workspace "$outside" -- true
refused_session 'run --session with no name' LOG_FAILED run --session '' -- true
tool session verify "$log"
equal 'session verify: sound' 0 "$status"
"$cordon" run --session "$log" -- sh -c 'sleep 60' &
for ((i = 0; i < 100; i++)); do tail -1 "$log" | grep -q sleep && break; sleep 0.1; done
refused_session 'a second writer (T-LOG-27)' LOG_LOCKED session mode "$log" workspace-write
tool session show "$log" --json
check 'a reader while it is written' grep -q '"open_turn":4' <<<"$out"
kill -9 $!
wait $! 2>/dev/null
for ((i = 0; i < 100; i++)); do "$cordon" session approval "$log" never 2>/dev/null && break; sleep 0.1; done
equal 'the turn of a run that was killed is closed as interrupted' 'turn/start exec/confined turn/end approval/policy' "$(types "$log" | grep -oE '[a-z/]+ [a-z/]+ [a-z/]+ [a-z/]+$')"
cp "$log" "$place/torn.jsonl"
printf '{"seq":' >>"$place/torn.jsonl"
tool session verify "$place/torn.jsonl"
equal 'session verify: torn' 1 "$status"
tool session show "$place/torn.jsonl" --json
check 'session show: the torn bytes' grep -q '"torn_bytes":7' <<<"$out"
tool session mode "$place/torn.jsonl" workspace-write
tool session verify "$place/torn.jsonl"
equal 'a writer removes what is torn' 0 "$status"
size=$(stat -c %s "$log")
printf '{"seq":0}\n' | cat "$log" - >"$place/corrupt.jsonl"
tool session verify "$place/corrupt.jsonl"
equal 'session verify: corrupt' 2 "$status"
check 'session verify: with the byte' grep -q "^cordon: LOG_CORRUPT: .*byte $size:" "$place/err"
refused 'run on a corrupt log' LOG_CORRUPT --session "$place/corrupt.jsonl" -- "${mark[@]}"
chmod 666 "$place/torn.jsonl"
refused 'run on a log that others can write' LOG_FAILED --session "$place/torn.jsonl" -- "${mark[@]}"
rm -rf "$workspace/gone"
mkdir "$workspace/gone"
tool session new "$place/gone.jsonl" --cwd "$workspace/gone"
rmdir "$workspace/gone"
ln -s "$outside" "$workspace/gone"
refused 'run where the directory of the session was exchanged (POL-K4)' POLICY_INVALID --session "$place/gone.jsonl" -- "${mark[@]}"
rm "$workspace/gone"

# --- what is refused makes and changes no log
for bad in '--timeout abc' '--grace x' '--env BAD' '--inherit-env x' "--stdin $place/missing" '--terminal x' '--limit x' \
  '--backend foo' '--partial foo' '--partial refuse --backend landlock' '--approval maybe' '--mode yolo' "--cwd $place/missing" "--write $place/missing"; do
  # shellcheck disable=SC2086
  refused "run --session $bad" '[A-Z_]+' --session "$place/new/log" --workspace "$workspace" $bad -- "${mark[@]}"
  case $bad in --cwd*) rm -rf "$place/new" ;; esac  # known when it is started, so there is a turn that says nothing ran
  check_not "run --session $bad: no log, nor its directory" test -e "$place/new"
done
cp "$log" "$place/before"
refused 'run --session --approval with another bad option' USAGE --session "$log" --approval ask --timeout abc -- "${mark[@]}"
check 'run --session --approval with another bad option: the log is as it was' cmp -s "$log" "$place/before"
refused '--json on the log of the session' USAGE --session "$log" --json "$log" -- "${mark[@]}"
check '--json on the log of the session: it is as it was' cmp -s "$log" "$place/before"
printf '{"seq":' >>"$log"
cp "$log" "$place/before"
refused_session 'session mode with a bad default' POLICY_INVALID session mode "$log" read-only --default-mode bogus
refused_session 'session preset that there is none of' SESSION_INVALID session preset "$log" nosuch
check 'what is refused does not even repair a log' cmp -s "$log" "$place/before"
ln -s "$outside" "$workspace/way"
for mode in read-only workspace-write; do
  refused "$mode: a log behind a symlink in the workspace" POLICY_INVALID --session "$workspace/way/logs/new" --workspace "$workspace" --mode $mode -- "${mark[@]}"
  check_not "$mode: a log behind a symlink in the workspace is not made" test -e "$outside/logs"
done
rm "$workspace/way"
# --- a second name, made by a command of another session
tool session new "$workspace/named.jsonl" --cwd "$workspace"
run --workspace "$workspace" --mode workspace-write --partial accept -- ln named.jsonl hard
equal 'a log can get a second name where a command can write' 2 "$(stat -c %h "$workspace/named.jsonl")"
refused 'run on a log with a second name' LOG_FAILED --session "$workspace/named.jsonl" --mode workspace-write --partial accept -- "${mark[@]}"
cp "$workspace/named.jsonl" "$place/before"
tool session mode "$workspace/named.jsonl" danger-full-access
equal 'session mode on a log with a second name' 125 "$status"
check 'session mode on a log with a second name: it is as it was' cmp -s "$workspace/named.jsonl" "$place/before"
rm "$workspace/named.jsonl" "$workspace/hard"
# --- facts are of this run or none
echo '{"outcome":"exited","exit_code":0}' >"$facts"
"$cordon" run --workspace "$workspace" --json "$facts" -- sleep 60 &
for ((i = 0; i < 100; i++)); do [ -s "$facts" ] || break; sleep 0.1; done
kill -9 $!
wait $! 2>/dev/null
equal 'a run that is killed leaves no facts of an earlier one' '' "$(cat "$facts")"
# --- a log without room for how the command ended does not hide that
ended=no
for pad in $(seq 0 40 1000); do
  rm -f "$place/small"
  (ulimit -f 1; exec "$cordon" run --session "$place/small" --workspace "$workspace" --json "$facts" -- sh -c 'exit 7' sh "$(printf "%${pad}s" '')") 2>"$place/err"
  status=$?
  grep -q 'has run, but its end could not be recorded' "$place/err" || continue
  ended=$status
  break
done
equal 'a command whose end has no room in the log: its own status' 7 "$ended"
check 'and the facts say both' grep -qE '"outcome":"exited","exit_code":7,.*"error":\{"code":"LOG_FAILED"' "$facts"

# --- a log in the workspace is out of reach of the commands of its session
for backend in layered mount-namespace bubblewrap; do
  rm -rf "$workspace/.agent"
  own=$workspace/.agent/logs/own.jsonl
  in_workspace --session "$own" --backend $backend --mode workspace-write --partial accept -- true
  equal "$backend: a log in the workspace" 0 "$status"
  cp "$own" "$place/own-before"
  in_workspace --session "$own" --backend $backend --mode workspace-write --partial accept -- sh -c '
    forged="{\"seq\":5,\"time\":1,\"type\":\"sandbox/mode\",\"data\":{\"mode\":\"danger-full-access\"}}"
    echo "$forged" >>.agent/logs/own.jsonl; true >.agent/logs/own.jsonl; rm -rf .agent; mv .agent elsewhere; mv .agent/logs .agent/x
    echo x >.agent/logs/new; mv .agent/logs/own.jsonl x; ln .agent/logs/own.jsonl hard; chmod 666 .agent/logs/own.jsonl
    cp .agent/logs/own.jsonl copy; mv copy .agent/logs/own.jsonl; touch .agent/logs/own.jsonl; rmdir .agent/logs
    mkdir -p .agent2/logs; mv -T .agent2 .agent
    for fd in /proc/*/fd/*; do case $(readlink "$fd") in *own.jsonl) echo "$forged" >>"$fd";; esac; done
    echo done' 2>/dev/null
  equal "$backend: the attacks on it ran" done "$out"
  equal "$backend: its events are those of the runs" "$(types "$place/own-before") turn/start exec/confined exec/settled turn/end" "$(types "$own")"
  check "$backend: what was there is there" cmp -s "$place/own-before" <(head -c "$(stat -c %s "$place/own-before")" "$own")
  equal "$backend: and its permissions" 600 "$(stat -c %a "$own")"
  ln -sfn .agent "$workspace/way"
  refused "$backend: a log behind a symlink that a command may have made" POLICY_INVALID --session "$workspace/way/logs/own.jsonl" --mode workspace-write --backend $backend --partial accept -- "${mark[@]}"
  rm -rf "$workspace/way" "$workspace/.agent2" "$workspace/hard" "$workspace/copy" "$workspace/x"
done
rm -rf "$workspace/.agent"
in_tmp=$(mktemp -d /tmp/cordon-tool.XXXXXX)
refused 'landlock: a log in a temp directory that the command can write' POLICY_INVALID --session "$in_tmp/log" --workspace "$workspace" --mode workspace-write --backend landlock --partial accept -- "${mark[@]}"
rm -rf "$in_tmp"

# --- the second gate -------------------------------------------------------------------------------------------------
answerer() { # NAME SCRIPT: a program that reads the question and then does this
  printf '#!/bin/sh\ncat >"%s"\n%s\n' "$place/question" "$2" >"$bin/$1"
  chmod 755 "$bin/$1"
}
answerer yes "echo x >>'$place/asked'; echo '{\"outcome\":\"allowed-once\"}'"
answerer no "echo x >>'$place/asked'; echo '{\"outcome\":\"rejected\",\"reason\":\"not today\"}'"
answerer silent ''
answerer sure "echo '{\"outcome\":\"sure\"}'"
answerer fails "echo '{\"outcome\":\"allowed-once\"}'; exit 1"
answerer slow "sleep 60; echo '{\"outcome\":\"allowed-once\"}'"
asked() { cat "$place/asked" 2>/dev/null | wc -l; }
escalate() { # MODE ARGUMENT…
  local mode=$1
  shift
  rm -f "$place/asked" "$place/question"
  in_workspace --escalate "$mode" --justify 'it has to' "$@"
}
not_allowed() { # WHAT CODE OUTCOME ANSWERED-BY ARGUMENT…
  local what=$1 code=$2 outcome=$3 by=$4
  shift 4
  rm -f "$place/asked"
  refused "$what" "$code" --workspace "$workspace" --json "$facts" "$@" -- "${mark[@]}"
  check "$what: the facts have the outcome" grep -qE "\"approval\":\{\"id\":\"[0-9a-f]{32}\",\"outcome\":\"$outcome\",\"answered_by\":$by\}" "$facts"
  check "$what: and that it was refused" says '"outcome":"refused"'
}
wide=(--escalate danger-full-access --justify 'it has to')
refused '--escalate without --justify (T-ESC-03)' ESCALATION_INVALID --workspace "$workspace" --escalate workspace-write --approve-with "$bin/yes" -- "${mark[@]}"
refused '--justify without --escalate (T-ESC-02, T-ESC-03)' ESCALATION_INVALID --workspace "$workspace" --justify why --approve-with "$bin/yes" -- "${mark[@]}"
refused 'a justification of blanks (T-ESC-03)' ESCALATION_INVALID --workspace "$workspace" --escalate workspace-write --justify '   ' --approve-with "$bin/yes" -- "${mark[@]}"
refused '--escalate to no mode' POLICY_INVALID --workspace "$workspace" --escalate everything --justify why --approve-with "$bin/yes" -- "${mark[@]}"
refused '--approve-timeout without a program' USAGE --workspace "$workspace" "${wide[@]}" --approve-timeout 1 -- "${mark[@]}"
refused 'rules that are not there' USAGE --workspace "$workspace" "${wide[@]}" --rules "$place/none.json" -- "${mark[@]}"
echo '{"rules":[{"prefix":["sudo"],"decision":"allow"}]}' >"$place/bad.json"
refused 'a program that is another one for the command' ARGV_INVALID --workspace "$workspace" "${wide[@]}" -- /proc/self/cwd/mine
refused 'rules that are a FIFO' USAGE --workspace "$workspace" "${wide[@]}" --rules "$place/pipe" -- "${mark[@]}"
refused 'rules that allow everything' POLICY_INVALID --workspace "$workspace" "${wide[@]}" --rules "$place/bad.json" -- "${mark[@]}"
check_not 'nobody was asked about any of these' test -e "$place/asked"

not_allowed 'nobody answers (T-APR-02)' APPROVAL_UNAVAILABLE unavailable null "${wide[@]}"
not_allowed 'a program rejects' APPROVAL_REJECTED rejected '"command"' "${wide[@]}" --approve-with "$bin/no"
check 'with its reason' grep -q 'not today' "$place/err"
not_allowed 'a program says nothing' APPROVAL_UNAVAILABLE unavailable '"command"' "${wide[@]}" --approve-with "$bin/silent"
not_allowed 'a program says "sure" (T-ESC-07)' APPROVAL_UNAVAILABLE unavailable '"command"' "${wide[@]}" --approve-with "$bin/sure"
not_allowed 'a program fails behind its answer' APPROVAL_UNAVAILABLE unavailable '"command"' "${wide[@]}" --approve-with "$bin/fails"
not_allowed 'a program that is not there' APPROVAL_UNAVAILABLE unavailable '"command"' "${wide[@]}" --approve-with "$bin/none"
not_allowed 'a program takes too long' APPROVAL_UNAVAILABLE unavailable '"command"' "${wide[@]}" --approve-with "$bin/slow" --approve-timeout 0.2
not_allowed 'never (T-APR-09)' APPROVAL_REJECTED rejected '"policy"' "${wide[@]}" --approve-with "$bin/yes" --approval never
check_not 'and nobody was asked' test -e "$place/asked"
not_allowed 'the ceiling (F104)' APPROVAL_REJECTED rejected '"ceiling"' "${wide[@]}" --approve-with "$bin/yes" --ceiling workspace-write
check_not 'and nobody was asked' test -e "$place/asked"
not_allowed 'no terminal' APPROVAL_UNAVAILABLE unavailable null "${wide[@]}" --ask </dev/null

# Which mode it gets, and that it is that one and once.
escalate workspace-write --mode read-only --approve-with "$bin/yes" -- sh -c "echo x >granted && cat granted; echo x >'$outside/by-grant'"
equal 'workspace-write was granted: it writes the workspace' x "$out"
check_not 'and nothing else' test -e "$outside/by-grant"
check 'the facts have the mode that was granted' says '"mode":"workspace-write"'
check 'and who said so' grep -qE '"approval":\{"id":"[0-9a-f]{32}","outcome":"allowed-once","answered_by":"command"\}' "$facts"
equal 'one question' 1 "$(asked)"
check 'which had the mode and the reason' grep -q '"reason":"workspace-write: it has to"' "$place/question"
check 'and the argv and the workspace' grep -qF "\"workspace_root\":\"$workspace\"" "$place/question"
rm -f "$workspace/granted"
escalate danger-full-access --mode read-only --approve-with "$bin/yes" -- sh -c "echo x >'$outside/by-grant'; exit 3"
equal 'full access was granted: its exit status' 3 "$status"
check 'it writes anywhere' test -e "$outside/by-grant"
rm -f "$outside/by-grant"
for mode in read-only workspace-write; do
  escalate $mode --mode workspace-write --approve-with "$bin/no" -- sh -c 'echo x >narrow; cat narrow'
  equal "$mode is not wider than workspace-write: it runs at once (T-ESC-04, F96)" x "$out"
  check 'under the mode that it has' says '"mode":"workspace-write"'
  check 'and nobody is asked' says '"approval":null'
  equal 'really nobody' 0 "$(asked)"
done
rm -f "$workspace/narrow"
escalate danger-full-access --mode danger-full-access --approval never -- sh -c 'echo ran'
equal 'nothing is wider than full access' ran "$out"

# The session: pairs, grants and no mode.
log=$place/escalations.jsonl
escalate workspace-write --session "$log" --approve-with "$bin/yes" -- true
escalate workspace-write --session "$log" --approve-with "$bin/no" -- true
in_workspace --session "$log" -- sh -c 'echo x >after'
check_not 'the next command has the mode of the session again (ESC-06)' test -e "$workspace/after"
equal 'what the log has of it (T-ESC-15)' 'turn/start approval/asked approval/decided exec/confined exec/settled turn/end turn/start approval/asked approval/decided turn/end turn/start exec/confined exec/settled turn/end' "$(types "$log" | xargs)"
id=$(sed -n 's/.*"type":"approval\/asked","data":{"id":"\([0-9a-f]*\)".*/\1/p' "$log" | head -1)
check 'the run names its grant' grep -qF "\"allowed_by\":\"grant $id\"" "$log"
equal 'the log is sound' 0 "$("$cordon" session verify "$log" >/dev/null; echo $?)"
# What a session remembers, with a human at a terminal of his own.
cat >"$place/human.py" <<'END'
import fcntl, os, pty, struct, sys, termios, time
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while b"Your answer" not in seen:
    seen += os.read(terminal, 4096)
time.sleep(0.5)
os.write(terminal, sys.argv[1].encode())
try:
    while piece := os.read(terminal, 4096):
        seen += piece
except OSError:
    pass
sys.stdout.write(seen.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
human() { # KEY ARGUMENT…: as escalate, with --ask
  local key=$1
  shift
  rm -f "$facts"
  seen=$(python3 "$place/human.py" "$key" "$cordon" run --workspace "$workspace" --json "$facts" --justify 'it has to' --ask "$@" 2>&1)
  status=$?
}
if command -v python3 >/dev/null; then
  memory=$place/remembers.jsonl
  human y --escalate danger-full-access -- touch "$outside/by-human"
  check 'a human allows' test "$status" = 0 -a -e "$outside/by-human"
  check 'and is the one who answered' grep -qE '"outcome":"allowed-once","answered_by":"terminal"' "$facts"
  check 'having seen the command' grep -qF "touch" <<<"$seen"
  human n --escalate danger-full-access -- touch "$outside/by-human-2"
  equal 'a human rejects' 125 "$status"
  check_not 'and nothing runs' test -e "$outside/by-human-2"
  human y --escalate danger-full-access --approve-with "$bin/fails" -- touch "$outside/by-human-2"
  check 'a human is asked when a program could not answer' grep -qE '"outcome":"allowed-once","answered_by":"terminal"' "$facts"
  human a --session "$memory" --escalate workspace-write -- touch kept
  equal 'a human allows, and is not to be asked again' 0 "$status"
  check 'show lists it (F100)' grep -qF '"words":["touch","kept"],"exact":true,"mode":"workspace-write"' <("$cordon" session show "$memory" --json)
  again() { in_workspace --session "$memory" --justify 'it has to' --approve-with "$bin/no" "$@"; }
  again --escalate workspace-write -- touch kept
  check 'nobody is asked about it (F97)' grep -qE '"outcome":"allowed-once","answered_by":"session-rules"' "$facts"
  for more in '--escalate danger-full-access' "--escalate workspace-write --write $outside" "--escalate workspace-write --stdin $facts" '--escalate workspace-write --env A=b'; do
    again $more -- touch kept
    equal "but with $more" 125 "$status"
  done
  again --escalate workspace-write -- touch kept other
  equal 'but about another command' 125 "$status"
  rm -f "$workspace/kept"
elif [ "${CORDON_REQUIRE_KERNEL:-0}" = 1 ]; then
  report 1 'python3 is needed for what a human does at a terminal'
fi
check 'the request says what is typed' grep -qF '"input":{"kind":"copied"}' <(escalate danger-full-access --approve-with "$bin/no" --stdin "$place/bad.json" -- cat; cat "$place/question")

# A directory that is exchanged while somebody thinks is not the one that he allowed.
mkdir "$workspace/build" "$outside/home"
touch "$outside/home/precious"
answerer thinks "mv '$workspace/build' '$workspace/old'; ln -s '$outside/home' '$workspace/build'; echo '{\"outcome\":\"allowed-once\"}'"
refused 'a directory that is exchanged' ACTION_CHANGED --workspace "$workspace" --cwd "$workspace/build" "${wide[@]}" --approve-with "$bin/thinks" -- find . -type f -delete
check 'what was elsewhere is there' test -e "$outside/home/precious"
rm -rf "$workspace/build" "$workspace/old" "$outside/home"
"$cordon" session approval "$log" never
rm -f "$place/asked"
refused 'a session that asks nobody' APPROVAL_REJECTED --workspace "$workspace" --session "$log" "${wide[@]}" --approve-with "$bin/yes" -- "${mark[@]}"
check_not 'asks nobody' test -e "$place/asked"

# Rules: first of all, and only about what they are about.
cat >"$place/rules.json" <<'END'
{"rules":[{"prefix":["ls"],"decision":"allow","match":["ls -l",["ls"]],"no_match":["lsof"]},
          {"prefix":["echo"],"decision":"allow","max_mode":"workspace-write"},
          {"prefix":["rm"],"decision":"reject","reason":"not here"}]}
END
escalate danger-full-access --rules "$place/rules.json" --approve-with "$bin/no" -- ls
equal 'a rule allows' 0 "$status"
check 'and signs it' grep -qE '"outcome":"allowed-once","answered_by":"rules"' "$facts"
equal 'nobody else is asked' 0 "$(asked)"
escalate danger-full-access --rules "$place/rules.json" --approve-with "$bin/yes" -- rm "$workspace/mine"
equal 'a rule rejects' 125 "$status"
check 'the file is there' test -e "$workspace/mine"
check 'it is signed too' grep -qE '"outcome":"rejected","answered_by":"rules"' "$facts"
equal 'and nobody else is asked' 0 "$(asked)"
run_rule() { # EXPECTED-ASKED ARGUMENT…: how often somebody behind the rules is asked
  local expected=$1
  shift
  escalate danger-full-access --rules "$place/rules.json" --approve-with "$bin/no" -- "$@"
  equal "asked behind the rules about: $(printf "%q " "$@")" "$expected" "$(asked)"
}
run_rule 0 bash -c 'ls; ls -l | ls'
for text in 'ls; date' 'ls && date' $'ls\ndate' 'ls $(date)' 'ls `date`' 'cat <(ls)' 'ls >x' 'env ls' './ls' 'echo x' 'ls & ' "l's' x; \\date"; do
  run_rule 1 bash -c "$text"
done
run_rule 1 env ls
run_rule 1 xargs ls
run_rule 1 "$bin/ls"

echo "1..$count"
[ "$failed" = 0 ] || echo "# $failed of $count failed"
[ "$failed" = 0 ]
