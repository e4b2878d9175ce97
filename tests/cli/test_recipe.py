# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe of a link: tools/check_recipe refuses rows that are out of order, and a stage that looks ahead, or writes into what
it reads, does not compile."""
import os
import subprocess
import sys

from lib_cli import ROOT, Skip, equal, main, scratch, test

with open(os.path.join(ROOT, "spec", "recipe.def"), encoding="utf-8") as f:
    RECIPE = f.read()


def check(recipe):
    path = os.path.join(scratch(), "recipe.def")
    with open(path, "w", encoding="utf-8") as f:
        f.write(recipe)
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "check_recipe"), "--check", "--recipe", path],
                       capture_output=True, text=True, check=False)
    return p.returncode, p.stdout


def changed(row, old, new):
    """The recipe with one part of a row changed."""
    at = RECIPE.index("(%s, " % row)
    before, after = RECIPE[:at], RECIPE[at:]
    assert old in after.split('"')[0], (row, old)
    return before + after.replace(old, new, 1)


@test
def the_recipe():
    equal(check(RECIPE)[0], 0, "as it is")


@test
def rows_out_of_order():
    for row, old, new, said in [
            ("resolve", "READS(inputs)", "READS(layout)", "resolve: reads layout, which nobody before it fills"),
            ("resolve", "READS(inputs)", "GROWS(out)", "resolve: makes out grow, which nobody before it fills"),
            ("usage", "FILLS(usage)", "FILLS(calls)", "usage: calls is filled already"),
            ("usage", "READS(calls)", "READS(functions)", "usage: a part is named twice"),
            ("validate", "READS(inputs)", "GROWS(inputs)", "validate: a stage fills something, and what only refuses fills nothing"),
            ("resolve", "FILLS(resolution)", "READS(options)", "resolve: a stage fills something"),
            ("commons", "READS(inputs)", "READ(inputs)", "commons: what is READ(inputs) among its parts?")]:
        rc, told = check(changed(row, old, new))
        equal((rc, said in told), (1, True), told)


@test
def the_table():
    rc, told = check(RECIPE.replace("they lie in zero memory", "they lie somewhere"))
    equal((rc, "the table of docs/architecture.md is not that of the recipe" in told), (1, True), told)


def compiles(code):
    path = os.path.join(scratch(), "stage.c")
    with open(path, "w", encoding="utf-8") as f:
        f.write('#include "link/write/write.h"\nvoid stage(const cv_view_scan_relocs *view);\n'
                "void stage(const cv_view_scan_relocs *view)\n{\n    %s;\n}\n" % code)
    try:
        p = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wno-unused-value",
                            *["-I" + os.path.join(ROOT, d) for d in ("include", "src", "spec")], "-fsyntax-only", path],
                           capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Skip("no compiler") from None
    return p.returncode == 0


@test
def what_a_stage_sees():
    equal(compiles("cv_l_osec(view, 0)->size"), True, "what it reads")
    equal(compiles("cv_l_fixup(view, 0)->keep = true"), True, "what it fills")
    equal(compiles("view->records->rec.count"), False, "what a later stage fills")
    equal(compiles("cv_l_osec(view, 0)->size = 1"), False, "writing into what it reads")
    equal(compiles("cv_l_isym(view, 0)->value = 1"), False, "writing into an input")


main()
