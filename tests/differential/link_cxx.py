#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs of two or three units (tests/support/cxx_grammar.py), linked by cuvet and by nvlink in every way: the same bytes but for the
note that names the tool, or a refusal of both. What nvlink writes is scanned as well: it is clean.

Programs go through nvcc in blocks, because most of its time is for headers: what is alike in options is one file, and the PTX of it is
cut into programs again (tests/support/ptx_text.py). Programs with -G, whose debug data is of the whole file, and blocks that do not
compile go alone. ptxas makes of the PTX an object for each architecture that is asked for. Programs that launch kernels from kernels are linked with libcudadevrt of the toolkit. From sm_100 on the reference
compiles code again, and what is compared is what link_random.py compares there; "plain" are the same objects without their capsules,
where the bytes must be the same.

  CV_SEEDS=1-2000       which programs (default: 1-6, with CV_FULL=1 1-50)
  CV_ARCHES=75,80,90    for which machines (default: 75,80,90,100)
  CV_CACHE=DIR          where PTX and objects stay
  CV_WAYS=final,-r      which ways to link (default: all)
  CV_DONE=FILE          answers, a line for each block of 80 programs; blocks that it has are not asked again
  CV_KEEP=DIR           where the PTX of a difference is put, and how it was linked
  CV_JOBS=2

77: skipped, said on the last line. Needs nvcc, ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
os.environ.setdefault("CV_TMP", tempfile.mkdtemp(prefix="cuvet-cxx-"))
import cxx_grammar  # noqa: E402
import ptx_text  # noqa: E402
import link_random as lr  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,80,90,100").split(",")
MODES = {"final": [], "-g": ["-g"], "--preserve-relocs": ["--preserve-relocs"], "-r": ["-r"], "-r -g": ["-r", "-g"]}
MODES = {k: v for k, v in MODES.items() if k in os.environ.get("CV_WAYS", ",".join(MODES)).split(",")}
PLAIN = "plain"  # from sm_100 on, of objects without capsules
FINE = ("equal", "both refuse", "compiled again", "the reference fails", "damaged null symbol")


class Unbuilt(Exception):
    """The compiler does not take it: nothing to link."""


def number(arch):
    return int(re.match(r"\d+", arch)[0])


