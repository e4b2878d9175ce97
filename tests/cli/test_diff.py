# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet diff: what two releases have that differs; nothing is lost because nobody looked, and nothing is the same that is not known."""
import gzip
import os
import sys

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, Skip, USAGE, bad_container, cuvet, equal, main, needs_packages, package, read, sample, scratch, test, write

MULTI, HOST, LTO = sample("multi.fatbin"), sample("host-plain.so"), sample("lto.fatbin")


def diff(old, new, *args):
    r = cuvet("diff", "--format=ndjson", *args, old, new)
    return r, r.objects("diff")[0] if r.objects("diff") else None, {o["code"]: o for o in r.objects("diff_code")}


def cubin(*words):
    return sample(".".join(("plain",) + words + ("cubin",)))


def moved(elf):
    """The same device ELF with other bytes in its notes and elsewhere: strings of tools in .note.nv.tkinfo are not loaded."""
    at = elf.index(b"ptxas")
    return elf[:at] + b"PTXAS" + elf[at + 5:]


@test
def nothing_differs():
    for path in (MULTI, HOST, LTO, sample("host-merged.o"), sample("long-names.a"), sample("plain.ptx")):
        r, whole, codes = diff(path, path)
        equal((r.rc, whole["result"], {o["state"] for o in codes.values()}), (CLEAN, "same", {"same"}), path)
        equal((r.objects("diff_kernel"), r.objects("diff_file"), r.objects("diff_producer")), ([], [], []), path)
        assert whole["complete"], path


@test
def compression_makes_no_difference():
    r, whole, codes = diff(sample("compat.fatbin"), sample("compat-lz4.fatbin"))
    code = codes["sm_100"]
    equal((r.rc, whole["result"], code["state"], code["pieces"]["same"]), (CLEAN, "same", "same", 1))
    assert code["stored"]["old"] != code["stored"]["new"], code


@test
def code_under_other_metadata():
    pairs = [(cubin("sm_%d" % n), cubin("sm_%d" % n, "lineinfo")) for n in (90, 100, 120)]
    pairs.append((cubin("sm_80"), write(moved(open(cubin("sm_80"), "rb").read()))))
    for old, new in pairs:
        for rc, fail in ((FINDINGS, "any"), (CLEAN, "code"), (CLEAN, "lost")):
            r, whole, codes = diff(old, new, "--fail-on", fail)
            (code,) = codes.values()
            equal((r.rc, whole["result"], code["state"], code["pieces"]["same"], code["pieces"]["same_code"]), (rc, "metadata", "changed", 0, 1), (new, fail))
            equal((code["kernels"], r.objects("diff_kernel")), ({"same": 1, "changed": 0, "lost": 0, "new": 0}, []), new)


def text_of(elf):
    """Where the code of the only kernel is, by the dump."""
    (o,) = [s for s in cuvet("dump", "--sections", "--format=ndjson", write(elf)).objects("section") if s["name"].startswith(".text.")]
    return o["offset"], o["size"]


