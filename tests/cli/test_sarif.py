# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SARIF as viewers and code scanning take it: files of the sources, one result for each rule and file, limits, identity."""
import json
import os
import struct
import sys

from lib_cli import (FINDINGS, ROOT, Skip, bad_container, cuvet, damaged_member, equal, main, needs_packages, package, read, sample,
                     scratch, test, write)

HOSTILE = os.path.join(ROOT, "corpus", "hostile")
# GitHub's documentation of SARIF uploads: what is above is refused or left out.
MOST = {"results": 25000, "rules": 25000, "locations": 1000, "tags": 20}


def scanned(*args, cwd=None, what=("scan",)):
    r = cuvet(*what, "--format=sarif", *args, cwd=cwd)
    (run,) = json.loads(r.raw)["runs"]
    return run


def place(result):
    return result["locations"][0]["physicalLocation"]


def check_run(run):
    """What GitHub documents that it needs, and what it does not take."""
    results, rules = run["results"], run["tool"]["driver"]["rules"]
    assert len(results) <= MOST["results"] and len(rules) <= MOST["rules"]
    equal(len({r["id"] for r in rules}), len(rules), "a rule twice")
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"], rule
        assert "\\x" not in rule["help"]["markdown"] and len(rule["properties"]["tags"]) <= MOST["tags"], rule
        score = rule["properties"].get("security-severity")
        equal("security" in rule["properties"]["tags"], score is not None, "a score is for rules of security: " + rule["id"])
        assert score is None or 0 < float(score) <= 10, rule
    seen = set()
    for result in results:
        equal(rules[result["ruleIndex"]]["id"], result["ruleId"], "index")
        assert len(result["locations"]) == 1 and len(result.get("relatedLocations", ())) <= MOST["locations"], result
        for where in result["locations"] + result.get("relatedLocations", []):
            at = where["physicalLocation"]
            equal(at["region"]["startLine"], 1, "line")
            uri = at["artifactLocation"]["uri"]
            equal(at["artifactLocation"].get("uriBaseId"), None if uri.startswith("file:///") else "%SRCROOT%", uri)
            assert not uri.startswith("/") and ".." not in uri.split("/") and "%21/" not in uri, uri
        prints = result["partialFingerprints"]
        assert prints["primaryLocationLineHash"] == prints["ruleFile/v1"][:16] + ":1", prints
        assert (result["ruleId"], prints["ruleFile/v1"]) not in seen, "two results of one rule and file"
        seen.add((result["ruleId"], prints["ruleFile/v1"]))
    assert "%SRCROOT%" in run["originalUriBaseIds"]


@test
def every_hostile_file():
    run = scanned("-r", ".", cwd=HOSTILE)
    check_run(run)
    assert len({r["ruleId"] for r in run["results"]}) > 150, "rules"
    assert all(os.path.exists(os.path.join(HOSTILE, place(r)["artifactLocation"]["uri"])) for r in run["results"] if "%" not in str(place(r)))
    by_rule = {r["id"]: r for r in run["tool"]["driver"]["rules"]}
    for rule in (json.loads(line) for line in cuvet("rules", "--format=ndjson").raw.splitlines()):
        if rule["rule"] in by_rule:
            score = by_rule[rule["rule"]]["properties"].get("security-severity")
            want = None if rule["severity"] == "note" else "8.0" if (rule["severity"], rule["class"]) == ("error", "form") else "5.0"
            equal(score, want, rule["rule"])
            assert rule["why"] in by_rule[rule["rule"]]["help"]["markdown"], rule["rule"]


