# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet link: one cubin out of many inputs, or a refusal that names what is wrong; never less than what was given."""
import os
import shutil

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, ROOT, USAGE, cuvet, equal, main, read, sample, scratch, test, write

A, B = sample("two_a.sm_75.rdc.cubin"), sample("two_b.sm_75.rdc.cubin")
HOST_A, HOST_B = sample("host-two_a.o"), sample("host-two_b.o")


def link(*args, arch="sm_75", **more):
    return cuvet("link", "-arch=" + arch, *args, **more)


def linked(*args, arch="sm_75", where=None):
    """The bytes of a link that must work and say nothing that is wrong."""
    out = os.path.join(where or scratch(), "out.cubin")
    r = link(*args, "-o", out, arch=arch)
    equal((r.rc, r.out), (CLEAN, ""), r.err)
    return open(out, "rb").read()


def refused(words, *args, rc=FINDINGS, arch="sm_75"):
    d = scratch()
    r = link(*args, "-o", os.path.join(d, "out.cubin"), arch=arch)
    equal(r.rc, rc, " ".join(args) + r.err)
    for w in words:
        assert w in r.err, (w, r.err)
    equal(os.listdir(d), [], "what a refused link left behind")
    return r


def archive(*members):
    data = b"!<arch>\n"
    for name, body in members:
        data += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode() + b"/", 0, 0, 0, b"644", len(body))
        data += body + b"\n" * (len(body) % 2)
    return data


def kernels(image):
    path = write(image, "k.cubin")
    return sorted(cuvet("list", "--kernels", "--format=ndjson", path).objects("member")[0]["kernel_names"])


@test
def two_cubins():
    d = scratch()
    image = linked(A, B, where=d)
    equal(image[16:18], b"\x02\x00", "e_type: an executable")
    r = cuvet("scan", os.path.join(d, "out.cubin"))
    equal(r.rc, CLEAN, r.out)
    equal(kernels(image), sorted(set(kernels(read("two_a.sm_75.rdc.cubin")) + kernels(read("two_b.sm_75.rdc.cubin")))),
          "kernels")


@test
def every_carrier_gives_the_same_code():
    """Objects, one merged object, and an archive hold what the two objects hold."""
    want = linked(HOST_A, HOST_B)
    equal(linked(sample("host-merged.o")), want, "two containers in one object")
    d = scratch()
    lib = write(archive(("a.o", read("host-two_a.o")), ("b.o", read("host-two_b.o"))), "libtwo.a", d)
    equal(linked(lib), want, "archive")
    for words in (("-L" + d, "-ltwo"), ("-ltwo", "-L", d), ("-l", "two", "--library-path=" + d),
                  ("-L" + d, "-ltwo", "-ltwo"), ("-L=/nonexistent," + d, "--library", "two")):
        equal(linked(*words), want, " ".join(words))
    raw = linked(A, B)
    lib = write(archive(("a.o", read("two_a.sm_75.rdc.cubin")), ("b.o", read("two_b.sm_75.rdc.cubin"))), "raw.a", d)
    equal(linked(lib), raw, "cubins as members")


@test
def archive_members_that_are_programs_are_said():
    out = os.path.join(scratch(), "out")
    r = link(sample("long-names.a"), "-o", out)
    equal(r.rc, CLEAN, r.err)
    assert "warning: " in r.err and "(host-plain.o)" in r.err and "CV-ADMIT-003" in r.err, r.err
    equal(link("-w", sample("long-names.a"), "-o", out).err, "", "-w")
    refused(["error: ", "(host-plain.o)"], "-Werror", sample("long-names.a"))


@test
def archive_members_for_other_targets_are_said():
    d = scratch()
    lib = write(archive(("a.o", read("two_a.sm_75.rdc.cubin")), ("none.o", read("none.fatbin"))), "libm.a", d)
    r = link(lib, B, "-o", os.path.join(d, "out"))
    equal(r.rc, CLEAN, r.err)
    assert "note: " in r.err and "libm.a(none.o)" in r.err and "CV-INPUT-001" in r.err, r.err
    for quiet in ("-disable-infos", "--suppress-arch-warning"):
        equal(link(quiet, lib, B, "-o", os.path.join(d, "out")).err, "", quiet)
    # but a library that gives nothing at all is no library for this target
    lib = write(archive(("none.o", read("none.fatbin"))), "libn.a", d)
    refused(["libn.a: nothing in it can be linked"], A, B, "-L" + d, "-ln")


