# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""finalize --code-generator: a program outside, which may do anything; and the real one where it is installed."""
import hashlib
import os
import shutil
import subprocess

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, Skip, cuvet, main, scratch, test

OBJECT = os.path.join(ROOT, "corpus", "finalize", "lines.sm_100.g.rdc.cubin")
SLOW = os.path.join(ROOT, "corpus", "finalize", "lines.sm_100.g.rdc.cubin")
WIDE = os.path.join(ROOT, "corpus", "finalize", "wide.sm_100.rdc.cubin")
FAKE = os.path.join(os.path.dirname(os.path.abspath(CUVET)), "tests", "fake_compiler")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def generate(how, path=OBJECT):
    """One run with the fake started under a name that says what it does: the result, and the file or None."""
    if not os.access(FAKE, os.X_OK):
        raise Skip("no fake code generator beside the command (make tests-build)")
    where = scratch()
    tool, out = os.path.join(where, "do=" + how), os.path.join(where, "out.cubin")
    os.symlink(FAKE, tool)
    before = digest(path)
    r = cuvet("finalize", "--arch", "sm_103", "--backend", "external", "--code-generator", tool, path, "-o", out)
    assert digest(path) == before, "the input was changed"
    data = open(out, "rb").read() if os.path.exists(out) else None
    shutil.rmtree(where)
    return r, data


@test
def good_result():
    r, data = generate("cubin")
    assert r.rc == CLEAN and r.err == "", (r.rc, r.err)
    want = bytearray(open(OBJECT, "rb").read())
    want[49] = 103
    assert data == bytes(want)


@test
def each_failure_has_its_message():
    for how, rc, rule in (("segv", FINDINGS, "CV-BACKEND-002"), ("exit7", FINDINGS, "CV-BACKEND-003"),
                          ("empty", FINDINGS, "CV-BACKEND-004"), ("none", FINDINGS, "CV-BACKEND-004"),
                          ("short", FINDINGS, "CV-BACKEND-005"), ("size=300000000", LIMIT, "CV-BACKEND-006"),
                          ("wrongsm", FINDINGS, "CV-FINAL-029"), ("symbols", FINDINGS, "CV-FINAL-024")):
        r, data = generate(how)
        assert r.rc == rc and rule in r.err and data is None, (how, r.rc, r.err)


@test
def not_there():
    where = scratch()
    r = cuvet("finalize", "--arch", "sm_103", "--code-generator", "/nowhere/nvlink", WIDE, "-o", where + "/o")
    assert r.rc == IO and "CV-BACKEND-007" in r.err and not os.path.exists(where + "/o"), (r.rc, r.err)
    r = cuvet("finalize", "--arch", "sm_103", "--code-generator", "nvlink", WIDE, "-o", where + "/o")
    assert r.rc == USAGE and "absolute" in r.err, (r.rc, r.err)
    r = cuvet("finalize", "--arch", "sm_103", "--backend", "external", WIDE, "-o", where + "/o")
    assert r.rc == USAGE, (r.rc, r.err)
    shutil.rmtree(where)


@test
def real_one():
    """sm_100 to sm_103 where the bytes do not run there: refused, or made again as nvlink makes it."""
    nvlink = shutil.which("nvlink")
    if not nvlink:
        raise Skip("no nvlink on PATH: nothing was made again")
    where = scratch()
    mine, theirs = where + "/mine.cubin", where + "/theirs.cubin"
    r = cuvet("finalize", "--arch", "sm_103", WIDE, "-o", mine)
    assert r.rc == FINDINGS and "CV-FINAL-013" in r.err and not os.path.exists(mine), (r.rc, r.err)
    r = cuvet("finalize", "--arch", "sm_103", "--code-generator", os.path.abspath(nvlink), WIDE, "-o", mine)
    assert r.rc == CLEAN, (r.rc, r.err)
    subprocess.run([nvlink, "-r", "-arch=sm_103", WIDE, "-o", theirs], check=True)
    assert digest(mine) == digest(theirs)
    assert cuvet("scan", mine).rc == CLEAN
    shutil.rmtree(where)


@test
def for_a_debugger():
    """What was compiled with -G is made again with -g: otherwise it would come out optimised, also for its own machine."""
    nvlink = shutil.which("nvlink")
    if not nvlink:
        raise Skip("no nvlink on PATH: nothing was made again")
    where = scratch()
    mine, theirs = where + "/mine.cubin", where + "/output.cubin"
    r = cuvet("finalize", "--arch", "sm_103", "--fastpath-off", "--code-generator", os.path.abspath(nvlink), SLOW, "-o", mine)
    assert r.rc == CLEAN, (r.rc, r.err)
    shutil.copy(SLOW, where + "/input.cubin")
    # its note has the command line then
    subprocess.run(["nvlink", "-arch=sm_103", "-r", "-g", "input.cubin", "-o", "output.cubin"], cwd=where, check=True)
    assert digest(mine) == digest(theirs)
    shutil.rmtree(where)


main()
