#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Line and branch coverage of the library and the command from a MODE=cov build, or one with MODE=asan COVERAGE=1.

Two figures per directory: unit tests alone, and unit tests plus replayed corpora and command tests. What is missing is
listed in <build>/missing.txt and summed up on the screen. Branches guarded by CV_NEVER() are unreachable unless our
own code is wrong; they are excluded, counted and listed. tools/coverage.floor holds the floor, which may only rise.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runtests  # noqa: E402

ROOT = runtests.ROOT
DIRS = ("src/bytes", "src/codec", "src/format")
ALSO = ("src/base", "src/io", "src/proc", "src/target", "src/cubin", "src/host", "src/intake", "src/finalize", "src/scan",
        "src/link", "src/drive", "src/api", "cli")
# Beside the test programs; what a machine cannot build is not there.
PROGRAMS = ("libcuvet.so.0", "cuvet", "cuvet-worker", "cuvet-package", "libcuvet-worker.so.0")


VERSIONS = ("-16", "-15", "-14", "")  # of the tools, newest first: a profile is read by those of its compiler


def tool(name):
    for v in VERSIONS:
        if shutil.which(name + v):
            return name + v
    raise SystemExit("coverage: %s is not installed (tools/deps.sh full)" % name)


def run_all(jobs, build, profiles, workers, continuous=True):
    """Run the jobs; the counts of each become one file as soon as it ends: all counts of all processes take 16 GB.

    Continuous: counts are kept in the file while a process runs, so that those of children that end by _exit() or by a signal are there.
    """
    profiles = os.path.abspath(profiles)  # tests run in other directories, and the runtime makes the path that it is given
    os.makedirs(profiles, exist_ok=True)

    def run(numbered):
        number, job = numbered
        raw = os.path.join(profiles, "raw-%d" % number)
        # Processes add up in four files: one for each process takes longer to merge than the process took.
        job.env.update(LLVM_PROFILE_FILE=os.path.join(raw, "%c%4m.profraw" if continuous else "%4m.profraw"), CK_FORK="no")
        runtests.asan_in_a_push(job)
        os.makedirs(raw)
        runtests.run_job(job, build)
        files = glob.glob(os.path.join(raw, "*.profraw"))
        if files and not merge(files, os.path.join(profiles, "%d.profdata" % number)):
            print("coverage: no counts of %s can be read" % job.name)
        shutil.rmtree(raw)
        return job

    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        done = list(pool.map(run, enumerate(jobs)))
    return done


def merge(files, out, failure="all"):
    if not files:
        raise SystemExit("coverage: no test wrote a profile")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write("\n".join(files))
        f.flush()
        argv = [tool("llvm-profdata"), "merge", "-sparse", "--failure-mode=" + failure, "-o", out, "-f", f.name]
        return subprocess.run(argv, check=False).returncode == 0


def merge_jobs(profiles, out):
    if not merge([p for d in profiles for p in glob.glob(os.path.join(d, "*.profdata"))], out):
        raise SystemExit("coverage: the counts cannot be merged")


# Scripts about documents, recipes and Python around the command: their builds of it are the same, and what they start
# other scripts start as well. `make check` has them, and so has check-asan.
AROUND = ("test_docs.py", "test_readme.py", "test_recipe.py", "test_recipes.py", "test_shape.py", "test_shard.py", "test_tutorials.py")


def excluded_lines(path):
    """Lines of CV_NEVER branches: the test itself (its branches) and the statement it guards."""
    out, lines = set(), open(path, encoding="utf-8").read().splitlines()
    for i, l in enumerate(lines):
        if "CV_NEVER(" not in l or l.lstrip().startswith("#define"):
            continue
        out.add(i + 1)
        if l.rstrip().endswith("{"):
            indent = len(l) - len(l.lstrip())
            for k in range(i + 1, len(lines)):
                out.add(k + 1)
                if lines[k].strip().startswith("}") and len(lines[k]) - len(lines[k].lstrip()) == indent:
                    break
        elif i + 1 < len(lines):
            out.add(i + 2)
    return out


def export(objects, profile, form):
    argv = [tool("llvm-cov"), "export", "-format=" + form, "-instr-profile", profile, objects[0]]
    for o in objects[1:]:
        argv += ["-object", o]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def exported(objects, profile):
    """All that llvm-cov tells: files and functions."""
    return json.loads(export(objects, profile, "text"))["data"][0]


