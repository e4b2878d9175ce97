# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other readers make of a mutant, compared with what they make of the genuine file it was made from.

Readers are cuobjdump, nvdisasm and nvlink in the versions that are at hand, and readelf. A reader is asked about a
mutant only when it accepts the genuine file. Each runs with limits of time, memory and output, and its answer is put
into one word:

  same      nothing differs
  value     the same lines; in at most three of them numbers differ: the field is shown
  words     the same lines; in at most three of them words differ as well: a name, a flag, what a value is called
  layout    other lines: other functions, instructions, records, sections
  warned    it warns of something that it did not warn of before
  refused   it ends with an error that it did not end with before
  crash     a signal, or more output than anything sane
  hang      it had not ended when its time was over
"""
import collections
import contextlib
import hashlib
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import zipfile

HANG = 10                # seconds; the slowest genuine file takes less than two
PATIENCE = 40            # a second try before it is called a hang: the machine may be busy
MEMORY = 6 << 30
OUTPUT = 64 << 20
WORST = ["hang", "crash", "refused", "warned", "layout", "words", "value", "same"]

Reader = collections.namedtuple("Reader", "name tool arguments slow")
Answer = collections.namedtuple("Answer", "end out errors")

NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*\b")


@contextlib.contextmanager
def limits():
    """Limits that every reader inherits from this process while it lasts."""
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_FSIZE: OUTPUT}
    before = {what: resource.getrlimit(what) for what in wanted}
    for what, value in wanted.items():
        resource.setrlimit(what, (value, before[what][1]))
    try:
        yield
    finally:
        for what, value in before.items():
            resource.setrlimit(what, value)


def release(tool):
    out = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    found = re.search(rb"release (\d+\.\d+)", out)
    return found.group(1).decode() if found else "?"


def tools(wheels, folders, scratch):
    """(name with version, path) of every reader that the wheels, the folders and the machine have."""
    paths = []
    for wheel in wheels:
        if re.match(r"nvidia_cuda_(cuobjdump|nvdisasm)-", os.path.basename(wheel)):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if "/bin/" in name:
                        path = os.path.join(scratch, os.path.basename(name))
                        if not os.path.exists(path) or os.path.getsize(path) != archive.getinfo(name).file_size:
                            with open(path, "wb") as file:
                                file.write(archive.read(name))
                            os.chmod(path, 0o755)
                        paths.append(path)
    for name in ("cuobjdump", "nvdisasm", "nvlink"):
        found = [shutil.which(name)] + [os.path.join(folder, name) for folder in folders]
        paths += [path for path in found if path and os.path.exists(path)]
    out = {}
    for path in paths:
        out.setdefault("%s %s" % (os.path.basename(path), release(path)), path)
    readelf = shutil.which("readelf")
    if readelf:
        out["readelf"] = readelf
    return sorted(out.items(), key=lambda tool: [-float(word) if word[0].isdigit() else word for word in tool[0].split()])


def targets(sample):
    """Targets that a link of the sample alone may be for."""
    text = re.search(rb"-arch (sm_\d+[af]?)", sample.data)
    return list(dict.fromkeys(([text.group(1).decode()] if text else []) + [sample.arch, sample.arch + "a"]))


class Readers:
    def __init__(self, known, cache):
        self.known = known
        self.genuine = {}
        self.lock = threading.Lock()
        self.cache = sqlite3.connect(cache, check_same_thread=False)
        self.cache.execute("create table if not exists answer (mutant text, reader text, word text, detail text, "
                           "primary key (mutant, reader))")
        self.cache.execute("create table if not exists accepted (sample text, slow integer, readers text, "
                           "primary key (sample, slow))")

    def close(self):
        self.cache.commit()
        self.cache.close()

    def candidates(self, sample):
        for name, tool in self.known:
            if sample.kind == "cubin":
                if name == "readelf":
                    yield Reader(name, tool, ["-a", "-W", "@"], False)
                elif name.startswith("cuobjdump"):
                    yield Reader(name, tool, ["-elf", "@"], False)
                elif name.startswith("nvdisasm"):
                    yield Reader(name, tool, ["@"], True)
                elif name.startswith("nvlink") and sample.type == 1:
                    for target in targets(sample):
                        yield Reader(name, tool, ["-arch=" + target, "@", "-o", "%"], False)
                    for target in targets(sample):
                        yield Reader(name, tool, ["-r", "-arch=" + target, "@", "-o", "%"], False)
            elif name.startswith("cuobjdump"):
                yield Reader(name + " -lelf -lptx", tool, ["-lelf", "-lptx", "@"], False)
                yield Reader(name + " -elf -ptx", tool, ["-elf", "-ptx", "@"], False)
            elif name.startswith("nvlink") and sample.kind == "container":
                for target in targets(sample):
                    yield Reader(name, tool, ["-r", "-arch=" + target, "@", "-o", "%"], False)

    def ask(self, reader, data, kind, seconds=HANG):
        """Runs a reader over some bytes: how it ended, what it wrote."""
        suffix = {"cubin": ".cubin", "container": ".fatbin", "host": ".so"}[kind]
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "in" + suffix), os.path.join(folder, "result")
            with open(path, "wb") as file:
                file.write(data)
            command = [reader.tool] + [path if a == "@" else out if a == "%" else a for a in reader.arguments]
            with open(os.path.join(folder, "out"), "w+b") as stdout, open(os.path.join(folder, "err"), "w+b") as stderr:
                try:
                    end = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=folder,
                                         timeout=seconds, check=False).returncode
                except subprocess.TimeoutExpired:
                    end = None
                stdout.seek(0)
                stderr.seek(0)
                text, errors = stdout.read(OUTPUT), stderr.read(1 << 20)
            if os.path.exists(out):
                text += b"\nresult " + open(out, "rb").read().hex(" ", 8).encode().replace(b" ", b"\n")
            strip = folder.encode()
            return Answer(end, text.replace(strip, b"").decode("latin-1"), errors.replace(strip, b"").decode("latin-1"))

    def of(self, sample, slow):
        """The readers that accept a sample, with their answers: of each tool the newest that does."""
        key = sample.name, slow
        with self.lock:
            if key in self.genuine:
                return self.genuine[key]
        out, done = [], set()
        for reader in self.candidates(sample):
            mark = (reader.name.split(" ")[0], reader.arguments[0] if reader.name.startswith("cuobjdump") else "")
            if reader.slow != slow or mark in done:
                continue
            answer = self.ask(reader, sample.data, sample.kind)
            linked = "%" not in reader.arguments or "\nresult " in answer.out and "not found in" not in answer.errors
            if answer.end == 0 and linked and "error" not in answer.errors.lower():
                done.add(mark)
                out.append((reader, answer))
        with self.lock:
            if len(self.genuine) > 64:
                self.genuine.clear()
            self.genuine[key] = out
        return out

    def accepted(self, sample, slow):
        """The names of the readers that accept a sample; asked once and for all."""
        with self.lock:
            row = self.cache.execute("select readers from accepted where sample = ? and slow = ?",
                                     (sample.name, slow)).fetchone()
        if row:
            return [name for name in row[0].split("|") if name]
        names = [reader.name for reader, _ in self.of(sample, slow)]
        with self.lock:
            self.cache.execute("insert or replace into accepted values (?, ?, ?)", (sample.name, slow, "|".join(names)))
        return names

    def judge(self, sample, data, slow):
        """[(reader, word, detail)] for a mutant of the sample; the slow readers only where they are asked for."""
        mark = hashlib.sha256(sample.name.encode() + data).hexdigest()[:24]
        out = []
        for speed in (False, True) if slow else (False,):
            for name in self.accepted(sample, speed):
                with self.lock:
                    row = self.cache.execute("select word, detail from answer where mutant = ? and reader = ?",
                                             (mark, name)).fetchone()
                if not row:
                    reader, answer = next(pair for pair in self.of(sample, speed) if pair[0].name == name)
                    row = compare(answer, self.ask(reader, data, sample.kind))
                    if row[0] == "hang":
                        row = compare(answer, self.ask(reader, data, sample.kind, PATIENCE))
                    with self.lock:
                        self.cache.execute("insert or replace into answer values (?, ?, ?, ?)", (mark, name) + tuple(row))
                out.append((name, row[0], row[1]))
        return out


def complaints(text):
    """Lines of complaint without their numbers, counted."""
    return collections.Counter(NUMBER.sub("N", line).strip() for line in text.splitlines() if line.strip())


def compare(genuine, mutant):
    """(word, detail) of the difference between two answers of one reader."""
    if mutant.end is None:
        return "hang", "not ended after %d s" % PATIENCE
    if mutant.end < 0 or 128 < mutant.end < 193 or "bad_alloc" in mutant.errors or "Segmentation" in mutant.errors:
        return "crash", "ended with %d: %s" % (mutant.end, mutant.errors.strip()[-120:])
    new = complaints(mutant.errors) - complaints(genuine.errors)
    first = next(iter(new), "")[:160]
    if mutant.end != genuine.end or re.search(r"\b(error|fatal)\b", " ".join(new), re.I):
        return "refused", first or "ended with %d" % mutant.end
    if new:
        return "warned", first
    if mutant.out == genuine.out:
        return "same", ""
    old_lines, new_lines = genuine.out.splitlines(), mutant.out.splitlines()
    if len(old_lines) != len(new_lines):
        return "layout", "%d lines, %d before" % (len(new_lines), len(old_lines))
    pairs = [(a, b) for a, b in zip(old_lines, new_lines) if a != b]
    if not pairs:
        return "same", ""
    detail = "%d lines: %s | %s" % (len(pairs), " ".join(pairs[0][0].split())[:90], " ".join(pairs[0][1].split())[:90])
    if len(pairs) > 3:
        return "layout", detail
    shapes = [(NUMBER.sub("N", a).split(), NUMBER.sub("N", b).split()) for a, b in pairs]
    return ("value" if all(a == b for a, b in shapes) else "words"), detail
