#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian packages of the last commit, from contrib/debian, and what lintian says of them.
# usage: build_deb.sh BUILD VERSION
set -eu
build=$1 version=$2
for tool in dpkg-buildpackage dh; do
    command -v $tool > /dev/null || { echo "SKIPPED: $tool is not installed (apt-get install debhelper), no packages were made"; exit 77; }
done
rm -rf "$build/deb"
mkdir -p "$build/deb/cuvet-$version"
git archive HEAD | tar -x -C "$build/deb/cuvet-$version"
cd "$build/deb/cuvet-$version"
cp -r contrib/debian debian && mkdir -p debian/source
printf '3.0 (native)\n' > debian/source/format
sed -i "1s/([^)]*)/($version)/" debian/changelog
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD PREFIX LIBDIR CFLAGS LDFLAGS || true
dpkg-buildpackage -us -uc -b > ../log 2>&1 || { tail -40 ../log; echo "deb: dpkg-buildpackage failed"; exit 1; }
cd ..
for package in *.deb; do
    echo "$package $(stat -c %s "$package") bytes"
done
if command -v lintian > /dev/null; then
    lintian --allow-root --fail-on error,warning ./*.changes
    echo "deb: lintian has no error and no warning"
else
    echo "SKIPPED: lintian is not installed, the packages were not judged"
fi
