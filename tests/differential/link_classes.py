#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes of what a link does, each asked whole: what cuvet makes of it against what nvlink makes of it.

  programs    every program of corpus/link/ptx, for each machine and set of options, finally, with -r (--compat-r on our side), and the
              reference's -r linked again by both: the same bytes, or from sm_100 on the same sections and code
  types       every relocation type against a symbol in every kind of memory, in code and in data: where cuvet links, the place and the
              relocations that stay for it are those of nvlink. It may refuse more
  steps       every program with -r by cuvet, and what that is finally by both: code, data and call frames are those of nvlink at once
  plain       every program from sm_100 on, compiled and stripped of its capsules: the same bytes
  attributes  a record of every code of .nv.info with symbols in it, in the global section and in that of a function, in two
              objects: where cuvet links, the records are those of nvlink. It may refuse more

  arrays      random programs with extern shared arrays, places inside of them, and shared variables that nobody names, with and
              without debug data and wide alignments, finally and with -r (--compat-r on our side), with and without -g and
              --preserve-relocs: the same bytes
  old         the programs, compiled by an old ptxas, and by both in turn, as above and with -r by cuvet first: the same bytes, and the
              reference's own results are clean. Only where CV_OLD_PTXAS names one of CUDA 11.8 to 12.6 (it is in the wheels
              nvidia-cuda-nvcc-cu11 and -cu12 of the package index)
  wide        kernels whose sections just need, and just do not need, a table of wide numbers: the same sections. The table itself is
              not compared (docs/link-partial.md). With CV_FULL=1 only: ptxas takes some minutes

  CV_ARCHES=75,80,90  for which machines (default: 75,90, with CV_FULL=1 75,90,100)
  CV_SHARE=11         each which type and attribute (with CV_FULL=1 every one; 11 divides the number of no alternative)
  CV_JOBS=2

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import concurrent.futures
import glob
import os
import random
import re
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-classes-"))
import link_random as lr  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = lr.TMP
FULL = bool(os.environ.get("CV_FULL"))
SHARE = int(os.environ.get("CV_SHARE", "1" if FULL else "11"))
ARCHES = os.environ.get("CV_ARCHES", "75,90,100" if FULL else "75,90").split(",")
OPTIONS = {"final": [], "-g": ["-g"], "--preserve-relocs": ["--preserve-relocs"], "-r": ["-r"], "again": []}
# Where ours is another form on purpose, or it is not settled (docs/link-partial.md).
# weak_branches: nvlink -r leaves a branch table that no code names; ours is in the banks of kernels again.
# The reference's -r sets a bit in the field of a sampler's relocation that stays, in code of a device function.
# shared_beaten: with -g and --preserve-relocs the reference counts what is reserved twice in a symbol; in two steps nobody keeps the room of a
# weak variable that was beaten in the first one.
OTHER_FORM = {("shared_beaten", "-g"), ("shared_beaten", "--preserve-relocs"), ("shared_beaten", "again"), ("shared_wide", 100), ("shared_wide", 120), ("data_only", 100), ("data_only", 120), ("weak_branches", "again"),
              ("slots_kinds", 100, "-r"), ("slots_kinds", 120, "-r")}
# yield_none, yield_stays: docs/link.md, of code that the reference makes again.
OTHER_FORM |= {(name, machine, way) for machine in (100, 120) for name, way in (("yield_none", "-r"), ("yield_stays", "final"), ("yield_stays", "--preserve-relocs"))}
# Code for a debugger that is linked for none: the reference compiles it again (CV-LINK-034 says so).
OTHER_FORM |= {("shown_records", machine, way) for machine in (100, 120) for way in ("final", "--preserve-relocs", "again")}
# Refused here from this machine on, with this rule, and linked by the reference: two kernels of one name, of other parameters,
# become one of them without a word, which host code of the other cannot launch.
STRICTER = {"weak_parameters": (100, "CV-LINK-086")}
# Kept by our -r, and refused by the link that follows; the reference drops them at once.
KEPT = {(kind, 72) for kind in ("weak_constant", "texture", "surface")}
N_TYPES, N_CODES = 117, 0x6E

