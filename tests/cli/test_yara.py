# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scan --yara: what rules find in unpacked pieces, where, and what they cost; rules that are wrong, compiled, damaged, slow or too many end as they
should; and the rules of contrib/yara hit what they are about and nothing beside it."""
import ctypes
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import edit  # noqa: E402
from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, Skip, USAGE, cuvet, equal, main, needs_packages, read, sample, samples, scratch, test, write  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
MULTI, HOST, PTX = sample("multi.fatbin"), sample("host-plain.so"), sample("plain.ptx")
CONTRIB = os.path.join(ROOT, "contrib", "yara", "device-code.yar")
INTERNAL = 5
VARIABLES = ("arch", "kind", "producer", "kernels", "compression", "path", "filename", "section")


def needed():
    r = cuvet("scan", "--yara", rules("rule x { condition: false }"), PTX)
    if "needs libyara" in r.err:
        raise Skip("libyara is not there, no rule was run: " + r.err.strip())
    equal((r.rc, r.err), (CLEAN, ""))


def rules(text):
    return write(text if isinstance(text, bytes) else text.encode(), "rules.yar")


def hits(*args, rule=None, rc=None):
    r = cuvet("scan", "--format=ndjson", "--yara", *args)
    assert r.objects("verdict"), r.err
    if rc is not None:
        equal(r.rc, rc, r.out[-300:] + r.err)
    return [o for o in r.objects("finding") if o["rule"].startswith("YARA:") and rule in (None, o["yara"]["rule"])]


def names(*args):
    return sorted({o["yara"]["rule"] for o in hits(*args)})


def wheel(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr("lib/%s.so" % name, data)
    return write(out.getvalue(), "x.whl")


def unpacked(path):
    """{path of the piece: its bytes}"""
    out = scratch()
    told = cuvet("unpack", "-d", out, path).out
    found = {}
    for line in told.splitlines():
        name, _, _, where = line.split()[:4]
        with open(os.path.join(out, name), "rb") as f:
            found[where] = f.read()
    return found


class Library:
    """libyara itself, to compile rules: as yarac does."""

    def __init__(self):
        for name in ("libyara.so.9", "libyara.so.10"):
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            raise Skip("no libyara here that rules could be compiled with")
        equal(self.lib.yr_initialize(), 0)

    def compile(self, text, define=VARIABLES, integers=()):
        compiler, out = ctypes.c_void_p(), ctypes.c_void_p()
        path = os.path.join(scratch(), "rules.yac").encode()
        equal(self.lib.yr_compiler_create(ctypes.byref(compiler)), 0)
        for name in define:
            equal(self.lib.yr_compiler_define_string_variable(compiler, name.encode(), b""), 0)
        for name in integers:
            equal(self.lib.yr_compiler_define_integer_variable(compiler, name.encode(), ctypes.c_int64(0)), 0)
        equal(self.lib.yr_compiler_add_string(compiler, text.encode(), None), 0, text)
        equal(self.lib.yr_compiler_get_rules(compiler, ctypes.byref(out)), 0)
        equal(self.lib.yr_rules_save(out, path), 0)
        self.lib.yr_rules_destroy(out)
        self.lib.yr_compiler_destroy(compiler)
        return path.decode()


# ---- what is found, and where ----

@test
def places_are_those_of_the_bytes():
    """Each place that is told holds what the rule looks for: in the unpacked piece, and in the file where the piece is stored as it is."""
    needed()
    path = rules('rule word { strings: $a = "plain" $b = "_Z5plainPi" condition: any of them }')
    seen = set()
    for name in ("multi.fatbin", "multi-lz4.fatbin", "elf-raw.fatbin", "ptx-raw.fatbin", "host-plain.so", "plain.ptx", "plain.sm_90.cubin", "long-names.a", "host-plain.exe"):
        data, pieces = read(name), unpacked(sample(name))
        found = hits(path, sample(name))
        assert found, name
        for o in found:
            y = o["yara"]
            assert 0 < len(y["strings"]) <= y["places"] and y["section"] == "", o
            equal((o["offset"], o["inner_offset"], o["length"]), tuple(y["strings"][0][k] for k in ("offset", "inner_offset", "length")), name)
            for s in y["strings"]:
                want = {"$a": b"plain", "$b": b"_Z5plainPi"}[s["string"]]
                piece = pieces[o["path"]]
                equal(piece[s["inner_offset"]:s["inner_offset"] + s["length"]], want, "%s %s" % (name, o["path"]))
                at = data[s["offset"]:s["offset"] + s["length"]]
                equal(y["stored_as_is"], at == want, "%s: stored as it is" % name)
                seen.add(y["stored_as_is"])
    equal(seen, {True, False})


@test
def a_container_in_a_compressed_member():
    """What lies in a container that was compressed has no offset of its own in the file: that of the member is told."""
    needed()
    elf = read("plain.sm_90.cubin")
    path = rules('rule x { strings: $a = "_Z5plainPi" condition: $a }')
    for how in (None, "zstd", "lz4"):
        for inner_how in (None, "zstd"):
            inner = edit.container(edit.member(2, elf, 90), edit.member(2, elf, 90, how=inner_how))
            data = edit.container(edit.member(2, elf, 90), edit.member(2, inner, 90, how=how), edit.member(2, elf, 90))
            file = write(data)
            pieces = unpacked(file)
            found = hits(path, file)
            equal((len(found), len(pieces)), (4, 5), "pieces, and the container")
            for o in found:
                place, = o["yara"]["strings"][:1]
                equal(pieces[o["path"]][place["inner_offset"]:][:10], b"_Z5plainPi")
                if o["yara"]["stored_as_is"]:
                    equal(data[place["offset"]:][:10], b"_Z5plainPi", "in the file")
            nested = [o for o in found if o["path"].count("fatbin[") > 1]
            equal([o["yara"]["stored_as_is"] for o in nested], [how is None, how is None and inner_how is None], "%s, %s" % (how, inner_how))
            if how:
                outer, = (o for o in cuvet("scan", "--format=ndjson", file).objects("member") if o["kind"] == "fatbin")
                equal({o["offset"] for o in nested}, {outer["payload_offset"]}, "that of the member")


@test
def in_a_wheel():
    """A hit inside a member that is compressed, in a file that is compressed."""
    needed()
    needs_packages()
    path = rules('rule name : kernel { meta: description = "A kernel" strings: $a = "_Z5plainPi" condition: $a }')
    whole = wheel(zstd=read("multi.fatbin"), lz4=read("multi-lz4.fatbin"), none=b"_Z5plainPi")
    found = hits(path, whole, rc=FINDINGS)
    packed = {o["path"]: o for o in cuvet("scan", "--format=ndjson", whole).objects("member") if o["file"].endswith("zstd.so")}
    equal({o["compression"] for o in packed.values()}, {"zstd"})
    equal(sorted({o["file"].split("!/")[1] for o in found}), ["lib/lz4.so", "lib/zstd.so"])
    equal(len([o for o in found if o["file"].endswith("zstd.so")]), len(packed), "hits")
    for o in found:
        equal((o["severity"], o["message"], o["yara"]["tags"]), ("warning", "A kernel", "kernel"))
        if o["file"].endswith("zstd.so"):
            equal(o["offset"], packed[o["path"]]["payload_offset"], "of the stored bytes")
    text = cuvet("scan", "--yara", path, whole)
    equal(text.rc, FINDINGS)
    assert "  warning  YARA:name  A kernel (8 times)\n           first: fatbin[0]/entry[0]  at 0x" in text.out, text.out
    assert "lib/zstd.so: suspicious; 1 container, 8 members (7 elf, 1 ptx); 8 warnings, 8 of them by rules of YARA\n" in text.out, text.out


@test
def variables():
    needed()
    pieces = {o["path"]: o for o in cuvet("scan", "--format=ndjson", MULTI).objects("member")}
    for name, value in (("arch", lambda o: o["arch"]), ("kind", lambda o: o["kind"]), ("compression", lambda o: o["compression"]), ("path", lambda o: o["path"]),
                        ("filename", lambda o: o["file"]), ("kernels", lambda o: "_Z5plainPi\n"),
                        ("producer", lambda o: "%(tool)s %(version)s" % o["producer"] if "producer" in o else "")):
        for path, o in pieces.items():
            text = value(o).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
            found = {h["path"] for h in hits(rules('rule x { condition: %s == "%s" and path == "%s" }' % (name, text, path)), MULTI)}
            equal(found, {path}, "%s of %s" % (name, path))
            if name != "arch":
                break  # the others say the same of all
    equal(names(rules('import "elf" import "math" import "hash" rule e { condition: elf.machine == 190 and math.entropy(0, filesize) > 1 and '
                      'hash.sha256(0, filesize) != "" }'), MULTI), ["e"], "modules")
    equal(len(hits(rules('rule k { condition: kernels contains "plain" and kind == "ptx" }'), PTX)), 1, "entries of PTX")
    hostile = read("plain.ptx").replace(b"_Z5plainPi", b"_Z5pl\x1bnPi")
    equal(hits(rules('rule k { condition: kernels contains "\\x1b" }'), write(hostile)), [], "no control character")


@test
def sections():
    """A rule is told of for a section where 'section' decides, and only there; what needs no name once, for the piece."""
    needed()
    text = """
