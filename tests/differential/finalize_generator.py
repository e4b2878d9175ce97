#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet link with nvlink as its code generator, against nvlink's own link.

Objects of nvcc for sm_100 and sm_120 lose the bit in .nv.compat that says that their code runs on sm_103 and sm_121. Then
cuvet link has to ask the generator; what it links has the code that nvlink links of the same object, or the object is
refused, because the generator makes other code of it for its own machine (CV-BACKEND-009: some branch tables) or because
relocations were lost (CV-FINAL-037). Then one bit in the capsules of an object is flipped, 12 times (80 with CV_FULL=1):
an error, or the code of the undamaged object, never anything else. Needs nvcc and nvlink of CUDA 13.0 or later on PATH,
else the test is skipped.
"""
import collections
import os
import random
import shutil
import sys

import finalize_nvcc as nv
from finalize_nvcc import CUVET, FULL, TMP, fail, run

TARGET = {"100": "103", "120": "121"}
REFUSED = ("CV-BACKEND-009", "CV-FINAL-037")
GENERATOR_FAILED = ("CV-BACKEND-001", "CV-BACKEND-002", "CV-BACKEND-003", "CV-BACKEND-004", "CV-BACKEND-005")


def without_mask(path):
    """the same object that does not say that it runs elsewhere"""
    e = nv.Elf(path)
    data, at = bytearray(e.data), e.sec[e.index(".nv.compat")][4]
    while data[at + 1] != 11:
        at += 4 + (int.from_bytes(data[at + 2:at + 4], "little") if data[at] == 4 else 0)
    data[at + 4] = 0
    with open(path, "wb") as f:
        f.write(data)


def linked(path, to, flags):
    """@return exit code, message, code or None"""
    out = path + ".ours.cubin"
    if os.path.exists(out):
        os.remove(out)
    p = run(CUVET, "link", "-arch=sm_" + to, *flags, "--code-generator", os.path.abspath(shutil.which("nvlink")), path, "-o", out)
    if (p.returncode == 0) != os.path.exists(out):
        fail("%s: exit code %d, and a file %s", path, p.returncode, os.path.exists(out))
    return p.returncode, p.stderr, nv.Elf(out).code() if p.returncode == 0 else None


def one(sm, source, kind, seen):
    name, to = "%s.%s.%s" % (source, kind, sm), TARGET[sm]
    path = os.path.join(TMP, name + ".cubin")
    flags = ["-g"] if "-G" in kind else []
    p = run("nvcc", "-cubin", "-arch=sm_" + sm, *nv.FLAGS[kind], "-o", path, os.path.join(TMP, source + ".cu"))
    if p.returncode != 0:
        return fail("%s: nvcc: %s", name, p.stderr)
    without_mask(path)
    p = run(CUVET, "link", "-arch=sm_" + to, path, "-o", path + ".x.cubin")
    if p.returncode != 1 or "CV-ADMIT-012" not in p.stderr:
        fail("%s: without a generator: exit code %d: %s", name, p.returncode, p.stderr)
    rc, said, code = linked(path, to, flags)
    if rc != 0:
        rule = next((r for r in REFUSED if r in said), None)
        seen[rule or "other"] += 1
        if rc != 1 or rule is None:
            fail("%s: exit code %d: %s", name, rc, said)
        return None
    p = run("nvlink", "-arch=sm_" + to, *flags, path, "-o", path + ".theirs.cubin")
    own, ours = nv.Elf(path), nv.Elf(path + ".ours.cubin")
    if p.returncode == 0 and nv.Elf(path + ".theirs.cubin").code() == code:
        seen["same code"] += 1
    elif source in nv.MADE_AGAIN and ours.plain_code(own) == own.plain_code(own):
        seen["nvlink makes other code in a final link than with -r, which is the compiler's"] += 1
    else:
        fail("%s: the links have other code", name)
    return path, code


def damage(path, code, n, seen):
    """one bit of a capsule at a time"""
    e, rng = nv.Elf(path), random.Random(1)
    places = [e.sec[i][4] + k for i, name in enumerate(e.names) if name.startswith(".nv.capmerc.text") for k in range(e.sec[i][5])]
    for at in rng.sample(places, n):
        data = bytearray(e.data)
        data[at] ^= 1 << rng.randrange(8)
        bad = path + ".bad.cubin"
        with open(bad, "wb") as f:
            f.write(data)
        rc, said, got = linked(bad, TARGET["100"], [])
        if rc == 0 and got != code:
            fail("%s: capsule byte %d: other code came out", path, at)
        if rc not in (0, 1, 4):
            fail("%s: capsule byte %d: exit code %d: %s", path, at, rc, said)
        what = next((r for r in REFUSED + GENERATOR_FAILED if r in said), "refused")
        seen["damaged: " + ("same code" if rc == 0 else what)] += 1


def main():
    if not shutil.which("nvcc") or not shutil.which("nvlink"):
        print("SKIPPED: no nvcc and nvlink on PATH, no code was made again")
        return 77
    for s, text in nv.SOURCES.items():
        with open(os.path.join(TMP, s + ".cu"), "w", encoding="ascii") as f:
            f.write(text)
    cases = [(sm, s, k) for sm in TARGET for s in nv.SOURCES for k in nv.FLAGS if k.startswith("rdc")]
    if not FULL:
        cases = cases[::5]
    seen = collections.Counter()
    for c in cases:
        one(*c, seen)
    sample = one("100", "calls", "rdc", collections.Counter())
    if sample:
        damage(*sample, 80 if FULL else 12, seen)
    else:
        fail("calls.rdc.100: nothing to damage")
    for what, n in sorted(seen.items()):
        print("%4d  %s" % (n, what))
    print("%d passed, %d failed, 0 skipped" % (len(cases) + 1 - len(nv.failures), len(nv.failures)))
    return 1 if nv.failures else 0


if __name__ == "__main__":
    sys.exit(main())
