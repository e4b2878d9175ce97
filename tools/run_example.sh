#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run a compiled example on the bundled samples: it must end well and say something. Those that link get two objects of
# nvcc; those that scan, a file with an error and one without. Both say why a file that is not there is none. usage: run_example.sh BINARY [SOURCE]
set -eu
bin=$1
n=0
case $(basename "${2:-$bin}" .c) in
link_*)
    objects="corpus/samples/host-two_a.o corpus/samples/host-two_b.o"
    out=$(mktemp "${CV_TMP:-${TMPDIR:-/tmp}}/linked.XXXXXX")
    trap 'rm -f "$out"' EXIT
    "$bin" sm_75 "$out" $objects || { echo "$bin: exit $?"; exit 1; }
    [ "$(head -c 4 "$out" | tail -c 3)" = ELF ] || { echo "$bin: no device ELF"; exit 1; }
    said=$("$bin" sm_75 "$out" corpus/samples/none.o 2>&1) && { echo "$bin: links what is not there"; exit 1; }
    case $said in *CV-IO-004*) ;; *) echo "$bin: $said"; exit 1 ;; esac
    echo "2 passed, 0 failed, 0 skipped"
    exit 0
    ;;
service)
    worker=-
    [ -x "$(dirname "$bin")/../cuvet-worker" ] && worker=$(cd "$(dirname "$bin")/.." && pwd)/cuvet-worker
    out=$(mktemp "${CV_TMP:-${TMPDIR:-/tmp}}/linked.XXXXXX")
    trap 'rm -f "$out"' EXIT
    "$bin" "$worker" sm_75 "$out" corpus/samples/host-two_a.o corpus/samples/host-two_b.o || { echo "$bin: exit $?"; exit 1; }
    [ "$(head -c 4 "$out" | tail -c 3)" = ELF ] || { echo "$bin: no device ELF"; exit 1; }
    said=$("$bin" "$worker" sm_75 "$out" corpus/hostile/CV-FATBIN-014.fatbin 2>&1) && { echo "$bin: links a damaged file"; exit 1; }
    case $said in *CV-FATBIN-014*answered*) ;; *) echo "$bin: $said"; exit 1 ;; esac
    echo "2 passed, 0 failed, 0 skipped"
    exit 0
    ;;
scan_*)
    said=$("$bin" corpus/hostile/CV-FATBIN-014.fatbin) || { echo "$bin: exit $?"; exit 1; }
    case $said in *"error: Payload passes"*"[CV-FATBIN-014]") ;; *) echo "$bin: $said"; exit 1 ;; esac
    said=$("$bin" corpus/samples/multi.fatbin) || { echo "$bin: exit $?"; exit 1; }
    [ -z "$said" ] || { echo "$bin: $said"; exit 1; }
    said=$("$bin" corpus/samples/none.o 2>&1) && { echo "$bin: scans what is not there"; exit 1; }
    case $said in *": CV-IO-004 "*) ;; *) echo "$bin: $said"; exit 1 ;; esac
    echo "3 passed, 0 failed, 0 skipped"
    exit 0
    ;;
esac
for f in corpus/samples/*; do
    [ -f "$f" ] || continue
    case $f in *.md|*.txt|*.json|*.sh) continue ;; esac
    out=$("$bin" "$f") || { echo "$bin $f: exit $?"; exit 1; }
    [ -n "$out" ] || { echo "$bin $f: no output"; exit 1; }
    n=$((n + 1))
done
[ "$n" -gt 0 ] || { echo "SKIPPED: no samples in corpus/samples"; exit 77; }
echo "$n passed, 0 failed, 0 skipped"
