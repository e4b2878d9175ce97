#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds and megabytes of files that are made to cost much: families of tools/corpus/bombs.py as large as the budget allows.

  bench/bombs.py --build build [--jobs N] [--command scan] [NAME-PART...]

A file may take 3 seconds of CPU per megabyte, at least 2, and its peak stays below 1.2 GB whatever the number of threads.
Exit code 1 when one does not. The dearest come first.
"""
import argparse
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))

import bombs  # noqa: E402

MIB = 1 << 20
MOST_MB = 1200


def variants(parts):
    for name, make in bombs.FAMILIES.items():
        if parts and not any(p in name for p in parts):
            continue
        for how, size in (("zstd", 240), ("zstd", 115), ("zstd", 60), ("lz4", 20), (None, 1)):
            yield "%s-%s-%d" % (name, how or "raw", size), lambda h=how, s=size, m=make: bombs.bomb(m(s * MIB), h)
        yield "%s-4-members" % name, lambda m=make: many(m(60 * MIB), 4)
        yield "%s-64-members" % name, lambda m=make: many(m(4 * MIB - 4096), 64)
    for megabytes in (0.1, 1, 4, 16):
        if not parts or any(p in "tiny" for p in parts):
            yield "tiny-cubins-%g" % megabytes, lambda m=megabytes: bombs.tiny_archive(int(m * 1e6))
    if not parts or any(p in "nests" for p in parts):
        for size in (3, 13):
            for name, data in bombs.nests(size * MIB).items():
                yield "%s-of-%d" % (name, size), lambda d=data: d


def many(content, count):
    one = bombs.edit.member(1 if content[:8] == b".version" else 2, content, 75, how=bombs.frame(content))
    return bombs.edit.container(*[one] * count)


def run(argv):
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.execv(argv[0], argv)
    _, status, use = os.wait4(pid, 0)
    return use.ru_utime + use.ru_stime, use.ru_maxrss / 1000, os.waitstatus_to_exitcode(status)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--jobs", default="1")
    p.add_argument("--command", default="scan")
    p.add_argument("--show", type=int, default=20)
    p.add_argument("parts", nargs="*")
    a = p.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "bomb")
        argv = [os.path.join(a.build, "cuvet"), *a.command.split()] + (["-j" + a.jobs] if a.command == "scan" else []) + [path]
        for name, make in variants(a.parts):
            data = make()
            with open(path, "wb") as f:
                f.write(data)
            seconds, megabytes, rc = run(argv)
            share = seconds / bombs.seconds_allowed(len(data))
            rows.append((share, seconds, megabytes, rc, len(data), name))
    rows.sort(reverse=True)
    for share, seconds, megabytes, rc, size, name in rows[: a.show]:
        print("%5.2f s %5.0f MB  exit %d  %4.0f %% of what is allowed  %9d bytes  %s"
              % (seconds, megabytes, rc, 100 * share, size, name))
    worst, peak = rows[0][0], max(r[2] for r in rows)
    print("%d files, at most %.2f s, %.0f MB, %.0f %% of what is allowed" % (len(rows), max(r[1] for r in rows), peak, 100 * worst))
    return worst > 1 or peak > MOST_MB or not all(r[3] in (0, 1, 4) for r in rows)


if __name__ == "__main__":
    sys.exit(main())
