# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet link: one cubin out of many inputs, or a refusal that names what is wrong; never less than what was given."""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys

import lib_places
from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, USAGE, Skip, cuvet, equal, golden, main, read, sample, scratch, test, write

sys.path.append(os.path.join(ROOT, "tools", "corpus"))
sys.path.append(os.path.join(ROOT, "tests", "hostile"))
sys.path.append(os.path.join(ROOT, "bench"))
import edit  # noqa: E402
import link_mutants  # noqa: E402
import link_objects  # noqa: E402

FRAME_SIZE, MAX_STACK_SIZE = 0x11, 0x23
YIELD = 68  # R_CUDA_YIELD_OPCODE9_0, of no symbol
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


@test
def every_relocatable_sample_in_both_forms():
    """Alone, as a part of a later link, and in that later link."""
    n = 0
    for path in sorted(glob.glob(os.path.join(ROOT, "corpus", "samples", "*.rdc.cubin"))):
        arch = re.search(r"\.(sm_[0-9]+[af]?)\.", path).group(1)
        if any(x in path for x in ("two_a.", "two_b.", "unified.")):
            continue  # halves, and what no link takes yet
        for form in ((), ("-r",), ("-r", "--compat-r")):
            d = scratch()
            out = os.path.join(d, "out.cubin")
            r = link(*form, path, "-o", out, arch=arch)
            equal((r.rc, r.out), (CLEAN, ""), path + " " + " ".join(form) + r.err)
            assert "malformed" not in cuvet("scan", out).out, (path, form)
            if form == ("-r",):
                again = os.path.join(d, "again.cubin")
                equal(link(out, "-o", again, arch=arch).rc, CLEAN, path)
                assert kernels(open(again, "rb").read()) == kernels(open(path, "rb").read()), path
        n += 1
    assert n > 20, n


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


def widened(image, n, form=b".debug_%05x\0"):
    """The same object with n empty debug sections behind its own, whose names have one length."""
    shoff, = struct.unpack_from("<Q", image, 40)
    count, names = struct.unpack_from("<HH", image, 60)
    heads = [list(struct.unpack_from("<IIQQQQIIQQ", image, shoff + 64 * i)) for i in range(count)]
    bodies = [b"" if h[1] in (8, 0x70000007, 0x7000000A) else image[h[4]:h[4] + h[5]] for h in heads]
    first = len(bodies[names])
    bodies[names] += b"".join(form % i for i in range(n))
    heads[names][5] = len(bodies[names])
    out = bytearray(image[:64])
    for i in sorted(range(1, count), key=lambda i: heads[i][4]):
        out += bytes(-len(out) % max(heads[i][8], 1)) if bodies[i] else b""
        heads[i][4] = len(out)
        out += bodies[i]
    heads += [[first + len(form % 0) * i, 1, 0, 0, len(out), 0, 0, 0, 1, 0] for i in range(n)]
    out += bytes(-len(out) % 8)
    wide = len(heads) >= 0xFF00
    heads[0][5] = len(heads) if wide else 0
    struct.pack_into("<Q", out, 40, len(out))
    struct.pack_into("<H", out, 60, 0 if wide else len(heads))
    return bytes(out) + b"".join(struct.pack("<IIQQQQIIQQ", *h) for h in heads)


@test
def more_sections_than_a_symbol_can_name():
    """From about 65280 sections on, dropped ones included, their numbers are in a table of its own; far from it, and with it."""
    image = linked(A, B)
    plain, = struct.unpack_from("<H", image, 60)
    for total in (0xFE00, 0xFF00, 0x10100):
        d = scratch()
        path = write(widened(read(os.path.basename(A)), total - plain), "wide.cubin")
        got = linked(path, B, where=d)
        shoff, = struct.unpack_from("<Q", got, 40)
        count, = struct.unpack_from("<H", got, 60)
        wide = count == 0
        equal(wide, total >= 0xFF00, "where the table begins")
        equal(struct.unpack_from("<Q", got, shoff + 32)[0] if wide else count, total + wide, "sections")
        equal(struct.unpack_from("<I", got, shoff + 4 * 64 + 4)[0] == 18, wide, ".symtab_shndx behind the symbols")
        equal(kernels(got), kernels(image), "kernels")
        equal(cuvet("scan", os.path.join(d, "out.cubin")).rc, CLEAN, "a scan of it")


def partial(name, arch, d):
    """What -r makes of a sample: its path, and to be edited."""
    path = os.path.join(d, "whole.cubin")
    equal(link("-r", sample(name), "-o", path, arch=arch).rc, CLEAN, "an -r of it")
    return path, edit.Elf(open(path, "rb").read())


def notes_and_warnings(path, arch, d, notes, warnings):
    """How often CV-ELF-194 is noted by a scan, and CV-LINK-134 warned of by a link. Gives what the link wrote."""
    out = os.path.join(d, "out.cubin")
    r = cuvet("scan", "--format=ndjson", path)
    equal((r.rc, r.out.count("CV-ELF-194"), r.out.count("CV-ELF-133")), (CLEAN, notes, 0), r.out)
    r = link(path, "-o", out, arch=arch)
    equal((r.rc, r.err.count("CV-LINK-134")), (CLEAN, warnings), r.err)
    assert not warnings or "_Z7add_onei" in r.err, r.err
    return out


@test
def a_record_that_nvlink_forgets():
    """CV-LINK-134, behind CV-ELF-194: data has the address of a function of which the call graph does not know that somebody takes it."""
    d = scratch()
    whole, image = partial("indirect.sm_90.rdc.cubin", "sm_90", d)
    for at in (0x10, 0x18):  # the records of both functions name the other one
        image.word(".nv.callgraph", at, image.symbol_index("_Z7add_twoi"))
    notes_and_warnings(whole, "sm_90", d, 0, 0)
    notes_and_warnings(write(bytes(image.data), "forgets.cubin", d), "sm_90", d, 1, 1)


@test
def a_record_that_nvlink_forgets_of_old_objects():
    """The same of code, on machines that tools before CUDA 12 made code for: nothing else has the address, and the function stays."""
    d = scratch()
    _, image = partial("indirect.sm_75.rdc.cubin", "sm_75", d)
    one, two, kernel = map(image.symbol_index, ("_Z7add_onei", "_Z7add_twoi", "_Z8indirectPi"))
    for at, data in ((0x10, 0), (0x18, 1)):
        image.word(".nv.callgraph", at, two).reloc(".rel.nv.global.init", data, "sym", two)
    for symbol, times in ((one, 1), (kernel, 0)):  # a kernel is not called
        for entry in (0, 1):
            image.reloc(".rela.text._Z8indirectPi", entry, "sym", symbol).reloc(".rela.text._Z8indirectPi", entry, "addend", 0)
        out = notes_and_warnings(write(bytes(image.data), "forgets.cubin", d), "sm_75", d, 2 * times, times)
        assert not times or ".text._Z7add_onei" in cuvet("dump", "--sections", out).out, "its code is gone"


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


