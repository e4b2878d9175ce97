#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of several files: what cuvet links against what nvlink links, byte for byte.

The programs come from a generator of our own that is no part of this project: LINKCASES names the folder of
random_programs.py, as for tools/corpus/build_link.sh. Each file is compiled with nvcc -rdc=true -cubin for each architecture,
and the objects of one program are linked by both, finally and with -r (--compat-r on our side, which asks for the
reference's exact form). Everything must be equal but .note.nv.tkinfo, which names the linker, and what moves because of its
size. From sm_100 on the reference compiles code again; there both must link, and what is compared are the sections' names
and the code.

  CV_SEEDS=1-300      which programs (default: 1-3, with CV_FULL=1 1-40)
  CV_ARCHES=75,80,90  for which architectures; 100 is only looked at when it is named
  CV_WAYS=-g,-r       ways to link (default: final,-r; there are -g and --preserve-relocs)
  CV_CACHE=DIR        where objects stay, DIR/<arch>/f<seed>_<file>.cubin
  CV_KEEP=DIR         where the outputs of a difference are put
  CV_PTXAS=ptxas:PATH  each file is compiled by one of these, from PTX of ISA 7.8 and with barriers (CUDA 11.8 is the oldest that knows
                      it; the wheels nvidia-cuda-nvcc-cu11 and -cu12 of the package index have such): what one tool alone never writes
  CV_JOBS=2

77: skipped, said on the last line. Needs nvcc and nvlink of CUDA 13.0 on PATH.
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

TMP = os.environ.get("CV_TMP") or tempfile.mkdtemp(prefix="cuvet-random-")
CACHE = os.environ.get("CV_CACHE") or os.path.join(TMP, "cache")
KEEP = os.environ.get("CV_KEEP")
FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90").split(",")
MODES = (("final", [], []), ("-r", ["-r"], ["--compat-r"]), ("-g", ["-g"], []), ("--preserve-relocs", ["--preserve-relocs"], []))
MODES = [mode for mode in MODES if mode[0] in os.environ.get("CV_WAYS", "final,-r").split(",")]
COMPILERS = [c for c in os.environ.get("CV_PTXAS", "").split(":") if c]
RELEASE = {}  # of each of them
TOOL_NOTE = b".note.nv.tkinfo"
RELOCATIONS = (4, 9)
NOBITS = (8, 0x70000007, 0x7000000A)


# What nvlink says when it cannot go on through no fault of the program (-G or --preserve-relocs, and a shared variable without a place).
DEFECT = "Internal error: reference to deleted"
FAILS = "the reference fails"


class Different(Exception):
    pass


# --- comparison --------------------------------------------------------------------------------------------

def name_at(table, off):
    return table[off:table.index(b"\0", off)]


class Image:
    """A file as parts that do not depend on the size of the tool note."""

    def __init__(self, data, placed=True):
        self.data = data
        if data[:4] != b"\x7fELF" or len(data) < 64:
            raise Different("no ELF file")
        header = list(struct.unpack_from("<16sHHIQQQIHHHHHH", data, 0))
        self.phoff, self.shoff = header[5], header[6]
        n_segments, n_sections = header[10], header[12]
        if n_sections == 0:
            n_sections = struct.unpack_from("<Q", data, self.shoff + 32)[0]
        header[5], header[6] = bool(self.phoff), 0
        self.header = tuple(header)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, self.shoff + 64 * i) for i in range(n_sections)]
        names = self.body(rows[header[13]])
        self.sections = [self.section(name_at(names, r[0]), r) for r in rows]
        if placed:
            self.places(rows)
        self.segments = [self.segment(struct.unpack_from("<IIQQQQQQ", data, self.phoff + 56 * i), rows, names)
                         for i in range(n_segments)]
        tables = self.shoff + 64 * n_sections + 56 * n_segments
        if len(data) != tables or (n_segments and self.phoff != self.shoff + 64 * n_sections):
            raise Different("the file does not end with its tables")

    def body(self, row):
        return b"" if row[1] in NOBITS or row[1] == 0 else self.data[row[4]:row[4] + row[5]]

    def section(self, name, row):
        """name, header without place, contents; of the tool note only its header without size."""
        head = row[:4] + row[6:]
        return (name, head, None, None) if name == TOOL_NOTE else (name, head, row[5], self.body(row))

    def places(self, rows):
        """Offsets follow from sizes and alignments, and what is between contents is zero."""
        at = 64
        for row in rows[1:]:
            start = -(-at // max(row[8], 1)) * max(row[8], 1)
            if row[4] != start or self.data[at:start].strip(b"\0"):
                raise Different("a section at %#x, not at %#x behind zeros" % (row[4], start))
            at = start if row[1] in NOBITS else start + row[5]
        if self.shoff != -(-at // 8) * 8 or self.data[at:self.shoff].strip(b"\0"):
            raise Different("section headers at %#x" % self.shoff)

    def segment(self, row, rows, names):
        """Without what padding makes of sizes: the sections at both ends, and whether memsz follows from filesz."""
        kind, flags, off, vaddr, paddr, filesz, memsz, align = row
        if off == self.phoff:
            return kind, flags, "tables", vaddr, paddr, filesz, memsz, align
        named = [(name_at(names, r[0]), r[4], r[4] + (0 if r[1] in NOBITS else r[5]), r) for r in rows[1:]]
        # What has no bytes may happen to lie where those end that have some.
        alike = [n for n in named if (n[3][1] in NOBITS) == (filesz == 0)]
        first = [n for n, start, _, _ in alike if start == off]
        last = [n for n, _, end, _ in alike if end == off + filesz]
        end = off + filesz  # what has no bytes is aligned as places in the file are
        for _, start, _, r in named:
            if r[1] in NOBITS and start >= off:
                end = -(-end // max(r[8], 1)) * max(r[8], 1) + r[5]
        rest = "zeros behind" if memsz == end - off else "nothing behind" if memsz == filesz else memsz - filesz
        return kind, flags, first, last, rest, vaddr, paddr, align


def strict(reference, candidate):
    r, c = Image(reference), Image(candidate)
    if r.header != c.header:
        raise Different("file header: %s, not %s" % (c.header, r.header))
    if [s[0] for s in r.sections] != [s[0] for s in c.sections]:
        raise Different("sections: " + first_difference([s[0] for s in r.sections], [s[0] for s in c.sections]))
    for a, b in zip(r.sections, c.sections):
        for what, i in (("header", 1), ("size", 2), ("contents", 3)):
            if a[i] != b[i]:
                raise Different("%s of %s: %s" % (what, a[0].decode("latin-1"), first_difference(a[i], b[i])))
    if r.segments != c.segments:
        raise Different("segments: " + first_difference(r.segments, c.segments))


def first_difference(a, b):
    if not hasattr(a, "__len__"):
        return "%s, not %s" % (b, a)
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return "%s at %#x, not %s" % (y, i, x)
    return "%d long, not %d" % (len(b), len(a))


def code(data, placed=True):
    """Names of all sections that nobody compiled again, and the code: for architectures from sm_100 on. The reference keeps
    relocation sections that became empty."""
    image = Image(data, placed)
    names = {s[0] for s in image.sections
             if not s[0].startswith((b".nv.merc", b".nv.capmerc", TOOL_NOTE)) and (s[1][1] not in RELOCATIONS or s[2])}
    return names, {s[0]: s[3] for s in image.sections if s[0].startswith(b".text.")}


def same_code(reference, candidate):
    # the reference leaves gaps behind tables of names that became shorter
    r, c = code(reference, False), code(candidate)
    if r[0] - {b".symtab_shndx"} != c[0] - {b".symtab_shndx"}:
        raise Different("sections: " + ", ".join(sorted(x.decode("latin-1") for x in r[0] ^ c[0])))
    for name, body in r[1].items():
        if body != c[1][name]:
            raise Different("contents of " + name.decode("latin-1"))


# --- programs ----------------------------------------------------------------------------------------------

def tool(*argv, **more):
    return subprocess.run(argv, capture_output=True, check=False, timeout=600, **more)


def sources(generator, seed):
    d = os.path.join(TMP, "src")
    os.makedirs(d, exist_ok=True)
    p = tool(sys.executable, "-B", generator, str(seed), d)
    if p.returncode:
        raise RuntimeError("the generator failed for %d: %s" % (seed, p.stderr.decode("latin-1")))
    return [os.path.join(d, "f%d_%d.cu" % (seed, i)) for i in range(int(p.stdout))]


def compiled(source, arch):
    out = os.path.join(CACHE, arch, os.path.basename(source)[:-3] + ".cubin")
    if not os.path.exists(out):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        part = "%s.%d" % (out, os.getpid())
        p = tool("nvcc", "-w", "-rdc=true", "-cubin", "-arch=sm_" + arch, source, "-o", part)
        if p.returncode:
            raise RuntimeError("nvcc: " + p.stderr.decode("latin-1")[-300:])
        os.rename(part, out)
    return out


def with_barriers(text, rng):
    """Functions wait at some of the 16, kernels at one: where a kernel has more than what it calls, ours is not the reference's number
    (docs/link-partial.md)."""
    lines, most = text.splitlines(), 1
    for i, line in enumerate(lines):
        if ".entry" in line or ".func" in line:
            most = 1 if ".entry" in line else 16
        if line.strip() == "ret;" and rng.random() < 0.5:
            lines[i] = "bar.sync %d; ret;" % rng.randrange(most)
    return "\n".join(lines) + "\n"


def compiled_by_one(source, arch, seed):
    """By one of CV_PTXAS, as the seed has it; objects for sm_90 of tools before 12.0 are refused by both linkers."""
    rng = random.Random("%s %s %d" % (os.path.basename(source), arch, seed))
    compiler = rng.choice([c for c in COMPILERS if arch != "90" or RELEASE[c] >= 12])
    out = os.path.join(TMP, "%s.%s" % (os.path.basename(source)[:-3], arch))
    p = tool("nvcc", "-w", "-rdc=true", "-ptx", "-arch=sm_" + arch, source, "-o", out + ".ptx")
    if p.returncode:
        raise RuntimeError("nvcc: " + p.stderr.decode("latin-1")[-300:])
    with open(out + ".ptx", encoding="latin-1") as f:
        text = re.sub(r"\.version \d\.\d", ".version 7.8", f.read())
    with open(out + ".ptx", "w", encoding="latin-1") as f:
        f.write(with_barriers(text, rng))
    p = tool(compiler, "-c", "-arch=sm_" + arch, out + ".ptx", "-o", out + ".cubin")
    if p.returncode:
        raise RuntimeError("%s: %s" % (compiler, p.stderr.decode("latin-1")[-300:]))
    return out + ".cubin"


def linked(argv, out):
    p = tool(*argv, "-o", out)
    said = (p.stdout + p.stderr).decode("latin-1").strip()
    if os.path.exists(out) != (p.returncode == 0):
        raise Different("%s: exit %d, and %s output: %s" %
                        (argv[0], p.returncode, "an" if os.path.exists(out) else "no", said[:300]))
    return p.returncode, said


def one(seed, arch, mode, objects):
    """None, or what is different."""
    name, theirs, ours = mode
    d = tempfile.mkdtemp(dir=TMP)
    ref, out = os.path.join(d, "nvlink.cubin"), os.path.join(d, "cuvet.cubin")
    try:
        rc, said = linked(["nvlink", "-arch=sm_" + arch] + theirs + objects, ref)
        our_rc, we_said = linked([os.environ["CUVET"], "link", "-arch=sm_" + arch] + theirs + ours + objects, out)
        if rc != 0 and our_rc == 0 and DEFECT in said:
            return FAILS
        if (rc == 0) != (our_rc == 0):
            raise Different("nvlink %d %s; cuvet %d %s" % (rc, said[:200], our_rc, we_said[:200]))
        if rc == 0:
            with open(ref, "rb") as f, open(out, "rb") as g:
                (same_code if int(re.match(r"\d+", arch)[0]) >= 100 else strict)(f.read(), g.read())
        return None
    except (Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
        if KEEP:
            shutil.copytree(d, os.path.join(KEEP, "%d.%s.%s" % (seed, arch, name.strip("-"))), dirs_exist_ok=True)
        return "program %d, sm_%s, %s: %s" % (seed, arch, name, e)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def run(*argv):
    """argv ends with -o and a path; what is written there"""
    rc, said = linked(list(argv[:-2]), argv[-1])
    if rc:
        raise Different("%s: %s" % (" ".join(argv[:2]), said[:300]))
    with open(argv[-1], "rb") as f:
        return f.read()


def code_and_data(data):
    """What a loader uses: code, banks, initialised data, sizes of shared memory."""
    kept = (b".text.", b".nv.constant", b".nv.global", b".nv.shared.")
    return {s[0]: s[2:] for s in Image(data).sections if s[0].startswith(kept)}


def two_steps(seed, arch, objects):
    """Our own form of -r loses nothing: linked again, by either linker, alone or with an object behind it, it is what the objects are."""
    d = tempfile.mkdtemp(dir=TMP)
    ours = [os.environ["CUVET"], "link", "-arch=sm_" + arch]
    part = os.path.join(d, "part.cubin")
    try:
        want = code_and_data(run(*ours, *objects, "-o", os.path.join(d, "direct.cubin")))
        for first, rest in ((objects, []), (objects[:-1], objects[-1:])):
            run(*ours, "-r", *first, "-o", part)
            for name, linker in (("cuvet", ours), ("nvlink", ["nvlink", "-arch=sm_" + arch])):
                got = code_and_data(run(*linker, part, *rest, "-o", os.path.join(d, name + ".cubin")))
                for s in sorted(set(want) | set(got)):
                    if want.get(s) != got.get(s):
                        raise Different("%s, %d behind the part: %s is another one than without -r" % (name, len(rest), s.decode("latin-1")))
        return None
    except (Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
        if KEEP:
            shutil.copytree(d, os.path.join(KEEP, "%d.%s.steps" % (seed, arch)), dirs_exist_ok=True)
        return "program %d, sm_%s, two steps: %s" % (seed, arch, e)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def program(generator, seed):
    """[(architecture, mode, what is different)]"""
    found = []
    for arch in ARCHES:
        objects = [compiled_by_one(s, arch, seed) if COMPILERS else compiled(s, arch) for s in sources(generator, seed)]
        found += [(arch, mode[0], one(seed, arch, mode, objects)) for mode in MODES]
        if int(re.match(r"\d+", arch)[0]) < 100:
            found.append((arch, "two steps", two_steps(seed, arch, objects)))
    return found


def without(*tools):
    """Why there is nothing to compare with; None: the tools are there, and nvlink is the one whose exact form ours is."""
    for name in tools:
        if not shutil.which(name):
            return name + " is not on PATH"
    release = re.search(r"release (\d+\.\d+)", tool("nvlink", "--version").stdout.decode("latin-1"))
    if not release or release.group(1) != "13.0":
        return "nvlink of CUDA 13.0 is needed: its exact form is what is compared"
    return None


def missing(generator):
    if not generator or not os.path.exists(generator):
        return "LINKCASES does not name the folder of random_programs.py"
    return without("nvcc", "nvlink")


def main():
    generator = os.path.join(os.environ["LINKCASES"], "random_programs.py") if os.environ.get("LINKCASES") else None
    why = missing(generator)
    if why:
        print("SKIPPED: %s, random programs were linked by nobody" % why)
        return 77
    for c in COMPILERS:
        RELEASE[c] = int(re.search(r"release (\d+)", tool(c, "--version").stdout.decode("latin-1"))[1])
    first, _, last = os.environ.get("CV_SEEDS", "1-40" if FULL else "1-3").partition("-")
    seeds = range(int(first), int(last or first) + 1)
    counts, bad = {}, []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        for found in pool.map(lambda s: program(generator, s), seeds):
            for arch, mode, text in found:
                row = counts.setdefault((arch, mode), [0, 0, 0])
                row[0] += text is None
                row[1] += 1
                row[2] += text == FAILS
                if text and text != FAILS:
                    bad.append(text)
    for text in bad[:60]:
        print("DIFFERENT: " + text[:600])
    for (arch, mode), (good, of, fails) in sorted(counts.items()):
        print("sm_%s %s: %d of %d equal%s" % (arch, mode, good, of, ", in %d the reference fails" % fails if fails else ""))
    total = sum(of for _, of, _ in counts.values())
    print("%d programs" % len(seeds))
    print("%d passed, %d failed, 0 skipped" % (total - len(bad), len(bad)))
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
