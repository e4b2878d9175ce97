#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The sources of the libraries that the targets are linked with, into $SRC: the machines that run them have none of these, and
# MSan wants all code built with it. Called when an image is made (Dockerfile), where there is a network.
set -eu
get() { # name, SHA-256, URL
    curl -fsSL --retry 3 -o "$SRC/$1.tar.gz" "$3"
    echo "$2  $SRC/$1.tar.gz" | sha256sum -c -
    mkdir -p "$SRC/$1"
    tar -xzf "$SRC/$1.tar.gz" -C "$SRC/$1" --strip-components=1
    rm "$SRC/$1.tar.gz"
}
get lz4 0b0e3aa07c8c063ddf40b082bdf7e37a1562bda40a0ff5272957f3e987e0e54b https://github.com/lz4/lz4/archive/refs/tags/v1.9.4.tar.gz
get zstd 9c4396cc829cfae319a6e2615202e82aad41372073482fce286fac78646d3ee4 https://github.com/facebook/zstd/releases/download/v1.5.5/zstd-1.5.5.tar.gz
get jansson 5798d010e41cf8d76b66236cfb2f2543c8d082181d16bc3085ab49538d4b9929 https://github.com/akheron/jansson/releases/download/v2.14/jansson-2.14.tar.gz
get nettle 364f3e2b77cd7dcde83fd7c45219c834e54b0c75e428b6f894a23d12dd41cbfe https://ftp.gnu.org/gnu/nettle/nettle-3.8.1.tar.gz
