# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the groups of driver.py and units.py have in common: processes that hold the driver, questions for them, and tools."""
import collections
import ctypes
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))
import edit  # noqa: E402

CUVET = os.environ.get("CUVET", os.path.join(ROOT, "build", "cuvet"))
JOBS = int(os.environ.get("CV_JOBS", "8"))
MUTANTS = int(os.environ.get("CV_MUTANTS", "4000"))
PROGRAMS = int(os.environ.get("CV_PROGRAMS", "24"))
FIRST_PROGRAM = int(os.environ.get("CV_FIRST", "1"))
PREPARE, PREPARED = os.environ.get("CV_PREPARE"), os.environ.get("CV_PREPARED")
SECONDS = 10  # longer than that nothing here takes
NEVER = ("clean", "unsupported")  # verdicts that count for no exit code
FIRST, OTHER = "6f", "de"  # what the two kernels write
DATA = {"5": "0x55555555u", "a": "0xAAAAAAAAu"}


class Skipped(Exception):
    pass


def machine():
    """90, of the first device; raises Skipped where there is none"""
    if PREPARE:
        return int(os.environ["CV_MACHINE"])
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise Skipped("no driver") from None
    device, value = ctypes.c_int(), [ctypes.c_int(), ctypes.c_int()]
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0):
        raise Skipped("no device")
    for at, attribute in enumerate((75, 76)):  # the two numbers of its capability
        cuda.cuDeviceGetAttribute(ctypes.byref(value[at]), attribute, device)
    return value[0].value * 10 + value[1].value


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(argv), done.stdout[-400:]))


def make(folder, out, *argv):
    """A tool makes `out`, here or, for CV_PREPARED, where it was made: the same words and the same inputs have the same name there."""
    name, place = hashlib.sha256(), PREPARE or PREPARED
    for word in argv:
        name.update(word.replace(folder, "@").replace(ROOT, "@").encode() + b"\0")
        path = word.rpartition("=")[2]
        if os.path.isfile(path) and path not in (out, CUVET):
            with open(path, "rb") as f:
                name.update(f.read())
    kept = os.path.join(place, name.hexdigest()) if place else None
    if PREPARED:
        if not os.path.exists(kept):
            raise Skipped("CV_PREPARED has no %s" % os.path.basename(out))
        shutil.copyfile(kept, out)
        return
    run(*argv)
    if kept:
        shutil.copyfile(out, kept)


Answer = collections.namedtuple("Answer", "load found launch sync attributes words ended")
ENDED, LATE = Answer(-1, -1, -1, -1, "", "", True), Answer(-1, -1, -1, -1, "late", "", True)


