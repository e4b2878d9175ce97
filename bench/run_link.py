#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure links: cuvet against nvlink (whole processes) and libnvJitLink (in one process), and against itself on programs
of twice the size.

Runs are paired and alternate; each figure is the median of the ratios of the pairs, by processor time (user + system)
unless the line says otherwise. The programs are written by link_objects.py; the members of libnccl are unpacked by cuvet.
What is not installed is not measured, and that is said: CUVET_NVLINK, CUVET_NVJITLINK, CUVET_NCCL name other places.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import link_objects  # noqa: E402
from run import MIB, Run, Table, pairs, words  # noqa: E402

SERIES = (("functions", 500, 5), ("layers", 500, 5), ("symbols", 10000, 5), ("relocations", 25000, 5), ("edges", 10000, 5),
          ("shared", 512, 5), ("diamond", 1250, 4))


def home():
    nvcc = shutil.which("nvcc")
    return os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else "/usr/local/cuda"


def find(variable, names):
    """a file that is named, or the first that exists in the CUDA installation"""
    named = os.environ.get(variable)
    if named is not None:
        return named or None
    for name in names:
        for d in ("lib64", "lib", "targets/x86_64-linux/lib", "bin"):
            for f in sorted(glob.glob(os.path.join(home(), d, name))):
                return os.path.realpath(f)
    return None


