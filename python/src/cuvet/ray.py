# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same on Ray: a pipeline of Ray Data over paths, URLs and object stores (`pip install 'cuvet[ray]'`).

    import cuvet.ray
    judged = cuvet.ray.scan(paths)                     # a dataset: one row for each input
    cuvet.ray.write(judged, "tables")                  # members, distinct, findings, verdicts, others, inputs: Parquet

A file is judged by the caged command in a child of a worker process (cuvet.shard): what the command dies of is the result of that file. A
worker that dies is another matter: Ray has its files judged by another one.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from cuvet import shard

Known = Callable[[Sequence[str]], Mapping[str, str]]
"""What is known of members: SHA-256 digests in, what to say of those that are known out. Runs in the workers."""

_CHUNK = 1 << 20


def _ray() -> Any:
    try:
        importlib.import_module("pyarrow")
        data = importlib.import_module("ray.data")
    except ImportError as error:
        raise ImportError("cuvet.ray needs Ray Data: pip install 'cuvet[ray]' (%s)" % error) from error
    return data


class _Job:
    """What a worker needs to know to judge files. Pickled, and the same for all."""

    def __init__(self, cuvet: Optional[str], arguments: Sequence[str], digests: bool, filesystem: Any, timeout: float,
                 attempts: int) -> None:
        self.cuvet, self.arguments, self.digests, self.filesystem = cuvet, list(arguments), digests, filesystem
        self.timeout, self.attempts = timeout, attempts

    def __call__(self, batch: Any) -> Any:
        arrow = importlib.import_module("pyarrow")
        one = ["-j1"] if self.arguments[0] == "scan" else []
        tool = shard.Tool(self.cuvet, self.arguments + one, self.timeout)
        other = shard.Tool(self.cuvet, ["list", "--kernels"], self.timeout) if self.digests else None
        rows = [{**row, **self._judged(tool, other, row["name"])} for row in batch.to_pylist()]
        return arrow.Table.from_pylist(rows, schema=_inputs_schema())

    def _judged(self, tool: shard.Tool, other: Optional[shard.Tool], name: bytes) -> Dict[str, Any]:
        listed = None
        if self.filesystem is None and not shard.is_url(name):
            result = _twice(lambda: tool.judge(name))
            listed = other.judge(name) if other else None
        else:
            with tempfile.TemporaryDirectory(prefix="cuvet-ray-") as folder:
                reason = self._copy(name, os.path.join(folder, "fetched"))
                if reason:
                    result = shard.no_answer(name, "fetch", reason)
                else:
                    result = _twice(lambda: tool.judge_at(name, folder))
                    listed = other.judge_at(name, folder) if other else None
        digests = _digests(listed.lines) if listed else {}
        return {"name": shard.escaped(name), "outcome": result.outcome, "exit": result.exit, "reason": result.reason,
                "lines": result.lines, "digests": json.dumps(digests)}

    def _copy(self, name: bytes, to: str) -> str:
        """Brings an input here; what is wrong where it cannot be brought."""
        problem = ""
        for _ in range(self.attempts):
            try:
                system, path = _filesystem(self.filesystem, os.fsdecode(name))
                with system.open_input_stream(path) as source, open(to, "wb") as copy:
                    for chunk in iter(lambda: source.read(_CHUNK), b""):
                        copy.write(chunk)
                return ""
            except Exception as error:  # each store has errors of its own
                problem = shard.escaped(("could not be fetched: %s" % type(error).__name__).encode())
        return problem


def _twice(judge: Callable[[], shard.Result]) -> shard.Result:
    result = judge()
    return judge() if result.outcome in ("crash", "memory") else result


def _filesystem(given: Any, name: str) -> Any:
    """(file system of pyarrow, path in it): of the URL, or what the caller gave, which may be one of fsspec."""
    store = importlib.import_module("pyarrow.fs")
    if given is None:
        return store.FileSystem.from_uri(name)
    if not isinstance(given, store.FileSystem):
        given = store.PyFileSystem(store.FSSpecHandler(given))
    return given, name


def _digests(lines: bytes) -> Dict[str, str]:
    """SHA-256 of each piece of `cuvet list --kernels`, by its file and path."""
    found = {}
    for record in map(json.loads, lines.splitlines()):
        if record["type"] == "member" and "sha256" in record:
            found[record["file"] + "\n" + record["path"]] = record["sha256"]
    return found


def _inputs_schema() -> Any:
    arrow = importlib.import_module("pyarrow")
    return arrow.schema([("input", arrow.int64()), ("of", arrow.int64()), ("name", arrow.string()),
                         ("outcome", arrow.string()), ("exit", arrow.int64()), ("reason", arrow.string()), ("lines", arrow.large_binary()), ("digests", arrow.large_string())])


