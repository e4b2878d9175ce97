#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of corpus/hostile with what has to be said of each, for fuzz/target_verdict.c, halves of a program for target_hosts.c and target_admits.c,
good device ELFs for target_fields.c, files with containers for target_places.c, code for
many machines for target_choices.c.

  make_cases.py FOLDER      writes cases.bin, the bytes of all files, each once, and cases.inc, a row for each case; the others alike

A case is a file with one thing wrong, the rule that must be raised, the verdict that it deserves at least, and a neighbour that is legal
(tools/corpus/hostile.py, which knows nothing of the library). A device ELF comes with the header of a fat binary's member that is right
for the legal one: what is wrong with the ELF is as wrong in a member.
"""
import os
import re
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
from edit import Elf, member  # noqa: E402

MOST = 80 << 10  # bytes of a file
VERDICTS = ("clean", "unsupported", "suspicious", "malformed", "limit", "error")
MACHINE_CUDA = 190

# Cases that are something else where they lie in other files: (rule, how labels begin), and the sheet that says so.
# Where an ELF ends: of a member that is stored as it is nobody knows, its bytes "padded to 8" (fatbin.md 7.1); a compressed one "is exactly the
# ELF", which is a rule of its own (CV-AGREE-009).
ALONE = (("CV-ELF-031", ""), ("CV-FATBIN-046", "gap-aligned"))  # ... and a gap below 256 stands before a multiple of 256 of the file.
# The same padding makes a header whole of which one byte is missing, or four (fatbin.md 7.1): in members only where they are compressed.
PADDED = (("CV-ELF-001", "truncated-63"), ("CV-FATBIN-001", "container-truncated"))
# A container is known by its eight bytes 50 ed 55 ba 01 00 10 00 (fatbin.md 9), but where one has to be: at the beginning of a file or a member.
# Behind others what has another version or size of a header is no container, but bytes that belong to none (CV-FATBIN-046).
FIRST = (("CV-FATBIN-003", "container-version"), ("CV-FATBIN-004", "container-header-24"))
# "A container inside a member" (CV-FATBIN-049): in a member its legal neighbour is one as well.
OUTSIDE = (("CV-FATBIN-049", ""),)
BEHIND, INSIDE, PACKED = 1, 2, 4  # behind other fat binaries; in members; there only compressed

def table(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as h:
        head, *lines = (line.rstrip("\n").split("\t") for line in h)
    return [dict(zip(head, line)) for line in lines]


def is_one(row, cases):
    return any(row["rule"] == rule and row["label"].startswith(label) for rule, label in cases)


def is_device_elf(data):
    return len(data) >= 64 and data[:5] == b"\x7fELF\2" and struct.unpack_from("<H", data, 18)[0] == MACHINE_CUDA


def target_of(elf):
    """(number, is ABI 8): e_flags, bits 8 to 23 of ABI 8, 0 to 7 of ABI 7"""
    flags, = struct.unpack_from("<I", elf, 48)
    return (flags >> 8 & 0xFFFF, True) if elf[8] == 8 else (flags & 0xFF, False)


def suffix_of(elf):
    """what stands behind the number in the tool's -arch, which the first tool note has as a text"""
    found = re.search(rb"-arch sm_\d+([af]?)[ \0]", elf)
    return found[1].decode() if found else ""


