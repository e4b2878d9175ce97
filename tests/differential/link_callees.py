#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels inherit from the functions that they reach, against nvlink.

Three kinds of programs, of PTX of our own:

  features   each row of callee_features.tsv is code that makes ptxas write an attribute; it stands in a function that a kernel of
             another file calls, two calls below, behind a pointer, in recursion, in a weak function that wins, and so on
  records    random call graphs of small functions whose .nv.info sections get random records that are inherited
  barriers   the same of functions that wait at barriers, compiled by an old ptxas, which counts them in flags of the code and not in
             a record; alone, and with functions of the ptxas of today. Only where CV_OLD_PTXAS names one of CUDA 11.8 to 12.6 (it
             is in the wheels nvidia-cuda-nvcc-cu11 and -cu12 of the package index)

Below sm_100 everything must be equal but .note.nv.tkinfo; from sm_100 on, where the reference compiles the code again, the
records that are inherited (spec/inherit.def), function by function.

  CV_SEEDS=1-300      which random programs (default: 1-3, with CV_FULL=1 1-15)
  CV_ARCHES=75,80     for which machines (default: 75,100a; with CV_FULL=1 all)
  CV_FEATURES=a,b     which rows of the table (default: each fifth, with CV_FULL=1 each third)

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import concurrent.futures
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import link_classes
import link_random as base

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TMP = os.environ.get("CV_TMP") or tempfile.mkdtemp(prefix="cuvet-callees-")
FULL = bool(os.environ.get("CV_FULL"))
ALL = "75,80,86,89,90,90a,100,100a,103,120,121"
ARCHES = os.environ.get("CV_ARCHES", ALL if FULL else "75,100a").split(",")
ROW = re.compile(r"^INHERITED\((0x..), (\w+), (\d), (\w+), (\d)\)", re.M)
OLD_PTXAS = os.environ.get("CV_OLD_PTXAS")
OLD_VERSION = "7.8"
HEAD = ".version %s\n.target sm_%s\n.address_size 64\n"
SIGNATURE = ".func (.param .b32 r) %s (.param .b32 a)"
REGISTERS = ".reg .b32 %r<40>; .reg .b64 %rd<10>; .reg .pred %p<5>;\n"
COUNT = "add.u32 %r1,%r1,1;\n"


# Programs that are not linked as by the reference for reasons of their own: relocations against textures without a kernel, symbols and
# branch tables of a weak function that was beaten, and cp.async below sm_90 as long as its relocation is not known. Counted, not failed.
KNOWN = re.compile(r"^(texref\.(dead|weak)|surfref\.(dead|weak)|brx\.weak|cpasync\..*)$")


def number(arch):
    return int(re.match(r"\d+", arch)[0])


# --- programs of PTX ---------------------------------------------------------------------------------------

def function(name, body, linkage=".visible"):
    return "%s %s{\n%sld.param.b32 %%r1,[a];\n%s\nst.param.b32 [r],%%r1; ret;\n}\n" % (
        linkage, SIGNATURE % name, REGISTERS, body)


def kernel(name, body):
    return ".visible .entry %s(.param .u64 p){\n%sld.param.u64 %%rd1,[p]; ld.u32 %%r1,[%%rd1];\n%s\n" \
        "st.u32 [%%rd1],%%r1; ret;\n}\n" % (name, REGISTERS, body)


def call(*names):
    return "".join("{ .param .b32 a1; .param .b32 r1; st.param.b32 [a1],%%r1; call.uni (r1), %s, (a1); "
                   "ld.param.b32 %%r1,[r1]; }\n" % n for n in names)


def wait(number):
    return "bar.sync %d;\n" % number


def call_one_of(first, second):
    """through a pointer"""
    return "mov.u64 %%rd3,%s; mov.u64 %%rd4,%s; setp.gt.s32 %%p1,%%r1,7; selp.b64 %%rd2,%%rd3,%%rd4,%%p1;\n" \
        "{ .param .b32 a1; .param .b32 r1; st.param.b32 [a1],%%r1; prot: .callprototype (.param .b32 _) _ (.param .b32 _);\n" \
        "call (r1), %%rd2, (a1), prot; ld.param.b32 %%r1,[r1]; }\n" % (first, second)


def extern(*names):
    return "".join(".extern %s;\n" % (SIGNATURE % n) for n in names)


