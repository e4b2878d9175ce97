# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One budget for each outermost file: what a scan of a bomb costs is counted by the library itself, so that nothing here
depends on the clock. bench/bombs.py measures the same families at their full size."""
import os
import resource
import subprocess
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import struct  # noqa: E402

import bombs  # noqa: E402
import edit  # noqa: E402
from lib_cli import CUVET, LIMIT, cuvet, equal, main, read, sample, samples, test, write  # noqa: E402

COUNT = os.path.join(os.environ.get("CV_BUILD") or os.path.dirname(CUVET), "tests", "budget")
MIB = 1 << 20
# All of it in make check-full; the families are the same in a push, a quarter as large.
BUDGET = (4 if os.environ.get("CV_FULL") else 1) * MIB
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
    bounded({name: bombs.bomb(make(BUDGET // 8), None) for name, make in bombs.FAMILIES.items()})
    bounded({name: make(BUDGET // 8) for name, make in bombs.BYTES.items()})


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
def what_is_examined_twice_is_counted_twice():
    """A link looks at a device ELF as one to be taken, and at one that cannot be once more, to say what is wrong."""
    one = bombs.FAMILIES["cubin-info-4"](MIB)
    path = write(bombs.edit.archive([(b"m%d.o/" % i, one) for i in range(4)]))
    for args, over in ((["scan"], False), (["link", "-arch=sm_90", "-o", write(b"") + ".out"], True)):
        r = cuvet(*args, "--limit", "effort=3", path)
        assert r.rc != 0 and ("CV-LIMIT-021" in r.out + r.err) == over, (args, r.rc, r.err[:300])


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


def seconds(*args):
    """of the processor, and the exit status"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rc = cuvet(*args).rc
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, rc


@test
def what_a_link_walks_follows_its_bytes():
    """three seconds for each megabyte; two at least"""
    for name, options, size in (("link-keep", ["-arch=sm_90"], MIB), ("link-lines", ["-arch=sm_100"], 2 * MIB),
                                ("link-units", ["-arch=sm_100", "-g"], 2 * MIB), ("link-edges", ["-arch=sm_90"], MIB),
                                ("link-info", ["-arch=sm_90"], MIB)):
        objects = bombs.LINKS[name](size)
        spent, rc = seconds("link", *options, "-o", write(b"") + ".out", *map(write, objects))
        assert rc == 0 and spent < max(2, 3 * sum(map(len, objects)) / MIB), (name, rc, spent)
    for name, size in (("cubin-frame-tables", 8 * MIB), ("cubin-private-names", 2 * MIB)):
        spent, rc = seconds("scan", "-q", write(bombs.FAMILIES[name](size)))
        assert rc != 0 and spent < 3 * size / MIB, (name, rc, spent)


@test
def kernels_times_what_is_below_is_paid_for():
    """many kernels that reach a function with many records: with few units for each byte the link ends"""
    for name, size, units in (("link-edges", 8 * MIB, 8), ("link-info", 4 * MIB, 4)):
        data = write(bombs.edit.archive([(b"m%d.o/" % i, one) for i, one in enumerate(bombs.LINKS[name](size))]))
        r = cuvet("link", "-arch=sm_90", "--limit", "work=%d" % units, "-o", write(b"") + ".out", data)
        assert r.rc == LIMIT and "CV-LIMIT-014" in r.err, (name, r.rc, r.err[-300:])


@test
def samples_stay_far_below():
    for row in costs(samples(), 2):
        assert row["unpacked"] * 20 < row["unpacked_most"] and row["work"] * 20 < row["work_most"], row


def many_kernels(count, name):
    """a cubin whose kernels all have one name, which it holds once"""
    elf = edit.Elf(read(sample("plain.sm_75.cubin")))
    symbols, strings = elf.index(".symtab"), elf.index(".strtab")
    table, text = elf.section_bytes(symbols), elf.section_bytes(strings)
    kernel = next(table[i:i + 24] for i in range(0, len(table), 24) if table[i + 4] == 0x12)
    elf.relayout({symbols: table + (struct.pack("<I", len(text)) + kernel[4:]) * count, strings: text + name + b"\0"})
    return bytes(elf.data)


PRINTED = {
    "names": ("", many_kernels(6000, b"k" * 1000)),
    "escapes": ("", many_kernels(6000, b"\1" * 1000)),
    "quotes": ("", many_kernels(6000, b'"\\' * 500)),
    "mangled": ("--demangle", many_kernels(1500, b"_ZN" + b"10abcdefghij" * 60 + b"Ev")),
    "packed": ("", bytes(edit.Fat(edit.container(edit.member(2, many_kernels(6000, b"k" * 1000), 75, how="lz4"))))),
    "short": ("", many_kernels(6000, b"k")),
}


@test
def what_is_printed_has_a_limit():
    """the names of a piece take eight times its bytes, and of a file what 'budget' or 'work' allow"""
    for name, (option, data) in PRINTED.items():
        path, whole = write(data), len(many_kernels(6000, b"k" * 1000))
        for command in ("list --kernels", "list --kernels --format=ndjson", "list --resources", "list --resources --format=ndjson"):
            r = cuvet(*command.split(), *option.split(), path)
            what = "%s of %s: %d bytes, %d printed" % (command, name, len(data), len(r.out))
            assert len(r.out) <= 8 * whole + (160 << 10), what
            said = "the limit 'work' ended what is in it" in r.err
            if name != "short":
                equal(said, "--kernels" in command or "ndjson" in command, what)
            equal(r.rc == LIMIT, said, what)
        r = cuvet("list", "--kernels", "--limit=budget=100000", "--limit=work=1", path)
        assert len(r.out) <= max(100000, len(data)) + (160 << 10) and r.rc == LIMIT, name
        os.unlink(path)


@test
def a_map_has_a_limit():
    path = write(bytes(edit.Fat(edit.container(b"".join(edit.member(2, b"\x7fELF" + bytes(60), 75) for _ in range(4000))))))
    whole = cuvet("map", path)
    for form in ("text", "ndjson"):
        r = cuvet("map", "--format=" + form, "--limit=budget=50000", "--limit=work=1", path)
        said = [line for line in r.err.splitlines() if "the limit 'budget' ended the map" in line]
        assert len(said) == 1 and "entry[" in said[0] and r.rc == LIMIT, r.err[-300:]
        assert len(r.out) < len(whole.out), form
    assert "the limit" not in whole.err, whole.err
    os.unlink(path)


if __name__ == "__main__":
    main()
