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
  shared_by_units  the same of what several units have (language.py): weak functions and variables, local names, classes, kernels of templates,
             kernels that launch kernels
  names      local functions of one name in several units (link_names.py), against ptxas and all units in one file
  replaced   weak functions and kernels that need more or fewer registers (link_weak.py)
  random_cxx random C++ programs of link_cxx.py, against nvlink's direct link (CV_OBJECTS=DIR: objects that it left in DIR of its CV_CACHE)
  toolkit    programs that check themselves (place/), built by an nvcc that has cuvet in the place of nvlink
  mutants    bytes changed, anywhere (CV_MUTANTS=N, default 4000)

In each group what ends the driver by a signal, or keeps it for more than ten seconds, has a finding of a scan. That is what fails
here; what the driver does with the rest is printed, and docs/evidence/driver.md has it for one driver.

  CV_GROUPS=places,mutants   only these
  CV_JOBS=8                  processes; each has a context of its own
  CV_KEEP=DIR                the answers of the driver are left there
  CV_PROGRAMS=N              programs of `linked` and of the groups after it, default 24
  CV_FIRST=N                 the first of them, default 1

A machine with a device and no toolkit: CV_PREPARE=DIR CV_MACHINE=90 on one that has nvcc leaves there what the tools make of the
sources, and CV_PREPARED=DIR takes it from there.

77: skipped, said on the last line. Needs a driver with a device from sm_75 on, a compiler for C, and nvcc and fatbinary on PATH.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from base import CUVET, DATA, FIRST, MUTANTS, NEVER, OTHER, PREPARE, ROOT, Group, Skipped, Tools, elf, exchange, machine, make, run, segment_of_code  # noqa: E402
from units import linked, names, random_cxx, replaced, shared_by_units, toolkit  # noqa: E402,F401
import edit  # noqa: E402


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
    names = os.environ.get("CV_GROUPS", "places,records,relocations,selection,provided,linked,shared_by_units,names,replaced,random_cxx,toolkit,mutants").split(",")
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
