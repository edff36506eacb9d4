#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_headers.sh ROOT COMPILER: the include rules that no compiler knows.
#  - the umbrella includes every public header but those of a library of their own;
#  - the vocabulary reaches neither the operating system, nor fmt, nor JSON;
#  - nothing outside os/ makes a system call of its own; only format.hpp includes fmt;
#  - arrows between rooms only point down.
set -eu
cd "$1/include"
compiler=$2
failed=0
complain() { echo "$*" >&2; failed=1; }

reached=$(for header in $(find cordon -name '*.hpp'); do :; done
          echo '#include <cordon/cordon.hpp>' | "$compiler" -std=c++20 -I. -M -x c++ - | tr ' \\' '\n\n' | grep -o 'cordon/.*\.hpp' | sort -u)
for header in $(find cordon -name '*.hpp' ! -path cordon/format.hpp ! -path cordon/session/sha256.hpp | sort); do
  grep -qx "$header" <<<"$reached" || complain "$header is not reached from cordon/cordon.hpp"
done

for header in approval_policy session/event session/fold session/log session/preset session/session mode argv effect enforcement policy confined dialect sinks error partial_rule backend/backend backend/refuse approval/answerer_chain; do
  bad=$(echo "#include <cordon/$header.hpp>" | "$compiler" -std=c++20 -I. -M -x c++ - | tr ' \\' '\n\n' |
        grep -E 'cordon/os/|cordon/process/|/fmt/|nlohmann|sys/mount|linux/' | grep -vE 'bits/|asm|linux/(errno|limits|stddef|posix_types|types|close_range)\.h' || true)
  [ -z "$bad" ] || complain "cordon/$header.hpp reaches $bad"
done

bad=$(grep -lE '#include <fmt/' -r cordon | grep -v '^cordon/format.hpp$' || true)
[ -z "$bad" ] || complain "fmt is included by $bad"

# room: the rooms that it may include from, besides itself, detail and the top level vocabulary
allowed() {
  case $1 in
    os) echo '' ;;
    process) echo 'os' ;;
    classify) echo 'os process' ;;
    policy) echo 'os' ;;
    backend) echo 'os process classify runner' ;;
    runner) echo 'os process backend' ;;
    session) echo 'os policy' ;;
    approval) echo 'os process policy session' ;;
  esac
}
for room in os process classify policy backend runner approval session; do
  [ -d "cordon/$room" ] || continue
  for target in $(grep -rhoE '#include <cordon/[a-z_]+/' "cordon/$room" | sed 's|.*cordon/||; s|/||' | sort -u); do
    case " $room detail $(allowed $room) " in *" $target "*) ;; *) complain "$room/ includes from $target/" ;; esac
  done
done
exit $failed
