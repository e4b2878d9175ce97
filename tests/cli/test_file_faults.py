# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every file operation of a command fails once: it ends with a status of its own and without a file, or with the file
that it makes otherwise. What was there before is as it was; nothing else is left behind.

strace fails the calls. It does so by making them none, which the cage would not let pass: the commands run without."""
import os
import re
import shutil
import subprocess

from lib_cli import CLEAN, CUVET, IO, Skip, equal, main, sample, scratch, test

CALLS = ("openat", "newfstatat", "pread64", "read", "lseek", "fallocate", "write", "writev", "close", "fsync", "renameat", "renameat2",
         "linkat", "unlinkat")
LOADER = 127  # a library that could not be read
A, B = sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")
COMMANDS = (("finalize", "--arch=sm_103", sample("plain.sm_100.cubin")), ("finalize", "--arch=sm_103", "--binary-kind=sass", sample("plain.sm_100.cubin")),
            ("link", "-arch=sm_75", A, B))


def traced(log, words, *more):
    try:
        return subprocess.run(["strace", "-f", "-qq", "-o", log, *more, CUVET, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
    except FileNotFoundError as e:
        raise Skip("strace is not installed") from e


def read(path):
    with open(path, "rb") as f:
        return f.read()


@test
def each_call_fails_once():
    if re.search(rb"__(asan|tsan)_init|__ubsan_handle|__llvm_profile", read(CUVET)):
        raise Skip("an instrumented command opens files of its own")
    for words in COMMANDS:
        fails(words)


def fails(words):
    d = scratch()
    log, out = os.path.join(scratch(), "log"), os.path.join(d, "out")
    words = (words[0], "--no-sandbox", *words[1:], "-o", out)
    r = traced(log, words, "-e", "trace=" + ",".join("?" + c for c in CALLS))
    if r.returncode != CLEAN:
        raise Skip("strace cannot run it here: " + r.stderr.decode("utf-8", "replace")[:200])
    want, counts = read(out), {}
    for call in re.findall(r"^\d+ +(\w+)\(", read(log).decode("utf-8", "replace"), flags=re.M):
        counts[call] = counts.get(call, 0) + 1
    assert counts.get("renameat", 0) + counts.get("renameat2", 0) + counts.get("linkat", 0) > 0, counts
    assert counts.get("pread64", 0) > 0, counts
    hit = 0
    for old in (None, b"what was there"):
        for call, n in sorted(counts.items()):
            for k in range(1, n + 1):
                if old is None:
                    os.unlink(out)
                else:
                    with open(out, "wb") as f:
                        f.write(old)
                hit += once(d, log, out, words, call, k, old, want)
                with open(out, "ab"):
                    pass
    assert hit > 20, hit
    shutil.rmtree(d)


def once(d, log, out, words, call, k, old, want):
    r = traced(log, words, "-e", "trace=" + call, "-e", "inject=%s:error=EIO:when=%d" % (call, k))
    what = "%s: call %d of %s: exit %d, %s" % (" ".join(words[:3]), k, call, r.returncode, r.stderr.decode("utf-8", "replace")[:300])
    if "INJECTED" not in read(log).decode("utf-8", "replace"):
        return 0
    assert r.returncode in (CLEAN, IO, LOADER), what
    equal(sorted(os.listdir(d)), ["out"] if r.returncode == CLEAN or old is not None else [], what)
    if r.returncode == CLEAN:
        equal(read(out) == want, True, what)
    else:
        assert r.stderr, what
        if old is not None:
            equal(read(out), old, what)
    return 1


main()
