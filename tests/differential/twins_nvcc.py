#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both sides of images for sm_100 and later: what nvcc and nvlink make has no finding of CV-ELF-178, -179 and -184 to -187,
and what is forged on the Mercury side of it has one.

Every relocation of Mercury code, of a branch table and of debug data is forged in each way: it names something else, goes
further, is of another type, is dropped, is there twice, changes places with the next one. Needs nvcc and nvlink of CUDA
12.8 or later on PATH, else the test is skipped.
"""
import json
import os
import shutil
import subprocess
import sys

SRC = os.environ.get("CV_SRC", ".")
sys.path.insert(0, os.path.join(SRC, "tools", "corpus"))
from edit import Elf  # noqa: E402  the editor of the corpora

CUVET = os.environ["CUVET"]
TMP = os.environ["CV_TMP"]
RULES = {"CV-ELF-%d" % n for n in (178, 179, 184, 185, 186, 187)}
TARGETS = ["sm_100", "sm_103", "sm_110", "sm_120", "sm_121"] if os.environ.get("CV_FULL") else ["sm_100", "sm_120"]
SOURCES = {
    "one": "__device__ int g1 = 3, g2[10], dm; __constant__ int c1[4] = { 1, 2, 3, 4 }; extern __device__ int extv;\n"
           "extern __device__ int ext(int);\n"
           "__device__ __noinline__ int f1(int x) { return x * g1 + c1[x & 3]; }\n"
           "__device__ __noinline__ int f2(int x) { g2[x] = x; return x - 1; }\n"
           "typedef int (*fp)(int); __device__ fp tab[2] = { f1, f2 };\n"
           "__global__ void k(int *o, int n) { __shared__ int s[32]; extern __shared__ int dyn[];\n"
           " s[threadIdx.x] = n; __syncthreads(); dyn[n] = s[n ^ 1];\n"
           " fp p = tab[n & 1]; o[0] = p(n) + f1(n) + f2(n) + ext(extv) + (n ? f1 : f2)(3);\n"
           " switch (n) { case 0: o[1] = 1; break; case 1: o[2] = f1(o[3]); break; case 2: o[5] = 8; break; case 3: o[6] = g2[n]; break;\n"
           " case 4: o[1] = f2(3); case 5: o[3] = o[7]; case 6: o[8] = dm; default: o[7]++; } }\n",
    "two": "__device__ int extv; __device__ __noinline__ int ext(int x) { return x * extv; }\n",
}


def run(*args):
    p = subprocess.run(args, capture_output=True, check=False, cwd=TMP)
    if p.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(args), p.stderr.decode("latin-1")[-300:]))


def images():
    """(name, path) of what the tools make"""
    for name, text in SOURCES.items():
        with open(os.path.join(TMP, name + ".cu"), "w") as out:
            out.write(text)
    for arch in TARGETS:
        for mode, options in (("plain", ()), ("lines", ("-lineinfo",)), ("debug", ("-G",))):
            paths = []
            for name in SOURCES:
                paths.append("%s.%s.%s.cubin" % (name, arch, mode))
                run("nvcc", "-w", "-rdc=true", "-cubin", "-arch=" + arch, *options, "-o", paths[-1], name + ".cu")
            for label, more in (("linked", ()), ("merged", ("-r",))):
                paths.append("%s.%s.%s.cubin" % (label, arch, mode))
                run("nvlink", "-arch=" + arch, *more, *(("-g",) if mode == "debug" else ()), "-o", paths[-1], *paths[:2])
            for path in paths:
                yield os.path.join(TMP, path)


def rules_of(data):
    path = os.path.join(TMP, "forged.cubin")
    with open(path, "wb") as out:
        out.write(data)
    p = subprocess.run([CUVET, "scan", "--format=ndjson", path], capture_output=True, check=False)
    said = {(o.get("rule"), o.get("severity")) for o in map(json.loads, p.stdout.splitlines()) if o.get("rule")}
    return {rule for rule, _ in said}, any(severity == "error" for _, severity in said)


def forgeries(data):
    """(what, bytes): one relocation of the Mercury side at a time"""
    plain = Elf(data)
    names = [plain._string(plain.section_bytes(plain.hget("e_shstrndx")), plain.sget(i, "name"))
             for i in range(plain.hget("e_shnum"))]
    symbols = [i for i, (name, at) in enumerate(plain.symbols(".nv.merc.symtab"))
               if name and plain.yget(i, "info", ".nv.merc.symtab") & 15 != 3]
    for section in names:
        if not section.startswith((".nv.merc.rela.text.", ".nv.merc.rela.nv.constant.optimizer.", ".nv.merc.rela.debug_")):
            continue
        raw = plain.section_bytes(section)
        entries = [raw[at:at + 24] for at in range(0, len(raw), 24)]
        for k, entry in enumerate(entries):
            symbol, kind = plain.rget(section, k, "sym"), plain.rget(section, k, "type") & 0xFFFF
            name = plain.symbols(".nv.merc.symtab")[symbol][0]
            code = ".rela.text." in section
            debug = ".rela.debug_" in section
            # what has no name, what only the Mercury side has and places inside of a function can be told to a part alone
            if symbol not in symbols or name.startswith(".nv.") or (code and kind == 8):
                continue
            other = next(i for i in symbols[::-1] if i != symbol)
            yield section, k, "another symbol", lambda e, k=k, s=section, v=other: e.reloc(s, k, "sym", v)
            yield section, k, "dropped", lambda e, k=k, s=section: e.splice(s, 24 * k, 24, b"")
            if debug:
                yield section, k, "twice", lambda e, k=k, s=section, b=entry: e.splice(s, 24 * k, 0, b)
            elif code:
                yield section, k, "another type", lambda e, k=k, s=section: e.reloc(s, k, "type", 0x10001)
                yield section, k, "twice", lambda e, k=k, s=section, b=entry: e.splice(s, 24 * k, 0, b)
                if kind not in (40, 41):
                    yield section, k, "further", lambda e, k=k, s=section: e.reloc(s, k, "addend", e.rget(s, k, "addend") + 4)
                if k and symbol != plain.rget(section, k - 1, "sym") and plain.rget(section, k - 1, "type") != 0x10003:
                    yield section, k, "swapped", lambda e, k=k, s=section, a=entries[k - 1][8:], b=entry[8:]: e.patch(
                        s, 24 * (k - 1) + 8, b).patch(s, 24 * k + 8, a)
            else:
                yield section, k, "beyond", lambda e, k=k, s=section: e.reloc(s, k, "addend", 1 << 20)


def main():
    if not shutil.which("nvcc") or not shutil.which("nvlink"):
        print("0 passed, 0 failed, 1 skipped: no nvcc and nvlink")
        return 77
    passed = failed = forged = 0
    for path in images():
        with open(path, "rb") as source:
            data = source.read()
        said, _ = rules_of(data)
        bad = sorted(said & RULES)
        if bad:
            print("%s: a false alarm: %s" % (os.path.basename(path), " ".join(bad)))
        step = 1 if os.environ.get("CV_FULL") else 7
        for section, k, what, edit in list(forgeries(data))[::step]:
            e = Elf(data)
            edit(e)
            said, error = rules_of(bytes(e))
            forged += 1
            if not said & RULES and not error:
                print("%s: %s, relocation %d, %s: nothing is said" % (os.path.basename(path), section, k, what))
                bad.append(what)
        passed, failed = passed + (not bad), failed + bool(bad)
    print("%d forgeries" % forged)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
