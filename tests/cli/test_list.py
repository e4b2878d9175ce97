# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet list, map and rules."""
import hashlib
import json
import os
import re
import sys

from lib_cli import CLEAN, FINDINGS, LIMIT, ROOT, bad_container, cuvet, equal, main, packed_cubin, sample, samples, scratch, test, write

sys.path.insert(0, os.path.join(ROOT, "tools"))
import rules_table  # noqa: E402


@test
def rows():
    for path in samples():
        members = cuvet("list", "--format=ndjson", path).objects("member")
        r = cuvet("list", path)
        equal((r.rc, r.err), (CLEAN, ""), path)
        lines = [line.split() for line in r.out.splitlines()[2:-1]]
        equal([x[:6] for x in lines], [[
            m["path"] or "file", m["kind"], m["arch"] or "-",
            str(m["stored_size"]),
            str(m["size"]), m["compression"]
        ] for m in members], path)


@test
def list_and_scan_agree():
    for path in samples():
        keys = ("path", "kind", "arch", "compression", "offset", "payload_offset")
        a = cuvet("list", "--format=ndjson", path).objects("member")
        b = cuvet("scan", "--format=ndjson", path).objects("member")
        equal([[m[k] for k in keys] for m in a], [[m[k] for k in keys] for m in b], path)
        for x, y in zip(a, b):
            # Without a look inside, the padding of a piece that is not compressed looks like its content.
            slack = 7 if x["compression"] == "none" else 0
            assert y["size"] <= x["size"] <= y["size"] + slack and x["stored_size"] == y["stored_size"], (x,
                                                                                                          y)


@test
def architectures():
    archs = [
        m["arch"] for m in cuvet("list", "--format=ndjson", sample("multi-lz4.fatbin")).objects("member")
    ]
    assert any(re.fullmatch(r"sm_\d+a", a) for a in archs), archs
    assert any(re.fullmatch(r"compute_\d+[af]?", a) for a in archs), archs
    for name in ("plain.sm_75.cubin", "plain.sm_90a.cubin", "plain.sm_100f.cubin", "plain.sm_121.cubin"):
        m, = cuvet("list", "--format=ndjson", sample(name)).objects("member")
        equal(m["arch"], name.split(".")[1], name)
    m, = cuvet("list", "--format=ndjson", sample("lto.fatbin")).objects("member")
    assert m["arch"].startswith("lto_") and m["compression"] == "opaque", m


@test
def kernels():
    for name, count in (("plain.sm_90.cubin", None), ("nocode.sm_90.cubin", 0), ("multi.fatbin", None)):
        for m in cuvet("list", "--kernels", "--format=ndjson", sample(name)).objects("member"):
            if m["kind"] != "elf":
                assert "kernel_names" not in m, m
                continue
            equal(len(m["kernel_names"]), m["kernels"], "number")
            assert count in (None, m["kernels"]), m
            for k in m["kernel_names"]:
                assert "\n      %s  REG:" % k in cuvet("list", "--kernels", sample(name)).out, k
    names = [
        m["kernel_names"]
        for m in cuvet("list", "--kernels", "--format=ndjson", sample("multi.fatbin")).objects("member")
        if m["kind"] == "elf"
    ]
    assert names and all(names), "no kernels in multi.fatbin"


@test
def hashes():
    """The hash of a piece is that of the bytes that unpack writes."""
    for name in ("multi.fatbin", "lto-lz4.fatbin", "long-names.a", "plain.sm_100.cubin", "none.fatbin"):
        d = scratch()
        cuvet("unpack", "-d", d, sample(name))
        want = []
        for f in sorted(os.listdir(d)):
            with open(os.path.join(d, f), "rb") as data:
                want.append(hashlib.sha256(data.read()).hexdigest())
        members = cuvet("list", "--kernels", "--format=ndjson", sample(name)).objects("member")
        equal([m["sha256"] for m in members if "sha256" in m], want, name)
        equal(re.findall("^      sha256 ([0-9a-f]{64})$", cuvet("list", "--kernels", sample(name)).out, flags=re.M), want,
              "text of " + name)
        assert want and all("sha256" in m for m in members if m["kind"] in ("elf", "ptx")), name
    assert "sha256" not in cuvet("list", "--format=ndjson", sample("multi.fatbin")).out, "nothing is unpacked for a list"


@test
def resources():
    """Figures of nvlink and cuobjdump of CUDA 13; tests/differential/resources.py compares with the dumper where it is."""
    for name, want in (("vars.sm_90.cubin", ("_Z4varsPi", True, 15, 0, 1152, 0, {"0": 536})),
                       ("dynshared.sm_100.cubin", ("_Z9dynsharedPi", True, 12, 0, 1088, 0, {"0": 904})),
                       ("printer.sm_75.cubin", ("_Z7printeri", True, 24, 8, 0, 0, {"0": 356})),
                       ("two_b.sm_75.rdc.cubin", ("_Z5twicei", False, 24, 0, 0, 0, {}))):
        m, = cuvet("list", "--resources", "--format=ndjson", sample(name)).objects("member")
        f, = m["functions"]
        equal(tuple(f[k] for k in ("name", "kernel", "registers", "stack", "shared", "local", "constant")), want, name)
        out = cuvet("list", "--resources", sample(name)).out
        banks = " ".join("[%s]:%d" % b for b in want[6].items()) or "-"
        equal(re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+)  (\S+) +(\S+)$", out, flags=re.M),
              [tuple(str(n) for n in want[2:6]) + (banks, want[0])], name)
        line = "REG:%d STACK:%d SHARED:%d LOCAL:%d" % want[2:6] + "".join(" CONSTANT[%s]:%d" % b for b in want[6].items())
        equal("      %s  %s\n" % (want[0], line) in cuvet("list", "--kernels", sample(name)).out, want[1], line)
    # Who calls himself: nobody knows how much, and that is no 0.
    m, = cuvet("list", "--resources", "--format=ndjson", sample("whole.sm_90.cubin")).objects("member")
    equal([f["stack"] for f in m["functions"]], [None], "a recursion")
    assert re.search(r"^ +24 +unknown +256 +0  \S+ +_Z5wholePi$", cuvet("list", "--resources", sample("whole.sm_90.cubin")).out, flags=re.M)
    assert "_Z5wholePi  REG:24 STACK:UNKNOWN SHARED:256 " in cuvet("list", "--kernels", sample("whole.sm_90.cubin")).out
    assert "      common  GLOBAL:48 CONSTANT[3]:16 CONSTANT[4]:32\n" in cuvet("list", "--resources",
                                                                          sample("vars.sm_90.cubin")).out, "common"


