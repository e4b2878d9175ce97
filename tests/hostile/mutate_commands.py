#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples that keep their structure but lie in some of its fields, through the commands: link, link -r, finalize, select,
dump and scan, each in its own process and cage.

One to three fields are changed, always in the same way for the same seed: of section and program headers, symbols,
relocations, records, notes, the call graph. Of each command is noted how it ends. The exit code is 1 when one crashed,
hung, ended in an internal error (5), refused without a word, left a file behind when it failed or none when it did not,
or wrote a result that a scan calls malformed or that lacks a kernel of its input.

  mutate_commands.py --cuvet build/cuvet --count 20000 [--jobs 2] [--seed 1]
"""
import argparse
import collections
import concurrent.futures
import os
import random
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = os.path.join(ROOT, "corpus", "samples")
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
sys.path.insert(0, os.path.join(ROOT, "tests", "hostile"))

import edit  # noqa: E402
from link_mutants import kernels, value  # noqa: E402

HANG = 20  # seconds, on a machine that does other things too
INTERNAL = 5
TABLES = {".symtab": edit.SYM, ".rela": edit.RELA, ".rel": edit.REL}


def change(r, b, at, width):
    old = int.from_bytes(b[at:at + width], "little")
    b[at:at + width] = value(r, width, old, len(b)).to_bytes(width, "little")


def table_of(name):
    """The fields of what a section is a table of; None: of bytes."""
    for prefix, fields in TABLES.items():
        if name.startswith(prefix):
            return fields
    return None


def damage(r, image):
    """The image with one to three fields of its structure changed."""
    e = edit.Elf(image)
    names = [n for n in e.names if n and n != ".shstrtab"]
    b = bytearray(image)
    for _ in range(r.choice((1, 1, 2, 3))):
        kind = r.randrange(8)
        name = r.choice(names)
        off, size = e.sget(name, "offset"), e.sget(name, "size")
        if kind == 0:
            field = r.choice(sorted(edit.SHDR))
            change(r, b, e.header_at(name) + edit.SHDR[field][0], edit.SHDR[field][1])
        elif kind == 1 and e.hget("e_phnum"):
            field = r.choice(sorted(edit.PHDR))
            change(r, b, e.hget("e_phoff") + 56 * r.randrange(e.hget("e_phnum")) + edit.PHDR[field][0], edit.PHDR[field][1])
        elif kind < 7:
            wanted = [n for n in names if table_of(n) or n.startswith((".nv.info", ".nv.callgraph", ".note", ".nv.compat"))]
            name = r.choice(wanted)
            off, size = e.sget(name, "offset"), e.sget(name, "size")
            fields, step = table_of(name), sum(w for _, w in (table_of(name) or {"": (0, 4)}).values())
            if size < step or off + size > len(b):
                continue
            row = off + step * r.randrange(size // step)
            at, width = r.choice(sorted(fields.values())) if fields else (0, r.choice((1, 2, 4)))
            change(r, b, row + at, width)
        elif e.sget(name, "type") not in edit.NO_BYTES and size >= 4 and off + size <= len(b):
            change(r, b, off + r.randrange(size - 3), r.choice((1, 2, 4)))
    return bytes(b)


def commands(cuvet, path, arch, out):
    return {
        "link": [cuvet, "link", "-arch=" + arch, path, "-o", out],
        "link -r": [cuvet, "link", "-r", "-arch=" + arch, path, "-o", out],
        "finalize": [cuvet, "finalize", "--arch", arch, path, "-o", out],
        "select": [cuvet, "select", "--arch", arch, path],
        "dump": [cuvet, "dump", "--format=ndjson", path],
        "scan": [cuvet, "scan", "-q", path],
    }


def run(argv):
    try:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG)
    except subprocess.TimeoutExpired:
        return None, b"", b""
    return p.returncode, p.stdout, p.stderr


def judge(what, rc, err, mutant, out, cuvet):
    """How a command ended: 'done' and 'refused' are good."""
    writes = what in ("link", "link -r", "finalize")
    if rc is None:
        return "hang"
    if rc < 0 or rc > 128:
        return "crash"
    if rc == INTERNAL:
        return "internal"
    if not writes:
        return "done" if rc == 0 else "refused"
    if rc != 0:
        return "left a file" if os.path.exists(out) else "refused" if err else "silent"
    if not os.path.exists(out):
        return "no file"
    with open(out, "rb") as f:
        result = f.read()
    if set(kernels(mutant)) - set(kernels(result)):
        return "lost a kernel"
    return "done" if run([cuvet, "scan", "-q", out])[0] in (0, 1) and scanned_well(cuvet, out) else "malformed result"


def scanned_well(cuvet, out):
    return b"malformed" not in run([cuvet, "scan", out])[1]


def one(cuvet, samples, seed):
    r = random.Random(seed)
    name, image = samples[seed % len(samples)]
    mutant = damage(r, image)
    arch = "sm_" + name.split(".sm_")[1].split(".")[0]
    ends = {}
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "in.cubin"), os.path.join(folder, "out.cubin")
        with open(path, "wb") as f:
            f.write(mutant)
        for what, argv in commands(cuvet, path, arch, out).items():
            rc, _, err = run(argv)
            ends[what] = judge(what, rc, err, mutant, out, cuvet)
            if os.path.exists(out):
                os.unlink(out)
    return name, seed, ends


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--cuvet", required=True)
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    samples = []
    for name in sorted(os.listdir(SAMPLES)):
        if name.endswith(".cubin") and ".sm_" in name:
            with open(os.path.join(SAMPLES, name), "rb") as f:
                image = f.read()
            if image[:4] == b"\x7fELF" and image[4] == 2 and struct.unpack_from("<H", image, 60)[0]:
                samples.append((name, image))
    totals, bad = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        seeds = range(a.seed * 1000003, a.seed * 1000003 + a.count)
        for name, seed, ends in pool.map(lambda s: one(os.path.abspath(a.cuvet), samples, s), seeds):
            for what, end in ends.items():
                totals[what][end] += 1
                if end not in ("done", "refused"):
                    bad.append("%s seed %d: %s: %s" % (name, seed, what, end))
    for what, ends in totals.items():
        print("%-9s %s" % (what, ", ".join("%s %d" % e for e in sorted(ends.items()))))
    for line in bad[:50]:
        print(line)
    print("%d mutants of %d samples, %d commands, %d bad ends" %
          (a.count, len(samples), a.count * len(totals), len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
