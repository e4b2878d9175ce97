#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public headers as bindings in other languages can read them: C without directives, attributes and system headers,
then each constant macro as `#define NAME VALUE`. The preprocessor makes it from include/cuvet/cuvet.h, so that a binding
has no second copy of the headers. python/setup.py gives the result to cffi.

usage: gen_cdef.py [--cc CC] > FILE
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What the headers include of the system; a binding knows those types by itself.
SYSTEM = ("stdbool.h", "stddef.h", "stdint.h")
CONSTANT = re.compile(r"#define (CUVET_\w+) (0x[0-9a-fA-F]+|\d+)[uU]?[lL]*\s*$", re.M)
# Marks of declarations: nothing without __GNUC__. Guards: no value.
NO_CONSTANT = re.compile(r"CUVET_(?:API|MUST|\w+_H)$")


def preprocess(compiler, hidden, *more):
    command = shlex.split(compiler) + ["-E", "-P", "-undef", "-nostdinc", "-I", hidden, "-I", os.path.join(ROOT, "include"),
                                       *more, os.path.join(ROOT, "include", "cuvet", "cuvet.h")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def declarations(compiler="cc"):
    """The text. Raises OSError or CalledProcessError where the preprocessor does not run, ValueError for a macro of the
    headers that is neither a constant nor a mark."""
    with tempfile.TemporaryDirectory() as hidden:
        for name in SYSTEM:
            open(os.path.join(hidden, name), "w", encoding="ascii").close()
        code = preprocess(compiler, hidden)
        macros = preprocess(compiler, hidden, "-dM")
    constants = {name: int(value, 0) for name, value in CONSTANT.findall(macros)}
    others = [name for name in re.findall(r"#define (CUVET_\w+)", macros)
              if name not in constants and not NO_CONSTANT.match(name)]
    if others:
        raise ValueError("macros that are no constants: " + ", ".join(sorted(others)))
    return code + "".join("#define %s %d\n" % (name, constants[name]) for name in sorted(constants))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--cc", default=os.environ.get("CC", "cc"))
    sys.stdout.write(declarations(ap.parse_args().cc))


if __name__ == "__main__":
    main()