@test
def spellings():
    want = linked(A, B)
    for words in (("-arch=sm_75",), ("-arch", "sm_75"), ("--arch=sm_75",), ("--arch", "sm_75")):
        for out in (("-o",), ("--output-file",)):
            path = os.path.join(scratch(), "x")
            for tail in ((*out, path), (out[0] + "=" + path,)):
                r = cuvet("link", *words, *tail, "-m64", "--machine=64", "-m", "64", A, B)
                equal((r.rc, r.err), (CLEAN, ""), " ".join(words + tail))
                equal(open(path, "rb").read(), want, " ".join(words + tail))
    path = os.path.join(scratch(), "x")
    equal(link("-o", path, "--", A, B).rc, CLEAN, "--")
    equal(open(path, "rb").read(), want, "--")
    equal(linked("--limits", "roomy", "--limit=candidates=9", "--sandbox=auto", A, B), want, "ours")
    equal(linked("--no-sandbox", "--arch-policy", "exact", A, B), want, "ours")


@test
def relocatable_and_again():
    d = scratch()
    part = write(linked("-r", A), "a.cubin", d)
    equal(open(part, "rb").read()[16:18], b"\x01\x00", "e_type")
    equal(kernels(linked(part, B)), kernels(linked(A, B)), "kernels")
    linked("--relocatable-link", "--compat-r", A)
    equal(link("--compat-r", A, B, "-o", os.path.join(d, "x")).rc, USAGE, "--compat-r alone")


@test
def kernels_used():
    names = kernels(linked(A, B))
    assert names, "the samples have a kernel"
    equal(kernels(linked("--kernels-used=" + names[0], A, B)), [names[0]], "kept")
    equal(kernels(linked("-kernels-used", "no such kernel,nor this", A, B)), [], "all dead")
    equal(kernels(linked("--variables-used=x", A, B)), [], "as the reference")
    equal(linked("--kernels-used=,", "--variables-used=", A, B), linked(A, B), "lists without elements")


@test
def verbose_tells_what_kernels_use():
    d = scratch()
    r = link("-v", A, B, "-o", os.path.join(d, "out"))
    equal((r.rc, r.out), (CLEAN, ""), r.err)
    lines = r.err.splitlines()
    assert lines[0].startswith("cuvet: info: ") and " bytes gmem" in lines[0], r.err
    found = [x.split("'")[1] for x in lines if "Function properties for" in x]
    equal(sorted(found), kernels(open(os.path.join(d, "out"), "rb").read()), "kernels")
    info = cuvet("dump", "--info", os.path.join(d, "out")).out
    for name, use in zip(found, lines[2::2]):
        registers, = [x.split()[-1] for x in info.splitlines() if "REGCOUNT" in x and name + " " in x]
        assert "used %s registers" % registers in use and "360 bytes cmem[0]" in use, (use, info)


@test
def options_file():
    d = scratch()
    out = os.path.join(d, "with blank")
    shutil.copy(A, os.path.join(d, "a b.cubin"))
    words = '-arch=sm_75\n  -o "%s"\t%s/a\\ b.cubin %s\n' % (out, d, B)
    r = cuvet("link", "-optf", write(words.encode(), "opt", d))
    equal((r.rc, r.err), (CLEAN, ""), "exit")
    equal(open(out, "rb").read(), linked(A, B), "result")
    # in the place of the option, and one inside another
    inner = write(B.encode(), "inner", d)
    equal(linked(A, "--options-file=" + write(b"-optf " + inner.encode(), "outer", d)), linked(A, B), "nested")
    equal(linked("-optf", "%s,%s" % (write(A.encode(), "first", d), inner)), linked(A, B), "order")
    loop = os.path.join(d, "loop")
    refused(["more than 64"], "-optf", write(b"-optf " + loop.encode(), "loop", d), rc=USAGE)
    refused(["quotation"], "-optf", write(b'"a', "open", d), rc=USAGE)
    refused(["NUL"], "-optf", write(b"a\0b", "nul", d), rc=USAGE)
    refused(["no such file"], "-optf", os.path.join(d, "no such file"), rc=IO)