def header(elf):
    """of a member with this content: fatbin.md sections 4, 6 and 8"""
    number, _ = target_of(elf)
    picture = Elf(elf)
    flags = 0x11 | {"": 0, "a": 0x100000, "f": 0x200000}[suffix_of(elf)]
    flags |= 2 if picture.has(".debug_info") or picture.has(".nv_debug_info_reg_type") else 0
    area = b""
    if number >= 100:
        flags |= 0x1000000
        copy = picture.section_bytes(".nv.compat") if picture.has(".nv.compat") else b""
        area = struct.pack("<II", 0x48, len(copy)) + b"\0" + copy
        area = area.ljust(-(-len(area) // 8) * 8, b"\0")
    made = member(2, b"", number, flags=flags, version=(1, elf[8]), extra=area, **({"options_offset": 0x40} if area else {}))
    return made[:0x40 + len(area)]


class Blob:
    def __init__(self):
        self.data, self.places = bytearray(), {}

    def put(self, data):
        data = bytes(data)
        if data not in self.places:
            self.data += bytes(-len(self.data) % 8)
            self.places[data] = len(self.data)
            self.data += data
        return "%d, %d" % (self.places[data], len(data))


def read(name):
    with open(os.path.join(ROOT, "corpus", name), "rb") as h:
        return h.read()


def limits(text):
    words = text.split()
    assert all(word == "--limit" for word in words[::2]) or text == "-", text
    return ["{ offsetof(cuvet_limits, %s), %s }" % tuple(word.split("=")) for word in words[1::2]]


def rows(blob):
    for row in table("corpus/hostile/MANIFEST.tsv"):
        data, legal = read(row["file"]), read(row["legal"])
        if max(len(data), len(legal)) > MOST:
            continue
        ways, place = 0, "0, 0"
        if is_device_elf(legal) and not is_one(row, ALONE):
            place = blob.put(header(legal))
        elif row["file"].endswith(".fatbin") and not is_one(row, ALONE):
            ways = INSIDE if is_one(row, FIRST) else BEHIND if is_one(row, OUTSIDE) else BEHIND | INSIDE
        ways |= PACKED if is_one(row, PADDED) else 0
        # There is nothing that is wrong with an ELF of 32 bits, and nobody supports it.
        good = row["legal_options"] == "-" and legal[:5] != b"\x7fELF\1"
        given = limits(row["options"])
        yield 'CASE("%s", "%s", %d, %d, %s, %s, %s, %d, { %s })' % (
            row["rule"], row["label"], VERDICTS.index(row["verdict"]), ways, blob.put(data), blob.put(legal), place, good, ", ".join(given) or "{ 0, 0 }")


LISTS = (".nvHRKI", ".nvHRKE", ".nvHRDI", ".nvHRDE", ".nvHRCI", ".nvHRCE")
LIST_ROOM = 64  # bytes of names of kernels


def finished(data):
    """what nvcc makes of a device link: the code lies in .nv_fatbin, and there are no lists of what host code refers to"""
    picture = Elf(data).rename("__nv_relfatbin", ".nv_fatbin")
    for name in LISTS:
        picture.rename(name, ".other")
    return bytes(picture)


def with_room(data):
    """the list of kernels is at the end, and long enough for some"""
    picture = Elf(data)
    picture.section(".nvHRKE", "offset", len(data))
    picture.section(".nvHRKE", "size", LIST_ROOM)
    return bytes(picture) + bytes(LIST_ROOM)


def hosts(blob):
    """halves of a program for target_hosts.c and target_admits.c, and where the name of the module stands in them"""
    for word, name, make in (("CALLER", "host-two_a.o", with_room), ("CALLED", "host-two_b.o", with_room), ("FINISHED", "host-two_a.o", finished),
                             ("WHOLE", "host-plain.o", bytes), ("CALLER_CUBIN", "two_a.sm_75.rdc.cubin", bytes),
                             ("CALLED_CUBIN", "two_b.sm_75.rdc.cubin", bytes), ("PRINTER", "printer.sm_75.rdc.cubin", bytes),
                             ("OTHERS", "host-launch.o", bytes), ("PROGRAM", "plain.sm_75.cubin", bytes),
                             ("OBJECT_90", "two_b.sm_90.rdc.cubin", bytes)):
        data = make(read("samples/" + name))
        picture = Elf(data)
        module = (picture.sget("__nv_module_id", "offset"), picture.sget("__nv_module_id", "size")) if picture.has("__nv_module_id") else (0, 0)
        yield "HOST(%s, %s, %d, %d)" % (word, blob.put(data), *module)
        if make is with_room:
            yield "LIST(%s, %d)" % (word, len(data) - LIST_ROOM)
            yield from ("LIST_NAME(%s, %d)" % (word, picture.header_at(name)) for name in LISTS)
        if word in ("CALLED_CUBIN", "OBJECT_90"):
            # The toolkit, in .note.nv.cuinfo and in each record CUDA_API_VERSION (metadata.md)
            places = [picture.at_section(".note.nv.cuinfo", 28)] + [at.start() + 4 for at in re.finditer(rb"\x04\x37\x04\0\x82\0\0\0", data)]
            yield from ("TOOLKIT(%s, %d)" % (word, place) for place in places)
            yield "INFO(%d)" % (picture.header_at(".symtab") + 44)


def bases(blob):
    """good device ELFs and host objects for target_fields.c"""
    for name in ("plain.sm_75", "plain.sm_90", "vars.sm_75", "vars.sm_90.rdc", "two_a.sm_75.rdc", "two_b.sm_90.rdc", "indirect.sm_75.rdc", "indirect.sm_90",
                 "printer.sm_75", "texture.sm_90", "recurse.sm_90.rdc", "plain.sm_100"):
        yield "BASE(%s)" % blob.put(read("samples/%s.cubin" % name))
    for name in ("abi7-plain.sm_75", "abi7-vars.sm_75", "abi7-vars.sm_75.rdc"):
        yield "OLD(%s)" % blob.put(read("legal/%s.cubin" % name))
    for name in ("host-two_a", "host-merged", "host-vars", "host-plain"):
        yield "OBJECT(%s)" % blob.put(read("samples/%s.o" % name))


def one_wrapper(data):
    """the first of two names its container, nothing names the other"""
    picture = Elf(data)
    for name in (".nvFatBinSegment", ".rela.nvFatBinSegment"):
        picture.section(name, "size", 24)
    return bytes(picture)


def places(blob):
    """files with containers for target_places.c"""
    for word, name in (("FATBIN", "elf-raw.fatbin"), ("CUBIN", "plain.sm_75.cubin"), ("LINKABLE", "host-two_a.o"), ("JOINED", "host-merged.o"),
                       ("FINISHED", "host-plain.o"), ("SHARED", "host-plain.so"), ("PROGRAM", "host-plain.exe")):
        yield "PIECE(%s, %s)" % (word, blob.put(read("samples/" + name)))
    # What an object is when tools do not look into it: spec/places.def.
    yield "PIECE(UNNAMED, %s)" % blob.put(one_wrapper(read("samples/host-merged.o")))
    for word, name, other in (("WRAPPERLESS", ".nvFatBinSegment", ".data.of.others"), ("DATA", "__nv_relfatbin", ".data.code")):
        yield "PIECE(%s, %s)" % (word, blob.put(bytes(Elf(read("samples/host-two_a.o")).rename(name, other))))


def choices(blob):
    """code for many machines, with headers of members, for target_choices.c"""
    for target in ("75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "103", "110", "120", "120f", "121"):
        for ending, linkable in (("rdc.cubin", 1), ("cubin", 0)):
            name = "samples/plain.sm_%s.%s" % (target, ending)
            if os.path.exists(os.path.join(ROOT, "corpus", name)):
                data = read(name)
                picture = Elf(data)
                end = max(picture.sget(i, "offset") + picture.sget(i, "size") for i, s in enumerate(picture.names) if s.startswith(".text."))
                yield "CODE(%s, %s, %d, %d, %s, %s)" % (target.rstrip("af"), "'%s'" % target[-1] if target[-1] in "af" else 0, linkable, end,
                                                        blob.put(header(data)), blob.put(data))


def write(name, make):
    blob = Blob()
    lines = list(make(blob))
    for ending, data in ((".inc", ("\n".join(lines) + "\n").encode()), (".bin", bytes(blob.data))):
        with open(os.path.join(sys.argv[1], name + ending), "wb") as h:
            h.write(data)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    write("cases", rows)
    write("hosts", hosts)
    write("bases", bases)
    write("places", places)
    write("choices", choices)
    return 0


if __name__ == "__main__":
    sys.exit(main())
