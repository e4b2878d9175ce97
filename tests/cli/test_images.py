# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Archives of container images: layers are known by the descriptions, in their order; what a later layer deletes or replaces is
judged like all the rest, said to be in no image, and counts for nothing that is required of one."""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import shutil
import subprocess
import sys
import tarfile

from lib_cli import CLEAN, CUVET, FINDINGS, LIMIT, Skip, bad_container, cuvet, equal, main, read, scratch, test, write

PROGRAM = os.path.join(os.path.dirname(CUVET), "cuvet-package")
FATBIN, CUBIN = read("multi.fatbin"), read("plain.sm_75.cubin")
FULL = bool(os.environ.get("CV_FULL"))


def needed():
    if not os.path.exists(PROGRAM):
        raise Skip("cuvet-package was not built (libarchive-dev)")


def tar(entries, pack=None):
    """(name, bytes), (name, "link", target), (name, "hard", target) or (name/,)"""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, *what in entries:
            info = tarfile.TarInfo(name)
            if not what:
                info.type = tarfile.DIRTYPE
                t.addfile(info)
            elif isinstance(what[0], str):
                info.type, info.linkname = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}[what[0]], what[1]
                t.addfile(info)
            else:
                info.size = len(what[0])
                t.addfile(info, io.BytesIO(what[0]))
    return (pack or bytes)(out.getvalue())


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def blob(files, data):
    name = hashlib.sha256(data).hexdigest()
    files["blobs/sha256/" + name] = data
    return "sha256:" + name


def manifest(files, layers, kind="application/vnd.oci.image.layer.v1.tar"):
    return blob(files, json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": {"digest": blob(files, b"{}")},
                                   "layers": [{"mediaType": kind, "digest": blob(files, layer)} for layer in layers]}).encode())


def index(*digests):
    return json.dumps({"schemaVersion": 2, "manifests": [{"digest": d, "mediaType": "application/vnd.oci.image.manifest.v1+json"} for d in digests]}).encode()


def oci(*images, order=None, nested=False, docker=False, more=()):
    """An archive of these images, each a list of layers."""
    files = {}
    digests = [manifest(files, layers) for layers in images]
    if nested:
        digests = [blob(files, index(*digests))]
    files["index.json"] = index(*digests)
    files["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    if docker:
        files["manifest.json"] = json.dumps([{"Config": "x", "Layers": ["blobs/sha256/" + hashlib.sha256(l).hexdigest() for l in layers]} for layers in images]).encode()
    files.update(more)
    names = sorted(files) if order is None else sorted(files, key=order)
    return tar([(name, files[name]) for name in names])


def docker(*images, last=True):
    files, described = [], []
    for layers in images:
        names = []
        for layer in layers:
            name = hashlib.sha256(layer).hexdigest() + "/layer.tar"
            names.append(name)
            if (name, layer) not in files:
                files.append((name, layer))
        described.append({"Config": "c.json", "RepoTags": ["x:1"], "Layers": names})
    text = [("manifest.json", json.dumps(described).encode())]
    return tar(files + text if last else text + files)


def fates(path, *more):
    """{name within its layer: [(fate, layer)]} of files with device code"""
    r = cuvet("scan", "--format=ndjson", *more, path)
    out = {}
    for o in r.objects("verdict"):
        if o["members"] + o["images"]:
            out.setdefault(o["file"].rpartition("!/")[2], []).append((o.get("image", "content"), o.get("layer", 0)))
    return out, r


CONTENT = ("content", 0)
ONE = [tar([("usr/",), ("usr/lib/",), ("usr/lib/kept.so", FATBIN), ("usr/lib/deleted.so", FATBIN), ("usr/lib/replaced.so", FATBIN), ("opt/a/x.so", FATBIN), ("opt/b/y.so", FATBIN),
            ("srv/f", FATBIN), ("var/d/z.so", FATBIN)]),
       tar([("usr/lib/.wh.deleted.so", b""), ("usr/lib/replaced.so", CUBIN), ("opt/.wh.a", b""), ("opt/b/.wh..wh..opq", b""), ("opt/b/new.so", FATBIN), ("srv/f/",), ("./var/d", CUBIN)])]
WANTED = {"kept.so": [CONTENT], "deleted.so": [("deleted", 2)], "replaced.so": [("replaced", 2), CONTENT], "x.so": [("deleted", 2)], "y.so": [("deleted", 2)], "new.so": [CONTENT],
          "f": [("replaced", 2)], "z.so": [("replaced", 2)], "d": [CONTENT]}


def short(found):
    return {name.rpartition("/")[2]: sorted(what) for name, what in found.items()}


@test
def layers_and_whiteouts():
    needed()
    wanted = {k: sorted(v) for k, v in WANTED.items()}
    d = scratch()
    shapes = [("docker save", docker(ONE)), ("description first", docker(ONE, last=False)), ("oci", oci(ONE)), ("blobs last", oci(ONE, order=lambda n: (n.startswith("blobs"), n))),
              ("blobs upside down", oci(ONE, order=lambda n: [-ord(c) for c in n])), ("an index in the index", oci(ONE, nested=True)), ("both", oci(ONE, docker=True)),
              ("one layer three times", oci([ONE[0], ONE[0], ONE[0], ONE[1]]))]
    for pack in (gzip.compress, bz2.compress, lzma.compress, *([zstd] if shutil.which("zstd") else [])):
        shapes.append(("layers packed by " + pack.__name__, oci([pack(layer) for layer in ONE])))
        shapes.append(("all packed by " + pack.__name__, pack(docker(ONE))))
        shapes.append(("both packed by " + pack.__name__, pack(oci([gzip.compress(layer, mtime=0) for layer in ONE]))))
    for name, data in shapes:
        found, r = fates(write(data, "image.tar", d))
        equal((r.rc, short(found)), (CLEAN, wanted if "three" not in name else {k: [(f, l and 4) for f, l in v] for k, v in wanted.items()}), name + r.err)
    text = cuvet("scan", write(shapes[0][1], "image.tar", d)).out
    assert "/layer.tar!/usr/lib/deleted.so: clean; 1 container" in text and "; in no image: deleted by layer 2\n" in text and "; in no image: replaced by layer 2\n" in text, text


def model(layers):
    """What is there after unpacking: {path: the entry it came from}, by a tree of dicts."""
    root = {}
    for number, layer in enumerate(layers):
        marks = [e for e in layer if e[0].rpartition("/")[2].startswith(".wh.")]
        for name, *_ in marks:
            folder, _, last = name.rpartition("/")
            at = root
            for part in filter(None, folder.split("/")):
                at = at.get(part) if isinstance(at, dict) else None
                if at is None:
                    break
            if isinstance(at, dict):
                if last == ".wh..wh..opq":
                    at.clear()
                else:
                    at.pop(last[4:], None)
        for entry in layer:
            if entry in marks:
                continue
            parts = [p for p in entry[0].split("/") if p]
            at = root
            for part in parts[:-1]:
                if not isinstance(at.get(part), dict):
                    at[part] = {}
                at = at[part]
            if len(entry) == 1:
                if not isinstance(at.get(parts[-1]), dict):
                    at[parts[-1]] = {}
            else:
                at[parts[-1]] = (number, entry[0])
    out, todo = set(), [root]
    while todo:
        for value in todo.pop().values():
            if isinstance(value, dict):
                todo.append(value)
            else:
                out.add(value)
    return out


def some_layers(rng):
    def path():
        return "/".join(rng.choice("abc") for _ in range(rng.choice((1, 2, 2, 3))))
    layers = []
    for _ in range(rng.randrange(1, 6)):
        layer, taken, folders = [], set(), set()
        for _ in range(rng.randrange(1, 7)):
            name, what = path(), rng.random()
            above = {name[:i] for i in range(len(name)) if name[i] == "/"}
            if name in taken or name in folders or above & taken or any(t.startswith(name + "/") for t in taken):
                continue  # within a layer, each name is one thing
            if what < .2:
                layer.append((name + "/",))
                folders.add(name)
            elif what < .6:
                layer.append((name, FATBIN))
                taken.add(name)
            else:
                folder, _, last = name.rpartition("/")
                last = ".wh..wh..opq" if what < .75 and folder else ".wh." + last
                layer.append(((folder + "/" if folder else "") + last, b""))
            folders |= above
        layers.append(layer)
    return layers


@test
def random_layers_as_unpacked():
    """Against a model that unpacks the layers one over the other."""
    needed()
    rng = random.Random(7)
    d, seen = scratch(), 0
    for _ in range(300 if FULL else 40):
        layers = some_layers(rng)
        tars = [tar(layer + [("only", bytes([n]))]) for n, layer in enumerate(layers)]  # no two layers are one blob
        r = cuvet("scan", "--format=ndjson", write(docker(tars), "image.tar", d))
        equal(r.rc, CLEAN, r.err)
        got = set()
        for o in r.objects("verdict"):
            parts = o["file"].split("!/")
            if len(parts) == 3 and o["members"] and "image" not in o:
                got.add(([hashlib.sha256(t).hexdigest() + "/layer.tar" for t in tars].index(parts[1]), parts[2]))
        equal(got, model(layers), [[e[0] for e in layer] for layer in layers])
        seen += len(got)
    assert seen > 60, seen


@test
def hard_links_keep_what_they_stand_for():
    needed()
    base = tar([("lib/real.so", FATBIN), ("lib/other.so", "hard", "lib/real.so"), ("lib/gone.so", CUBIN), ("lib/also.so", "hard", "lib/gone.so")])
    over = tar([("lib/.wh.real.so", b""), ("lib/.wh.gone.so", b""), ("lib/.wh.also.so", b"")])
    found, _ = fates(write(oci([base, over]), "x.tar"))
    equal(short(found), {"real.so": [CONTENT], "gone.so": [("deleted", 2)]})


@test
def several_images():
    """What one of them has is content; a blob that no image names is in none; a folder of old docker names layers by symbolic links."""
    needed()
    other = tar([("usr/lib/more.so", FATBIN)])
    stray = tar([("evil.so", FATBIN)])
    found, r = fates(write(oci(ONE, [ONE[0], other], more={"blobs/sha256/" + hashlib.sha256(stray).hexdigest(): stray, "stray.cubin": CUBIN}), "x.tar"))
    got = short(found)
    equal((r.rc, got["deleted.so"], got["more.so"], got["evil.so"], got["stray.cubin"], got["y.so"]), (CLEAN, [CONTENT], [CONTENT], [("unused", 0)], [("unused", 0)], [CONTENT]), got)
    linked = tar([("a/layer.tar", ONE[0]), ("b/layer.tar", "link", "../a/layer.tar"), ("c/layer.tar", ONE[1]),
                  ("manifest.json", json.dumps([{"Layers": ["b/layer.tar", "c/layer.tar"]}]).encode())])
    equal(short(fates(write(linked, "x.tar"))[0]), {k: sorted(v) for k, v in WANTED.items()})
    # in a package that is deleted, and in one that is not
    wheel = tar([("inner.so", FATBIN)])
    found, _ = fates(write(oci([tar([("p.tar", wheel), ("q.tar", wheel)]), tar([(".wh.p.tar", b"")])]), "x.tar"))
    equal(short(found), {"inner.so": [CONTENT, ("deleted", 2)]})


@test
def what_is_there_for_some_is_content():
    """Links across layers and through folders, folders that look like whiteouts, a file behind a damaged header: nothing of it is said to be in no image."""
    needed()
    d, up = scratch(), tar([("lib/.wh.real.so", b"")])
    for what, layers in (
            ("a hard link to a layer below", [tar([("lib/real.so", FATBIN)]), tar([("keep.so", "hard", "lib/real.so"), ("lib/.wh.real.so", b"")])]),
            ("of a hard link", [tar([("lib/real.so", FATBIN)]), tar([("b", "hard", "lib/real.so"), ("c", "hard", "b"), (".wh.b", b"")]), tar([(".wh.b", b""), ("lib/.wh.real.so", b"")])]),
            ("the first of two files", [tar([("lib/real.so", FATBIN), ("keep.so", "hard", "lib/real.so"), ("lib/real.so", b"x")]), up]),
            ("a link through a folder's link", [tar([("l", "link", "lib"), ("lib/real.so", FATBIN), ("keep.so", "hard", "l/real.so")]), up]),
            ("a file through one", [tar([("e/",), ("l", "link", "e")]), tar([("l/real.so", FATBIN)]), tar([(".wh.l", b"")])]),
            ("a file of aufs", [tar([(".wh..wh.plnk/1.2", FATBIN), ("real.so", "hard", ".wh..wh.plnk/1.2")])]),
            ("a folder like a whiteout", [tar([(".wh..wh.x/real.so", FATBIN), ("a/.wh.b/real.so", FATBIN)])]),
            ("a layer that begins like a program", [gzip.compress(tar([(".tool", b""), ("real.so", FATBIN)])), tar([(".wh..tool", b"")])])):
        for shape, data in (("docker", docker(layers)), ("oci", oci(layers))):
            found, r = fates(write(data, "x.tar", d))
            assert found and all(CONTENT in what for what in found.values()), (what, shape, found, r.err)
    # replaced together with what stands for it
    for what, layers in (("both are replaced", [tar([("perl", FATBIN), ("perl5", "hard", "perl")]), tar([("perl", CUBIN), ("perl5", "hard", "perl")])]),
                         ("a folder became a link", [tar([("lib/real.so", FATBIN)]), tar([("lib", "link", "usr/lib")])])):
        found, _ = fates(write(oci(layers), "x.tar", d))
        assert ("replaced", 2) in [one for all_of in found.values() for one in all_of], (what, found)


@test
def a_description_that_readers_take_otherwise():
    """Nothing is said to be in no image where another reader may find it in one."""
    needed()
    d, good, evil = scratch(), tar([("good.so", FATBIN)]), tar([("evil.so", FATBIN)])

    def image(change, more=(), docker=False):
        files = {"oci-layout": b"{}"}
        one, other = blob(files, good), blob(files, evil)
        text = json.dumps({"layers": [{"digest": one}]}).encode()
        files["index.json"] = index(blob(files, change(text, other)))
        files.update(more)
        if docker:
            files["manifest.json"] = docker
        return tar(sorted(files.items()))

    def key(name):
        return lambda text, other: text[:-1] + b', "%s": [{"digest": "%s"}]}' % (name.encode(), other.encode())
    bad = hashlib.sha256(b"other").hexdigest()
    many = json.dumps([{"Layers": ["evil.tar"]}]).encode()
    for what, data, rc in (
            ("capitals", image(key("Layers")), FINDINGS), ("a long s", image(key("layer\u017f")), FINDINGS), ("an index too", image(lambda text, other: text[:-1] + b', "manifests": []}'), FINDINGS),
            ("a key twice", image(key("layers")), FINDINGS), ("no UTF-8", image(lambda text, other: text[:-1] + b', "a": "\xff"}'), FINDINGS),
            ("a blob of another name", image(lambda text, other: text, {"blobs/sha256/" + bad: evil}), FINDINGS),
            ("blanks", image(lambda text, other: b" " * 9000 + b'{"layers": [{"digest": "%s"}]}' % other.encode()), CLEAN),
            ("blanks before manifest.json", image(lambda text, other: text, {"evil.tar": evil}, b" " * 9000 + many), FINDINGS),
            ("a manifest.json beyond what is read", image(lambda text, other: text, {"evil.tar": evil}, b" " * (5 << 20) + many), LIMIT),
            ("a blob of a name of its own", image(lambda text, other: text.replace(b"sha256:", b"sha256:0"), {"x": evil}), CLEAN),
            ("a secret that is none", image(lambda text, other: b'{"layers": [{"digest": "%s", "mediaType": "encrypted"}]}' % other.encode()), CLEAN),
            ("a folder that is a link", tar([("a", "link", "b"), ("a/l.tar", good), ("b/l.tar", evil), ("manifest.json", b'[{"Layers":["a/l.tar"]}]')]), FINDINGS),
            ("a hard link", tar([("e.tar", evil), ("l.tar", "hard", "e.tar"), ("manifest.json", b'[{"Layers":["l.tar"]}]')]), CLEAN),
            ("whiteouts of no name", tar([("l.tar", tar([("a/evil.so", FATBIN)])), ("m.tar", tar([("a/.wh.", b"")])), ("manifest.json", b'[{"Layers":["l.tar","m.tar"]}]')]), FINDINGS)):
        found, r = fates(write(data, "x.tar", d))
        equal((r.rc, set(short(found).get("evil.so", ()))), (rc, {CONTENT}), (what, r.err))
    # what is not there cannot pass
    r = cuvet("check", "--require", "sm_75", write(tar([("l.tar", good), ("manifest.json", b'[{"Layers":["l.tar","gone.tar"]}]')]), "x.tar", d))
    assert r.rc == FINDINGS and "not in it" in r.out + r.err, (r.rc, r.out, r.err)


@test
def numbers_are_those_of_the_headers():
    """A header in a layer that is none shifts nothing: the file after it has its own fate."""
    needed()
    bad = bytearray(tar([("a", b"")])[:512])
    bad[0] ^= 1
    one = tar([("deleted.so", FATBIN)])
    layer = one[:512 + len(FATBIN) + -len(FATBIN) % 512] + bytes(bad) + tar([("kept.so", FATBIN), ("last.so", FATBIN)])
    found, r = fates(write(docker([layer, tar([(".wh.deleted.so", b""), (".wh.last.so", b"")])]), "x.tar"))
    equal((r.rc, short(found)), (FINDINGS, {"deleted.so": [("deleted", 2)], "kept.so": [CONTENT], "last.so": [("deleted", 2)]}), r.err)


@test
def check_asks_for_what_the_image_has():
    needed()
    d = scratch()
    path = write(oci([tar([("a.fatbin", FATBIN)]), tar([(".wh.a.fatbin", b""), ("b.cubin", CUBIN)])]), "x.tar", d)
    r = cuvet("check", "--require", "sm_80", path)
    assert r.rc == FINDINGS and "lacks sm_80" in r.out and "has sm_75" in r.out, r.out
    equal(cuvet("check", "--require", "sm_75", path).rc, CLEAN)
    r = cuvet("check", "--forbid", "ptx", path)  # it is shipped
    assert r.rc == FINDINGS and "ptx" in r.out, r.out
    equal(cuvet("check", "--require", "sm_80", write(oci([tar([("a.fatbin", FATBIN)])]), "y.tar", d)).rc, CLEAN)
    same = write(oci([tar([("b.cubin", CUBIN)])]), "z.tar", d)
    r = cuvet("diff", path, same)
    assert "sm_80" not in r.out, r.out
    text = cuvet("inventory", path).out
    assert '"cuvet:image"' in text and '"deleted"' in text, text[:500]
    assert "image=deleted" in cuvet("inventory", "--format=spdx", path).out


@test
def everybody_says_that_it_is_in_none():
    """list above the pieces, and SARIF behind a message and with the file."""
    needed()
    d = scratch()
    path = write(oci([tar([("a.fatbin", FATBIN), ("bad.fatbin", bad_container())]), tar([(".wh.a.fatbin", b""), (".wh.bad.fatbin", b""), ("b.cubin", CUBIN)])]), "x.tar", d)
    out = cuvet("list", path).out
    assert out.count("a.fatbin; in no image: deleted by layer 2\n  PATH") == 1 and "/b.cubin\n  PATH" in out, out
    for o in cuvet("list", "--format=ndjson", path).objects("member"):
        equal((o.get("image"), o.get("layer")), (None, None) if o["file"].endswith("/b.cubin") else ("deleted", 2), o)
    (run,) = json.loads(cuvet("scan", "--format=sarif", path).out)["runs"]
    (result,) = [r for r in run["results"] if r["level"] == "error"]
    assert result["message"]["text"].endswith("; in no image: deleted by layer 2"), result
    said = [a["properties"]["layer"] for a in run["artifacts"] if a.get("properties", {}).get("image") == "deleted"]
    assert said and set(said) == {2}, run["artifacts"]


@test
def damage_is_found():
    """What makes readers see different things is a finding; what is missing is said."""
    needed()
    d = scratch()
    evil = dict((("manifest.json", json.dumps([{"Layers": ["blobs/sha256/" + hashlib.sha256(ONE[0]).hexdigest()]}]).encode()),))
    for what, data, text in (
            ("manifest.json and index.json", oci(ONE, more=evil), "say different things"),
            ("two manifests", tar([("manifest.json", b'[{"Layers":[]}]'), ("manifest.json", b'[{"Layers":["a.tar"]}]'), ("a.tar", ONE[0])]), "two entries of one name"),
            ("two layers of one name", tar([("manifest.json", b'[{"Layers":["a.tar"]}]'), ("a.tar", ONE[0]), ("a.tar", ONE[1])]), "two entries of one name"),
            ("a key twice", tar([("manifest.json", b'[{"Layers":["a.tar"],"Layers":[]}]'), ("a.tar", ONE[0])]), "manifest.json that cannot be read"),
            ("no JSON", tar([("index.json", b"{"), ("oci-layout", b"{}"), ("a.tar", ONE[0])]), "a description that cannot be read")):
        r = cuvet("scan", "--format=ndjson", write(data, "x.tar", d))
        assert r.rc == FINDINGS and any(text in o.get("reason", "") for o in r.objects("verdict")), (what, r.out[-800:], r.err)
    path = write(tar([("manifest.json", b'[{"Layers":["a.tar","gone.tar"]}]'), ("a.tar", ONE[0])]), "x.tar", d)
    r = cuvet("scan", path)
    assert r.rc == CLEAN and path + "!/gone.tar: of an image, and not in this package" in r.err, r.err
    # a layer that deletes and replaces, with one missing below, between and above
    for names, whole in ((["a.tar", "b.tar"], True), (["gone.tar", "a.tar", "b.tar"], False), (["a.tar", "gone.tar", "b.tar"], False), (["a.tar", "b.tar", "gone.tar"], False)):
        found, r = fates(write(tar([("manifest.json", json.dumps([{"Layers": names}]).encode()), ("a.tar", ONE[0]), ("b.tar", ONE[1]), ("beside.so", FATBIN)]), "x.tar", d))
        equal(found.pop("beside.so"), [("unused", 0) if whole else CONTENT], names)
        equal((r.rc, short(found)), (CLEAN, {name: sorted(what) if whole else [CONTENT] * len(what) for name, what in WANTED.items()}), names)
    secret = {}
    secret["index.json"] = index(manifest(secret, [random.Random(1).randbytes(3000)], "application/vnd.oci.image.layer.v1.tar+gzip+encrypted"))
    secret["oci-layout"] = b"{}"
    r = cuvet("scan", "--format=ndjson", write(tar(list(secret.items())), "x.tar", d))
    assert ["is encrypted"] == [o["reason"] for o in r.objects("verdict") if o["verdict"] == "unsupported"], r.out


@test
def other_archives_are_as_before():
    needed()
    d = scratch()
    for what, files in (("another manifest.json", [("manifest.json", b'{"name":"extension"}'), ("lib.so", FATBIN)]), ("a list", [("manifest.json", b'[{"a":1}]'), ("lib.so", FATBIN)]),
                        ("no JSON", [("manifest.json", b"hello"), ("lib.so", FATBIN)]), ("half a layout", [("oci-layout", b"{}"), ("lib.so", FATBIN)]),
                        ("an index only", [("index.json", b"{}"), ("lib.so", FATBIN)]), ("whiteouts", [("lib.so", FATBIN), (".wh.lib.so", b"")])):
        for pack in (bytes, gzip.compress):
            found, r = fates(write(tar(files, pack), "x.tar", d))
            equal((r.rc, r.err, found), (CLEAN, "", {"lib.so": [CONTENT]}), what)


@test
def floods_end():
    """Layers named over and over, folders without end, descriptions that name each other: as much as is compared, and then a limit, in time."""
    needed()
    d = scratch()
    many = tar([("d/e/f%d" % i, b"") for i in range(2000)])
    deep = tar([("/".join("d" * 5000) + "/x", b"")])
    for what, data, rc in (
            ("two layers 50,000 times", tar([("manifest.json", json.dumps([{"Layers": ["a.tar", "b.tar"] * 25}] * 1000).encode()), ("a.tar", many), ("b.tar", many[:-1024] + bytes(2048))]),
             LIMIT),
            ("more layers than are kept", tar([("manifest.json", json.dumps([{"Layers": ["a.tar"] * 70000}]).encode()), ("a.tar", ONE[0])]), LIMIT),
            ("too many images", tar([("manifest.json", json.dumps([{"Layers": ["a.tar"]}] * 5000).encode()), ("a.tar", ONE[0])]), LIMIT),
            ("folders in folders", tar([("manifest.json", b'[{"Layers":["a.tar"]}]'), ("a.tar", deep)]), LIMIT),
            ("brackets", tar([("manifest.json", b"[" * 1000000), ("a.tar", ONE[0])]), CLEAN)):
        r = cuvet("scan", "--format=ndjson", write(data, "x.tar", d), timeout=200)
        equal(r.rc, rc, (what, r.out[-300:], r.err[-300:]))
    files = {}
    one = blob(files, b'{"manifests":[]}')
    files["index.json"], files["oci-layout"] = index(*[one] * 1000), b"{}"
    files[("blobs/sha256/" + one[7:])] = index(one)  # itself
    equal(cuvet("scan", write(tar(list(files.items())), "x.tar", d)).rc, CLEAN)


if __name__ == "__main__":
    sys.exit(main())
