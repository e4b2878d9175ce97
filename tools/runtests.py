#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the tests that the Makefile built, count them, and end with one line: N passed, N failed, N skipped.

Unit binaries and scripts report their own counts; a replay counts its inputs; a gate counts as one. What is skipped
is printed again at the end, so that nobody mistakes an absent tool for a passed test.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpora  # noqa: E402
import packed  # noqa: E402
from corpora import ROOT, files_under  # noqa: E402

COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
SWEPT = re.compile(r"^swept (.+): (\d+) of (\d+) samples, (\d+) cases$", re.M)
SCRIPT_DIRS = ("cli", "hostile", "differential")
SCRIPT_ROOTS = tuple("tests/%s/" % d for d in SCRIPT_DIRS)
OTHER_ROOTS = ("tests/device/",)  # no job here reads it
# What the replay of one target reads, and the unit tests of one room.
OWN_FILES = re.compile(r"fuzz/target_(\w+)\.c$|corpus/(\w+)/(?:grown\.pack$|regress/)|tests/unit/(\w+)/")
COST_SCRIPTS = ("test_attack.py",)  # know CV_COST: what hostile files may cost
LIGHT_GATES = ("layers", "abi", "shape", "bans", "docs", "generated", "hostile")  # may share the machine with tests
SKIP = 77
FULL = bool(os.environ.get("CV_FULL"))  # make check-full: every sample, every byte
SWEEPS = ("tests/property",)  # the tests that understand CV_PART; tests/library/property/sweep.h
PARTS_PER_JOB = 8  # small enough that no core waits long for the last one
MOST_PARTS = 64  # each part has a sample
# One scan frees a few hundred kilobytes at most: a larger quarantine costs time in millions of scans and holds nothing
# of the present one. What a report needs of a stack are the frames next to the allocation.
SWEEP_ASAN = ":quarantine_size_mb=16:malloc_context_size=8"
# Two fifths of what a command costs under ASan is the search for leaks at its end. In a push it is left out of the scripts that
# start it more often than others, for what it prints; make check-full has it everywhere.
LEAKS_LATER = re.compile(r"cli/test_(dump|formats|list|output|pick|places|sarif|scan_jobs)\.py$|hostile/test_command_mutants\.py$")


class Job:
    """One child process and what its end means."""

    def __init__(self, name, argv, count=None, env=None, timeout=600, alone=False):
        self.name, self.argv, self.count = name, argv, count
        self.env, self.timeout, self.alone = env or {}, timeout, alone
        self.parts = []  # other jobs that run in its place; it counts as one, they do not
        self.passed = self.failed = self.skipped = 0
        self.output, self.seconds, self.why = "", 0.0, ""


def sanitizer_env():
    env = {}
    with open(os.path.join(ROOT, "sanitizers", "options.env"), encoding="ascii") as f:
        for line in f:
            if "=" in line and not line.startswith("#"):
                key, value = line.strip().split("=", 1)
                env[key] = value.replace("%ROOT%", ROOT)
    return env


