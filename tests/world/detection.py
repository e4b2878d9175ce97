#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a scan finds of one-field mutations of genuine files of every toolkit era, and what other readers make of the rest.

For 300 device ELFs and containers of each era fields are changed, one at a time, always the same for the same files.
Two builds of cuvet judge the mutants: `--before` and `--after`. A mutant is found when it has an error or a warning, or
is unsupported, where the genuine file has none of that rule at that place. Every mutant that `--after` finds nothing in
goes to the readers that are at hand (detection_consumers.py); what one of them reads differently is a miss.

  detection.py --before OLD/cuvet --after build/cuvet --cache WHEELS[:WHEELS...] --scratch DIR [--write]

Nothing is downloaded: what is in the folders of wheels is taken (tests/world/world.py fills one), and from wheels of
nvidia-cuda-nvcc the assembler. --write puts the tables between the markers of docs/evidence/detection.md.

exit: 0 the misses are at most 0.5 %; 1 they are more; 2 usage; 77 no wheels here
"""
import argparse
import collections
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import detection_consumers as consumers
import detection_fields as fields
import detection_report as report
import detection_samples as samples

SKIPPED = 77
TARGET = 0.005  # misses, of all mutants
EVIDENCE = os.path.join(samples.ROOT, "docs", "evidence", "detection.md")
BEGIN, END = "<!-- begin: written by make check-detection -->", "<!-- end -->"
BATCH = 30  # samples whose mutants are in one folder at a time


@functools.lru_cache(None)
def leaves_out(cuvet, rule):
    """Whether a rule says that something was not looked into: a note, but the file is no longer clean."""
    out = subprocess.run([cuvet, "rules", rule], stdout=subprocess.PIPE, check=False).stdout
    return b"class     unsupported" in out


def scan(cuvet, folder):
    """By file name: what was found, (rule, offset, path) of each, and the verdict."""
    out = subprocess.run([cuvet, "scan", "-r", "--format=ndjson", "--limit=diagnostics=4096", folder],
                         stdout=subprocess.PIPE, check=False)
    if out.returncode not in (0, 1, 4):
        raise SystemExit("%s ended with %d" % (cuvet, out.returncode))
    found, verdicts = collections.defaultdict(set), {}
    for line in out.stdout.splitlines():
        row = json.loads(line)
        name = os.path.basename(row.get("file") or "")
        if row["type"] == "finding" and (row["severity"] != "note" or leaves_out(cuvet, row["rule"])):
            found[name].add((row["rule"], row.get("offset"), row.get("path")))
        elif row["type"] == "verdict":
            verdicts[name] = row
    return found, verdicts


def outcome(name, origin, found, verdicts):
    """(state, rules): found, clean, or gone when no device code is seen any more."""
    new = found[name] - found[origin]
    if new:
        return "found", sorted(set(rule for rule, _, _ in new))
    verdict, before = verdicts[name], verdicts[origin]
    if verdict["verdict"] in ("limit", "error") and verdict["verdict"] != before["verdict"]:
        return "found", [verdict["verdict"]]
    if not verdict["images"] + verdict["members"] and before["images"] + before["members"]:
        return "gone", []
    return "clean", []


def judge_batch(job):
    """The mutants of some samples, judged by both builds."""
    batch, each, builds = job
    rows = []
    memory = "/dev/shm" if os.path.isdir("/dev/shm") and "TMPDIR" not in os.environ else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for sample in batch:
            with open(os.path.join(folder, sample.name), "wb") as file:
                file.write(sample.data)
            for number, mutant in enumerate(fields.mutants(sample, each)):
                name = "%s-%d" % (sample.name, number)
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(fields.apply(sample.data, mutant))
                rows.append({"name": name, "sample": sample.name, "era": sample.era, "mutant": mutant})
        results = {}
        for build in sorted(set(builds)):
            results[build] = scan(build, folder)
        for row in rows:
            row["before"], row["rules before"] = outcome(row["name"], row["sample"], *results[builds[0]])
            row["after"], row["rules after"] = outcome(row["name"], row["sample"], *results[builds[1]])
        origins = {sample.name: [verdict_of(sample.name, results[build]) for build in builds] for sample in batch}
    return rows, origins


def verdict_of(name, result):
    found, verdicts = result
    return verdicts[name]["verdict"], sorted(set(rule for rule, _, _ in found[name]))


def pick_slow(rows, per_field):
    """Names of the mutants that the slow readers see: some of every field of every era, the same ones each time."""
    by_field = collections.defaultdict(list)
    for row in rows:
        field = row["mutant"].field
        by_field[row["era"], field.group, field.name.split(" of 0x")[0]].append(row["name"])
    out = set()
    for names in by_field.values():
        names.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        out.update(names[:per_field] if per_field else names)
    return out


def consult(readers, rows, by_name, arguments):
    """Every reader's word on the mutants that were not found."""
    rest = [row for row in rows if row["after"] != "found"]
    slow = pick_slow(rest, arguments.disassemble)

    def one(row):
        sample = by_name[row["sample"]]
        data = fields.apply(sample.data, row["mutant"])
        row["slow"] = row["name"] in slow
        row["answers"] = readers.judge(sample, data, row["slow"])

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for number, _ in enumerate(pool.map(one, rest)):
            if number % 2000 == 1999:
                readers.cache.commit()
                print("  %d of %d mutants shown to the readers" % (number + 1, len(rest)), flush=True)


