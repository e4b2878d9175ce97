#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scan says about files that nobody here made: the wheels of wheels.tsv, each downloaded, unpacked and scanned.

  world.py [--cuvet build/cuvet] [--only NAME]... [--write] [--matrix FILE] [-j N]

Three tables: one row per wheel; rule × producer (which rules the members of which toolkit break); members listed by the
vendor's cuobjdump where it can be had, and by tools/walk.py, against those found. With --write they go between the
markers of docs/evidence/world.md. Wheels are kept in CV_WORLD_CACHE (default: build/world) and unpacked one at a time.

exit: 0 no error, no warning, no difference; 1 there is one; 2 usage; 77 no wheel can be had here
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import cuobjdump

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHEELS = os.path.join(ROOT, "tests", "world", "wheels.tsv")
EVIDENCE = os.path.join(ROOT, "docs", "evidence", "world.md")
BEGIN, END = "<!-- begin: written by make check-world -->", "<!-- end -->"
SKIP = 77
# Each finding is counted, so the cap on how many are delivered has to be out of the way.
EVERY = "--limit=diagnostics=1000000000"
ENTRY = re.compile(r".*entry\[\d+\]")
SEVERITIES = ("error", "warning", "note")


class Missing(Exception):
    """A wheel that cannot be had here, and why."""


class Unreachable(Missing):
    """No package index answers: nobody needs to ask for the next wheel."""


# ---- wheels ----


def table():
    """{name: (version, options of pip)} of wheels.tsv. Of several versions the later ones are called name==version."""
    rows = {}
    with open(WHEELS, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, version, *more = line.split()
                key = "%s==%s" % (name, version) if name in rows else name
                rows[key] = (version, [word for pair in more for word in ("--" + pair).split("=", 1)])
    return rows


def in_cache(cache, name, version):
    start = "%s-%s-" % (re.sub(r"[-_.]+", "_", name.split("==")[0]).lower(), version)
    for entry in sorted(os.listdir(cache)) if os.path.isdir(cache) else []:
        if entry.lower().startswith(start) and entry.endswith(".whl"):
            return os.path.join(cache, entry)
    return None


def wheel(cache, name, version, options, ask=True):
    """The path of a wheel, which is downloaded when it is not there yet."""
    found = in_cache(cache, name, version)
    if found:
        return found
    if not ask:
        raise Unreachable("the package index is not reached")
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".part-") as part:
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--retries=1", "--timeout=30",
                "--disable-pip-version-check", "--dest", part, *options, "%s==%s" % (name.split("==")[0], version)]
        p = subprocess.run(argv, capture_output=True, text=True, check=False)
        got = [n for n in os.listdir(part) if n.endswith(".whl")]
        if p.returncode != 0 or len(got) != 1:
            said = [l.strip() for l in p.stderr.splitlines() if l.strip().startswith("ERROR")] or p.stderr.strip().splitlines()
            lost = "Retrying (" in p.stderr or "No module named pip" in p.stderr
            raise (Unreachable if lost else Missing)(said[-1][:200] if said else "pip ended with %d" % p.returncode)
        os.replace(os.path.join(part, got[0]), os.path.join(cache, got[0]))
    return in_cache(cache, name, version)


# ---- what the command says ----


class File:
    """One scanned file: its verdict, its members, and which rules each of them breaks."""

    def __init__(self, path):
        self.path, self.verdict, self.members = path, {}, {}
        self.found = collections.Counter()  # (path of the member or container, rule, severity)


def scanned(cuvet, folder, jobs, log, what="."):
    """{path: File} of one run over a folder, or over a package in it, which may say very much: it goes to disk and is read line by line."""
    with open(log, "wb") as f:
        p = subprocess.run([cuvet, "scan", "-r", "-j%d" % jobs, "--format=ndjson", EVERY, what], stdout=f, cwd=folder,
                           stderr=subprocess.PIPE, check=False)
    if p.returncode not in (0, 1, 4):
        sys.exit("world: cuvet scan ended with %d: %s" % (p.returncode, p.stderr.decode("utf-8", "replace")[:500]))
    files = {}
    with open(log, "rb") as f:
        for line in f:
            o = json.loads(line)
            if o["type"] not in ("finding", "member", "verdict"):
                continue
            file = files.get(o["file"]) or files.setdefault(o["file"], File(o["file"]))
            if o["type"] == "finding":
                inner = ENTRY.match(o["path"])
                # What lies raw in a file is told apart by its place.
                where = inner.group(0) if inner else (o["path"], o["offset"])
                file.found[(where, o["rule"], o["severity"])] += 1
            elif o["type"] == "member":
                file.members[o["path"]] = o
            else:
                file.verdict = o
    return files