def member(field, body):
    """With the name field as it is."""
    head = b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (field, 0, 0, 0, b"644", len(body))
    return head + body + b"\n" * (len(body) % 2)


@test
def archive_members_that_are_no_objects_are_said():
    """CV-LINK-045: each with its name and its place, whatever form the name has; the others are linked."""
    image, text, d = read(os.path.basename(A)), b"Read me first.\n", scratch()
    want = linked(write(archive(("a.o", image)), "lone.a", d), B)
    out, lib = os.path.join(d, "out.cubin"), os.path.join(d, "libsome.a")
    strange = bytearray(image)
    strange[18:20] = b"\1\0"  # device code by its ABI, for another machine
    names = b"first.o/\nlong name of it/\n"
    front = b"!<arch>\n" + member(b"a.o/", image) + member(b"//", names)
    for body in (text, b"", b"\2" + image[1:], bytes(strange), b"." + text):
        for field, begin, name in ((b"README/", b"", "README"), (b"/9", b"", "long name of it"), (b"#1/9", b"long name", "long name")):
            write(front + member(field, begin + body), "libsome.a", d)
            for words in ((lib, B), (B, "-L" + d, "-lsome")):
                r = link(*words, "-o", out)
                equal(r.rc, CLEAN, r.err)
                said = "libsome.a: Member of an archive that is no object is left out: '%s': %d bytes" % (name, len(body))
                assert said in r.err and "(at 0x%x) [CV-LINK-045]" % len(front) in r.err, (said, r.err)
                equal(r.err.count("CV-LINK-045"), 1, r.err)
                equal(open(out, "rb").read() == want, words[0] == lib, "what is linked, in the order given")
    r = link(lib, B, "-o", out, "--disable-infos")
    equal((r.rc, r.err), (CLEAN, ""), "notes are switched off")
    refused(["no device code in it", "CV-LINK-045"], write(archive(("README", text)), "text.a", d))
    # CV-LINK-046: what is not named is counted
    for count, more in ((3, 0), (4, 1)):
        many = write(front + b"".join(member(b"%d/" % i, text) for i in range(count)), "many.a", d)
        r = link(many, B, "-o", out, "--limit", "diagnostics=3")
        equal((r.rc, r.err.count("CV-LINK-045"), r.err.count("4 in all, the first 3 are named")), (CLEAN, 3, more), r.err)
        equal(r.err.count("CV-LINK-046"), more, r.err)


@test
def damaged_archive_members_are_refused():
    """What would be refused as a file of its own is not left out of an archive."""
    image = read(os.path.basename(A))
    for body, rule in ((image[:3], "CV-CLASS-003"), (image[:40], "CV-CLASS-008"), (b"\x50\xed\x55\xba\1\0", "CV-CLASS-005"),
                       (read("host-two_a.o")[:40], "CV-CLASS-008"), (b"\xed\x43\x4e\x7f" + bytes(60), None)):
        lib = write(archive(("good.o", image), ("broken.o", body)), "broken.a")
        r = refused(["broken.a: ", rule or "CV-LINK-013", "'broken.o'"], lib, B)
        if rule:
            assert rule in link(write(body, "broken.o"), "-o", os.path.join(scratch(), "o")).err, r.err


@test
def archive_members_that_are_programs_are_said():
    out = os.path.join(scratch(), "out")
    r = link(sample("long-names.a"), "-o", out)
    equal(r.rc, CLEAN, r.err)
    assert "note: " in r.err and "(host-plain.o)" in r.err and "CV-LINK-051" in r.err, r.err
    equal(link("-disable-infos", sample("long-names.a"), "-o", out).err, "", "no notes")
    equal(link("-Werror", sample("long-names.a"), "-o", out).rc, CLEAN, "no warning")
    # where relocatable code belongs, it is a warning
    lib = write(archive(("good.o", read("host-two_a.o")), ("b.o", read("host-two_b.o")),
                        ("whole.o", lib_places.wrapped([lib_places.section(lib_places.REL, read("elf-raw.fatbin"))]))), "libwhole.a")
    r = link(lib, "-o", out)
    equal(r.rc, CLEAN, r.err)
    assert "warning: " in r.err and "(whole.o)" in r.err and "CV-ADMIT-003" in r.err, r.err
    equal(link("-w", lib, "-o", out).err, "", "-w")
    refused(["error: ", "(whole.o)"], "-Werror", lib)


@test
def archive_members_for_other_targets_are_said():
    d = scratch()
    lib = write(archive(("a.o", read("two_a.sm_75.rdc.cubin")), ("none.o", read("none.fatbin"))), "libm.a", d)
    r = link(lib, B, "-o", os.path.join(d, "out"))
    equal(r.rc, CLEAN, r.err)
    assert "note: " in r.err and "libm.a(none.o)" in r.err and "CV-INPUT-001" in r.err, r.err
    for quiet in ("-disable-infos", "--suppress-arch-warning"):
        err = link(quiet, lib, B, "-o", os.path.join(d, "out")).err
        assert "CV-INPUT-001" not in err and (quiet[1] == "-" or err == ""), quiet + err
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
def addresses_of_functions_behind_a_part():
    """A relocatable link makes the weak names of the table of unified functions strong, as the reference does: code of another input that
    counts in it, as whatever takes the address of a function does, has no table all the same, and is linked."""
    for arch in ("sm_90", "sm_100"):
        plain, indirect = sample("vars.%s.rdc.cubin" % arch), sample("indirect.%s.rdc.cubin" % arch)
        for form in ((), ("--compat-r",)):
            part = write(linked("-r", *form, plain, arch=arch), "part.cubin")
            name = next(line for line in cuvet("dump", "--symbols", part).out.split("\n") if "__UFT_OFFSET" in line)
            assert "GLOBAL" in name, name
            for one, two in ((part, indirect), (indirect, part)):
                whole = [plain if x == part else x for x in (one, two)]
                equal(kernels(linked(one, two, arch=arch)), kernels(linked(*whole, arch=arch)), arch)


@test
def records_of_an_earlier_link():
    """.nv.resolvedrela: known to a scan, checked like relocations, left out of the next link and that is said."""
    d = scratch()
    image = linked("-r", "--compat-r", "--preserve-relocs", A, B)
    part = write(image, "part.cubin", d)
    r = cuvet("scan", part)
    assert r.rc == CLEAN and ": clean" in r.out, r.out
    r = link(part, "-o", os.path.join(d, "out"))
    assert r.rc == CLEAN and "CV-LINK-044" in r.err, r.err
    equal(open(os.path.join(d, "out"), "rb").read(), linked(write(linked("-r", "--compat-r", A, B), "plain.cubin", d)),
          "without the records")
    at = section(image, 0x70000003)
    assert b"R_CUDA" in cuvet("dump", "--relocs", part).out.encode(), "dump"
    for where, rule in ((at, "CV-ELF-086"), (at + 12, "CV-ELF-085")):
        bad = bytearray(image)
        struct.pack_into("<I", bad, where, 0xFFFFFF)
        refused([rule], write(bytes(bad), "bad.cubin", d))


