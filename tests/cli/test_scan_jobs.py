# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""-j N: the same bytes out, whatever N is."""
import os

from lib_cli import bad_container, cuvet, damaged_member, equal, main, samples, test, write

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
