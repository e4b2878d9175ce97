#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a release consists of, in BUILD/release: the source archive of the last commit, the bill of materials of what that
# archive installs, built from it alone, and the hashes of both. usage: release.sh MAKE BUILD VERSION CC
set -eu
make=$1 version=$3 cc=$4
rm -rf "$2/release"
mkdir -p "$2/release"
dir=$(cd "$2/release" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD MODE DESTDIR || true
git archive --format=tar --prefix="cuvet-$version/" HEAD | gzip -n -9 > "$dir/cuvet-$version.tar.gz"
mkdir "$dir/tree"
tar xzf "$dir/cuvet-$version.tar.gz" -C "$dir/tree"
"$make" -C "$dir/tree/cuvet-$version" BUILD=build CC="$cc" sbom > "$dir/tree/log" 2>&1 || { tail -n 40 "$dir/tree/log"; exit 1; }
mv "$dir/tree/cuvet-$version/build/cuvet.cdx.json" "$dir/"
rm -rf "$dir/tree"
cd "$dir"
sha256sum "cuvet-$version.tar.gz" cuvet.cdx.json > SHA256SUMS
sha256sum -c SHA256SUMS
echo "release: $dir"
