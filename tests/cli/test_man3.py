# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manual pages of the library: each exported function has one, troff has nothing to complain about, and what a header says
is in it."""
import glob
import os
import re
import shutil
import subprocess
import sys

from lib_cli import ROOT, Skip, equal, main, scratch, test


def made():
    d = scratch()
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gen_man3.py"), d], check=True)
    return d


@test
def every_function():
    d = made()
    names = []
    for path in (("src", "api"), ("cli", "worker")):
        with open(os.path.join(ROOT, *path, "exports.map"), encoding="utf-8") as f:
            names += re.findall(r"^ +(cuvet_\w+);", f.read(), flags=re.M)
    assert len(names) > 100, names
    for name in names:
        with open(os.path.join(d, name + ".3"), encoding="utf-8") as f:
            there = re.fullmatch(r"\.so man3/(cuvet-\w+\.3)\n", f.read()).group(1)
        with open(os.path.join(d, there), encoding="utf-8") as f:
            text = f.read()
        equal(text.count("\n.SS %s\n" % name), 1, "%s in %s" % (name, there))
        assert not re.search(r"\.SS %s\n\.S" % name, text), "nothing is said of " + name
    equal(len(glob.glob(os.path.join(d, "cuvet_*.3"))), len(names), "pages of functions")


@test
def content():
    with open(os.path.join(made(), "cuvet-linker.3"), encoding="utf-8") as f:
        text = f.read()
    for want in ("#include <cuvet/linker.h>", "cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt,",
                 "\\fBReturns\\fR CUVET_OK", "#define CUVET_LINK_RELOCATABLE 1u", "} cuvet_event_kind;", "\\fBcuvet\\-scan\\fR(3)"):
        assert want in text, want


@test
def troff():
    if not shutil.which("groff"):
        raise Skip("no groff")
    d = made()
    for path in sorted(glob.glob(os.path.join(d, "cuvet-*.3"))):
        p = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z", path], capture_output=True, text=True, check=False)
        equal((p.returncode, p.stderr), (0, ""), path)


main()