@test
def every_option_of_the_reference_is_done_or_said():
    from_table = []
    with open(os.path.join(ROOT, "spec", "nvlink.def"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("LINK_OPTION("):
                from_table.append([x.strip().strip('"') for x in line[12:].split(",", 6)])
    assert len(from_table) > 40, from_table
    d = scratch()
    helped = cuvet("link", "--help").out
    for _, name, letter, form, arg, fate, _ in from_table:
        assert "--" + name in helped, name
        if fate == "DONE":
            continue
        value = [] if form == "FLAG" else [arg.split("|")[0] if "|" in arg else "4" if arg == "N" else "v"]
        for spelled in ["--" + name] + (["-" + letter] if letter else []):
            r = link(spelled, *value, A, B, "-o", os.path.join(d, "out"))
            assert "--" + name in r.err, (spelled, r.err)
            equal(r.rc, CLEAN if fate == "IGNORED" else USAGE, spelled)
        if fate == "IGNORED":
            equal(link(spelled, *value, A, B, "-disable-infos", "-o", os.path.join(d, "out")).err, "", spelled)


@test
def help_and_version():
    for words in (("link", "--help"), ("link", "-h"), ("help", "link")):
        r = cuvet(*words)
        equal((r.rc, r.err), (CLEAN, ""), " ".join(words))
        assert "-L, --library-path DIR" in r.out and "--compat-r" in r.out, r.out
    for words in (("link", "-V"), ("link", "--version")):
        equal(cuvet(*words).out, cuvet("--version").out, "version")
    assert "candidates" in link("--list-limits").out


@test
def usage():
    d = scratch()
    out = ["-o", os.path.join(d, "x")]
    for words in (["link", A, B] + out, ["link", "-arch=sm_75", A, B], ["link", "-arch=sm_75"] + out,
                  ["link", "-arch=sm_99", A] + out, ["link", "-arch=compute_75", A] + out,
                  ["link", "-arch=lto_75", A] + out, ["link", "-arch=sm_75", "--bogus", A] + out,
                  ["link", "-arch=sm_75", "-output-file", "x", A], ["link", "-arch=sm_75", "-g=true", A] + out,
                  ["link", "-arch=sm_75", "-m32", A] + out, ["link", "-arch=sm_75", A, "-o"],
                  ["link", "-arch=sm_75", "--limit", "nothing=1", A] + out,
                  ["link", "-arch=sm_75", "-split-compile", "x", A] + out,
                  ["link", "-arch=sm_75", "-device-stack-protector", "-r", A] + out):
        r = cuvet(*words)
        equal(r.rc, USAGE, " ".join(words) + r.err)
        assert "Try 'cuvet link --help'" in r.err or "no such limit" in r.err, r.err
    equal(os.listdir(d), [], "files")


@test
def names_and_files_of_an_error():
    r = refused(["Undefined reference to ", "'%s'" % A, "CV-LINK-006"], A)
    assert "(target:" not in r.err
    refused(["(target: sm_75)"], "-report-arch", A)
    again = write(read("two_b.sm_75.rdc.cubin"), "again.cubin")
    refused(["Multiple definition of ", "in '%s', first defined in '%s'" % (again, B), "CV-LINK-001"], A, B, again)
    refused(["Multiple definition of "], A, B, B)
    r = refused([], write(read("two_a.sm_75.rdc.cubin"), "\x1b[31m.cubin"))
    assert "\x1b" not in r.err and "\\x1b" in r.err, r.err


@test
def nothing_is_dropped_silently():
    d = scratch()
    good = read("two_a.sm_75.rdc.cubin")
    for name, data, words in (("exec", read("plain.sm_75.cubin"), "CV-ADMIT-003"),
                              ("arch", read("plain.sm_90.rdc.cubin"), "CV-ADMIT-005"),
                              ("cut", good[:64], "CV-"), ("half", good[:len(good) // 2], "CV-"),
                              ("class", good[:4] + b"\x01" + good[5:], "CV-"), ("empty", b"", "CV-CLASS-002"),
                              ("text", b"some text\n", "CV-CLASS-001"), ("ptx", read("plain.ptx"), "compiled"),
                              ("none.fatbin", read("none.fatbin"), "sm_90"),
                              ("ptx.fatbin", read("ptx-only.fatbin"), "CV-COMPILE-001"),
                              ("lto.fatbin", read("lto-raw.fatbin"), "CV-INPUT-004"),
                              ("program", read("host-plain.exe"), "CV-ADMIT-003"),
                              ("thin.a", b"!<thin>\n", "thin"), ("empty.a", b"!<arch>\n", "no device code")):
        r = refused([name + ": ", words], A, B, write(data, name, d))
        assert r.err.count("error: ") >= 1, r.err
    damaged = bytearray(read("host-two_a.o"))
    damaged[damaged.index(b"\x28\xb5\x2f\xfd") + 40] ^= 0xFF  # in the first zstd frame
    refused(["bad.o: "], write(bytes(damaged), "bad.o", d), HOST_B)
    # every one of several bad inputs is named
    refused(["exec: ", "arch: "], os.path.join(d, "exec"), A, os.path.join(d, "arch"))


@test
def what_cannot_be_read():
    d = scratch()
    refused(["absent.cubin: "], A, B, os.path.join(d, "absent.cubin"), rc=IO)
    refused(["directory"], A, B, d, rc=IO)
    refused(["'nosuchlib' not found in paths"], A, B, "-L" + d, "-lnosuchlib")
    refused(["'one' not", "'two' not"], A, B, "-lone,two")
    refused([], A, B, "--limit", "input=100", rc=LIMIT)


@test
def output_is_complete_or_as_it_was():
    d = scratch()
    out = write(b"mine", "out", d)
    equal(link(A, "-o", out).rc, FINDINGS, "a link that is refused")
    equal(open(out, "rb").read(), b"mine", "left alone")
    equal(link(A, B, "-o", out).rc, CLEAN, "a link that is done")
    equal(open(out, "rb").read(4), b"\x7fELF", "replaced")
    equal(os.listdir(d), ["out"], "files")
    for bad in (os.path.join(d, "absent", "x"), d, d + "/", "/dev/null", os.path.join(d, "x" * 250)):
        r = link(A, B, "-o", bad)
        equal(r.rc, IO, bad + r.err)
        assert r.err, bad
    equal(os.listdir(d), ["out"], "files")
    # an input may be replaced by the result
    mine = write(read("two_b.sm_75.rdc.cubin"), "b.cubin", d)
    equal(link(A, mine, "-o", mine).rc, CLEAN, "exit")
    equal(open(mine, "rb").read(), linked(A, B), "bytes")


@test
def standard_input_and_last_value():
    equal(linked(A, B), linked_from(read("two_a.sm_75.rdc.cubin"), "-", B), "- is standard input")
    d = scratch()
    r = link("-o", os.path.join(d, "one"), "-o", os.path.join(d, "two"), A, B)
    equal((r.rc, os.listdir(d)), (CLEAN, ["two"]), "files")
    assert "incompatible redefinition for option 'output-file'" in r.err, r.err


def linked_from(stdin, *args):
    out = os.path.join(scratch(), "out")
    r = link(*args, "-o", out, stdin=stdin)
    equal((r.rc, r.err), (CLEAN, ""), "exit")
    return open(out, "rb").read()


@test
def the_same_every_time():
    equal(linked(HOST_A, HOST_B, sample("dynshared.sm_75.rdc.cubin")),
          linked(HOST_A, HOST_B, sample("dynshared.sm_75.rdc.cubin")), "bytes")


main()