@test
def files_of_the_sources():
    """However a file is named, a viewer gets its place below the root."""
    root = scratch()
    os.makedirs(os.path.join(root, "dist", "a!"))
    write(bad_container(), "dist/a!/bad file#1.fatbin", root)
    uri = "dist/a%21/bad%20file%231.fatbin"
    full = os.path.join(root, "dist", "a!", "bad file#1.fatbin")
    prints = set()
    for args, cwd in ((["dist/a!/bad file#1.fatbin"], root), (["./dist//a!/../a!/bad file#1.fatbin"], root), ([full], root), (["-r", "dist"], root),
                      (["--source-root=..", "a!/bad file#1.fatbin"], os.path.join(root, "dist")), (["--source-root", root, full], "/")):
        (result,) = [r for r in scanned(*args, cwd=cwd)["results"] if r["level"] == "error"]
        equal((place(result)["artifactLocation"]["uri"], place(result)["artifactLocation"]["uriBaseId"]), (uri, "%SRCROOT%"), args)
        prints.add(result["partialFingerprints"]["primaryLocationLineHash"])
    equal(len(prints), 1, "one identity")
    link = os.path.join(scratch(), "link")  # a root that is a symbolic link
    os.symlink(root, link)
    (result,) = [r for r in scanned("--source-root", link, full, cwd="/")["results"] if r["level"] == "error"]
    equal(place(result)["artifactLocation"]["uri"], uri)
    (outside,) = [r for r in scanned("--source-root", os.path.join(root, "dist", "a"), full)["results"] if r["level"] == "error"]
    equal(place(outside)["artifactLocation"], {"uri": "file://" + os.path.join(root, uri), "index": 0}, "a file elsewhere, and no folder that begins alike")


@test
def one_identity_while_bytes_move():
    d = scratch()
    damaged = bad_container()

    def prints(data):
        write(data, "x.fatbin", d)
        return {(r["ruleId"], r["partialFingerprints"]["primaryLocationLineHash"]) for r in scanned("x.fatbin", cwd=d)["results"] if r["level"] == "error"}

    before = prints(damaged)
    assert before
    equal(prints(read("multi.fatbin") + damaged), before, "another container before it")
    write(damaged, "y.fatbin", d)
    (other,) = [r for r in scanned("y.fatbin", cwd=d)["results"] if r["level"] == "error"]
    assert other["partialFingerprints"]["primaryLocationLineHash"] not in {p for _, p in before}, "another file"


@test
def one_result_with_its_places():
    data = bytearray(read("default.fatbin") * 150)
    size = len(data) // 150
    for i in range(1, 150):
        struct.pack_into("<H", data, i * size + 16 + 2, 0x0102)
    path = write(bytes(data))
    run = scanned("--limit=diagnostics=200", path)
    check_run(run)
    (result,) = [r for r in run["results"] if r["ruleId"] == "CV-FATBIN-015"]
    equal((result["occurrenceCount"], len(result["relatedLocations"])), (149, 100), "count and places")
    assert "149 places, the first fatbin[1]" in result["message"]["text"], result["message"]
    equal([p["id"] for p in result["relatedLocations"]], list(range(1, 101)), "numbers")
    (result,) = [r for r in scanned(path)["results"] if r["ruleId"] == "CV-FATBIN-015"]
    equal((result["occurrenceCount"], len(result["relatedLocations"])), (149, 64), "above the cap of a scan they are counted")


@test
def files_in_packages():
    needs_packages()
    files = {"lib/bad.so": bad_container(), "lib/[x](https://example.org).so": bad_container(), "lib/good.so": read("multi.fatbin"), "code.py": b"pass\n",
             "x!/bad": damaged_member()}
    path = package(**files)
    run = scanned(os.path.basename(path), cwd=os.path.dirname(path))
    check_run(run)
    results = [r for r in run["results"] if r["level"] == "error"]
    equal({place(r)["artifactLocation"]["uri"] for r in results}, {"input.bin"}, "the file of the sources")
    names = sorted(r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for r in results)
    equal(names, sorted(n for n in files if "good" not in n and "code" not in n), "names in it")
    inner = {p["logicalLocations"][0]["fullyQualifiedName"] for r in results for p in r["relatedLocations"]}
    assert "lib/bad.so!/fatbin[1]/entry[0]" in inner, inner
    assert not any("](" in r["message"]["text"] for r in run["results"]), "a link of a stranger"
    assert any("[x] (https://example.org)" in r["message"]["text"] for r in results), "what became of it"
    uris = [a["location"]["uri"] for a in run["artifacts"]]
    assert "/code.py" not in uris and "/lib/good.so" in uris and run["artifacts"][0]["properties"] == {"entries": 5}, uris
    for r in results:  # the piece, as an artifact in the entry's
        for p in r["relatedLocations"]:
            at = run["artifacts"][p["properties"]["artifact"]]
            while "parentIndex" in at:
                at = run["artifacts"][at["parentIndex"]]
            equal(at["location"]["uri"], "input.bin")
            assert "byteOffset" not in p["physicalLocation"]["region"], "a byte of the entry is none of the package"


