#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the dictionaries fuzz/dict/<target>.dict from the tables in spec/: magics, names, codes, flag words.

Usage: make_dicts.py [--check]     --check: compare with what is there, write nothing
"""
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = os.path.join(os.path.dirname(HERE), "spec")
SPDX = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"


def rows(table, macro):
    """Arguments of each MACRO(...) row of spec/<table>.def; strings keep their quotes."""
    with open(os.path.join(SPEC, table + ".def"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    out = []
    for m in re.finditer(r"^%s\((.*)\)\s*$" % macro, text, flags=re.M):
        out.append([a.strip() for a in re.findall(r'"(?:[^"\\]|\\.)*"|[^,]+', m.group(1))])
    if not out:
        sys.exit("no %s rows in spec/%s.def" % (macro, table))
    return out


def u16(v):
    return struct.pack("<H", v & 0xFFFF)


def u32(v):
    return struct.pack("<I", v & 0xFFFFFFFF)


def u64(v):
    return struct.pack("<Q", v & 0xFFFFFFFFFFFFFFFF)


def quoted(arg):
    return arg.strip('"').encode()


def trailer():
    return [u32(0x5A465643)] + [u32(p) + u32(0x5A465643) for p in (0, 3, 0x10, 0x20, 0x40, 0x80, 0x100)]


def edges():
    return [u32(0x7FFFFFFF), u32(0x80000000), u32(0xFFFFFFFF), u64(1 << 63), u64((1 << 64) - 8), u64(1 << 32)]


def fatbin():
    flags = [int(r[1], 0) for r in rows("fatbin", "FLAG")]
    out = [u32(0xBA55ED50), u32(0xBA55ED50) + u32(0x00100001), u32(0x1EE55A01), u32(0x466243B1), u16(0x0101), u32(0x40), u32(0x48)]
    out += [u64(f) for f in flags] + [u64(0x11 | f) for f in flags]
    out += [u16(k) + u16(0x0101) for k in (1, 2, 4, 8, 16)] + [u32(a) for a in (52, 75, 80, 90, 100, 103, 110, 120, 121)]
    return out + [b"-arch sm_90a\0", b"--device-debug", u32(0xFD2FB528)]


def elf():
    out = [b"\x7fELF\x02\x01\x01\x41\x08", b"\x7fELF\x02\x01\x01\x33\x07", b"\x7fELF\x01\x01\x01\x33", b"\x7fELF\x02\x01\x01\0",
           u16(1) + u16(190), u16(2) + u16(190), u16(190), u16(0xFF00), u16(0xFFFF), u16(0xFFF1), u16(0xFFF2)]
    out += [u32(int(r[1], 0)) for r in rows("elf", "SHT") + rows("elf", "PT")]
    out += [u64(int(r[1], 0)) for r in rows("elf", "SHF")]
    out += [bytes([int(b[1], 0) << 4 | int(t[1], 0)]) for b in rows("elf", "STB") for t in rows("elf", "STT")]
    return out


def names():
    out = []
    for r in rows("roles", "ROLE"):
        n = quoted(r[1]).rstrip(b"*")
        if n:
            out += [n + b"\0"] if not n.endswith(b".") else [n, b".rela" + n]
    return out


def tlv():
    out = []
    for r in rows("eiattr", "ATTR"):
        code, form, size = int(r[0], 0), int(r[2], 0), int(r[6], 0)
        out.append(bytes([form or 4, code]) + u16(size if form == 4 else 0))
    for r in rows("compat", "COMPAT"):
        out.append(bytes([int(r[2], 0) or 4, int(r[0], 0)]) + u16(int(r[3], 0)))
    return out


def note():
    return [b"NVIDIA Corp\0", u32(12) + u32(8) + u32(1000), u32(12), u32(1000), u32(2000), u32(24), b"-arch sm_90a", b"-arch=sm_100f",
            u16(2) + u16(90), b"ptxas\0", b"nvlink\0", b"nvasm_internal\0", b"Cuda compilation tools, release 13.0\0"]


def meta():
    return [u32(0) + u32(-p) for p in range(1, 6)] + [u64(0x73), u64(0x3605002511000000), u64(0x4B), u32(0x466243B1) + u32(1),
                                                     u32(0x466243B1) + u32(2), u32(0x1EE55A01), b".nvHRKE", b"__nv_module_id"]


def ptx():
    return [b".version ", b".target ", b".address_size ", b"8.7", b"9.0\n", b"sm_", b"sm_90a", b"sm_100f", b"64\n", b"32\n", b", debug",
            b"//", b"/*", b"*/", b"texmode_independent", b"# 1 \"a\"\n", b"\x1a", b", sm_75", b"\0", b".visible .entry k()"]


def archive():
    return [b"!<arch>\n", b"!<thin>\n", b"`\n", b"//              ", b"/               ", b"/SYM64/         ", b"#1/20           ", b"/0",
            b"__.SYMDEF", b"__.SYMDEF SORTED", b"0         `\n", b"/0:8            "]


def offload():
    return [b"\x10\xff\x10\xad", u32(1) + u64(0), u32(2), u32(3), u64(32), u64(40), u64(16), u64(24), u64(72), b"triple\0", b"arch\0", b"nvptx64-nvidia-cuda\0",
            b"nvptx", u16(1) + u16(2)]


def host():
    return [b".nv_fatbin\0", b"__nv_relfatbin\0", b".nvFatBinSegment\0", b"__nv_module_id\0", b".nvHRKE\0", b".shstrtab\0", u16(62),
            u16(183), u16(243), u64(0x466243B1 | 1 << 32), u64(0x466243B1 | 2 << 32), u64(1), u64(8), u64(0x101), u64(0x403),
            u32(4), u32(11), u32(6), u64(0x6FFFFEF5), u64(7), u64(8), u64(9), u64(17), u64(36)]


def bitcode():
    words = [quoted(r[0]) for r in rows("bitcode", "TRIPLE")]
    return [b"BC\xc0\xde", u32(0x0B17C0DE), u32(20), b"\x35\x14\0\0", b"\x62\x0c\x30\x24",
            b"\x21\x0c\0\0"] + words


def zstd():
    return [u32(0xFD2FB528), u32(0x184D2A50), bytes([0x20]), bytes([0x60]), bytes([0xA0]), bytes([0xE0]), bytes([0x24]), bytes([0x58]),
            b"\x01\0\0", b"\x02\x10\0", b"\x03\x10\0"]


TARGETS = {
    "archive": lambda: archive() + edges(),
    "bitcode": lambda: bitcode() + edges(),
    "offload": lambda: offload() + edges(),
    "bytes": lambda: [b"\0", b"4294967295", b"4294967296", b".nv.", b"\x7fELF", u32(0xBA55ED50)],
    "classify": lambda: fatbin()[:4] + elf()[:7] + [u32(0x7F4E43ED), bytes(4) + u32(0x1EE55A01)] + ptx() + archive()[:2] +
    [b"/*/", b"**/", b"\xef\xbb\xbf", b".version", b"//\n"] + edges() + trailer(),
    "cubin": lambda: elf() + names() + tlv() + note() + meta() + edges() + trailer(),
    "elf": lambda: elf() + edges() + trailer(),
    "elf_api": lambda: elf() + names() + tlv() + note() + edges(),
    "fatbin": lambda: fatbin() + tlv() + edges() + trailer(),
    "hostobj": lambda: host() + edges() + trailer(),
    "lz4": lambda: [b"\x1f\0\x01\0", b"\xf0\xff", b"\0\0", u32(0x00400000) + u32(0x5A465643), u32(0x10000000) + u32(0x5A465643)],
    "meta": lambda: meta() + edges(),
    "note": lambda: note() + edges() + trailer(),
    "planted": lambda: [u32(0x44454221), u32(3), u32(0x2F11)],
    "ptx": ptx,
    "scan": lambda: fatbin() + elf() + names() + tlv() + note() + meta() + ptx() + archive() + offload() + [u32(0x6FFF4C0B)] + host() + zstd() + bitcode() + edges() + trailer(),
    "tlv": lambda: tlv() + edges() + trailer(),
    "zstd": lambda: zstd() + trailer(),
}
TARGETS["alloc_fault"] = TARGETS["scan"]
TARGETS["readers"] = TARGETS["scan"]
# Targets, requests, compilers: the parameters of fuzz/target_input.c.
TARGETS["input"] = lambda: TARGETS["scan"]() + [u32(p) + u32(0x5A465643) for p in
                                               [t << 8 for t in range(1, 24)] + [b << 13 for b in range(1, 8)] +
                                               [1 << b for b in (16, 17, 18, 26, 27, 28)] + [c << 19 for c in range(1, 8)] +
                                               [3 << 19 | e << 22 for e in range(1, 10)]]
# Two objects: what makes one name mean two things, relocation types, parameters of fuzz/target_link.c.
TARGETS["link"] = lambda: TARGETS["cubin"]() + [u32(int(r[0], 0)) for r in rows("relocs", "RELOC_CUDA")] + \
    [u32(1 << b) + u32(0x5A465643) for b in range(13, 22)] + [u32(t << 8) + u32(0x5A465643) for t in range(1, 24)]
TARGETS["linkfile"] = lambda: archive() + host() + elf() + names() + [b"def _", b"!<thin>\n"] + edges() + \
    [u32(1 << b) + u32(0x5A465643) for b in range(13, 24)]
for stage in ("resolve", "layout", "writer"):
    TARGETS[stage] = TARGETS["link"]
TARGETS["model"] = TARGETS["cubin"]
# Targets, forms, phases, switches: the parameters of fuzz/target_finalize.c.
TARGETS["finalize"] = lambda: TARGETS["cubin"]() + [u32(t << 8 | k << 12) + u32(0x5A465643) for t in range(6) for k in range(4)] + \
    [u32(1 << b) + u32(0x5A465643) for b in range(14, 25)]
TARGETS["compat"] = TARGETS["tlv"]
# A relocation is symbol, type, offset; see fuzz/target_relocate.c.
TARGETS["relocate"] = lambda: [bytes([s, int(r[0], 0)]) for s in (5, 7, 9, 11, 15) for r in rows("relocs", "RELOC_CUDA")
                               if int(r[0], 0) < 124 and int(r[2], 0)] + edges()
# Operations and headers of DWARF, parameters of fuzz/target_dwarf.c.
TARGETS["dwarf"] = lambda: [b"\0\x09\x02" + bytes(8), b"\0\x01\x01", bytes([2, 0]), bytes([4, 0]), bytes([0xFB, 14, 10]),
                            bytes([1, 1, 0xFB, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]), b"\x08", b"\x09\xFF\xFF", b"\x02\x80\x02",
                            u32(0xFFFFFFFF) + u64(20), u64((1 << 64) - 1) + bytes([3, 0, 4, 0x7C]), u32(0x3FFFFFFC)] + \
    [bytes([o]) + bytes(n) for o, n in ((2, 1), (3, 2), (4, 4), (0x0F, 1), (0x16, 2), (0x0C, 2))] + edges() + \
    [u32(f << 8 | a << 9 | m << 13 | s << 16) + u32(0x5A465643) for f in (0, 1) for a in (0, 1, 4) for m in (0, 2, 6, 7) for s in (0, 1)]
# An object and what a backend says it became; parameters of fuzz/target_backend.c.
TARGETS["backend"] = lambda: TARGETS["cubin"]() + [u32(1 << 8 | how << 12) + u32(0x5A465643) for how in range(8)]


def member_options():
    """Each option in its spellings, its words and its bounds."""
    out = []
    for kind, lng, shrt, takes, low, high, words in rows("member_options", "MEMBER_OPTION"):
        dash = b"-" if kind == "IR" else b"--"
        out += [dash + quoted(lng), b"-" + quoted(shrt)] + [b"=" + w for w in quoted(words).split()]
        if takes in ("NUMBER", "LEVEL"):
            out += [b"=" + str(n).encode() for n in (int(low), int(high), int(high) + 1)] + [b"=0" + high.encode()]
    return out + [b" ", b"\"", b"=", b"\0", b"\0\0", b"-", b"--"]


# The options of a member, parameters of fuzz/target_memberopt.c.
TARGETS["memberopt"] = lambda: member_options() + [u32(p << 8) + u32(0x5A465643) for p in range(4)]
# Frames of fuzz/target_frames.c: words, marks, options, names.
TARGETS["frames"] = lambda: [bytes([k]) for k in range(7)] + [b"r", b"c", b"d\xff", b"g\xff\0\0", b"e\xff\0\0", b"d\0\0\0", b"d\x01\0\0",
                                                            u32(0x79727663), u32(0x74727663), b"0000-", b".cubin", b".ptx", b".ltoir", b".merc", b".fatbin",
                                                            b".bc", b".bin", b"../", b"_Z", b"-o9\0", b"--any thing\0"] + member_options()
# Packets of fuzz/target_worker.c: kinds with descriptors, marks, beginnings of texts.
TARGETS["worker"] = lambda: [bytes([k, 3]) for k in range(4)] + [u32(m) for m in (0x31485743, 0x31515743, 0x31445743, 0x31415743)] + [
    b"CV-", b"\0\0", b"a.o\0", u32(4096), u32(90)]
# Frames of fuzz/target_package.c: the mark with each verb, lengths, offsets.
TARGETS["package"] = lambda: [b"cvpk" + bytes([v, 0, 0, 0]) for v in b"edzforwq"] + [u32(n) for n in (1, 512, 65536, 1 << 20)] + [
    struct.pack("<Q", n) for n in (1, (1 << 63) - 1)] + [b"name\0text", b"PK\3\4", b"ustar", b"\x1f\x8b\x08\0", b"\xed\xab\xee\xdb", b"!<arch>\ndebian-binary"]
# Records of a zip file.
TARGETS["zip"] = lambda: [b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\7\x08", b"APK Sig Block 42", b"\1\0\x18\0", b"\xff" * 4] + [u32(n) for n in (8, 1 << 16, 0x81A40000)]
# Lines of fuzz/target_image.c.
TARGETS["image"] = lambda: [b'"Layers"', b'"layers"', b'"manifests"', b'"digest"', b'"mediaType"', b'"sha256:a"', b"blobs/sha256/a", b".wh.", b".wh..wh..opq", b".wh..wh.plnk/",
                            b"\0M", b"\0I", b"\0B", b"\0S", b"\0L", b"\0f", b"\0d", b"\0h", b"../", b'"application/vnd.oci.image.layer.v1.tar+encrypted"']

# Keys and values of fuzz/target_policy.c, as cli/check/policy.c has them.
TARGETS["policy"] = lambda: [b'"%s"' % w for w in sorted(set(re.findall(rb'"([a-z][\w-]*)"', open(os.path.join(os.path.dirname(HERE), "cli", "check", "policy.c"), "rb").read())))] + [
    b'"cuvet-policy/1"', b'"CV-FATBIN-014"', b'"sm_90a"', b'"compute_90"', b'"2027-01-31"', b'"500M"', b'"zstd"', b'"ptx"', b'"cuvet/1"', b'"finding"']

# Frames and recordings of fuzz/target_known.c.
TARGETS["known"] = lambda: [bytes([k, p]) for k in range(3) for p in range(3)] + [u32(v) for v in range(1, 10)] + [u32(0x6E6B7663), u32(32768), u64(8 << 20), b"sm_90a\0", b"\x81\0",
    b"ptxas\0", b"\xff" * 9 + b"\1"]
# Words of fuzz/target_yara.c.
TARGETS["yara"] = lambda: [bytes([k]) + u32(n) for k in range(4) for n in (0, 1)] + [u32(n) for n in (2, 3, 4, 8, 16, 64, 132, 512)] + [u64(n) for n in (1, 100, 1 << 40, (1 << 64) - 1)] + [
    b"rule_1\0", b"$a\0", b"default\0", b"a b\0", b"sm_90\0elf\0\0k\n\0none\0ptx\0a\0", b".text\0.data\0"]
TARGETS["print"] = lambda: [b".entry ", b".visible .entry ", b".loc 1 7 3\n", b".file 1 \"a.cu\"\n", b".section .debug_str\n{\n}\n", b"function_name $L__info_string0, inlined_at 1 9 3", b"{\n", b"}\n",
    b"/*", b"*/", b"//", b"_GLOBAL__N__71b411a3_", b"_INTERNAL_71b411a3_", b"__nv_static_26__71b411a3_"]
# Frames of fuzz/target_serve.c: words of requests, as cli/serve_request.c has them, lengths, marks.
TARGETS["serve"] = lambda: [b'"%s"' % w for w in sorted(set(re.findall(rb'"([a-z][\w-]*)"', open(os.path.join(os.path.dirname(HERE), "cli", "serve_request.c"), "rb").read())))] + [
    b'"do":', b'"hello":{"versions":[1]}', b'"inputs":[{"fd":0}]', b'"fd":1', b'"id":null', b"sm_90a", b"9223372036854775807", b"\\u0000", b"1e3"] + [
    u32(n) for n in (1, 2, 64, 1 << 20, (1 << 20) + 1)]
TARGETS["jit"] = lambda: [u32(n | k << 16) + u32(0x5A465643) for n in (0, 2, 4, 8, 16, 32) for k in (0, 1)]
TARGETS["api_sequence"] = lambda: [u32(n) + u32(0x5A465643) for n in (4, 8, 16, 32, 64)]


def text(words):
    seen, out = set(), [SPDX, "# Written by fuzz/make_dicts.py from spec/*.def."]
    for w in words:
        if w and w not in seen:
            seen.add(w)
            out.append('"%s"' % "".join(chr(b) if 32 < b < 127 and b not in b'"\\' else "\\x%02X" % b for b in w[:64]))
    return "\n".join(out) + "\n"


def main():
    check, bad = "--check" in sys.argv[1:], 0
    for name, words in sorted(TARGETS.items()):
        if not os.path.exists(os.path.join(HERE, "target_%s.c" % name)):
            continue
        path, want = os.path.join(HERE, "dict", name + ".dict"), text(words())
        old = open(path, encoding="ascii").read() if os.path.exists(path) else None
        if check and old != want:
            print("differs: fuzz/dict/%s.dict" % name)
            bad = 1
        elif not check and old != want:
            with open(path, "w", encoding="ascii") as f:
                f.write(want)
    return bad


if __name__ == "__main__":
    sys.exit(main())
