#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How time and memory of each stage grow with inputs that are made to cost the most: the families of tools/corpus/costly.py at
sizes that double.

  bench/worst.py --build build [--sizes 0.25,0.5,1,2,4] [--rows FILE] [--write docs/evidence/worst.md] [PART...]

PART: of "stage: name" of the families that are run (default: all). --rows keeps what was measured, and takes from there what
it has: a run that was cut off goes on, and --write needs no time for what is there. A row has seconds of the processor and
peak MiB at the largest size, also for each megabyte of input (above those of a file without anything), the exponents of growth
(slope of a line through the logarithms; 1 is linear) and the limit that ended it. Time is what instructions in user space are where `perf stat` counts them, else seconds of the processor, the
least of several runs; what a run of an empty file costs is taken off before the fit, and what is too fast to be told from that has
no exponent.

A family breaks the bound with more than 3 seconds for each megabyte and more than 2 seconds (bombs.seconds_allowed()), with more than 256 MiB
for each megabyte above 512 MiB (the limit 'budget' twice), or when it grows with an exponent above 1.15 and no limit ends it at the largest
size. Exit code 1 then.
"""
import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import processes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_EXPONENT, MOST_MIB, FREE_MIB = 1.15, 256, 512
CUT_SECONDS = 150  # of one run: it is ended, and breaks the bound
BEGIN, END = "<!-- begin: written by make bench-worst -->", "<!-- end -->"


class Launcher:
    """A small process that starts the others: peak memory of a child is never below that of who forked it. It inherits what
    these leave behind (whoever opens inputs, unpacks packages or runs rules is not waited for), so that nobody is left out."""

    def __init__(self):
        (self.from_us, to_it), (from_it, self.to_us) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(to_it)
            os.close(from_it)
            if not processes.adopt():
                sys.exit("bench-worst: what a command leaves behind cannot be counted here")
            with os.fdopen(self.from_us, encoding="utf-8") as lines, os.fdopen(self.to_us, "w", encoding="utf-8") as answers:
                for line in lines:
                    answers.write("%f %d %d\n" % self.start(line.rstrip("\n").split("\0")))
                    answers.flush()
            os._exit(0)
        os.close(self.from_us)
        os.close(self.to_us)
        self.lines, self.answers = os.fdopen(to_it, "w", encoding="utf-8"), os.fdopen(from_it, encoding="utf-8")

    @staticmethod
    def start(words):
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (CUT_SECONDS, CUT_SECONDS))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(words[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.execvp(words[1], words[1:])
        seconds, kib, rc = 0, 0, None
        while True:
            try:
                who, status, use = os.wait4(-1, 0)
            except ChildProcessError:
                return seconds, kib, rc
            seconds, kib = seconds + use.ru_utime + use.ru_stime, max(kib, use.ru_maxrss)
            rc = os.waitstatus_to_exitcode(status) if who == pid else rc

    def run(self, errors, argv):
        self.lines.write("\0".join([errors, *argv]) + "\n")
        self.lines.flush()
        seconds, kib, rc = self.answers.readline().split()
        return float(seconds), int(kib) / 1024, int(rc)


def counts_instructions():
    """does this machine's perf count them?"""
    try:
        r = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return r.stderr.split(",")[0].strip().isdigit()


