#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects that are made on purpose in the stages of a link (tests/planted/plant.c), one at a time: is each noticed?

  planted.py --cuvet build/planted/cuvet [DEFECT ...]

Each defect is made in every golden link (corpus/link). Where it was made
(the command says so) the link has to end with exit code 5 and no file: what noticed it is the rule that is said first.
A link that refuses for another reason (exit code 1) says nothing, nor does one whose file is what it would have been:
the defect was in what does not get into it. The table says for each defect in how many links it was
made, in how many it was noticed, and by what. known.tsv has the links in which one passes (docs/link.md says what the proof
leaves out): another one is an error. --accept writes it.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KNOWN = os.path.join(ROOT, "tests", "planted", "known.tsv")
HEAD = "# Defects of tests/planted/plant.c that nobody notices, and the golden links in which that is so.\n"
RULE = re.compile(r"error: .*\[(CV-[A-Z]+-\d+)\]")
STAGE = re.compile(r"invariant: stage (\d+)")


def defects():
    found = []
    for name in ("plant.c", "plant_more.c"):
        with open(os.path.join(ROOT, "tests", "planted", name), encoding="utf-8") as h:
            found += re.findall(r'^    \{ "([\w-]+)", "\w+", \w+(?:, [^}]+)? \},$', h.read(), re.M)
    return found


def stages():
    with open(os.path.join(ROOT, "spec", "recipe.def"), encoding="utf-8") as h:
        return re.findall(r"^(?:STAGE|JUDGE)\((\w+),", h.read(), re.M)[0:]


def known():
    with open(KNOWN, encoding="utf-8") as h:
        return {tuple(line.split("\t")) for line in h.read().splitlines() if not line.startswith("#")}


def cases():
    """name, target, options, inputs of each golden link that gives a file"""
    with open(os.path.join(ROOT, "corpus", "link", "index.tsv"), encoding="utf-8") as h:
        for line in h.read().splitlines()[1:]:
            name, target, options, inputs, output = line.split("\t")[:5]
            if output.endswith(".cubin"):
                yield name, target, [o for o in options.split() if o != "-"], inputs.split()


class Planted:
    def __init__(self, cuvet, tmp):
        self.cuvet, self.tmp, self.stages, self.whole = cuvet, tmp, stages(), {}
        subprocess.run(["tar", "-C", tmp, "--zstd", "-xf", os.path.join(ROOT, "corpus", "link", "golden.tar.zst")], check=True)

    def run(self, defect, case, out):
        """exit code, what it says, the file (None: none)"""
        _, target, options, inputs = case
        p = subprocess.run([self.cuvet, "link", "--prove", "-arch=" + target, *options, "-o", out] +
                           [os.path.join(self.tmp, i) for i in inputs], capture_output=True, text=True, check=False,
                           env=dict(os.environ, CV_PLANT=defect))
        data = None
        if os.path.exists(out):
            with open(out, "rb") as h:
                data = h.read()
            os.unlink(out)
        return p.returncode, p.stderr, data

    def link(self, defect, case, number):
        """None: not made; else the rule that noticed it, or "" """
        rc, text, data = self.run(defect, case, os.path.join(self.tmp, "out-%s-%d" % (defect, number)))
        if "planted: " not in text or rc == 1:
            return None
        said = RULE.findall(text)
        if rc != 5 or data is not None or not said:
            return None if data == self.whole.get(number) else ""
        stage = STAGE.search(text)
        return "stage %s" % self.stages[int(stage.group(1))] if said[0] == "CV-LINK-016" and stage else said[0]

    def defect(self, name, all_cases):
        found = [(case[0] + " " + case[1], self.link(name, case, i)) for i, case in enumerate(all_cases)]
        return name, [(case, rule) for case, rule in found if rule is not None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuvet", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    every, passes, bad = list(cases()), [], 0
    made = noticed = whole = never = 0
    allowed = set() if args.accept else known()
    with tempfile.TemporaryDirectory(prefix="cuvet-planted-") as tmp, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        planted = Planted(os.path.abspath(args.cuvet), tmp)
        for i, case in enumerate(every):
            planted.whole[i] = planted.run("", case, os.path.join(tmp, "whole"))[2]
        for name, found in pool.map(lambda d: planted.defect(d, every), args.defect or defects()):
            rules = collections.Counter(rule for _, rule in found if rule)
            missed = [case for case, rule in found if not rule]
            new = [case for case in missed if (name, case) not in allowed]
            passes += [(name, case) for case in missed]
            bad += not found or bool(new)
            made += len(found)
            noticed += len(found) - len(missed)
            whole += not missed and bool(found)
            never += bool(found) and not rules
            print("%-20s made %3d  noticed %3d  %s%s%s" % (
                name, len(found), len(found) - len(missed), " ".join("%s:%d" % r for r in rules.most_common()),
                "" if rules else "  NEVER NOTICED" if found else "  NEVER MADE", "  NOT NOTICED: " + ", ".join(new) if new else ""), flush=True)
    print("%d defects: %d are noticed wherever they change a file, %d nowhere; %d of %d links" % (
        len(args.defect or defects()), whole, never, noticed, made))
    if args.accept:
        with open(KNOWN, "w", encoding="utf-8") as h:
            h.write(HEAD + "".join("%s\t%s\n" % p for p in sorted(set(passes))))
        return 0
    print("%d defects, %d of them with links in which they newly pass" % (len(args.defect or defects()), bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