rule whole { strings: $a = "_Z5plainPi" condition: $a }
rule strtab { strings: $a = "_Z5plainPi" condition: section == ".strtab" and $a }
rule code { condition: section startswith ".text" }
rule no_copyright { strings: $c = "copyright" $n = ".strtab" condition: $n and not $c }
rule begins { strings: $e = { 7f 45 4c 46 } condition: not $e at 0 }
rule small { condition: filesize < 64 }
rule either { strings: $a = "_Z5plainPi" condition: (section == "" or section == ".strtab") and $a }
"""
    for name in ("plain.sm_90.cubin", "multi.fatbin"):
        found = hits(rules(text), sample(name))
        cubins = [p for p, d in unpacked(sample(name)).items() if d[:4] == b"\x7fELF"]
        for rule, wanted in (("whole", [""]), ("strtab", [".strtab"]), ("code", [".text._Z5plainPi"]), ("no_copyright", [""]), ("begins", []), ("small", []),
                             ("either", [""])):
            for path in cubins:
                equal([o["yara"]["section"] for o in found if o["yara"]["rule"] == rule and o["path"] == path], wanted, rule)
        for o in found:
            if o["yara"]["section"] == ".text._Z5plainPi":
                elf = edit.Elf(bytearray(unpacked(sample(name))[o["path"]]))
                equal((o["inner_offset"], o["length"]), (elf.sget(".text._Z5plainPi", "offset"), elf.sget(".text._Z5plainPi", "size")), "where the section is")


@test
def severities_and_exit_codes():
    needed()
    for severity, verdict, rc in (("note", "clean", CLEAN), ("warning", "suspicious", FINDINGS), ("error", "suspicious", FINDINGS), ("grave", "suspicious", FINDINGS)):
        path = rules('rule x { meta: severity = "%s" condition: true }' % severity)
        r = cuvet("scan", "--format=ndjson", "--yara", path, HOST)
        last, = r.objects("verdict")
        equal((r.rc, last["verdict"], last["exit"], last["yara_hits"], last["yara_unseen"]), (rc, verdict, rc, 2, 0), severity)
        equal({o["severity"] for o in r.objects("finding") if "yara" in o}, {severity if severity != "grave" else "warning"})
        members = r.objects("member")
        equal(sum(o["warnings"] + o["errors"] for o in members), 0 if severity == "note" else 2, "counted with their pieces")
        equal(last["findings"], 0 if severity == "note" else 2)
    equal(cuvet("scan", "--yara", path, "--fail-on", "malformed", HOST).rc, CLEAN)
    equal(cuvet("scan", "--yara", path, "--fail-on", "suspicious", HOST).rc, FINDINGS)
    note = rules('rule x { meta: severity = "note" condition: true }')
    equal(("YARA:x" in cuvet("scan", "--yara", note, HOST).out, "YARA:x" in cuvet("scan", "-v", "--yara", note, HOST).out), (False, True))
    equal(cuvet("scan", "-q", "--yara", path, HOST).out, HOST + ": suspicious\n")
    equal(cuvet("scan", "--all", "--yara", path, MULTI).out.count("YARA:x"), 8, "each")
    shown = cuvet("scan", "--yara", path, "--arch", "sm_90a", MULTI)
    assert "YARA:x  x\n" in shown.out and "by filter not shown: 7 pieces with 7 findings" in shown.out, shown.out
    some = rules('rule x { condition: kind == "ptx" }')
    rows = cuvet("scan", "--format=ndjson", "--only-findings", "--yara", some, MULTI, PTX, sample("plain.sm_90.cubin")).objects()
    equal([(o["type"], o.get("path")) for o in rows], [("finding", "fatbin[0]/entry[7]"), ("member", "fatbin[0]/entry[7]"), ("verdict", None), ("finding", "ptx"), ("member", "ptx"),
                                                       ("verdict", None), ("summary", None)])
    lto = cuvet("scan", "--format=ndjson", "--yara", some, sample("lto-lz4.fatbin")).objects("verdict")[0]
    assert lto["yara_unseen"] > 0, lto
    none = rules("rule x { condition: false }")
    for option, rc in ((), CLEAN), (("--fail-on", "unsupported"), FINDINGS):
        r = cuvet("scan", "--format=ndjson", *option, "--yara", none, sample("lto.fatbin"), PTX)
        equal((r.rc, [(o["verdict"], o["yara_unseen"]) for o in r.objects("verdict")]), (rc, [("unsupported", 1), ("clean", 0)]), "not clean for rules that did not see it")


@test
def sarif():
    """One result for each rule and file; its places are those of the hits in NDJSON."""
    needed()
    path = rules('rule one : a b { meta: description = "Text [of](http://x) it" author = "me" strings: $a = "plain" condition: $a }\n'
                 'rule two { meta: severity = "error" condition: section startswith ".text" }\n'
                 'rule three { meta: severity = "note" condition: true }')
    files = [sample(name) for name in ("multi.fatbin", "elf-raw.fatbin")]
    run, = json.loads(cuvet("scan", "--format=sarif", "--yara", path, *files).raw)["runs"]
    known = run["tool"]["driver"]["rules"]
    results = [r for r in run["results"] if r["ruleId"].startswith("YARA:")]
    equal(len(results), 6, "three rules and two files")
    equal(len([k for k in known if k["id"].startswith("YARA:")]), 3, "rules, each once")
    equal(len({r["partialFingerprints"]["ruleFile/v1"] for r in results}), 6, "fingerprints")
    for at, file in enumerate(files):
        rows = hits(path, file)
        for r in results[3 * at:3 * at + 3]:
            mine = [o for o in rows if o["rule"] == r["ruleId"]]
            places = [(o["path"], o["yara"]["section"], p["string"], p["offset"], p["inner_offset"], p["length"], o["yara"]["stored_as_is"])
                      for o in mine for p in o["yara"]["strings"] or [{"string": "", "offset": o["offset"], "inner_offset": o["inner_offset"], "length": o["length"]}]]
            shown = [p["properties"] for p in r["relatedLocations"]]
            equal([(p["path"], p["section"], p["string"], p["fileOffset"], p["unpackedOffset"], p["length"], p["storedAsIs"]) for p in shown], places[:100])
            equal(r["occurrenceCount"], sum(max(1, o["yara"]["places"]) for o in mine), "count")
            equal((known[r["ruleIndex"]]["id"], r["level"]), (r["ruleId"], mine[0]["severity"]), "rule")
            place = r["locations"][0]["physicalLocation"]
            equal((place["region"], run["artifacts"][place["artifactLocation"]["index"]]["location"]["uri"]),
                  ({"startLine": 1}, place["artifactLocation"]["uri"]), "location")
            for p in r["relatedLocations"]:
                equal(p["physicalLocation"]["region"]["byteOffset"], p["properties"]["fileOffset"])
                assert "parentIndex" in run["artifacts"][p["properties"]["artifact"]] or "/" not in p["properties"]["path"], p
    one, two, three = (next(k for k in known if k["id"] == "YARA:" + name) for name in ("one", "two", "three"))
    equal(one["shortDescription"]["text"], "Text [of] (http://x) it", "no link")
    assert "http" not in one["help"]["markdown"] and "](" not in "".join(r["message"]["text"] for r in results), one
    equal(one["properties"], {"tags": ["security", "yara", "a", "b"], "security-severity": "5.0", "meta": [{"name": "author", "value": "me"}]})
    equal((two["properties"]["security-severity"], "security-severity" in three["properties"]), ("8.0", False))


@test
def hostile_texts():
    """What rules say is written like any stranger's text."""
    needed()
    path = rules('rule x { meta: description = "\\x1b[31m\u202e\\xff red" note = "\\x07" condition: true }')
    r = cuvet("scan", "--yara", path, HOST)
    assert "\\x1B[31m" in r.out.replace("\\x1b", "\\x1B") and "\x1b" not in r.out and "\u202e" not in r.out, r.out
    o, *_ = hits(path, HOST)
    assert "\x1b" not in o["message"] and "\x07" not in o["yara"]["meta"][0]["value"], o
    json.loads(cuvet("scan", "--format=sarif", "--yara", path, HOST).raw)


