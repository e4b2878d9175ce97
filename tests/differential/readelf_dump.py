#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cuvet dump` against readelf: header, sections, program headers, symbols and relocations of genuine cubins.

Takes the cubins of corpus/samples and, where CUDA libraries are found, cubins unpacked from them: 60, or 1,000 with
CV_FULL=1 (READELF_DUMP_COUNT=N sets another number), spread evenly over the libraries. CUVET_CUDA_LIB names the
directory of the libraries. Every field that readelf prints must be equal; names are compared in full.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

CUVET = os.environ["CUVET"]
SRC = os.environ.get("CV_SRC", ".")
TMP = os.environ["CV_TMP"]
WANT = int(os.environ.get("READELF_DUMP_COUNT") or (1000 if os.environ.get("CV_FULL") else 60))

# Smallest first: the large ones are unpacked only when more cubins are wanted than the small ones hold.
LIBRARIES = ["libcudadevrt.a", "libcurand.so", "libcusolverMg.so", "libcudnn_ops.so", "libcusparse.so", "libnccl.so",
             "libcusolver.so", "libcufft.so"]
LIB_DIRS = [os.environ.get("CUVET_CUDA_LIB", "")] + sorted(glob.glob("/usr/local/cuda*/lib64")) + \
    sorted(glob.glob("/opt/cuda*/lib64")) + ["/usr/lib/x86_64-linux-gnu"]

HEADER_KEYS = {
    "Start of program headers": "phoff", "Start of section headers": "shoff", "Size of this header": "ehsize",
    "Size of program headers": "phentsize", "Number of program headers": "phnum",
    "Size of section headers": "shentsize", "Number of section headers": "shnum",
    "Section header string table index": "shstrndx", "ABI Version": "abiversion",
}
SECTION = re.compile(r"^\s*\[\s*(\d+)\] (.*?)\s*(NULL|PROGBITS|SYMTAB SECTION INDICES|SYMTAB|STRTAB|RELA|NOTE|NOBITS|REL|"
                     r"LOPROC\+0x[0-9a-f]+|LOPROC\+0|[0-9a-f]{8}: <unknown>)\s+([0-9a-f]{8,16}) ([0-9a-f]{6,}) "
                     r"([0-9a-f]{6,}) ([0-9a-f]{2,})(?: +([A-Zopxl]+))? +(\d+) +(\d+) +(\d+)$")
SYMBOL = re.compile(r"^\s*(\d+): ([0-9a-f]{8,16})\s+(0x[0-9a-f]+|\d+) (NOTYPE|OBJECT|FUNC|SECTION|FILE|<[A-Za-z ]+>: \d+)"
                    r"\s+(LOCAL|GLOBAL|WEAK|<[A-Za-z ]+>: \d+)\s+(DEFAULT|INTERNAL|HIDDEN|PROTECTED)"
                    r"(?: +\[<other>: ([0-9a-f]+)\])?\s+(UND|ABS|COM|\d+)(?: (.*))?$")
SEGMENT = re.compile(r"^\s+(PHDR|LOAD|NULL)\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+) "
                     r"([R ][W ][E ]) (0x[0-9a-f]+|\d+)$")
RELOC_HEAD = re.compile(r"^Relocation section '(.*)' at offset 0x([0-9a-f]+) contains (\d+) entr")
RELOC = re.compile(r"^([0-9a-f]{8,16})\s+([0-9a-f]{8,16}) (?:unrecognized: [0-9a-f]+|\S+)\s*(.*)$")
SYM_TYPES = {"NOTYPE": 0, "OBJECT": 1, "FUNC": 2, "SECTION": 3, "FILE": 4}
BINDS = {"LOCAL": 0, "GLOBAL": 1, "WEAK": 2}
VISIBILITY = {"DEFAULT": 0, "INTERNAL": 1, "HIDDEN": 2, "PROTECTED": 3}
TYPES = {"NULL": 0, "PROGBITS": 1, "SYMTAB": 2, "STRTAB": 3, "RELA": 4, "NOTE": 7, "NOBITS": 8, "REL": 9,
         "SYMTAB SECTION INDICES": 18}
SHNDX = {"UND": 0, "ABS": 0xFFF1, "COM": 0xFFF2}


def flag_letters(flags):
    out = "".join(c for bit, c in ((1, "W"), (2, "A"), (4, "X"), (0x10, "M"), (0x20, "S"), (0x40, "I")) if flags & bit)
    return out + ("o" if flags & 0x0FF00000 else "") + ("p" if flags & 0xF0000000 else "")


