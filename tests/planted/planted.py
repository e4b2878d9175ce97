#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defects that are made on purpose in the stages of a link (tests/planted/plant.c) and of a finalization
(plant_final.c), one at a time: is each noticed?

  planted.py --cuvet build/planted/cuvet [--totals FILE] [DEFECT ...]

Each defect of a link is made in every golden link (corpus/link), in every second one with threads. Where it was made
(the command says so) the link has to end with exit code 5 and no file: what noticed it is the rule that is said first.
A link that refuses for another reason (exit code 1) says nothing, nor does one whose file is what it would have been:
the defect was in what does not get into it. The table says for each defect in how many links it was
made, in how many it was noticed, and by what. known.tsv has the links in which one passes (docs/link.md says what the proof
leaves out): another one is an error. --accept writes it.

A file that is not what it would have been can still be right: where only a name differs that no section has, or where HARMLESS
says why for links of known.tsv. These are counted apart, neither as noticed nor as missed.

Each defect of a finalization is made in FINALIZATIONS of the golden inputs that have capsules. Whatever ends one that gives a
file without the defect has noticed it.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import struct
import subprocess
import sys
import tempfile

import tables
import totals

KNOWN = os.path.join(tables.FOLDER, "known.tsv")
HEAD = "# Defects of tests/planted/plant.c that nobody notices, and the golden links in which that is so.\n"
RULE = re.compile(r"error: .*\[(CV-[A-Z]+-\d+)\]")
STAGE = re.compile(r"invariant: stage (\d+)")
SAYS = re.compile(r"\b(CV-[A-Z]+-\d+)\b")
FINALIZATIONS = [(arch, options) for arch in ("100", "103") for options in ((), ("--binary-kind=sass",), ("--binary-kind=sass", "--tkinfo"))]
FINAL_INPUTS = 12

HARMLESS = {  # a defect, and how the names of links begin
    ("zeros-align", ""): "the section is still aligned for everything that lies in it (CV-LINK-112)",
    ("shared-near", ""): "the variable moved with all of its uses, to a free place that is aligned for it",
    ("constant-longer", "slots_most"): "slots begin further on, in all banks and for all uses",
    ("constant-longer", "slots_kinds"): "the same",
    ("constant-longer", "tex_ref_ptx"): "the same",
    ("constant-longer", "texture_low"): "the same",
    ("function-dropped", "kept_unreached"): "no kernel reaches the function",
    ("calls-byte", "kernel_address"): "the other place in .strtab has an empty text, too: there is no prototype",
    ("kept-other-symbol", "alias_ptx"): "the other symbol names the same place",
    ("row-symbol", "alias_ptx"): "the same",
    ("row-symbol", "kernels_local"): "the same: a local function, and the symbol of its section",
    ("names-byte", "kernel_told"): "no symbol of the result has the name: it is kept for none",
}


def is_harmless(defect, case):
    return any(defect == name and case.startswith(link) for name, link in HARMLESS)


def names_apart(data):
    """The names of the sections, and the file without the bytes that they stand in."""
    at, = struct.unpack_from("<Q", data, 40)
    count, table = struct.unpack_from("<HH", data, 60)
    off, size = struct.unpack_from("<QQ", data, at + 64 * table + 24)
    starts = [off + struct.unpack_from("<I", data, at + 64 * i)[0] for i in range(count)]
    return [data[start:data.index(b"\0", start)] for start in starts], data[:off], data[off + size:]


def reads_same(left, right):
    """No reader sees a difference: it lies in a name of a section that no section has."""
    try:
        return left is not None and right is not None and names_apart(left) == names_apart(right)
    except (struct.error, ValueError, IndexError):
        return False


def stages():
    with open(os.path.join(tables.ROOT, "spec", "recipe.def"), encoding="utf-8") as h:
        return re.findall(r"^(?:STAGE|JUDGE)\((\w+),", h.read(), re.M)[0:]


def known():
    with open(KNOWN, encoding="utf-8") as h:
        return {tuple(line.split("\t")) for line in h.read().splitlines() if not line.startswith("#")}


def cases():
    """name, target, options, inputs of each golden link that gives a file"""
    with open(os.path.join(tables.ROOT, "corpus", "link", "index.tsv"), encoding="utf-8") as h:
        for line in h.read().splitlines()[1:]:
            name, target, options, inputs, output = line.split("\t")[:5]
            if output.endswith(".cubin"):
                yield name, target, [o for o in options.split() if o != "-"], inputs.split()


