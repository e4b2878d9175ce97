#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Build the device ELFs with debug information in corpus/finalize from src/lines.cu.
#
#   tools/corpus/build_finalize.sh            build them again
#   tools/corpus/build_finalize.sh --compare  build into a scratch folder and compare with what is committed
#
# Needs nvcc and ptxas (13.0 was used). Without them nothing is built and the last line says so.
set -euo pipefail
export LC_ALL=C
data=$(cd "$(dirname "$0")/../../corpus/finalize" && pwd)
for tool in nvcc ptxas; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "SKIPPED: tools/corpus/build_finalize.sh built NOTHING, '$tool' is not on PATH; the committed files are used" >&2
        exit 0
    fi
done
work=/tmp/cuvet-corpus-finalize # a fixed place: -G writes the folder of the source into the debug sections
mkdir "$work" || { echo "build_finalize.sh: remove $work first" >&2; exit 1; }
trap 'rm -rf "$work"' EXIT
cp "$data"/src/*.cu "$work"
touch -d 2026-01-01T00:00:00Z "$work"/*.cu # the time of the source is in the line information
cd "$work"
# build NAME ARCH FLAGS_OF_PTXAS FLAGS...: in two steps, as nvcc gives its PTX a name that goes into the notes
build() {
    nvcc -ptx -arch="compute_$2" -frandom-seed=1 "${@:4}" -o "$1.ptx" "${source:-lines.cu}"
    # shellcheck disable=SC2086
    ptxas -arch="sm_$2" $3 -o "$1.cubin" "$1.ptx"
}
build lines.sm_75.g.rdc 75 "-g -c" -G -rdc=true
build lines.sm_90.lineinfo 90 "-lineinfo" -lineinfo
build lines.sm_100.lineinfo 100 "-lineinfo" -lineinfo
build lines.sm_100.g.rdc 100 "-g -c" -G -rdc=true
build lines.sm_120.lineinfo.rdc 120 "-lineinfo -c" -lineinfo -rdc=true
source=wide.cu build wide.sm_100.rdc 100 "-c" -rdc=true
if [ "${1:-}" = --compare ]; then
    for f in *.cubin; do
        cmp "$f" "$data/$f" && echo "same: $f"
    done
    exit
fi
cp ./*.cubin "$data"