@test
def other_tool():
    """The same hits, at the same number of places, as yara has in what cuvet unpacked."""
    needed()
    if not shutil.which("yara"):
        raise Skip("the command yara is not there")
    path = rules('import "elf"\nrule a { strings: $a = "plain" condition: $a }\nrule b { condition: elf.machine == 190 and filesize > 3000 }\n'
                 'rule c { strings: $c = { 18 79 00 00 [4-12] 00 } condition: #c > 1 }\nrule d { strings: $d = /[A-Za-z_]{5,20}\\.s?nv/ condition: $d }\n')
    many = samples() if FULL else samples()[::6]
    count = 0
    for name in many:
        out = scratch()
        files = {line.split()[3]: line.split()[0] for line in cuvet("unpack", "-d", out, name).out.splitlines()}
        want = set()
        p = subprocess.run(["yara", "-w", "-r", path, out], stdout=subprocess.PIPE, check=True)
        where = {v: k for k, v in files.items()}
        for line in p.stdout.decode().splitlines():
            rule, file = line.split(" ", 1)
            want.add((rule, where[os.path.basename(file)]))
        equal({(o["yara"]["rule"], o["path"]) for o in hits(path, name) if o["yara"]["section"] == ""}, want, name)
        count += len(want)
    assert count > len(many) / 2, count


