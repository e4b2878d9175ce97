# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet check --policy: each key asks for something, a wrong one ends the run, and what is suppressed is no more than what was meant."""
import datetime
import gzip
import io
import json
import os
import subprocess
import sys
import time
import xml.dom.minidom
import zipfile

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, ROOT, Skip, USAGE, bad_container, cuvet, equal, main, read, sample, scratch, test, write

THIN = os.path.join(ROOT, "corpus", "archive", "seed", "thin")
MULTI, HOST, SCHEMA = sample("multi.fatbin"), sample("host-plain.so"), os.path.join(ROOT, "docs", "policy.schema.json")


def policy(**keys):
    return write(json.dumps(dict({"schema": "cuvet-policy/1"}, **keys)).encode(), "policy.json")


def check(path, *files, more=()):
    r = cuvet("check", "--format=ndjson", "--policy", path, *more, *files)
    return r, r.objects("check")


def problems(path, file=MULTI, more=()):
    r, found = check(path, file, more=more)
    (o,) = found
    equal((o["ok"], r.rc != CLEAN), (not o["problems"], bool(o["problems"])), r.err)
    return [(p["rule"], p["text"]) for p in o["problems"]]


def reads_toml():
    return os.path.exists("/usr/bin/python3") and subprocess.run(["/usr/bin/python3", "-c", "import tomllib"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@test
def each_key_asks():
    debug, lines = sample("plain.sm_90.g.cubin"), sample("plain.sm_90.lineinfo.cubin")
    text = b".version 8.0\n.target sm_90\n.address_size 64\n\t.file 1 \"a.cu\"\n.section .debug_info { }\n"
    for keys, file, wrong in (
            (dict(require={"architectures": ["sm_80", "sm_86", "compute_121"]}), MULTI, [("architecture", "sm_86"), ("architecture", "compute_121")]),
            (dict(require={"architectures": ["sm_80", "compute_90"]}), MULTI, []),
            (dict(require={"kernels": ["_Z5plain*", "nothing?", "*"]}), MULTI, [("kernel-missing", "nothing?")]),
            (dict(require={"kernels": ["*"]}), sample("plain.ptx"), []), (dict(forbid={"kernels": ["*"]}), sample("plain.ptx"), [("kernel-forbidden", "_Z5plainPi")]),
            (dict(forbid={"kinds": ["ptx", "bitcode"]}), MULTI, [("kind", "ptx")]),
            (dict(forbid={"kernels": ["*Pi", "x"]}), MULTI, [("kernel-forbidden", "_Z5plainPi")]),
            (dict(forbid={"debug": True}), debug, [("debug", "debug information")]), (dict(forbid={"debug": True}), lines, []), (dict(forbid={"debug": False}), debug, []),
            (dict(forbid={"sources": True}), lines, [("sources", "line information")]), (dict(forbid={"sources": True}), sample("plain.sm_90.cubin"), []),
            (dict(forbid={"sources": True, "debug": True}), write(text), [("sources", "line information"), ("debug", "debug information")]),
            (dict(forbid={"sources": True, "debug": True}), sample("plain.ptx"), []),
            (dict(allow={"producers": ["ptxas 12.*"]}), MULTI, [("producer", "ptxas 13.0")]), (dict(allow={"producers": ["nvlink*", "ptxas 13.?"]}), MULTI, []),
            (dict(allow={"compression": ["lz4", "none"]}), MULTI, [("compression", "zstd")]), (dict(allow={"compression": ["zstd"]}), MULTI, []),
            (dict(allow={"compression": ["zstd"]}), sample("plain.sm_90.cubin"), []),
            (dict(size={"total": 7611, "sm_90": "1K"}), MULTI, []),
            (dict(size={"total": 7610, "sm_90": 943, "sm_35": 1}), MULTI, [("size", "7611 bytes of 7610"), ("size", "sm_90: 944 bytes of 943")]),
            (dict(findings={"unsupported": True}), THIN, [("verdict", "unsupported")]), (dict(findings={"unsupported": False}), THIN, []),
            ({}, MULTI, [])):
        equal(problems(policy(**keys), file), wrong, keys)


@test
def what_cannot_be_looked_into_does_not_pass():
    unread = lambda found: [text for rule, text in found if rule == "unread"]
    for keys in ({"kernels": ["x"]}, {"debug": True}, {"sources": True}):
        equal(unread(problems(policy(forbid=keys), sample("lto.fatbin"))), ["lto-ir"], keys)
    equal(problems(policy(forbid={"kinds": ["ptx"]}), sample("lto.fatbin")), [])
    # Packed, and not opened
    for data in (gzip.compress(read("multi.fatbin"))[:40], b"PK\3\4" + bytes(40), b"BZh91AY&SY" + bytes(30)):
        r, (o,) = check(policy(forbid={"kinds": ["ptx"]}), write(data))
        equal((r.rc, [p["rule"] for p in o["problems"]]), (FINDINGS, ["unread"]), data[:4])
        equal(check(policy(suppress=[{"rule": "CV-FILE-002", "reason": "a test of somebody"}]), write(data))[0].rc, CLEAN, data[:4])
    # However the words are written
    head = "//\n.version 8.0\n.target sm_90\n.address_size 64\n"
    for text in ("/**/.file 1 \"a.cu\"\n", ".visible .func f() { .loc 1 2 3\nret; }\n", "\r.file 1 \"a.cu\"\r", "@@DWARF .byte 1\n", "/**/ .section .debug_str { }\n"):
        assert problems(policy(forbid={"sources": True, "debug": True}), write((head + text).encode())), text
    for text, fit in ((".entry a() { ret; }\n", True), (".entry\na() { ret; }\n", False), ("/* x */ .visible .entry\ta ( )\n  {\nret;\n  }\n", True)):
        found = problems(policy(forbid={"kernels": ["a"]}), write((head + text).encode()))
        assert [r for r, _ in found] == (["kernel-forbidden"] if fit else ["unread"]), (text, found)


@test
def much_that_is_wrong():
    text = "\n".join([".version 8.0", ".target sm_90", ".address_size 64"] + [".visible .entry k%d()\n{\nret;\n}" % i for i in range(20000)])
    begun = time.monotonic()
    r, (o,) = check(policy(forbid={"kernels": ["*"]}), write(text.encode()))
    equal((r.rc, len(o["problems"]), o["problems"][-1]["text"]), (FINDINGS, 1001, "more is wrong than is told"))
    assert time.monotonic() - begun < 30


@test
def of_a_package_as_a_whole():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in (("a", read("multi.fatbin")), ("b/c", read("host-plain.so")), ("d", b"text")):
            z.writestr(name, data)
    path = write(out.getvalue(), "x.whl")
    if not cuvet("scan", "--format=ndjson", path).objects("package"):
        raise Skip("this build opens no packages")
    asked = policy(forbid={"kinds": ["ptx"]}, require={"kernels": ["_Z5plainPi"]})
    r, (o,) = check(asked, path)
    equal([(p["rule"], p["text"], p["where"], p["count"]) for p in o["problems"]], [("kind", "ptx", "a!/fatbin[0]/entry[7]", 2)])
    equal([o["file"] for o in check(asked, path, more=["--each"])[1]], [path + "!/a", path + "!/b/c"])


@test
def toml():
    if not reads_toml():
        raise Skip("/usr/bin/python3 has no tomllib")
    path = write(b'schema = "cuvet-policy/1"\n[require]\narchitectures = ["sm_86"]\n[size]\ntotal = "1K"\n[[suppress]]\nrule = "CV-FATBIN-014"\nreason = "x"\nuntil = 2999-01-01\n', "p.toml")
    equal(problems(path), [("architecture", "sm_86"), ("size", "7611 bytes of 1024")])
    # The one of the documents.
    text = open(os.path.join(ROOT, "docs", "policy.md"), encoding="utf-8").read().split("```toml\n")[1].split("```")[0]
    r, (o,) = check(write(text.encode(), "d.toml"), MULTI)
    equal(sorted({p["rule"] for p in o["problems"]}), ["kernel-missing"], r.err)
    for bad in (b".".join([b"a"] * 20000) + b" = 1\n", b"schema = ", b"[require\n", b"a = 1\na = 2\n", b"a = [" * 5000, b"x = inf\n", b"\xff\xfe", b"'''", b"schema = 'cuvet-policy/1'\nsuppress = 2027-01-01\n"):
        r, found = check(write(bad, "b.toml"), MULTI)
        equal((r.rc, found, "Traceback" in r.err), (USAGE, [], False), bad[:20])
        assert "b.toml" in r.err, r.err


@test
def a_wrong_policy_ends_the_run():
    good, known = {"schema": "cuvet-policy/1"}, {"rule": "CV-FATBIN-014", "reason": "x"}
    for wrong in ({}, {"schema": "cuvet-policy/2"}, {"schema": 1}, dict(good, requires={}), dict(good, require=[]), dict(good, require={"architecture": ["sm_80"]}),
                  dict(good, require={"architectures": []}), dict(good, require={"architectures": "sm_80"}), dict(good, require={"architectures": ["sm_80", "sm_x"]}),
                  dict(good, require={"architectures": [80]}), dict(good, require={"kernels": [""]}), dict(good, require={"kernels": [1]}), dict(good, forbid={"kinds": ["elf"]}),
                  dict(good, forbid={"debug": 1}), dict(good, forbid={"sources": "true"}), dict(good, allow={"producers": []}), dict(good, allow={"compression": ["gzip"]}),
                  dict(good, size={"total": 0}), dict(good, size={"total": -1}), dict(good, size={"total": "1T"}), dict(good, size={"all": 1}), dict(good, size=1),
                  dict(good, findings={"unsupported": 0}), dict(good, suppress={}), dict(good, suppress=[1]), dict(good, suppress=[{"rule": "CV-FATBIN-014"}]),
                  dict(good, suppress=[{"reason": "x"}]), dict(good, suppress=[dict(known, rule="CV-NONE-001")]), dict(good, suppress=[dict(known, reason="")]),
                  dict(good, suppress=[dict(known, until="soon")]), dict(good, suppress=[dict(known, files="y")]), dict(good, suppress=[dict(known, file=1)])):
        r, found = check(write(json.dumps(wrong).encode(), "w.json"), MULTI)
        equal((r.rc, found), (USAGE, []), wrong)
        assert "w.json" in r.err, (wrong, r.err)
    for text in (b"{", b'{"schema":"cuvet-policy/1","schema":"cuvet-policy/1"}', b'{"schema":"cuvet-policy/1"} x', b"{" * 100000, b'{"a":' * 100000, b'{"schema":"cuvet-policy/1"}\0'):
        equal(check(write(text, "w.json"), MULTI)[0].rc, USAGE, text[:30])
    d = scratch()
    equal([check(p, MULTI)[0].rc for p in (os.path.join(d, "none"), d, write(b"{" + b" " * (1 << 20), "large", d))], [IO, IO, LIMIT])
    assert "architectures" in check(policy(require={"architecture": ["sm_80"]}), MULTI)[0].err
    assert "\u202e" not in check(write('{"a": \u202e}'.encode(), "w.json"), MULTI)[0].err
    equal([cuvet("check", "--policy", policy(), *more).rc for more in ([], ["-r", scratch()])], [USAGE, FINDINGS])  # nothing was checked


@test
def the_schema_says_the_same():
    schema = json.load(open(SCHEMA, encoding="utf-8"))
    value = {"array": ["ptx"], "boolean": True, "string": "x", "object": {}}
    for table, about in schema["properties"].items():
        for key, what in about.get("properties", {}).items():
            fit = {"architectures": ["sm_80"], "compression": ["zstd"], "total": "1G"}.get(key, value.get(what.get("type")))
            r, _ = check(policy(**{table: {key: fit}}), MULTI)
            assert r.rc in (CLEAN, FINDINGS), (table, key, r.err)
            equal(check(policy(**{table: {key + "s": fit}}), MULTI)[0].rc, USAGE, (table, key))
    item = schema["properties"]["suppress"]["items"]["properties"]
    good = {"rule": "CV-FATBIN-014", "reason": "x", "file": "*", "path": "*", "fingerprint": "0" * 64, "until": "2999-01-01"}
    equal(set(item), set(good))
    equal(check(policy(suppress=[good]), MULTI)[0].rc, CLEAN)


def finding():
    """(file, rule, path, fingerprint) of a damaged file"""
    path = write(bad_container() + read("multi.fatbin"), "damaged")
    rows = [o for o in cuvet("scan", "--format=ndjson", path).objects("finding") if o["severity"] != "note"]
    (run,) = json.loads(cuvet("scan", "--format=sarif", path).out)["runs"]
    prints = {r["ruleId"]: r["relatedLocations"][0]["properties"]["fingerprint"] for r in run["results"]}
    equal(len({o["rule"] for o in rows}), 1, rows)
    return path, rows[0]["rule"], rows[0]["path"], prints[rows[0]["rule"]]


@test
def what_is_suppressed():
    path, rule, place, fingerprint = finding()
    today = datetime.datetime.now(datetime.timezone.utc).date()
    days = [str(today + datetime.timedelta(days=n)) for n in (-1, 1)]
    for more, good, said in (({}, True, ""), ({"file": "*/damaged"}, True, ""), ({"file": "*/other"}, False, "nothing is a finding"), ({"path": place.replace("[", "[[]")}, True, ""),
                             ({"path": "elf"}, False, "nothing is a finding"), ({"fingerprint": fingerprint}, True, ""), ({"fingerprint": "0" * 64}, False, "nothing is a finding"),
                             ({"until": days[0]}, False, "its day is over"), ({"until": days[1]}, True, "")):
        asked = policy(suppress=[dict({"rule": rule, "reason": "known"}, **more)])
        r, (o,) = check(asked, path)
        equal((o["ok"], o["verdict"], r.rc, said in r.err), (good, "clean" if good else "malformed", CLEAN if good else FINDINGS, True), (more, r.err))
    # Another rule stays, and so does a finding that is only counted, and a limit.
    equal(check(policy(suppress=[{"rule": "CV-FATBIN-001", "reason": "x"}]), path)[0].rc, FINDINGS)
    equal(cuvet("check", "--policy", policy(), "--policy", policy(), MULTI).rc, USAGE)
    asked = policy(suppress=[{"rule": rule, "reason": "known"}])
    equal(check(asked, path, more=["--limit=diagnostics=0"])[0].rc, FINDINGS)
    equal(check(asked, path, more=["--limit=members=2"])[0].rc, LIMIT)


@test
def baseline():
    path, _, _, _ = finding()
    before = write(cuvet("scan", "--format=ndjson", path, MULTI).raw, "before.ndjson")
    equal(cuvet("check", "--require=sm_90", path).rc, FINDINGS)
    r = cuvet("check", "--require=sm_90", "--baseline", before, "--format=ndjson", path)
    equal((r.rc, r.objects("check")[0]["verdict"]), (CLEAN, "clean"), r.err)
    other = write(open(path, "rb").read(), "another")
    equal(cuvet("check", "--require=sm_90", "--baseline", before, other).rc, FINDINGS)
    clean = write(cuvet("scan", "--format=ndjson", MULTI).raw, "clean.ndjson")
    equal(cuvet("check", "--require=sm_90", "--baseline", clean, path).rc, FINDINGS)
    for bad in (b"x\n", b"{}\n", b"[]", b'{"schema":"cuvet/2","type":"finding"}\n', b"\0"):
        equal(cuvet("check", "--require=sm_90", "--baseline", write(bad, "bad"), MULTI).rc, USAGE, bad)
    equal(cuvet("check", "--require=sm_90", "--baseline", write(b"", "empty"), path).rc, FINDINGS)
    equal(cuvet("check", "--require=sm_90", "--baseline", os.path.join(scratch(), "none"), MULTI).rc, IO)


@test
def for_ci_services():
    strange = write(read("multi.fatbin"), 'a<&">\x1b.fatbin')
    asked = policy(require={"architectures": ["sm_86", "sm_87"]}, forbid={"kinds": ["ptx"]})
    r = cuvet("check", "--policy", asked, "--format=junit", MULTI, strange, HOST)
    suite = xml.dom.minidom.parseString(r.raw).getElementsByTagName("testsuite")[0]
    cases = suite.getElementsByTagName("testcase")
    equal((r.rc, suite.getAttribute("tests"), suite.getAttribute("failures"), len(cases), len(suite.getElementsByTagName("failure"))), (FINDINGS, "3", "3", 3, 3))
    assert cases[1].getAttribute("name").endswith('a<&">\\x1b.fatbin'), cases[1].getAttribute("name")
    assert "sm_86" in cases[0].getElementsByTagName("failure")[0].firstChild.data
    r = cuvet("check", "--require=sm_80", "--format=junit", MULTI, os.path.join(scratch(), "none"))
    suite = xml.dom.minidom.parseString(r.raw).getElementsByTagName("testsuite")[0]
    equal((r.rc, suite.getAttribute("errors"), len(suite.getElementsByTagName("error"))), (IO, "1", 1))
    nothing = cuvet("check", "--require=sm_80", "--format=junit", "-r", scratch())
    equal((nothing.rc, xml.dom.minidom.parseString(nothing.raw).getElementsByTagName("testsuite")[0].getAttribute("errors")), (FINDINGS, "1"))
    nothing = cuvet("check", "--require=sm_80", "--format=sarif", "-r", scratch())
    equal(json.loads(nothing.out)["runs"][0]["invocations"][0]["executionSuccessful"], False)
    r = cuvet("check", "--policy", asked, "--format=sarif", MULTI, strange)
    (run,) = json.loads(r.out)["runs"]
    equal([(x["ruleId"], x["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].rsplit("/", 1)[1]) for x in run["results"]],
          [("policy/architecture", "multi.fatbin"), ("policy/kind", "multi.fatbin")] + [("policy/" + x, "a%3C%26%22%3E%1B.fatbin") for x in ("architecture", "kind")])
    assert "sm_86; sm_87" in run["results"][0]["message"]["text"]
    equal((len({x["partialFingerprints"]["ruleFile/v1"] for x in run["results"]}), r.rc, run["invocations"][0]["exitCode"]), (4, FINDINGS, FINDINGS))
    equal({x["ruleId"] for x in run["results"]} <= {x["id"] for x in run["tool"]["driver"]["rules"]}, True)
    equal(json.loads(cuvet("check", "--require=sm_75", "--format=sarif", MULTI).out)["runs"][0]["results"], [])


if __name__ == "__main__":
    sys.exit(main())
