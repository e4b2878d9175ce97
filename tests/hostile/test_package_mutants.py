# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A share of `make mutants-packages`, and that its driver sees what would be wrong."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from lib_cli import CUVET, Skip, equal, main, scratch, test  # noqa: E402

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutate_packages.py")
PACKAGE = os.path.join(os.path.dirname(CUVET), "cuvet-package")


def run(command, count, *more):
    return subprocess.run([sys.executable, SCRIPT, "--cuvet", command, "--count", str(count), *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, env=dict(os.environ, CUVET=CUVET))


@test
def a_share():
    r = run(CUVET, 20000 if os.environ.get("CV_FULL") else 250)
    if r.returncode == 77:
        raise Skip("cuvet-package was not built (libarchive-dev)")
    assert r.returncode == 0 and " malformed" in r.stdout and " clean" in r.stdout, r.stdout


@test
def what_is_wrong_is_seen():
    if not os.path.exists(PACKAGE):
        raise Skip("cuvet-package was not built (libarchive-dev)")
    good = 'for f in "$@"; do case $f in /*) echo "{\\"type\\":\\"verdict\\",\\"file\\":\\"$f\\",\\"verdict\\":\\"clean\\"}";; esac; done'
    for what, script, text in (("a signal", "kill -SEGV $$", "exit code -11"), ("an internal error", "exit 5", "exit code 5"), ("silence", "exit 0", "no verdict"),
                               ("a file of its own", good + '; echo x > here', "left behind"), ("a temporary file", good + '; echo x > "$TMPDIR/x"', "left behind"),
                               ("nothing", good, "")):
        d = scratch()
        with open(os.path.join(d, "cuvet"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(os.path.join(d, "cuvet"), 0o755)
        os.symlink(PACKAGE, os.path.join(d, "cuvet-package"))
        r = run(os.path.join(d, "cuvet"), 3)
        equal((r.returncode, "WRONG" in r.stdout), (int(bool(text)), bool(text)), what + r.stdout)
        assert text in r.stdout, (what, r.stdout)


if __name__ == "__main__":
    sys.exit(main())
