# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-field mutations of the bundled samples: how many a scan finds must not fall. The experiment over the files of the
world, with other readers, is `make check-detection`; here is what of it needs no wheels, and tests of its parts."""
import collections
import os
import struct
import subprocess
import sys

from lib_cli import CUVET, ROOT, SAMPLES, equal, main, scratch, test

sys.path.insert(0, os.path.join(ROOT, "tests", "world"))
import detection
import detection_consumers as consumers
import detection_fields as fields
import detection_reasons as reasons
import detection_samples as samples

EACH = 40
# Percent found at least, by class of field; what is missing says something else legally (names, values, code).
FLOORS = {"ELF header": 90, "section header": 98, "program header": 76, "symbol": 66, "relocation": 32, "metadata": 76, "note": 84,
          "call graph": 97, "capsule": 76, "metadata of a clone": 71, ".nv.compat": 72, "string table": 56, "container header": 74,
          "member header": 95, "member payload": 70}


def bundled():
    out = []
    for name in sorted(os.listdir(SAMPLES)):
        with open(os.path.join(SAMPLES, name), "rb") as file:
            data = file.read()
        kind = {".cubin": "cubin", ".fatbin": "container"}.get(os.path.splitext(name)[1])
        if kind and len(data) < samples.CUBIN_LIMIT and data[:8] in (samples.CONTAINER_MAGIC, b"\x7fELF\x02\x01\x01\x41"):
            what = samples.describe(data) or (130, 0, 0, "")
            out.append(samples.Sample(name, kind, "13.0", "sm_%d" % what[1], what[2], what[3], name, data))
    return out


@test
def what_is_found_does_not_fall():
    rows, _ = detection.judge_batch((bundled(), EACH, [CUVET, CUVET]))
    total, found = collections.Counter(), collections.Counter()
    for row in rows:
        total[row["mutant"].field.group] += 1
        found[row["mutant"].field.group] += row["after"] == "found"
    assert sum(total.values()) > 3000, total
    low = {group: "%d of %d" % (found[group], total[group]) for group, floor in FLOORS.items()
           if total[group] < 20 or 100 * found[group] < floor * total[group]}
    assert not low, low


@test
def mutants_are_the_same_each_time_and_change_one_field():
    for sample in bundled()[::9]:
        first, second = (fields.mutants(sample, EACH) for _ in range(2))
        equal(first, second)
        for mutant in first:
            data = fields.apply(sample.data, mutant)
            equal(len(data), len(sample.data))
            changed = [i for i, (a, b) in enumerate(zip(sample.data, data)) if a != b]
            at, width = mutant.field.at, mutant.field.width
            assert changed and at <= changed[0] and changed[-1] < at + width, (sample.name, mutant, changed)


@test
def files_say_what_made_them():
    by_name = {sample.name: sample for sample in bundled()}
    cubin = by_name["plain.sm_90.cubin"]
    equal(samples.describe(cubin.data), (130, 90, 2, "ABI 8 ptxas"))
    equal(samples.describe(by_name["two.sm_75.merged.cubin"].data)[2:], (1, "ABI 8 nvlink"))
    old = bytearray(cubin.data)
    old[7:9] = b"\x33\x07"
    struct.pack_into("<I", old, 20, 118)
    struct.pack_into("<I", old, 48, 0x5A055A)
    equal(samples.describe(bytes(old)), (118, 90, 2, "ABI 7"))
    equal([samples.era_of(v) for v in (75, 102, 118, 121, 129, 130, 131, 7, 1000)],
          ["up to 10.x", "up to 10.x", "11", "12.0-12.2", "12.3-12.9", "13.0", "13.1 and later", None, None])


@test
def answers_of_readers_are_put_into_one_word():
    plain = consumers.Answer(0, "name 0x10\nsize 16\nflags WA\nend\n", "")

    def word(end=0, out=plain.out, errors=""):
        return consumers.compare(plain, consumers.Answer(end, out, errors))[0]

    equal(word(), "same")
    equal(word(out=plain.out.replace("16", "17")), "value")
    equal(word(out=plain.out.replace("WA", "W")), "words")
    equal(word(out="name 0x10\nsize 16\nend\n"), "layout")
    equal(word(out="name 0x11\nsize 17\nflags A\nfin\n"), "layout")
    equal(word(errors="warning: odd"), "warned")
    equal(word(errors="fatal: odd"), "refused")
    equal(word(end=255), "refused")
    equal(word(end=-11), "crash")
    equal(word(end=None), "hang")
    equal(reasons.reason("crash", "symbol", "st_value", ""), None)
    equal(reasons.reason("layout", "symbol", "st_value", ""), reasons.PROGRAM)


@test
def without_wheels_it_is_skipped_loudly():
    folder = scratch()
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "world", "detection.py"), "--before", CUVET, "--after", CUVET,
                           "--cache", folder, "--scratch", folder], stdout=subprocess.PIPE, check=False)
    equal(done.returncode, 77)
    assert done.stdout.startswith(b"SKIPPED: no wheels"), done.stdout


main()
