# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three formats: each is valid, and all of them tell the same."""
import hashlib
import io
import json
import os
import re
import sys
import urllib.parse
import zipfile

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, ROOT, Skip, bad_container, cuvet, damaged_member, edited, equal,
                     main, packed_cubin, read, sample, samples, scratch, test, write)

SCHEMA = os.path.join(ROOT, "..", "shared", "data", "sarif-schema-2.1.0.json")
MEMBER = {"schema", "type", "file", "path", "kind", "arch", "stored_size", "size", "compression"}
FULL = bool(os.environ.get("CV_FULL"))  # else a share of the files
FINDING = {"schema", "type", "file", "rule", "severity", "path", "offset", "length", "got", "want", "message"}
VERDICT = {
    "schema", "type", "file", "verdict", "members", "findings", "containers", "notes", "warnings", "errors",
    "sandbox", "exit"
}


def inputs():
    """Good and bad files of every kind."""
    return samples() + [
        write(bad_container(), "container.bin"),
        write(damaged_member(), "member.bin"),
        write(edited("plain.sm_90.cubin", 40, "Q", 1 << 40), "elf.bin"),
        write(b"", "empty.bin"),
        write(edited("none.fatbin", 16 + 64 + 40, "Q", 1 << 40), "raw.bin"),
        write(packed_cubin(48, "I", 0), "packed.bin"),
        write(packed_cubin(40, "Q", 1 << 40), "packed-tables.bin"),
        write(edited("multi.fatbin", 16 + 0x1C, "I", 77), "arch.bin"), "no such file"
    ]


def text_findings(out):
    """(severity, rule, path, offset, inner offset) of each finding of the text form, and the verdicts."""
    found = [(
        m[0], m[1], "" if m[2] == "file" else m[2], int(m[3], 16), int(m[4], 16) if m[4] else None
    ) for m in re.findall(
        r"^  (note|warning|error) +(CV-[A-Z]+-\d{3})  (\S+)  at (0x[0-9a-f]+)(?:, unpacked (0x[0-9a-f]+))?$",
        out,
        flags=re.M)]
    verdicts = re.findall(r"^\S.*: (clean|unsupported|suspicious|malformed|limit|error)[;:]", out, flags=re.M)
    return found, verdicts


def number(v):
    return int(v, 16) if isinstance(v, str) else v


@test
def members_of_the_objects():
    for path in inputs():
        r = cuvet("scan", "--format=ndjson", path)
        for o in r.objects():
            want = {"member": MEMBER, "finding": FINDING, "verdict": VERDICT}[o["type"]]
            assert want <= set(o), "%s lacks %s" % (o, want - set(o))
            equal(o["file"], path, "file")
        last = r.objects()[-1]
        equal(last["type"], "verdict", "last line of " + path)
        equal(last["findings"], sum(o["severity"] != "note" for o in r.objects("finding")),
              "findings of " + path)
        equal(last["members"], sum(o["in_container"] for o in r.objects("member")), "members of " + path)
        equal(last["exit"], r.rc, "exit of " + path)
        told = len(r.objects("finding"))
        equal(last["suppressed"], last["notes"] + last["warnings"] + last["errors"] - told, "untold of " + path)
        size = os.path.getsize(path) if os.path.exists(path) else 0
        for o in r.objects("finding"):
            assert 0 <= number(o["offset"]) <= size, "offset outside of %s: %s" % (path, o)
        assert (r.rc != CLEAN) == (last["findings"] > 0 or last["verdict"] in ("limit", "error")), last


@test
def the_manual_names_all_members():
    """Who reads NDJSON has cuvet-ndjson(5): no record has a type or a member that it does not name."""
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    from gen_man import NDJSON
    told = {(c, t): members for c, rows in NDJSON.items() for types, members in rows for t in types.split(", ")}

    def words(command, kind):
        text = told.get((command, kind), "")
        as_of = re.match(r"as of (\w+)", text)
        return set(re.findall(r"\w+", text)) | (words(as_of[1], kind) if as_of else set())

    many = inputs() + [os.path.join(ROOT, "corpus", "hostile", f) for f in sorted(os.listdir(os.path.join(ROOT, "corpus", "hostile")))[::9 if FULL else 27]]
    many.append(os.path.join(ROOT, "corpus", "hostile", "CV-ELF-036.cubin"))  # whose dump says damage, whatever the sample has
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as z:
        z.writestr("multi.fatbin", read("multi.fatbin"))
    whole = write(package.getvalue(), "x.whl")
    if not os.path.exists(os.path.join(os.path.dirname(CUVET), "cuvet-package")):  # was not built
        told = {row: members for row, members in told.items() if row[1] != "package"}
    known = os.path.join(scratch(), "known.db")
    equal(cuvet("known", "add", known, many[0], whole).rc, CLEAN)
    runs = {
        "scan": [["scan", *many, whole], ["scan", "--known", known, *many]],
        "known": [["known", "lookup", "--kernels", known, *many]],
        "list": [["list", "--kernels", "--resources", "--demangle", *many, whole]],
        "dump": [["dump", p] for p in many] + [["dump", "--data", p] for p in samples()[::1 if FULL else 4]],
        "map": [["map", p] for p in many],
        "select": [["select", "--arch=sm_90", p] for p in many],
        "finalize": [["finalize", "--explain", "--arch=sm_103", p] for p in many],
    }
    for command, calls in runs.items():
        seen = {}
        for call in calls:
            for o in cuvet(call[0], "--format=ndjson", *call[1:]).objects():
                seen.setdefault(o["type"], set()).update(o)
        unknown = {t: sorted(members - {"schema", "type", "file", "path"} - words(command, t)) for t, members in seen.items()}
        equal({t: m for t, m in unknown.items() if m}, {}, "what cuvet-ndjson(5) does not name, of " + command)
        equal({t for c, t in told if c == command and t not in seen}, set(), "types that no file here has, of " + command)


