#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet finalize over objects that nvcc makes, judged by a reader of its own and by nvlink.

Objects for sm_100, 103, 110, 120 and 121 (with -G, with -lineinfo, whole programs and relocatable ones) are stripped: every
section that stays must have the bytes, type, size and flags that it had, symbols their names, places and values; a second
strip is not needed; nvlink links stripped and unstripped objects to the same code, but for those of which it makes other
code again (MADE_AGAIN). To each other target of the family the object goes exactly when the mask of its compiler allows,
and then one byte differs; such files are linked by nvlink for the other target. Needs nvcc and nvlink of CUDA 13.0
or later on PATH, else the test is skipped. A part of the objects by default, all (200) with CV_FULL=1.
"""
import os
import shutil
import struct
import subprocess
import sys

TMP = os.environ["CV_TMP"]
CUVET = os.environ["CUVET"]
FULL = bool(os.environ.get("CV_FULL"))
ARCHES = ("100", "103", "110", "120", "121")
FAMILY = {"100": ("103",), "120": ("121",)}
BIT = {"103": 3, "121": 6}
CAPSULE = 1 << 28
NO_BYTES = {8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015}

HEAD = "#include <cstdio>\n"
SOURCES = {
    "plain": "extern \"C\" __global__ void k(int *p) { p[threadIdx.x] *= 3; }\n",
    "shared": "extern \"C\" __global__ void k(float *p) { __shared__ float s[256]; s[threadIdx.x] = p[threadIdx.x]; "
              "__syncthreads(); p[threadIdx.x] = s[255 - threadIdx.x]; }\n"
              "extern \"C\" __global__ void d(int *p) { extern __shared__ int x[]; x[threadIdx.x] = p[0]; __syncthreads(); "
              "p[1] = x[0]; }\n",
    "constant": "__constant__ int c[64] = {1, 2, 3};\n__device__ int g[8] = {7, 6};\n__device__ int *gp = g;\n"
                "__device__ double z[100];\nextern \"C\" __global__ void k(int *p) "
                "{ p[threadIdx.x] = c[threadIdx.x & 63] + gp[threadIdx.x & 7] + (int)z[threadIdx.x]; }\n",
    "template": "template <class T> struct V { T v[4]; __device__ T sum() const { T s = 0; for (T x : v) s += x; return s; } };\n"
                "template <class T> __global__ void k(V<T> *p, T *q) { q[threadIdx.x] = p[threadIdx.x].sum(); }\n"
                "template __global__ void k<int>(V<int> *, int *);\ntemplate __global__ void k<float>(V<float> *, float *);\n"
                "template __global__ void k<long>(V<long> *, long *);\n",
    "calls": HEAD + "__device__ __noinline__ int f(int n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\n"
             "typedef int (*fn)(int);\n__device__ __noinline__ int h(int n) { return n * 5; }\n__device__ fn table[2] = {f, h};\n"
             "extern \"C\" __global__ void k(int *p) { p[1] = table[p[0] & 1](p[2]); printf(\"%d\\n\", p[1]); }\n",
    "fp64": "extern \"C\" __global__ void k(double *p) { p[threadIdx.x] = sqrt(p[threadIdx.x]) / p[1] + sin(p[2]); }\n",
    "switch": "extern \"C\" __global__ void k(int *p, int n) { switch (n) { case 0: p[0] = 3; break; case 1: p[1] = 7; break; "
              "case 2: p[2] *= p[1]; break; case 3: p[9] = p[4] - 1; break; case 4: p[5] ^= 77; break; case 5: p[8] = p[7]; break; "
              "case 6: p[1] = atomicAdd(p, 5); break; default: p[0] = n; } }\n",
    "loop": "template <int N> __global__ void k(float *p) { __shared__ float s[N]; int t = threadIdx.x; s[t] = p[t]; "
            "__syncthreads(); for (int i = N / 2; i > 0; i /= 2) { if (t < i) s[t] += s[t + i]; __syncthreads(); } "
            "if (t == 0) p[0] = s[0]; }\ntemplate __global__ void k<128>(float *);\n",
}
FLAGS = {"rdc": ["-rdc=true"], "rdc-G": ["-rdc=true", "-G"], "rdc-line": ["-rdc=true", "-lineinfo"], "exe": [],
         "exe-G": ["-G"]}

# From the capsule of a function with a branch table, or with a loop over shared memory, nvlink 13.0 makes code with other
# wait counts in a final link than the compiler had put into the object. The code of the object is what strip keeps.
MADE_AGAIN = ("switch", "loop")
failures, again = [], []


def fail(what, *args):
    failures.append(what % args)
    print("FAIL " + what % args)


def run(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True, check=False, timeout=300)


class Elf:
    """A reader that shares nothing with the library."""

    def __init__(self, path):
        d = self.data = open(path, "rb").read()
        self.flags, = struct.unpack_from("<I", d, 48)
        self.shoff, = struct.unpack_from("<Q", d, 40)
        n, names = struct.unpack_from("<HH", d, 60)
        self.sec = [struct.unpack_from("<IIQQQQIIQQ", d, self.shoff + 64 * i) for i in range(n)]
        self.names = [self.text(names, s[0]) for s in self.sec]

    def text(self, table, off):
        at = self.sec[table][4] + off
        return self.data[at:self.data.index(b"\0", at)].decode()

    def body(self, i):
        s = self.sec[i]
        return b"" if s[1] in NO_BYTES or s[1] == 0 else self.data[s[4]:s[4] + s[5]]

    def index(self, name):
        return self.names.index(name)

    def symbols(self):
        i = self.index(".symtab")
        out = []
        for at in range(0, self.sec[i][5], 24):
            name, info, other, shndx, value, size = struct.unpack_from("<IBBHQQ", self.data, self.sec[i][4] + at)
            where = self.names[shndx] if shndx < len(self.names) else shndx
            out.append((self.text(self.index(".strtab"), name), info, other, where, value, size))
        return out

    def code(self):
        return sorted((n, self.body(i)) for i, n in enumerate(self.names) if n.startswith(".text."))

    def plain_code(self, by):
        """Code, without the instructions that the relocations of `by` change."""
        out = []
        for name, bytes_ in self.code():
            gone = bytearray(bytes_)
            for i, n in enumerate(by.names):
                if n == ".rela" + name:
                    for at in range(0, by.sec[i][5], 24):
                        off = struct.unpack_from("<Q", by.data, by.sec[i][4] + at)[0] // 16 * 16
                        gone[off:off + 16] = bytes(16)
            out.append((name, bytes(gone)))
        return out

    def mask(self):
        b, at = self.body(self.index(".nv.compat")), 0
        while at < len(b):
            if b[at] == 4:
                n, = struct.unpack_from("<H", b, at + 2)
                if b[at + 1] == 11:
                    return int.from_bytes(b[at + 4:at + 4 + n], "little")
                at += n
            at += 4
        return 0


def check_strip(name, path, sm):
    out, again = path + ".s.cubin", path + ".ss.cubin"
    p = run(CUVET, "finalize", "--binary-kind=sass", "--self-check", path, "-o", out)
    if p.returncode != 0:
        return fail("%s: strip ends with %d: %s", name, p.returncode, p.stderr)
    a, b = Elf(path), Elf(out)
    keep = [i for i, s in enumerate(a.sec) if not s[2] & CAPSULE]
    if [a.names[i] for i in keep] != b.names:
        fail("%s: other sections", name)
    for k, i in enumerate(keep):
        x, y = a.sec[i], b.sec[k]
        if b.names[k] in (".shstrtab", ".symtab", ""):
            continue
        if a.body(i) != b.body(k) or (x[1], x[2], x[5], x[8], x[9]) != (y[1], y[2], y[5], y[8], y[9]):
            fail("%s: section %s differs", name, b.names[k])
        if a.names[x[6]] != b.names[y[6]] or (x[2] & 0x40 and a.names[x[7]] != b.names[y[7]]):
            fail("%s: section %s refers to others", name, b.names[k])
    cap = ".nv.reservedSmem.cap"
    want = [("", 0, 1, "", 0, 0) if s[0] == cap else s for s in a.symbols()]
    if want != b.symbols() and a.symbols() != b.symbols():
        fail("%s: symbols differ", name)
    note = b.index(".note.nv.cuinfo")
    if b.flags != (min(note, 255) << 24 | int(sm) << 8 | 4):
        fail("%s: e_flags %#x", name, b.flags)
    p = run(CUVET, "finalize", "--binary-kind=sass", out, "-o", again)
    if p.returncode != 0 or "CV-FINAL-021" not in p.stderr or open(again, "rb").read() != b.data:
        fail("%s: a second strip is not 'not needed'", name)
    p = run(CUVET, "scan", out)
    if p.returncode != 0:
        fail("%s: scan of the result: %s", name, p.stdout)
    return out


def check_copy(name, path, sm):
    """To each other machine. @return those that it went to."""
    a, good = Elf(path), []
    for to in ARCHES:
        out = "%s.to%s.cubin" % (path, to)
        p = run(CUVET, "finalize", "--arch", "sm_" + to, path, "-o", out)
        related = to == sm or to in FAMILY.get(sm, ())
        runs = to == sm or (related and a.mask() >> BIT[to] & 1)
        if runs:
            b = open(out, "rb").read() if p.returncode == 0 else b""
            diff = [i for i, (x, y) in enumerate(zip(a.data, b)) if x != y]
            if len(b) != len(a.data) or diff != ([] if to == sm else [49]):
                fail("%s to sm_%s: exit code %d, bytes %s differ", name, to, p.returncode, diff[:9])
            elif to != sm:
                good.append((to, out))
        elif p.returncode != 1 or os.path.exists(out) or ("code 258" if related else "code 26") not in p.stderr:
            fail("%s to sm_%s: exit code %d: %s", name, to, p.returncode, p.stderr)
    return good


def link(name, sm, path):
    out = path + ".linked.cubin"
    debug = ["-g"] if "-G" in name else []  # else nvlink optimises what it makes from a capsule
    p = run("nvlink", "-arch=sm_" + sm, *debug, path, "-o", out)
    if p.returncode != 0:
        fail("%s: nvlink -arch=sm_%s refuses %s: %s", name, sm, os.path.basename(path), p.stderr)
        return None
    return Elf(out)


def compare(name, source, want, got, own):
    """Both links have the same code; or nvlink has made it again, and ours is what the compiler wrote."""
    if not want or not got:
        return
    if want.code() == got.code():
        return
    if source in MADE_AGAIN and got.plain_code(own) == own.plain_code(own):
        again.append(name)
        return
    fail("%s: the result links to other code", name)


def one(sm, source, flags):
    name = "%s.%s.%s" % (source, flags, sm)
    src, path = os.path.join(TMP, source + ".cu"), os.path.join(TMP, name + ".cubin")
    p = run("nvcc", "-cubin", "-arch=sm_" + sm, *FLAGS[flags], "-o", path, src)
    if p.returncode != 0:
        return fail("%s: nvcc: %s", name, p.stderr)
    stripped, good = check_strip(name, path, sm), check_copy(name, path, sm)
    if not stripped or not flags.startswith("rdc"):
        return len(good)
    want = link(name, sm, path)
    compare(name, source, want, link(name, sm, stripped), Elf(path))
    for to, out in good:
        compare(name + " for sm_" + to, source, link(name, to, path), link(name, to, out), Elf(path))
    return len(good)


def main():
    if not shutil.which("nvcc") or not shutil.which("nvlink"):
        print("SKIPPED: no nvcc and nvlink on PATH, nothing was finalized by both")
        return 77
    for s, text in SOURCES.items():
        with open(os.path.join(TMP, s + ".cu"), "w", encoding="ascii") as f:
            f.write(text)
    cases = [(sm, s, fl) for sm in ARCHES for s in SOURCES for fl in FLAGS]
    if not FULL:
        cases = cases[::13]
    moved = sum(one(*c) or 0 for c in cases)
    print("%d objects stripped and retargeted, %d of them also for another machine" % (len(cases), moved))
    print("%d times nvlink made other code from the capsule: %s" % (len(again), ", ".join(again)))
    bad = len({f.split(":")[0].split(" ")[0] for f in failures})
    print("%d passed, %d failed, 0 skipped" % (len(cases) - bad, bad))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
