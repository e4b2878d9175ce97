#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Another machine, on this one: all of it built by a cross compiler without a warning, unit tests and golden links under an
# emulator, and the same answers about all files of the corpus as from the build of this machine. Of aarch64, which wheels are for, also
# the wheel, imported and tested by a Python of that machine; s390x is one where numbers begin with their highest byte, i386 one
# where a size has 32 bits.
# An emulator of programs has no system call filter and no Landlock: what needs the cage is not asked.
# usage: check_machine.sh BUILD PYTHON aarch64|s390x|i386
set -eu
unset TMPDIR CV_TMP MAKEFLAGS MAKELEVEL
tree=$(cd "$(dirname "$0")/.." && pwd)
python=$2
machine=$3
build=$(cd "$1" && pwd)
dir=$build/$machine
skip() { echo "SKIPPED: check-$machine: $1"; exit 77; }
fail() { echo "check-$machine: $1: FAILED"; exit 1; }

case $machine in
aarch64) triple=aarch64-linux-gnu; debian=arm64; package=gcc-aarch64-linux-gnu ;;
s390x) triple=s390x-linux-gnu; debian=s390x; package=gcc-s390x-linux-gnu ;;
i386) triple=i686-linux-gnu; debian=i386; package=gcc-i686-linux-gnu ;;
*) echo "usage: check_machine.sh BUILD PYTHON aarch64|s390x|i386"; exit 2 ;;
esac
for tool in $triple-gcc "qemu-$machine-static" debootstrap dpkg-deb; do
    command -v "$tool" > /dev/null 2>&1 || skip "$tool is not installed (apt-get install $package qemu-user-static debootstrap)"
done
[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
mkdir -p "$dir"
trap 'rm -rf "$dir/packages"' EXIT

# Its libraries, headers and Python, once. Nothing else of that system: the emulator looks for each name in there first.
root=$dir/root
if [ ! -d "$root" ]; then
    # shellcheck disable=SC2016  # for apt-get to fill in
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' 2> /dev/null | head -n 1)
    [ -n "$mirror" ] || skip "apt has no archive of Debian's bookworm here"
    rm -rf "$dir/packages" "$root.new"
    debootstrap --arch=$debian --foreign --variant=minbase \
        --include=libc6-dev,liblz4-dev,libzstd-dev,libjansson-dev,nettle-dev,libseccomp-dev,libarchive-dev,libsqlite3-dev,check,python3-cffi-backend,python3-pycparser \
        bookworm "$dir/packages" "$mirror" > "$dir/debootstrap.log" 2>&1 || skip "the package archive is not reached: $(tail -n 1 "$dir/debootstrap.log")"
    mkdir "$root.new"
    for package in "$dir"/packages/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root.new"; done
    for top in "$root.new"/*; do case ${top##*/} in lib | lib64 | usr) ;; *) rm -rf "$top" ;; esac; done
    mv "$root.new" "$root"
fi
run="$(command -v "qemu-$machine-static") -L $root"
export PKG_CONFIG_LIBDIR="$root/usr/lib/$(ls "$root/usr/lib" | grep -- '-linux-gnu$' | head -n 1)/pkgconfig:$root/usr/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
cc="$triple-gcc --sysroot=$root"
make -C "$tree" --no-print-directory BUILD="$dir/build" CC="$cc" RUN="$run" WERROR=1 -j"$(nproc)" all tests-build > "$dir/log" 2>&1 ||
    { tail -n 20 "$dir/log"; fail "the build"; }
echo "check-$machine: built without a warning"

# Who starts no program.
good=0
cd "$tree"
for suite in base bytes codec cubin format host intake io link scan target; do
    # shellcheck disable=SC2086  # the emulator and its option
    CV_BUILD=$dir/build CK_DEFAULT_TIMEOUT=600 $run "$dir/build/tests/unit_$suite" > "$dir/log" 2>&1 || { tail -n 20 "$dir/log"; fail "unit/$suite"; }
    count=$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$dir/log")
    good=$((good + count))
done
echo "check-$machine: $good unit tests passed"

