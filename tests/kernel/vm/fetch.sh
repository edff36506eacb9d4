#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# fetch.sh DIRECTORY RELEASE…: downloads the cloud kernel of each Debian release (bullseye: 5.10, bookworm: 6.1, trixie:
# 6.12, forky: 7.x) from the mirror that this machine uses, installs nothing, and leaves DIRECTORY/vmlinuz-RELEASE. A
# release that the mirror no longer serves is named and left out.
set -eu
directory=$1
shift
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)
[ -n "$mirror" ] || mirror=$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' /etc/apt/sources.list | head -1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg

for release in "$@"; do
  [ -e "$directory/vmlinuz-$release" ] && continue
  root=$directory/apt-$release
  mkdir -p "$root/parts" "$root/state/lists/partial" "$root/cache/archives/partial" "$root/unpacked"
  : > "$root/state/status"
  echo "deb [signed-by=$keys] $mirror $release main" > "$root/sources.list"
  options=(-qq -o "Dir::Etc::sourcelist=$root/sources.list" -o "Dir::Etc::sourceparts=$root/parts"
    -o "Dir::Etc::preferencesparts=$root/parts" -o "Dir::State=$root/state" -o "Dir::State::status=$root/state/status"
    -o "Dir::Cache=$root/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none -o APT::Install-Recommends=false)
  if ! apt-get "${options[@]}" update; then
    echo "not served: $release" >&2
    continue
  fi
  package=$(apt-cache "${options[@]}" depends linux-image-cloud-amd64 | sed -n 's/.*Depends: *\(linux-image-[0-9][^ ]*\)$/\1/p' | head -1)
  # The image itself, or the package that newer releases keep it in.
  for name in "$package" "${package/linux-image-/linux-binary-}"; do
    (cd "$root" && apt-get "${options[@]}" download "$name" 2>/dev/null && dpkg -x "$name"_*.deb unpacked) || true
    kernel=$(find "$root/unpacked" -name 'vmlinuz*' -type f | head -1)
    [ -z "$kernel" ] || break
  done
  if [ -n "$kernel" ]; then cp "$kernel" "$directory/vmlinuz-$release"; else echo "not served: $release" >&2; fi
  rm -rf "$root"
done
