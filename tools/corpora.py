# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which committed files are inputs of a fuzz target: for its replay, for engines, for coverage. Nobody else says so."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Whole links, which begin with the same bytes: what is a seed of `link` is one of each.
LINKS = ("resolve", "layout", "writer", "link")
SHARED = ("samples", "hostile", "legal")  # files for a scan


def files_under(path):
    out = []
    for base, dirs, names in os.walk(path):
        dirs.sort()
        out += [os.path.join(base, n) for n in sorted(names)
                if not n.startswith((".", "README")) and not n.endswith((".md", ".txt", ".json"))]
    return out


def pack_of(target):
    return os.path.join(ROOT, "corpus", target, "grown.pack")


def seed_folders(target):
    dirs = [os.path.join(target, d) for d in ("seed", "regress")]
    dirs += SHARED if target == "scan" else ()
    dirs += ["link/seed"] if target in LINKS and target != "link" else []
    return [os.path.join(ROOT, "corpus", d) for d in dirs]


def files(target):
    """Paths of the seeds and, when there is one, of the pack, which holds many inputs."""
    out = [f for d in seed_folders(target) for f in files_under(d)]
    return out + ([pack_of(target)] if os.path.exists(pack_of(target)) else [])
