# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes out without capsules, against a model that shares no code with the writer: every section that stays, its numbers, the
symbols, and what each segment covers. Then files that no compiler makes: more sections than a header can count, symbols at the edge."""
import glob
import os
import struct

from lib_cli import CLEAN, FINDINGS, ROOT, cuvet, equal, main, sample, scratch, test, write

CAPSULE, INFO_LINK = 1 << 28, 0x40
SYMTAB, SYMTAB_SHNDX, PT_PHDR, XINDEX, RESERVE = 2, 18, 6, 0xFFFF, 0xFF00
NO_BYTES = (0, 8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)
NAME, TYPE, FLAGS, ADDR, OFF, SIZE, LINK, INFO, ALIGN, ENT = range(10)


class Elf:
    def __init__(self, data):
        self.data = data
        self.head = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        self.phoff, table, self.flags = self.head[4:7]
        phnum, n, names = self.head[9], self.head[11], self.head[12]
        zero = struct.unpack_from("<IIQQQQIIQQ", data, table)
        self.zero = zero
        self.names_at = zero[LINK] if names == XINDEX else names
        self.sec = [list(struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i)) for i in range(n or zero[SIZE])]
        self.seg = [list(struct.unpack_from("<IIQQQQQQ", data, self.phoff + 56 * i)) for i in range(phnum)]
        strings = self.sec[self.names_at][OFF]
        self.name = [self.text(strings + s[NAME]) for s in self.sec]
        self.at = next(i for i, s in enumerate(self.sec) if s[TYPE] == SYMTAB)

    def text(self, at):
        return bytes(self.data[at:self.data.index(0, at)])

    def body(self, i):
        s = self.sec[i]
        return b"" if s[TYPE] in NO_BYTES else bytes(self.data[s[OFF]:s[OFF] + s[SIZE]])

    def symbols(self):
        return [list(struct.unpack_from("<IBBHQQ", self.body(self.at), 24 * i)) for i in range(self.sec[self.at][SIZE] // 24)]

    def sections_of(self):
        """Of each symbol: the number of its section, or what stands for it."""
        far = [i for i, s in enumerate(self.sec) if s[TYPE] == SYMTAB_SHNDX and not s[FLAGS] & CAPSULE]
        far = struct.unpack("<%dI" % len(self.symbols()), self.body(far[0])) if far else None
        return [far[i] if s[3] == XINDEX else ~s[3] if s[3] >= RESERVE else s[3] for i, s in enumerate(self.symbols())]

    def covered(self, seg):
        return [i for i, s in enumerate(self.sec) if self.body(i) and seg[2] <= s[OFF] and s[OFF] + s[SIZE] <= seg[2] + seg[5]]

    def memory(self, size):
        """What a segment of so many bytes takes when the variables of the file follow it."""
        for s in self.sec:
            if s[TYPE] in NO_BYTES[1:] and s[FLAGS] & 3 == 3 and not s[FLAGS] & CAPSULE:
                size = -(-size // max(s[ALIGN], 1)) * max(s[ALIGN], 1) + s[SIZE]
        return size

    def cap(self):
        """The symbol that goes with the capsules, unless something that stays names it."""
        strings = self.sec[self.sec[self.at][LINK]][OFF]
        for i, s in enumerate(self.symbols()):
            if self.text(strings + s[0]) == b".nv.reservedSmem.cap" and s[1] >> 4 == 2 and s[3] == 0:
                used = [r for k, h in enumerate(self.sec) if h[TYPE] == 4 for r in struct.iter_unpack("<QQq", self.body(k)) if r[1] >> 32 == i]
                return None if used else i
        return None


def by_the_book(name, a, b, sm):
    """b is a without its capsules, for sm."""
    keep = [i for i, s in enumerate(a.sec) if not s[FLAGS] & CAPSULE]
    number = {old: new for new, old in enumerate(keep)}
    equal(len(b.sec), len(keep), name + ": sections")
    equal(b.data[:16], a.data[:16], name + ": ident")
    equal(b.head[:4], a.head[:4], name + ": type, machine, version, entry")
    note = [i for i, n in enumerate(b.name) if n in (b".note.nv.cuinfo", b".note.nv.cuver")]
    equal(b.flags, 4 | sm << 8 | min(note[0] if note else 0, 255) << 24, name + ": e_flags")
    equal(b.names_at, number[a.names_at], name + ": e_shstrndx")
    equal(b.zero[SIZE], len(keep) if len(keep) >= RESERVE else 0, name + ": count in section 0")
    for old, new in list(number.items())[1:]:
        s, t, what = a.sec[old], b.sec[new], "%s: section %d" % (name, new)
        equal(b.name[new], a.name[old], what)
        equal([t[k] for k in (TYPE, FLAGS, ADDR, ALIGN, ENT)], [s[k] for k in (TYPE, FLAGS, ADDR, ALIGN, ENT)], what)
        equal(t[LINK], number[s[LINK]], what + " sh_link")
        if s[TYPE] != SYMTAB:
            equal(t[INFO], number[s[INFO]] if s[FLAGS] & INFO_LINK else s[INFO], what + " sh_info")
        if old == a.names_at:
            equal(t[SIZE], 1 + sum(len(n) + 1 for n in {(a.sec[i][NAME], a.name[i]) for i in keep if a.name[i]} for n in n[1:]), what)
        elif s[TYPE] not in (SYMTAB, SYMTAB_SHNDX):
            equal((t[SIZE], b.body(new)), (s[SIZE], a.body(old)), what)
    symbols(name, a, b, number)
    segments(name, a, b, number)
    assert len(b.data) < len(a.data), name


def symbols(name, a, b, number):
    want, cap = a.symbols(), a.cap()
    at = [number[i] if i >= 0 else i for i in a.sections_of()]
    if cap is not None:
        want[cap], at[cap] = [0, 0, 1, 0, 0, 0], 0
    equal(b.sections_of(), at, name + ": sections of symbols")
    equal([s[:3] + s[4:] for s in b.symbols()], [s[:3] + s[4:] for s in want], name + ": symbols")
    last = [max([i for i, s in enumerate(x.symbols()) if s[1] >> 4 == 0]) + 1 for x in (a, b)]
    if a.sec[a.at][INFO] == last[0]:
        equal(b.sec[b.at][INFO], last[1], name + ": sh_info of symbols")


def segments(name, a, b, number):
    left = [s for s in a.seg if s[0] == PT_PHDR or s[2] == a.phoff or not s[5] or any(i in number for i in a.covered(s))]
    equal(len(b.seg), len(left), name + ": segments")
    for s, t in zip(left, b.seg):
        equal([t[k] for k in (0, 1, 3, 4, 7)], [s[k] for k in (0, 1, 3, 4, 7)], name + ": segment")
        if s[0] == PT_PHDR or (s[5] and s[2] == a.phoff):
            equal(t[2:3] + t[5:7], [b.phoff, 56 * len(b.seg), 56 * len(b.seg)], name + ": segment of the table")
            continue
        equal(b.covered(t), [number[i] for i in a.covered(s) if i in number], name + ": what a segment covers")
        if not s[5]:
            equal(t[5:7], s[5:7], name + ": a segment without bytes")
            continue
        first, last = b.sec[b.covered(t)[0]], max(b.sec[i][OFF] + b.sec[i][SIZE] for i in b.covered(t))
        equal(t[2], first[OFF], name + ": where a segment begins")
        after = [x[OFF] for x in b.sec if x[TYPE] in NO_BYTES[1:] and x[OFF] >= last]
        assert t[2] + t[5] in [last, *after[:1]], name + ": where a segment ends"
        equal(t[6], t[5] if s[6] == s[5] else b.memory(t[5]) if s[6] == a.memory(s[5]) else t[5] + s[6] - s[5], name + ": memory")


def strip(data, name, *args):
    out = os.path.join(scratch(), "out.cubin")
    r = cuvet("finalize", "--binary-kind=sass", *args, write(data, "in.cubin"), "-o", out)
    equal(r.rc, CLEAN, name + ": " + r.err[-400:])
    with open(out, "rb") as f:
        return f.read()


@test
def genuine_files():
    n = 0
    for path in sorted(glob.glob(os.path.join(ROOT, "corpus", "samples", "*.cubin")) + glob.glob(os.path.join(ROOT, "corpus", "finalize", "*.cubin")) +
                       glob.glob(os.path.join(ROOT, "corpus", "legal", "*.cubin"))):
        with open(path, "rb") as f:
            data = f.read()
        if data[7] == 0x41 and data[48] == 2 and data[16:18] != b"\x00\xff" and cuvet("scan", path).rc == CLEAN:
            by_the_book(os.path.basename(path), Elf(data), Elf(strip(data, path)), data[49])
            n += 1
    assert n > 40, n


def laid_out(a, more=(), grown=None):
    """The file again, without segments: with other contents of some sections, and more sections behind the others."""
    sec = [list(s) for s in a.sec] + [list(head) for head, _ in more]
    body = [(grown or {}).get(i, a.body(i)) for i in range(len(a.sec))] + [data for _, data in more]
    order = sorted(range(1, len(sec)), key=lambda i: (sec[i][OFF] if i < len(a.sec) else len(a.data), i))
    out = bytearray(64)
    for i in order:
        out += bytes(-len(out) % max(sec[i][ALIGN], 1))
        sec[i][OFF] = len(out)
        if sec[i][TYPE] not in NO_BYTES:
            sec[i][SIZE] = len(body[i])
        out += body[i]
    out += bytes(-len(out) % 8)
    n = len(sec)
    sec[0] = [0, 0, 0, 0, 0, n if n >= RESERVE else 0, 0, 0, 0, 0]
    table = len(out)
    out += b"".join(struct.pack("<IIQQQQIIQQ", *s) for s in sec)
    out[:64] = a.data[:16] + struct.pack("<HHIQQQIHHHHHH", *a.head[:4], 0, table, a.flags, *a.head[7:9], 0, a.head[10],
                                         n if n < RESERVE else 0, a.names_at)
    return bytes(out)


def crafted(what, data):
    by_the_book(what, Elf(data), Elf(strip(data, what)), 100)


def relocatable():
    with open(sample("plain.sm_100.g.rdc.cubin"), "rb") as f:
        return Elf(f.read())


@test
def more_sections_than_a_header_counts():
    """Around the number from which on the count needs room elsewhere, before and after."""
    a = relocatable()
    empty = ([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], b"")
    goes = sum(1 for s in a.sec if s[FLAGS] & CAPSULE)
    for n in (RESERVE - 1, RESERVE, RESERVE + goes - 1, RESERVE + goes):
        crafted("%d sections" % n, laid_out(a, [empty] * (n - len(a.sec))))


@test
def places_of_symbols_elsewhere():
    """A symbol of a section behind the capsules, whose number changes; and all numbers in a table of their own."""
    a = relocatable()
    strings = a.sec[a.sec[a.at][LINK]][OFF]
    old = a.name.index(b".debug_pubtypes")
    again = (list(a.sec[old]), b"more of it")
    near = a.symbols()
    which = [i for i, s in enumerate(near) if s[1] == 3 and a.text(strings + s[0]) == a.name[old]][0]
    near[which][3] = len(a.sec)
    crafted("behind", laid_out(a, [again], {a.at: b"".join(struct.pack("<IBBHQQ", *s) for s in near)}))
    far = [s[3] if s[1] == 3 else 0 for s in near]
    for s, i in zip(near, far):
        s[3] = XINDEX if i else s[3]
    table = ([len(a.body(a.names_at)), SYMTAB_SHNDX, 0, 0, 0, 0, a.at, 0, 4, 4], struct.pack("<%dI" % len(far), *far))
    crafted("symtab_shndx", laid_out(a, [again, table], {a.at: b"".join(struct.pack("<IBBHQQ", *s) for s in near),
                                                      a.names_at: a.body(a.names_at) + b".symtab_shndx\0"}))


@test
def symbol_of_the_capsules():
    """It becomes an empty entry, which is a local one, unless something names it, or it is another."""
    a = relocatable()
    strings = a.sec[a.at][LINK]
    end = len(a.body(strings))
    relocs = a.name.index(b".rela.debug_info")
    for info, name, used in ((0x21, b".nv.reservedSmem.cap", 0), (0x21, b".nv.reservedSmem.cap", 1), (0x21, b".nv.reservedSmem.capx", 0)):
        symbol = struct.pack("<IBBHQQ", end, info, 0, 0, 0, 0)
        grown = {a.at: a.body(a.at) + symbol, strings: a.body(strings) + name + b"\0"}
        if used:
            grown[relocs] = bytes(a.body(relocs)[:12]) + struct.pack("<I", len(a.symbols())) + a.body(relocs)[16:]
        b = Elf(laid_out(a, [], grown))
        equal(b.cap(), len(a.symbols()) if not used and name[-1:] != b"x" else None, "what the model says")
        crafted(name.decode(), b.data)


@test
def segments_over_capsules():
    """No compiler's: a segment that ends with a capsule, or holds nothing else, or begins with what has no bytes: not taken."""
    for sample_name in ("plain.sm_100.cubin", "vars.sm_100.cubin"):
        with open(sample(sample_name), "rb") as f:
            data = f.read()
        a = Elf(data)
        capsule = a.sec[next(i for i, n in enumerate(a.name) if n.startswith(b".nv.capmerc"))]
        end = capsule[OFF] + capsule[SIZE]
        k = max(i for i, s in enumerate(a.seg) if s[5] and s[0] != PT_PHDR and s[2] != a.phoff)
        start = a.seg[k][2]
        size = end - start
        for off, filesz, memsz in ((start, size, size), (start, size, a.memory(size)), (start, size, size + 0x123),
                                   (capsule[OFF], capsule[SIZE], capsule[SIZE]), (capsule[OFF], capsule[SIZE], a.memory(capsule[SIZE]))):
            out = bytearray(data)
            struct.pack_into("<Q", out, a.phoff + 56 * k + 8, off)
            struct.pack_into("<QQ", out, a.phoff + 56 * k + 32, filesz, memsz)
            what = "%s, %x of %x" % (sample_name, filesz, memsz)
            r = cuvet("finalize", "--binary-kind=sass", write(bytes(out), "in.cubin"), "-o", os.path.join(scratch(), "out.cubin"))
            assert r.rc == FINDINGS and "CV-ELF-126" in r.err, what + ": " + r.err[-400:]


main()
