#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where nvlink takes device code from, against spec/places.def and against what cuvet links and says.

A good container at its place and a second one, or a cubin, at every place of a host object and of an archive
(tests/cli/lib_places.py): nvlink must take the second one exactly where the row of its place has no rule of its own, and
cuvet links the same, but for what it says that it takes beyond nvlink, or refuses. Then objects as nvcc, ar, ld -r and a
compiler make them, which must link with both. Needs nvlink of CUDA 13.0 on PATH, and nvcc for the second half.

77: skipped, said on the last line.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.environ.get("CV_TMP") or tempfile.mkdtemp(prefix="cuvet-places-")
CUVET = os.environ.get("CUVET") or os.path.join(SRC, "build", "cuvet")
sys.path[:0] = [os.path.join(SRC, "tests", "cli"), os.path.join(SRC, "tools", "corpus")]
import edit  # noqa: E402
import lib_places  # noqa: E402



def sample(name):
    with open(os.path.join(SRC, "corpus", "samples", name), "rb") as f:
        return f.read()


def run(words, where):
    p = subprocess.run(words, cwd=where, capture_output=True, check=False)
    return p.returncode, (p.stdout + p.stderr).decode("utf-8", "replace")


def link(tool, files, names, where, arch="sm_90"):
    """(exit code, what is said, which of the names are in the result)"""
    out = os.path.join(where, "out.cubin")
    if os.path.exists(out):
        os.remove(out)
    rc, text = run([*tool, "-arch=" + arch, "-o", out, *files], where)
    data = b""
    if os.path.exists(out):
        with open(out, "rb") as f:
            data = f.read()
    return rc, text, tuple(n in data for n in names)


def rows():
    with open(os.path.join(SRC, "spec", "places.def"), encoding="utf-8") as f:
        return {name: (part, rule == "CV_N_RULES")
                for name, part, rule in re.findall(r"^PLACE\((\w+), (\w+), (\w+),", f.read(), re.M)}


