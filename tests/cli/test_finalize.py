# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuvet finalize: for another machine, without capsules, explained; and what is refused."""
import glob
import os
import random
import struct

from lib_cli import CLEAN, FINDINGS, IO, LIMIT, SAMPLES, USAGE, cuvet, equal, main, read, sample, scratch, test, write


def finalize(path, *args, out=None):
    out = out or os.path.join(scratch(), "out.cubin")
    r = cuvet("finalize", *args, path, "-o", out)
    equal(os.path.exists(out), r.rc == CLEAN, "a file exactly when it went well: " + r.err)
    return r, read(out) if r.rc == CLEAN else None


@test
def one_byte_for_another_machine():
    for name, arch in (("plain.sm_100.cubin", "sm_103"), ("plain.sm_100.rdc.cubin", "sm_103"), ("plain.sm_120.cubin", "sm_121"),
                       ("plain.sm_120.rdc.cubin", "sm_121f")):
        r, b = finalize(sample(name), "--arch", arch)
        a = read(sample(name))
        equal(r.rc, CLEAN, r.err)
        equal([i for i in range(len(a)) if a[i] != b[i]], [49], name)
        assert "CV-FINAL-022" in r.err, r.err
        equal(cuvet("scan", write(b, "moved.cubin")).rc, CLEAN, "scan of the result")


@test
def strip_and_again():
    r, b = finalize(sample("plain.sm_100.g.cubin"), "--binary-kind=sass", "--self-check")
    equal(r.rc, CLEAN, r.err)
    assert b".nv.capmerc" not in b and b".nv.merc" not in b
    p = write(b, "plain.cubin")
    equal(cuvet("scan", p).rc, CLEAN, "scan of the result")
    r, again = finalize(p, "--binary-kind=sass")
    equal((r.rc, again), (CLEAN, b), r.err)
    assert "CV-FINAL-021" in r.err, r.err
    r, other = finalize(p, "--arch=sm_103")
    equal((r.rc, other[49]), (CLEAN, 103), r.err)


REFUSED = [
    (26, "plain.sm_110.cubin", ["--arch=sm_103"]),
    (26, "plain.sm_103.cubin", ["--arch=sm_100"]),
    (258, "plain.sm_100.cubin", ["--arch=sm_103", "--fastpath-off"]),
    (258, "plain.sm_100.cubin", ["--arch=sm_103", "--fastpath-off", "--binary-kind=sass"]),
    (258, "plain.sm_100.cubin", ["--arch=sm_103", "--backend=strip"]),
    (258, "plain.sm_100.cubin", ["--binary-kind=sass", "--backend=copy"]),
    (258, "plain.sm_100.cubin", ["--binary-kind=mercury"]),
    (20, "plain.sm_90.cubin", ["--cap-merc"]),
    (24, "plain.sm_75.cubin", ["--arch=sm_80"]),
    (6, "multi.fatbin", []),
    (6, "plain.ptx", []),
    (26, "plain.sm_100a.cubin", ["--arch=sm_100", "--arch-policy=exact"]),
]


@test
def refusals_name_the_code():
    for code, name, args in REFUSED:
        r, _ = finalize(sample(name), *args)
        equal(r.rc, FINDINGS, name + " " + " ".join(args))
        assert "code %d (" % code in r.err, r.err


@test
def usage():
    d = scratch()
    p = sample("plain.sm_100.cubin")
    for args in (["--binary-kind=sass", "--cap-merc", p, "-o", d + "/x"], [p], ["-o", d + "/x"], [p, p, "-o", d + "/x"],
                 ["--explain", p, "-o", d + "/x"], ["--arch=sm_99", p, "-o", d + "/x"], ["--backend=nvlink", p, "-o", d + "/x"],
                 ["--backend=strip", "--code-generator=/bin/false", p, "-o", d + "/x"],
                 ["--opportunistic-finalization-lvl=5", p, "-o", d + "/x"], ["--opt-level=3", p, "-o", d + "/x"]):
        equal(cuvet("finalize", *args).rc, USAGE, " ".join(args))
    assert "conflicting options" in cuvet("finalize", "--binary-kind=sass", "--cap-merc", p, "-o", d + "/x").err
    equal(os.listdir(d), [], "files")


@test
def files():
    d = scratch()
    p = sample("plain.sm_100.cubin")
    equal(cuvet("finalize", p, "-o", os.path.join(d, "absent", "x")).rc, IO, "no such directory")
    equal(cuvet("finalize", os.path.join(d, "absent"), "-o", os.path.join(d, "x")).rc, IO, "no such input")
    os.mkdir(os.path.join(d, "dir"))
    equal(cuvet("finalize", p, "-o", os.path.join(d, "dir")).rc, IO, "a directory")
    out = write(b"mine", "out", d)
    equal(cuvet("finalize", sample("plain.ptx"), "-o", out).rc, FINDINGS, "refused")
    equal(read(out), b"mine", "a file that was there")
    equal(cuvet("finalize", p, "-o", out).rc, CLEAN, "replaced")
    equal(read(out), read(p), "a copy")
    equal(cuvet("finalize", "--limit=input=1000", p, "-o", os.path.join(d, "y")).rc, LIMIT, "limit")
    equal(cuvet("finalize", "-", "-o", os.path.join(d, "z"), stdin=read(p)).rc, CLEAN, "standard input")
    equal(sorted(os.listdir(d)), ["dir", "out", "z"], "files")


