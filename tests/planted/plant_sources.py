#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of the library with a switch at each edit: what was there, or, where CV_PLANT names the edit, what stands there instead.

  plant_sources.py --list       the sources that have edits
  plant_sources.py --check      does each edit stand in its source once?
  plant_sources.py FOLDER       write copies of them below FOLDER, and FOLDER/planted_edits.inc with the names of all edits

An expression that is replaced (tables.py) becomes CV_PLANT_VALUE, where both are evaluated; one in {{ }}, which does something, and a
statement become a choice of two (tests/planted/switch.h).
"""
import os
import sys

import tables


def switched(number, edit, text):
    before, part, after = edit.pieces
    at, size = edit.place(text)
    instead = edit.instead.replace("\n", " ")
    if part.rstrip().endswith((";", "}")):
        done = "{ if (CV_PLANT_INSTEAD(%du)) { %s } else { %s } }" % (number, instead, part)
    elif edit.mark == "{{":
        done = "(CV_PLANT_INSTEAD(%du) ? (%s) : (%s))" % (number, instead, part)
    else:
        done = "CV_PLANT_VALUE(%du, (%s), (%s))" % (number, part, instead)
    return text[:at] + before + done + after + text[at + size:]


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
    if sys.argv[1:] == ["--list"]:
        print(" ".join(sorted({edit.source for edit in tables.EDITS})))
        return 0
    texts = {}
    for number, edit in enumerate(tables.EDITS, 1):
        if edit.source not in texts:
            with open(os.path.join(tables.ROOT, edit.source), encoding="utf-8") as h:
                texts[edit.source] = '#line 1 "%s"\n' % edit.source + h.read()
        texts[edit.source] = switched(number, edit, texts[edit.source])
    if sys.argv[1:] == ["--check"]:
        print("planted: %d edits, each is in its source once" % len(tables.EDITS))
        return 0
    for source, text in texts.items():
        write(os.path.join(sys.argv[1], source), text)
    write(os.path.join(sys.argv[1], "planted_edits.inc"), "".join('EDIT("%s")\n' % edit.name for edit in tables.EDITS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
