#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Collect golden link cases: what goes into a link, and what the reference linker makes of it.
#
#   LINKCASES=DIR tools/corpus/build_link.sh            build the cases and write golden.tar.zst and index.tsv again
#   LINKCASES=DIR tools/corpus/build_link.sh --compare  compare what is committed with the cases of DIR
#   tools/corpus/build_link.sh --own                    build the cases of ptx/ and src/ again, keep the others as they are
#
# The cases come from generator scripts of our own, which are no part of this project: a folder with gen.sh, which
# compiles sources of our own with nvcc and ptxas (13.0 was used), links them with nvlink and writes one folder
# for each case: in/, cmd, rc, stderr, out.cubin. LINKCASES names the folder of gen.sh, or one it has written.
# src/ has the sources of two more cases, about line information.
#
# Compilers write build details into names of static symbols, so that a new build has other bytes; inputs and outputs
# are always replaced together. Packed, because 1.7 MB of headers and zeros become 0.1 MB. index.tsv says which file
# of the archive is what; a file that occurs twice is there once, called by its contents.
#
# Not taken: cases with containers, libraries or damaged files as inputs, one whose code the reference makes again
# otherwise (from sm_100 on), and everything that names a path (debug data). From sm_100 on the outputs of the
# reference hold capsules; the test compares what else is there.
set -euo pipefail
export LC_ALL=C
data=$(cd "$(dirname "$0")/../../corpus/link" && pwd)
if [ "${1:-}" = --own ]; then
    LINKCASES=/nonexistent
fi
if [ -z "${LINKCASES:-}" ]; then
    echo "SKIPPED: tools/corpus/build_link.sh built NOTHING, LINKCASES does not name the cases; the committed ones are used" >&2
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=$LINKCASES
for tool in nvcc ptxas nvlink fatbinary zstd; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "SKIPPED: tools/corpus/build_link.sh built NOTHING, '$tool' is not on PATH; the committed cases are used" >&2
        exit 0
    fi
done
if [ -f "$LINKCASES/gen.sh" ]; then
    bash "$LINKCASES/gen.sh" "$work/cases"
    cases=$work/cases
