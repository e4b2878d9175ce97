# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scan --yara against whoever made the rules, or the file: a process with libyara that was taken over says what it wants, and a file is made so
that rules see less of it. Nothing is hidden without a word."""
import json
import os
import struct
import sys
import time

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import edit  # noqa: E402
from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, Skip, USAGE, cuvet, equal, main, needs_packages, package, read, sample, scratch, test, write  # noqa: E402

FULL = bool(os.environ.get("CV_FULL"))
MULTI, PTX = sample("multi.fatbin"), sample("plain.ptx")
INTERNAL, CAGE = 5, 6
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(CUVET)), "tests", "libhostile_yara.so")
CONTRIB = os.path.join(ROOT, "contrib", "yara", "device-code.yar")


def rules(text):
    return write(text.encode(), "rules.yar")


def needed():
    r = cuvet("scan", "--yara", rules("rule x { condition: false }"), PTX)
    if "needs libyara" in r.err:
        raise Skip("libyara is not there, no rule was run: " + r.err.strip())
    equal((r.rc, r.err), (CLEAN, ""))


def hits(*args):
    r = cuvet("scan", "--format=ndjson", "--yara", *args)
    return [o for o in r.objects("finding") if "yara" in o], r.objects("verdict"), r


# ---- a process that was taken over ----

def evil(what, *args, form="ndjson", **how):
    if not os.path.exists(HOSTILE):
        raise Skip("no hostile libyara beside the command (make tests-build)")
    needed()
    folder = scratch()
    for name in ("libyara.so.9", "libyara.so.10"):
        os.symlink(HOSTILE, os.path.join(folder, name))
    begin = time.monotonic()
    r = cuvet("scan", "--format=" + form, "--yara", rules("rule x { condition: true }"), *args, env={"LD_LIBRARY_PATH": folder, "EVIL": what}, **how)
    for text in (r.raw, r.err_raw):
        assert b"\x1b" not in text and b"\a" not in text and b"\xe2\x80\xae" not in text, text[:400]
        text.decode("utf-8")
    return r, time.monotonic() - begin


@test
def it_says_hello():
    """Whatever it says first is text of a bounded length, on a terminal as well."""
    for what, rc in (("no end", USAGE), ("escapes", IO), ("escapes of a cage", CAGE), ("state", USAGE)):
        r, _ = evil(what, MULTI)
        equal((r.rc, r.raw), (rc, b""), what)
        assert r.err and len(r.err) < 4000, len(r.err)
    r, _ = evil("no end", MULTI)
    assert "aaa" not in r.err, r.err


@test
def it_forges():
    """It can say hits at places that there are; nothing else gets through, and the file says so."""
    r, _ = evil("good", MULTI)
    equal(r.rc, FINDINGS, r.err)
    for what in ("behind", "section", "places", "outcome", "none", "without end"):
        r, _ = evil(what, MULTI, PTX)
        first, second = r.objects("verdict")
        equal((r.rc, first["verdict"], second["verdict"]), (INTERNAL, "error", "error"), what)
        assert "libyara died" in first["reason"] and "no rule looked at it" in second["reason"], first
        assert len(r.objects("finding")) <= 65, what
    for form in ("text", "ndjson", "sarif"):
        r, _ = evil("control", MULTI, form=form)
        equal(r.rc, FINDINGS, form)
        if form == "sarif":
            json.loads(r.raw)


@test
def it_names_many():
    """Any number of rules, under any limit of what is told."""
    elf = read("plain.sm_90.cubin")
    many = write(edit.container(*[edit.member(2, elf, 90) for _ in range(40)]))
    for limit, told in (("0", 0), ("1", 1000), ("64", 1000)):
        for form in ("ndjson", "sarif", "text"):
            r, _ = evil("names", "--limit", "diagnostics=" + limit, many, form=form)
            equal(r.rc, FINDINGS, r.err)
            if form == "ndjson":
                equal(len([o for o in r.objects("finding") if "yara" in o]), told, limit)
                last, = r.objects("verdict")
                equal((last["yara_hits"], last["suppressed"] >= 64 * 40 - told), (64 * 40, True), "counts")


@test
def it_counts():
    """Sums that it makes as large as it can do not come round to nothing."""
    r, _ = evil("counts", MULTI, MULTI, MULTI)
    for o in r.objects("verdict"):
        equal((o["verdict"], o["warnings"], o["errors"], o["yara_hits"]), ("suspicious", 2 ** 32 - 1, 2 ** 32 - 1, 3 * (2 ** 32 - 1)))


@test
def it_breaks_out():
    """No file, no socket, no signal, no process: what it tries kills it, or fails."""
    if "seccomp, landlock" not in cuvet("--version").out:
        raise Skip("no cage here that could hold it")
    for what in ("open", "write", "socket", "kill", "fork"):
        r, _ = evil(what, MULTI)
        equal([o for o in r.objects("finding") if o["rule"] == "YARA:broke_out"], [], what)
        assert r.rc in (FINDINGS, INTERNAL), (what, r.rc)
    assert not os.path.exists("/tmp/hostile_libyara")


def left_of(path):
    """Processes of a command about this file that has ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as f:
                found += [name] if os.fsencode(path) in f.read().split(b"\0") else []
        except OSError:
            pass  # it has ended meanwhile
    return found