def layouts(mod, body):
    """name: the files of a program whose function does something"""
    both = kernel("k", call("f")) + kernel("k2", COUNT)
    yield "sep", [extern("f") + both, mod + function("f", body)]
    yield "one", [extern("f") + kernel("k", call("f")), mod + function("f", body)]
    yield "rev", [mod + function("f", body), extern("f") + both]
    yield "deep", [extern("f") + both, extern("g") + function("f", call("g")), mod + function("g", body)]
    if ".extern .func" not in mod:
        yield "both", [extern("f") + mod + kernel("k", re.sub(r"(?<![.])\bL1\b", "L2", body) + call("f")) + kernel("k2", COUNT),
                       mod.replace(".visible", "") + function("f", body)]
    yield "two", [extern("f", "g") + kernel("k", call("f", "g")) + kernel("k2", call("f")), mod + function("f", body),
                  function("g", "bar.sync 1,32; mov.u32 %r2,%ctaid.z; add.u32 %r1,%r1,%r2;")]
    yield "same", [mod + function("f", body) + both]
    yield "weak", [extern("f") + both, function("f", "", ".weak"), mod + function("f", body + COUNT, ".weak")]
    yield "recursion", [extern("f") + both,
                        mod + ".visible %s;\n" % (SIGNATURE % "f") +
                        function("f", body + "setp.gt.s32 %p3,%r1,9; @%p3 bra X;" + COUNT + call("f") + "X:")]
    yield "pointer", [extern("f", "g") + kernel("k", call_one_of("f", "g")) + kernel("k2", COUNT),
                      mod + function("f", body), function("g", "")]
    yield "dead", [extern("f") + kernel("k", COUNT) + kernel("k2", COUNT), mod + function("f", body)]


