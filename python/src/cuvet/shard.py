# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One part of a list of files, judged by the command on one machine: what Slurm, Kubernetes, Ray and a shell loop share.

    python -m cuvet.shard run --files-from LIST --out FOLDER --shard 3/16
    python -m cuvet.shard merge --files-from LIST --out FOLDER -o report.ndjson [--parquet TABLES]

Each file of the list gets one result in FOLDER, which appears whole or not at all. A run that was ended from outside is run
again and goes on where it was. The command dying, hanging or using up the memory of the machine is the result of that file;
so is a file at which the runner itself died again and again. The merged report is what one `cuvet scan --format=ndjson
--files-from LIST` writes, byte for byte. Nothing but the standard library is needed: this file runs by its path as well.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import importlib
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, Set, Tuple

SCHEMA = "cuvet-shard/1"
VERDICTS = ("clean", "unsupported", "suspicious", "malformed", "limit", "error")
# Lines that end what the command says of one input.
_ENDS = ("verdict", "package", "check")
# Exit codes of the command that are answers about its inputs; 2 and 6 are about how it was called.
_ANSWERS = (0, 1, 3, 4)
USAGE, IO_ERROR, LIMIT, DEFECT, MISSING, STOPPED = 2, 3, 4, 5, 8, 143
_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_DIGEST = re.compile(rb"#(?:.*&)?sha256=([0-9A-Fa-f]{64})(?:&|$)")
_HEAD = re.compile(rb'(\{"schema":"cuvet/1","type":"[a-z_]+","file":")fetched(?=["!])')
# Files below it are given to the command together: starting it costs more than judging them.
_SMALL, _BATCH_FILES, _BATCH_BYTES = 1 << 20, 64, 16 << 20
_CHUNK = 1 << 20
# Options with which the command says nothing of some inputs, or something of others.
_NOT_HERE = ("--only-findings", "-r", "--recursive", "--format", "--files-from", "-q", "--quiet", "-h", "--help", "-V", "--version",
             "--list-limits")


class Refused(Exception):
    """The run cannot be done as it was asked for; nothing is recorded of it."""

    def __init__(self, text: str, code: int = USAGE) -> None:
        super().__init__(text)
        self.code = code


class Stopped(Exception):
    """Somebody asked the runner to end."""


class Result(NamedTuple):
    """What became of one input."""
    outcome: str  # done, crash, defect, memory, timeout, output, fetch, lost
    exit: int
    lines: bytes  # NDJSON of the command; a verdict of its own where the command gave no answer
    reason: str = ""


# ---- names -------------------------------------------------------------------------------------------------------------