def section(image, kind):
    """Where the first section of a type lies."""
    for i in range(struct.unpack_from("<H", image, 60)[0]):
        h = struct.unpack_from("<Q", image, 40)[0] + 64 * i
        if struct.unpack_from("<I", image, h + 4)[0] == kind:
            return struct.unpack_from("<Q", image, h + 24)[0]
    raise AssertionError("no such section")


def debug_sections(image):
    """Content by name."""
    off, (n, names) = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<HH", image, 60)
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, off + 64 * i) for i in range(n)]
    text = image[heads[names][4]:][:heads[names][5]]
    found = {text[h[0]:text.index(b"\0", h[0])]: image[h[4]:h[4] + h[5]] for h in heads[1:]}
    return {name: body for name, body in found.items() if b"debug_" in name and not name.startswith(b".rel") and b"shared" not in name}


@test
def debug_data_in_parts():
    """What one debug section says of another holds when a part comes to lie behind something else."""
    for arch in ("sm_75", "sm_90", "sm_100"):
        first, second = sample("vars.%s.rdc.cubin" % arch), sample("plain.%s.g.rdc.cubin" % arch)
        for one, two in ((first, second), (second, first)):
            whole = debug_sections(linked("-g", one, two, arch=arch))
            assert len(whole) > 4, sorted(whole)
            part = write(linked("-r", two, arch=arch), "part.cubin")
            equal(debug_sections(linked("-g", one, part, arch=arch)), whole, arch + ": second in parts")
            both = write(linked("-r", one, part, arch=arch), "both.cubin")
            equal(debug_sections(linked("-g", both, arch=arch)), whole, arch + ": parts of parts")


def with_shared(image, size):
    """The only shared variable of the image, made larger."""
    image = bytearray(image)
    off, n = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 60)[0]
    for i in range(n):
        h = struct.unpack_from("<IIQQQQIIQQ", image, off + 64 * i)
        if h[1] == 0x7000000A:
            struct.pack_into("<Q", image, off + 64 * i + 32, size)
        for at in range(h[4], h[4] + h[5], 24) if h[1] == 2 else ():
            if image[at + 4] == 13 and image[at + 5] == 0x40:
                struct.pack_into("<Q", image, at + 16, size)
    return bytes(image)


@test
def options_beside_the_help_of_the_reference():
    """What nvlink takes without listing it: how much shared memory, what stays open, what is only written into the note."""
    most = {"sm_75": 0x10000, "sm_90": 0x38C00, "sm_100": 0x38C00}
    for arch, bytes_most in most.items():
        plain = sample("vars.%s.rdc.cubin" % arch)
        large = [write(with_shared(read(plain), n), "%d.cubin" % n) for n in (0xC000, 0xC001, bytes_most, bytes_most + 1)]
        linked(large[0], arch=arch)
        refused(["CV-LINK-010", "0xc001 bytes, 0xc000 max"], large[1], arch=arch)
        refused(["CV-LINK-010"], "--enable-extended-smem=false", large[1], arch=arch)
        for path in large[:3]:
            linked("--enable-extended-smem=true", path, arch=arch)
        refused(["CV-LINK-010", "%#x max" % bytes_most], "-enable-extended-smem", "true", large[3], arch=arch)
        sizes = [shared_size(linked(*more, plain, arch=arch)) for more in ((), ("--disable-smem-reservation=true",))]
        equal(sizes[0] - sizes[1], 0 if arch == "sm_75" else 1024, arch + ": set aside")
        unnamed = write(read(plain).replace(b".nv.reservedSmem.", b".nv.unknownSmem_."), "unnamed.cubin")
        equal(arch == "sm_100" or shared_size(linked(unnamed, arch=arch)) == sizes[0], True, arch + ": set aside where no input names it")
        for same in ("--verbose-tkinfo=true", "--tool-name=x", "--dont-reserve-null-pointer", "--host-linker-options=-lx",
                     "--syscall-const-offset=8", "--device-stack-protector-frame-size-threshold=8"):
            equal(linked(same, plain, arch=arch), linked(plain, arch=arch), same)
        for option in ("--reserve-null-pointer", "--force-rela", "--dot-file=x"):
            refused(["is not supported"], option, plain, arch=arch, rc=USAGE)
    refused(["'shared_counter'", "'_Z5twicei'"], A)
    r = refused(["'_Z5twicei'"], "--allow-undefined-globals", A)
    assert "shared_counter" not in r.err, r.err


def shared_size(image):
    off, n = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 60)[0]
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, off + 64 * i) for i in range(n)]
    return sum(h[5] for h in heads if h[1] == 8 and h[2] & 0x40)


@test
def kernels_used():
    names = kernels(linked(A, B))
    assert names, "the samples have a kernel"
    equal(kernels(linked("--kernels-used=" + names[0], A, B)), [names[0]], "kept")
    equal(kernels(linked("-kernels-used", "no such kernel,nor this", A, B)), [], "all dead")
    first = names[0]
    for text in ("*", "**", first[:3] + "*", "*" + first[-3:], first[0] + "*" + first[-1], first[2:5] + "**" + first[6:8],
                 " " + first, "no such,\t%s , nor this" % first):
        assert first in kernels(linked("--kernels-used=" + text, A, B)), text
    for text in (first + "*" + first, first[-3:] + "*" + first[:5], "*?*", first + "?", first[:2] + " * " + first[3:]):
        equal(kernels(linked("--kernels-used=" + text, A, B)), [], text)
    equal(kernels(linked("--variables-used=x", A, B)), [], "as the reference")
    equal(linked("--kernels-used=,", "--variables-used=", A, B), linked(A, B), "lists without elements")
    table = sample("branchy.sm_75.rdc.cubin")
    assert b".nv.constant2." in linked(table, A, B) and b".nv.constant2." in read("branchy.sm_75.rdc.cubin")
    assert b".nv.constant2." not in linked("--kernels-used=" + names[0], table, A, B), "the name of a dead kernel's bank"


LAUNCH = sample("host-launch.o")
OUTSIDE = b"_ZN5inner7outside*\0"  # what its host code says that it launches


def launching(pattern):
    """The sample with another reference in the place of that one."""
    data = read("host-launch.o")
    assert data.count(OUTSIDE) == 1 and len(pattern) <= len(OUTSIDE), pattern
    return write(data.replace(OUTSIDE, pattern.ljust(len(OUTSIDE), b"\0")), "launch.o")


def dropped(*args):
    """How many kernels stayed, and what was said of the others."""
    out = os.path.join(scratch(), "out")
    r = link(*args, "-o", out, arch="sm_90")
    equal(r.rc, CLEAN, r.err)
    return len(kernels(open(out, "rb").read())), [x for x in r.err.splitlines() if "CV-LINK-043" in x]