def features():
    with open(os.path.join(HERE, "callee_features.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]
    wanted = os.environ.get("CV_FEATURES")
    rows = [r for r in rows if r[0] in wanted.split(",")] if wanted else rows[::3 if FULL else 5]
    return [[c if c != "-" else "" for c in r] for r in rows]


def runs_on(machines, arch):
    return number(arch) >= int(machines[2:]) if machines.startswith(">=") else arch in machines.split()


# --- programs with records ---------------------------------------------------------------------------------

class Object:
    """Sections that may grow; relocatable objects hold no file offsets but those of their section headers."""

    def __init__(self, data):
        at, n = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        self.header = bytearray(data[:64])
        self.rows = [list(struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i)) for i in range(n)]
        nothing = base.NOBITS + (0, 0x70000015)
        self.bodies = [None if r[1] in nothing else bytearray(data[r[4]:r[4] + r[5]]) for r in self.rows]
        names = bytes(self.bodies[1])
        self.names = [names[r[0]:names.index(b"\0", r[0])].decode() for r in self.rows]

    def add(self, fn, record):
        for prefix in (".nv.info.", ".nv.merc.nv.info."):
            if prefix + fn in self.names:
                self.bodies[self.names.index(prefix + fn)] += record

    def data(self):
        out = bytearray(self.header)
        for r, body in zip(self.rows, self.bodies):
            if r[1] == 0:
                continue
            r[4] = -(-max(len(out), 64) // max(r[8], 1)) * max(r[8], 1)
            if body is not None:
                r[5] = len(body)
                out += b"\0" * (r[4] - len(out)) + body
        out += b"\0" * (-len(out) % 8)
        struct.pack_into("<Q", out, 40, len(out))
        return bytes(out + b"".join(struct.pack("<IIQQQQIIQQ", *r) for r in self.rows))


def inherited():
    """code: (format, rule) of spec/inherit.def"""
    with open(os.path.join(ROOT, "spec", "inherit.def")) as f:
        return {int(c, 16): (int(form), rule) for c, _, form, rule, _ in ROW.findall(f.read())}


# What nvlink 13.0 knows, and what a program may hold of it: both kinds of tensor memory do not go together, and masks of
# sparse multiplication are what an object says of all its functions.
RANDOM = (0x04, 0x1E, 0x38, 0x41, 0x4A, 0x4C, 0x4F, 0x51, 0x54)


def random_record(rng, code, form, rule):
    value = rng.choice((0, 1, 2, 3, 5, 9))
    if rule == "WORDS":
        words = rng.sample((1, 2, 3, 6, 7, 8), rng.randint(1, 3))
        return struct.pack("<BBH%dI" % len(words), 4, code, 4 * len(words), *words)
    if form == 4:
        return struct.pack("<BBHI", 4, code, 4, value)
    return struct.pack("<BBH", form, code, 0 if form == 1 else value)


class Program:
    """Kernels k0.. and functions f0..; a function calls later ones, itself at times, one through a pointer."""

    def __init__(self, seed, arch):
        rng = random.Random("%d %s" % (seed, arch))
        self.rows = inherited()
        self.fns = ["f%d" % i for i in range(rng.randint(1, 6))]
        self.kernels = ["k%d" % i for i in range(rng.choice((1, 1, 2, 3)))]
        self.calls = {n: self.callees(rng, n) for n in self.fns + self.kernels}
        self.pointer = rng.choice(self.fns + self.kernels) if rng.random() < 0.3 and len(self.fns) > 1 else None
        self.records = {n: self.some_records(rng, arch) for n in self.fns + self.kernels}
        if number(arch) < 90 and rng.random() < 0.3:
            for n in rng.sample(self.fns + self.kernels, rng.randint(1, 3 if len(self.fns) > 1 else 2)):
                self.records[n].append(struct.pack("<BBH", 3, 0x50, rng.choice((0, 1, 2, 16, 24))))
        self.files, self.waits = self.spread(rng), {}

    def count_barriers(self):
        """Functions wait at barriers; no record says so, nor what only machines from sm_100 on have."""
        rng = random.Random(repr((self.calls, self.files)))
        self.waits = {n: rng.randint(0, 9) for n in self.fns + self.kernels if rng.random() < 0.4}
        for said in self.records.values():
            said[:] = [r for r in said if r[1] not in (0x4C, 0x51)]

    def callees(self, rng, name):
        later = self.fns if name[0] == "k" else self.fns[int(name[1:]) + 1:]
        own = [name] if name[0] == "f" and rng.random() < 0.1 else []
        return rng.sample(later, min(len(later), rng.randint(0, 3))) + own

    def some_records(self, rng, arch):
        # a kernel alone keeps its own records of 4A and 50 in the reference, which the code of its callees does not say
        codes = [c for c in RANDOM if rng.random() < 0.25 and (c != 0x4A or number(arch) < 100)]
        rng.shuffle(codes)
        return [random_record(rng, c, *self.rows[c]) for c in codes]

    def spread(self, rng):
        names = self.fns + self.kernels
        rng.shuffle(names)
        files = [[] for _ in range(rng.randint(1, 3))]
        for n in names:
            rng.choice(files).append(n)
        return [f for f in files if f]

    def body(self, name, taken):
        text = call(*[c for c in self.calls[name] if c != name])
        if name in self.calls[name]:
            text += "setp.gt.s32 %p3,%r1,9; @%p3 bra X;" + COUNT + call(name) + "X:\n"
        if name == self.pointer:
            text += call_one_of(*taken)
        if name in self.waits:
            text += wait(self.waits[name])
        return text + "add.u32 %%r1,%%r1,%d;\n" % (7 + len(name) + ord(name[-1]))

    def texts(self):
        taken = (self.fns[0], self.fns[-1])
        for names in self.files:
            used = {c for n in names for c in self.calls[n]} | (set(taken) if self.pointer in names else set())
            here = [n for n in names if n[0] == "f"]
            text = extern(*sorted(used - set(names)))
            text += "".join(".visible %s;\n" % (SIGNATURE % n) for n in here)
            yield names, text + "".join(
                kernel(n, self.body(n, taken)) if n[0] == "k" else function(n, self.body(n, taken)) for n in names)


# --- comparison --------------------------------------------------------------------------------------------

def records(data):
    """function: the inherited records of its section, sorted"""
    codes = set(inherited()) - {0x0F}
    image, found = base.Image(data, False), {}
    for name, head, _, body in image.sections:
        if head[1] != 0x70000000 or name == b".nv.info":
            continue
        at, said = 0, []
        while at < len(body):
            form, code, value = struct.unpack_from("<BBH", body, at)
            end = at + 4 + (value if form == 4 else 0)
            if code in codes:
                said.append(body[at:end].hex())
            at = end
        found[name] = sorted(said)
    return found


def compare(arch, reference, candidate):
    if number(arch) < 100:
        base.strict(reference, candidate)
        return
    theirs, ours = records(reference), records(candidate)
    if theirs != ours:
        name = sorted(n for n in set(theirs) | set(ours) if theirs.get(n) != ours.get(n))[0]
        raise base.Different("%s: %s, not %s" % (name.decode("latin-1"), ours.get(name), theirs.get(name)))


def compiled(text, arch, path, compiler="ptxas"):
    with open(path + ".ptx", "w") as f:
        f.write(HEAD % ("9.0" if compiler == "ptxas" else OLD_VERSION, arch) + text)
    p = base.tool(compiler, "-c", "-arch=sm_" + arch, path + ".ptx", "-o", path + ".cubin")
    if p.returncode:
        raise RuntimeError("ptxas: " + p.stderr.decode("latin-1")[:300])
    return path + ".cubin"


def both(arch, objects, d):
    """None, or what is different"""
    ref, out = os.path.join(d, "ref"), os.path.join(d, "out")
    try:
        rc, said = base.linked(["nvlink", "-arch=sm_" + arch] + objects, ref)
        our_rc, we_said = base.linked([os.environ["CUVET"], "link", "-arch=sm_" + arch] + objects, out)
        if (rc == 0) != (our_rc == 0):
            raise base.Different("nvlink %d %s; cuvet %d %s" % (rc, said[:200], our_rc, we_said[:200]))
        if rc == 0:
            with open(ref, "rb") as f, open(out, "rb") as g:
                compare(arch, f.read(), g.read())
        return None
    except (base.Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
        return str(e)


def feature(row, arch):
    name, _, mod, body = row
    for layout, texts in layouts(mod + "\n" if mod else "", body):
        d = tempfile.mkdtemp(dir=TMP)
        objects = [compiled(t, arch, os.path.join(d, "f%d" % i)) for i, t in enumerate(texts)]
        yield arch, "features", "%s.%s" % (name, layout), both(arch, objects, d)
        shutil.rmtree(d)


def linked(program, arch, compiler_of):
    d = tempfile.mkdtemp(dir=TMP)
    objects = []
    for i, (names, text) in enumerate(program.texts()):
        compiler = compiler_of(names)
        path = compiled(text, arch, os.path.join(d, "f%d" % i), compiler)
        with open(path, "rb") as f:
            o = Object(f.read())
        for n in names:
            for record in program.records[n]:
                o.add(n, record)
        with open(path, "wb") as f:
            f.write(o.data())
        objects.append(path)
    why = both(arch, objects, d)
    shutil.rmtree(d)
    return why


def random_program(seed, arch):
    return arch, "records", "program %d" % seed, linked(Program(seed, arch), arch, lambda names: "ptxas")


def old_program(seed, arch, mixed):
    """Mixed: which files are of today. Of kernels of old ones that call functions of today, none waits at more barriers than those: see
    docs/link-partial.md."""
    program = Program(seed, arch)
    program.count_barriers()
    if mixed in ("functions", "any"):
        for k in program.kernels:
            if k in program.waits:
                program.waits[k] = 0
    rng = random.Random(seed)
    today = {"": lambda names: False, "kernels": lambda names: any(n[0] == "k" for n in names),
             "functions": lambda names: all(n[0] != "k" for n in names), "any": lambda names: rng.random() < 0.5}[mixed]
    why = linked(program, arch, lambda names: "ptxas" if today(names) else OLD_PTXAS)
    return arch, "barriers", "program %d %s" % (seed, mixed), why


def missing():
    for name in ("ptxas", "nvlink"):
        if not shutil.which(name):
            return name + " is not on PATH"
    said = base.tool("nvlink", "--version").stdout.decode("latin-1")
    if "release 13.0" not in said:
        return "nvlink of CUDA 13.0 is needed: its exact form is what is compared"
    return None


def main():
    why = missing()
    if why:
        print("SKIPPED: %s, callees with attributes were linked by nobody" % why)
        return 77
    first, _, last = os.environ.get("CV_SEEDS", "1-15" if FULL else "1-3").partition("-")
    work = [(random_program, (seed, a)) for a in ARCHES for seed in range(int(first), int(last or first) + 1)]
    work += [(lambda r, a: list(feature(r, a)), (r, a)) for a in ARCHES for r in features() if runs_on(r[1], a)]
    seeds = range(int(first), int(last or first) + 1)
    work += [(old_program, (s, a, mixed)) for a in ("75", "80", "90") if OLD_PTXAS and (a != "90" or link_classes.knows_90()) for s in seeds for mixed in ("", "kernels", "functions", "any")]
    counts, bad, known = {}, [], []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        for found in pool.map(lambda w: w[0](*w[1]), work):
            for arch, kind, name, text in [found] if isinstance(found, tuple) else found:
                if text and KNOWN.match(name):
                    known.append("sm_%s %s" % (arch, name))
                    continue
                row = counts.setdefault((kind, number(arch), arch), [0, 0])
                row[0] += text is None
                row[1] += 1
                if text:
                    bad.append("sm_%s, %s: %s" % (arch, name, text))
    for text in bad[:80]:
        print("DIFFERENT: " + text[:500])
    for (kind, _, arch), (good, of) in sorted(counts.items()):
        print("sm_%s %s: %d of %d equal" % (arch, kind, good, of))
    if known:
        print("%d known to differ: %s" % (len(known), ", ".join(known)[:300]))
    total = sum(of for _, of in counts.values())
    if not OLD_PTXAS:
        print("SKIPPED: barriers: CV_OLD_PTXAS names no ptxas of CUDA 11.8 to 12.6, barriers in flags were NOT compared")
    print("%d passed, %d failed, %d skipped" % (total - len(bad), len(bad), not OLD_PTXAS))
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
