#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cut a program that cuvet and nvlink link to different bytes down to a few lines, while they still differ in the same way.

    tools/shrink_link.py --arch 80 --way final [--ptxas=OPTION]... [--nvcc=OPTION]... -o DIR FILE...

FILEs are PTX or CUDA C++ (.cu), one object each, in the order of the link. C++ is cut by lines first, then what nvcc makes of it is cut as PTX:
files, variables and functions, statements, entries of tables. --way is one of link_cxx.py: final, -g, -r, "-r -g", --preserve-relocs, or
one of them with "plain " before it. A folder that link_cxx.py kept (CV_KEEP) has these options in its file "how":

    tools/shrink_link.py -o DIR $(cat KEPT/how) KEPT/*.ptx     (the way of several words in quotes)

Every try is compiled and linked by both (each object once). What is "the same way" is the answer and its message without
numbers and names; --any takes every difference. Needs ptxas and nvlink of CUDA 13.0 on PATH, nvcc for C++.
"""
import argparse
import hashlib
import os
import re
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "differential"), os.path.join(ROOT, "tests", "support")]
os.environ.setdefault("CUVET", os.path.join(ROOT, "build", "cuvet"))
WORK = os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-shrink-"))
import link_cxx as lc  # noqa: E402
import ptx_text  # noqa: E402


class Judge:
    """What a try gives: (answer, cause), or None where a compiler does not take it."""

    def __init__(self, options):
        self.options, self.known, self.tries = options, {}, 0
        self.where = tempfile.mkdtemp(prefix="shrink-", dir=WORK)

    def built(self, text, kind):
        path = os.path.join(self.where, hashlib.sha256(text.encode()).hexdigest()[:20] + "." + kind)
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write(text)
        if kind == "cu":
            path = lc.made(path[:-3] + ".ptx", "nvcc", "-w", "-std=c++17", "-ptx", "-rdc=true", "--extended-lambda", "-arch=compute_" + self.options.arch.rstrip("af"),
                           *self.options.nvcc, path)
        found = lc.made(path[:-4] + ".cubin", "ptxas", "-c", "-arch=sm_" + self.options.arch, *self.options.ptxas, path)
        return lc.bare(found) if self.options.way.startswith("plain ") else found

    def of(self, texts, kind):
        key = tuple(texts)
        if key not in self.known:
            self.tries += 1
            try:
                inputs = [self.built(t, kind) for t in texts]
                plain, mode = self.options.way.startswith("plain "), lc.MODES[self.options.way.replace("plain ", "")]
                answer, said = lc.compare(self.options.arch, mode, inputs, plain)
                self.known[key] = None if answer in lc.FINE else (answer, "" if self.options.any else lc.cause(said))
            except lc.Unbuilt:
                self.known[key] = None
        return self.known[key]


def less(parts, good):
    """Parts that are needed for good(parts), tried in halves, quarters and so on (delta debugging)."""
    size = max(len(parts) // 2, 1)
    while parts:
        at, cut = 0, False
        while at < len(parts):
            without = parts[:at] + parts[at + size:]
            if good(without):
                parts, cut = without, True
            else:
                at += size
        if size == 1 and not cut:
            break
        size = max(size // 2, 1)
    return parts


def statements(text):
    """The lines of a function, a block in braces being one."""
    lines, found, depth = text.split("\n"), [], 0
    start = next((i for i, line in enumerate(lines) if line.split("//")[0].rstrip().endswith("{") or line.strip() == "{"), None)
    if start is None:
        return None
    head, rest = lines[:start + 1], lines[start + 1:]
    end = max((i for i, line in enumerate(rest) if line.startswith("}")), default=len(rest))
    group = []
    for line in rest[:end]:
        bare = line.split("//")[0]
        group.append(line)
        depth += bare.count("{") - bare.count("}")
        if depth <= 0:
            found.append("\n".join(group))
            group = []
    return "\n".join(head), found + (["\n".join(group)] if group else []), "\n".join(rest[end:])


def table(text):
    found = re.match(r"(.*\{)(.*)(\};\s*)$", text, re.S)
    return (found[1], found[2].split(","), found[3]) if found else None


def shrink_files(texts, same, kind):
    kept = less(list(range(len(texts))), lambda numbers: bool(numbers) and same([texts[i] for i in numbers], kind))
    return [texts[i] for i in kept]


def shrink_parts(texts, same, kind, split, join):
    """Each file as parts; all parts of all files in one row."""
    files = [split(t) for t in texts]
    row = [(i, part) for i, parts in enumerate(files) for part in parts]

    def whole(some):
        return [join([part for i, part in some if i == n]) for n in range(len(files))]
    return whole(less(row, lambda some: same(whole(some), kind)))


def shrink_inside(texts, same, divide, glue):
    """The statements of each function, or the entries of each table."""
    for n in range(len(texts)):
        parts = [p.text for p in ptx_text.items(texts[n])]
        for k in range(len(parts)):
            found = divide(parts[k])
            if not found:
                continue
            head, inner, tail = found

            def tried(some):
                return "".join(parts[:k]) + glue(head, some, tail) + "".join(parts[k + 1:])
            inner = less(inner, lambda some: same(texts[:n] + [tried(some)] + texts[n + 1:], "ptx"))
            parts[k] = glue(head, inner, tail)
            texts = texts[:n] + ["".join(parts)] + texts[n + 1:]
    return texts


def shrink_ptx(texts, same):
    before = None
    while before != texts:
        before = texts
        texts = shrink_files(texts, same, "ptx")
        texts = shrink_parts(texts, same, "ptx", lambda t: [p.text for p in ptx_text.items(t)], "".join)
        texts = shrink_inside(texts, same, statements, lambda h, some, t: "\n".join([h] + some + [t]))
        texts = shrink_inside(texts, same, table, lambda h, some, t: h + ",".join(some) + t)
    return texts


def options_of():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--arch", required=True)
    p.add_argument("--way", default="final")
    p.add_argument("--ptxas", action="append", default=[])
    p.add_argument("--nvcc", action="append", default=[])
    p.add_argument("--any", action="store_true")
    p.add_argument("-o", dest="out", required=True)
    p.add_argument("files", nargs="+")
    return p.parse_args()


def main():
    options = options_of()
    judge, kind = Judge(options), options.files[0].rsplit(".", 1)[-1]
    texts = []
    for name in options.files:
        with open(name) as f:
            texts.append(f.read())
    asked = judge.of(texts, kind)
    if not asked:
        print("cuvet and nvlink agree on this program, or it does not compile", file=sys.stderr)
        return 1

    def same(some, kind):
        return judge.of(some, kind) == asked
    if kind == "cu":
        texts = shrink_files(texts, same, kind)
        texts = shrink_parts(texts, same, kind, lambda t: t.splitlines(True), "".join)
        os.makedirs(options.out, exist_ok=True)
        for i, text in enumerate(texts):
            with open(os.path.join(options.out, "small.%d.cu" % i), "w") as f:
                f.write(text)
        made = [judge.built(t, "cu").split(".plain")[0].replace(".cubin", "") + ".ptx" for t in texts]
        texts = [open(path).read() for path in made]
        if not same(texts, "ptx"):
            raise SystemExit("the PTX of the program does not differ as it does: %s" % options.out)
    texts = shrink_ptx(texts, same)
    os.makedirs(options.out, exist_ok=True)
    for i, text in enumerate(texts):
        with open(os.path.join(options.out, "small.%d.ptx" % i), "w") as f:
            f.write(text)
    print("%s: %s; %d files, %d lines after %d tries: %s" % (*asked, len(texts), sum(t.count("\n") for t in texts), judge.tries, options.out))
    shutil.rmtree(judge.where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
