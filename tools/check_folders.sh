#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests write in folders of their own only. The suite runs where every file system can only be read, but for the build
# folder and one empty folder for TMPDIR; what writes elsewhere fails, and what is left in TMPDIR is a failure as well.
# usage: check_folders.sh BUILD COMMAND...
set -eu
build=$(cd "$1" && pwd); shift
if ! unshare --mount true 2>/dev/null; then
    echo "SKIPPED: no mount name space of its own for this user"
    exit 77
fi
tmp=$(mktemp -d "$build/folders.XXXXXX")
chmod 711 "$tmp"
trap 'rm -rf "$tmp"' EXIT
rc=0
CV_BUILD_FOLDER=$build CV_OWN_TMP=$tmp unshare --mount --propagation private sh -euc '
    mount --bind "$CV_BUILD_FOLDER" "$CV_BUILD_FOLDER"
    # Everything that is mounted, with the last first: what lies above is done before what it hides.
    awk "{ print \$5 }" /proc/self/mountinfo | tac | while read -r place; do
        place=$(printf "%b" "$place")
        case $place in "$CV_BUILD_FOLDER" | /proc | /proc/* | /dev | /dev/pts | /dev/mqueue | /sys | /sys/*) continue ;; esac
        mount -o remount,bind,ro "$place" 2>/dev/null || echo "left as it is: $place"
    done
    if (: > "${HOME:-/root}/.cuvet-writable") 2>/dev/null || (: > /tmp/.cuvet-writable) 2>/dev/null; then
        rm -f "${HOME:-/root}/.cuvet-writable" /tmp/.cuvet-writable
        echo "check-folders: the name space can still be written to: FAILED"
        exit 1
    fi
    unset CV_TMP TEMP TMP
    # The cache of a compiler lies elsewhere, and is no part of the suite.
    export TMPDIR="$CV_OWN_TMP" CCACHE_DISABLE=1
    cd "$1"; shift
    exec "$@"
' sh "$PWD" "$@" || rc=$?
left=$(ls -A "$tmp")
if [ -n "$left" ]; then
    echo "check-folders: left in TMPDIR: $left"
    rc=1
fi
[ "$rc" != 0 ] || echo "check-folders: nothing was written outside of the build folder and TMPDIR, nothing was left in TMPDIR"
exit "$rc"
