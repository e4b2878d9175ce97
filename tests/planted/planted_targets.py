#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Can the fuzz targets that compare with models fail? One defect at a time is made while the target of its row runs its seeds.

  planted_targets.py --build build/planted [DEFECT ...]

Defects are rows of tests/planted/plant_models.c, which the library of MODE=planted makes on demand, and edits of sources
(edits.py): an edited source is compiled and takes the place of the library's own. A target has noticed a defect when it ends by a
property that does not hold. Without a defect it runs all of its seeds.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import edits

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'^    \{ "([\w-]+)", "\w+", \w+, "(\w+)" \},$', re.M)


def compile_words(build, source):
    """How editors are told that a source is compiled, without source and output; what the mode adds (sanitizers/planted.mk) is not in it."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as h:
        words = next(shlex.split(row["command"]) for row in json.load(h) if row["file"] == source)
    return words[:words.index("-c")]


def seeds(target):
    folder = os.path.join(ROOT, "corpus", target, "seed")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def run(program, paths, defect=""):
    """did it run to its end, what it said"""
    p = subprocess.run([program, *paths], capture_output=True, text=True, check=False, env=dict(os.environ, CV_PLANT=defect))
    return p.returncode == 0, p.stderr


def edited(build, tmp, target, source, old, new):
    """the replay driver of a target, with one source edited"""
    with open(os.path.join(ROOT, source), encoding="utf-8") as h:
        text = h.read()
    if text.count(old) != 1:
        sys.exit("%s: %r is there %d times" % (source, old, text.count(old)))
    copy, program = os.path.join(tmp, "edited.c"), os.path.join(tmp, target)
    with open(copy, "w", encoding="utf-8") as h:
        h.write(text.replace(old, new))
    obj = os.path.join(build, "obj")
    named = [os.path.join(obj, "fuzz", name) for name in ("engine/replay-%s.o" % target, "target_%s.o" % target)]
    for folder, want in ((os.path.join(obj, "fuzz"), re.compile(r"(?!target_).*\.o$")), (os.path.join(obj, "tests", "model"), re.compile(r".*\.o$"))):
        named += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if want.match(name)]
    words = compile_words(build, source)
    subprocess.run([*words, "-DCV_PLANTS=1", "-w", "-iquote", os.path.dirname(source), "-c", copy, "-o", copy + ".o"], check=True, cwd=ROOT)
    subprocess.run([words[0], "-pthread", "-o", program, *named, copy + ".o", os.path.join(build, "libcuvet.a"), "-llz4", "-lzstd"], check=True)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    with open(os.path.join(ROOT, "tests", "planted", "plant_models.c"), encoding="utf-8") as h:
        rows = [(name, target, None) for name, target in ROW.findall(h.read())]
    rows += [(name, target, edit) for name, target, *edit in edits.EDITS]
    rows = [r for r in rows if not args.defect or r[0] in args.defect]
    replay = {t: os.path.join(build, "replay", t) for _, t, _ in rows}
    missed = 0
    for target, program in sorted(replay.items()):
        whole, text = run(program, seeds(target))
        if not whole:
            print("%s: a seed ends it without a defect: %s" % (target, text.strip()))
            return 1
    with tempfile.TemporaryDirectory(prefix="cuvet-planted-") as tmp:
        for name, target, edit in rows:
            program = edited(build, tmp, target, *edit) if edit else replay[target]
            said = [run(program, [seed], "" if edit else name) for seed in seeds(target)]
            made = sum(edit is not None or "planted: " in text for _, text in said)
            noticed = sum(not whole and "does not hold" in text for whole, text in said)
            missed += not noticed
            print("%-22s %-10s %s %3d of its seeds, noticed by %3d%s" % (
                name, target, "in all" if edit else "made in", made, noticed, "" if noticed else "  NOT NOTICED"), flush=True)
    print("%d defects, %d of them noticed by no seed of their target" % (len(rows), missed))
    return bool(missed) or not rows


if __name__ == "__main__":
    sys.exit(main())
