# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of a device ELF and of a container, and one-field mutations of them.

A field has a group (a row of the table), a name, an offset and a width, and what it counts in: mutations try what such
a field may be made to say (0, 1, the maximum, its neighbours, one unit of its alignment more or less, the high bit,
another legal index). The reader here is lenient: it only sees genuine files.
"""
import collections
import hashlib
import random
import struct

Field = collections.namedtuple("Field", "group name at width unit limit")
Mutant = collections.namedtuple("Mutant", "field how old new")

EHDR = {2: (("e_type", 16, 2), ("e_machine", 18, 2), ("e_version", 20, 4), ("e_entry", 24, 8), ("e_phoff", 32, 8),
            ("e_shoff", 40, 8), ("e_flags", 48, 4), ("e_ehsize", 52, 2), ("e_phentsize", 54, 2), ("e_phnum", 56, 2),
            ("e_shentsize", 58, 2), ("e_shnum", 60, 2), ("e_shstrndx", 62, 2)),
        1: (("e_type", 16, 2), ("e_machine", 18, 2), ("e_version", 20, 4), ("e_entry", 24, 4), ("e_phoff", 28, 4),
            ("e_shoff", 32, 4), ("e_flags", 36, 4), ("e_ehsize", 40, 2), ("e_phentsize", 42, 2), ("e_phnum", 44, 2),
            ("e_shentsize", 46, 2), ("e_shnum", 48, 2), ("e_shstrndx", 50, 2))}
IDENT = (("magic", 0, 4), ("EI_CLASS", 4, 1), ("EI_DATA", 5, 1), ("EI_VERSION", 6, 1), ("EI_OSABI", 7, 1),
         ("EI_ABIVERSION", 8, 1), ("EI_PAD", 9, 7))
SHDR = {2: (("sh_name", 0, 4), ("sh_type", 4, 4), ("sh_flags", 8, 8), ("sh_addr", 16, 8), ("sh_offset", 24, 8),
            ("sh_size", 32, 8), ("sh_link", 40, 4), ("sh_info", 44, 4), ("sh_addralign", 48, 8), ("sh_entsize", 56, 8)),
        1: tuple((name, 4 * i, 4) for i, name in enumerate(
            ("sh_name", "sh_type", "sh_flags", "sh_addr", "sh_offset", "sh_size", "sh_link", "sh_info",
             "sh_addralign", "sh_entsize")))}
PHDR = {2: (("p_type", 0, 4), ("p_flags", 4, 4), ("p_offset", 8, 8), ("p_vaddr", 16, 8), ("p_paddr", 24, 8),
            ("p_filesz", 32, 8), ("p_memsz", 40, 8), ("p_align", 48, 8)),
        1: (("p_type", 0, 4), ("p_offset", 4, 4), ("p_vaddr", 8, 4), ("p_paddr", 12, 4), ("p_filesz", 16, 4),
            ("p_memsz", 20, 4), ("p_flags", 24, 4), ("p_align", 28, 4))}
SYMBOL = {2: (24, (("st_name", 0, 4), ("st_info", 4, 1), ("st_other", 5, 1), ("st_shndx", 6, 2), ("st_value", 8, 8),
                   ("st_size", 16, 8))),
          1: (16, (("st_name", 0, 4), ("st_value", 4, 4), ("st_size", 8, 4), ("st_info", 12, 1), ("st_other", 13, 1),
                   ("st_shndx", 14, 2)))}
RELOCATION = {2: {4: (24, (("r_offset", 0, 8), ("r_type", 8, 4), ("r_sym", 12, 4), ("r_addend", 16, 8))),
                  9: (16, (("r_offset", 0, 8), ("r_type", 8, 4), ("r_sym", 12, 4)))},
              1: {4: (12, (("r_offset", 0, 4), ("r_type", 4, 1), ("r_sym", 5, 3), ("r_addend", 8, 4))),
                  9: (8, (("r_offset", 0, 4), ("r_type", 4, 1), ("r_sym", 5, 3)))}}
MEMBER = (("kind", 0, 2), ("version", 2, 2), ("header_size", 4, 4), ("payload_size", 8, 8), ("compressed_size", 16, 4),
          ("options_offset", 20, 4), ("minor", 24, 2), ("major", 26, 2), ("arch", 28, 4), ("name_offset", 32, 4),
          ("name_length", 36, 4), ("flags", 40, 8), ("key", 48, 8), ("uncompressed_size", 56, 8))
INDEX = {"sh_link", "sh_info", "st_shndx", "e_shstrndx", "r_sym"}
ALIGNED = {"sh_offset": 8, "sh_size": 8, "e_shoff": 8, "e_phoff": 8, "p_offset": 8, "p_filesz": 8, "p_memsz": 8,
           "st_value": 16, "st_size": 16, "r_offset": 8, "payload_size": 8, "header_size": 8, "size": 8}
NOBITS = (8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)
TLV = (0x70000000, 0x70000083, 0x70000086)


def table(group, layout, at, limits):
    return [Field(group, name, at + offset, width, ALIGNED.get(name, 4), limits.get(name, 0))
            for name, offset, width in layout]


def sections(data):
    """The section headers of a device ELF: index, file offset of the header, and its fields by name."""
    kind = data[4]
    shoff, = struct.unpack_from("<Q" if kind == 2 else "<I", data, 40 if kind == 2 else 32)
    count, strndx = struct.unpack_from("<HH", data, 60 if kind == 2 else 48)
    size = 64 if kind == 2 else 40
    out = []
    for i in range(count):
        head = {name: int.from_bytes(data[shoff + size * i + off:shoff + size * i + off + width], "little")
                for name, off, width in SHDR[kind]}
        out.append((i, shoff + size * i, head))
    names = out[strndx][2]["sh_offset"] if out else 0
    for _, _, head in out:
        start = names + head["sh_name"]
        head["name"] = data[start:data.index(b"\0", start)].decode("latin-1")
    return out


def records(group, data, start, end):
    """The records of .nv.info and .nv.compat: format, attribute, size or value, and the words of the payload."""
    out, at = [], start
    while at + 4 <= end:
        form, code = data[at], data[at + 1]
        out += [Field(group, "format", at, 1, 1, 5), Field(group, "attribute", at + 1, 1, 1, 0x60)]
        size = struct.unpack_from("<H", data, at + 2)[0] if form == 4 else 0
        out.append(Field(group, "payload size" if form == 4 else "value", at + 2, 2, 4, 0))
        for word in range(at + 4, min(at + 4 + size, end) - 3, 4):
            out.append(Field(group, "word of 0x%02x" % code, word, 4, 16, 0))
        at += 4 + size
    return out


def notes(data, start, end):
    out, at = [], start
    while at + 12 <= end:
        name_size, size, _ = struct.unpack_from("<III", data, at)
        out += [Field("note", name, at + 4 * i, 4, 4, 0) for i, name in enumerate(("n_namesz", "n_descsz", "n_type"))]
        at += 12
        out += [Field("note", "name", at + i, 1, 1, 0) for i in range(min(name_size, end - at))]
        at += name_size + 3 & ~3
        out += [Field("note", "descriptor word", at + i, 4, 4, 0) for i in range(0, min(size, 24, end - at) - 3, 4)]
        out += [Field("note", "descriptor text", at + i, 1, 1, 0) for i in range(24, min(size, end - at))]
        at += size + 3 & ~3
    return out


def contents(data, kind, head, limits):
    """The fields inside of one section."""
    start, what, name = head["sh_offset"], head["sh_type"], head["name"]
    end = start + head["sh_size"]
    out = []
    if what in NOBITS or what == 0 or end > len(data):
        return out
    if what in (2, 0x70000085):
        size, layout = SYMBOL[kind]
        for at in range(start, end - size + 1, size):
            out += table("symbol", layout, at, limits)
    elif what in (4, 9, 0x70000082):
        size, layout = RELOCATION[kind][9 if what == 9 else 4]
        for at in range(start, end - size + 1, size):
            out += table("relocation", layout, at, limits)
    elif what == 3:
        out += [Field("string table", "byte of " + name, at, 1, 1, 0) for at in range(start, end)]
    elif what == 7:
        out += notes(data, start, end)
    elif what in TLV:
        group = ".nv.compat" if what == 0x70000086 else "metadata of a clone" if what == 0x70000083 else "metadata"
        out += records(group, data, start, end)
    elif what in (0x70000001, 0x70000002):
        group = "call graph" if what == 0x70000001 else "prototype"
        for at in range(start, end - 7, 8):
            out += [Field(group, "first", at, 4, 1, limits["r_sym"]), Field(group, "second", at + 4, 4, 1, limits["r_sym"])]
    elif what == 0x7000000B:
        out += [Field("relocation actions", "word", at, 4, 1, 0) for at in range(start, end - 3, 4)]
    elif what == 0x70000016:
        out += [Field("capsule", "word %d" % i, start + 4 * i, 4, 1, limits["sh_link"]) for i in range(3)
                if start + 4 * i + 4 <= end]
        out.append(Field("capsule", "last two bytes", end - 2, 2, 1, 0))
    return out


def cubin_fields(data):
    kind = data[4]
    out = [Field("ELF header", name, at, width, 4, 0) for name, at, width in IDENT]
    heads = sections(data)
    symbols = [head for _, _, head in heads if head["sh_type"] == 2]
    limits = {"sh_link": len(heads), "sh_info": len(heads), "st_shndx": len(heads), "e_shstrndx": len(heads),
              "r_sym": symbols[0]["sh_size"] // SYMBOL[kind][0] if symbols else 0}
    out += table("ELF header", EHDR[kind], 0, limits)
    for _, at, head in heads:
        out += table("section header", SHDR[kind], at, limits)
    phoff, = struct.unpack_from("<Q" if kind == 2 else "<I", data, 32 if kind == 2 else 28)
    count, = struct.unpack_from("<H", data, 56 if kind == 2 else 44)
    for i in range(count):
        out += table("program header", PHDR[kind], phoff + (56 if kind == 2 else 32) * i, limits)
    for _, _, head in heads:
        out += contents(data, kind, head, limits)
    return out


def container_fields(data):
    out = [Field("container header", name, at, width, ALIGNED.get(name, 8), 0)
           for name, at, width in (("magic", 0, 4), ("version", 4, 2), ("header_size", 6, 2), ("size", 8, 8))]
    at = 16
    while at + 64 <= len(data):
        out += table("member header", MEMBER, at, {})
        head, payload = struct.unpack_from("<I", data, at + 4)[0], struct.unpack_from("<Q", data, at + 8)[0]
        stored, options = struct.unpack_from("<II", data, at + 16)
        if head < 64 or at + head + payload > len(data):
            break
        out += [Field("member header", "variable area", byte, 1, 1, 0) for byte in range(at + 64, at + head)]
        if options and options + 8 <= head:
            out += [Field("member header", "options descriptor", at + options + i, 4, 8, 0) for i in (0, 4)]
        used = stored or payload
        out += [Field("member payload", "byte", at + head + byte, 1, 1, 0) for byte in range(0, used, max(1, used // 64))]
        out += [Field("member payload", "padding", byte, 1, 1, 0) for byte in range(at + head + used, at + head + payload)]
        at += head + payload
    return out


def host_fields(data):
    """The records of .nvFatBinSegment, which name the containers of a host file."""
    out = []
    for _, _, head in sections(data):
        if head["name"] == ".nvFatBinSegment":
            for at in range(head["sh_offset"], head["sh_offset"] + head["sh_size"] - 23, 24):
                out += table("wrapper", (("magic", 0, 4), ("version", 4, 4), ("data", 8, 8), ("second pointer", 16, 8)), at, {})
    return out


FIELDS_OF = {"cubin": cubin_fields, "container": container_fields, "host": host_fields}
MUTANTS_OF_HOST = 24


def values(field, old, chance):
    """(how, value) of the mutations that fit the field."""
    top = (1 << 8 * field.width) - 1
    out = [("0", 0), ("1", 1), ("maximum", top), ("maximum/2", top >> 1), ("+1", old + 1), ("-1", old - 1),
           ("+unit", old + field.unit), ("-unit", old - field.unit), ("high bit", old ^ top + 1 >> 1),
           ("one bit", old ^ 1 << chance.randrange(8 * field.width))]
    if field.name in INDEX or field.group in ("call graph", "prototype"):
        out += [("other index", chance.randrange(field.limit or 4)), ("last index + 1", field.limit)]
    if field.limit and field.name in ("format", "attribute"):
        out.append(("other code", chance.randrange(field.limit)))
    return [(how, value & top) for how, value in out if value & top != old]


def mutants(sample, each):
    """`each` mutants of a sample, spread evenly over the fields' names; always the same for the same sample."""
    fields = FIELDS_OF[sample.kind](sample.data)
    each = min(each, MUTANTS_OF_HOST) if sample.kind == "host" else each
    chance = random.Random(int(hashlib.sha256(sample.name.encode()).hexdigest()[:12], 16))
    by_name = collections.defaultdict(list)
    for field in fields:
        by_name[field.group, field.name.split(" of 0x")[0]].append(field)
    names = sorted(by_name)
    out, seen = [], set()
    tries = 0
    while len(out) < each and tries < 20 * each:
        chance.shuffle(names)
        for name in names:
            tries += 1
            field = chance.choice(by_name[name])
            old = int.from_bytes(sample.data[field.at:field.at + field.width], "little")
            how, new = chance.choice(values(field, old, chance))
            if (field.at, field.width, new) not in seen and len(out) < each:
                seen.add((field.at, field.width, new))
                out.append(Mutant(field, how, old, new))
    return out


def apply(data, mutant):
    at, width = mutant.field.at, mutant.field.width
    return data[:at] + mutant.new.to_bytes(width, "little") + data[at + width:]
