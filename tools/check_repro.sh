#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Build twice, in different directories, from copies of the tree in different places, with different locales, time
# zones and umasks, both at a time; the products must be the same bytes. With FIRST, a folder with products of the same
# compiler and flags, only the other one is built.
# usage: check_repro.sh [CC [FIRST]]
set -eu
cc=${1:-cc}
first=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
places=another/deeper/place
jobs=${JOBS:-$(nproc)}
other=
[ -n "$first" ] || { places="one $places"; jobs=$(((jobs + 1) / 2)); } # two builds share the machine
for d in $places; do
    mkdir -p "$tmp/$d"
    (cd "$root" && tar cf - Makefile mk tools sanitizers src include cli compat spec deps.def *.pc.in) | (cd "$tmp/$d" && tar xf -)
done
if [ -z "$first" ]; then
    first=$tmp/one/build
    (cd "$tmp/one" && umask 022 && TZ=UTC LC_ALL=C make -s -j"$jobs" CC="$cc" BUILD=build all > /dev/null) &
    other=$!
fi
(cd "$tmp/another/deeper/place" && umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make -s -j"$jobs" CC="$cc" \
    BUILD="$tmp/out" all > /dev/null)
test -z "$other" || wait "$other"
bad=0
products="cuvet cuvet-worker cuvet-package libcuvet.a libcuvet.so.0 libcuvet-worker.so.0 compat/libnvJitLink.so.13"
count=7
for f in $products; do
    if cmp -s "$first/$f" "$tmp/out/$f"; then
        echo "ok    $f $(sha256sum < "$tmp/out/$f" | cut -c1-16)"
    else
        echo "FAIL  $f differs between two builds"
        cmp "$first/$f" "$tmp/out/$f" || true
        bad=$((bad + 1))
    fi
    if strings -a "$tmp/out/$f" | grep -qF "$tmp"; then
        echo "FAIL  $f holds a path of the build machine"
        bad=$((bad + 1))
    fi
done
echo "$((count - (bad > count ? count : bad))) passed, $bad failed, 0 skipped"
[ "$bad" = 0 ]