class Bench:
    def __init__(self, args, tmp):
        self.tmp, self.t, self.n, self.build = tmp, Table(), args.pairs, args.build
        self.cuvet, self.tool = os.path.join(args.build, "cuvet"), os.path.join(args.build, "bench", "link")
        self.nvlink = find("CUVET_NVLINK", ["nvlink"])
        self.jit = find("CUVET_NVJITLINK", ["libnvJitLink.so*"])
        for what, path in (("nvlink", self.nvlink), ("libnvJitLink", self.jit)):
            if not path:
                print("SKIPPED: everything that is measured against %s: it is not installed here" % what, flush=True)

    def program(self, what, n=0):
        where = os.path.join(self.tmp, "%s-%d" % (what, n))
        if not os.path.isdir(where):
            link_objects.make(what, n, where)
        return where

    def argv(self, tool, where, arch="sm_90", jobs=1):
        out = os.path.join(self.tmp, "out.%s" % os.path.basename(tool))
        files = sorted(glob.glob(os.path.join(where, "*.cubin")))
        return ([tool, "link", "-j%d" % jobs] if tool == self.cuvet else [tool]) + ["-arch=" + arch] + files + ["-o", out]

    def whole(self, name, where, target, n=None, arch="sm_90", place=False):
        """processes, by the clock with two threads; with `place`, the command in nvlink's place, called as build systems call that one"""
        if not self.nvlink:
            return
        ours, called = (os.path.join(self.build, "compat", "nvlink"), "its place") if place else (self.cuvet, "cuvet")
        for what, jobs in (("cpu", 1), ("wall", 2)):
            ratio, a, b, spread = pairs(self.argv(self.nvlink, where, arch), self.argv(ours, where, arch, jobs), n or self.n, what)
            judged = target if what == "cpu" else None
            self.t.add(name, "nvlink / %s, process, %s" % (called, what + ("" if place else " -j%d" % jobs)), ratio, "x", judged and ">= %g" % judged,
                       judged and ratio >= judged, "%.4f s / %.4f s, pairs %.2f to %.2f" % (a, b, *spread))

    def inside(self, name, where, rounds, target=None, most_us=None, arch="sm_90"):
        """links in one process; its figures"""
        argv = [self.tool, str(rounds), arch, where]
        r = {k: float(v) for k, v in words(Run(argv + ([self.jit] if self.jit and target else []), output=True).text).items()}
        if "ratio" in r:
            self.t.add(name, "libnvJitLink / cuvet, in process", r["ratio"], "x", ">= %g" % target, r["ratio"] >= target,
                       "%.0f us / %.0f us, warm" % (r["jit_us"], r["ours_us"]))
            for key, how in (("huge_us", "large pages"), ("kept_us", "memory kept"), ("both_us", "memory kept, large pages")):
                self.t.add(name, "the same, " + how, r["jit_us"] / r[key], "x", None, None,
                           "%.0f us, no pairs: %.2f of the time without" % (r[key], r[key] / r["ours_us"]))
            self.t.add(name, "one thread / two, by the clock, memory kept", r["alone_us"] / r["lanes_us"], "x", None, None,
                       "%.0f us / %.0f us" % (r["alone_us"], r["lanes_us"]))
        if most_us:
            self.t.add(name, "in process", r["ours_us"] / 1000, "ms", "< %g" % (most_us / 1000), r["ours_us"] < most_us)
        return r

    def threads(self, name, where, rounds):
        """one and two, by the clock: processes, and the stages of a link"""
        ratio, a, b, spread = pairs(self.argv(self.cuvet, where), self.argv(self.cuvet, where, jobs=2), rounds, "wall")
        self.t.add(name, "-j1 / -j2, process, wall", ratio, "x", None, None, "%.4f s / %.4f s, pairs %.2f to %.2f" % (a, b, *spread))
        files = sorted(glob.glob(os.path.join(where, "*.cubin")))
        for how in ("wall", "lanes"):
            said = Run([os.path.join(self.build, "bench", "stages"), how, str(rounds), "sm_90", os.path.join(self.tmp, "floor"), *files], output=True).text
            for stage, us, check in (line.split() for line in said.splitlines()):
                if float(us) > 10000:
                    self.t.add(name, "stage %s, %s" % (stage, "one thread" if how == "wall" else "two threads"), float(us), "us", None, None,
                               "by the clock, its check %s us" % check)

    def stages(self, name, where, rounds):
        """where the time of a link goes, beside the floor; what is possible, and how much of it is reached"""
        files = sorted(glob.glob(os.path.join(where, "*.cubin")))
        said = Run([os.path.join(self.build, "bench", "stages"), "cpu", str(rounds), "sm_90", os.path.join(self.tmp, "floor"), *files], output=True).text
        rows = [(stage, float(us), float(check)) for stage, us, check in (line.split() for line in said.splitlines())]
        floor, rows = rows[0][1], rows[1:]
        # each check was asked twice; without the second time it is a part of its stage
        total, checks = sum(us for _, us, _ in rows), sum(check for _, _, check in rows)
        proof = sum(us for stage, us, _ in rows if stage in ("reread", "prove"))
        for stage, us, check in rows:
            self.t.add(name, "stage " + stage, us, "us", None, None, "%.1f %%%s" % (100 * us / total, ", its check %.0f us" % check if check else ""))
        self.t.add(name, "checks of stages and proof", 100 * (checks + proof) / total, "%", "<= 15", checks + proof <= .15 * total,
                   "%.0f us and %.0f us of %.0f us" % (checks, proof, total))
        self.t.add(name, "link in memory / floor (inputs read, as much written)", total / floor, "x", None, None, "%.0f us / %.0f us" % (total, floor))

    def face(self, name, where, rounds):
        """the library that stands in libnvJitLink's place, in a program that knows only that one's functions"""
        if not self.jit:
            return
        ours = os.path.join(self.build, "compat", "libnvJitLink.so.13")
        text = Run([self.tool, str(rounds), "sm_90", where, self.jit, ours], output=True).text
        r = {k: float(v) for k, v in words(text).items()}
        self.t.add(name, "libnvJitLink / its place, in process", r["ratio"], "x", None, None,
                   "%.0f us / %.0f us, warm" % (r["jit_us"], r["ours_us"]))

    def growth(self, what, first, steps):
        """time of each size over the one of half the size: the worst median of the ratios of the rounds, for the command
        and in process. Both with what the machine adds: larger pictures leave its caches."""
        sizes = [first << i for i in range(steps)]
        where = {n: self.program(what, n) for n in sizes}
        name = "%s %d .. %d" % (what, sizes[0], sizes[-1])
        for how in ("process", "in process"):
            times = [[] for _ in sizes]
            for _ in range(self.n):
                for n, t in zip(sizes, times):
                    t.append(Run(self.argv(self.cuvet, where[n])).cpu * 1e3 if how == "process" else
                             self.inside("", where[n], 3)["best_us"] / 1e3)
            worst = max(statistics.median(y / x for x, y in zip(a, b)) for a, b in zip(times, times[1:]))
            self.t.add(name, "worst growth by doubling, " + how, worst, "x", "<= 2.2", worst <= 2.2,
                       " ".join("%.1f" % statistics.median(t) for t in times) + " ms")
        for d in where.values():
            shutil.rmtree(d)

    def nccl(self, lib, sm, target):
        name, where = "NCCL sm_%d" % sm, os.path.join(self.tmp, "nccl-%d" % sm)
        subprocess.run([self.cuvet, "unpack", "--kind=elf", "--arch=sm_%d" % sm, "--no-progress", "-d", where, lib],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for f in glob.glob(os.path.join(where, "*")):  # relocatable members; the rest is the image they were linked to
            with open(f, "rb") as h:
                head = h.read(20)
            if struct.unpack_from("<H", head, 16)[0] != 1:
                os.unlink(f)
            else:
                os.rename(f, f + ".cubin")
        files = glob.glob(os.path.join(where, "*.cubin"))
        if not files:
            print("SKIPPED: %s: no relocatable members in %s" % (name, lib), flush=True)
            return
        argv = self.argv(self.cuvet, where, "sm_%d" % sm)
        p = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if p.returncode:
            print("NOT MEASURED: %s: cuvet link ends with %d: %s" % (name, p.returncode, p.stderr.strip().splitlines()[-1:]), flush=True)
            return
        bytes_in, bytes_out = sum(map(os.path.getsize, files)), os.path.getsize(argv[-1])
        self.whole(name, where, target, 3 if sm >= 100 else None, "sm_%d" % sm)
        self.inside(name, where, 3 if sm >= 100 else 10, 4, arch="sm_%d" % sm)
        rss = Run(argv).rss * 1024
        self.t.add(name, "peak memory / (input + output)", rss / (bytes_in + bytes_out), "x", "<= 1.5",
                   rss <= 1.5 * (bytes_in + bytes_out), "%.0f MiB; %d members, %.0f MiB in, %.0f MiB out" % (
                       rss / MIB, len(files), bytes_in / MIB, bytes_out / MIB))
        shutil.rmtree(where)

    def worker(self, where, rounds=2000):
        """Links in caged workers, by processor time of both sides, beside libnvJitLink in the process: in turn, medians."""
        tool, program = (os.path.join(os.path.abspath(self.build), *n) for n in (("bench", "worker"), ("cuvet-worker",)))
        files = sorted(glob.glob(os.path.join(where, "*.cubin")))

        def said(what, mode, *counts):
            return {k: float(v) for k, v in words(Run([tool, what, program, mode, *map(str, counts), "sm_90", *files], output=True).text).items()}

        for mode, most in (("persistent", 0.6), ("fork", 2.5)):
            if not self.jit:
                print("SKIPPED: worker %s against libnvJitLink: it is not installed here; %.0f us of processor time" % (
                    mode, statistics.median(said("cpu", mode, rounds)["us"] for _ in range(self.n))), flush=True)
                continue
            both = []
            for _ in range(self.n):
                jit = {k: float(v) for k, v in words(Run([self.tool, "200", "sm_90", where, self.jit], output=True).text).items()}["jit_us"]
                both.append((jit, said("cpu", mode, rounds)["us"]))
            ratio = statistics.median(w / j for j, w in both)
            self.t.add("tiny", "worker %s / libnvJitLink in process" % mode, ratio, "x", "<= %g" % most, ratio <= most,
                       "%.0f us / %.0f us, cpu of both sides" % (statistics.median(w for _, w in both), statistics.median(j for j, _ in both)))
        for mode in ("persistent", "fork"):
            for clients in (1, 2, 4):
                self.t.add("tiny", "worker %s, %d clients" % (mode, clients), said("clients", mode, clients, rounds)["per_second"], "1/s", None, None,
                           "as many workers, %d cores" % os.cpu_count())
        hostile = sorted(glob.glob(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus", "hostile", "CV-*")))
        for mode in ("persistent", "fork"):
            r = {k: float(v) for k, v in words(Run([tool, "mixed", program, mode, "10000", "1000", "sm_90", *files, "--", *hostile],
                                                   output=True).text).items()}
            self.t.add("tiny", "10000 + 1000 hostile, %s, p50" % mode, r["p50_us"], "us", None, None, "wall clock of a good request")
            self.t.add("tiny", "10000 + 1000 hostile, %s, p99" % mode, r["p99_us"], "us", None, None, "the same")
            bad = r["lost"] + r["wrong"] + r["unanswered"]
            self.t.add("tiny", "lost, wrong or unanswered, %s" % mode, bad, "", "<= 0", bad == 0,
                       "%d good, %d hostile" % (r["good"], r["hostile"]))

    def all(self):
        print("%-28s %-34s %9s %-7s %-16s" % ("program", "measure", "value", "unit", "target"))
        tiny = self.program("tiny")
        self.whole("tiny", tiny, 1.7, 10 * self.n)
        self.whole("tiny", tiny, 1.8, 10 * self.n, place=True)
        self.inside("tiny", tiny, 200, 10)
        self.face("tiny", tiny, 200)
        self.worker(tiny)
        for what in ("functions", "layers"):
            where = self.program(what, 2000)
            self.whole("%s 2000" % what, where, 5)
            self.inside("%s 2000" % what, where, self.n, 1)
            self.stages("%s 2000" % what, where, max(5, self.n))
        where = self.program("functions", 6400)
        self.whole("functions 6400", where, 2.6)
        self.inside("functions 6400", where, self.n, 4)
        self.threads("functions 6400", where, max(5, self.n))
        shutil.rmtree(where)
        self.inside("diamond 32", self.program("diamond", 32), 50, most_us=2000)
        self.whole("dag 400", self.program("dag", 400), 60, 1)
        for series in SERIES:
            self.growth(*series)
        lib = find("CUVET_NCCL", ["libnccl.so*"])
        if lib:
            self.nccl(lib, 90, 2)
            self.nccl(lib, 100, 100)
        else:
            print("SKIPPED: NCCL: no libnccl here (CUVET_NCCL names one)", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--build", required=True)
    ap.add_argument("--pairs", type=int, default=5)
    ap.add_argument("--gate", action="store_true", help="exit 1 when a target is missed")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        b = Bench(args, tmp)
        b.all()
    with open(os.path.join(args.build, "bench-link.json"), "w", encoding="ascii") as f:
        json.dump({"pairs": args.pairs, "rows": b.t.rows}, f, indent=1)
    met = sum(r["met"] is True for r in b.t.rows)
    print("%d targets met, %d missed; all figures: %s" % (met, b.t.missed, os.path.join(args.build, "bench-link.json")))
    return 1 if args.gate and b.t.missed or not b.t.rows else 0


if __name__ == "__main__":
    sys.exit(main())