class Bench:
    def __init__(self, args, launcher, scratch, seconds_allowed):
        self.args, self.launcher, self.scratch, self.seconds_allowed = args, launcher, scratch, seconds_allowed
        self.cuvet, self.errors = os.path.join(args.build, "cuvet"), os.path.join(scratch, "errors")
        self.counted = counts_instructions()
        self.base = {}
        with open(os.path.join(ROOT, "spec", "rules_limit.def"), encoding="ascii") as f:
            self.limits = [(rule, name.lower()) for name, rule in re.findall(r'RULE\(LIMIT_(\w+), "(CV-LIMIT-\d+)"', f.read())]

    def argv(self, family, paths):
        out = os.path.join(self.scratch, "out")
        if os.path.exists(out):
            os.unlink(out)
        words = [self.cuvet]
        for word in family.command.split():
            words += {"{in}": paths, "{first}": paths[:1], "{out}": [out], "{rules}": [os.path.join(self.scratch, "rules.yar")]}.get(word, [word])
        return words

    def measure(self, argv, size):
        """(what grows, seconds, MiB, exit code): the least of some runs where one is short"""
        best = None
        for _ in range(3 if size < 1 << 20 else 2):
            count = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", os.path.join(self.scratch, "count")] if self.counted else []
            seconds, mib, rc = self.launcher.run(self.errors, count + argv)
            work = seconds
            if self.counted:
                with open(os.path.join(self.scratch, "count"), encoding="utf-8") as f:
                    work = int(re.search(r"^(\d+),", f.read(), re.M).group(1))
            if best is None or work < best[0]:
                best = (work, seconds, mib, rc)
            if seconds > 0.3:
                break
        return best

    def empty(self, family):
        """what the command costs that finds nothing"""
        key = family.command.split()[0]
        if key not in self.base:
            path = os.path.join(self.scratch, "empty")
            with open(path, "wb") as f:
                f.write(b"\1" * 64)
            self.base[key] = self.measure(self.argv(family, [path]), 0)
        return self.base[key]

    def limit_of(self, family, argv, rc):
        """the limit that ended it, by name"""
        if rc != 4:
            return ""
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            said = f.read(1 << 20)
        if not family.command.startswith("link"):  # which has several inputs, and says it itself
            r = subprocess.run([self.cuvet, "scan", "--format=ndjson", "--only-findings", argv[-1]], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, check=False)
            said += r.stdout[-(1 << 20):].decode(errors="replace")
        for rule, name in self.limits:
            if rule in said:
                return name
        if "than are compared" in said:
            return "names"
        found = re.search(r"limit '(\w+)'", said)
        return found.group(1) if found else "?"

    def put(self, files):
        paths = []
        for i, data in enumerate(files):
            paths.append(os.path.join(self.scratch, "%06d%s" % (i, ".cubin" if len(files) > 1 else "")))
            with open(paths[-1], "wb") as f:
                f.write(data)
        return paths

    def row(self, family):
        points, limit, base = [], "", self.empty(family)
        for megabytes in self.args.sizes:
            files = family.make(int(megabytes * family.scale * (1 << 20)))
            size, paths = sum(map(len, files)), self.put(files)
            del files
            argv = self.argv(family, paths)
            points.append((size, *self.measure(argv, size)))
            limit = self.limit_of(family, argv, points[-1][4])
            for path in paths:
                os.unlink(path)
            if points[-1][2] > CUT_SECONDS / 4 or points[-1][4] not in (0, 1, 4):
                break
        size, _, seconds, mib, rc = points[-1]
        megabytes = size / 1e6
        growth = slope([(p[0], p[1] - base[0]) for p in points if p[2] - base[1] >= 0.04])
        memory = slope([(p[0], p[3] - base[2]) for p in points if p[3] - base[2] >= 4])
        broken = (seconds > self.seconds_allowed(size) or mib > FREE_MIB + MOST_MIB * megabytes or rc not in (0, 1, 4)
                  or (max(growth or 0, memory or 0) > MOST_EXPONENT and limit in ("", "?")))
        return {"stage": family.stage, "name": family.name, "size": size, "seconds": seconds, "mib": mib, "rc": rc, "growth": growth, "memory": memory,
                "limit": limit, "broken": broken}


def slope(points):
    """of a line through the logarithms; None: too few points"""
    if len(points) < 3:
        return None
    xs, ys = [math.log(x) for x, _ in points], [math.log(max(y, 1e-9)) for _, y in points]
    middle, level = sum(xs) / len(xs), sum(ys) / len(ys)
    width = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys)) / width if width else None


HEAD = ("stage", "family", "bytes", "s", "s/MB", "MiB", "MiB/MB", "exponent, time", "exponent, memory", "ended by", "")