def read_coverage(objects, profile, found=None):
    """{file: (lines {n: count}, branch sides {(line, where, side): count})}

    A static inline function of a header exists once per source file that uses it: its copies are added up, because
    what matters is whether the source was ever seen to take a branch. So branches are known by their place in the
    source (and, inside a macro, by the place of its use), which only the JSON form has: found, where the caller has it already.
    """
    files, name = {}, None
    for line in export(objects, profile, "lcov").splitlines():
        key, _, rest = line.partition(":")
        if key == "SF":
            name = os.path.relpath(os.path.join(ROOT, rest), ROOT)
            files.setdefault(name, (collections.defaultdict(int), collections.defaultdict(int)))
        elif key == "DA":
            n, c = rest.split(",")[:2]
            files[name][0][int(n)] += int(c)

    def add(sides, line, where, branch):
        sides[(line, where, "true")] += branch[4]
        sides[(line, where, "false")] += branch[5]

    for f in (found or exported(objects, profile))["files"]:
        name = os.path.relpath(os.path.join(ROOT, f["filename"]), ROOT)
        if name not in files:
            continue
        sides = files[name][1]
        for b in f.get("branches", []):
            add(sides, b[0], tuple(b[:4]), b)
        for e in f.get("expansions", []):
            at = tuple(e["source_region"][:4])
            for b in e.get("branches", []):
                add(sides, at[0], at + tuple(b[:4]), b)
    return files


def united(some, others):
    """What either run reached.

    Counts of threads are not atomic, which would double the time of this gate. The compiler counts one side of a branch
    and takes the other for a difference, so that an update lost in a scan with threads hides a side that was taken once.
    """
    out = {}
    for name in {**some, **others}:
        pairs = [files.get(name, ({}, {})) for files in (some, others)]
        out[name] = tuple({k: max(p[part].get(k, 0) for p in pairs) for k in {**pairs[0][part], **pairs[1][part]}}
                          for part in (0, 1))
    return out


def measure(files):
    """Totals by directory, and what is missing by file."""
    totals, missing, excluded = {}, {}, 0
    for name, (lines, branches) in sorted(files.items()):
        top = next((d for d in DIRS + ALSO if name.startswith(d + "/")), None)
        if top is None:
            continue
        skip = excluded_lines(os.path.join(ROOT, name))
        lines = {n: c for n, c in lines.items() if n not in skip}
        excluded += sum(1 for k in branches if k[0] in skip)
        branches = {k: c for k, c in branches.items() if k[0] not in skip}
        t = totals.setdefault(top, [0, 0, 0, 0])
        t[0] += len(lines)
        t[1] += sum(c > 0 for c in lines.values())
        t[2] += len(branches)
        t[3] += sum(c > 0 for c in branches.values())
        bad_lines = sorted(n for n, c in lines.items() if not c)
        bad_branches = sorted((k[0], k[1], k[2]) for k, c in branches.items() if not c)
        if bad_lines or bad_branches:
            missing[name] = (bad_lines, bad_branches)
    return totals, missing, excluded


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def ranges(numbers):
    out, numbers = [], list(numbers)
    while numbers:
        a = b = numbers.pop(0)
        while numbers and numbers[0] == b + 1:
            b = numbers.pop(0)
        out.append(str(a) if a == b else "%d-%d" % (a, b))
    return " ".join(out)


def write_missing(path, missing, totals):
    with open(path, "w", encoding="utf-8") as f:
        for name, (lines, branches) in missing.items():
            source = open(os.path.join(ROOT, name), encoding="utf-8").read().splitlines() + [""] * 1000
            f.write("%s: %d lines, %d branch sides\n" % (name, len(lines), len(branches)))
            for n in lines:
                f.write("  line   %5d  %s\n" % (n, source[n - 1].strip()))
            for n, where, side in branches:
                f.write("  branch %5d  column %d never %s: %s\n" % (n, where[-3], side, source[n - 1].strip()))


def read_floor(path):
    """{directory: (percent of lines, percent of branches)}"""
    rows = [line.split("#")[0].split() for line in open(path, encoding="ascii")]
    return {directory: (float(lines), float(branches)) for directory, lines, branches in filter(None, rows)}