@test
def kernels_that_host_code_refers_to():
    equal(dropped(LAUNCH), (2, []), "both are launched")
    gone = launching(b"_ZN5inner9outside*")
    for words in ((gone,), ("-use-host-info", gone), ("-use-host-info", "-w", gone)):
        n, said = dropped(*words)
        equal((n, len(said)), (1, 1), words)
        assert "note: " in said[0] and "1 of 2" in said[0], said
    equal(dropped("-disable-infos", gone), (1, []), "-disable-infos")
    # all stay: by an option, in a partial link, beside code of which nothing is known, when nothing is referred to
    for words in (("-ignore-host-info",), ("-g",), ("-g", "-suppress-debug-info"), ("-preserve-relocs",), ("-r",)):
        equal(dropped(*words, gone), (2, []), words)
    equal(dropped(gone, sample("dynshared.sm_90.rdc.cubin")), dropped(LAUNCH, sample("dynshared.sm_90.rdc.cubin")),
          "with a cubin")
    inside = b"__nv_static_30__6dab359e_9_launch_cu_e56deae2_*6inside*\0"
    data = open(gone, "rb").read()
    assert data.count(inside) == 1
    one = data.replace(inside, b"\0" * len(inside))
    equal(dropped(write(one, "one.o"))[0], 0, "a reference to something else")
    equal(dropped(write(one.replace(b"_ZN5inner9outside*", b"\0" * 18), "nothing.o")), (2, []), "none at all")
    # as members of an archive
    lib = write(archive(("a.o", open(gone, "rb").read())), "liba.a")
    equal(dropped(lib)[0], 1, "archive")
    r = link("-use-host-info", "-ignore-host-info", LAUNCH, "-o", os.path.join(scratch(), "x"), arch="sm_90")
    equal(r.rc, USAGE, r.err)
    r = link("-use-host-info", "-kernels-used=outside", LAUNCH, "-o", os.path.join(scratch(), "x"), arch="sm_90")
    assert r.rc == CLEAN and "--use-host-info is ignored" in r.err, r.err


@test
def stars_in_references():
    for pattern, n in ((b"*5inner*outsideEPi", 2), (b"*5inner*outsideEP", 1), (b"_ZN5inner*", 2), (b"_ZN5inner", 1),
                       (b"*", 2), (b"**outside**", 2), (b"*outside", 1), (b"_ZN5inner7outs?de*", 1),
                       (b"_ZN*r*o*e*P*", 2), (b"_ZN*r*o*e*Q*", 1)):
        equal(dropped(launching(pattern))[0], n, pattern)


@test
def modules_for_the_host_program():
    d = scratch()
    reg = os.path.join(d, "reg.c")
    a, b = "_83fa8b07_8_two_a_cu_f6d5bd14", "_914f24e9_8_two_b_cu_e0f598cf"
    text = "#define NUM_PRELINKED_OBJECTS %d\n%s"
    lines = ["DEFINE_REGISTER_FUNC(%s)\n" % x for x in (a, b)]
    want = linked(HOST_A, HOST_B)
    for words in ((HOST_A, HOST_B), ("-r", HOST_A, HOST_B), (sample("host-merged.o"),)):
        linked("--register-link-binaries=" + reg, *words)
        equal(open(reg).read(), text % (2, "".join(lines)), words)
    linked("--register-link-binaries", reg, HOST_B, HOST_A)
    equal(open(reg).read(), text % (2, lines[1] + lines[0]), "in the order of the inputs")
    linked("--register-link-binaries", reg, A, B)
    equal(open(reg).read(), text % (0, ""), "cubins are of no host program")
    # neither file is touched by a link that is refused, and none is made when the other cannot be
    write(b"mine", "reg.c", d)
    refused(["Undefined"], "--register-link-binaries=" + reg, HOST_A)
    equal(open(reg).read(), "mine", "left alone")
    refused(["absent"], "--register-link-binaries=" + os.path.join(d, "absent", "x"), HOST_A, HOST_B, rc=IO)
    refused([d + ": exists"], "--register-link-binaries=" + d, HOST_A, HOST_B, rc=IO)
    # a name that would be more than a name in a C program
    good = read("host-two_a.o")
    for change, legal in ((b"Z", True), (b"(", False), (b" ", False), (b"\xc3", False)):
        path = write(good.replace(b"_83fa8b07_8_two_a", b"_83fa8b07" + change + b"8_two_a"), "named.o", d)
        if legal:
            equal(linked(path, HOST_B), want, "legal name")
        else:
            refused(["named.o: ", "CV-LINK-040"], path, HOST_B)


@test
def what_is_linked_already():
    """A host object that a device link made says which modules are in it."""
    d = scratch()
    reg = os.path.join(d, "reg.c")
    data = read("host-merged.o").replace(b"__nv_relfatbin", b".nv_fatbin\0\0\0\0")
    ids = data.index(b"_83fa8b07_8_two_a_cu_f6d5bd14\0")
    new = b"def _83fa8b07_8_two_a_cu_f6d5bd14\0"
    made = write(data[:ids] + new.ljust(62, b"\0") + data[ids + 62:], "made.o", d)
    for words in ((HOST_A, HOST_B, made), (made, HOST_A, HOST_B)):
        r = link("--register-link-binaries=" + reg, *words, "-o", os.path.join(d, "out"))
        equal(r.rc, CLEAN, r.err)
        assert "note: %s: Left out" % HOST_A in r.err and "CV-LINK-041" in r.err, r.err
        assert "note: %s: left out, because a device link made it" % made in r.err, r.err
        equal(open(os.path.join(d, "out"), "rb").read(), linked(HOST_B), "what is left")
        equal(open(reg).read(), "#define NUM_PRELINKED_OBJECTS 1\nDEFINE_REGISTER_FUNC(_914f24e9_8_two_b_cu_e0f598cf)\n",
              "modules")
    r = link(HOST_A, made, "-o", os.path.join(d, "out"))
    equal((r.rc, kernels(open(os.path.join(d, "out"), "rb").read())), (CLEAN, []), "nothing is left to link")


@test
def system_libraries():
    d = scratch()
    lib = write(archive(("b.o", read("host-two_b.o"))), "libcudadevrt.a", d)
    equal(linked(HOST_A, "-L" + d, "-lcudadevrt"), linked(HOST_A, HOST_B), "needed: a function is not defined")
    r = link(HOST_B, lib, "-o", os.path.join(d, "out"))
    equal(r.rc, CLEAN, r.err)
    assert "note: %s(b.o): System library left out" % lib in r.err and "CV-LINK-042" in r.err, r.err
    equal(open(os.path.join(d, "out"), "rb").read(), linked(HOST_B), "not needed")
    refused(["Multiple definition"], "-keep-system-libraries", HOST_B, lib)
    other = write(archive(("b.o", read("host-two_b.o"))), "libother.a", d)
    refused(["Multiple definition"], HOST_B, other)


