#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Install into a scratch directory, then build and run the examples the way a stranger would: pkg-config only.
# usage: check_install.sh MAKE BUILD CC
set -eu
make=$1; build=$2; cc=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" install > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig" LD_LIBRARY_PATH="$tmp/usr/lib"
"$tmp/usr/bin/cuvet" --version
n=0
for e in examples/*.c; do
    [ -f "$e" ] || continue
    case $e in */service.c) pc=cuvet-worker ;; *) pc=cuvet ;; esac
    for how in shared static; do
        if [ "$how" = shared ]; then
            # shellcheck disable=SC2046  # flags are words
            $cc -std=c11 -Wall -Wextra "$e" -o "$tmp/example" $(pkg-config --cflags --libs $pc)
        else
            # shellcheck disable=SC2046
            $cc -std=c11 -Wall -Wextra "$e" -o "$tmp/example" $(pkg-config --cflags $pc) "$tmp/usr/lib/lib$pc.a" \
                -llz4 -lzstd -pthread
        fi
        sh tools/run_example.sh "$tmp/example" "$e" > "$tmp/out" || { cat "$tmp/out"; echo "$e ($how) failed"; exit 1; }
        n=$((n + 1))
    done
done
# What lies beside the installed files is somebody else's, and stays.
echo mine > "$tmp/usr/include/cuvet/mine.h"
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" uninstall > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
left=$(cd "$tmp/usr" && find . ! -type d)
[ "$left" = ./include/cuvet/mine.h ] || { echo "left by uninstall, or taken too much: $left"; exit 1; }
rm "$tmp/usr/include/cuvet/mine.h"
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" install uninstall > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
[ -z "$(find "$tmp/usr" ! -type d)" ] && [ ! -e "$tmp/usr/include/cuvet" ] || { echo "left by uninstall"; exit 1; }
n=$((n + 1))
echo "$n passed, 0 failed, 0 skipped"
[ "$n" -gt 0 ]