MEMORY = """.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b32 before[5] = {1, 2, 3, 4, 5};
.const .align 4 .b32 constant[4] = {1, 2, 3, 4};
.weak .const .align 4 .b32 weak_constant[2] = {6, 7};
.visible .const .align 4 .b32 global_constant[2] = {8, 9};
.global .align 4 .b32 variable[4];
.global .align 16 .u64 data[4] = {constant, variable, 7, 9};
.global .texref texture;
.global .surfref surface;
.func (.param .b32 r) function(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.visible .entry kernel(.param .u64 p, .param .u32 i) {
  .reg .b64 %d<12>; .reg .b32 %r<10>; .reg .f32 %f<6>;
  .shared .align 4 .b8 low[48]; .shared .align 4 .b8 shared[64];
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [i];
  mul.wide.u32 %d8, %r1, 4; mov.u64 %d2, constant; add.u64 %d9, %d2, %d8; ld.const.u32 %r5, [%d9]; st.global.u32 [%d1+64], %r5;
  ld.const.u32 %r5, [before+4]; st.global.u32 [%d1+68], %r5; ld.global.u64 %d10, [data]; st.global.u64 [%d1], %d10;
  ld.global.u32 %r5, [variable+4]; st.global.u32 [%d1+72], %r5; st.shared.u32 [low+4], %r1; st.shared.u32 [shared+4], %r1; bar.sync 0;
  ld.shared.u32 %r7, [shared+8]; st.global.u32 [%d1+76], %r7; ld.shared.u32 %r7, [low+8]; st.global.u32 [%d1+80], %r7;
  mov.u64 %d2, weak_constant; add.u64 %d9, %d2, %d8; ld.const.u32 %r5, [%d9]; st.global.u32 [%d1+104], %r5;
  mov.u64 %d2, global_constant; add.u64 %d9, %d2, %d8; ld.const.u32 %r5, [%d9]; st.global.u32 [%d1+108], %r5;
  mov.u64 %d11, function; st.global.u64 [%d1+88], %d11;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), function, (x); ld.param.b32 %r9, [y]; st.global.u32 [%d1+96], %r9; }
  tex.1d.v4.f32.f32 {%f2,%f3,%f4,%f5}, [texture, {%f1}]; st.global.f32 [%d1+100], %f2; sust.b.1d.b32.trap [surface, {%r1}], %r1; ret;
}
"""
KINDS = ("shared", "before", "weak_constant", "global_constant", "variable", "function", "kernel", "texture", "surface", ".nv.constant3", ".nv.shared.kernel",
         ".debug_frame", "_param")
CONSTANTS = ("before", "weak_constant", "global_constant", ".nv.constant3")
SIDE = """.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .b32 gA[4] = {1, 2, 3, 4};
.visible .func (.param .b32 r) fA(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.visible .entry kA(.param .u64 p) {
  .reg .b64 %d<2>; .reg .b32 %r<4>;
  ld.param.u64 %d1, [p]; ld.global.u32 %r1, [gA+4]; st.global.u32 [%d1], %r1;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), fA, (x); ld.param.b32 %r2, [y]; st.global.u32 [%d1+4], %r2; } ret;
}
"""


# --- files -------------------------------------------------------------------------------------------------

