#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the assembler and the linker of each toolkit of toolkits.tsv write: the programs of corpus/link/ptx, assembled by the one
and linked by the other (which is loaded into a process of its own), are clean, and what the linker links we do not refuse.

  toolkits.py [--cuvet build/cuvet] [--only RELEASE]... [--arch sm_90]...

Wheels are kept in CV_WORLD_CACHE (default: build/world). A program that an assembler does not know is left out and counted.

exit: 0 nothing wrong; 1 a finding or a refusal that is not expected; 2 usage; 77 no toolkit can be had here
"""
import argparse
import collections
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import world

PROGRAMS = os.path.join(world.ROOT, "corpus", "link", "ptx")
TABLE = os.path.join(world.ROOT, "tests", "world", "toolkits.tsv")
ARCHES = ("sm_75", "sm_90", "sm_100")
MODES = {"plain": [], "-g": ["-g"]}
# What a release leaves in its results that is no fault of ours: linkers 12.0 to 12.2 write parts of host addresses into fields and
# tables that they have not filled.
LEAKS = {release: {"CV-ELF-039", "CV-ELF-134", "CV-ELF-138"} for release in ("12.0", "12.1", "12.2")}
# Refused on purpose, where these linkers take one of two definitions without a word or an input of a newer toolkit.
ON_PURPOSE = {"CV-LINK-002", "CV-LINK-086", "CV-ADMIT-008"}
INPUT_CUBIN = 1  # nvJitLink.h


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def function(library, name):
    """A function of nvJitLink; its names end in a version."""
    for version in ["13_%d" % i for i in range(10)] + ["12_%d" % i for i in range(10)]:
        try:
            return getattr(library, "__nvJitLink%s_%s" % (name, version))
        except AttributeError:
            continue
    raise SystemExit("no function %s" % name)


def jit_link(path, out, options, inputs):
    """In a process of its own, which may crash: link, and write the cubin."""
    library, handle, size = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_size_t()
    words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    if function(library, "Create")(ctypes.byref(handle), ctypes.c_uint32(len(options)), words):
        return 1
    for name in inputs:
        with open(name, "rb") as f:
            data = f.read()
        if function(library, "AddData")(handle, INPUT_CUBIN, data, ctypes.c_size_t(len(data)), name.encode()):
            return 1
    if function(library, "Complete")(handle):
        return 1
    function(library, "GetLinkedCubinSize")(handle, ctypes.byref(size))
    result = ctypes.create_string_buffer(size.value)
    function(library, "GetLinkedCubin")(handle, result)
    with open(out, "wb") as f:
        f.write(result.raw)
    return 0


class Toolkit:
    def __init__(self, cache, row):
        self.release, assembler, self.newest = row[0], row[1:3], tuple(map(int, row[5].split(".")))
        self.folder = tempfile.TemporaryDirectory(dir=cache, prefix=".toolkit-")
        for name, version in (assembler, row[3:5]):
            with zipfile.ZipFile(world.wheel(cache, name, version, [])) as z:
                z.extractall(self.folder.name)
        self.ptxas = self.one("bin/ptxas")
        self.linker = self.one("lib/libnvJitLink.so.*")
        os.chmod(self.ptxas, 0o755)

    def one(self, end):
        return glob.glob(os.path.join(self.folder.name, "**", end), recursive=True)[0]

    def source(self, text, arch):
        version = re.search(r"\.version (\d+)\.(\d+)", text)
        if tuple(map(int, version.groups())) > self.newest:
            text = text.replace(version.group(0), ".version %d.%d" % self.newest)
        return re.sub(r"\.target sm_\d+[af]?", ".target " + arch, text)


def one_program(kit, cuvet, folder, arch, mode, name, counts):
    """(files to scan, what was refused that the toolkit's own linker links)"""
    objects, made = [], []
    for source in sorted(glob.glob(os.path.join(PROGRAMS, name + ".*.ptx"))):
        base = os.path.join(folder, os.path.basename(source)[:-len(".ptx")])
        with open(source, encoding="utf-8") as f, open(base + ".ptx", "w", encoding="utf-8") as to:
            to.write(kit.source(f.read(), arch))
        if run(kit.ptxas, "-c", "-arch=" + arch, *MODES[mode], base + ".ptx", "-o", base + ".object.cubin").returncode:
            counts["not assembled"] += 1
            return [], None
        objects.append(base + ".object.cubin")
        if run(kit.ptxas, "-arch=" + arch, *MODES[mode], base + ".ptx", "-o", base + ".program.cubin").returncode == 0:
            made.append(base + ".program.cubin")
    base = os.path.join(folder, name)
    theirs = run(sys.executable, os.path.abspath(__file__), "--jit-link", kit.linker, base + ".linked.cubin", "-arch=" + arch,
                 *MODES[mode], *objects)
    ours = run(cuvet, "link", "--arch=" + arch, *MODES[mode], "-o", base + ".ours.cubin", *objects)
    counts["linked" if theirs.returncode == 0 else "refused by both" if ours.returncode else "refused by theirs"] += 1
    made += [path for path in (base + ".linked.cubin", base + ".ours.cubin") if os.path.exists(path)]
    said = ours.stdout.decode("utf-8", "replace")
    wrong = ours.returncode > 1 or (ours.returncode and theirs.returncode == 0 and
                                    not ON_PURPOSE & set(re.findall(r"CV-[A-Z]+-\d+", said)))
    return objects + made, "exit %d: %s" % (ours.returncode, said[:300]) if wrong else None


def findings(cuvet, files):
    p = subprocess.run([cuvet, "scan", "--format=ndjson", world.EVERY, *files], stdout=subprocess.PIPE, check=False)
    for line in p.stdout.splitlines():
        o = json.loads(line)
        if o["type"] == "finding" and o["severity"] != "note":
            yield os.path.basename(o["file"]), o["rule"], o["message"]


def one_toolkit(kit, cuvet, arches):
    bad = 0
    names = sorted({os.path.basename(p).rsplit(".", 2)[0] for p in glob.glob(PROGRAMS + "/*.ptx")})
    for arch in arches:
        for mode in MODES:
            counts, files, found = collections.Counter(), [], []
            with tempfile.TemporaryDirectory() as folder:
                for name in names:
                    more, refused = one_program(kit, cuvet, folder, arch, mode, name, counts)
                    files += more
                    if refused:
                        found.append((name, refused))
                if not files:
                    continue  # a machine that it does not know
                leaks = LEAKS.get(kit.release, set())
                for name, rule, message in findings(cuvet, files):
                    if rule in leaks and name.endswith(".linked.cubin"):
                        counts["host addresses left"] += 1
                    else:
                        found.append((name, rule + " " + message))
            print("%s %s %s: %d files, %s, %d wrong" % (kit.release, arch, mode, len(files),
                                                        ", ".join("%d %s" % (n, k) for k, n in sorted(counts.items())), len(found)),
                  flush=True)
            for row in found[:10]:
                print("  WRONG %s: %s" % row)
            bad += len(found)
    return bad


def main():
    if sys.argv[1:2] == ["--jit-link"]:
        rest = sys.argv[4:]
        return jit_link(sys.argv[2], sys.argv[3], [w for w in rest if w.startswith("-")], [w for w in rest if not w.startswith("-")])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuvet", default="build/cuvet")
    parser.add_argument("--only", action="append")
    parser.add_argument("--arch", action="append")
    args = parser.parse_args()
    cache = os.environ.get("CV_WORLD_CACHE") or os.path.join(world.ROOT, "build", "world")
    os.makedirs(cache, exist_ok=True)
    with open(TABLE, encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    done = bad = 0
    for row in rows:
        if args.only and row[0] not in args.only:
            continue
        try:
            kit = Toolkit(cache, row)
        except world.Missing as e:
            print("SKIPPED: toolkit %s: %s" % (row[0], e))
            continue
        with kit.folder:
            bad += one_toolkit(kit, os.path.abspath(args.cuvet), args.arch or ARCHES)
        done += 1
    if not done:
        print("SKIPPED: no toolkit can be had here, the files of none were looked at")
        return world.SKIP
    print("%d toolkits, %d wrong" % (done, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