# What the command escapes in names (cli/escape.c): what is invisible, or moves what stands around it.
_HIDDEN = ((0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
           (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xE000, 0xF8FF),
           (0xFDD0, 0xFDEF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFF), (0x13430, 0x1343F),
           (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0x10FFFF))


def _hidden(point: int) -> bool:
    return point >= 0x10000 and point & 0xFFFE == 0xFFFE or any(first <= point <= last for first, last in _HIDDEN)


def escaped(name: bytes) -> str:
    """A name as reports have it."""
    made = []
    for letter in name.decode("utf-8", "surrogateescape"):
        if letter == "\\":
            made.append("\\\\")
        elif 0xDC80 <= ord(letter) <= 0xDCFF or _hidden(ord(letter)):
            made.append("".join("\\x%02x" % byte for byte in letter.encode("utf-8", "surrogateescape")))
        else:
            made.append(letter)
    return "".join(made)


def key_of(name: bytes) -> str:
    """Where the result of an input lies: a hash, since names may be long, and have slashes."""
    return hashlib.sha256(name).hexdigest()


def is_url(name: bytes) -> bool:
    return _URL.match(name) is not None


def read_list(path: str) -> List[bytes]:
    """Names as the command reads --files-from: one per line, or each ended by a NUL if there is one; empty lines are none."""
    with (open(path, "rb") if path != "-" else contextlib.nullcontext(sys.stdin.buffer)) as file:
        content = file.read()
    end = b"\0" if b"\0" in content else b"\n"
    return [b"./-" if name == b"-" else name for name in content.split(end) if name]


def _json(record: Dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def no_answer(name: bytes, outcome: str, reason: str) -> Result:
    """The result of an input of which the command gave no answer: a verdict, so that every reader sees it."""
    verdict, code = {"timeout": ("limit", LIMIT), "memory": ("limit", LIMIT), "output": ("limit", LIMIT),
                     "fetch": ("error", IO_ERROR)}.get(outcome, ("error", DEFECT))
    line = _json({"schema": "cuvet/1", "type": "verdict", "file": escaped(name), "verdict": verdict, "reason": reason,
                  "exit": code, "outcome": outcome})
    return Result(outcome, code, line, reason)


# ---- the command ---------------------------------------------------------------------------------------------------------

def find_command(given: Optional[str] = None) -> str:
    """The command: what was given, $CUVET, what came with the package (as `python -m cuvet` has it), or the first on PATH."""
    inside = os.path.join(sysconfig.get_path("data"), "bin", "cuvet")
    for path in (given, os.environ.get("CUVET"), inside if os.access(inside, os.X_OK) else None, shutil.which("cuvet")):
        if path:
            if not (os.path.isfile(path) and os.access(path, os.X_OK)):
                raise Refused("%s is no command: nothing would be judged" % path)
            return os.path.abspath(path)
    raise Refused("no command cuvet: install it (make install), or name it with --cuvet or $CUVET")


def _oom_kills() -> int:
    """How many processes of this group of processes the kernel has killed for their memory; 0 where that is not known."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/cgroup", encoding="ascii", errors="replace") as file:
            own = [line.split(":", 2)[2].strip() for line in file if line.startswith("0::")]
        for folder in own[:1]:
            for path in ("/sys/fs/cgroup%s/memory.events" % folder, "/sys/fs/cgroup/memory.events"):
                with contextlib.suppress(OSError):
                    with open(path, encoding="ascii") as file:
                        return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return 0


class Call(NamedTuple):
    """How a call of the command ended."""
    code: int
    output: bytes
    complaint: str
    timeout: bool
    too_much: bool
    oom: bool


class Tool:
    """The command, with its arguments and what it may cost. May be used by several threads."""

    def __init__(self, command: Optional[str] = None, arguments: Sequence[str] = ("scan",), timeout: float = 3600,
                 most_output: int = 1 << 30, fetch: Sequence[str] = (), attempts: int = 3) -> None:
        self.path, self.arguments, self.timeout = find_command(command), list(arguments), timeout
        self.most_output, self.fetch, self.attempts = most_output, list(fetch), attempts
        if fetch and not any("{url}" in word for word in fetch) or fetch and not any("{out}" in word for word in fetch):
            raise Refused("the command that fetches names {url} and {out}")
        if not self.arguments or self.arguments[0] not in ("scan", "list", "check"):
            raise Refused("scan, list or check: other commands do not say of each file that they came to its end")
        for word in self.arguments[1:]:
            if word.partition("=")[0] in _NOT_HERE:
                raise Refused("%s: not here, since each input has to have an answer of its own" % word)
        self._running: Set["subprocess.Popen[bytes]"] = set()
        self._lock, self._stopped = threading.Lock(), False

    def version(self) -> str:
        """What the command is, without what differs from machine to machine."""
        told = subprocess.run([self.path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        lines = told.stdout.decode("utf-8", "replace").splitlines()
        if told.returncode != 0 or not lines or not lines[0].startswith("cuvet "):
            raise Refused("%s --version: exit code %d: this is not the command" % (self.path, told.returncode))
        return "; ".join(line for line in lines if not line.startswith("sandbox:"))

    def check(self) -> None:
        """Raises Refused where the command does not understand its arguments, or has no sandbox: asked before anything is done."""
        call = self.call([])
        # Without a file `check` has checked nothing, which it does not let pass.
        if call.code not in ((0, 1) if self.arguments[0] == "check" else (0,)):
            raise Refused("%s %s: exit code %d: %s" % (self.path, shlex.join(self.arguments), call.code, call.complaint), call.code)

    def stop(self) -> None:
        """Ends what runs, and lets nothing begin."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def call(self, names: Sequence[bytes], folder: Optional[str] = None) -> Call:
        """Runs the command once over these files."""
        return self._run([self.path, *self.arguments, "--format=ndjson", "--no-progress", "--files-from", "-"],
                         b"".join(name + b"\0" for name in names), folder)

    def _run(self, argv: Sequence[str], stdin: bytes, folder: Optional[str]) -> Call:
        before = _oom_kills()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
            given.write(stdin)
            given.seek(0)
            with self._lock:
                if self._stopped:
                    raise Stopped
                process = subprocess.Popen(argv, stdin=given, stdout=subprocess.PIPE, stderr=told, cwd=folder,
                                           start_new_session=True)
                self._running.add(process)
            late = threading.Event()

            def expire() -> None:
                with self._lock:
                    if process in self._running:
                        late.set()
                        _kill(process)
            watch = threading.Timer(self.timeout, expire)
            watch.start()
            try:
                output, too_much = self._read(process)
            finally:
                # Its number, and that of its group, stay its own until it is waited for: so it is waited for last.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                watch.cancel()
                with self._lock:
                    _kill(process)
                    self._running.discard(process)
                code = process.wait()
            if self._stopped:
                raise Stopped
            told.seek(max(0, told.seek(0, os.SEEK_END) - 2000))
            complaint = escaped(told.read().strip().rpartition(b"\n")[2])
        return Call(code, output, complaint, late.is_set(), too_much, code == -signal.SIGKILL and _oom_kills() > before)

    def _read(self, process: "subprocess.Popen[bytes]") -> Tuple[bytes, bool]:
        assert process.stdout is not None
        chunks, size = [], 0
        with process.stdout as pipe:
            while True:
                chunk = pipe.read(_CHUNK)
                size += len(chunk)
                if not chunk or size > self.most_output:
                    break
                chunks.append(chunk)
        if size > self.most_output:
            _kill(process)
        return b"".join(chunks), size > self.most_output

    def judge(self, name: bytes) -> Result:
        """One input alone: whatever happens to the command is its result. Raises Refused when the command does not
        understand how it is called, or has no sandbox: that would be said of every file."""
        if is_url(name):
            return self._judge_url(name)
        return self._answer(name, self.call([name]), name)

    def judge_at(self, name: bytes, folder: str) -> Result:
        """The same of a file `fetched` in this folder, which is called by another name."""
        result = self._answer(name, self.call([b"fetched"], folder), b"fetched")
        if result.outcome != "done":
            return result
        own = json.dumps(escaped(name), ensure_ascii=False)[1:-1].encode("utf-8")
        return result._replace(lines=b"".join(_HEAD.sub(lambda found: found.group(1) + own, line)
                                              for line in result.lines.splitlines(True)))

    def _answer(self, name: bytes, call: Call, called: bytes) -> Result:
        if call.code in (USAGE, 6):
            raise Refused("%s %s: exit code %d: %s" % (self.path, shlex.join(self.arguments), call.code, call.complaint),
                          call.code)
        if call.timeout:
            return no_answer(name, "timeout", "no answer in %g seconds" % self.timeout)
        if call.too_much:
            return no_answer(name, "output", "more than %d bytes of answer" % self.most_output)
        if call.oom:
            return no_answer(name, "memory", "the memory of the machine was not enough")
        if call.code < 0:
            return no_answer(name, "crash", "the command died of signal %d" % -call.code)
        lines = _lines_of(call.output)
        if call.code not in _ANSWERS or not lines or lines[-1][0].get("type") not in _ENDS:
            return no_answer(name, "defect", "the command gave no answer (exit code %d)" % call.code)
        own = escaped(called)
        if not all(isinstance(record.get("file"), str) and (record["file"] + "!/").startswith(own + "!/") for record, _ in lines):
            return no_answer(name, "defect", "the command answered about another file")
        return Result("done", call.code, b"".join(line for _, line in lines))

    def judge_batch(self, names: Sequence[bytes]) -> Dict[bytes, Result]:
        """Several small files in one call. What has no entry in the answer has to be asked for alone."""
        call = self.call(names)
        owners: Dict[str, bytes] = {escaped(name): name for name in names}
        if self.arguments[0] != "scan" and call.code != 0:
            return {}  # only a scan says for each input what its exit code is
        found: Dict[bytes, List[Tuple[Dict[str, Any], bytes]]] = {}
        for record, line in _lines_of(call.output) if call.code in _ANSWERS and not call.timeout and not call.too_much else []:
            owner = owners.get(str(record.get("file")).split("!/", 1)[0])
            if owner is None:
                return {}
            found.setdefault(owner, []).append((record, line))
        return {name: Result("done", max([_exit_of(record) for record, _ in lines]), b"".join(line for _, line in lines))
                for name, lines in found.items() if lines[-1][0].get("type") in _ENDS}

    def _judge_url(self, url: bytes) -> Result:
        with tempfile.TemporaryDirectory(prefix="cuvet-fetch-") as folder:
            out = os.path.join(folder, "fetched")
            bare = os.fsdecode(url.partition(b"#")[0])
            argv = [word.replace("{url}", bare).replace("{out}", out) for word in self.fetch]
            reason = ""
            for attempt in range(self.attempts):
                if attempt:
                    time.sleep(min(30, 2 ** attempt))
                reason = self._fetch_once(argv, out, url)
                if not reason:
                    return self.judge_at(url, folder)
        return no_answer(url, "fetch", reason)

    def _fetch_once(self, argv: Sequence[str], out: str, url: bytes) -> str:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(out)
        try:
            call = self._run(argv, b"", None)
        except OSError as error:
            raise Refused("%s: %s" % (argv[0], error.strerror)) from error
        if call.code != 0 or not os.path.isfile(out):
            return "could not be fetched (%s)" % ("too late" if call.timeout else "exit code %d" % call.code)
        wanted = _DIGEST.search(url)
        if wanted and _sha256_of(out) != wanted.group(1).decode().lower():
            return "what was fetched is not what the list names: another SHA-256"
        return ""


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):  # its group: the command, and what unpacks for it
        os.killpg(process.pid, signal.SIGKILL)


def _sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _lines_of(output: bytes) -> List[Tuple[Dict[str, Any], bytes]]:
    """The records of an answer and the lines that they stand in, without the sum at the end. None where one is no record."""
    found = []
    for line in output.splitlines(True):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return []
        if not line.endswith(b"\n") or not isinstance(record, dict) or record.get("schema") != "cuvet/1":
            return []
        if record.get("type") != "summary":
            found.append((record, line))
    return found


def _is_about(lines: bytes, name: bytes, about: Dict[str, Any]) -> bool:
    """Are these the lines of a whole answer about this input, as the runner writes them?"""
    records = _lines_of(lines)
    own = escaped(name) + "!/"
    return bool(records) and len(records) == lines.count(b"\n") and records[-1][0].get("type") in _ENDS and all(
        isinstance(record.get("file"), str) and isinstance(record.get("type"), str) and (record["file"] + "!/").startswith(own)
        for record, _ in records) and about["exit"] in range(256)


def _exit_of(record: Dict[str, Any]) -> int:
    value = record.get("exit", 0)
    return value if isinstance(value, int) else 0


# ---- results -------------------------------------------------------------------------------------------------------------

class Store:
    """The folder of results, which all machines share. Files in it appear whole."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.mine = "%s.%d" % (re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname()), os.getpid())
        # Containers may have the name of their host and one number, and somebody may wait for a name with a link.
        self._chance = secrets.token_hex(8)
        self._number, self._lock = 0, threading.Lock()

    def _path(self, room: str, key: str) -> str:
        return os.path.join(self.folder, room, key[:2], key)

    def result_path(self, name: bytes) -> str:
        return self._path("results", key_of(name)) + ".ndjson"

    def write(self, path: str, content: Iterable[bytes]) -> None:
        """A file that is there whole or not at all: another that is renamed, on the same file system."""
        with self._lock:
            self._number += 1
            temporary = os.path.join(self.folder, "temporary", "%s.%s-%d" % (self.mine, self._chance, self._number))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(os.path.dirname(temporary), exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                for piece in content:
                    file.write(piece)
            # Not forced onto the disk: what a power cut takes has no good last line, is no result, and is done again.
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def sweep(self) -> None:
        """Removes what runs on this machine left behind that are no more."""
        host = self.mine.rpartition(".")[0]
        with contextlib.suppress(FileNotFoundError):
            for entry in os.listdir(os.path.join(self.folder, "temporary")):
                owner, _, pid = entry.rpartition(".")[0].rpartition(".")
                if owner == host and pid.isdigit() and not os.path.exists("/proc/" + pid):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(self.folder, "temporary", entry))

    def same_job(self, job: Dict[str, Any], begin: bool) -> str:
        """The number of this job. Results of another command or other arguments are another job's, and refused."""
        path, wanted = os.path.join(self.folder, "job.json"), _json(job)
        if begin and not os.path.exists(path):
            self.write(path, [wanted])
        try:
            with open(path, "rb") as file:
                there = file.read()
        except FileNotFoundError:
            raise Refused("%s has no results" % self.folder, MISSING) from None
        if begin and there != wanted:
            raise Refused("%s has results of another job: %s" % (self.folder, escaped(there.strip())))
        return hashlib.sha256(there).hexdigest()

    def arguments(self) -> List[str]:
        """Those of the job."""
        with open(os.path.join(self.folder, "job.json"), "rb") as file:
            return [str(word) for word in json.load(file)["arguments"]]

    def put(self, name: bytes, job: str, result: Result, more: Dict[str, Any]) -> None:
        end = {"schema": SCHEMA, "type": "result", "name": escaped(name), "job": job, "outcome": result.outcome,
               "exit": result.exit, "reason": result.reason, "bytes": len(result.lines),
               "sha256": hashlib.sha256(result.lines).hexdigest(), **more}
        self.write(self.result_path(name), [result.lines, _json(end)])
        self.forget(name)

    def get(self, name: bytes, job: str) -> Optional[Tuple[Dict[str, Any], bytes]]:
        """(what is said about a result, its lines), or None: there is none, it is damaged, or of another job."""
        try:
            with open(self.result_path(name), "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        if not content.endswith(b"\n"):
            return None
        end = content.rfind(b"\n", 0, -1) + 1
        try:
            about = json.loads(content[end:])
        except ValueError:
            return None
        if not isinstance(about, dict) or about.get("schema") != SCHEMA or about.get("name") != escaped(name):
            return None
        lines = content[:end]
        if about.get("job") != job or about.get("sha256") != hashlib.sha256(lines).hexdigest():
            return None
        if not isinstance(about.get("exit"), int) or not isinstance(about.get("outcome"), str) or not _is_about(lines, name, about):
            return None
        return about, lines

    # An attempt is a line in a file of the input, written before the command begins and gone when there is a result.

    def attempts(self, name: bytes) -> int:
        try:
            with open(self._path("attempts", key_of(name)), "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0

    def begin(self, name: bytes) -> None:
        path = self._path("attempts", key_of(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
        try:
            os.write(handle, self.mine.encode() + b"\n")
        finally:
            os.close(handle)

    def forget(self, name: bytes) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path("attempts", key_of(name)))


# ---- a shard -------------------------------------------------------------------------------------------------------------

def shard_of(index: int, shards: int) -> int:
    """Which shard has the input with this number: there and back again, so that a list which descends by size (`plan`)
    gives each about the same."""
    turn, place = divmod(index, shards)
    return place if turn % 2 == 0 else shards - 1 - place


def _stamp(name: bytes) -> Optional[List[int]]:
    """What tells a file from one that was there before under its name; None of a URL, and of what is not there."""
    if is_url(name):
        return None
    try:
        about = os.stat(name)
    except (OSError, ValueError):
        return None
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns]  # times of the content can be set back


def is_stale(about: Dict[str, Any], name: bytes) -> bool:
    """Is there another file now than the one that was judged? One that is gone, or was never here, is not looked for, and
    copies of a file have times of their own."""
    stamp, judged = _stamp(name), about.get("stamp")
    return stamp is not None and (judged[:2] if isinstance(judged, list) else judged) != stamp[:2]


class Shard:
    """The work of one runner."""

    def __init__(self, tool: Tool, store: Store, job: str, jobs: int, say: Any) -> None:
        self.tool, self.store, self.job, self.jobs, self.say = tool, store, job, jobs, say
        self.counts: Dict[str, int] = {}
        self._lock = threading.Lock()

    def is_done(self, name: bytes, again: bool) -> bool:
        there = self.store.get(name, self.job)
        if there is None or again and (there[0]["outcome"] != "done" or there[0]["exit"] == IO_ERROR):
            return False
        return bool(there[0].get("stamp") == _stamp(name))

    def batches(self, names: Sequence[bytes]) -> Iterator[List[bytes]]:
        """What is given to the command at a time. What was begun before without a result, is large, or has a name that
        could be that of a file in a package, goes alone."""
        batch: List[bytes] = []
        size = 0
        for name in names:
            stamp = _stamp(name)
            if stamp is None or stamp[0] > _SMALL or b"!/" in name or self.store.attempts(name):
                yield [name]
                continue
            if batch and (len(batch) == _BATCH_FILES or size + stamp[0] > _BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(name)
            size += stamp[0]
        if batch:
            yield batch

    def work(self, names: Sequence[bytes]) -> None:
        try:
            for name in names:
                self.store.begin(name)
            left = list(names)
            if len(names) > 1:
                before = {name: _stamp(name) for name in names}
                begun = time.monotonic()
                answers = self.tool.judge_batch(names)
                share = (time.monotonic() - begun) / len(names)
                for name, result in answers.items():
                    self._put(name, result, before[name], share)
                left = [name for name in names if name not in answers]
            for name in left:
                self.alone(name)
        except (Stopped, Refused, OSError):
            for name in names:  # nobody's fault but ours, or that of a full disk
                with contextlib.suppress(OSError):
                    self.store.forget(name)
            raise

    def alone(self, name: bytes) -> None:
        before, begun = _stamp(name), time.monotonic()
        if self.store.attempts(name) > self.tool.attempts:
            result = no_answer(name, "lost", "whoever ran the command was ended %d times while it was at this file"
                               % self.tool.attempts)
        else:
            result = self.tool.judge(name)
            if result.outcome in ("crash", "memory"):  # perhaps somebody else's doing
                result = self.tool.judge(name)
        self._put(name, result, before, time.monotonic() - begun)

    def _put(self, name: bytes, result: Result, stamp: Optional[List[int]], seconds: float) -> None:
        self.store.put(name, self.job, result, {"stamp": stamp, "host": self.store.mine, "seconds": round(seconds, 3)})
        with self._lock:
            self.counts[result.outcome] = self.counts.get(result.outcome, 0) + 1
        if result.outcome != "done":
            self.say("%s: %s: %s" % (escaped(name), result.outcome, result.reason))

    def run(self, names: Sequence[bytes], again: bool) -> None:
        """All of these that have no result yet. Raises what ended it; what was done until then stays done."""
        self.store.sweep()
        todo = [name for name in dict.fromkeys(names) if not self.is_done(name, again)]
        self.say("%d inputs, %d already done" % (len(set(names)), len(set(names)) - len(todo)))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running: Set[Any] = set()
            try:
                for batch in self.batches(todo):
                    if len(running) > 2 * self.jobs:
                        running = self._wait(running)
                    running.add(pool.submit(self.work, batch))
                while running:
                    running = self._wait(running)
            except BaseException:
                self.tool.stop()
                for future in running:
                    future.cancel()
                raise

    @staticmethod
    def _wait(running: Any) -> Any:
        done, rest = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            future.result()
        return rest


# ---- one report ----------------------------------------------------------------------------------------------------------

class Merge:
    """All results of a list, in its order."""

    def __init__(self, store: Store, job: str, names: Sequence[bytes]) -> None:
        self.store, self.job, self.names = store, job, names
        self.outcomes: Dict[str, int] = {}
        self.verdicts = dict.fromkeys(VERDICTS, 0)
        self.missing: List[bytes] = []
        self.exit = 0

    def results(self, partial: bool) -> Iterator[Tuple[int, bytes]]:
        """(number in the list, lines) of each; those that are missing are counted, and with `partial` get a verdict."""
        for index, name in enumerate(self.names):
            there = self.store.get(name, self.job)
            if there is None or is_stale(there[0], name):
                self.missing.append(name)
                if not partial:
                    continue
                lines = no_answer(name, "missing", "no result: nobody has judged this file").lines
            else:
                lines = there[1]
                self.outcomes[there[0]["outcome"]] = self.outcomes.get(there[0]["outcome"], 0) + 1
                self.exit = max(self.exit, there[0]["exit"])
            yield index, lines

    def count(self, lines: bytes) -> None:
        for line in lines.splitlines():
            record = json.loads(line)
            if record["type"] == "verdict" and record["verdict"] in self.verdicts:
                self.verdicts[record["verdict"]] += 1

    def pieces(self, partial: bool) -> Iterator[Tuple[Optional[int], bytes]]:
        """What one process writes: (number, lines) of each input, and the sum where there were several verdicts."""
        for index, lines in self.results(partial):
            self.count(lines)
            yield index, lines
        total = sum(self.verdicts.values())
        if total > 1 and self.store.arguments()[:1] == ["scan"]:
            yield None, _json({"schema": "cuvet/1", "type": "summary", "files": total, **self.verdicts})


# ---- tables --------------------------------------------------------------------------------------------------------------

# Columns that are looked for; whatever else a record says is in the last one, as JSON. s: text, u: number, b: yes or no.
TABLES: Dict[str, Dict[str, str]] = {
    "members": dict(file="s", path="s", kind="s", arch="s", sha256="s", stored_size="u", size="u", compression="s", offset="u",
                    container_offset="u", version="s", kernels="u", referenced="b", examined="b", errors="u", warnings="u"),
    "findings": dict(file="s", rule="s", severity="s", path="s", offset="u", inner_offset="u", length="u", got="u", want="u",
                     message="s"),
    "verdicts": dict(file="s", verdict="s", depth="s", reason="s", members="u", findings="u", containers="u", elf="u", ptx="u",
                     ltoir="u", bitcode="u", other="u", stored="u", unpacked="u", notes="u", warnings="u", errors="u", exit="u",
                     outcome="s"),
    "others": dict(file="s", type="s"),
}
_TABLE_OF = {"member": "members", "finding": "findings", "verdict": "verdicts"}


def row_of(record: Dict[str, Any], index: int, line: int) -> Tuple[str, Dict[str, Any]]:
    """(table, row) of one record: the number of its input in the list, of its line in the result, and what it says."""
    table = _TABLE_OF.get(str(record.get("type")), "others")
    columns = TABLES[table]
    row: Dict[str, Any] = {"input": index, "line": line}
    more = {key: value for key, value in record.items() if key not in ("schema", "type")}
    for column, kind in columns.items():
        value = record.get(column) if column == "type" else more.pop(column, None)
        if kind == "u" and isinstance(value, str):  # above 2^53-1 they are written in hexadecimal
            value = int(value, 16)
        row[column] = value
    row["more"] = json.dumps(more, ensure_ascii=False, separators=(",", ":")) if more else None
    return table, row


def rows_of(index: int, lines: bytes) -> Iterator[Tuple[str, Dict[str, Any]]]:
    for number, line in enumerate(lines.splitlines()):
        yield row_of(json.loads(line), index, number)


def arrow_schema(table: str) -> Any:
    arrow = importlib.import_module("pyarrow")
    kinds = {"s": arrow.string(), "u": arrow.uint64(), "b": arrow.bool_()}
    return arrow.schema([("input", arrow.int64()), ("line", arrow.int64())] +
                        [(name, kinds[kind]) for name, kind in TABLES[table].items()] + [("more", arrow.string())])


class Tables:
    """Parquet files of a folder, written while rows come. They get their names when all is written."""
    GROUP = 1 << 16

    def __init__(self, folder: str) -> None:
        try:
            self._arrow = importlib.import_module("pyarrow")
            self._parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise Refused("Parquet needs pyarrow (pip install pyarrow)") from None
        os.makedirs(folder, exist_ok=True)
        self._names = {table: os.path.join(folder, table + ".parquet") for table in TABLES}
        self._rows: Dict[str, List[Dict[str, Any]]] = {table: [] for table in TABLES}
        self._schemas = {table: arrow_schema(table) for table in TABLES}
        self._writers = {table: self._parquet.ParquetWriter(self._unfinished(table), self._schemas[table]) for table in TABLES}

    def _unfinished(self, table: str) -> str:
        return "%s.%d.unfinished" % (self._names[table], os.getpid())

    def add(self, index: int, lines: bytes) -> None:
        for table, row in rows_of(index, lines):
            self._rows[table].append(row)
            if len(self._rows[table]) == self.GROUP:
                self._write(table)

    def _write(self, table: str) -> None:
        made = self._arrow.Table.from_pylist(self._rows[table], schema=self._schemas[table])
        self._writers[table].write_table(made, row_group_size=self.GROUP)
        self._rows[table] = []

    def close(self, keep: bool) -> None:
        for table in TABLES:
            if keep and self._rows[table]:
                self._write(table)
            self._writers[table].close()
        for table in TABLES:
            if keep:
                os.rename(self._unfinished(table), self._names[table])
            else:
                os.unlink(self._unfinished(table))


# ---- the command line ----------------------------------------------------------------------------------------------------

def _say(text: str) -> None:
    print("cuvet.shard: " + text, file=sys.stderr, flush=True)


def _counts(counts: Dict[str, int]) -> str:
    return ", ".join("%d %s" % (count, name) for name, count in sorted(counts.items()))


def shard_given(text: Optional[str], shards: Optional[int], environ: Any = os.environ) -> Tuple[int, int]:
    """(number of the shard from 0, of how many): --shard i/n; or --shards n, and the number from whoever started us."""
    if text is not None:
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if not found or not int(found.group(1)) < int(found.group(2)):
            raise Refused("--shard %s: I/N, with I from 0 to N-1" % text)
        return int(found.group(1)), int(found.group(2))
    index = environ.get("JOB_COMPLETION_INDEX") or environ.get("SLURM_ARRAY_TASK_ID")
    if index is None:
        if shards not in (None, 1):
            raise Refused("--shards without a number of this one: --shard, JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID")
        return 0, 1
    if shards is None:
        # Which numbers an array has tells its first and its count; of a part that is run again they would be wrong.
        raise Refused("the environment has the number of a shard: --shards says of how many")
    if not re.fullmatch(r"[0-9]+", index) or not int(index) < shards:
        raise Refused("shard %s of %d: its number is from 0 to %d" % (index, shards, shards - 1))
    return int(index), shards


def files_of(arguments: Sequence[str]) -> Dict[str, Any]:
    """What the files say that arguments name, such as a policy: with another one answers are others. A cache is no part of it."""
    files: Dict[str, str] = {}
    for before, word in zip(("", *arguments), arguments):
        option, equal, value = word.partition("=")
        path = value if option.startswith("-") and equal else word
        if "--cache" not in (before, option) and os.path.isfile(path):
            files[path] = _sha256_of(path)
    return {"files": files} if files else {}


def _run(options: argparse.Namespace) -> int:
    names = read_list(options.files_from)
    index, shards = shard_given(options.shard, options.shards)
    fetch = shlex.split(options.fetch) if options.fetch else []
    if not fetch and any(is_url(name) for name in names):
        raise Refused("the list has URLs: --fetch names a command that gets them, such as 'curl -fsSL -o {out} {url}'")
    jobs = options.jobs or len(os.sched_getaffinity(0))
    arguments = options.arguments or ["scan"]
    tool = Tool(options.cuvet, arguments + (["-j1"] if jobs > 1 and arguments[0] == "scan" else []), options.timeout,
                options.most_output, fetch, options.attempts)

    def stop(_number: int, _frame: object) -> NoReturn:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        raise Stopped
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        tool.check()
        store = Store(options.out)
        job = store.same_job({"schema": SCHEMA, "type": "job", "command": tool.version(), "arguments": arguments,
                              **files_of(arguments)}, begin=True)
        own = [name for number, name in enumerate(names) if shard_of(number, shards) == index]
        _say("shard %d of %d" % (index, shards))
        shard = Shard(tool, store, job, jobs, _say)
        shard.run(own, options.again)
    except Stopped:
        _say("stopped: the rest is done by the next run")
        return STOPPED
    _say("done: " + (_counts(shard.counts) or "nothing was left"))
    return 0


def _merge(options: argparse.Namespace) -> int:
    names = read_list(options.files_from)
    store = Store(options.out)
    merge = Merge(store, store.same_job({}, begin=False), names)
    if not options.partial:  # looked for first: a report that lacks one is not begun
        merge.missing = [name for name in names if not os.path.exists(store.result_path(name))]
        if merge.missing:
            return _missing(merge)
    tables = Tables(options.parquet) if options.parquet else None
    unfinished = "%s.%d-%s.unfinished" % (options.output, os.getpid(), secrets.token_hex(8))
    complete = False
    try:
        with open(unfinished, "xb") as out:
            for index, lines in merge.pieces(options.partial):
                out.write(lines)
                if tables and index is not None:
                    tables.add(index, lines)
            out.flush()
            os.fsync(out.fileno())
        complete = options.partial or not merge.missing
        if complete:
            os.rename(unfinished, options.output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        if tables:
            tables.close(complete)
    if merge.missing:
        return _missing(merge)
    _say("%d inputs: %s" % (len(names), _counts(merge.outcomes)))
    return merge.exit


def _missing(merge: Merge) -> int:
    for name in merge.missing[:20]:
        _say("%s: no result" % escaped(name))
    _say("%d of %d inputs have no result: run their shards again" % (len(merge.missing), len(merge.names)))
    return MISSING


def _plan(options: argparse.Namespace) -> int:
    """The list in the order of sizes, the largest first: then shards have about the same to do."""
    names = read_list(options.files_from)
    sizes = {name: (_stamp(name) or [-1])[0] for name in names}
    end = b"\0" if any(b"\n" in name for name in names) else b"\n"
    ordered = sorted(names, key=lambda name: -sizes[name])
    with open(options.output, "wb") as file:
        file.write(b"".join(name + end for name in ordered))
    for shards in (options.shards,) if options.shards else ():
        loads = [0] * shards
        for number, name in enumerate(ordered):
            loads[shard_of(number, shards)] += max(0, sizes[name])
        _say("%d shards: %d to %d bytes each" % (shards, min(loads), max(loads)))
    return 0


def _status(options: argparse.Namespace) -> int:
    """What is done and what is not, without a report."""
    names = read_list(options.files_from)
    store = Store(options.out)
    merge = Merge(store, store.same_job({}, begin=False), names)
    for _ in merge.results(False):
        pass
    _say("%d inputs: %s" % (len(names), _counts({**merge.outcomes, "without a result": len(merge.missing)})))
    return MISSING if merge.missing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cuvet.shard", description="Judges a list of files on several machines.")
    commands = parser.add_subparsers(dest="what", required=True)

    def command(name: str, text: str, **more: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, **more)
        made.add_argument("--files-from", required=True, metavar="LIST",
                          help="names of the inputs, one per line or each ended by a NUL")
        return made

    run = command("run", "judges one part of the list; what is done is not done again",
                  epilog="exit codes: 0 all of the part has results, 2 usage, 3 files, 6 no sandbox, 143 stopped by a signal")
    run.add_argument("--out", required=True, metavar="FOLDER", help="results; the same for all parts")
    run.add_argument("--shard", metavar="I/N", help="which part, counted from 0, of how many (default: the whole list)")
    run.add_argument("--shards", type=_positive, default=os.environ.get("CUVET_SHARDS") or None, metavar="N",
                     help="of how many, where JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID has the number "
                          "(default: $CUVET_SHARDS)")
    run.add_argument("--jobs", type=_positive, default=0, metavar="N", help="calls of the command at a time (default: processors)")
    run.add_argument("--timeout", type=_seconds, default=3600, metavar="SECONDS", help="for one call (default 3600)")
    run.add_argument("--most-output", type=_positive, default=1 << 30, metavar="BYTES", help="of one answer (default 1 GiB)")
    run.add_argument("--attempts", type=_positive, default=3, metavar="N",
                     help="a file at which the runner died N times is given up (default 3); also for what is fetched")
    run.add_argument("--again", action="store_true", help="judge again what failed, or could not be read")
    run.add_argument("--fetch", metavar="COMMAND", help="gets URLs: a command with the words {url} and {out}")
    run.add_argument("--cuvet", metavar="PATH", help="the command (default: $CUVET, that of the package, then PATH)")
    run.add_argument("arguments", nargs="*", metavar="ARGUMENT",
                     help="after --: scan (the default), list or check, with its options")
    run.set_defaults(do=_run)
    merge = command("merge", "makes one report of the results of all parts; refuses when a file of the list has none",
                    epilog="exit codes: that of one scan of all files; 8 when a result is missing or damaged")
    merge.add_argument("--out", required=True, metavar="FOLDER", help="the results")
    merge.add_argument("-o", "--output", required=True, metavar="FILE", help="the report, NDJSON")
    merge.add_argument("--parquet", metavar="FOLDER",
                       help="the same as tables: members, findings, verdicts, others (needs pyarrow)")
    merge.add_argument("--partial", action="store_true",
                       help="give what is missing a verdict `error`, and end with 8 nevertheless")
    merge.set_defaults(do=_merge)
    status = command("status", "says what has a result; exit code 8 when one is missing")
    status.add_argument("--out", required=True, metavar="FOLDER", help="the results")
    status.set_defaults(do=_status)
    plan = command("plan", "writes the list with the largest file first, so that parts are of about one size")
    plan.add_argument("-o", "--output", required=True, metavar="FILE", help="the list")
    plan.add_argument("--shards", type=_positive, metavar="N", help="say what the parts would have")
    plan.set_defaults(do=_plan)
    return parser


def _positive(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= threading.TIMEOUT_MAX:  # not so for inf and nan
            return float(text)
    raise argparse.ArgumentTypeError("a number of seconds above 0")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.do(options))
    except Refused as refused:
        _say(str(refused))
        return refused.code
    except OSError as error:
        _say("%s%s" % (error.filename + ": " if isinstance(error.filename, str) else "", error.strerror or error))
        return IO_ERROR


if __name__ == "__main__":
    sys.exit(main())