@test
def it_dawdles():
    """A byte now and then does not keep anybody waiting longer than what was allowed, and ten seconds."""
    if not FULL:
        raise Skip("CV_FULL=1 waits for those who make others wait")
    for what, rc in (("slow hello", USAGE), ("slow hit", INTERNAL), ("deaf", INTERNAL), ("endless", INTERNAL)):
        large = write(read("multi.fatbin") + edit.container(edit.member(2, read("plain.sm_90.cubin") + bytes(4 << 20), 90)))
        r, took = evil(what, "--yara-timeout", "1", large, PTX)
        equal(r.rc, rc, what + r.err)
        assert 5 < took < 20, (what, took)
        # Nor does it stay when nobody waits for it any more.
        end = time.monotonic() + 15
        while time.monotonic() < end and left_of(large):
            time.sleep(.1)
        equal(left_of(large), [], what)
        assert "too long" in r.err or "rules took longer than --yara-timeout, and could not be stopped" in r.objects("verdict")[0]["reason"], r.out + r.err


# ---- a file that hides ----

def ptx(names):
    return (".version 8.0\n.target sm_75\n.address_size 64\n" + "".join(".visible .entry %s()\n{\n\tret;\n}\n" % n for n in names)).encode()


@test
def behind_other_names():
    """A kernel among many, behind long names, or with one: rules are told its name."""
    needed()
    path = rules('rule k { condition: kernels contains "_needle_" }')
    front = ["k%05d_%s" % (i, "x" * 80) for i in range(20000)]
    for names in (["a_needle_b"], ["x" * 60000 + "_needle_"], front[:60] + ["_needle_"], front[:5000] + ["_needle_"], front + ["_needle_"]):
        found, (last,), r = hits(path, write(ptx(names), "x.ptx"))
        equal(([o["rule"] for o in found], last["verdict"], r.rc), (["YARA:k"], "suspicious", FINDINGS), "%d names" % len(names))
    # Where there are more than anybody keeps, the file is not clean.
    _, (last,), r = hits(path, write(ptx(["k%d_%s" % (i, "x" * 60000) for i in range(80)] + ["_needle_"]), "x.ptx"))
    equal((last["verdict"], r.rc), ("limit", LIMIT))
    assert "names of kernels and sections" in last["reason"], last


@test
def matches_sees_the_beginning():
    """libyara looks at 4096 bytes of a text with 'matches': who writes such a rule is told, and ours is none."""
    needed()
    r = cuvet("scan", "--yara", rules("rule x { condition: arch matches /a/\n and kernels\n matches /b/ }"), PTX)
    equal((r.rc, r.err.count("warning"), "line 2: warning: 'kernels matches' sees the first 4096 bytes" in r.err), (CLEAN, 1, True), r.err)
    r = cuvet("scan", "--yara", rules("rule x { condition: false and (filename matches /a/ or section\nmatches /b/ or section matches /c/ or kernels matches /d/) }"), PTX)
    said = sorted(line.split("'")[1] for line in r.err.splitlines() if ": warning: " in line and " sees the first 4096 bytes" in line)
    equal((r.rc, said), (CLEAN, ["filename matches", "kernels matches", "section matches"]), r.err)
    # What is never so long, and what only ends with such a name.
    r = cuvet("scan", "--yara", rules('rule x { condition: path matches /never/ and kind matches /b/ } rule y { strings: $a = "my_section matches" condition: $a }'), PTX)
    equal((r.rc, r.err), (CLEAN, ""))
    hidden = write(ptx(["k%05d_%s" % (i, "x" * 80) for i in range(500)] + ["_Z13ethash_searchPi"]), "x.ptx")
    found, _, r = hits(CONTRIB, hidden)
    equal(([o["rule"] for o in found], r.err), (["YARA:miner_kernel"], ""))