@test
def libraries_come_behind_files():
    d = scratch()
    write(archive(("b.o", read("host-two_b.o"))), "libb.a", d)
    equal(linked("-L" + d, "-lb", HOST_A), linked(HOST_A, HOST_B), "-l")
    equal(linked(os.path.join(d, "libb.a"), HOST_A), linked(HOST_B, HOST_A), "a file stays where it is")


LEGEND = ("callgraph for sm_75:\n# A: s -> B // s (number A) potentially calls B\n# s [N]     // s uses N registers\n"
          "# ^s        // s is entry point\n# &s        // s has address taken\n")


@test
def call_graph():
    out = os.path.join(scratch(), "out")
    for flag in ("-dump-callgraph", "--dump-callgraph-no-demangle"):
        r = link(flag, A, B, "-o", out)
        equal((r.rc, r.out, r.err), (CLEAN, "", LEGEND + "1: ^_Z6callerPi [24] -> 2\n2: _Z5twicei [24] ->\n"), flag)
    r = link("-dump-callgraph", sample("indirect.sm_75.rdc.cubin"), "-o", out)
    equal(r.err, LEGEND + "1: &_Z7add_twoi [24] ->\n2: &_Z7add_onei [24] ->\n3: ^_Z8indirectPi [24] -> 2 1\n", "")
    r = link("-dump-callgraph", "-kernels-used=none", A, B, "-o", out)
    equal(r.err, LEGEND + "1: \n2: \n", "dead code leaves its line")
    # a link that is refused later has one; a link to be linked again has none
    assert LEGEND + "1: ^_Z6callerPi [24] -> 2\n2: _Z5twicei ->\n" in refused(["Undefined"], "-dump-callgraph", A).err
    equal(link("-r", "-dump-callgraph", A, "-o", out).err, "", "-r")
    equal(link("-dump-callgraph", "-dump-callgraph-no-demangle", A, B, "-o", out).rc, USAGE, "both")


@test
def dead_code_stays_for_a_debugger():
    for words in (("-g",), ("-preserve-relocs",), ("-g", "-kernels-used=none")):
        equal(kernels(linked(*words, A, B)), kernels(linked(A, B)), words)


@test
def policy_is_about_cubins_too():
    old = sample("dynshared.sm_75.rdc.cubin")
    refused(["CV-ADMIT-005"], old, arch="sm_80")
    suffixed = sample("plain.sm_90.rdc.cubin")
    linked("--arch-policy=exact", suffixed, arch="sm_90")
    newer = [x for x in ("plain.sm_90a.rdc.cubin",) if os.path.exists(os.path.join(os.path.dirname(A), x))]
    for name in newer:
        linked("--arch-policy=reference", sample(name), arch="sm_90")
        refused(["CV-ADMIT-"], "--arch-policy=exact", sample(name), arch="sm_90")


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
            equal(r.rc, CLEAN if fate in ("IGNORED", "PTX") else USAGE, spelled)
        if fate in ("IGNORED", "PTX"):
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
                              ("lto.fatbin", read("lto-raw.fatbin"), "CV-INPUT-012"),
                              ("thin.a", b"!<thin>\n", "thin"), ("empty.a", b"!<arch>\n", "no device code")):
        r = refused([name + ": ", words], A, B, write(data, name, d))
        assert r.err.count("error: ") >= 1, r.err
    damaged = bytearray(read("host-two_a.o"))
    damaged[damaged.index(b"\x28\xb5\x2f\xfd") + 40] ^= 0xFF  # in the first zstd frame
    refused(["bad.o: "], write(bytes(damaged), "bad.o", d), HOST_B)
    # every one of several bad inputs is named
    refused(["exec: ", "arch: "], os.path.join(d, "exec"), A, os.path.join(d, "arch"))


@test
def names_of_debug_sections_cannot_go_without_debug_data():
    for more, words in (((), "cuvet: note: --suppress-debug-info does nothing without -g\n"), (("-g",), ""), (("--disable-infos",), "")):
        r = link(A, B, "--suppress-debug-info", *more, "-o", os.path.join(scratch(), "out"))
        equal((r.rc, r.err), (CLEAN, words))


@test
def no_names_of_kernels_are_no_choice():
    """As the reference takes them: empty ones say nothing, and every kernel stays."""
    want = linked(A, B)
    for words in (("--kernels-used", ""), ("--kernels-used=",), ("--kernels-used", ","), ("--variables-used", ""),
                  ("--variables-used=,", "--kernels-used=")):
        equal(linked(*words, A, B), want, " ".join(words))


@test
def code_for_a_debugger_is_named():
    """CV-LINK-034: from sm_100 on the reference makes code again, for a debugger or not, whatever it was before."""
    plain, other = sample("branchy.sm_100.rdc.cubin"), sample("nocode.sm_100.rdc.cubin")
    for_debugger = write(widened(read("dynshared.sm_100.rdc.cubin"), 1, b".nv_debug_info_reg_sass%.0a\0"), "g.cubin")
    for options, inputs, want in (((), (plain,), {}), (("-g",), (plain, other), {plain: (0, 1)}),
                                  (("-g", "--suppress-debug-info"), (plain,), {}), ((), (for_debugger,), {for_debugger: (1, 0)}),
                                  (("-g",), (for_debugger,), {}), (("-r",), (for_debugger,), {}),
                                  ((), (plain, for_debugger), {plain: (0, 1), for_debugger: (1, 0)}),
                                  (("-r",), (plain, for_debugger), {plain: (0, 1)})):
        r = link(*options, *inputs, "-o", os.path.join(scratch(), "out"), arch="sm_100")
        said = [line for line in r.err.splitlines() if "[CV-LINK-034]" in line]
        equal((r.rc, len(said)), (CLEAN, len(want)), r.err)
        for name, (got, wanted) in want.items():
            assert any(line.startswith("cuvet: note: " + name) and "debugger: %d, linked for one: %d" % (got, wanted) in line
                       for line in said), (name, said)