def keep(rows, by_name, folder):
    """Examples of what was found before and is not found any more, and of what readers stumble over."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    count = collections.Counter()
    for row in rows:
        lost = row["before"] == "found" and row["after"] != "found"
        miss = report.miss_kind(row) is not None
        kind = "lost" if lost else "miss" if miss else None
        field = row["mutant"].field
        stem = "%s-%s-%s" % (kind, field.group.replace(" ", "_"), field.name.replace(" ", "_").replace("/", "_"))
        if kind and count[stem] < 3:
            count[stem] += 1
            sample = by_name[row["sample"]]
            row["kept"] = "%s-%s" % (stem, row["name"])
            for name, data in ((row["kept"], fields.apply(sample.data, row["mutant"])),
                               (row["sample"] + "-genuine", sample.data)):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", required=True, help="a build of cuvet from before a change of the rules")
    parser.add_argument("--after", required=True, help="the build that is judged")
    parser.add_argument("--cache", default=os.environ.get("CV_WORLD_CACHE", os.path.join(samples.ROOT, "build", "world")),
                        help="folders of wheels, with ':' between them")
    parser.add_argument("--tools", default=os.environ.get("CV_WORLD_TOOLS", ""), help="folders of older tools, with ':'")
    parser.add_argument("--scratch", required=True, help="folder for samples, answers of readers and results")
    parser.add_argument("--report", help="write the tables into this file, with an example for each row")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/evidence/detection.md")
    parser.add_argument("--samples", type=int, default=300, help="genuine files of each era")
    parser.add_argument("--each", type=int, default=60, help="mutants of each file")
    parser.add_argument("--disassemble", type=int, default=10, help="mutants per era and field that the slow "
                        "disassembler sees; 0: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--no-readers", action="store_true", help="only what the two builds find")
    arguments = parser.parse_args()
    builds = [os.path.abspath(arguments.before), os.path.abspath(arguments.after)]
    wheels = [path for folder in arguments.cache.split(":") if folder
              for path in sorted(glob.glob(os.path.join(folder, "*.whl")))]
    if not wheels:
        print("SKIPPED: no wheels in CV_WORLD_CACHE (%s)" % arguments.cache)
        return SKIPPED
    os.makedirs(arguments.scratch, exist_ok=True)
    known = consumers.tools(wheels, [f for f in arguments.tools.split(":") if f], arguments.scratch)
    print("readers: " + ", ".join(name for name, _ in known))
    for name in ("cuobjdump", "nvdisasm", "nvlink", "readelf"):
        if not any(reader.startswith(name) for reader, _ in known):
            print("SKIPPED: no %s at hand; what only it reads differently is not seen" % name)
    samples.gather(builds[0], wheels, os.path.join(arguments.scratch, "samples"))
    chosen = samples.choose(samples.load(os.path.join(arguments.scratch, "samples")), arguments.samples)
    for era in samples.ERAS:
        here = sum(sample.era == era and sample.kind != "host" for sample in chosen)
        print("%s: %d genuine files%s" % (era, here, "" if here == arguments.samples else " (no more in these wheels)"))
    by_name = {sample.name: sample for sample in chosen}
    jobs = [(chosen[i:i + BATCH], arguments.each, builds) for i in range(0, len(chosen), BATCH)]
    rows, origins = [], {}
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for part, verdicts in pool.map(judge_batch, jobs):
            rows += part
            origins.update(verdicts)
    print("%d mutants judged" % len(rows), flush=True)
    if not arguments.no_readers:
        readers = consumers.Readers(known, os.path.join(arguments.scratch, "answers.sqlite"))
        with consumers.limits():
            consult(readers, rows, by_name, arguments)
        readers.close()
    keep(rows, by_name, os.path.join(arguments.scratch, "misses"))
    text = report.text(rows, origins, by_name, known)
    report.save(rows, os.path.join(arguments.scratch, "mutants.jsonl"))
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            file.write(text)
    print(text)
    if arguments.write:
        write(report.text(rows, origins, by_name, known, short=True))
    return 0 if sum(1 for row in rows if report.miss_kind(row)) <= TARGET * len(rows) else 1


def write(tables):
    with open(EVIDENCE, encoding="utf-8") as file:
        page = file.read()
    head, rest = page.split(BEGIN)
    with open(EVIDENCE, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + "\n\n" + tables + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    sys.exit(main())
