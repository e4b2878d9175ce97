# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""link --compiler: PTX through a program outside, which may do anything; and the real one where it is installed."""
import os
import shutil

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, Skip, cuvet, equal, main, scratch, test

SAMPLES = os.path.join(ROOT, "corpus", "samples")
FATBIN, TEXT = os.path.join(SAMPLES, "ptx-only.fatbin"), os.path.join(SAMPLES, "plain.ptx")
CUBIN = os.path.join(SAMPLES, "plain.sm_90.rdc.cubin")
FAKE = os.path.join(os.path.dirname(os.path.abspath(CUVET)), "tests", "fake_compiler")


class Place:
    """A directory of a test; what a compiler leaves in its TMPDIR is seen."""

    def __init__(self):
        if not os.access(FAKE, os.X_OK):
            raise Skip("no fake compiler beside the command (make tests-build)")
        self.at = scratch()
        self.tmp = os.path.join(self.at, "tmp")
        self.out = os.path.join(self.at, "out.cubin")
        os.mkdir(self.tmp)

    def tool(self, how):
        path = os.path.join(self.at, "do=" + how)
        if not os.path.lexists(path):
            os.symlink(FAKE, path)
        return path

    def giving(self, path):
        """A tool that hands out this file."""
        name = os.path.join(self.at, "g")
        shutil.copyfile(path, name)
        return self.tool("give=" + name.replace("/", ":"))

    def link(self, how, *args, arch="sm_90", timeout=120):
        tool = self.giving(how) if how.startswith("/") else self.tool(how)
        r = cuvet("link", "-arch=" + arch, "--compiler", tool, *args, "-o", self.out, env={"TMPDIR": self.tmp},
                  timeout=timeout)
        equal(os.listdir(self.tmp), [], "left behind by " + how)
        data = None
        if os.path.exists(self.out):
            with open(self.out, "rb") as f:
                data = f.read()
            os.remove(self.out)
        return r, data

    def end(self):
        shutil.rmtree(self.at)


def archive(path, members):
    with open(path, "wb") as f:
        f.write(b"!<arch>\n")
        for name, data in members:
            f.write(b"%-16s%-12d%-6d%-6d%-8o%-10d`\n" % (name.encode() + b"/", 0, 0, 0, 0o644, len(data)))
            f.write(data + b"\n" * (len(data) % 2))


@test
def good_results():
    """Text in a container, as a file, as a member of an archive: as if the compiled file had been given."""
    p = Place()
    library = os.path.join(p.at, "lib.a")
    with open(TEXT, "rb") as f:
        archive(library, [("plain.ptx", f.read())])
    equal(cuvet("link", "-arch=sm_90", CUBIN, "-o", p.out).rc, CLEAN, "the cubin")
    with open(p.out, "rb") as f:
        want = f.read()
    for path, note in ((FATBIN, None), (TEXT, "CV-LINK-120"), (library, "CV-LINK-")):
        r, data = p.link(CUBIN, path)
        assert r.rc == CLEAN and data == want, (path, r.rc, r.err)
        assert "compiled from PTX" in r.err and (note is None or note in r.err), (path, r.err)
        r, data = p.link(CUBIN, path, "-disable-infos", "-Werror")
        assert r.rc == CLEAN and data == want and r.err == "", (path, r.rc, r.err)
    p.end()


@test
def without_one():
    d = scratch()
    for path, text in ((FATBIN, "CV-COMPILE-001"), (TEXT, "PTX has to be compiled")):
        r = cuvet("link", "-arch=sm_90", path, "-o", os.path.join(d, "out"))
        assert r.rc == FINDINGS and text in r.err and not os.path.exists(os.path.join(d, "out")), r.err
    shutil.rmtree(d)


@test
def each_failure_has_its_message():
    p = Place()
    for how, rc, rule in (("segv", FINDINGS, "CV-COMPILE-004"), ("exit7", FINDINGS, "CV-COMPILE-003"),
                          ("empty", FINDINGS, "CV-COMPILE-006"), ("none", FINDINGS, "CV-COMPILE-006"),
                          ("symlink", FINDINGS, "CV-COMPILE-006"), ("ok", FINDINGS, "CV-INPUT-010"),
                          ("size=10000000000", LIMIT, "CV-COMPILE-007"), ("broodsleep", LIMIT, "CV-COMPILE-005")):
        if how == "broodsleep" and not os.environ.get("CV_FULL"):
            continue  # the deadline is two minutes
        for path in (FATBIN, TEXT) if how != "broodsleep" else (FATBIN,):
            r, data = p.link(how, path, timeout=400)
            assert r.rc == rc and rule in r.err and data is None, (how, r.rc, r.err)
            assert os.path.basename(path) in r.err, (how, r.err)
    for path, rule in ((os.path.join(SAMPLES, "plain.sm_100.rdc.cubin"), "CV-ADMIT-005"),
                       (os.path.join(SAMPLES, "plain.sm_86.rdc.cubin"), "CV-ADMIT-005"),
                       (os.path.join(SAMPLES, "plain.sm_90.cubin"), "CV-ADMIT-003")):
        r, data = p.link(path, FATBIN)
        assert r.rc == FINDINGS and rule in r.err and data is None, (path, r.rc, r.err)
    p.end()


