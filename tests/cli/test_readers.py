# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who unpacks a package may use another reader than cuvet does. What only one of them sees is a finding: in tar files, at the end of a file where others
look for a zip file, and at its beginning where others look for tar. The other reader is Python's."""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import sys
import tarfile
import zipfile

from lib_cli import CLEAN, CUVET, FINDINGS, LIMIT, Skip, cuvet, equal, main, read, scratch, test, write

PROGRAM = os.path.join(os.path.dirname(CUVET), "cuvet-package")
CUBIN = read("plain.sm_75.cubin")
PACKED = gzip.compress(CUBIN, mtime=0)  # is not found among the bytes of something else
END = bytes(1024)
FULL = bool(os.environ.get("CV_FULL"))


def needed():
    if not os.path.exists(PROGRAM):
        raise Skip("cuvet-package was not built (libarchive-dev)")


def header(name, size=0, kind=b"0", link=b"", field=None, mark=b"ustar\x0000", prefix=b""):
    head = bytearray(512)
    for at, text in ((0, name), (100, b"0000644\0" + b"0000000\0" * 2), (124, b"%011o\0" % size if field is None else field), (136, b"00000000000\0"), (156, kind), (157, link),
                     (257, mark), (345, prefix)):
        head[at:at + len(text)] = text
    return summed(head)


def summed(head):
    head = bytearray(head)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def filled(data):
    return data + bytes(-len(data) % 512)


def entry(name, data=PACKED, kind=b"0", **more):
    return header(name, len(data), kind, **more) + filled(data)


def words(kind=b"x", **pairs):
    text = b""
    for key, value in pairs.items():
        record = b" %s=%s\n" % (key.replace("__", ".").encode(), str(value).encode())
        length = len(record)
        while len(b"%d" % length) + len(record) != length:
            length = len(b"%d" % length) + len(record)
        text += b"%d" % length + record
    return entry(b"x", text, kind)


EVIL, OK = entry(b"evil.gz"), entry(b"ok.txt", b"hello")
LONG = len(EVIL)
# what: (the file, what may be in its reason)
TAR = {
    "a folder with a size of PAX": words(size=LONG) + header(b"d/", 0, b"5") + EVIL,
    "a symbolic link with one": words(size=LONG) + header(b"l", 0, b"2", b"x") + EVIL,
    "a device with one": words(size=LONG) + header(b"p", 0, b"6") + EVIL,
    "a size that is none": words(SCHILY__realsize=0) + EVIL,
    "a volume's label with bytes": entry(b"evil.gz", kind=b"V"),
    "rights of Solaris with bytes": entry(b"evil.gz", kind=b"A"),
    "a size that ends early": header(b"ok", field=b"0\0%o" % LONG + bytes(10 - len(b"%o" % LONG))) + EVIL,
    "a size below zero": header(b"ok", field=b"-0000000001\0") + EVIL,
    "a size of nines": header(b"ok", field=b"00000000009\0") + EVIL,
    "a size to the base of 256 below zero": header(b"ok", field=b"\xff" * 12) + EVIL,
    "a size of PAX in words": words(size="%d.0" % LONG) + header(b"ok") + EVIL,
    "records twice": words(size=LONG) + words(path="z") + header(b"ok") + EVIL,
    "a broken record": entry(b"x", b"xx\n", b"x") + EVIL,
    "a size for all": words(b"g", size=LONG) + header(b"ok") + EVIL,
    "a name for all": words(b"g", path="other") + EVIL,
    "one block of zeros": OK + bytes(512) + EVIL,
    "a file whose name ends like a folder's": entry(b"evil.gz/"),
    "the same by PAX": words(path="evil/") + entry(b"evil.gz"),
    "zip in its name": header(b"PK\3\4", 5) + filled(b"hello") + EVIL,
    "gzip in its name": header(b"\x1f\x8b\x08", 5) + filled(b"hello") + EVIL,
    "bzip2 in its name": header(b"BZh91AY&SY", 5) + filled(b"hello") + EVIL,
    "zstd in its name": header(b"\x28\xb5\x2f\xfd", 5) + filled(b"hello") + EVIL,
    "nothing of it for libarchive": words(GNU__sparse__name="x") + header(b"b/", 0, b"5") + EVIL,
    "the same behind what is skipped": header(b"p", 0, b"6") + words(GNU__sparse__name="x") + header(b"b/", 0, b"5") + EVIL,
    "deb in its name": header(b"!<arch>\ndebian-binary", 5) + filled(b"hello") + EVIL,
}
# What good tools write, and one reader or another had trouble with once.
GOOD = {
    "a label": header(b"label", 0, b"V") + EVIL, "a list of names": entry(b"d/", b"Yname\0\0", b"D") + EVIL, "a size of blanks": header(b"ok", field=b" " * 12) + EVIL,
    "a size with blanks": header(b"e", field=(b"%o " % len(PACKED)).rjust(12)) + filled(PACKED), "a size to the base of 256": header(b"e", field=b"\x80" + len(PACKED).to_bytes(11, "big")) + filled(PACKED),
    "a size by PAX alone": words(size=len(PACKED)) + header(b"e") + filled(PACKED), "a commit": words(b"g", comment="a" * 40) + EVIL, "a hard link with a size": OK + header(b"h", 5, b"1", b"ok.txt") + EVIL,
    "a folder with a size": header(b"d/", 512, b"5") + EVIL, "a contiguous file": entry(b"e.gz", kind=b"7"), "a name of digits": entry(b"070701/x.gz"), "old": entry(b"e.gz", mark=b""),
    "records of Solaris": words(b"X", size=len(PACKED)) + header(b"e") + filled(PACKED), "GNU": entry(b"e.gz", mark=b"ustar  \0"), "a long name": entry(b"././@LongLink", b"n" * 300 + b"\0", b"L") + EVIL, "no end": EVIL[:-len(filled(b"")) or None],
}


