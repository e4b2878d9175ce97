# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests share: the samples of the source tree, and the command, which says the same as the package.

CUVET names the command; its worker lies beside it. `make check-python` sets it."""
import csv
import os
import pathlib
import subprocess
import time
from typing import Dict, Iterator, List

import pytest

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"
SAMPLES, HOSTILE, LEGAL = CORPUS / "samples", CORPUS / "hostile", CORPUS / "legal"
COMMAND = os.environ.get("CUVET", "")


def files_of(folder: pathlib.Path) -> List[pathlib.Path]:
    return sorted(path for path in folder.iterdir() if path.name != "MANIFEST.tsv")


def hostile_rows() -> List[Dict[str, str]]:
    with open(HOSTILE / "MANIFEST.tsv", encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="session")
def command() -> str:
    if not COMMAND:
        pytest.skip("CUVET does not name the command")
    return os.path.abspath(COMMAND)


@pytest.fixture(scope="session")
def server(command: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The socket of a `cuvet serve`."""
    address = str(tmp_path_factory.mktemp("serve") / "socket")
    worker = os.path.join(os.path.dirname(command), "cuvet-worker")
    process = subprocess.Popen([command, "serve", "--socket", address, "--worker", worker], stdin=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if os.path.exists(address) or process.poll() is not None:
                break
            time.sleep(0.05)
        assert os.path.exists(address), "the server did not start"
        yield address
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0
