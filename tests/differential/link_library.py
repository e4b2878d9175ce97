#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relocatable objects of a library, linked by cuvet and by nvlink: byte for byte as link_random.py compares them, from
sm_100 on the sections' names and the code. NCCL is such a library: one relocatable object for each of its kernels.

  CV_LIBRARY=FILE     the library, or any other file (default: libnccl.so.2 beside nvlink, or on the loader's path)
  CV_ARCHES=80,90     for which architectures (default: 90, with CV_FULL=1 80,90,100: nvlink needs more than a minute for
                      the last)
  CV_WAYS=final,-r    how: final, -r, -g, --preserve-relocs (default: final, with CV_FULL=1 final,-r)
  CV_PTX=1            not its objects but its PTX, compiled as relocatable: each text alone, each two neighbours, and all; all that
                      they define is weak, as templates are, or they could not be linked together
  CV_PTXAS=FILE:FILE  by these compilers in turns (default: ptxas; an old one makes other objects)
  CV_MOST=BYTES       longer texts are left out, and said (default: 700000)

77: skipped, said on the last line. Needs nvlink of CUDA 13.0 on PATH.
"""
import ctypes.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import link_random

RELOCATABLE = 1
MOST = int(os.environ.get("CV_MOST", "700000"))


def library():
    named = os.environ.get("CV_LIBRARY")
    if named:
        return named
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvlink"))))
    found = [os.path.join(home, d, "libnccl.so.2") for d in ("lib", "lib64")]
    found.append("/usr/lib/x86_64-linux-gnu/" + (ctypes.util.find_library("nccl") or "libnccl.so.2"))
    return next((f for f in found if os.path.exists(f)), None)


def missing():
    if not shutil.which("nvlink"):
        return "nvlink is not on PATH"
    release = re.search(r"release (\d+\.\d+)", link_random.tool("nvlink", "--version").stdout.decode("latin-1"))
    if not release or release.group(1) != "13.0":
        return "nvlink of CUDA 13.0 is needed: its exact form is what is compared"
    if not library():
        return "there is no libnccl.so.2, and CV_LIBRARY names nothing else"
    return None


def objects(path, arch, to):
    """What cuvet unpacks that is relocatable."""
    p = subprocess.run([os.environ["CUVET"], "unpack", "-d", to, "--arch", "sm_" + arch, "--kind", "elf", path],
                       capture_output=True, check=False, timeout=300)
    if p.returncode:
        raise link_random.Different("cuvet unpack: " + p.stderr.decode("latin-1")[-300:])
    found = []
    for name in sorted(os.listdir(to)):
        with open(os.path.join(to, name), "rb") as f:
            head = f.read(18)
        if struct.unpack_from("<H", head, 16)[0] == RELOCATABLE:
            found.append(os.path.join(to, name))
    return found


def compiled(path, arch, to):
    """What ptxas makes of the texts that it takes for this machine, each once."""
    subprocess.run([os.environ["CUVET"], "unpack", "-d", to, "--kind", "ptx", path], capture_output=True, check=True, timeout=300)
    made, seen, long = [], set(), 0
    compilers = os.environ.get("CV_PTXAS", "ptxas").split(":")
    for name in sorted(os.listdir(to)):
        with open(os.path.join(to, name), encoding="latin-1") as f:
            text = f.read()
        long += len(text) > MOST
        if len(text) > MOST or text in seen:
            continue
        seen.add(text)
        text = re.sub(r"^(\.visible )?\.entry", ".weak .entry", text, flags=re.M)
        weak, out = (os.path.join(to, name + end) for end in (".weak", ".cubin"))
        with open(weak, "w", encoding="latin-1") as f:
            f.write(re.sub(r"^\.visible \.func", ".weak .func", text, flags=re.M))
        p = link_random.tool(compilers[len(made) % len(compilers)], "-c", "-arch=sm_" + arch, weak, "-o", out)
        if p.returncode == 0:
            made.append(out)
    if long:
        print("SKIPPED: %d texts longer than %d bytes" % (long, MOST))
    return made


def compare(inputs, arch, way, d):
    """Raises Different."""
    ref, out = os.path.join(d, "nvlink.cubin"), os.path.join(d, "cuvet.cubin")
    options = [] if way == "final" else [way]
    for argv, to in (([os.environ["CUVET"], "link"] + (["--compat-r"] if way == "-r" else []), out), (["nvlink"], ref)):
        rc, said = link_random.linked(argv + options + ["-arch=sm_" + arch] + inputs, to)
        if rc:
            raise link_random.Different("%s: exit %d: %s" % (argv[0], rc, said[:300]))
    with open(ref, "rb") as f, open(out, "rb") as g:
        same = link_random.same_code if int(re.match(r"\d+", arch)[0]) >= 100 else link_random.strict
        same(f.read(), g.read())


def links(path, arch, d):
    """The inputs of each link."""
    if not os.environ.get("CV_PTX"):
        return [objects(path, arch, os.path.join(d, "in"))]
    made = compiled(path, arch, os.path.join(d, "in"))
    return [[o] for o in made] + [made[i:i + 2] for i in range(len(made) - 1)] + [made]


def main():
    why = missing()
    if why:
        print("SKIPPED: %s, no library was linked" % why)
        return 77
    path, good, bad = library(), 0, 0
    arches = os.environ.get("CV_ARCHES", "80,90,100" if os.environ.get("CV_FULL") else "90").split(",")
    ways = os.environ.get("CV_WAYS", "final,-r" if os.environ.get("CV_FULL") else "final").split(",")
    for arch in arches:
        d = tempfile.mkdtemp(dir=link_random.TMP)
        try:
            work = [(inputs, way) for inputs in links(path, arch, d) for way in ways
                    if way == "final" or int(re.match(r"\d+", arch)[0]) < 100]  # from there on -r keeps what ours leaves out
            if not work or not work[0][0]:
                raise link_random.Different("the library has nothing relocatable for it")
        except (link_random.Different, subprocess.SubprocessError) as e:
            print("DIFFERENT: sm_%s: %s" % (arch, e))
            bad, work = bad + 1, []
        for inputs, way in work:
            try:
                compare(inputs, arch, way, d)
                good += 1
            except (link_random.Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
                print("DIFFERENT: sm_%s, %s of %s: %s" % (arch, way, " ".join(map(os.path.basename, inputs[:3])), e))
                bad += 1
        if work:
            print("sm_%s: %d links of what is in %s, up to %d objects" % (arch, len(work), os.path.basename(path), len(work[-1][0])))
        shutil.rmtree(d, ignore_errors=True)
    print("%d passed, %d failed, 0 skipped" % (good, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
