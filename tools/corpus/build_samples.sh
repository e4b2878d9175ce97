#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Build every file of corpus/samples from corpus/src with the CUDA tools.
#
#   tools/corpus/build_samples.sh            rebuild corpus/samples and its MANIFEST.tsv
#   tools/corpus/build_samples.sh --compare  build into a scratch folder and compare with what is committed
#
# Needs nvcc, ptxas, nvlink and fatbinary (13.0 was used), gcc and binutils. Without them nothing is built
# and the last line says so; the committed samples stay as they are. Every input is source text of this
# project: no CUDA library is linked, and the objects keep only the sections that hold device code.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
corpus=$root/corpus
for tool in nvcc ptxas nvlink fatbinary gcc objcopy ar strip; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "SKIPPED: tools/corpus/build_samples.sh built NOTHING, '$tool' is not on PATH; the committed samples are used" >&2
        exit 0
    fi
done

# A fixed place: -G writes the folder of the source into the debug sections.
work=/tmp/cuvet-corpus
mkdir "$work" || { echo "build_samples.sh: remove $work first" >&2; exit 1; }
trap 'rm -rf "$work"' EXIT
out=$work/samples
mkdir "$out"
cp "$corpus"/src/* "$work"
touch -d 2026-01-01T00:00:00Z "$work"/*.cu # -lineinfo and -G record the time of the source
cd "$work"
printf 'name\tkind\tcontainers\tmembers\tshows\n' >"$out/MANIFEST.tsv"

# add NAME KIND CONTAINERS MEMBERS TEXT: a line of the manifest for a file that must exist by now
add() {
    [ -s "$out/$1" ] || { echo "build_samples.sh: $1 was not built" >&2; exit 1; }
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" >>"$out/MANIFEST.tsv"
}

# The number of an architecture without its suffix: 90a -> 90.
number() { echo "${1%[af]}"; }

# ptx SOURCE ARCH FLAGS...: PTX text without any path of the machine it was made on
ptx() {
    local source=$1 arch=$2
    shift 2
    nvcc -ptx -arch="compute_$arch" -frandom-seed=1 "$@" -o "$source.raw" "$source"
    # .file directives name the scratch folder or the toolkit; what is left is the bare file name
    sed -E 's#(\.file[[:space:]]+[0-9]+[[:space:]]+")[^"]*/([^"/]*")#\1\2#' "$source.raw"
}

# cubin NAME SOURCE ARCH PTXAS_FLAGS [NVCC_FLAGS...]
cubin() {
    local name=$1 source=$2 arch=$3 flags=$4
    shift 4
    case $source in
    *.ptx) sed "s/\.target sm_[0-9]*/.target sm_$arch/" "$source" >"$name.ptx" ;;
    *) ptx "$source" "$arch" "$@" >"$name.ptx" ;;
    esac
    # shellcheck disable=SC2086
    ptxas -arch="sm_$arch" $flags -o "$out/$name.cubin" "$name.ptx"
}

# --- cubins ---------------------------------------------------------------------------------------------
for arch in 75 80 86 89 90 90a 100 100a 100f 103 110 120 120f 121; do
    cubin "plain.sm_$arch" plain.cu "$arch" ""
    add "plain.sm_$arch.cubin" cubin 0 0 "whole program"
    cubin "plain.sm_$arch.rdc" plain.cu "$arch" -c -rdc=true
    add "plain.sm_$arch.rdc.cubin" cubin 0 0 "relocatable"
done
for arch in 75 90 100 120; do
    cubin "plain.sm_$arch.g" plain.cu "$arch" -g -G
    add "plain.sm_$arch.g.cubin" cubin 0 0 "whole program, -G"
    cubin "plain.sm_$arch.lineinfo" plain.cu "$arch" --generate-line-info -lineinfo
    add "plain.sm_$arch.lineinfo.cubin" cubin 0 0 "whole program, -lineinfo"
    cubin "plain.sm_$arch.g.rdc" plain.cu "$arch" "-g -c" -G -rdc=true
    add "plain.sm_$arch.g.rdc.cubin" cubin 0 0 "relocatable, -G"
