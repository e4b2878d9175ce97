#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure cuvet against bare loops that do the same work without checks.

Runs are paired and alternate (ABAB...); each figure is the median of the ratios of the pairs, by cpu time (user +
system) unless the line says wall. Files: CUVET_BENCH_FILES (separated by ':'), else the largest libraries of the CUDA
installation that nvcc belongs to, else only the bundled samples, and then it says so loudly.
"""
import argparse
import glob
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import processes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIB = 1 << 20
HEADER = b"\x50\xed\x55\xba\x01\x00\x10\x00"


class Run:
    """One finished process: cpu seconds, wall seconds, peak resident KiB, output."""

    def __init__(self, argv, output=False):
        with tempfile.TemporaryFile() as out:
            start = time.monotonic()
            p = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            _, status, usage = os.wait4(p.pid, 0)
            self.wall = time.monotonic() - start
            p.returncode = self.rc = os.waitstatus_to_exitcode(status)
            self.cpu, self.rss = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
            out.seek(0)
            self.text = out.read().decode("utf-8", "replace") if output else ""
        if self.rc not in (0, 1):
            raise SystemExit("bench: exit code %d from: %s" % (self.rc, " ".join(argv)[:300]))


def pairs(a, b, n, what="cpu"):
    """Median of a/b over n alternating pairs, the medians of both, and the spread of the ratios."""
    ra, rb = [], []
    Run(a), Run(b)  # once to warm the page cache
    for _ in range(n):
        ra.append(getattr(Run(a), what))
        rb.append(getattr(Run(b), what))
    ratios = sorted(x / max(y, 1e-6) for x, y in zip(ra, rb))
    return statistics.median(ratios), statistics.median(ra), statistics.median(rb), (ratios[0], ratios[-1])


def words(text):
    w = text.split()
    return {w[i]: w[i + 1] for i in range(0, len(w) - 1, 2)}


def real_libraries():
    named = os.environ.get("CUVET_BENCH_FILES")
    if named:
        return [f for f in named.split(":") if os.path.isfile(f)]
    nvcc = shutil.which("nvcc")
    if not nvcc:
        return []
    home = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    files = {}
    for d in ("lib64", "lib", "targets/x86_64-linux/lib"):
        for f in glob.glob(os.path.join(home, d, "*.so*")):
            files[os.path.realpath(f)] = os.path.basename(f)
    big = sorted(files, key=os.path.getsize, reverse=True)
    wanted = [f for f in big if os.path.basename(f).startswith(("libcublasLt.so", "libnccl.so"))]
    return wanted[:2] or big[:2]


def bundled(tmp, size=64 * MIB):
    """The bundled containers, back to back, until they make a file worth timing."""
    parts = []
    for f in sorted(glob.glob(os.path.join(ROOT, "corpus", "samples", "*.fatbin"))):
        data = open(f, "rb").read()
        if data.startswith(HEADER) and len(data) % 8 == 0:
            parts.append(data)
    if not parts:
        return None
    once = b"".join(parts)
    path = os.path.join(tmp, "samples-repeated.fatbin")
    with open(path, "wb") as f:
        for _ in range(max(1, size // len(once))):
            f.write(once)
    return path


class Table:
    def __init__(self):
        self.rows, self.missed = [], 0

    def add(self, name, measure, value, unit, target=None, met=None, note=""):
        self.missed += met is False
        row = {"file": name, "measure": measure, "value": value, "unit": unit, "target": target, "met": met, "note": note}
        self.rows.append(row)
        print("%-28s %-34s %9.3f %-7s %-16s %-6s %s" % (
            name[:28], measure, value, unit, target or "", {None: "", True: "met", False: "MISSED"}[met], note), flush=True)


def bench_scan(t, b, f, n, spin):
    name = os.path.basename(f)
    cuvet, bare = os.path.join(b, "cuvet"), os.path.join(b, "bench", "bare")
    ratio, a, c, spread = pairs([cuvet, "scan", "-j1", f], [bare, f], n)
    t.add(name, "scan -j1 / bare loop, cpu", ratio, "x", "<= 1.15", ratio <= 1.15,
          "%.3f s / %.3f s, pairs %.3f to %.3f" % (a, c, *spread))
    ratio, a, c, spread = pairs([cuvet, "scan", "-j1", f], [cuvet, "scan", "-j2", f], n, "wall")
    t.add(name, "scan -j2 faster than -j1, wall", ratio, "x", ">= 1.8", ratio >= 1.8 if spin >= 1.9 else None,
          "%.3f s / %.3f s; two spinning processes scale %.2f" % (a, c, spin))
    facts = words(Run([bare, f], output=True).text)
    bound = 64 * MIB + 2 * int(facts["largest_stored"]) + int(facts["largest"])
    one, two = Run([cuvet, "scan", "-j1", f]), Run([cuvet, "scan", "-j2", f])
    for jobs, r in ((1, one), (2, two)):
        t.add(name, "peak memory, scan -j%d" % jobs, r.rss / 1024, "MiB", "<= %.1f" % (jobs * bound / MIB),
              r.rss * 1024 <= jobs * bound, "the bare loop: %.1f MiB" % (int(facts["rss_kib"]) / 1024))


def bench_many(t, b, tmp, n, spin):
    """8,000 small files in folders: the bundled samples over and over."""
    parts = [f for f in sorted(glob.glob(os.path.join(ROOT, "corpus", "samples", "*"))) if 1000 < os.path.getsize(f) < 40000]
    top, size = os.path.join(tmp, "many"), 0
    for i in range(8000):
        folder = os.path.join(top, "d%02d" % (i % 40))
        os.makedirs(folder, exist_ok=True)
        size += os.path.getsize(shutil.copy(parts[i * 7 % len(parts)], os.path.join(folder, "f%05d" % i)))
    cuvet = os.path.join(b, "cuvet")
    ratio, a, c, spread = pairs([cuvet, "scan", "-r", "-j1", top], [cuvet, "scan", "-r", "-j2", top], 3 * n, "wall")
    t.add("8,000 files, %.0f MB" % (size / 1e6), "scan -r -j2 faster than -j1, wall", ratio, "x", ">= 1.7",
          ratio >= 1.7 if spin >= 1.9 else None,
          "%.3f s / %.3f s, pairs %.2f to %.2f; two spinning processes scale %.2f" % (a, c, *spread, spin))
    shutil.rmtree(top)


def bench_plain(t, b, tmp, n):
    """3,000 files of 64 KiB that are no packages: what asking each of them costs. Random bytes, pieces of a program, and
    a byte that the search for a zip file's end stops at each time."""
    rng, program = random.Random(1), os.path.join(b, "cuvet")
    with open(program, "rb") as f:
        code = f.read()
    for what, piece in (("random bytes", lambda: b"\0" + rng.randbytes(65535)), ("of a program", lambda: b"\0" + code[(at := rng.randrange(len(code) - 65535)):at + 65535]),
                        ("the worst byte", lambda: b"\x06" * 65536)):
        top = os.path.join(tmp, "plain")
        os.makedirs(top)
        for i in range(3000):
            with open(os.path.join(top, "f%04d" % i), "wb") as f:
                f.write(piece())
        ratio, a, c, spread = pairs([program, "scan", "-r", "-j1", top], [program, "scan", "-r", "-j1", "--no-packages", top], n, "wall")
        good = "<= 2" if what != "the worst byte" else None
        t.add("3,000 files, " + what, "scan / --no-packages, wall", ratio, "x", good, ratio <= 2 if good else None,
              "%.3f s / %.3f s, pairs %.2f to %.2f" % (a, c, *spread))
        shutil.rmtree(top)


