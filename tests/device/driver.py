#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the driver of this machine does with images, and whether a scan says what it has to.

  places     segments that lead elsewhere, sections that lead elsewhere, names, types and flags of sections, the header: what runs is
             what the sections say, and every image in which the driver runs something else has a finding
  records    every section and every record of .nv.info left out in turn
  relocations  every type against a variable, a constant and a function; symbols, offsets and addends of all kinds
  selection  members of fat binaries in pairs and mixes: the one that runs is the one that `cuvet select` takes
  provided   the functions of spec/driver.def: what is linked loads, and which of them the driver has
  linked     programs of several units that know what they compute (linked.py), linked by cuvet in all ways and, where it is, by nvlink
  mutants    bytes changed, anywhere (CV_MUTANTS=N, default 4000)

In each group what ends the driver by a signal, or keeps it for more than ten seconds, has a finding of a scan. That is what fails
here; what the driver does with the rest is printed, and docs/evidence/driver.md has it for one driver.

  CV_GROUPS=places,mutants   only these
  CV_JOBS=8                  processes; each has a context of its own
  CV_KEEP=DIR                the answers of the driver are left there
  CV_PROGRAMS=N              programs of `linked`, default 24

A machine with a device and no toolkit: CV_PREPARE=DIR CV_MACHINE=90 on one that has nvcc leaves there what the tools make of the
sources, and CV_PREPARED=DIR takes it from there.

