#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of the library with a switch at each edit: what was there, or, where CV_PLANT names the edit, what stands there instead.

  plant_sources.py --list       the sources that have edits
  plant_sources.py --check      does each edit stand in its source once?
  plant_sources.py FOLDER       write copies of them below FOLDER, and FOLDER/planted_edits.inc with the names of all edits

An edit (edits.py, edits_scan.py, edits_input.py, edits_open.py) says what stands in a source once, and what is there instead. Of the text, the part
in [[ ]] is replaced, or all of it. An expression becomes CV_PLANT_VALUE, where both are evaluated; one in {{ }}, which does something,
and a statement become a choice of two (tests/planted/switch.h).
"""
import os
import sys

import edits
import edits_input
import edits_open
import edits_scan

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def every():
    """name, source, text, what is there instead: of all edits, in the order of their numbers, which begin at 1"""
    rows = [(name, *edit) for name, _, *edit in edits.EDITS]
    rows += [tuple(row[:4]) for row in edits_scan.EDITS + edits_input.EDITS]
    rows += [tuple(row[1:5]) for row in edits_open.EDITS]
    for name in {row[0] for row in rows}:
        if sum(name == row[0] for row in rows) != 1:
            sys.exit("%s: two edits have this name" % name)
    return rows


def switched(number, name, text, old, new):
    mark = next((m for m in ("[[", "{{") if m in old), "")
    before, _, rest = old.partition(mark) if mark else ("", "", old)
    part, _, after = rest.partition("]]" if mark == "[[" else "}}") if mark else (old, "", "")
    whole = before + part + after
    if text.count(whole) != 1:
        sys.exit("%s: %r is there %d times" % (name, whole, text.count(whole)))
    if part.rstrip().endswith((";", "}")):
        done = "{ if (CV_PLANT_INSTEAD(%du)) { %s } else { %s } }" % (number, new.replace("\n", " "), part)
    elif mark == "{{":
        done = "(CV_PLANT_INSTEAD(%du) ? (%s) : (%s))" % (number, new.replace("\n", " "), part)
    else:
        done = "CV_PLANT_VALUE(%du, (%s), (%s))" % (number, part, new.replace("\n", " "))
    return text.replace(whole, before + done + after)


def write(path, text):
    """What has not changed is not compiled again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as h:
            if h.read() == text:
                return
    with open(path, "w", encoding="utf-8") as h:
        h.write(text)


def main():
    rows = every()
    if sys.argv[1:] == ["--list"]:
        print(" ".join(sorted({row[1] for row in rows})))
        return 0
    texts = {}
    for number, (name, source, old, new) in enumerate(rows, 1):
        if source not in texts:
            with open(os.path.join(ROOT, source), encoding="utf-8") as h:
                texts[source] = '#line 1 "%s"\n' % source + h.read()
        texts[source] = switched(number, name, texts[source], old, new)
    if sys.argv[1:] == ["--check"]:
        print("planted: %d edits, each is in its source once" % len(rows))
        return 0
    for source, text in texts.items():
        write(os.path.join(sys.argv[1], source), text)
    write(os.path.join(sys.argv[1], "planted_edits.inc"), "".join('EDIT("%s")\n' % row[0] for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
