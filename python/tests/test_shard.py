# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet.shard as a module: names as the command writes them, rows of tables, how a list is divided. tests/cli/test_shard.py runs it."""
import json
import os
import pathlib
import subprocess
from typing import List

import pytest

from cuvet import shard


def names() -> List[bytes]:
    """Every code point at the ends of what is escaped, and those beside them; bytes that are no UTF-8; all bytes."""
    points = {end + step for ends in shard._HIDDEN for end in ends for step in (-1, 0, 1)} | {0x2F00, 0x1FFFE, 0x1FFFF, 0x20000}
    made = [chr(point).encode() for point in sorted(points) if 0 < point < 0x110000 and not 0xD800 <= point < 0xE000]
    made += [bytes([byte]) for byte in range(1, 256)] + [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"a\\b"]
    return ["x/".encode() + name for name in dict.fromkeys(made) if name not in (b"/", b"\n")]


def test_names_are_those_of_the_command(command: str, tmp_path: pathlib.Path) -> None:
    given = b"".join(name + b"\0" for name in names())
    told = subprocess.run([command, "scan", "--format=ndjson", "--files-from", "-"], input=given, cwd=tmp_path, capture_output=True,
                          check=False)
    shown = [json.loads(line)["file"] for line in told.stdout.splitlines() if b'"type":"verdict"' in line]
    assert shown == [shard.escaped(name) for name in names()]


def test_own_verdicts_are_like_those_of_the_command(command: str, tmp_path: pathlib.Path) -> None:
    told = subprocess.run([command, "scan", "--format=ndjson", "gone"], cwd=tmp_path, capture_output=True, check=False)
    line, = told.stdout.splitlines()
    own = json.loads(shard.no_answer(b"gone", "fetch", "gone").lines)
    theirs = json.loads(line)
    assert {key: own[key] for key in ("schema", "type", "file", "verdict", "exit")} == \
        {key: theirs[key] for key in ("schema", "type", "file", "verdict", "exit")}
    assert list(own)[:4] == list(theirs)[:4]


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 16])
def test_each_input_is_in_one_part(shards: int) -> None:
    parts = [shard.shard_of(index, shards) for index in range(100)]
    assert set(parts) == set(range(shards))
    counts = [parts.count(part) for part in range(shards)]
    assert max(counts) - min(counts) <= 1


def test_rows_lose_nothing(command: str) -> None:
    told = subprocess.run([command, "list", "--kernels", "--format=ndjson", os.fspath(pathlib.Path(__file__).parents[2] /
                          "corpus" / "samples" / "multi.fatbin")], capture_output=True, check=True)
    for line, (table, row) in zip(told.stdout.splitlines(), shard.rows_of(5, told.stdout)):
        record = json.loads(line)
        again = {key: value for key, value in row.items() if value is not None and key not in ("input", "line", "more")}
        again.update(json.loads(row["more"] or "{}"))
        assert again == {key: value for key, value in record.items() if key not in ("schema", "type")}
        assert row["input"] == 5 and table in ("members", "verdicts")


def test_numbers_above_2_to_53() -> None:
    _, row = shard.row_of({"type": "finding", "file": "a", "got": "0xffffffffffffffff", "want": 1}, 0, 0)
    assert row["got"] == (1 << 64) - 1 and row["want"] == 1


def test_tables(tmp_path: pathlib.Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = shard.Tables(os.fspath(tmp_path))
    tables.add(3, b'{"schema":"cuvet/1","type":"finding","file":"a","rule":"R","got":"0xffffffffffffffff","new":[1]}\n')
    tables.close(True)
    row, = parquet.read_table(tmp_path / "findings.parquet").to_pylist()
    assert (row["input"], row["got"], row["more"]) == (3, (1 << 64) - 1, '{"new":[1]}')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["findings.parquet", "members.parquet", "others.parquet", "verdicts.parquet"]
