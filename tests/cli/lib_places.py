# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host objects and archives made from parts, so that device code can lie at any place of them."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "corpus"))
import offload  # noqa: E402

ET_NONE, ET_REL, ET_EXEC, ET_DYN, ET_CORE = range(5)
NULL, PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, INIT_ARRAY = 0, 1, 2, 3, 4, 7, 8, 14
WRITE, ALLOC, EXEC, MERGE, STRINGS, EXCLUDE = 1, 2, 4, 0x10, 0x20, 0x80000000
REL, FINISHED, SEGMENT = "__nv_relfatbin", ".nv_fatbin", ".nvFatBinSegment"


def section(name, data, kind=PROGBITS, flags=ALLOC, align=8, link=0, info=0, entsize=0):
    return {"name": name.encode(), "type": kind, "flags": flags, "data": data, "align": align, "link": link, "info": info,
            "entsize": entsize}


def elf(sections, e_type=ET_REL, machine=62, behind=None, tail=b""):
    """An ELF64 file of these sections. behind: (number of a section, bytes that follow it and belong to none)."""
    sections = [section("", b"", NULL, 0, 1)] + list(sections) + [section(".shstrtab", b"", STRTAB, 0, 1)]
    names, at = b"", []
    for s in sections:
        at.append(len(names))
        names += s["name"] + b"\0"
    sections[-1]["data"] = names
    body, table = bytearray(64), b""
    for i, s in enumerate(sections):
        body += bytes(-len(body) % s["align"])
        table += struct.pack("<IIQQQQIIQQ", at[i], s["type"], s["flags"], 0, len(body) if i else 0, len(s["data"]), s["link"],
                             s["info"], s["align"] if i else 0, s["entsize"])
        body += s["data"]
        if behind and behind[0] == i:
            body += bytes(-len(body) % 8) + behind[1]
    body += bytes(-len(body) % 8)
    head = struct.pack("<HHIQQQIHHHHHH", e_type, machine, 1, 0, 0, len(body), 0, 64, 56 if e_type != ET_REL else 0, 0, 64,
                       len(sections), len(sections) - 1)
    body[:64] = b"\x7fELF\2\1\1\0" + bytes(8) + head
    return bytes(body) + table + tail


def wrapped(sections, names=1, **more):
    """The same with wrappers that name containers: names is a section number, or a list of (section number, offset)."""
    names = [(names, 0)] if isinstance(names, int) else list(names)
    n = len(sections)
    records = b"".join(struct.pack("<IIQQ", 0x466243B1, 1, 0, 0) for _ in names)
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 0, 3, 0, i, 0, 0) for i, _ in names)
    relocs = b"".join(struct.pack("<QIIq", 24 * k + 8, 1, k + 1, off) for k, (_, off) in enumerate(names))
    return elf(list(sections) + [
        section(SEGMENT, records, flags=ALLOC | WRITE),
        section(".symtab", symbols, SYMTAB, 0, link=n + 3, info=len(names) + 1, entsize=24),
        section(".strtab", b"\0", STRTAB, 0, 1),
        section(".rela" + SEGMENT, relocs, RELA, 0x40, link=n + 2, info=n + 1, entsize=24),
    ], **more)


def archive(*members, magic=b"!<arch>\n"):
    """members: (name field, body)"""
    out = magic
    for name, body in members:
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"100644", len(body)) + body
        out += b"\n" * (len(body) % 2)
    return out


# Sections of a host object beside its __nv_relfatbin: (name, type, flags), and the place that a container in it has.
SECTIONS = [(name, PROGBITS, flags, "DATA" if flags & (ALLOC | EXEC) == ALLOC or flags & EXCLUDE else "SECTION")
            for name in (".rodata", ".data", ".text", ".comment", ".debug_info", ".nv.info", "", ".eh_frame", ".ldata")
            for flags in (0, ALLOC, ALLOC | WRITE, ALLOC | EXEC, WRITE, MERGE | STRINGS, EXCLUDE)]
