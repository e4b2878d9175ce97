# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file says itself who wrote it. Whatever it says, rules that spec/profiles.def says hold for everybody are not switched off:
the hostile samples of these rules, with another tool in their note, are no less than suspicious."""
import glob
import os
import re
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools")]

import rules_table  # noqa: E402
from lib_cli import cuvet, equal, main, read, test, write  # noqa: E402

TOOL = b"ptxas\0"


def held():
    """{id: paths of its hostile samples} of the rules that hold for strangers"""
    ids = {r["name"]: r["id"] for r in rules_table.rules()}
    names = [row[0] for _, row in rules_table.rows(os.path.join(ROOT, "spec", "profiles.def"), "HOLDS")]
    return {ids[name]: sorted(glob.glob(os.path.join(ROOT, "corpus", "hostile", ids[name] + ".*cubin"))) for name in names}


@test
def unknown_tools():
    asked, unasked = 0, []
    for rule, paths in held().items():
        files = [(path, data) for path in paths for data in [read(path)] if data.count(TOOL) == 1]
        if not files:
            unasked.append(rule)
        for path, data in files:
            run = cuvet("scan", "--all", write(data.replace(TOOL, b"zzxas\0"), os.path.basename(path)))
            assert re.search(r"(warning|error) +%s " % rule, run.out), (path, run.out)
            assert run.rc == 1, (path, run.rc)
            asked += 1
    assert asked >= 10, asked
    # Its samples are made of old files, which have no note to lie in.
    equal(unasked, ["CV-ELF-128"])


if __name__ == "__main__":
    sys.exit(main())