done
for arch in 75 90 100; do
    for source in vars weak indirect recurse dynshared texture printer nocode branchy; do
        shows=$(sed -n 's#^/\* \(.*\)\.* \*/$#\1#p' $source.cu | sed -n 2p)
        cubin "$source.sm_$arch" $source.cu $arch ""
        add "$source.sm_$arch.cubin" cubin 0 0 "whole program: ${shows%.}"
        cubin "$source.sm_$arch.rdc" $source.cu $arch -c -rdc=true
        add "$source.sm_$arch.rdc.cubin" cubin 0 0 "relocatable: ${shows%.}"
    done
    cubin "texref.sm_$arch" texref.ptx $arch ""
    add "texref.sm_$arch.cubin" cubin 0 0 "texture, sampler and surface references (symbol types 10, 11, 12)"
    for half in two_a two_b; do
        cubin "$half.sm_$arch.rdc" $half.cu $arch -c -rdc=true
        add "$half.sm_$arch.rdc.cubin" cubin 0 0 "relocatable: one half of a pair"
    done
    nvlink -arch="sm_$arch" -o "$out/two.sm_$arch.linked.cubin" \
        "$out/two_a.sm_$arch.rdc.cubin" "$out/two_b.sm_$arch.rdc.cubin"
    add "two.sm_$arch.linked.cubin" cubin 0 0 "final link of the two halves"
    nvlink -r -arch="sm_$arch" -o "$out/two.sm_$arch.merged.cubin" \
        "$out/two_a.sm_$arch.rdc.cubin" "$out/two_b.sm_$arch.rdc.cubin"
    add "two.sm_$arch.merged.cubin" cubin 0 0 "relocatable link of the two halves"
    nvlink -arch="sm_$arch" -o "$out/vars.sm_$arch.linked.cubin" "$out/vars.sm_$arch.rdc.cubin"
    add "vars.sm_$arch.linked.cubin" cubin 0 0 "final link of one input with every memory space"
done
for arch in 75 90 100; do
    cubin "whole.sm_$arch" whole.cu $arch -ewp -ewp
    add "whole.sm_$arch.cubin" cubin 0 0 "extensible whole program: relocatable, e_type 0xFF00 without a flag"
done
for arch in 90 100; do
    cubin "unified.sm_$arch.rdc" unified.ptx $arch -c
    add "unified.sm_$arch.rdc.cubin" cubin 0 0 "relocatable: unified function and variable (UFT, UDT)"
done

for arch in 75 90; do
    cubin "owners.sm_$arch.rdc" owners.cu $arch -c -rdc=true
    add "owners.sm_$arch.rdc.cubin" cubin 0 0 "relocatable: a function with its own address, shared variables of two kernels"
done

# --- PTX and LTO-IR -------------------------------------------------------------------------------------
ptx plain.cu 75 >"$out/plain.ptx"
add plain.ptx ptx 0 0 "PTX text"
for arch in 75 90 90a 100 100f 120; do
    ptx plain.cu $arch >"plain.$arch.ptx"
done
for arch in 75 90 100; do
    nvcc -dlto -ltoir -arch=lto_$arch -frandom-seed=1 -o "plain.$arch.ltoir" plain.cu
done