def made(path, *argv):
    """What a tool writes to a path, once."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = "%s.%d" % (path, threading.get_ident())
        p = lr.tool(*argv, "-o", part)
        if p.returncode or not os.path.exists(part):
            raise Unbuilt((p.stderr + p.stdout).decode("latin-1")[:600])
        os.rename(part, path)
    return path


def source_of(name, text):
    path = os.path.join(lr.CACHE, "cxx", name + ".cu")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def to_ptx(source, least, options, includes=()):
    return made(source[:-3] + ".ptx", "nvcc", "-w", "-std=c++17", "-ptx", "-rdc=true", "--extended-lambda", "-arch=compute_%d" % least, *options, *includes, source)


def texts(name, least, options, sources, includes=()):
    """The PTX of each source."""
    found = []
    for i, text in enumerate(sources):
        path = os.path.join(lr.CACHE, "cxx", "%s_%d.ptx" % (name, i))
        found.append(path if os.path.exists(path) else to_ptx(source_of("%s_%d" % (name, i), text), least, options, includes))
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
            data = f.read()
            if b"LaunchDevice" in data or b"GetParameterBuffer" in data:
                home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
                return ["-L" + next(p for p in (os.path.join(home, "lib64"), os.path.join(home, "lib")) if os.path.exists(os.path.join(p, "libcudadevrt.a"))), "-lcudadevrt"]
    return []


def damaged(image):
    return any(s[0] == b".symtab" and s[3][:24].strip(b"\0") for s in image.sections)


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
            we_said = "\n".join(line for line in we_said.split("\n") if "error:" in line)
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
            if damaged(lr.Image(f.read(), False)):
                return "damaged null symbol", ""  # docs/link-partial.md: tables of a weak function in several inputs
            f.seek(0)
            (lr.same_code if number(arch) >= 100 and not plain else lr.strict)(f.read(), g.read())
        return "equal", ""
    except (lr.Different, subprocess.TimeoutExpired, struct.error, ValueError) as e:
        return ("compiled again" if number(arch) >= 100 and not plain and str(e).startswith("contents of .text") else "different"), str(e)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def cause(said):
    """Without numbers and names of the program, so that what is alike is counted together."""
    said = re.sub(r"^(cuvet: error: )?(/\S*: )?", "", said.split("\n")[0])
    said = re.sub(r"of (\.(?:nv\.[a-z]+|[a-z]+)[a-z0-9_]*)[^:]*:.*", r"of \1", said, flags=re.S)
    said = re.sub(r"(file header).*", r"\1", said)
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
            f.write(" ".join(["--arch", arch, "--way='%s'" % way] + ["--ptxas=" + o for o in assembler_options(options)]) + "\n")


HASHES = re.compile(r"_INTERNAL_[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}(_\d+)?|__nv_static_\d+__[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}(_\d+)?")


def of_program(base):
    """Whether a name has a number of the program that begins at it."""
    def asked(name):
        return any(base <= int(n) < base + 100 for n in re.findall(r"(?<=[A-Za-z])\d{4}", HASHES.sub("_", name)))
    return asked


def cut(path, seeds, index):
    """The PTX of one file as a file for each program."""
    with open(path) as f:
        parts = ptx_text.items(f.read())
    for seed in seeds:
        out = os.path.join(lr.CACHE, "cxx", "p%d_%d.ptx" % (seed, index))
        with open(out + ".part", "w") as f:
            f.write(ptx_text.chosen(parts, of_program(cxx_grammar.BASE + 100 * (seed % cxx_grammar.SPAN))))
        os.rename(out + ".part", out)


def compile_together(seeds):
    """PTX of programs that are alike in options; what does not compile is left to program()."""
    groups = collections.defaultdict(list)
    for seed in seeds:
        least, debug, _, _, sources = cxx_grammar.program(seed)
        if debug != ["-G"] and not all(os.path.exists(os.path.join(lr.CACHE, "cxx", "p%d_%d.ptx" % (seed, i))) for i in range(len(sources))):
            groups[least, tuple(debug), seed % 16 == 0].append((seed, sources))
    for (least, debug, _), members in groups.items():
        for index in range(3):
            own = [(seed, sources[index]) for seed, sources in members if len(sources) > index]
            if own:
                try:
                    source = source_of("b%d_%d" % (own[0][0], index), "".join(text for _, text in own))
                    cut(to_ptx(source, least, debug), [seed for seed, _ in own], index)
                except Unbuilt as e:
                    print("block of %d: %s" % (own[0][0], str(e)[:300]), flush=True)


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


def block(seeds):
    """Answers of programs, and their objects gone."""
    compile_together(seeds)
    found = [("p%d" % seed, *program(seed)) for seed in seeds]
    if not os.environ.get("CV_CACHE"):
        for seed in seeds:
            for f in glob.glob(os.path.join(lr.CACHE, "cxx", "p%d_*" % seed)):
                os.unlink(f)
    return found


def blocks(first, last):
    """Seeds in blocks whose numbers of names differ, and how each block is called in CV_DONE."""
    span = cxx_grammar.SPAN
    for start in range(first - first % span, last + 1, span):
        seeds = range(max(start, first), min(start + span, last + 1))
        yield "%d-%d %s %s" % (seeds[0], seeds[-1], ",".join(ARCHES), ",".join(MODES)), seeds


def asked(first, last):
    """[(program, answers, features)]; what CV_DONE has comes from there."""
    done, path = {}, os.environ.get("CV_DONE")
    if path and os.path.exists(path):
        with open(path) as f:
            done = dict(json.loads(line) for line in f)
    todo = list(blocks(first, last))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", 2))) as pool:
        running = [(key, None if key in done else pool.submit(block, seeds)) for key, seeds in todo]
        for key, future in running:
            rows = done[key] if future is None else future.result()
            if path and future:
                with open(path, "a") as f:
                    f.write(json.dumps([key, rows]) + "\n")
            yield from rows


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
    first, _, last = os.environ.get("CV_SEEDS", "1-50" if FULL else "1-6").partition("-")
    good = report(asked(int(first), int(last or first)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
