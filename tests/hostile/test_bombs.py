# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One budget for each outermost file: what a scan of a bomb costs is counted by the library itself, so that nothing here
depends on the clock. bench/bombs.py measures the same families at their full size."""
import os
import resource
import subprocess
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import bombs  # noqa: E402
from lib_cli import CUVET, LIMIT, cuvet, equal, main, read, samples, test, write  # noqa: E402

COUNT = os.path.join(os.environ.get("CV_BUILD") or os.path.dirname(CUVET), "tests", "budget")
MIB = 1 << 20
BUDGET = 4 * MIB
SMALL = ("budget=%d" % BUDGET, "budget_ratio=16")
COSTS = ("unpacked", "unpacked_most", "work", "work_most", "peak")


def costs(paths, jobs, *limits):
    """for each file: what was counted, and the verdict"""
    r = subprocess.run([COUNT, "-j%d" % jobs, *limits, *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    equal(r.returncode, 0, r.stdout[-300:])
    rows = [line.split(" ", 6) for line in r.stdout.splitlines()]
    equal(len(rows), len(paths), "lines")
    return [dict(zip(COSTS, map(int, row[:5])), verdict=row[5]) for row in rows]


def bounded(files):
    paths = {name: write(data) for name, data in files.items()}
    kept = None
    for jobs in (1, 2, 7):
        rows = costs(list(paths.values()), jobs, *SMALL)
        for (name, path), row in zip(paths.items(), rows):
            what, size = "%s -j%d: %r" % (name, jobs, row), os.path.getsize(path)
            assert row["unpacked"] <= row["unpacked_most"] == max(BUDGET, 16 * size), what
            # The piece that used it up had no more than all of it.
            assert row["work"] <= 2 * row["work_most"], what
            assert row["peak"] <= 6 * (size + row["unpacked_most"]) + 4 * MIB, what
            row["peak"] = 0  # buffers of more threads
        assert kept in (None, rows), [n for n, a, b in zip(paths, kept, rows) if a != b]
        kept = rows
    for path in paths.values():
        os.unlink(path)
    return dict(zip(files, kept))


@test
def families_within_the_budget():
    bounded({name: bombs.bomb(make(BUDGET * 3 // 4)) for name, make in bombs.FAMILIES.items()})


@test
def families_that_are_walked_once_more():
    bounded({name: bombs.bomb(make(BUDGET * 2 // 5)) for name, make in bombs.FAMILIES.items()})


@test
def families_lz4():
    bounded({name: bombs.bomb(make(BUDGET * 2 // 5), "lz4") for name, make in bombs.FAMILIES.items()})


@test
def families_as_they_are():
    bounded({name: bombs.bomb(make(MIB // 2), None) for name, make in bombs.FAMILIES.items()})
    bounded({name: make(MIB // 2) for name, make in bombs.BYTES.items()})


@test
def nothing_inside_refreshes_the_budget():
    found = bounded(bombs.nests(BUDGET // 5))
    limit = [name for name, row in found.items() if row["verdict"] == "limit"]
    assert len(limit) >= 20, (len(limit), len(found))


@test
def one_finding_whatever_the_number_of_threads():
    nests = bombs.nests(BUDGET // 5)
    for name in ("zeros-zstd-2x64", "text-lz4-3x8", "many-members-same", "zeros-in-archives", "cubin-zstd-3x8"):
        path, kept = write(nests[name]), None
        for jobs in (1, 2, 7):
            r = cuvet("scan", "--format=ndjson", "-j%d" % jobs, "--limit", SMALL[0], "--limit", SMALL[1], path)
            used = [f for f in r.objects("finding") if f["rule"] in ("CV-LIMIT-020", "CV-LIMIT-021")]
            equal((r.rc, len(used), r.objects("verdict")[0]["verdict"]), (LIMIT, 1, "limit"), name)
            assert used[0]["got"] > used[0]["want"], used
            assert kept in (None, r.raw), name
            kept = r.raw


@test
def what_unpack_writes_is_bounded():
    for name in ("zeros-zstd-2x64", "many-members-same", "text-lz4-3x8", "zeros-raw-2x64"):
        data = bombs.nests(BUDGET // 5)[name]
        out = write(b"") + ".d"
        r = cuvet("unpack", "-d", out, "--limit", SMALL[0], "--limit", SMALL[1], write(data))
        wrote = sum(os.path.getsize(os.path.join(out, n)) for n in os.listdir(out))
        # content that is stored as it is counts as often as it is nested
        assert wrote <= max(BUDGET, 16 * len(data)) + 2 * len(data), (name, wrote, len(data))
        if "raw" not in name:
            equal(r.rc, LIMIT, name)


@test
def a_link_input_has_one_budget():
    for name in ("cubin-zstd-2x8", "cubin-lz4-3x8", "zeros-zstd-2x64"):
        path = write(bombs.nests(BUDGET // 2)[name])
        args = ["--limit", "budget=%d" % (BUDGET // 2), "--limit", "budget_ratio=1"]
        r = cuvet("select", "--arch", "sm_75", *args, path)
        assert r.rc == LIMIT and "CV-LIMIT-020" in r.out + r.err, (name, r.rc, r.out[-300:])


@test
def all_that_a_link_chooses_from_a_file_has_one_budget():
    """64 members of an archive, or containers one behind the other: each would fit, all together do not."""
    limits = ["--limit", "budget=%d" % BUDGET, "--limit", "budget_ratio=1"]
    # a host object is what a link takes of an archive; a container itself is chosen from before it is refused
    for make in (lambda size: bombs.bomb(bytes(size)), lambda size: bombs.bomb(bombs.symbols(size)),
                 lambda size: bombs.bomb(bytes(size), "zstd", 2, 4)):
        one = make(BUDGET * 5 // 8)
        for n, over in ((1, False), (2, True), (64, True)):
            data = bombs.edit.archive([(b"x%d/" % i, one) for i in range(n)])
            r = cuvet("link", "-arch=sm_75", "-r", *limits, "-o", write(b"") + ".out", write(data))
            assert r.rc != 0 and ("CV-LIMIT-020" in r.err) == over, (n, r.rc, r.err[:300])


@test
def many_tiny_cubins():
    """each piece has work of its own: what all of them cost follows their bytes, in a scan and in a link"""
    small, large = (costs([write(bombs.tiny_archive(size))], 1)[0] for size in (MIB // 8, 2 * MIB))
    assert 0 < small["work"] <= MIB // 8 * 64, small
    assert large["work"] <= 17 * small["work"], (small, large)
    equal((small["verdict"], large["verdict"]), ("clean", "clean"))
    objects = [write(one) for one in bombs.tiny(MIB)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    equal(cuvet("link", "-arch=sm_75", "-o", write(b"") + ".out", *objects).rc, 0)
    equal(cuvet("link", "-arch=sm_75", "-o", write(b"") + ".out", write(bombs.tiny_archive(MIB))).rc, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 2 * 3, spent  # what two files of a megabyte may take; it is a fiftieth of that


@test
def samples_stay_far_below():
    for row in costs(samples(), 2):
        assert row["unpacked"] * 20 < row["unpacked_most"] and row["work"] * 20 < row["work_most"], row


if __name__ == "__main__":
    main()