@test
def libraries_of_the_host_hold_nothing_to_link():
    """nvcc hands every -l to the device link: a shared object is said and passed by, wherever -l stands."""
    want, d, more = linked(A, B), scratch(), scratch()
    out = os.path.join(d, "out.cubin")
    write(b"", "libplain.so", d)
    write(b"", "libnumber.so.7", d)
    write(b"", "libboth.so", d)
    write(archive(("b.o", read(os.path.basename(B)))), "libboth.a", more)
    for name in ("plain", "number"):
        for words in (("-l" + name, A, B), (A, B, "--library", name)):
            r = link(*words, "-L", d, "-o", out)
            equal((r.rc, open(out, "rb").read() == want), (CLEAN, True), r.err)
            equal(r.err, "cuvet: note: Library '%s' is one of the host, a shared object: nothing in it is linked\n" % name)
    r = link(A, "-lplain,both,number", "-L" + d, "-L" + more, "-o", out)
    equal((r.rc, r.err.count("is one of the host"), kernels(open(out, "rb").read())), (CLEAN, 2, kernels(want)), "the archive is linked")
    r = link(A, B, "-lplain", "-L" + d, "-o", out, "--disable-infos")
    equal((r.rc, r.err), (CLEAN, ""), "notes are switched off")
    r = link("-lplain", "-L" + d, "-o", os.path.join(d, "none"))
    equal((r.rc, "no input" in r.err), (USAGE, True), r.err)
    for name in ("libdir.so", "libdot.so.d", "libtail.sox", "libx.so."):
        os.mkdir(os.path.join(d, name)) if name == "libdir.so" else write(b"", name, d)
        refused(["not found in paths"], A, B, "-L" + d, "-l" + name[3:].split(".")[0])


@test
def libraries_of_the_system_are_known():
    where = [x for x in ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")
             if os.path.exists(os.path.join(x, "libc.so.6"))]
    r = link(A, B, "-lc", "-o", os.path.join(scratch(), "out"))
    equal((r.rc, "'c' is one of the host" in r.err), (CLEAN, True) if where else (FINDINGS, False), r.err)


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
    for bad in (os.path.join(d, "absent", "x"), d, d + "/", "/dev/null", os.path.join(d, "x" * 256)):
        r = link(A, B, "-o", bad)
        equal(r.rc, IO, bad + r.err)
        assert r.err, bad
    equal(os.listdir(d), ["out"], "files")
    # no input is replaced by the result (the reference would do it)
    mine = write(read("two_b.sm_75.rdc.cubin"), "b.cubin", d)
    equal(link(A, mine, "-o", mine).rc, USAGE, "exit")
    equal(open(mine, "rb").read(), read("two_b.sm_75.rdc.cubin"), "bytes")


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

@test
def an_extern_array_for_a_debugger_lies_where_its_kernel_has_it():
    """The reference writes that place (CV-ELF-082 was a false alarm); a variable with a size has to be in its section."""
    image = bytearray(linked("-g", sample("dynshared.sm_75.rdc.cubin")))
    at = struct.unpack_from("<Q", image, 40)[0]
    rows = [struct.unpack_from("<IIQQQQIIQQ", image, at + 64 * i) for i in range(struct.unpack_from("<H", image, 60)[0])]
    table, strings = rows[3], rows[rows[3][6]]
    found = []
    for sym in range(table[4], table[4] + table[5], 24):
        name = image[strings[4] + struct.unpack_from("<I", image, sym)[0]:].split(b"\0", 1)[0]
        shndx = struct.unpack_from("<H", image, sym + 6)[0]
        if image[sym + 4] == 0x11 and 0 < shndx < len(rows) and rows[shndx][1] == 8 and not any(image[sym + 16:sym + 24]):
            found.append((sym, name))
    assert found, "no extern array"
    struct.pack_into("<Q", image, found[0][0] + 8, 0x1000)
    equal(cuvet("scan", write(image, "place.cubin")).rc, CLEAN)
    image[found[0][0] + 16] = 1
    r = cuvet("scan", write(image, "size.cubin"))
    equal((r.rc, "CV-ELF-082" in r.out), (FINDINGS, True), r.out)


def with_stack(name, kernel, most, frame):
    """An object whose kernel has a frame, and a record of how much stack it may have."""
    e = edit.Elf(read(name))
    for code, value in ((MAX_STACK_SIZE, most), (FRAME_SIZE, frame)):
        row = next(r for r in e.records(".nv.info") if r[2] == code and struct.unpack_from("<I", r[3])[0] == e.symbol_index(kernel))
        e.word(".nv.info", row[0] + 8, value)
    return write(bytes(e))


@test
def a_kernel_may_say_how_much_stack_it_has():
    """CV-LINK-131: with the functions that it calls; 0 is no limit."""
    for number in ("75", "90"):
        arch, a, b = "sm_" + number, "two_a.sm_%s.rdc.cubin" % number, sample("two_b.sm_%s.rdc.cubin" % number)
        for most in (1, 8, 15):
            refused(["CV-LINK-131", "16 bytes, at most %d allowed" % most, "_Z6callerPi"], with_stack(a, "_Z6callerPi", most, 16), b, arch=arch)
        for most in (0, 16, 17, 0xFFFFFFFF):
            linked(with_stack(a, "_Z6callerPi", most, 16), b, arch=arch)
        linked("-r", with_stack(a, "_Z6callerPi", 1, 16), b, arch=arch)


def inputs_of(name, target):
    """The objects of a case of corpus/link, to be edited."""
    files, cases = golden()
    wanted = next(row for row in cases if row[:3] == [name, target, "-"])[3].split()
    by_name = {os.path.basename(m.name): m for m in files.getmembers()}
    return [edit.Elf(files.extractfile(by_name[f]).read()) for f in wanted]


@test
def types_of_old_tools_become_those_of_today():
    """Tools of CUDA 11.0 wrote the types of executables into objects: `link -r` of NCCL for CUDA 11 broke an invariant."""
    files, cases = golden()
    by_name = {os.path.basename(m.name): m for m in files.getmembers()}
    old = {r"\.nv\.constant\d\..*": lib_places.PROGBITS, r"\.nv\.shared\..*": lib_places.NOBITS}
    changed = 0
    for name, target, options, inputs, output in cases:
        if options != "-r" or not output.endswith(".cubin") or int(re.search(r"\d+", target)[0]) >= 100:
            continue
        now, then = [], []
        for f in inputs.split():
            compiled = files.extractfile(by_name[f]).read()
            elf = edit.Elf(link_mutants.assembled(compiled))
            now.append(write(bytes(elf)))
            for i, section_name in enumerate(elf.names if bytes(elf) != compiled else ()):
                for names, kind in old.items():
                    if re.fullmatch(names, section_name):
                        elf.section(i, "type", kind)
                        changed += 1
            then.append(write(bytes(elf)))
        assert linked("-r", *now, arch=target) == linked("-r", *then, arch=target), (name, target)
    assert changed > 300, changed


@test
def kernels_of_one_name_are_refused():
    """CV-LINK-135, also of kernels that only their own file names; the reference writes both, with the parameters of one."""
    local, seen = (write(bytes(elf)) for elf in inputs_of("kernels_local", "sm_80"))
    for options in ((), ("-r",), ("-r", "--compat-r")):
        refused(["CV-LINK-135", "Two kernels named 'hidden'", "Two kernels named 'other'"], *options, local, local, arch="sm_80")
    linked("--kernels-used=seen", local, local, seen, arch="sm_80")
    linked(local, seen, arch="sm_80")