# What the command starts lies beside it, and is for that machine as well: the kernel of this one does not run it.
rm -rf "$dir/run"
mkdir "$dir/run"
cp "$dir/build/cuvet" "$dir/run/program"
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$run" "$dir/run/program" > "$dir/cuvet"
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$run" "$dir/build/cuvet-package" > "$dir/run/cuvet-package"
chmod 755 "$dir/cuvet" "$dir/run/cuvet-package"
for corpus in samples hostile legal; do
    for command in scan list; do
        for one in "$dir" "$build"; do
            "$one/cuvet" $command --no-sandbox --format=ndjson "corpus/$corpus"/* > "$one/answers.ndjson" 2> /dev/null || true
        done
        cmp "$dir/answers.ndjson" "$build/answers.ndjson" || fail "$command says something else of corpus/$corpus"
        [ -s "$dir/answers.ndjson" ] || fail "$command says nothing of corpus/$corpus"
        good=$((good + 1))
        echo "check-$machine: $command: $(wc -l < "$dir/answers.ndjson") records of corpus/$corpus, the same on both machines"
    done
done
for script in golden finalize select; do
    CUVET=$dir/cuvet CV_BUILD=$dir/build "$python" "tests/cli/test_$script.py" > "$dir/log" 2>&1 || { tail -n 20 "$dir/log"; fail "test_$script"; }
    count=$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$dir/log")
    good=$((good + count))
    echo "check-$machine: test_$script: $count passed"
done

[ "$machine" = aarch64 ] || { echo "$good passed, 0 failed, 0 skipped"; exit 0; }

# The wheel. What runs the build is this machine's Python, which is told for which one it works.
tools=$build/python/tools/bin
if ! "$tools/python" -c 'import setuptools.command.bdist_wheel, cffi' 2> /dev/null; then
    "$python" -m venv "$build/python/tools" > "$dir/log" 2>&1 || { echo "SKIPPED: check-aarch64: the wheel: needs $python with venv"; echo "$good passed, 0 failed, 1 skipped"; exit 0; }
    "$tools/pip" install -q --retries 1 --timeout 20 'setuptools>=77.0.3' build cffi > "$dir/log" 2>&1 ||
        { echo "SKIPPED: check-aarch64: the wheel: needs a package index"; echo "$good passed, 0 failed, 1 skipped"; exit 0; }
fi
rm -rf "$dir/tree" "$dir/dist" "$dir/site"
mkdir -p "$dir/tree" "$dir/dist" "$dir/site"
tar cf - --exclude=__pycache__ --exclude='*.egg-info' --exclude=python/build --exclude='libcuvet.so.*' --exclude=_declarations.py \
    Makefile LICENSE deps.def mk include spec src cli compat tools docs/python.md python | (cd "$dir/tree" && tar xf -)
mkdir -p "$dir/notices"
for name in liblz4 libzstd; do cp -L "$root/usr/share/doc/$name-dev/copyright" "$dir/notices/$name"; done
_PYTHON_HOST_PLATFORM=linux-aarch64 CUVET_COMMAND=no CC=$cc CUVET_NOTICES=$dir/notices CUVET_BUILD=$dir/library "$tools/pip" wheel -q --no-deps --no-build-isolation \
    -w "$dir/dist" "$dir/tree/python" > "$dir/log" 2>&1 || { tail -n 20 "$dir/log"; fail "the wheel"; }
wheel=$(basename "$dir"/dist/*.whl)
case $wheel in cuvet-*-py3-none-manylinux_2_[1-9]*_aarch64.whl) ;; *) fail "$wheel: not the tag of that machine" ;; esac
"$python" -m zipfile -e "$dir/dist/$wheel" "$dir/site"
library=$(echo "$dir"/site/cuvet/libcuvet.so.*)
aarch64-linux-gnu-readelf -h "$library" | grep -q 'Machine:.*AArch64' || fail "$library is for another machine"
aarch64-linux-gnu-readelf -d "$library" | grep NEEDED | grep -vE 'libc\.so|ld-linux' && fail "the library in the wheel is not complete"
# Python alone, no machine code.
"$tools/pip" install -q --retries 1 --timeout 20 --target "$dir/site" --python-version 3.11 --only-binary=:all: pytest > "$dir/log" 2>&1 ||
    { tail -n 5 "$dir/log"; fail "pytest for that Python"; }
# Some tests start a Python of their own, which would have no emulator.
# shellcheck disable=SC2086  # the emulator and its option
(cd python/tests && CUVET=$build/cuvet PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$dir/site:$root/usr/lib/python3/dist-packages" PYTHONHOME="$root/usr" \
    $run "$root/usr/bin/python3.11" -m pytest -q -rs -p no:cacheprovider --rootdir .. \
    -k "not another_library_is_refused" --ignore=test_service.py . > "$dir/log" 2>&1) || { tail -n 30 "$dir/log"; fail "tests of the wheel"; }
count=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$dir/log")
echo "check-aarch64: $wheel: $(tail -n 1 "$dir/log")"
echo "$((good + count)) passed, 0 failed, 0 skipped"
