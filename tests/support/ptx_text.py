# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX as a list of what stands at its top: directives, variables, functions; for tests that cut programs out of it."""
import re

WORD = re.compile(r"[A-Za-z_$%][\w$]*")
FUNCTION = re.compile(r"\.(?:func|entry)\s*(?:\([^)]*\)\s*)?([A-Za-z_$%][\w$]*)")
VARIABLE = re.compile(r"([A-Za-z_$%][\w$]*)\s*(?:\[[^\]]*\]\s*)*(?:=|;|$)")
ALIAS = re.compile(r"\.alias\s+([A-Za-z_$%][\w$]*)")


class Item:
    """A top-level statement: its text, the name it declares or defines (or None), the words in it."""

    def __init__(self, text):
        self.text = text
        self.first = text.split(None, 1)[0]
        self.function = ".func" in text.split("{")[0] or ".entry" in text.split("{")[0]
        self.body = self.function and text.rstrip().endswith("}")
        found = ALIAS.match(text) if self.first == ".alias" else FUNCTION.search(text) if self.function else VARIABLE.search(text.split("{")[0])
        plain = self.first in (".version", ".target", ".address_size", ".file", ".section", ".pragma")
        self.name = None if plain or not found else found[1]
        self.words = set() if plain else set(WORD.findall(text))


def items(text):
    """The statements at the top of a file, in order; comments between them go."""
    found, lines, depth, seen = [], [], 0, False
    for line in text.split("\n"):
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0].rstrip()
        if not lines and not bare.strip():
            continue
        lines.append(line)
        depth += bare.count("{") - bare.count("}")
        seen = seen or "{" in bare
        first = lines[0].split(None, 1)[0]
        one = first in (".version", ".target", ".address_size", ".file") or (first == ".pragma" and bare.endswith(";"))
        if depth == 0 and (one or bare.endswith(";") or (seen and bare.endswith("}"))):
            found.append(Item("\n".join(lines) + "\n"))
            lines, seen = [], False
    if lines:
        found.append(Item("\n".join(lines) + "\n"))
    return found


def chosen(parts, wanted):
    """The text of what is wanted (a test of a name), all that it needs, and the directives."""
    by_name = {}
    for p in parts:
        if p.name:
            by_name.setdefault(p.name, []).append(p)
    names, todo = set(), [n for n in by_name if wanted(n)]
    while todo:
        name = todo.pop()
        if name not in names:
            names.add(name)
            todo += [w for p in by_name[name] for w in p.words if w in by_name and w not in names]
    return "".join(p.text for p in parts if p.name is None or p.name in names)