class Driver:
    """Processes that hold the driver, and questions for them."""

    def __init__(self, folder):
        self.folder, self.probe = folder, os.path.join(folder, "probe")
        if PREPARE:
            return
        compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
        if not compiler:
            raise Skipped("no compiler for C")
        run(compiler, "-O1", "-o", self.probe, os.path.join(HERE, "probe.c"), "-ldl")

    def start(self):
        child = subprocess.Popen([self.probe], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 errors="replace", bufsize=1, env=dict(os.environ, CUDA_CACHE_DISABLE="1"))
        if self.line(child, 60) != "ready":
            child.kill()
            raise RuntimeError("a process with the driver does not start")
        return child

    @staticmethod
    def line(child, seconds):
        """None after too long, "" at its end"""
        got = []
        reader = threading.Thread(target=lambda: got.append(child.stdout.readline()), daemon=True)
        reader.start()
        reader.join(seconds)
        return got[0].strip() if got else None

    def ask(self, questions):
        """{name: Answer}; who ends by a signal may have been led there by what was asked before, so it is asked again, alone"""
        answers = self.ask_each(questions, False)
        answers.update(self.ask_each([q for q in questions if answers[q[0]] is ENDED], True))
        return answers

    def ask_each(self, questions, alone):
        todo, answers = queue.Queue(), {}
        if PREPARE:
            return {name: Answer(-1, -1, -1, -1, "", "", False) for name, _ in questions}
        for q in questions:
            todo.put(q)

        def work():
            child = None
            while True:
                try:
                    name, rest = todo.get_nowait()
                except queue.Empty:
                    break
                child = child or self.start()
                try:
                    child.stdin.write("%s %s\n" % (name, rest))
                    said = self.line(child, SECONDS)
                except OSError:
                    said = ""
                if not said:
                    child.kill()
                    child.wait()
                    child = None
                    answers[name] = LATE if said is None else ENDED
                    continue
                head, attributes, words = said.split(":")
                numbers = [int(n) for n in head.split()[1:]]
                answers[name] = Answer(*numbers, attributes.strip(), words.strip(), False)
                if numbers[3] > 0 or alone:
                    child.kill()
                    child.wait()
                    child = None
            if child:
                child.kill()
        workers = [threading.Thread(target=work) for _ in range(JOBS)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        return answers


def scan(folder):
    """{file: (verdict, rules)} of all files of a folder"""
    verdicts, rules = {}, collections.defaultdict(set)
    out = subprocess.run([CUVET, "scan", "--format=ndjson", "-r", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    for row in map(json.loads, out.decode("utf-8", "replace").splitlines()):
        if row["type"] == "finding" and row["severity"] != "note":
            rules[os.path.basename(row["file"])].add(row["rule"])
        elif row["type"] == "verdict":
            verdicts[os.path.basename(row["file"])] = row["verdict"]
    return {f: (v, sorted(rules[f])) for f, v in verdicts.items()}


class Group:
    """Images and the questions about them."""

    def __init__(self, tools, name):
        self.tools, self.name, self.folder = tools, name, os.path.join(tools.folder, name)
        os.makedirs(self.folder)
        self.questions, self.failed, self.passed, self.table, self.file = [], [], 0, collections.Counter(), {}

    def add(self, name, image, mode="R", number=0, kernel="first", variables=()):
        """a question about an image, or about the one of an earlier question, which is named"""
        if isinstance(image, str):
            self.file[name] = self.file[image]
        else:
            self.file[name] = name
            with open(os.path.join(self.folder, name), "wb") as f:
                f.write(bytes(image if isinstance(image, (bytes, bytearray)) else image.data))
        path = os.path.join(self.folder, self.file[name])
        self.questions.append((name, "%s %s %s %d %s" % (mode, path, kernel, number, " ".join(variables))))

    def ask(self):
        self.answers = self.tools.driver.ask(self.questions)
        self.verdicts = scan(self.folder)
        self.verdicts.update((name, self.verdicts[file]) for name, file in self.file.items() if file in self.verdicts)
        for name, _ in self.questions:
            answer, (verdict, _) = self.answers[name], self.verdicts.get(name, ("clean", []))
            self.expect(not (answer.ended and verdict in NEVER), name, "ends the driver, and a scan says %s" % verdict)
            self.table[(self.outcome(answer), verdict)] += 1
        return self.answers

    @staticmethod
    def outcome(answer):
        if answer.ended:
            return "ended"
        if answer.load or answer.found:
            return "refused"
        return "loaded" if answer.launch == -1 else "ran" if not answer.launch and not answer.sync else "fault"

    def expect(self, good, name, why):
        if good:
            self.passed += 1
        else:
            self.failed.append("%s: %s: %s" % (self.name, name, why))

    def show(self):
        verdicts = sorted({v for _, v in self.table})
        print("%-12s %s" % (self.name, "  ".join("%11s" % v for v in verdicts)))
        for outcome in ("ran", "loaded", "fault", "refused", "ended"):
            row = [self.table[(outcome, v)] for v in verdicts]
            if any(row):
                print("  %-10s %s" % (outcome, "  ".join("%11d" % n for n in row)))
        sys.stdout.flush()


class Tools:
    """What all groups have: images of this machine, and the driver."""

    def __init__(self, folder, sm):
        self.folder, self.sm = folder, sm
        for tool in ("nvcc", "fatbinary"):
            if not shutil.which(tool) and not PREPARED:
                raise Skipped("no %s on PATH" % tool)
        self.driver = Driver(folder)

    def compile(self, name, *options):
        out = os.path.join(self.folder, name)
        make(self.folder, out, "nvcc", "-arch=sm_%d" % self.sm, "-cubin", os.path.join(HERE, "programs.cu"), "-o", out, *options)
        return out

    def link(self, name, *options):
        part, out = self.compile(name + ".o", "-rdc=true", *options), os.path.join(self.folder, name)
        run(CUVET, "link", "--arch", "sm_%d" % self.sm, part, "-o", out)
        return out


def elf(path):
    with open(path, "rb") as f:
        return edit.Elf(f.read())


def exchange(image, table, first, other, field):
    """exchange a field of two rows"""
    get, put = (image.sget, image.section) if table == "section" else (image.yget, image.symbol)
    rows = (image.index(first), image.index(other)) if table == "section" else (image.symbol_index(first), image.symbol_index(other))
    values = [get(r, field) for r in rows]
    put(rows[0], field, values[1])
    put(rows[1], field, values[0])


def segment_of_code(image):
    return next(i for i in range(image.hget("e_phnum")) if image.pget(i, "flags") & 1)