class File:
    def __init__(self, data):
        self.data = data
        shoff, = struct.unpack_from("<Q", data, 40)
        n, names = struct.unpack_from("<HH", data, 60)
        rows = [list(struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i)) for i in range(n)]
        self.sections = [(self.text(rows[names], r[0]), r) for r in rows]
        table = next(r for _, r in self.sections if r[1] == 2)
        self.symbols = [self.text(rows[table[6]], struct.unpack_from("<I", data, table[4] + 24 * i)[0]) for i in range(table[5] // 24)]

    def text(self, table, off):
        at = table[4] + off
        return self.data[at:self.data.index(b"\0", at)].decode("latin-1")

    def find(self, name):
        return next(r for n, r in self.sections if n == name)

    def body(self, row):
        return b"" if row[1] in lr.NOBITS or row[1] == 0 else self.data[row[4]:row[4] + row[5]]

    def number(self, name):
        return next(i for i, n in enumerate(self.symbols) if n == name or n.startswith("$__%s__" % name))

    def entries(self, name):
        """place of the entry in the file, offset, symbol, type, addend (REL: None)"""
        row = self.find(name)
        for at in range(row[4], row[4] + row[5], row[9]):
            off, info = struct.unpack_from("<QQ", self.data, at)
            yield at, off, info >> 32, info & 0xFFFFFFFF, struct.unpack_from("<q", self.data, at + 16)[0] if row[9] == 24 else None

    def with_more(self, name, more):
        """The same file, with bytes behind those of a section."""
        out, heads = bytearray(self.data[:64]), []
        for i, (n, row) in enumerate(self.sections):
            row, body = list(row), self.body(row)
            if n == name:
                body, row[5] = body + more, row[5] + len(more)
            if i:
                out += bytes(-len(out) % max(row[8], 1))
                row[4] = len(out)
                out += body
            heads.append(struct.pack("<IIQQQQIIQQ", *row))
        out += bytes(-len(out) % 8)
        struct.pack_into("<Q", out, 40, len(out))
        return bytes(out) + b"".join(heads)


def compiled(text, arch, name, compiler="ptxas"):
    """Once for each name and machine; others may ask for the same at the same time, and never see half of it."""
    out = os.path.join(TMP, "%s.%s.cubin" % (name, arch))
    if not os.path.exists(out):
        d = tempfile.mkdtemp(dir=TMP)
        source, made = (os.path.join(d, "%s.%s.%s" % (name, arch, e)) for e in ("ptx", "cubin"))
        with open(source, "w") as f:
            f.write(text)
        p = lr.tool(compiler, "-c", "-arch=sm_" + arch, source, "-o", made)
        if p.returncode:
            raise RuntimeError("ptxas: " + p.stderr.decode("latin-1")[-300:])
        os.rename(made, out)
        shutil.rmtree(d, ignore_errors=True)
    return out


def link_both(arch, options, inputs, d, compat=()):
    """((exit, said, path) of nvlink, the same of cuvet)"""
    found = []
    for who, more in ((["nvlink"], []), ([os.environ["CUVET"], "link"], list(compat))):
        out = os.path.join(d, os.path.basename(who[0]) + ".cubin")
        p = lr.tool(*who, "-arch=sm_" + arch, *options, *more, *inputs, "-o", out)
        found.append((p.returncode, (p.stdout + p.stderr).decode("latin-1"), out))
    return found


def read(path):
    with open(path, "rb") as f:
        return f.read()


def in_folder(f):
    def run(*args):
        d = tempfile.mkdtemp(dir=TMP)
        try:
            return f(d, *args)
        except (lr.Different, StopIteration, struct.error, ValueError) as e:
            return "%s: %s" % (" ".join(map(str, args)), e)
        finally:
            shutil.rmtree(d, ignore_errors=True)
    return run


# --- programs ----------------------------------------------------------------------------------------------

def programs():
    for first in sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx/*.0.ptx"))):
        name = os.path.basename(first)[:-len(".0.ptx")]
        least, suffix = re.search(r"\.target sm_(\d+)([af]?)", read(first).decode()).groups()
        for arch in ARCHES:
            sm = int(re.match(r"\d+", arch)[0])
            if sm < int(least) or (suffix and arch != least + suffix):
                continue
            for mode in OPTIONS:
                if (sm < 100 or mode != "-g") and not {(name, mode), (name, sm), (name, sm, mode)} & OTHER_FORM:
                    yield name, arch, mode


@in_folder
def one_program(d, name, arch, mode):
    sources = sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx", name + ".*.ptx")))
    inputs = [compiled(read(s).decode(), arch, os.path.basename(s)[:-4]) for s in sources]
    if mode == "again":
        part = os.path.join(d, "part.cubin")
        if lr.tool("nvlink", "-arch=sm_" + arch, "-r", *inputs, "-o", part).returncode:
            return None
        inputs = [part]
    theirs, ours = link_both(arch, OPTIONS[mode], inputs, d, ["--compat-r"] if mode == "-r" else [])
    if theirs[0] and "reference to deleted symbol" in theirs[1]:
        return None  # it does not get through itself
    if ours[0] == 1 and "externsharedinstance" in ours[1]:
        return None  # what it made of its own -r has no room for arrays (CV-LINK-020)
    sm = int(re.match(r"\d+", arch)[0])
    if mode != "again" and name in STRICTER and sm >= STRICTER[name][0] and theirs[0] == 0:
        rule = STRICTER[name][1]
        if ours[0] == 0 or rule not in ours[1]:
            raise lr.Different("not refused with %s; cuvet %d %s" % (rule, ours[0], ours[1][:300]))
        return None
    if (theirs[0] == 0) != (ours[0] == 0):
        raise lr.Different("nvlink %d %s; cuvet %d %s" % (theirs[0], theirs[1][:200], ours[0], ours[1][:300]))
    if theirs[0] == 0:
        same = lr.same_code if sm >= 100 else lr.strict
        same(read(theirs[2]), read(ours[2]))
    return None


# --- two steps ---------------------------------------------------------------------------------------------

COMPARED = (".text.", ".nv.constant", ".nv.global", ".nv.shared.", ".debug_frame")


def step_programs():
    for name, arch, mode in programs():
        if mode == "final" and int(re.match(r"\d+", arch)[0]) < 100 and (name, "again") not in OTHER_FORM:
            yield name, arch


def of_loader(path):
    f = File(read(path))
    return {n: (r[5], f.body(r)) for n, r in f.sections if n.startswith(COMPARED)}


@in_folder
def one_step_program(d, name, arch):
    """What cuvet makes with -r loses nothing: linked again by either it is what the reference makes at once."""
    sources = sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx", name + ".*.ptx")))
    inputs = [compiled(read(s).decode(), arch, os.path.basename(s)[:-4]) for s in sources]
    part, direct = os.path.join(d, "part.cubin"), os.path.join(d, "direct.cubin")
    p = lr.tool(os.environ["CUVET"], "link", "-arch=sm_" + arch, "-r", *inputs, "-o", part)
    if p.returncode == 1 and b"CV-LINK-" in p.stderr + p.stdout:
        return None
    if p.returncode:
        raise lr.Different("-r: cuvet %d %s" % (p.returncode, p.stderr.decode("latin-1")[:300]))
    if lr.tool("nvlink", "-arch=sm_" + arch, *inputs, "-o", direct).returncode:
        return None
    want = of_loader(direct)
    for said in link_both(arch, [], [part], d):
        got = of_loader(said[2]) if said[0] == 0 else {}
        if got != want:
            raise lr.Different("%d %s: other %s" % (said[0], said[1][:200], sorted(n for n in set(want) | set(got) if want.get(n) != got.get(n))))
    return None


# --- objects of old tools ------------------------------------------------------------------------------------

OLD_PTXAS = os.environ.get("CV_OLD_PTXAS")
OLD_VERSION = "7.8"
# Where the file behind the note that names the tool begins decides how much of a segment is padding.
OLD_PLACES = {("data_aligned", "75")}
# alias_earlier: code with two names that says nothing of sparse multiplication gets the same record twice.
OLD_FORM = {("alias_earlier", "90", "old second")}


def knows_90():
    """Objects for sm_90 of tools before 12.0 are refused by both."""
    return re.search(r"release 1[2-9]", lr.tool(OLD_PTXAS, "--version").stdout.decode("latin-1"))


def old_programs():
    most = 91 if OLD_PTXAS and knows_90() else 90
    for name, arch, mode in programs() if OLD_PTXAS else ():
        if int(re.match(r"\d+", arch)[0]) < most and (name, arch) not in OLD_PLACES:
            modes = (mode, "own") if mode == "again" else (mode,)
            yield from ((name, arch, m, turn) for m in modes for turn in ("old", "old first", "old second") if (name, arch, turn) not in OLD_FORM)


@in_folder
def one_old_program(d, name, arch, mode, turn):
    sources, inputs = sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx", name + ".*.ptx"))), []
    for i, source in enumerate(sources):
        old = turn == "old" or (i % 2 == 0) == (turn == "old first")
        text = re.sub(r"\.version [89]\.\d", ".version " + OLD_VERSION, read(source).decode())
        try:
            inputs.append(compiled(text, arch, "%s.%d.%s" % (name, i, "old" if old else "now"), OLD_PTXAS if old else "ptxas"))
        except RuntimeError:
            return None  # what it does not know
    if mode in ("again", "own"):
        part = os.path.join(d, "part.cubin")
        first = ["nvlink"] if mode == "again" else [os.environ["CUVET"], "link"]
        if lr.tool(*first, "-arch=sm_" + arch, "-r", *inputs, "-o", part).returncode:
            return None
        inputs = [part]
    theirs, ours = link_both(arch, OPTIONS.get(mode, ()), inputs, d, ["--compat-r"] if mode == "-r" else [])
    if theirs[0] and "reference to deleted symbol" in theirs[1]:
        return None
    if ours[0] == 1 and "externsharedinstance" in ours[1]:
        return None
    if (theirs[0] == 0) != (ours[0] == 0):
        raise lr.Different("nvlink %d %s; cuvet %d %s" % (theirs[0], theirs[1][:200], ours[0], ours[1][:300]))
    if theirs[0] == 0:
        lr.strict(read(theirs[2]), read(ours[2]))
        p = lr.tool(os.environ["CUVET"], "scan", theirs[2])
        if p.returncode:
            raise lr.Different("the reference's result is not clean: " + p.stdout.decode("latin-1")[:300])
    return None


# --- plain code ---------------------------------------------------------------------------------------------

PLAIN_ARCHES = ("100", "103", "120", "121") if FULL else ("100",)


def plain_programs():
    for first in sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx/*.0.ptx"))):
        name = os.path.basename(first)[:-len(".0.ptx")]
        suffix = re.search(r"\.target sm_\d+([af]?)", read(first).decode()).group(1)
        for arch in () if suffix else PLAIN_ARCHES:
            yield from ((name, arch, mode) for mode in OPTIONS if mode != "again" and (name, mode) not in OTHER_FORM)


@in_folder
def one_plain_program(d, name, arch, mode):
    """From sm_100 on, without capsules: there is nothing that the reference makes again, so all bytes are compared."""
    inputs = []
    for source in sorted(glob.glob(os.path.join(ROOT, "corpus/link/ptx", name + ".*.ptx"))):
        inputs.append(os.path.join(d, os.path.basename(source)[:-4] + ".cubin"))
        made = compiled(read(source).decode(), arch, os.path.basename(source)[:-4])
        if lr.tool(os.environ["CUVET"], "finalize", "--binary-kind=sass", made, "-o", inputs[-1]).returncode:
            raise lr.Different("not stripped: " + made)
    theirs, ours = link_both(arch, OPTIONS[mode], inputs, d, ["--compat-r"] if mode == "-r" else [])
    if (theirs[0] == 0) != (ours[0] == 0):
        raise lr.Different("nvlink %d %s; cuvet %d %s" % (theirs[0], theirs[1][:200], ours[0], ours[1][:300]))
    if theirs[0] == 0:
        lr.strict(read(theirs[2]), read(ours[2]))
    return None


# --- types -------------------------------------------------------------------------------------------------

def types():
    for arch in ARCHES:
        if int(re.match(r"\d+", arch)[0]) < 100:
            yield from ((arch, place, kind, t, "") for place in ("code", "data") for kind in KINDS for t in range(N_TYPES))
            # what the slots of a kernel and cleared words may name is asked of a relocatable link, too
            yield from ((arch, place, kind, t, "-r") for place in ("code", "data") for kind in CONSTANTS for t in (65, 72))
            yield from ((arch, place, kind, t, "-r") for place in ("code", "data") for kind in ("texture", "surface") for t in range(N_TYPES))


def at_place(path, section, off):
    """16 bytes, and what stays for them: type, symbol, addend"""
    f = File(read(path))
    row = f.find(section)
    left = [(t, f.symbols[s], a) for n, _ in f.sections if n in (".rel" + section, ".rela" + section)
            for _, o, s, t, a in f.entries(n) if o == off]
    return f.data[row[4] + off:row[4] + off + 16].hex(), left


@in_folder
def one_type(d, arch, place, kind, t, mode):
    f = File(read(compiled(MEMORY, arch, "memory")))
    if kind not in f.symbols and kind != "shared":  # sm_90 has no _param
        return None
    section = ".text.kernel" if place == "code" else ".nv.global.init"
    names = [n for n, _ in f.sections if n in (".rel" + section, ".rela" + section)]
    entries = [e for n in names for e in f.entries(n)]
    shared = f.number("shared")
    at, off = next((e[0], e[1]) for e in entries if (e[2] == shared if place == "code" else e[1] == 0))
    data, row = bytearray(f.data), f.find(section)
    struct.pack_into("<Q", data, at + 8, f.number(kind) << 32 | t)
    data[row[4] + off:row[4] + off + 16] = bytes(16)
    path = os.path.join(d, "in.cubin")
    with open(path, "wb") as g:
        g.write(data)
    theirs, ours = link_both(arch, [mode] if mode else [], [path], d, ["--compat-r"] if mode else [])
    if ours[0] == 0 and mode and (kind, t) in KEPT:
        return None
    if ours[0] == 0:
        if theirs[0]:
            raise lr.Different("linked; nvlink: %d %s" % (theirs[0], theirs[1][-200:]))
        a, b = at_place(theirs[2], section, off), at_place(ours[2], section, off)
        if a != b:
            raise lr.Different("%s, not %s" % (b, a))
    elif ours[0] != 1 or "CV-" not in ours[1]:
        raise lr.Different("cuvet %d %s" % (ours[0], ours[1][-200:]))
    return None


# --- attributes --------------------------------------------------------------------------------------------

PAYLOADS = ((4, ("g", "f")), (4, ("f", 77)), (4, ("k",)), (1, 0), (2, 1), (3, 1))
MERGED = (0x00, 0x12, 0x23, 0x2F, 0x11, 0x50)  # of which the link of both makes other records


def attributes():
    for arch in ARCHES:
        if int(re.match(r"\d+", arch)[0]) < 100:
            yield from ((arch, section, code, p) for section in (".nv.info", ".nv.info.k") for code in range(N_CODES)
                        if code not in MERGED for p in range(len(PAYLOADS)))


def records(data):
    """of each section of information: code, format, value or words, symbols by name where a word names one that has the name of a side"""
    f, found = File(data), {}
    for name, row in f.sections:
        at, body = 0, f.body(row)
        while row[1] == 0x70000000 and at < len(body):
            form, code, value = struct.unpack_from("<BBH", body, at)
            words = struct.unpack_from("<%dI" % (value // 4), body, at + 4) if form == 4 else value
            found.setdefault(name, []).append((code, form, words))
            at += 4 + (value if form == 4 else 0)
    return found


@in_folder
def one_attribute(d, arch, section, code, p):
    form, payload = PAYLOADS[p]
    inputs = []
    for side in "ab":
        f = File(read(compiled(re.sub(r"\b([gfk])A\b", r"\1" + side, SIDE), arch, "side_" + side)))
        words = b"".join(struct.pack("<I", f.number(w + side) if isinstance(w, str) else w) for w in payload) if form == 4 else b""
        record = struct.pack("<BBH", form, code, len(words) if form == 4 else payload) + words
        inputs.append(os.path.join(d, side + ".cubin"))
        with open(inputs[-1], "wb") as g:
            g.write(f.with_more(section if section == ".nv.info" else section + side, record))
    theirs, ours = link_both(arch, [], inputs, d)
    if ours[0] == 0 and theirs[0] < 0:
        return None  # it crashes on some records that say nothing
    if ours[0] == 0:
        if theirs[0]:
            raise lr.Different("linked; nvlink: %d %s" % (theirs[0], theirs[1][-200:]))
        a, b = records(read(theirs[2])), records(read(ours[2]))
        if a != b:
            raise lr.Different("%s, not %s" % (b.get(section), a.get(section)))
    elif ours[0] != 1 or "CV-" not in ours[1]:
        raise lr.Different("cuvet %d %s" % (ours[0], ours[1][-200:]))
    return None


# --- arrays ------------------------------------------------------------------------------------------------

ARRAY_HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
ARRAY_MODES = [more + g for g in ((), ("-g",)) for more in ((), ("--preserve-relocs",), ("-r",), ("-r", "--preserve-relocs"))]
# with debug data, alignments of variables
ARRAY_KINDS = {"plain": (False, (4, 8, 16)), "debug": (True, (4, 8, 16)), "wide": (False, (4, 16, 32, 64, 128)), "wide_debug": (True, (4, 16, 32, 64, 128))}
CALL = " { .param .b32 x; .param .b32 y; st.param.b32 [x], %%r1; call (y), f%d, (x); ld.param.b32 %%r1, [y]; }\n"
NAMED = (" ld.shared.u32 %%r2, [%s+%d]; add.u32 %%r1, %%r1, %%r2;\n", " mov.u32 %%r2, %s+%d; add.u32 %%r1, %%r1, %%r2;\n",
         " mov.u32 %%r2, %s; add.u32 %%r2, %%r2, %%r1; st.shared.u32 [%%r2+%d], %%r1;\n",
         " mov.u64 %%d2, %s; cvta.shared.u64 %%d2, %%d2; add.u64 %%d2, %%d2, %d; st.u32 [%%d2], %%r1;\n")


def array_body(rng, arrays, name, aligns):
    own = ["%s_%d" % (name, i) for i in range(rng.choice((0, 0, 1, 2)))]
    text = " .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    text += "".join(" .shared .align %d .b8 %s[%d];\n" % (rng.choice(aligns), n, rng.choice((12, 16, 20, 40))) for n in own)
    text += " mov.u32 %r1, %tid.x;\n"
    text += "".join(rng.choice(NAMED) % (n, rng.choice((0, 0, 4, 8, 20, 1024))) for n, _ in arrays if rng.random() < 0.6)
    return text + "".join(" st.shared.u32 [%s+4], %%r1;\n" % n + NAMED[0] % (n, 8) for n in own)


def array_debug(rng, text, arrays):
    """Debug data that names arrays, and variables of shared memory that code of the file names."""
    own = [n for n in re.findall(r"\.shared \.align \d+ \.b\d+ (\w+)\[\d", text) if not n.startswith("nobody")]
    named = [n for n in [a for a, _ in arrays] + own if rng.random() < 0.6]
    if not named:
        return ""
    rows = "".join(" .b8 2\n .b8 9\n .b8 3\n .b64 %s%s\n" % (n, rng.choice(("", "+4", "+64"))) for n in named)
    return (".section .debug_abbrev {\n .b8 1,17,1,0,0\n .b8 2,52,0,2,10,0,0\n .b8 0\n}\n.section .debug_info {\n"
            " .b32 %d\n .b8 2,0\n .b32 .debug_abbrev\n .b8 8\n .b8 1\n%s .b8 0\n}\n" % (9 + 11 * len(named), rows))


def array_program(seed, debug=False, aligns=(4, 8, 16)):
    rng = random.Random(seed)
    arrays = [("array%d" % i, rng.choice(aligns)) for i in range(rng.randint(1, 2))]
    files, n_functions = [[] for _ in range(rng.randint(1, 3))], rng.randint(0, 3)
    for i in range(n_functions):
        calls = [c for c in range(i) if rng.random() < 0.3]
        text = ".%s .func (.param .b32 r) f%d(.param .b32 a) {\n" % (rng.choice(("visible",) * 5 + ("weak",)), i)
        text += array_body(rng, arrays, "f%d" % i, aligns) + "".join(CALL % c for c in calls) + " st.param.b32 [r], %r1; ret; }\n"
        rng.choice(files).append((i, calls, text))
    for i in range(rng.randint(1, 3)):
        calls = [c for c in range(n_functions) if rng.random() < 0.4]
        text = ".visible .entry k%d(.param .u64 p) {\n" % i + array_body(rng, arrays, "k%d" % i, aligns) + "".join(CALL % c for c in calls)
        rng.choice(files).append((None, calls, text + " ld.param.u64 %d1, [p]; st.global.u32 [%d1], %r1; ret; }\n"))
    for at, parts in enumerate(files):
        text = ARRAY_HEAD + "".join(".extern .shared .align %d .b8 %s[];\n" % (a, n) for n, a in arrays)
        if rng.random() < 0.3:
            text += ".shared .align %d .b32 nobody%d[%d];\n" % (rng.choice((4, 16)), at, rng.randint(1, 5))
        for c in sorted({c for p in parts for c in p[1]} - {p[0] for p in parts}):
            text += ".extern .func (.param .b32 r) f%d(.param .b32 a);\n" % c
        text += "".join(p[2] for p in parts)
        more = array_debug(random.Random("%d %d" % (seed, at)), text, arrays) if debug else ""
        yield text.replace(".target sm_75", ".target sm_75, debug") + more if more else text


def array_programs():
    for arch in ARCHES:
        if int(re.match(r"\d+", arch)[0]) < 100:
            yield from ((arch, kind, seed) for kind in ARRAY_KINDS for seed in range(60 if FULL else 6))


@in_folder
def one_array_program(d, arch, kind, seed):
    inputs = [compiled(text, arch, "arrays.%s.%d.%d" % (kind, seed, i)) for i, text in enumerate(array_program(seed, *ARRAY_KINDS[kind]))]
    for mode in ARRAY_MODES:
        theirs, ours = link_both(arch, mode, inputs, d, ["--compat-r"] if "-r" in mode else [])
        if theirs[0] and "reference to deleted symbol" in theirs[1]:
            continue  # it does not get through itself
        if theirs[0] or ours[0]:
            raise lr.Different("%s: nvlink %d %s; cuvet %d %s" % (mode, theirs[0], theirs[1][:200], ours[0], ours[1][:300]))
        lr.strict(read(theirs[2]), read(ours[2]))
    return None


# --- wide --------------------------------------------------------------------------------------------------

# options, kernels, dead functions: the fewest with which the reference makes the table
WIDE = (((), 13054, 0), (("-r",), 16317, 0), (("--preserve-relocs",), 13053, 0), ((), 10000, 7633))
WIDE_FILES = 4


def wide_programs():
    if FULL and "75" in ARCHES:
        yield from ((mode, kernels, dead, less) for mode, kernels, dead in WIDE for less in (0, 1))


@in_folder
def one_wide_program(d, mode, kernels, dead, less):
    names = [".visible .entry k%d() { ret; }\n" % i for i in range(kernels - (less if not dead else 0))]
    names += [".visible .func d%d() { ret; }\n" % i for i in range(dead - (less if dead else 0))]
    inputs = []
    for i in range(WIDE_FILES):
        inputs.append(compiled(ARRAY_HEAD + "".join(names[i::WIDE_FILES]), "75", "wide.%d.%d.%d.%d" % (kernels, dead, less, i)))
    theirs, ours = link_both("75", mode, inputs, d, ["--compat-r"] if "-r" in mode else [])
    if theirs[0] or ours[0]:
        raise lr.Different("nvlink %d; cuvet %d %s" % (theirs[0], ours[0], ours[1][:300]))
    a, b = File(read(theirs[2])), File(read(ours[2]))
    if (".symtab_shndx" in dict(a.sections)) == bool(less):
        raise lr.Different("the reference has %s table of wide numbers" % ("no" if not less else "a"))
    if [n for n, _ in a.sections] != [n for n, _ in b.sections]:
        raise lr.Different("other sections: %d, not %d" % (len(b.sections), len(a.sections)))
    if less:
        lr.strict(a.data, b.data)
    return None


def main():
    why = lr.without("ptxas", "nvlink")
    if why:
        print("SKIPPED: %s; nothing was compared" % why)
        return 77
    total = bad = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        for what, jobs, one in (("programs", programs, one_program), ("types", types, one_type),
                                ("attributes", attributes, one_attribute), ("steps", step_programs, one_step_program), ("plain", plain_programs, one_plain_program), ("arrays", array_programs, one_array_program),
                                ("old", old_programs, one_old_program), ("wide", wide_programs, one_wide_program)):
            args = list(jobs())[::SHARE if what in ("types", "attributes") else 1]
            if args:
                one(*args[0])  # compiles
            found = [x for x in pool.map(lambda a: one(*a), args) if x]
            for text in found[:40]:
                print("DIFFERENT: %s: %s" % (what, text[:500]))
            print("%s: %d of %d" % (what, len(args) - len(found), len(args)))
            total += len(args)
            bad += len(found)
    if not OLD_PTXAS:
        print("SKIPPED: old: CV_OLD_PTXAS names no ptxas of CUDA 11.8 to 12.6, objects of old tools were NOT compared")
    print("%d passed, %d failed, %d skipped" % (total - bad, bad, not OLD_PTXAS))
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
