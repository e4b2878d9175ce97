#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that nvcc builds, with cuvet link in the place of nvlink.

nvcc --dryrun tells the commands it would run; they are run as they are, but for those that begin with nvlink. Those are
run twice: by nvlink, whose files are kept for comparison, and by cuvet link, whose files the commands that follow use.
Of each build: the program is there, cuvet scan passes it and every file of the device link, both linkers kept the same
kernels and wrote the same file for --register-link-binaries, and the cubins are the same bytes but for the note that
names the tool (level "strict" where the note is all that differs; the note's size moves what is behind it, so sections
are compared one by one). Needs nvcc of CUDA 13.0 and a host compiler; without them the test is skipped, loudly.
"""
import os
import re
import shutil
import struct
import subprocess
import sys

CUVET = os.environ["CUVET"]
TMP = os.environ["CV_TMP"]
FULL = bool(os.environ.get("CV_FULL"))

SOURCES = {
    "main.cu": """
#include <cstdio>
#include "parts.h"
__global__ void start(int *o, int n) { o[threadIdx.x] = twice(n) + table[n & 3](n) + coef[n & 7]; }
__global__ void never(int *o) { *o = 1; }
static __global__ void local(int *o) { printf("%d\\n", *o); }
template <class T> __global__ void generic(T *o) { *o = (T)shared_sum((int)*o); }
int main() {
    int *p = nullptr, h[8] = {0};
    cudaMalloc(&p, 4096);
    cudaMemcpyToSymbol(coef, h, sizeof(h));
    start<<<1, 32>>>(p, 3);
    local<<<1, 1>>>(p);
    generic<float><<<1, 1>>>((float *)p);
    launch_second(p);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
""",
    "second.cu": """
#include "parts.h"
__device__ __noinline__ int add1(int a) { return a + 1; }
__device__ __noinline__ int walk(int a) { return a < 2 ? a : walk(a - 1) + walk(a - 2); }
__device__ fn table[4] = {add1, walk, twice, add1};
__constant__ int coef[8] = {1, 2, 3};
__device__ __noinline__ int shared_sum(int a) {
    __shared__ int s[64];
    s[threadIdx.x] = a;
    __syncthreads();
    return s[threadIdx.x ^ 1];
}
__global__ void second(int *o) { o[0] = shared_sum(o[1]) + walk(o[2]); }
void launch_second(int *p) { second<<<1, 64>>>(p); }
""",
    "third.cu": """
#include "parts.h"
__device__ __noinline__ int twice(int a) { return 2 * a; }
__device__ __noinline__ int nobody(int a) { return twice(a) + 1; }
__global__ void unused(int *o) { *o = nobody(*o); }
""",
    "parts.h": """
typedef int (*fn)(int);
extern __device__ fn table[4];
extern __constant__ int coef[8];
__device__ int twice(int a);
__device__ int shared_sum(int a);
void launch_second(int *p);
""",
}
UNITS = ["main.cu", "second.cu", "third.cu"]
ARCHS = ["80"], ["90"], ["75", "80", "90a"]


def gencode(archs):
    if len(archs) == 1:
        return ["-arch=sm_" + archs[0]]
    return [x for a in archs for x in ("-gencode", "arch=compute_%s,code=sm_%s" % (a, a))]


def builds():
    """Name, options, units, and the units that go into a library first."""
    for archs in ARCHS:
        yield "sm_" + "+".join(archs), gencode(archs), UNITS, []
    yield "library", gencode(["80"]), UNITS[:1], UNITS[1:]
    yield "library, sm_90", gencode(["90"]), UNITS[:2], UNITS[2:]
    yield "lineinfo", gencode(["80"]) + ["-g", "-lineinfo"], UNITS, []
    yield "debug", gencode(["80"]) + ["-g", "-G"], UNITS, []
    yield "options", gencode(["86"]) + ["-Xnvlink", "-v", "-Xnvlink", "--dump-callgraph", "-Xnvlink",
                                        "--suppress-stack-size-warning"], UNITS, []


def run(args, where, **more):
    return subprocess.run(args, cwd=where, capture_output=True, text=True, timeout=600, check=False, **more)


def steps(where, args):
    """Environment and commands of a build."""
    r = run(["nvcc", "--dryrun"] + args, where, env=dict(os.environ, TMPDIR=where))
    if r.returncode != 0:
        raise RuntimeError("nvcc --dryrun: " + r.stderr[-2000:])
    return [x[3:] for x in r.stderr.splitlines() if x.startswith("#$ ")]


def output_of(command, option):
    m = re.search(re.escape(option) + r'[ =]"([^"]+)"', command)
    return m.group(1)


def build(where, args, seen, reference=True):
    """Run the steps; what both linkers made goes to seen, as (cubin of nvlink, of cuvet, register files). @return
    the message of the step that failed."""
    script = ["set -e"]
    for step in steps(where, args):
        if re.match(r"[A-Z_][A-Za-z_]*=", step):
            script.append("export " + step if re.match(r'[A-Z_][A-Za-z_]*=\S*\s*$', step) else
                          step.replace("=", "='", 1).rstrip() + "'")
            continue
        if not step.startswith("nvlink "):
            script.append(re.sub(r"^rm ", "rm -f ", step))
            continue
        n = len(seen)
        cubin, reg = output_of(step, "-o"), output_of(step, "--register-link-binaries")
        kept = [os.path.join(where, "%s%d.%s" % (who, n, what)) for who in ("nvlink", "cuvet") for what in ("cubin", "reg")]
        if reference:
            script += [step + " >'%s/nvlink%d.log' 2>&1" % (where, n), "mv '%s' '%s'" % (cubin, kept[0]),
                       "mv '%s' '%s'" % (reg, kept[1])]
        script += ["'%s' link" % CUVET + step[len("nvlink"):] + " >'%s/cuvet%d.log' 2>&1" % (where, n) +
                   " || { cat '%s/cuvet%d.log' >&2; exit 9; }" % (where, n),
                   "cp '%s' '%s'" % (cubin, kept[2]), "cp '%s' '%s'" % (reg, kept[3])]
        seen.append(kept)
    r = run(["sh", "-c", "\n".join(script)], where)
    return None if r.returncode == 0 else "exit %d: %s" % (r.returncode, r.stderr[-1500:])


def sections(path):
    """By name, in order: what of a cubin does not depend on the size of the note."""
    with open(path, "rb") as f:
        d = f.read()
    shoff, = struct.unpack_from("<Q", d, 0x28)
    num, strndx = struct.unpack_from("<HH", d, 0x3C)
    head = [struct.unpack_from("<IIQQQQIIQQ", d, shoff + 64 * i) for i in range(num)]
    names = d[head[strndx][4]:head[strndx][4] + head[strndx][5]]
    out = []
    for h in head:
        name = names[h[0]:names.index(b"\0", h[0])].decode() if h[1] else ""
        body = b"" if h[1] in (0, 8) or name == ".note.nv.tkinfo" else d[h[4]:h[4] + h[5]]
        out.append((name, h[1], h[2], 0 if name == ".note.nv.tkinfo" else h[5]) + h[6:] + (body,))
    return out


def compare(kept):
    """What the two linkers do not agree in."""
    bad = []
    ref, our = sections(kept[0]), sections(kept[2])
    if [s[0] for s in ref] != [s[0] for s in our]:
        bad.append("sections %r, nvlink has %r" % ([s[0] for s in our], [s[0] for s in ref]))
    bad += ["section %s differs" % r[0] for r, o in zip(ref, our) if r != o]
    with open(kept[1], "rb") as a, open(kept[3], "rb") as b:
        if a.read() != b.read():
            bad.append("the files of --register-link-binaries differ")
    return bad


def check(name, where, args, program):
    seen = []
    why = build(where, args + ["-o", program], seen)
    if why:
        return [why], 0
    bad = [] if seen else ["nvcc linked no device code"]
    for kept in seen:
        bad += compare(kept)
        if run([CUVET, "scan", kept[2]], where).returncode != 0:
            bad.append("cuvet scan does not pass the cubin")
    path = os.path.join(where, program)
    if not os.path.exists(path) or not os.access(path, os.X_OK):
        bad.append("there is no program")
    else:
        r = run([CUVET, "scan", program], where)
        if r.returncode != 0:
            bad.append("cuvet scan does not pass the program: " + r.stdout[-500:])
    return bad, len(seen)


def directory(number):
    where = os.path.join(TMP, "build%d" % number)
    os.makedirs(where)
    for name, text in SOURCES.items():
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write(text)
    return where


def library(where, options, units):
    """Objects of units in an archive, by nvcc as it is."""
    objects = [u.replace(".cu", ".o") for u in units]
    for u, o in zip(units, objects):
        r = run(["nvcc", "-rdc=true", "-c"] + options + [u, "-o", o], where)
        if r.returncode != 0:
            raise RuntimeError("nvcc: " + r.stderr[-2000:])
    if run(["ar", "rc", "libparts.a"] + objects, where).returncode != 0:
        raise RuntimeError("ar")
    return ["-L.", "-lparts"]


def linked_before(number):
    """A library whose device code is linked already, and a program that is linked with it."""
    where = directory(number)
    options = gencode(["80"])
    seen = []
    for u in UNITS:
        r = run(["nvcc", "-rdc=true", "-c"] + options + [u, "-o", u.replace(".cu", ".o")], where)
        if r.returncode != 0:
            return [r.stderr[-1000:]], 0
    objects = [u.replace(".cu", ".o") for u in UNITS]
    why = build(where, options + ["-dlink"] + objects + ["-o", "linked.o"], seen)
    if why:
        return [why], 0
    return check("linked before", where, options + objects + ["linked.o"], "program")


def refuses_lto(number):
    where = directory(number)
    why = build(where, ["-rdc=true", "-dlto", "-arch=sm_80", "main.cu", "second.cu", "third.cu", "-o", "program"], [],
                False)
    return [] if why and "--dlto is not supported" in why else ["-dlto was not refused by name: %s" % why]


def missing():
    for tool in ("nvcc", "nvlink", "g++", "ar"):
        if not shutil.which(tool):
            return "there is no %s on PATH" % tool
    version = subprocess.run(["nvlink", "--version"], capture_output=True, text=True, check=False).stdout
    return None if "release 13.0" in version else "nvlink is not of release 13.0"


def main():
    why = missing()
    if why:
        print("SKIPPED: %s; no program was built with cuvet link in nvcc's own steps" % why)
        return 77
    failed = 0
    number = 0
    # each takes seconds of nvcc: all with CV_FULL=1
    for number, (name, options, units, inside) in enumerate(builds() if FULL else list(builds())[:1]):
        where = directory(number)
        more = library(where, options[:2] if "-gencode" in options else options[:1], inside) if inside else []
        bad, links = check(name, where, ["-rdc=true"] + options + units + more, "program")
        failed += bool(bad)
        print("%s: %d device links, %s" % (name, links, "; ".join(bad) if bad else "as nvlink"))
    for name, test in (("linked before", lambda n: linked_before(n)[0]), ("-dlto", refuses_lto)) if FULL else ():
        number += 1
        bad = test(number)
        failed += bool(bad)
        print("%s: %s" % (name, "; ".join(bad) if bad else "good"))
    print("%d passed, %d failed, 0 skipped" % (number + 1 - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
