# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What inputs cost that are made to cost the most, by what is counted and not by the clock: bench/worst.py measures the same
families (tools/corpus/costly.py) at larger sizes."""
import gzip
import json
import os
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import costly  # noqa: E402
from lib_cli import CLEAN, LIMIT, Skip, cuvet, equal, main, needs_packages, scratch, test, write  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


def made(stage, name, size):
    """the files of a family, and what runs it"""
    family = next(f for f in costly.FAMILIES if (f.stage, f.name) == (stage, name))
    return [write(data) for data in family.make(size)], family.command


@test
def every_family_ends():
    """with a verdict, a refusal or a limit; one in seven of them here"""
    where, yara = scratch(), 0
    for family in costly.FAMILIES[:: 1 if os.environ.get("CV_FULL") else 7]:
        if family.stage == "yara":
            yara += 1
            continue
        files = [write(data, "%d.cubin" % i, where) for i, data in enumerate(family.make(8 * KIB) or family.make(64 * KIB))]  # some have objects of more than 8 KiB
        words = []
        for word in family.command.split():
            words += {"{in}": files, "{first}": files[:1], "{out}": [write(b"") + ".out"]}.get(word, [word])
        r = cuvet(*words)
        assert r.rc in (0, 1, 4), (family.stage, family.name, r.rc, r.err[-300:])
        for path in files:
            os.unlink(path)
    if yara:
        raise Skip("%d families of rules, which tests/cli/test_yara_hostile.py has" % yara)


@test
def a_dump_of_frames_has_a_limit():
    """sections that share their call frames: what is printed follows the bytes of the piece, not their product"""
    (path,), _ = made("formats: dump", "both of .debug_frame", 256 * KIB)
    for form in ("text", "ndjson"):
        r = cuvet("dump", "--format=" + form, path)
        equal(r.rc, LIMIT, form)
        assert len(r.out) < 2 * 64 * 256 * KIB, (form, len(r.out))


@test
def entries_without_bytes_have_a_limit():
    """each entry of a package takes 16 KiB of what the package may be unpacked to"""
    needs_packages()
    names = ["f%d" % i for i in range(3000)]
    path = write(gzip.compress(costly.tar_of(lambda i: names[i], len(names))))
    r = cuvet("scan", "--format=ndjson", path)
    equal((r.rc, r.objects("summary")[0]["clean"]), (CLEAN, len(names)))
    r = cuvet("scan", "--format=ndjson", "--limit", "budget=%d" % (1000 * 16 * KIB), "--limit", "ratio=1", path)
    said = [v for v in r.objects("verdict") if v["verdict"] == "limit"]
    equal((r.rc, len(said), r.objects("summary")[0]["clean"]), (LIMIT, 1, 1000))
    assert "'ratio'" in said[0]["reason"], said


@test
def sarif_has_no_artifact_of_what_it_leaves_out():
    """a log has 5,000 notes at most: other files with notes are counted"""
    needs_packages()
    count = 5300
    path = write(costly.zip_of(lambda i: "f%d" % i, b"", 1)(count)[0])
    r = cuvet("scan", "--format=sarif", path)
    run = json.loads(r.out)["runs"][0]
    equal((r.rc, len(run["results"]), len(run["artifacts"])), (CLEAN, 5000, 5001))
    assert "%d results are left out" % (count - 5000) in r.err, r.err


@test
def kernels_times_shared_variables_are_paid_for():
    """each kernel has each variable of a function that all call: their number is a product"""
    files, command = made("link: shared", "kernels-over-shared-variables", 256 * KIB)
    for units, rc in ((64, CLEAN), (4, LIMIT)):
        words = command.replace("{out}", write(b"") + ".out").split()[:-1]
        r = cuvet(*words, "--limit", "work=%d" % units, *files)
        assert r.rc == rc and ("CV-LIMIT-014" in r.err) == (rc == LIMIT), (units, r.rc, r.err[-300:])


@test
def paths_of_images_have_a_limit():
    """two long paths in turn: every part of each is looked for; names of one folder are not"""
    needs_packages()
    for names, limit in (([costly.DEEP + "x", "b/" + costly.DEEP[2:] + "x"] * 300, True),
                         ([costly.DEEP + "%d" % i for i in range(600)], False)):
        r = cuvet("scan", "--format=ndjson", write(costly.image([names])[0]))
        said = [v for v in r.objects("verdict") if "more layers and names" in v.get("reason", "")]
        equal((r.rc == LIMIT, len(said)), (limit, int(limit)), "%d names" % len(names))


if __name__ == "__main__":
    main()