def bench_package(t, b, f, tmp, n):
    """A file in a wheel, against unpacking it with unzip and scanning the folder."""
    if not shutil.which("unzip"):
        print("NOTE: packages are NOT measured: no unzip", flush=True)
        return
    if not os.path.exists(os.path.join(b, "cuvet-package")) or not processes.adopt():
        print("NOTE: packages are NOT measured: no cuvet-package, or nobody can wait for all that it starts", flush=True)
        return
    cuvet, wheel, out = os.path.join(b, "cuvet"), os.path.join(tmp, "bench.whl"), os.path.join(tmp, "unpacked")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        z.write(f, "lib/" + os.path.basename(f))
    whole, apart = [], []
    for _ in range(n):
        whole.append(processes.cost([cuvet, "scan", wheel]).cpu)
        apart.append(processes.cost(["unzip", "-q", wheel, "-d", out]).cpu + processes.cost([cuvet, "scan", "-r", out]).cpu)
        shutil.rmtree(out)
    ratio = statistics.median(w / a for w, a in zip(whole, apart))
    t.add(os.path.basename(f), "scan in a wheel / unzip + scan", ratio, "x", "<= 1.10", ratio <= 1.1,
          "%.2f s / %.2f s; wheel of %.0f MB" % (statistics.median(whole), statistics.median(apart), os.path.getsize(wheel) / 1e6))
    os.unlink(wheel)


