#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cuvet list --resources` against cuobjdump --dump-resource-usage: registers, stack, shared, local and constant memory of
each function, and what a whole file uses.

Needs cuobjdump (CUVET_CUOBJDUMP names it, else PATH); without it the test is skipped. Takes the cubins of corpus/samples
and those in the files that CUVET_CUBINS names (separated by ':'), at most CUVET_CUBINS_MAX (300) of each, unpacked by cuvet:
the dumper itself reads the first container of a section only. Where it gives up on a cubin, that is counted.

One difference is known. For functions that are no kernels, and code of ABI 8, the dumper prints REG:0 and STACK:0 whatever the
records of the file say; cuvet prints what they say.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CUVET = os.environ["CUVET"]
SRC = os.environ.get("CV_SRC", ".")
TOOL = os.environ.get("CUVET_CUOBJDUMP") or shutil.which("cuobjdump")


def run(*args):
    return subprocess.run(args, capture_output=True, check=False)


def from_vendor(path):
    """(common, {function: use}), or None where the dumper gives up."""
    p = run(TOOL, "--dump-resource-usage", path)
    if p.returncode != 0:
        return None
    common, functions, name = {}, {}, None
    for line in p.stdout.decode("latin-1").splitlines():
        m = re.match(r" Function (.*):$", line)
        name = m[1] if m else name
        use = {k: None if v == "UNKNOWN" else int(v) for k, v in re.findall(r"(\S+):(\d+|UNKNOWN)", line)}
        if line.startswith("  GLOBAL:"):
            common = use
        elif line.startswith("  REG:"):
            functions[name] = {k: v for k, v in use.items() if k not in ("TEXTURE", "SURFACE", "SAMPLER")}
    return common, functions


def from_cuvet(path):
    p = run(CUVET, "list", "--resources", "--format=ndjson", path)
    m, = (o for o in map(json.loads, p.stdout.splitlines()) if o["type"] == "member")
    common = {"GLOBAL": m["global"], **{"CONSTANT[%s]" % b: n for b, n in m["constant"].items()}}
    functions = {}
    for f in m["functions"]:
        use = {"REG": f["registers"], "STACK": f["stack"], "SHARED": f["shared"], "LOCAL": f["local"]}
        use.update({"CONSTANT[%s]" % b: n for b, n in f["constant"].items()})
        functions[f["name"]] = (f["kernel"], use)
    return common, functions


def compare(path):
    """[what differs], number of functions, number of known differences; None: nothing to compare with."""
    vendor = from_vendor(path)
    if vendor is None:
        return None
    common, functions = from_cuvet(path)
    wrong = [] if common == vendor[0] else ["common: %s, the dumper says %s" % (common, vendor[0])]
    known = 0
    for name in sorted(set(functions) | set(vendor[1])):
        kernel, ours = functions.get(name, (None, None))
        theirs = vendor[1].get(name)
        if kernel is False and theirs and theirs != ours and dict(ours, REG=0, STACK=0) == theirs:
            known += 1
        elif ours != theirs:
            wrong.append("%s: %s, the dumper says %s" % (name[:200], ours, theirs))
    return wrong, len(functions), known


def cubins(directory):
    most = int(os.environ.get("CUVET_CUBINS_MAX", "300"))
    yield from ((p, p) for p in sorted(glob.glob(os.path.join(SRC, "corpus", "samples", "*.cubin"))))
    for i, path in enumerate(filter(None, os.environ.get("CUVET_CUBINS", "").split(":"))):
        to = os.path.join(directory, str(i))
        run(CUVET, "unpack", "-d", to, "--kind", "elf", path)
        for name in sorted(os.listdir(to))[:most]:
            yield path, os.path.join(to, name)
        shutil.rmtree(to)


def main():
    if not TOOL:
        print("SKIPPED: cuobjdump is not installed, resources were compared with nothing")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    files, passed, failed, gave_up, functions, known = set(), 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("CV_TMP")) as directory:
        for origin, path in cubins(directory):
            r = compare(path)
            if r is None:
                gave_up += 1
                continue
            files.add(origin)
            functions += r[1]
            known += r[2]
            passed += not r[0]
            failed += bool(r[0])
            for line in r[0][:5]:
                print("FAILED: %s: %s" % (os.path.basename(path), line))
    print("%d files, %d cubins, %d functions; %d functions that are no kernels differ as known; the dumper gave up on %d cubins" %
          (len(files), passed + failed, functions, known, gave_up))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
