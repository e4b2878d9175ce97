#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a link makes of .nv.compat: each tag, known or not, in one object and in two, with the same value and with others, and
absent, against nvlink. Where cuvet links, the records are those of nvlink in their order; it may refuse more. Needs nvlink of
CUDA 13.0 on PATH.

77: skipped, said on the last line.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SRC = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.environ.get("CV_TMP") or tempfile.mkdtemp(prefix="cuvet-compat-")
CUVET = os.environ.get("CUVET") or os.path.join(SRC, "build", "cuvet")
sys.path.insert(0, os.path.join(SRC, "tools", "corpus"))
import edit  # noqa: E402

NAME = ".nv.compat"
BVAL, HVAL, SVAL = 2, 3, 4
UNKNOWN = (BVAL, 30, 0)


def records(data):
    elf = edit.Elf(data)
    at, end = elf.sget(NAME, "offset"), elf.sget(NAME, "offset") + elf.sget(NAME, "size")
    found = []
    while at + 4 <= end:
        kind, tag, value = struct.unpack_from("<BBH", data, at)
        size = 4 + (value if kind == SVAL else 0)
        found.append((at, kind, tag, value, bytes(data[at + 4 : at + size])))
        at += size
    return found


def changed(data, tag, record):
    """the record of a tag replaced by another one of four bytes"""
    at = next(r[0] for r in records(data) if r[2] == tag)
    return data[:at] + struct.pack("<BBH", *record) + data[at + 4 :]


def linked(words, objects, arch):
    names = []
    for number, data in enumerate(objects):
        names.append(os.path.join(TMP, "in%d.cubin" % number))
        with open(names[-1], "wb") as handle:
            handle.write(data)
    out = os.path.join(TMP, "out.cubin")
    if os.path.exists(out):
        os.remove(out)
    done = subprocess.run(words + ["-arch=" + arch, *names, "-o", out], capture_output=True, check=False)
    if done.returncode != 0:
        return done.returncode, None
    with open(out, "rb") as handle:
        return 0, [r[1:] for r in records(handle.read())]


def cases(first, second):
    yield "as they are", first, second
    for one, other in ((2, 1), (5, 2), (0, 4), (3, 3)):
        yield "tag 3: %d, %d" % (one, other), changed(first, 3, (BVAL, 3, one)), changed(second, 3, (BVAL, 3, other))
    for tag in (0, 1, 4, 8, 10, 12, 13, 14, 15, 30, 200):
        for kind in (BVAL, HVAL):
            for one, other in ((1, 1), (1, 2), (2, 1)):
                yield "tag %d, format %d: %d, %d" % (tag, kind, one, other), changed(first, 6, (kind, tag, one)), changed(second, 6, (kind, tag, other))
            yield "tag %d, format %d, one object" % (tag, kind), changed(first, 6, (kind, tag, 1)), second
    for one, other in (((BVAL, 5), (HVAL, 0x102)), ((HVAL, 0x200), (HVAL, 0x1FF)), ((BVAL, 0), (BVAL, 0))):
        yield "tag 8: %s, %s" % (one, other), changed(first, 6, (one[0], 8, one[1])), changed(second, 6, (other[0], 8, other[1]))
    for tag in (9, 2, 5, 7, 3, 6):
        yield "no tag %d" % tag, changed(first, tag, UNKNOWN), changed(second, tag, UNKNOWN)
        yield "no tag %d in the first" % tag, changed(first, tag, UNKNOWN), second
        yield "no tag %d in the second" % tag, first, changed(second, tag, UNKNOWN)
    yield "others absent", changed(changed(first, 3, UNKNOWN), 6, UNKNOWN), changed(second, 5, UNKNOWN)
    yield "others absent, turned", changed(first, 5, UNKNOWN), changed(changed(second, 3, UNKNOWN), 6, UNKNOWN)


def main():
    if not shutil.which("nvlink"):
        print("link_compat: skipped, nvlink is not on PATH")
        return 77
    asked = same = refused = bad = 0
    for arch in ("sm_90", "sm_100"):
        pair = []
        for name in ("two_a", "two_b"):
            with open(os.path.join(SRC, "corpus", "samples", "%s.%s.rdc.cubin" % (name, arch)), "rb") as handle:
                pair.append(handle.read())
        for label, first, second in cases(*pair):
            theirs = linked(["nvlink"], (first, second), arch)
            ours = linked([CUVET, "link"], (first, second), arch)
            asked += 1
            same += ours == theirs
            refused += ours[0] == 1 and theirs[0] == 0
            if ours != theirs and not (ours[0] == 1 and theirs[0] == 0):
                bad += 1
                print("%s, %s:\n  nvlink %s\n  cuvet  %s" % (arch, label, theirs, ours))
    print("link_compat: %d links, %d the same, %d refused here, %d other" % (asked, same, refused, bad))
    return 1 if bad or same < asked // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