# --- fat binaries ---------------------------------------------------------------------------------------
elf() { echo "--image3=kind=elf,sm=$1,file=$out/${2:-plain}.sm_$1.cubin"; }
text() { echo "--image3=kind=ptx,sm=$1,file=plain.$1.ptx"; }
ir() { echo "--image3=kind=nvvm,sm=$1,file=plain.$1.ltoir"; }
# fat NAME MEMBERS TEXT OPTIONS...: one container
fat() {
    local name=$1 members=$2 shows=$3
    shift 3
    fatbinary --create="$out/$name.fatbin" -64 "$@"
    add "$name.fatbin" fatbin 1 "$members" "$shows"
}
fat none 2 "ELF and PTX, nothing compressed" --compress-mode=none "$(elf 90)" "$(text 90)"
fat compress-false 2 "ELF and PTX, --compress=false" --compress=false "$(elf 75)" "$(text 75)"
fat speed 2 "ELF and PTX, both LZ4" --compress-all --compress-mode=speed "$(elf 90)" "$(text 90)"
fat default 2 "ELF and PTX, both zstd" --compress-all --compress-mode=default "$(elf 90)" "$(text 90)"
fat size 2 "ELF and PTX, both zstd, highest level" --compress-all --compress-mode=size "$(elf 90)" "$(text 90)"
fat balance 2 "ELF and PTX, both zstd" --compress-all --compress-mode=balance "$(elf 90)" "$(text 90)"
fat raw-elf 2 "raw ELF next to compressed PTX: what fatbinary does without options" "$(elf 90)" "$(text 90)"
fat ident 2 "identifier, PTX options, debug flag" -g -ident plain.cu -cmdline "-O3 -v" "$(elf 90)" "$(text 90)"
fat ident8 1 "identifier of eight letters: sixteen bytes" -ident plain8.c "$(elf 75)"
fat ptx-only 1 "one PTX member, zstd" "$(text 75)"
fat ptx-raw 1 "one PTX member, not compressed" --compress=false "$(text 75)"
fat elf-raw 1 "one raw ELF member with padding" "$(elf 75)"
fat compat 1 "sm_100 ELF with the copy of .nv.compat in its header" "$(elf 100)"
fat compat-lz4 1 "the same, LZ4" --compress-all --compress-mode=speed "$(elf 100)"
fat multi 8 "seven ELF members and one PTX, zstd" --compress-all "$(elf 75)" "$(elf 80)" "$(elf 90)" "$(elf 90a)" \
    "$(elf 100)" "$(elf 100f)" "$(elf 120)" "$(text 120)"
fat multi-lz4 5 "suffix flags of ELF and PTX, LZ4" --compress-all --compress-mode=speed "$(elf 90a)" "$(elf 100a)" \
    "$(elf 120f)" "$(text 90a)" "$(text 100f)"
fat lto-raw 1 "LTO-IR as it is" --compress=false "$(ir 90)"
fat lto 1 "LTO-IR, compressed and scrambled (zstd)" "$(ir 90)"
fat lto-lz4 2 "LTO-IR, compressed and scrambled (LZ4), and its PTX" --compress-mode=speed "$(ir 75)" "$(text 75)"
fat lto-options 1 "LTO-IR with an option text" -ident plain.cu --cicc-cmdline="-ftz=0 -prec_div=1" "$(ir 100)"
cat "$out/elf-raw.fatbin" "$out/speed.fatbin" "$out/compat.fatbin" >"$out/back-to-back.fatbin"
add back-to-back.fatbin fatbin 3 4 "three containers without a gap"
{
    cat "$out/elf-raw.fatbin"
    head -c 8 /dev/zero
    cat "$out/ptx-only.fatbin"
    head -c 24 /dev/zero
    cat "$out/compat.fatbin"
    head -c 16 /dev/zero
} >"$out/gaps.fatbin"
add gaps.fatbin fatbin 3 3 "three containers, zero gaps of 8 and 24 bytes, 16 at the end"

# --- host files: only the sections that belong to device code --------------------------------------------
keep() {
    objcopy --only-section=.nv_fatbin --only-section=__nv_relfatbin --only-section=.nvFatBinSegment \
        --only-section=__nv_module_id --only-section='.nvHR*' "$1" "$2"
}
nvcc -c -arch=sm_75 -cudart=none -frandom-seed=1 -o plain.full.o plain.cu
keep plain.full.o "$out/host-plain.o"
add host-plain.o host-object 1 2 "relocatable host object, .nv_fatbin and one wrapper"
for half in two_a two_b; do
    nvcc -dc -arch=sm_75 -cudart=none -frandom-seed=$half -o $half.full.o $half.cu
    keep $half.full.o "$out/host-$half.o"
    add host-$half.o host-object 1 2 "rdc host object: __nv_relfatbin and .nvHR* sections"