@test
def the_formats_agree():
    seen = set()
    for path in inputs():
        ndjson = cuvet("scan", "--format=ndjson", path)
        sarif = cuvet("scan", "--format=sarif", path)
        text = cuvet("scan", "--notes", "--all", path)
        equal((sarif.rc, text.rc), (ndjson.rc, ndjson.rc), "exit codes of " + path)
        rows = [(o["severity"], o["rule"], o["path"], number(o["offset"]),
                 number(o["inner_offset"]) if "inner_offset" in o else None)
                for o in ndjson.objects("finding")]
        found, verdicts = text_findings(text.out)
        equal(found, rows, "text and ndjson of " + path)
        equal(verdicts, [ndjson.objects("verdict")[0]["verdict"]], "verdict of " + path)
        run, = json.loads(sarif.raw)["runs"]
        compare_places(run, ndjson.objects("finding"), path)
        equal(run["artifacts"][0]["properties"]["verdict"], verdicts[0], "verdict in sarif")
        equal(run["invocations"][0]["exitCode"], sarif.rc, "exit code in sarif")
        seen |= {x[0] for x in rows}
    equal(seen, {"note", "error"} | (seen & {"warning"}), "severities that were compared")


WORSE = {"note": 0, "warning": 1, "error": 2}


def compare_places(run, found, path):
    """A result of SARIF is all findings of one rule in one file: the worst of them first."""
    rules = list(dict.fromkeys(o["rule"] for o in found))
    equal([r["ruleId"] for r in run["results"]], rules, "rules of " + path)
    for result in run["results"]:
        mine = [o for o in found if o["rule"] == result["ruleId"]]
        equal((result["occurrenceCount"], result["level"]), (len(mine), max((o["severity"] for o in mine), key=WORSE.get)), path)
        places = [(p["properties"]["path"], number(p["properties"]["fileOffset"]), number(p["properties"].get("unpackedOffset", -1)),
                   p["properties"]["got"], p["properties"]["want"], p["message"]["text"]) for p in result["relatedLocations"]]
        want = [(o["path"], number(o["offset"]), number(o.get("inner_offset", -1)), o["got"], o["want"], o["message"]) for o in mine]
        equal(sorted(map(str, places)), sorted(map(str, want[:100])), "places of %s in %s" % (result["ruleId"], path))
        assert result["message"]["text"].startswith(places[0][5] + " ("), result["message"]


@test
def notes_are_hidden_but_counted():
    r = cuvet("scan", sample("lto.fatbin"))
    equal(text_findings(r.out)[0], [], "findings")
    assert re.search(r"\d+ notes?\b", r.out), r.out


@test
def several_files_in_one_sarif_log():
    paths = [sample("default.fatbin"), write(bad_container()), sample("lto.fatbin"), "no such file"]
    r = cuvet("scan", "--format=sarif", *paths)
    equal(r.rc, IO, "exit")
    run, = json.loads(r.raw)["runs"]
    tops = [a for a in run["artifacts"] if "parentIndex" not in a]
    equal([urllib.parse.unquote(a["location"]["uri"]) for a in tops],
          [p if not p.startswith("/") else "file://" + p if not p.startswith(os.getcwd() + "/") else p[len(os.getcwd()) + 1:]
           for p in paths], "artifacts")
    for a, p in zip(tops, paths[:3]):
        equal(a["hashes"]["sha-256"], hashlib.sha256(open(p, "rb").read()).hexdigest(), "hash of " + p)
        equal(a["length"], os.path.getsize(p), "length")
    equal(len(run["invocations"][0]["toolExecutionNotifications"]), 1, "notifications")
    equal(run["invocations"][0]["executionSuccessful"], False, "success")


