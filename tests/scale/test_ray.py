# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet.ray on a cluster of several worker processes, some of which are killed: its tables are those of one process."""
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from lib_cli import CUVET, ROOT, equal, main, package, read, samples, scratch, test, write  # noqa: E402
from lib_cli import cuvet as command_line  # noqa: E402

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
import pyarrow as arrow  # noqa: E402
import pyarrow.fs  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402
import ray  # noqa: E402

import cuvet.ray  # noqa: E402
from cuvet import shard  # noqa: E402

WORKERS, KILLS = 3, 2


def inputs():
    hostile = sorted(glob.glob(os.path.join(ROOT, "corpus", "hostile", "CV-FATBIN-0*")))[:12]
    multi = read("multi.fatbin")
    # The same member in several inputs; a package, a damaged one, and what is not there.
    wheel = package(**{"a.fatbin": multi, "b.txt": b"text"})
    with open(wheel, "rb") as file:
        damaged = write(file.read()[:-30])
    return samples()[:10] + hostile + [write(multi), wheel, damaged, os.path.join(scratch(), "not-there"), write(b"")]


def slow(seconds):
    """The command, which says whose child it is and takes its time."""
    folder = scratch()
    path, log = os.path.join(folder, "cuvet"), os.path.join(folder, "log")
    with open(path, "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\nif [ "$1" = scan ]; then echo $PPID >> "%s"; sleep %g; fi\nexec "%s" "$@"\n' % (log, seconds, CUVET))
    os.chmod(path, 0o755)
    open(log, "w", encoding="utf-8").close()
    return path, log


def one_process(names):
    """{table: rows} of one scan of all, and the digests of one list."""
    listed = write(b"".join(os.fsencode(name) + b"\0" for name in names))
    tables = {name: [] for name in shard.TABLES}
    scanned = command_line("scan", "--format=ndjson", "--files-from", listed)
    owners = {shard.escaped(os.fsencode(name)): number for number, name in enumerate(names)}
    lines = {}
    for line in scanned.raw.splitlines(True):
        record = json.loads(line)
        if record["type"] != "summary":
            number = owners[record["file"].split("!/", 1)[0]]
            lines[number] = lines.get(number, b"") + line
    for number in sorted(lines):
        for table, row in shard.rows_of(number, lines[number]):
            tables[table].append(row)
    digests = {(o["file"], o["path"]): o.get("sha256")
               for o in command_line("list", "--kernels", "--format=ndjson", "--files-from", listed).objects("member")}
    for row in tables["members"]:
        row["sha256"] = digests[row["file"], row["path"]]
    return {name: arrow.Table.from_pylist(rows, schema=shard.arrow_schema(name)) for name, rows in tables.items()}, scanned.rc


def killer(log, killed):
    """SIGKILL for workers while they wait for the command: those that the command named, by their numbers."""
    end = time.monotonic() + 120
    seen = 0
    while len(killed) < KILLS and time.monotonic() < end:
        time.sleep(0.1)
        with open(log, encoding="utf-8") as file:
            pids = file.read().split()
        if len(pids) > seen + 4:
            seen = len(pids)
            os.kill(int(pids[-1]), signal.SIGKILL)
            killed.append(int(pids[-1]))


def folder_of(where, name):
    return parquet.read_table(os.path.join(where, name))


def same_tables(where, wanted):
    for name, table in wanted.items():
        got = folder_of(where, name).sort_by([("input", "ascending"), ("line", "ascending")]) if table.num_rows else None
        equal(got.num_rows if got else 0, table.num_rows, "rows of " + name)
        if got:
            equal(got.cast(table.schema).to_pylist(), table.to_pylist(), name)


@test
def killed_workers_lose_no_file():
    names = inputs()
    command, log = slow(0.3)
    killed = []
    watch = threading.Thread(target=killer, args=(log, killed))
    watch.start()
    where = os.path.join(scratch(), "tables")
    counts = cuvet.ray.write(cuvet.ray.scan(names, cuvet=command), where, known=known)
    watch.join()
    with open(log, encoding="utf-8") as file:
        pids = file.read().split()
    equal(len(killed), KILLS, "workers that were killed")
    assert len(pids) >= len(names) + KILLS, "what a killed worker had begun was begun again"
    assert len(set(pids)) >= WORKERS, "several workers: %s" % set(pids)
    wanted, code = one_process(names)
    same_tables(where, wanted)
    equal(counts["inputs"], len(names), "inputs")
    equal(max(folder_of(where, "inputs")["exit"].to_pylist()), code, "exit")
    distinct_members(where, wanted["members"])


def known(digests):
    return {digest: "seen before" for digest in digests if digest < "8"}


def distinct_members(where, members):
    rows = [row for row in members.to_pylist() if row["sha256"]]
    got = sorted(folder_of(where, "distinct").to_pylist(), key=lambda row: row["sha256"])
    equal([row["sha256"] for row in got], sorted({row["sha256"] for row in rows}), "each digest once")
    assert len(got) < len(rows), "no member is there twice: nothing was tried"
    for row in got:
        same = [one for one in rows if one["sha256"] == row["sha256"]]
        equal((row["occurrences"], row["inputs"]), (len(same), len({one["input"] for one in same})), "how many")
        equal((row["file"], row["path"]), (same[0]["file"], same[0]["path"]), "the first")
        equal(row["known"], known([row["sha256"]]).get(row["sha256"]), "known")


@test
def what_is_fetched_is_named_as_it_was_asked_for():
    folder = scratch()
    write(read("multi.fatbin"), "m.fatbin", folder)
    local = pyarrow.fs.SubTreeFileSystem(folder, pyarrow.fs.LocalFileSystem())
    got = cuvet.ray.scan(["m.fatbin", "gone"], cuvet=CUVET, filesystem=local, attempts=1).take_all()
    got.sort(key=lambda row: row["input"])
    equal([row["outcome"] for row in got], ["done", "fetch"], "outcomes")
    equal(got[0]["lines"], cuvet_in(folder, "m.fatbin"), "as a scan in that folder")
    url = "file://" + os.path.join(folder, "m.fatbin")
    row, = cuvet.ray.scan([url], cuvet=CUVET).take_all()
    equal(row["lines"], got[0]["lines"].replace(b'"file":"m.fatbin"', b'"file":"%s"' % url.encode()), "a URL")


def cuvet_in(folder, name):
    return subprocess.run([CUVET, "scan", "--format=ndjson", name], cwd=folder, capture_output=True, check=True).stdout


@test
def refusals():
    for bad in (lambda: cuvet.ray.scan([]), lambda: cuvet.ray.table(None, "nothing")):
        try:
            bad()
        except (ValueError, LookupError):
            continue
        raise AssertionError("not refused")
    where = scratch()
    os.mkdir(os.path.join(where, "members"))
    try:
        cuvet.ray.write(None, where)
    except FileExistsError:
        return
    raise AssertionError("tables that are there were written over")


ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error",
         object_store_memory=200 << 20, _temp_dir=os.environ.get("CV_RAY_TMP"))
try:
    main()
finally:
    ray.shutdown()
