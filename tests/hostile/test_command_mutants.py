# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples with lies in a few fields, through each command: the first of the mutants that docs/evidence/link.md counts."""
import os
import subprocess
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

from lib_cli import CUVET, main, test  # noqa: E402

SCRIPT = os.path.join(ROOT, "tests", "hostile", "mutate_commands.py")


@test
def every_command_ends_well():
    r = subprocess.run([sys.executable, SCRIPT, "--cuvet", CUVET, "--count", "456"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 0, r.stdout
    assert "456 mutants" in r.stdout and ", 0 bad ends" in r.stdout, r.stdout
    ends = {line[:9].strip(): line for line in r.stdout.splitlines()}
    for command in ("link", "link -r", "finalize", "select", "dump", "scan"):
        assert "done" in ends[command] and "refused" in ends[command], r.stdout


main()
