#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many capsules the reference linker carries through a link as they are: the figures of docs/link-partial.md.

Every program of corpus/link/ptx is compiled for sm_100 and linked, finally and with -r. A capsule of the result is compared with those of
the same name in the inputs, behind its first word, which is the number of the code section. Needs ptxas and nvlink on PATH.
"""
import collections
import glob
import os
import struct
import subprocess
import sys
import tempfile

PTX = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "corpus", "link", "ptx")
PREFIX = ".nv.capmerc.text."


def capsules(path):
    """[(name, contents)] of the sections with capsules"""
    with open(path, "rb") as f:
        data = f.read()
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    heads = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    found = []
    for name, _, _, _, off, size in heads:
        at = heads[names][4] + name
        text = data[at:data.index(b"\0", at)].decode("latin-1")
        if text.startswith(PREFIX):
            found.append((text, data[off:off + size]))
    return found


def runs(*argv):
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def main():
    counts = {mode: collections.Counter() for mode in ("final", "-r")}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.cubin")
        for first in sorted(glob.glob(os.path.join(PTX, "*.0.ptx"))):
            inputs = []
            for source in sorted(glob.glob(first[:-len("0.ptx")] + "*.ptx")):
                cubin = os.path.join(folder, os.path.basename(source)[:-4] + ".cubin")
                if runs("ptxas", "-c", "-arch=sm_100", source, "-o", cubin):
                    inputs.append(cubin)
            if not inputs:
                continue
            there = collections.defaultdict(list)
            for cubin in inputs:
                for name, data in capsules(cubin):
                    there[name].append(data)
            for mode, count in counts.items():
                if not runs("nvlink", "-arch=sm_100", *(["-r"] if mode == "-r" else []), *inputs, "-o", out):
                    count["refused"] += 1
                    continue
                kept = [any(data[4:] == other[4:] for other in there[name]) for name, data in capsules(out)]
                count["programs"] += 1
                count["programs kept"] += all(kept)
                count["capsules"] += len(kept)
                count["capsules kept"] += sum(kept)
    for mode, count in counts.items():
        print("%-5s  %d of %d capsules, %d of %d programs with all of theirs, %d refused" % (
            mode, count["capsules kept"], count["capsules"], count["programs kept"], count["programs"], count["refused"]))
    return 0 if counts["final"]["programs"] else 1


if __name__ == "__main__":
    sys.exit(main())
