# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/same: it finds no difference between a build and itself, and each kind of difference that is planted."""
import os
import subprocess
import sys

from lib_cli import CUVET, ROOT, equal, main, scratch, test, write

# What a planted build does: run the real one, then spoil one thing of one command.
WRAPPER = """#!/bin/sh
%s "$@" > "$0.$$"
rc=$?
case "$*" in
%s
esac
cat "$0.$$"
rm -f "$0.$$"
exit $rc
"""


def same(new, *args):
    r = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "same"), CUVET, new, "--quick", *args],
                       capture_output=True, text=True, check=False, timeout=300)
    return r.returncode, r.stdout + r.stderr


def planted(*cases):
    path = write((WRAPPER % (CUVET, "\n".join(cases))).encode(), "planted", scratch())
    os.chmod(path, 0o755)
    return path


LINK = "link -arch=sm_75 a.cubin b.cubin -o out/l"
FEW = ("--only", "usage", "--match", "^(%s|scan -q .*|list -r .|map absent)$" % LINK)


@test
def a_build_and_itself():
    rc, said = same(CUVET, *FEW)
    equal(rc, 0, said)
    assert said.splitlines()[-1] == "same: 3 runs of each build over 7 files, 0 differences of 0 kinds", said


@test
def a_byte_of_the_output():
    rc, said = same(planted('list*) sed "1s/./X/" "$0.$$" > "$0.$$.t"; mv "$0.$$.t" "$0.$$";;'), *FEW)
    equal(rc, 1, said)
    assert "cuvet list -r .\n  stdout, line 1:" in said and " 1 differences of 1 kinds" in said, said


@test
def an_exit_code():
    rc, said = same(planted("scan*) rc=4;;"), *FEW)
    equal(rc, 1, said)
    assert "  exit code 0 -> 4\n" in said and " 1 differences of 1 kinds" in said, said


@test
def what_standard_error_says():
    rc, said = same(planted('map*) echo "more" >&2;;'), *FEW)
    equal(rc, 1, said)
    assert "stderr, line 2:\n    - \n    + more\n" in said and " 1 differences of 1 kinds" in said, said


@test
def a_byte_of_a_file_and_a_file_more():
    rc, said = same(planted("link*) printf X | dd of=out/l bs=1 seek=64 conv=notrunc 2> /dev/null; : > out/more;;"),
                    "--only", "limits", "--match", "link --limit=sections=10000 ")
    equal(rc, 1, said)
    assert "out/l: 1 bytes differ, first at 0x40: " in said and "out/more: written now" in said, said


@test
def one_file_of_many():
    """A difference in a batch is told with the file that it is about."""
    rc, said = same(planted('scan*sm_75.cubin*) sed "/plain.sm_75.cubin/s/suspicious\\\\|clean/CLEAN/" "$0.$$" > "$0.$$.t"; '
                            'mv "$0.$$.t" "$0.$$";;'), "--only", "samples", "--match", "^scan --format=ndjson -j1")
    equal(rc, 1, said)
    assert "samples: cuvet scan --format=ndjson -j1 plain.sm_75.cubin\n" in said and " 1 differences of 1 kinds" in said, said


@test
def other_words_for_a_rule():
    """With --reworded a sentence may change, a rule may not."""
    few = ("--only", "limits", "--match", "^scan --format=ndjson --limit=members=1 ")
    wrapper = 'scan*) sed "s/%s/%s/" "$0.$$" > "$0.$$.t"; mv "$0.$$.t" "$0.$$";;'
    words = planted(wrapper % ('\\"message\\": *\\"[A-Z]', '\\"message\\":\\"Quite o'))
    rc, said = same(words, *few)
    equal(rc, 1, said)
    rc, said = same(words, "--reworded", *few)
    equal(rc, 0, said)
    rc, said = same(planted(wrapper % ("CV-LIMIT-0", "CV-LIMIT-9")), "--reworded", *few)
    equal(rc, 1, said)


@test
def nothing_to_run():
    rc, said = same(CUVET, "--only", "usage", "--match", "no such command line")
    equal(rc, 1, said)


main()