@test
def an_operation_fits_its_field():
    """What replaces a YIELD has nine bits; where it stays nobody asks."""
    for addend in (0x200, 0x8118, 1 << 39):
        for case, rules in (("yield_none", ["CV-LINK-025"]), ("yield_stays", None)):
            first, second = inputs_of(case, "sm_80")
            rows = len(second.section_bytes(".rela.text.get")) // 24
            at = next(i for i in range(rows) if second.rget(".rela.text.get", i, "type") == YIELD)
            second.reloc(".rela.text.get", at, "addend", addend)
            for options in ((), ("-r",), ("--preserve-relocs",)):
                objects = (*options, write(bytes(first)), write(bytes(second)))
                refused(rules, *objects, arch="sm_80") if rules else linked(*objects, arch="sm_80")


@test
def a_yield_of_whatever_it_names_is_judged():
    """Relocations of code, the first and the last of each table, become types that name nothing: linked, or refused by a rule."""
    ends = {CLEAN: 0, FINDINGS: 0}
    for case, target in (("shared_static", "sm_80"), ("shared_static", "sm_100"), ("yield_none", "sm_75"), ("global_layout", "sm_90"), ("const_multi", "sm_80"),
                         ("texture_low", "sm_80"), ("kernels_local", "sm_90"), ("func_ptr", "sm_90")):
        whole = inputs_of(case, target)
        for which, elf in enumerate(whole):
            for table in [n for n in elf.names if re.match(r"\.rela?\.text", n)]:
                for index in {0, len(elf.section_bytes(table)) // elf.sget(table, "entsize") - 1}:
                    for kind in (YIELD, YIELD + 1):
                        damaged = edit.Elf(bytes(elf))
                        damaged.reloc(table, index, "type", kind)
                        objects = [write(bytes(damaged if i == which else o)) for i, o in enumerate(whole)]
                        r = link(*objects, "-o", os.path.join(scratch(), "out.cubin"), arch=target)
                        assert r.rc in ends, (case, target, table, index, kind, r.rc, r.err)
                        ends[r.rc] += 1
    assert min(ends.values()) >= 6, ends  # nearly all name something


@test
def lines_that_are_patched_elsewhere_stay():
    """CV-LINK-031: in a header, and behind the place of the function's address; both were internal errors."""
    for offset in (3, 0x51):
        damaged, other = inputs_of("lines", "sm_100")
        damaged.reloc(".rela.debug_line", 2, "offset", offset)
        out = os.path.join(scratch(), "out.cubin")
        r = link(write(bytes(damaged)), write(bytes(other)), "-o", out, arch="sm_100")
        equal(r.rc, CLEAN, r.err)
        assert "CV-LINK-031" in r.err, r.err


@test
def a_name_of_no_memory_is_refused():
    """CV-ELF-150: managed memory and kernels are global; the link would keep the bits."""
    damaged, other = inputs_of("lines", "sm_100")
    damaged.symbol("__UDT_CANONICAL", "other", 0xB7)
    refused(["CV-ELF-150"], "-r", write(bytes(damaged)), write(bytes(other)), arch="sm_100")


@test
def alignments_are_those_of_the_kind_of_a_section():
    """CV-LINK-132 of what an assembler made; of what a compiler made the examination asks it already."""
    for case, name, align in (("tex_object", ".debug_frame", 8), ("tex_object", ".nv.constant0._Z4ktexyyPf", 0), ("alias_ptx", ".text.realf", 32)):
        damaged = inputs_of(case, "sm_80")[0]
        damaged.section(name, "align", align)
        refused(["CV-LINK-132"], write(link_mutants.assembled(bytes(damaged))), arch="sm_80")
        refused(["CV-ELF-049"], write(bytes(damaged)), arch="sm_80")
    linked(write(link_mutants.assembled(bytes(inputs_of("tex_object", "sm_80")[0]))), arch="sm_80")


@test
def a_slot_says_the_number_of_its_bank():
    """As the reference: the instruction may have had another."""
    number = 5 << 54
    a, b = inputs_of("tex_ref_ptx", "sm_90")
    plain = linked(write(bytes(a)), write(bytes(b)), arch="sm_90")
    at = a.at_section(".text.ktr", a.rget(".rela.text.ktr", 0, "offset"))
    a.put((0, 8), a.get((0, 8), at) | number, at)
    equal(linked(write(bytes(a)), write(bytes(b)), arch="sm_90"), plain)


@test
def pieces_of_constants_that_share_bytes():
    """Compilers before 11 wrote such; what preserves their names was a defect of ours."""
    for number in ("75", "90"):
        for value, size in ((1, 12), (0, 13), (0, 24), (8, 16), (4, 4)):
            e = edit.Elf(read("branchy.sm_%s.rdc.cubin" % number))
            piece = next(n for n, _ in e.symbols() if n.endswith(".const_opt.0.12"))
            path = write(bytes(e.symbol(piece, "value", value).symbol(piece, "size", size)))
            equal(cuvet("scan", path).rc, CLEAN, path)
            for form in ((), ("-g",), ("--preserve-relocs",), ("-r",), ("-r", "--compat-r")):
                linked(path, *form, arch="sm_" + number)


@test
def the_suffix_of_the_target_is_listed():
    # our own note does not name a machine: CUDA_ACCELERATOR_TARGET of .nv.compat does
    files, cases = golden()
    for target in ("sm_90", "sm_90a", "sm_100", "sm_100a"):
        name, _, options, inputs, _ = [r for r in cases if r[1] == target and r[2] == "-"][0]
        paths = [write(files.extractfile(n).read(), n) for n in inputs.split()]
        found = write(linked(*paths, arch=target), name + ".cubin")
        equal([m["arch"] for m in cuvet("list", "--format=ndjson", found).objects("member")], [target], name)


def sections(image):
    """Section headers and their names."""
    off, (n, names) = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<HH", image, 60)
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, off + 64 * i) for i in range(n)]
    text = image[heads[names][4]:][:heads[names][5]]
    return [(text[h[0]:text.index(b"\0", h[0])], h) for h in heads]


def rows(image, kind, form):
    """Each row of the sections of a type: where it is, and its words."""
    size = struct.calcsize(form)
    return [(at, struct.unpack_from(form, image, at)) for _, h in sections(image) if h[1] == kind
            for at in range(h[4], h[4] + h[5], size)]


@test
def a_kernel_has_the_barriers_that_its_flags_tell():
    """Where functions of today below a kernel of an old tool have fewer than it, the reference's record has theirs only. Flags stay, as there."""
    old, today = inputs_of("barriers_kept", "sm_80")
    for own, want in ((9, 9), (5, 7), (0, 7)):
        old.section(".text.both", "flags", 6 | own << 20)
        out = linked(write(bytes(old)), write(bytes(today)), arch="sm_80")
        found = dict(sections(out))
        equal(found[b".text.both"][2], 6 | own << 20, "flags")
        records = found[b".nv.info.both"]
        at, most = records[4], None
        while at < records[4] + records[5]:
            form, code, value = struct.unpack_from("<BBH", out, at)
            most = value if (form, code) == (2, 0x4C) else most
            at += 4 + (value if form == 4 else 0)
        equal(most, want, own)


