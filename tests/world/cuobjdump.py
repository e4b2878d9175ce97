# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What others list of a file - the vendor's cuobjdump and tools/walk.py - against what the scan found in it.

cuobjdump lists less than there is, and each reason is checked before it counts as an explanation: it reads the sections
.nv_fatbin and __nv_relfatbin of host files and no others, and it refuses a whole file for one member that it does not
know any more. A difference that none of these gives exactly is a difference.
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WALK = os.path.join(ROOT, "tools", "walk.py")
WHEEL = ("nvidia-cuda-cuobjdump", "13.5.37")
READS = (b".nv_fatbin", b"__nv_relfatbin")
KINDS = ("elf", "ptx")
NOBITS = 8
GONE = re.compile(r"Support for '(sm_\d+\w?)' has been removed")
NOTHING = "does not contain device code"
INVALID = "Invalid ELF"


# ---- the tool ----


def find(get, scratch, missing, unreachable):
    """(path of cuobjdump or None, what it is, may other wheels be asked for?); get(name, version) gives the wheel."""
    mine = os.environ.get("CUVET_CUOBJDUMP")
    if mine:
        return mine, "the cuobjdump that CUVET_CUOBJDUMP names", True
    try:
        with zipfile.ZipFile(get(*WHEEL)) as z:
            name = [n for n in z.namelist() if n.endswith("/bin/cuobjdump")][0]
            z.extract(name, scratch)
    except missing as e:
        print("SKIPPED: %s %s: cannot be had here: %s" % (*WHEEL, e), flush=True)
        return None, "no cuobjdump, which could not be had", not isinstance(e, unreachable)
    path = os.path.join(scratch, name)
    os.chmod(path, 0o700)
    return path, "cuobjdump of %s %s" % WHEEL, True


