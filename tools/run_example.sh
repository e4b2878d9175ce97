#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run a compiled example on the bundled samples: it must end well and say something. Those that link get two objects
# of nvcc. usage: run_example.sh BINARY [SOURCE]
set -eu
bin=$1
n=0
case $(basename "${2:-$bin}" .c) in
link_*)
    objects="corpus/samples/host-two_a.o corpus/samples/host-two_b.o"
    magic=$("$bin" sm_75 $objects | head -c 4 | tail -c 3)
    [ "$magic" = ELF ] || { echo "$bin: no device ELF"; exit 1; }
    echo "1 passed, 0 failed, 0 skipped"
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