@test
def a_bad_file_spoils_the_link():
    """Also when others are good: nothing is linked with a part missing."""
    p = Place()
    r, data = p.link("exit7", CUBIN, FATBIN)
    assert r.rc == FINDINGS and data is None and "CV-COMPILE-003" in r.err, (r.rc, r.err)
    p.end()


@test
def damaged_results():
    """What comes back is a stranger's file: any byte of it may be wrong, and nothing is written without a rule."""
    p = Place()
    with open(CUBIN, "rb") as f:
        good = f.read()
    wrong = os.path.join(p.at, "wrong")
    refused = 0
    for at in range(0, len(good), 97):
        with open(wrong, "wb") as f:
            f.write(good[:at] + bytes((good[at] ^ 0xFF,)) + good[at + 1:])
        r, data = p.link(wrong, FATBIN)
        assert r.rc in (CLEAN, FINDINGS) and (data is None) == (r.rc != CLEAN), (at, r.rc, r.err)
        assert r.rc == CLEAN or "[CV-" in r.err, (at, r.err)
        refused += r.rc != CLEAN
    assert refused > 10, refused
    p.end()


@test
def its_messages():
    """The end of them, escaped, with the file that they are about."""
    p = Place()
    r, data = p.link("complain", FATBIN)
    assert r.rc == FINDINGS and data is None and "exit code 7" in r.err, r.err[-500:]
    lines = [x for x in r.err.split("\n") if x.startswith("cuvet: compiler: ")]
    assert lines[-1].endswith("ptx-only.fatbin: the reason: ?[31mred"), lines[-1]
    assert lines[-2].endswith(": line 19999"), lines[-2]
    assert sum(len(x) for x in lines) < 1 << 21 and "\033" not in r.err, len(r.err)
    p.end()


@test
def options():
    """What it is given, in order; only with one."""
    p = Place()
    r, data = p.link("ok", "-Xptxas", "-v,-O1 -dlcm=cg", "-maxrregcount", "40", "--device-stack-protector=true", "-g", FATBIN)
    assert r.rc == FINDINGS and "CV-INPUT-010" in r.err and "means nothing" not in r.err, r.err
    tool = os.path.join(p.at, "say")
    with open(tool, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\necho \"$@\"; env\nexit 1\n")
    os.chmod(tool, 0o755)
    r = cuvet("link", "-arch=sm_90a", "--compiler", tool, "-Xptxas", "-v,-O1 -dlcm=cg", "-maxrregcount", "40",
              "--device-stack-protector=true", "-g", FATBIN, "-o", p.out, env={"CUVET_SECRET": "1"})
    assert ("-arch=sm_90a -m64 -c --device-debug -v -O1 -dlcm=cg --maxrregcount=40 --device-stack-protector=true input.ptx -o output.cubin\n"
            in r.err), r.err
    assert "TMPDIR=.\n" in r.err and "SECRET" not in r.err, r.err
    r = cuvet("link", "-arch=sm_90", "-Xptxas", "-v", "-maxrregcount=40", CUBIN, "-o", p.out)
    assert r.rc == CLEAN and r.err.count("means nothing here") == 2, r.err
    p.end()


@test
def both_programs():
    """A compiler and a code generator: each gets what is its own."""
    p = Place()
    wide = os.path.join(ROOT, "corpus", "finalize", "wide.sm_100.rdc.cubin")
    r, data = p.link("exit7", "--code-generator", p.tool("cubin"), wide, arch="sm_103")
    assert r.rc == CLEAN and data, (r.rc, r.err)
    r, data = p.link("exit7", "--code-generator", p.tool("cubin"), wide, FATBIN, wide, arch="sm_103")
    assert r.rc == FINDINGS and "CV-COMPILE-003" in r.err and "CV-BACKEND" not in r.err, (r.rc, r.err)
    # the first one is no program that takes device ELFs
    r = cuvet("link", "-arch=sm_103", "--compiler", p.tool("cubin"), wide, "-o", p.out)
    assert r.rc == FINDINGS and "CV-ADMIT-012" in r.err, (r.rc, r.err)
    r = cuvet("link", "-arch=sm_90", "--code-generator", p.tool("cubin"), FATBIN, "-o", p.out)
    assert r.rc == FINDINGS and "CV-COMPILE-001" in r.err, (r.rc, r.err)
    p.end()


@test
def not_there():
    d = scratch()
    out = os.path.join(d, "out")
    r = cuvet("link", "-arch=sm_90", "--compiler", "/nowhere/ptxas", FATBIN, "-o", out)
    assert r.rc == IO and "CV-COMPILE-008" in r.err and not os.path.exists(out), (r.rc, r.err)
    r = cuvet("link", "-arch=sm_90", "--compiler", "ptxas", FATBIN, "-o", out)
    assert r.rc == USAGE and "absolute" in r.err and not os.path.exists(out), (r.rc, r.err)
    # nobody asks it when nothing is to be compiled
    r = cuvet("link", "-arch=sm_90", "--compiler", "/nowhere/ptxas", CUBIN, "-o", out)
    assert r.rc == CLEAN and r.err == "", (r.rc, r.err)
    r = cuvet("link", "-arch=sm_90", "--compiler", out, CUBIN, "-o", out)
    assert r.rc == USAGE, (r.rc, r.err)
    shutil.rmtree(d)


main()
