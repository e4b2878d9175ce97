#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects that are made on purpose in a scan (edits_scan.py) and before a link (edits_input.py), one at a time: does a test notice?

  planted_tests.py --build build/planted [--jobs N] [--totals FILE] [DEFECT ...]

Asked are, up to the first that notices: the hostile files of the rules that are named near the edit, and their neighbours, which a scan
has to answer as corpus/hostile/EXPECTED.tsv says; what the row names; the unit tests of the edit's layer, then those of others; scripts;
all hostile files.
A test has noticed a defect if it made it (its process says so, tests/planted/switch.c) and failed, and passes without it. One that fails
without having made it is an error. A defect that no test has made was not asked; that, and one that nobody notices, fails the command.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import tables
import totals
from tables import ROOT

sys.path += [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "corpus")]
import bounded  # noqa: E402
import hostile  # noqa: E402  how the hostile files are asked in `make check`
import registry  # noqa: E402

UNITS = ("codec", "format", "cubin", "host", "intake", "scan", "target", "base", "bytes")
SUITES = ("linker_files", "linker_hosts", "linker", "linker rules", "linker hostile", "linker lanes", "input", "compiler")  # of unit_api, which is slow as a whole
SCRIPTS = ("tests/cli/test_golden.py", "tests/cli/test_select.py")
NEAR = 6  # lines around an edit in which a rule is named
SECONDS = 600  # of one test; the processor's time is what ends one that hangs
PROCESSOR_SECONDS = 30

Test = collections.namedtuple("Test", "name words suite")
Files = collections.namedtuple("Files", "name rows")


def hostile_rows():
    with open(os.path.join(ROOT, "corpus", "hostile", "MANIFEST.tsv"), encoding="utf-8") as h:
        head, *lines = (line.rstrip("\n").split("\t") for line in h)
    return [dict(zip(head, line)) for line in lines]