# ---- rules that are wrong ----

@test
def wrong_rules():
    needed()
    many = write(b"/" + b"*" * (64 << 20) + b"/", "large.yar")
    for text, told in (("rule x { condition: foo }", 'line 1: undefined identifier "foo"'),
                       ("rule x\n{\n condition: (true }", "line 3: syntax error"),
                       ("rule x { condition: true }\nrule x { condition: true }", 'line 2: duplicated identifier "x"'),
                       ('include "/etc/passwd"\n', "line 1: includes are disabled"),
                       ('import "magic"\nrule x { condition: magic.type() contains "ELF" }', "the module 'magic' needs files"),
                       ('import "nothing"\nrule x { condition: true }', 'unknown module "nothing"'),
                       ("", "there is no rule in it"), ("// nothing\n", "there is no rule in it"),
                       (b"rule x { condition: false }\0rule y { condition: true }", "there is a NUL in it"),
                       (b"\x7fELF\2\1\1", "line 1: "), ("YARA", "damaged"), ("YARA\0\0\0\0", "another version of YARA"),
                       ("rule x { condition: " + "(" * 20000 + "true" + ")" * 20000 + "}", "line 1: "),
                       ("rule \x1b[31m { condition: true }", "line 1: ")):
        r = cuvet("scan", "--yara", rules(text), MULTI)
        equal((r.rc, r.out), (USAGE, ""), r.err)
        assert told in r.err and "nothing was scanned" in r.err and "\x1b" not in r.err, r.err
    r = cuvet("scan", "--yara", many, MULTI)
    equal((r.rc, r.out, "64 MiB" in r.err), (USAGE, "", True), r.err)
    for where in ("/nowhere/rules.yar", scratch()):
        r = cuvet("scan", "--yara", where, MULTI)
        equal((r.rc, r.out), (IO, ""), r.err)
    good = rules("rule x { condition: true }")
    for args, told in ((("--yara", good, "--yara", good), "twice"), (("--yara", good, "--yara-timeout", "0"), "from 1 to 86400"), (("--yara", good, "--yara-timeout", "x"), "from 1 to 86400"),
                       (("--yara", good, "--known", "x.db"), "neither --known nor --cache"), (("--yara", good, "--cache", "x.db"), "neither --known nor --cache"),
                       (("--yara-timeout", "5"), "is for --yara"), (("--yara",), "--yara")):
        r = cuvet("scan", *(args if args == ("--yara",) else (*args, MULTI)))
        equal((r.rc, r.out), (USAGE, ""), args)
        assert told in r.err, r.err
    r = cuvet("scan", "--yara", rules("rule x { strings: $a = /.*/ condition: $a }"), PTX)
    assert "line 1: warning: " in r.err and r.rc == FINDINGS, r.err