def cells(row):
    megabytes = row["size"] / 1e6
    seconds, mib = row["seconds"] - row["base"][0], row["mib"] - row["base"][1]
    number = lambda value: "" if value is None else "%.2f" % value  # noqa: E731
    return (row["stage"], row["name"], "{:,}".format(row["size"]), "%.2f" % row["seconds"], "%.2f" % max(seconds / megabytes, 0),
            "%.0f" % row["mib"], "%.0f" % max(mib / megabytes, 0), number(row["growth"]), number(row["memory"]), row["limit"],
            "breaks" if row["broken"] else "")


def closing(rows, counted):
    large = [r for r in rows if r["size"] >= 1e6]
    exponents = [r["growth"] for r in rows if r["growth"] is not None and not r["limit"]]
    memories = [r["memory"] for r in rows if r["memory"] is not None and not r["limit"]]
    return ("%d families: at most %.2f s/MB and %.0f MiB/MB (inputs of 1 MB and more; of smaller ones at most %.2f s and %.0f MiB), "
            "exponents at most %.2f of time and %.2f of memory where no limit ends it (by %s); %d break the bound" % (
                len(rows), max(((r["seconds"] - r["base"][0]) / r["size"] * 1e6 for r in large), default=0),
                max(((r["mib"] - r["base"][1]) / r["size"] * 1e6 for r in large), default=0),
                max((r["seconds"] for r in rows if r["size"] < 1e6), default=0), max((r["mib"] for r in rows if r["size"] < 1e6), default=0),
                max(exponents, default=0), max(memories, default=0),
                "instructions in user space" if counted else "seconds of the processor: perf counts no instructions here",
                sum(r["broken"] for r in rows)))


def write_page(path, rows, said):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    table = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "---:|" * 7 + "---|---|"]
    table += ["| " + " | ".join(cells(r)) + " |" for r in rows]
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    with open(path, "w", encoding="utf-8") as f:
        f.write(page[:begin] + "\n\n" + time.strftime("%Y-%m-%d") + ". " + said + ".\n\n" + "\n".join(table) + "\n\n" + page[end:])


def kept(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return {(r["stage"], r["name"]): r for r in map(json.loads, f)}


def has_yara():
    return subprocess.run("ldconfig -p | grep -q libyara", shell=True, check=False).returncode == 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--sizes", default="0.25,0.5,1,2,4")
    p.add_argument("--rows", help="what was measured, one object a line")
    p.add_argument("--write", help="the page whose table is written again")
    p.add_argument("parts", nargs="*")
    a = p.parse_args()
    a.sizes = [float(s) for s in a.sizes.split(",")]
    launcher = Launcher()
    sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
    import bombs  # the launcher stays small
    import costly

    chosen = [f for f in costly.FAMILIES if not a.parts or any(part in "%s: %s" % (f.stage, f.name) for part in a.parts)]
    if not has_yara():
        print("SKIPPED: families of the stage yara: there is no libyara here", flush=True)
        chosen = [f for f in chosen if f.stage != "yara"]
    rows, known = [], kept(a.rows)
    with tempfile.TemporaryDirectory(prefix="cuvet-worst-") as scratch:
        os.environ["TMPDIR"] = scratch
        bench = Bench(a, launcher, scratch, bombs.seconds_allowed)
        with open(os.path.join(scratch, "rules.yar"), "wb") as f:
            f.write(costly.RULES)
        for family in chosen:
            key = family.stage, family.name
            rows.append(known[key] if key in known else bench.row(family))
            rows[-1]["base"] = rows[-1].get("base") or bench.empty(family)[1:3]
            if a.rows and key not in known:
                with open(a.rows, "a", encoding="utf-8") as f:
                    f.write(json.dumps(rows[-1]) + "\n")
            print("  ".join(c.rjust(w) for c, w in zip(cells(rows[-1]), (16, 34, 9, 6, 6, 5, 6, 5, 5, 8, 6))), flush=True)
        said = closing(rows, bench.counted)
    if a.write:
        write_page(a.write, rows, said)
    print(said)
    return 1 if any(r["broken"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