class Planted:
    def __init__(self, cuvet, tmp):
        self.cuvet, self.tmp, self.stages, self.whole = cuvet, tmp, stages(), {}
        subprocess.run(["tar", "-C", tmp, "--zstd", "-xf", os.path.join(tables.ROOT, "corpus", "link", "golden.tar.zst")], check=True)

    def run(self, defect, case, out, jobs="1"):
        """exit code, what it says, the file (None: none)"""
        _, target, options, inputs = case
        p = subprocess.run([self.cuvet, "link", "-j", jobs, "-arch=" + target, *options, "-o", out] +
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
        rc, text, data = self.run(defect, case, os.path.join(self.tmp, "out-%s-%d" % (defect, number)), "3" if number % 2 else "1")
        if "planted: " not in text or rc == 1:
            return None
        said = RULE.findall(text)
        if rc != 5 or data is not None or not said:
            return None if data == self.whole.get(number) else "same" if reads_same(data, self.whole.get(number)) else ""
        stage = STAGE.search(text)
        return "stage %s" % self.stages[int(stage.group(1))] if said[0] == "CV-LINK-016" and stage else said[0]

    def finalizations(self):
        """name, options, input, file without a defect of each finalization that gives one"""
        for i in sorted({i for case in cases() if case[1] == "sm_100" for i in case[3]})[:FINAL_INPUTS]:
            for arch, options in FINALIZATIONS:
                name = " ".join(("finalize", i[:6], arch, *options))
                data = self.finalize("", arch, options, i, os.path.join(self.tmp, "whole-final"))[2]
                if data is not None:
                    yield name, arch, options, i, data

    def finalize(self, defect, arch, options, name, out):
        p = subprocess.run([self.cuvet, "finalize", "--arch", "sm_" + arch, *options, "-o", out, os.path.join(self.tmp, name)],
                           capture_output=True, text=True, check=False, env=dict(os.environ, CV_PLANT=defect))
        data = None
        if os.path.exists(out):
            with open(out, "rb") as h:
                data = h.read()
            os.unlink(out)
        return p.returncode, p.stderr, data

    def final_defect(self, name):
        found = []
        for case, arch, options, source, whole in self.final_cases:
            _, text, data = self.finalize(name, arch, options, source, os.path.join(self.tmp, "out-" + name))
            if "planted: " not in text or data == whole:
                continue
            said = [r for line in text.splitlines() if " error: " in line for r in SAYS.findall(line)]
            found.append((case, said[0] if data is None and said else ""))
        return name, found

    def defect(self, name, all_cases):
        if name.startswith("final-"):
            return self.final_defect(name)
        found = [(case[0] + " " + case[1], self.link(name, case, i)) for i, case in enumerate(all_cases)]
        return name, [(case, rule) for case, rule in found if rule is not None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuvet", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--totals")
    parser.add_argument("defect", nargs="*")
    args = parser.parse_args()
    chosen = args.defect or [name for name, _ in tables.of_stages("plant.c", "plant_more.c", "plant_final.c")]
    every, passes, bad = list(cases()), [], 0
    made = noticed = whole = never = harmless = 0
    count = collections.Counter()
    allowed = set() if args.accept else known()
    with tempfile.TemporaryDirectory(prefix="cuvet-planted-") as tmp, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        planted = Planted(os.path.abspath(args.cuvet), tmp)
        for i, case in enumerate(every):
            planted.whole[i] = planted.run("", case, os.path.join(tmp, "whole"))[2]
        planted.final_cases = list(planted.finalizations())
        for name, found in pool.map(lambda d: planted.defect(d, every), chosen):
            rules = collections.Counter(rule for _, rule in found if rule and rule != "same")
            missed = [case for case, rule in found if not rule]
            fine = [case for case, rule in found if rule == "same"] + [case for case in missed if is_harmless(name, case)]
            new = [case for case in missed if (name, case) not in allowed]
            passes += [(name, case) for case in missed]
            missed = [case for case in missed if not is_harmless(name, case)]
            harmless += len(fine)
            bad += not found or bool(new)
            made += len(found)
            noticed += len(found) - len(missed) - len(fine)
            whole += not missed and bool(found)
            part = "finalize" if name.startswith("final-") else "link"
            count[part] += 1
            count[part, "noticed"] += not missed and bool(rules)
            never += bool(found) and not rules
            print("%-26s made %3d  noticed %3d  %s%s%s" % (
                name, len(found), len(found) - len(missed) - len(fine), " ".join("%s:%d" % r for r in rules.most_common()),
                "" if rules else "  NEVER NOTICED" if found else "  NEVER MADE",
                ("  harmless %d" % len(fine) if fine else "") + ("  NOT NOTICED: " + ", ".join(new) if new else "")), flush=True)
    print("%d defects: %d are noticed wherever they make a file wrong, %d nowhere; of %d files %d noticed, %d harmless, %d missed" % (
        len(chosen), whole, never, made, noticed, harmless, made - noticed - harmless))
    for part in ("link", "finalize"):
        totals.add(args.totals, part, count[part], count[part, "noticed"])
    if args.accept:
        with open(KNOWN, "w", encoding="utf-8") as h:
            h.write(HEAD + "".join("%s\t%s\n" % p for p in sorted(set(passes))))
        return 0
    print("%d defects, %d of them with links in which they newly pass" % (len(chosen), bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
