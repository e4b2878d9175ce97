#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs of two or three units (tests/support/cxx_grammar.py), linked by cuvet and by nvlink in every way: the same bytes but for the
note that names the tool, or a refusal of both. What nvlink writes is scanned as well: it is clean.

Each unit goes through nvcc once, to PTX for the least architecture of its program; ptxas makes of that an object for each architecture
that is asked for. Programs that launch kernels from kernels are linked with libcudadevrt of the toolkit. From sm_100 on the reference
compiles code again, and what is compared is what link_random.py compares there; "plain" are the same objects without their capsules,
where the bytes must be the same.

  CV_SEEDS=1-2000       which programs (default: 1-6, with CV_FULL=1 1-200)
  CV_ARCHES=75,80,90    for which machines (default: 75,80,90,100)
  CV_CACHE=DIR          where PTX and objects stay
  CV_KEEP=DIR           where the PTX of a difference is put, and how it was linked
  CV_JOBS=2

77: skipped, said on the last line. Needs nvcc, ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-cxx-"))
import cxx_grammar  # noqa: E402
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90,100").split(",")
MODES = {"final": [], "-g": ["-g"], "--preserve-relocs": ["--preserve-relocs"], "-r": ["-r"], "-r -g": ["-r", "-g"]}
PLAIN = "plain"  # from sm_100 on, of objects without capsules
FINE = ("equal", "both refuse", "compiled again", "the reference fails")


class Unbuilt(Exception):
    """The compiler does not take it: nothing to link."""


def number(arch):
    return int(re.match(r"\d+", arch)[0])