@test
def variables_are_not_counted_from_their_section():
    """CV-ELF-190: compilers name variables, and a driver refuses code that names the section of its variables instead."""
    damaged = inputs_of("dead_code", "sm_90")[1]
    table = next(n for n in damaged.names if n.startswith(".rela.text") and any(
        damaged.rget(n, i, "type") == 57 for i in range(damaged.sget(n, "size") // 24)))
    row = next(i for i in range(damaged.sget(table, "size") // 24) if damaged.rget(table, i, "type") == 57)
    data = damaged.index(".nv.global.init")
    damaged.reloc(table, row, "sym", damaged.find_symbol(lambda field: field("info") & 15 == 3 and field("shndx") == data))
    for options in ((), ("-r",)):
        refused(["CV-ELF-190"], *options, write(bytes(inputs_of("dead_code", "sm_90")[0])), write(bytes(damaged)), arch="sm_90")


@test
def debug_data_may_name_a_symbol_that_is_nothing():
    """No compiler does it, nothing forbids it: the symbol of a debug section is made an empty one. A variable that nothing defines is none of code."""
    files, cases = golden()
    case = [r for r in cases if r[:3] == ["const_multi", "sm_75", "-"]][0]
    first, second = (bytearray(files.extractfile(n).read()) for n in case[3].split())
    frames = [i for i, (name, _) in enumerate(sections(second)) if name == b".debug_frame"][0]
    at = [a for a, r in rows(second, 2, "<IBBHQQ") if r[1] == 3 and r[3] == frames][0]
    for name, kind in ((0, 0), (1, 0), (0, 1)):
        struct.pack_into("<IBBHQQ", second, at, name, kind, 0, 0, 0, 0)
        for options in ((), ("-r",), ("-r", "--compat-r"), ("-g",), ("--preserve-relocs",), ("-r", "--preserve-relocs")):
            pair = write(first, "first.cubin"), write(second, "second.cubin")
            (refused(["CV-ELF-193"], *options, *pair, arch="sm_75") if kind else linked(*options, *pair, arch="sm_75"))


@test
def memory_of_one_kernel_is_not_for_others():
    """A variable in the shared memory of a kernel under a name that other objects see, which no compiler writes. The reference ends with an internal
    error, or links it."""
    for bind in (1, 2):
        for number in ("75", "90"):
            e = edit.Elf(read("dynshared.sm_%s.rdc.cubin" % number))
            name = next(n for n, _ in e.symbols() if "head" in n)
            e.symbol(name, "info", bind << 4 | e.yget(name, "info") & 15)
            for options in ((), ("-r",), ("-g", "--preserve-relocs")):
                refused(["CV-LINK-133"], *options, write(bytes(e), "alone.cubin"), arch="sm_" + number)


@test
def parameters_of_two_definitions():
    """Of a weak kernel, with different sizes: with -r each definition's name of all parameters stays, as in the reference, and a scan has nothing to say."""
    pair = []
    for size, value in ((8, 0x160), (4, 0x160), (8, 0x15C)):
        e = edit.Elf(read("dynshared.sm_75.rdc.cubin"))
        e.symbol("_Z9dynsharedPi", "info", 0x22).symbol("_param", "size", size).symbol("_param", "value", value)
        pair.append(write(bytes(e), "%d-%x.cubin" % (size, value)))
    for order in (pair, pair[::-1]):
        out = edit.Elf(linked("-r", *order, arch="sm_75"))
        sizes = [out.get(edit.SYM["size"], at) for name, at in out.symbols() if name == "_param"]
        equal(sizes, [8, 4, 8])
        equal(cuvet("scan", write(bytes(out), "out.cubin")).rc, CLEAN)


@test
def threads():
    """Any number gives the same bytes and says the same; a small link starts none unless it is told to."""
    d = scratch()
    many = link_objects.make("functions", 700, d)
    alone = linked("-j1", *many, arch="sm_90")
    for jobs in ((), ("-j", "2"), ("-j7",), ("--jobs=16",), ("--jobs", "256"), ("-j=3",), ("-j2", "--no-sandbox")):
        equal(linked(*jobs, *many, arch="sm_90"), alone, " ".join(jobs))
    said = [link("-j", jobs, A, "-o", os.path.join(d, "half"), arch="sm_75") for jobs in ("1", "4")]  # half of a program: something is undefined
    equal((said[0].rc, said[0].err), (said[1].rc, said[1].err))
    assert said[0].rc == FINDINGS and said[0].err, said[0].err
    for live in (300000, 600000, 1000000, 1200000, 1500000, 2000000, 3000000, 5000000):
        ended = [link("-j", jobs, "--limit", "live=%d" % live, "-o", os.path.join(d, jobs), *many[:20], arch="sm_90") for jobs in ("1", "3")]
        equal((ended[0].rc, ended[0].err), (ended[1].rc, ended[1].err), str(live))
    for wrong in ("0", "257", "x", ""):
        r = link("--jobs=" + wrong, A, B)
        equal(r.rc, USAGE, wrong)
        assert "--jobs takes a number" in r.err, r.err
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    for words, files, arch, started in ((("-j2",), many, "sm_90", True), (("-j1",), many, "sm_90", False), ((), [A, B], "sm_75", False)):
        log, out = os.path.join(d, "log"), os.path.join(d, "out.cubin")
        r = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=clone,clone3", CUVET, "link", "-arch=" + arch, *words, *files, "-o", out],
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
        if r.returncode != CLEAN:
            raise Skip("strace cannot run it here: " + r.stderr.decode("utf-8", "replace")[:200])
        with open(log, encoding="utf-8", errors="replace") as f:
            equal("CLONE_THREAD" in f.read(), started, " ".join(words))


@test
def huge_pages():
    """The same bytes, and the system is asked for large pages for the one input that has room for them."""
    obj = link_objects.Obj()
    obj.variable("table", link_objects.SPACE_GLOBAL, 5 << 20)
    obj.functions.append(link_objects.Function("kernel", kernel=True, loads=("table",)))
    big, d = write(obj.write(), "big.cubin"), scratch()
    equal(linked("--huge-pages", big, arch="sm_90"), linked(big, arch="sm_90"), "--huge-pages")
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    for words, asked in (((), False), (("--huge-pages",), True)):
        log, out = os.path.join(d, "log"), os.path.join(d, "out.cubin")
        r = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=madvise", CUVET, "link", "-arch=sm_90", *words, big, "-o", out],
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
        if r.returncode != CLEAN:
            raise Skip("strace cannot run it here: " + r.stderr.decode("utf-8", "replace")[:200])
        with open(log, encoding="utf-8", errors="replace") as f:
            equal("MADV_HUGEPAGE" in f.read(), asked, " ".join(words))


main()
