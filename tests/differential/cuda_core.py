#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuda.core.Linker, unchanged, with build/compat/libnvJitLink.so.13 in the place of the library that it was made for.

Golden cubins of two objects are linked by the package with NVIDIA's library, with ours (LD_PRELOAD, as docs/nvjitlink.md says), and with
ours when CUVET_ISOLATE has the link in a worker: all bytes are equal but .note.nv.tkinfo, which names the linker. A link that lacks
an object is the same exception of the package each time. Which library it was is asked of the package.

77: skipped, said on the last line. With CV_FULL=1, as in `make check-full`, the packages are fetched from the package index, once, into
BUILD/cuda-core; where they are there it needs no word. No GPU is needed.
"""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]

from lib_cli import golden  # noqa: E402
from nvjitlink import BUILD, FULL, OURS, TMP, same  # noqa: E402

PACKAGES = ["cuda-core==1.2.2", "cuda-bindings==13.5.0", "nvidia-nvjitlink==13.0.88"]
ARCHES, CASES = ("sm_75", "sm_80", "sm_90"), 6
PROGRAM = """
import json, os, sys
from cuda.core import Linker, LinkerOptions, ObjectCode
from cuda.pathfinder import load_nvidia_dynamic_lib

def link(arch, files):
    try:
        linker = Linker(*(ObjectCode.from_cubin(open(name, "rb").read()) for name in files), options=LinkerOptions(arch=arch))
        return {"code": bytes(linker.link("cubin").code).hex()}
    except Exception as error:
        return {"type": type(error).__name__, "said": str(error)}

answers = [link(*case) for case in json.load(open(sys.argv[1]))]
print(json.dumps({"library": os.path.realpath(load_nvidia_dynamic_lib("nvJitLink").abs_path), "answers": answers}))
"""


def environment():
    """The interpreter that has the packages; a text: why there is none."""
    where = os.path.join(BUILD, "cuda-core")
    python, made = os.path.join(where, "bin", "python"), os.path.join(where, "made")
    wanted = "\n".join([sys.version, *PACKAGES])
    if os.path.exists(made) and open(made, encoding="utf-8").read() == wanted:
        return python, None
    if not FULL:
        return None, "cuda.core is fetched by make check-full only (CV_FULL=1)"
    shutil.rmtree(where, ignore_errors=True)
    for words in ([sys.executable, "-m", "venv", where],
                  [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:", "--retries=1", "--timeout=20", *PACKAGES]):
        p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if p.returncode:
            lines = [line for line in p.stdout.splitlines() if line.strip()]
            return None, "needs venv and a package index with %s: %s" % (", ".join(PACKAGES), lines[-1][:200] if lines else "exit %d" % p.returncode)
    with open(made, "w", encoding="utf-8") as f:
        f.write(wanted)
    return python, None


def cases():
    """[(architecture, files)]: links of two objects, and one of them without the object that it needs."""
    files, rows = golden()
    whole, lacking = [], []
    for arch in ARCHES:
        mine = [(name, inputs.split()) for name, target, options, inputs, want in rows
                if target == arch and options == "-" and want.endswith(".cubin") and len(inputs.split()) == 2]
        for _, inputs in mine[:CASES]:
            whole.append((arch, [os.path.join(TMP, name) for name in inputs]))
        lacking += [(arch, [os.path.join(TMP, inputs[0])]) for name, inputs in mine if name == "extern_basic"]
    for name in {os.path.basename(path) for _, paths in whole + lacking for path in paths}:
        with open(os.path.join(TMP, name), "wb") as f:
            f.write(files.extractfile(name).read())
    return whole, lacking


def ask(python, links, **env):
    told = os.path.join(TMP, "links.json")
    with open(told, "w", encoding="utf-8") as f:
        json.dump(links, f)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVET_", "PYTHON", "LD_"))}
    p = subprocess.run([python, "-c", PROGRAM, told], env=dict(clean, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       check=False, timeout=300)
    if p.returncode:
        raise SystemExit("cuda.core ended with %d: %s" % (p.returncode, p.stderr[-2000:]))
    said = json.loads(p.stdout)
    return said["library"], said["answers"]


def main():
    with open(OURS, "rb") as f:
        if re.search(rb"__(asan|tsan|ubsan|msan)_", f.read()):
            print("SKIPPED: a library with a sanitizer is not loaded by a Python without, it was compared with the release build only")
            return 77
    python, lost = environment()
    if lost:
        print("SKIPPED: %s" % lost)
        return 77
    whole, lacking = cases()
    links, worker = whole + lacking, os.path.join(BUILD, "cuvet-worker")
    place = {"LD_PRELOAD": OURS}
    theirs, wanted = ask(python, links)
    runs = [("in its place", place), ("in a worker", dict(place, CUVET_ISOLATE="1", CUVET_WORKER=worker))]
    good, bad = 0, []
    if not theirs.startswith(os.path.realpath(os.path.join(BUILD, "cuda-core"))):
        bad.append("the library of the package was not used, but %s" % theirs)
    for how, env in runs:
        library, got = ask(python, links, **env)
        if library != os.path.realpath(OURS):
            bad.append("%s: it was %s" % (how, library))
        for (arch, files), one, two in zip(links, wanted, got):
            if (arch, files) in lacking:
                equal = one.get("type") == two.get("type") is not None and all("Undefined reference to" in said.get("said", "") for said in (one, two))
            else:
                equal = "code" in one and "code" in two and same(bytes.fromhex(one["code"]), bytes.fromhex(two["code"]), arch[3:])
            good += equal
            if not equal:
                bad.append("%s: %s %s: %.300r %.300r" % (how, arch, " ".join(map(os.path.basename, files)), one, two))
    # That it was a worker: without one nothing is linked.
    _, none = ask(python, whole[:1], **dict(runs[1][1], CUVET_WORKER="/nonexistent"))
    good += "code" not in none[0]
    if "code" in none[0]:
        bad.append("linked without the worker that CUVET_ISOLATE asks for")
    for what in bad:
        print("FAILED: " + what)
    print("%d passed, %d failed, 0 skipped" % (good, len(bad)))
    return 1 if bad or not whole or not lacking else 0


if __name__ == "__main__":
    sys.exit(main())
