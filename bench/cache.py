#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a verdict that is kept saves: scans of a file with and without --cache in turn, medians of the pairs.

  bench/cache.py --build build [--pairs N] FILE...

Processor time is that of all processes, those that go on for a moment after the command included. The figures are in
docs/evidence/bench.md. Exit code 1 when an output with the cache, the first one included, is another one.
"""
import argparse
import os
import statistics
import sys
import tempfile

import processes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    cuvet, same = os.path.join(args.build, "cuvet"), True
    if not args.files:
        sys.exit("cache: no file; BENCH_ARGS names large ones")
    if not processes.adopt():
        sys.exit("cache: processes that go on cannot be waited for here")
    print("%-48s %8s %8s %8s %8s" % ("file", "scan, s", "first, s", "kept, s", "ratio"))
    for path in args.files:
        with tempfile.TemporaryDirectory() as folder:
            kept = [cuvet, "scan", "--cache", os.path.join(folder, "verdicts.db"), path]
            first = processes.cost(kept)
            pairs = [(processes.cost([cuvet, "scan", path]), processes.cost(kept)) for _ in range(args.pairs)]
        same = same and all(plain.answer == cached.answer == first.answer for plain, cached in pairs)
        print("%-48s %8.2f %8.2f %8.2f %8.1f" % (
            os.path.basename(path)[:48], statistics.median(plain.cpu for plain, _ in pairs), first.cpu,
            statistics.median(cached.cpu for _, cached in pairs), statistics.median(plain.cpu / cached.cpu for plain, cached in pairs)))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
