#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Install into a scratch directory, then build and run the examples the way a stranger would: by pkg-config, and by CMake
# where that is installed.
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
skipped=0
if command -v cmake > /dev/null; then
    cmake -S examples -B "$tmp/cmake" -DCMAKE_PREFIX_PATH="$tmp/usr" -DCMAKE_C_COMPILER="$cc" > "$tmp/log" 2>&1 &&
        cmake --build "$tmp/cmake" >> "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
    for e in examples/*.c; do
        for how in "" -static; do
            sh tools/run_example.sh "$tmp/cmake/$(basename "$e" .c)$how" "$e" > "$tmp/out" ||
                { cat "$tmp/out"; echo "$e (CMake$how) failed"; exit 1; }
            n=$((n + 1))
        done
    done
    # Another minor version of 0.x is not this one.
    sed 's/find_package(cuvet 0.1/find_package(cuvet 0.2/' examples/CMakeLists.txt > "$tmp/CMakeLists.txt"
    ! cmake -S "$tmp" -B "$tmp/none" -DCMAKE_PREFIX_PATH="$tmp/usr" > "$tmp/log" 2>&1 && grep -q 'requested version "0.2"' "$tmp/log" ||
        { cat "$tmp/log"; echo "the CMake package takes any version"; exit 1; }
    rm -rf "$tmp/cmake" "$tmp/none"
    n=$((n + 1))
else
    skipped=1
    echo "SKIPPED: cmake is not installed, the CMake package was NOT tried"
fi
# The bill of materials has each installed file, with the hash that it has here, and no other.
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" sbom > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
python3 -c '
import json, sys
for one in json.load(sys.stdin)["components"]:
    if one["type"] == "file":
        print(one["hashes"][0]["content"] if "hashes" in one else one["properties"][0]["value"], one["name"])
' < "$build/cuvet.cdx.json" | sort > "$tmp/listed"
{ find "$tmp/usr" -type f -exec sha256sum {} + | sed 's/  / /'; find "$tmp/usr" -type l -printf '%l %p\n'; } | sort > "$tmp/installed"
[ -s "$tmp/listed" ] && cmp -s "$tmp/listed" "$tmp/installed" ||
    { diff "$tmp/listed" "$tmp/installed" | head -n 20; echo "the bill of materials is not what install writes"; exit 1; }
n=$((n + 1))
units=$tmp/usr/lib/systemd/user
grep -qx "ExecStart=$tmp/usr/bin/cuvet serve --require-sandbox" "$units/cuvet.service" || { echo "$units/cuvet.service names another command"; exit 1; }
# What lies beside the installed files is somebody else's, and stays.
echo mine > "$tmp/usr/include/cuvet/mine.h"
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" uninstall > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
left=$(cd "$tmp/usr" && find . ! -type d)
[ "$left" = ./include/cuvet/mine.h ] || { echo "left by uninstall, or taken too much: $left"; exit 1; }
rm "$tmp/usr/include/cuvet/mine.h"
"$make" -s BUILD="$build" CC="$cc" PREFIX="$tmp/usr" install uninstall > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
[ -z "$(find "$tmp/usr" ! -type d)" ] && [ ! -e "$tmp/usr/include/cuvet" ] || { echo "left by uninstall"; exit 1; }
n=$((n + 1))
echo "$n passed, 0 failed, $skipped skipped"
[ "$n" -gt 0 ]
