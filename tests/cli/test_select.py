# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet select: what would be linked for a target, and why the rest would not."""
import os

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, USAGE, cuvet, equal, main, read, sample, scratch, test, write


def select(arch, path, *args):
    return cuvet("select", "--arch", arch, "--format=ndjson", *args, path)


def chosen(r):
    found = [c for c in r.objects("candidate") if c["chosen"]]
    assert len(found) <= 1 or len({c["depth"] for c in found}) == len(found), found
    return found[-1]["index"] if found else None


# what fits, in which order: file, target, chosen, ranks
RANKS = [
    ("multi.fatbin", "sm_75", 0, [1, 0, 0, 0, 0, 0, 0, 0]),
    ("multi.fatbin", "sm_89", 1, [0, 1, 0, 0, 0, 0, 0, 0]),
    ("multi.fatbin", "sm_90", 3, [0, 0, 2, 1, 0, 0, 0, 0]),
    ("multi.fatbin", "sm_90a", 3, [0, 0, 2, 1, 0, 0, 0, 0]),
    ("multi.fatbin", "sm_103", 5, [0, 0, 0, 0, 2, 1, 0, 0]),
    ("multi.fatbin", "sm_121", 6, [0, 0, 0, 0, 0, 0, 1, 2]),
    ("multi.fatbin", "sm_88", None, [0] * 8),
]


@test
def ranks_and_choice():
    for name, arch, want, ranks in RANKS:
        r = select(arch, sample(name))
        equal([c["rank"] for c in r.objects("candidate")], ranks, name + " " + arch)
        equal(chosen(r), want, name + " " + arch)
        for c in r.objects("candidate"):
            equal(c["reason"] == "fits", c["rank"] > 0, "reason of a candidate")


@test
def exact_policy_wants_the_suffix():
    r = select("sm_90", sample("multi.fatbin"), "--arch-policy=exact")
    equal(chosen(r), 2, "candidate")
    assert "policy is exact" in r.objects("candidate")[3]["reason"], r.out
    equal(chosen(select("sm_90a", sample("multi.fatbin"), "--arch-policy=exact")), 3, "candidate")


@test
def relocatable_code_is_selected_whole():
    out = os.path.join(scratch(), "one.cubin")
    r = select("sm_75", sample("host-two_a.o"), "-o", out)
    equal(r.rc, CLEAN, "exit")
    s = r.objects("selection")[0]
    equal((s["status"], s["match"], s["arch"], s["compiled"]), ("OK", "cubin", "sm_75", False), "selection")
    equal(os.path.getsize(out), s["size"], "size")
    equal(cuvet("scan", out).rc, CLEAN, "scan of the result")
    # what came out goes in again, as it is
    again = os.path.join(scratch(), "again.cubin")
    equal(select("sm_75", out, "-o", again).rc, CLEAN, "exit")
    equal(open(out, "rb").read(), open(again, "rb").read(), "bytes")


@test
def names_of_results():
    """what can be no file is said with its reason, and whatever a file system takes is taken"""
    d = scratch()
    os.mkdir(os.path.join(d, "folder"))
    longest = "n" * 255
    commands = {
        "select": lambda out: select("sm_75", sample("host-two_a.o"), "-o", out),
        "finalize": lambda out: cuvet("finalize", "--arch=sm_75", sample("plain.sm_75.cubin"), "-o", out),
        "link": lambda out: cuvet("link", "-arch=sm_90", sample("two_a.sm_90.rdc.cubin"), sample("two_b.sm_90.rdc.cubin"), "-o", out),
    }
    for name, run in commands.items():
        for wrong in ("folder/", ".", "folder/..", longest + "n"):
            r = run(os.path.join(d, wrong))
            assert r.rc in (USAGE, IO), (name, wrong, r.rc, r.err)
            assert "directory" in r.err or "too long" in r.err, (name, wrong, r.err)
            assert "internal" not in r.err, (name, wrong, r.err)
        for right in ("m" * 201, longest):
            r = run(os.path.join(d, right))
            equal(r.rc, CLEAN, (name, right, r.err))
            os.unlink(os.path.join(d, right))
    equal(os.listdir(d), ["folder"], "what is left")


@test
def output_is_complete_or_absent():
    d = scratch()
    out = write(b"mine", "out.cubin", d)
    r = select("sm_75", sample("host-two_a.o"), "-o", out)
    equal(r.rc, IO, "exit")
    equal(open(out, "rb").read(), b"mine", "an existing file")
    equal(select("sm_75", sample("host-two_a.o"), "-f", "-o", out).rc, CLEAN, "exit")
    assert open(out, "rb").read(4) == b"\x7fELF"
    r = select("sm_75", sample("multi.fatbin"), "-o", os.path.join(d, "none"))
    equal(r.rc, FINDINGS, "exit")  # an executable
    equal(os.listdir(d), ["out.cubin"], "files")
    equal(select("sm_75", sample("host-two_a.o"), "-o", os.path.join(d, "absent", "x")).rc, IO, "exit")


