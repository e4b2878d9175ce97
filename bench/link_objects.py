#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write programs for the link bench: relocatable device ELFs for sm_90, in the layout of today's compiler, whose code is
nothing but no-ops with relocations on them. No CUDA is needed; both linkers take them.

  link_objects.py WHAT [N] DIR      writes DIR/0000.cubin, ...; prints what it wrote

tiny; functions N (N / 10 objects, 50 relocations a function, no function called from two places); layers N (the same
size in five layers, each function calls four random ones of the next layer); symbols N; relocations N; edges N; shared N;
diamond N (N objects of two functions, each of which calls both of the next); dag N (N objects of four functions, each
of which calls four random ones of earlier objects, and a kernel that calls them).
"""
import os
import random
import struct
import sys

NOP = bytes.fromhex("18790000000000000000000000c00f00")
EXIT = bytes.fromhex("4d790000000080030000000000ea0f00")
R_64, R_ABS32, R_LO, R_HI, R_CONST, R_CLEAR, R_CALL = 2, 55, 56, 57, 59, 73, 75
LOCAL, GLOBAL, WEAK = 0, 1, 2
OBJECT, FUNC, SECTION, VARIABLE = 1, 2, 3, 13
SPACE_GLOBAL, SPACE_SHARED, SPACE_CONST, ENTRY = 0x20, 0x40, 0x80, 0x10
UNUSED = ("__UDT_OFFSET", "__UFT_OFFSET", "__UFT_CANONICAL", "__UDT_CANONICAL", "__UFT", "__UDT", "__UFT_END", "__UDT_END")


class Strings:
    def __init__(self):
        self.bytes, self.at = bytearray(1), {"": 0}

    def put(self, text):
        if text not in self.at:
            self.at[text] = len(self.bytes)
            self.bytes += text.encode("ascii") + b"\0"
        return self.at[text]


class Function:
    """calls: names; loads: names of global variables; shared, const: names. Every use is a relocation, or two."""

    def __init__(self, name, kernel=False, calls=(), loads=(), shared=(), const=(), takes=(), indirect=False, frame=0):
        self.name, self.kernel, self.calls, self.loads, self.frame = name, kernel, calls, loads, frame
        self.shared, self.const, self.takes, self.indirect = shared, const, takes, indirect


def note(kind, desc):
    return struct.pack("<III", 12, len(desc), kind) + b"NVIDIA Corp\0" + desc


def sval(code, payload):
    return struct.pack("<BBH", 4, code, len(payload)) + payload


class Obj:
    def __init__(self):
        self.functions, self.variables, self.sections, self.symbols = [], [], [], []
        self.names, self.strings, self.symbol_of, self.index = Strings(), Strings(), {}, {}

    def variable(self, name, space=SPACE_GLOBAL, size=4, bind=GLOBAL, defined=True):
        self.variables.append((name, space, size, bind, defined))

    def section(self, name, kind, flags, link, info, align, entsize, body, size=None):
        self.index[name] = len(self.sections)
        self.sections.append([self.names.put(name), kind, flags, link, info, align, entsize, body, len(body) if size is None else size])
        return len(self.sections) - 1

    def symbol(self, name, info, other, section, value, size, key=None):
        self.symbol_of[key or name] = len(self.symbols)
        self.symbols.append((self.strings.put(name), info, other, section, value, size))
        return len(self.symbols) - 1

    def code(self, f):
        """no-ops, and the relocations on them"""
        rels = []
        for name in f.calls:
            back = 16 * (len(rels) + 4)
            rels += [(R_LO, f.name, back), (R_HI, f.name, back), (R_CALL, name, 0)]
        for name in f.loads:
            rels += [(R_LO, name, 0), (R_HI, name, 0)]
        for name in f.takes:
            rels += [(R_LO, name, 0), (R_HI, name, 0)]
        rels += [(R_ABS32, name, 0) for name in f.shared] + [(R_CONST, name, 0) for name in f.const]
        body = NOP * (len(rels) + 2) + EXIT
        return body + NOP * (-len(body) % 128 // 16), rels

    def make_symbols(self, text_of):
        data = {}
        for name, space, size, _, defined in self.variables:
            if defined:
                key = {SPACE_GLOBAL: ".nv.global.init", SPACE_CONST: ".nv.constant3", SPACE_SHARED: ".nv_debug.shared"}[space]
                data.setdefault(key, []).append((name, size))
        kinds = {".nv.constant3": (0x70000067, 2), ".nv.global.init": (0x70000008, 3), ".nv_debug.shared": (0x7000000A, 3)}
        at, made = {}, {}
        for key in (".nv.constant3", ".nv.global.init", ".nv_debug.shared"):
            if key not in data:
                continue
            pos = 0
            for name, size in data[key]:
                at[name], pos = (key, pos), pos + (size + 3 & ~3)
            made[key] = (kinds[key][0], kinds[key][1], pos)
        return at, made

    def write(self):
        functions, undefined = self.functions, []
        defined = {f.name for f in functions}
        for f in functions:
            for name in list(f.calls) + list(f.takes):
                if name not in defined:
                    defined.add(name)
                    undefined.append(name)
        at, made = self.make_symbols(None)
        have = {v[0] for v in self.variables}
        for f in functions:
            for name in f.loads:
                if name not in have:
                    have.add(name)
                    self.variables.append((name, SPACE_GLOBAL, 4, GLOBAL, False))
        self.strings.put("#ii")
        codes = [self.code(f) for f in functions]
        # sections by number first: symbols name them
        n = len(functions)
        order = ["", ".shstrtab", ".strtab", ".symtab", ".debug_frame", ".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.info", ".nv.compat"]
        order += [".nv.info." + f.name for f in functions] + [".nv.callgraph", ".nv.prototype"]
        order += [".rela.text." + f.name for f, c in zip(functions, codes) if c[1]] + [".rela.debug_frame"]
        order += [k for k in (".nv.constant3",) if k in made] + [".text." + f.name for f in functions]
        order += [k for k in (".nv.global.init", ".nv_debug.shared") if k in made]
        order += [".nv.constant0." + f.name for f in functions if f.kernel]
        num = {name: i for i, name in enumerate(order)}
        self.symbol("", 0, 0, 0, 0, 0)
        for name in order:
            if name.startswith((".text.", ".note", ".nv.constant", ".debug_frame", ".nv.global", ".nv_debug", ".nv.callgraph", ".nv.prototype")):
                self.symbol(name, SECTION, 0, num[name], 0, 0)
        n_local = len(self.symbols)
        for name in UNUSED:
            self.symbol(name, WEAK << 4 | OBJECT, 0, 0, 0, 8)
        self.symbol(".nv.reservedSmem.offset0", WEAK << 4 | OBJECT, 0, 0, 0, 4)
        for f, c in zip(functions, codes):
            self.symbol(f.name, GLOBAL << 4 | FUNC, ENTRY if f.kernel else 0, num[".text." + f.name], 0, len(c[0]))
        for name in undefined:
            self.symbol(name, GLOBAL << 4 | FUNC, 0, 0, 0, 0)
        for name, space, size, bind, is_defined in self.variables:
            key, pos = at.get(name, (None, 0))
            value = 4 if space == SPACE_SHARED else pos
            self.symbol(name, bind << 4 | VARIABLE, space, num[key] if is_defined else 0, value if is_defined else 0, size)
        return self.assemble(order, num, codes, made, undefined, n_local)

    def info_of(self, f, code, num):
        out = sval(0x37, struct.pack("<I", 130))
        if f.kernel:
            out += sval(0x17, struct.pack("<III", 0, 0, 0x21F000))
        out += struct.pack("<BBH", 3, 0x50, 0)
        if f.kernel:
            out += struct.pack("<BBH", 3, 0x1B, 0xFF)
        gone = [self.symbol_of[name] for name in dict.fromkeys(f.calls) if name not in self.defined]
        if gone:
            out += sval(0x0F, b"".join(struct.pack("<I", s) for s in gone))
        out += struct.pack("<BBH", 3, 0x5F, 0x0101)
        if f.kernel:
            out += sval(0x1C, struct.pack("<I", 16 * (len(code[1]) + 2))) + struct.pack("<BBH", 3, 0x19, 8)
            out += sval(0x0A, struct.pack("<II", self.symbol_of[".nv.constant0." + f.name], 0x80210))
        return out + sval(0x36, struct.pack("<I", 8))

    def graph(self):
        def record(a, b):
            return struct.pack("<Ii", a, b)

        proto = self.strings.at["#ii"]
        taken = dict.fromkeys(name for f in self.functions for name in f.takes)
        callers = [f.name for f in self.functions if f.indirect]
        out = record(0, -1)
        for f in self.functions:
            out += b"".join(record(self.symbol_of[f.name], self.symbol_of[g]) for g in dict.fromkeys(f.calls))
        out += record(0, -2) + b"".join(record(self.symbol_of[g], proto) for g in taken)
        out += record(0, -3) + b"".join(record(self.symbol_of[g], proto) for g in callers)
        out += record(0, -4) + b"".join(record(self.symbol_of[f.name], self.symbol_of[g]) for f in self.functions for g in f.takes)
        return out

    def assemble(self, order, num, codes, made, undefined, n_local):
        functions, so = self.functions, self.symbol_of
        self.defined = {f.name for f in functions}
        frame, frame_rels, info = b"", [], b""
        cie = struct.pack("<IQQ", 0xFFFFFFFF, 0x2C, 0xFFFFFFFFFFFFFFFF) + bytes.fromhex("0300047c14") + bytes(31)
        for f, c in zip(functions, codes):
            p = len(frame)
            frame += cie + struct.pack("<IQQQQ", 0xFFFFFFFF, 0x2C, 0, 0, len(c[0])) + bytes(20)
            frame_rels += [(p + 0x44, R_64, so[".debug_frame"], p), (p + 0x4C, R_64, so[f.name], 0), (p + 0x54, R_CLEAR, so[f.name], 0)]
            for code, value in ((0x2F, 24), (0x23, 0), (0x11, f.frame)):
                info += sval(code, struct.pack("<II", so[f.name], value))
        desc = struct.pack("<6I", 2, 0, 1, 7, 9, 11) + b"\0ptxas\x001\x001\0-c\0\0\0"
        desc += bytes(-len(desc) % 4)
        cu = struct.pack("<HHHH", 2, 90, 130, 0)
        compat = bytes.fromhex("020900000202010002050500030701010203000002060100040b08000000000000000000")
        protos = [so[f.name] for f in functions if not f.kernel] + [so[u] for u in undefined]
        body = {
            ".debug_frame": (1, 0, 0, 0, 1, 0, frame),
            ".note.nv.tkinfo": (7, 0x2000000, 0, 0, 4, 0, note(2000, desc)),
            ".note.nv.cuinfo": (7, 0x1000040, num[".note.nv.tkinfo"], num[".nv.compat"], 4, 0, note(1000, cu)),
            ".nv.info": (0x70000000, 0, 3, 0, 4, 0, info),
            ".nv.compat": (0x70000086, 0, 0, 0, 4, 0, compat),
            ".nv.callgraph": (0x70000001, 0, 3, 0, 4, 8, self.graph()),
            ".nv.prototype": (0x70000002, 0, 3, 0, 4, 8, b"".join(struct.pack("<II", s, self.strings.at["#ii"]) for s in protos)),
            ".rela.debug_frame": (4, 0x40, 3, num[".debug_frame"], 8, 24, self.rela(frame_rels)),
        }
        for f, c in zip(functions, codes):
            text = num[".text." + f.name]
            body[".nv.info." + f.name] = (0x70000000, 0x40, 3, text, 4, 0, self.info_of(f, c, num))
            rels = [(16 * (i + 1), t, so[name], add) for i, (t, name, add) in enumerate(c[1])]
            body[".rela.text." + f.name] = (4, 0x40, 3, text, 8, 24, self.rela(rels))
            body[".text." + f.name] = (1, 6, 3, so[f.name], 128, 0, c[0])
            body[".nv.constant0." + f.name] = (0x70000064, 0x42, 0, text, 4, 0, bytes(0x218))
        symbols = b"".join(struct.pack("<IBBHQQ", *s) for s in self.symbols)
        body[".symtab"] = (2, 0, 2, n_local, 8, 24, symbols)
        body[".strtab"] = (3, 0, 0, 0, 1, 0, bytes(self.strings.bytes))
        for name in order:
            self.names.put(name)
        body[".shstrtab"] = (3, 0, 0, 0, 1, 0, bytes(self.names.bytes))
        body[""] = (0, 0, 0, 0, 0, 0, b"")
        return self.layout(order, body, made)

    @staticmethod
    def rela(rels):
        return b"".join(struct.pack("<QQq", off, sym << 32 | kind, add) for off, kind, sym, add in rels)

    def layout(self, order, body, made):
        out, headers = bytearray(64), b""
        for name in order:
            if name in made:
                kind, flags, size = made[name]
                link, info, align, entsize, data = 0, 0, 4, 0, b"" if kind == 0x7000000A else bytes(size)
            else:
                kind, flags, link, info, align, entsize, data = body[name]
                size = len(data)
            if name:
                out += bytes(-len(out) % align)
            headers += struct.pack("<IIQQQQIIQQ", self.names.at[name], kind, flags, 0, len(out) if name else 0, size, link, info, align, entsize)
            out += data
        out += bytes(-len(out) % 8)
        ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
        out[:64] = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, 190, 1, 0, 0, len(out), 6 << 24 | 90 << 8 | 4, 64, 0, 0, 64, len(order), 1)
        return bytes(out + headers)


def tiny():
    a, b = Obj(), Obj()
    a.functions = [Function("k0", True, ["f0"]), Function("a0", loads=["g0"])]
    b.functions = [Function("f0", loads=["g0"])]
    b.variable("g0")
    return [a, b]


def functions(n):
    """ten functions an object: a kernel calls three of the next object, each of which calls two of its own; 48 relocations
    and three of debug data for each device function. No function is called from two places."""
    objects, m = [], n // 10
    for i in range(m):
        o, nxt = Obj(), (i + 1) % m
        o.functions = [Function("k%d" % i, True, ["d%d_%d" % (nxt, j) for j in range(3)], ["g%d_0" % i] * 20)]
        for j in range(9):
            calls = ["d%d_%d" % (i, 3 + 2 * j), "d%d_%d" % (i, 4 + 2 * j)] if j < 3 else []
            loads = ["g%d_%d" % ((i + v) % m, j) for v in range(26 - 3 * len(calls) // 2)]
            o.functions.append(Function("d%d_%d" % (i, j), False, calls, loads, const=["c%d" % i]))
        for j in range(9):
            o.variable("g%d_%d" % (i, j))
        if i < 2000:
            o.variable("c%d" % i, SPACE_CONST)
        else:
            raise SystemExit("too many constants")
        objects.append(o)
    return objects


def layers(n, seed=1):
    """as functions(), but what is called is shared, as helpers are: the nine device functions of an object call four
    random ones of the next layer each; the kernel calls three of its own object"""
    rnd, objects, m = random.Random(seed), [], n // 10
    for i in range(m):
        o, end = Obj(), (i * 5 // m + 1) * m // 5
        below = range(end, min(m, end + m // 5))
        o.functions = [Function("k%d" % i, True, ["d%d_%d" % (i, j) for j in range(3)], ["g%d_0" % i] * 20)]
        for j in range(9):
            calls = ["d%d_%d" % (rnd.choice(below), rnd.randrange(9)) for _ in range(4)] if below else []
            loads = ["g%d_%d" % ((i + v) % m, j) for v in range(25 - 3 * len(calls) // 2)]
            o.functions.append(Function("d%d_%d" % (i, j), False, list(dict.fromkeys(calls)), loads))
        for j in range(9):
            o.variable("g%d_%d" % (i, j))
        objects.append(o)
    return objects


def symbols(n):
    """n variables in 20 objects, each named again by the next one"""
    objects = []
    for i in range(20):
        o = Obj()
        o.functions = [Function("k%d" % i, True, [], ["v%d_0" % i])]
        for j in range(n // 20):
            o.variable("v%d_%d" % (i, j))
            o.variable("v%d_%d" % ((i + 1) % 20, j), defined=False)
        objects.append(o)
    return objects


def relocations(n):
    """n relocations on the code of 100 kernels in ten objects"""
    objects = []
    for i in range(10):
        o = Obj()
        o.functions = [Function("k%d_%d" % (i, j), True, [], ["v%d" % i] * (n // 200)) for j in range(10)]
        o.variable("v%d" % i)
        objects.append(o)
    return objects


def edges(n, seed=1):
    """n calls among 1,000 device functions of 100 objects, every one of a later number than its caller"""
    rnd, count = random.Random(seed), 1000
    objects = [Obj() for _ in range(count // 10)]
    for i in range(count):
        later = range(i + 1, count)
        calls = sorted(rnd.sample(later, min(len(later), 2 * n // count * (count - i) // count)))
        objects[i // 10].functions.append(Function("f%d" % i, False, ["f%d" % c for c in calls]))
    objects[0].functions.append(Function("k", True, ["f0", "f1"]))
    return objects


def shared(n):
    """n shared variables, each of a function that two kernels call; 32 a kernel"""
    objects = []
    for i in range(n // 32):
        o = Obj()
        for j in range(32):
            o.functions.append(Function("f%d_%d" % (i, j), False, shared=["s%d_%d" % (i, j)]))
            o.variable("s%d_%d" % (i, j), SPACE_SHARED, 4 + 4 * (j % 3))
        for k in range(2):
            o.functions.append(Function("k%d_%d" % (i, k), True, ["f%d_%d" % (i, j) for j in range(32)]))
        objects.append(o)
    return objects


def diamond(n):
    objects = []
    for i in range(n):
        o = Obj()
        nxt = ["a%d" % (i + 1), "b%d" % (i + 1)] if i + 1 < n else []
        o.functions = [Function("a%d" % i, False, nxt), Function("b%d" % i, False, nxt)]
        if i == 0:
            o.functions.append(Function("k", True, ["a0", "b0"]))
        objects.append(o)
    return objects


def dag(n, seed=1):
    rnd, objects = random.Random(seed), []
    for i in range(n):
        o = Obj()
        for j in range(4):
            calls = ["f%d_%d" % (rnd.randrange(i), rnd.randrange(4)) for _ in range(4)] if i else []
            o.functions.append(Function("f%d_%d" % (i, j), False, list(dict.fromkeys(calls)), frame=16))
        objects.append(o)
        o.functions.append(Function("k%d" % i, True, ["f%d_%d" % (i, j) for j in range(4)]))
    return objects


MAKERS = {"functions": functions, "layers": layers, "symbols": symbols, "relocations": relocations, "edges": edges,
          "shared": shared, "diamond": diamond, "dag": dag}


def make(what, n, where):
    """write the objects; returns their paths"""
    os.makedirs(where, exist_ok=True)
    paths = []
    for i, o in enumerate(tiny() if what == "tiny" else MAKERS[what](n)):
        paths.append(os.path.join(where, "%05d.cubin" % i))
        with open(paths[-1], "wb") as out:
            out.write(o.write())
    return paths


def main():
    args = sys.argv[1:]
    if len(args) not in (2, 3) or args[0] not in ("tiny", *MAKERS) or (args[0] != "tiny") != (len(args) == 3):
        raise SystemExit(__doc__)
    paths = make(args[0], int(args[1]) if len(args) == 3 else 0, args[-1])
    print("%d objects, %d bytes" % (len(paths), sum(os.path.getsize(p) for p in paths)))


if __name__ == "__main__":
    main()
