#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device code at any place: a scan finds it at every offset of every kind of content, and what no linker takes from
there is not linked."""
import os
import re
import struct
import sys

from lib_cli import CLEAN, FINDINGS, ROOT, cuvet, equal, main, read, sample, scratch, test, write
from lib_places import ALLOC, EXEC, archive, cases, elf, refused_anyway, section

sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
import edit  # noqa: E402

CUBIN = read("plain.sm_90.cubin")  # what is hidden; what it is hidden in is for sm_75
HIDDEN = {"container": edit.container(edit.member(2, CUBIN, 90)), "packed": edit.container(edit.member(2, CUBIN, 90, how="zstd")),
          "cubin": CUBIN}


def inside(section):
    """bytes behind what a section of a cubin for sm_75 holds"""
    def make(data):
        e = edit.Elf(read("plain.sm_75.cubin"))
        i = e.index(section)
        e.relayout({i: e.section_bytes(i) + data})
        return bytes(e.data)
    return make


def member(data, how=None):
    return edit.container(edit.member(2, data, 75, how=how))


STRINGS, GAP = inside(".strtab"), inside(".shstrtab")
# Class of content: a file that has these bytes in it.
CONTENT = {
    "raw file": lambda d: b"bytes of no known kind" + d,
    "host section": lambda d: elf([section(".rodata", d)]),
    "code of a host object": lambda d: elf([section(".text", d, flags=ALLOC | EXEC)]),
    "between host sections": lambda d: elf([section(".rodata", b"1"), section(".data", b"2")], behind=(1, d)),
    "behind a host object": lambda d: read("host-plain.o") + d,
    "archive member": lambda d: archive(("notes.txt/", b"a text" + d)),
    "archive symbol table": lambda d: archive(("/", b"\0\0\0\0" + d)),
    "raw content": lambda d: member(STRINGS(d)),
    "lz4 content": lambda d: member(STRINGS(d), "lz4"),
    "zstd content": lambda d: member(STRINGS(d), "zstd"),
    "tail of lz4 content": lambda d: member(read("plain.sm_75.cubin") + d, "lz4"),
    "tail of zstd content": lambda d: member(read("plain.sm_75.cubin") + d, "zstd"),
    "nested": lambda d: member(member(STRINGS(d), "lz4"), "zstd"),
    "a bare cubin": STRINGS,
    "behind a bare cubin": lambda d: read("plain.sm_75.cubin") + d,
    "a gap between sections": lambda d: member(GAP(d), "zstd"),
}


def finds(path):
    r = cuvet("scan", "--format=ndjson", path)
    assert r.rc in (CLEAN, FINDINGS), r.err
    return sum(o.get("arch") == "sm_90" for o in r.objects("member")), r


@test
def every_offset_of_every_content():
    """A container and a cubin, moved byte by byte: found each time, whatever they lie in, and nothing without them."""
    for name, make in CONTENT.items():
        equal(finds(write(make(b"\1" * 64)))[0], 0, name + ": nothing is there")
        for what, data in HIDDEN.items():
            for by in range(9):
                found, r = finds(write(make(b"\1" * by + data)))
                assert found == 1, "%s in %s, moved by %d: found %d times\n%s" % (what, name, by, found, r.out)


@test
def longer_container_headers():
    """A header may say that it is longer: readers step over it, and so does the search."""
    for size in (24, 48, 64, 1000, 0xFFF8):
        data = edit.container(edit.member(2, CUBIN, 90))
        data = data[:6] + struct.pack("<HQ", size, len(data) - 16) + bytes(size - 16) + data[16:]
        for name, make in CONTENT.items():
            for by in (0, 1, 4):
                r = cuvet("scan", write(make(b"\1" * by + data)))
                assert "CV-FATBIN-004" in r.out or "CV-FATBIN-051" in r.out, "%d in %s, by %d\n%s" % (size, name, by, r.out)


@test
def bytes_behind_a_device_elf():
    """Refused by whoever reads one: with zero bytes, junk, another cubin or a container behind it; none without them."""
    good = read("plain.sm_75.rdc.cubin")
    commands = {"scan": (), "select": ("--arch=sm_75",), "finalize": ("--arch=sm_75", "-o", "-"),
                "link": ("-arch=sm_75", "-o", "-")}

    def run(name, path):
        return cuvet(name, *commands[name], path)

    for name in commands:
        if name != "finalize":
            equal(run(name, write(good)).rc, CLEAN, name)
    for what, tail in (("8 zero bytes", bytes(8)), ("a byte", b"x"), ("400 bytes", b"junk" * 100), ("a cubin", CUBIN),
                       ("itself", good), ("a container", HIDDEN["container"]), ("PTX", read("plain.ptx"))):
        path = write(good + tail)
        for name in commands:
            r = run(name, path)
            assert r.rc == FINDINGS and "CV-ELF-031" in r.out + r.err, "%s, %s: %d\n%s" % (name, what, r.rc, r.err)
        r = run("link", write(archive(("a.cubin/", good + tail)), "lib.a"))
        assert r.rc == FINDINGS, "link of an archive, %s: %d\n%s" % (what, r.rc, r.err)


GOOD, EVIL = read("plain.sm_90.rdc.cubin"), read("branchy.sm_90.rdc.cubin")


def parts():
    return (edit.container(edit.member(2, GOOD, 90)), edit.container(edit.member(2, EVIL, 90, how="zstd")), EVIL,
            read("plain.ptx"))


RULES = {"FILE": None, "MEMBER": "CV-LINK-047", "OBJECT": None, "NAMED": "CV-LINK-048", "UNNAMED": "CV-LINK-049",
         "FOLLOWING": "CV-LINK-050", "FINISHED": "CV-LINK-051", "PROGRAM": "CV-LINK-052", "DATA": "CV-LINK-053",
         "SECTION": "CV-LINK-054", "OUTSIDE": "CV-LINK-055", "BYTES": "CV-LINK-056", "TABLE": "CV-LINK-057",
         "NESTED": "CV-LINK-058", "ARCHIVE": "CV-LINK-059", "OFFLOAD": "CV-LINK-136"}


def places():
    """spec/places.def: place -> (part in a link, id of the rule, candidate of a selection)"""
    with open(os.path.join(ROOT, "spec", "rules_link.def"), encoding="utf-8") as f:
        ids = dict(re.findall(r'RULE\((\w+), "([\w-]+)"', f.read()))
    with open(os.path.join(ROOT, "spec", "places.def"), encoding="utf-8") as f:
        rows = re.findall(r'^PLACE\((\w+), (\w+), (?:CV_R_)?(\w+), (\w+),', f.read(), re.M)
    equal({name: ids.get(rule) for name, _, rule, _ in rows}, RULES, "the rules of places")
    return {name: (part, ids.get(rule), chosen == "true") for name, part, rule, chosen in rows}


def linked(path):
    """(exit code, what is said, are good and evil in the result)"""
    out = os.path.join(scratch(), "out.cubin")
    r = cuvet("link", "-arch=sm_90", "-o", out, path)
    data = b""
    if os.path.exists(out):
        with open(out, "rb") as f:
            data = f.read()
    return r, b"_Z5plain" in data, b"_Z7branchy" in data


@test
def what_a_link_takes():
    """Every place by its row of spec/places.def: taken, left out and said, or refused; never more than is said."""
    table, seen = places(), set()
    for what, name, data, place in cases(*parts()):
        path = write(data, name)
        r, good, evil = linked(path)
        part, rule, _ = table[place]
        assert r.rc == (FINDINGS if part == "REFUSED" else CLEAN), "%s: %d\n%s" % (what, r.rc, r.err)
        equal((good, evil), (part != "REFUSED", part == "TAKEN"), what + "\n" + r.err)
        assert rule is None or rule in r.err, "%s: %s\n%s" % (what, rule, r.err)
        seen.add(place)
    for what, name, data in refused_anyway(*parts()):
        r, good, evil = linked(write(data, name))
        assert r.rc == FINDINGS and not good and not evil and "error: " in r.err, "%s: %d\n%s" % (what, r.rc, r.err)
    nested = edit.container(edit.member(2, parts()[1], 90), edit.member(2, GOOD, 80))
    r = linked(write(nested, "a.fatbin"))[0]
    assert r.rc == FINDINGS and table["NESTED"][1] in r.err, r.err
    equal(linked(write(parts()[0], "a.fatbin"))[1:], (True, False), "FILE")
    good = write(parts()[0], "good.fatbin")
    for form in ("host-plain.so", "host-plain.exe"):
        out = os.path.join(scratch(), "out.cubin")
        r = cuvet("link", "-arch=sm_90", "-o", out, good, sample(form))
        assert r.rc == CLEAN and table["PROGRAM"][1] in r.err, r.err
    equal(seen | {"FILE", "NESTED", "PROGRAM"}, set(table), "places that were tried")


@test
def what_a_scan_says_and_a_selection_takes():
    """Where no tool looks for code, a scan says so (a note), and it is no candidate."""
    table = places()
    for what, name, data, place in cases(*parts()):
        path = write(data, name)
        chosen = table[place][2]
        r = cuvet("scan", "--format=ndjson", path)
        assert ("CV-HOST-033" in r.out) == (not chosen), "%s\n%s" % (what, r.out)
        r = cuvet("select", "--arch=sm_90", path)
        equal(("CV-INPUT-013" in r.out + r.err), not chosen, what + "\n" + r.out)
        # of equal ones that of the right place
        assert place not in ("DATA", "OFFLOAD", "SECTION", "OUTSIDE", "BYTES", "TABLE") or \
            re.search(r"^  \* .* %d  \S*fatbin" % len(GOOD), r.out, re.M), what + "\n" + r.out
        equal(len(re.findall(r"^ +\*? +(?:\d+|-) +elf ", r.out, re.M)), 1 + chosen, what + "\n" + r.out + r.err)


if __name__ == "__main__":
    main()
