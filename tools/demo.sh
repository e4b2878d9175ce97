#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What cuvet is for, in a minute: scan, list, unpack, report, link and finalize samples that come with the source, then a
# file that lies about itself. usage: demo.sh CUVET
set -eu
cuvet=$1
samples=corpus/samples
hostile=corpus/hostile
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

step() { printf '\n$ %s\n' "$*"; }
# Exit code 1 means "findings", which is an answer; anything above is a failure of the demo.
answer() {
    rc=0
    "$@" || rc=$?
    [ "$rc" -le 1 ] || { echo "demo: exit code $rc" >&2; exit "$rc"; }
}

step "cuvet scan -r $samples"
answer "$cuvet" scan -r "$samples" > "$tmp/scan.txt"
awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++)
    if (NR <= 24 || i <= 12 || i > NR - 8) print line[i]; else if (i == 13) print "... (" NR - 20 " more lines)" }' "$tmp/scan.txt"

first=
for f in "$samples"/multi.fatbin "$samples"/*.so "$samples"/*.fatbin "$samples"/*; do
    if [ -f "$f" ] && [ -n "$("$cuvet" list "$f" 2> /dev/null)" ]; then first=$f; break; fi
done
[ -n "$first" ] || { echo "demo: no sample with device code in $samples" >&2; exit 1; }

step "cuvet list --kernels $first"
"$cuvet" list --kernels "$first"

step "cuvet unpack -d TMP $first"
mkdir "$tmp/out"
"$cuvet" unpack -d "$tmp/out" "$first"
(cd "$tmp/out" && find . -type f -printf '%10s  %P\n' | sort -k 2 | head -20)

step "cuvet scan --format=sarif -r $samples > samples.sarif"
answer "$cuvet" scan --format=sarif -r "$samples" > "$tmp/samples.sarif"
printf 'samples.sarif: %s lines, %s bytes, %s results\n' "$(wc -l < "$tmp/samples.sarif")" "$(wc -c < "$tmp/samples.sarif")" \
    "$(grep -c '"ruleId"' "$tmp/samples.sarif" || true)"

step "cuvet link -arch=sm_90 -o TMP/two.cubin $samples/two_a.sm_90.rdc.cubin $samples/two_b.sm_90.rdc.cubin"
"$cuvet" link -arch=sm_90 -o "$tmp/two.cubin" "$samples/two_a.sm_90.rdc.cubin" "$samples/two_b.sm_90.rdc.cubin"
"$cuvet" scan "$tmp/two.cubin" | sed "s#$tmp#TMP#"

step "cuvet finalize --explain --arch sm_103 $samples/plain.sm_100.cubin"
"$cuvet" finalize --explain --arch sm_103 "$samples/plain.sm_100.cubin"

step "cuvet finalize --arch sm_103 --binary-kind sass -o TMP/plain.cubin $samples/plain.sm_100.cubin"
"$cuvet" finalize --arch sm_103 --binary-kind sass -o "$tmp/plain.cubin" "$samples/plain.sm_100.cubin"
"$cuvet" scan "$tmp/plain.cubin" | sed "s#$tmp#TMP#"

for f in "$hostile"/*; do
    [ -f "$f" ] || continue
    case $f in *.md|*.txt|*.json|*.tsv) continue ;; esac
    step "cuvet scan $f    # a file that lies about itself"
    answer "$cuvet" scan "$f"
    break
done
printf '\ndemo: done\n'
