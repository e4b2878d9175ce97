#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run a compiled example on the bundled samples: it must end well and say something. usage: run_example.sh BINARY
set -eu
bin=$1
n=0
for f in corpus/samples/*; do
    [ -f "$f" ] || continue
    case $f in *.md|*.txt|*.json|*.sh) continue ;; esac
    out=$("$bin" "$f") || { echo "$bin $f: exit $?"; exit 1; }
    [ -n "$out" ] || { echo "$bin $f: no output"; exit 1; }
    n=$((n + 1))
done
[ "$n" -gt 0 ] || { echo "SKIPPED: no samples in corpus/samples"; exit 77; }
echo "$n passed, 0 failed, 0 skipped"