def check_floor(floors, totals):
    bad = 0
    for directory in sorted(set(totals) - set(floors)):
        print("coverage: %s has no floor in tools/coverage.floor" % directory)
        bad += 1
    for directory, floor in floors.items():
        t = totals.get(directory, [0, 0, 0, 0])
        for what, got, least in (("lines", percent(t[1], t[0]), floor[0]), ("branches", percent(t[3], t[2]), floor[1])):
            if not t[0] or got + 0.005 < least:
                print("coverage: %s: %s %.2f %% is below the floor of %.2f %%" % (directory, what, got, least))
                bad += 1
    return bad


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--build", required=True)
    ap.add_argument("--mode", default="cov")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--floor", required=True)
    a = ap.parse_args()
    floors = read_floor(a.floor)
    # A test binary has its generated main beside it; programs that tests start are none.
    bins = [b for b in sorted(glob.glob(os.path.join(a.build, "tests", "*")))
            if os.access(b, os.X_OK) and os.path.isfile(b + ".c")]
    args = argparse.Namespace(unit=bins, mode=a.mode, scripts=True, replay=os.path.join(a.build, "replay"))
    work = os.path.join(a.build, "profiles")
    shutil.rmtree(work, ignore_errors=True)
    done = run_all(list(runtests.unit_jobs(args)), a.build, os.path.join(work, "unit"), a.jobs)
    scripts = [j for j in runtests.script_jobs(args) if os.path.basename(j.name) not in AROUND]
    done += run_all(scripts + list(runtests.replay_jobs(args)), a.build,
                    os.path.join(work, "all"), a.jobs)
    merge_jobs([os.path.join(work, "unit")], os.path.join(work, "unit.profdata"))
    merge_jobs([os.path.join(work, "unit"), os.path.join(work, "all")], os.path.join(work, "all.profdata"))

    replays = [r for r in sorted(glob.glob(os.path.join(a.build, "replay", "*"))) if os.access(r, os.X_OK)]
    objects = [p for p in (os.path.join(a.build, n) for n in PROGRAMS) if os.path.exists(p)] + bins + replays
    by_unit, by_all = (read_coverage(objects, os.path.join(work, n + ".profdata")) for n in ("unit", "all"))
    unit, _, _ = measure(by_unit)
    totals, missing, excluded = measure(united(by_unit, by_all))

    print("%-12s  %22s  %22s   %s" % ("directory", "lines", "branches", "(unit tests alone: lines, branches)"))
    for d in [d for d in DIRS + ALSO if d in totals]:
        t, u = totals[d], unit.get(d, [0, 0, 0, 0])
        print("%-12s  %6d/%-6d %6.2f %%  %6d/%-6d %6.2f %%   (%.2f %%, %.2f %%)%s" % (
            d, t[1], t[0], percent(t[1], t[0]), t[3], t[2], percent(t[3], t[2]), percent(u[1], u[0]), percent(u[3], u[2]),
            "  floor %.1f %%, %.1f %%" % floors[d] if d in floors else "  no floor"))
    out = os.path.join(a.build, "missing.txt")
    write_missing(out, missing, totals)
    for name, (lines, branches) in missing.items():
        if name.startswith(DIRS):
            print("missing  %s: lines %s; branches at %s" % (name, ranges(lines) or "none",
                                                          ranges(sorted({b[0] for b in branches})) or "none"))
    print("coverage: %d branch sides behind CV_NEVER excluded; every missing line and branch: %s" % (excluded, out))
    bad = check_floor(floors, totals)
    print("coverage: slowest: " + ", ".join("%s %.0f s" % (j.name, j.seconds) for j in sorted(done, key=lambda j: -j.seconds)[:16]))
    runtests.say_leaks_later(done, a.mode)
    failed = [j for j in done if j.failed]
    for j in failed:
        print("coverage: %s failed in this build:" % j.name)
        print("\n".join("    | " + l[:200] for l in j.output.strip().splitlines()[-8:]))
    for j in done:
        if j.skipped:
            print("SKIPPED: %s: %s" % (j.name, j.why))
    print("%d passed, %d failed, %d skipped" % tuple(sum(getattr(j, k) for j in done) for k in ("passed", "failed", "skipped")))
    return 1 if bad or failed or not totals else 0


if __name__ == "__main__":
    sys.exit(main())
