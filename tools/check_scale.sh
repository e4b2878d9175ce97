#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A list of files on more than one machine: Ray with several workers, an array of Slurm on two nodes, the Job of Kubernetes. Workers and
# a node are killed, and the tables are those of one process. What is not there (Ray from a package index, slurm-wlm and root) is
# said, and ends with 77 where all the rest is well.
# usage: check_scale.sh PYTHON BUILD
set -eu
python=$1
mkdir -p "$2/scale"
build=$(cd "$2" && pwd)
dir=$build/scale
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH CUVET_LIBRARY CUVET_CODECS CUVET_SHARDS
export CUVET="$build/cuvet"
CV_TMP=$(mktemp -d "${TMPDIR:-/tmp}/cuvet-scale-XXXXXX")
export CV_TMP
trap 'rm -rf "$CV_TMP"' EXIT
skipped=0
skip() { echo "SKIPPED: scale: $1"; skipped=1; }
run() {
    echo "scale: $2"
    rc=0
    "$@" || rc=$?
    case $rc in 0) ;; 77) skipped=1 ;; *) echo "scale: $2: FAILED"; exit 1 ;; esac
}

if ! "$dir/tools/bin/python" -c 'import ray.data, cffi, setuptools, yaml, kubernetes_validate' > "$dir/log" 2>&1; then
    rm -rf "$dir/tools"
    if ! "$python" -m venv "$dir/tools" > "$dir/log" 2>&1; then
        skip "Ray, Kubernetes: need $python with venv (Debian: python3-venv)"
    elif ! "$dir/tools/bin/pip" install -q --retries 1 --timeout 20 'ray[data]>=2.40' 'setuptools>=77.0.3' cffi pyyaml kubernetes-validate \
        > "$dir/log" 2>&1; then
        skip "Ray, Kubernetes: need a package index: $(tail -n 1 "$dir/log")"
        rm -rf "$dir/tools"
    fi
fi
if [ -x "$dir/tools/bin/python" ]; then
    # From a copy: a build of Python leaves files beside its sources.
    rm -rf "$dir/tree"
    mkdir -p "$dir/tree"
    tar cf - --exclude=__pycache__ --exclude='*.egg-info' --exclude=python/build --exclude='libcuvet.so.*' --exclude=_declarations.py \
        Makefile LICENSE deps.def mk include spec src cli compat tools docs/python.md python | (cd "$dir/tree" && tar xf -)
    CUVET_COMMAND=no CUVET_BUILD=$dir/library "$dir/tools/bin/pip" install -q --no-deps --no-build-isolation --force-reinstall "$dir/tree/python" \
        > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    run "$dir/tools/bin/python" tests/scale/test_kubernetes.py
    run "$dir/tools/bin/python" tests/scale/test_ray.py
fi
run "$python" tests/scale/test_slurm.py
[ $skipped -eq 0 ] || exit 77