class Tests:
    def __init__(self, build, scratch):
        self.build, self.scratch = os.path.abspath(build), scratch
        self.cuvet = os.path.join(self.build, "cuvet")
        self.unit = {name: Test("unit_" + name, [os.path.join(self.build, "tests", "unit_" + name)], None) for name in UNITS}
        self.api = [Test("unit_api: " + suite, [os.path.join(self.build, "tests", "unit_api")], suite) for suite in SUITES]
        self.scripts = [Test(path, [sys.executable, path], None) for path in SCRIPTS]
        self.rows, self.expected, self.ids = hostile_rows(), hostile.read_expected(), registry.rules(os.path.join(ROOT, "spec"))
        self.clean, self.lock = {}, threading.Lock()

    def near(self, defect):
        """hostile files of the rules that are named around the edit"""
        with open(os.path.join(ROOT, defect.source), encoding="utf-8") as h:
            text = h.read()
        at, size = defect.place(text)
        line, last = text.count("\n", 0, at), text.count("\n", 0, at + size)
        lines = text.splitlines()[max(line - NEAR, 0):last + NEAR]
        rules = {self.ids[name][0] for name in re.findall(r"\bCV_R_(\w+)", "\n".join(lines)) if name in self.ids}
        rules |= {self.ids[name][0] for name in (defect.asked,) if name in self.ids}
        return Files("hostile files", [row for row in self.rows if row["rule"] in rules])

    def named(self, text):
        """a test as the rows of defects name it: "unit_base", "unit_base: suite", a script"""
        name, _, suite = text.partition(": ")
        if name.endswith(".py"):
            return [Test(name, [sys.executable, name], None)]
        return [Test(text, [os.path.join(self.build, "tests", name)], suite or None)] if name.startswith("unit_") else []

    def order(self, defect):
        layer = defect.source.split("/")[1]
        own = [self.unit[layer]] if layer in self.unit else []
        rest = [test for test in self.unit.values() if test not in own]
        first, then = (self.api, rest) if defect.part == "input" else (rest, self.api)
        return [self.near(defect), *self.named(defect.asked), *own, *first, *then, *self.scripts, Files("all hostile files", self.rows)]

    def ask_files(self, files, env):
        """the first file that is answered otherwise"""
        for row in files.rows:
            try:
                _, verdict, raised, _, _ = hostile.scan(self.cuvet, row["file"], row["options"], env)
                if hostile.summary(row, verdict, raised) != self.expected.get(row["file"]):
                    return "corpus/" + row["file"]
                code, _, raised, _, _ = hostile.scan(self.cuvet, row["legal"], row["legal_options"], env)
                if row["rule"] in raised or code not in (0, 1):
                    return "corpus/" + row["legal"]
            except (subprocess.TimeoutExpired, ValueError):
                return "corpus/" + row["file"]
        return None

    def ask(self, test, defect):
        """who failed (None: nobody), was the defect made"""
        folder = tempfile.mkdtemp(dir=self.scratch)
        made = os.path.join(folder, "made")
        with open(made, "wb") as h:
            h.write(bytes(1))
        env = dict(os.environ, CUVET=self.cuvet, CV_BUILD=self.build, CV_TMP=folder, TMPDIR=folder, CV_PLANT=defect, CV_PLANT_MADE=made)
        env.setdefault("CK_TIMEOUT_MULTIPLIER", "25")  # a busy machine is no reason to notice something; PROCESSOR_SECONDS are
        if isinstance(test, Files):
            failed = self.ask_files(test, env)
        else:
            if test.suite:
                env["CK_RUN_SUITE"] = test.suite
            failed = None if bounded.passes(test.words, SECONDS, PROCESSOR_SECONDS, env=env, cwd=ROOT) else test.name
        with open(made, "rb") as h:
            was_made = h.read() != bytes(1)
        shutil.rmtree(folder, ignore_errors=True)
        return failed, was_made

    def is_clean(self, test, who):
        """It passes without a defect, which is asked once."""
        if isinstance(test, Files):
            test = Files(test.name, [row for row in test.rows if who in ("corpus/" + row["file"], "corpus/" + row["legal"])])
        with self.lock:
            known = self.clean.get(who)
        if known is None:
            known = self.ask(test, "")[0] is None
            with self.lock:
                self.clean[who] = known
        return known

    def try_defect(self, defect):
        """who made it, who noticed it, what went wrong"""
        makers = []
        for test in self.order(defect):
            failed, made = self.ask(test, defect.name)
            if made:
                makers.append(test.name)
            if failed and not self.is_clean(test, failed):
                return makers, None, "%s fails without a defect" % failed
            if failed:
                return makers, failed if made else None, None if made else "%s fails, and did not make it" % failed
        return makers, None, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--totals")
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    defects = [edit for edit in tables.EDITS if edit.part != "models" and not args.defect]
    defects += [edit for edit in tables.EDITS if edit.part != "models" and edit.name in args.defect]
    began, count, noticed = time.monotonic(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="cuvet-planted-") as scratch, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        tests = Tests(args.build, scratch)
        for defect, (makers, by, why) in zip(defects, pool.map(tests.try_defect, defects)):
            count[defect.part] += 1
            noticed[defect.part] += by is not None
            print("%-6s %-30s %s" % (defect.part, defect.name, "noticed by " + by if by else why or (
                "NOT NOTICED, made in: " + ", ".join(makers) if makers else "NEVER MADE")), flush=True)
    for part in count:
        print("%s: %d defects, %d noticed" % (part, count[part], noticed[part]))
        totals.add(args.totals, part, count[part], noticed[part])
    wrong = len(defects) - sum(noticed.values())
    print("%d defects, %d of them noticed by no test; %.0f seconds" % (len(defects), wrong, time.monotonic() - began))
    return wrong != 0 or not defects


if __name__ == "__main__":
    sys.exit(main())
