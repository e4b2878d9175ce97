# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans: as the command says, whatever the source is, and on several threads."""
import gzip
import io
import json
import os
import pathlib
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

import pytest
from conftest import HOSTILE, LEGAL, SAMPLES, files_of, hostile_rows

import cuvet

MULTI = SAMPLES / "multi.fatbin"
BROKEN = HOSTILE / "CV-FATBIN-014.fatbin"


def told_by(command: str, what: str, paths: List[pathlib.Path]) -> Dict[str, List[Dict[str, Any]]]:
    run = subprocess.run([command, what, "--format=ndjson", *map(str, paths)], stdout=subprocess.PIPE, check=False)
    told: Dict[str, List[Dict[str, Any]]] = {str(path): [] for path in paths}
    for line in run.stdout.splitlines():
        row = json.loads(line)
        if row.get("file") in told:
            told[row["file"]].append(row)
    return told


def number(value: Any) -> int:
    return int(value, 16) if isinstance(value, str) else int(value)


def same_finding(finding: cuvet.Finding, row: Dict[str, Any]) -> None:
    assert (finding.rule, finding.severity, finding.place, finding.text) == (row["rule"], row["severity"], row["path"], row["message"])
    assert (finding.offset, finding.length, finding.got, finding.want) == tuple(
        number(row[name]) for name in ("offset", "length", "got", "want"))
    assert finding.inner_offset == (number(row["inner_offset"]) if "inner_offset" in row else None)


def same_member(member: cuvet.Member, row: Dict[str, Any]) -> None:
    assert (member.place, member.kind, member.arch, member.compression, member.in_container, member.examined) == tuple(
        row[name] for name in ("path", "kind", "arch", "compression", "in_container", "examined"))
    assert (member.offset, member.payload_offset, member.stored_size, member.size, member.errors, member.warnings) == tuple(
        number(row[name]) for name in ("offset", "payload_offset", "stored_size", "size", "errors", "warnings"))
    assert member.kernels == row.get("kernels")
    if member.in_container:
        assert ("%d.%d" % member.version, member.flags, member.referenced) == (row["version"], number(row["flags"]), row["referenced"])
    said = row.get("producer")
    assert (member.producer is None) == (said is None)
    if member.producer and said:
        assert (member.producer.tool, member.producer.version, member.producer.inferred) == (
            said["tool"], said["version"], said["inferred"])


def same(result: cuvet.ScanResult, rows: List[Dict[str, Any]]) -> None:
    by_type = {kind: [row for row in rows if row["type"] == kind] for kind in ("finding", "member", "verdict")}
    assert len(result.findings) == len(by_type["finding"]) and len(result.members) == len(by_type["member"])
    for finding, row in zip(result.findings, by_type["finding"]):
        same_finding(finding, row)
    for member, row in zip(result.members, by_type["member"]):
        same_member(member, row)
    (verdict,) = by_type["verdict"]
    assert result.verdict == verdict["verdict"]
    for name in vars(result.counts):
        assert getattr(result.counts, name) == number(verdict[name]), name


@pytest.mark.parametrize("folder", [SAMPLES, LEGAL], ids=["samples", "legal"])
def test_good_files_as_the_command(command: str, folder: pathlib.Path) -> None:
    told = told_by(command, "scan", files_of(folder))
    assert len(told) > 50
    for path, rows in told.items():
        result = cuvet.scan(path)
        same(result, rows)
        assert result.counts.errors == 0, path


def test_every_hostile_file_as_the_command(command: str) -> None:
    told = told_by(command, "scan", files_of(HOSTILE))
    assert len(told) > 1000
    for path, rows in told.items():
        same(cuvet.scan(path), rows)


def test_every_hostile_file_has_its_finding() -> None:
    rows = [row for row in hostile_rows() if row["options"] == "-"]
    assert len(rows) > 900
    for row in rows:
        result = cuvet.scan((HOSTILE.parent / row["file"]).read_bytes())
        assert row["rule"] in [finding.rule for finding in result.findings], row["file"]


def test_list_as_the_command(command: str) -> None:
    paths = files_of(SAMPLES) + files_of(HOSTILE)[::20]
    for path, rows in told_by(command, "list", paths).items():
        listed = cuvet.list(path)
        assert len(listed.members) == sum(row["type"] == "member" for row in rows)
        for member, row in zip(listed.members, [row for row in rows if row["type"] == "member"]):
            same_member(member, row)