def same_packed(args, world, name, path, files, log):
    """The wheel as it is: each entry is judged as the file that was unpacked from it."""
    if not os.path.exists(os.path.join(os.path.dirname(args.cuvet), "cuvet-package")):
        print("SKIPPED: %s is not scanned as a package: cuvet-package was not built" % name, flush=True)
        return
    packed = scanned(args.cuvet, os.path.dirname(path), args.jobs, log, "./" + os.path.basename(path))
    prefix = "./" + os.path.basename(path) + "!/"
    told = {"./" + file[len(prefix):]: (o.verdict["verdict"], o.found, {p: (m["kind"], m["size"]) for p, m in o.members.items()})
            for file, o in packed.items()}
    for file, o in files.items():
        want = (o.verdict["verdict"], o.found, {p: (m["kind"], m["size"]) for p, m in o.members.items()})
        if told.pop(file, None) != want:
            world.bad.append("%s: %s is another thing in the wheel than unpacked" % (name, file))
    world.bad += ["%s: %s is in the wheel alone" % (name, file) for file in told]


def seconds(cuvet, folder, jobs):
    """Wall time of what a person would type; the files were read a moment ago and are in the page cache."""
    start = time.monotonic()
    subprocess.run([cuvet, "scan", "-r", "-j%d" % jobs, "."], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
                   check=False)
    return time.monotonic() - start


def producer(member):
    """What the command says who made a member. Of PTX and LTO-IR it says nothing."""
    p = member.get("producer")
    if not p:
        return "not said: " + member["kind"]
    return " ".join(str(p[k]) for k in ("tool", "version") if p.get(k)) + (", inferred" if p.get("inferred") else "")


def home(file, where):
    """The path of the member that a finding is about, or of what is around it."""
    if isinstance(where, str):
        return where
    path, offset = where
    at = path
    while at:
        if at in file.members:
            return at
        at = at.rpartition("/")[0]
    for p, m in file.members.items():
        if not m["in_container"] and m["offset"] <= offset < m["offset"] + m["stored_size"]:
            return p
    return path


def producers_of(file, path):
    """The producer of a member; of a container, those of its members."""
    if path in file.members:
        return producer(file.members[path])
    inside = sorted({producer(m) for p, m in file.members.items() if path and p.startswith(path + "/")})
    return (" + ".join(inside) if len(inside) < 3 else "several") if inside else "(no member)"


# ---- the tables ----


class Cell:
    """One producer, or one rule and one producer: how many members or containers, how many findings, and where."""

    def __init__(self):
        self.places, self.found, self.arches, self.wheels = 0, 0, set(), set()

    def add(self, name, member, found=0):
        self.places += 1
        self.found += found
        self.wheels.add(name)
        if member:
            self.arches.add(member.get("arch") or member["kind"])


class World:
    def __init__(self, classes):
        self.classes = classes  # {rule: class}
        self.rows, self.missing, self.matrix = [], [], collections.defaultdict(Cell)
        self.made = collections.defaultdict(Cell)  # {producer: where its members are}
        self.bad = []

    def add(self, name, version, files, took, dumps):
        """dumps: what cuobjdump.compare() gives"""
        row = dict(name=name, version=version, took=took, files=0, containers=0, members=0, producers=collections.Counter(),
                   verdicts=collections.Counter(), why=collections.Counter(), **dict.fromkeys(SEVERITIES, 0))
        for file in files.values():
            v = file.verdict
            device = bool(file.members)
            row["files"] += device
            row["containers"] += v.get("containers", 0)
            row["members"] += len(file.members)
            for m in file.members.values():
                row["producers"][producer(m)] += 1
                self.made[producer(m)].add(name, m)
            row["verdicts"][v.get("verdict", "none")] += 1
            self.judge(name, file, row)
        row["dumps"] = dumps
        self.rows.append(row)
        self.bad += ["%s: %s: %s" % (name, path, wrong) for path, _, _, _, wrong, _ in dumps if wrong]

    def judge(self, name, file, row):
        unsupported, counts = 0, collections.Counter()
        for (where, rule, severity), n in file.found.items():
            counts[(home(file, where), rule, severity)] += n
        for (path, rule, severity), n in counts.items():
            self.matrix[(rule, severity, producers_of(file, path))].add(name, file.members.get(path), n)
            row[severity] += n
            if self.classes.get(rule) == "unsupported":
                row["why"][rule] += 1
                unsupported += n
        verdict, where = file.verdict.get("verdict", "none"), "%s: %s" % (name, file.path)
        if verdict == "unsupported" and not unsupported:
            self.bad.append(where + ": unsupported, and no rule says why")
        if verdict not in ("clean", "unsupported"):
            rules = collections.Counter()
            for (_, rule, severity), n in counts.items():
                if severity != "note":
                    rules[rule] += n
            self.bad.append("%s: %s: %s" % (where, verdict, ", ".join("%s × %d" % r for r in rules.most_common(6))))
        if file.verdict.get("suppressed"):
            self.bad.append(where + ": findings above the cap were not seen")


