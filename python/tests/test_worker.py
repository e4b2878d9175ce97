# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The client of `cuvet serve`: answers as those of the library here, and a server that does not keep the protocol."""
import io
import json
import os
import pathlib
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import List

import pytest
from conftest import HOSTILE, SAMPLES

import cuvet

PAIR = [SAMPLES / "two_a.sm_90.rdc.cubin", SAMPLES / "two_b.sm_90.rdc.cubin"]
BROKEN = HOSTILE / "CV-FATBIN-014.fatbin"


def test_hello_and_counters(server: str) -> None:
    with cuvet.Worker(server) as worker:
        assert (worker.mode, worker.version) == ("fork", cuvet.__version__) and worker.cage
        assert {"mode", "cage", "version"} == set(cuvet.Worker.__annotations__) <= vars(worker).keys()  # what is documented is there
        before = worker.counters()["answered"]
        worker.scan(b"")
        assert worker.counters()["answered"] == before + 1


def test_link(server: str) -> None:
    here = cuvet.link(PAIR, arch="sm_90")
    with cuvet.Worker(pathlib.Path(server), timeout=60) as worker:
        data = [path.read_bytes() for path in PAIR]
        for inputs in (PAIR, data, [io.BytesIO(one) for one in data]):
            assert worker.link(inputs, arch="sm_90").require() == here.image
        answer = worker.link(PAIR, arch="sm_90")
        assert (answer.status, answer.events, answer.dropped) == ("OK", here.events, 0)
        assert worker.link(PAIR, arch="sm_90", relocatable=True, kernels=["caller"]).require() == \
            cuvet.link(PAIR, arch="sm_90", relocatable=True, kernels=["caller"]).image
        answer = worker.link([PAIR[0], cuvet.Input(PAIR[0], host_library=True)], arch="sm_90")
        assert (answer.status, answer.image) == ("REFUSED", None)
        with pytest.raises(cuvet.Error, match="CV-LINK-001"):
            answer.require()


def test_scan_select_finalize(server: str) -> None:
    with cuvet.Worker(server) as worker:
        here, there = cuvet.scan(BROKEN), worker.scan(BROKEN)
        assert (there.verdict, there.counts["errors"]) == (here.verdict, here.counts.errors)
        assert [(one.rule, one.place, one.offset, one.text) for one in there.findings] == \
            [(one.rule, one.place, one.offset, one.text) for one in here.findings]
        assert worker.scan(SAMPLES / "multi.fatbin", depth="headers").counts["members"] == 8
        chosen = worker.select(SAMPLES / "multi.fatbin", arch="sm_120", request="ptx")
        assert (chosen.kind, chosen.require()) == ("ptx", cuvet.select(SAMPLES / "multi.fatbin", arch="sm_120", request="ptx").image)
        assert worker.select(SAMPLES / "multi.fatbin", arch="sm_75", request="lto-ir").status == "NO_MATCH"
        made = worker.finalize((SAMPLES / "branchy.sm_100.cubin").read_bytes(), form="sass")
        assert (made.code, made.target) == ("OK", "sm_100")
        assert made.require() == cuvet.finalize(SAMPLES / "branchy.sm_100.cubin", form="sass").image


def test_wrong_requests_leave_the_connection(server: str) -> None:
    with cuvet.Worker(server) as worker:
        with pytest.raises(cuvet.WorkerError) as refused:
            worker.link(PAIR, arch="sm_9000")
        assert refused.value.name == "usage"
        with pytest.raises(TypeError, match="may_be_empty"):
            worker.link(PAIR, arch="sm_90", may_be_empty=True)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            worker.link([cuvet.Input(PAIR[0], optional=True)], arch="sm_90")
        with pytest.raises(cuvet.WorkerError, match="64"):
            worker.link([b""] * 65, arch="sm_90")
        with pytest.raises(FileNotFoundError):
            worker.scan("/no such file")
        assert worker.link(PAIR, arch="sm_90").status == "OK"


def test_how_a_job_ends_otherwise(server: str) -> None:
    with cuvet.Worker(server) as worker:
        with pytest.raises(cuvet.WorkerError) as ended:
            worker.scan(bytes(1 << 28), cpu_ms=1)
        assert ended.value.name in ("cpu", "deadline", "memory")
        assert worker.scan(BROKEN).verdict == "malformed"


def test_several_at_once(server: str) -> None:
    def ask(path: pathlib.Path) -> str:
        with cuvet.Worker(server) as worker:
            for _ in range(20):
                try:
                    return str(worker.scan(path).verdict)
                except cuvet.WorkerError as error:
                    assert error.name == "busy"
            return "busy"

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, [BROKEN] * 8)) <= {"malformed", "busy"}


def test_nothing_is_left_open(server: str) -> None:
    with cuvet.Worker(server) as worker:
        worker.link(PAIR, arch="sm_90")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            worker.link(PAIR, arch="sm_90")
            worker.scan(b"x")
            with pytest.raises(cuvet.WorkerError):
                worker.scan(b"x", arch="sm_1")
        assert len(os.listdir("/proc/self/fd")) == before


HELLO = {"hello": {"version": 1, "cuvet": "x", "mode": "fork", "cage": "none"}}


def frame(value: object) -> bytes:
    body = json.dumps(value).encode()
    return struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("answers", [
    [b""], [b"\xff\xff\xff\xff"], [frame([])], [b"\x02\0\0\0{x"], [frame({"hello": {"version": 2}})], [frame(HELLO), b""],
    [frame(HELLO), frame({"end": "answered", "result": {"fd": 0, "offset": 0, "size": 5}})],
    [frame(HELLO), frame({"end": "answered", "result": {"fd": "x", "offset": 0, "size": 5}})],
    [frame(HELLO), frame({"end": "answered", "dropped": -1})], [frame(HELLO), frame({"end": "answered", "findings": [3]})],
    [frame(HELLO), frame({"error": "busy"})], [struct.pack("<I", 1 << 20) + b"[" * (1 << 20)],
], ids=["nothing", "long", "list", "no json", "version", "hangs up", "no descriptor", "no number", "negative", "findings", "error", "deep"])
def test_a_server_that_does_not_keep_the_protocol(answers: List[bytes]) -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

    def serve() -> None:
        with there:
            for answer in answers:
                there.recv(1 << 16)
                there.sendall(answer)
            there.shutdown(socket.SHUT_WR)

    server = threading.Thread(target=serve)
    server.start()
    with pytest.raises(cuvet.WorkerError) as refused:
        worker = cuvet.Worker(here, timeout=20)
        worker.scan(b"")
    assert refused.value.name == "connection"
    assert here.fileno() == -1, "closed"
    server.join()


def test_a_server_of_another_version_or_none(tmp_path: pathlib.Path) -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with there:
        there.sendall(frame({"id": None, "error": {"name": "version", "text": "x"}}))
        with pytest.raises(cuvet.WorkerError) as refused:
            cuvet.Worker(here, timeout=20)
        assert refused.value.name == "version"
    with pytest.raises(OSError):
        cuvet.Worker(tmp_path / "nobody")
    waiting, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with other, pytest.raises(OSError):
        cuvet.Worker(waiting, timeout=0.1)
