#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX at link time: `cuvet link --compiler ptxas` against nvlink, which compiles in itself, on what nvcc makes of small programs.

Every section of the result is equal but for .note.nv.tkinfo, which names the linker. Containers with PTX alone, with PTX beside code for
the target or for another one, compiled and not, as fat binaries, host objects and archives; options of the members and of the link; and
what both have to refuse. Files of PTX, which nvlink passes over, are compared with what it links of the same text in a container.

Where the two disagree on purpose: a file without code for the target (nvlink warns, and links without it), and code with stack
protectors, whose attribute 0x57 no link takes (CV-LINK-080). With -r the exact form of the reference is asked for (--compat-r).

77: skipped, said on the last line. Needs nvcc, ptxas and nvlink of CUDA 13.0 on PATH. More machines with CV_FULL=1, or CV_ARCHES=80,89:
below sm_100, from which on nvlink makes code from capsules and orders names otherwise (docs/link.md).
"""
import os
import shutil
import struct
import subprocess
import sys

TMP = os.environ["CV_TMP"]
CUVET = os.path.abspath(os.environ.get("CUVET", os.path.join("build", "cuvet")))
FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,86,90a" if FULL else "90a").split(",")
SOURCES = {
    "kernel": "__device__ int f(int);\n__constant__ int scale = 5;\n"
              "__global__ void k(int *p) { extern __shared__ int s[]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads();"
              " *p = f(s[threadIdx.x ^ 1]) * scale; }\n"
              "__global__ void m(float *p) { __shared__ float t[32]; t[threadIdx.x] = p[0] / p[1]; __syncthreads();"
              " p[2] = t[31 - threadIdx.x]; }\n",
    "function": "__device__ int g = 3;\n__device__ __noinline__ int f(int x) { int a[8]; for (int i = 0; i < 8; i++) a[i] = x * g + i;"
                " return a[x & 7] + g; }\n",
}


def run(*args, cwd=None):
    p = subprocess.run(args, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return p.returncode, p.stdout.decode("utf-8", "replace")


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
        tool = name == ".note.nv.tkinfo"
        body = b"" if h[1] in (0, 8) or tool else d[h[4]:h[4] + h[5]]
        out.append((name, h[1], h[2], 0 if tool else h[5]) + h[6:] + (body,))
    return out


def commands(path):
    """How the compiler was called, by its notes; with -g they name its files, which are other ones in nvlink."""
    with open(path, "rb") as f:
        d = f.read()
    return sorted(x.replace(b"input.ptx ", b"").replace(b"-o output.cubin ", b"") for x in d.split(b"\0")
                  if b" -m 64 " in x and b" -c " in x)


class Bench:
    def __init__(self):
        self.where = os.path.join(TMP, "link_ptx")
        shutil.rmtree(self.where, ignore_errors=True)
        os.makedirs(self.where)
        self.made, self.equal, self.refused, self.bad = {}, 0, 0, []
        for name, text in SOURCES.items():
            with open(os.path.join(self.where, name + ".cu"), "w", encoding="ascii") as f:
                f.write(text)

    def path(self, name):
        return os.path.join(self.where, name)

    def make(self, what, codes, options=()):
        """The two files of a program: what is "o", "fatbin", "a" or "ptx"."""
        key = (what, tuple(codes), tuple(options))
        if key in self.made:
            return self.made[key]
        out = []
        gen = [x for c in codes for x in ("-gencode", "arch=compute_%s,code=%s" % (c.split("_")[1], c))]
        for name in sorted(SOURCES):
            path = self.path("%s%d.%s" % (name, len(self.made), what.replace("a", "o") if what == "a" else what))
            how = {"o": ["-c"], "a": ["-c"], "fatbin": ["-fatbin"], "ptx": ["-ptx"]}[what]
            rc, said = run("nvcc", "-rdc=true", *options, *(gen if what != "ptx" else ["-arch=" + codes[0]]), *how,
                           self.path(name + ".cu"), "-o", path)
            if rc:
                raise RuntimeError("nvcc: " + said)
            out.append(path)
        if what == "a":
            library = self.path("lib%d.a" % len(self.made))
            rc, said = run("ar", "rcs", library, out[0])
            if rc:
                raise RuntimeError("ar: " + said)
            out[0] = library
        self.made[key] = out
        return out

    def compare(self, arch, files, options=(), theirs=None, rule=None):
        """rule: what cuvet refuses on purpose, where nvlink goes on."""
        ref, our = self.path("ref.cubin"), self.path("our.cubin")
        for p in (ref, our):
            if os.path.exists(p):
                os.remove(p)
        ours = run(CUVET, "link", "-arch=sm_" + arch, "--compiler", shutil.which("ptxas"), *options,
                   *(("--compat-r",) if "-r" in options else ()), *files, "-o", our)
        refs = run("nvlink", "-arch=sm_" + arch, *options, *(theirs or files), "-o", ref)
        label = "sm_%s %s %s" % (arch, " ".join(options), " ".join(os.path.basename(f) for f in files))
        both = [os.path.exists(ref) and refs[0] == 0, os.path.exists(our) and ours[0] == 0]
        if rule:
            self.refused += 1
            if both[1] or rule not in ours[1]:
                self.bad.append("%s: %s is not said: %s" % (label, rule, ours[1]))
        elif both == [False, False]:
            self.refused += 1
        elif both != [True, True]:
            self.bad.append("%s: nvlink %s, cuvet %s: %s%s" % (label, refs[0], ours[0], refs[1], ours[1]))
        elif sections(ref) != sections(our):
            names = [a[0] for a, b in zip(sections(ref), sections(our)) if a != b]
            self.bad.append("%s: sections differ: %r" % (label, names))
        elif commands(ref) != commands(our):
            self.bad.append("%s: compiled otherwise: %r, nvlink %r" % (label, commands(our), commands(ref)))
        else:
            self.equal += 1


def cases(b, arch):
    number = arch.rstrip("af")
    older, same = "compute_75", "compute_" + arch
    for what in ("o", "fatbin", "a"):
        b.compare(arch, b.make(what, [older]))
        b.compare(arch, b.make(what, [same]))
        b.compare(arch, b.make(what, [same, "sm_" + arch]))  # code is there: nothing is compiled
        b.compare(arch, b.make(what, [older, "sm_" + arch]))
    mixed = [b.make("o", [older])[0], b.make("o", ["sm_" + arch])[1]]
    b.compare(arch, mixed)
    if number != "75":
        b.compare("75", b.make("o", [same]), rule="CV-INPUT-001")  # too new
    for options in (("-lineinfo",), ("-G",), ("-maxrregcount=24",), ("-Xptxas", "-O1"), ("-Xptxas", "-dlcm=cg,-v"), ("--fmad=false",)):
        b.compare(arch, b.make("o", [older], options))
    for options in (("-g",), ("-r",), ("--preserve-relocs",), ("-maxrregcount", "24"), ("-Xptxas", "-O1"), ("-Xptxas=-O0,-dlcm=cg",),
                    ("-Xptxas", "-maxrregcount=26", "-maxrregcount=30"), ("-Xptxas", "--no-such-option"),
                    ("-g", "-suppress-debug-info")):
        b.compare(arch, b.make("o", [older]), options)
    b.compare(arch, b.make("o", [older]), ("--device-stack-protector=true",), rule="CV-LINK-080")
    b.compare(arch, b.make("o", [older], ("-Xptxas", "-O1")), ("-Xptxas", "-O2"))
    b.compare(arch, b.make("o", [older], ("-Xptxas", "-O1")), ("-g",))  # no optimized code for debuggers: both refuse
    b.compare(arch, b.make("o", [older], ("-maxrregcount=24",)), ("-maxrregcount=32",))
    b.compare(arch, b.make("ptx", [older]), theirs=b.make("fatbin", [older]))


def main():
    missing = [t for t in ("nvcc", "ptxas", "nvlink", "ar") if not shutil.which(t)]
    if missing:
        print("SKIPPED: no %s on PATH: nothing was compared" % ", ".join(missing))
        return 77
    b = Bench()
    for arch in ARCHES:
        cases(b, arch)
    for line in b.bad:
        print("DIFFERENT", line)
    print("%d equal, %d refused, %d different" % (b.equal, b.refused, len(b.bad)))
    if b.equal < 20 * len(ARCHES) or b.refused < 2 * len(ARCHES):
        print("too few cases were linked or refused")
        return 1
    shutil.rmtree(b.where)
    return 1 if b.bad else 0


sys.exit(main())
