# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet dump: golden text of some samples, agreement of its two forms, selection, damaged and hostile files."""
import difflib
import os
import re
import struct
import sys

from lib_cli import (CLEAN, FINDINGS, LIMIT, ROOT, SAMPLES, USAGE, cuvet, damaged_member, equal, main, read, sample, samples,
                     scratch, test, write)

sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
import edit  # noqa: E402

GOLDEN = os.path.join(ROOT, "tests", "golden", "dump")
UPDATE = os.environ.get("CV_GOLDEN_UPDATE") == "1"
TITLES = re.compile(r"^([A-Z][A-Za-z ]+)(?:: section \d+ .*| \(\d+\))?$", re.M)
PARTS = {"--header": ["Header"], "--sections": ["Sections"], "--segments": ["Segments"], "--symbols": ["Symbols"],
         "--relocs": ["Relocations"], "--info": ["Attributes"], "--notes": ["Notes"], "--frames": ["Frames"],
         "--callgraph": ["Call graph", "Relocation actions"], "--data": ["Data"]}


def golden(name, text):
    path = os.path.join(GOLDEN, name)
    if UPDATE:
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if old != text:
        raise AssertionError("\n".join(difflib.unified_diff(old.splitlines(), text.splitlines(), name, "now", lineterm="",
                                                            n=1))[:4000])


def section_header(data, i):
    """Offset of section header i."""
    return struct.unpack_from("<Q", data, 40)[0] + 64 * i


def find_section(data, name):
    """(index, sh_offset, sh_size)"""
    shoff, = struct.unpack_from("<Q", data, 40)
    n, strndx = struct.unpack_from("<HH", data, 60)
    names, = struct.unpack_from("<Q", data, shoff + 64 * strndx + 24)
    for i in range(n):
        at, = struct.unpack_from("<I", data, shoff + 64 * i)
        off, size = struct.unpack_from("<QQ", data, shoff + 64 * i + 24)
        if data[names + at:data.index(0, names + at)] == name:
            return i, off, size
    raise AssertionError("no section " + repr(name))


@test
def golden_dumps():
    for name in ("plain.sm_75.cubin", "branchy.sm_90.cubin", "unified.sm_100.rdc.cubin"):
        r = cuvet("dump", name, cwd=SAMPLES)
        equal(r.rc, CLEAN, name)
        golden(name + ".txt", r.out)
    golden("ptx.txt", cuvet("dump", "ptx-only.fatbin", cwd=SAMPLES).out)
    golden("data.txt", cuvet("dump", "--data", "plain.sm_90.cubin", cwd=SAMPLES).out)
    golden("ndjson.txt", cuvet("dump", "--format=ndjson", "--symbols", "--info", "--compat", "vars.sm_100.cubin",
                               cwd=SAMPLES).out)


@test
def two_runs_are_equal_and_ndjson_is_valid():
    for path in samples():
        a, b = cuvet("dump", "--data", "--info", path), cuvet("dump", "--data", "--info", path)
        equal((a.raw, a.rc), (b.raw, b.rc), path)
        assert b"\x1b" not in a.raw
        objects = cuvet("dump", "--format=ndjson", path).objects()
        assert all("path" in o and "file" in o for o in objects)


@test
def both_forms_show_the_same():
    for name in ("indirect.sm_100.rdc.cubin", "texture.sm_90.cubin", "two.sm_75.linked.cubin", "plain.sm_120.g.cubin"):
        text = cuvet("dump", sample(name)).out
        objects = cuvet("dump", "--format=ndjson", sample(name)).objects()
        rows = [l for l in text.splitlines() if re.match(r"^ +0x[0-9a-f]+  [NBHS]VAL  ", l)]
        records = [o for o in objects if o["type"] in ("attribute", "compat")]
        equal(len(rows), len(records), name)
        for row, o in zip(rows, records):
            m = re.match(r"^ +(0x[0-9a-f]+)  ([NBHS]VAL)  (\S+) *(.*)$", row)
            equal((int(m.group(1), 16), m.group(2), m.group(3)), (o["offset"], o["format"], o["name"]), name)
            assert o["value"].startswith(m.group(4)), (row, o)
        symbols = [o for o in objects if o["type"] == "symbol"]
        equal(len(re.findall(r"^ +\d+ +0x[0-9a-f]+ +0x[0-9a-f]+  (?:LOCAL|GLOBAL|WEAK)", text, re.M)), len(symbols), name)