def by_others(data):
    """The SHA-256 of each file that Python sees in it."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as t:
            return {hashlib.sha256(t.extractfile(one).read()).hexdigest() for one in t if one.isfile() or one.type not in tarfile.SUPPORTED_TYPES}
    except (tarfile.TarError, OSError, ValueError, OverflowError, EOFError, MemoryError):
        return set()


def by_cuvet(path, *more):
    """(is there the device code, exit code, reasons)"""
    r = cuvet("scan", "--format=ndjson", *more, path)
    told = r.objects("verdict")
    return any(o["members"] + o["images"] for o in told), r.rc, [o.get("reason", "") for o in told]


@test
def what_only_others_see_is_a_finding():
    needed()
    d = scratch()
    for what, data in TAR.items():
        for pack in (bytes, gzip.compress):
            if pack is not bytes and "in its name" in what:
                continue  # inside of a stream it is a file that is a package
            seen, rc, why = by_cuvet(write(pack(data + END), "x.tar", d))
            assert rc == FINDINGS, (what, pack, seen, rc, why)
    for what, data in GOOD.items():
        for pack in (bytes, gzip.compress, bz2.compress):
            seen, rc, why = by_cuvet(write(pack(data + END), "x.tar", d))
            equal((seen, rc), (True, CLEAN), (what, pack, why))


@test
def checksums_as_readers_take_them():
    """With the sign of bytes and without, and with something behind their end: a tar file without a mark is known by its checksum alone, and its
    headers are read by the same rule."""
    needed()
    d = scratch()

    def sums(data, text, signed=False):
        head = bytearray(data[:512])
        head[148:156] = b" " * 8
        head[148:156] = text(sum(b - 256 * (signed and b > 127) for b in head))
        return bytes(head) + data[512:]
    plain, high = entry(b"e.gz", mark=b""), entry(b"\xe9.gz", mark=b"")
    for what, data, rcs in (("plain", sums(plain, lambda n: b"%06o\0 " % n), (CLEAN, CLEAN)), ("unsigned", sums(high, lambda n: b"%06o\0 " % n), (CLEAN, CLEAN)),
                            ("signed", sums(high, lambda n: b"%06o\0 " % n, True), (CLEAN, CLEAN)),
                            # libarchive takes these for no header
                            ("to the base of 256", sums(plain, lambda n: b"\x80" + n.to_bytes(7, "big")), (FINDINGS, FINDINGS)), ("more behind it", sums(plain, lambda n: b"%05o\0x " % n), (FINDINGS, FINDINGS)),
                            ("no end", sums(plain, lambda n: b"%06ox " % n), (CLEAN, FINDINGS)), ("one more", sums(plain, lambda n: b"%06o\0 " % (n + 1)), (CLEAN, FINDINGS))):
        for where, rc, pack in (("first", rcs[0], bytes), ("behind another", rcs[1], lambda data: OK + data), ("in gzip", rcs[0], gzip.compress)):
            r = cuvet("scan", "--format=ndjson", write(pack(data + END), "x.tar", d))
            told = [o for o in r.objects("verdict") if o["file"].endswith(".gz!/data")]
            equal((r.rc, len(told)), (rc, rcs == (CLEAN, CLEAN)), (what, where, r.out[-600:]))


@test
def wherever_it_is():
    """The same in a package in a package, in a stream of which nobody knows where blocks begin, and beyond what is read at once."""
    needed()
    d, bad = scratch(), words(size=LONG) + header(b"d/", 0, b"5") + EVIL + END
    noise = random.Random(5).randbytes(700000)
    pieces = bad + OK * 3
    for what, data in (("in a wheel", zipped([("inner.tar", bad)])), ("in pieces", b"".join(gzip.compress(pieces[i:i + 97]) for i in range(0, len(pieces), 97))), ("xz", lzma.compress(bad)),
                       ("late", entry(b"noise", noise) + bad), ("late in a stream", gzip.compress(entry(b"noise", noise) + bad))):
        seen, rc, why = by_cuvet(write(data, "x", d))
        assert rc == FINDINGS and any("depends on the reader" in text for text in why), (what, rc, why)
    seen, rc, _ = by_cuvet(write(entry(b"noise", noise) * 3 + EVIL + END, "x", d))
    equal((seen, rc), (True, CLEAN))


def some_tar(rng):
    """Entries of all kinds, of which a field or two says something else."""
    out = b""
    for _ in range(rng.randrange(1, 4)):
        data = rng.choice((b"", b"hello", filled(OK) + EVIL, OK))
        if rng.random() < .5:
            out += words(rng.choice((b"x", b"x", b"g")), **{rng.choice(("size", "path", "linkpath", "SCHILY__realsize", "GNU__sparse__realsize", "GNU__sparse__size", "GNU__sparse__name", "mtime")):
                         rng.choice((0, 5, len(data), len(EVIL), "x", "", "d/", "1.5"))})
        kind = rng.choice((b"0", b"0", b"\0", b"1", b"2", b"3", b"5", b"6", b"7", b"V", b"A", b"D", b"M", b"N", b"S", b"X", b"K", b"L", b"Z"))
        head = bytearray(header(rng.choice((b"a", b"b/", b"c.gz")), len(data) if rng.random() < .7 else rng.choice((0, 5, 512, len(EVIL))), kind, rng.choice((b"", b"a"))))
        if rng.random() < .4:
            at = rng.choice((*range(124, 136), *range(257, 265), 345, 482, 504, 156))
            head[at] = rng.choice((0, 32, 48, 55, 57, 128, 255))
        out += summed(head) + filled(data)
        if rng.random() < .1:
            out += bytes(512)
    return out + EVIL + (END if rng.random() < .9 else b"")


@test
def random_fields_hide_nothing():
    """What Python unpacks is seen, or the package is not clean."""
    needed()
    rng, d, wanted, clean = random.Random(int(os.environ.get("CV_SEED", "11"))), scratch(), hashlib.sha256(PACKED).hexdigest(), 0
    for turn in range(int(os.environ.get("CV_MUTANTS", 3000 if FULL else 60))):
        data = some_tar(rng)
        seen, rc, why = by_cuvet(write(data, "x.tar", d))
        if wanted in by_others(data):
            assert seen or rc == FINDINGS, (turn, d, rc, why)
        clean += rc == CLEAN and seen
    assert clean > 5, clean  # not everything is a finding


def zipped(files, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files:
            z.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        z.comment = comment
    return out.getvalue()


@test
def a_zip_file_behind_something_else():
    """Whoever opens a wheel looks from its end on; what is before that is nothing to them."""
    needed()
    d, one, told = scratch(), [("evil.cubin", CUBIN)], zipped([("evil.cubin", CUBIN)], b"a comment")
    tar = OK + END
    for what, data in (("junk", b"junk" * 100 + told), ("a program", read("host-plain.so") + told), ("junk on both sides", b"junk" + zipped(one) + b"x"), ("far from the end", b"junk" + zipped(one) + bytes(9000))):
        assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["evil.cubin"], what
        seen, rc, why = by_cuvet(write(data, "x.whl", d))
        equal((seen, rc), (True, CLEAN), (what, why))
    for what, data in (("tar", tar + zipped(one)), ("with a comment", tar + told), ("and more", tar + told + bytes(3000)), ("gzip", gzip.compress(b"hello") + told), ("tar in gzip", gzip.compress(tar) + told),
                       ("bzip2", bz2.compress(b"hello") + told), ("xz", lzma.compress(b"hello") + told), ("tar in xz", lzma.compress(tar) + told)):
        assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["evil.cubin"], what
        seen, rc, why = by_cuvet(write(data, "x.whl", d))
        assert rc == FINDINGS and any("is a zip file as well" in text for text in why), (what, seen, rc, why)
    # Behind the entries there may be more; how much of it is unpacked to find the end has a bound.
    zeros, cpio = gzip.compress(bytes(1 << 20)), b"070701" + b"0" * 88 + b"0000000b" + b"0" * 8 + b"TRAILER!!!\0" + bytes(3)
    for what, start, count, rc, text in (("tar", gzip.compress(tar), 8, FINDINGS, "is a zip file as well"), ("tar", gzip.compress(tar), 40, LIMIT, "more behind its entries than is unpacked"),
                                         ("cpio", gzip.compress(cpio), 8, FINDINGS, "is a zip file as well"), ("cpio", gzip.compress(cpio), 40, LIMIT, "more behind its entries than is unpacked")):
        for behind, reason in ((zipped(one), text), (b"PK\5\6" * 70 + bytes(22), text if rc == LIMIT else "more marks of the end")):
            seen, got, why = by_cuvet(write(start + zeros * count + behind, "x", d))
            assert got == (rc if "marks" not in reason else LIMIT) and any(reason in one for one in why), (what, count, reason, got, why)
            if count == 8 and rc == FINDINGS and "marks" not in reason:
                assert any("(byte %d)" % (len(start + zeros * count + behind) - 22) in one for one in why), (what, why)
        seen, got, why = by_cuvet(write(start + zeros * count, "x", d))
        equal(got, CLEAN, (what, count, why))
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as z:
        z.writestr("k.cubin", CUBIN)
    inner = entry(b"a.whl", stored.getvalue())
    for what, data in (("the last entry of tar", inner + END), ("stored in gzip", gzip.compress(inner + END, 0)), ("a wheel in gzip", gzip.compress(stored.getvalue(), 0)),
                       ("marks", b"PK\5\6" * 20), ("marks of nothing", read("host-plain.so") + b"PK\5\6" + bytes(18) + bytes(99))):
        seen, rc, why = by_cuvet(write(data, "x", d))
        equal(rc, CLEAN, (what, why))
        assert seen or "marks" in what, what


@test
def marks_of_an_end():
    """The first and the last place where Python looks for an end, one that is cut, and so many of them that not all are looked at."""
    needed()
    d, one = scratch(), zipped([("evil.cubin", CUBIN)], b"c" * 65535)
    equal(zipfile.ZipFile(io.BytesIO(b"junk" + one)).namelist(), ["evil.cubin"])
    for what, data in (("the longest comment", b"junk" + one), ("a byte less of it", b"junk" + one[:-1]),
                       ("63 marks behind one", b"junk" + zipped([("evil.cubin", CUBIN)]) + b"PK\5\6" * 63 + bytes(22))):  # libarchive does not look so far
        seen, rc, why = by_cuvet(write(data, "x.bin", d))
        assert any("has a directory, and its entries cannot be unpacked" in text for text in why), (what, seen, rc, why)
    for what, data, wanted in (("no comment", b"junk" + zipped([("evil.cubin", CUBIN)]), True),
                               ("a byte too far", b"junk" + one + b"c", False), ("a cut end", b"junk" + zipped([("evil.cubin", CUBIN)])[:-1], False), ("an end of nothing", b"\6" * 70000 + b"PK\5\6", False)):
        path = write(data, "x.bin", d)
        equal(any("!/evil.cubin" in o["file"] for o in cuvet("scan", "--format=ndjson", path).objects("verdict")), wanted, what)
    for what, data in (("nothing", b"junk" + b"PK\5\6" * 70 + bytes(22)), ("a directory", b"junk" + zipped([("evil.cubin", CUBIN)]) + b"PK\5\6" * 70 + bytes(22))):
        seen, rc, why = by_cuvet(write(data, "x.bin", d))
        equal((rc, [text for text in why if "marks of the end of a zip file" in text] != []), (LIMIT, True), (what, why))


@test
def holes_at_the_end_of_an_entry():
    """A sparse file of more than is kept in memory, all of it a hole: the process that opened it was lost, and what came after was not looked at."""
    needed()
    size = 3 << 20
    hole = entry(b"x", b"", b"0")
    text = words(GNU__sparse__major=1, GNU__sparse__minor=0, GNU__sparse__name="hole", GNU__sparse__realsize=size)
    places = filled(b"1\n%d\n0\n" % size)
    path = write(text + header(b"hole", len(places)) + places + hole + EVIL + END, "x.tar")
    r = cuvet("scan", "--format=ndjson", path)
    equal(r.rc, CLEAN, r.err)
    sizes = {o["file"].rpartition("!/")[2]: json.dumps(o) for o in r.objects("verdict")}
    assert "hole" in sizes and "data" in sizes, sizes


if __name__ == "__main__":
    sys.exit(main())
