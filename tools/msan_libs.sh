#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the fuzz targets call beside this library, built with MSan out of Debian's sources: liblz4, libzstd, jansson and of nettle SHA-256,
# as static archives in one folder. MSan believes of code that is not built with it that it wrote nothing; a library that is built
# with it is judged like ours. Nothing is installed: sources come through apt with its own signatures, into that folder alone.
# Says what it built, or why not; ends with 1 then, and `make check-msan` goes on without these libraries, by name.
# usage: msan_libs.sh FOLDER COMPILER
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cc=$2
flags="-O1 -g -fPIC -fno-omit-frame-pointer -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all"
without() { echo "msan: not built: $1"; exit 1; }

# Changes of this script or the compiler build them anew.
stamp=$(cat "$0" && "$cc" --version && echo "$flags")
if [ -f "$dir/stamp" ] && [ "$(cat "$dir/stamp")" = "$stamp" ]; then cat "$dir/built"; exit 0; fi
for tool in apt-get dpkg-source ar; do
    command -v "$tool" > /dev/null 2>&1 || without "$tool is not installed"
done

# shellcheck disable=SC2016  # for apt-get to fill in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' 2> /dev/null | head -n 1)
[ -n "$mirror" ] || without "apt has no archive of Debian's bookworm here"
rm -rf "$dir/stamp" "$dir/built" "$dir/src" "$dir/obj" "$dir"/*.a
mkdir -p "$dir/lists/partial" "$dir/cache" "$dir/src" "$dir/obj"
echo "deb-src $mirror bookworm main" > "$dir/sources.list"
own="-q -o Dir::State::Lists=$dir/lists -o Dir::Etc::SourceList=$dir/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::Cache=$dir/cache"
# shellcheck disable=SC2086  # options
{ apt-get $own update && cd "$dir/src" && apt-get $own source lz4 libzstd jansson nettle; } > "$dir/log" 2>&1 ||
    without "the package archive is not reached, or has no sources: $(tail -n 1 "$dir/log")"

# library NAME FLAGS FILE...: one archive of these sources.
library() {
    name=$1 own=$2; shift 2
    mkdir "$dir/obj/$name"
    for file; do
        # shellcheck disable=SC2086  # flags
        "$cc" $flags $own -w -c "$file" -o "$dir/obj/$name/$(basename "$file" .c).o" >> "$dir/log" 2>&1 || { tail -n 20 "$dir/log"; without "$file"; }
    done
    ar rcs "$dir/lib$name.a" "$dir/obj/$name"/*.o
}
cd "$dir/src"
library lz4 "" lz4-*/lib/lz4.c
library zstd "-DZSTD_DISABLE_ASM=1 -DZSTD_LEGACY_SUPPORT=0 -pthread" libzstd-*/lib/common/*.c libzstd-*/lib/compress/*.c libzstd-*/lib/decompress/*.c
# What configuring them would write: jansson_config.h and nettle-types.h are the installed ones, the rest is told here. No assembler of nettle's.
: > "$dir/obj/jansson_private_config.h"
library jansson "-I$dir/obj -DHAVE_STDINT_H=1 -DHAVE_UNISTD_H=1 -DHAVE_FCNTL_H=1 -DHAVE_SYS_STAT_H=1 -DHAVE_SYS_TYPES_H=1 -DHAVE_SYS_TIME_H=1 \
    -DHAVE_OPEN=1 -DHAVE_CLOSE=1 -DHAVE_READ=1 -DHAVE_GETTIMEOFDAY=1 -DHAVE_GETPID=1 -DHAVE_ATOMIC_BUILTINS=1 -DHAVE_SCHED_YIELD=1 -DHAVE_SCHED_H=1" jansson-*/src/*.c
library nettle "-I/usr/include/nettle" nettle-*/sha256.c nettle-*/sha256-compress.c nettle-*/write-be32.c
set -- */
echo "msan: built with it: $(echo "$@" | tr -d /)" > "$dir/built"
rm -rf "$dir/src" "$dir/obj" "$dir/lists" "$dir/cache"
printf '%s\n' "$stamp" > "$dir/stamp"
cat "$dir/built"
