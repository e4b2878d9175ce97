# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the X-macro tables of spec/: rows such as RULE(NAME, "ID", SEVERITY, CLASS, "title", "message", "why")."""
import ast
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIELDS = ("name", "id", "severity", "cls", "title", "message", "why")


def split_args(text, start):
    """Arguments of a macro call whose '(' is at text[start]; returns (list, position after ')')."""
    args, depth, i, begin = [], 0, start, start + 1
    while i < len(text):
        c = text[i]
        if c == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                args.append(text[begin:i].strip())
                return args, i + 1
        elif c == "," and depth == 1:
            args.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    raise ValueError("unbalanced row: " + text[start:start + 60])


def value(arg):
    """A string literal (adjacent ones joined, UINT64_C etc. left alone) or the bare word."""
    parts = re.findall(r'"(?:\\.|[^"\\])*"', arg)
    if parts and re.fullmatch(r'(?:\s*"(?:\\.|[^"\\])*")+\s*', arg):
        return "".join(ast.literal_eval(p) for p in parts)
    return arg


def rows(path, macro):
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), f.read(), flags=re.S)
    for m in re.finditer(r"^[ \t]*%s\(" % macro, text, flags=re.M):
        args, _ = split_args(text, m.end() - 1)
        yield text.count("\n", 0, m.start()) + 1, [value(a) for a in args]


def rules():
    """Every rule in the order of spec/rules.def."""
    out = []
    with open(os.path.join(ROOT, "spec", "rules.def"), encoding="utf-8") as f:
        names = re.findall(r'^#include "(rules_\w+\.def)"', f.read(), flags=re.M)
    for name in names:
        for line, args in rows(os.path.join(ROOT, "spec", name), "RULE"):
            if len(args) != len(FIELDS):
                raise ValueError("spec/%s:%d: %d fields, want %d" % (name, line, len(args), len(FIELDS)))
            out.append(dict(zip(FIELDS, args), file=name, line=line))
    unlisted = {os.path.basename(p) for p in glob.glob(os.path.join(ROOT, "spec", "rules_*.def"))} - set(names)
    if unlisted:
        raise ValueError("not included by spec/rules.def: " + ", ".join(sorted(unlisted)))
    return out
