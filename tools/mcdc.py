#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conditions of the parsing core that decide (MC/DC), from a MODE=mcdc build: unit tests and replayed corpora.

A condition of `a && b` is proved when two runs of the decision differ in it, in the result, and in nothing that is asked beside it. A
decision of a header or a function that several programs have counts once: what any of them proved. Decisions with CV_NEVER() are excluded
and counted, as in coverage.py. Which conditions are not proved stands in <build>/mcdc.txt; tools/mcdc.floor holds the floor.
"""
import argparse
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage  # noqa: E402
import runtests  # noqa: E402

DIRS = ("src/bytes", "src/codec", "src/format", "src/cubin", "src/host", "src/intake")


def decisions(objects, profile):
    """{file: {(line, column, line, column): [is it proved, of each condition]}}"""
    found = {}
    for f in coverage.exported(objects, profile)["files"]:
        name = os.path.relpath(os.path.join(coverage.ROOT, f["filename"]), coverage.ROOT)
        if not name.startswith(DIRS):
            continue
        for record in f.get("mcdc_records", []):
            proved = found.setdefault(name, {}).setdefault(tuple(record[:4]), [False] * len(record[-1]))
            proved[:] = [a or b for a, b in zip(proved, record[-1])]
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--build", required=True)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--floor", required=True)
    ap.add_argument("--llvm", required=True, help="version of the compiler: 19")
    a = ap.parse_args()
    coverage.VERSIONS = ("-" + a.llvm,)
    bins = [b for b in sorted(glob.glob(os.path.join(a.build, "tests", "unit_*"))) if os.access(b, os.X_OK) and os.path.isfile(b + ".c")]
    replays = [r for r in sorted(glob.glob(os.path.join(a.build, "replay", "*"))) if os.access(r, os.X_OK)]
    args = argparse.Namespace(unit=bins, mode="mcdc", scripts=False, replay=os.path.join(a.build, "replay"))
    work = os.path.join(a.build, "profiles")
    shutil.rmtree(work, ignore_errors=True)
    done = coverage.run_all(list(runtests.unit_jobs(args)) + list(runtests.replay_jobs(args)), a.build, work, a.jobs,
                            continuous=False)  # what conditions prove is written at the end only
    profile = os.path.join(a.build, "mcdc.profdata")
    coverage.merge_jobs([work], profile)

    floors = {d: float(least) for d, least in (line.split() for line in open(a.floor, encoding="ascii") if line[0] != "#")}
    totals, excluded, bad = {d: [0, 0, 0] for d in DIRS}, 0, 0
    with open(os.path.join(a.build, "mcdc.txt"), "w", encoding="utf-8") as out:
        for name, of in sorted(decisions(bins + replays, profile).items()):
            skip, source = coverage.excluded_lines(os.path.join(coverage.ROOT, name)), open(os.path.join(coverage.ROOT, name), encoding="utf-8").read().splitlines()
            for where, proved in sorted(of.items()):
                if skip.intersection(range(where[0], where[2] + 1)):
                    excluded += 1
                    continue
                total = totals[next(d for d in DIRS if name.startswith(d + "/"))]
                total[0] += 1
                total[1] += len(proved)
                total[2] += sum(proved)
                if not all(proved):
                    out.write("%s:%d:%d: condition %s of %d not proved: %s\n" % (
                        name, *where[:2], ", ".join(str(i + 1) for i, p in enumerate(proved) if not p), len(proved), source[where[0] - 1].strip()))
    for d, (count, conditions, proved) in totals.items():
        got = coverage.percent(proved, conditions)
        low = not count or got + 0.005 < floors.get(d, 0)
        bad += low
        print("%-12s %5d decisions, %5d of %5d conditions proved, %6.2f %%  floor %s%s" % (
            d, count, proved, conditions, got, floors.get(d, "none"), "  BELOW" if low else ""))
    print("mcdc: %d decisions with CV_NEVER excluded; what is not proved: %s" % (excluded, os.path.join(a.build, "mcdc.txt")))
    failed = [j for j in done if j.failed]
    for j in failed:
        print("mcdc: %s failed in this build" % j.name)
    return 1 if bad or failed else 0


if __name__ == "__main__":
    sys.exit(main())