def listed(tool, path):
    """({kind: how many}, what it complains about)"""
    p = subprocess.run([tool, "-all", "--list-elf", "--list-ptx", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False)
    lines = p.stdout.decode("utf-8", "replace").splitlines()
    said = p.stderr.decode("utf-8", "replace").strip().splitlines() if p.returncode else []
    return {k: sum(line.startswith(k.upper() + " file ") for line in lines) for k in KINDS}, said[-1] if said else ""


# ---- where the members of a host file are ----


def text(table, at):
    return bytes(table[at:table.index(b"\0", at)]) if at < len(table) else b""


def host_sections(data, base=0):
    """[(name, first, last + 1)] of the sections of a 32- or 64-bit ELF file at base of data, as places in data."""
    if bytes(data[base:base + 4]) != b"\x7fELF":
        return []
    wide = data[base + 4] == 2
    at, = struct.unpack_from("<Q" if wide else "<I", data, base + (40 if wide else 32))
    size, count, names = struct.unpack_from("<HHH", data, base + (58 if wide else 46))
    form = struct.Struct("<IIQQQQ" if wide else "<IIIIII")
    heads = [form.unpack_from(data, base + at + i * size) for i in range(count)]
    if names >= len(heads):
        return []
    first, length = base + heads[names][4], heads[names][5]
    table = bytes(data[first:first + length])
    return [(text(table, h[0]), base + h[4], base + h[4] + h[5]) for h in heads if h[1] != NOBITS]


def archive_members(data):
    at = 8
    while at + 60 <= len(data):
        size = int(bytes(data[at + 48:at + 58]))
        yield at + 60
        at += 60 + size + size % 2


def sections(path):
    """Of a host file or of all members of an archive; None where the file is neither."""
    with open(path, "rb") as f:
        start = f.read(20)
        if start[:8] != b"!<arch>\n" and (start[:4] != b"\x7fELF" or start[18:20] == b"\xbe\x00"):
            return None
        f.seek(0)
        data = f.read()
    if start[:8] == b"!<arch>\n":
        return [s for base in archive_members(data) for s in host_sections(data, base)]
    return host_sections(data)


def outside(path, members):
    """[(member, why cuobjdump does not look there)]"""
    places = sections(path)
    if places is None:
        return []
    found = []
    for m in members:
        if not m["in_container"]:
            found.append((m, "in no container"))
            continue
        at = m["container_offset"]
        names = [name for name, first, end in places if first <= at < end]
        if not any(n in READS for n in names):
            found.append((m, "in %s" % (names[0].decode("ascii", "replace") or "a section without a name" if names else
                                        "no section")))
    return found


# ---- why it lists less ----


def count(members):
    c = collections.Counter(m["kind"] for m in members)
    return {k: c[k] for k in KINDS}


def refused_alone(cuvet, tool, path, scratch):
    """How many of a file's cubins it does not take either when they are by themselves."""
    out = os.path.join(scratch, "alone")
    try:
        subprocess.run([cuvet, "unpack", "--kind=elf", "-d", out, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False)
        names = sorted(os.listdir(out)) if os.path.isdir(out) else []
        return sum(listed(tool, os.path.join(out, n))[0]["elf"] != 1 for n in names)
    finally:
        shutil.rmtree(out, ignore_errors=True)


def explain(cuvet, tool, path, members, theirs, said, scratch):
    """({where the members are that are not listed: how many}, what is wrong): one of them empty, or both when all are."""
    ours = count(members)
    missed = sum(ours.values()) - sum(theirs.values())
    if theirs == ours and not said:
        return {}, ""
    if any(theirs[k] > ours[k] for k in KINDS):
        return {}, "cuobjdump lists more: %s, found %s" % (theirs, ours)
    gone = GONE.search(said)
    # PTX for it is enough.
    if gone and gone.group(1) in {(m.get("arch") or "").replace("compute_", "sm_") for m in members}:
        return {"in a file that it refuses for %s" % gone.group(1): missed}, ""
    if INVALID in said and refused_alone(cuvet, tool, path, scratch):
        return {"in a file that it refuses (“%s”) for members that it refuses alone too" % INVALID: missed}, ""
    rest = outside(path, members)
    away = count([m for m, _ in rest])
    if theirs == {k: ours[k] - away[k] for k in KINDS} and (not said or NOTHING in said and not any(theirs.values())):
        return collections.Counter(why for m, why in rest if m["kind"] in KINDS), ""
    return {}, "cuobjdump lists %s, found %s, of these outside of its sections %s; it says: %s" % (theirs, ours, away, said)


# ---- the second opinion, which needs no vendor's tool ----


def walked(paths):
    rows = {}
    for i in range(0, len(paths), 200):
        p = subprocess.run([sys.executable, WALK, "--json", *paths[i:i + 200]], capture_output=True, text=True, check=False)
        rows.update((o["file"], o) for o in map(json.loads, p.stdout.splitlines()) if o["file"] != "total")
    return rows


def walk_differs(walk, file):
    inside = [m for m in file.members.values() if m["in_container"]]
    kinds = collections.Counter("lto" if m["kind"].startswith("lto") else m["kind"] for m in inside)
    ours = dict(containers=file.verdict["containers"], members=len(inside), **{k: kinds[k] for k in (*KINDS, "lto")})
    theirs = {k: walk[k] for k in ours} if walk else None
    return "" if ours == theirs else "tools/walk.py has %s, found %s" % (theirs, ours)


def compare(cuvet, tool, folder, files, scratch):
    """Of each file with device code: (path, {kind: found}, {kind: listed} or None, explanation of each member not listed, what is wrong, was it walked)"""
    device = [f for f in files.values() if f.members]
    names = {f.path: os.path.join(folder, f.path) for f in device}
    walks = walked([names[f.path] for f in device if f.verdict.get("containers")])
    out = []
    for f in device:
        path, members = names[f.path], list(f.members.values())
        walk = bool(f.verdict.get("containers"))
        wrong = walk_differs(walks.get(path), f) if walk else ""
        theirs, why = None, {}
        if tool and not wrong and any(count(members).values()):
            theirs, said = listed(tool, path)
            why, wrong = explain(cuvet, tool, path, members, theirs, said, scratch)
        out.append((f.path, count(members), theirs, why, wrong, walk))
    return out
