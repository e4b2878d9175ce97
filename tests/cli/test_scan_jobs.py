# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""-j N: the same bytes out, whatever N is."""
import os
import resource
import subprocess

from lib_cli import CUVET, bad_container, cuvet, damaged_member, equal, main, read, samples, scratch, test, write

FULL = bool(os.environ.get("CV_FULL"))  # else each file once, with two of the limits


def inputs():
    return samples() + [write(bad_container()), write(damaged_member()), write(b"")]


@test
def output_does_not_depend_on_jobs():
    for path in inputs():
        for form in ("text", "ndjson", "sarif") if FULL else ("ndjson",):
            one = cuvet("scan", "--notes", "--format", form, path)
            for jobs in ("1", "2", "4", "7") if FULL else ("4",):
                r = cuvet("scan", "--notes", "--format", form, "-j", jobs, path)
                equal((r.rc, r.raw, r.err), (one.rc, one.raw, one.err), "%s -j%s %s" % (form, jobs, path))


@test
def several_files():
    paths = inputs()
    for form in ("text", "ndjson", "sarif"):
        one = cuvet("scan", "--notes", "--format", form, *paths)
        for jobs in ("1", "2", "4", "7"):
            r = cuvet("scan", "--notes", "--format", form, "--jobs", jobs, *paths)
            equal((r.rc, r.raw, r.err), (one.rc, one.raw, one.err), form + " -j" + jobs)


def many(n):
    """Small files in folders, and between them what cannot be read, what is skipped, and one that all threads share."""
    d, paths = scratch(), samples()
    contents = [open(p, "rb").read() for p in paths if os.path.getsize(p) < 20000]
    contents += [bad_container(), damaged_member(), b"", b"PK\3\4" + bytes(60)]
    for i in range(n):
        sub = os.path.join(d, "d%02d" % (i % 13))
        os.makedirs(sub, exist_ok=True)
        write(contents[i * 7 % len(contents)], "f%04d" % i, sub)
        if i % 50 == 7:
            os.symlink("f%04d" % i, os.path.join(sub, "f%04d.link" % i))
        if i % 50 == 8:
            os.mkfifo(os.path.join(sub, "f%04d.pipe" % i))
    write(read("default.fatbin") * (17 * 1024 * 1024 // len(read("default.fatbin"))), "f0500.big", os.path.join(d, "d05"))
    write(read("multi.fatbin") * 200, "f0600.not-so-big", os.path.join(d, "d03"))
    return d


def descriptors(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


@test
def many_files():
    d = many(1500 if FULL else 400)
    for form in ("text", "ndjson", "sarif") if FULL else ("text", "ndjson"):
        one = cuvet("scan", "-r", "--notes", "--format", form, "-j1", d)
        for jobs in ("2", "3", "16") if FULL else ("3",):
            # With few descriptors most come one by one from the process that opens them, and fewer are in work.
            for most in (None, 200, 40, 34, 30) if FULL else (None, 60, 31):
                r = cuvet("scan", "-r", "--notes", "--format", form, "-j" + jobs, d, preexec=most and descriptors(most))
                what = "%s -j%s %s" % (form, jobs, most)
                equal((r.rc, r.raw, r.err), (one.rc, one.raw, one.err), what)
    equal(cuvet("scan", "-r", "--notes", d).raw, cuvet("scan", "-r", "--notes", "-j1", d).raw, "the default")


@test
def a_reader_that_goes_away():
    with subprocess.Popen([CUVET, "scan", "-r", "-j4", "--format=ndjson", many(300)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        p.stdout.read(1000)
        p.stdout.close()
        equal(p.wait(60), 141, "exit")


@test
def limits_end_at_the_same_place():
    limits = ("containers=1", "members=1", "total=3K", "diagnostics=1", "live=64K", "work=1", "member=1K")
    for i, path in enumerate(inputs()):
        for limit in limits if FULL else (limits[i % 7], limits[(i + 3) % 7]):
            one = cuvet("scan", "--format=ndjson", "--limit", limit, path)
            r = cuvet("scan", "--format=ndjson", "--limit", limit, "-j4", path)
            if limit.startswith("live="):
                continue  # counts what is allocated at the same time, which threads change: no crash
            equal((r.rc, r.raw), (one.rc, one.raw), limit + " " + path)


main()
