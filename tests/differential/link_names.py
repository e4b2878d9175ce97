#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Local functions of few names in two to four units, some of which no kernel reaches: with constants, shared and global variables and branch
tables of their own, and calls among them. Each copy has its own place among the names of the program, and a dead one takes only its own
along. Linked by cuvet and by nvlink: the same bytes but for the note that names the tool, or nvlink gives up inside of itself.

  CV_SEEDS=1-500       which programs (default: 1-6, with CV_FULL=1 1-30)
  CV_ARCHES=75,80,90   for which machines (default: 90, with CV_FULL=1 75,80,90)

--preserve-relocs is not asked: nvlink looks for the table of applied relocations by the name of the code, and writes those of all functions
of one name into that of the first (docs/link-partial.md).

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
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-names-"))
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
FIRST, LAST = map(int, os.environ.get("CV_SEEDS", "1-30" if FULL else "1-6").split("-"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90" if FULL else "90").split(",")
MODES = {"final": [], "-g": ["-g"], "-r": ["-r"]}
NAMES = ("helper", "other", "third", "variable")
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .b32 variable_;\n"
CALL = "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %%r1; call.uni (y), %s, (x); ld.param.b32 %%r1, [y]; }"
TABLE = ("and.b32 %r2, %r1, 3; T: .branchtargets A, B, C, D; brx.idx %r2, T; A: add.u32 %r1, %r1, 9; bra E; "
         "B: xor.b32 %r1, %r1, 77; bra E; C: shl.b32 %r1, %r1, 3; bra E; D: not.b32 %r1, %r1; E:")


def function(rng, name, callees):
    """(declarations, a local function)"""
    before, body = "", ""
    what = rng.choice(("constant", "shared", "global", "table", "nothing", "nothing"))
    if what == "constant":
        before = ".const .align 4 .b32 %s_constant[4] = {1, 2, 3, %d};\n" % (name, rng.randint(4, 9))
        body = "ld.const.u32 %%r2, [%s_constant+%d]; add.u32 %%r1, %%r1, %%r2;" % (name, 4 * rng.randint(0, 3))
    elif what == "shared":
        before = ".shared .align 4 .b8 %s_shared[%d];\n" % (name, rng.choice((16, 32, 64)))
        body = "st.shared.u32 [%s_shared], %%r1; bar.sync 0; ld.shared.u32 %%r2, [%s_shared+4]; add.u32 %%r1, %%r1, %%r2;" % (name, name)
    elif what == "global":
        body = "ld.global.u32 %r2, [variable_]; add.u32 %r1, %r1, %r2;"
    elif what == "table":
        body = TABLE
    if callees and rng.random() < 0.5:
        body += " " + CALL % rng.choice(callees)
    return before, ".func (.param .b32 r) %s(.param .b32 a) { .reg .b32 %%r<4>; ld.param.u32 %%r1, [a]; mul.lo.u32 %%r1, %%r1, %d; %s " \
                   "st.param.b32 [r], %%r1; ret; }\n" % (name, rng.randint(3, 99), body)


def unit(rng, number, last):
    text, made = HEAD, []
    for name in rng.sample(NAMES, rng.randint(1, len(NAMES))):
        before, code = function(rng, name, made)
        text += before + code
        made.append(name)
    for i in range(rng.randint(1, 2)):
        call = CALL % rng.choice(made)
        if rng.random() < 0.5:
            text += ".visible .entry k%d_%d(.param .u64 p) { .reg .b32 %%r<4>; .reg .b64 %%d<2>; ld.param.u64 %%d1, [p]; ld.u32 %%r1, [%%d1]; " \
                    "%s st.u32 [%%d1], %%r1; ret; }\n" % (number, i, call)
        else:  # nobody reaches it, nor perhaps what it calls
            text += ".visible .func (.param .b32 r) f%d_%d(.param .b32 a) { .reg .b32 %%r<4>; ld.param.u32 %%r1, [a]; %s " \
                    "st.param.b32 [r], %%r1; ret; }\n" % (number, i, call)
    if last:
        text += ".visible .entry last(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.u32 [%d1], 1; ret; }\n"
    return text


def one(seed, arch):
    """{mode: None, "the reference fails", or what is different}"""
    rng, inputs, found = random.Random(seed), [], {}
    folder = tempfile.mkdtemp(dir=os.environ["CV_TMP"])
    try:
        count = rng.randint(2, 4)
        for number in range(count):
            base = os.path.join(folder, "unit%d" % number)
            with open(base + ".ptx", "w", encoding="utf-8") as f:
                f.write(unit(rng, number, number == count - 1))
            p = lr.tool("ptxas", "-c", "-arch=sm_" + arch, base + ".ptx", "-o", base + ".cubin")
            if p.returncode:
                raise SystemExit("ptxas refuses program %d: %s" % (seed, p.stderr.decode("latin-1")[:300]))
            inputs.append(base + ".cubin")
        for mode, options in MODES.items():
            theirs, ours = os.path.join(folder, "theirs.cubin"), os.path.join(folder, "ours.cubin")
            p = lr.tool("nvlink", "-arch=sm_" + arch, *options, *inputs, "-o", theirs)
            q = lr.tool(os.environ["CUVET"], "link", "-arch=sm_" + arch, *options, *(["--compat-r"] if mode == "-r" else []), *inputs, "-o", ours)
            said = None
            if p.returncode < 0 or (p.returncode and b"Internal error" in p.stdout + p.stderr):
                said = "the reference fails" if q.returncode == 0 else "nvlink fails, cuvet %d %s" % (q.returncode, q.stderr.decode("latin-1")[:300])
            elif p.returncode or q.returncode:
                said = "nvlink %d, cuvet %d %s" % (p.returncode, q.returncode, (p.stdout + q.stderr).decode("latin-1")[:300])
            else:
                try:
                    with open(theirs, "rb") as left, open(ours, "rb") as right:
                        lr.strict(left.read(), right.read())
                except lr.Different as e:
                    said = str(e)
            found[mode] = said
    finally:
        shutil.rmtree(folder)
    return found


def main():
    why = lr.without("ptxas", "nvlink")
    if why:
        print("SKIPPED: %s; names were compared with nothing" % why)
        return 77
    counts = collections.Counter()
    for arch in ARCHES:
        for seed in range(FIRST, LAST + 1):
            for mode, said in one(seed, arch).items():
                what = said if said in (None, "the reference fails") else "different"
                counts[what] += 1
                if what == "different":
                    print("DIFFERENT: program %d, sm_%s %s: %s" % (seed, arch, mode, said))
    if counts["the reference fails"]:
        print("%d links in which the reference fails" % counts["the reference fails"])
    print("%d passed, %d failed, 0 skipped" % (counts[None], counts["different"]))
    return 1 if counts["different"] or not counts[None] else 0


if __name__ == "__main__":
    sys.exit(main())
