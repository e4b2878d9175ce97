# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m cuvet`: the command that came with the package, where bin/ of the environment is not on PATH."""
from __future__ import annotations

import os
import sys
import sysconfig


def main() -> int:
    path = os.path.join(sysconfig.get_path("data"), "bin", "cuvet")
    try:
        os.execv(path, ["cuvet", *sys.argv[1:]])
    except OSError as error:
        print("cuvet: %s: %s: this package was built without the command" % (path, error.strerror), file=sys.stderr)
    return 3  # as the command says that something cannot be read


if __name__ == "__main__":
    sys.exit(main())