@test
def one_bit_of_code():
    elf = open(cubin("sm_90"), "rb").read()
    at, size = text_of(elf)
    for place in (at, at + size // 2, at + size - 1):
        other = bytearray(elf)
        other[place] ^= 1
        r, whole, codes = diff(cubin("sm_90"), write(bytes(other)), "--fail-on=code")
        (k,) = r.objects("diff_kernel")
        equal((r.rc, whole["result"], k["state"], k["name"]), (FINDINGS, "code", "changed", "_Z5plainPi"), place)
        assert k["old"][0]["fingerprint"] != k["new"][0]["fingerprint"]
        equal(cuvet("diff", "--fail-on=lost", cubin("sm_90"), write(bytes(other))).rc, CLEAN)


def part(elf, kind, **want):
    """The first object of a dump that has these members."""
    for o in cuvet("dump", "--format=ndjson", write(elf)).objects(kind):
        if all(o.get(k) == v for k, v in want.items()):
            return o
    raise AssertionError((kind, want))


def section(elf, name):
    return part(elf, "section", name=name)


@test
def what_a_loader_reads_counts():
    """Each of these is code that does another thing, or is found in another way."""
    elf = open(cubin("sm_90"), "rb").read()
    info, text = section(elf, ".nv.info._Z5plainPi"), section(elf, ".text._Z5plainPi")
    symbols = section(elf, ".symtab")
    kernel = part(elf, "symbol", name="_Z5plainPi")["index"]
    merc = open(cubin("sm_100"), "rb").read()
    capsule = section(merc, ".nv.capmerc.text._Z5plainPi")
    head = lambda e, o: int.from_bytes(e[40:48], "little") + 64 * o["index"]
    registers = part(elf, "attribute", name="MAXREG_COUNT")
    for what, data, at, to in (("attribute", elf, info["offset"] + registers["offset"] + 2, 32), ("binding", elf, symbols["offset"] + 24 * kernel + 4, 0x22),
                               ("size of a symbol", elf, symbols["offset"] + 24 * kernel + 16, 1), ("alignment", elf, head(elf, text) + 48, 64),
                               ("capsule", merc, capsule["offset"] + capsule["size"] - 1, merc[capsule["offset"] + capsule["size"] - 1] ^ 1)):
        other = bytearray(data)
        assert other[at] != to, what
        other[at] = to
        r, whole, codes = diff(write(data), write(bytes(other)), "--fail-on=code")
        equal((r.rc, whole["result"], [o["pieces"]["same_code"] for o in codes.values()]), (FINDINGS, "code", [0]), what)
        if what == "attribute":
            assert "_Z5plainPi  the same machine code\n" in cuvet("diff", write(data), write(bytes(other))).out
            (k,) = r.objects("diff_kernel")
            equal((k["old"][0]["machine_code"] == k["new"][0]["machine_code"], k["old"][0]["fingerprint"] == k["new"][0]["fingerprint"]), (True, False))
    # Options with which a member is to be compiled.
    fatbin = read("lto-options.fatbin")
    (claim,) = [o for o in cuvet("map", "--format=ndjson", write(fatbin)).objects("claim") if o["owner"] == "option block"]
    at = max(i for i in range(claim["offset"], claim["offset"] + claim["length"]) if fatbin[i] > 0x20)
    other = bytearray(fatbin)
    other[at] ^= 1
    r, whole, _ = diff(write(fatbin), write(bytes(other)), "--fail-on=code")
    equal((r.rc, whole["result"]), (FINDINGS, "code"), r.out)


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry one(
\t.param .u64 p
)
{
\t.local .b8 room[16];
\tmov.u64 \t%rd1, 7;
\tret;
}
.visible .entry __nv_static_26__71b411a3_5_a_cu__Z3two(
)
{
\tret;
}
"""


@test
def text_without_what_is_said_about_it():
    same = [PTX.replace("ret;", "ret; // done", 1), PTX.replace("\tmov", "   mov"), PTX.replace("\tmov", "\n\n\t.loc 1 7 3\n\tmov"),
            PTX + '\t.file\t1 "a.cu"\n\t.section\t.debug_str\n\t{\n.b8 1,2\n\t}\n', PTX.replace("71b411a3", "0b51c0de"), PTX.replace("\n", "\r\n")]
    other = [PTX.replace("7;", "8;"), PTX.replace("room[16]", "room[32]"), PTX.replace("\tmov", "\t.loc 1 7 3 add.u32 a, b, c;\n\tmov"), PTX.replace("a_cu", "b_cu"),
             PTX.replace("\tmov.u64 \t%rd1, 7;", "/* // */ mov.u64 %rd1, 7;").replace("// */", "// */ trap;"), PTX.replace("\tmov", '\t.section .debug_str { } trap;\n\tmov'),
             PTX + '\t.pragma "//"; trap;\n',
             PTX.replace("\tmov", "\t.loc 1 7 3 bra L1\n;\n\tmov"), PTX.replace("\tmov", "\t.loc 1 7 3\n; trap;\n\tmov"), PTX.replace("\tmov", '\t.file 1 "a" trap\n\tmov')]
    for results, texts in (("metadata", same), ("code", other)):
        for text in texts:
            r, whole, codes = diff(write(PTX.encode()), write(text.encode()))
            assert whole["result"] == results or (results == "code" and whole["result"] == "lost"), (text, r.out)
            equal(codes["compute_90"]["kernels"]["same"] == 2, results == "metadata" or "pragma" in text, (text, r.out))
    # Names that differ by the hash alone are two where both are there.
    calls = [PTX + "".join("\t.extern .func _INTERNAL_%s_f;\n" % h for h in ("aaaaaaaa", "bbbbbbbb")) + "\tcall _INTERNAL_%s_f;\n" % h for h in ("aaaaaaaa", "bbbbbbbb")]
    equal(diff(write(calls[0].encode()), write(calls[1].encode()))[1]["result"], "code")
    # An entry that is written in another way is known, or the whole is not.
    for text in (PTX.replace("one(\n", "\none(\n"), PTX.replace("}\n.visible", "} .visible")):
        r, whole, _ = diff(write(text.encode()), write(text[:text.index(".entry __nv")].encode()), "--fail-on=lost")
        equal(r.rc, FINDINGS, text)
    r, whole, codes = diff(write(PTX.encode()), write(PTX[:PTX.index(".visible .entry __nv")].encode()), "--fail-on=lost")
    equal((r.rc, whole["result"], codes["compute_90"]["kernels"]), (FINDINGS, "lost", {"same": 1, "changed": 0, "lost": 1, "new": 0}))


INSIDE = PTX[:PTX.index(".visible .entry __nv")] + """.visible .entry _ZN52_GLOBAL__N__71b411a3_12_snake_gpu_cu_a5affc6b_1813845snakeEv(
)
{
\tret;
}
"""


@test
def numbers_of_a_compilation_are_no_names():
    """What is internal to a file has hashes of the file in its name, and the number of the compiler's process: one kernel, compiled twice."""
    for here, there, result in (("a5affc6b", "b141967a", "metadata"), ("_181384", "_907261", "metadata"), ("71b411a3", "0b51c0de", "metadata"),
                                ("a5affc6b_181384", "b141967a_181290", "metadata"), ("snake_gpu", "snail_gpu", "lost"), ("5snakeE", "5snailE", "lost"),
                                # Digits that are not of the process: the length says where the name ends.
                                ("_ZN52_", "_ZN51_", "lost"), ("_1813845snake", "_181384_5snake", "lost")):
        assert here in INSIDE
        r, whole, codes = diff(write(INSIDE.encode()), write(INSIDE.replace(here, there).encode()))
        equal((whole["result"], codes["compute_90"]["kernels"]["same"]), (result, 2 if result == "metadata" else 1), here + r.out)
    # Two that differ by the second hash alone are two where both are there.
    ids = ("_INTERNAL_aaaaaaaa_4_a_cu_11111111", "_INTERNAL_aaaaaaaa_4_a_cu_22222222")
    calls = [PTX + "".join("\t.extern .func %s;\n" % i for i in ids) + "\tcall %s;\n" % i for i in ids]
    equal(diff(write(calls[0].encode()), write(calls[1].encode()))[1]["result"], "code")


@test
def what_a_relocation_names_counts():
    """The same bytes of code that call another function are other code."""
    path = sample("owners.sm_90.rdc.cubin")
    elf, name = open(path, "rb").read(), b"\0_Z9elsewherei\0"
    equal((elf.count(name), {o["name"] for o in cuvet("dump", "--relocs", "--format=ndjson", path).objects("relocation")} >= {"_Z9elsewherei"}), (1, True))
    r, whole, codes = diff(path, write(elf.replace(name, b"\0_Z9elsewherej\0")), "--fail-on=code")
    equal((r.rc, whole["result"], codes["sm_90"]["pieces"]["same_code"]), (FINDINGS, "code", 0), r.err)


@test
def an_architecture_is_lost():
    new = write(cut(read("multi.fatbin"), 2))
    r, whole, codes = diff(MULTI, new, "--fail-on=lost")
    equal((r.rc, whole["result"], codes["sm_90"]["state"], codes["sm_75"]["state"]), (FINDINGS, "lost", "lost", "same"))
    equal([o["code"] for o in r.objects("diff_kernel") if o["state"] == "lost"], ["sm_90"])
    # The other way round it is new, and nothing is lost.
    r, whole, codes = diff(new, MULTI, "--fail-on=lost")
    equal((r.rc, whole["result"], codes["sm_90"]["state"]), (CLEAN, "code", "new"))
    text = cuvet("diff", MULTI, new)
    assert "  sm_90        lost     1 piece, 1 kernel, 944 bytes\n" in text.out, text.out
    assert text.out.endswith(": the code differs, and something is lost\n"), text.out


def cut(fatbin, number):
    """Without the member of that number."""
    r = cuvet("list", "--format=ndjson", write(fatbin)).objects("member")
    first, end = r[number]["offset"], r[number + 1]["offset"]
    out = bytearray(fatbin[:first] + fatbin[end:])
    size = int.from_bytes(out[8:16], "little") - (end - first)
    out[8:16] = size.to_bytes(8, "little")
    return bytes(out)


@test
def packages():
    needs_packages()
    multi, host = read("multi.fatbin"), read("host-plain.so")
    old, new = package(a=multi, b=host, readme=b"hello"), package(a=multi, c=host, readme=b"good bye")
    r, whole, codes = diff(old, new)
    equal((r.rc, whole["result"], {o["state"] for o in codes.values()}), (FINDINGS, "metadata", {"same"}))
    equal(cuvet("diff", "--fail-on=code", old, new).rc, CLEAN)
    equal([(o["name"], o["state"], o["pieces"]) for o in r.objects("diff_file")], [("b", "lost", {"old": 2, "new": 0}), ("c", "new", {"old": 0, "new": 2})])
    # More of the same under its name is nothing new.
    r, whole, codes = diff(package(a=multi), package(a=multi, b=multi))
    equal((r.rc, codes["sm_90"]["kernels"], codes["sm_90"]["pieces"]), (FINDINGS, {"same": 1, "changed": 0, "lost": 0, "new": 0}, {"old": 1, "new": 2, "same": 1, "same_code": 0}))
    equal(cuvet("diff", "--fail-on=lost", package(a=multi, b=multi), package(a=multi)).rc, CLEAN)
    # In another order it is the same file.
    equal(diff(package(a=multi, b=host), package(b=host, a=multi))[1]["result"], "same")
    # A file is compared with a package as well.
    equal(diff(MULTI, package(a=multi))[1]["result"], "same")


@test
def where_code_is_in_a_package():
    needs_packages()
    multi, host = read("multi.fatbin"), read("host-plain.so")
    r, whole, codes = diff(package(a=multi, b=host), package(a=host, b=multi), "--fail-on=any")
    equal((r.rc, whole["result"], {o["state"] for o in codes.values()}), (FINDINGS, "metadata", {"same"}))
    equal([o["name"] for o in r.objects("diff_file")], ["a", "b"])
    d = os.path.join(scratch(), "a!")
    os.mkdir(d)
    strange = write(open(package(a=multi), "rb").read(), "x.zip", d)
    equal(diff(package(a=multi), strange)[1]["result"], "same")


@test
def what_was_not_opened_is_not_the_same():
    needs_packages()
    whole = open(package(a=read("multi.fatbin")), "rb").read()
    packed = gzip.compress(read("multi.fatbin"))
    for data in (whole[:20], packed[:40], packed[:12]):
        r, o, _ = diff(write(data), write(data))
        equal((r.rc, o["complete"]), (FINDINGS, False), data[:4])
    r, o, _ = diff("--no-packages", package(a=b"x"), package(a=b"x"))
    equal((r.rc, o["complete"]), (FINDINGS, False))
    # In a package it is compared as it is.
    equal(diff(package(a=read("multi.fatbin"), b=packed[:40]), package(a=read("multi.fatbin"), b=packed[:40]))[1]["result"], "same")
    r, o, codes = diff(package(a=read("multi.fatbin"), b=packed[:40]), package(a=read("multi.fatbin"), b=packed[:41]))
    equal((r.rc, o["result"], codes["packed"]["state"]), (FINDINGS, "code", "changed"))


@test
def nothing_is_called_lost_unseen():
    d = scratch()
    for old, new in ((MULTI, os.path.join(d, "none")), (os.path.join(d, "none"), MULTI), (MULTI, d)):
        r = cuvet("diff", old, new)
        equal((r.rc, r.out), (IO, ""), (old, new))
    damaged = write(bad_container() + read("multi.fatbin"))
    for pair in ((MULTI, damaged), (damaged, MULTI), (damaged, damaged)):
        r, whole, _ = diff(*pair, "--fail-on=lost")
        equal((r.rc, whole["complete"]), (FINDINGS, False), pair)
    r, whole, _ = diff(MULTI, MULTI, "--limit=members=2")
    equal((r.rc, whole["complete"]), (LIMIT, False))
    r, whole, _ = diff(MULTI, MULTI, "--limit=live=1")
    equal((r.rc, whole is None or not whole["complete"]), (LIMIT, True))
    text = cuvet("diff", MULTI, damaged)
    assert "; the new one malformed\n" in text.out, text.out


@test
def what_is_shown():
    r = cuvet("diff", HOST, MULTI)
    assert "made by  changed  ptxas 13.0  1 -> 7 pieces" in r.out, r.out
    assert "_Z5plainPi" not in r.out
    assert "_Z5plainPi" in cuvet("diff", "--all", HOST, MULTI).out
    assert "plain(int*)" in cuvet("diff", "--all", "--demangle", HOST, MULTI).out
    text = write(b"hello\n")
    equal([cuvet("diff", "--fail-on=lost", *pair).rc for pair in ((text, text), (text, MULTI), (MULTI, text))], [FINDINGS] * 3)
    assert "; the old one has no device code" in cuvet("diff", text, MULTI).out
    for args in ((MULTI,), (MULTI, MULTI, MULTI), ("-", "-"), ("--fail-on=some", MULTI, MULTI), ("--format=sarif", MULTI, MULTI)):
        equal(cuvet("diff", *args).rc, USAGE, args)


@test
def a_stack_that_nobody_knows():
    """A kernel that calls itself: the record of its stack says no number, and that is no 0."""
    old = read("whole.sm_90.cubin")
    at = old.index(bytes.fromhex("04120800 0f000000 ffffffff")) + 8
    new = write(old[:at] + (64).to_bytes(4, "little") + old[at + 4:])
    assert "_Z5wholePi  stack unknown -> 64" in cuvet("diff", sample("whole.sm_90.cubin"), new).out
    assert "_Z5wholePi  stack 64 -> unknown" in cuvet("diff", new, sample("whole.sm_90.cubin")).out
    _, _, codes = diff(sample("whole.sm_90.cubin"), new)
    (kernel,) = cuvet("diff", "--format=ndjson", sample("whole.sm_90.cubin"), new).objects("diff_kernel")
    equal([[v["stack"] for v in kernel[side]] for side in ("old", "new")], [[None], [64]])
    for command, word in ((["--format=cyclonedx"], '{"name":"cuvet:stack","value":"unknown"}'), (["--format=spdx"], "stack=unknown;")):
        assert word in cuvet("inventory", *command, sample("whole.sm_90.cubin")).out.replace('": "', '":"').replace(', "', ',"'), command


if __name__ == "__main__":
    sys.exit(main())