def scan(inputs: Sequence[Union[str, bytes, "os.PathLike[str]"]], *, arguments: Sequence[str] = ("scan",), digests: bool = True,
         filesystem: Any = None, cuvet: Optional[str] = None, timeout: float = 3600, attempts: int = 3, files_per_task: int = 1,
         num_cpus: float = 1, memory: Optional[int] = None) -> Any:
    """Judges these on the cluster: a ray.data.Dataset with a row for each input, whose `lines` are the NDJSON of the command.

    `filesystem` (of pyarrow or fsspec) is where names that are no local paths are read; without it, URLs that pyarrow knows
    (s3://, gs://, hdfs://, file://) are. `digests` has the SHA-256 of each member found as well, by `cuvet list --kernels`, which
    reads each file once more. `num_cpus` and `memory` are what Ray reserves for a task, which judges `files_per_task` files.
    """
    data = _ray()
    names = [os.fsencode(name) if not isinstance(name, bytes) else name for name in inputs]
    if not names:
        raise ValueError("no inputs")
    job = _Job(cuvet, arguments, digests, filesystem, timeout, attempts)
    tasks = -(-len(names) // files_per_task)
    rows = data.from_items([{"input": index, "of": len(names), "name": name} for index, name in enumerate(names)],
                           override_num_blocks=tasks)
    reserve: Dict[str, Any] = {"num_cpus": num_cpus}
    if memory is not None:
        reserve["memory"] = memory
    # A task whose worker died is begun again by Ray (three times, unless the cluster says otherwise).
    return rows.map_batches(job, batch_size=None, batch_format="pyarrow", **reserve)


class _Rows:
    """Rows of one table out of results."""

    def __init__(self, table: str) -> None:
        self.table = table

    def __call__(self, batch: Any) -> Any:
        arrow = importlib.import_module("pyarrow")
        return arrow.Table.from_pylist(list(self._rows(batch)), schema=shard.arrow_schema(self.table))

    def _rows(self, batch: Any) -> Iterator[Dict[str, Any]]:
        for result in batch.to_pylist():
            digests = json.loads(result["digests"])
            for table, row in shard.rows_of(result["input"], result["lines"]):
                if table == self.table:
                    if table == "members":
                        row["sha256"] = row["sha256"] or digests.get("%s\n%s" % (row["file"], row["path"]))
                    yield row


def table(judged: Any, name: str) -> Any:
    """members, findings, verdicts or others of what scan() gave, in the order of one process."""
    if name not in shard.TABLES:
        raise LookupError("no table %s" % name)
    return judged.map_batches(_Rows(name), batch_size=None, batch_format="pyarrow").sort(["input", "line"])


def _first(group: Any) -> Any:
    """Of members with one digest the first, and how many there are in how many inputs."""
    arrow, compute = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    first = group.take(compute.sort_indices(group, sort_keys=[("input", "ascending"), ("line", "ascending")])[:1])
    for name, count in (("occurrences", group.num_rows), ("inputs", len(compute.unique(group["input"])))):
        first = first.append_column(name, arrow.array([count], arrow.int64()))
    return first


class _Known:
    """Adds what is known of each member."""

    def __init__(self, known: Known) -> None:
        self.known = known

    def __call__(self, batch: Any) -> Any:
        arrow = importlib.import_module("pyarrow")
        digests = batch["sha256"].to_pylist()
        told = self.known(digests)
        return batch.append_column("known", arrow.array([told.get(digest) for digest in digests], arrow.string()))


def _has_digest(row: Mapping[str, Any]) -> bool:
    return row["sha256"] is not None


def distinct(judged: Any, known: Optional[Known] = None) -> Any:
    """Members with the same bytes once: where the first is, how many there are, in how many inputs; `known` adds a column."""
    found = table(judged, "members").filter(_has_digest).groupby("sha256").map_groups(_first, batch_format="pyarrow")
    if known is not None:
        found = found.map_batches(_Known(known), batch_format="pyarrow")
    return found.sort("sha256")


def write(judged: Any, folder: str, *, known: Optional[Known] = None, filesystem: Any = None) -> Dict[str, int]:
    """Judges, and writes the tables as Parquet into folders of this one, which must not have them: how many rows each has.
    Raises RuntimeError where an input has no result."""
    for name in (*shard.TABLES, "distinct", "inputs"):
        if filesystem is None and os.path.exists(os.path.join(folder, name)):
            raise FileExistsError("%s/%s is there" % (folder, name))
    kept = judged.materialize()  # judged once, not for each table
    kept = kept.repartition(max(1, min(kept.num_blocks(), kept.size_bytes() >> 25))).materialize()
    rows = kept.select_columns(["input", "of"]).take_all()
    if not rows or sorted(row["input"] for row in rows) != list(range(rows[0]["of"])):
        raise RuntimeError("an input has no result, or two: %d rows" % len(rows))
    tables = {name: table(kept, name) for name in shard.TABLES}
    tables["distinct"] = distinct(kept, known)
    tables["inputs"] = kept.select_columns(["input", "name", "outcome", "exit", "reason"]).sort("input")
    counts: Dict[str, int] = {}
    for name, made in tables.items():
        made = made.materialize()
        counts[name] = made.count()
        made.write_parquet(folder.rstrip("/") + "/" + name, filesystem=filesystem)
    return counts


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cuvet.ray", description="Judges a list of files on a Ray cluster.",
                                     epilog="exit codes: that of one scan of all files; 2 usage")
    parser.add_argument("--files-from", required=True, metavar="LIST", help="names of the inputs, one per line or each ended by a NUL")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the tables go; all workers must see it")
    parser.add_argument("--no-digests", action="store_true", help="without SHA-256 of members, which read each file once more")
    parser.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="for one file (default 3600)")
    parser.add_argument("--files-per-task", type=int, default=1, metavar="N", help="files of one task (default 1)")
    parser.add_argument("--cuvet", metavar="PATH", help="the command, as the workers see it (default: $CUVET, that of the package, then PATH)")
    options = parser.parse_args(arguments)
    try:
        judged = scan(shard.read_list(options.files_from), digests=not options.no_digests, cuvet=options.cuvet,
                      timeout=options.timeout, files_per_task=options.files_per_task).materialize()
        counts = write(judged, options.out)
    except (ImportError, ValueError, FileExistsError, shard.Refused) as refused:
        print("cuvet.ray: %s" % refused, file=sys.stderr)
        return shard.USAGE
    print("cuvet.ray: " + ", ".join("%d %s" % (count, name) for name, count in sorted(counts.items())), file=sys.stderr)
    return int(judged.max("exit"))


if __name__ == "__main__":
    sys.exit(main())
