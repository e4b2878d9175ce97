#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Can the fuzz targets that compare stages with models fail? Each defect of tests/planted/plant_models.c is made while the target of
its row runs its seeds, one by one.

  planted_targets.py --replay build/planted/replay [DEFECT ...]

A target has noticed a defect when it ends by a property that does not hold, on an input where the defect was made. Without a
defect it runs all of its seeds.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'^    \{ "([\w-]+)", "\w+", \w+, "(\w+)" \},$', re.M)


def run(replay, target, defect, paths):
    """did it run to its end, what it said"""
    p = subprocess.run([os.path.join(replay, target), *paths], capture_output=True, text=True, check=False,
                       env=dict(os.environ, CV_PLANT=defect))
    return p.returncode == 0, p.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replay", required=True)
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    with open(os.path.join(ROOT, "tests", "planted", "plant_models.c"), encoding="utf-8") as h:
        rows = [r for r in ROW.findall(h.read()) if not args.defect or r[0] in args.defect]
    missed = 0
    for target in sorted({t for _, t in rows}):
        whole, text = run(args.replay, target, "", [os.path.join(ROOT, "corpus", target, "seed")])
        if not whole:
            print("%s: a seed ends it without a defect: %s" % (target, text.strip()))
            return 1
    for defect, target in rows:
        folder = os.path.join(ROOT, "corpus", target, "seed")
        made = noticed = 0
        for seed in sorted(os.listdir(folder)):
            whole, text = run(args.replay, target, defect, [os.path.join(folder, seed)])
            made += "planted: " in text
            noticed += not whole and "planted: " in text and "property does not hold" in text
        missed += not noticed
        print("%-16s %-10s made in %3d seeds, noticed in %3d%s" % (defect, target, made, noticed, "" if noticed else "  NOT NOTICED"))
    print("%d defects, %d of them noticed by no seed of their target" % (len(rows), missed))
    return bool(missed) or not rows


if __name__ == "__main__":
    sys.exit(main())
