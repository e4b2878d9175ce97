#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects that are made on purpose in every stage (tables.py), one at a time: does a fuzz target notice?

  planted_fuzz.py --plain build/planted --build build/planted-fuzz [--minutes 5] [--jobs N] [--fresh] [DEFECT ...]

First the targets that concern the part of the tree (TARGETS) replay their committed inputs, up to the first that notices: those of --plain, a build
without sanitizers, which is ten times as fast, and then, where none of these notices, those of --build. What none of these notices is fuzzed, for so many minutes in all, by the targets in which it was made while they replayed; 0 minutes: nothing is fuzzed.
A target has noticed a defect if it made it (its process says so) and ended by a property that does not hold, a report of a sanitizer, a
signal, or because it came to no end. Without a defect it has to run through its inputs, and through what the engine found.

Results are kept in planted-fuzz.tsv in the folder of --plain with a hash of the targets and inputs that they were got with: a run that was stopped goes on
where it was, and what changed is asked again. Survivors are named with a reason in known_fuzz.tsv; one that is not, one that is noticed
although it stands there, or a share below SHARE fails the command.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import tables
from tables import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))
import corpora  # noqa: E402
import fuzzing  # noqa: E402
import runtests  # noqa: E402

KNOWN = os.path.join(tables.FOLDER, "known_fuzz.tsv")
HEAD = "# Defects that no fuzz target notices, and why.\n"
SHARE = 95
PARTS = ("scan", "input", "link", "finalize", "models")
# Cheap ones first, and those that know most.
TARGETS = {
    "scan": "verdict fields places choices admits fatbin elf note tlv meta lz4 zstd ptx archive offload bytes ledger cubin model classify hostobj scan readers elf_api input linkfile api_sequence alloc_fault",
    "input": "choices hosts admits places fields verdict archive offload hostobj select linkfile input readers scan link api_sequence",
    "link": "writer reach propagate shared slots describe resolve relocate layout link linkfile alloc_fault",
    "finalize": "finalize backend dwarf compat",
}
PROCESSOR_SECONDS = 120  # of one target and its inputs, which need a tenth of it
SAID = re.compile(r"^(\S+ property does not hold: .*|SUMMARY: .*|.*runtime error: .*|trap: .*)$", re.M)

Result = collections.namedtuple("Result", "how target seconds said key")  # how: replay, fuzz, missed


def defects():
    """(part, name, the targets that are asked)"""
    known = sorted(fuzzing.targets())
    for edit in tables.EDITS:
        yield edit.part, edit.name, [edit.asked] if edit.part == "models" else TARGETS[edit.part].split()
    for part, files in (("link", ("plant.c", "plant_more.c")), ("finalize", ("plant_final.c",))):
        for name, _ in tables.of_stages(*files):
            yield part, name, TARGETS[part].split()
    for name, rest in tables.of_stages("plant_models.c"):
        assert rest.strip('"') in known
        yield "models", name, [rest.strip('"')]


def targets():
    return sorted({target for _, _, asked in defects() for target in asked if target in fuzzing.targets()})