def made_by_hand(nvlink):
    good, evil = sample("plain.sm_90.rdc.cubin"), sample("branchy.sm_90.rdc.cubin")
    names, table, bad, seen = (b"_Z5plain", b"_Z7branchy"), rows(), [], {}
    parts = (edit.container(edit.member(2, good, 90)), edit.container(edit.member(2, evil, 90, how="zstd")), evil,
             sample("plain.ptx"))

    def put(name, data):
        path = os.path.join(TMP, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    for what, name, data, place in lib_places.cases(*parts):
        path = put(name, data)
        theirs, ours = link(nvlink, [path], names, TMP), link([CUVET, "link"], [path], names, TMP)
        part, agree = table[place]
        seen[place] = seen.get(place, 0) + 1
        # Of an archive whose first member is no ELF file nvlink reads nothing at all.
        deaf = data[:8] == b"!<arch>\n" and data[68:72] != b"\x7fELF" and data[8:10] != b"/ " and data[8:15] not in (b"/SYM64/", b"//     ")
        if theirs[0] != 0 or theirs[2] != (not deaf, part == "TAKEN" and agree):
            bad.append("%s (%s): nvlink %d, links %s: %s" % (what, place, *theirs[::2], theirs[1].strip()))
        if ours[2] != (part != "REFUSED", part == "TAKEN"):
            bad.append("%s (%s): cuvet %d, links %s: %s" % (what, place, *ours[::2], ours[1].strip()))
    for what, name, data in lib_places.refused_anyway(*parts):
        path = put(name, data)
        theirs, ours = link(nvlink, [path], names, TMP), link([CUVET, "link"], [path], names, TMP)
        if ours[0] != 1 or any(ours[2]):
            bad.append("%s: cuvet %d, links %s" % (what, ours[0], ours[2]))
        if theirs[2][1] and what not in ("a shared object in an archive", "behind a cubin"):
            bad.append("%s: nvlink %d, links %s" % (what, theirs[0], theirs[2]))
    print("by hand: %d cases, %s" % (sum(seen.values()), ", ".join("%s %d" % kv for kv in sorted(seen.items()))))
    return bad


GENUINE = {
    "good.cu": "__device__ __noinline__ int f(int a) { return a + 1; }\n__global__ void good(int *p) { *p = f(*p); }\n",
    "other.cu": "__global__ void other(int *p) { *p = 7; }\n",
    "whole.cu": "__global__ void whole(int *p) { *p = 9; }\n",
}


def made_by_tools(nvlink):
    """Whatever a build gives its device linker must link, and what comes out has the same kernels."""
    bad, where = [], os.path.join(TMP, "genuine")
    os.makedirs(where, exist_ok=True)
    for name, text in GENUINE.items():
        with open(os.path.join(where, name), "w", encoding="ascii") as f:
            f.write(text)
    with open(os.path.join(where, "carrier.c"), "w", encoding="ascii") as f:
        f.write('__asm__(".section .rodata\\n.balign 8\\nmodule: .incbin \\"other.fatbin\\"\\n.previous\\n");\nint carrier;\n')
    steps = (
        "nvcc -arch=sm_90 -rdc=true -c -o good.o good.cu", "nvcc -arch=sm_90 -rdc=true -c -o other.o other.cu",
        "nvcc -arch=sm_90 -c -o whole.o whole.cu", "nvcc -arch=sm_90 -rdc=true -fatbin -o other.fatbin other.cu",
        "gcc -c -o carrier.o carrier.c", "ld -r -o joined.o good.o other.o", "ld -r -o mixed.o good.o whole.o carrier.o",
        "ar rcs libtwo.a good.o other.o whole.o carrier.o", "nvcc -arch=sm_90 -Xcompiler -fPIC -shared -o libwhole.so whole.cu",
        "nvcc -arch=sm_90 -rdc=true -Xcompiler -fPIC -shared -o librdc.so good.cu other.cu",
        "nvcc -arch=sm_90 -rdc=true -dlink -o linked.o good.o other.o",
    )
    for step in steps:
        rc, text = run(step.split(), where)
        if rc:
            return ["%s: %d\n%s" % (step, rc, text)]
    names = (b"_Z4good", b"_Z5other", b"_Z5whole")
    n, option = 0, "--register-link-binaries=reg.c"  # as nvcc has it always: what is linked already is left out
    for files, beyond in ((["good.o"], ()), (["good.o", "other.o", "whole.o"], ()), (["good.o", "carrier.o"], ()), (["mixed.o"], ()),
                          (["libtwo.a"], ()), (["good.o", "-L.", "-ltwo"], None), (["good.o", "libwhole.so", "librdc.so"], ()),
                          (["good.o", "-L.", "-lwhole"], ()), (["other.o", "linked.o", "good.o"], ()),
                          (["joined.o"], (b"_Z5other",))):
        theirs, ours = (link([*t, option], files, names, where) for t in (nvlink, [CUVET, "link"]))
        n += 1
        if beyond is None:  # the same definition twice: both refuse
            same = bool(theirs[0]) == bool(ours[0])
        else:
            same = theirs[0] == ours[0] == 0 and ours[2] == tuple(t or name in beyond for t, name in zip(theirs[2], names))
        if not same:
            bad.append("%s: nvlink %d %s, cuvet %d %s\n%s%s" % (files, theirs[0], theirs[2], ours[0], ours[2], theirs[1], ours[1]))
    print("by tools: %d links" % n)
    return bad


def main():
    nvlink = shutil.which("nvlink")
    if not nvlink:
        print("SKIPPED: where nvlink takes device code from: no nvlink on PATH")
        return 77
    bad = made_by_hand([nvlink])
    if all(map(shutil.which, ("nvcc", "gcc", "ld", "ar"))):
        bad += made_by_tools([nvlink])
    else:
        print("SKIPPED: objects of nvcc: no nvcc, gcc, ld or ar on PATH")
    for line in bad:
        print("DIFFERS: " + line)
    print("%d differences" % len(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
