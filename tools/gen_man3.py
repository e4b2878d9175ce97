#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manual pages of section 3 from the comments of include/cuvet: one page for each header, and for each of its functions a
page that leads there. usage: gen_man3.py FOLDER"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = os.path.join(ROOT, "include", "cuvet")
FUNCTION = re.compile(r"CUVET_API\s+(?:CUVET_MUST\s+)?([^;{]*);")
# A comment for readers, or a declaration.
PART = re.compile(r"/\*\*(?!<)(?P<doc>.*?)\*/|(?P<function>^CUVET_API[^;{]*;)|"
                  r"(?P<define>^#define CUVET_(?!API|MUST|\w+_H\b)\w+ [^\n]*$)|(?P<type>^typedef )", re.S | re.M)


def roff(text):
    """Plain text for troff: nothing in it is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def words(doc):
    return " ".join(re.sub(r"(?m)^\s*\* ?", " ", doc).split())


def paragraphs(doc):
    """The text before the first @, then (tag, text) of each."""
    parts = re.split(r"@(param|return)\s+", words(doc))
    return parts[0].strip(), list(zip(parts[1::2], (p.strip() for p in parts[2::2])))


def types_end(text, start):
    """End of a typedef, whose body may hold semicolons."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if text[i] == ";" and depth == 0:
            return i + 1
    return len(text)


def parts(text):
    """(kind, comment before it, declaration) in the order of the header; the first comment is about the header."""
    at, doc = 0, ""
    while True:
        m = PART.search(text, at)
        if not m:
            return
        at = m.end()
        if m.lastgroup == "doc":
            if doc:
                yield "doc", doc, ""
            doc = m.group("doc")
            continue
        declaration = m.group(0)
        if m.lastgroup == "type":
            at = types_end(text, m.start())
            declaration = text[m.start():at]
        yield m.lastgroup, doc, declaration
        doc = ""


def code(text):
    return [".RS 4", ".nf", roff(text.rstrip()), ".fi", ".RE"]


def describe(doc):
    text, tags = paragraphs(doc)
    lines = [roff(text)] if text else []
    for tag, what in tags:
        if tag == "param":
            name, _, rest = what.partition(" ")
            lines += [".PP", "\\fI%s\\fR: %s" % (roff(name), roff(rest))]
        else:
            lines += [".PP", "\\fBReturns\\fR " + roff(what)]
    return lines


def page(name, text, version, others):
    found = list(parts(text))
    about = next((doc for kind, doc, _ in found), "")
    names = [re.search(r"(\w+)\(", d).group(1) for kind, _, d in found if kind == "function"]
    brief = re.split(r"[.:](?:\s|$)", words(about))[0]
    lines = [".\\\" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
             ".\\\" Generated from include/cuvet/%s.h by tools/gen_man3.py; do not edit." % name,
             # Names are not broken, and so lines are not filled to the margin.
             '.TH CUVET\\-%s 3 "" "cuvet %s" "Library Functions"' % (name.upper(), version), ".nh", ".ad l", ".SH NAME",
             "%s \\- %s" % (", ".join(roff(n) for n in ["cuvet-" + name] + names), roff(brief[0].lower() + brief[1:])),
             ".SH SYNOPSIS", ".nf", "\\fB#include <cuvet/%s.h>\\fR" % name, ""]
    for kind, _, declaration in found:
        if kind == "function":
            lines += [roff(" ".join(FUNCTION.match(declaration).group(1).split())) + ";"]
    lines += [".fi", ".PP", "Link with \\fI\\-lcuvet\\fR.", ".SH DESCRIPTION"] + describe(about)
    for title, kinds in (("TYPES", ("type", "define")), ("FUNCTIONS", ("function", "doc"))):
        body = [p for i, p in enumerate(found) if p[0] in kinds and not (p[0] == "doc" and i == 0)]
        lines += [".SH " + title] if body else []
        for kind, doc, declaration in body:
            doc = "" if doc == about else doc
            if kind == "function":
                lines += [".SS " + roff(re.search(r"(\w+)\(", declaration).group(1))] + describe(doc)
            elif kind == "doc":
                lines += [".PP"] + describe(doc)
            else:
                lines += [".PP"] + describe(doc) + code(declaration)
    lines += [".SH SEE ALSO", ",\n".join("\\fBcuvet\\-%s\\fR(3)" % o for o in others if o != name) + ",", "\\fBcuvet\\fR(1)"]
    return "\n".join(lines) + "\n", names


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    texts = {}
    for path in sorted(glob.glob(os.path.join(HEADERS, "*.h"))):
        with open(path, encoding="utf-8") as f:
            # The licence is no comment for readers, and neither is what only C++ sees.
            texts[os.path.basename(path)[:-2]] = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", f.read(), flags=re.S)
    version = ".".join(re.search(r"CUVET_VERSION_%s (\d+)" % v, texts["base"]).group(1) for v in ("MAJOR", "MINOR", "PATCH"))
    del texts["cuvet"]
    for name, text in texts.items():
        body, functions = page(name, text, version, sorted(texts))
        pages = {"cuvet-" + name: body}
        pages.update({f: ".so man3/cuvet-%s.3\n" % name for f in functions})
        for title, content in pages.items():
            with open(os.path.join(sys.argv[1], title + ".3"), "w", encoding="utf-8") as f:
                f.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
