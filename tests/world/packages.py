#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages against what the tools of the system unpack from them into memory: processor time and memory of all processes, findings, and whether the
pieces of device code are the same, by SHA-256. Prints a row of Markdown for each. Wheels and zip files need unzip, debs dpkg-deb, rpms rpm2cpio and
cpio, conda packages and tar files tar and zstd, archives of images skopeo and umoci (only what is in the image is compared).

  packages.py --cuvet build/cuvet [--rounds 3] PACKAGE...
"""
import argparse
import collections
import ctypes
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def below(pid):
    yield pid
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as f:
                for child in f.read().split():
                    yield from below(int(child))
    except OSError:
        return


def share(pid):
    """Of memory, what it shares with others counted in parts: kB."""
    try:
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("Pss:")), 0)
    except OSError:
        return 0


class Run:
    """A command with all that it starts: output, processor time, and the most memory of all of them together."""

    def __init__(self, argv, watch=False, **how):
        with tempfile.TemporaryFile() as out:
            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, **how)
            self.together, self.seconds, over = 0, 0.0, threading.Event()
            watcher = threading.Thread(target=self.look, args=(p.pid, over))
            if watch:
                watcher.start()
            while True:  # orphans become ours
                try:
                    pid, status, usage = os.wait4(-1, 0)
                except ChildProcessError:
                    break
                self.seconds += usage.ru_utime + usage.ru_stime
                if pid == p.pid:
                    self.rc = p.returncode = os.waitstatus_to_exitcode(status)
            over.set()
            if watch:
                watcher.join()
            out.seek(0)
            self.out = out.read().decode()

    def look(self, pid, over):
        while not over.is_set():
            self.together = max(self.together, sum(map(share, below(pid))) >> 10)
            time.sleep(.01)


def is_image(path):
    names = subprocess.run(["tar", "tf", path], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return "manifest.json" in names or "index.json" in names


def unpackers(path, into):
    q = "'%s'" % path
    if path.endswith((".whl", ".zip")):
        return ["unzip -q -o %s -d '%s'" % (q, into)]
    if path.endswith(".deb"):
        return ["dpkg-deb -x %s '%s'" % (q, into)]
    if path.endswith(".rpm"):
        return ["cd '%s' && rpm2cpio %s | cpio -idm --quiet" % (into, q)]
    if path.endswith(".conda"):
        return ["unzip -q -o %s -d '%s'" % (q, into), "cd '%s' && for f in *.tar.zst; do tar xf $f && rm $f; done" % into]
    if is_image(path):
        kind = "oci-archive" if "index.json" in subprocess.run(["tar", "tf", path], stdout=subprocess.PIPE, text=True, check=True).stdout.split() else "docker-archive"
        return ["cd '%s' && skopeo copy -q --insecure-policy %s:%s oci:lay:x && umoci unpack --rootless --image lay:x b >/dev/null && rm -rf lay" % (into, kind, q)]
    return ["tar xf %s -C '%s'" % (q, into)]


def pieces(text):
    """{SHA-256: how many} of what is no leftover of a lower layer."""
    out, files = collections.Counter(), collections.defaultdict(list)
    for line in text.splitlines():
        o = json.loads(line)
        if o["type"] == "member":
            files[o["file"]].append(o.get("sha256") or "%s %s" % (o["kind"], o["stored_size"]))
        elif o["type"] == "verdict" and "image" not in o:
            out.update(files[o["file"]])
    return out


def show(cuvet, path, rounds):
    ours, theirs, scans = [], [], []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as d:
        for _ in range(rounds):
            into = os.path.join(d, "x")
            os.makedirs(into)
            unpacked = sum(Run(["sh", "-c", c]).seconds for c in unpackers(path, into))
            folder = Run([cuvet, "scan", "-r", into])
            package = Run([cuvet, "scan", "--format=ndjson", path], stderr=subprocess.DEVNULL)
            ours.append(package.seconds)
            theirs.append(unpacked)
            scans.append(folder.seconds)
            if len(ours) < rounds:
                shutil.rmtree(into)
        watched = Run([cuvet, "scan", path], watch=True, stderr=subprocess.DEVNULL)
        memory = watched.together
        same = pieces(Run([cuvet, "list", "--kernels", "--format=ndjson", path], stderr=subprocess.DEVNULL).out) == pieces(
            Run([cuvet, "list", "--kernels", "--format=ndjson", "-r", os.path.join(d, "x")], stderr=subprocess.DEVNULL).out)
    objects = [json.loads(line) for line in package.out.splitlines()]
    verdicts = [o for o in objects if o["type"] == "verdict"]
    found = sum(o["findings"] for o in verdicts) + sum(o["verdict"] in ("malformed", "suspicious", "limit", "error") for o in verdicts)
    ratio = statistics.median(o / (t + s) for o, t, s in zip(ours, theirs, scans))
    print("| %s | %d MB | %d | %d | %d | %s | %.2f s | %.2f + %.2f s | %.2f | %d MB |" % (
        os.path.basename(path), os.path.getsize(path) // 1000000, [o for o in objects if o["type"] == "package"][-1]["entries"], sum(o["members"] + o["images"] for o in verdicts), found,
        "yes" if same else "**no**", statistics.median(ours), statistics.median(theirs), statistics.median(scans), ratio, memory), flush=True)
    return found == 0 and same


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--cuvet", required=True)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("package", nargs="+")
    a = p.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print("| Package | | Entries | Pieces | Findings | As unpacked | `scan PACKAGE` | unpack + scan | Ratio | Memory |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|")
    good = [show(os.path.abspath(a.cuvet), os.path.abspath(path), a.rounds) for pattern in a.package for path in sorted(glob.glob(pattern)) or [pattern]]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
