#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix in PTX: what an instruction or a word of data does with a symbol × the kind of the symbol × who does it (a kernel, or a function
that a kernel calls), and features of the language without a symbol; each a program of three files (tests/support/ptx_matrix.py), linked by
cuvet and by nvlink in every way: the same bytes but for the note that names the tool, or a refusal of both. What ptxas does not
take is counted apart.

  CV_ARCHES=75,80,90,100,120   for which machines (default: 75,90, with CV_FULL=1 75,80,90,100,120)
  CV_SHARE=N                   each Nth program (default 59, with CV_FULL=1 29; with 1 it takes hours)
  CV_ONLY=WORD                 programs whose name has the word
  CV_KEEP=DIR                  where PTX of differences is put (tools/shrink_link.py cuts it down)
  CV_JOBS=2

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import concurrent.futures
import hashlib
import os
import re
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-matrix-"))
import link_cxx as lc  # noqa: E402
import link_random as lr  # noqa: E402
import ptx_matrix as pm  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90,100,120" if FULL else "75,90").split(",")
SHARE = int(os.environ.get("CV_SHARE", "29" if FULL else "59"))


# Not as in the reference, on purpose: what docs/link-partial.md says of it. (kind, use or its beginning, answer or its beginning)
KNOWN = (
    ("shared array beaten", "", "different"),  # the reference leaves the kernel without memory
    ("shared array beaten", "", "a false alarm"),  # and says so in its symbols
    ("global weak beaten", "data generic", "different"),  # the reference drops the pointer
    ("global weak beaten", "data const", "different"),
    ("global weak beaten", "data addend const", "different"),
    ("global weak beaten", "data 32 const", "different"),
    ("", "data 32", "refused CV-ELF-143"),  # relocations of 64 bits in words of 32
    ("global unified", "", "refused CV-LINK-012"),  # nothing in CUDA C++ makes such variables; tables of unified functions are not linked
    ("function unified", "", "refused CV-LINK-012"),
)


def known(kind, use, answer):
    return any(k in ("", kind) and use.startswith(u) and answer.startswith(a) for k, u, a in KNOWN)


def compiled(text, arch):
    path = os.path.join(lr.CACHE, "matrix", hashlib.sha256(text.encode()).hexdigest()[:20] + ".ptx")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = "%s.%d" % (path, threading.get_ident())
        with open(part, "w") as f:
            f.write(text)
        os.rename(part, path)
    return lc.assembled(path, arch, [])


def program(case):
    kind, use, user, arch = case
    name = "%s, %s, in a %s" % (kind, use, user)
    try:
        inputs = [compiled(text, arch) for text in pm.program(kind, use, user, arch)]
    except lc.Unbuilt as e:
        return name, [(arch, "ptxas", "unbuilt", str(e))], [use]
    ways, found = [(way, inputs, False) for way in lc.MODES], []
    if lc.number(arch) >= 100:
        try:
            bare = [lc.bare(p) for p in inputs]
            ways += [(way, bare, True) for way in lc.MODES]
        except lc.Unbuilt as e:
            rule = re.search(r"CV-[A-Z]+-\d+", str(e))
            answer = "known" if rule and known(kind, use, "refused " + rule.group()) else "not finalized"
            found.append((arch, "finalize", answer, str(e)))
    for way, files, plain in ways:
        answer, said = lc.compare(arch, lc.MODES[way], files, plain)
        way = ("plain " if plain else "") + way
        if known(kind, use, answer):
            answer = "known"
        found.append((arch, way, answer, said))
        if answer not in lc.FINE:
            lc.keep(name.replace(" ", "_").replace(",", ""), arch, way, [p.replace(".sm_%s.cubin" % arch, ".ptx") for p in inputs], [])
    return name, found, [use]


lc.FINE += ("known",)


def cases():
    every = [(kind, use, user, arch) for arch in ARCHES for kind in pm.KINDS for use in pm.USES if pm.applies(kind, use) for user in ("kernel", "function")]
    only = os.environ.get("CV_ONLY", "")
    return [c for i, c in enumerate(every) if i % SHARE == 0 and only in "%s, %s, in a %s" % c[:3]]


def grouped(results, causes):
    for name, found, names in results:
        for arch, way, answer, said in found:
            if answer not in lc.FINE and answer != "unbuilt":
                causes[answer, lc.cause(said)][name] += 1
        yield name, [f for f in found if f[2] != "unbuilt"], names
        causes["", "not taken by ptxas"][name] += sum(f[2] == "unbuilt" for f in found)


def main():
    why = lc.missing()
    if why:
        print("SKIPPED: %s, the matrix was linked by nobody" % why)
        return 77
    causes = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        good = lc.report(grouped(pool.map(program, cases()), causes))
    print("%d programs are not taken by ptxas" % sum(causes.pop(("", "not taken by ptxas"), {}).values()))
    for (answer, why), names in causes.items():
        print("%s: %s: %d programs, such as %s" % (answer, why, len(names), "; ".join(list(names)[:4])))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