def number_after(kind, words):
    return words[kind] if kind in words else int(kind.rsplit(" ", 1)[1])


def from_readelf(path):
    """What readelf says, in the terms of from_cuvet()."""
    p = subprocess.run(["readelf", "-hSsrlW", path], capture_output=True, check=False, env=dict(os.environ, LC_ALL="C"))
    out = {"header": {}, "section": [], "segment": [], "symbol": [], "reloc": []}
    table = None
    for line in p.stdout.decode("latin-1").splitlines():
        m = re.match(r"^  ([A-Za-z/ ]+):\s+(.*)$", line)
        if m and not out["section"]:
            key, value = m.groups()
            if key in HEADER_KEYS:
                out["header"][HEADER_KEYS[key]] = int(value.split()[0])
            elif key == "Flags":
                out["header"]["flags"] = int(value.split(",")[0], 16)
            elif key == "Type" and value.split()[0] in ("REL", "EXEC"):
                out["header"]["e_type"] = {"REL": 1, "EXEC": 2}[value.split()[0]]
            elif key == "Entry point address":
                out["header"]["entry"] = int(value, 16)
            elif key == "Version" and value.startswith("0x"):
                out["header"]["version"] = int(value, 16)
            elif key == "OS/ABI" and "unknown" in value:
                out["header"]["osabi"] = int(value.split(":")[1].strip(" >"), 16)
            continue
        m = SECTION.match(line)
        if m:
            t = m.group(3)
            kind = 0x70000000 + int(t[7:], 16) if t.startswith("LOPROC") else TYPES[t] if t in TYPES else int(t[:8], 16)
            out["section"].append((int(m.group(1)), m.group(2), kind, int(m.group(4), 16), int(m.group(5), 16),
                                   int(m.group(6), 16), int(m.group(7), 16), m.group(8) or "", int(m.group(9)),
                                   int(m.group(10)), int(m.group(11))))
            continue
        m = SEGMENT.match(line)
        if m:
            flags = sum(bit for c, bit in (("R", 4), ("W", 2), ("E", 1)) if c in m.group(7))
            out["segment"].append(({"NULL": 0, "LOAD": 1, "PHDR": 6}[m.group(1)],) +
                                  tuple(int(m.group(i), 16) for i in range(2, 7)) + (flags, int(m.group(8), 0)))
            continue
        m = RELOC_HEAD.match(line)
        if m:
            table = int(m.group(2), 16)
            continue
        if line.startswith(("Symbol table", "There are no", "No processor")):
            table = None
            continue
        m = RELOC.match(line) if table is not None else None
        if m:
            out["reloc"].append(parse_reloc(table, m))
            continue
        m = SYMBOL.match(line)
        if m:
            other = int(m.group(7) or "0", 16) | VISIBILITY[m.group(6)]
            out["symbol"].append((int(m.group(1)), int(m.group(2), 16), int(m.group(3), 0),
                                  number_after(m.group(4), SYM_TYPES), number_after(m.group(5), BINDS), other,
                                  SHNDX.get(m.group(8)) if m.group(8) in SHNDX else int(m.group(8)), m.group(9) or ""))
    return out


def parse_reloc(table, m):
    """(file offset of the table, offset, symbol, type, addend or None, name or None)"""
    info, rest = int(m.group(2), 16), m.group(3)
    sym, addend, name = info >> 32, None, None
    if sym:
        # Texture symbols have the number of GNU indirect functions, which readelf shows as "name()" in place of a value.
        r = re.match(r"^(?:[0-9a-f]{8,16}|\S+\(\))\s+(.*?)(?: ([+-]) ([0-9a-f]+))?$", rest)
        name = r.group(1)
        if r.group(3):
            addend = int(r.group(2) + r.group(3), 16)
    elif rest:
        addend = int(rest, 16)
    return (table, int(m.group(1), 16), sym, info & 0xFFFFFFFF, addend, name)


