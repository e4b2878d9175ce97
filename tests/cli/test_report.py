# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet report: the page has what list, scan and map tell; nothing of a file gets out of its data; a browser shows it."""
import base64
import collections
import hashlib
import json
import os
import re
import resource
import struct
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "corpus"))
import edit  # noqa: E402
import lib_browser  # noqa: E402
from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, Result, Skip, USAGE, bad_container, cuvet, damaged_member, edited, equal, main, needs_packages, package, packed_cubin, read, sample, samples, scratch, test, write  # noqa: E402

MULTI, HOST, LTO = sample("multi.fatbin"), sample("host-plain.so"), sample("lto.fatbin")
EVIL = "</script><img src=x onerror=alert(1)><!--"
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


class Page:
    """The data of a page, read as its script reads it."""

    def __init__(self, text):
        self.text = text
        (data,) = DATA.findall(text)
        self.data = json.loads(data)
        equal(self.data["schema"], "cuvet-report/1")
        self.strings, self.files, self.packages, self.rules, self.end = [], [], [], {}, None
        for record in self.data["records"]:
            getattr(self, "take_" + record[0])(record[1:])
        assert self.end, "no end"

    def take_s(self, r):
        self.strings.append(r[0])

    def take_v(self, r):
        self.version = r[0]

    def take_limits(self, r):
        self.limits = dict(zip(r[0::4], r[1::4]))

    def take_f(self, r):
        self.files.append({"name": self.strings[r[0]], "entry": r[1], "pieces": [], "ranges": [], "findings": [], "codes": [], "cells": None})

    def take_l(self, r):
        at = last = 0
        for one in r[2].split(","):
            step, length, owner, section, index = re.fullmatch(r"(?:(-?[1-9]\d*)\+)?(\d+)\.(\d+)(:)?(\d*)", one).groups()
            assert section or not index, one
            last = last if not section else int(index) if index else last + 1
            at, length, owner, index = at + int(step or 0), int(length), int(owner), last if section else 0
            self.files[-1]["ranges"].append((at, length, self.strings[owner // 2], index, bool(owner % 2), bool(r[1]), self.strings[r[0]]))
            at += length

    def take_c(self, r):
        self.files[-1]["cells"] = r

    def take_d(self, r):
        self.files[-1]["findings"].append(dict(zip(("rule", "severity", "path", "message", "offset", "length", "inner", "whose", "start", "hex"), r), path=self.strings[r[2]]))

    def take_p(self, r):
        s = self.strings
        assert r[10] in (0, 1), r
        self.files[-1]["pieces"].append({"nested": r[10] == 1, "path": s[r[0]], "kind": s[r[1]], "arch": s[r[2]], "stored": r[3], "size": r[4], "compression": s[r[5]], "offset": r[6], "producer": s[r[7]], "errors": r[8], "warnings": r[9], "archive": r[11] if len(r) > 11 else None, "kernels": [], "sections": {}})

    def take_k(self, r):
        for name, code, registers, stack, shared, local, barriers in zip(*[iter(r)] * 7):
            self.files[-1]["pieces"][-1]["kernels"].append((self.strings[name], code, registers, stack, shared, local, barriers))

    def take_t(self, r):
        self.files[-1]["pieces"][-1]["kernels"].append((self.strings[r[0]],))

    def take_n(self, r):
        front = None
        for i, one in enumerate(r[1].split(",")):
            front, rest = map(int, one.split(".")) if "." in one else (front, int(one))
            self.files[-1]["pieces"][-1]["sections"][r[0] + i] = self.strings[front] + self.strings[rest]

    def take_a(self, r):
        self.files[-1]["codes"].append(tuple(r))

    def take_e(self, r):
        names = ("verdict", "why", "length", "sha256", "pieces", "kernels", "containers", "stored", "size", "errors", "warnings", "notes", "shown_pieces", "shown_findings", "ranges", "shown_ranges", "inner", "shown_inner")
        self.files[-1]["end"] = dict(zip(names, r))

    def take_z(self, r):
        self.packages.append((self.strings[r[0]], r[1], r[2]))

    def take_rule(self, r):
        self.rules[r[0]] = r[1:]

    def take_end(self, r):
        self.end = dict(zip(("inputs", "files", "hidden", "packages", "pieces", "kernels", "tally"), r))


def report(*args, rc=CLEAN, **how):
    r = cuvet("report", *args, **how)
    equal(r.rc, rc, r.err[:300])
    return Page(r.raw.decode("utf-8"))


def ptx_of(names):
    return (".version 8.0\n.target sm_75\n.address_size 64\n" + "".join(".visible .entry %s()\n{\n\tret;\n}\n" % name for name in names)).encode()


def opens_packages():
    return bool(cuvet("scan", "--format=ndjson", package(a=b"x")).objects("package"))


def inputs():
    files = [HOST, MULTI, LTO, sample("long-names.a"), sample("plain.ptx"), sample("plain.sm_90.cubin"), sample("whole.sm_75.cubin")]
    return files + ([package(a=read("multi.fatbin"), readme=b"x" * 1000, b=read("host-plain.so"))] if opens_packages() else [])


@test
def as_list_tells_it():
    paths = inputs()
    page = report(*paths)
    members = cuvet("list", "--kernels", "--format=ndjson", *paths).objects("member")
    pieces = [(f, p) for f in page.files for p in f["pieces"]]
    equal(len(pieces), len(members))
    for (f, p), m in zip(pieces, members):
        equal((f["name"], p["path"], p["kind"], p["arch"] or None, p["stored"], p["size"], p["compression"], p["offset"]),
              (m["file"], m["path"], m["kind"], m["arch"], m["stored_size"], m["size"], m["compression"], m["payload_offset"]))
        equal(p["archive"], m.get("archive_member"))
        if m["kind"] == "elf":
            by_name = {fn["name"]: fn for fn in m["functions"]}
            wanted = [(n, by_name[n]["registers"], by_name[n]["stack"], by_name[n]["shared"], by_name[n]["local"]) for n in m["kernel_names"]]
            equal([(k[0], k[2], k[3], k[4], k[5]) for k in p["kernels"]], wanted, p["path"])
            assert all(k[1] > 0 for k in p["kernels"]), p["kernels"]
    equal(page.end["pieces"], len(members))
    equal(page.end["kernels"], sum(len(p["kernels"]) for _, p in pieces))


@test
def as_scan_tells_it():
    bad = write(bad_container(), "bad.fatbin")
    paths = inputs() + [bad, write(damaged_member(), "damaged.fatbin")]
    page = report(*paths, rc=FINDINGS)
    scanned = cuvet("scan", "--format=ndjson", *paths)
    verdicts = {v["file"]: v for v in scanned.objects("verdict")}
    for f in page.files:
        v, e = verdicts[f["name"]], f["end"]
        equal((e["verdict"], e["pieces"], e["errors"], e["warnings"], e["notes"], e["stored"], e["size"], e["containers"]),
              (v["verdict"], v["members"] + v["images"], v["errors"], v["warnings"], v["notes"], v["stored"], v["unpacked"], v["containers"]), f["name"])
        equal((e["shown_pieces"], e["shown_findings"]), (len(f["pieces"]), len(f["findings"])))
        if not f["entry"]:
            with open(f["name"], "rb") as data:
                equal(e["sha256"], hashlib.sha256(data.read()).hexdigest())
        sums = collections.Counter()
        for p in f["pieces"]:
            sums[(p["arch"], p["kind"])] += 1
        equal({(a, k): n for a, k, n, *_ in f["codes"]}, dict(sums), f["name"])
    told = [(f["name"], d["rule"], d["path"], d["offset"], d["inner"], d["message"]) for f in page.files for d in f["findings"]]
    wanted = [(o["file"], o["rule"], o["path"], o["offset"], o.get("inner_offset"), o["message"]) for o in scanned.objects("finding")]
    equal(sorted(told, key=repr), sorted(wanted, key=repr))
    equal(set(page.rules), {t[1] for t in told})
    for r in cuvet("rules", "--format=ndjson", *page.rules).objects("rule"):
        equal((page.rules[r["rule"]][0], page.rules[r["rule"]][1], page.rules[r["rule"]][3], page.rules[r["rule"]][4]), (r["severity"], r["class"], r["title"], r["why"]))
    tally = {name: n for name, n, _, _ in zip(*[iter(page.end["tally"])] * 4)}
    equal(tally, {name: sum(v["verdict"] == name for v in verdicts.values()) for name in tally})
    limits = dict(line.split()[:2] for line in cuvet("scan", "--list-limits").out.splitlines()[1:] if line.strip())
    assert set(page.limits) >= {"work", "live", "budget"}, limits
    equal(report("--limits", "tiny", MULTI, rc=cuvet("scan", "--limits", "tiny", MULTI).rc).limits["members"] != page.limits["members"], True)


@test
def as_map_tells_it():
    for path in (MULTI, HOST, LTO, sample("long-names.a"), sample("plain.sm_90.cubin"), sample("plain.ptx")):
        (f,) = report(path).files
        wanted = [(c["offset"], c["length"], c["owner"], c.get("index", 0), c["shared"], c["inner"], c["path"]) for c in cuvet("map", "--format=ndjson", path).objects("claim")]
        equal(f["ranges"], wanted, path)
        equal((f["end"]["ranges"] + f["end"]["inner"], f["cells"]), (len(wanted), None), path)
    (f,) = report(HOST).files
    sections = f["pieces"][0]["sections"]
    dumped = [o for o in cuvet("dump", "--sections", "--format=ndjson", "--member", "0", HOST).objects() if o["type"] == "section"]
    equal([sections[o["index"]] for o in dumped if o["index"] > 0], [o["name"] for o in dumped if o["index"] > 0])


@test
def no_byte_is_counted_twice():
    """What is shown as areas are bytes of the file: no more than it has, also where containers lie in containers."""
    elf = read("plain.sm_90.cubin")
    inner = edit.container(*[edit.member(2, elf, 90) for _ in range(3)])
    nested = write(edit.container(edit.member(2, elf, 90), edit.member(2, inner, 90, how="zstd"), edit.member(2, edit.container(edit.member(2, inner, 90, how="lz4")), 90)))
    for path in [nested] + samples()[::4]:
        page = report(path, rc=cuvet("scan", path).rc)
        for f in page.files:
            stored, size = (sum(c[at] for c in f["codes"]) for at in (3, 4))
            outer = [p for p in f["pieces"] if not p["nested"]]
            equal(outer, [p for p in f["pieces"] if p["path"].count("fatbin[") < 2], path)
            equal((stored, size), (sum(p["stored"] for p in outer), sum(p["size"] for p in outer)), path)
            equal(sum(c[2] for c in f["codes"]), len(f["pieces"]), path)
            assert stored <= os.path.getsize(path), path
            assert path != nested or len(f["pieces"]) > len(outer) + 5, path


@test
def hex_of_the_place():
    data = damaged_member()
    (f,) = report(write(data), rc=FINDINGS).files
    (d,) = [d for d in f["findings"] if d["severity"] == 2]
    equal((d["inner"], d["whose"]), (None, 0))
    shown = bytes.fromhex(d["hex"])
    equal(shown, data[d["start"]:d["start"] + 80])
    assert d["start"] <= d["offset"] - 16 and d["offset"] + 48 <= d["start"] + 80, d
    # Inside of a packed member: the bytes that it was unpacked to.
    (f,) = report(write(packed_cubin(24, "Q", 64)), rc=FINDINGS).files
    (d,) = [d for d in f["findings"] if d["rule"] == "CV-ELF-015"]
    elf = bytearray(read("plain.sm_75.cubin"))
    struct.pack_into("<Q", elf, 24, 64)
    equal((d["inner"], d["whose"], bytes.fromhex(d["hex"])), (24, 1, bytes(elf)[d["start"]:d["start"] + 80]))
    # At the end of a file, and behind it.
    (f,) = report(write(read("default.fatbin")[:-1]), rc=FINDINGS).files
    for d in f["findings"]:
        equal(bytes.fromhex(d["hex"]), read("default.fatbin")[:-1][d["start"]:d["start"] + 80], d)


def hostile_inputs():
    """Names that want to be markup: of files, of members of archives, of kernels, of producers."""
    where = scratch()
    with open(os.path.join(where, EVIL.replace("/", "\\") + "\u2028\u202e\x01.cubin"), "wb") as f:
        f.write(read("plain.sm_90.cubin"))
    name = b"</script><b>"
    elf = read("plain.sm_75.cubin").replace(b"_Z5plainPi", name[:10])
    assert elf != read("plain.sm_75.cubin")
    ptx = read("plain.ptx").replace(b"_Z5plainPi", b"_$script$x")
    out = [os.path.join(where, n) for n in os.listdir(where)] + [write(elf, "kernel.cubin"), write(ptx, "kernel.ptx")]
    archive = b"!<arch>\n" + b"<script>x/".ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8) + str(len(elf)).encode().ljust(10) + b"`\n" + elf
    out.append(write(archive, "names.a"))
    if opens_packages():
        out.append(package(**{EVIL: read("multi.fatbin"), "a&lt;b": bad_container()}))
    return out


@test
def nothing_gets_out_of_the_data():
    paths = hostile_inputs()
    r = cuvet("report", *paths)
    text = r.raw.decode("utf-8")
    page = Page(text)
    names = [f["name"] for f in page.files] + [k[0] for f in page.files for p in f["pieces"] for k in p["kernels"]] + [p["archive"] or "" for f in page.files for p in f["pieces"]]
    assert any("<img" in n for n in names) and any("</script" in n[:9] for n in names) and any("<script>" in n for n in names), names
    # Around the data the page is the same, whatever is in it.
    plain = cuvet("report", MULTI).raw.decode("utf-8")
    equal(DATA.sub("", text), DATA.sub("", plain))
    (data,) = DATA.findall(text)
    for bad in "<>&\u2028\u2029\u202e\x01\x7f":
        assert bad not in data, hex(ord(bad))


@test
def the_policy_of_the_page():
    text = cuvet("report", MULTI).raw.decode("utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy"\s+content="([^"]*)">', text)
    rules = dict((part.split() + [""])[:1] + [part.split()[1:]] for part in policy.split(";"))
    equal(rules["default-src"], ["'none'"])
    for kind, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        (part,) = re.findall(pattern, text, re.S)
        equal(rules[kind], ["'sha256-%s'" % base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()])
    equal((rules["base-uri"], rules["form-action"], rules["require-trusted-types-for"]), (["'none'"], ["'none'"], ["'script'"]))
    # Nothing is loaded, nothing is read as markup, nothing runs out of an attribute.
    frame = DATA.sub("", text)
    for bad in ("http:", "https:", "//www", "src=", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "XMLHttp", "import(", "onclick=", "onload=", "@@"):
        assert bad not in frame, bad
    (count,) = [len(re.findall(r"<script", text))]
    equal(count, 2)


@test
def same_input_same_page():
    paths = inputs()
    equal(cuvet("report", *paths).raw, cuvet("report", *paths).raw)
    out = os.path.join(scratch(), "page.html")
    equal(cuvet("report", "-o", out, *paths).rc, CLEAN)
    with open(out, "rb") as f:
        equal(f.read(), cuvet("report", *paths).raw)
    equal(cuvet("report", "-o", "-", MULTI).raw, cuvet("report", MULTI).raw)


@test
def where_it_goes():
    where = scratch()
    out = os.path.join(where, "page.html")
    r = cuvet("report", MULTI, "-o", out)
    equal((r.rc, r.raw, r.err), (CLEAN, b"", ""))
    with open(out, "rb") as f:
        first = f.read()
    r = cuvet("report", HOST, "-o", out)
    equal(r.rc, IO)
    assert "--force" in r.err, r.err
    with open(out, "rb") as f:
        equal(f.read(), first, "the old page")
    equal(cuvet("report", HOST, "-o", out, "--force").rc, CLEAN)
    with open(out, "rb") as f:
        assert f.read() != first
    equal(cuvet("report", MULTI, "-o", os.path.join(where, "no", "page.html")).rc, IO)
    # Never over what is read: named, found in a folder, or in a list.
    mine = write(read("multi.fatbin"), "mine.fatbin", where)
    listed = write(mine.encode() + b"\n", "list")
    for args in ([mine], ["-r", where], ["--files-from", listed]):
        r = cuvet("report", *args, "-o", mine, "--force")
        equal(r.rc, USAGE, args)
        with open(mine, "rb") as f:
            equal(f.read(), read("multi.fatbin"), args)
    equal(sorted(os.listdir(where)), ["mine.fatbin", "page.html"])
    equal(cuvet("report", "-o", out).rc, USAGE)
    # Where nothing can be written nothing is left.
    r = cuvet("report", MULTI, "-o", out + "2", preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    equal((r.rc, os.path.exists(out + "2")), (IO, False))
    equal(sorted(os.listdir(where)), ["mine.fatbin", "page.html"])
    r = cuvet("report", MULTI, stdout=open("/dev/full", "wb"))
    equal(r.rc, IO)


@test
def what_cannot_be_read():
    page = report("/nonexistent", MULTI, rc=IO)
    equal([(f["end"]["verdict"], f["end"]["why"] != "") for f in page.files], [("error", True), ("clean", False)])
    empty = report(write(b""), rc=cuvet("scan", write(b"")).rc)
    equal((len(empty.files), empty.files[0]["pieces"]), (1, []))
    noise = report(write(bytes(range(256)) * 100))
    equal(noise.end["pieces"], 0)
    # Nothing at all: a folder without files.
    nothing = report("-r", scratch(), rc=cuvet("scan", "-r", scratch()).rc)
    equal((nothing.files, nothing.end["inputs"]), ([], 0))


@test
def damaged_files():
    for path in [write(read("multi.fatbin")[:n]) for n in (0, 1, 15, 16, 17, 100, 900, 3000, 8000)] + [write(edited("multi.fatbin", off, "Q", 2 ** 64 - 1)) for off in range(0, 144, 8)]:
        scanned = cuvet("scan", "--format=ndjson", path)
        page = report(path, rc=scanned.rc)
        (v,) = scanned.objects("verdict")
        equal((page.files[0]["end"]["verdict"], page.files[0]["end"]["errors"]), (v["verdict"], v["errors"]))


@test
def all_of_the_hostile_corpus():
    """Whatever is wrong with a file, the page is whole and says what a scan says."""
    corpus = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "corpus", "hostile")
    r = cuvet("report", "-r", "--limits", "tiny", corpus)
    page = Page(r.raw.decode("utf-8"))
    scanned = cuvet("scan", "-r", "--limits", "tiny", "--format=ndjson", corpus)
    equal(r.rc, scanned.rc)
    verdicts = {v["file"]: v for v in scanned.objects("verdict")}
    for f in page.files:
        v, e = verdicts[f["name"]], f["end"]
        equal((e["verdict"], e["pieces"], e["errors"], e["warnings"]), (v["verdict"], v["members"] + v["images"], v["errors"], v["warnings"]), f["name"])
    assert len(page.files) > 1000, len(page.files)
    tally = {name: n for name, n, _, _ in zip(*[iter(page.end["tally"])] * 4)}
    equal(tally, {name: sum(v["verdict"] == name for v in verdicts.values()) for name in tally})
    equal(sum(tally.values()), page.end["inputs"])


@test
def packages():
    needs_packages()
    path = package(a=read("multi.fatbin"), readme=b"hello", b=bad_container(), c=b"")  # of nothing there is a note
    page = report(path, rc=FINDINGS)
    equal([f["name"] for f in page.files], [path + "!/a", path + "!/b"])
    equal([(p[0], p[1]) for p in page.packages], [(path, 4)])
    equal((page.end["inputs"], page.end["packages"]), (4, 1))
    equal(len(report("--no-packages", path, rc=cuvet("scan", "--no-packages", path).rc).files), 1)
    empty = report(package(**{"d/": b""}))  # without an entry it is a file
    equal((empty.packages, [f["end"]["verdict"] for f in empty.files]), ([], ["unsupported"]))
    # A package without device code has no files, and says so.
    equal((report(package(a=b"text")).files, report(package(a=b"text")).end["inputs"]), ([], 1))


def many_members(count):
    """A fat binary with so many small members: those of multi.fatbin, in containers of 4,000."""
    data = read("multi.fatbin")
    members, at = [], 16
    while at < len(data):
        header, payload = struct.unpack_from("<IQ", data, at + 4)
        members.append(data[at:at + header + payload])
        at += header + payload
    out = []
    for first in range(0, count, 4000):
        body = b"".join(members[i % len(members)] for i in range(first, min(count, first + 4000)))
        out.append(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    return write(b"".join(out), "many.fatbin")


@test
def what_is_too_much_is_counted():
    """The same sums, and the page says what it has not."""
    n = 160000 if os.environ.get("CV_FULL") else 10000
    path = many_members(n)
    r = cuvet("report", path)
    page = Page(r.raw.decode())
    (f,) = page.files
    equal((f["end"]["pieces"], sum(c[2] for c in f["codes"])), (n, n))
    equal((f["end"]["shown_pieces"], f["end"]["shown_ranges"]), (len(f["pieces"]), sum(not x[5] for x in f["ranges"])))
    equal(f["end"]["shown_inner"], sum(x[5] for x in f["ranges"]))
    assert len(r.raw) < 60 << 20, len(r.raw)
    if not os.environ.get("CV_FULL"):
        return
    assert f["end"]["shown_inner"] < f["end"]["inner"] and f["end"]["shown_ranges"] < f["end"]["ranges"], f["end"]
    if f["cells"]:
        size, owners, *cells = f["cells"]
        equal(sum(cells), os.path.getsize(path), "each byte is in a cell")


class Spent:
    """Processor time of what ends in the meantime."""

    def __enter__(self):
        self.before = resource.getrusage(resource.RUSAGE_CHILDREN)
        return self

    def __exit__(self, *what):
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = after.ru_utime + after.ru_stime - self.before.ru_utime - self.before.ru_stime


@test
def a_million_entries():
    """Of PTX: kernels have a bound on the page and in memory, and all are counted."""
    if not os.environ.get("CV_FULL"):
        raise Skip("CV_FULL=1 makes PTX with a million entries")
    count, most = 1000000, 64 << 20
    with open(CUVET, "rb") as f:
        most = resource.RLIM_INFINITY if re.search(rb"__(asan|tsan)_init", f.read()) else most  # which need memory of their own
    path = write(ptx_of("k%07d" % i for i in range(count)), "many.ptx")
    with Spent() as spent:
        r = cuvet("report", path, preexec=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
    equal(r.rc, CLEAN, r.err[:300])
    page = Page(r.raw.decode())
    (f,) = page.files
    shown = len(f["pieces"][0]["kernels"])
    print("%d entries, %d of them on the page: %.1f s of processor time, %.1f MB" %
          (count, shown, spent.seconds, len(r.raw) / 1e6))
    equal((f["end"]["kernels"], page.end["kernels"], f["codes"][0][5]), (count, count, count))
    assert 0 < shown < count and len(r.raw) < 16 << 20, (shown, len(r.raw))


# ---- in a browser ----

LONG = "window.longs = []; new PerformanceObserver((l) => { for (const e of l.getEntries()) longs.push(Math.round(e.duration)); }).observe({ entryTypes: ['longtask'] });"
WAIT = "new Promise((done) => setTimeout(done, %d))"


def saved(*args):
    out = os.path.join(scratch(), "page.html")
    r = cuvet("report", "-o", out, *args)
    assert r.rc in (CLEAN, FINDINGS), r.err
    return out


def type_text(browser, text):
    browser.run("document.querySelector('#piece-controls input').focus(); document.querySelector('#piece-controls input').select()")
    for letter in text:
        browser.call("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=letter)


@test
def a_browser_shows_it():
    bad = write(packed_cubin(24, "Q", 64), "bad.fatbin")
    out = saved(HOST, MULTI, LTO, bad)
    pictures = []
    for dark in (False, True):
        with lib_browser.Browser(dark=dark) as b:
            b.open(out)
            pictures.append(b.picture())
            equal(b.complaints(), [])
            equal([u for u in b.requests() if not u.startswith("file://")], [])
            equal(len(b.requests()), 1)
            equal(b.run("document.querySelector('#verdict').className"), "malformed")
            equal(b.run("getComputedStyle(document.body).backgroundColor"), "rgb(15, 19, 24)" if dark else "rgb(255, 255, 255)")
            if dark:
                continue
            text = b.run("document.body.innerText")
            for word in ("CV-ELF-015", "e_entry 0x40, expected 0", "sm_90", "lto_90", "lacks"):
                assert word in text, word
            equal(b.run("document.querySelectorAll('#finding-list mark').length > 0"), True)
            # Keys: into a cell of the treemap, and back.
            b.run("document.querySelector('#treemap').focus()")
            for key in ("ArrowRight", "Enter"):
                b.call("Input.dispatchKeyEvent", type="keyDown", key=key)
            equal(b.run("document.querySelectorAll('#crumbs button').length"), 2)
            b.call("Input.dispatchKeyEvent", type="keyDown", key="Backspace")
            equal(b.run("document.querySelectorAll('#crumbs button').length"), 1)
            # From a finding to its bytes: those inside.
            b.run("[...document.querySelectorAll('#finding-list button')].find((x) => x.textContent === 'Show in the ledger').click()")
            assert "unpacked bytes of fatbin[0]/entry[0]" in b.run("document.querySelector('#ledger-controls').innerText")
            # A piece, and its kernels.
            b.run("document.querySelector('#table .row').click()")
            assert "_Z5plainPi" in b.run("document.querySelector('#piece').innerText")
            b.run("document.querySelector('#theme').value = 'dark'; document.querySelector('#theme').dispatchEvent(new Event('change'))")
            equal(b.run("getComputedStyle(document.body).backgroundColor"), "rgb(15, 19, 24)")
            b.run("dispatchEvent(new Event('beforeprint'))")
            equal(b.complaints(), [])
    assert len(pictures[0]) > 20000 and pictures[0] != pictures[1], [len(p) for p in pictures]


@test
def a_stack_that_nobody_knows():
    with lib_browser.Browser() as b:
        b.open(saved(sample("whole.sm_75.cubin")))
        b.run("document.querySelector('#table .row').click()")
        equal(b.run("[...document.querySelector('#piece').innerText.matchAll(/unknown/g)].length"), 1)


@test
def a_phone_shows_it():
    out = saved(HOST, MULTI)
    with lib_browser.Browser(width=390, height=800) as b:
        b.open(out)
        assert b.run("document.documentElement.scrollWidth <= innerWidth"), "wider than the phone"
        equal(b.complaints(), [])


@test
def hostile_names_in_a_browser():
    out = saved(*hostile_inputs())
    with lib_browser.Browser() as b:
        b.open(out)
        equal(b.complaints(), [])
        equal(len(b.requests()), 1, b.requests())
        equal(b.run("document.querySelectorAll('img, b script, iframe, object').length"), 0)
        equal(b.run("document.querySelectorAll('script').length"), 1)  # the data is taken out when it is read
        assert "<img src=x" in b.run("document.body.innerText") or not opens_packages()
        # What would be tried by somebody who got this far: refused by the policy.
        b.run("new Promise((done) => { window.ran = 0; const s = document.createElement('div'); try { s.innerHTML = '<img src=x onerror=ran=1>'; window.set = 1; } catch (e) { window.set = 0; } setTimeout(done, 100); })")
        equal((b.run("window.set"), b.run("window.ran")), (0, 0))


@test
def enormous_names():
    """Names that want to fill the page, or to be what JavaScript has: each part keeps its bound, and what has no room is counted."""
    needs_packages()
    elf = read("plain.ptx")
    long = {"%04d/" % i + "\u202e\U000e0041" * 500: elf for i in range(600)}
    strange = {name: elf for name in ("__proto__", "constructor", "toString", "\u2028", "<!--<script>", "]]>", "'\"`${x}", "%00")}
    kernels = ptx_of(["__proto__", "constructor", "hasOwnProperty", "valueOf"] + ["k" + "x" * 60000, "$_%" * 100])
    path = package(**strange, **long, kernels=kernels)
    r = cuvet("report", path)
    page = Page(r.raw.decode())
    equal((r.rc, page.end["files"], len(page.files) + page.end["hidden"]), (CLEAN, 609, 609))
    assert page.end["hidden"] > 0 and len(r.raw) < 20 << 20, (page.end, len(r.raw))
    equal(sum(f["end"]["pieces"] for f in page.files), len(page.files))
    equal(page.end["pieces"], 609)
    out = saved(path)
    with lib_browser.Browser() as b:
        b.open(out)
        equal(b.complaints(), [])
        b.run("[...document.querySelectorAll('#piece-controls button')].find((x) => x.textContent === 'kernels').click()")
        text = b.run("document.body.innerText")
        assert "were not on" not in text and "not on this page" in text, "what has no room is said"
        assert b.run("document.documentElement.scrollWidth <= innerWidth"), "wider than the window"
        equal(b.complaints(), [])


# What people need who use keys or a screen reader: as axe has it, whose rules the page keeps.
NAMELESS = """JSON.stringify({
    nameless: [...document.querySelectorAll('button, select, input, canvas:not([aria-hidden])')].filter((x) => !(x.getAttribute('aria-label') || x.textContent.trim() || x.labels && x.labels.length)).map((x) => x.outerHTML.slice(0, 80)),
    ids: [...document.querySelectorAll('[id]')].map((x) => x.id).filter((x, i, all) => all.indexOf(x) !== i),
    headings: [...document.querySelectorAll('h1, h2, h3, h4')].map((x) => Number(x.tagName[1])).filter((x, i, all) => i && x > all[i - 1] + 1),
    stuck: [...document.querySelectorAll('*')].filter((x) => x.scrollHeight > x.clientHeight + 2 && /auto|scroll/.test(getComputedStyle(x).overflowY) && x.tabIndex < 0 &&
        !x.querySelector('a, button, input, select, [tabindex]')).map((x) => x.outerHTML.slice(0, 80))})"""
# Presses, keys, words, clicks, in an order that nobody would think of.
WALK = """(async () => {
    let seed = %d;
    const any = (n) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) %% Math.max(1, n);
    const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Enter', 'Backspace', 'Escape', 'Home', 'End', 'PageDown', '+', '-'];
    for (let i = 0; i < %d; i++) {
        const all = [...document.querySelectorAll('button:not(:disabled), select, input, canvas, .vt .body, .row.pick')], x = all[any(all.length)], box = x.getBoundingClientRect();
        const place = { clientX: box.left + any(box.width | 0), clientY: box.top + any(box.height | 0), bubbles: true, deltaY: any(3) - 1, ctrlKey: true };
        if (x.tagName === 'SELECT') {
            x.selectedIndex = any(x.options.length);
            x.dispatchEvent(new Event('change'));
        } else if (x.tagName === 'INPUT') {
            x.value = ['', 'a', 'sm_9', '\\\\', '[', 'k1 k2'][any(6)];
            x.dispatchEvent(new Event('input'));
        } else if (x.tagName === 'BUTTON' || x.classList.contains('row'))
            x.click();
        else {
            for (let k = 0; k < 3; k++) x.dispatchEvent(new KeyboardEvent('keydown', { key: keys[any(keys.length)] }));
            for (const what of ['mousemove', 'click', 'dblclick']) x.dispatchEvent(new MouseEvent(what, place));
            x.dispatchEvent(new WheelEvent('wheel', place));
            x.scrollTop = any(1e6);
        }
        if (i %% 10 === 0) await new Promise((done) => setTimeout(done, 10));
    }
    await new Promise((done) => setTimeout(done, 300));
})()"""


@test
def whoever_uses_it():
    """Nothing is without a name, and nothing that can be pressed, in any order, breaks it."""
    bad = [os.path.join(folder, name) for folder, _, names in sorted(os.walk(os.path.join(ROOT, "corpus", "hostile"))) for name in sorted(names)]
    r = cuvet("report", HOST, MULTI, LTO, *bad[::1 if os.environ.get("CV_FULL") else 40])
    out = write(r.raw, "page.html")
    for dark in (False, True):
        with lib_browser.Browser(dark=dark) as b:
            b.open(out)
            b.run("document.querySelectorAll('details').forEach((x) => { x.open = true; })")
            equal(json.loads(b.run(NAMELESS)), {"nameless": [], "ids": [], "headings": [], "stuck": []})
            b.run(WALK % (15 + dark, 1000 if os.environ.get("CV_FULL") else 120), timeout=480)
            equal(json.loads(b.run(NAMELESS)), {"nameless": [], "ids": [], "headings": [], "stuck": []}, "afterwards")
            equal((b.complaints(), len(b.requests())), ([], 1))


@test
def fifty_thousand_members():
    """Opens soon; typing does not wait."""
    full = bool(os.environ.get("CV_FULL"))
    if not full:
        raise Skip("CV_FULL=1 makes a page of 50,000 members")
    path = many_members(50000)
    with Spent() as spent:
        out = saved(path)
    with lib_browser.Browser() as b:
        b.open(out, LONG)
        ready = b.run("Number(document.documentElement.dataset.ready)")
        first = b.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print("50,000 members: %.1f MB, written in %.1f s of processor time, first picture after %d ms, all of it after %d ms (%s), long tasks %s ms" %
              (os.path.getsize(out) / 1e6, spent.seconds, first, ready, b.run("document.documentElement.dataset.steps"), b.run("longs")))
        time.sleep(0.5)
        b.run("longs.length = 0")
        before = b.run("document.documentElement.dataset.filtered")
        start = time.monotonic()
        type_text(b, "sm_100f")
        while b.run("document.querySelector('#piece-count').innerText").startswith("50,000") or b.run("document.documentElement.dataset.filtered") == before:
            assert time.monotonic() - start < 10, "the filter does not end"
        b.run(WAIT % 300)
        print("typing: %d ms to the answer, long tasks %s ms" % (1000 * (time.monotonic() - start) - 300, b.run("longs")))
        equal(b.run("document.querySelector('#piece-count').innerText"), "6,250 of 50,000 pieces.")
        assert max(b.run("longs") + [0]) < 200, b.run("longs")
        b.run("longs.length = 0; for (const h of document.querySelectorAll('#table .head button')) h.click()")
        b.run("document.querySelector('#table .body').scrollTop = 1e9")
        b.run(WAIT % 300)
        equal(b.complaints(), [])
        assert ready < 3000, ready  # on a machine where others work as well; measured alone: see docs/report.md


if __name__ == "__main__":
    sys.exit(main())