@test
def a_damaged_package():
    needs_packages()
    data = bytearray(open(package(a=read("multi.fatbin")), "rb").read())
    at = data.rindex(b"PK\1\2")
    struct.pack_into("<I", data, at + 24, 5)  # another length than the entry has
    path = write(bytes(data), "x.whl")
    r = cuvet("scan", path)
    run = scanned(path)
    check_run(run)
    (result,) = [x for x in run["results"] if x["ruleId"] == "package/malformed"]
    equal((r.rc, result["level"], run["invocations"][0]["exitCode"]), (FINDINGS, "error", FINDINGS), r.out)


@test
def where_help_is():
    path = os.path.join(HOSTILE, "CV-FATBIN-014.fatbin")
    assert not any("helpUri" in r for r in scanned(path)["tool"]["driver"]["rules"]), "no page is invented"
    for base in ("https://docs.example.org/rules", "https://docs.example.org/rules/"):
        rule = [r for r in scanned("--help-uri", base, path)["tool"]["driver"]["rules"] if r["id"] == "CV-FATBIN-014"]
        equal(rule[0]["helpUri"], "https://docs.example.org/rules/CV-FATBIN-014")


@test
def a_check():
    needs_packages()
    path = package(**{"lib/a.so": read("multi.fatbin"), "lib/b[1](http://example.org).so": read("plain.sm_90.cubin"), "x.so": bad_container()})
    for more in ([], ["--each"]):
        run = scanned(*more, os.path.basename(path), cwd=os.path.dirname(path), what=("check", "--require=sm_99", "--forbid=ptx"))
        check_run(run)
        equal({place(r)["artifactLocation"]["uri"] for r in run["results"]}, {"input.bin"}, more)
        assert not any("](" in r["message"]["text"] for r in run["results"])
        equal(len(run["results"]), 6 if more else 3, [r["message"]["text"] for r in run["results"]])
    equal(scanned(sample("multi.fatbin"), what=("check", "--require=sm_90"))["results"], [], "what passes")


@test
def very_many_files_that_cannot_be_looked_into():
    """The first thousand by name, and how many more: memory and the log have an end."""
    needs_packages()
    data = bytearray()
    with open(package(**{"f%04d" % i: b"x" for i in range(1200)}), "rb") as f:
        data += f.read()
    for mark, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):  # each entry says that it is encrypted
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(mark, at + 4)
    r = cuvet("scan", "--format=sarif", write(bytes(data), "x.zip"))
    (run,) = json.loads(r.raw)["runs"]
    told = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    equal((told.count("is encrypted"), told[-1], len(run["artifacts"])), (1000, "200 more files were not looked into: a run names 1000 of them", 1001), r.err[-200:])


@test
def the_schema():
    schema = os.path.join(ROOT, "..", "shared", "data", "sarif-schema-2.1.0.json")
    try:
        import jsonschema
    except ImportError as e:
        raise Skip("python3-jsonschema is not installed") from e
    if not os.path.exists(schema):
        raise Skip("the published SARIF schema is not there")
    with open(schema, encoding="utf-8") as f:
        validator = jsonschema.Draft7Validator(json.load(f))
    # Not all: the library compares each result with each other one.
    some = sorted(os.path.join(HOSTILE, name) for name in os.listdir(HOSTILE))[::50]
    for what, args in ((("scan",), some), (("scan", "--help-uri=https://example.org"), [package(a=bad_container(), b=b"x")]),
                       (("check", "--require=sm_99"), [package(a=bad_container()), sample("multi.fatbin"), "none"])):
        log = json.loads(cuvet(*what, "--format=sarif", *args).raw)
        equal([(list(e.path), e.message[:200]) for e in validator.iter_errors(log)][:3], [], what)


@test
def too_many_results():
    """More than one run may have: what is left out is said, in the log as well."""
    if not os.environ.get("CV_FULL"):
        raise Skip("CV_FULL is not set")
    needs_packages()
    run = scanned(package(**{"f%05d" % i: bad_container() for i in range(26000)}), what=("scan", "--limit=containers=100000"))
    check_run(run)
    equal(len(run["results"]), MOST["results"], "results")
    assert "results are left out" in str(run["invocations"][0]["toolExecutionNotifications"]), "said"


if __name__ == "__main__":
    sys.exit(main())
