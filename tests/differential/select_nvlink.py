#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The member that cuvet_select_run() chooses against the member that nvlink links.

Each member is compiled from a text of ours with a kernel whose name says which member it is (marker_ptx_90a): the kernel
in nvlink's output names the member that nvlink took. On our side the library is asked through ctypes, with the layout
of its structs compared with the headers first. Needs nvlink, ptxas and fatbinary of CUDA 13.0 or later on PATH, else the
test is skipped. A sample of the cases by default, all of them with CV_FULL=1. A difference is a failure unless a class
below explains it, and a class explains a difference only where its own prediction of nvlink's choice comes true.
"""
import collections
import ctypes as C
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time
import zlib

SRC = os.environ.get("CV_SRC", ".")
TMP = os.environ["CV_TMP"]
LIBRARY = os.path.join(os.environ.get("CV_BUILD") or os.path.dirname(os.environ["CUVET"]), "libcuvet.so")
FULL = bool(os.environ.get("CV_FULL"))

SASS = "75 80 86 90 90a 100 100a 100f 103 120".split()
PTX = "75 80 90 90a 100 100f 103".split()
TARGETS = "75 80 86 89 90 90a 100 100a 100f 103 120 121".split()
# Every architecture of nvlink 13.0: single members of each for each as target.
ALL = ("75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f").split()
MIXES = 1500
SAMPLE = {"single": 36, "pair": 90, "tie": 21, "unmarked": 12, "mix": 30, "host object": 15, "two containers": 33,
          "no rdc": 6}
PTX_VERSION = "9.0"  # the first that knows all of them
# Forms of an input: the sections of a host object, one for each container; the last one takes those that are left.
REL, NV = "__nv_relfatbin", ".nv_fatbin"
FORMS = {"fatbin": (), "object": (REL,), "rel, rel": (REL, REL), "rel, rel, table turned": (REL, REL), "rel, nv": (REL, NV),
         "nv, rel": (NV, REL), "nv": (NV,)}
TWO_IN = ("fatbin", "fatbin", "object", "object", "rel, rel", "rel, rel, table turned", "rel, nv", "nv, rel")

OK, END, NO_MATCH, COMPILER = 0, 1, 12, 17
CHOSEN, FIRST_CONTAINER = 1, 2
NOTHING = "nothing"
# Why the two may differ. Each holds only where nvlink took what we say that it would take, and CV-INPUT-005 was said.
CONTAINER = "nvlink reads the first container of a fatbin or section only"
SECTION = "nvlink reads the first __nv_relfatbin of the section table only"
NOT_LINKED = "nvlink passes over a host object that has no __nv_relfatbin"
EXPLAINED = {"fatbin": CONTAINER, "object": CONTAINER, "nv": NOT_LINKED}
NO_64BIT = 0xFFFFFFFE


# --- the structs of include/cuvet ------------------------------------------------------------------------

class Target(C.Structure):
    _fields_ = [("sm", C.c_uint32), ("suffix", C.c_char)]


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("target", Target), ("request", C.c_int), ("policy", C.c_int),
                ("flags", C.c_uint), ("toolkit", C.c_uint32), ("threads", C.c_uint32), ("compiler", C.c_void_p)]


class Step(C.Structure):
    _fields_ = [("kind", C.c_uint8), ("flags", C.c_uint8), ("index", C.c_uint64)]


class Path(C.Structure):
    _fields_ = [("n", C.c_uint32), ("step", Step * 12)]


class Candidate(C.Structure):
    _fields_ = [("size", C.c_size_t), ("where", Path), ("kind", C.c_int), ("sm", C.c_uint32), ("suffix", C.c_char), ("reason", C.c_int),
                ("rank", C.c_uint32), ("flags", C.c_uint32), ("container_off", C.c_uint64),
                ("header_off", C.c_uint64), ("payload_off", C.c_uint64), ("stored_size", C.c_uint64),
                ("member_flags", C.c_uint64), ("depth", C.c_uint32)]


class Diag(C.Structure):
    _fields_ = [("size", C.c_size_t), ("rule", C.c_uint32), ("severity", C.c_int), ("file_off", C.c_uint64), ("length", C.c_uint64),
                ("flags", C.c_uint32), ("inner_off", C.c_uint64), ("got", C.c_uint64), ("want", C.c_uint64), ("where", Path)]


class Input(C.Structure):
    _fields_ = [("bits", C.c_uint64)]


STRUCTS = [("cuvet_target", Target), ("cuvet_select_options", Config), ("cuvet_step", Step), ("cuvet_path", Path),
           ("cuvet_candidate", Candidate), ("cuvet_diag", Diag), ("cuvet_select", Input)]


def check_layouts():
    """Sizes, offsets and numbers above are those of the headers; a line for each that is not."""
    want = {"CUVET_OK": OK, "CUVET_END": END, "CUVET_E_NO_MATCH": NO_MATCH, "CUVET_E_COMPILER": COMPILER,
            "CUVET_REQUEST_LINK": 0, "CUVET_ARCH_REFERENCE": 0, "CUVET_BIND_BORROW": 0, "CUVET_CANDIDATE_CHOSEN": CHOSEN, "CUVET_CANDIDATE_FIRST_CONTAINER": FIRST_CONTAINER}
    for name, s in STRUCTS:
        want["sizeof(%s)" % name] = C.sizeof(s)
        for field in s._fields_:
            want["offsetof(%s, %s)" % (name, field[0])] = getattr(s, field[0]).offset
            want["sizeof(((%s *)0)->%s)" % (name, field[0])] = getattr(s, field[0]).size
    source, binary = os.path.join(TMP, "layout.c"), os.path.join(TMP, "layout")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <cuvet/select.h>\n#include <stdio.h>\nint main(void)\n{\n")
        f.writelines('    printf("%%lu\\n", (unsigned long)(%s));\n' % e for e in want)
        f.write("    return 0;\n}\n")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I", os.path.join(SRC, "include"), "-o", binary, source],
                   check=True)
    is_now = subprocess.run([binary], capture_output=True, check=True).stdout.split()
    return ["%s is %s, not %d" % (e, n.decode(), w) for (e, w), n in zip(want.items(), is_now) if int(n) != w]


class Cuvet:
    """cuvet_select_run() for bytes and a target."""

    def __init__(self):
        self.lib = C.CDLL(LIBRARY)
        self.lib.cuvet_rule_get.restype = C.POINTER(C.c_char_p)  # its size is the first member, the id the second
        self.lib.cuvet_rule_get.argtypes = [C.c_uint32]
        pointer = C.c_void_p
        for name, args in (("create", (pointer, pointer, pointer)),
                           ("bind", (pointer, Input, C.c_char_p, C.c_size_t, C.c_uint, pointer)),
                           ("run", (pointer, Input)), ("destroy", (pointer, pointer)),
                           ("get_candidate", (pointer, Input, C.c_uint64, pointer)),
                           ("get_diag", (pointer, Input, C.c_uint64, pointer))):
            f = getattr(self.lib, "cuvet_select_" + name)
            f.argtypes, f.restype = args, C.c_int
        self.lib.cuvet_ctx_create.argtypes = [pointer, pointer]
        self.lib.cuvet_ctx_destroy.argtypes = [pointer]
        self.lib.cuvet_ctx_destroy.restype = None
        self.ctx = C.c_void_p()
        self.must(self.lib.cuvet_ctx_create(None, C.byref(self.ctx)), "context")

    @staticmethod
    def must(status, what):
        if status != OK:
            raise RuntimeError("%s: status %d" % (what, status))

    def close(self):
        self.lib.cuvet_ctx_destroy(self.ctx)

    def rows(self, get, handle, row):
        out, status = [], OK
        for i in itertools.count():
            r = row(size=C.sizeof(row))
            status = get(self.ctx, handle, i, C.byref(r))
            if status != OK:
                break
            out.append(r)
        if status != END:
            raise RuntimeError("row %d: status %d" % (len(out), status))
        return out

    def select(self, data, arch):
        """status, candidates, {rule id: diagnostic}"""
        config, handle = Config(size=C.sizeof(Config), target=target_of(arch)), Input()
        self.must(self.lib.cuvet_select_create(self.ctx, C.byref(config), C.byref(handle)), "create")
        try:
            self.must(self.lib.cuvet_select_bind(self.ctx, handle, data, len(data), 0, None), "bind")
            status = self.lib.cuvet_select_run(self.ctx, handle)
            found = self.rows(self.lib.cuvet_select_get_candidate, handle, Candidate)
            said = self.rows(self.lib.cuvet_select_get_diag, handle, Diag)
        finally:
            self.must(self.lib.cuvet_select_destroy(self.ctx, C.byref(handle)), "destroy")
        return status, found, {self.lib.cuvet_rule_get(d.rule)[1].decode(): d for d in said}


def target_of(arch):
    number = arch.rstrip("af")
    return Target(int(number), arch[len(number):].encode() or b"\0")


# --- members, containers, host objects ---------------------------------------------------------------------

def tool(*argv):
    p = subprocess.run(argv, capture_output=True, check=False, cwd=TMP)
    if p.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(argv), (p.stdout + p.stderr).decode("latin-1").strip()))


class Members:
    """Genuine members: what fatbinary writes for one input, without the header of the container around it."""

    def __init__(self):
        self.made = {}

    def __getitem__(self, name):
        """name: "sass 90a", or "sass 90a 2" for another one that differs in its marker only; "!" in front clears the
        64-bit mark."""
        if name not in self.made:
            self.made[name] = self.unmark(name) if name.startswith("!") else self.make(name)
        return self.made[name]

    def unmark(self, name):
        member = bytearray(self[name[1:]])
        member[0x28:0x2C] = struct.pack("<I", struct.unpack_from("<I", member, 0x28)[0] & NO_64BIT)
        return bytes(member)

    @staticmethod
    def make(name):
        kind, arch = name.split()[:2]
        with open(os.path.join(TMP, "member.ptx"), "w", encoding="ascii") as f:
            f.write(".version %s\n.target sm_%s\n.address_size 64\n.visible .entry %s()\n{\n\tret;\n}\n" %
                    (PTX_VERSION, arch, marker(name)))
        if kind == "sass":
            tool("ptxas", "-c", "-arch=sm_" + arch, "-o", "member.elf", "member.ptx")
        kind = "elf" if kind == "sass" else "ptx"
        tool("fatbinary", "--create=member.fatbin", "-64", "--image3=kind=%s,sm=%s,file=member.%s" % (kind, arch, kind))
        with open(os.path.join(TMP, "member.fatbin"), "rb") as f:
            data = f.read()
        magic, version, header, size = struct.unpack_from("<IHHQ", data)
        kind_is, _, header_size, payload = struct.unpack_from("<HHIQ", data, 16)
        if (magic, version, header, size + 16, header_size + payload) != (0xBA55ED50, 1, 16, len(data), size) or \
                kind_is != (2 if kind == "elf" else 1):
            raise RuntimeError("fatbinary did not write one container of one member for " + name)
        return data[16:]


def marker(name):
    return "marker_" + name.lstrip("!").replace(" ", "_")


def container(members, names):
    body = b"".join(members[n] for n in names)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def host_object(sections, wrapped, turned):
    """Relocatable x86-64 object: sections as (name, content), a wrapper for each (section, offset) of wrapped. turned: the
    section table names the first two in the other order than they lie in the file."""
    n = len(sections)
    row = [1, 0] if turned else list(range(n))  # of a section in the table, from 1
    names = [name for name, _ in sections] + [".nvFatBinSegment", ".rela.nvFatBinSegment", ".symtab", ".strtab"]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 0, 3, 0, i + 1, 0, 0) for i in range(n))
    wrappers = struct.pack("<IIQQ", 0x466243B1, 1, 0, 0) * len(wrapped)
    relocs = b"".join(struct.pack("<QQq", 24 * i + 8, (row[sec] + 1) << 32 | 1, off)
                      for i, (sec, off) in enumerate(wrapped))
    #           type flags link info align entsize
    headers = [(1, 2, 0, 0, 8, 0)] * n + [(1, 3, 0, 0, 8, 0), (4, 0x40, n + 3, n + 1, 8, 24),
                                          (2, 0, n + 4, n + 1, 8, 24), (3, 0, 0, 0, 1, 0)]
    out, table, at_name = bytearray(64), [], 1
    for name, content, h in zip(names, [c for _, c in sections] + [wrappers, relocs, symbols, strings], headers):
        out += bytes(-len(out) % 8)
        table.append(struct.pack("<IIQQQQIIQQ", at_name, h[0], h[1], 0, len(out), len(content), *h[2:]))
        at_name += len(name) + 1
        out += content
    out += bytes(-len(out) % 8)
    out[:64] = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, len(out), 0, 64, 0, 0, 64,
                                                         n + 5, n + 4)
    return bytes(out) + bytes(64) + b"".join(table[i] for i in row + list(range(n, n + 4)))


# --- cases ---------------------------------------------------------------------------------------------------

Case = collections.namedtuple("Case", "kind containers arch form")  # containers: tuples of member names


def cases():
    """All of them, kind by kind, in a fixed order."""
    members = ["sass " + a for a in SASS] + ["ptx " + a for a in PTX]
    for kind, arch, t in itertools.product(("sass ", "ptx "), ALL, ALL):
        yield Case("single", ((kind + arch,),), t, "fatbin")
    for pair, t in itertools.product(itertools.permutations(members, 2), TARGETS):
        yield Case("pair", (pair,), t, "fatbin")
        n = zlib.crc32(repr((pair, t)).encode())
        if n % 4 == 0:
            yield Case("host object", (pair,), t, "object")
        if n % 4 == 1:
            yield Case("unmarked", (("!" + pair[0], pair[1]),), t, "fatbin")
        yield Case("two containers", ((pair[0],), (pair[1],)), t, TWO_IN[n % len(TWO_IN)])
    for m, t in itertools.product(members, TARGETS):
        yield Case("tie", ((m, m + " 2"),), t, "fatbin")
        yield Case("unmarked", (("!" + m,),), t, "fatbin")
        yield Case("no rdc", ((m,),), t, "nv")
    chance = random.Random(20)  # the same numbers on every machine
    for _ in range(MIXES):
        some = chance.sample(members, chance.randint(3, 9))
        for _ in range(chance.choice((0, 0, 1, 2))):
            some.insert(chance.randint(0, len(some)), " ".join(chance.choice(some).split()[:2]) + " %d" % (2 + len(some)))
        yield Case("mix", (tuple(some),), chance.choice(TARGETS), chance.choice(("fatbin", "fatbin", "object")))


def interest(case):
    """2: members of one number, and the target's is close; 1: some that the number alone does not rule out; 0: others."""
    numbers = [int(re.sub(r"\D", "", n.split()[1])) for names in case.containers for n in names]
    target = target_of(case.arch).sm
    low = [n for n in numbers if n <= target]
    if any(numbers.count(n) > 1 and n // 10 == target // 10 for n in low):
        return 2
    return 1 if len(low) > 1 else 0


def sample(every):
    """Of each kind a third with interest 2, a third with 1, or as many as there are; the same ones each time."""
    if FULL:
        return every
    out, kinds = [], collections.defaultdict(lambda: ([], [], []))
    for c in sorted(every, key=lambda c: zlib.crc32(repr(c).encode())):
        kinds[c.kind][interest(c)].append(c)
    for kind, (low, middle, high) in kinds.items():
        third = SAMPLE[kind] // 3
        out += (high[:third] + middle[:third] + low + middle[third:] + high[third:])[:SAMPLE[kind]]
    return out


# --- both sides ------------------------------------------------------------------------------------------------

def from_nvlink(path, arch, form):
    """Marker of the member that was linked, or NOTHING; anything that cannot be understood is an exception."""
    out = os.path.join(TMP, "linked.cubin")
    if os.path.exists(out):
        os.unlink(out)
    p = subprocess.run(["nvlink", "-arch=sm_" + arch, "-o", out, path], capture_output=True, check=False, timeout=120)
    said = (p.stdout + p.stderr).decode("latin-1").strip()
    if p.returncode != 0:
        raise RuntimeError("nvlink ends with %d: %s" % (p.returncode, said))
    with open(out, "rb") as f:
        found = {m.decode() for m in re.findall(rb"\0\.text\.(marker_\w+)(?=\0)", f.read())}
    if not found and "SM Arch ('sm_%s') not found in" % arch in said:
        return NOTHING
    if not found and not said and form == "nv":  # nothing that was compiled for linking: passed over without a word
        return NOTHING
    if len(found) != 1 or said:
        raise RuntimeError("nvlink linked %s and said '%s'" % (sorted(found) or NOTHING, said))
    return found.pop()


def lay_out(case, members):
    """Bytes of the input, and {offset of a member's header: its name}."""
    whole = [container(members, names) for names in case.containers]
    sections = [(name, b"") for name in FORMS[case.form] or ("",)]
    wrapped, where, at = [], {}, 64 if FORMS[case.form] else 0
    for i, (data, names) in enumerate(zip(whole, case.containers)):
        sec = min(i, len(sections) - 1)
        wrapped.append((sec, len(sections[sec][1])))
        sections[sec] = (sections[sec][0], sections[sec][1] + data)
        at += 16
        for n in names:
            where[at] = n
            at += len(members[n])
    if not FORMS[case.form]:
        return sections[0][1], where
    return host_object(sections, wrapped, "turned" in case.form), where


def from_cuvet(lib, data, arch, where):
    """Our choice, what we say that the reference would choose, and what is wrong with how we put it."""
    status, found, said = lib.select(data, arch)
    wrong = []
    if [c.header_off for c in found] != list(where):
        return NOTHING, NOTHING, ["candidates at %r, members at %r" % ([c.header_off for c in found], list(where))]
    chosen = [c for c in found if c.flags & CHOSEN]
    fit = sorted((c for c in found if c.rank), key=lambda c: c.rank)
    first = [c for c in fit if c.flags & FIRST_CONTAINER]
    name = [marker(where[c.header_off]) for c in chosen]
    expected = NO_MATCH if not chosen else OK if name[0].startswith("marker_sass") else COMPILER
    if len(chosen) > 1 or chosen != fit[:1]:
        wrong.append("chosen are %r, ranks are %r" % (name, [c.rank for c in found]))
    if status != expected:
        wrong.append("status %d, expected %d; said %s" % (status, expected, sorted(said)))
    note = said.get("CV-INPUT-005")
    if bool(note) != (first[:1] != chosen):
        wrong.append("CV-INPUT-005 is %s" % ("said without need" if note else "missing"))
    if note and (note.got, note.want) != (chosen[0].header_off, first[0].header_off if first else 0):
        wrong.append("CV-INPUT-005 names %#x and %#x" % (note.got, note.want))
    return name[0] if name else NOTHING, marker(where[first[0].header_off]) if first else NOTHING, wrong


def compare(case, members, lib):
    """("agree" | explanation | "unexplained", choice of both, text)"""
    data, where = lay_out(case, members)
    path = os.path.join(TMP, "case.o" if FORMS[case.form] else "case.fatbin")
    with open(path, "wb") as f:
        f.write(data)
    theirs = from_nvlink(path, case.arch, case.form)
    ours, ours_of_first, wrong = from_cuvet(lib, data, case.arch, where)
    text = "%s %s for sm_%s as %s: nvlink %s, cuvet %s" % (case + (theirs, ours))
    if wrong:
        return "unexplained", theirs, text + "; " + "; ".join(wrong)
    if ours == theirs and ours == ours_of_first:
        return "agree", theirs, text
    if (len(case.containers) > 1 or case.form == "nv") and theirs == ours_of_first and ours != ours_of_first:
        return EXPLAINED.get(case.form, SECTION), theirs, text
    return "unexplained", theirs, text


def run(todo, lib):
    """Counts by kind, and the texts of what nobody can explain."""
    members, counts, bad, seconds = Members(), collections.defaultdict(collections.Counter), [], 0.0
    for case in todo:
        start = time.monotonic()
        try:
            verdict, theirs, text = compare(case, members, lib)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as e:
            verdict, theirs, text = "unexplained", NOTHING, "%s %s for sm_%s as %s: %s" % (case + (e,))
        seconds += time.monotonic() - start
        row = counts[case.kind]
        row["cases"] += 1
        row[verdict] += 1
        row[theirs if theirs == NOTHING else theirs.split("_")[1]] += 1
        if verdict == "unexplained":
            bad.append(text)
    return counts, bad, seconds


def missing():
    """Why there is nothing to compare with, or None."""
    for name in ("nvlink", "ptxas", "fatbinary"):
        if not shutil.which(name):
            return "%s is not on PATH" % name
    said = subprocess.run(["nvlink", "--version"], capture_output=True, check=False).stdout.decode("latin-1")
    release = re.search(r"release (\d+)\.(\d+), V(\S+)", said)
    if not release or int(release.group(1)) < 13:
        return "nvlink of CUDA 13.0 or later is needed"
    with open(LIBRARY, "rb") as f:
        if re.search(rb"__(asan|tsan|ubsan|msan)_", f.read()):
            return "a libcuvet.so with sanitizers cannot be loaded into Python; the release build is compared"
    print("nvlink %s" % release.group(3))
    return None


def main():
    why = missing()
    if why:
        print("SKIPPED: %s, choices were compared with nothing" % why)
        return 77
    drift = check_layouts()
    if drift:
        print("the structs in this test are not those of the headers: " + "; ".join(drift))
        return 1
    lib = Cuvet()
    counts, bad, seconds = run(sample(list(cases())), lib)
    lib.close()
    total = collections.Counter()
    for kind, row in counts.items():
        total.update(row)
        print("%s: %d cases (nvlink: %d SASS, %d PTX, %d nothing), %d agree, %d explained, %d unexplained" %
              (kind, row["cases"], row["sass"], row["ptx"], row[NOTHING], row["agree"],
               row["cases"] - row["agree"] - row["unexplained"], row["unexplained"]))
    for why in (CONTAINER, SECTION, NOT_LINKED):
        print("explained, %d times: %s; cuvet reads all of them and says so" % (total[why], why))
    for text in bad[:40]:
        print("UNEXPLAINED: " + text)
    print("%d cases in %.0f s: %d agreements, %d explained differences, %d unexplained" %
          (total["cases"], seconds, total["agree"], total["cases"] - total["agree"] - total["unexplained"],
           total["unexplained"]))
    print("%d passed, %d failed, 0 skipped" % (total["cases"] - total["unexplained"], total["unexplained"]))
    return 1 if total["unexplained"] or not total["cases"] else 0


if __name__ == "__main__":
    sys.exit(main())
