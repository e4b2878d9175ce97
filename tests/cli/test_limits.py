# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--limit, --limits, --list-limits, and what reaching a limit looks like."""
import re
import resource

from lib_cli import CLEAN, CUVET, LIMIT, ROOT, Skip, cuvet, equal, main, read, sample, samples, test, write


def table(*args):
    rows = cuvet("scan", "--list-limits", *args).out.splitlines()
    return {r.split()[0]: int(r.split()[1]) for r in rows}


@test
def the_table():
    with open(ROOT + "/spec/limits.def", encoding="utf-8") as f:
        names = re.findall(r"^LIMIT\((\w+)", f.read(), flags=re.M)
    equal(list(table()), names, "names")
    equal(table()["input"], 16 << 30, "input")
    equal(table("--limits=tiny")["input"], 16 << 20, "tiny")
    assert all(table("--limits=roomy")[n] >= table()[n] >= table("--limits=tiny")[n]
               for n in names), "order of the presets"


@test
def settings():
    equal(table("--limit", "input=5")["input"], 5, "bytes")
    equal(table("--limit", "input=5K")["input"], 5 << 10, "K")
    equal(table("--limit", "input=5M")["input"], 5 << 20, "M")
    equal(table("--limit", "input=5G")["input"], 5 << 30, "G")
    equal(table("--limit", "input=18446744073709551615")["input"], 2**64 - 1, "the largest")
    equal(
        table("--limit", "input=1", "--limit", "input=2", "--limit=ratio=3")["input"], 2,
        "the last one counts")
    got = table("--limit", "ratio=7", "--limits=tiny")
    equal((got["ratio"], got["input"]), (7, 16 << 20), "a preset after a setting keeps it")


@test
def reaching_one():
    for name, setting, rule in (("multi.fatbin", "input=4K", "CV-LIMIT-001"), ("multi.fatbin", "member=64",
                                                                               "CV-LIMIT-002"),
                                ("multi.fatbin", "members=2", "CV-LIMIT-007"), ("gaps.fatbin", "containers=1",
                                                                                "CV-LIMIT-006"),
                                ("multi.fatbin", "total=3000",
                                 "CV-LIMIT-005"), ("plain.sm_90.cubin", "sections=4", "CV-LIMIT-009"),
                                ("plain.sm_90.cubin", "symbols=2", "CV-LIMIT-010")):
        r = cuvet("scan", "--format=ndjson", "--limit", setting, sample(name))
        v = r.objects("verdict")[0]
        equal((r.rc, v["verdict"]), (LIMIT, "limit"), setting)
        assert rule in [o["rule"] for o in r.objects("finding")], (setting, r.out)
        text = cuvet("scan", "--limit", setting, sample(name))
        assert rule in text.out and ": limit" in text.out, text.out


@test
def input_limit_of_standard_input():
    r = cuvet("scan", "--limit", "input=1000", "-", stdin=read("multi.fatbin"))
    equal(r.rc, LIMIT, "exit")
    assert ": limit" in r.out, r.out
    equal(
        cuvet("scan", "--limit", "input=%d" % len(read("multi.fatbin")), "-", stdin=read("multi.fatbin")).rc,
        CLEAN, "exact")


@test
def diagnostics_are_capped_and_counted():
    one = read("default.fatbin")
    bad = bytearray(one)
    bad[16 + 2] ^= 0xFF  # version of the member
    path = write(one + bytes(bad) * 10)
    full = cuvet("scan", "--format=ndjson", path)
    few = cuvet("scan", "--format=ndjson", "--limit", "diagnostics=3", path)
    rules = [o["rule"] for o in full.objects("finding")]
    worst = max(set(rules), key=rules.count)
    equal(rules.count(worst), 10, "all of them")
    equal([o["rule"] for o in few.objects("finding")].count(worst), 3, "the first three")
    v, w = full.objects("verdict")[0], few.objects("verdict")[0]
    equal((w["errors"], w["warnings"], w["notes"]), (v["errors"], v["warnings"], v["notes"]), "counts")
    assert w["suppressed"] >= 7 and v["suppressed"] == 0, (v, w)
    equal(few.rc, full.rc, "exit")


@test
def tiny_is_never_kinder_than_strict():
    for path in samples():
        strict, tiny = cuvet("scan", path), cuvet("scan", "--limits=tiny", path)
        assert tiny.rc in (strict.rc, LIMIT), path


@test
def few_addresses():
    """The heap asks for room before it is needed (cli/heap.c): what it does not get it does without."""
    with open(CUVET, "rb") as f:
        program = f.read()
    if re.search(rb"__(asan|tsan)_init", program):
        raise Skip("a sanitizer needs more addresses than there are memory")
    least = 20 if b"__ubsan_" in program else 16  # its handlers are as long as the program
    path = sample("multi.fatbin")
    want = cuvet("scan", path)
    for mib in (least, 24, 48, 120):
        got = cuvet("scan", path, preexec=lambda n=mib << 20: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
        equal((got.rc, got.out), (want.rc, want.out), "%d MiB" % mib)


main()
