# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet unpack: right bytes, and never a file where none should be."""
import os
import re

from lib_cli import (CLEAN, FINDINGS, IO, ROOT, USAGE, cuvet, damaged_member, equal, main, read, sample, scratch, test,
                     write)

NAME = re.compile(r"^[A-Za-z0-9._-]+$")


def unpack(*args, where=None):
    where = where or os.path.join(scratch(), "out")
    return where, cuvet("unpack", "-d", where, *args)


@test
def every_member_with_its_true_size():
    for name in ("multi.fatbin", "multi-lz4.fatbin", "none.fatbin", "host-unclaimed.so", "long-names.a",
                 "gaps.fatbin"):
        d, r = unpack(sample(name))
        equal(r.rc, CLEAN, name)
        members = cuvet("scan", "--format=ndjson", sample(name)).objects("member")
        files = sorted(os.listdir(d))
        equal(len(files), len(members), "number of files of " + name)
        for f, m in zip(files, members):
            assert NAME.match(f), f
            # PTX is stored with a NUL behind its text, which a file of text does not have.
            equal(os.path.getsize(os.path.join(d, f)), m["size"] - (m["kind"] == "ptx"), f)
            assert m["arch"] in f, (f, m["arch"])
            data = open(os.path.join(d, f), "rb").read(4)
            equal(data == b"\x7fELF", m["kind"] == "elf", "magic of " + f)


@test
def what_comes_out_scans_the_same():
    d, _ = unpack(sample("multi.fatbin"))
    for f in sorted(os.listdir(d)):
        equal(cuvet("scan", os.path.join(d, f)).rc, CLEAN, f)


@test
def code_that_stands_alone():
    """Bitcode of a file, of an archive and of an offload binary in an object: its bytes."""
    for name, size in (("legal/offload-object.o", 104), ("hostile/CV-BC-001.offload-bitcode-object.o", 108),
                       ("hostile/CV-BC-001.embeds.bc", 0), ("hostile/CV-BC-007.ltoir", 0)):
        path = os.path.join(ROOT, "corpus", name)
        kind = "ltoir" if name.endswith("ltoir") else "bitcode"
        d, r = unpack("--kind", kind, path)
        files = os.listdir(d)
        equal((r.rc, len(files)), (CLEAN, 1), name + r.err)
        data, whole = open(os.path.join(d, files[0]), "rb").read(), open(path, "rb").read()
        equal(len(data), size or len(whole), name)
        equal(whole.count(data), 1, name)


@test
def naming():
    d, r = unpack(sample("multi.fatbin"))
    files = sorted(os.listdir(d))
    assert re.match(r"^0000-fatbin0-entry0\.(sm|compute)_\d+[af]?\.(cubin|ptx)$", files[0]), files
    equal([f[:4] for f in files], ["%04d" % i for i in range(len(files))], "ordinals")
    equal([line.split()[0] for line in r.out.splitlines()], files, "printed names")


@test
def filters():
    path = sample("multi.fatbin")
    members = cuvet("list", "--format=ndjson", path).objects("member")
    for m in members:
        d, r = unpack("--arch", m["arch"], path)
        want = sum(x["arch"] == m["arch"] for x in members)
        equal((r.rc, len(os.listdir(d))), (CLEAN, want), m["arch"])
        number = m["arch"].split("_")[1]
        d, r = unpack("--arch", number, path)
        equal(len(os.listdir(d)), sum(x["arch"].split("_")[1] == number for x in members), number)
    for kind in ("elf", "ptx", "ltoir"):
        d, r = unpack("--kind", kind, path)
        equal(len(os.listdir(d)), sum(x["kind"].replace("-", "") == kind for x in members), kind)
    d, r = unpack("--arch", "sm_1", path)
    equal((r.rc, os.listdir(d)), (CLEAN, []), "no match")
    assert "nothing to write" in r.err, r.err


@test
def existing_files_stay():
    d, _ = unpack(sample("default.fatbin"))
    first = os.path.join(d, sorted(os.listdir(d))[0])
    good = open(first, "rb").read()
    with open(first, "wb") as f:
        f.write(b"mine")
    _, r = unpack(sample("default.fatbin"), where=d)
    equal((r.rc, open(first, "rb").read()), (IO, b"mine"), "without --force")
    assert "--force" in r.err, r.err
    _, r = unpack("--force", sample("default.fatbin"), where=d)
    equal((r.rc, open(first, "rb").read()), (CLEAN, good), "with --force")
    equal([f for f in os.listdir(d) if not f.startswith("0")], [], "files left behind")


