# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner of python/src/cuvet/shard.py by its path, with the standard library alone: parts of a list, killed and begun again, make
the report of one process; nothing is lost silently."""
import contextlib
import glob
import hashlib
import importlib.util
import io
import json
import os
import random
import signal
import subprocess
import sys
import time

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, bad_container, cuvet, damaged_member, equal, main, package, read,
                     samples, scratch, test, write)

RUNNER = os.path.join(ROOT, "python", "src", "cuvet", "shard.py")
MISSING, STOPPED = 8, 143


LEFT_OUT = ("CUVET", "CUVET_SHARDS", "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID")


def environ(**more):
    return dict({key: value for key, value in os.environ.items() if key not in LEFT_OUT}, **more)


def in_here():
    """The runner as a module: to start Python for each call would be most of the time."""
    spec = importlib.util.spec_from_file_location("shard_by_its_path", RUNNER)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SHARD = in_here()


def quick(*args, code=0, command=CUVET, **env):
    """As `runner`, in this process."""
    before, told = dict(os.environ), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        os.environ.clear()
        os.environ.update(dict({k: v for k, v in before.items() if k not in LEFT_OUT}, CUVET=command, **env))
        with contextlib.redirect_stderr(told):
            try:
                rc = SHARD.main(list(args))
            except SystemExit as ended:  # of argparse
                rc = ended.code
    finally:
        os.environ.clear()
        os.environ.update(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    equal(rc, code, " ".join(args[:1]) + ": " + told.getvalue())
    return told.getvalue()


def runner(*args, code=0, command=CUVET, own=False, **env):
    if not own:
        return quick(*args, code=code, command=command, **env)
    p = subprocess.run([sys.executable, RUNNER, *args], env=environ(CUVET=command, **env), capture_output=True, timeout=120, check=False)
    equal(p.returncode, code, " ".join(args[:1]) + ": " + p.stderr.decode("utf-8", "replace"))
    return p.stderr.decode("utf-8", "replace")


class Work:
    """A list and a folder of results."""

    def __init__(self, names, end=b"\n"):
        self.folder = scratch()
        self.names = [os.fsencode(name) for name in names]
        self.list = write(b"".join(name + end for name in self.names), "list", self.folder)
        self.out = os.path.join(self.folder, "out")
        self.report = os.path.join(self.folder, "report")

    def arguments(self, *more):
        return ("--files-from", self.list, "--out", self.out, *more)

    def run(self, *more, **how):
        return runner("run", *self.arguments(*more), **how)

    def merge(self, *more, **how):
        said = runner("merge", *self.arguments("-o", self.report, *more), **how)
        return said

    def lines(self):
        with open(self.report, "rb") as file:
            return [json.loads(line) for line in file]

    def results(self):
        return sorted(glob.glob(os.path.join(self.out, "results", "*", "*")))

    def same_as_one_process(self, *arguments):
        one = cuvet("scan", "--format=ndjson", "--files-from", self.list, *arguments)
        self.merge(code=one.rc)
        with open(self.report, "rb") as file:
            equal(file.read(), one.raw, "the report of one process")


def names_of_all_kinds():
    folder = scratch()
    multi = read("multi.fatbin")
    wheel = package(**{"a.fatbin": multi, "b\nc": b"text", "d!/e": multi})
    with open(wheel, "rb") as file:
        damaged = write(file.read()[:-30])
    os.mkdir(os.path.join(folder, "pack!"))
    odd = [write(multi, name, folder) for name in ("with blank", "tab\tand \\ back", "b\u202ei\u00e4di", "\udcff\udc80", "pack!/age")]
    large = write(multi * 200, "large", folder)
    nothing = os.path.join(folder, "not-there")
    return samples()[:8] + [wheel, damaged, large, nothing, folder, write(b""), write(bad_container()), *odd, wheel, nothing]


def fake(lines):
    """A command that does as the other, but for what these lines of a shell do first; "$input" is what it was asked for."""
    folder = scratch()
    path = os.path.join(folder, "cuvet")
    with open(path, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\n[ "$1" = --version ] && exec "%s" "$@"\nlist=$(mktemp "%s/list.XXXXXX"); cat > "$list"\n'
                     'input=$(tr "\\0" "\\n" < "$list")\n[ -z "$input" ] && exec "%s" "$@" < "$list"\nlog=%s/log; echo "$input" >> "$log"\n%s\nexec "%s" "$@" < "$list"\n'
                     % (CUVET, folder, CUVET, folder, lines, CUVET))
    os.chmod(path, 0o755)
    return path, os.path.join(folder, "log")


def read_text(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


@test
def any_number_of_parts():
    for end, shards in ((b"\n", 1), (b"\0", 3)):
        work = Work(names_of_all_kinds(), end)
        for shard in reversed(range(shards)):
            if shards == 1:
                work.run()
            elif shard == 1:
                work.run(JOB_COMPLETION_INDEX="1", CUVET_SHARDS="3", own=True)
            else:
                work.run("--shard", "%d/%d" % (shard, shards))
        work.same_as_one_process()
    work = Work(names_of_all_kinds())  # more parts than files: this one has nothing to do
    assert "0 inputs" in work.run("--shards", "1000", SLURM_ARRAY_TASK_ID="999")
    work.merge(code=MISSING)


@test
def options_of_the_command():
    work = Work(names_of_all_kinds())
    work.run("--", "scan", "--limits=tiny", "--fail-on", "malformed")
    work.same_as_one_process("--limits=tiny", "--fail-on", "malformed")
    work = Work(samples()[:6])
    work.run("--", "list", "--kernels")
    work.merge(code=CLEAN)
    with open(work.report, "rb") as file:
        equal(file.read(), cuvet("list", "--kernels", "--format=ndjson", "--files-from", work.list).raw, "list")


@test
def check_as_one_process():
    """Its exit code too, of files that are asked for together and alone."""
    for require, more in (("sm_75", []), ("sm_999", []), ("sm_75", ["/nonexistent"]), ("sm_75", [write(bad_container())])):
        work = Work([write(read("multi.fatbin")), write(read("multi.fatbin") * 200), samples()[0], *more])
        work.run("--", "check", "--require", require)
        one = cuvet("check", "--require", require, "--format=ndjson", "--files-from", work.list)
        work.merge(code=one.rc)
        with open(work.report, "rb") as file:
            equal(file.read(), one.raw, (require, more))


@test
def a_killed_run_goes_on():
    multi = read("multi.fatbin")
    work = Work([write(multi * (140 + i)) for i in range(6)] + names_of_all_kinds())
    slow, log = fake("sleep 0.3")
    first = subprocess.Popen([sys.executable, RUNNER, "run", *work.arguments("--jobs", "2")], env=environ(CUVET=slow),
                             stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while len(work.results()) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    equal(first.wait(60), -signal.SIGKILL, "killed")
    done = work.results()
    assert 3 <= len(done) < len(set(work.names)), len(done)
    before = {path: os.stat(path).st_mtime_ns for path in done}
    said = work.merge(code=MISSING)
    assert "no result" in said and not os.path.exists(work.report), said
    runner("status", *work.arguments(), code=MISSING)
    said = work.run(command=slow)
    assert "%d already done" % len(done) in said, said
    equal({path: os.stat(path).st_mtime_ns for path in done}, before, "what was done is not done again")
    work.same_as_one_process()
    equal(os.listdir(os.path.join(work.out, "temporary")), [], "left behind")
    asked = read_text(log)
    said = work.run(command=slow)
    assert "nothing was left" in said and read_text(log) == asked, said


@test
def what_the_command_dies_of_is_a_result():
    for lines, outcome, verdict, code in (
            ("kill -SEGV $$", "crash", "error", 5), ("exit 5", "defect", "error", 5), ("exit 0", "defect", "error", 5),
            ("echo no json; exit 0", "defect", "error", 5), ("sleep 60", "timeout", "limit", LIMIT),
            ("yes", "output", "limit", LIMIT), ('echo \'{"schema":"cuvet/1","type":"verdict"\'; exit 0', "defect", "error", 5)):
        good = samples()[:3]
        poison = write(b"poison" * (200000 if lines == "sleep 60" else 1), "poison")  # large: asked for alone
        work = Work([good[0], poison, *good[1:]])
        said = work.run("--timeout", "2" if lines == "sleep 60" else "60", "--most-output", "100000",
                        command=fake('case "$input" in *poison*) %s;; esac' % lines)[0])
        assert outcome in said, said
        work.merge(code=code)
        mine, = [line for line in work.lines() if line.get("file") == poison]
        equal((mine["type"], mine["verdict"], mine["outcome"], mine["exit"]), ("verdict", verdict, outcome, code), lines)
        equal(work.lines()[-1][verdict], 1, "the sum")
        rest = [line for line in work.lines() if line.get("file") != poison and line["type"] != "summary"]
        equal(rest, [line for line in cuvet("scan", "--format=ndjson", *good).objects() if line["type"] != "summary"], "the others")
        if outcome == "crash":
            work.run("--again")  # the command is well now
            work.same_as_one_process()


@test
def the_runner_dies_at_one_file():
    poison = write(b"poison", "poison")
    work = Work([poison, *samples()[:3]])
    command, _ = fake('case "$input" in *poison*) kill -KILL $PPID; sleep 1;; esac')
    for _ in range(3):
        work.run("--jobs", "1", code=-signal.SIGKILL, command=command, own=True)
    said = work.run(command=command)
    assert "lost" in said, said
    work.merge(code=5)
    mine, = [line for line in work.lines() if line.get("file") == poison]
    equal((mine["verdict"], mine["outcome"]), ("error", "lost"), "given up")
    work.run("--again")
    work.same_as_one_process()


@test
def told_to_end():
    work = Work(samples()[:3])
    command, log = fake("sleep 60")
    for _ in range(4):  # more often than a file may be begun
        first = subprocess.Popen([sys.executable, RUNNER, "run", *work.arguments()], env=environ(CUVET=command),
                                 stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not os.path.exists(log) and time.monotonic() < end:
            time.sleep(0.02)
        first.send_signal(signal.SIGTERM)
        equal(first.wait(60), STOPPED, "exit code")
        os.unlink(log)
    equal(glob.glob(os.path.join(work.out, "attempts", "*", "*")), [], "nobody's fault")
    work.run()
    work.same_as_one_process()


@test
def damaged_results_are_none():
    work = Work(samples()[:3])
    work.run()
    victim = work.results()[1]
    with open(victim, "rb") as file:
        data = file.read()
    for damage in (lambda data: data[:-1], lambda data: data[:len(data) // 2], lambda data: b"", lambda data: data[10:],
                   lambda data: data.replace(b'"verdict":"clean"', b'"verdict":"CLEAN"'), lambda data: data + data):
        with open(victim, "wb") as file:
            file.write(damage(data))
        assert damage(data) != data
        work.merge(code=MISSING)
        assert not os.path.exists(work.report) and not glob.glob(work.report + "*"), "a report without a result"
    work.merge("--partial", code=MISSING)
    equal([line["outcome"] for line in work.lines() if "outcome" in line], ["missing"], "said in the report")
    assert "2 already done" in work.run()
    work.same_as_one_process()
    one, other = Work(samples()[:1]), Work(samples()[1:2])
    one.run()
    other.run()
    with open(one.results()[0], "rb") as file, open(other.results()[0], "wb") as to:
        to.write(file.read())
    other.merge(code=MISSING)  # it is that of another file


@test
def planted_results_are_none():
    """Somebody who can write into the folder may make a result that has its own sum: it is of this file, and whole, or it is none."""
    work = Work(samples()[:2])
    work.run()
    victim = work.results()[0]
    with open(victim, "rb") as file:
        data = file.read()
    about = json.loads(data[data.rfind(b"\n", 0, -1) + 1:])
    verdict = {"schema": "cuvet/1", "type": "verdict", "file": about["name"], "verdict": "clean", "exit": 0}
    for lines, change in (
            ([b"[" * 200000], {}), ([b"{}"], {}), ([b"x"], {}), ([], {}), ([json.dumps(dict(verdict, file=about["name"] + "x")).encode()], {}), ([json.dumps(dict(verdict, type=[])).encode()], {}),
            ([json.dumps(dict(verdict, type="finding")).encode()], {}), ([json.dumps(verdict).encode(), json.dumps(dict(verdict, type="summary")).encode()], {}),
            ([json.dumps(verdict).encode()], {"exit": "0"}), ([json.dumps(verdict).encode()], {"exit": 256}), ([json.dumps(verdict).encode()], {"exit": None}), ([json.dumps(verdict).encode()], {"outcome": 1})):
        text = b"".join(line + b"\n" for line in lines)
        with open(victim, "wb") as file:
            file.write(text + json.dumps(dict(about, sha256=hashlib.sha256(text).hexdigest(), **change)).encode() + b"\n")
        work.merge(code=MISSING)
        runner("status", *work.arguments(), code=MISSING)
        assert not os.path.exists(work.report), lines
    assert "1 already done" in work.run()
    work.same_as_one_process()


@test
def links_in_the_folder():
    """Nothing is written through a link that somebody put where the runner writes."""
    good = samples()[0]
    work = Work([good])
    aim = write(b"precious", "aim")
    key = hashlib.sha256(os.fsencode(good)).hexdigest()
    for room, name in (("attempts/" + key[:2], key), ("temporary", "x"), ("results/" + key[:2], key + ".ndjson")):
        os.makedirs(os.path.join(work.out, room), exist_ok=True)
        os.symlink(aim, os.path.join(work.out, room, name))
    work.run(code=IO)
    work.run()  # the link is gone with the attempt
    equal(read_text(aim), "precious", "what the links point to")
    work.same_as_one_process()


@test
def two_runners_of_one_part():
    work = Work(names_of_all_kinds())
    both = [subprocess.Popen([sys.executable, RUNNER, "run", *work.arguments("--jobs", "1")], env=environ(CUVET=CUVET), stderr=subprocess.DEVNULL) for _ in range(2)]
    equal([one.wait(100) for one in both], [0, 0], "exit codes")
    work.same_as_one_process()
    equal((os.listdir(os.path.join(work.out, "temporary")), glob.glob(os.path.join(work.out, "attempts", "*", "*"))), ([], []), "left behind")


@test
def no_room_for_results():
    """As when a disk is full: nobody's fault but the disk's, however often it happens."""
    work = Work(samples()[:2])
    os.makedirs(work.out)
    write(b"no folder", "results", work.out)
    for _ in range(4):
        work.run(code=IO)
    os.unlink(os.path.join(work.out, "results"))
    work.run()
    work.same_as_one_process()


@test
def another_policy_is_another_job():
    folder = scratch()
    policy = write(b'schema = "cuvet-policy/1"\n[require]\narchitectures = ["sm_75"]\n', "p.toml", folder)
    work = Work(samples()[:1])
    for words in (("--policy", policy), ("--policy=" + policy,)):
        work = Work(samples()[:1])
        work.run("--", "check", *words)
        work.run("--", "check", *words)
        with open(policy, "ab") as file:
            file.write(b"# another one\n")
        assert "another job" in work.run("--", "check", *words, code=USAGE)


@test
def another_job():
    work = Work(samples()[:2])
    work.merge(code=MISSING)
    work.run("--", "scan", "--limits=tiny")
    assert "another job" in work.run(code=USAGE)
    work.run("--", "scan", "--limits=tiny")
    work.merge(code=cuvet("scan", "--limits=tiny", "--files-from", work.list).rc)


@test
def a_file_that_changed():
    path = write(read("multi.fatbin"))
    work = Work([path, samples()[0]])
    work.run()
    with open(path, "wb") as file:
        file.write(damaged_member())
    work.merge(code=MISSING)  # the result is about what was there
    assert "1 already done" in work.run()
    work.same_as_one_process()
    was = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"\0")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))  # as if nothing had happened
    assert "1 already done" in work.run()
    work.same_as_one_process()


@test
def fetched():
    data = read("multi.fatbin")
    where = write(data, "m.fatbin")
    digest = hashlib.sha256(data).hexdigest()
    urls = ["test://%s" % where, "test://%s#sha256=%s" % (where, digest), "test://%s#sha256=%s" % (where, "0" * 64), "test://nothing"]
    work = Work(urls)
    assert "--fetch" in work.run(code=USAGE)
    get = os.path.join(work.folder, "get")
    with open(get, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\nexec cp "${1#test://}" "$2"\n')
    os.chmod(get, 0o755)
    work.run("--fetch", get + " {url} {out}", "--attempts", "1")
    work.merge(code=IO)
    lines = work.lines()
    equal([(line["file"], line["verdict"], line.get("outcome")) for line in lines if line["type"] == "verdict"],
          [(urls[0], "clean", None), (urls[1], "clean", None), (urls[2], "error", "fetch"), (urls[3], "error", "fetch")], "verdicts")
    named = [dict(line, file=urls[0]) for line in cuvet("scan", "--format=ndjson", where).objects()]
    equal([line for line in lines if line.get("file") == urls[0]], named, "as the file itself")


@test
def refusals():
    work = Work(samples()[:1])
    for wrong in (("--shard", "1/1"), ("--shard", "-1/2"), ("--shard", "x"), ("--shards", "2"), ("--cuvet", "/nonexistent"),
                  ("--cuvet", "/bin/true"), ("--", "unpack"), ("--", "scan", "--no-such"), ("--", "scan", "-r"), ("--", "scan", "--only-findings"), ("--fetch", "get {url}")):
        work.run(*wrong, code=USAGE)
    for wrong in (("--attempts", "0"), ("--jobs", "0"), ("--most-output", "0"), ("--timeout", "nan"), ("--timeout", "-1"), ("--timeout", "inf"), ("--shard", "\u0660/1"), ("--shards", "\u00b2")):
        work.run(*wrong, code=USAGE)
    work.run(code=USAGE, CUVET_SHARDS="many")
    work.run(code=USAGE, CUVET_SHARDS="2", SLURM_ARRAY_TASK_ID="\u00b2")
    work.run(code=USAGE, SLURM_ARRAY_TASK_ID="0")  # of how many?
    work.run("--shards", "2", code=USAGE, SLURM_ARRAY_TASK_ID="2")
    runner("run", "--files-from", "/nonexistent", "--out", work.out, code=IO)
    work.merge(code=MISSING)
    work.run("--", "scan", samples()[1])  # no option, but one more file
    work.merge(code=5)


@test
def parts_of_one_size():
    folder = scratch()
    names = [write(b"x" * (1000 * i * i), "f%02d" % i, folder) for i in range(40)]
    work = Work(names)
    planned = os.path.join(work.folder, "planned")
    said = runner("plan", "--files-from", work.list, "-o", planned, "--shards", "4")
    with open(planned, "rb") as file:
        ordered = file.read().split()
    equal(ordered, [os.fsencode(name) for name in reversed(names)], "largest first")
    low, high = [int(word) for word in said.split() if word.isdigit()][1:3]
    assert high < 1.2 * low, said


@test
def exit_codes_of_a_merge():
    for names, code in (([samples()[0]], CLEAN), ([write(bad_container()), samples()[0]], FINDINGS), (["/nonexistent"], IO), ([], CLEAN)):
        work = Work(names)
        work.run()
        work.same_as_one_process()
        equal(cuvet("scan", "--files-from", work.list).rc, code, names)


main()