@test
def sarif_is_consistent():
    sandbox = cuvet("--version").out.splitlines()[-1].split(": ", 1)[1]
    for path in inputs():
        run, = json.loads(cuvet("scan", "--format=sarif", path).raw)["runs"]
        rules, artifacts = run["tool"]["driver"]["rules"], run["artifacts"]
        props = run["invocations"][0]["properties"]
        equal((props["sandbox"], props["limits"]["nesting"]), (sandbox, 4), "properties")
        for i, a in enumerate(artifacts):
            assert a.get("parentIndex", -1) < i, "parent after child"
        prints = set()
        for r in run["results"]:
            equal(rules[r["ruleIndex"]]["id"], r["ruleId"], "rule index")
            for place in r["locations"] + r["relatedLocations"]:
                where = place["physicalLocation"]
                equal(where["region"]["startLine"], 1, "a line, which viewers ask for")
                equal(where["artifactLocation"]["uri"],
                      artifacts[where["artifactLocation"]["index"]]["location"]["uri"], "index")
            prints.add(r["partialFingerprints"]["ruleFile/v1"])
        equal(len(prints), len(run["results"]), "one fingerprint for two results")


@test
def findings_in_packed_content():
    path = write(packed_cubin(48, "I", 0), "packed.bin")
    inner = [o for o in cuvet("scan", "--format=ndjson", path).objects("finding") if "inner_offset" in o]
    assert inner, "no finding with an inner offset"
    run, = json.loads(cuvet("scan", "--format=sarif", path).raw)["runs"]
    places = [p for r in run["results"] for p in r["relatedLocations"] if "unpackedOffset" in p["properties"]]
    equal(len(places), len(inner), "places")
    for o in inner:
        place, = [p for p in places if p["message"]["text"] == o["message"] and p["properties"]["unpackedOffset"] == o["inner_offset"]]
        a = run["artifacts"][place["properties"]["artifact"]]
        assert a["parentIndex"] > 0 and "offset" not in a and a["length"] > o["inner_offset"], a
        region = place["physicalLocation"]["region"]
        equal((place["physicalLocation"]["artifactLocation"]["index"], region["byteOffset"]), (0, o["offset"]), "place in file")
    assert ", unpacked 0x%x" % inner[0]["inner_offset"] in cuvet("scan", path).out, "text"


@test
def nested_artifacts():
    path = write(damaged_member(), "nested.bin")
    run, = json.loads(cuvet("scan", "--format=sarif", path).raw)["runs"]
    by_name = {urllib.parse.unquote(a["location"]["uri"]): (i, a) for i, a in enumerate(run["artifacts"])}
    i, container = by_name["/fatbin[0]"]
    _, entry = by_name["/fatbin[0]/entry[1]"]
    equal((container["parentIndex"], container["offset"]), (0, 0), "container")
    member, = [
        m for m in cuvet("scan", "--format=ndjson", path).objects("member")
        if m["path"] == "fatbin[0]/entry[1]"
    ]
    equal(entry["parentIndex"], i, "parent of the member")
    equal(entry["offset"], member["offset"] - member["container_offset"], "offset of the member")
    equal(entry["length"], member["payload_offset"] - member["offset"] + member["stored_size"],
          "length of the member")


@test
def sarif_schema():
    if not os.path.exists(SCHEMA):
        raise Skip("the published SARIF schema is not there")
    try:
        import jsonschema
    except ImportError as e:
        raise Skip("python3-jsonschema is not installed") from e
    with open(SCHEMA, encoding="utf-8") as f:
        validator = jsonschema.Draft4Validator(json.load(f))
    for args in [[p] for p in inputs()] + [inputs()]:
        log = json.loads(cuvet("scan", "--format=sarif", *args).raw)
        problems = ["%s: %s" % (list(e.path), e.message[:200]) for e in validator.iter_errors(log)]
        equal(problems, [], "schema, for %s" % args[:2])


@test
def findings_exit_one_in_every_format():
    path = write(bad_container())
    for form in ("text", "ndjson", "sarif"):
        equal(cuvet("scan", "--format", form, path).rc, FINDINGS, form)


@test
def a_library_that_cannot_be_loaded():
    """jansson and nettle come when a report needs them: without them that report fails, and nothing else does."""
    path = write(bad_container())
    for so, forms in (("libjansson.so.4", ("ndjson", "sarif")), ("libnettle.so.8", ("sarif",))):
        env = {"LD_LIBRARY_PATH": os.path.dirname(write(b"no library", so, scratch()))}
        for form in ("text", "ndjson", "sarif"):
            r = cuvet("scan", "--format", form, path, env=env)
            equal(r.rc, IO if form in forms else FINDINGS, form)
            equal((so in r.err, r.out == ""), (form in forms, form in forms), form + " " + r.err)
        equal(cuvet("rules", "--format=ndjson", env=env).rc, IO if "ndjson" in forms else CLEAN, "rules")


main()
