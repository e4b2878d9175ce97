# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet check: what is asked for is there, or the exit code says that it is not; nothing passes because nobody looked."""
import io
import os
import re
import sys
import zipfile

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, ROOT, Skip, USAGE, bad_container, cuvet, equal, main, read, sample, scratch, test, write

MULTI, HOST = sample("multi.fatbin"), sample("host-plain.so")
HAS_MULTI = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120", "compute_120"]


def check(require, *args):
    r = cuvet("check", "--format=ndjson", *(["--require", require] if require else []), *args)
    return r, r.objects("check")


@test
def what_covers_what():
    for require, lacks in (("sm_80", []), ("sm_80,sm_90", []), ("sm_90a", []), ("sm_90f", ["sm_90f"]), ("sm_100", []), ("sm_100a", ["sm_100a"]), ("sm_86", ["sm_86"]),
                           ("compute_120", []), ("compute_90", []), ("compute_121", ["compute_121"]), ("compute_90a", ["compute_90a"]),
                           ("sm_75,sm_76,sm_80,sm_81", ["sm_76", "sm_81"])):
        r, (o,) = check(require, MULTI)
        equal((r.rc, o["ok"], o["lacks"]), (FINDINGS if lacks else CLEAN, not lacks, lacks), require)
        equal((o["has"], o["verdict"], o["forbidden"]), (HAS_MULTI, "clean", []), require)
    # What has its own suffix alone: sm_90 runs nowhere else, so that it covers sm_90.
    r, (o,) = check("sm_90", write(read("multi.fatbin")))
    equal(r.rc, CLEAN)


@test
def kinds_may_be_forbidden():
    r, (o,) = check(None, "--forbid", "ptx", MULTI)
    equal((r.rc, o["forbidden"]), (FINDINGS, ["ptx"]))
    r, (o,) = check(None, "--forbid", "lto-ir,bitcode", MULTI)
    equal((r.rc, o["forbidden"]), (CLEAN, []))


@test
def nothing_passes_unseen():
    d = scratch()
    for name, path, rc, verdict in (("text", write(b"hello\n", "a", d), FINDINGS, "clean"), ("nothing", write(b"", "b", d), FINDINGS, "clean"),
                                    ("damaged", write(bad_container() + read("multi.fatbin"), "c", d), FINDINGS, "malformed"),
                                    ("not there", os.path.join(d, "none"), IO, "error"), ("a folder", d, IO, "error")):
        r, found = check("sm_80", path)
        equal((r.rc, len(found), found[0]["ok"], found[0]["verdict"]), (rc, 1, False, verdict), name)
    r, (o,) = check("sm_80", "--limit=members=2", MULTI)
    equal((r.rc, o["ok"], o["verdict"]), (LIMIT, False, "limit"))
    empty = scratch()
    r, found = check("sm_80", "-r", empty)
    equal((r.rc, found), (FINDINGS, []))
    assert "nothing was checked" in r.err
    # One that is wrong among many
    r, found = check("sm_75", MULTI, write(b"x"), HOST)
    equal((r.rc, [o["ok"] for o in found]), (FINDINGS, [True, False, True]))


def package(*names, more=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name in names:
            z.writestr("lib/" + name, read(name))
        for name, data in more:
            z.writestr(name, data)
    return write(out.getvalue(), "x.whl")


@test
def packages_as_a_whole():
    if not os.path.exists(os.path.join(os.path.dirname(CUVET), "cuvet-package")):
        raise Skip("cuvet-package was not built (libarchive-dev)")
    path = package("plain.sm_75.cubin", "plain.sm_90.cubin", more=[("code.py", b"pass\n")])
    r, (o,) = check("sm_75,sm_90", path)
    equal((r.rc, o["file"], o["has"]), (CLEAN, path, ["sm_75", "sm_90"]))
    r, found = check("sm_75,sm_90", "--each", path)
    equal((r.rc, [(o["file"].rpartition("/")[2], o["lacks"]) for o in found]), (FINDINGS, [("plain.sm_75.cubin", ["sm_90"]), ("plain.sm_90.cubin", ["sm_75"])]))
    # Two packages do not add up, nor do a package and a file.
    r, found = check("sm_75,sm_90", package("plain.sm_75.cubin"), package("plain.sm_90.cubin"), sample("plain.sm_90.cubin"))
    equal((r.rc, [o["lacks"] for o in found]), (FINDINGS, [["sm_90"], ["sm_75"], ["sm_75"]]))
    for each in ([], ["--each"]):
        r, found = check("sm_75", *each, package("plain.sm_75.cubin", more=[("damaged", bad_container())]))
        equal(r.rc, FINDINGS, "a damaged file beside a good one")
        assert any(o["verdict"] == "malformed" and not o["ok"] for o in found), found


@test
def nobody_passes_on_the_code_of_another():
    d = scratch()
    broken = write(b"\x1f\x8b\x08\0" + bytes(60), "broken.gz", d)
    almost = write(bytes(257) + b"ustar" + bytes(250) + read("multi.fatbin"), "almost.bin", d)
    r, found = check("sm_80", MULTI, broken)
    equal((r.rc, [o["ok"] for o in found]), (FINDINGS, [True, False]))
    r, found = check("sm_80", almost, sample("plain.sm_75.cubin"))
    equal((r.rc, [(os.path.basename(o["file"]), o["ok"]) for o in found]), (FINDINGS, [("almost.bin", True), ("plain.sm_75.cubin", False)]))
    if not os.path.exists(os.path.join(os.path.dirname(CUVET), "cuvet-package")):
        raise Skip("cuvet-package was not built (libarchive-dev)")
    r, found = check("sm_80", "--each", MULTI, package(more=[("a.py", b"pass")]))
    equal((r.rc, [o["ok"] for o in found]), (FINDINGS, [True, False]))
    with open(package("plain.sm_75.cubin"), "rb") as f:
        secret = bytearray(f.read())
    secret[6] |= 1  # encrypted
    secret[secret.rindex(b"PK\1\2") + 8] |= 1
    r, found = check(None, "--forbid", "ptx", write(bytes(secret), "secret.whl", d))
    equal((r.rc, found[0]["ok"]), (FINDINGS, False))
    program = write(b"#!/bin/sh\n" + open(package("plain.sm_75.cubin"), "rb").read(), "program", d)
    r, found = check("sm_75", program)
    equal((r.rc, len(found), found[0]["has"]), (CLEAN, 1, ["sm_75"]))


@test
def usage():
    for argv in ([], ["--require", ""], ["--require", "90"], ["--require", "sm_90x"], ["--require", "sm_"], ["--require", "sm_80,"], ["--require", "sm_99999"],
                 ["--forbid", "elf"], ["--forbid", ""], ["--require", "sm_090"]):
        equal(cuvet("check", *argv, MULTI).rc, USAGE, repr(argv))


@test
def what_the_page_shows():
    with open(os.path.join(ROOT, "docs", "command.md"), encoding="utf-8") as f:
        shown = re.search(r"^\$ cuvet (check .*)\n((?:.+\n)+?)```", f.read(), re.M)
    r = cuvet(*shown[1].split(), cwd=os.path.join(ROOT, "corpus", "samples"))
    equal((r.out, r.rc), (shown[2], FINDINGS))


if __name__ == "__main__":
    sys.exit(main())
