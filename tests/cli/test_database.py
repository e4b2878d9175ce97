# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compilation database of the build: every source is in it, with a command that compiles it."""
import glob
import json
import os
import shlex
import subprocess

from lib_cli import CUVET, ROOT, Skip, equal, main, test


def rows():
    path = os.path.join(os.environ.get("CV_BUILD") or os.path.dirname(CUVET), "compile_commands.json")
    if not os.path.exists(path):
        raise Skip("no compile_commands.json beside " + CUVET)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


@test
def every_source_is_in_it():
    have = [r["file"] for r in rows()]
    want = [os.path.relpath(p, ROOT) for d in ("src", "cli", "compat", "tests", "fuzz", "bench", "examples")
            for p in glob.glob(os.path.join(ROOT, d, "**", "*.c"), recursive=True)]
    equal(sorted(have), sorted(want), "files")


@test
def its_commands_compile():
    """One of each kind."""
    for name in ("src/bytes/span.c", "cli/main.c", "tests/support/heap.c", "fuzz/engine/replay.c"):
        row, = (r for r in rows() if r["file"] == name)
        equal(row["directory"], os.path.abspath(ROOT), name)
        words = shlex.split(row["command"])
        p = subprocess.run([w for w in words if w != "-c"] + ["-fsyntax-only"], cwd=row["directory"], capture_output=True,
                           text=True, check=False)
        equal(p.returncode, 0, p.stderr[:500])


main()
