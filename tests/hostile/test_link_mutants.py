# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged objects through the linker: the first of the mutants that docs/evidence/link.md counts, and harder ones."""
import os
import subprocess
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

from lib_cli import CUVET, main, test  # noqa: E402

SCRIPT = os.path.join(ROOT, "tests", "hostile", "link_mutants.py")
BUILD = os.path.abspath(os.environ.get("CV_BUILD") or os.path.dirname(CUVET))
SERVER = os.path.join(BUILD, "tests", "link_server")


def mutants(*args):
    r = subprocess.run([sys.executable, SCRIPT, "--server", SERVER, *args], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 0, r.stdout
    total = [line for line in r.stdout.splitlines() if line.startswith("cuvet ")][-1].split()
    return dict(zip(total[1::2], map(int, total[2::2])))


@test
def every_mutant_is_linked_whole_or_refused():
    n = mutants("--each", "40")
    assert n["linked"] > 100 and n["refused"] > 300, n


@test
def harder_ones():
    n = mutants("--each", "40", "--harder", "--seed", "check")
    assert n["linked"] > 20 and n["refused"] > 300, n


def by_worker(mode, worker="cuvet-worker"):
    return "%s %s %s" % (os.path.join(BUILD, "tests", "worker_client"), mode, os.path.join(BUILD, worker))


@test
def a_worker_has_a_verdict_for_each():
    straight = mutants("--each", "15")
    for mode in ("persistent", "fork"):
        n = mutants("--each", "15", "--server", by_worker(mode))
        assert n["linked"] == straight["linked"] > 30 and n["refused"] + n["left_out"] == straight["refused"] > 100, (mode, n, straight)
        assert n["refused"] > 100, n


@test
def a_server_that_ends_badly_is_told():
    r = subprocess.run([sys.executable, SCRIPT, "--server", "sh -c '%s; exit 3'" % SERVER, "--only", "cluster", "--each", "1"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 1 and "ended with 3" in r.stdout, (r.returncode, r.stdout)


@test
def nothing_to_run_is_an_error():
    for args in ((), ("--harder",), ("--server", SERVER, "--only", "no such case"), ("--server", SERVER, "--each", "0")):
        r = subprocess.run([sys.executable, SCRIPT, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert r.returncode == 2 and "nothing to run" in r.stdout, (args, r.returncode, r.stdout)


main()