@test
def kernels_and_names_of_relocations():
    objects = cuvet("dump", "--format=ndjson", sample("vars.sm_75.rdc.cubin")).objects()
    assert any("kernel" in o["marks"] for o in objects if o["type"] == "symbol")
    names = {o["r_type"] for o in objects if o["type"] == "relocation"}
    assert names and all(n.startswith("R_CUDA_") for n in names), names
    objects = cuvet("dump", "--format=ndjson", sample("vars.sm_100.rdc.cubin")).objects("relocation")
    assert {o["r_type"].split("_")[1] for o in objects} == {"CUDA", "MERCURY"}


@test
def parts():
    for option, titles in PARTS.items():
        out = cuvet("dump", option, sample("plain.sm_75.cubin")).out
        equal(sorted(set(TITLES.findall(out))), sorted(titles), option)
    out = cuvet("dump", "--compat", "--capsules", sample("plain.sm_100.cubin")).out
    equal(sorted(set(TITLES.findall(out))), ["Attributes", "Capsule"], "two parts")
    equal(TITLES.findall(cuvet("dump", "--unified", sample("unified.sm_90.rdc.cubin")).out), ["Unified entries"] * 2)


@test
def selection():
    whole = cuvet("dump", "--format=ndjson", "--header", sample("multi.fatbin")).objects()
    pieces = [o for o in whole if o["type"] == "piece"]
    assert len(pieces) > 5
    for o in pieces:
        by_number = cuvet("dump", "--format=ndjson", "--member", str(o["number"]), sample("multi.fatbin"))
        by_path = cuvet("dump", "--format=ndjson", "--member", o["path"], sample("multi.fatbin"))
        equal(by_number.raw, by_path.raw, o["path"])
        equal([p["path"] for p in by_path.objects("piece")], [o["path"]])
    one = cuvet("dump", "--format=ndjson", "--header", "--arch", "sm_90a", sample("multi.fatbin")).objects()
    equal([o["arch"] for o in one], ["sm_90a", "sm_90a"])
    both = cuvet("dump", "--format=ndjson", "--header", "--arch", "120", sample("multi.fatbin")).objects("piece")
    equal(sorted(o["kind"] for o in both), ["elf", "ptx"])
    r = cuvet("dump", "--member", "99", sample("multi.fatbin"))
    equal((r.rc, r.out), (USAGE, ""))
    assert "selected" in r.err


@test
def ptx_text():
    short, whole = (cuvet("dump", *o, sample("ptx-only.fatbin")).out for o in ([], ["--ptx"]))
    assert ".version" in short and len(whole) > len(short) and ".visible" in whole


@test
def damaged_member_next_to_good_ones():
    path = write(damaged_member(), "member.fatbin")
    r = cuvet("dump", "--header", path)
    equal(r.rc, FINDINGS)
    assert "(not unpacked)" in r.out and r.out.count("\nHeader\n") >= 5
    assert "CV-" in r.err and "fatbin[0]/entry[1]" in r.err


@test
def damaged_sections():
    data = bytearray(read("plain.sm_90.cubin"))
    i, _, _ = find_section(data, b".nv.info")
    struct.pack_into("<Q", data, section_header(data, i) + 24, 1 << 40)
    r = cuvet("dump", write(data))
    equal(r.rc, FINDINGS)
    assert "0x10000000000" in r.out and ".nv.info" in r.out and "EXIT_INSTR_OFFSETS" in r.out, "the rest is still shown"
    assert "error CV-ELF-" in r.err


@test
def damaged_records():
    data = bytearray(read("plain.sm_90.cubin"))
    i, off, size = find_section(data, b".nv.info")
    assert size > 24
    data[off + 12] = 9
    r = cuvet("dump", "--info", write(data))
    equal(r.rc, FINDINGS)
    assert re.search(r"Attributes: section %d \.nv\.info\n +0x0 .*\n +0xc  the rest cannot be decoded" % i, r.out), r.out
    equal([o["offset"] for o in cuvet("dump", "--format=ndjson", "--info", write(data)).objects("damage")], [12])


