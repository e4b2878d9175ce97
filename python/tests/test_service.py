# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/service.py, asked by many at a time: each file has its own answer, also beside one that a worker is lost over."""
import http.client
import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator, Tuple

import pytest
from conftest import CORPUS, HOSTILE, SAMPLES, files_of

import cuvet

PAIR = [SAMPLES / "two_a.sm_90.rdc.cubin", SAMPLES / "two_b.sm_90.rdc.cubin"]


@pytest.fixture(scope="module")
def port(server: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, str(CORPUS.parent / "examples" / "service.py"), server, "0"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    try:
        yield int(process.stdout.readline().split()[-1])
    finally:
        process.kill()
        process.wait()


def ask(port: int, path: str, body: bytes, kind: str = "application/octet-stream") -> Tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", path, body, {"Content-Type": kind})
    reply = connection.getresponse()
    return reply.status, reply.read()


def form(paths: "list[pathlib.Path]") -> "Tuple[bytes, str]":
    body = b"".join(b'--edge\r\nContent-Disposition: form-data; name="f"; filename="%s"\r\n\r\n%s\r\n' %
                    (path.name.encode(), path.read_bytes()) for path in paths)
    return body + b"--edge--\r\n", "multipart/form-data; boundary=edge"


def test_scans_beside_each_other(port: int) -> None:
    files = files_of(SAMPLES)[:20] + files_of(HOSTILE)[::25]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: ask(port, "/scan", path.read_bytes()), files))
    for path, (code, body) in zip(files, answers):
        here = cuvet.scan(path)
        there = json.loads(body)
        assert (there["verdict"], code) == (here.verdict, 200 if here.verdict == "clean" else 422), path
        assert [one["rule"] for one in there["findings"]] == [one.rule for one in here.findings][:len(there["findings"])], path


def test_links(port: int) -> None:
    body, kind = form(PAIR)
    assert ask(port, "/link?arch=sm_90", body, kind) == (200, cuvet.link(PAIR, arch="sm_90").image)
    code, said = ask(port, "/link?arch=sm_90", *form([PAIR[0], PAIR[0]]))
    assert code == 422 and json.loads(said)["findings"][0]["rule"] == "CV-LINK-001"
    assert ask(port, "/link?arch=sm_90", b"not a form")[0] == 400
    assert ask(port, "/link?arch=nothing", body, kind)[0] == 400
    assert ask(port, "/else", b"")[0] == 404
