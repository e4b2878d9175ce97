#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All fuzz targets, with the compiler, the flags and the engine of the environment, and what a runner wants beside them:
#
#   CC CXX CFLAGS CXXFLAGS   with the sanitizer's flags in them (no CXXFLAGS: those of CFLAGS); SANITIZER says which one it is
#   LIB_FUZZING_ENGINE       -fsanitize=fuzzer, an archive, or nothing: then the targets run the files that they are given
#   SRC WORK OUT             sources (this tree is $SRC/cuvet, or where this script is), scratch, and where it all goes
#
# Libraries whose sources are in $SRC (oss-fuzz/dependencies.sh) are built with the sanitizer and linked; of others the
# machine's static ones are taken. Then MSan would take what they write for what nobody wrote: the targets of jansson and nettle
# are left out, and the codecs tell. OSS-Fuzz, ClusterFuzzLite, `make fuzz-engines` and `make check-ossfuzz` all call this script.
#
#   FUZZ_ONLY="name ..."     these targets alone             CV_FUZZ_PLANTED=1   the one with the bug too
#   CV_FUZZ_BUILD=dir        instead of $WORK/cuvet          JOBS=n
# With CFLAGS alone the linker, which is called through CXX, would get no sanitizer.
set -eu
: "${CXXFLAGS:=${CFLAGS-}}"
export CXXFLAGS
root=$SRC/cuvet
[ -f "$root/Makefile" ] || root=$(cd "$(dirname "$0")/.." && pwd)
deps=$WORK/deps
build=${CV_FUZZ_BUILD:-$WORK/cuvet}
jobs=${JOBS:-$(nproc 2> /dev/null || echo 2)}
mkdir -p "$OUT" "$build"

# The sanitizer, without what an engine or a coverage report counts: that is of our own code.
plain() {
    for word in $1; do
        case $word in -fsanitize=fuzzer*|-fsanitize-coverage=*|-fprofile-instr-generate|-fcoverage-mapping) ;; *) printf '%s ' "$word" ;; esac
    done
}
codec() { # name, file of the archive, variables of its make
    name=$1 archive=$2; shift 2
    make -C "$SRC/$name/lib" -j"$jobs" CC="$CC" CFLAGS="$(plain "$CFLAGS") -fPIC" "$@" "$archive" > "$deps/$name.log" 2>&1 || { tail -40 "$deps/$name.log"; exit 1; }
    cp "$SRC/$name/lib/$archive" "$deps/lib/"
    cp "$SRC/$name/lib/"*.h "$deps/include/"
}
logged() { # name, command...: what it says is shown when it fails
    log=$deps/$1.log; shift
    "$@" >> "$log" 2>&1 || { tail -40 "$log"; exit 1; }
}

loads=1
if [ -d "$SRC/lz4" ] && [ -d "$SRC/zstd" ] && [ -d "$SRC/jansson" ] && [ -d "$SRC/nettle" ]; then
    if [ ! -f "$deps/done" ]; then
        rm -rf "$deps"
        mkdir -p "$deps/lib" "$deps/include" "$deps/jansson" "$deps/nettle"
        codec lz4 liblz4.a
        codec zstd libzstd.a ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0 ZSTD_LEGACY_SUPPORT=0
        (cd "$deps/jansson" && logged jansson cmake "$SRC/jansson" -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$(plain "$CFLAGS")" \
            -DCMAKE_INSTALL_PREFIX="$deps" -DCMAKE_INSTALL_LIBDIR=lib -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF)
        logged jansson make -C "$deps/jansson" -j"$jobs" install
        # SHA-256 alone is used: neither assembler, which no sanitizer sees, nor what needs a library of its own.
        (cd "$deps/nettle" && CFLAGS="$(plain "$CFLAGS")" logged nettle "$SRC/nettle/configure" --prefix="$deps" --libdir="$deps/lib" \
            --disable-shared --disable-public-key --disable-assembler --disable-documentation --disable-openssl)
        logged nettle make -C "$deps/nettle" -j"$jobs" libnettle.a install-static install-headers
        touch "$deps/done"
    fi
    CFLAGS="-I$deps/include $CFLAGS"
    CXXFLAGS="-L$deps/lib ${CXXFLAGS-}"
    export CFLAGS CXXFLAGS
elif [ "${SANITIZER:-}" = memory ]; then
    loads=
    echo "SKIPPED: the targets of jansson and nettle, which are not in \$SRC, so they are not built with MSan"
fi
without=planted
[ -z "${CV_FUZZ_PLANTED:-}" ] || without=

exec make -C "$root" --no-print-directory -j"$jobs" MODE=engine BUILD="$build" OUT="$OUT" FUZZ_WITHOUT="$without" \
    FUZZ_WITH_LOADS=$loads FUZZ_ONLY="${FUZZ_ONLY:-}" LIB_FUZZING_ENGINE="${LIB_FUZZING_ENGINE:-}" fuzz-install
