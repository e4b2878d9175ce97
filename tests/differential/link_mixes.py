#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relocations that no compiler writes: every type against a symbol of every kind, with the addend in the field (REL) and beside it
(RELA), in code, in data and in debug data. What cuvet links is what nvlink links, or it refuses with a rule. nvlink crashes on some.

  CV_ARCHES=75,90   for which machines (with CV_FULL=1 75,80,90)
  CV_JOBS=2
  CV_TABLE=FILE     where a table of the answers is put: machine, place, form, kind, answer, types

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import concurrent.futures
import os
import random

import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-mixes-"))
import link_classes as lc  # noqa: E402
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90" if FULL else "75,90").split(",")
SHARE = 4 if FULL else 25  # of the mixes that are asked
N_TYPES = 119  # two more than there are
KINDS = lc.KINDS + ("array", "undefined", "memory", "nothing")
# of each place: the section, and the bytes that the field may lie in
PLACES = {"code": (".text.kernel", 16), "data": (".nv.global.init", 16), "debug": (".debug_frame", 8)}
FIELD, ADDEND = bytes((8, 0, 0, 0, 8, 8, 0, 0)), 8
PROGRAM = lc.MEMORY.replace(".const .align 4 .b32 before", ".extern .shared .align 4 .b8 array[];\n.extern .global .align 4 .b32 memory;\n"
                            ".extern .func undefined();\n.const .align 4 .b32 before", 1) \
    .replace("sust.b.1d", "st.shared.u32 [array], %r1; ld.global.u32 %r5, [memory]; st.global.u32 [%d1+112], %r5; call undefined; sust.b.1d")
OTHER = lc.ARRAY_HEAD + ".visible .global .align 4 .b32 memory;\n.visible .func undefined() { ret; }\n"


def rebuilt(f, place, form, kind, t):
    """The file with one relocation at the place, and no other there."""
    section, size = PLACES[place]
    target = next(i for i, (n, _) in enumerate(f.sections) if n == section)
    names = (".rel" + section, ".rela" + section)
    entries = [e for n, _ in f.sections if n in names for e in f.entries(n)]
    symbol = 0 if kind == "nothing" else f.number(kind)
    shared = f.number("shared")
    off = next(e[1] for e in entries if e[2] == shared) if place == "code" else 0 if place == "data" else \
        next(e[1] for e in entries if f.symbols[e[2]] == "kernel" and e[3] == 2)
    entry = struct.pack("<QQ", off, symbol << 32 | t) + (struct.pack("<q", ADDEND) if form == "rela" else b"")
    chosen = next(i for i, (n, _) in enumerate(f.sections) if n in names)
    out, heads, strings = bytearray(f.data[:64]), [], None
    for i, (n, row) in enumerate(f.sections):
        row, body = list(row), f.body(row)
        if n == ".shstrtab":
            strings = row[5]
            body += b"".join(x.encode() + b"\0" for x in names)
            row[5] = len(body)
        if i == target:
            body = bytearray(body)
            body[off:off + size] = (FIELD * 2)[:size] if form == "rel" else bytes(size)
        if n in names:
            body = entry if i == chosen else b""
            row[5] = len(body)
        if i:
            out += bytes(-len(out) % max(row[8], 1))
            row[4] = len(out)
            out += body
        heads.append(row)
    heads[chosen][0] = strings + (0 if form == "rel" else len(names[0]) + 1)
    heads[chosen][1] = 9 if form == "rel" else 4
    heads[chosen][9] = 16 if form == "rel" else 24
    for i, (n, _) in enumerate(f.sections):
        if n in names and i != chosen:  # a relocation section without entries is none: it becomes one of the other form
            heads[i][0] = strings + (len(names[0]) + 1 if form == "rel" else 0)
            heads[i][1] = 4 if form == "rel" else 9
            heads[i][9] = 24 if form == "rel" else 16
    out += bytes(-len(out) % 8)
    struct.pack_into("<Q", out, 40, len(out))
    return bytes(out) + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in heads), section, off


def answer(d, arch, place, form, kind, t):
    f = lc.File(lc.read(lc.compiled(PROGRAM, arch, "mixes")))
    if kind != "nothing" and not any(n == kind or n.startswith("$__%s__" % kind) for n in f.symbols):
        return None
    data, section, off = rebuilt(f, place, form, kind, t)
    path = os.path.join(d, "in.cubin")
    with open(path, "wb") as g:
        g.write(data)
    theirs, ours = lc.link_both(arch, [], [path, lc.compiled(OTHER, arch, "mixes_other")], d)
    if ours[0] == 1:
        return "refused" if "CV-" in ours[1] else "without a rule: " + ours[1][:200]
    if ours[0]:
        return "cuvet %d %s" % (ours[0], ours[1][:200])
    if theirs[0]:
        return "linked, nvlink %s" % ("crashes" if theirs[0] < 0 else "refuses")
    a, b = lc.at_place(theirs[2], section, off), lc.at_place(ours[2], section, off)
    return "equal" if a == b else "%s, not %s" % (b, a)


def one(arch, place, form, kind, t):
    d = tempfile.mkdtemp(dir=lc.TMP)
    try:
        return answer(d, arch, place, form, kind, t)
    except (lr.Different, StopIteration, struct.error, ValueError) as e:
        return "%s: %s" % (type(e).__name__, e)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def mixes():
    every = [(arch, place, form, kind, t) for arch in ARCHES for place in PLACES for form in ("rel", "rela")
             for kind in KINDS for t in range(N_TYPES)]
    random.Random(7).shuffle(every)
    return sorted(every[:len(every) // SHARE])


def table(rows):
    found = {}
    for mix, said in rows:
        found.setdefault(mix[:4] + (said,), []).append(mix[4])
    return "".join("%s\t%s\n" % ("\t".join(k), " ".join(map(str, v))) for k, v in sorted(found.items()))


def main():
    why = lr.without("ptxas", "nvlink")
    if why:
        print("SKIPPED: %s; nothing was compared" % why)
        return 77
    asked = mixes()
    for arch in ARCHES:
        one(arch, "code", "rel", "shared", 0)  # compiles
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        rows = [(m, r) for m, r in zip(asked, pool.map(lambda a: one(*a), asked)) if r]
    if os.environ.get("CV_TABLE"):
        with open(os.environ["CV_TABLE"], "w") as f:
            f.write(table(rows))
    bad = [(m, r) for m, r in rows if r not in ("equal", "refused")]
    for m, r in bad[:40]:
        print("DIFFERENT: %s: %s" % (" ".join(map(str, m)), r[:300]))
    print("%d equal, %d refused" % (sum(r == "equal" for _, r in rows), sum(r == "refused" for _, r in rows)))
    print("%d passed, %d failed, 0 skipped" % (len(rows) - len(bad), len(bad)))
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
