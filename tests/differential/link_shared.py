#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random placements of shared memory: one to three units of functions, kernels and shared variables of few sizes and alignments (so that
many are alike), global, weak, local and some that no code names, linked by cuvet and by nvlink in each mode: the same bytes but for the note
that names the tool. The proof of each link says whether two variables of one kernel lie over each other.

  CV_SEEDS=1-500       which programs (default: 1-12, with CV_FULL=1 1-80)
  CV_ARCHES=75,80,90   for which machines (default: 80, with CV_FULL=1 75,80,90)

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-shared-"))
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
FIRST, LAST = map(int, os.environ.get("CV_SEEDS", "1-80" if FULL else "1-12").split("-"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90" if FULL else "80").split(",")
MODES = ([], ["-g"], ["--preserve-relocs"])
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def store(names):
    return "".join("st.shared.u8 [%s], 1; " % n for n in names)


def some(rng, names, share):
    return [n for n in names if rng.random() < share]


def unit(rng, number):
    """PTX of a unit; calls stay inside of it, so that any unit can be linked alone."""
    text = HEAD
    variables = ["v%d_%d" % (number, i) for i in range(rng.randint(0, 4))]
    for name in variables:
        text += "%s.shared .align %d .b8 %s[%d];\n" % (rng.choice(("", ".visible ", ".weak ")), rng.choice((1, 4, 4, 8)), name,
                                                      rng.choice((8, 16, 16, 32)))
    functions = ["f%d_%d" % (number, i) for i in range(rng.randint(1, 4))]
    for name in functions:
        own = ["own%d" % i for i in range(rng.randint(0, 2))]
        text += ".visible .func %s() {\n" % name
        text += "".join("  .shared .align 4 .b8 %s[%d];\n" % (n, rng.choice((8, 16, 16, 32))) for n in own)
        text += "  %s%sret;\n}\n" % (store(some(rng, own, 0.8)), store(some(rng, variables, 0.4)))
    for i in range(rng.randint(1, 4)):
        text += ".visible .entry k%d_%d() {\n" % (number, i)
        if rng.random() < 0.4:
            text += "  .shared .align 4 .b8 mine[12]; st.shared.u8 [mine], 1;\n"
        text += "".join("  call %s, ();\n" % f for f in some(rng, functions, 0.5))
        text += "  %sret;\n}\n" % store(some(rng, variables, 0.3))
    return text


def one(seed, arch):
    """{mode: None or what is different}"""
    rng, inputs, found = random.Random(seed), [], {}
    folder = tempfile.mkdtemp(dir=os.environ["CV_TMP"])
    try:
        for number in range(rng.randint(1, 3)):
            base = os.path.join(folder, "unit%d" % number)
            with open(base + ".ptx", "w", encoding="utf-8") as f:
                f.write(unit(rng, number))
            if lr.tool("ptxas", "-c", "-arch=sm_" + arch, base + ".ptx", "-o", base + ".cubin").returncode:
                raise SystemExit("ptxas refuses program %d" % seed)
            inputs.append(base + ".cubin")
        for mode in MODES:
            theirs, ours = os.path.join(folder, "theirs.cubin"), os.path.join(folder, "ours.cubin")
            p = lr.tool("nvlink", "-arch=sm_" + arch, *mode, *inputs, "-o", theirs)
            q = lr.tool(os.environ["CUVET"], "link", "-arch=sm_" + arch, *mode, *inputs, "-o", ours)
            said = None
            if p.returncode or q.returncode:
                said = "nvlink %d, cuvet %d %s" % (p.returncode, q.returncode, (p.stdout + q.stderr).decode("latin-1")[:300])
            else:
                try:
                    with open(theirs, "rb") as left, open(ours, "rb") as right:
                        lr.strict(left.read(), right.read())
                except lr.Different as e:
                    said = str(e)
            found[" ".join(mode) or "final"] = said
    finally:
        shutil.rmtree(folder)
    return found


def main():
    why = lr.without("ptxas", "nvlink")
    if why:
        print("SKIPPED: %s; placements were compared with nothing" % why)
        return 77
    counts = collections.Counter()
    for arch in ARCHES:
        for seed in range(FIRST, LAST + 1):
            for mode, said in one(seed, arch).items():
                counts[said is None] += 1
                if said:
                    print("DIFFERENT: program %d, sm_%s %s: %s" % (seed, arch, mode, said))
    print("%d passed, %d failed, 0 skipped" % (counts[True], counts[False]))
    return 1 if counts[False] or not counts[True] else 0


if __name__ == "__main__":
    sys.exit(main())
