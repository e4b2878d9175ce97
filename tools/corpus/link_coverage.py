#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which relocation types and attributes the inputs of the golden cases of corpus/link hold, of those that ptxas 13.0 was seen to write.

    tools/corpus/link_coverage.py    (or: make link-coverage)

A row for each type and attribute: its number, its name, in how many objects it is. The last lines count, and name what no object holds."""
import collections
import io
import os
import re
import struct
import subprocess
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What ptxas 13.0 wrote for programs of all features of PTX.
WRITTEN = [1, 2, 4, *range(55, 60), *range(62, 67), 68, 69, 73, 74, 75, *range(76, 92), 100, 102, *range(104, 114), 114, 115]
INFO = 0x70000000


def names(path, row):
    with open(os.path.join(ROOT, "spec", path), encoding="utf-8") as f:
        return {int(n, 0): name for n, name in re.findall(r"^%s\((\w+), (\w+)," % row, f.read(), re.M)}


def sections(data):
    shoff, = struct.unpack_from("<Q", data, 40)
    count, = struct.unpack_from("<H", data, 60)
    for i in range(count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i)
        yield row[1], data[row[4]:row[4] + row[5]]


def records(body):
    """The codes of a section of attributes."""
    at = 0
    while at + 4 <= len(body):
        form, code, size = struct.unpack_from("<BBH", body, at)
        yield code
        at += 4 + (size if form == 4 else 0)


def held():
    packed = subprocess.run(["zstd", "-q", "-d", "-c", os.path.join(ROOT, "corpus", "link", "golden.tar.zst")], stdout=subprocess.PIPE, check=True).stdout
    types, codes = collections.Counter(), collections.Counter()
    with open(os.path.join(ROOT, "corpus", "link", "index.tsv"), encoding="utf-8") as f:
        inputs = {word for line in f for word in line.split("\t")[3].split()}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            if member.name not in inputs:
                continue
            own, attributes = set(), set()
            for kind, body in sections(archive.extractfile(member).read()):
                if kind in (4, 9):
                    size = 24 if kind == 4 else 16
                    own |= {struct.unpack_from("<I", body, at + 8)[0] for at in range(0, len(body), size)}
                elif kind == INFO:
                    attributes |= set(records(body))
            types.update(own)
            codes.update(attributes)
    return types, codes


def main():
    types, codes = held()
    names_of_types, names_of_codes = names("relocs.def", "RELOC_CUDA"), names("eiattr.def", "ATTR")
    for n in sorted(set(WRITTEN) | {t for t in types if t < 0x10000}):
        print("relocation %3d  %-32s %4d objects" % (n, names_of_types.get(n, "?"), types[n]))
    for n in sorted(codes):
        print("attribute 0x%02x  %-32s %4d objects" % (n, names_of_codes.get(n, "?"), codes[n]))
    absent = [n for n in WRITTEN if not types[n]]
    print("%d of %d relocation types that ptxas writes are held, %d attributes" % (len(WRITTEN) - len(absent), len(WRITTEN), len(codes)))
    if absent:
        print("in no object: " + ", ".join(str(n) for n in absent))


if __name__ == "__main__":
    main()
