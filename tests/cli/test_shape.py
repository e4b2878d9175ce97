# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/shape counts what it says it counts, and its gate fails when a number rises."""
import os
import subprocess
import sys

from lib_cli import ROOT, equal, main, scratch, test

CODE = """/* a b c: sm >= 90, 0x7000000B */
#include "x/y.h"
#define ONE(x) ((x) + 1)
typedef struct pair {
    int first, second;
    struct { int third; } inner; /* one field of the outer struct */
} pair;
static const char *const TEXT = "a b c 0x70000000";
bool is_new(const cv_link *link, int a)
{
    return link->sm >= 90 && link->type == 0x70000000 && a;
}
void change(cv_link *link, uint32_t flags)
{
    link->sm = flags >> 8;
}
"""


def shape(*args, code=CODE, root=None, where="src/link"):
    root = root or scratch()
    os.makedirs(os.path.join(root, where), exist_ok=True)
    with open(os.path.join(root, where, "a.c"), "w", encoding="utf-8") as f:
        f.write(code)
    r = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "shape"), "--root", root, "--max",
                        os.path.join(root, "max"), *args], capture_output=True, text=True, check=False)
    return r.returncode, r.stdout + r.stderr, root


def row(*args, **more):
    return next(line.split() for line in shape(*args, **more)[1].splitlines() if line.startswith(more.get("where", "src/link")))


@test
def what_is_counted():
    # names: ONE x x | pair first second third inner pair | TEXT | is_new cv_link link a, link sm link type a
    #        | change cv_link link uint32_t flags, link sm flags
    equal(row(), ["src/link", "1", "16", "27", "14.8%", "1", "2", "1", "3", "0", "pair"], "the table")


@test
def homes_are_not_counted():
    equal(row(where="src/target")[5:7], ["0", "2"], "machines")
    equal(row(where="src/format/elf")[5:7], ["1", "0"], "formats")


@test
def the_lines_of_a_column():
    _, said, _ = shape("--where", "mutable")
    equal(said, "src/link/a.c:13: void change(cv_link *link, uint32_t flags) {\n", "functions")


@test
def a_rise_fails_and_a_fall_does_not():
    _, said, root = shape("--accept")
    equal(said, "shape: 2 rows written\n", "accepted")
    equal(shape("--check", root=root)[0], 0, "the same")
    rc, said, _ = shape("--check", root=root, code=CODE.replace("0x70000000 &&", "0x70000000 && 0x41 &&"))
    equal((rc, "src/link: raw 3, at most 2" in said), (1, True), said)
    rc, said, _ = shape("--check", root=root, code=CODE.replace("int second", "int b").replace("first", "c"))
    equal((rc, "src/link: letters " in said), (1, True), said)
    equal(shape("--check", root=root, code=CODE.replace("0x70000000 &&", ""))[0], 0, "fewer")
    rc, said, _ = shape("--accept", root=root, code=CODE.replace(">= 90", ">= 90 && link->sm != 100"))
    equal((rc, "refused" in said), (1, True), said)


main()
