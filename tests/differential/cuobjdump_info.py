#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cuvet dump --info --compat` against cuobjdump -elf: each attribute record's section, place, name, format and value.

Needs cuobjdump (CUVET_CUOBJDUMP names it, else PATH); without it the test is skipped. Takes the cubins of corpus/samples
and of the directories or files in CUVET_CUBINS (separated by ':'), at most CUVET_CUBINS_MAX (300) of the latter.
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
TOOL = os.environ.get("CUVET_CUOBJDUMP") or shutil.which("cuobjdump")
FUNCTION = re.compile(r"^function: (.*)\((0x[0-9a-f]+)\)\s+[a-z ]+: (0x[0-9a-f]+|\d+)$")
KPARAM = re.compile(r"Index : (0x[0-9a-f]+)\s+Ordinal : (0x[0-9a-f]+)\s+Offset  : (0x[0-9a-f]+)\s+Size    : (0x[0-9a-f]+)")
BRANCH = re.compile(r"Offset of Indirect Branch: (0x[0-9a-f]+)\s+Number of targets: (\d+)")
# cuobjdump 13.2 has names for these, 13.5 none: format and value are compared.
FORGOTTEN = ("MERCURY_FINALIZER_OPTIONS", "MERCURY_ISA_VERSION", "MERCURY_ISA_MAJOR_MINOR_VERSION", "MERCURY_ISA_PATCH_VERSION",
             "SW1850030_WAR", "SW2393858_WAR", "SW2861232_WAR", "SW_WAR_MEMBAR_SYS_INSTR_OFFSETS")
EXTERN = re.compile(r"\((0x[0-9a-f]+)\)")


def from_vendor(path):
    """[(section name, attribute, format, value text)], sections in the order they are printed."""
    p = subprocess.run([TOOL, "-elf", path], capture_output=True, check=False)
    out, section, name, fmt, value = [], None, None, None, None
    for line in p.stdout.decode("latin-1").splitlines() + ["end"]:
        if name and value is not None and (re.match(r"^\t<0x", line) or (line and not line.startswith("\t"))):
            out.append((section, name, fmt, value.strip()))
            name = value = None
        if line.startswith("."):
            section = line.strip()
        elif line.startswith("\tAttribute:"):
            name = re.sub(r"^(EIATTR|EICOMPAT_ATTR)_", "", line.split(":", 1)[1].strip())
        elif line.startswith("\tFormat:"):
            fmt = line.split("EIFMT_", 1)[1].strip()
            value = ""
        elif line.startswith("\tValue:") and name:
            value = line.split(":", 1)[1]
        elif value is not None:
            value += "\n" + line.strip()
    return out


def from_cuvet(path):
    p = subprocess.run([CUVET, "dump", "--format=ndjson", "--sections", "--info", "--compat", path], capture_output=True,
                       check=False)
    if p.returncode != 0:
        raise RuntimeError("cuvet dump ends with %d: %s" % (p.returncode, p.stderr.decode("utf-8", "replace")[:300]))
    names, out = {}, []
    for line in p.stdout.splitlines():
        r = json.loads(line)
        if r["type"] == "section":
            names[r["index"]] = r["name"]
        elif r["type"] in ("attribute", "compat"):
            out.append((names[r["section"]], r["name"], r["format"], r))
    return out


def words(r):
    raw = bytes.fromhex(r["payload"])
    return [int.from_bytes(raw[i:i + 4], "little") for i in range(0, len(raw), 4)]


def value_differs(text, r):
    """None: equal, or a form that is shown in another way; else why not."""
    if r["format"] in ("BVAL", "HVAL"):
        if re.match(r"^\d+\.\d+$", text):
            return None if r["value"] == text else "version"
        m = re.match(r"^(\d+)\.(\d+)$", r["value"])
        if m and text == hex(int(m[1]) << 8 | int(m[2])):
            return None
        if re.match(r"^0x[0-9a-f]+$", text):
            return None if int(r["value"].split()[0].strip(","), 0) == int(text, 16) else "value"
        return None
    if r["format"] != "SVAL":
        return None
    w = words(r)
    if re.match(r"^(0x[0-9a-f]+\s*)+$", text):
        return None if [int(x, 16) for x in text.split()] == w else "words"
    m = FUNCTION.match(text)
    if m:
        same = w[:2] == [int(m.group(2), 16), int(m.group(3), 0)] and r["value"].startswith("%s [%d] " % (m.group(1), w[0]))
        return None if same else "function"
    m = KPARAM.search(text)
    if m and r["name"] == "KPARAM_INFO":
        want = "ordinal %d offset %s size %s " % (int(m.group(2), 16), m.group(3), m.group(4))
        return None if r["value"].startswith(want) else "parameter"
    if BRANCH.search(text):
        mine = re.findall(r"branch (0x[0-9a-f]+): (\d+) targets", r["value"])
        return None if mine == BRANCH.findall(text) else "branches"
    if text.startswith("externs:"):
        return None if [int(x, 16) for x in EXTERN.findall(text)] == w else "externs"
    return None


def by_section(records):
    out = {}
    for r in records:
        out.setdefault(r[0], []).append(r[1:])
    return out


def compare(path):
    theirs, ours = by_section(from_vendor(path)), by_section(from_cuvet(path))
    bad, n = [], 0
    for name in theirs:
        a, b = ours.get(name, []), theirs[name]
        n += len(b)
        if len(a) != len(b):
            bad.append("%s: %d attributes, cuobjdump %d" % (name[:80], len(a), len(b)))
        for x, y in zip(a, b):
            known = x[0] == y[0] or (x[0] in FORGOTTEN and y[0] == "unknown Attribute")
            why = "name" if not known else "format" if x[1] != y[1] else value_differs(y[2], x[2])
            if why:
                bad.append("%s: %s: %s %s %r, cuobjdump %s %s %r" % (name[:80], why, x[0], x[1], x[2]["value"][:80], y[0], y[1],
                                                                     y[2][:80]))
                break
    # The vendor's tool prints no Mercury clones; everything else must be in both.
    bad += ["%s: not in cuobjdump's dump" % k[:80] for k in ours if k not in theirs and not k.startswith(".nv.merc.")]
    return bad, n


def main():
    if not TOOL or not os.path.exists(TOOL):
        print("SKIPPED: cuobjdump is not installed, attributes were compared with nothing")
        return 77
    paths = sorted(glob.glob(os.path.join(SRC, "corpus/samples/*.cubin")))
    more = []
    for d in filter(None, os.environ.get("CUVET_CUBINS", "").split(":")):
        more += sorted(glob.glob(os.path.join(d, "*.cubin"))) if os.path.isdir(d) else [d]
    n = int(os.environ.get("CUVET_CUBINS_MAX", "300"))
    paths += [more[i * len(more) // n] for i in range(n)] if len(more) > n else more
    failed = total = 0
    for path in paths:
        try:
            bad, n = compare(path)
        except (RuntimeError, ValueError, KeyError) as e:
            bad, n = [repr(e)], 0
        total += n
        failed += bool(bad)
        if bad and failed <= 20:
            print("%s: %s" % (os.path.basename(path), "; ".join(bad)[:600]))
    print("%d cubins, %d attribute records compared" % (len(paths), total))
    print("%d passed, %d failed, 0 skipped" % (len(paths) - failed, failed))
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