class Fuzz:
    def __init__(self, build, plain, scratch):
        self.build, self.plain, self.scratch = os.path.abspath(build), os.path.abspath(plain), scratch
        self.env = dict(os.environ, **runtests.sanitizer_env())
        self.kinds = ("plain", "replay")
        self.keys = {target: self.digest(target) for target in targets()}

    def program(self, kind, target):
        return os.path.join(self.plain, "replay", target) if kind == "plain" else os.path.join(self.build, kind, target)

    def digest(self, target):
        """of the target and of what it replays"""
        sha = hashlib.sha256()
        for path in [self.program("plain", target), self.program("replay", target), *corpora.files(target)]:
            if not os.path.exists(path):
                continue
            with open(path, "rb") as h:
                sha.update(hashlib.sha256(h.read()).digest())
        return sha.hexdigest()[:12]

    def key(self, asked):
        return hashlib.sha256("".join(self.keys[target] for target in asked).encode()).hexdigest()[:12]

    def run(self, words, defect, seconds=None):
        """(did it end well, was the defect made, what it said)"""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryFile(dir=self.scratch) as out:
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=out, stdin=subprocess.DEVNULL, cwd=ROOT, start_new_session=True,
                                  preexec_fn=None if seconds else limit, env=dict(self.env, CV_PLANT=defect)) as child:
                try:
                    code = child.wait(seconds + 120 if seconds else None)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    code = child.wait()
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
        said = SAID.search(text)
        return code == 0, "planted: %s\n" % defect in text, said[0].strip() if said else "ended with %d" % code

    def check_clean(self, target):
        """It runs all of its inputs without a defect."""
        for kind in self.kinds:
            well, _, said = self.run([self.program(kind, target), *corpora.files(target)], "")
            if not well:
                raise SystemExit("%s: fails without a defect: %s" % (target, said))

    def replay(self, name, asked):
        """who notices, and who makes it"""
        makers = []
        for kind in self.kinds:
            # What is not made is not made in the other build either.
            for target in list(makers) if kind != self.kinds[0] else asked:
                began = time.monotonic()
                well, made, said = self.run([self.program(kind, target), *corpora.files(target)], name)
                if not well and not made:
                    raise SystemExit("%s: %s fails, and did not make it: %s" % (name, target, said))
                if not well:
                    return Result("replay", target, "%.1f" % (time.monotonic() - began), said, self.keys[target]), makers
                if made and target not in makers:
                    makers.append(target)
        return None, makers

    def fuzz(self, name, target, seconds):
        """One target under libFuzzer, from all that is committed."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        fuzzing.put(os.path.join(folder, "corpus"), fuzzing.inputs(target))
        words = [self.program("fuzz", target), *("-%s=%d" % option for option in fuzzing.libfuzzer_options(target).items()),
                 "-max_total_time=%d" % seconds, "-seed=1", "-artifact_prefix=" + folder + "/", "-print_final_stats=0"]
        if fuzzing.dictionary(target):
            words.append("-dict=" + fuzzing.dictionary(target))
        began = time.monotonic()
        well, made, said = self.run([*words, os.path.join(folder, "corpus")], name, seconds)
        found = [os.path.join(folder, f) for f in os.listdir(folder) if f.startswith(("crash-", "timeout-", "oom-", "leak-"))]
        result = None
        if not well and found:
            if not self.run([self.program("replay", target), *found], "")[0]:
                kept = os.path.join(self.build, "found-" + os.path.basename(found[0]))
                shutil.copyfile(found[0], kept)
                raise SystemExit("%s: finds something without the defect %s: %s" % (target, name, kept))
            if made:
                result = Result("fuzz", target, "%.0f" % (time.monotonic() - began), said, self.keys[target])
        shutil.rmtree(folder, ignore_errors=True)
        return result

    def ask(self, name, asked, minutes):
        result, makers = self.replay(name, asked)
        for target in () if result or not minutes else makers or asked:
            result = self.fuzz(name, target, max(60 * minutes // len(makers or asked), 5))
            if result:
                break
        return result or Result("missed", " ".join(makers) or "-", str(60 * minutes), "made in " + (" ".join(makers) or "none of them"), self.key(asked))


class State:
    """What is known from earlier runs."""

    def __init__(self, path, fresh):
        self.path, self.rows, self.lock = path, {}, threading.Lock()
        if fresh and os.path.exists(path):
            os.unlink(path)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as h:
                for line in h:
                    name, *rest = line.rstrip("\n").split("\t")
                    self.rows[name] = Result(*rest)

    def get(self, fuzz, name, asked, minutes):
        row = self.rows.get(name)
        if row and row.how == "missed":
            return row if row.key == fuzz.key(asked) and int(row.seconds) >= 60 * minutes else None
        return row if row and row.key == fuzz.keys.get(row.target) else None

    def put(self, name, row):
        with self.lock, open(self.path, "a", encoding="utf-8") as h:
            self.rows[name] = row
            h.write("\t".join((name, *row)) + "\n")


def known():
    with open(KNOWN, encoding="utf-8") as h:
        return dict(line.split("\t", 1) for line in h.read().splitlines() if line and not line.startswith("#"))


def tell(rows):
    """The table; the survivors."""
    print("%-10s %8s %8s %8s %8s %8s" % ("part", "defects", "noticed", "replayed", "fuzzed", "of 100"))
    for part in (*PARTS, "all"):
        of = [row for its, _, row in rows if part in (its, "all")]
        how = collections.Counter(row.how for row in of)
        if of:
            print("%-10s %8d %8d %8d %8d %8.1f" % (part, len(of), how["replay"] + how["fuzz"], how["replay"], how["fuzz"], 100 * (len(of) - how["missed"]) / len(of)))
    return [(part, name, row) for part, name, row in rows if row.how == "missed"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/planted-fuzz", help="of MODE=planted-fuzz")
    parser.add_argument("--plain", default="build/planted", help="of MODE=planted")
    parser.add_argument("--only-plain", action="store_true", help="no sanitizers, and nothing is fuzzed")
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("defect", nargs="*")
    parser.add_argument("--without", default="", help="targets that are not asked, for a comparison; nothing is kept")
    parser.add_argument("--targets", action="store_true", help="print which targets are asked")
    args = parser.parse_args()
    if args.targets:
        print(*targets())
        return 0
    began, reasons, rows = time.monotonic(), known(), []
    there = set(fuzzing.targets()) - set(args.without.split(","))
    chosen = [(part, name, [t for t in asked if t in there]) for part, name, asked in defects()
              if args.part in (None, part) and (not args.defect or name in args.defect)]
    state = State(os.path.join(args.plain, "without.tsv" if args.without else "planted-fuzz.tsv"), args.fresh or args.without)
    with tempfile.TemporaryDirectory(prefix="cuvet-planted-") as scratch, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        fuzz = Fuzz(args.build, args.plain, scratch)
        fuzz.kinds = ("plain",) if args.only_plain else ("plain", "replay")
        left = [(name, asked) for _, name, asked in chosen if not state.get(fuzz, name, asked, args.minutes)]
        list(pool.map(fuzz.check_clean, sorted({target for _, asked in left for target in asked})))
        # What is noticed by replaying is known soon.
        for minutes in (0,) if args.only_plain else sorted({0, args.minutes}):
            todo = [(name, asked) for name, asked in left if not state.get(fuzz, name, asked, minutes)]
            for (name, _), row in zip(todo, pool.map(lambda d: fuzz.ask(*d, minutes), todo)):  # pylint: disable=cell-var-from-loop
                state.put(name, row)
                print("%-30s %s" % (name, "NOT NOTICED, " + row.said if row.how == "missed" else "%s %s: %s" % (row.how, row.target, row.said)), flush=True)
        rows = [(part, name, state.rows[name]) for part, name, _ in chosen]
    missed, bad = tell(rows), 0
    for part, name, row in missed:
        bad += name not in reasons
        print("%-8s %-30s %s; %s" % (part, name, row.said, reasons.get(name, "NO REASON is given")))
    for name in sorted(reasons):
        if any(name == its and row.how != "missed" for _, its, row in rows):
            bad += 1
            print("%s: stands in known_fuzz.tsv, and is noticed" % name)
    share = 100 * (len(rows) - len(missed)) / max(len(rows), 1)
    print("%d defects, %d of them noticed by no target, %.1f of 100 noticed; %.0f seconds" % (len(rows), len(missed), share, time.monotonic() - began))
    return bool(bad) or not rows or (share < SHARE and not args.defect)


if __name__ == "__main__":
    sys.exit(main())
