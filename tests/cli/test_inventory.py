# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet inventory: both forms hold what list and scan tell, each element once and in its place."""
import hashlib
import json
import os
import sys

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, Skip, USAGE, bad_container, cuvet, equal, main, needs_packages, package, read, sample, scratch, test, write

MULTI, HOST, LTO = sample("multi.fatbin"), sample("host-plain.so"), sample("lto.fatbin")


def inventory(form, *args):
    r = cuvet("inventory", "--format", form, *args)
    return r, json.loads(r.out)


def properties(component):
    names = [p["name"] for p in component.get("properties", [])]
    equal(len(names), len(set(names)), "properties of one name")
    return {p["name"][len("cuvet:"):]: p["value"] for p in component.get("properties", [])}


def comment(element):
    return dict(part.split("=", 1) for part in element.get("comment", "").split("; ") if part)


def by_cyclonedx(bom):
    """{path of names: (type, hash, properties)}, in order."""
    out, refs = [], []

    def take(component, above):
        refs.append(component["bom-ref"])
        name = above + (component["name"],)
        hashes = [h["content"] for h in component.get("hashes", [])]
        out.append((name, component["type"], hashes, properties(component)))
        for inner in component.get("components", []):
            take(inner, name)

    for component in bom["components"]:
        take(component, ())
    equal((bom["bomFormat"], bom["specVersion"], len(refs)), ("CycloneDX", "1.6", len(set(refs))))
    return out


def by_spdx(bom):
    elements = {e["SPDXID"]: e for e in bom["packages"]}
    equal((bom["spdxVersion"], len(bom["packages"])), ("SPDX-2.3", len(elements)))
    above = {}
    for r in bom["relationships"]:
        equal(r["relationshipType"], "DESCRIBES" if r["spdxElementId"] == "SPDXRef-DOCUMENT" else "CONTAINS", r)
        assert r["relatedSpdxElement"] not in above and r["relatedSpdxElement"] in elements, r
        above[r["relatedSpdxElement"]] = r["spdxElementId"]
    equal(set(above), set(elements), "each element is related once")

    def name(ref):
        return () if ref == "SPDXRef-DOCUMENT" else name(above[ref]) + (elements[ref]["name"],)

    return [(name(e["SPDXID"]), e["primaryPackagePurpose"], [c["checksumValue"] for c in e.get("checksums", [])], comment(e)) for e in bom["packages"]]


def opens_packages():
    return bool(cuvet("scan", "--format=ndjson", package(a=b"x")).objects("package"))


def inputs():
    """With packages between files, in both orders."""
    files = [HOST, MULTI, LTO, sample("long-names.a"), sample("plain.ptx")]
    return files + [package(a=read("multi.fatbin"), readme=b"x" * 1000, b=read("host-plain.so")), sample("plain.sm_90.cubin"), package(c=read("lto.fatbin"))] if opens_packages() else files


@test
def as_list_tells_it():
    paths = inputs()
    listed = cuvet("list", "--kernels", "--format=ndjson", *paths)
    r, bom = inventory("cyclonedx", *paths)
    equal(r.rc, CLEAN)
    pieces = [c for c in by_cyclonedx(bom) if "kind" in c[3]]
    members = listed.objects("member")
    equal(len(pieces), len(members))
    for (name, kind, hashes, props), m in zip(pieces, members):
        equal((name[-2:], kind), ((m["file"], m["path"] or "file"), "file"), m)
        equal(hashes, [m["sha256"]] if "sha256" in m else [], m["path"])
        equal((props["kind"], props.get("architecture"), props["compression"], int(props["stored"]), int(props["size"]), int(props["offset"])),
              (m["kind"], m["arch"], m["compression"], m["stored_size"], m["size"], m["payload_offset"]), m["path"])
        equal("fingerprint" in props, m["kind"] in ("elf", "ptx"), m["path"])
    kernels = [c for c in by_cyclonedx(bom) if "registers" in c[3]]
    entries = [(c[0][-1], c[0][-2]) for c in by_cyclonedx(bom) if len(c[0]) > 2 and set(c[3]) == {"fingerprint"}]
    equal([e[0] for e in entries if e[1] == "fatbin[0]/entry[7]"], ["_Z5plainPi"] * (2 if opens_packages() else 1))
    wanted = [(m["path"] or "file", k, f["registers"], f["shared"]) for m in members for k in m.get("kernel_names", []) for f in m["functions"] if f["name"] == k]
    equal([(name[-2], name[-1], int(p["registers"]), int(p["shared"])) for name, _, _, p in kernels], wanted)
    assert len(kernels) > 5, kernels


@test
def both_forms_say_the_same():
    paths = inputs()
    one = {name: (hashes, props) for name, _, hashes, props in by_cyclonedx(inventory("cyclonedx", *paths)[1])}
    other = {name: (hashes, props) for name, _, hashes, props in by_spdx(inventory("spdx", *paths)[1])}
    equal(set(one), set(other))
    for name, (hashes, props) in one.items():
        equal((hashes, {k: v for k, v in other[name][1].items() if v != "NONE"}), (hashes, props), name)
        equal(hashes, other[name][0], name)