@test
def compiled_rules():
    needed()
    library = Library()
    text = 'rule a : t { meta: description = "d" strings: $a = "plain" condition: $a and arch != "sm_75" }\nrule s { condition: section == ".strtab" }'
    def told(path):
        return [(o["rule"], o["path"], o["message"], o["yara"]) for o in hits(path, MULTI)]
    equal(told(library.compile(text)), told(rules(text)), "as the text")
    lacks = 'rule a { strings: $a = "plain" condition: $a }'
    equal(told(library.compile(lacks, ())), told(rules(lacks)), "without any variable")
    r = cuvet("scan", "--yara", library.compile("rule a { condition: arch == 1 }", (), ("arch",)), MULTI)
    equal((r.rc, "as something else than a text" in r.err, r.out), (USAGE, True, ""), r.err)
    r = cuvet("scan", "--yara", library.compile('import "magic" rule a { condition: magic.type() == "" }'), MULTI)
    equal((r.rc, "needs files" in r.err), (USAGE, True), r.err)
    with open(library.compile(text), "rb") as f:
        good = bytearray(f.read())
    good[4] += 1
    r = cuvet("scan", "--yara", write(bytes(good), "other.yac"), MULTI)
    equal((r.rc, "another version of YARA" in r.err), (USAGE, True), r.err)