def bench_forms(t, b, files, n):
    """Output: JSON against text, and a dump against a scan."""
    for f in files:
        name, cuvet = os.path.basename(f), os.path.join(b, "cuvet")
        ratio, a, c, _ = pairs([cuvet, "scan", "--format=ndjson", f], [cuvet, "scan", f], n, "wall")
        t.add(name, "scan, ndjson / text, wall", ratio, "x", "<= 1.3", ratio <= 1.3, "%.3f s / %.3f s" % (a, c))
        for form in ("text", "ndjson"):
            ratio, a, c, _ = pairs([cuvet, "dump", "--format", form, f], [cuvet, "scan", "-j1", f], n)
            t.add(name, "dump, %s / scan, cpu" % form, ratio, "x", "<= 20", ratio <= 20, "%.3f s / %.3f s" % (a, c))
        ratio, a, c, _ = pairs([cuvet, "inventory", f], [cuvet, "scan", "-j1", f], n)
        t.add(name, "inventory / scan, cpu", ratio, "x", "<= 1.15", ratio <= 1.15, "%.3f s / %.3f s" % (a, c))


def talkative_libraries(sample):
    """Many small members, and many symbols and relocations."""
    nvcc = shutil.which("nvcc")
    home = os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else ""
    found = [f for name in ("libcufft.so", "libcudadevrt.a") for f in glob.glob(os.path.join(home, "lib64", name)) if home]
    return [os.path.realpath(f) for f in found] or [sample]


def bench_search(t, b, f, n):
    name, size = os.path.basename(f), os.path.getsize(f)
    cuvet, add, search = (os.path.join(b, p) for p in ("cuvet", "bench/sum", "bench/search"))
    if os.path.exists(search):
        ratio, a, c, _ = pairs([add, f], [search, f], n)
        t.add(name, "search speed / sum speed", 100 * ratio, "%", ">= 60", ratio >= 0.6,
              "%.2f GB/s / %.2f GB/s" % (size / c / 1e9, size / a / 1e9))
        ratio, a, c, _ = pairs([cuvet, "list", f], [search, f], n)
        # The target is for libraries of hundreds of megabytes; a file of nothing but tiny members is all output.
        big = size >= 100 * MIB
        t.add(name, "list / search, cpu", ratio, "x", "<= 1.5" if big else None, ratio <= 1.5 if big else None,
              "%.3f s / %.3f s" % (a, c))


def bench_validate(t, b, f, n):
    tool = os.path.join(b, "bench", "validate")
    if not os.path.exists(tool):
        return
    runs = [words(Run([tool, f], output=True).text) for _ in range(n)]
    if int(runs[0]["cubins"]) == 0:
        return
    name = os.path.basename(f)
    t.add(name, "validation alone", statistics.median(float(r["gb_per_s"]) for r in runs), "GB/s",
          note="%s cubins, %s bytes, %s sections" % (runs[0]["cubins"], runs[0]["bytes"], runs[0]["sections"]))
    t.add(name, "validation alone", statistics.median(float(r["ns_per_section"]) for r in runs), "ns/sec.")


def bench_input(t, b):
    """Calls on a payload in memory; bundled samples, so that the figures do not hang on what is installed."""
    tool = os.path.join(b, "bench", "bench_input")
    if not os.path.exists(tool):
        return
    samples = glob.glob(os.path.join(ROOT, "corpus", "samples", "*.cubin"))
    for f in (min(sorted(samples), key=lambda f: abs(os.path.getsize(f) - 4096)), os.path.join(ROOT, "corpus", "samples", "plain.ptx")):
        r = words(Run([tool, f], output=True).text)
        t.add(os.path.basename(f), "classify", float(r["classify_ns"]), "ns", note="%s, %s bytes" % (r["type"], r["bytes"]))


