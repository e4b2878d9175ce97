# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed corpora, corpus/<target>/grown.pack: a magic, then each input behind its length. fuzz/engine/replay.c reads the same."""
import os
import struct

MAGIC = b"CVPACK1\n"
MOST = 1000 * 1000  # bytes of a pack


def size(inputs):
    return len(MAGIC) + sum(4 + len(i) for i in inputs)


def write(path, inputs):
    with open(path + ".new", "wb") as f:
        f.write(MAGIC + b"".join(struct.pack("<I", len(i)) + i for i in inputs))
    os.rename(path + ".new", path)


def read(path):
    """The inputs; none where there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as f:
        data = f.read()
    if not data.startswith(MAGIC):
        raise ValueError(path + ": no packed corpus")
    at, out = len(MAGIC), []
    while at < len(data):
        if len(data) - at < 4:
            raise ValueError(path + ": a length is cut off")
        size, = struct.unpack_from("<I", data, at)
        if len(data) - at - 4 < size:
            raise ValueError(path + ": an input is cut off")
        out.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return out