SECTIONS += [(name, kind, ALLOC, "SECTION") for name in (".note.gnu.x", ".rodata", ".text")
             for kind in (SYMTAB, STRTAB, RELA, NOTE, INIT_ARRAY, 9, 11, 17, 0x60000001, 0x70000001)]
SECTIONS += [(name, NOBITS, ALLOC | WRITE, "OUTSIDE") for name in (".bss", ".rodata", FINISHED)]
SECTIONS += [(name, NULL, ALLOC, "OUTSIDE") for name in (".rodata", ".text")]
SECTIONS += [(FINISHED, PROGBITS, flags, "FINISHED") for flags in (0, ALLOC, ALLOC | WRITE, ALLOC | EXEC, EXCLUDE)]
SECTIONS += [(REL, PROGBITS, flags, "UNNAMED") for flags in (0, ALLOC, ALLOC | WRITE)]
SECTIONS += [(SEGMENT + ".x", PROGBITS, ALLOC, "DATA"), ("x" + FINISHED, PROGBITS, ALLOC, "DATA"),
             (REL + "2", PROGBITS, ALLOC, "DATA"), (".nv_fatbi", PROGBITS, ALLOC, "DATA")]


def cases(good, evil, cubin, ptx):
    """(what, name of the file, its bytes, place of the second piece of code): good is a container that has to be linked,
    evil one that perhaps is not, cubin what evil holds, ptx its text."""
    first = section(REL, good)
    for name, kind, flags, place in SECTIONS:
        what = "section '%s' of type %x and flags %x" % (name, kind, flags)
        yield what, "a.o", wrapped([first, section(name, evil, kind, flags)]), place
        if name != REL:
            yield what + ", in front", "a.o", wrapped([section(name, evil, kind, flags), first], 2), place
    for flags in (ALLOC, ALLOC | EXEC):
        yield "a cubin in a section of flags %x" % flags, "a.o", wrapped([first, section(".x", cubin, flags=flags)]), \
            "SECTION" if flags & EXEC else "DATA"
    yield "a cubin in .nv_fatbin", "a.o", wrapped([first, section(FINISHED, cubin)]), "FINISHED"
    yield "a cubin behind the container", "a.o", wrapped([section(REL, good + cubin)]), "UNNAMED"
    yield "behind the container", "a.o", wrapped([section(REL, good + evil)]), "UNNAMED"
    yield "behind the container, named", "a.o", wrapped([section(REL, good + evil)], [(1, 0), (1, len(good))]), "NAMED"
    yield "a second section, named", "a.o", wrapped([first, section(REL, evil)], [(1, 0), (2, 0)]), "NAMED"
    yield "named in data", "a.o", wrapped([first, section(".rodata", evil)], [(1, 0), (2, 0)]), "DATA"
    yield "between sections", "a.o", wrapped([first, section(".rodata", b"1")], behind=(1, evil)), "OUTSIDE"
    yield "behind the last section", "a.o", wrapped([first], behind=(5, evil)), "OUTSIDE"
    yield "behind the file", "a.o", wrapped([first], tail=evil), "OUTSIDE"
    yield "moved by 1 behind the file", "a.o", wrapped([first], tail=b"\1" + evil), "OUTSIDE"
    for what, image in (("a container", evil), ("a cubin", cubin)):
        binary = offload.binary(offload.image(image, arch=b"sm_90"))
        for name in (".llvm.offloading", ".rodata", ""):
            holder = section(name, binary, offload.SECTION, EXCLUDE)
            yield "%s in offload binaries in '%s'" % (what, name), "a.o", wrapped([first, holder]), "OFFLOAD"
            yield "%s in offload binaries in '%s', in front" % (what, name), "a.o", wrapped([holder, first], 2), "OFFLOAD"
        yield what + " in an offload binary in a section of another type", "a.o", wrapped([first, section(".llvm.offloading", binary)]), "DATA"
    yield "a second container of a fat binary", "a.fatbin", good + evil, "FOLLOWING"
    one = ("good.o/", wrapped([first]))
    for what, entry, place in (
        ("a host object", ("evil.o/", wrapped([section(REL, evil)])), "OBJECT"),
        ("a cubin", ("evil.o/", cubin), "MEMBER"), ("a cubin by its name", ("evil.cubin/", cubin), "MEMBER"),
        ("a fat binary", ("evil.o/", evil), "MEMBER"), ("a fat binary by its name", ("evil.fatbin/", evil), "MEMBER"),
        ("a fat binary of zero bytes first", ("evil.fatbin/", bytes(8) + evil), "BYTES"),
        ("a text", ("notes.txt/", b"just some text\n" + evil), "BYTES"),
        ("a text with a cubin", ("notes.txt/", b"just some text\n" + cubin), "BYTES"),
        ("a text with the name of an object", ("evil.o/", b"just some text\n" + evil), "BYTES"),
        ("an archive", ("in.a/", archive(("evil.o/", wrapped([section(REL, evil)])))), "ARCHIVE"),
        ("an archive of a cubin", ("in.a/", archive(("evil.o/", cubin))), "ARCHIVE"),
        ("an offload binary", ("evil.o/", offload.binary(offload.image(cubin))), "OFFLOAD"),
        ("strings of an offload binary", ("evil.o/", offload.binary(offload.image(b"", more=[(b"note", evil)]), version=2)), "TABLE"),
        ("a symbol table", ("/", bytes(4) + evil), "TABLE"), ("a symbol table of 64 bits", ("/SYM64/", bytes(8) + evil), "TABLE"),
        ("a table of names", ("//", evil), "TABLE"),
        ("a host object as a symbol table", ("/", wrapped([section(REL, evil)])), "TABLE"),
        ("a host object as a table of names", ("//", wrapped([section(REL, evil)])), "TABLE"),
        ("a member called like a table", ("__.SYMDEF/", wrapped([section(REL, evil)])), "OBJECT"),
        ("a cubin called like a table", ("__.SYMDEF_64/", cubin), "MEMBER"),
        ("a name", ("#1/%d" % len(evil), evil + b"hello"), "TABLE"),
    ):
        yield "archive: " + what, "a.a", archive(one, entry), place
        yield "archive: %s, in front" % what, "a.a", archive(entry, one), place