@test
def producers():
    """Who made a piece, in list, NDJSON and, for pieces with findings, SARIF."""
    out = cuvet("list", "--kernels", sample("multi.fatbin")).out
    equal(len(re.findall(r"^      by ptxas 13\.0$", out, flags=re.M)), 7, out)
    for command in (["list", "--kernels"], ["scan"]):
        for m in cuvet(*command, "--format=ndjson", sample("multi.fatbin")).objects("member"):
            want = {"tool": "ptxas", "version": "13.0", "inferred": False} if m["kind"] == "elf" else None
            equal(m.get("producer"), want, m["path"])
    assert "producer" not in cuvet("list", "--format=ndjson", sample("multi.fatbin")).out, "nothing is unpacked for a list"
    path = write(bytes(packed_cubin(48, "I", 0)))
    run, = json.loads(cuvet("scan", "--format=sarif", path).raw)["runs"]
    member, = cuvet("scan", "--format=ndjson", path).objects("member")
    told = [a["properties"]["producer"] for a in run["artifacts"] if "producer" in a.get("properties", {})]
    equal(told, [member["producer"]] if "producer" in member else [], "SARIF")
    assert told, "a piece with findings has a producer"


@test
def resources_of_damaged_files():
    folder = os.path.join(ROOT, "corpus", "hostile")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    for first in range(0, len(paths), 50):
        some = paths[first:first + 50]
        r = cuvet("list", "--resources", "--kernels", "--format=ndjson", *some)
        assert r.rc in (CLEAN, FINDINGS, LIMIT), (some[0], r.rc, r.err)
        equal([o["file"] for o in r.objects("verdict")], some, "a verdict for each")


@test
def list_points_to_scan():
    r = cuvet("list", write(bad_container()))
    equal(r.rc, FINDINGS, "exit")
    assert "cuvet scan" in r.err, r.err


def claims(path):
    r = cuvet("map", "--format=ndjson", path)
    return r, r.objects("claim")


@test
def the_ledger_is_complete():
    for path in samples():
        r, all_claims = claims(path)
        equal(r.rc, CLEAN, path)
        outer = sorted((c["offset"], c["length"]) for c in all_claims
                       if not c["inner"] and not c["shared"] and c["length"] and "section" != c["owner"]
                       and not c["owner"].startswith(("elf", "alignment", "slack", "program")))
        at = 0
        for off, length in outer:
            if at > off:
                raise AssertionError("%s: overlap at 0x%x" % (path, off))
            at = off + length
        assert at <= os.path.getsize(path), path


@test
def inner_ledgers_are_complete():
    path = sample("multi.fatbin")
    sizes = {
        m["path"]: m["size"]
        for m in cuvet("scan", "--format=ndjson", path).objects("member") if m["kind"] == "elf"
    }
    _, all_claims = claims(path)
    for member, size in sizes.items():
        mine = sorted(
            (c["offset"], c["length"]) for c in all_claims
            if c["inner"] and not c["shared"] and (c["path"] + "/").startswith(member + "/") and c["length"])
        at = 0
        for off, length in mine:
            equal(off, at, "%s: gap or overlap" % member)
            at = off + length
        equal(at, size, "end of " + member)


@test
def map_text_and_ndjson_agree():
    for name in ("multi.fatbin", "host-plain.so", "long-names.a", "plain.sm_90.cubin"):
        _, all_claims = claims(sample(name))
        lines = cuvet("map", sample(name)).out.splitlines()[1:]
        got = [re.match(r" *(~?)0x([0-9a-f]+) +(\d+)  (.*)$", line).groups() for line in lines]
        equal([(g[0] == "~", int(g[1], 16), int(g[2])) for g in got],
              [(c["inner"], c["offset"], c["length"]) for c in all_claims], name)
        for g, c in zip(got, all_claims):
            assert g[3].startswith(c["owner"]) and g[3].endswith("shared") == c["shared"], (g, c)


@test
def rules():
    table = cuvet("rules").out.splitlines()
    objects = cuvet("rules", "--format=ndjson").objects("rule")
    equal([line.split()[0] for line in table], [o["rule"] for o in objects], "rows")
    equal([o["rule"] for o in objects], [r["id"] for r in rules_table.rules()], "spec/rules.def")
    for o in objects[:3] + objects[-3:]:
        page = cuvet("rules", o["rule"].lower()).out
        assert page.startswith(o["rule"]) and o["why"] in page and o["message"] in page, page
    equal(cuvet("rules", "CV-LIMIT-001", "CV-LIMIT-002").out.count("severity"), 2, "two pages")


main()
