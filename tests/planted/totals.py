#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many defects were made in each part of the tree, and how many of them were noticed.

  totals.py FILE      print what the scripts that were given --totals FILE have added to it
"""
import os
import sys

PARTS = ("scan", "input", "link", "finalize", "models")


def add(path, part, defects, noticed):
    if path:
        with open(path, "a", encoding="utf-8") as h:
            h.write("%s\t%d\t%d\n" % (part, defects, noticed))


def main():
    rows = {part: (0, 0) for part in PARTS}
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8") as h:
            for part, *numbers in (line.split("\t") for line in h):
                rows[part] = tuple(old + int(new) for old, new in zip(rows[part], numbers))
    rows["all"] = tuple(map(sum, zip(*rows.values())))
    print("%-10s %8s %8s %8s" % ("part", "defects", "noticed", "of 100"))
    for part, (defects, noticed) in rows.items():
        print("%-10s %8d %8d %8.1f" % (part, defects, noticed, 100 * noticed / max(defects, 1)))
    return any(defects == 0 for defects, _ in rows.values())  # whether a miss is a known one the scripts say


if __name__ == "__main__":
    sys.exit(main())
