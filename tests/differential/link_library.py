#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relocatable objects of a library, linked by cuvet and by nvlink: byte for byte as link_random.py compares them, from
sm_100 on the sections' names and the code. NCCL is such a library: one relocatable object for each of its kernels.

  CV_LIBRARY=FILE     the library (default: libnccl.so.2 beside nvlink, or on the loader's path)
  CV_ARCHES=80,90     for which architectures (default: 90, with CV_FULL=1 80,90,100: nvlink needs more than a minute for
                      the last)

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


def compare(path, arch, d):
    """How many objects were linked; raises Different."""
    inputs = objects(path, arch, os.path.join(d, "in"))
    ref, out = os.path.join(d, "nvlink.cubin"), os.path.join(d, "cuvet.cubin")
    if not inputs:
        raise link_random.Different("the library has no relocatable object for it")
    for argv, to in (([os.environ["CUVET"], "link"], out), (["nvlink"], ref)):
        rc, said = link_random.linked(argv + ["-arch=sm_" + arch] + inputs, to)
        if rc:
            raise link_random.Different("%s: exit %d: %s" % (argv[0], rc, said[:300]))
    with open(ref, "rb") as f, open(out, "rb") as g:
        same = link_random.same_code if int(re.match(r"\d+", arch)[0]) >= 100 else link_random.strict
        same(f.read(), g.read())
    return len(inputs)


def main():
    why = missing()
    if why:
        print("SKIPPED: %s, no library was linked" % why)
        return 77
    path, bad = library(), 0
    arches = os.environ.get("CV_ARCHES", "80,90,100" if os.environ.get("CV_FULL") else "90").split(",")
    for arch in arches:
        d = tempfile.mkdtemp(dir=link_random.TMP)
        try:
            print("sm_%s: %d objects of %s, equal" % (arch, compare(path, arch, d), os.path.basename(path)))
        except (link_random.Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
            print("DIFFERENT: sm_%s: %s" % (arch, e))
            bad += 1
        finally:
            shutil.rmtree(d, ignore_errors=True)
    print("%d passed, %d failed, 0 skipped" % (len(arches) - bad, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
