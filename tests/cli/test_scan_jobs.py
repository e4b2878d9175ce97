# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""-j N: the same bytes out, whatever N is."""
from lib_cli import bad_container, cuvet, damaged_member, equal, main, samples, test, write


def inputs():
    return samples() + [write(bad_container()), write(damaged_member()), write(b"")]


@test
def output_does_not_depend_on_jobs():
    for form in ("text", "ndjson", "sarif"):
        for path in inputs():
            one = cuvet("scan", "--notes", "--format", form, path)
            for jobs in ("1", "2", "4", "7"):
                r = cuvet("scan", "--notes", "--format", form, "-j", jobs, path)
                equal((r.rc, r.raw, r.err), (one.rc, one.raw, one.err), "%s -j%s %s" % (form, jobs, path))


@test
def several_files():
    paths = inputs()
    one = cuvet("scan", "--format=ndjson", *paths)
    for jobs in ("2", "4"):
        r = cuvet("scan", "--format=ndjson", "--jobs", jobs, *paths)
        equal((r.rc, r.raw), (one.rc, one.raw), "-j" + jobs)


@test
def limits_end_at_the_same_place():
    for path in inputs():
        for limit in ("containers=1", "members=1", "total=3K", "diagnostics=1", "live=64K", "work=1",
                      "member=1K"):
            one = cuvet("scan", "--format=ndjson", "--limit", limit, path)
            r = cuvet("scan", "--format=ndjson", "--limit", limit, "-j4", path)
            if limit.startswith("live="):
                continue  # counts what is allocated at the same time, which threads change: no crash
            equal((r.rc, r.raw), (one.rc, one.raw), limit + " " + path)


main()