@test
def files_and_packages():
    needs_packages()
    multi = read("multi.fatbin")
    path = package(a=multi, readme=b"hello")
    found = by_cyclonedx(inventory("cyclonedx", HOST, path)[1])
    tops = [c for c in found if len(c[0]) == 1]
    equal([(c[0], c[1]) for c in tops], [((HOST,), "file"), ((path,), "container")])
    equal(tops[1][3], {"entries": "2"})
    equal(tops[1][2], [hashlib.sha256(open(path, "rb").read()).hexdigest()])
    (entry,) = [c for c in found if len(c[0]) == 2 and c[0][0] == path]
    equal((entry[0][1], entry[1], entry[2], entry[3]), (path + "!/a", "file", [hashlib.sha256(multi).hexdigest()], {"verdict": "clean", "size": str(len(multi))}))
    equal(tops[0][2], [hashlib.sha256(open(HOST, "rb").read()).hexdigest()])
    # One inside of another one comes from a program that is not believed: its files have hashes, it has none, and is counted in the other one.
    outer = package(inner=open(path, "rb").read())
    for form, read_back in (("cyclonedx", by_cyclonedx), ("spdx", by_spdx)):
        hashes = {c[0]: c[2] for c in read_back(inventory(form, outer)[1])}
        equal(hashes[(outer,)], [hashlib.sha256(open(outer, "rb").read()).hexdigest()], form)
        equal([h for name, h in hashes.items() if len(name) == 2], [[hashlib.sha256(multi).hexdigest()]], form)
    # A package without device code is there all the same.
    equal([c[1] for c in by_cyclonedx(inventory("cyclonedx", package(a=b"text"))[1])], ["container"])
    equal(len(by_spdx(inventory("spdx", package(a=b"text"))[1])), 1)


@test
def same_fingerprint_as_diff():
    diff = cuvet("diff", "--format=ndjson", HOST, MULTI)
    fresh = {(o["code"], o["name"]): o["new"][0]["fingerprint"] for o in diff.objects("diff_kernel") if o["state"] == "new"}
    found = {}
    for component in inventory("cyclonedx", MULTI)[1]["components"][0]["components"]:
        for kernel in component["components"]:
            found[(properties(component)["architecture"], kernel["name"])] = properties(kernel)["fingerprint"]
    assert any(code.startswith("compute_") for code, _ in fresh), fresh
    assert fresh and fresh.items() <= found.items(), (fresh, found)
    # Lines of the source are not code.
    prints = [properties(inventory("cyclonedx", sample("plain.sm_90%s.cubin" % more))[1]["components"][0]["components"][0])["fingerprint"] for more in ("", ".lineinfo", ".g")]
    equal((prints[0] == prints[1], prints[0] == prints[2]), (True, False))


@test
def when():
    for form, get in (("cyclonedx", lambda b: b["metadata"]["timestamp"]), ("spdx", lambda b: b["creationInfo"]["created"])):
        os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
        try:
            r, bom = inventory(form, MULTI)
            equal((get(bom), inventory(form, MULTI)[0].out), ("2023-11-14T22:13:20Z", r.out), form)
            os.environ["SOURCE_DATE_EPOCH"] = "yesterday"
            equal(cuvet("inventory", MULTI).rc, USAGE)
        finally:
            del os.environ["SOURCE_DATE_EPOCH"]
    equal("timestamp" in inventory("cyclonedx", MULTI)[1]["metadata"], False)
    equal(inventory("cyclonedx", MULTI)[0].out, inventory("cyclonedx", MULTI)[0].out)
    spaces = {inventory("spdx", path)[1]["documentNamespace"] for path in (MULTI, HOST, LTO)}
    equal(len(spaces), 3)


@test
def what_is_wrong_is_in_it():
    d = scratch()
    damaged, none = write(bad_container() + read("multi.fatbin")), os.path.join(d, "none")
    strange = write(read("multi.fatbin"), 'a\n\x1b[31m"\\\u202e', d)
    for form, read_form in (("cyclonedx", by_cyclonedx), ("spdx", by_spdx)):
        r, bom = inventory(form, damaged)
        (file,) = [c for c in read_form(bom) if len(c[0]) == 1]
        equal((r.rc, file[3]["verdict"]), (FINDINGS, "malformed"))
        r, bom = inventory(form, none, MULTI)
        tops = [c for c in read_form(bom) if len(c[0]) == 1]
        equal((r.rc, [c[3]["verdict"] for c in tops], tops[0][2]), (IO, ["error", "clean"], []))
        r = cuvet("inventory", "--format", form, strange)
        assert "\x1b" not in r.out and r.rc == CLEAN and "\u202e" not in r.out, r.out[:300]
        read_form(json.loads(r.out))
        equal(inventory(form, "--limit=members=2", MULTI)[0].rc, LIMIT)
    equal(cuvet("inventory").rc, USAGE)
    equal(cuvet("inventory", "--format=ndjson", MULTI).rc, USAGE)


if __name__ == "__main__":
    sys.exit(main())