def run_job(job, build):
    scratch = tempfile.mkdtemp(prefix="cuvet-test-")
    os.chmod(scratch, 0o711)  # some tests become another user, who has to get to his folder
    # A CV_PART that somebody left in the environment would leave samples out.
    # A gate that runs tests takes all of them, whatever was asked for here.
    outer = {k: v for k, v in os.environ.items()
             if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MODE", "BUILD", "CV_PART", "RUNTESTS_ARGS")}
    env = dict(outer, CUVET=os.path.join(os.path.abspath(build), "cuvet"), CV_BUILD=os.path.abspath(build),
               CV_SRC=ROOT, CV_TMP=scratch, TMPDIR=scratch, TEMP=scratch, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    if not job.name.startswith("gate/"):
        env["HOME"] = scratch  # what a tool keeps for its user goes with the test
    env.update(sanitizer_env())  # TEMP is for Check, which keeps what its children say there
    env.update(job.env)
    start = time.monotonic()
    try:
        p = subprocess.Popen(job.argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            raw, _ = p.communicate(timeout=job.timeout)
            rc = p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            raw, _ = p.communicate()
            raw += b"\nno end after %d s: killed" % job.timeout
            rc = -9
    except OSError as e:
        raw, rc = str(e).encode(), 127
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    job.seconds = time.monotonic() - start
    job.output = raw.decode("utf-8", "replace")
    settle(job, rc)
    return job


def settle(job, rc):
    """Turn an exit status and the output into counts. A failure is never rounded down to nothing."""
    lines = job.output.strip().splitlines()
    if lines and job.name.startswith("gate/") and lines[-1].endswith("] Error %d" % SKIP):
        rc, lines = SKIP, lines[:-1]  # what make says of a recipe that ended so
    if rc == SKIP:
        job.skipped, job.why = 1, lines[-1] if lines else "no reason given"
        return
    found = COUNTS.findall(job.output)
    if found:
        job.passed, job.failed, job.skipped = (int(n) for n in found[-1])
        if job.skipped:
            job.why = "; ".join(l.strip() for l in lines if "SKIP" in l.upper() and not COUNTS.search(l))[:300]
    elif job.count is not None:
        # A replay says how many inputs it ran; a driver that skipped some has not passed.
        said = re.findall(r"(\d+) inputs$", job.output.strip())
        job.passed = job.count
        if rc == 0 and (not said or int(said[-1]) != job.count):
            job.passed, job.failed = 0, 1
            job.output += "\nexpected a count of %d inputs at the end" % job.count
    elif job.name.startswith(("unit/", "tests/")):
        job.failed, job.output = 1, job.output + "\nthe test binary did not report its counts"
    else:
        job.passed = 1
        # A gate that left a part of its work out.
        left_out = [l for l in lines if l.startswith("SKIPPED")]
        job.skipped, job.why = len(left_out), "; ".join(left_out)[:300]
    if rc != 0:
        job.failed = max(job.failed, 1)
        if not found:
            job.passed = 0
    elif job.passed + job.failed + job.skipped == 0:
        job.failed, job.output = 1, job.output + "\nit ran no test at all"


def split(job, n):
    """Run a sweep as n processes, each over its share of the samples."""
    asan = sanitizer_env()["ASAN_OPTIONS"] + SWEEP_ASAN
    job.parts = [Job("%s[%d/%d]" % (job.name, k, n), job.argv, timeout=job.timeout,
                     env=dict(job.env, CV_PART="%d/%d" % (k, n), ASAN_OPTIONS=asan)) for k in range(n)]


def join(job):
    """The result of a split sweep: a test has passed when it has in all parts, and the parts are the whole."""
    job.seconds = sum(p.seconds for p in job.parts)
    tests = max(p.passed + p.failed + p.skipped for p in job.parts)
    job.failed = min(tests, sum(p.failed for p in job.parts))
    job.skipped = max(p.skipped for p in job.parts)
    job.passed = max(0, tests - job.failed - job.skipped)
    job.why = "; ".join(sorted({p.why for p in job.parts if p.why}))
    swept = {}
    for p in job.parts:
        for what, looked_at, of, cases in SWEPT.findall(p.output):
            sums = swept.setdefault((what, int(of)), [0, 0])
            sums[0] += int(looked_at)
            sums[1] += int(cases)
    lines = ["%s: %d of %d samples, %d cases" % (what, n, of, cases) for (what, of), (n, cases) in sorted(swept.items())]
    job.output = "\n".join(lines + ["failed: " + p.name for p in job.parts if p.failed])
    if not job.failed and (len(swept) != job.passed or any(n != of for (_, of), (n, _) in swept.items())):
        job.failed, job.output = 1, job.output + "\nthe parts are not all samples of all %d tests" % tests


def keep_output(job, build):
    """Of a failed job all that it said, as a gate around it shows a part of a part."""
    os.makedirs(os.path.join(build, "failed"), exist_ok=True)
    path = os.path.join(build, "failed", job.name.replace("/", "_") + ".log")
    with open(path, "w", encoding="utf-8") as f:
        f.write(job.output)
    return path


def show(job, width, build):
    word = "FAIL" if job.failed else "skip" if job.skipped and not job.passed else "ok"
    what = "%d passed" % job.passed
    what += ", %d failed" % job.failed if job.failed else ""
    what += ", %d skipped" % job.skipped if job.skipped else ""
    print("%-4s  %-*s  %s  (%.1f s)" % (word, width, job.name, what, job.seconds), flush=True)
    if job.parts and not job.failed:
        print("\n".join("      | " + l for l in job.output.splitlines()), flush=True)
    if job.failed:
        lines = job.output.strip().splitlines()
        cut = lines if len(lines) <= 60 else lines[:20] + ["  ... %d lines ..." % (len(lines) - 60)] + lines[-40:]
        print("\n".join("      | " + l[:300] for l in cut), flush=True)
        if len(cut) < len(lines) or any(len(l) > 300 for l in lines):
            print("      all of it: " + keep_output(job, build), flush=True)


class Kept:
    """What passed before from the same sources, for a run that was cut off: check-full takes more than an hour.

    A job is kept while its mode, its arguments and all tracked files are the same. Documents count for the scripts that
    name one, scripts for the jobs that run them, a fuzz target and what it once found for its replay, unit tests of a room for
    its job. Gates run other jobs and count all of these, the light ones all documents too.
    """

    def __init__(self, args):
        self.on = args.resume or (args.mode not in ("release", "cov") and bool(os.environ.get("CV_RESUME")))
        self.path = os.path.join(args.build, "passed.json")
        self.rows, self.states, self.mode = {}, {}, args.mode
        if self.on:
            self.files = self.tracked()
            scripts = [f for f in self.files if f.startswith(SCRIPT_ROOTS) and is_script(f)]
            taken, self.readers = set(), set()  # what other scripts import; those that name documents
            for f in scripts:
                with open(os.path.join(ROOT, f), encoding="utf-8") as handle:
                    text = handle.read()
                taken.update(re.findall(r"^(?:import|from) (\w+)", text, re.M))
                if re.search(r"\.md\b|\bdocs\b", text):
                    self.readers.add(f)
            self.alone = {f for f in scripts if os.path.splitext(os.path.basename(f))[0] not in taken}
            if os.path.exists(self.path):
                with open(self.path, encoding="utf-8") as f:
                    self.rows = json.load(f)

    @staticmethod
    def tracked():
        """Name and content of all tracked files; nothing may be changed in them."""
        def git(*args):
            return subprocess.run(("git",) + args, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
        if git("status", "--porcelain"):
            sys.exit("runtests: --resume needs a tree without changes")
        return dict(reversed(line.split("\t", 1)) for line in git("ls-tree", "-r", "HEAD").splitlines())

    def state(self, job):
        gate = job.name[5:] if job.name.startswith("gate/") else None
        own = "tests/" + job.name
        target = re.match(r"(?:replay|unit)/(\w+)", job.name)
        key = "all" if gate in LIGHT_GATES else "gate" if gate else own if own in self.files else "rest"
        key = target[1] if target else key
        if key not in self.states:
            whole = hashlib.sha256()
            for name, what in sorted(self.files.items()):
                own_file = OWN_FILES.match(name)
                script = key != "gate" and (name in self.alone or bool(own_file and key not in own_file.groups()))
                document = name.endswith(".md") and own not in self.readers
                if key == "all" or name == own or not (document or name.startswith(OTHER_ROOTS) or script):
                    whole.update(("%s %s\n" % (what, name)).encode())
            self.states[key] = whole.hexdigest()
        return "%s %s%s %r" % (self.states[key], self.mode, " full" if FULL else "", job.argv[1:] if gate is None else gate)

    def take(self, job):
        """Has it passed? Then it has its counts."""
        if not self.on or self.rows.get(job.name, {}).get("state") != self.state(job):
            return False
        job.passed, job.skipped, job.seconds, job.why = self.rows[job.name]["counts"]
        return True

    def add(self, job):
        if not self.on or job.failed:
            return
        self.rows[job.name] = {"state": self.state(job), "counts": (job.passed, job.skipped, job.seconds, job.why)}
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.rows, f)
        os.rename(self.path + ".new", self.path)


def unit_jobs(args):
    for b in args.unit or []:
        # Forked, each test has its own process; instrumented builds run in one, which is also the leak check.
        fork = "no" if args.mode in ("asan", "cov", "tsan", "int") else "yes"
        name = os.path.basename(b)
        yield Job("unit/" + name[5:] if name.startswith("unit_") else "tests/" + name, [b],
                  env={"CK_FORK": fork, "CK_VERBOSITY": "normal", "CK_DEFAULT_TIMEOUT": "3600" if FULL else "120"},
                  timeout=3600 if FULL else 600)


def asan_in_a_push(job):
    if job.name in SWEEPS or job.name.endswith((".py", ".sh")):
        options = sanitizer_env()["ASAN_OPTIONS"] + SWEEP_ASAN + (":detect_leaks=0" if LEAKS_LATER.search(job.name) else "")
        job.env.setdefault("ASAN_OPTIONS", options)


def say_leaks_later(jobs, mode):
    left = mode == "asan" and [j.name for j in jobs if j.env.get("ASAN_OPTIONS", "").endswith("detect_leaks=0")]
    if left:
        print("leaks of what %d scripts start are left to check-full: %s" % (len(left), ", ".join(left)))


def is_script(path):
    """Each script of `differential` is a test; elsewhere others stand beside the tests."""
    return path.endswith((".sh", ".py")) and (path.startswith("tests/differential/") or os.path.basename(path).startswith("test_"))


def script_jobs(args):
    if not args.scripts:
        return
    for d in SCRIPT_DIRS:
        for f in files_under(os.path.join(ROOT, "tests", d)):
            base = os.path.basename(f)
            runner = {".sh": ["sh"], ".py": [sys.executable]}.get(os.path.splitext(base)[1])
            if runner is None or not is_script(os.path.relpath(f, ROOT)):
                continue
            if open(f, "rb").readline().rstrip().endswith(b"bash"):
                runner = ["bash"]
            # Seconds and megabytes say something in the code that ships only, and only on a machine that is not busy.
            cost = FULL and args.mode == "release" and base in COST_SCRIPTS
            env = {"CV_COST": "1"} if cost else {}
            # Most of their time is the vendor's tools, which are the same in every mode: a sample, and in check-full only.
            if d == "differential" and args.mode != "release" and not FULL:
                continue
            yield Job(os.path.relpath(f, os.path.join(ROOT, "tests")), runner + [f], timeout=3600 if FULL else 600,
                      env=env, alone=cost)


def replay_jobs(args):
    if not args.replay:
        return
    names = sorted(os.listdir(args.replay)) if os.path.isdir(args.replay) else []
    for name in names:
        files = corpora.files(name)
        if not files:
            yield Job("replay/" + name, ["sh", "-c", "echo no corpus for this target; exit %d" % SKIP])
            continue
        # In batches, so that a failure names few files and two cores have something to share.
        size = max(1, (len(files) + 3) // 4) if name == "scan" else len(files)
        for i in range(0, len(files), size):
            part = files[i:i + size]
            label = "replay/" + name + ("" if size == len(files) else "[%d]" % (i // size))
            yield Job(label, [os.path.join(args.replay, name)] + part, timeout=900,
                      count=sum(len(packed.read(f)) if f == corpora.pack_of(name) else 1 for f in part))


def example_jobs(args):
    for b in args.examples or []:
        yield Job("example/" + os.path.basename(b), ["sh", "tools/run_example.sh", b])


def gate_jobs(args):
    for g in args.gates or []:
        yield Job("gate/" + g, ["make", "--no-print-directory", "BUILD=" + args.build, "JOBS=%d" % args.jobs,
                                "check-" + g if g not in ("lint", "coverage") else g], timeout=7200 if FULL else 3600,
                  env={"CV_RESUME": "1"} if args.resume else {}, alone=g not in LIGHT_GATES)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--build", required=True)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--mode", default="release")
    ap.add_argument("--unit", nargs="*")
    ap.add_argument("--scripts", action="store_true")
    ap.add_argument("--replay")
    ap.add_argument("--examples", nargs="*")
    ap.add_argument("--gates", nargs="*")
    ap.add_argument("--only", help="regular expression on job names")
    ap.add_argument("--resume", action="store_true", help="what passed before from the same sources is not run again")
    args = ap.parse_args()
    kept = Kept(args)

    jobs = [j for make in (unit_jobs, script_jobs, replay_jobs, example_jobs, gate_jobs) for j in make(args)]
    if FULL and args.mode != "release":
        # What is in full is so in the code that ships. With a sanitizer the sweeps are as well, there with each 15th byte: an odd
        # step meets every byte of the fields of 2, 4 and 8. Each fourth took 50 minutes of two hours.
        for j in jobs:
            j.env.update({"CV_STEP": os.environ.get("CV_STEP", "15")} if j.name in SWEEPS else {"CV_FULL": ""})
    if not FULL:
        for j in jobs:
            asan_in_a_push(j)
    if args.only:
        jobs = [j for j in jobs if re.search(args.only, j.name)]
    old = [j for j in jobs if kept.take(j)]
    every, jobs = jobs, [j for j in jobs if j not in old]
    for j in old:
        print("kept  %s  %d passed, %d skipped before from these sources" % (j.name, j.passed, j.skipped), flush=True)
    for j in jobs:
        if FULL and j.name in SWEEPS:
            split(j, min(PARTS_PER_JOB * max(1, args.jobs), MOST_PARTS))
    parts = [p for j in jobs for p in j.parts]
    width = max([len(j.name) for j in jobs + parts] + [10])
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, args.jobs)) as pool:
        # The parts last: they are of one length and leave no core alone with a long script.
        pending = [pool.submit(run_job, j, args.build) for j in jobs if not j.alone and not j.parts] + \
                  [pool.submit(run_job, p, args.build) for p in parts]
        for done in concurrent.futures.as_completed(pending):
            show(done.result(), width, args.build)
            if done.result() in jobs:
                kept.add(done.result())
    for j in jobs:
        if j.parts:
            join(j)
            show(j, width, args.build)
            kept.add(j)
    for j in jobs:
        if j.alone:
            show(run_job(j, args.build), width, args.build)
            kept.add(j)

    jobs = every
    say_leaks_later(jobs, args.mode)
    skipped = [j for j in jobs if j.skipped]
    for j in skipped:
        print("SKIPPED: %s: %s" % (j.name, j.why), flush=True)
    bad = [j.name for j in jobs if j.failed]
    if bad:
        print("FAILED: " + ", ".join(bad))
    print("%d jobs in %.0f s" % (len(jobs), time.monotonic() - start))
    totals = [sum(getattr(j, k) for j in jobs) for k in ("passed", "failed", "skipped")]
    print("%d passed, %d failed, %d skipped" % tuple(totals), flush=True)
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
