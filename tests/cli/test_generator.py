# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""finalize --code-generator: a program outside, which may do anything; and the real one where it is installed."""
import hashlib
import os
import shutil
import struct
import subprocess

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, Skip, cuvet, main, scratch, test

OBJECT = os.path.join(ROOT, "corpus", "finalize", "lines.sm_100.g.rdc.cubin")
SLOW = os.path.join(ROOT, "corpus", "finalize", "lines.sm_100.g.rdc.cubin")
WIDE = os.path.join(ROOT, "corpus", "finalize", "wide.sm_100.rdc.cubin")
FAKE = os.path.join(os.path.dirname(os.path.abspath(CUVET)), "tests", "fake_compiler")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def code(path):
    """The code sections of a file, by name."""
    with open(path, "rb") as f:
        d = f.read()
    table, n, names = struct.unpack_from("<Q", d, 40)[0], *struct.unpack_from("<HH", d, 60)
    base = struct.unpack_from("<Q", d, table + 64 * names + 24)[0]
    found = {}
    for i in range(n):
        name, kind, flags, _, off, size = struct.unpack_from("<IIQQQQ", d, table + 64 * i)
        if kind == 1 and flags & 4:
            at = base + name
            found[d[at:d.index(0, at)]] = d[off:off + size]
    return found


def bytes_that_differ(a, b):
    a, b = (open(p, "rb").read() for p in (a, b))
    assert len(a) == len(b), (len(a), len(b))
    return [i for i in range(len(a)) if a[i] != b[i]]


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
    assert r.rc == CLEAN and "CV-FINAL-022" in r.err and r.err.count("\n") == 1, (r.rc, r.err)
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
def link_asks_it():
    """link: an input for another machine is finalized first; what the generator does wrong is an error of its input."""
    if not os.access(FAKE, os.X_OK):
        raise Skip("no fake code generator beside the command (make tests-build)")
    where = scratch()
    out = os.path.join(where, "out.cubin")
    for how, rc, rule in (("cubin", CLEAN, "CV-LINK-015"), ("segv", FINDINGS, "CV-BACKEND-002")):
        tool = os.path.join(where, "do=" + how)
        os.symlink(FAKE, tool)
        r = cuvet("link", "-arch=sm_103", "--code-generator", tool, WIDE, "-o", out)
        assert r.rc == rc and rule in r.err and os.path.exists(out) == (rc == CLEAN), (how, r.rc, r.err)
        if rc == CLEAN:
            assert cuvet("scan", out).rc == CLEAN
            os.remove(out)
    r = cuvet("link", "-arch=sm_103", WIDE, "-o", out)
    assert r.rc == FINDINGS and "CV-ADMIT-012" in r.err, (r.rc, r.err)
    r = cuvet("link", "-arch=sm_103", "--code-generator", "nvlink", WIDE, "-o", out)
    assert r.rc == USAGE and "absolute" in r.err and not os.path.exists(out), (r.rc, r.err)
    shutil.rmtree(where)


@test
def real_one():
    """sm_100 to sm_103 where nobody says that the bytes run there: refused, or asked, and nvlink makes the very code."""
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
    assert code(mine) == code(theirs)
    assert cuvet("scan", mine).rc == CLEAN
    # and a link for sm_103 does both at once
    subprocess.run([nvlink, "-arch=sm_103", WIDE, "-o", theirs], check=True)
    r = cuvet("link", "-arch=sm_103", "--code-generator", os.path.abspath(nvlink), WIDE, "-o", mine)
    assert r.rc == CLEAN and code(mine) == code(theirs), (r.rc, r.err)
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
    assert bytes_that_differ(SLOW, mine) == [49]
    subprocess.run([nvlink, "-arch=sm_103", "-r", "-g", SLOW, "-o", theirs], check=True)
    a, b = code(mine), code(theirs)
    assert a.keys() == b.keys() and all(len(a[k]) == len(b[k]) for k in a)
    # a relocation against a shared variable has been applied in theirs
    assert sum(x != y for k in a for x, y in zip(a[k], b[k])) <= 4
    shutil.rmtree(where)


main()
