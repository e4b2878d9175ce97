# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What campaigns, other people's engines and the scripts that grow corpora know of a fuzz target, once."""
import glob
import hashlib
import os
import re
import subprocess
import sys
import threading
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packed  # noqa: E402
import runtests  # noqa: E402
from corpora import LINKS, ROOT, files, files_under, pack_of, seed_folders  # noqa: E402, F401

PLANTED = "planted"
MAX_SEED = 1 << 20
# Inputs of these reach a thousand edges and more.
LARGE = LINKS + ("admits", "alloc_fault", "api_sequence", "backend", "choices", "cubin", "describe", "elf_api", "finalize", "hosts", "input", "jit", "linkfile",
                 "model", "places", "propagate", "reach", "readers", "scan", "shared", "slots", "verdict")
# What an installed target is called. Elsewhere its folder may stand first on PATH, and `zip` or `link` is not ours there.
PREFIX = "cuvet_"


def targets():
    return sorted(os.path.basename(p)[len("target_"):-2] for p in glob.glob(os.path.join(ROOT, "fuzz", "target_*.c")))


def listed(variable):
    """The words of a variable of mk/fuzz.mk."""
    with open(os.path.join(ROOT, "mk", "fuzz.mk"), encoding="utf-8") as f:
        return re.search(r"^%s\s*:= (.*)$" % variable, f.read(), re.M)[1].split()


def seeds(target):
    """Paths of the seeds that an engine gets; what was grown besides is in pack_of()."""
    return [f for f in files(target) if f != pack_of(target) and os.path.getsize(f) <= MAX_SEED]


def contents(paths):
    """The bytes of files, each once."""
    out = {}
    for path in paths:
        with open(path, "rb") as f:
            out[f.read()] = None
    return list(out)


def inputs(target):
    """The bytes of all inputs that are committed for a target, seeds first, each once."""
    return list(dict.fromkeys(contents(seeds(target)) + packed.read(pack_of(target))))


def name_of(data):
    """Inputs are called by their content: the same twice is one file."""
    return hashlib.sha256(data).hexdigest()[:32]


def put(folder, datas):
    os.makedirs(folder, exist_ok=True)
    for data in datas:
        path = os.path.join(folder, name_of(data))
        if not os.path.exists(path):
            new = "%s.new%d" % (path, threading.get_ident())  # two engines begin with the same seeds at the same time
            with open(new, "wb") as f:
                f.write(data)
            os.rename(new, path)
    return folder


def unzip_seeds(base, folder):
    """The seeds beside an installed target, as files."""
    with zipfile.ZipFile(base + "_seed_corpus.zip") as z:
        z.extractall(folder)
    return folder


def dictionary(target):
    path = os.path.join(ROOT, "fuzz", "dict", target + ".dict")
    return path if os.path.exists(path) else None


def libfuzzer_options(target):
    options = {"max_len": 65536 if target == "scan" else 8192 if target in LINKS else 16384, "timeout": 10, "rss_limit_mb": 2048}
    if target in LARGE:
        # With their many features half of libFuzzer's time and more would go into its power schedule; small inputs are faster.
        options["entropic"] = 0
    return options


def fuzzer_env():
    """Options of the sanitizers for an engine, beside those of every sanitized run. Where a block was made, and whether the address of a
    local variable outlives its function, the replay of an input tells, in tests as well; asked for each block and call of a campaign,
    that takes a third of its time. Blocks of contexts are in a pool (fuzz/pool.h): few are left that rest in ASan's quarantine."""
    env = runtests.sanitizer_env()
    env["ASAN_OPTIONS"] += ":malloc_context_size=0:quarantine_size_mb=8:detect_stack_use_after_return=0"
    if os.environ.get("FUZZ_ASAN_OPTIONS"):
        env["ASAN_OPTIONS"] += ":" + os.environ["FUZZ_ASAN_OPTIONS"]
    return env


def libfuzzer(build, target, *more):
    """The target under libFuzzer with its options, as a command. Nobody else writes into its corpus, and it need not ask a symbolizer for
    the names of new functions."""
    options = dict(libfuzzer_options(target), print_funcs=0, reload=0)
    if target in LARGE:
        # An input that runs a loop more often is one more to be written and weighed: in the minutes that a target has here, edges alone lead
        # to more edges. AFL++ counts, and so does whoever has days.
        options["use_counters"] = 0
    return [os.path.join(build, "libfuzzer", "out", PREFIX + target)] + ["-%s=%d" % o for o in options.items()] + list(more)


def merging(build, target, into, folders, *more):
    """A merge of folders into the first one, as a command; libFuzzer refuses a power schedule with it."""
    argv = [word for word in libfuzzer(build, target, "-merge=1", *more) if not word.startswith("-entropic=")]
    return argv + [into] + list(folders)


def edges_in(text):
    return max([int(c) for c in re.findall(r"\bcov: (\d+)", text)] + [0])


def edges(build, target, *folders):
    """How many edges these inputs reach together."""
    p = subprocess.run(libfuzzer(build, target, "-runs=0", *folders), env=dict(os.environ, **runtests.sanitizer_env()), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    return edges_in(p.stdout.decode("utf-8", "replace"))