def number(n):
    return format(n, ",")


def many(n, word):
    return "%s %s%s" % (number(n), word, "" if n == 1 else "s")


def wheel_rows(world):
    out = ["| Wheel | Made by | Files with device code | Containers | Members | s | Errors | Warnings | Unsupported files, by rule |",
           "|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for r in world.rows:
        made = ", ".join("%s (%s)" % (p, number(n)) for p, n in r["producers"].most_common())
        why = ", ".join("%s in %s" % (rule, number(n)) for rule, n in sorted(r["why"].items()))
        n = r["verdicts"]["unsupported"]
        out.append("| %s %s | %s | %s | %s | %s | %.2f | %s | %s | %s |" % (
            r["name"], r["version"], made or "no device code", number(r["files"]), number(r["containers"]), number(r["members"]),
            r["took"], number(r["error"]), number(r["warning"]), "%d: %s" % (n, why) if n else "none"))
    return out + ["| %s | | | | | | | | cannot be had here: %s |" % m for m in world.missing]


def names(found, more):
    """A list for people: all of it where it was asked for, else what is short enough to be read."""
    found = sorted(found)
    return " ".join(found) if more or len(found) <= 6 else "%s ... %s (%d)" % (" ".join(found[:2]), found[-1], len(found))


def producer_rows(world):
    out = ["| Producer | Members | Architectures | Wheels |", "|---|---:|---|---|"]
    for who, c in sorted(world.made.items()):
        out.append("| %s | %s | %s | %s |" % (who, number(c.places), names(c.arches, True), names(c.wheels, True)))
    return out


def matrix_rows(world, more=False):
    """With `more` all architectures and wheels are named."""
    out = ["| Rule | Severity | Producer | Members or containers | of members | Times | Architectures | Wheels |",
           "|---|---|---|---:|---:|---:|---|---|"]
    for rule, severity, who in sorted(world.matrix, key=lambda k: (SEVERITIES.index(k[1]), k[0], k[2])):
        c = world.matrix[(rule, severity, who)]
        out.append("| %s | %s | %s | %s | %s | %s | %s | %s |" % (
            rule, severity, who, number(c.places), number(world.made[who].places) if who in world.made else "",
            number(c.found), names(c.arches, more), names(c.wheels, more)))
    return out


def dump_rows(world):
    out = ["| Wheel | Files | Equal | ELF found | listed | PTX found | listed | Not listed, and why |",
           "|---|---:|---:|---:|---:|---:|---:|---|"]
    for r in world.rows:
        rows = [d for d in r["dumps"] if d[2]]
        if not rows:
            continue
        why = collections.Counter()
        for d in rows:
            why.update(d[3])
        sums = [number(sum(d[i][k] for d in rows)) for k in cuobjdump.KINDS for i in (1, 2)]
        out.append("| %s | %s | %s | %s | %s | %s | %s | %s |" % (
            r["name"], number(len(rows)), number(sum(not d[3] and not d[4] for d in rows)), *sums,
            "; ".join("%s %s" % (number(n), text) for text, n in why.most_common()) or "none"))
    return out


def report(world, version, dumper):
    sums = {k: sum(r[k] for r in world.rows) for k in ("files", "containers", "members", *SEVERITIES)}
    walked = sum(d[5] for r in world.rows for d in r["dumps"])
    bad = ["* " + b for b in world.bad[:50]]
    return "\n".join([
        "Made by `make check-world` with %s and %s." % (version, dumper), "",
        "%s, %s files with device code, %s containers, %s members: **%s errors, %s warnings**." % (
            many(len(world.rows), "wheel"), *(number(sums[k]) for k in ("files", "containers", "members", "error", "warning"))),
        "", "## Wheels", "", *wheel_rows(world), "", "## Producers", "", *producer_rows(world),
        "", "## Rule × producer", "", *matrix_rows(world), "",
        "## Against others", "",
        "`tools/walk.py` has the same containers, members, ELF, PTX and LTO-IR in all of the %s with containers, but for those"
        % many(walked, "file"), "that are listed as open below.", "", *dump_rows(world), "",
        "## Open", "", "Nothing." if not bad else "%s:" % number(len(world.bad)), "", *bad]).rstrip() + "\n"


# ---- one wheel after the other ----


def version_of(cuvet):
    return subprocess.run([cuvet, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def classes_of(cuvet):
    text = subprocess.run([cuvet, "rules", "--format=ndjson"], capture_output=True, text=True, check=True).stdout
    return {o["rule"]: o["class"] for o in map(json.loads, text.splitlines()) if o["type"] == "rule"}


def one(args, world, name, version, path, tool):
    where = tempfile.mkdtemp(dir=args.scratch, prefix="wheel-")
    try:
        with zipfile.ZipFile(path) as z:
            z.extractall(os.path.join(where, "files"))
        folder = os.path.join(where, "files")
        files = scanned(args.cuvet, folder, args.jobs, os.path.join(where, "log"))
        took = seconds(args.cuvet, folder, args.jobs)
        dumps = cuobjdump.compare(args.cuvet, tool, folder, files, where)
        world.add(name, version, files, took, dumps)
        same_packed(args, world, name, path, files, os.path.join(where, "packed"))
        row = world.rows[-1]
        print("%-24s %6d members  %8.2f s  %9d errors  %7d warnings  %d unsupported" % (
            name, row["members"], took, row["error"], row["warning"], row["verdicts"]["unsupported"]), flush=True)
    finally:
        shutil.rmtree(where, ignore_errors=True)


def arguments():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--cuvet", default=os.path.join(ROOT, "build", "cuvet"))
    ap.add_argument("--cache", default=os.environ.get("CV_WORLD_CACHE") or os.path.join(ROOT, "build", "world"))
    ap.add_argument("--only", action="append", default=[], metavar="NAME", help="this wheel alone; may be repeated")
    ap.add_argument("--write", action="store_true", help="into docs/evidence/world.md")
    ap.add_argument("--matrix", metavar="FILE", help="write rule × producer with architectures and wheels there")
    ap.add_argument("-j", "--jobs", type=int, default=1, help="threads of the scan")
    args = ap.parse_args()
    args.cuvet, args.cache = os.path.abspath(args.cuvet), os.path.abspath(args.cache)
    unknown = [n for n in args.only if n not in table()]
    if unknown:
        ap.error("not in tests/world/wheels.tsv: " + " ".join(unknown))
    if args.write and args.only:
        ap.error("--write is for all wheels")
    return args


def write(text):
    with open(EVIDENCE, encoding="utf-8") as f:
        head, _, rest = f.read().partition(BEGIN)
    tail = rest.partition(END)[2]
    with open(EVIDENCE, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + "\n" + text + END + tail)


def main():
    args = arguments()
    world = World(classes_of(args.cuvet))
    args.scratch = tempfile.mkdtemp(prefix="cuvet-world-", dir=os.environ.get("CV_TMP"))
    try:
        tool, dumper, ask = cuobjdump.find(lambda n, v: wheel(args.cache, n, v, []), args.scratch, Missing, Unreachable)
        for name, (version, options) in table().items():
            if args.only and name not in args.only:
                continue
            try:
                path = wheel(args.cache, name, version, options, ask)
            except Missing as e:
                ask = ask and not isinstance(e, Unreachable)
                world.missing.append(("%s %s" % (name, version), e))
                print("SKIPPED: %s %s: cannot be had here: %s" % (name, version, e), flush=True)
                continue
            one(args, world, name, version, path, tool)
            if args.matrix:
                with open(args.matrix, "w", encoding="utf-8") as f:
                    f.write("\n".join(matrix_rows(world, more=True)) + "\n")
        if not world.rows:
            print("SKIPPED: no wheel can be had here")
            return SKIP
        text = report(world, version_of(args.cuvet), dumper)
        if args.write:
            write(text)
        print("\n".join(world.bad[:100]))
        print("world: %d wheels, %d cannot be had, %d errors, %d warnings, %d open" % (
            len(world.rows), len(world.missing), sum(r["error"] for r in world.rows), sum(r["warning"] for r in world.rows),
            len(world.bad)))
        return 1 if world.bad else 0
    finally:
        shutil.rmtree(args.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