done
nvcc -dc -arch=sm_90 -cudart=none -frandom-seed=vars -Xptxas=-w -o vars.full.o vars.cu
keep vars.full.o "$out/host-vars.o"
add host-vars.o host-object 1 2 "rdc host object with variables in .nvHRDE and .nvHRCE"
nvcc -dc -arch=sm_90 -cudart=none -frandom-seed=launch -o launch.full.o launch.cu
keep launch.full.o "$out/host-launch.o"
add host-launch.o host-object 1 2 "rdc host object with entries in all six .nvHR* sections"
fatbinary --create=linked.fatbin -64 -link --image3=kind=elf,sm=75,file="$out/two.sm_75.linked.cubin"
gcc -c -o "$out/host-dlink.o" host_dlink.S
add host-dlink.o host-object 1 1 "device-link object: a version 2 wrapper"
ld -r -o "$out/host-merged.o" "$out/host-two_a.o" "$out/host-two_b.o"
add host-merged.o host-object 2 4 "two rdc objects joined by ld -r: two containers in one section"
gcc -c -o start.o host_start.S
gcc -shared -nostdlib -Wl,--build-id=none,-z,max-page-size=4096,-z,noseparate-code,-z,noexecstack -o "$out/host-plain.so" \
    start.o "$out/host-plain.o"
strip "$out/host-plain.so"
add host-plain.so shared-object 1 2 "shared object: the wrapper points through a RELATIVE relocation"
gcc -static -nostdlib -no-pie -Wl,--build-id=none,-z,max-page-size=4096,-z,noseparate-code,-z,noexecstack,--no-gc-sections \
    -o "$out/host-plain.exe" start.o "$out/host-plain.o"
strip "$out/host-plain.exe"
add host-plain.exe executable 1 2 "executable: the wrapper holds an address"
# the container in a section of another name that no wrapper mentions
objcopy -I binary -O elf64-x86-64 -B i386:x86-64 --rename-section .data=.ldata,alloc,load,data,contents \
    "$out/multi-lz4.fatbin" unclaimed.o
gcc -shared -nostdlib -Wl,--build-id=none,-z,max-page-size=4096,-z,noseparate-code,-z,noexecstack -o "$out/host-unclaimed.so" \
    start.o "$out/host-plain.o" unclaimed.o
strip "$out/host-unclaimed.so"
add host-unclaimed.so shared-object 2 7 "a container in .ldata that no wrapper points to"

# --- archives -------------------------------------------------------------------------------------------
(
    cd "$out"
    cp host-two_a.o host-object-with-a-long-name-a.o
    cp host-two_b.o host-object-with-a-long-name-b.o
    ar rcsD long-names.a host-object-with-a-long-name-a.o host-object-with-a-long-name-b.o host-plain.o
    ar rcsTD thin.a host-plain.o host-two_a.o
    rm host-object-with-a-long-name-?.o
)
add long-names.a archive 3 6 "System V archive: symbol table, long names, three objects"
add thin.a thin-archive 0 0 "thin archive: names only, the objects lie beside it"

# --- nothing of this machine may be left -----------------------------------------------------------------
# The places every machine has, and those of this one: the home folder and the folder the checkout lies in.
leak="/usr/|/home/|/opt/|tmpxft"
for dir in "${HOME:-}" "$(dirname "$root")"; do
    case $dir in /?*) leak="$leak|$dir/" ;; esac
done
if grep -rlaE "$leak" "$out" >leaks; then
    echo "build_samples.sh: these samples name a path of this machine:" >&2
    cat leaks >&2
    exit 1
fi
if [ "${1:-}" = --compare ]; then
    diff -rq "$out" "$corpus/samples" && echo "corpus/samples is what the recipe builds"
    exit
fi
rm -rf "$corpus/samples"
cp -r "$out" "$corpus/samples"
du -sb "$corpus/samples"