class OnlyRead:
    """The least that a file object is; gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, 1000))


def write_and_close(file: io.BufferedWriter, data: bytes) -> None:
    with file:
        file.write(data)


def test_every_kind_of_source(tmp_path: pathlib.Path) -> None:
    for path in (MULTI, BROKEN):
        data, expected = path.read_bytes(), cuvet.scan(path)
        for source in (str(path), data, bytearray(data), memoryview(data), memoryview(b"x" + data)[1:], io.BytesIO(data), OnlyRead(data)):
            assert cuvet.scan(source) == expected, type(source)
        with open(path, "rb") as buffered, open(path, "rb", buffering=0) as raw, open(path, "r+b") as both:
            for file in (buffered, raw, both):
                assert cuvet.scan(file) == expected
                assert file.read() == b"", "it stands at the end"
        # A descriptor of a compressed file does not have the bytes that its object reads.
        with gzip.open(tmp_path / "packed", "wb") as packed:
            packed.write(data)
        with gzip.open(tmp_path / "packed", "rb") as packed:
            assert cuvet.scan(packed) == expected
        (tmp_path / "behind").write_bytes(b"heading" + data)
        with open(tmp_path / "behind", "rb") as behind:
            assert behind.read(7) == b"heading"
            assert cuvet.scan(behind) == expected, "from where it stands"
        reading, writing = os.pipe()
        with open(reading, "rb") as stream, open(writing, "wb") as other:
            feeder = threading.Thread(target=write_and_close, args=(other, data))
            feeder.start()
            assert cuvet.scan(stream) == expected
            feeder.join()


def test_wrong_sources() -> None:
    for source in (3, None, object(), io.StringIO("text"), ["x"]):
        with pytest.raises(TypeError):
            cuvet.scan(source)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        cuvet.scan("/no such file")
    with pytest.raises(IsADirectoryError):
        cuvet.scan(SAMPLES)
    with pytest.raises(ValueError):
        cuvet.scan("a\0b")


class Failing(OnlyRead):
    def read(self, size: int, /) -> bytes:
        raise ZeroDivisionError("of the source")


def test_an_exception_of_a_source_goes_up() -> None:
    with pytest.raises(ZeroDivisionError, match="of the source"):
        cuvet.scan(Failing(b""))
    with pytest.raises(ZeroDivisionError):
        cuvet.link([MULTI, Failing(b"")], arch="sm_90")


def test_an_exception_in_a_callback_goes_up_after_c(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuvet._context import Context

    heard = []

    def hear(self: Context, diag: Any) -> None:
        heard.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Context, "hear", hear)
    for jobs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            cuvet.scan(BROKEN, jobs=jobs)
    assert heard
    with pytest.raises(KeyboardInterrupt):
        cuvet.link([BROKEN], arch="sm_90")
    monkeypatch.undo()
    assert cuvet.scan(BROKEN).verdict == "malformed"


def test_limits() -> None:
    limits = cuvet.limits()
    assert limits["input"] > 1 << 30 and set(cuvet.limits("tiny")) == set(limits)
    assert cuvet.scan(MULTI, limits={**cuvet.limits("tiny"), "nesting": 4}).verdict == "clean"
    assert cuvet.scan(MULTI, limits="roomy").verdict == "clean"
    assert cuvet.scan(MULTI, limits={"member": 1000}).verdict == "limit"
    for source in (MULTI.read_bytes(), MULTI, OnlyRead(MULTI.read_bytes())):
        limited = cuvet.scan(source, limits={"input": 100})
        assert (limited.verdict, [finding.rule for finding in limited.findings]) == ("limit", ["CV-LIMIT-001"])
    with pytest.raises(cuvet.Error) as refused:
        cuvet.select(MULTI, arch="sm_90", limits={"input": 100})
    assert refused.value.status == "LIMIT" and refused.value.reason and refused.value.reason.rule == "CV-LIMIT-001"
    wrong: List[Any] = ["no such", {"no such": 1}, {"input": -1}, {"input": 1 << 64}]
    for one in wrong:
        with pytest.raises(ValueError):
            cuvet.scan(b"", limits=one)


def test_wrong_words() -> None:
    with pytest.raises(ValueError, match="headers, full"):
        cuvet.scan(b"", depth="deep")
    with pytest.raises(ValueError):
        cuvet.scan(b"", jobs=-1)
    with pytest.raises(cuvet.Error) as refused:
        cuvet.scan(MULTI, arch="sm_1")
    assert (refused.value.status, refused.value.reason) == ("ARCH", None)


def test_unpack_and_walk() -> None:
    listed = cuvet.list(MULTI)
    pieces = list(cuvet.walk(MULTI))
    assert [member.place for member, _ in pieces] == [member.place for member in listed.members]
    for member, data in pieces:
        # What the header says of PTX has its NUL in it, as in `cuvet list`.
        assert data is not None and len(data) == member.size - (member.kind == "ptx")
        assert cuvet.unpack(MULTI, member.index) == cuvet.unpack(MULTI, member.place) == cuvet.unpack(MULTI, member) == data
    for nothing in (99, "fatbin[9]", -1):
        with pytest.raises(LookupError):
            cuvet.unpack(MULTI, nothing)
    with pytest.raises(TypeError):
        cuvet.unpack(MULTI, 1.5)  # type: ignore[arg-type]


def test_pieces_that_cannot_be_unpacked() -> None:
    with pytest.raises(cuvet.Error, match="scrambled") as refused:
        cuvet.unpack(SAMPLES / "lto.fatbin")
    assert refused.value.status == "NO_MATCH"
    data = bytearray(MULTI.read_bytes())
    data[100:500] = bytes(400)  # the payload of the first member
    damaged = cuvet.scan(data)
    assert damaged.verdict == "malformed" and damaged.members[0].errors > 0
    with pytest.raises(cuvet.Error) as refused:
        cuvet.unpack(data)
    assert refused.value.findings and refused.value.findings[0].place == damaged.members[0].place
    assert [piece is None for _, piece in cuvet.walk(data)] == [True] + 7 * [False]


def test_a_walk_that_is_left() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        for _ in cuvet.walk(MULTI):
            break
    assert len(os.listdir("/proc/self/fd")) == before


def test_four_threads() -> None:
    paths = files_of(SAMPLES) + files_of(HOSTILE)[::10]
    alone = [cuvet.scan(path) for path in paths]
    with ThreadPoolExecutor(4) as pool:
        for round_of in range(4):
            # Each thread has another file at a time.
            turned = paths[round_of:] + paths[:round_of]
            assert list(pool.map(cuvet.scan, turned)) == alone[round_of:] + alone[:round_of]


def test_jobs_change_nothing() -> None:
    for path in [MULTI, BROKEN, *files_of(SAMPLES)[::10]]:
        assert cuvet.scan(path, jobs=3) == cuvet.scan(path)


def test_the_gil_is_released() -> None:
    """Others run while one call of C does: a long file in which there is nothing to be found."""
    data, ticks, between = bytes(1 << 28), [0], []
    done = threading.Event()

    def long_call() -> None:
        before = ticks[0]
        cuvet.scan(data)
        between.append(ticks[0] - before)
        done.set()

    worker = threading.Thread(target=long_call)
    worker.start()
    while not done.is_set():
        ticks[0] += 1
        done.wait(0.001)
    worker.join()
    # 150 where it was measured; with calls that keep the GIL up to 7.
    assert between[0] > 25, between


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_nothing_is_left_by_failures() -> None:
    broken, good = BROKEN.read_bytes(), (SAMPLES / "two_a.sm_90.rdc.cubin").read_bytes()

    def fail() -> None:
        with pytest.raises(cuvet.LinkError):
            cuvet.link([good, good], arch="sm_90")
        with pytest.raises(cuvet.FinalizeError):
            cuvet.finalize(broken)
        with pytest.raises(cuvet.SelectError):
            cuvet.select(MULTI, arch="sm_90")
        with pytest.raises(cuvet.Error):
            cuvet.scan(MULTI, arch="sm_1")
        with pytest.raises(LookupError):
            cuvet.unpack(MULTI, 99)
        with pytest.raises(ZeroDivisionError):
            cuvet.link([MULTI, Failing(b"")], arch="sm_90")

    for _ in range(30):
        fail()
    files, memory = len(os.listdir("/proc/self/fd")), resident()
    for _ in range(200):
        fail()
    assert len(os.listdir("/proc/self/fd")) == files
    # Contexts that are left would be 36 MiB.
    assert resident() - memory < 8 << 20


def test_rules() -> None:
    rule = cuvet.rule("CV-FATBIN-014")
    assert (rule.id, rule.severity, rule.kind) == ("CV-FATBIN-014", "error", "form") and rule.why
    assert rule in list(cuvet.rules())
    with pytest.raises(LookupError):
        cuvet.rule("CV-NONE-001")
