#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The planted bug (target_planted.c) must be found by each engine within a minute: harness, flags and sanitizers bite.
# usage: planted_check.sh [BUILD]      builds what it needs; exit status 0: found by all engines that are installed
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
limit=${PLANTED_SECONDS:-60}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

make -s MODE=libfuzzer BUILD="$build/libfuzzer" "$build/libfuzzer/fuzz/planted" > /dev/null
mkdir "$tmp/corpus" "$tmp/found"
start=$(date +%s)
if "$build/libfuzzer/fuzz/planted" -max_total_time="$limit" -dict=fuzz/dict/planted.dict -artifact_prefix="$tmp/found/" \
    "$tmp/corpus" corpus/planted/seed > "$tmp/log" 2>&1; then
    echo "planted bug: libfuzzer MISSED it in $limit s"
    bad=1
elif [ -z "$(ls "$tmp/found")" ]; then
    echo "planted bug: libfuzzer did not run"
    tail -5 "$tmp/log"
    bad=1
else
    echo "planted bug: libfuzzer found it in $(($(date +%s) - start)) s"
fi

if ! command -v afl-fuzz > /dev/null 2>&1; then
    echo "SKIPPED: the AFL++ half, afl-fuzz is not installed"
    exit $bad
fi
AFL_QUIET=1 make -s MODE=afl BUILD="$build/afl" "$build/afl/fuzz/planted" > /dev/null
AFL_QUIET=1 AFL_LLVM_CMPLOG=1 make -s MODE=afl BUILD="$build/afl-cmplog" "$build/afl-cmplog/fuzz/planted" > /dev/null
start=$(date +%s)
AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_BENCH_UNTIL_CRASH=1 \
    afl-fuzz -V "$limit" -i corpus/planted/seed -o "$tmp/afl" -m none -t 2000+ -x fuzz/dict/planted.dict \
    -c "$build/afl-cmplog/fuzz/planted" -- "$build/afl/fuzz/planted" > "$tmp/log" 2>&1 || true
if ls "$tmp"/afl/default/crashes/id:* > /dev/null 2>&1; then
    echo "planted bug: afl++ found it in $(($(date +%s) - start)) s"
else
    echo "planted bug: afl++ MISSED it in $limit s"
    tail -5 "$tmp/log"
    bad=1
fi
exit $bad