77: skipped, said on the last line. Needs a driver with a device from sm_75 on, a compiler for C, and nvcc and fatbinary on PATH.
"""
import collections
import concurrent.futures
import ctypes
import hashlib
import json
import os
import queue
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
import edit  # noqa: E402
import linked as programs  # noqa: E402

CUVET = os.environ.get("CUVET", os.path.join(ROOT, "build", "cuvet"))
JOBS = int(os.environ.get("CV_JOBS", "8"))
MUTANTS = int(os.environ.get("CV_MUTANTS", "4000"))
PROGRAMS = int(os.environ.get("CV_PROGRAMS", "24"))
PREPARE, PREPARED = os.environ.get("CV_PREPARE"), os.environ.get("CV_PREPARED")
SECONDS = 10  # longer than that nothing here takes
NEVER = ("clean", "unsupported")  # verdicts that count for no exit code
FIRST, OTHER = "6f", "de"  # what the two kernels write
DATA = {"5": "0x55555555u", "a": "0xAAAAAAAAu"}


class Skipped(Exception):
    pass


def machine():
    """90, of the first device; raises Skipped where there is none"""
    if PREPARE:
        return int(os.environ["CV_MACHINE"])
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise Skipped("no driver") from None
    device, value = ctypes.c_int(), [ctypes.c_int(), ctypes.c_int()]
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0):
        raise Skipped("no device")
    for at, attribute in enumerate((75, 76)):  # the two numbers of its capability
        cuda.cuDeviceGetAttribute(ctypes.byref(value[at]), attribute, device)
    return value[0].value * 10 + value[1].value


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(argv), done.stdout[-400:]))


def make(folder, out, *argv):
    """A tool makes `out`, here or, for CV_PREPARED, where it was made: the same words and the same inputs have the same name there."""
    name, place = hashlib.sha256(), PREPARE or PREPARED
    for word in argv:
        name.update(word.replace(folder, "@").replace(ROOT, "@").encode() + b"\0")
        path = word.rpartition("=")[2]
        if os.path.isfile(path) and path not in (out, CUVET):
            with open(path, "rb") as f:
                name.update(f.read())
    kept = os.path.join(place, name.hexdigest()) if place else None
    if PREPARED:
        if not os.path.exists(kept):
            raise Skipped("CV_PREPARED has no %s" % os.path.basename(out))
        shutil.copyfile(kept, out)
        return
    run(*argv)
    if kept:
        shutil.copyfile(out, kept)


Answer = collections.namedtuple("Answer", "load found launch sync attributes words ended")
ENDED, LATE = Answer(-1, -1, -1, -1, "", "", True), Answer(-1, -1, -1, -1, "late", "", True)


class Driver:
    """Processes that hold the driver, and questions for them."""

    def __init__(self, folder):
        self.folder, self.probe = folder, os.path.join(folder, "probe")
        if PREPARE:
            return
        compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
        if not compiler:
            raise Skipped("no compiler for C")
        run(compiler, "-O1", "-o", self.probe, os.path.join(HERE, "probe.c"), "-ldl")

    def start(self):
        child = subprocess.Popen([self.probe], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 errors="replace", bufsize=1, env=dict(os.environ, CUDA_CACHE_DISABLE="1"))
        if self.line(child, 60) != "ready":
            child.kill()
            raise RuntimeError("a process with the driver does not start")
        return child

    @staticmethod
    def line(child, seconds):
        """None after too long, "" at its end"""
        got = []
        reader = threading.Thread(target=lambda: got.append(child.stdout.readline()), daemon=True)
        reader.start()
        reader.join(seconds)
        return got[0].strip() if got else None

    def ask(self, questions):
        """{name: Answer}; who ends by a signal may have been led there by what was asked before, so it is asked again, alone"""
        answers = self.ask_each(questions, False)
        answers.update(self.ask_each([q for q in questions if answers[q[0]] is ENDED], True))
        return answers

    def ask_each(self, questions, alone):
        todo, answers = queue.Queue(), {}
        if PREPARE:
            return {name: Answer(-1, -1, -1, -1, "", "", False) for name, _ in questions}
        for q in questions:
            todo.put(q)

        def work():
            child = None
            while True:
                try:
                    name, rest = todo.get_nowait()
                except queue.Empty:
                    break
                child = child or self.start()
                try:
                    child.stdin.write("%s %s\n" % (name, rest))
                    said = self.line(child, SECONDS)
                except OSError:
                    said = ""
                if not said:
                    child.kill()
                    child.wait()
                    child = None
                    answers[name] = LATE if said is None else ENDED
                    continue
                head, attributes, words = said.split(":")
                numbers = [int(n) for n in head.split()[1:]]
                answers[name] = Answer(*numbers, attributes.strip(), words.strip(), False)
                if numbers[3] > 0 or alone:
                    child.kill()
                    child.wait()
                    child = None
            if child:
                child.kill()
        workers = [threading.Thread(target=work) for _ in range(JOBS)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        return answers


def scan(folder):
    """{file: (verdict, rules)} of all files of a folder"""
    verdicts, rules = {}, collections.defaultdict(set)
    out = subprocess.run([CUVET, "scan", "--format=ndjson", "-r", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    for row in map(json.loads, out.decode("utf-8", "replace").splitlines()):
        if row["type"] == "finding" and row["severity"] != "note":
            rules[os.path.basename(row["file"])].add(row["rule"])
        elif row["type"] == "verdict":
            verdicts[os.path.basename(row["file"])] = row["verdict"]
    return {f: (v, sorted(rules[f])) for f, v in verdicts.items()}


class Group:
    """Images and the questions about them."""

    def __init__(self, tools, name):
        self.tools, self.name, self.folder = tools, name, os.path.join(tools.folder, name)
        os.makedirs(self.folder)
        self.questions, self.failed, self.passed, self.table = [], [], 0, collections.Counter()

    def add(self, name, image, mode="R", number=0, kernel="first"):
        data = bytes(image if isinstance(image, (bytes, bytearray)) else image.data)
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        self.questions.append((name, "%s %s %s %d" % (mode, path, kernel, number)))

    def ask(self):
        self.answers = self.tools.driver.ask(self.questions)
        self.verdicts = scan(self.folder)
        for name, _ in self.questions:
            answer, (verdict, _) = self.answers[name], self.verdicts.get(name, ("clean", []))
            self.expect(not (answer.ended and verdict in NEVER), name, "ends the driver, and a scan says %s" % verdict)
            self.table[(self.outcome(answer), verdict)] += 1
        return self.answers

    @staticmethod
    def outcome(answer):
        if answer.ended:
            return "ended"
        if answer.load or answer.found:
            return "refused"
        return "loaded" if answer.launch == -1 else "ran" if not answer.launch and not answer.sync else "fault"

    def expect(self, good, name, why):
        if good:
            self.passed += 1
        else:
            self.failed.append("%s: %s: %s" % (self.name, name, why))

    def show(self):
        verdicts = sorted({v for _, v in self.table})
        print("%-12s %s" % (self.name, "  ".join("%11s" % v for v in verdicts)))
        for outcome in ("ran", "loaded", "fault", "refused", "ended"):
            row = [self.table[(outcome, v)] for v in verdicts]
            if any(row):
                print("  %-10s %s" % (outcome, "  ".join("%11d" % n for n in row)))
        sys.stdout.flush()


class Tools:
    """What all groups have: images of this machine, and the driver."""

    def __init__(self, folder, sm):
        self.folder, self.sm = folder, sm
        for tool in ("nvcc", "fatbinary"):
            if not shutil.which(tool) and not PREPARED:
                raise Skipped("no %s on PATH" % tool)
        self.driver = Driver(folder)

    def compile(self, name, *options):
        out = os.path.join(self.folder, name)
        make(self.folder, out, "nvcc", "-arch=sm_%d" % self.sm, "-cubin", os.path.join(HERE, "programs.cu"), "-o", out, *options)
        return out

    def link(self, name, *options):
        part, out = self.compile(name + ".o", "-rdc=true", *options), os.path.join(self.folder, name)
        run(CUVET, "link", "--arch", "sm_%d" % self.sm, part, "-o", out)
        return out


def elf(path):
    with open(path, "rb") as f:
        return edit.Elf(f.read())


def exchange(image, table, first, other, field):
    """exchange a field of two rows"""
    get, put = (image.sget, image.section) if table == "section" else (image.yget, image.symbol)
    rows = (image.index(first), image.index(other)) if table == "section" else (image.symbol_index(first), image.symbol_index(other))
    values = [get(r, field) for r in rows]
    put(rows[0], field, values[1])
    put(rows[1], field, values[0])


def segment_of_code(image):
    return next(i for i in range(image.hget("e_phnum")) if image.pget(i, "flags") & 1)


def places(tools):
    """The two kernels have code of one size: where the driver takes it from is what it writes."""
    group, path = Group(tools, "places"), tools.compile("pair.cubin", "-DPART=1")
    code, others = ".text.first", ".text.other"
    expected = {}

    def add(name, change, words=None):
        image = elf(path)
        change(image)
        group.add(name, image)
        expected[name] = words

    def move_segment(image):
        at = segment_of_code(image)
        begin, size = image.pget(at, "offset"), image.pget(at, "filesz")
        copy = bytearray(image.data[begin:begin + size])
        for mine, theirs in ((code, others), (others, code)):
            to = image.sget(mine, "offset") - begin
            copy[to:to + image.sget(mine, "size")] = image.section_bytes(theirs)
        image.data += bytes(edit.align(len(image.data), 128) - len(image.data))
        image.segment(at, "offset", len(image.data))
        image.data += copy

    add("as-made", lambda e: None, FIRST)
    add("section-leads-elsewhere", lambda e: e.section(code, "offset", e.sget(others, "offset")), OTHER)
    add("segment-leads-elsewhere", move_segment, FIRST)
    add("no-segments", lambda e: e.head("e_phnum", 0).head("e_phoff", 0), FIRST)
    add("names-of-sections", lambda e: exchange(e, "section", code, others, "name"), OTHER)
    add("names-of-symbols", lambda e: exchange(e, "symbol", "first", "other", "name"))
    for field, values in (("type", (7, 8, 0x70000000)), ("flags", (0, 2, 4, 7)), ("addr", (0x1000,)), ("align", (0, 1, 65536)),
                          ("size", (0, 16)), ("info", (0,)), ("link", (0,))):
        for value in values:
            add("section-%s-%x" % (field, value), lambda e, f=field, v=value: e.section(code, f, v))
    for field, values in (("value", (16,)), ("size", (0, 16)), ("info", (0x02, 0x11, 0x22)), ("shndx", (0, 0xFFF1))):
        for value in values:
            add("symbol-%s-%x" % (field, value), lambda e, f=field, v=value: e.symbol("first", f, v))
    for field, values in (("e_type", (1, 3, 0xFF00)), ("abiversion", (7, 9)), ("e_phentsize", (0,)), ("e_shentsize", (0,)),
                          ("e_phoff", (2**47,)), ("e_entry", (8,)), ("e_version", (0,))):
        for value in values:
            add("header-%s-%x" % (field, value), lambda e, f=field, v=value: e.head(f, v))
    for bit in range(32):
        add("flags-bit-%d" % bit, lambda e, b=bit: e.head("e_flags", e.hget("e_flags") ^ 1 << b))
    for name, answer in group.ask().items():
        said = answer.words.split()[:1]
        if expected[name]:
            group.expect(said == [expected[name]], name, "%s was run, not %s" % (said, expected[name]))
        if said and said != [FIRST]:
            group.expect(group.verdicts[name][0] not in NEVER, name, "runs something else, and nothing is found")
    return group


def records(tools):
    group = Group(tools, "records")
    for label, path in (("linked", tools.link("whole.cubin", "-DPART=2")), ("whole", tools.compile("alone.cubin", "-DPART=2"))):
        base = elf(path)
        group.add(label + ".as-made", base)
        for at, name in enumerate(base.names):
            if at and name not in (".shstrtab", ".strtab", ".symtab"):
                image = elf(path)
                group.add("%s.section%s" % (label, name), image.section(at, "type", 0).section(at, "size", 0))
            if name.startswith(".nv.info"):
                for number, (offset, form, code, payload) in enumerate(base.records(name)):
                    image = elf(path)
                    image.splice(name, offset, 4 + (len(payload) if form == 4 else 0), b"")
                    group.add("%s.record%s.%02x.%d" % (label, name, code, number), image)
    answers = group.ask()
    for label in ("linked", "whole"):
        right = answers[label + ".as-made"].words
        group.expect(right.split()[:5] == ["6f", "3e8", "7d0", "1f", "bb8"], label, "computes %s" % right)
        for name, answer in answers.items():
            if name.startswith(label) and answer.words and answer.words != right:
                group.expect(group.verdicts[name][0] not in NEVER, name, "computes something else, and nothing is found")
    return group


def relocations(tools):
    """A relocation of a pointer is led to a field of data, which shows what was written."""
    group = Group(tools, "relocations")
    for label, fill in DATA.items():
        path = tools.link("data-%s.cubin" % label, "-DPART=3", "-DFILL=" + fill)
        base = elf(path)
        table = ".rela.nv.global.init" if base.has(".rela.nv.global.init") else ".rel.nv.global.init"
        count = base.sget(table, "size") // base.sget(table, "entsize")
        row = next(i for i in range(count) if base.rget(table, i, "offset") == base.yget("spare", "value"))
        there = edit.align(base.yget("field", "value") + 4, 16)

        def add(name, change, label=label, path=path):
            image = elf(path)
            change(image)
            group.add("%s.%s" % (label, name), image)
        add("as-made", lambda e: None)
        for kind in range(118):
            for symbol in ("target", "constant", "_Z6triplei"):
                add("type-%d-%s" % (kind, symbol), lambda e, k=kind, s=symbol: e.reloc(table, row, "offset", there).reloc(
                    table, row, "type", k).reloc(table, row, "sym", e.symbol_index(s)))
        for number in range(len(base.symbols())):
            add("symbol-%d" % number, lambda e, n=number: e.reloc(table, row, "offset", there).reloc(table, row, "sym", n))
        size = base.sget(".nv.global.init", "size")
        for offset in (size - 4, size, 0x10000, 2**31 - 1, 2**40, 2**64 - 8):
            add("offset-%x" % offset, lambda e, o=offset: e.reloc(table, row, "offset", o))
        for field, value in (("info", base.index(".text.first")), ("type", 9), ("entsize", 8), ("link", 0), ("flags", 0)):
            add("table-%s" % field, lambda e, f=field, v=value: e.section(table, f, v))
    answers = group.ask()
    for label in DATA:
        group.expect(answers[label + ".as-made"].sync == 0, label, "does not run as it was made")
    for name, answer in answers.items():
        if answer.load or answer.found > 0:
            kind = re.search(r"type-(\d+)-_Z6", name)
            if kind and int(kind[1]) in (3, 4):
                group.expect(group.verdicts[name][0] not in NEVER, name, "is refused, and nothing is found")
    return group


def member(tools, kind, arch, number):
    """a member with one kernel that says which it is, as fatbinary writes it"""
    stem = os.path.join(tools.folder, "member-%s-%s-%d" % (kind, arch, number))
    value = 0x100000 * number + int(arch.rstrip("af")) * 16 + ("a" in arch) * 2 + (kind == "ptx")
    with open(stem + ".cu", "w", encoding="ascii") as f:
        f.write('extern "C" __global__ void first(unsigned *out, unsigned number) { out[0] = %d; }\n' % value)
    how = "-arch=%s_%s" % ("sm" if kind == "elf" else "compute", arch)
    make(tools.folder, stem, "nvcc", how, "-cubin" if kind == "elf" else "-ptx", stem + ".cu", "-o", stem)
    make(tools.folder, stem + ".fatbin", "fatbinary", "--create=" + stem + ".fatbin", "--64", "--image3=kind=%s,sm=%s,file=%s" % (kind, arch, stem))
    with open(stem + ".fatbin", "rb") as f:
        fat = edit.Fat(f.read())
    begin = fat.members[0]
    return "%x" % value, bytes(fat.data[begin:begin + fat.value("header_size") + fat.value("payload_size")])


def selection(tools):
    group, mine = Group(tools, "selection"), str(tools.sm)
    arches = {"75", "80", "86", "89", mine} | ({mine + "a"} if tools.sm >= 90 else set())
    kinds = sorted((kind, arch) for kind in ("elf", "ptx") for arch in arches)
    members = {(k, n): member(tools, k[0], k[1], n) for k in kinds for n in (1, 2)}
    chosen, dice = {}, random.Random(7)
    mixes = [[(a, 1), b] for a in kinds for b in members if b != (a, 1)] + [[(a, 1)] for a in kinds] + \
            [dice.sample(sorted(members), dice.randint(3, 7)) for _ in range(80)]
    for number, mix in enumerate(mixes):
        name = "mix-%d" % number
        group.add(name, edit.container(*[members[m][1] for m in mix]))
        chosen[name] = mix
    target = "sm_%s%s" % (mine, "a" if tools.sm >= 90 else "")
    for name, answer in group.ask().items():
        out = subprocess.run([CUVET, "select", "--arch", target, "--format=ndjson", os.path.join(group.folder, name)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
        ours = [r["index"] for r in map(json.loads, out.decode().splitlines()) if r["type"] == "candidate" and r["chosen"]]
        want = [members[chosen[name][i]][0] for i in ours]
        group.expect(answer.words.split()[:1] == want, name, "%s: the driver took %s, cuvet %s" % (
            ["%s %s" % m[0] for m in chosen[name]], answer.words.split()[:1], want))
    return group


CALL = """.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 result) %s (.param .b64 one, .param .b64 two);
.visible .entry first(.param .u64 out, .param .u32 number)
{ .reg .b64 %%x<4>; .reg .b32 %%y<2>; .reg .pred %%p;
  ld.param.u64 %%x1, [out]; ld.param.u32 %%y1, [number]; setp.eq.u32 %%p, %%y1, 0; @%%p bra DONE;
  { .param .b64 r; .param .b64 a; .param .b64 b; st.param.b64 [a], %%x1; st.param.b64 [b], %%x1;
    call.uni (r), %s, (a, b); ld.param.b64 %%x2, [r]; }
DONE: ret; }
"""


def provided(tools):
    """Loaded and launched, but the call is jumped over."""
    group, has = Group(tools, "provided"), []
    with open(os.path.join(ROOT, "spec", "driver.def"), encoding="ascii") as f:
        names = re.findall(r'^DRIVER\("(\w+)"\)', f.read(), re.M)
    for name in names:
        stem = os.path.join(tools.folder, "call-" + name)
        with open(stem + ".ptx", "w", encoding="ascii") as f:
            f.write(CALL % (name, name))
        make(tools.folder, stem + ".o", "ptxas", "-c", "-arch=sm_%d" % tools.sm, stem + ".ptx", "-o", stem + ".o")
        run(CUVET, "link", "--arch", "sm_%d" % tools.sm, stem + ".o", "-o", stem)
        with open(stem, "rb") as f:
            image = f.read()
        group.add(name, image)
        if len(name) > 4:  # a neighbour that nobody has
            at = image.index(b"\0" + name.encode() + b"\0") + len(name)
            group.add("not-" + name, image[:at] + b"Q" + image[at + 1:])
    for name, answer in group.ask().items():
        if name.startswith("not-"):
            group.expect(answer.launch == -1, name, "a function that nobody has was found")
        elif answer.launch != -1:
            has.append(name)
    print("of %d functions the driver has %d, not: %s" % (len(names), len(has), " ".join(n for n in names if n not in has)))
    return group


def linked(tools):
    """What a program computes is known before: by whatever way its units were linked."""
    group, ways = Group(tools, "linked"), collections.defaultdict(dict)
    arch = "sm_%d" % tools.sm

    def one(seed):
        program = programs.generate(seed)
        stem, units = os.path.join(tools.folder, "program-%d-" % seed), []
        for number, text in enumerate(program.units):
            source, out = "%s%d.cu" % (stem, number), "%s%d.cubin" % (stem, number)
            with open(source, "w", encoding="ascii") as f:
                f.write(text)
            make(tools.folder, out, "nvcc", "-arch=" + arch, "-rdc=true", "-cubin", *program.options, source, "-o", out)
            units.append(out)

        def add(way):
            with open(stem + way, "rb") as f:
                group.add("%d.%s" % (seed, way), f.read(), number=program.number)
            ways[seed][way] = program.words

        def link(way, *words):
            run(CUVET, "link", "--arch", arch, *words, "-o", stem + way)
            return stem + way

        for way, words in (("final", units), ("debug", ["-g", *units]), ("turned", units[::-1]), ("relocs", ["--preserve-relocs", *units]),
                           ("two-steps", [units[0], link("partial", "-r", *units[1:])]), ("all-twice", [link("merged", "-r", *units)])):
            link(way, *words)
            add(way)
        if PREPARED or shutil.which("nvlink"):
            make(tools.folder, stem + "reference", "nvlink", "-arch=" + arch, *units, "-o", stem + "reference")
            add("reference")

    with concurrent.futures.ThreadPoolExecutor(max_workers=JOBS) as pool:
        list(pool.map(one, range(1, PROGRAMS + 1)))
    for name, answer in group.ask().items():
        seed, way = name.split(".")
        said = [int(w, 16) for w in answer.words.split() if w != "."]
        group.expect(said == ways[int(seed)][way], name, "computes %s, not %s" % (said[:8], ways[int(seed)][way][:8]))
        group.expect(group.verdicts[name][0] == "clean", name, "a scan says %s" % (group.verdicts[name],))
    return group


def mutants(tools):
    group, dice = Group(tools, "mutants"), random.Random(11)
    images = [elf(tools.compile("mutant-pair.cubin", "-DPART=1")), elf(tools.link("mutant-whole.cubin", "-DPART=2"))]
    with open(os.path.join(tools.folder, "mutant-pair.cubin"), "rb") as f:
        images.append(edit.Fat(edit.container(edit.member(2, f.read(), tools.sm, how="zstd"))))
    for number in range(MUTANTS):
        base = dice.choice(images)
        data, at = bytearray(base.data), dice.randrange(len(base.data))
        data[at] ^= dice.choice((1, 2, 4, 8, 16, 32, 64, 128, 255))
        group.add("%d-%x-%02x" % (number, at, data[at]), data, mode="L")
    group.ask()
    return group


def main():
    names = os.environ.get("CV_GROUPS", "places,records,relocations,selection,provided,linked,mutants").split(",")
    folder = tempfile.mkdtemp(prefix="cuvet-device-", dir=os.environ.get("CV_TMP"))
    groups = []
    try:
        tools = Tools(folder, machine())
        for name in names:
            groups.append(globals()[name](tools))
            if PREPARE:
                continue
            groups[-1].show()
            if os.environ.get("CV_KEEP"):
                rows = {n: (a._asdict(), groups[-1].verdicts.get(n)) for n, a in groups[-1].answers.items()}
                with open(os.path.join(os.environ["CV_KEEP"], name + ".json"), "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    except Skipped as why:
        print("SKIPPED: %s" % why)
        return 77
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if PREPARE:
        print("prepared: %d files in %s; nothing was asked" % (len(os.listdir(PREPARE)), PREPARE))
        return 0
    failed = [f for g in groups for f in g.failed]
    print("\n".join(failed))
    print("%d passed, %d failed, 0 skipped" % (sum(g.passed for g in groups), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
