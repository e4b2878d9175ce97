#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One small change of a source at a time: do the tests notice?

  mutation.py [--sample N] [--seed S] [--jobs N] [--least PERCENT] [--functions PATTERN] [--list] DIRECTORY_OR_FILE[:LINE] ...

Comparisons, conditions, numbers, operators and statements of the functions in these sources (src/bytes, src/format/tlv ...)
are changed, each in a copy: the tree stays what it is. A change after which the compiler writes the same object, optimized, is no
change and is left out; one that is not C is as well. The rest is linked with the unit tests of its layer, and, where those pass, with
those of codec, cubin, format, bytes, scan, host, intake, link, finalize, base and target (not of api, io and proc, which are about
files and processes) and with the command, which then has to give every hostile sample its rule and every good one none
(tools/corpus/hostile.py). A test that fails, or takes longer than it may, has noticed. What nobody notices is printed
with its line: a missing test, or code that does not matter. Changes that no test can notice are rows of tools/mutation.known, each with
its reason; they are left out, and a row that fits no change any more is an error. --functions _holds$ asks of functions whose name
fits the pattern, and of what only those call in their file.

Needs the tree built (make all tests-build), and libclang's Python package (python3-clang of Debian, libclang of PyPI), which says
where the functions and their expressions are; ends with 77 without it. Exits with 1 where less than --least of 100 are noticed.
"""
import argparse
import collections
import concurrent.futures
import fcntl
import glob
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import bounded

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/",
             "/": "*", "%": "*", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=", "|=": "&=",
             "&=": "|=", "<<=": ">>=", ">>=": "<<=", "^=": "|="}
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$")
NOTES = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
LAYERS = ("codec", "cubin", "format", "bytes", "scan", "host", "intake", "link", "finalize", "base", "target")  # that are asked, in this order
SECONDS = 120  # of one test program; more on a machine where it takes a tenth of that without a change
KNOWN = "tools/mutation.known"
TRAP = "src/base/trap.c"  # which is another one in test programs (TRAP_OBJ in mk/tests.mk)
ENDS = "-DCV_TRAP_ENDS=1"
PROCESSOR_SECONDS = 20  # of each of its processes; the slowest takes three

Mutant = collections.namedtuple("Mutant", "path start end text what")


def unchanged(path):
    return Mutant(path, 0, 0, "", "control")


def need_clang():
    try:
        import clang.cindex
        clang.cindex.Index.create()
    except Exception as why:  # not installed, or without its library
        print("SKIPPED: needs libclang's Python package: %s" % why)
        sys.exit(77)
    return clang.cindex


# ---- which changes there are ----

class Finder:
    """Changes of one file. Places are bytes; what comes out of a macro is left alone."""

    def __init__(self, cindex, path, flags, pattern=None):
        self.kinds, self.path, self.found = cindex.CursorKind, path, []
        with open(path, "rb") as h:
            self.data = h.read()
        source, unsaved = path, None
        if path.endswith(".h"):  # as somebody includes it
            source = path + ".c"
            unsaved = [(source, '#include "%s"\n' % os.path.relpath(path, "src"))]
        unit = cindex.Index.create().parse(source, args=flags, unsaved_files=unsaved)
        functions = {}
        for cursor in unit.cursor.walk_preorder():
            where = cursor.location.file
            if where and os.path.normpath(where.name) == path and cursor.kind == self.kinds.FUNCTION_DECL and cursor.is_definition():
                functions[cursor.spelling] = cursor
        for name in self.wanted(functions, pattern):
            self.function(functions[name])

    def wanted(self, functions, pattern):
        """Those whose name fits, and static ones that none but those call or name."""
        if not pattern:
            return list(functions)
        users = collections.defaultdict(set)
        for name, cursor in functions.items():
            for inner in cursor.walk_preorder():
                if inner.kind == self.kinds.DECL_REF_EXPR and inner.spelling in functions and inner.spelling != name:
                    users[inner.spelling].add(name)
        chosen = {name for name in functions if re.search(pattern, name)}
        while True:
            more = {name for name in functions if users[name] and users[name] <= chosen and name not in chosen}
            if not more:
                return [name for name in functions if name in chosen]
            chosen |= more

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, start, end):
        return self.data[start:end].decode("utf-8", "replace")

    def add(self, start, end, text, what):
        if start < end:
            self.found.append(Mutant(self.path, start, end, text, what))

    def function(self, cursor):
        for token in cursor.get_tokens():
            if token.spelling in ("true", "false"):
                self.add(*self.span(token), "false" if token.spelling == "true" else "true", "truth")
        self.inside(cursor)

    def inside(self, cursor):
        for child in cursor.get_children():
            self.one(child, cursor)
            self.inside(child)

    def one(self, cursor, parent):
        kinds, (start, end) = self.kinds, self.span(cursor)
        children = list(cursor.get_children())
        if cursor.kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            self.operator(children)
        if cursor.kind in (kinds.IF_STMT, kinds.WHILE_STMT, kinds.CONDITIONAL_OPERATOR) and children:
            self.condition(children[0])
        if cursor.kind == kinds.INTEGER_LITERAL:
            number = NUMBER.match(self.text(start, end))
            if number:
                self.add(start, end, "%d%s" % (int(number[1], 0) + 1, number[2]), "number")
        if cursor.kind == kinds.UNARY_OPERATOR and self.text(start, end).startswith("!"):
            self.add(start, start + 1, "", "not")
        if parent.kind in (kinds.COMPOUND_STMT, kinds.IF_STMT) and self.text(end, end + 1) == ";" and cursor.kind in (
                kinds.CALL_EXPR, kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNARY_OPERATOR):
            self.add(start, end, "(void)0", "statement")

    def operator(self, children):
        start, end = children[0].extent.end.offset, children[1].extent.start.offset
        between = NOTES.sub(lambda note: " " * len(note[0].encode()), self.text(start, end))
        word = between.strip().strip("()").strip()
        if word in OPERATORS and start < end:
            at = start + len(between[:between.index(word)].encode())
            self.add(at, at + len(word), OPERATORS[word], "operator")

    def condition(self, cursor):
        start, end = self.span(cursor)
        self.add(start, end, "!(%s)" % self.text(start, end), "condition")


def sources(places):
    for place in places:
        place = os.path.relpath(os.path.abspath(place), ROOT)
        files = [place] if os.path.isfile(place) else sorted(glob.glob(os.path.join(place, "**", "*.[ch]"), recursive=True))
        if not files:
            sys.exit("mutation.py: %s: no sources" % place)
        yield from files


# ---- what notices them ----

class Tests:
    """How test programs and the command are linked, with an object in front of the library that has the same functions."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as h:
            self.commands = {row["file"]: shlex.split(row["command"]) for row in json.load(h)}
        self.libs = shlex.split(subprocess.run(["pkg-config", "--libs", "check"], stdout=subprocess.PIPE, text=True, check=True).stdout)
        self.libs += ["-lm", "-lrt", "-llz4", "-lzstd", "-pthread"]
        self.layers = sorted(os.path.basename(p) for p in glob.glob("tests/unit/*"))
        self.command = self.link_of_command()
        self.plain = {}  # by source: what its unchanged objects are
        self.seconds = collections.defaultdict(lambda: SECONDS)  # by program

    def link_of_command(self):
        said = subprocess.run(["make", "-n", "Q=", "BUILD=" + self.build, "-W", "cli/main.c", os.path.join(self.build, "cuvet")],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for line in said.replace("\\\n", " ").splitlines():
            words = shlex.split(line)
            if "-o" in words and words[words.index("-o") + 1].endswith("/cuvet"):
                return words
        sys.exit("mutation.py: make says no way to link the command")

    def compile_words(self, path):
        """compiler and flags, without source and output"""
        words = list(self.commands[path])
        at = words.index("-c")
        return [w for w in words[:at] if w not in ("-O2", "-g")]

    def layer(self, path):
        parts = path.split(os.sep)
        return parts[1] if parts[0] == "src" and parts[1] in self.layers else None

    def objects(self, layer):
        return [os.path.join(self.build, "obj", p[:-2] + ".o") for p in
                sorted(glob.glob("tests/unit/%s/*.c" % layer) + glob.glob("tests/support/*.c"))]

    def link_unit(self, layer, objects, out, replaced=None):
        runner = os.path.join(self.scratch, "runner-%s.o" % layer)
        with open(runner + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(runner):
                subprocess.run(["cc", "-Iinclude", "-c", os.path.join(self.build, "tests", "unit_%s.c" % layer), "-o", runner], check=True)
        mine = [(replaced or {}).get(o, o) for o in self.objects(layer)]
        trap = [] if any(o.endswith("trap.ends.o") for o in objects) else [os.path.join(self.build, "obj", "traps", "trap.o")]
        return subprocess.run(["cc", "-o", out, runner, *mine, *trap, *objects, os.path.join(self.build, "libcuvet.a"), *self.libs],
                              check=False, **bounded.MUTE).returncode == 0

    def link_command(self, objects, out):
        words = list(self.command)
        words[words.index("-o") + 1] = out
        first = next(i for i, w in enumerate(words) if w.endswith(".o"))
        return subprocess.run(words[:first] + objects + words[first:], check=False, **bounded.MUTE).returncode == 0


def passes(argv, folder, tests):
    own = {"CV_BUILD": os.path.abspath(tests.build), "CV_TMP": folder, "TMPDIR": folder}
    return bounded.passes(argv, tests.seconds[os.path.basename(argv[-1])], PROCESSOR_SECONDS, env=dict(os.environ, **own))


class Trial:
    """One mutant, in a folder of its own."""

    def __init__(self, tests, mutant):
        self.tests, self.mutant = tests, mutant
        self.folder = tempfile.mkdtemp(dir=tests.scratch)
        for name in os.listdir(os.path.join(tests.build, "tests")):
            if name.startswith("fake_"):  # programs that tests start, which lie beside them
                os.symlink(os.path.abspath(os.path.join(tests.build, "tests", name)), os.path.join(self.folder, name))
        with open(mutant.path, "rb") as h:
            data = h.read()
        self.data = data[:mutant.start] + mutant.text.encode() + data[mutant.end:]

    def compile(self, path, out, extra):
        source = path
        if path == self.mutant.path:
            source = os.path.join(self.folder, "src", path)
            extra = [*extra, "-iquote", os.path.dirname(path)]
        words = self.tests.compile_words(path)
        return subprocess.run([words[0], *extra, *words[1:], "-w", "-O2", "-g0", "-ffile-prefix-map=%s=." % self.folder, "-c", source, "-o", out], check=False, **bounded.MUTE).returncode == 0

    def write(self, data):
        path = os.path.join(self.folder, "src", self.mutant.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as h:
            h.write(data)

    def users(self):
        """Of a header: the sources of its directory and of its layer's tests, which are compiled anew; the rest of the library keeps
        the code that it has."""
        layer = self.tests.layer(self.mutant.path)
        near = sorted(glob.glob(os.path.join(os.path.dirname(self.mutant.path), "*.c")))
        return [p for p in near + sorted(glob.glob("tests/unit/%s/*.c" % layer)) if p in self.tests.commands]

    def build(self):
        """The objects with the change; None: it is no C."""
        files = self.users() if self.mutant.path.endswith(".h") else [self.mutant.path]
        extra = ["-I" + os.path.join(self.folder, "src", "src")] if self.mutant.path.endswith(".h") else []
        objects = {}
        for path in files:
            out = os.path.join(self.folder, path.replace(os.sep, "-")[:-2] + ".o")
            if not self.compile(path, out, extra):
                return None
            objects[path] = out
            if path == TRAP and self.compile(path, out[:-2] + ".ends.o", [*extra, ENDS]):
                objects[path + ENDS] = out[:-2] + ".ends.o"
        return objects

    @staticmethod
    def digest(objects):
        sums = hashlib.sha256()
        for path in sorted(objects):
            with open(objects[path], "rb") as h:
                sums.update(h.read())
        return sums.digest()

    def control(self):
        """What is asked of a source that nobody changed: it has to be "missed", or nothing that is said of others means anything."""
        self.write(self.data)
        return self.ask(self.build())

    def digest_of_unchanged(self):
        try:
            self.write(self.data)
            objects = self.build()
            if objects is None:
                raise RuntimeError("%s does not compile as it is" % self.mutant.path)
            return self.digest(objects)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self):
        """ "no C", "same", "noticed by ..." or "missed" """
        try:
            self.write(self.data)
            objects = self.build()
            if objects is None:
                return "no C"
            if self.digest(objects) == self.tests.plain[self.mutant.path]:
                return "same"
            return self.ask(objects)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def passes(self, argv):
        start = time.monotonic()
        good = passes(argv, self.folder, self.tests)
        if self.mutant.what == "control":
            self.tests.seconds[os.path.basename(argv[-1])] = max(SECONDS, 10 * (time.monotonic() - start))
        return good

    def ask(self, objects):
        own = self.tests.layer(self.mutant.path)
        library = [o for p, o in objects.items() if p.startswith("src") and not p.endswith(ENDS)]
        tested = [objects.get(p + ENDS, o) for p, o in objects.items() if p.startswith("src") and not p.endswith(ENDS)]
        replaced = {os.path.join(self.tests.build, "obj", p[:-2] + ".o"): o for p, o in objects.items() if p.startswith("tests")}
        for layer in ([own] if own else []) + [name for name in LAYERS if name != own]:
            out = os.path.join(self.folder, "unit_" + layer)
            if not self.tests.link_unit(layer, tested, out, replaced if layer == own else None):
                raise RuntimeError("unit_%s does not link with %s" % (layer, line_of(self.mutant)))
            if not self.passes([out]):
                return "noticed by unit_" + layer
        out = os.path.join(self.folder, "cuvet")
        if not self.tests.link_command(library, out):
            raise RuntimeError("the command does not link with %s" % line_of(self.mutant))
        if not self.passes([sys.executable, "tools/corpus/hostile.py", "--scan", out]):
            return "noticed by hostile"
        return "missed"


def line_of(mutant):
    with open(mutant.path, "rb") as h:
        data = h.read()
    number = data.count(b"\n", 0, mutant.start) + 1
    return "%s:%d: %s: %s -> %s" % (mutant.path, number, mutant.what, data[mutant.start:mutant.end].decode().split("\n")[0],
                                    mutant.text.split("\n")[0] or "nothing")


def key_of(mutant):
    """Of a row of KNOWN: file, change, text of the line; the line's number may change."""
    with open(mutant.path, "rb") as h:
        data = h.read()
    begin = data.rfind(b"\n", 0, mutant.start) + 1
    end = data.find(b"\n", mutant.start)
    change = "%d: %s -> %s" % (mutant.start - begin - (len(data[begin:end]) - len(data[begin:end].lstrip())),
                               data[mutant.start:mutant.end].decode().split("\n")[0], mutant.text.split("\n")[0] or "nothing")
    return mutant.path, change, data[begin:end].decode().strip()


def read_known():
    """Rows: file, change, line, reason, with tabs between them."""
    known = {}
    with open(KNOWN, encoding="utf-8") as h:
        for row in (line.rstrip("\n").split("\t") for line in h if line.strip() and not line.startswith("#")):
            if len(row) != 4 or not row[3].strip():
                sys.exit("mutation.py: %s: not file, change, line and reason: %s" % (KNOWN, row))
            known[tuple(row[:3])] = row[3]
    return known


def report(results):
    """Prints a table by directory; how many of 100 were noticed."""
    rows = collections.defaultdict(collections.Counter)
    for mutant, answer in results:
        rows[os.path.dirname(mutant.path)][answer if answer in ("no C", "same", "known", "missed") else "noticed"] += 1
    print("%-24s %8s %8s %8s %8s" % ("directory", "changes", "noticed", "missed", "of 100"))
    for name in sorted(rows) + ["all"]:
        row = rows[name] if name != "all" else sum(rows.values(), collections.Counter())
        asked = row["noticed"] + row["missed"]
        print("%-24s %8d %8d %8d %8.1f" % (name, asked, row["noticed"], row["missed"], 100 * row["noticed"] / max(asked, 1)))
    print("left out: %d that change no object, %d that are no C, %d that no test can notice (%s)" % (row["same"], row["no C"], row["known"], KNOWN))
    return 100 * row["noticed"] / asked if asked else 100


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("places", nargs="+")
    ap.add_argument("--build", default="build")
    ap.add_argument("--sample", type=int, help="so many of all changes, chosen by --seed")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--least", type=float, default=95)
    ap.add_argument("--functions", help="of these functions alone, a pattern, and of what only they call in their file")
    ap.add_argument("--list", action="store_true", help="print the changes, try none")
    args = ap.parse_args()

    os.chdir(ROOT)
    cindex = need_clang()
    with tempfile.TemporaryDirectory(prefix="cuvet-mutation-") as scratch:
        tests = Tests(args.build, scratch)
        lines = {tuple(place.rsplit(":", 1)) for place in args.places if re.search(r":[0-9]+$", place)}
        mutants, known, places = [], read_known(), list(sources(re.sub(r":[0-9]+$", "", place) for place in args.places))
        for path in places:
            like = path if path in tests.commands else "src/bytes/span.c"
            flags = [w for w in tests.compile_words(like)[1:] if w.startswith(("-D", "-I", "-std"))]
            mutants += Finder(cindex, path, [*flags, "-I" + os.path.join(args.build, "gen")], args.functions).found
        mutants = sorted(set(mutants))
        if lines:
            mutants = [m for m in mutants if tuple(line_of(m).split(":")[:2]) in lines]
        left_over = {row for row in known if row[0] in places} - {key_of(m) for m in mutants}
        if left_over and not args.functions and not lines:
            sys.exit("mutation.py: %s: no change is like this any more: %s" % (KNOWN, sorted(left_over)[0]))
        if args.sample and args.sample < len(mutants):
            mutants = sorted(random.Random(args.seed).sample(mutants, args.sample))
        if args.list:
            print("\n".join(map(line_of, mutants)))
            return 0
        same = Trial(tests, unchanged(mutants[0].path)).control() if mutants else "missed"
        if same != "missed":
            sys.exit("mutation.py: the tests fail without a change: " + same)
        results = []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            paths = sorted({m.path for m in mutants})
            tests.plain = dict(zip(paths, pool.map(lambda p: Trial(tests, unchanged(p)).digest_of_unchanged(), paths)))
            for mutant, answer in zip(mutants, pool.map(lambda m: "known" if key_of(m) in known else Trial(tests, m).run(), mutants)):
                results.append((mutant, answer))
                if answer == "missed":
                    print("missed: %s\n        %s" % (line_of(mutant), "\t".join(key_of(mutant))), flush=True)
        return 0 if report(results) >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
