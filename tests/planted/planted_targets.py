#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Can the fuzz targets that compare with models fail? One defect at a time is made while the target of its row runs its seeds.

  planted_targets.py --build build/planted [--totals FILE] [DEFECT ...]

Defects are rows of tests/planted/plant_models.c and edits of sources (edits_models.py), which the library of MODE=planted makes on demand.
A target has noticed a defect when it made it and ends by a property that does not hold. Without a defect it runs all of its seeds.
"""
import argparse
import os
import subprocess
import sys

import tables
import totals


def seeds(target):
    folder = os.path.join(tables.ROOT, "corpus", target, "seed")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def run(program, paths, defect=""):
    """did it run to its end, what it said"""
    p = subprocess.run([program, *paths], capture_output=True, text=True, check=False, env=dict(os.environ, CV_PLANT=defect))
    return p.returncode == 0, p.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--totals")
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    rows = [r for r in tables.of_models() if not args.defect or r[0] in args.defect]
    replay = {t: os.path.join(build, "replay", t) for _, t in rows}
    missed = 0
    for target, program in sorted(replay.items()):
        whole, text = run(program, seeds(target))
        if not whole:
            print("%s: a seed ends it without a defect: %s" % (target, text.strip()))
            return 1
    for name, target in rows:
        said = [run(replay[target], [seed], name) for seed in seeds(target)]
        made = sum("planted: " in text for _, text in said)
        noticed = sum(not whole and "planted: " in text and "does not hold" in text for whole, text in said)
        missed += not noticed
        print("%-22s %-10s made in %3d of its seeds, noticed by %3d%s" % (name, target, made, noticed, "" if noticed else "  NOT NOTICED"), flush=True)
    totals.add(args.totals, "models", len(rows), len(rows) - missed)
    print("%d defects, %d of them noticed by no seed of their target" % (len(rows), missed))
    return bool(missed) or not rows


if __name__ == "__main__":
    sys.exit(main())
