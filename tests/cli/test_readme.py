# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the README tells people to paste does what it says; tools/check_docs compares its C with examples/."""
import os
import re
import subprocess

from lib_cli import CLEAN, CUVET, FINDINGS, ROOT, equal, main, scratch, test


@test
def five_commands():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    part = text.split("## Five commands")[1].split("\n## ")[0]
    lines = re.search(r"```sh\n(.*?)```", part, re.S).group(1).splitlines()
    shown = re.search(r"```\n(.*?)```", part.split("```sh")[1].split("```", 1)[1], re.S).group(1)
    equal(len(lines), 5, "commands")
    d = scratch()
    os.symlink(os.path.join(ROOT, "corpus"), os.path.join(d, "corpus"))
    os.mkdir(os.path.join(d, "build"))
    env = dict(os.environ, PATH=os.path.dirname(CUVET) + os.pathsep + os.environ["PATH"])
    for line in lines:
        p = subprocess.run(["sh", "-c", line], cwd=d, env=env, capture_output=True, text=True, check=False)
        equal((p.returncode, p.stderr), (FINDINGS if line == lines[-1] else CLEAN, ""), line)
    equal(p.stdout, shown, "output of " + lines[-1])
    equal(sorted(os.listdir(os.path.join(d, "build"))), ["two.cubin", "unpacked"], "written")


main()