def made(path, *argv):
    """What a tool writes to a path, once."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = "%s.%d" % (path, os.getpid())
        p = lr.tool(*argv, "-o", part)
        if p.returncode or not os.path.exists(part):
            raise Unbuilt((p.stderr + p.stdout).decode("latin-1")[:600])
        os.rename(part, path)
    return path


def texts(name, least, options, sources, includes=()):
    """The PTX of each source."""
    found = []
    for i, text in enumerate(sources):
        path = os.path.join(lr.CACHE, "cxx", "%s_%d.ptx" % (name, i))
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path[:-4] + ".cu", "w") as f:
                f.write(text)
            made(path, "nvcc", "-w", "-std=c++17", "-ptx", "-rdc=true", "--extended-lambda", "-arch=compute_%d" % least, *options, *includes, path[:-4] + ".cu")
        found.append(path)
    return found


def assembler_options(options):
    more = [o for o in options if o not in ("-G", "-lineinfo")]
    return more + (["-g"] if "-G" in options else []) + (["-lineinfo"] if "-lineinfo" in options else [])


def assembled(ptx, arch, options):
    return made(ptx[:-4] + ".sm_%s.cubin" % arch, "ptxas", "-c", "-arch=sm_" + arch, *assembler_options(options), ptx)


def bare(cubin):
    return made(cubin[:-6] + ".plain.cubin", os.environ["CUVET"], "finalize", "--binary-kind=sass", cubin)


def runtime(inputs):
    """libcudadevrt, where a kernel is launched by code."""
    for path in inputs:
        with open(path, "rb") as f:
            if b"cudaLaunchDevice" in f.read() or b"cudaGetParameterBuffer" in open(path, "rb").read():
                home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
                return ["-L" + next(p for p in (os.path.join(home, "lib64"), os.path.join(home, "lib")) if os.path.exists(os.path.join(p, "libcudadevrt.a"))), "-lcudadevrt"]
    return []


def compare(arch, mode, inputs, plain=False):
    """("equal" | "both refuse" | "refused CV-..." | "different" | ..., what is said)"""
    d = tempfile.mkdtemp(dir=lr.TMP)
    ref, out = os.path.join(d, "nvlink.cubin"), os.path.join(d, "cuvet.cubin")
    try:
        more = runtime(inputs)
        rc, said = lr.linked(["nvlink", "-arch=sm_" + arch] + mode + inputs + more, ref)
        our_rc, we_said = lr.linked([os.environ["CUVET"], "link", "-arch=sm_" + arch] + mode + (["--compat-r"] if "-r" in mode else []) + inputs + more, out)
        if rc and our_rc == 1:
            return "both refuse", ""
        if our_rc:
            rules = re.findall(r"CV-\w+-\d+", we_said)
            return "%s %s" % ("refused" if our_rc == 1 else "exit %d" % our_rc, rules[0] if rules else "without a rule"), we_said[:400]
        if rc and "reference to deleted symbol" in said:
            return "the reference fails", ""  # docs/link-partial.md
        if rc:
            return "linked, nvlink %s" % ("crashes" if rc < 0 else "refuses"), said[:400]
        alarm = lr.tool(os.environ["CUVET"], "scan", ref)
        if alarm.returncode:
            return "a false alarm", alarm.stdout.decode("latin-1")[:400]
        with open(ref, "rb") as f, open(out, "rb") as g:
            (lr.same_code if number(arch) >= 100 and not plain else lr.strict)(f.read(), g.read())
        return "equal", ""
    except (lr.Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
        return ("compiled again" if number(arch) >= 100 and not plain and str(e).startswith("contents of .text") else "different"), str(e)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def cause(said):
    """Without numbers and names of the program, so that what is alike is counted together."""
    said = re.sub(r"of (\.[a-z0-9_.]*?)\.?[_A-Za-z0-9$]*:.*", r"of \1", said.split("\n")[0], flags=re.S)
    return re.sub(r"0x[0-9a-f]+|\d+", "N", re.sub(r"\(.*", "", said))[:100]


def links(ptx, arch, options):
    """[(way, answer, what is said)]"""
    inputs = [assembled(p, arch, options) for p in ptx]
    found = [(name, *compare(arch, mode, inputs)) for name, mode in MODES.items()]
    if number(arch) >= 100:
        inputs = [bare(p) for p in inputs]
        found += [(PLAIN + " " + name, *compare(arch, mode, inputs, True)) for name, mode in MODES.items()]
    return found


def keep(name, arch, way, ptx, options):
    if os.environ.get("CV_KEEP"):
        d = os.path.join(os.environ["CV_KEEP"], "%s.%s.%s" % (name, arch, way.replace(" ", "")))
        os.makedirs(d, exist_ok=True)
        for p in ptx:
            shutil.copy(p, d)
        with open(os.path.join(d, "how"), "w") as f:
            f.write(" ".join(["--arch", arch, "--way", "'%s'" % way] + ["--ptxas=" + o for o in assembler_options(options)]) + "\n")


def program(seed):
    """[(architecture, way, answer, what is said)], features"""
    least, debug, more, names, sources = cxx_grammar.program(seed)
    found = []
    try:
        ptx = texts("p%d" % seed, least, debug, sources)
    except Unbuilt as e:
        return [("all", "nvcc", "unbuilt", str(e))], names
    for arch in ARCHES:
        if number(arch) < least:
            continue
        try:
            for way, answer, said in links(ptx, arch, debug + more):
                found.append((arch, way, answer, said))
                if answer not in FINE:
                    keep("p%d" % seed, arch, way, ptx, debug + more)
        except Unbuilt as e:
            found.append((arch, "ptxas", "unbuilt", str(e)))
    return found, names


def missing():
    for name in ("nvcc", "ptxas", "nvlink"):
        if not shutil.which(name):
            return name + " is not on PATH"
    if "release 13.0" not in lr.tool("nvlink", "--version").stdout.decode("latin-1"):
        return "nvlink of CUDA 13.0 is needed: its exact form is what is compared"
    return None


def table(counts, of):
    for (arch, way), row in sorted(counts.items()):
        print("%s %s: %s" % (arch if arch == "all" else "sm_" + arch, way, ", ".join("%d %s" % (n, a) for a, n in row.most_common())))
    for (answer, why), n in of.most_common(60):
        print("%6d %s: %s" % (n, answer, why))


def report(results):
    """Prints; true where nothing differs and nothing is refused alone."""
    counts, of, bad, built = collections.defaultdict(collections.Counter), collections.Counter(), 0, 0
    for name, found, names in results:
        for arch, way, answer, said in found:
            counts[arch, way][answer] += 1
            built += answer != "unbuilt"
            if answer not in FINE:
                of[answer, cause(said)] += 1
                bad += answer != "unbuilt"
                print("%s: %s, sm_%s %s: %s (%s)" % (answer.upper(), name, arch, way, said[:300].replace("\n", " "), " ".join(names)), flush=True)
    table(counts, of)
    print("%d passed, %d failed, 0 skipped" % (built - bad, bad))
    return built and not bad


def main():
    why = missing()
    if why:
        print("SKIPPED: %s, random C++ programs were linked by nobody" % why)
        return 77
    first, _, last = os.environ.get("CV_SEEDS", "1-200" if FULL else "1-6").partition("-")
    seeds = range(int(first), int(last or first) + 1)
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        good = report(("p%d" % s, *found) for s, found in zip(seeds, pool.map(program, seeds)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