@test
def notes_on_request():
    r, b = finalize(sample("plain.sm_100.cubin"), "--arch=sm_103", "--tkinfo")
    equal(r.rc, CLEAN, r.err)
    text = cuvet("dump", "--notes", write(b, "x.cubin")).out.split("\n", 1)[1]  # behind the name of the file
    assert text.index("ptxas") < text.index("cuvet"), text
    equal(cuvet("scan", write(b, "x.cubin")).rc, CLEAN, "scan of the result")
    _, b = finalize(sample("plain.sm_100.cubin"), "--arch=sm_103")
    assert b"cuvet" not in b
    r, b = finalize(sample("plain.sm_100.cubin"), "--arch=sm_100", "--tkinfo")
    equal(b, read(sample("plain.sm_100.cubin")), "a copy")
    assert "CV-FINAL-038" in r.err, r.err


@test
def trace():
    p = sample("plain.sm_100.cubin")
    r, _ = finalize(p, "-v", "--cap-merc", "--arch=sm_103")
    lines = [x for x in r.err.splitlines() if x.startswith("FNLZR: ")]
    equal(lines, ["FNLZR: Input ELF: " + p, "FNLZR: Flags [ 1 | 0 ]", "FNLZR: Starting " + p, "FNLZR: Ending " + p], "trace")


@test
def explanations():
    r = cuvet("finalize", "--explain", "--format=ndjson", "--arch=sm_103", sample("plain.sm_100.cubin"),
              sample("plain.sm_103.cubin"), sample("plain.sm_110.cubin"))
    equal(r.rc, FINDINGS, r.err)
    rows = r.objects("finalization")
    equal([(o["code"], o["backend"], o["can_fastpath"]) for o in rows],
          [(0, "copy", True), (257, None, True), (26, None, False)], "rows")
    equal((rows[0]["mask"], rows[0]["level"], rows[0]["source"], rows[0]["target"]), (9, 1, "sm_100", "sm_103"), "claims")
    text = cuvet("finalize", "--explain", "--binary-kind=sass", sample("plain.sm_100.cubin")).out
    assert "by backend strip" in text and "mask 0x9" in text, text
    r = cuvet("finalize", "--explain", "--arch=sm_103", "--fastpath-off", sample("plain.sm_100.cubin"))
    assert "yes, but the fast path is switched off" in r.out and "CV-FINAL-041" in r.err and "CV-FINAL-013" not in r.err, r.out + r.err


WITHOUT_BYTES = (8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)


def bodies(a):
    """Flags, offset and size of each section that has bytes in the file."""
    table, n = struct.unpack_from("<Q", a, 40)[0], struct.unpack_from("<H", a, 60)[0]
    rows = [struct.unpack_from("<IIQQQQ", a, table + 64 * i) for i in range(1, n)]
    return [(r[2], r[4], r[5]) for r in rows if r[5] and r[1] not in WITHOUT_BYTES]


@test
def damaged_capsules():
    """One byte of a capsule, of its header or of its tables: an error, or the code that was there."""
    rng = random.Random(5)
    names = sorted(n for n in glob.glob(os.path.join(SAMPLES, "*sm_1*.cubin")) if not os.path.basename(n).startswith("whole."))
    for name in rng.sample(names, 20):
        a = read(name)
        _, good = finalize(name, "--binary-kind=sass")
        stay = [(o, n) for flags, o, n in bodies(a) if not flags & 1 << 28]
        taken = [(o, n) for flags, o, n in bodies(a) if flags & 1 << 28]
        for k in range(4):
            b = bytearray(a)
            o, n = rng.choice(taken) if k % 2 else (len(a) // 2, len(a) // 2)
            at = o + rng.randrange(n)
            b[at] ^= 0xFF
            r, out = finalize(write(bytes(b), "bad.cubin"), "--binary-kind=sass")
            assert r.rc in (CLEAN, FINDINGS, LIMIT), "%s: %d %s" % (name, r.rc, r.err)
            assert r.rc != LIMIT or "CV-LIMIT-" in r.err, r.err
            if r.rc != CLEAN:
                continue
            # a byte of what stays is in the result, once; one of the tables at the end at most in its tables; any other is not
            equal(len(out), len(good), name)
            diff = [i for i in range(len(out)) if out[i] != good[i]]
            tables = struct.unpack_from("<Q", good, 40)[0] if at >= struct.unpack_from("<Q", a, 40)[0] else len(good)
            equal(len([i for i in diff if i < tables]), int(any(o <= at < o + n for o, n in stay)), "%s at 0x%x" % (name, at))
            assert len(diff) < 2, "%s at 0x%x: %r" % (name, at, diff)


main()