def from_cuvet(path):
    p = subprocess.run([CUVET, "dump", "--format=ndjson", "--header", "--sections", "--segments", "--symbols", "--relocs", path],
                       capture_output=True, check=False)
    if p.returncode != 0:
        raise RuntimeError("cuvet dump ends with %d: %s" % (p.returncode, p.stderr.decode("utf-8", "replace")[:300]))
    out = {"header": {}, "section": [], "segment": [], "symbol": [], "reloc": []}
    offsets, types, native = {}, {}, []
    for line in p.stdout.splitlines():
        r = json.loads(line)
        t = r["type"]
        if t == "header":
            out["header"] = dict(r, flags=int(r["flags"].split(":")[0], 16))
        elif t == "section":
            offsets[r["index"]], types[r["index"]] = r["offset"], r["type_number"]
            out["section"].append((r["index"], r["name"], r["type_number"], r["addr"], r["offset"], r["size"],
                                   r["entsize"], flag_letters(r["flags"]), r["link"], r["info"], r["align"]))
        elif t == "segment":
            out["segment"].append((r["type_number"], r["offset"], r["vaddr"], r["paddr"], r["filesz"], r["memsz"],
                                   r["flag_bits"], r["align"]))
        elif t == "symbol":
            if types[r["table"]] == 2:
                native.append(r)
                out["symbol"].append((r["index"], r["value"], r["size"], r["info"] & 15, r["info"] >> 4, r["other"],
                                      r["section"], r["name"]))
        elif t == "relocation" and types[r["section"]] in (4, 9):
            addend = r.get("addend")
            out["reloc"].append((offsets[r["section"]], r["offset"], r["symbol"], r["type_number"], addend,
                                 r["name"] if r["symbol"] else None))
    return out


def compare(path):
    """List of differences, and how many elements were compared."""
    ours, theirs = from_cuvet(path), from_readelf(path)
    bad = ["header %s: %r, readelf %r" % (k, ours["header"].get(k), v)
           for k, v in theirs["header"].items() if ours["header"].get(k) != v]
    n = len(theirs["header"])
    if n < 12:
        bad.append("readelf shows only %d header fields" % n)
    for what in ("section", "segment", "symbol", "reloc"):
        a, b = ours[what], theirs[what]
        n += len(b)
        if len(a) != len(b):
            bad.append("%d %ss, readelf %d" % (len(a), what, len(b)))
        for x, y in zip(a, b):
            if x != y:
                bad.append("%s %r, readelf %r" % (what, x, y))
                break
    return bad, n, ours["header"].get("osabi") == 0x33


def unpack(library, to):
    """Cubins of a library, in the order of its file."""
    os.makedirs(to)
    p = subprocess.run([CUVET, "unpack", "-d", to, "--kind", "elf", library], capture_output=True, check=False)
    if p.returncode not in (0, 1):
        raise RuntimeError("cuvet unpack %s ends with %d" % (os.path.basename(library), p.returncode))
    return sorted(os.path.join(to, f) for f in os.listdir(to))


def even(items, n):
    return [items[i * len(items) // n] for i in range(n)] if len(items) > n else items


def batches():
    """(name, paths): the committed samples, then even samples of each library."""
    samples = sorted(glob.glob(os.path.join(SRC, "corpus/samples/*.cubin")))
    yield "corpus/samples", samples
    left = WANT
    found = [(name, os.path.join(d, name)) for name in LIBRARIES
             for d in [next((d for d in LIB_DIRS if d and os.path.exists(os.path.join(d, name))), None)] if d]
    if not os.environ.get("CV_FULL"):
        found = found[:2]
    if not found:
        print("no CUDA libraries found: only the committed samples are compared")
    for i, (name, path) in enumerate(found):
        if left <= 0:
            return
        to = os.path.join(TMP, "unpacked")
        some = even(unpack(path, to), max(1, left // (len(found) - i)))
        left -= len(some)
        yield name, some
        shutil.rmtree(to)


def main():
    if not shutil.which("readelf"):
        print("SKIPPED: readelf is not installed, `cuvet dump` was compared with nothing")
        return 77
    passed = failed = total = 0
    for name, paths in batches():
        elements = wrong = legacy = 0
        for path in paths:
            try:
                bad, n, old = compare(path)
            except (RuntimeError, ValueError, KeyError, AttributeError) as e:
                bad, n, old = [repr(e)], 0, False
            elements += n
            legacy += old
            wrong += bool(bad)
            if bad and failed + wrong <= 20:
                print("%s: %s" % (os.path.basename(path), "; ".join(bad)[:600]))
        print("%s: %d cubins (%d of ABI 7), %d differ, %d header fields and table rows compared" %
              (name, len(paths), legacy, wrong, elements))
        passed += len(paths) - wrong
        failed += wrong
        total += elements
    print("%d rows in all" % total)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