def sections_of(names):
    """A cubin with so many more sections, each of a byte."""
    elf = bytearray(read("plain.sm_90.cubin"))
    shoff, = struct.unpack_from("<Q", elf, 40)
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", elf, 58)
    headers = elf[shoff:shoff + shentsize * shnum]
    strings_off, strings_size = struct.unpack_from("<QQ", headers, shentsize * shstrndx + 24)
    strings = bytes(elf[strings_off:strings_off + strings_size])
    more = b""
    for name in names:
        at = len(strings)
        strings += name + b"\0"
        more += struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, 64, 1, 0, 0, 1, 0)
    elf += bytes(-len(elf) % 8)
    struct.pack_into("<QQ", headers, shentsize * shstrndx + 24, len(elf), len(strings))
    elf += strings + bytes(-len(strings) % 8)
    struct.pack_into("<Q", elf, 40, len(elf))
    struct.pack_into("<H", elf, 60, shnum + len(names))
    return bytes(elf + headers + more)


@test
def names_of_sections():
    """Long ones, strange ones, many: told in full to rules, cut and escaped for people."""
    needed()
    names = [b".text." + b"x" * 300 + b"_needle", b".a\nb", b".c\x1b[31m", b".\xff\xfe", "\u00e9".encode() * 200, "\u202e".encode(), b"." + "\u4e2d".encode() * 90]
    file = write(sections_of(names), "x.cubin")
    path = rules('rule end { condition: section endswith "_needle" }\nrule each { condition: section != "" and filesize == 1 }\n'
                 'rule raw { condition: section contains "\\x1b" or section contains "\\n" }')
    for form in ("ndjson", "sarif", "text"):
        r = cuvet("scan", "--all", "--yara", path, file) if form == "text" else cuvet("scan", "--format=" + form, "--yara", path, file)
        r.raw.decode("utf-8")
        assert b"\x1b" not in r.raw and b"\xe2\x80\xae" not in r.raw, form
        assert all(len(line) < 20000 for line in r.raw.splitlines()) or form == "sarif"
        if form == "sarif":
            json.loads(r.raw)
    found, _, r = hits(path, file)
    shown = sorted(o["yara"]["section"] for o in found if o["rule"] == "YARA:each")
    equal(len(shown), len(names), shown)
    equal(len([o for o in found if o["rule"] == "YARA:end"]), 1)
    equal([o for o in found if o["rule"] == "YARA:raw"], [])
    assert max(map(len, shown)) < 1100, shown
    # More than there is room for, of one or of all: the file says so.
    for names in [[b"n" * 70000]] + ([[b"n" * 65000 + b"%d" % i for i in range(1100)]] if FULL else []):
        _, (last,), r = hits(path, write(sections_of(names), "x.cubin"), "--limits", "roomy")
        equal((last["verdict"], r.rc), ("limit", LIMIT))
        assert "names of kernels and sections" in last["reason"], last


@test
def found_too_often():
    """A string of which there are a million before the place that a rule asks for: the file is not clean."""
    needed()
    path = rules('rule far { strings: $a = "ab" condition: $a in (2100000..filesize) }')
    for count, wanted in ((1000, "suspicious"), (1050000, "limit")):
        data = ptx(["k"]) + b"// " + b"ab" * count + b"\n" + b"//" + b"c" * (2200000 - 2 * count) + b"ab\n"
        _, (last,), r = hits(path, write(data, "x.ptx"))
        equal((last["verdict"], r.rc), (wanted, FINDINGS if wanted == "suspicious" else LIMIT), count)
        equal("a million times" in last.get("reason", ""), wanted == "limit", last)


@test
def in_many_entries():
    """Counts and limits are those of each entry of a package, and of packages in packages."""
    needed()
    needs_packages()
    path = rules('rule x { strings: $a = "_Z5plainPi" condition: $a }')
    inner = package(**{"lib/%d.so" % i: read("multi.fatbin") for i in range(3)})
    with open(inner, "rb") as f:
        data = f.read()
    whole = package(**{"a.whl": data, "empty": b"", "b/c.so": read("plain.sm_90.cubin"), "new\nline.so": read("plain.ptx")})
    found, verdicts, r = hits(path, whole)
    equal(r.rc, FINDINGS, r.err)
    counts = {}
    for o in found:
        counts[o["file"].split("!/", 1)[1]] = counts.get(o["file"].split("!/", 1)[1], 0) + 1
        assert "\n" not in o["file"], o["file"]
    equal(counts, {"a.whl!/lib/%d.so" % i: 8 for i in range(3)} | {"b/c.so": 1, "new\\x0aline.so": 1})
    for v in verdicts:
        equal(v["yara_hits"], counts.get(v["file"].split("!/", 1)[1], 0), v["file"])
    # The variable is the name that is shown.
    found, _, _ = hits(rules('rule n { condition: filename endswith "new\\\\x0aline.so" }'), whole)
    equal(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