def refused_anyway(good, evil, cubin, ptx):
    """What is refused for other reasons, with nothing of it linked: (what, name of the file, its bytes)."""
    one = ("good.o/", wrapped([section(REL, good)]))
    yield "PTX in an archive", "a.a", archive(one, ("evil.o/", ptx))
    yield "bitcode in an archive", "a.a", archive(one, ("evil.bc/", b"BC\xc0\xde" + bytes(60) + evil))
    yield "a thin archive", "a.a", archive(one, magic=b"!<thin>\n")
    yield "a thin archive in an archive", "a.a", archive(one, ("in.a/", archive(("evil.o/", evil), magic=b"!<thin>\n")))
    yield "behind an archive", "a.a", archive(one) + evil
    yield "a text", "a.o", b"just some text\n" + evil
    yield "behind a cubin", "a.cubin", cubin + evil
    yield "behind PTX", "a.ptx", ptx + evil
    yield "a shared object in an archive", "a.a", archive(one, ("evil.so/", elf([section(REL, evil)], e_type=ET_DYN)))
    yield "a module id", "a.o", wrapped([section(REL, good), section("__nv_module_id", evil)])
    yield "a list of kernels", "a.o", wrapped([section(REL, good), section(".nvHRKE", evil)])
    yield "wrappers", "a.o", wrapped([section(REL, good), section(SEGMENT, evil)])
    yield "no wrappers", "a.o", elf([section(REL, evil)])
