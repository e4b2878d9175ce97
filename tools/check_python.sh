#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The Python package as a stranger gets it: a source distribution, a wheel that is built from that alone, and an empty
# environment in which the wheel is installed, tested against the command, and read by mypy.
# Ends with 77 where there is no venv or no package index. Objects of the library stay in BUILD/python for the next time.
# usage: check_python.sh PYTHON BUILD
set -eu
python=$1
mkdir -p "$2/python"
build=$(cd "$2" && pwd)
dir=$build/python
source=$(pwd)
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_NO_COMPILE=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH CUVET_LIBRARY CUVET_CODECS

skip() { echo "SKIPPED: $1"; exit 77; }
say() { echo "python: $*"; }

rm -rf "$dir/empty" "$dir/tree" "$dir/source" "$dir/dist" "$dir/index"
# What builds the wheel is the same each time; what it is installed into is new.
if ! "$dir/tools/bin/python" -c 'import setuptools.command.bdist_wheel, build, cffi' > "$dir/log" 2>&1; then
    rm -rf "$dir/tools"
    "$python" -m venv "$dir/tools" > "$dir/log" 2>&1 || skip "needs $python with venv (Debian: python3-venv)"
    "$dir/tools/bin/pip" install -q --retries 1 --timeout 20 'setuptools>=77.0.3' build cffi > "$dir/log" 2>&1 ||
        skip "needs a package index: $(tail -n 1 "$dir/log")"
fi
# All that the empty environment will need: from here on a failure is one.
"$dir/tools/bin/pip" download -q --retries 1 --timeout 20 -d "$dir/index" cffi pytest mypy types-cffi > "$dir/log" 2>&1 ||
    skip "needs a package index: $(tail -n 1 "$dir/log")"

# A copy: a build of Python leaves files beside its sources.
mkdir -p "$dir/tree" "$dir/dist"
tar cf - --exclude=__pycache__ --exclude='*.egg-info' --exclude=python/build --exclude='libcuvet.so.*' \
    --exclude=_declarations.py Makefile LICENSE deps.def mk include spec src cli compat tools docs/python.md python | (cd "$dir/tree" && tar xf -)
"$dir/tools/bin/python" -m build -q --sdist --no-isolation -o "$dir/dist" "$dir/tree/python" > "$dir/log" 2>&1 ||
    { cat "$dir/log"; exit 1; }
mkdir "$dir/source"
tar xzf "$dir"/dist/cuvet-*.tar.gz -C "$dir/source" --strip-components=1
CUVET_BUILD=$dir/library "$dir/tools/bin/pip" wheel -q --no-deps --no-build-isolation -w "$dir/dist" "$dir/source" > "$dir/log" 2>&1 ||
    { cat "$dir/log"; exit 1; }
wheel=$(basename "$dir"/dist/*.whl)
case $wheel in cuvet-*-py3-none-manylinux_2_[1-9]*_"$(uname -m)".whl) ;; *) say "$wheel: not the tag of this machine"; exit 1 ;; esac

"$python" -m venv --without-pip "$dir/empty"
install() {
    "$dir/tools/bin/pip" --python "$dir/empty/bin/python" install -q --no-index --find-links "$dir/index" "$@" > "$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
}
install "$dir/dist/$wheel"
cd "$dir"
library=$("$dir/empty/bin/python" -c 'import cuvet._library as it; print(it._path())')
case $library in "$dir"/empty/*) ;; *) say "$library: not that of the wheel"; exit 1 ;; esac
# Nothing but the C library is asked of the system.
if ldd "$library" | grep -E 'lz4|zstd|not found'; then say "the library in the wheel is not complete"; exit 1; fi
# What is inside of it has its notice beside it, where the system has one.
for name in liblz4 libzstd; do
    if [ -f "/usr/share/doc/$name-dev/copyright" ] && ! [ -s "$(dirname "$library")/notices/$name.txt" ]; then
        say "the wheel has no notice of $name"; exit 1
    fi
done
# The command of the wheel: found, complete, and it opens packages with what it brings along.
command=$dir/empty/bin/cuvet
if ldd "$command" "$command-package" | grep -E 'lz4|zstd|archive|not found'; then say "the command in the wheel is not complete"; exit 1; fi
"$command" check --require=sm_90 --format=sarif "$source/corpus/samples/multi.fatbin" > "$dir/log" || { say "the command of the wheel"; exit 1; }
"$dir/empty/bin/python" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED).write(sys.argv[2], "lib/a.so")' \
    "$dir/code.whl" "$source/corpus/samples/multi.fatbin"
"$dir/empty/bin/python" -m cuvet check --require=sm_80,sm_90 "$dir/code.whl" > "$dir/log" || { cat "$dir/log"; say "packages, by the command of the wheel"; exit 1; }
say "$wheel: installed in an empty environment, $(wc -c < "$library") bytes of library"

install pytest mypy types-cffi
cd - > /dev/null
tests=$(cd python/tests && pwd)
(cd "$dir" && "$dir/empty/bin/mypy" --config-file "$tests/../pyproject.toml" --cache-dir "$dir/mypy" -p cuvet)
(cd "$tests" && "$dir/empty/bin/mypy" --config-file ../pyproject.toml --cache-dir "$dir/mypy" . ../../examples/service.py)
CUVET=$build/cuvet "$dir/empty/bin/python" -m pytest -q -rs -p no:cacheprovider --rootdir "$tests/.." "$tests"
