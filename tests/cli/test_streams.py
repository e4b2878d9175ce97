# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standard output that fails: every subcommand, every format, and nobody reads, the disk is full, or it is closed."""
import os
import signal
import subprocess
import tempfile

from lib_cli import CLEAN, CUVET, FINDINGS, IO, ROOT, equal, main, sample, scratch, test

PIPE = 128 + signal.SIGPIPE
FORMATS = ([], ["--format=ndjson"], ["--format=sarif"])
HOSTILE = os.path.join(ROOT, "corpus", "hostile", "CV-FATBIN-014.fatbin")


def commands():
    """(command line, exit code); some write more than a pipe holds"""
    fat, object_ = sample("multi.fatbin"), sample("host-two_a.o")
    halves = [sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")]
    for form in FORMATS:
        yield ["scan", *form, fat], CLEAN
        yield ["scan", *form, HOSTILE], FINDINGS
    for form in FORMATS[:2]:
        yield ["scan", *form, "-j2", *[fat] * 300], CLEAN
        yield ["list", *form, fat], CLEAN
        yield ["list", *form, *[fat] * 300], CLEAN
        yield ["map", *form, fat], CLEAN
        yield ["map", *form, sample("host-plain.so")], CLEAN
        yield ["dump", *form, sample("plain.sm_90.cubin")], CLEAN
        yield ["dump", *form, *[sample("vars.sm_90.linked.cubin")] * 30], CLEAN
        yield ["rules", *form], CLEAN
        yield ["rules", *form, "CV-FATBIN-014"], CLEAN
        yield ["select", *form, "--arch", "sm_75", object_], CLEAN
    yield ["link", "-arch=sm_75", "-o", "-", *halves], CLEAN
    yield ["link", "-r", "-arch=sm_75", "-o", "-", *halves], CLEAN
    yield ["finalize", "-o", "-", halves[0]], CLEAN
    yield ["select", "--arch", "sm_75", "-o", "-", object_], CLEAN
    yield ["--help"], CLEAN
    yield ["--version"], CLEAN
    yield ["help"], CLEAN
    yield ["scan", "--list-limits"], CLEAN
    for name in ("scan", "list", "unpack", "dump", "map", "rules", "select", "link", "finalize"):
        yield [name, "--help"], CLEAN
        yield ["help", name], CLEAN


def said(argv):
    """What a command says on standard error however its output ends: with `-o -` there is the log of a selection."""
    if argv[:1] == ["select"] and "-o" in argv or argv[:1] == ["finalize"] and "-o" in argv:
        return run(argv, scratch()).stderr
    return b""


def run(argv, where, **streams):
    p = subprocess.run([CUVET, *argv], stdin=subprocess.DEVNULL, cwd=where, timeout=120, check=False,
                       **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})
    equal(sorted(os.listdir(where)), [], "left behind by " + " ".join(argv))
    return p


@test
def they_work_when_somebody_reads():
    """Else the tests below would test a complaint."""
    for argv, rc in commands():
        p = run(argv, scratch())
        equal((p.returncode, p.stderr), (rc, said(argv)), " ".join(argv))
        assert p.stdout, argv


@test
def nobody_reads():
    for argv, _ in commands():
        r, w = os.pipe()
        os.close(r)
        p = run(argv, scratch(), stdout=w)
        os.close(w)
        equal((p.returncode, p.stderr), (PIPE, said(argv)), " ".join(argv))


@test
def one_line_is_read():
    """As `head -1` does: what was written before somebody went is lost, and nothing is said."""
    seen = 0
    for argv, rc in commands():
        p = subprocess.Popen([CUVET, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=scratch(), bufsize=0)
        p.stdout.read(1)
        p.stdout.close()
        equal(p.stderr.read(), said(argv), " ".join(argv))
        p.stderr.close()
        assert p.wait(120) in (PIPE, rc), (argv, p.returncode)  # what fits into the pipe was written before
        seen += p.returncode == PIPE
    assert seen >= 4, seen


@test
def the_disk_is_full():
    for argv, _ in commands():
        with open("/dev/full", "wb") as full:
            p = run(argv, scratch(), stdout=full)
        equal(p.returncode, IO, " ".join(argv))
        complaint = p.stderr[len(said(argv)):]
        assert b"standard output" in complaint and complaint.count(b"\n") <= 2, (argv, p.stderr)


@test
def it_is_closed():
    for argv, _ in commands():
        p = run(argv, scratch(), stdout=None, preexec_fn=lambda: os.close(1))
        equal(p.returncode, IO, " ".join(argv))
        assert b"standard output" in p.stderr, (argv, p.stderr)


@test
def complaints_that_nobody_can_read():
    """The exit code is the same when standard error fails, and the result is written."""
    halves = [sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")]
    for argv, rc in ((["link", "-v", "-arch=sm_75", "-o", "-", *halves], CLEAN), (["scan", "absent"], IO), (["absent"], 2),
                     (["scan", HOSTILE], FINDINGS), (["finalize", "-v", "-o", "-", halves[0]], CLEAN)):
        want = subprocess.run([CUVET, *argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        equal(want.returncode, rc, " ".join(argv))
        r, w = os.pipe()
        os.close(r)
        with open("/dev/full", "wb") as full:
            for stream in ({"stderr": full}, {"stderr": w}, {"stderr": None, "preexec_fn": lambda: os.close(2)}):
                p = run(argv, scratch(), **stream)
                equal((p.returncode, p.stdout), (rc, want.stdout), " ".join(argv))
        os.close(w)


@test
def unpacked_files_do_not_depend_on_readers():
    """The names that `unpack` prints are lost with their reader; each file that is there is whole."""
    with tempfile.TemporaryDirectory(dir=scratch()) as where:
        whole = subprocess.run([CUVET, "unpack", "-d", os.path.join(where, "a"), sample("multi.fatbin")], check=False,
                               stdout=subprocess.PIPE)
        equal(whole.returncode, CLEAN, "unpack")
        for stdout, rc in (("/dev/full", IO), (None, PIPE)):
            out = os.path.join(where, "full" if stdout else "pipe")
            r, w = os.pipe()
            os.close(r)
            with open(stdout or "/dev/null", "wb") as other:
                p = subprocess.run([CUVET, "unpack", "-d", out, sample("multi.fatbin")], check=False,
                                   stdout=other if stdout else w, stderr=subprocess.PIPE)
            os.close(w)
            equal(p.returncode, rc, "unpack: " + p.stderr.decode())
            for name in os.listdir(out):
                with open(os.path.join(out, name), "rb") as a, open(os.path.join(where, "a", name), "rb") as b:
                    assert a.read() == b.read(), name


main()
