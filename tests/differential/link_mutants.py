#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that a scan calls clean do not end the reference linker by a signal, nor are they refused by cuvet link for what a
scan could have said of one object.

Every program of corpus/link/ptx and every relocatable sample is mutated, one field at a time (tests/world/detection_fields.py: always
the same mutants for the same object). The mutants that a scan finds nothing in are linked alone, finally and with -r, by
nvlink in a child with limits of time, memory and core, and by cuvet. Counted and shown are

  crash    nvlink ended by a signal. These fail the test where they are more than KNOWN says
  hang     nvlink had not ended in time. The same
  refused  cuvet refused what is clean, by which rule: the rules of a link that one object is enough for

  CV_ARCHES=75,90     for which machines (default: 75,90; 100 takes long)
  CV_EACH=6           mutants of each object and machine (with CV_FULL=1 120)
  CV_KEEP=DIR         where mutants that end nvlink are put
  CV_GROUPS=symbol    groups of fields, with ','; all without it
  CV_JOBS=2

77: skipped, said on the last line. Needs ptxas and nvlink of CUDA 13.0 on PATH.
"""
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "world"))
import detection_fields as fields  # noqa: E402

TMP = os.environ.get("CV_TMP") or tempfile.mkdtemp(prefix="cuvet-mutants-")
CUVET = os.environ.get("CUVET") or os.path.join(ROOT, "build", "cuvet")
FULL = bool(os.environ.get("CV_FULL"))
ARCHES = os.environ.get("CV_ARCHES", "75,90").split(",")
EACH = int(os.environ.get("CV_EACH", "120" if FULL else "6"))
GROUPS = set(filter(None, os.environ.get("CV_GROUPS", "").split(",")))
KEEP = os.environ.get("CV_KEEP")
SECONDS, MEMORY = 10, 4 << 30
MODES = ((), ("-r",))
Sample = collections.namedtuple("Sample", "name arch data kind")


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))


def run(*argv):
    """(status, what was said); "hang" where it did not end, a negative status where it ended by a signal."""
    try:
        done = subprocess.run(argv, capture_output=True, check=False, timeout=SECONDS, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return "hang", ""
    return done.returncode, (done.stdout + done.stderr).decode("latin-1")


def compiled(source, arch):
    out = os.path.join(TMP, "%s.sm_%s.cubin" % (os.path.basename(source)[:-4], arch))
    status, _ = run("ptxas", "-c", "-arch=sm_" + arch, source, "-o", out)
    return out if status == 0 else None


def gather():
    for arch in ARCHES:
        paths = glob.glob(os.path.join(ROOT, "corpus", "samples", "*.sm_%s.*rdc.cubin" % arch))
        paths += filter(None, (compiled(p, arch) for p in sorted(glob.glob(os.path.join(ROOT, "corpus", "link", "ptx", "*.ptx")))))
        for path in sorted(paths):
            with open(path, "rb") as file:
                yield Sample(os.path.basename(path), arch, file.read(), "cubin")


def legal(field, old, symbols):
    """What else a field of an object may say that is legal somewhere: other types, bindings, places, memories, numbers."""
    if field.name == "st_info":
        return [bind << 4 | kind for bind in (0, 1, 2) for kind in (0, 1, 2, 3, 10, 11, 12, 13)]
    if field.name == "st_other":
        return list(range(0, 0x100, 0x20)) + [old ^ bit for bit in (1, 2, 3, 4, 0x10)]
    if field.name == "st_shndx":
        return [0, 0xFFF1, 0xFFF2] + list(range(1, field.limit))
    if field.name in ("st_value", "st_size"):
        return [0, 1, 3, 4, 8, 16, 24, 128, 1 << 20, 1 << 33, 1 << 47, 1 << 63, old + 1, old * 2]
    if field.name == "r_type":
        return range(1, 117)
    if field.name == "attribute":
        return range(0x6F)
    if field.name in ("r_sym", "first", "second") or field.name.startswith("word of"):
        return [*range(symbols), 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC]
    if field.name == "sh_info":
        return range(max(field.limit, symbols))
    return []


def chosen(sample):
    """The mutants of one object, half of them of any value, half of values that are legal somewhere; of some groups of fields alone
    where they are asked for."""
    every = [f for f in fields.cubin_fields(sample.data) if not GROUPS or f.group in GROUPS]
    symbols = max(f.limit for f in every if f.name in ("r_sym", "first", "second")) if any(f.name == "r_sym" for f in every) else 8
    out = [m for m in fields.mutants(sample, EACH * (8 if GROUPS else 1) // 2) if not GROUPS or m.field.group in GROUPS][:EACH // 2]
    pool = {}
    for field in every:
        old = int.from_bytes(sample.data[field.at:field.at + field.width], "little")
        for new in legal(field, old, symbols):
            if new != old and new < 1 << 8 * field.width:
                pool.setdefault((field.group, field.name.split(" of ")[0]), []).append(fields.Mutant(field, "legal", old, new))
    chance = random.Random(sample.name)
    names = sorted(pool)
    while names and len(out) < EACH:
        for name in names:
            out.append(chance.choice(pool[name]))
    return out[:EACH]


def clean(folder):
    """The names of the files in which a scan finds nothing."""
    out = subprocess.run([CUVET, "scan", "-r", "--format=ndjson", folder], capture_output=True, check=False).stdout
    rows = (json.loads(line) for line in out.splitlines())
    return {os.path.basename(r["file"]) for r in rows if r["type"] == "verdict" and r["verdict"] == "clean"}


def judge(sample):
    """[(mutant, mode, how nvlink ended, rule by which cuvet refused or None)] of the mutants that are clean; how many there were."""
    rows = []
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        mutants = chosen(sample)
        for number, mutant in enumerate(mutants):
            with open(os.path.join(folder, "%d.cubin" % number), "wb") as file:
                file.write(fields.apply(sample.data, mutant))
        genuine = os.path.join(folder, "genuine")
        found = clean(folder)
        with open(genuine, "wb") as file:
            file.write(sample.data)
        out = os.path.join(folder, "out")
        for mode in MODES:
            if run("nvlink", "-arch=sm_" + sample.arch, *mode, genuine, "-o", out)[0] != 0:
                continue
            for number, mutant in enumerate(mutants):
                name = "%d.cubin" % number
                if name not in found:
                    continue
                path = os.path.join(folder, name)
                status, _ = run("nvlink", "-arch=sm_" + sample.arch, *mode, path, "-o", out)
                how = "hang" if status == "hang" else "crash" if status < 0 else "refused" if status else "linked"
                if KEEP and how in ("hang", "crash"):
                    os.makedirs(KEEP, exist_ok=True)
                    shutil.copy(path, os.path.join(KEEP, "%s-%d%s-%s" % (sample.name, number, "".join(mode), how)))
                ours, said = run(CUVET, "link", "-arch=sm_" + sample.arch, *mode, path, "-o", out)
                rule = re.search(r"error +(CV-[A-Z]+-\d+)", said)
                rows.append((mutant, mode, how, rule[1] if rule else None if ours == 0 else "exit %s" % ours))
    return sample, len(mutants), len(found), rows


def main():
    if not shutil.which("nvlink") or not shutil.which("ptxas"):
        print("SKIPPED: nvlink and ptxas are not here")
        return 77
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    total, clean_ones, links = 0, 0, 0
    ended, refused = collections.Counter(), collections.Counter()
    examples = {}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CV_JOBS", "2"))) as pool:
        for sample, made, found, rows in pool.map(judge, gather()):
            total, clean_ones, links = total + made, clean_ones + found, links + len(rows)
            for mutant, mode, how, rule in rows:
                what = "%s %s%s" % (mutant.field.group, mutant.field.name, " -r" if mode else "")
                if how in ("crash", "hang"):
                    ended[how, what] += 1
                    examples.setdefault((how, what), "%s at %#x: %#x, was %#x%s" % (
                        sample.name, mutant.field.at, mutant.new, mutant.old, "; cuvet link: %s" % (rule or "links")))
                if rule:
                    refused[rule, how] += 1
                    examples.setdefault((rule, how), "%s %s %s at %#x: %#x, was %#x" % (
                        what, sample.name, mutant.how, mutant.field.at, mutant.new, mutant.old))
    print("%d mutants, %d clean, %d links of clean ones" % (total, clean_ones, links))
    for key, count in sorted(ended.items()):
        print("  nvlink: %-5s %4d  %-40s %s" % (key[0], count, key[1], examples[key]))
    for key, count in sorted(refused.items()):
        print("  cuvet refuses by %-12s %4d, nvlink %-8s  %s" % (key[0], count, key[1], examples[key]))
    bad = sum(ended.values())
    print("%d links of clean mutants end nvlink" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