fi
# Small ones beside them, for rules that were found later: corpus/link/ptx/<case>.<n>.ptx, one object for each n.
if command -v ptxas >/dev/null 2>&1 && command -v nvlink >/dev/null 2>&1; then
    # Its comments say which machines and modes, when not these.
    for first in "$data"/ptx/*.0.ptx; do
        name=$(basename "$first" .0.ptx)
        machines=$(sed -n 's,^// machines: ,,p' "$first")
        modes=$(sed -n 's,^// modes: ,,p' "$first")
        grep -q '^// final only' "$first" && modes=final
        case $(sed -n 's,^// compiler: ,,p' "$first") in
        old) compiler=${CV_OLD_PTXAS:-} of="CV_OLD_PTXAS, a ptxas of CUDA 12.6" ;;
        older) compiler=${CV_OLDER_PTXAS:-} of="CV_OLDER_PTXAS, a ptxas of CUDA 12.0 or 12.1" ;;
        *) compiler=ptxas ;;
        esac
        [ -n "$compiler" ] || echo "SKIPPED: $name needs $of" >&2
        [ -n "$compiler" ] || continue
        for arch in ${machines:-75 80 90}; do
            for mode in ${modes:-final -r}; do
                [ -n "$modes" ] || [ "$mode" = final ] || [ "${arch%a}" -lt 100 ] || continue
                case $arch$mode in 1*-g) continue ;; esac # made again, for a debugger
                d=$work/own/$name${mode#final}.$arch
                mkdir -p "$d/in"
                inputs=
                for ptx in "$data/ptx/$name".*.ptx; do
                    o=in/$(basename "$ptx" .ptx).cubin
                    made_by=$compiler # a file beside the first may be of today
                    grep -q '^// compiler: today' "$ptx" && made_by=ptxas
                    "$made_by" -c -arch=sm_$arch "$ptx" -o "$d/$o"
                    if grep -q '^// linked before' "$ptx"; then # what goes into the link is what a relocatable one made of it
                        nvlink -arch=sm_$arch -r "$d/$o" -o "$d/part" && mv "$d/part" "$d/$o"
                    fi
                    inputs="$inputs $o"
                done
                echo "nvlink -arch=sm_$arch ${mode#final}$inputs -o out.cubin" >"$d/cmd"
                # -g writes the name of the output into a note, so that it is always the same.
                # shellcheck disable=SC2086
                (cd "$d" && nvlink -arch=sm_$arch ${mode#final} $inputs -o out.cubin 2>stderr && echo 0 >rc || echo 1 >rc)
            done
        done
    done
    # Code without capsules, from sm_100 on: the comment says for which machines.
    cuvet=${CUVET:-$data/../../build/cuvet}
    for first in "$data"/ptx/*.0.ptx; do
        name=$(basename "$first" .0.ptx)
        for arch in $(sed -n 's,^// plain: ,,p' "$first"); do
            d=$work/own/$name-plain.$arch
            mkdir -p "$d/in"
            inputs=
            for ptx in "$data/ptx/$name".*.ptx; do
                o=in/$(basename "$ptx" .ptx).cubin
                ptxas -c -arch=sm_$arch "$ptx" -o "$work/whole.cubin"
                "$cuvet" finalize --binary-kind=sass "$work/whole.cubin" -o "$d/$o" 2>/dev/null
                inputs="$inputs $o"
            done
            echo "nvlink -arch=sm_$arch$inputs -o out.cubin" >"$d/cmd"
            # shellcheck disable=SC2086
            (cd "$d" && nvlink -arch=sm_$arch $inputs -o out.cubin 2>stderr && echo 0 >rc || echo 1 >rc)
        done
    done
    # Debug data of nvcc names paths, that of PTX names what the source says.
    for pair in lines:rows inlined:again; do
        d=$work/own/${pair%:*}.100
        mkdir -p "$d/in"
        for f in ${pair/:/ }; do
            ptxas -arch=sm_100 -c -lineinfo "$data/src/$f.ptx" -o "$d/in/$f.cubin"
        done
        echo "nvlink -arch=sm_100 in/${pair%:*}.cubin in/${pair#*:}.cubin -o out.cubin" >"$d/cmd"
        (cd "$d" && bash -e cmd 2>stderr && echo 0 >rc)
    done
else
    echo "SKIPPED: without ptxas and nvlink the cases of corpus/link/ptx are missing in what is built" >&2
fi
mkdir "$work/old"
zstd -q -d -c "$data/golden.tar.zst" | tar -x -C "$work/old"
PYTHONDONTWRITEBYTECODE=1 python3 - "$cases" "$work/own" "$work/new" "${1:-}" "$data/index.tsv" "$work/old" <<'PY'
import hashlib, os, re, sys

cases, own, out, mode, index, old = sys.argv[1:]
ARCHES = ("75", "80", "90", "90a", "100", "100a", "120")
# The reference makes code again from sm_100 on, and here other code than the compiler made.
MADE_AGAIN = ("cluster.100",)
# Options that the index keeps; the second row only prints something.
KEPT = ("-r", "-g", "--preserve-relocs", "--suppress-stack-size-warning", "--warning-as-error")
PRINT = ("-v", "--dump-callgraph", "--extra-warnings", "--use-host-info")
RULES = (("Multiple definition", "CV-LINK-001"), ("Size doesn't match", "CV-LINK-002"), ("Memory space", "CV-LINK-003"),
         ("Prototype doesn't match", "CV-LINK-004"), ("not declared __global__", "CV-LINK-005"),
         ("Undefined reference", "CV-LINK-006"), ("max regcount", "CV-LINK-007"), ("Stack size", "CV-LINK-008"),
         ("too much global constant", "CV-LINK-009"), ("too much shared", "CV-LINK-010"),
         ("Managed attribute", "CV-LINK-026"), ("More than", "CV-LINK-085"),
         ("Duplicate weak parameter bank", "CV-LINK-086"))
PATHS = re.compile(rb"/(usr|home|opt|tmp|root|work|var|mnt|srv)/|tmpxft")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def name_of(data):
    return hashlib.sha256(data).hexdigest()[:12] + ".cubin"


def expected(d):
    """The output, or the rules that the messages of the reference stand for."""
    if read(d + "/rc").strip() == b"0":
        return read(d + "/out.cubin"), None
    said = read(d + "/stderr").decode()
    return None, " ".join(rule for words, rule in RULES if words in said)


def case(d):
    """(options, inputs, output, rules), or None: not for this set"""
    words = read(d + "/cmd").decode().split()
    options, inputs = [], []
    for w in words[2:-2]:
        if w.startswith("in/") and w.endswith(".cubin") and os.path.exists(d + "/" + w):
            inputs.append(read(d + "/" + w))
        elif w in KEPT or w.startswith("--kernels-used="):
            options.append(w)
        elif w not in PRINT:
            return None
    for i in inputs:
        # whole relocatable objects: the reference says nothing of others, and takes nothing from them
        if i[:4] != b"\x7fELF" or i[16:18] != b"\1\0" or len(i) < int.from_bytes(i[40:48], "little"):
            return None
    output, rules = expected(d)
    if not inputs or not (output or rules) or any(PATHS.search(f) for f in inputs + ([output] if output else [])):
        return None
    return options, inputs, output, rules


os.makedirs(out + "/golden")
rows, seen = [], set()
folders = [(d, os.path.join(root, d)) for root in (cases, own) if os.path.isdir(root) for d in os.listdir(root)]
for d, path in sorted(folders):
    name, _, arch = d.rpartition(".")
    found = case(path) if arch in ARCHES and d not in MADE_AGAIN and not os.path.exists(os.path.join(path, "SKIPPED")) else None
    if not found:
        continue
    options, inputs, output, rules = found
    for data in inputs + ([output] if output else []):
        with open(os.path.join(out, "golden", name_of(data)), "wb") as f:
            f.write(data)
    row = ("sm_" + arch, " ".join(options) or "-", " ".join(map(name_of, inputs)), name_of(output) if output else rules)
    if row not in seen:
        seen.add(row)
        rows.append((name,) + row)
if mode == "--own":
    built = {r[0] for r in rows}
    with open(index) as f:
        kept = [tuple(line.rstrip("\n").split("\t")) for line in f][1:]
    kept = [r for r in kept if r[0] not in built]
    for name in {w for r in kept for w in (r[3] + " " + r[4]).split() if w.endswith(".cubin")}:
        with open(os.path.join(out, "golden", name), "wb") as f:
            f.write(read(os.path.join(old, name)))
    rows = sorted(rows + kept, key=lambda r: (r[0].partition("-")[0], r[0][len(r[0].partition("-")[0]):] == "", r))
with open(out + "/index.tsv", "w") as f:
    f.write("case\ttarget\toptions\tinputs\toutput or rules\n")
    f.writelines("\t".join(r) + "\n" for r in rows)
files = os.listdir(out + "/golden")
print("%d cases, %d files, %d bytes" % (len(rows), len(files), sum(os.path.getsize(out + "/golden/" + x) for x in files)))
PY
cd "$work"
if [ "${1:-}" = --compare ]; then
    diff -r new/golden old && diff new/index.tsv "$data/index.tsv" && echo "corpus/link is what the cases give"
    exit
fi
tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C new/golden -cf golden.tar \
    --transform='s#^\./##' --no-recursion --files-from=<(cd new/golden && ls)
zstd -q -19 -f golden.tar -o "$data/golden.tar.zst"
cp new/index.tsv "$data"