@test
def damaged_compiled_rules():
    """libyara dies of many: in its own process. Each ends with a code that is one, and says what happened; nothing hangs."""
    needed()
    text = ('import "elf" import "math"\nrule a : t { meta: description = "d" n = 3 strings: $a = "plain" $b = /pl[a-z]{2,9}/ $c = { 18 79 [2-9] 00 } '
            'condition: any of them and math.entropy(0, filesize) > 1 }\nrule s { condition: section == ".strtab" and elf.machine == 1 or for any i in (1..3): (uint8(i) == 9) }')
    with open(Library().compile(text), "rb") as f:
        good = f.read()
    chance = random.Random(15)
    seen = {}
    for i in range(3000 if FULL else 60):
        data = bytearray(good)
        if i % 5 == 0:
            data = data[:chance.randrange(4, len(data))]
        else:
            for _ in range(1 if i % 5 < 3 else 8):
                data[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
        begin = time.monotonic()
        r = cuvet("scan", "--yara", write(bytes(data), "bad.yac"), "--yara-timeout", "2", MULTI)
        assert r.rc in (CLEAN, FINDINGS, USAGE, LIMIT, INTERNAL), (i, r.rc, r.err)
        assert r.rc in (CLEAN, FINDINGS) or r.err, "without a word"
        assert r.rc != USAGE or (r.out == "" and "nothing was scanned" in r.err), r.err
        assert time.monotonic() - begin < 60, i
        seen[r.rc] = seen.get(r.rc, 0) + 1
    assert seen.get(USAGE, 0) > 10, seen


def children(pid):
    out = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                if name.isdigit() and int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    out.append(int(name))
        except OSError:
            continue
    return out


@test
def the_process_with_rules_dies():
    """No file is clean that no rule looked at, and the exit code says why."""
    needed()
    path = rules("rule x { condition: true }")
    p = subprocess.Popen([CUVET, "scan", "--format=ndjson", "--yara", path, "-", HOST, write(b"no device code")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # More than a pipe holds: who reads it has asked for rules before, and they were taken.
    p.stdin.write(read("multi.fatbin") + bytes(1 << 20))
    p.stdin.flush()
    for child in children(p.pid):
        os.kill(child, signal.SIGKILL)
    out, err = p.communicate()
    verdicts = [json.loads(line) for line in out.splitlines() if b'"type":"verdict"' in line]
    equal((p.returncode, [(o["verdict"], o["exit"]) for o in verdicts]), (INTERNAL, [("error", INTERNAL), ("error", INTERNAL), ("clean", CLEAN)]), err)
    assert "libyara died" in verdicts[0]["reason"] and "no rule looked at it" in verdicts[1]["reason"], verdicts


# ---- what rules cost ----

@test
def a_slow_rule():
    """A rule that takes too long ends as a limit that is named, for each file; others go on."""
    needed()
    path = rules('rule slow { condition: kind == "ptx" and for all i in (0..9223372036854775806): (uint8(i % filesize) < 256) }\nrule quick { condition: arch == "sm_90" }')
    begin = time.monotonic()
    r = cuvet("scan", "--format=ndjson", "--yara", path, "--yara-timeout", "1", PTX, sample("plain.sm_90.cubin"))
    assert time.monotonic() - begin < 15
    first, second = r.objects("verdict")
    equal((r.rc, first["verdict"], first["reason"], first["exit"]), (LIMIT, "limit", "rules took longer than --yara-timeout", LIMIT))
    equal((second["verdict"], second["yara_hits"]), ("suspicious", 1))
    text = cuvet("scan", "--yara", path, "--yara-timeout", "1", "--fail-on", "malformed", PTX)
    equal((text.rc, "rules took longer than --yara-timeout" in text.out), (CLEAN, True), text.out)


@test
def a_rule_that_matches_everywhere():
    needed()
    path = rules("rule flood { strings: $a = /./s $b = { ?? 00 } $c = /[^x]/ condition: all of them }")
    begin = time.monotonic()
    large = write(edit.container(edit.member(2, with_data(random.Random(1).randbytes(3 << 20)), 90)))
    r = cuvet("scan", "--format=ndjson", "--yara", path, large)
    told = [o for o in r.objects("finding") if "yara" in o]
    equal(len(told), 1)
    assert told[0]["yara"]["places"] > 1000000 and len(told[0]["yara"]["strings"]) <= 16, told[0]["yara"]["places"]
    assert len(r.raw) < 20000 and time.monotonic() - begin < 30


@test
def many_rules():
    """Of 100,000 that hit some are told and all are counted."""
    needed()
    path = rules("\n".join("rule r%d { condition: true }" % i for i in range(100000)))
    r = cuvet("scan", "--format=ndjson", "--yara", path, HOST)
    last, = r.objects("verdict")
    told = len([o for o in r.objects("finding") if "yara" in o])
    equal((told, last["yara_hits"], last["warnings"], last["suppressed"]), (128, 200000, 200000, 200000 - 128))
    single = rules("rule r { condition: true }")
    r = cuvet("scan", "--format=ndjson", "--limit", "diagnostics=3", "--yara", single, MULTI)
    equal((len([o for o in r.objects("finding") if "yara" in o]), r.objects("verdict")[0]["yara_hits"]), (3, 8), "of one rule")


@test
def work():
    """Sections that all lie over the same bytes cost what the limit allows, and the file says so."""
    needed()
    elf = edit.Elf(bytearray(with_data(bytes(range(256)) * 4096)))
    path = rules('rule x { condition: section == ".nv.global.init" }')
    good = write(bytes(elf), "x.cubin")
    equal(len(hits(path, good)), 1)
    r = cuvet("scan", "--format=ndjson", "--yara", path, "--limit", "work=1", good)
    last, = r.objects("verdict")
    equal((last["verdict"], last["reason"], r.rc), ("limit", "the limit 'work' ends what rules look at in this file", LIMIT))


@test
def threads_and_cages():
    needed()
    path = rules('rule x { strings: $a = "plain" condition: $a or section startswith ".text" }')
    many = [MULTI, HOST, PTX, "/nowhere", sample("lto.fatbin"), sample("long-names.a")]
    for form in ("text", "ndjson", "sarif"):
        one, more = (cuvet("scan", "--format", form, "--yara", path, "-j", jobs, *many) for jobs in ("1", "8"))
        equal((one.rc, one.raw), (more.rc, more.raw), form)
    plain = cuvet("scan", "--yara", path, MULTI)
    if "seccomp, landlock" in cuvet("--version").out:
        caged = cuvet("scan", "--sandbox=required", "--yara", path, MULTI)
        equal((caged.rc, caged.raw), (plain.rc, plain.raw), caged.err)
    open_ = cuvet("scan", "--no-sandbox", "--yara", path, MULTI)
    equal((open_.rc, open_.raw), (plain.rc, plain.raw))
    left, right = os.pipe()
    os.write(right, b"rule x { condition: true }")
    os.close(right)
    p = subprocess.run([CUVET, "scan", "--yara", "/dev/fd/%d" % left, PTX], pass_fds=[left], stdout=subprocess.PIPE, check=False)
    os.close(left)
    equal((p.returncode, b"YARA:x" in p.stdout), (FINDINGS, True), "rules out of a pipe")
    many = [write(read("plain.ptx"), "%d.ptx" % i) for i in range(3)]
    equal(cuvet("scan", "--yara", path, "--files-from", "-", stdin="\n".join(many).encode()).rc, FINDINGS)


# ---- contrib/yara ----

def with_data(data, section=".nv.global.init"):
    """A relocatable cubin one of whose sections of data is this."""
    elf = edit.Elf(bytearray(read("vars.sm_90.rdc.cubin")))
    at = edit.align(len(bytes(elf)), 16)
    elf.append(bytes(at - len(bytes(elf))) + data)
    elf.section(section, "offset", at)
    elf.section(section, "size", len(data))
    return bytes(elf)


def with_section(name, data):
    """A cubin one of whose sections of debug information begins like this."""
    elf = edit.Elf(bytearray(read("plain.sm_90.lineinfo.cubin")))
    elf.patch(name, elf.sget(name, "size") - len(data), data)
    return bytes(elf)


def ptx(old, new):
    text = read("plain.ptx")
    assert old in text, old
    return text.replace(old, new, 1)


ENTRY = b".visible .entry"
SHA = b"".join(x.to_bytes(4, "little") for x in (0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0xC67178F2))
KECCAK = b"".join(x.to_bytes(8, "little") for x in (1, 0x8082, 0x800000000000808A, 0x8000000080008000, 0x808B, 0x80000001, 0x8000000080008081, 0x8000000000008009, 0x8A, 0x88,
                                                  0x80008009, 0x8000000A, 0x8000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002,
                                                  0x8000000000000080, 0x800A, 0x800000008000000A))
HOME = b"/" + b"home/%s/project/x.cu\0"
RANDOM = random.Random(5).randbytes(20000)
# rule: (what it hits, what it is near to and does not)
CASES = {
    "home_directory": ([with_data(HOME % b"alice" * 2), ptx(ENTRY, b"// C:\\Users\\alice\\x\n.visible .entry"), with_data(b"/Users/bob/a/b\0")],
                       [with_data(HOME % b"runner" * 2), with_data(b"/homes/alice/x\0"), ptx(ENTRY, b"// C:\\Users\\runneradmin\\x\n.visible .entry")]),
    "source_path": ([ptx(ENTRY, b'.file\t1 "/srv/x/a.cu"\n.visible .entry'), with_section(".debug_line", b"\0\1/usr/src/x\0a.cu\0")], [ptx(ENTRY, b'.file\t1 "a.cu"\n.visible .entry'), "plain.sm_90.cubin"]),
    "debug_build": (["plain.sm_90.g.cubin", ptx(b".target sm_75", b".target sm_75, debug")], ["plain.sm_90.lineinfo.cubin", ptx(b".target sm_75", b".target sm_75 // debug")]),
    "device_printf": (["printer.sm_90.rdc.cubin", ptx(ENTRY, b".extern .func  (.param .b32 r) vprintf\n(\n\t.param .b64 a\n)\n;\n.visible .entry")],
                      ["plain.sm_90.rdc.cubin", ptx(ENTRY, b".extern .func my_vprintf\n(\n)\n;\n.visible .entry")]),
    "device_assert": ([ptx(ENTRY, b".extern .func __assertfail\n(\n\t.param .b64 a\n)\n;\n.visible .entry")], ["printer.sm_90.rdc.cubin", "plain.ptx"]),
    "breakpoint": ([ptx(b"\tret;", b"\tbrkpt;\n\tret;")], [ptx(b"\tret;", b"\ttrap;\n\tret;"), ptx(ENTRY, b"// brkpt\n.visible .entry")]),
    "device_launch": ([ptx(ENTRY, b".extern .func  (.param .b32 r) __cudaCDP2LaunchDeviceV2\n(\n\t.param .b64 a\n)\n;\n.visible .entry")], ["plain.ptx", "printer.sm_90.rdc.cubin"]),
    "grid_sync": ([ptx(b"\tret;", b"\tmov.u32 %r2, %envreg2;\n\tret;")], ["plain.ptx", ptx(b"\tret;", b"\tbar.sync 0;\n\tret;")]),
    "old_ptx": ([ptx(b".target sm_75", b".target sm_52")], ["plain.ptx", "plain.sm_75.cubin", ptx(b".target sm_75", b".target sm_100")]),
    "url_in_data": ([with_data(b"\0\0stratum+tcp://pool.example.org:4444\0"), with_data(b"https://example.org/q".ljust(32, b"\0"), ".nv.constant3")],
                    [with_data(b"http:\0//example"), "plain.sm_90.cubin", ptx(ENTRY, b"// https://example.org/q\n.visible .entry")]),
    "program_in_data": ([with_data(b"#!/bin/sh\ncurl\n"), with_data(b"\0" * 16 + b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\x3e\0"), with_data(b"MZ..This program cannot be run in DOS mode")],
                        ["plain.sm_90.cubin", "host-plain.so", with_data(b"#!/bin/true" + bytes(16))]),
    "random_data": ([with_data(RANDOM)], [with_data(RANDOM[:4096]), with_data(bytes(20000)), with_data(bytes(range(128)) * 200)]),
    "sha256_constants": ([with_data(SHA, ".nv.constant3"), with_data(b"".join(b"\0\0\0\0\0" + SHA[i:i + 4] for i in range(0, 28, 4)))], [with_data(SHA[4:]), with_data(SHA[::-1])]),
    "keccak_constants": ([with_data(KECCAK)], [with_data(KECCAK[:64]), with_data(KECCAK[::-1])]),
    "miner_kernel": ([ptx(b"_Z5plainPi(", b"_Z13ethash_searchPi("), ptx(b"_Z5plainPi(", b"cryptonight_core_gpu(")], ["plain.ptx", ptx(b"_Z5plainPi(", b"_Z9methashPi(")]),
}


@test
def rules_of_contrib():
    """Each rule hits what it is about, and not its neighbour."""
    needed()
    with open(CONTRIB, encoding="ascii") as f:
        text = f.read()
    there = {line.split()[1] for line in text.splitlines() if line.startswith("rule ")}
    equal(there, set(CASES), "rules with a case")
    folder, wanted = scratch(), {}
    for rule, cases in CASES.items():
        for good, inputs in enumerate(cases):
            for i, data in enumerate(inputs):
                name = "%s-%s-%d" % (rule, "is" if good == 0 else "near", i)
                wanted[write(data if isinstance(data, bytes) else read(data), name, folder)] = (rule, good == 0)
    found = {}
    r = cuvet("scan", "--format=ndjson", "--yara", CONTRIB, *wanted)
    equal(r.err, "", "no rule of ours is slow")
    for o in r.objects("finding"):
        if "yara" in o:
            found.setdefault(o["file"], set()).add(o["yara"]["rule"])
    for o in r.objects("verdict"):
        assert o["verdict"] != "limit" and o["yara_unseen"] == 0, o
    wrong = {os.path.basename(path): sorted(found.get(path, ())) for path, (rule, hit) in wanted.items() if (rule in found.get(path, ())) != hit}
    equal(wrong, {}, "hit, or not")


@test
def rules_of_contrib_are_quiet():
    """No warning and no error in what compilers make of harmless programs, but for those that were built to be debugged."""
    needed()
    r = cuvet("scan", "--format=ndjson", "--yara", CONTRIB, *samples())
    loud = {(os.path.basename(o["file"]), o["yara"]["rule"]) for o in r.objects("finding") if "yara" in o and o["severity"] != "note"}
    equal({rule for _, rule in loud}, {"debug_build"}, loud)
    assert all(".g." in name for name, _ in loud), loud


main()
