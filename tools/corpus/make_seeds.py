#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the seeds of the fuzz targets, corpus/<target>/seed/*: tiny files, one feature each, named for it.

They are cut out of corpus/samples (sections, members, payloads) or made by hand here; the same bytes each time. A seed may end
in a trailer of eight bytes, {parameters, "CVFZ"}, see fuzz/common.h. A file in corpus/<target>/regress is never touched.

Usage: make_seeds.py [--check]     --check: compare with what is there, write nothing
"""
import hashlib
import io
import os
import re
import struct
import sys
import tarfile

import bitcode
import edit
import offload

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "corpus")
SAMPLES = os.path.join(CORPUS, "samples")
MODELS = ("describe", "ledger", "propagate", "reach", "select", "shared", "slots")
seeds = {}


def put(target, name, data):
    assert (target, name) not in seeds, (target, name)
    seeds[target, name] = bytes(data)


def sample(name, where="samples"):
    with open(os.path.join(CORPUS, where, name), "rb") as f:
        return f.read()


def trailer(param):
    return struct.pack("<I4s", param & 0xFFFFFFFF, b"CVFZ")


def sections(elf):
    """(name, type, body) of each section of a 64-bit ELF."""
    shoff, = struct.unpack_from("<Q", elf, 40)
    n, names = struct.unpack_from("<HH", elf, 60)
    if n == 0:  # extended numbering
        n, = struct.unpack_from("<Q", elf, shoff + 32)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + 64 * i) for i in range(n)]
    table = elf[rows[names][4]:][:rows[names][5]]
    for r in rows:
        yield table[r[0]:table.index(b"\0", r[0])].decode(), r[1], b"" if r[1] in (0, 8) else elf[r[4]:r[4] + r[5]]


def members(fatbin):
    """(header, payload) of each member of the first container."""
    at, end = 16, 16 + struct.unpack_from("<Q", fatbin, 8)[0]
    while at < end:
        hs, ps = struct.unpack_from("<IQ", fatbin, at + 4)
        yield fatbin[at:at + hs], fatbin[at + hs:at + hs + ps]
        at += hs + ps


def container(body):
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


# --- bytes: programs for the machine of fuzz/target_bytes.c -----------------------------------------------------------------

def make_bytes():
    put("bytes", "empty", b"")
    for op, name in enumerate(("loads", "sub", "search", "decimal", "text", "cursor", "output", "arithmetic", "sort")):
        put("bytes", name, bytes([op, 5, 3, 1, 2, op, 0, 16, 33, op, 7]) + bytes(range(8)) + bytes([op, 13, 4, 2, 8, 1, 9, 3]))
    put("bytes", "digits", b"\x03\x054294967295 4294967296 007" + b"\x03\x10" * 4)
    put("bytes", "magics", b"\x02\x50\x10" + struct.pack("<II", 0xBA55ED50, 0x464C457F) * 12)
    put("bytes", "zeros", b"\x02\0\0" + bytes(90) + b"\1")


# --- codecs ------------------------------------------------------------------------------------------------------------------

def make_codecs():
    n = {"lz4": 0, "zstd": 0}
    for name in ("compat-lz4.fatbin", "multi-lz4.fatbin", "default.fatbin", "multi.fatbin", "balance.fatbin"):
        for header, payload in members(sample(name)):
            flags, = struct.unpack_from("<Q", header, 40)
            size, = struct.unpack_from("<I", header, 16)
            usize, = struct.unpack_from("<Q", header, 56)
            kind = "lz4" if flags & 0x2000 else "zstd" if flags & 0x8000 else None
            if not kind or flags & 0x40 or usize > 0xFFFF or n[kind] == 4 or size > 2048:
                continue
            put(kind, "member-%d" % n[kind], payload[:size] + trailer(usize << 16))
            n[kind] += 1
    put("lz4", "literals", b"\x50hello" + trailer(5 << 16))
    put("lz4", "run", b"\x1fa\1\0\x60\x50aaaaa" + trailer(121 << 16))
    put("lz4", "overlap", b"\x44abcd\4\0\x50bcdab" + trailer(17 << 16))
    put("lz4", "no-size", b"\x50hello")
    magic = struct.pack("<I", 0xFD2FB528)
    raw = lambda last, data: struct.pack("<I", last | len(data) << 3)[:3] + data
    put("zstd", "raw-block", magic + b"\x20\x05" + raw(1, b"hello"))
    put("zstd", "rle-block", magic + b"\x20\x40" + struct.pack("<I", 1 | 1 << 1 | 64 << 3)[:3] + b"a")
    put("zstd", "window", magic + b"\x00\x58" + raw(1, b"hello") + trailer(5 << 16))
    put("zstd", "size-2", magic + b"\x60" + struct.pack("<H", 1) + raw(1, bytes(257)))
    put("zstd", "size-8-checksum", magic + b"\xe4" + struct.pack("<Q", 2) + raw(1, b"ab") + b"\0\0\0\0")
    put("zstd", "two-blocks", magic + b"\x20\x04" + raw(0, b"ab") + raw(1, b"cd"))
    put("zstd", "dictionary", magic + b"\x21\x07\x02" + raw(1, b"ab"))
    put("zstd", "skippable", struct.pack("<II", 0x184D2A50, 4) + b"skip" + magic + b"\x20\x02" + raw(1, b"ab"))
    put("zstd", "limits", magic + b"\x20\x05" + raw(1, b"hello") + trailer(0xF0 | 5 << 16))


# --- device ELF --------------------------------------------------------------------------------------------------------------

CUBINS = ("nocode.sm_75.cubin", "nocode.sm_75.rdc.cubin", "nocode.sm_90.cubin", "nocode.sm_100.rdc.cubin", "plain.sm_75.cubin",
          "plain.sm_80.rdc.cubin", "plain.sm_90a.cubin", "plain.sm_100.cubin", "indirect.sm_75.rdc.cubin", "dynshared.sm_90.rdc.cubin",
          "printer.sm_75.cubin", "plain.sm_110.rdc.cubin")
OLD = ("abi7-plain.sm_75.cubin", "elf32-plain.sm_75.cubin", "cuver-plain.sm_100.cubin", "CV-ELF-024.extended-0.cubin")


def make_elf():
    head = struct.Struct("<16sHHIQQQIHHHHHH")
    ident = b"\x7fELF\2\1\1\x41\x08" + bytes(7)
    shdr = lambda *f: struct.pack("<IIQQQQIIQQ", *f)
    names = b"\0.shstrtab\0"
    tiny = head.pack(ident, 2, 190, 1, 0, 0, 80, 0x5A0000 | 90 << 8, 64, 56, 0, 64, 2, 1) + names.ljust(16, b"\0")
    tiny += shdr(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + shdr(1, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    put("elf", "two-sections", tiny)
    put("elf", "header-only", head.pack(ident, 2, 190, 1, 0, 0, 0, 90 << 8, 64, 56, 0, 64, 0, 0))
    put("elf", "extended", tiny[:60] + bytes(2) + tiny[62:80 + 32] + struct.pack("<Q", 2) + tiny[80 + 40:])
    put("elf", "big-endian", b"\x7fELF\2\2\1\x41\x08" + bytes(55))
    put("elf", "host", sample("host-two_b.o"))
    put("elf", "elf32", sample("elf32-plain.sm_75.cubin", "legal"))
    put("elf", "segments", sample("nocode.sm_75.cubin"))
    put("elf", "relocations", sample("plain.sm_75.rdc.cubin"))
    for c in CUBINS:
        put("cubin", c[:-len(".cubin")], sample(c))
    for c in OLD:
        put("cubin", c[:-len(".cubin")], sample(c, "legal"))
    put("cubin", "two-sections", tiny)
    put("cubin", "padded", sample("nocode.sm_75.rdc.cubin") + bytes(4))
    for p in (3, 4, 0x10, 0x40):
        put("cubin", "limits-%02x" % p, sample("nocode.sm_90.cubin") + trailer(p))


def make_sections():
    seen = set()
    want = {".nv.info": "tlv", ".nv.compat": "tlv", ".note.nv.tkinfo": "note", ".note.nv.cuinfo": "note", ".note.nv.cuver": "note",
            ".nv.callgraph": "meta", ".nv.prototype": "meta", ".nv.rel.action": "meta", ".nv.uft.entry": "meta",
            ".nvHRKE": "meta", ".nvHRKI": "meta", ".nvHRDE": "meta", ".nvFatBinSegment": "meta", "__nv_module_id": "meta"}
    count = {}
    files = [("samples", f) for f in sorted(os.listdir(SAMPLES))] + [("legal", f) for f in OLD]
    for where, f in files:
        data = sample(f, where)
        if data[:5] != b"\x7fELF\2" or len(data) > 10000:
            continue
        for name, _, body in sections(data):
            base = ".nv.info" if name.startswith((".nv.info.", ".nv.merc.nv.info")) else name
            target = want.get(base)
            if not target or not body or body in seen or len(body) > 1024 or count.get(base, 0) >= (10 if target == "tlv" else 6):
                continue
            seen.add(body)
            put(target, "%s-%d" % (base.strip("._").replace(".", "-"), count.get(base, 0)), body)
            count[base] = count.get(base, 0) + 1
    put("tlv", "each-format", b"\1\x50\0\0\2\x38\1\0\3\x1b\xff\0\4\x11\x08\0" + struct.pack("<II", 1, 16))
    put("tlv", "branches", b"\4\x34\x18\0" + struct.pack("<6I", 16, 0, 3, 32, 48, 64))
    put("tlv", "annotations", b"\4\x4a\x10\0" + struct.pack("<4I", 1, 16, 1, 32))
    put("note", "two-notes", (struct.pack("<III", 12, 8, 1000) + b"NVIDIA Corp\0" + struct.pack("<4H", 2, 90, 130, 0)) * 2)
    put("note", "odd-sizes", struct.pack("<III", 3, 5, 7) + b"abc\0" + b"12345\0\0\0")
    put("note", "cuver", struct.pack("<III", 12, 12, 1000) + b"NVIDIA Corp\0" + struct.pack("<HHII", 1, 100, 1, 1))
    put("meta", "callgraph-loose", struct.pack("<iI", 0, 0xFFFFFFFF) + b"".join(
        struct.pack("<II", a, b) for a, b in ((3, 4), (0, 0xFFFFFFFE), (4, 9), (0, 0xFFFFFFFD), (3, 9), (0, 0xFFFFFFFF), (5, 6))))
    put("meta", "unified", struct.pack("<IIQQQ", 3, 1, 0, 0x1122334455667788, 0x99AABBCCDDEEFF00) * 2)
    put("meta", "wrappers", struct.pack("<IIQQ", 0x466243B1, 1, 64, 0) + struct.pack("<IIQQ", 0x466243B1, 2, 64, 128) +
        struct.pack("<IIQQ", 0x1EE55A01, 1, 64, 0))
    put("meta", "patterns", b"_Z4axpyPf\0\0\0_Z3foov\0")


# --- containers --------------------------------------------------------------------------------------------------------------

def make_fatbin():
    for name in ("balance", "ident", "ident8", "compat-lz4", "lto", "lto-raw", "lto-options", "elf-raw"):
        put("fatbin", name, sample(name + ".fatbin"))
    heads = []
    for name in ("multi", "compat", "lto", "compress-false"):
        for h, _ in members(sample(name + ".fatbin")):
            h = bytearray(h)
            struct.pack_into("<QI", h, 8, 0, 0)     # payload gone: headers alone
            struct.pack_into("<Q", h, 56, 0)
            struct.pack_into("<Q", h, 40, struct.unpack_from("<Q", h, 40)[0] & ~0xF040)
            heads.append(bytes(h))
    for i, h in enumerate(sorted(set(heads))[:12]):
        put("fatbin", "header-%d" % i, container(h))
    put("fatbin", "all-headers", container(b"".join(heads)))
    put("fatbin", "empty", container(b""))
    put("fatbin", "two", container(heads[0]) + bytes(8) + container(heads[-1]))
    put("fatbin", "limits", container(b"".join(heads[:4])) + trailer(0x20))


def ar_member(name, body, size=None):
    h = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (name, b"0", b"0", b"0", b"644", len(body) if size is None else size)
    return h + body + b"\n" * (len(body) & 1)


def make_archive():
    magic = b"!<arch>\n"
    put("archive", "short-names", magic + ar_member(b"a.o/", b"abc") + ar_member(b"b.o/", b"defg"))
    put("archive", "long-names", magic + ar_member(b"//", b"a_rather_long_name_of_an_object.o/\n") + ar_member(b"/0", b"abc"))
    put("archive", "symbols", magic + ar_member(b"/", struct.pack(">II", 1, 80) + b"f\0") + ar_member(b"a.o/", b"abc"))
    put("archive", "symbols-64", magic + ar_member(b"/SYM64/", struct.pack(">QQ", 1, 90) + b"f\0"))
    put("archive", "bsd-names", magic + ar_member(b"#1/12", b"long name.o\0abc") + ar_member(b"plain", b"x"))
    put("archive", "bsd-symbols", magic + ar_member(b"#1/20", b"__.SYMDEF SORTED\0\0\0\0" + bytes(8)))
    put("archive", "thin", b"!<thin>\n" + ar_member(b"//", b"dir/a.o/\n") + ar_member(b"/0", b"", 4711))
    put("archive", "nested-thin", b"!<thin>\n" + ar_member(b"//", b"dir/a.a/\n") + ar_member(b"/0:68", b"", 12))
    put("archive", "empty", magic)
    put("archive", "cut", magic + ar_member(b"a.o/", b"abc", 100))
    # Bounds, and one beside them: the end of the archive, of the table of names, of what is stored.
    for form, name, front in (("short", b"a.o/", b""), ("bsd", b"#1/4", b"name"), ("table", b"//", b""), ("index", b"/", b"")):
        for more in (0, 1, 2, 3):
            put("archive", "cut-%s-%d" % (form, more), magic + ar_member(name, front + b"abcd", 4 + len(front) + more))
    for at in (0, 7, 8, 9, 10, 11):
        put("archive", "name-at-%02d" % at, magic + ar_member(b"//", b"one.o/\ntwo") + ar_member(b"/%d" % at, b"abc"))
    put("archive", "name-zero", magic + ar_member(b"//", b"one.o/\0two.o/\0") + ar_member(b"/7", b"abc"))
    for size in (0, 1, 3, 4, 5, 11):
        put("archive", "bsd-name-%02d" % size, magic + ar_member(b"#1/%d" % size, b"abcd"))
    put("archive", "thin-stored", b"!<thin>\n" + ar_member(b"//", b"dir/a.o/\n") + ar_member(b"/0", b"", 64) + ar_member(b"a.o/", b"", 9) + ar_member(b"/", bytes(4)))
    for n, name in enumerate((b"/x", b"/1x", b"/1 2", b"/1:", b"/1:x", b"#1/", b"#1/x", b"#1/1 2", b"//x", b"/SYM64/x", b"/<ECSYMBOLS>/", b"__.SYMDEF", b"__.SYMDEF/", b"__.SYMDEF SORTED")):
        put("archive", "field-%02d" % n, magic + ar_member(name, b"abc"))
    for n, size in enumerate((b"", b"x", b"3x", b"3 3", b" 3", b"+3", b"-3", b"0003", b"0x3", b"9999999999")):
        put("archive", "size-%02d" % n, magic + b"a.o/".ljust(48) + size.ljust(10) + b"`\nabc\n")


def make_bitcode():
    put("bitcode", "module", bitcode.stream())
    put("bitcode", "abbreviated", bitcode.stream(bitcode.abbreviated()))
    put("bitcode", "wrapped", bitcode.wrapped(bitcode.stream(bitcode.module(b"x86_64-pc-linux-gnu"))))
    put("bitcode", "two-modules", bitcode.stream(bitcode.module(b"amdgcn-amd-amdhsa"), bitcode.module()))
    put("bitcode", "no-triple", bitcode.stream(bitcode.module(None)))
    put("bitcode", "module-past", bitcode.stream(words=200))
    put("bitcode", "definition", bitcode.stream(bitcode.module(before=bitcode.endless)))
    put("scan", "bitcode", bitcode.stream() + trailer(0x40))
    put("scan", "bitcode-in-archive", ar_file(bitcode.stream(), bitcode.wrapped(bitcode.stream(bitcode.module(b"i686")))))


def make_offload():
    one = offload.image(b"\x7fELF not much more", more=[(b"feature", b"+ptx80")])
    other = offload.image(b"BC\xc0\xde", offload.BITCODE, offload.HIP, offload.AMD_TRIPLE, b"gfx906")
    put("offload", "one", offload.binary(one))
    put("offload", "joined", offload.binary(one) + offload.binary(other))
    for version in (2, 3):
        put("offload", "several-%d" % version, offload.binary(one, other, one, version=version))
    put("offload", "no-strings", offload.binary({**one, "strings": []}))
    put("offload", "no-image", offload.binary(offload.image(b"")))
    for name, field, value, version in (
        ("compressed", offload.INFLATED, 4096, 3), ("size-31", offload.SIZE, 31, 1), ("size-odd", offload.SIZE, 129, 1),
        ("entries-31", offload.ENTRIES, 31, 2), ("many", offload.COUNT, 1 << 61, 2), ("entry-48", offload.COUNT, 48, 1),
        ("version-0", (4, 4), 0, 2), ("version-4", (4, 4), 4, 2), ("magic", (0, 4), 0, 1),
    ):
        put("offload", name, edit.Blob(offload.binary(one, version=version)).put(field, value))
    for name, field, value in (("image-wraps", offload.IMAGE_SIZE, -8), ("strings-past", offload.STRINGS, 1 << 40), ("strings-many", offload.N_STRINGS, 1 << 60)):
        put("offload", name, edit.Blob(offload.binary(one)).put(field, value, 32))
    for version in (1, 2):
        put("offload", "triple-twice-%d" % version, offload.binary({**one, "strings": one["strings"] + [(b"triple", b"x86_64")]}, version=version))
        put("offload", "value-past-%d" % version, edit.Blob(offload.binary(one, version=version)).put((8, 8), 1 << 20, 72))
    for cut in (3, 4, 31, 32, 71):
        put("offload", "cut-%02d" % cut, offload.binary(one)[:cut])
    put("offload", "tail", offload.binary(one) + b"tail")
    put("bitcode", "embeds", bitcode.stream(bitcode.module(b"x86_64-pc-linux-gnu", after=bitcode.section(b".llvm.offloading"))))
    def twice(out, width):
        for name in (b".llvm.offloading", b".text", b".llvm.offloading"):
            bitcode.section(name)(out, width)
    put("bitcode", "embeds-twice", bitcode.stream(bitcode.module(b"x86_64-pc-linux-gnu", after=twice)))
    put("bitcode", "embeds-before", bitcode.stream(bitcode.module(b"x86_64-pc-linux-gnu", before=twice)))
    put("offload", "no-triple", offload.binary({**one, "kind": 4, "producer": 4, "strings": []}))
    put("scan", "offload", offload.binary(offload.image(bitcode.stream(), offload.BITCODE)))
    put("scan", "offload-in-host", offload.host(offload.binary(other, one, version=2), offload.binary(one)))


def make_host():
    for name in ("host-two_a.o", "host-two_b.o", "host-dlink.o", "host-merged.o", "host-vars.o", "host-plain.exe", "host-launch.o"):
        put("hostobj", name.replace(".", "-"), sample(name))
    stripped = bytearray(sample("host-plain.exe"))
    struct.pack_into("<Q", stripped, 40, 0)
    struct.pack_into("<HHH", stripped, 58, 0, 0, 0)
    put("hostobj", "no-section-table", stripped)
    put("hostobj", "region", bytes(64) + sample("host-two_b.o") + trailer(0x100))


def make_ptx():
    text = sample("plain.ptx")
    put("ptx", "plain", text)
    put("ptx", "member", text + b"\0")
    put("ptx", "padded", text.rstrip(b"\0") + bytes(8))
    put("ptx", "comments", b"// a\n/* b */ .version /**/ 8.7 // c\n.target sm_90a, debug\n.address_size 64\n")
    put("ptx", "options", b".version 9.0\n.target sm_100f, texmode_independent, debug\n.address_size 32\n")
    put("ptx", "open-comment", b".version 8.0 /* .target sm_80")
    put("ptx", "odd-bytes", b".version 7.8\n.target sm_75\n\x01\xc3\xa4\x7f\n")


def make_classify():
    cubin = sample("nocode.sm_90.cubin")
    put("classify", "cubin", cubin[:64])
    put("classify", "cubin-mercury", cubin[:16] + b"\0\xff" + cubin[18:64])
    put("classify", "cubin-old-abi", sample("abi7-plain.sm_75.cubin", "legal")[:64])
    put("classify", "cubin-32", sample("elf32-plain.sm_75.cubin", "legal")[:52])
    put("classify", "cubin-other-order", cubin[:5] + b"\2" + cubin[6:18] + b"\0\xbe" + cubin[20:64])
    put("classify", "cubin-20", cubin[:20])
    put("classify", "host", sample("host-two_b.o")[:64])
    put("classify", "fatbin", container(bytes(8)) + b"more")
    put("classify", "fatbin-short", container(bytes(8))[:20])
    put("classify", "fatbin-version-2", b"\x50\xed\x55\xba\2\0\x10\0" + bytes(8))
    put("classify", "nvvm", b"\x01\x5a\xe5\x1erest")
    put("classify", "nvvm-padded", b"\0\0\0\0\x01\x5a\xe5\x1erest")
    put("classify", "lto-ir", b"\xed\x43\x4e\x7frest")
    put("classify", "wrapper", struct.pack("<IIQQ", 0x466243B1, 1, 64, 0))
    put("classify", "archive", b"!<arch>\n")
    put("classify", "thin", b"!<thin>\nx")
    put("classify", "ptx", b"// c\n/* d **/\t.version 9.0\n.target sm_90\n\0")
    put("classify", "ptx-one-asterisk", b"/*/ .version 9.0")
    put("classify", "ptx-open", b" /* .version 9.0")
    put("classify", "ptx-mark", b"\xef\xbb\xbf.version 9.0")
    put("classify", "ptx-half", b"\n.versio")
    put("classify", "ptx-limit", b"// c\n.version 9.0\n" + trailer(9 << 8))


# --- whole files -------------------------------------------------------------------------------------------------------------

def make_scan():
    put("scan", "empty", b"")
    put("scan", "balance", sample("balance.fatbin"))
    put("scan", "headers-only", sample("default.fatbin") + trailer(0x100))
    put("scan", "few-members", sample("compat-lz4.fatbin") + trailer(4))
    put("scan", "little-memory", sample("default.fatbin") + trailer(0x10))
    put("scan", "little-work", sample("nocode.sm_90.cubin") + trailer(2))
    put("scan", "one-diagnostic", sample("host-two_b.o") + trailer(0x40))
    put("scan", "no-nesting", ar_file(sample("default.fatbin")) + trailer(0x80))
    put("scan", "archive", ar_file(sample("default.fatbin"), sample("nocode.sm_75.rdc.cubin")))
    put("scan", "archive-in-archive", ar_file(ar_file(sample("balance.fatbin"))))
    put("scan", "embedded-cubin", bytes(24) + sample("nocode.sm_75.rdc.cubin") + b"rest")
    put("scan", "nested-container", nested(sample("default.fatbin")))
    put("scan", "text", sample("plain.ptx"))
    put("scan", "old-magic", struct.pack("<I", 0x1EE55A01) + bytes(60))
    put("scan", "gzip", b"\x1f\x8b\x08" + bytes(20))
    for name in ("balance.fatbin", "default.fatbin", "host-two_b.o", "nocode.sm_75.rdc.cubin", "plain.ptx"):
        put("readers", name, sample(name))
        put("readers", "fails-" + name, sample(name) + trailer(3 << 8))
        put("readers", "changes-" + name, sample(name) + trailer(2 << 8 | 1 << 16))
        put("readers", "changes-once-" + name, sample(name) + trailer(1 << 8 | 3 << 16 | 5 << 18))
    put("readers", "archive-changes", ar_file(sample("default.fatbin"), sample("nocode.sm_75.rdc.cubin")) + trailer(4 << 8 | 1 << 16))
    for n in (1, 2, 5, 12, 20, 30):
        put("alloc_fault", "fatbin-%d" % n, sample("default.fatbin") + trailer(n << 8))
    put("alloc_fault", "claims", sample("compat-lz4.fatbin") + trailer(9 << 8 | 1 << 25))
    put("alloc_fault", "from-there-on", sample("balance.fatbin") + trailer(14 << 8 | 1 << 24))
    put("alloc_fault", "headers", sample("ident.fatbin") + trailer(4 << 8 | 1 << 26))
    put("alloc_fault", "host-in-turn", sample("host-two_b.o"))
    put("alloc_fault", "archive", ar_file(sample("default.fatbin")) + trailer(16 << 8))
    put("alloc_fault", "cubin", sample("nocode.sm_90.cubin") + trailer(6 << 8))
    program = bytes([0, 0, 2, 4, 0, 1, 1, 0, 1, 0, 3, 2, 21, 16, 1, 0, 4, 0, 1, 1, 0, 4, 2, 1, 3, 2, 6, 3, 136, 0])
    for name in ("default.fatbin", "nocode.sm_75.rdc.cubin", "balance.fatbin"):
        put("api_sequence", name.replace(".", "-"), sample(name) + program + trailer(len(program)))
    put("api_sequence", "built-in", sample("nocode.sm_90.cubin"))
    # inputs: opened for sm_90, compiler, option, bound, selected, looked at, taken, destroyed, used again
    life = bytes([8, 0, 6, 9, 0, 5, 0, 1, 9, 0, 4, 0, 3, 9, 0, 6, 0, 1, 9, 0, 7, 0, 0, 9, 0, 11, 0, 9, 0, 12, 0, 9, 0, 13, 0, 9, 0, 13, 0,
                  9, 0, 14, 0, 9, 0, 15, 0, 4, 0, 1, 9, 0, 7, 0, 0, 4, 0, 1])
    put("api_sequence", "input-life", sample("nocode.sm_90.rdc.cubin") + life + trailer(len(life)))
    put("api_sequence", "input-compiled", sample("plain.ptx") + life + trailer(len(life)))
    for deed, name in enumerate(("reenters", "cancels", "destroys-another", "destroys-itself", "destroys-context"), 1):
        # a scan, two inputs; the first one is selected
        calls = bytes([0, 0, 8, 0, 6, 8, 1, 6, 9, 2, 5, 0, 1, 9, 2, 6, 0, deed, 10, deed, 9, 2, 7, 0, 0, 9, 2, 7, 0, 0, 9, 2, 8, 0, 0,
                       9, 4, 6, 0, 0, 9, 4, 7, 0, 0, 10, deed, 1, 0, 1, 0])
        put("api_sequence", "callback-" + name, sample("default.fatbin") + calls + trailer(len(calls)))
    foreign = bytes([8, 0, 6, 8, 1, 6, 9, 1, 1, 6, 0, 0, 9, 3, 0, 7, 0, 0, 4, 1, 1, 1, 4, 0, 0, 6, 0, 0x82, 0, 9, 0, 12, 0])
    put("api_sequence", "input-foreign", sample("nocode.sm_75.rdc.cubin") + foreign + trailer(len(foreign)))
    # links: made, added to, completed, ended; used after the end; handles that were made up
    jit = bytes([0x80, 1, 0, 0, 0, 8, 0, 4, 0, 0, 0, 5, 0, 0, 0, 4, 0x81, 0x41, 1, 0, 1, 4, 0x82, 3, 2, 16, 2, 4, 3, 0, 0x7F, 9, 1, 5, 1, 5])
    for name in ("nocode.sm_90.rdc.cubin", "two_a.sm_90.rdc.cubin", "default.fatbin", "host-plain.o", "plain.ptx"):
        put("jit", name.replace(".", "-"), sample(name) + jit + trailer(len(jit)))
        put("jit", "alone-" + name.replace(".", "-"), sample(name))
    put("planted", "header", struct.pack("<II", 0x44454221, 3) + bytes(12))


def ar_file(*bodies):
    return b"!<arch>\n" + b"".join(ar_member(b"m%d.o/" % i, b) for i, b in enumerate(bodies))


def nested(inner):
    h, _ = next(iter(members(sample("elf-raw.fatbin"))))
    h = bytearray(h)
    struct.pack_into("<Q", h, 8, len(inner))
    return container(bytes(h) + inner)


def raw_member(kind, sm, suffix, body):
    """A member that is stored as it is; enough for SASS below sm_100 and for PTX."""
    flags = 0x11 | {"a": 0x100000, "f": 0x200000}.get(suffix, 0)
    area = bytes(8) if kind == 1 else b""
    body = body.ljust((len(body) + 7) // 8 * 8, b"\0")
    version = {1: (0, 9), 2: (8, 1), 8: (4, 2)}[kind]
    return struct.pack("<HHIQIIHHIQQQQ", kind, 0x101, 64 + len(area), len(body), 0, 64 if area else 0, *version, sm, 0, flags, 0, 0) + \
        area + body


def make_input():
    # parameters: see fuzz/target_input.c; target 0 is sm_90
    request, exact, lenient, copy = (lambda n: n << 13), 1 << 15, 1 << 16, 1 << 17
    compiler, ends, option = (lambda n: n << 19), (lambda n: n << 22), 1 << 26
    tail, whole, other, nothing, cancels, no_memory, destroys = (compiler(n) for n in range(1, 8))
    sm75, sm90 = sample("nocode.sm_75.rdc.cubin"), sample("nocode.sm_90.rdc.cubin")
    text = b".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n\tret;\n}\n\0"
    ptx = container(raw_member(2, 75, "", sm75) + raw_member(1, 80, "", text))
    both = container(raw_member(2, 75, "", sm75) + raw_member(2, 90, "", sm90))
    put("input", "cubin", sm90)
    put("input", "cubin-other-family", sm75)
    put("input", "two-members", both)
    put("input", "two-containers", container(raw_member(2, 75, "", sm75)) + container(raw_member(2, 90, "", sm90)) + trailer(copy))
    put("input", "suffix-exact", container(raw_member(2, 90, "a", sm90) + raw_member(2, 90, "", sm90)) + trailer(exact))
    put("input", "suffix-reference", container(raw_member(2, 90, "a", sm90) + raw_member(2, 90, "", sm90)))
    put("input", "no-match", container(raw_member(2, 75, "", sm75)) + trailer(request(1)))
    put("input", "nested", container(raw_member(2, 90, "", both)))
    put("input", "nested-twice", container(raw_member(2, 90, "", container(raw_member(2, 90, "", both)))))
    put("input", "nested-limit", container(raw_member(2, 90, "", container(raw_member(2, 90, "", both)))) + trailer(0x80))
    put("input", "ptx-no-compiler", ptx)
    put("input", "ptx-request", ptx + trailer(request(2) | copy))
    put("input", "ptx-compiled", ptx + sm90 + trailer(tail | option))
    put("input", "ptx-compiled-for-other", ptx + sm75 + trailer(tail))
    put("input", "ptx-echoed", ptx + trailer(whole))
    for n, name in enumerate(("failed", "crashed", "timeout", "empty", "oversized", "not-found", "cancelled", "unsupported", "unknown"), 1):
        put("input", "ptx-" + name, ptx + trailer(other | ends(n)))
    for name, how in (("nothing", nothing), ("cancels", cancels), ("no-memory", no_memory), ("destroys", destroys)):
        put("input", "ptx-" + name, ptx + trailer(how))
    put("input", "ptx-odd-status", ptx + trailer(no_memory | ends(1)))
    put("input", "ptx-text", text[:-1] + sm90 + trailer(tail | lenient))
    put("input", "ptx-packed", sample("ptx-only.fatbin") + sm90 + trailer(tail))
    put("input", "executable", sample("default.fatbin"))
    put("input", "lto-ir", sample("lto-raw.fatbin") + trailer(request(3)))
    put("input", "lto-scrambled", sample("lto.fatbin") + trailer(request(3)))
    put("input", "host", sample("host-two_b.o") + trailer(copy))
    put("input", "archive", ar_file(both, sm90))
    put("input", "wrapper", struct.pack("<IIQQ", 0x466243B1, 1, 64, 0))
    put("input", "nvvm", bytes(4) + struct.pack("<I", 0x1EE55A01) + bytes(56) + trailer(request(3)))
    put("input", "little-memory", both + trailer(0x10))
    put("input", "bound-twice", both + trailer(1 << 28))
    put("input", "old-toolkit", sm90 + trailer(1 << 27))
    put("input", "address32", both.replace(struct.pack("<Q", 0x11), struct.pack("<Q", 0x10)) + trailer(1 << 18))


def more_registers(elf):
    """Each function says that it needs eight registers more: EIATTR_REGCOUNT, {symbol, count}."""
    out, at = bytearray(elf), elf.find(b"\4\x2f\x08\0")
    while at >= 0:
        struct.pack_into("<I", out, at + 8, struct.unpack_from("<I", elf, at + 8)[0] + 8)
        at = elf.find(b"\4\x2f\x08\0", at + 12)
    return bytes(out)


def make_link():
    # parameters: see fuzz/linking.h; target 0 is that of the first object, the others are counted from sm_90 on.
    # sm_75: its objects are the smallest
    relocatable, exact, debug, preserve, quiet, strict, used, turned = (1 << b for b in range(13, 21))
    rdc = lambda name, sm=75: sample("%s.sm_%d.rdc.cubin" % (name, sm))
    pair = rdc("two_a") + rdc("two_b")
    put("link", "pair", pair)
    put("link", "pair-turned", pair + trailer(turned))
    put("link", "pair-relocatable", pair + trailer(relocatable))
    put("link", "pair-exact", pair + trailer(relocatable | exact))
    put("link", "pair-preserve", pair + trailer(preserve | debug))
    put("link", "pair-kernels-used", pair + trailer(used))
    put("link", "pair-other-target", pair + trailer(1 << 8))
    put("link", "pair-sm-90", rdc("two_a", 90) + rdc("two_b", 90))
    put("link", "pair-no-memory", pair + trailer(9 << 24))
    put("link", "twice", rdc("two_b") + rdc("two_b"))
    put("link", "undefined", rdc("two_a"))
    put("link", "empty-unit", rdc("nocode") + rdc("plain"))
    put("link", "three", rdc("nocode") + rdc("weak") + rdc("printer"))
    put("link", "memory-spaces", rdc("vars") + rdc("dynshared"))
    put("link", "memory-spaces-relocatable", rdc("dynshared") + rdc("vars") + trailer(relocatable))
    put("link", "calls", rdc("indirect") + rdc("recurse") + trailer(quiet))
    put("link", "recursion-error", rdc("recurse") + trailer(strict))
    put("link", "textures", rdc("texture") + rdc("branchy"))
    put("link", "unified", rdc("unified", 90) + rdc("nocode", 90))
    put("link", "program", sample("nocode.sm_75.cubin") + rdc("nocode"))
    put("link", "little-memory", rdc("nocode") + trailer(0x10))
    put("link", "no-object", b"")
    # files of the linker: bits 22 host_info, 23 a library
    host, library = 1 << 22, 1 << 23
    put("linkfile", "host-and-objects", sample("host-two_a.o") + pair)
    put("linkfile", "host-info", sample("host-two_a.o") + pair + trailer(host))
    put("linkfile", "device-linked", sample("host-dlink.o") + pair)
    put("linkfile", "archive", ar_file(sample("host-two_a.o"), sample("host-two_b.o"), rdc("two_a"), rdc("two_b")))
    put("linkfile", "archive-library", ar_file(rdc("two_a"), rdc("two_b")) + trailer(library))
    put("linkfile", "archive-host-info", ar_file(sample("host-two_b.o"), rdc("two_b"), rdc("nocode")) + trailer(host))
    put("linkfile", "archive-no-memory", ar_file(sample("host-two_b.o"), rdc("two_b")) + trailer(5 << 24))
    put("linkfile", "thin-archive", sample("thin.a"))
    put("linkfile", "objects", pair)
    put("linkfile", "host-alone", sample("host-vars.o"))
    for stage in ("resolve", "layout", "writer"):
        put(stage, "pair", pair)
        put(stage, "pair-relocatable", pair + trailer(relocatable))
        put(stage, "nothing-in-common", rdc("plain") + rdc("two_b"))
    put("resolve", "twice", rdc("two_b") + rdc("two_b"))
    put("resolve", "weak", rdc("weak"))
    put("resolve", "weak-twice", rdc("weak") + rdc("weak"))
    put("resolve", "weak-registers", more_registers(rdc("weak")) + rdc("weak"))
    put("resolve", "variables", rdc("vars") + rdc("dynshared"))
    put("resolve", "prototypes", rdc("indirect") + rdc("plain"))
    put("layout", "data-of-two", rdc("two_b") + rdc("vars"))
    put("layout", "variables", rdc("vars") + rdc("dynshared"))
    put("layout", "variables-relocatable", rdc("vars") + rdc("dynshared") + trailer(relocatable))
    put("layout", "tables", rdc("branchy"))
    put("layout", "debug", sample("plain.sm_75.g.rdc.cubin"))
    put("layout", "textures", rdc("texture") + rdc("plain") + trailer(preserve))
    put("writer", "variables", rdc("vars") + rdc("dynshared") + trailer(debug))
    put("writer", "calls", rdc("indirect") + trailer(preserve))
    put("writer", "textures", rdc("texture"))
    put("writer", "reserved", rdc("dynshared", 90))
    put("writer", "printer-exact", rdc("printer") + trailer(relocatable | exact))


def make_relocate():
    # see fuzz/target_relocate.c: how, bank; then symbol, type, offset, addend and 48 bytes of the section each
    ops = lambda rows: b"".join(bytes(r) + bytes(range(48)) for r in rows)
    kinds = ((7, 2), (8, 73), (9, 66), (9, 115), (10, 64), (11, 55), (12, 59), (13, 60), (14, 4), (15, 65), (15, 66), (17, 114))
    put("relocate", "empty", b"")
    for name, how in (("program", 0), ("relocatable", 1), ("exact", 3), ("preserve", 4), ("rela", 8)):
        put("relocate", name, bytes([how, 3]) + ops((s, t, 5, 16, 8) for s, t in kinds))
    put("relocate", "debug", bytes([0x10, 3]) + ops((s, t, 5, 8, 4) for s, t in ((5, 1), (5, 2), (7, 2), (5, 2))))
    put("relocate", "banks", bytes([8, 17]) + ops((64 | s, t, 5, 16, 8, 0, 1, 0, 2, 0, 3, 4) for s, t in kinds[2:8]))
    put("relocate", "fields", bytes([0, 0]) + ops((31, a, b, *range(8), 5, 16) for a, b in ((0, 63), (54, 4), (40, 141), (127, 0))))
    put("relocate", "unknown-type", bytes([0, 0]) + ops(((7, 255, *([9] * 8), 5, 16, 1), (7, 116, 5, 0, 1))))


def make_dwarf():
    # see fuzz/target_dwarf.c: where bytes come in, how many of them, frames
    def params(frames, at, more):
        return trailer(frames << 8 | at << 9 | more << 13)

    put("dwarf", "empty", b"")
    for name in ("lines.sm_75.g.rdc", "lines.sm_90.lineinfo", "lines.sm_100.lineinfo", "lines.sm_120.lineinfo.rdc"):
        for section, _, body in sections(sample(name + ".cubin", "finalize")):
            if section in (".debug_line", ".nv_debug_line_sass", ".debug_frame") and len(body) < 2048:
                put("dwarf", name + section, body + params(section == ".debug_frame", 4, 0))
    head = bytes([2, 0, 17, 0, 0, 0, 1, 1, 0xFB, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0])
    forms = bytes([0, 9, 2] + [0] * 8 + [1, 0xF0, 2, 0xA0, 0, 1, 8, 9, 15, 0, 0, 4, 0x90, 1, 2, 3, 0x10, 2, 16, 0, 1, 1])
    unit = struct.pack("<I", len(head + forms)) + head + forms
    common = struct.pack("<IQQ", 0xFFFFFFFF, 20, (1 << 64) - 1) + bytes([3, 0, 4, 0x7C, 15, 12, 0x81, 0, 8, 0x81, 0, 0])
    ops = bytes([0x44, 2, 8, 3, 4, 0, 4, 4, 0, 0, 0, 0])
    frame = struct.pack("<IQQQQ", 0xFFFFFFFF, 36, 0, 0, 0x60) + ops
    narrow = struct.pack("<II", 12, 0xFFFFFFFF) + bytes([3, 0, 4, 0x7C, 15, 0, 0, 0]) + struct.pack("<IIQQ", 32, 0, 0, 0x60) + ops
    for i in range(8):
        put("dwarf", "all-forms-of-lines-%d" % i, unit + params(0, i, i))
        put("dwarf", "all-forms-of-frames-%d" % i, common + frame + params(1, i, i))
    put("dwarf", "two-units", unit + unit + params(0, 1, 5))
    put("dwarf", "two-frames", common + frame + common + frame + params(1, 1, 4))
    put("dwarf", "32-bit-frames", narrow + params(1, 1, 5))
    put("dwarf", "still", unit + trailer(1 << 16))


def make_backend():
    # see fuzz/target_backend.c: an object, then what a backend makes of it; targets as there
    def made(name, edits, param=0, body=lambda b: b):
        good = sample(name + ".cubin")
        out = bytearray(good)
        for at, value in edits:
            out[at] = value
        return good + body(bytes(out)) + trailer(param)

    to_103 = [(49, 103)]
    put("backend", "no-code", made("nocode.sm_100.rdc", to_103, 1 << 8))
    put("backend", "code", made("two_a.sm_100.rdc", to_103, 1 << 8))
    put("backend", "made-again", made("two_a.sm_100.rdc", to_103, 1 << 8 | 1 << 12))
    put("backend", "moved", made("plain.sm_100.g.rdc", to_103, 1 << 8 | 3 << 12))
    put("backend", "moved-lines", made("plain.sm_100.lineinfo", to_103, 1 << 8 | 3 << 12))
    put("backend", "wrong-machine", made("two_a.sm_100.rdc", [(49, 110)], 1 << 8))
    put("backend", "wrong-kind", made("two_a.sm_100.rdc", [(49, 103), (48, 4)], 1 << 8))
    put("backend", "wrong-type", made("two_a.sm_100.rdc", [(49, 103), (16, 2)], 1 << 8))
    put("backend", "short", made("two_a.sm_100.rdc", to_103, 1 << 8, lambda b: b[:len(b) // 2]))
    put("backend", "nothing", sample("two_a.sm_100.rdc.cubin") + trailer(1 << 8))
    put("backend", "other-file", sample("two_a.sm_100.rdc.cubin") + sample("two_b.sm_100.rdc.cubin") + trailer(1 << 8 | 1 << 12))
    put("backend", "external", made("two_a.sm_100.rdc", to_103, 1 << 8 | 1 << 14))
    put("backend", "external-empty", sample("two_a.sm_100.rdc.cubin") + trailer(1 << 8 | 1 << 14))


def make_model():
    for c in ("nocode.sm_75.rdc", "plain.sm_75", "two_a.sm_75.rdc", "indirect.sm_75.rdc", "nocode.sm_90", "plain.sm_90a", "vars.sm_75.rdc"):
        put("model", c, sample(c + ".cubin"))
    for c in OLD:
        put("model", c[:-len(".cubin")], sample(c, "legal"))
    put("model", "nocode.sm_100.rdc", sample("nocode.sm_100.rdc.cubin"))


def make_finalize():
    """Parameters: target << 8 (2: sm_103, 5: sm_121), form << 12 (1: plain code), phase << 14, self check 16, note 18."""
    small = sample("nocode.sm_100.rdc.cubin")
    code = sample("plain.sm_100.cubin")
    put("finalize", "same", small)
    for name, param in (("copy", 2 << 8), ("strip", 1 << 12), ("strip-103", 2 << 8 | 1 << 12), ("note", 2 << 8 | 1 << 18),
                        ("strip-note-check", 1 << 12 | 5 << 16), ("prelink", 1 << 14), ("postlink", 2 << 14 | 2 << 12),
                        ("mercury", 3 << 12), ("no-fastpath", 2 << 8 | 1 << 17)):
        put("finalize", name, code + trailer(param))
    put("finalize", "rdc-strip", sample("plain.sm_100.rdc.cubin") + trailer(1 << 12))
    put("finalize", "lineinfo-strip", sample("plain.sm_120.lineinfo.cubin") + trailer(5 << 8 | 1 << 12))
    put("finalize", "accelerated", sample("plain.sm_100a.rdc.cubin") + trailer(1 << 8 | 1 << 12))
    put("finalize", "plain-code", sample("plain.sm_90.rdc.cubin") + trailer(1 << 12))
    for name, file in (("100", "plain.sm_100.cubin"), ("100a", "plain.sm_100a.cubin"), ("120", "plain.sm_120.cubin"),
                       ("90", "plain.sm_90.cubin")):
        data = sample(file)
        put("compat", name, next(body for n, _, body in sections(data) if n == ".nv.compat"))



# --- frames, memberopt: the border of the cage, and options on their way to a compiler ---------------------------------------

def make_frames():
    def request(options=(), ltoir=0, suffix=b"a", cubin=0, debug=0, sm=90, threads=1, body=b"e"):
        text = b"".join(o + b"\0" for o in options)
        return struct.pack("<BBcBB3xIII4xQQ", ord("r"), ltoir, suffix, cubin, debug, sm, threads, len(options), len(text),
                           len(body)) + text + body

    def order(verb, file, name=b""):
        packet = struct.pack("<cBH", verb, file, len(name)) + name
        return bytes([len(packet)]) + packet

    folder = 0xFF
    put("frames", "to-broker", b"\0" + request([b"--fmad=true", b"-o9"]) + b"c" + request(sm=75, suffix=b"\0"))
    put("frames", "to-broker-ltoir", b"\0" + request([b"-ftz=0"], ltoir=1))
    put("frames", "to-broker-cubin", b"\0" + request(cubin=1, debug=1, sm=103))
    put("frames", "to-broker-most", b"\0" + request([b"--any thing"] * 4, threads=64, sm=999, suffix=b"f", body=b"e" * 64))
    put("frames", "from-broker", b"\x01" + struct.pack("<IIIIqQQ", 0x79727663, 0, 0, 0, 0, 64, 9))
    put("frames", "from-broker-failed", b"\x01" + struct.pack("<IIIIqQQ", 0x79727663, 0, 2, 0, -7, 0, 64))
    put("frames", "to-porter", b"\x02\x12" + order(b"d", 0) + order(b"g", folder) + order(b"d", folder, b"0000-fatbin0-entry0.sm_90.cubin")
        + order(b"g", folder) + order(b"g", folder) + order(b"d", folder, b"lib-x-0001-file.ptx") + order(b"d", 1) + order(b"e", folder))
    put("frames", "to-porter-twice", b"\x02\x02" + order(b"d", 0) + order(b"d", 0))
    put("frames", "to-porter-early", b"\x02\x10" + order(b"d", folder, b"0000-a.bin"))
    put("frames", "to-porter-again", b"\x02\x10" + order(b"g", folder) + order(b"d", folder, b"0000-a.bin") + order(b"d", folder, b"0001-a.bin"))
    put("frames", "to-porter-after-the-end", b"\x02\x12" + order(b"e", folder) + order(b"d", 0))
    put("frames", "to-porter-no-folder", b"\x02\x02" + order(b"g", folder))
    put("frames", "to-porter-another-file", b"\x02\x01" + order(b"d", 1))
    put("frames", "to-porter-lying-length", b"\x02\x10" + order(b"g", folder) + b"\x0e" + struct.pack("<cBH", b"d", folder, 9) + b"0000-a.bin")
    put("frames", "to-porter-name", b"\x02\x10" + b"\0" + b"a.b_c-12345-x.ltoir")
    put("frames", "from-porter", b"\x03" + struct.pack("<II", 0x74727663, 0))
    put("frames", "from-opener", b"\x04\x01" + struct.pack("<QIIiIBBBB4x", 77, 5, 0, 0, 3, 0, 0, 1, 0) + b"name\0")
    put("frames", "from-opener-why", b"\x04\0" + struct.pack("<QIIiIBBBB4x", 0, 5, 4, 3, 0, 0, 0, 0, 0) + b"name\0why\0")
    put("frames", "from-opener-end", b"\x04\0" + struct.pack("<QIIiIBBBB4x", 0, 0, 0, 0, 0, 1, 0, 0, 0))
    put("frames", "from-demangler", b"\x05" + struct.pack("<II", 7, 7) + b"f(int)")
    put("frames", "from-demangler-name", b"\x05\x5f\x5a\x31\x66_Z1fi")
    for i, text in enumerate((b"--maxrregcount=255", b"--opt-level=3", b"--def-load-cache=cg", b"--device-debug", b"--any thing")):
        put("frames", "option-%d" % i, b"\x06\0" + text)
    for i, text in enumerate((b"--maxrregcount=012", b"--opt-level=4", b"--fmad=true false", b"--device-debug=", b"-o9 ", b"--maxrregcount=4294967297")):
        put("frames", "option-refused-%d" % i, b"\x06\0" + text)
    put("frames", "option-ir", b"\x06\x01-prec_div=1")


def make_worker():
    """fuzz/target_worker.c: kind and number of descriptors, then a packet or an answer of cli/worker/wire.h"""
    n_limits = len(re.findall(r"^LIMIT\(", open(os.path.join(ROOT, "spec", "limits.def"), encoding="ascii").read(), flags=re.M))

    def request(names, words=(), kind=0, files=3, limits=None, tail=b""):
        text = b"".join(t + b"\0" for t in (*names, *words))
        limits = 8 * (n_limits + 1) if limits is None else limits
        head = struct.pack("<IIQQQ8IQ4I", 0x31515743, kind, 1, 4096, 0, 90, ord("a"), 0, 0, 0, 0, 0, 0, 0, len(names), len(words),
                           len(text), 1)
        inputs = b"".join(struct.pack("<IIQQ", 1 + i % 2, 0, 0, 100) for i in range(len(names)))
        return bytes([2, files]) + head + struct.pack("<Q", limits) + bytes(8 * n_limits) + inputs + text + tail

    def answer(text, findings=(), events=(), status=0, result=None, number=1):
        head = struct.pack("<IIQ8IQQQ6Q", 0x31415743, status, number, 0, 0, 0, int(result is not None), 90, 0, len(findings),
                           len(events), 0, len(text), len(result or b""), *range(6))
        return (b"\3\0" + head + b"".join(struct.pack("<IIQQQIIII", 2, 0, 64, 8, 0, *f, 0) for f in findings) +
                b"".join(struct.pack("<IIQII", 0, 0, 0, *e) for e in events) + text + (result or b""))

    text = b"\0CV-ELF-001\0elf/section[3]\0Title: message\0a.o\0m.o\0"
    hello = struct.pack("<IIIIQ", 0x31485743, 7, 1, 320, 1 << 24)
    put("worker", "hello", b"\0\0" + hello + b"0.1.0".ljust(16, b"\0") + b"seccomp, rlimits".ljust(320, b"\0"))
    put("worker", "hello-no-end", b"\0\0" + hello + b"0.1.0".ljust(16, b"\0") + b"x" * 320)
    put("worker", "done", b"\1\0" + struct.pack("<IiQ", 0x31445743, 0, 1))
    put("worker", "done-of-another", b"\1\0" + struct.pack("<IiQ", 0x31445743, 0, 2))
    put("worker", "request-link", request([b"a.o", b"", b"c.a"], [b"kernel"]))
    put("worker", "request-scan", request([b"a.fatbin"], kind=1))
    put("worker", "request-finalize", request([b"a.cubin"], [b"strip", b"", b"", b""], kind=3))
    put("worker", "request-no-file", request([b"a.o", b"b.o"], files=2))
    put("worker", "request-other-limits", request([b"a.o"], limits=8))
    put("worker", "request-more-text", request([b"a.o"], tail=b"x\0"))
    put("worker", "answer", answer(text, [(1, 12, 27)], [(42, 46)], result=b"\x7fELF"))
    put("worker", "answer-refused", answer(text, [(1, 0, 27)], status=13))
    put("worker", "answer-both", answer(text, status=13, result=b"x"))
    put("worker", "answer-no-rule", answer(text, [(27, 0, 27)]))
    put("worker", "answer-of-another", answer(text, number=2))
    put("worker", "answer-no-text", answer(b""))


def make_print():
    """fuzz/target_print.c: PTX, with what is about it, and names of what is internal"""
    text = sample("plain.ptx")
    body = (b".version 8.0\n.target sm_90\n.visible .entry one(\n.param .u64 p\n)\n{\n\t.loc 1 7 3\n\t.loc 1 7 3, function_name $L__info_string0, inlined_at 1 9 3\n"
            b"\tret; // done\n}\n.entry __nv_static_26__71b411a3_5_a_cu__Z3two() { ret; }\n")
    put("print", "plain", text)
    put("print", "lines", body)
    put("print", "debug", body + b'\t.file\t1 "a.cu"\n\t.file 2 "b.cu", 1689945602, 1232\n\t.section\t.debug_str\n\t{\n.b8 1,2\n\t}\n')
    put("print", "comments", b"/* // */" + body)
    put("print", "split", body.replace(b".entry one", b".entry\none").replace(b"3\n", b"3\n;", 1))
    put("print", "name", b"_ZN36_GLOBAL__N__ca53d707_4_k_cu__Z3allPi6hiddenEPi")
    put("print", "names", b"__nv_static_25__ca53d707_4_k_cu__Z3allPi__ZN34_INTERNAL_4cc7a5a9_4_k_cu__Z3allPi5valueE")


def make_known():
    """fuzz/target_known.c: recordings, as cli/known/recording.c writes them, and what is said to a keeper"""
    def numbers(*values):
        out = b""
        for v in values:
            while v > 127:
                out += bytes([v & 127 | 128])
                v >>= 7
            out += bytes([v])
        return out

    def text(t):
        return numbers(0) if t is None else numbers(len(t) + 1) + t + b"\0"

    path = numbers(2, 2, 1, 0, 3, 1, 7)
    diag = numbers(1, 4, 1, 0x1234, 8, 1, 64, 3, 2) + path
    item = numbers(2, 1, 2, 7, 2, 1, 1, 90, ord("a"), 0x41, 0, 16, 80, 3000, 9000, 3, 128, 1, 0, 1, 7) + path + text(b"a.cu") + text(None) + text(None) + text(b"ptxas")
    end = numbers(4, 2, 1, 0, 1, 0, 1, 0, 0, 0, 0, 3000, 9000, 0, 0, 0, 1, 0, 0)
    put("known", "recording", b"\0\0" + diag + item + numbers(3, 4, 300) + end)
    put("known", "recording-cut", b"\0\0" + diag + item)
    put("known", "recording-longer", b"\0\0" + end + b"\0")
    put("known", "recording-wide", b"\0\0" + numbers(1, 1 << 40) + diag + end)
    put("known", "recording-text", b"\0\0" + item[:-3] + end)

    def order(verb, number=0, at=0, total=0, code=b"", body=b"", size=None):
        return struct.pack("<IIQQ32s32s32sII", verb, number, at, total, b"\1" * 32, b"\2" * 32, code, len(body) if size is None else size, 0) + body

    put("known", "ask", b"\1\0" + order(1))
    put("known", "ask-kernel", b"\1\0" + order(2))
    put("known", "source", b"\1\1" + order(3, body=b"nccl 2.27.3"))
    put("known", "source-lines", b"\1\1" + order(3, body=b"nccl\n2"))
    put("known", "piece", b"\1\1" + order(4, code=b"sm_90a"))
    put("known", "kernel", b"\1\1" + order(5, code=b"compute_90", body=b"_Z1kPi"))
    put("known", "kernel-no-code", b"\1\1" + order(5, code=b"c" * 32, body=b"k"))
    put("known", "get", b"\1\2" + order(6, 1))
    put("known", "put", b"\1\2" + order(7, 1, 4, 10, body=b"part"))
    put("known", "put-beyond", b"\1\2" + order(7, 1, 8, 10, body=b"part"))
    put("known", "put-huge", b"\1\2" + order(7, 1, (1 << 64) - 2, (1 << 64) - 1, body=b"part"))
    put("known", "drop", b"\1\2" + order(8, 1))
    put("known", "end", b"\1\0" + order(9))
    put("known", "other-purpose", b"\1\0" + order(7, 1, 0, 4, body=b"part"))
    put("known", "reply", b"\2\0" + struct.pack("<IIIIQII", 0x6E6B7663, 0, 2, 1, 0, 8, 0) + b"nccl\0ab\0")
    put("known", "reply-part", b"\2\0" + struct.pack("<IIIIQII", 0x6E6B7663, 0, 2, 0, 100, 4, 0) + b"part")
    put("known", "reply-failed", b"\2\0" + struct.pack("<IIIIQII", 0x6E6B7663, 3, 0, 0, 0, 0, 0))


def make_yara():
    """fuzz/target_yara.c: what cli/yara/wire.h has"""
    def name(text, size=132):
        return text.ljust(size, b"\0")

    def hello(state, n_remarks, *texts):
        return struct.pack("<IIII", state, 1, n_remarks, 0) + b"".join(struct.pack("<II", 3, 0) + name(t, 512) for t in texts)

    put("yara", "ready", b"\0" + hello(0, 0).ljust(16 + 8 * 520, b"\0"))
    put("yara", "refused", b"\0" + hello(1, 1, b"syntax error"))
    put("yara", "no-library-no-end", b"\0" + hello(2, 0, b"b" * 512))
    put("yara", "refused-without-a-word", b"\0" + hello(1, 0))

    def ask(size=100, texts=0, n_sections=0, names=0):
        return struct.pack("<IIIIQ", 1000, texts, n_sections, names, size)

    words, names, sections = b"sm_90\0elf\0ptxas 13.0\0_Z1kPi\n\0zstd\0fatbin[0]/entry[0]\0a.whl!/a.so\0", b".text\0.strtab\0", struct.pack("<QQIIQQII", 0, 4, 0, 1, 4, 4, 6, 2)
    put("yara", "question", b"\1" + ask(8, len(words), 2, len(names)) + sections + words + names + b"12345678")
    put("yara", "question-of-nothing", b"\1" + ask(0, 7) + bytes(7))
    put("yara", "question-cut", b"\1" + ask(8, len(words) - 1, 2, len(names)) + sections + words[:-1] + names + b"12345678")
    put("yara", "question-names-without-end", b"\1" + ask(8, len(words), 2, len(names) - 1) + sections + words + names[:-1] + b"12345678")
    put("yara", "question-beyond", b"\1" + ask(7, len(words), 2, len(names)) + sections + words + names + b"1234567")
    put("yara", "question-huge", b"\1" + ask((1 << 64) - 1, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF))

    def hit(section=0, severity=1, n_places=1, n_metas=1, places=1, rule=b"rule_1", tags=b"a b", off=90, length=10, string=b"$a"):
        return struct.pack("<IIIIQ", section, severity, n_places, n_metas, places) + name(rule) + name(b"default") + name(tags, 512) + name(b"what it is", 512) + (
            name(b"author") + name(b"me", 512)) + bytes(7 * (132 + 512)) + struct.pack("<QQ", off, length) + name(string) + bytes(4) + bytes(15 * 152)

    for what, data in (("hit", hit()), ("hit-section", hit(section=2)), ("hit-beyond", hit(length=11)), ("hit-many", hit(n_places=17, places=17)), ("hit-control", hit(rule=b"a\x1b[31m")),
                       ("hit-tags", hit(tags=b"a\tb")), ("hit-string", hit(string=b"$a$")), ("hit-cut", hit()[:700])):
        put("yara", what, b"\2" + ask(100, n_sections=2) + data)
    for what, said, outcome, hits in (("end", (1, 2, 0), 0, (1, 2, 3)), ("end-time", (0, 0, 0), 1, (0, 0, 0)), ("end-fewer", (2, 0, 0), 0, (1, 0, 0)), ("end-outcome", (0, 0, 0), 9, (0, 0, 0)),
                                      ("end-many", (0, 0, 0), 0, (1 << 40, 1 << 41, 0))):
        put("yara", what, b"\3" + struct.pack("<QQQ", *said) + struct.pack("<IIII", outcome, 0, 0, 0) + struct.pack("<QQQ", *hits))


def make_policy():
    """fuzz/target_policy.c: policies as JSON, and lines of an earlier scan"""
    schema = b'"schema":"cuvet-policy/1"'
    put("policy", "least", b"{%s}" % schema)
    put("policy", "full", b'{%s,"require":{"architectures":["sm_80","sm_90a","compute_90"],"kernels":["_Z*","x?[ab]"]},"forbid":{"kinds":["ptx","lto-ir","bitcode"],'
        b'"kernels":["*_test"],"debug":true,"sources":false},"allow":{"producers":["ptxas 13.*"],"compression":["none","lz4","zstd"]},'
        b'"size":{"total":"500M","sm_90":1000,"compute_90":"1K"},"findings":{"unsupported":true},"suppress":[{"rule":"CV-FATBIN-014","reason":"known","file":"*/a",'
        b'"path":"fatbin*","fingerprint":"%s","until":"2027-01-31"},{"rule":"CV-ELF-001","reason":"x"}]}' % (schema, b"0" * 64))
    put("policy", "wrong", b'{%s,"requires":{},"size":{"all":1},"suppress":[{}],"require":{"architectures":["sm_x"]}}' % schema)
    put("policy", "baseline", b'{"schema":"cuvet/1","type":"finding","file":"a!/b","rule":"CV-FATBIN-014","severity":"error","path":"fatbin[0]"}\n'
        b'{"schema":"cuvet/1","type":"verdict","file":"a"}\n')


def make_serve():
    """fuzz/target_serve.c: what a client sends, frames with their length in front of them"""
    def frames(*texts):
        return b"".join(struct.pack("<I", len(t)) + t for t in texts)

    def ask(what, more=b"", inputs=b'[{"fd":0}]'):
        return frames(b'{"hello":{"versions":[1]}}', b'{"do":"%s","inputs":%s%s}' % (what, inputs, more))

    put("serve", "hello", frames(b'{"hello":{"versions":[3,2,1]}}'))
    put("serve", "hello-of-others", frames(b'{"hello":{"versions":[2]}}'))
    put("serve", "counters", frames(b'{"hello":{"versions":[1]}}', b'{"do":"counters","id":7}'))
    put("serve", "link", ask(b"link", b',"target":"sm_90a","flags":["debug","keep-dead"],"kernels":["k","l"],"deadline_ms":1000',
                             b'[{"fd":0,"name":"a.o"},{"fd":1,"offset":8,"size":4,"library":true,"system":true}]'))
    put("serve", "scan", ask(b"scan", b',"depth":"headers","memory":1073741824,"output":4096,"cpu_ms":500'))
    put("serve", "select", ask(b"select", b',"target":"sm_75","request":"ptx","policy":"exact","flags":["lenient","address32"]'))
    put("serve", "finalize", ask(b"finalize", b',"target":"sm_103","form":"sass","backend":"strip","flags":["self-check"]'))
    put("serve", "no-descriptor", ask(b"scan", inputs=b'[{"fd":9}]'))
    put("serve", "not-known", ask(b"scan", b',"targets":"sm_90"'))
    put("serve", "two-inputs", ask(b"scan", inputs=b'[{"fd":0},{"fd":1}]'))
    put("serve", "end-of-text", ask(b"link", b',"target":"sm_90","kernels":["a\\u0000b"]'))
    put("serve", "twice", frames(b'{"do":"scan","do":"link"}'))
    put("serve", "array", frames(b"[1,2]"))
    put("serve", "too-long", struct.pack("<I", (1 << 20) + 1) + b"{}")
    put("serve", "cut", frames(b'{"hello":{"versions":[1]}}')[:-3])


def make_package():
    """fuzz/target_package.c: what cuvet-package says"""
    def frame(verb, payload=b"", cause=0, offset=0, n=None):
        return b"cvpk" + verb + bytes([cause, 0, 0]) + struct.pack("<IIQ", len(payload) if n is None else n, 0, offset) + payload

    entry = frame(b"e", b"lib/a.so") + frame(b"d", b"\x7fELF") + frame(b"d", b"tail", offset=64) + frame(b"z", offset=100)
    put("package", "entries", entry + frame(b"e", b"empty") + frame(b"z") + frame(b"q"))
    put("package", "remark", frame(b"r", b"link\0symbolic link, not followed") + entry + frame(b"q"))
    put("package", "folder", frame(b"o") + entry + frame(b"o", b"x"))
    put("package", "failed", frame(b"e", b"a") + frame(b"d", b"x") + frame(b"f", b"is encrypted", cause=1) + entry + frame(b"w", b"says two things") + frame(b"q"))
    put("package", "whole-failed", entry + frame(b"f", b"is cut", cause=2))
    put("package", "nested", frame(b"e", b"a") + frame(b"e", b"b"))
    put("package", "backwards", frame(b"e", b"a") + frame(b"d", b"xx", offset=9) + frame(b"d", b"x", offset=3))
    put("package", "far", frame(b"e", b"a") + frame(b"d", b"xx", offset=(1 << 63) - 2))
    put("package", "nul", frame(b"e", b"a\0b"))
    put("package", "long", frame(b"e", b"a", n=65537))
    put("package", "noted", frame(b"n", b"x" * 24) + entry + frame(b"q"))
    put("package", "behind", frame(b"q") + entry)
    for name, head in (("zip", b"PK\3\4" + bytes(26)), ("tar", bytes(257) + b"ustar\x0000"), ("deb", b"!<arch>\ndebian-binary   "), ("rpm", b"\xed\xab\xee\xdb\3\0")):
        put("package", name, head)


def make_image():
    """fuzz/target_image.c"""
    def lines(*all_lines):
        return b"".join(line + b"\0" for line in all_lines)

    layers = (b"La.tar", b"dusr", b"fusr/a", b"fusr/b", b"husr/c\nusr/b", b"Lb.tar", b"fusr/.wh.a", b"fusr/b", b"fopt/.wh..wh..opq")
    put("image", "docker", lines(*layers, b'M[{"Layers":["a.tar","b.tar"]}]'))
    put("image", "twice", lines(*layers, b'M[{"Layers":["a.tar","b.tar"]},{"Layers":["b.tar","a.tar","a.tar"]}]'))
    put("image", "link", lines(*layers, b"Sc/l.tar\n../a.tar", b'M[{"Layers":["c/l.tar","gone.tar"]}]'))
    oci = [line.replace(b"La.tar", b"Lblobs/sha256/a").replace(b"Lb.tar", b"Lblobs/sha256/b") for line in layers]
    put("image", "oci", lines(*oci, b'Bblobs/sha256/m\n{"layers":[{"digest":"sha256:a"},{"digest":"sha256:b"}]}', b'I{"manifests":[{"digest":"sha256:m"}]}'))
    put("image", "index", lines(*oci, b'Bblobs/sha256/m\n{"layers":[{"digest":"sha256:a","mediaType":"x+encrypted"}]}', b'Bblobs/sha256/i\n{"manifests":[{"digest":"sha256:m"},{"digest":"sha256:i"}]}',
                                b'I{"manifests":[{"digest":"sha256:i"}]}'))
    put("image", "both", lines(*oci, b'Bblobs/sha256/m\n{"layers":[{"digest":"sha256:a"}]}', b'I{"manifests":[{"digest":"sha256:m"}]}', b'M[{"Layers":["blobs/sha256/b"]}]'))
    put("image", "names", lines(b"La.tar", b"f./a//b/../c", b"f/..", b"f.wh.", b"f.wh..wh.plnk/1", b"da/c", b"fa", b'M[{"Layers":["a.tar"]}]'))


def make_zip():
    """fuzz/target_zip.c"""
    import io
    import warnings
    import zipfile
    warnings.simplefilter("ignore")

    def packed(*entries, method=zipfile.ZIP_STORED, **how):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            for name, data in entries:
                info = zipfile.ZipInfo(name)
                info.create_system = 3
                info.external_attr = how.get("mode", 0o100644) << 16
                z.writestr(info, data, method)
        return out.getvalue()

    one, two = packed(("a", b"text")), packed(("lib/a.so", b"\x7fELF"), ("b", b""))
    end = one.rindex(b"PK\5\6")
    large = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, *struct.unpack_from("<II", one, end + 12))
    put("zip", "one", one)
    put("zip", "two", two)
    put("zip", "none", packed())
    put("zip", "twice", packed(("a", b"x"), ("a", b"y")))
    put("zip", "folder", packed(("d/", b""), ("d/a", b"x")))
    put("zip", "folder-by-mode", packed(("a", b"x" * 10), mode=0o040755))
    put("zip", "link", packed(("a", b"x" * 300), mode=0o120777))
    put("zip", "large", one[:end] + large + struct.pack("<4sIQI", b"PK\6\7", 0, end, 1) + one[end:])
    put("zip", "behind", one + b"x")
    put("zip", "before", b"#!/bin/sh\n" + two)
    put("zip", "cut", two[:-30])


def make_memberopt():
    ltoir, caller = 1 << 8, 1 << 9
    put("memberopt", "genuine", b"-v -maxrregcount=32 --compile-only --fmad false -regUsageLevel=3")
    put("memberopt", "debug", b"-g -lineinfo --machine 64 -m64 -O3 -O 2 --opt-level=1")
    put("memberopt", "ltoir", b"-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 -generate-line-info" + trailer(ltoir))
    put("memberopt", "twice", b"-O1 -O2 -O2 --fmad=true -fmad true --fmad false -dlcm cg")
    put("memberopt", "unknown", b"--output-file x -o y --gpu-name=sm_90 @file \"--quoted -O3\" plain")
    put("memberopt", "values", b"--maxrregcount=256 --maxrregcount=010 --maxrregcount 9 -maxrregcount=archmax -g=1 --fmad= -fmad")
    put("memberopt", "caller", b"-O3\0--fmad\0\0--opt-level 2 -fmad=true -v" + trailer(caller))
    put("memberopt", "caller-ltoir", b"-ftz=1\0\0-ftz=0 -fmad=1" + trailer(caller | ltoir))
    put("memberopt", "blanks", b"\t-v\n\r -w\v\f-g  ")


def make_programs():
    """The choices of programs, members and claims for the targets that compare with models (fuzz/program.c): any bytes are some.
    Those with a name were the first among thousands that notice a defect of tests/planted/edits_models.py."""
    drawn = lambda n, size: b"".join(hashlib.sha256(b"%d %d" % (n, k)).digest() for k in range(4))[:size]
    for target in MODELS:
        put(target, "smallest", b"")
        for n in range(40):
            put(target, "program-%02d" % n, drawn(n, 120 if target not in ("ledger", "select") else 4 + 2 * n))
    for n in range(80):
        put("hosts", "files-%02d" % n, drawn(n, 6 + n // 2))
    for n in range(40):
        put("hosts", "listed-%02d" % n, bytes([4, n % 2, 0, n << 3 & 0x78 | (1 if n < 32 else n & 7 | 0x80), 1 - n % 2 if n % 5 else 6, 1, n * 9 & 0xF8]) + drawn(n, n // 8))
        put("admits", "toolkit-%02d" % n, bytes([0, n & 15, n >> 3 | (0xC0 if n >= 36 else 0)]))
    put("hosts", "dead-caller-alone", bytes([4, 0, 0, 0x31]))
    for n in range(6):
        put("admits", "paid-%d" % n, bytes([1, n % 3 | n // 3 << 7]))
    for n in range(120):
        put("choices", "members-%03d" % n, drawn(n, 4 + n % 11))
    for n in range(24):
        put("choices", "twice-%02d" % n, bytes([n, 0, 0, 0, 0, 3]))
    for n in range(48):
        put("choices", "scanned-%02d" % n, bytes([n, 8]) + drawn(n, 2 + n % 11))
    for n, how in enumerate((0x00, 0x04, 0x08, 0x0C, 0x80, 0x84, 0x88, 0x8C, 0x90, 0xA0, 0xB0)):
        put("choices", "scanned-one-%02d" % n, b"".join(bytes([0, 8, code, how]) for code in (n,)))
        put("choices", "scanned-each-%02d" % n, bytes([0, 8]) + b"".join(bytes([code, how | 3]) for code in range(4 * (n % 6), 4 * (n % 6) + 6)))
        put("choices", "scanned-twice-%02d" % n, bytes([0, 8, n, 0, n, how]))
    for n in range(90):
        put("places", "file-%02d" % n, bytes([n]) + drawn(n, 2 + n // 5))
    for depth in range(4):
        for less in (0, 7):
            put("places", "archives-%d-%d" % (2 + depth, less), bytes([1, depth, 0x80 | depth << 5 | less]))
    put("places", "in-a-name", bytes([1, 0, 0x18, 1, 0]))
    put("places", "behind-broken", bytes([0, 7, 0]))
    put("places", "behind-broken-second", bytes([0, 0, 0, 7, 0, 0, 0]))
    put("select", "same-text-twice", drawn(2621, 12))
    put("ledger", "reaches-in", drawn(90, 6))
    put("ledger", "shared", drawn(9, 6))
    put("ledger", "unpacked-gives-work", drawn(1372, 20))
    put("reach", "undefined-below-address", drawn(170, 120))
    put("describe", "mask-of-only-kernel", drawn(142, 120))


# --- verdict: cases of corpus/hostile by their number, each packed in all ways and behind others (fuzz/target_verdict.c) ------------------

def make_verdict():
    at_once = 64
    count = sample("MANIFEST.tsv", "hostile").count(b"\n") - 1
    # name, packed, behind how many, how it is read, what is asked of the limits, of how many blocks
    ways = (("alone", 0, 0, 4, 0, 1), ("stored", 1, 1, 8, 0, 1), ("lz4", 2, 2, 1, 0, 1), ("zstd", 3, 3, 2, 0, 1), ("ratio-lz4", 2, 0, 0, 1, 4),
            ("ratio-zstd", 3, 0, 4, 1, 4), ("over-ratio-lz4", 2, 0, 0, 2, 4), ("over-ratio-zstd", 3, 0, 4, 2, 4), ("nested", 1, 0, 4, 3, 1),
            ("nested-too-deep", 2, 0, 4, 4, 2), ("little-memory", 3, 1, 0, 5, 3),
            ("budget-lz4", 2, 0, 0, 6, 8), ("budget-zstd", 3, 0, 4, 6, 8), ("budget-stored", 1, 0, 1, 6, 8),
            ("over-budget-lz4", 2, 0, 4, 7, 8), ("over-budget-zstd", 3, 0, 2, 7, 8), ("over-budget-stored", 1, 0, 0, 7, 8),
            ("no-work", 0, 1, 0, 8, 4), ("no-work-jobs", 1, 2, 1, 8, 8), ("no-work-ahead", 3, 0, 2, 8, 8))
    for name, pack, before, reading, asks, every in ways:
        for legal in (1,) if "budget" in name else (0, 1):
            for first in range(0, count, at_once * every * (1 + legal)):
                cases = range(first, min(first + at_once, count))
                put("verdict", "%s-%s-%02d" % ("legal" if legal else "wrong", name, first // at_once),
                    b"".join(struct.pack("<HBBBB", i, pack << 1 | legal, before, reading, i & 3 | asks << 2) for i in cases))


# --- fields: an ELF, an edit, which of the fields, a value (fuzz/target_fields.c) ----------------------------------------------------------

def make_fields():
    for edit in range(18):
        for place in (0, 1, 7):
            put("fields", "edit-%02d-%d" % (edit, place), b"".join(struct.pack("<BBBH", base, edit, place * (base + 1) & 255, value)
                                                                   for base in range(12) for value in (0, 1, 3, 4, 7, 14)))


# --- links in which stages do what none of the samples makes them do: inputs of golden ones (corpus/link/index.tsv) ------------------------

def make_golden():
    tar = tarfile.open(fileobj=io.BytesIO(edit.unzstd(sample("golden.tar.zst", "link"))))
    for name, inputs in (("weak-partial", ("c9f6adf8859d", "b0ef46b11338")), ("texture-low", ("5a02f1dcc232",)),
                         ("slots-kinds", ("09773151b214", "d3b588363442")), ("jump-table", ("3e3aa79f16f4", "8f5d251bced6")),
                         ("addends-in-data", ("c2157dae2047", "47b6407d63e1"))):
        put("link", name, b"".join(tar.extractfile(i + ".cubin").read() for i in inputs))


def make_dump():
    if os.path.exists(os.path.join(ROOT, "fuzz", "target_elf_api.c")):
        for c in CUBINS[:4] + CUBINS[-2:]:
            put("elf_api", c[:-len(".cubin")], sample(c))
        put("elf_api", "elf32", sample("elf32-plain.sm_75.cubin", "legal"))


def main():
    check, bad = "--check" in sys.argv[1:], 0
    for make in (make_bytes, make_codecs, make_elf, make_sections, make_fatbin, make_archive, make_bitcode, make_offload, make_host, make_ptx, make_classify, make_scan,
                 make_input, make_link, make_relocate, make_dwarf, make_model, make_finalize, make_backend, make_frames, make_worker, make_known, make_policy, make_print, make_serve, make_package, make_zip, make_image,
                 make_memberopt, make_programs, make_yara, make_verdict, make_fields, make_golden, make_dump):
        make()
    have = {(t, f) for t in os.listdir(CORPUS) if os.path.isdir(os.path.join(CORPUS, t, "seed"))
            for f in os.listdir(os.path.join(CORPUS, t, "seed"))}
    for gone in sorted(have - set(seeds)):
        print("not a seed of the recipe: corpus/%s/seed/%s" % gone)
        bad = 1
    for (target, name), data in sorted(seeds.items()):
        path = os.path.join(CORPUS, target, "seed", name)
        old = open(path, "rb").read() if os.path.exists(path) else None
        if old == data:
            continue
        if check:
            print("differs: corpus/%s/seed/%s" % (target, name))
            bad = 1
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)
    print("%d seeds, %d bytes" % (len(seeds), sum(len(d) for d in seeds.values())))
    return bad


if __name__ == "__main__":
    sys.exit(main())
