#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the tests that the Makefile built, count them, and end with one line: N passed, N failed, N skipped.

Unit binaries and scripts report their own counts; a replay counts its inputs; a gate counts as one. What is skipped
is printed again at the end, so that nobody mistakes an absent tool for a passed test.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
SCRIPT_DIRS = ("cli", "golden", "differential", "malformed", "property")
SHARED_CORPORA = ("samples", "hostile", "legal")
LIGHT_GATES = ("layers", "bans", "docs", "generated", "hostile")  # may share the machine with tests
SKIP = 77
FULL = bool(os.environ.get("CV_FULL"))  # make check-full: sweeps may take hours


class Job:
    """One child process and what its end means."""

    def __init__(self, name, argv, count=None, env=None, timeout=600, alone=False):
        self.name, self.argv, self.count = name, argv, count
        self.env, self.timeout, self.alone = env or {}, timeout, alone
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


def files_under(path):
    out = []
    for base, dirs, names in os.walk(path):
        dirs.sort()
        out += [os.path.join(base, n) for n in sorted(names)
                if not n.startswith((".", "README")) and not n.endswith((".md", ".txt", ".json"))]
    return out


def run_job(job, build):
    scratch = tempfile.mkdtemp(prefix="cuvet-test-")
    env = dict(os.environ, CUVET=os.path.join(os.path.abspath(build), "cuvet"), CV_BUILD=os.path.abspath(build),
               CV_SRC=ROOT, CV_TMP=scratch, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    env.update(sanitizer_env())
    env.update(job.env)
    for k in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MODE", "BUILD"):
        env.pop(k, None)
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
    if rc != 0:
        job.failed = max(job.failed, 1)
        if not found:
            job.passed = 0
    elif job.passed + job.failed + job.skipped == 0:
        job.failed, job.output = 1, job.output + "\nit ran no test at all"


def show(job, width):
    word = "FAIL" if job.failed else "skip" if job.skipped and not job.passed else "ok"
    what = "%d passed" % job.passed
    what += ", %d failed" % job.failed if job.failed else ""
    what += ", %d skipped" % job.skipped if job.skipped else ""
    print("%-4s  %-*s  %s  (%.1f s)" % (word, width, job.name, what, job.seconds), flush=True)
    if job.failed:
        lines = job.output.strip().splitlines()
        cut = lines if len(lines) <= 60 else lines[:20] + ["  ... %d lines ..." % (len(lines) - 60)] + lines[-40:]
        print("\n".join("      | " + l[:300] for l in cut), flush=True)


def unit_jobs(args):
    for b in args.unit or []:
        # Forked, each test has its own process; instrumented builds run in one, which is also the leak check.
        fork = "no" if args.mode in ("asan", "cov", "tsan", "int") else "yes"
        name = os.path.basename(b)
        yield Job("unit/" + name[5:] if name.startswith("unit_") else "tests/" + name, [b],
                  env={"CK_FORK": fork, "CK_VERBOSITY": "normal", "CK_DEFAULT_TIMEOUT": "14400" if FULL else "120"},
                  timeout=6 * 3600 if FULL else 600)


def script_jobs(args):
    if not args.scripts:
        return
    for d in SCRIPT_DIRS:
        for f in files_under(os.path.join(ROOT, "tests", d)):
            base = os.path.basename(f)
            runner = {".sh": ["sh"], ".py": [sys.executable]}.get(os.path.splitext(base)[1])
            if runner is None or base.startswith(("_", "lib")):
                continue
            if open(f, "rb").readline().rstrip().endswith(b"bash"):
                runner = ["bash"]
            yield Job(os.path.relpath(f, os.path.join(ROOT, "tests")), runner + [f],
                      timeout=7200 if FULL else 600)


def replay_jobs(args):
    if not args.replay:
        return
    names = sorted(os.listdir(args.replay)) if os.path.isdir(args.replay) else []
    for name in names:
        dirs = [os.path.join(ROOT, "corpus", name, s) for s in ("seed", "grown", "regress")]
        if name == "scan":
            dirs += [os.path.join(ROOT, "corpus", s) for s in SHARED_CORPORA]
        files = [f for d in dirs for f in files_under(d)]
        if not files:
            yield Job("replay/" + name, ["sh", "-c", "echo no corpus for this target; exit %d" % SKIP])
            continue
        # In batches, so that a failure names few files and two cores have something to share.
        size = max(1, (len(files) + 3) // 4) if name == "scan" else len(files)
        for i in range(0, len(files), size):
            part = files[i:i + size]
            label = "replay/" + name + ("" if size == len(files) else "[%d]" % (i // size))
            yield Job(label, [os.path.join(args.replay, name)] + part, count=len(part), timeout=900)


def example_jobs(args):
    for b in args.examples or []:
        yield Job("example/" + os.path.basename(b), ["sh", "tools/run_example.sh", b])


def gate_jobs(args):
    for g in args.gates or []:
        yield Job("gate/" + g, ["make", "--no-print-directory", "BUILD=" + args.build, "check-" + g if g not in
                                ("lint", "coverage") else g], timeout=8 * 3600 if FULL else 3600, alone=g not in LIGHT_GATES)


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
    args = ap.parse_args()

    jobs = [j for make in (unit_jobs, script_jobs, replay_jobs, example_jobs, gate_jobs) for j in make(args)]
    if args.only:
        jobs = [j for j in jobs if re.search(args.only, j.name)]
    width = max([len(j.name) for j in jobs] + [10])
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, args.jobs)) as pool:
        pending = [pool.submit(run_job, j, args.build) for j in jobs if not j.alone]
        for done in concurrent.futures.as_completed(pending):
            show(done.result(), width)
    for j in jobs:
        if j.alone:
            show(run_job(j, args.build), width)

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