@test
def broken_names_and_links():
    data = bytearray(read("vars.sm_75.rdc.cubin"))
    _, off, size = find_section(data, b".symtab")
    for i in range(1, size // 24):
        struct.pack_into("<I", data, off + 24 * i, 0xFFFFFF00 + i)
    r = cuvet("dump", write(data))
    equal(r.rc, FINDINGS)
    data = bytearray(read("vars.sm_75.rdc.cubin"))
    for i in range(struct.unpack_from("<H", data, 60)[0]):
        struct.pack_into("<I", data, section_header(data, i) + 40, 0xFFFFFFF0)
    assert cuvet("dump", write(data)).rc == FINDINGS


@test
def hostile_names_are_escaped():
    data = bytearray(read("plain.sm_90.cubin"))
    data = data.replace(b"_Z5plainPi", b"_Z\x1b[2J\n\xe2\x80\xae")
    for args in ([], ["--format=ndjson"]):
        r = cuvet("dump", *args, write(data))
        assert b"\x1b" not in r.raw and b"\xe2\x80\xae" not in r.raw and b"\\x1b[2J" in r.raw, r.raw[:200]


@test
def every_cut_ends_well():
    data = read("plain.sm_100.cubin")
    step = 1 if os.environ.get("CV_FULL") else 97
    d = scratch()
    for n in range(0, len(data), step):
        r = cuvet("dump", write(data[:n], "cut.cubin", d))
        assert r.rc in (CLEAN, FINDINGS), (n, r.rc, r.err)


@test
def flipped_bytes_end_well():
    data = read("unified.sm_100.rdc.cubin")
    step = 7 if os.environ.get("CV_FULL") else 61
    d = scratch()
    for at in range(0, len(data), step):
        for value in (0, 0x7F, 0xFF):
            bad = bytearray(data)
            bad[at] = value
            r = cuvet("dump", "--data", "--symbols", "--relocs", "--info", "--callgraph", "--frames", "--unified", "--notes",
                      "--capsules", write(bad, "flip.cubin", d))
            assert r.rc in (CLEAN, FINDINGS, 4), (at, value, r.rc, r.err)


@test
def tables_over_the_same_bytes_are_cut_short():
    """2,000 symbol tables over 200 KB: 16 million symbols to show, if nobody stopped it."""
    data = bytearray(read("plain.sm_90.cubin"))
    shoff, = struct.unpack_from("<Q", data, 40)
    n, = struct.unpack_from("<H", data, 60)
    table = data[shoff:shoff + 64 * n]
    i, _, _ = find_section(data, b".symtab")
    data += bytes(200000 - len(data))
    one = bytearray(table[64 * i:64 * i + 64])
    struct.pack_into("<QQ", one, 24, 0, 192000)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, n + 2000)
    r = cuvet("dump", "--symbols", write(data + table + one * 2000))
    equal(r.rc, LIMIT)
    assert "limit 'work' ended the dump" in r.err
    assert len(r.out) < 64 * (len(data) + len(table) + 64 * 2000) * 3


def named_over_and_over(name, times):
    """A symbol with a name of its own, and so many relocations that name it."""
    e = edit.Elf(read("two_a.sm_90.rdc.cubin"))
    index, names = e.symbol_index("shared_counter"), bytes(e.section_bytes(".strtab"))
    e = e.relayout({e.index(".strtab"): names + name + b"\0"}) or e
    e.symbol("shared_counter", "name", len(names))
    table = ".rela.text._Z6callerPi"
    one = struct.pack("<QQq", 16, index << 32 | 56, 0)
    e = e.relayout({e.index(table): bytes(e.section_bytes(table)) + one * times}) or e
    return bytes(e)


@test
def long_names_over_and_over():
    """What is printed is counted as it is printed: control characters are six bytes each in JSON."""
    for name in (b"a" * 8000, b"\x01" * 8000, b"\\" * 8000, "\u20ac".encode() * 2500):
        data = named_over_and_over(name, 3000)
        for form in ("text", "ndjson"):
            r = cuvet("dump", "--format=" + form, write(data))
            equal(r.rc, LIMIT)
            assert "limit 'work' ended the dump" in r.err
            assert len(r.out) < 80 * len(data) + (1 << 20), (name[:1], form, len(r.out))


@test
def pieces_out_of_nothing():
    """A thousand copies of a table that compresses to nothing: the whole file may print what the limit 'budget' says."""
    data = named_over_and_over(b"name", 20000)
    path = write(edit.container(*[edit.member(2, data, 90, how="zstd")] * 100))
    r = cuvet("dump", "--format=ndjson", "--limit=budget=16M", "--limit=budget_ratio=4096", path)
    equal(r.rc, LIMIT)
    assert "limit 'budget' ended the dump" in r.err
    assert len(r.out) < 2 * (16 << 20), len(r.out)


@test
def nothing_to_show():
    r = cuvet("dump", write(b"plain text, no device code"))
    equal((r.rc, r.out), (CLEAN, ""))
    assert "no device code" in r.err


main()