@test
def links_in_the_directory_lead_nowhere():
    d, _ = unpack(sample("default.fatbin"))
    name = sorted(os.listdir(d))[0]
    victim = write(b"precious")
    for make in (os.symlink, os.link):
        os.unlink(os.path.join(d, name))
        make(victim, os.path.join(d, name))
        _, r = unpack(sample("default.fatbin"), where=d)
        equal((r.rc, open(victim, "rb").read()), (IO, b"precious"), "without --force")
        _, r = unpack("--force", sample("default.fatbin"), where=d)
        # Only regular files are replaced, and not written into: another name of the old file keeps its content.
        equal((r.rc, open(victim, "rb").read()), (IO if make is os.symlink else CLEAN, b"precious"),
              "with --force")
    os.unlink(os.path.join(d, name))
    os.symlink(os.path.join(scratch(), "absent"), os.path.join(d, name))
    _, r = unpack(sample("default.fatbin"), where=d)
    equal((r.rc, os.path.exists(os.path.join(d, name))), (IO, False), "dangling link")
    os.unlink(os.path.join(d, name))
    os.mkdir(os.path.join(d, name))
    _, r = unpack("--force", sample("default.fatbin"), where=d)
    equal(r.rc, IO, "a directory in the way")


@test
def bad_directories():
    equal(cuvet("unpack", "-d", write(b"x"), sample("default.fatbin")).rc, IO, "a file")
    equal(cuvet("unpack", "-d", scratch() + "/a/b", sample("default.fatbin")).rc, IO, "two levels missing")
    equal(cuvet("unpack", "-d", "", sample("default.fatbin")).rc, IO, "empty")
    equal(cuvet("unpack", sample("default.fatbin")).rc, USAGE, "none")
    if os.geteuid() != 0:
        d = scratch()
        os.chmod(d, 0o500)
        equal(cuvet("unpack", "-d", d, sample("default.fatbin")).rc, IO, "no permission")


@test
def a_full_device_leaves_nothing():
    if not os.path.isdir("/proc/self"):
        return
    equal(cuvet("unpack", "-d", "/proc/self", sample("default.fatbin")).rc, IO, "a directory without files")


@test
def damaged_members():
    path = write(damaged_member())
    d, r = unpack(path)
    equal(r.rc, FINDINGS, "exit")
    whole = cuvet("scan", "--format=ndjson", sample("multi.fatbin")).objects("member")
    equal(len(os.listdir(d)), len(whole) - 1, "the siblings")
    assert "fatbin[0]/entry[1]: not written" in r.err, r.err


@test
def members_with_findings_are_marked():
    data = bytearray(read("none.fatbin"))
    data[16 + 0x1C] = 76  # the header says sm_76, the ELF says something else
    path = write(data)
    scan = cuvet("scan", "--format=ndjson", path)
    equal(scan.rc, FINDINGS, "exit")
    d, r = unpack(path)
    equal(r.rc, FINDINGS, "exit")
    equal(len(os.listdir(d)), len(scan.objects("member")), "files")
    assert "do not trust" in r.out, r.out


@test
def lto_ir():
    d, r = unpack(sample("lto.fatbin"))
    equal((r.rc, os.listdir(d)), (CLEAN, []), "scrambled")
    assert "scrambled" in r.err, r.err
    d, r = unpack(sample("lto-raw.fatbin"))
    equal((r.rc, len(os.listdir(d))), (CLEAN, 1), "raw")
    assert os.listdir(d)[0].endswith(".ltoir"), os.listdir(d)


@test
def names_of_several_inputs():
    where = scratch()
    evil = os.path.join(os.fsencode(where), b"..\xff \x1b\n")
    with open(evil, "wb") as f:
        f.write(read("default.fatbin"))
    d, r = unpack(evil, sample("default.fatbin"), evil)
    equal(r.rc, CLEAN, "exit")
    files = os.listdir(d)
    equal(len(files), 6, "files")
    for f in files:
        assert NAME.match(f) and not f.startswith("."), f


@test
def repeated_runs_are_equal():
    a, _ = unpack(sample("multi.fatbin"))
    b, _ = unpack(sample("multi.fatbin"))
    equal(sorted(os.listdir(a)), sorted(os.listdir(b)), "names")
    for f in os.listdir(a):
        equal(open(os.path.join(a, f), "rb").read(), open(os.path.join(b, f), "rb").read(), f)


main()
