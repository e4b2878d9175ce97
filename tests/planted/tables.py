# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The defects of this folder, in whichever table they stand, and who has to notice each. Nothing else knows what a row looks like.

An edit of a source (edits_models.py, edits_scan.py, edits_input.py) is a row: its name, the source, what stands there once, what stands there
instead, and who is asked: a fuzz target, or a rule, whose files are scanned, or a test (planted_tests.py).
Of the text the part in [[ ]] is replaced, or all of it; what is in {{ }} does something, and is not even evaluated where it is replaced.

A defect of a stage (plant*.c) is a row of a table in C: its name, the stage, the function that makes it, and numbers; in plant_models.c
the fuzz target instead of them.
"""
import collections
import os
import re

import edits_input
import edits_models
import edits_scan

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
STAGE_ROW = re.compile(r'^    \{ "([\w-]+)", "[\w ]+", \w+(?:, ([^}]+))? \},$', re.M)
MARKS = {"[[": "]]", "{{": "}}"}


class Edit(collections.namedtuple("Edit", "part name source text instead asked", defaults=("",))):
    @property
    def mark(self):
        return next((mark for mark in MARKS if mark in self.text), "")

    @property
    def pieces(self):
        """what stands before the part that is replaced, that part, and what stands behind it"""
        if not self.mark:
            return "", self.text, ""
        before, _, rest = self.text.partition(self.mark)
        part, _, after = rest.partition(MARKS[self.mark])
        return before, part, after

    def place(self, text):
        """where it begins in the text of its source, and how long it is"""
        whole = "".join(self.pieces)
        if text.count(whole) != 1:
            raise SystemExit("%s: %r is there %d times" % (self.name, whole, text.count(whole)))
        return text.index(whole), len(whole)


PARTS = (("models", edits_models.EDITS), ("scan", edits_scan.EDITS), ("input", edits_input.EDITS))
EDITS = [Edit(part, *row) for part, rows in PARTS for row in rows]  # as they are numbered, from 1 on

for twice, many in collections.Counter(edit.name for edit in EDITS).items():
    if many != 1:
        raise SystemExit("%s: %d edits have this name" % (twice, many))


def of_stages(*files):
    """name, and what stands behind the function, of the defects in these tables"""
    for file in files:
        with open(os.path.join(FOLDER, file), encoding="utf-8") as h:
            yield from STAGE_ROW.findall(h.read())


def of_models():
    """name and fuzz target of the defects that only a model notices"""
    return [(name, rest.strip('"')) for name, rest in of_stages("plant_models.c")] + [
        (edit.name, edit.asked) for edit in EDITS if edit.part == "models"]
