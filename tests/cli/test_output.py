# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output that people and pipelines can live with: findings by rule, quiet runs, what makes the exit code, lists of
inputs, words that are nearly right, readers that have enough."""
import os
import re
import subprocess

from lib_cli import (CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, bad_container, cuvet, edited, equal, main, read,
                     sample, samples, scratch, test, write)

PIPE = 141
HOSTILE = os.path.join(ROOT, "corpus", "hostile")
FULL = bool(os.environ.get("CV_FULL"))  # else a share of the files


def hostile():
    return sorted(os.path.join(HOSTILE, n) for n in os.listdir(HOSTILE))


def many_findings():
    """A file that breaks one rule in each of 150 containers: more than the cap of 64."""
    return bad_container() * 150


def groups(out):
    """(severity, rule, times, place, offset, message) of each rule of the text form."""
    return [(m[0], m[1], int(m[3] or 1), "" if m[4] == "file" else m[4], int(m[5], 16), m[2] + ": " + m[7])
            for m in re.findall(
                r"^  (note|warning|error) +(CV-[A-Z]+-\d{3})  (.*?)(?: \((\d+) times\))?\n"
                r" {11}(?:first: )?(\S+)  at (0x[0-9a-f]+)(?:, unpacked (0x[0-9a-f]+))?\n {11}(.*)$", out, flags=re.M)]


def verdicts(out):
    return dict(re.findall(r"^(\S.*): (clean|unsupported|suspicious|malformed|limit|error)(?:[;:].*)?$", out, flags=re.M))


@test
def each_rule_once():
    for path in hostile()[::7 if FULL else 21] + samples()[::1 if FULL else 3]:
        objects = cuvet("scan", "--format=ndjson", "--limit", "diagnostics=1000000", path).objects("finding")
        rows = groups(cuvet("scan", "--notes", path).out)
        want = {}
        for o in objects:
            want.setdefault(o["rule"], []).append(o)
        equal([r[1] for r in rows], sorted(want, key=lambda r: (-["note", "warning", "error"].index(
            max((o["severity"] for o in want[r]), key=["note", "warning", "error"].index)), list(want).index(r))), path)
        for r in rows:
            worst = max((o["severity"] for o in want[r[1]]), key=["note", "warning", "error"].index)
            first = [o for o in want[r[1]] if o["severity"] == worst][0]
            equal(r, (worst, r[1], len(want[r[1]]), first["path"], first["offset"], first["message"]), path)


@test
def a_few_lines_for_many_findings():
    path = write(many_findings())
    r = cuvet("scan", path)
    row, = groups(r.out)
    equal((row[1], row[2], r.rc), ("CV-FATBIN-015", 150, FINDINGS), "the rule and how often")
    assert r.out.count("\n") == 5 and "above the cap" not in r.out, r.out
    for cap in (0, 1, 16, 150, 151):
        r = cuvet("scan", "--limit", "diagnostics=%d" % cap, path)
        equal((r.rc, [g[2] for g in groups(r.out)]), (FINDINGS, [150] if cap else []), "cap %d" % cap)
    r = cuvet("scan", "--all", path)
    equal(len(re.findall("^  error", r.out, flags=re.M)), 64, "each, up to the cap")
    assert "150 errors, 86 of them above the cap, only counted" in r.out, r.out


@test
def quiet():
    good, bad, opaque = sample("default.fatbin"), write(bad_container()), sample("thin.a")
    for args, want in (([good], ""), ([good, opaque], ""), ([good, bad, opaque], bad + ": malformed\n")):
        r = cuvet("scan", "-q", *args)
        equal((r.out, r.err, r.rc), (want, "", FINDINGS if want else CLEAN), " ".join(args))
    r = cuvet("scan", "-q", bad, "no such file")
    equal((r.out, r.rc), ("%s: malformed\nno such file: error\n" % bad, IO), "a file that cannot be read")
    r = cuvet("scan", "--quiet", "--fail-on=unsupported", good, bad, opaque)
    equal((r.out, r.rc), (opaque + ": unsupported\n", FINDINGS), "what counts for the exit code")
    for args in (["--all"], ["--notes"], ["--only-findings"], ["--format=ndjson"], ["--format=sarif"]):
        equal(cuvet("scan", "-q", *args, good).rc, USAGE, " ".join(args))


@test
def quiet_says_what_the_exit_code_is_about():
    for path in hostile()[::5]:
        r = cuvet("scan", "-q", path)
        equal(r.out != "", r.rc != CLEAN, path)


@test
def only_findings():
    d = scratch()
    for i in range(30):
        write(read("default.fatbin"), "good%02d" % i, d)
    bad = write(bad_container(), "good15x", d)
    full = cuvet("scan", "-r", d)
    r = cuvet("scan", "-r", "--only-findings", d)
    equal((r.rc, full.rc), (FINDINGS, FINDINGS), "exit")
    equal(list(verdicts(r.out)), [bad], "files with a line")
    tail = "31 files\n      30 clean\n       1 malformed  1 error\n"
    assert r.out.endswith(tail) and full.out.endswith(tail), r.out
    os.unlink(bad)
    equal(cuvet("scan", "-r", "--only-findings", d).out, "30 files\n      30 clean\n", "nothing but good ones")
    equal(cuvet("scan", "--only-findings", sample("default.fatbin")).out, "1 file\n       1 clean\n", "one")
    assert sample("thin.a") in verdicts(
        cuvet("scan", "--only-findings", "--fail-on=unsupported", sample("thin.a")).out), "counts"
    equal(cuvet("scan", "--only-findings", "--format=sarif", d).rc, USAGE, "not in SARIF")


@test
def only_findings_ndjson():
    bad, opaque = write(bad_container()), sample("thin.a")
    all_of = cuvet("scan", "--format=ndjson", opaque, bad, sample("default.fatbin")).objects()
    some = cuvet("scan", "--format=ndjson", "--only-findings", opaque, bad, sample("default.fatbin")).objects()
    want = [o for o in all_of if o["type"] == "summary" or o["file"] == bad and (
        o["type"] == "verdict" or o["type"] == "member" and o["errors"] or o.get("severity") == "error")]
    equal(some, want, "what is left")
    equal(some[-1], {"schema": "cuvet/1", "type": "summary", "files": 3, "clean": 1, "unsupported": 1, "suspicious": 0,
                     "malformed": 1, "limit": 0, "error": 0}, "summary")


@test
def fail_on():
    opaque, bad, good = sample("thin.a"), write(bad_container()), sample("default.fatbin")
    limited = ["--limit", "containers=1", sample("gaps.fatbin")]
    for verdict, args, code in (("unsupported", [opaque], FINDINGS), ("malformed", [bad], FINDINGS),
                                ("limit", limited, LIMIT), ("error", ["no such file"], IO)):
        equal(cuvet("scan", "--fail-on", verdict, *args).rc, code, verdict)
        equal(cuvet("scan", "--fail-on", verdict, good).rc, CLEAN, verdict + " of a clean file")
        others = ",".join(v for v in ("unsupported", "suspicious", "malformed", "limit", "error") if v != verdict)
        if verdict != "limit":
            equal(cuvet("scan", "--fail-on", others, *args).rc, CLEAN, "not " + verdict)
    # A file has the verdict of the worst in it, but what is asked for is not hidden by that.
    both = write(bad_container() + read("gaps.fatbin"))
    v = cuvet("scan", "--format=ndjson", "--limit", "containers=2", both)
    equal((v.objects("verdict")[0]["verdict"], v.objects("verdict")[0]["errors"] > 1), ("limit", True), "both in one")
    equal(cuvet("scan", "--fail-on=malformed", "--limit", "containers=2", both).rc, FINDINGS, "behind a worse one")
    for list_of in ("", "clean", "malformed,", ",malformed", "malformed,,limit", "malformed limit", "x" * 1000):
        equal(cuvet("scan", "--fail-on", list_of, good).rc, USAGE, list_of)


@test
def the_default_of_fail_on():
    for path in hostile()[::4 if FULL else 16] + [sample("thin.a"), "no such file"]:
        a, b = cuvet("scan", path), cuvet("scan", "--fail-on=suspicious,malformed,limit,error", path)
        equal((a.rc, a.out), (b.rc, b.out), path)


@test
def files_from():
    d = scratch()
    names = [write(read("default.fatbin"), n, d) for n in ("a", "b c", "d\ne", "-", " ")]
    plain = [n for n in names if "\n" not in n]
    want = list(verdicts(cuvet("scan", *plain).out))
    equal(list(verdicts(cuvet("scan", "--files-from", write("\n".join(plain).encode())).out)), want, "lines")
    equal(list(verdicts(cuvet("scan", "--files-from=-", stdin=("\n\n".join(plain) + "\n").encode()).out)), want,
          "standard input, empty lines")
    r = cuvet("scan", "--files-from=-", "--format=ndjson", stdin="\0".join(names).encode() + b"\0")
    equal((r.rc, len(r.objects("verdict"))), (CLEAN, len(names)), "NUL")
    equal(r.objects("verdict")[2]["file"], os.path.join(d, "d\\x0ae"), "a name with a line break")
    r = cuvet("scan", "--files-from=-", stdin=b"-\n", cwd=d)
    equal(list(verdicts(r.out)), ["./-"], "not standard input")
    r = cuvet("scan", names[0], "--files-from=-", "-q", stdin=("%s\nno such file\n%s\n" % (d, names[1])).encode())
    equal((r.out, r.rc), ("%s: error\nno such file: error\n" % d, IO), "bad names in a list")
    r = cuvet("scan", "-r", "--files-from=-", stdin=d.encode())
    equal(len(verdicts(r.out)), len(names), "a directory in a list")
    equal(cuvet("list", "--files-from=-", stdin=names[0].encode()).out, cuvet("list", names[0]).out, "list")
    equal(cuvet("dump", "--header", "--files-from=-", stdin=names[0].encode()).out,
          cuvet("dump", "--header", names[0]).out, "dump")
    out = scratch()
    equal(cuvet("unpack", "-d", out, "--files-from=-", stdin="\n".join(names[:2]).encode()).rc, CLEAN, "unpack")
    equal(sorted({n.split("-0")[0] for n in os.listdir(out)}), ["a", "b_c"], "names of pieces say the file")
    equal(len(os.listdir(out)), 4, "pieces of two files")


@test
def lists_that_are_none():
    good = sample("default.fatbin")
    r = cuvet("scan", "--files-from", "no such list", good)
    equal((r.rc, "no such list: error" in r.out, good in verdicts(r.out)), (IO, True, True), "no list")
    r = cuvet("scan", "--files-from=-", stdin=b"")
    equal((r.rc, r.out, r.err), (CLEAN, "", ""), "an empty one")
    equal(cuvet("scan", "--files-from=-", "-", stdin=b"").rc, USAGE, "standard input for two things")
    r = cuvet("scan", "--files-from", scratch())
    equal(r.rc, IO, "a directory")


@test
def many_names():
    d = scratch()
    names = [write(b"x", "f%04d" % i, d) for i in range(1500)]
    r = cuvet("scan", "--files-from=-", stdin="\0".join(names).encode())
    equal((r.rc, list(verdicts(r.out)) == names), (CLEAN, True), "through the opener too, in order")
    assert r.out.endswith("1500 files\n    1500 clean\n"), r.out[-100:]


@test
def nearly_right():
    good = sample("default.fatbin")
    for args, want in ((["scna", good], "scan"), (["dmup"], "dump"), (["scan", "--onlyfindings"], "--only-findings"),
                       (["scan", "--fromat=sarif"], "--format"), (["list", "--kernel-names"], ""),
                       (["scan", "--format=jsonnd"], ""), (["scan", "--format=ndjosn"], "ndjson"),
                       (["unpack", "--kind=ef", "-d", "x"], "elf"), (["rules", "CV-ELF-44"], "CV-ELF-044"),
                       (["rules", "cv_elf-044"], "CV-ELF-044"), (["scan", "--target=sm90a", good], "sm_90a"),
                       (["scan", "--target=sm_91", good], "sm_90"), (["select", "--arch=sm_91a", good], "sm_90a"),
                       (["finalize", "--arch", "sm_130", "-o", "x", good], "sm_100"),
                       (["link", "-arch=sm_90b", "-o", "x", good], "sm_90"), (["link", "-verbos"], "--verbose"),
                       (["link", "--sandbx"], "--sandbox"), (["help", "unpakc"], "unpack"),
                       (["scan", "--fail-on=unsuported", good], "unsupported"),
                       (["scan", "--limit", "diagnostic=1", good], "diagnostics"), (["x" * 500], ""), (["-Z"], ""),
                       (["\x1b[31mscan"], "")):
        r = cuvet(*args)
        equal((r.rc, r.out), (USAGE, ""), " ".join(args))
        equal(re.findall("^Did you mean '(.*)'\\?$", r.err, flags=re.M), [want] if want else [], " ".join(args))
        assert "\x1b" not in r.err, r.err


@test
def a_reader_that_has_enough():
    many = [sample("multi.fatbin")] * 400
    for args in (["scan", "--notes"], ["scan", "--format=ndjson"], ["scan", "--format=sarif"], ["list"],
                 ["list", "--format=ndjson"], ["dump"], ["dump", "--format=ndjson"]):
        with subprocess.Popen([CUVET, *args, *many],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdout.read(1)
            p.stdout.close()
            equal((p.stderr.read(), p.wait()), (b"", PIPE), " ".join(args))


@test
def results_on_standard_output():
    d = scratch()
    path = os.path.join(d, "out")
    a, b = sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")
    for args in (["select", "--arch", "sm_75", a],
                 ["link", "-arch=sm_75", a, b], ["finalize", a]):
        r = cuvet(*args, "-o", path)
        equal(r.rc, CLEAN, " ".join(args) + r.err)
        with open(path, "rb") as f:
            want = f.read()
        os.unlink(path)
        r = cuvet(*args, "-o", "-", cwd=d)
        equal((r.rc, r.raw == want, os.listdir(d)), (CLEAN, True, []), " ".join(args))
        with open("/dev/full", "wb") as full:
            equal(cuvet(*args, "-o", "-", stdout=full).rc, IO, "full disk: " + " ".join(args))
    r = cuvet("select", "--arch", "sm_120", "-o", "-", sample("plain.sm_90a.cubin"))
    equal((r.rc, r.raw), (FINDINGS, b""), "nothing selected")
    equal(cuvet("select", "--arch", "sm_75", "-o", "-", "--format=ndjson", a).rc, USAGE, "two things on one stream")


def all_names(d, name):
    """One file under every name that leads to it."""
    os.makedirs(os.path.join(d, "sub"), exist_ok=True)
    path = os.path.join(d, name)
    for make, other in ((os.symlink, "soft"), (os.link, "hard")):
        if os.path.lexists(os.path.join(d, other)):
            os.unlink(os.path.join(d, other))
        if os.path.exists(path):
            make(path, os.path.join(d, other))
    yield from (path, name, "./" + name, "sub/../" + name, os.path.join(d, "sub", "..", ".", name), "alias/" + name)
    if os.path.exists(path):
        yield from ("soft", "hard")


def contents(d):
    return {n: open(os.path.join(d, n), "rb").read() for n in os.listdir(d) if os.path.isfile(os.path.join(d, n))}


def writes_nothing(d, *args, words, **more):
    before = contents(d)
    r = cuvet(*args, cwd=d, **more)
    equal((r.rc, contents(d) == before), (USAGE, True), " ".join(args) + r.err)
    assert words in r.err, (args, r.err)


@test
def two_results_in_one_file():
    d = scratch()
    os.symlink(d, os.path.join(d, "alias"))
    a, b = sample("host-two_a.o"), sample("host-two_b.o")
    for exists in (False, True):
        if exists:
            with open(os.path.join(d, "F"), "wb") as f:
                f.write(b"mine")
        for one in ("F", "./F"):
            for other in all_names(d, "F"):
                for words in (["-o", one, "--register-link-binaries=" + other],
                              ["-o", other, "--register-link-binaries=" + one]):
                    writes_nothing(d, "link", "-arch=sm_75", a, b, *words, words="two results")
    with open(os.path.join(d, "F"), "wb") as f:
        for args in (["link", "-arch=sm_75", a, b], ["select", "--arch=sm_75", "--force", a], ["finalize", a]):
            writes_nothing(d, *args, "-o", "F", words="two results", stdout=f)
        writes_nothing(d, "link", "-arch=sm_75", a, b, "-o", "-", "--register-link-binaries=F", words="two results", stdout=f)
    # other files of the same name, and the same directory with other names
    r = cuvet("link", "-arch=sm_75", a, b, "-o", "F", "--register-link-binaries=sub/F", cwd=d)
    equal(r.rc, CLEAN, r.err)
    r = cuvet("link", "-arch=sm_75", a, b, "-o", "F", "--register-link-binaries=G", cwd=d)
    equal(r.rc, CLEAN, r.err)
    # a device is no file that a result could be lost in
    equal(cuvet("link", "-arch=sm_75", a, b, "-o", "F", cwd=d, stdout=open("/dev/null", "wb")).rc, CLEAN, "device")


@test
def results_over_what_is_read():
    d = scratch()
    os.symlink(d, os.path.join(d, "alias"))
    data = read("two_a.sm_75.rdc.cubin")
    write(data, "in.cubin", d)
    other = sample("two_b.sm_75.rdc.cubin")
    for out in all_names(d, "in.cubin"):
        for name in all_names(d, "in.cubin"):
            for args in (["link", "-arch=sm_75", name, other], ["link", "-arch=sm_75", other, name],
                         ["select", "--arch=sm_75", name], ["select", "--force", "--arch=sm_75", name], ["finalize", name]):
                writes_nothing(d, *args, "-o", out, words="what is read")
        writes_nothing(d, "link", "-arch=sm_75", other, "in.cubin", "-o", "new", "--register-link-binaries=" + out,
                       words="what is read")
        with open(os.path.join(d, "in.cubin"), "rb") as f:
            writes_nothing(d, "finalize", "-", "-o", out, words="what is read", stdin=f)
        with open(os.path.join(d, "in.cubin"), "ab") as f:
            writes_nothing(d, "finalize", "in.cubin", "-o", "-", words="what is read", stdout=f)
    write(("-o new " + other).encode(), "options", d)
    for out in all_names(d, "options"):
        writes_nothing(d, "link", "-arch=sm_75", "-optf", "options", other, "-o", out, words="what is read")
    write(archive_of(data), "libx.a", d)
    writes_nothing(d, "link", "-arch=sm_75", "-L.", "-lx", other, "-o", "libx.a", words="what is read")
    for option, command in (("--compiler", ["select", "--arch=sm_75", "--force"]), ("--code-generator", ["finalize"]),
                            ("--code-generator", ["link", "-arch=sm_75"])):
        tool = write(b"#!/bin/true\n", "tool", d)
        os.chmod(tool, 0o755)
        writes_nothing(d, *command, option, tool, other, "-o", "tool", words="what is read")


def archive_of(body):
    return b"!<arch>\n" + b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (b"a.o/", 0, 0, 0, b"644", len(body)) + body


@test
def pieces_over_what_is_read():
    """--force in a folder that an input lies in: names of pieces are known when it has been read only."""
    d = scratch()
    os.mkdir(os.path.join(d, "out"))
    data = read("two_a.sm_75.rdc.cubin")
    name = os.path.join("out", "0000-elf.sm_75.cubin")
    write(data, name, d)
    os.link(os.path.join(d, name), os.path.join(d, "hard"))
    os.symlink(name, os.path.join(d, "soft"))
    listed = write((name + "\n").encode(), "list", d)
    for args in ([name], ["./out/../" + name], ["hard"], ["soft"], ["--files-from", listed], [sample("default.fatbin"), "soft"]):
        before = contents(os.path.join(d, "out"))
        r = cuvet("unpack", "--force", "-d", "out", *args, cwd=d)
        equal((r.rc, contents(os.path.join(d, "out")) == before), (USAGE, True), " ".join(args) + r.err)
        assert "what is read" in r.err, r.err
    equal(cuvet("unpack", "--force", "-d", "out", sample("default.fatbin"), cwd=d).rc, CLEAN, "other inputs")
    equal(cuvet("unpack", "-d", "out", name, cwd=d).rc, IO, "without --force nothing is replaced")


main()
