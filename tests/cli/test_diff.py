# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet diff: what two releases have that differs; nothing is lost because nobody looked, and nothing is the same that is not known."""
import io
import os
import sys
import zipfile

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, Skip, USAGE, bad_container, cuvet, equal, main, read, sample, scratch, test, write

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


def package(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return write(out.getvalue())


def needs_packages():
    if not cuvet("scan", "--format=ndjson", package(a=b"x")).objects("package"):
        raise Skip("this build opens no packages")


@test
def packages():
    needs_packages()
    multi, host = read("multi.fatbin"), read("host-plain.so")
    old, new = package(a=multi, b=host, readme=b"hello"), package(a=multi, c=host, readme=b"good bye")
    r, whole, codes = diff(old, new)
    equal((r.rc, whole["result"], {o["state"] for o in codes.values()}), (CLEAN, "same", {"same"}))
    equal([(o["name"], o["state"], o["pieces"]) for o in r.objects("diff_file")], [("b", "lost", {"old": 2, "new": 0}), ("c", "new", {"old": 0, "new": 2})])
    # More of the same under its name is nothing new.
    r, whole, codes = diff(package(a=multi), package(a=multi, b=multi))
    equal((r.rc, codes["sm_90"]["kernels"], codes["sm_90"]["pieces"]), (FINDINGS, {"same": 1, "changed": 0, "lost": 0, "new": 0}, {"old": 1, "new": 2, "same": 1, "same_code": 0}))
    equal(cuvet("diff", "--fail-on=lost", package(a=multi, b=multi), package(a=multi)).rc, CLEAN)
    # A file is compared with a package as well.
    equal(diff(MULTI, package(a=multi))[1]["result"], "same")


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
    for args in ((MULTI,), (MULTI, MULTI, MULTI), ("--fail-on=some", MULTI, MULTI), ("--format=sarif", MULTI, MULTI)):
        equal(cuvet("diff", *args).rc, USAGE, args)


if __name__ == "__main__":
    sys.exit(main())