def sixteen_members():
    """A fat binary of sixteen raw cubins, relocatable ones of the bundled samples."""
    out = b""
    for i in range(16):
        arch = ("75", "80", "86", "89", "90", "90a")[i % 6]
        with open(os.path.join(ROOT, "corpus", "samples", "plain.sm_%s.rdc.cubin" % arch), "rb") as f:
            code = f.read()
        flags = 0x11 | (0x100000 if arch.endswith("a") else 0)
        code += bytes(-len(code) % 8)
        out += struct.pack("<HHIQIIHHIIIQQQ", 2, 0x0101, 64, len(code), 0, 0, 8, 1, int(arch.rstrip("a")), 0, 0, flags, 0, 0)
        out += code
    return struct.pack("<IIQ", 0xBA55ED50, 0x00100001, len(out)) + out


def bench_select(t, b):
    """An input from create to destroy: sixteen members, nothing compressed."""
    tool = os.path.join(b, "bench", "bench_input")
    if not os.path.exists(tool):
        return
    with tempfile.NamedTemporaryFile(suffix=".fatbin") as f:
        f.write(sixteen_members())
        f.flush()
        r = words(Run([tool, f.name], output=True).text)
    t.add("16 members", "bind", float(r["bind_ns"]), "ns", note="create, bind, destroy; %s bytes" % r["bytes"])
    t.add("16 members", "bind + select", float(r["select_ns"]), "ns", note="and the chosen cubin examined and admitted")


def bench_finalize(t, b):
    """1,000 objects for another machine and without capsules, from file to file, against a plain copy of the same files; and in
    memory. CUVET_BENCH_OBJECTS (separated by ':') names others, relocatable ones for sm_100 that may go to sm_103."""
    tool = os.path.join(b, "bench", "finalize")
    if not os.path.exists(tool):
        return
    named = [f for f in os.environ.get("CUVET_BENCH_OBJECTS", "").split(":") if f]
    files = named or [f for f in sorted(glob.glob(os.path.join(ROOT, "corpus", "samples", "*.sm_100.*cubin")))
                      if "nocode" not in f and "sm_100a" not in f]
    files = (files * 1000)[:1000]
    with tempfile.TemporaryDirectory() as tmp:
        for what, target in (("copy", "103"), ("strip", "0")):
            r = words(Run([tool, what, target, "20", tmp, *files], output=True).text)
            ns, plain, memory, size = (float(r[w]) for w in ("ns", "plain", "memory", "bytes"))
            t.add("1,000 objects", "finalize, %s, file to file" % what, size / ns, "GB/s",
                  note="%.1f us each of %d bytes; a plain copy %.2f GB/s, %.1f times as fast; in memory %.2f GB/s, %.1f us" %
                  (ns / 1e3 / len(files), size / len(files), size / plain, ns / plain, size / memory, memory / 1e3 / len(files)))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--build", required=True)
    ap.add_argument("--pairs", type=int, default=5)
    ap.add_argument("--gate", action="store_true", help="exit 1 when a target is missed")
    args = ap.parse_args()
    t = Table()
    with tempfile.TemporaryDirectory() as tmp:
        files = real_libraries()
        if not files:
            print("NOTE: no real CUDA library found (no nvcc on PATH, CUVET_BENCH_FILES not set): only the bundled samples\n"
                  "NOTE: are measured, and they say nothing about files of hundreds of megabytes.", flush=True)
        sample = bundled(tmp)
        spin = float(words(Run([os.path.join(args.build, "bench", "spin")], output=True).text)["scaling"])
        print("two spinning processes scale %.2f x; %d pairs each; medians" % (spin, args.pairs))
        print("%-28s %-34s %9s %-7s %-16s" % ("file", "measure", "value", "unit", "target"))
        for f in files + ([sample] if sample else []):
            bench_scan(t, args.build, f, args.pairs, spin)
            bench_search(t, args.build, f, args.pairs)
            bench_validate(t, args.build, f, args.pairs)
            bench_package(t, args.build, f, tmp, args.pairs)
        bench_many(t, args.build, tmp, args.pairs, spin)
        bench_plain(t, args.build, tmp, args.pairs)
        bench_forms(t, args.build, talkative_libraries(sample), args.pairs)
        bench_input(t, args.build)
        bench_select(t, args.build)
        bench_finalize(t, args.build)
    with open(os.path.join(args.build, "bench.json"), "w", encoding="ascii") as f:
        json.dump({"spin": spin, "pairs": args.pairs, "rows": t.rows}, f, indent=1)
    met = sum(r["met"] is True for r in t.rows)
    print("%d targets met, %d missed; all figures: %s" % (met, t.missed, os.path.join(args.build, "bench.json")))
    return 1 if args.gate and t.missed or not t.rows else 0


if __name__ == "__main__":
    sys.exit(main())
