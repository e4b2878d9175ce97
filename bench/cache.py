#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a verdict that is kept saves: scans of a file with and without --cache in turn, medians of the pairs.

  bench/cache.py --build build [--pairs N] FILE...

Processor time is that of all processes, those that go on for a moment after the command included. The figures are in
docs/evidence/bench.md. Exit code 1 when an output with the cache is another one.
"""
import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def run(argv):
    """(seconds of the clock, seconds of processors, output)"""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    clock = time.monotonic() - begun
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, (done.returncode, done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    cuvet, same = os.path.join(args.build, "cuvet"), True
    if not args.files:
        sys.exit("cache: no file; BENCH_ARGS names large ones")
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("cache: processes that go on cannot be waited for here")
    print("%-48s %8s %8s %8s %8s" % ("file", "scan, s", "first, s", "kept, s", "ratio"))
    for path in args.files:
        with tempfile.TemporaryDirectory() as folder:
            kept = [cuvet, "scan", "--cache", os.path.join(folder, "verdicts.db"), path]
            first = run(kept)
            pairs = [(run([cuvet, "scan", path]), run(kept)) for _ in range(args.pairs)]
        same = same and all(a[2] == b[2] for a, b in pairs)
        print("%-48s %8.2f %8.2f %8.2f %8.1f" % (os.path.basename(path)[:48], statistics.median(a[1] for a, _ in pairs), first[1],
                                                 statistics.median(b[1] for _, b in pairs), statistics.median(a[1] / b[1] for a, b in pairs)))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
