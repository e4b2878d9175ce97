# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What campaigns, other people's engines and the scripts that grow corpora know of a fuzz target, once."""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packed  # noqa: E402
import runtests  # noqa: E402

ROOT = runtests.ROOT
PLANTED = "planted"
MAX_SEED = 1 << 20
# Whole links: with their many features half of libFuzzer's time would go into its power schedule; small inputs are faster.
LINKS = ("resolve", "layout", "writer", "link")
# What an installed target is called. Elsewhere its folder may stand first on PATH, and `zip` or `link` is not ours there.
PREFIX = "cuvet_"


def targets():
    return sorted(os.path.basename(p)[len("target_"):-2] for p in glob.glob(os.path.join(ROOT, "fuzz", "target_*.c")))


def pack_of(target):
    return os.path.join(ROOT, "corpus", target, "grown.pack")


def seed_folders(target):
    dirs = [os.path.join("corpus", target, d) for d in ("seed", "regress")]
    if target == "scan":
        dirs += ["corpus/samples", "corpus/hostile", "corpus/legal"]
    if target in LINKS and target != "link":
        dirs.append("corpus/link/seed")
    return [os.path.join(ROOT, d) for d in dirs]


def seeds(target):
    """Paths of the seeds; what was grown besides is in pack_of()."""
    return [f for d in seed_folders(target) for f in runtests.files_under(d) if os.path.getsize(f) <= MAX_SEED]


def inputs(target):
    """The bytes of all inputs that are committed for a target, seeds first, each once."""
    out = {}
    for path in seeds(target):
        with open(path, "rb") as f:
            out[f.read()] = None
    for data in packed.read(pack_of(target)):
        out[data] = None
    return list(out)


def dictionary(target):
    path = os.path.join(ROOT, "fuzz", "dict", target + ".dict")
    return path if os.path.exists(path) else None


def libfuzzer_options(target):
    options = {"max_len": 65536 if target == "scan" else 8192 if target in LINKS else 16384, "timeout": 10, "rss_limit_mb": 2048}
    if target in LINKS:
        options["entropic"] = 0
    return options