@test
def executables_are_refused_never_dropped():
    r = select("sm_90", sample("plain.sm_90.cubin"))
    equal(r.rc, FINDINGS, "exit")
    assert "CV-ADMIT-003" in [f["rule"] for f in r.objects("finding")], r.out
    equal(r.objects("selection")[0]["status"], "REFUSED", "status")


@test
def no_match_lists_what_was_there():
    r = select("sm_80", sample("host-two_a.o"), "--request=sass")
    equal(r.rc, FINDINGS, "exit")
    rules = [f["rule"] for f in r.objects("finding")]
    for rule in ("CV-INPUT-001", "CV-INPUT-002", "CV-INPUT-003"):
        assert rule in rules, rules
    equal(r.objects("selection")[0]["status"], "NO_MATCH", "status")


@test
def ptx_needs_a_compiler():
    r = select("sm_90", sample("ptx-only.fatbin"))
    equal(r.rc, FINDINGS, "exit")
    assert "CV-COMPILE-001" in r.out, r.out
    equal(r.objects("selection")[0]["status"], "COMPILER", "status")
    out = os.path.join(scratch(), "text.ptx")
    equal(select("sm_90", sample("ptx-only.fatbin"), "--request=ptx", "-o", out).rc, CLEAN, "exit")
    assert b".version" in open(out, "rb").read()


@test
def ir_as_it_is():
    r = select("sm_90", sample("lto-raw.fatbin"), "--request=ltoir")
    equal(r.objects("selection")[0]["match"], "ir", r.out)
    equal(select("sm_90", sample("lto-raw.fatbin")).objects("selection")[0]["status"], "NO_MATCH", "link")
    # scrambled: opaque, said, never handed on
    r = select("sm_90", sample("lto.fatbin"), "--request=ltoir")
    equal(r.objects("selection")[0]["status"], "UNSUPPORTED", r.out)
    assert "CV-INPUT-011" in r.out, r.out


@test
def nothing_in_it():
    d = scratch()
    for data, status in ((b"text", "UNKNOWN"), (b"", "UNKNOWN"), (b"\x50\xed\x55\xba\x01\x00", "TRUNCATED"),
                         (b"!<arch>\n", "REFUSED")):
        r = select("sm_90", write(data, "x", d))
        equal(r.objects("selection")[0]["status"], status, repr(data))
        equal(r.rc, FINDINGS, repr(data))
    assert "CV-INPUT-008" in select("sm_90", write(b"!<arch>\n", "x", d)).out


@test
def damaged_choice():
    data = bytearray(read("host-two_a.o"))
    at = data.index(b"\x28\xb5\x2f\xfd") + 40  # in the first zstd frame
    data[at] ^= 0xFF
    r = select("sm_75", write(bytes(data)))
    equal(r.rc, FINDINGS, "exit")
    equal(r.objects("selection")[0]["status"], "MALFORMED", r.out)
    equal(chosen(r), 0, "it was chosen all the same: nothing else takes its place")


@test
def limits_hold():
    equal(select("sm_75", sample("multi.fatbin"), "--limit", "candidates=7").rc, LIMIT, "exit")
    assert "CV-LIMIT-019" in select("sm_75", sample("multi.fatbin"), "--limit", "candidates=7").out
    equal(select("sm_75", sample("multi.fatbin"), "--limit", "candidates=8").rc, FINDINGS, "exit")


@test
def usage():
    for args in (["select", sample("multi.fatbin")], ["select", "--arch", "sm_99", sample("multi.fatbin")],
                 ["select", "--arch", "sm_90f", sample("multi.fatbin")], ["select", "--arch", "sm_90"],
                 ["select", "--arch", "sm_90", "-o", "x", sample("multi.fatbin"), sample("none.fatbin")],
                 ["select", "--arch", "sm_90", "--compiler", "ptxas", sample("ptx-only.fatbin")],
                 ["scan", "--target", "sm_99", sample("multi.fatbin")]):
        equal(cuvet(*args).rc, USAGE, " ".join(args))


@test
def text_for_people():
    r = cuvet("select", "--arch", "sm_103", sample("multi.fatbin"), sample("host-two_a.o"))
    assert "RANK" in r.out and "for another family" in r.out and "*    1" in r.out, r.out


@test
def scan_notes_admission():
    r = cuvet("scan", "--target", "sm_90", "--format=ndjson", sample("multi.fatbin"))
    equal(r.rc, CLEAN, "notes are no findings")
    rules = {f["rule"] for f in r.objects("finding")}
    assert {"CV-ADMIT-003", "CV-ADMIT-005", "CV-ADMIT-007"} <= rules, rules
    equal(cuvet("scan", "--format=ndjson", sample("multi.fatbin")).objects("finding"), [], "without a target")


main()
