# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/python.md tells people to write runs, and says what its comments say."""
import contextlib
import io
import re

import pytest
from conftest import CORPUS

EXPECTED = [("malformed", "CV-FATBIN-014", "fatbin[0]/entry[7]"), ("REFUSED: error CV-ADMIT-", "taken"), ("OK", "malformed")]


def test_examples(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (CORPUS.parent / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == len(EXPECTED)
    monkeypatch.chdir(CORPUS.parent)
    for block, words in zip(blocks, EXPECTED):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block.replace("/run/cuvet/socket", server), "docs/python.md", "exec"), {})
        for word in words:
            assert word in said.getvalue(), said.getvalue()
