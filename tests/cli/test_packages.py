# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages: each file in one is an input with a name of its own, whatever it was packed with; what contradicts itself, costs too much or cannot
be unpacked has a verdict; and what unpacks them is believed nothing."""
import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
import zlib

from lib_cli import CLEAN, CUVET, FINDINGS, IO, LIMIT, Skip, cuvet, equal, main, read, sample, scratch, test, write

PROGRAM = os.path.join(os.path.dirname(CUVET), "cuvet-package")
FATBIN = read("multi.fatbin")
FILES = [("lib/multi.fatbin", FATBIN), ("lib/host.so", read("host-plain.so")), ("lib/plain.cubin", read("plain.sm_75.cubin")), ("code.py", b"import lib\n"),
         ("empty", b""), ("lib/libdevice.a", read("long-names.a"))]
warnings.simplefilter("ignore")  # zipfile says that a name comes twice


def needed():
    if not os.path.exists(PROGRAM):
        raise Skip("cuvet-package was not built (libarchive-dev)")


def zipped(files=FILES, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in files:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def tarred(files=FILES, mode="w", form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as t:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def old_cpio(files=FILES):
    """With octal numbers, as POSIX.1-1988 has it."""
    out = b""
    for name, data in files + [("TRAILER!!!", b"")]:
        out += b"070707" + b"%06o" * 7 % (0, 0, 0o100644, 0, 0, 1, 0) + b"%011o%06o%011o" % (0, len(name) + 1, len(data)) + name.encode() + b"\0" + data
    return out


def cpio(files=FILES):
    out = b""
    for name, data in [*files, ("TRAILER!!!", b"")]:
        plain = name.encode() + b"\0"
        out += b"070701" + b"%08X" * 13 % (0, 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(plain), 0) + plain
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return out


def ar(files):
    out = b"!<arch>\n"
    for name, data in files:
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"100644", len(data)) + data + b"\n" * (len(data) % 2)
    return out


def deb(packed, ending):
    return ar([("debian-binary", b"2.0\n"), ("control.tar.gz", gzip.compress(tarred([("control", b"Package: x\n")]))), ("data.tar" + ending, packed)])


def rpm(payload):
    head = b"\x8e\xad\xe8\x01" + bytes(4) + struct.pack(">II", 1, 4) + struct.pack(">IIII", 1000, 6, 0, 1) + b"abc\0"
    lead = b"\xed\xab\xee\xdb\x03\0\0\0\0\1" + b"x".ljust(66, b"\0") + b"\0\1\0\5" + bytes(16)
    return lead + head + bytes(-len(head) % 8) + head + payload


def packings():
    """(name of the file, its bytes, names of the entries)"""
    plain = [name for name, _ in FILES]
    tar = tarred()
    yield "stored.zip", zipped(method=zipfile.ZIP_STORED), plain
    yield "deflated.whl", zipped(), plain
    yield "bzip2.zip", zipped(method=zipfile.ZIP_BZIP2), plain
    yield "lzma.zip", zipped(method=zipfile.ZIP_LZMA), plain
    yield "plain.tar", tar, plain
    yield "gnu.tar", tarred(form=tarfile.GNU_FORMAT), plain
    yield "ustar.tar", tarred(form=tarfile.USTAR_FORMAT), plain
    yield "gzip.tar.gz", gzip.compress(tar), plain
    yield "bzip2.tar.bz2", bz2.compress(tar), plain
    yield "xz.tar.xz", lzma.compress(tar), plain
    yield "alone.tar.lzma", lzma.compress(tar, lzma.FORMAT_ALONE), plain
    yield "newc.cpio", cpio(), plain
    yield "x.deb", deb(lzma.compress(tar), ".xz"), ["debian-binary", "control.tar.gz!/control"] + ["data.tar.xz!/" + n for n in plain]
    yield "plain.deb", deb(tar, ""), ["debian-binary", "control.tar.gz!/control"] + ["data.tar!/" + n for n in plain]
    yield "x.rpm", rpm(gzip.compress(cpio())), plain
    yield "zeros.gz", gzip.compress(bytes(5000) + read("multi.fatbin")), ["data"]
    yield "one.so.gz", gzip.compress(read("host-plain.so")), ["data"]
    yield "image.tar", tarred([("manifest.json", b"{}"), ("blobs/sha256/ab", tar)]), ["manifest.json"] + ["blobs/sha256/ab!/" + n for n in plain]
    if shutil.which("zstd"):
        zst = subprocess.run(["zstd", "-q", "-c"], input=tar, stdout=subprocess.PIPE, check=True).stdout
        yield "zstd.tar.zst", zst, plain
        yield "x.conda", zipped([("metadata.json", b"{}"), ("pkg-x.tar.zst", zst)], zipfile.ZIP_STORED), ["metadata.json"] + ["pkg-x.tar.zst!/" + n for n in plain]


def told(result, path):
    """{entry: what was said of it, without its name}"""
    out = {}
    for o in result.objects():
        if o["type"] in ("member", "finding", "verdict") and o["file"].startswith(path + "!/"):
            out.setdefault(o["file"][len(path) + 2:], []).append({k: v for k, v in o.items() if k != "file"})
    return out


@test
def each_entry_is_an_input():
    """The answer about each entry is that about the file which was packed."""
    needed()
    alone = {name: cuvet("scan", "--format=ndjson", write(data)).objects() for name, data in FILES}
    seen = 0
    for name, data, entries in packings():
        path = write(data, name)
        for jobs in ("1", "2"):
            r = cuvet("scan", "--format=ndjson", "-j", jobs, path)
            equal((r.rc, r.err), (CLEAN, ""), name)
            answers = told(r, path)
            equal(sorted(answers), sorted(entries), name)
            for entry in entries:
                key = entry.rpartition("!/")[2] if entry.rpartition("!/")[2] in alone else None
                if key:
                    equal(answers[entry], [{k: v for k, v in o.items() if k != "file"} for o in alone[key]], name + " " + entry)
                    seen += 1
            whole = [o for o in r.objects("package") if o["file"] == path]
            equal(len(whole), 1, name)
    assert seen >= 100, seen


@test
def text_and_list_and_sarif():
    needed()
    path = write(zipped(), "x.whl")
    r = cuvet("scan", path)
    assert path + "!/lib/multi.fatbin: clean; 1 container" in r.out and path + ": package of %d entries\n" % len(FILES) in r.out, r.out
    assert "code.py" not in r.out and "code.py: clean; no device code" in cuvet("scan", "--all", path).out
    listed = cuvet("list", path)
    assert path + "!/lib/multi.fatbin\n" in listed.out and "code.py" not in listed.out and listed.rc == CLEAN, listed.out
    artifacts = json.loads(cuvet("scan", "--format=sarif", path).raw)["runs"][0]["artifacts"]
    inner = [a for a in artifacts if a["location"]["uri"] == "/lib/multi.fatbin"]
    equal([os.path.basename(artifacts[a["parentIndex"]]["location"]["uri"]) for a in inner], ["x.whl"], "an artifact in the package's")
    whole = cuvet("scan", "--no-packages", path)
    assert path + ": unsupported" in whole.out and "CV-FILE-002" in whole.out, whole.out
    folder = os.path.dirname(path)
    assert path + "!/lib/plain.cubin: clean" in cuvet("scan", "-r", folder).out
    with open(path, "rb") as f:
        assert "-!/lib/plain.cubin: clean" in cuvet("scan", "-", stdin=f).out
    assert "-!/lib/plain.cubin: clean" in cuvet("scan", "-", stdin=zipped()).out  # a pipe


@test
def unpack_and_dump():
    """What comes out is what comes out of the files; names on the disk are never those of entries."""
    needed()
    for name, data, _ in packings():
        if name not in ("deflated.whl", "x.deb", "gzip.tar.gz"):
            continue
        d = scratch()
        path, out = write(data, name, d), os.path.join(d, "out")
        r = cuvet("unpack", "-d", out, path)
        equal((r.rc, r.err), (CLEAN, ""), name)
        pieces = {}
        for entry, content in FILES:
            alone = os.path.join(scratch(), "out")
            if cuvet("unpack", "-d", alone, write(content, os.path.basename(entry))).rc == CLEAN and os.path.isdir(alone):
                for piece in os.listdir(alone):
                    with open(os.path.join(alone, piece), "rb") as f:
                        pieces.setdefault(f.read(), []).append(piece)
        got = {}
        for piece in os.listdir(out):
            with open(os.path.join(out, piece), "rb") as f:
                got.setdefault(f.read(), []).append(piece)
        equal({k: len(v) for k, v in got.items()}, {k: len(v) for k, v in pieces.items()}, name)
        equal(sorted(os.listdir(d)), sorted([name, "out"]), name)
        dumped = cuvet("dump", "--format=ndjson", path)
        alone = [cuvet("dump", "--format=ndjson", write(content, "x")) for _, content in FILES]
        equal(len(dumped.raw.splitlines()), sum(len(a.raw.splitlines()) for a in alone), name)


@test
def map_of_a_package():
    """The ledger of each entry is that of the file which was packed, in the order of the package; the limits are those of one file."""
    needed()
    d = scratch()
    for name, data, entries in packings():
        if name not in ("deflated.whl", "x.deb", "gzip.tar.gz", "x.rpm"):
            continue
        path = write(data, name, d)
        r, lines = cuvet("map", path), []
        equal((r.rc, r.err), (CLEAN, ""), name)
        files = {entry: content for entry, content in FILES}
        for entry in entries:
            content = files.get(entry.rpartition("!/")[2])
            if content is None:
                continue
            alone = write(content, "alone", d)
            lines.append(cuvet("map", alone).out.replace(alone, path + "!/" + entry))
        assert "".join(lines) in r.out and r.out.endswith(path + ": package of %d entries\n" % len(entries)) or "deb" in name, (name, r.out[-300:])
        told = cuvet("map", "--format=ndjson", path)
        equal([o["file"] for o in told.objects("verdict")], [path + "!/" + entry for entry in entries], name)
        equal(len(told.objects("claim")), sum(len(cuvet("map", "--format=ndjson", write(content, "alone", d)).objects("claim")) for entry in entries
                                              for content in [files.get(entry.rpartition("!/")[2])] if content is not None) + {"x.deb": 2}.get(name, 0), name)
    path = write(zipped([("a", FATBIN), ("b", FATBIN)]), "two.zip", d)
    r = cuvet("map", "--limit=budget=1K", "--limit=work=1", path)
    equal(r.rc, LIMIT, r.err)
    assert path + "!/b: " in r.err and "ended the map" in r.err, r.err
    assert "!/" not in cuvet("map", "--no-packages", path).out


@test
def other_commands_take_packages_as_files():
    path = write(zipped(), "x.whl")
    for argv in (("select", "--arch=sm_90", path), ("link", "--arch=sm_90", path, "-o", path + ".out")):
        assert "!/" not in cuvet(*argv).out, argv


def field(data, near, off, value):
    """A copy of a zip file with bytes changed in a header: of the last one that begins so."""
    out = bytearray(data)
    at = out.rindex(near) + off
    out[at:at + len(value)] = value
    return bytes(out)


LOCAL, CENTRAL = b"PK\3\4", b"PK\1\2"


def contradictions():
    one = zipped([("a", FATBIN)])
    two = zipped([("a", FATBIN), ("b", b"text")])
    yield "two entries of one name", zipped([("a", FATBIN), ("a", b"")]), "two entries of one name"
    yield "another name in the directory", field(one, CENTRAL, 46, b"z"), "say different things"
    yield "another name before the entry", field(one, LOCAL, 30, b"z"), "say different things"
    yield "another size in the directory", field(one, CENTRAL, 24, b"\1"), "say different things"
    yield "another checksum", field(one, CENTRAL, 16, b"\1\2\3"), ""
    yield "an entry that the directory does not have", hidden(two), "belong to no entry"
    yield "cut", one[:len(one) // 2], ""
    yield "cut in the directory", one[:-30], ""
    yield "tar.gz, cut", gzip.compress(tarred([("a", FATBIN), ("b", random.Random(1).randbytes(300000))]))[:-5000], ""
    yield "without a directory", two[:two.index(CENTRAL)], ""
    tar, second = tarred([("a", FATBIN), ("b", b"x" * 600)]), 512 + len(FATBIN) + -len(FATBIN) % 512
    yield "tar, a damaged header", tar[:second + 100] + b"\1" * 60 + tar[second + 160:], ""
    yield "tar, cut", tar[:second + 700], ""


def place(name, data):
    """Of what is wrong: the entry that says another thing, the second name in the directory, or the first byte without an owner."""
    if name == "two entries of one name":
        return data.rindex(CENTRAL)
    return data.index(LOCAL, 4) if name == "an entry that the directory does not have" else 0


def hidden(data):
    """Without the last entry of the directory, whose bytes stay."""
    at, end = data.rindex(CENTRAL), data.rindex(b"PK\5\6")
    tail = bytearray(data[end:])
    count, = struct.unpack_from("<H", tail, 8)
    size, = struct.unpack_from("<I", tail, 12)
    struct.pack_into("<HHI", tail, 8, count - 1, count - 1, size - (end - at))
    return data[:at] + bytes(tail)


@test
def what_contradicts_itself_is_malformed():
    needed()
    for name, data, text in contradictions():
        r = cuvet("scan", "--format=ndjson", write(data, "x"))
        equal(r.rc, FINDINGS, name + r.err)
        reasons = [o.get("reason", "") for o in r.objects("verdict") if o["verdict"] == "malformed"]
        assert reasons and any(text in reason for reason in reasons), (name, r.out)
        if text:  # ours: it says where
            at = [re.search(r"\(byte (\d+)\)$", reason) for reason in reasons if text in reason]
            assert at and all(at) and int(at[0][1]) == place(name, data), (name, reasons)
    for legal in (zipped([("a", FATBIN), ("b", FATBIN)]), zipped([]), tarred([]), streamed()):
        equal(cuvet("scan", write(legal, "x")).rc, CLEAN, "a legal neighbour")


def streamed():
    """A zip file of somebody who did not know the sizes when he began: they stand behind the entries."""
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, piece):
            self.data += bytes(piece)
            return len(piece)

    out = Pipe()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in FILES:
            z.writestr(name, data)
    return out.data


def tar_header(name=b"x", size=0):
    info = tarfile.TarInfo(name.decode())
    info.size = size
    return bytearray(info.tobuf(tarfile.USTAR_FORMAT))


def summed(head):
    """A tar header with its checksum."""
    head[148:156] = b"        "
    head[148:156] = b"%06o\0 " % sum(head[:512])
    return head


def moved_cubin(by=4096):
    """A cubin whose sections lie further down, so that there is room behind its header."""
    data = bytearray(read("plain.sm_75.cubin"))
    at, = struct.unpack_from("<Q", data, 40)
    phoff, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 60)
    for i in range(count):
        off, = struct.unpack_from("<Q", data, at + 64 * i + 24)
        struct.pack_into("<Q", data, at + 64 * i + 24, off + by if off else 0)
    for i in range(struct.unpack_from("<H", data, 56)[0] if phoff else 0):
        off, = struct.unpack_from("<Q", data, phoff + 56 * i + 8)
        struct.pack_into("<Q", data, phoff + 56 * i + 8, off + by if off else 0)
    struct.pack_into("<QQ", data, 32, phoff + by if phoff else 0, at + by)
    return data[:64] + bytes(by) + data[64:]


def two_formats():
    """(what, bytes): device code for whoever reads the file by its first bytes, and a tar file without an entry for others"""
    cubin = moved_cubin()
    head = bytearray(cubin[:512])
    head[100:148] = tar_header()[100:148]
    head[156:345] = tar_header()[156:345]
    yield "a cubin and tar", bytes(summed(head)) + bytes(cubin[512:])
    yield "the same in a stream", gzip.compress(bytes(summed(head)) + bytes(cubin[512:]))
    old = bytearray(head)
    old[257:265] = bytes(8)
    yield "the same without a mark", gzip.compress(bytes(summed(old)) + bytes(cubin[512:]))
    inner = zipped([("k.cubin", FATBIN)])
    extra = bytearray(struct.pack("<HH", 0xCAFE, 1996) + bytes(1996))
    whole = bytearray(inner[:37]) + extra + inner[37:]
    struct.pack_into("<H", whole, 28, len(extra))
    head = bytearray(whole[:512])
    head[100:148] = tar_header()[100:148]
    head[156:345] = tar_header()[156:345]
    whole[:512] = summed(head)
    at = whole.rindex(b"PK\5\6")
    struct.pack_into("<I", whole, at + 16, struct.unpack_from("<I", whole, at + 16)[0] + len(extra))
    yield "zip and tar", bytes(whole)


@test
def nobody_hides_behind_another_format():
    needed()
    for what, data in two_formats():
        r = cuvet("scan", "--format=ndjson", write(data, "x"))
        assert sum(o["members"] + o["images"] for o in r.objects("verdict")) >= 1, (what, r.out, r.err)
    for what, data in (("a prefix", b"#!/usr/bin/env python3\n" + zipped([("a", FATBIN)])), ("one piece", b"PK00" + zipped([("a", FATBIN)])),
                       ("v7 tar", bytes(summed(bytearray(tar_header(b"a", len(FATBIN))[:257]) + bytearray(255))) + FATBIN + bytes(-len(FATBIN) % 512 + 1024)),
                       ("old cpio", old_cpio())):
        r = cuvet("scan", "--format=ndjson", write(data, "x"))
        assert any(o["file"].endswith("!/a") or "!/lib/multi" in o["file"] for o in r.objects("member")), (what, r.out, r.err)


# What libraries that unpack take for a format of theirs, or nearly: a stream's content is what comes out of it, whatever it begins like.
LIKE = [bytes([0, 0, 0, 1, 0, 0, 0, 3]), bytes([0, 0, 0, 1] + [0] * 9), b"]\0\0\1\0" + b"\xff" * 8, b"]\0\0\x80\0" + b"\xff" * 8, b"\x1f\x8b\x08\0", b"BZh9", b"BZh91AY&SY",
        b"\xfd7zXZ\0", b"(\xb5/\xfd", b"\4\"M\x18@@", b"\2!L\x18", b"LZIP\1", b"\x89LZO\0\r\n\x1a\n", b"LRZI\0\6", b"\x1f\x9d\x90", b"\x1f\xa0", b"begin 644 x\n", b"begin-base64 644 x\n",
        b"\xed\xab\xee\xdb\3\0", b"\xc7\x71", b"070701", b"7z\xbc\xaf\x27\x1c", b"MSCF\0\0\0\0", b"Rar!\x1a\7\0", b"xar!\0\x1c", b"WARC/1.0\r\n", b"MZ", b"PK\5\6", b"#mtree\n"]


def compressors():
    """(function, marks that libarchive 3.6 unpacks a second time)"""
    yield gzip.compress, ()
    yield bz2.compress, ()
    yield lzma.compress, ()
    yield lambda data: lzma.compress(data, lzma.FORMAT_ALONE), ()
    for tool, marks in (("zstd", (b"(\xb5/\xfd",)), ("lz4", (b"\4\"M\x18@@", b"\2!L\x18"))):
        if shutil.which(tool):
            yield lambda data, tool=tool: subprocess.run([tool, "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout, marks


@test
def a_stream_is_unpacked_once():
    needed()
    plain, d = bytes(range(1, 250)) * 3, scratch()
    for like in LIKE:
        for content in (like + plain + FATBIN, like + FATBIN):
            alone = cuvet("scan", "--format=ndjson", write(content, "alone", d))
            if alone.objects("package"):
                continue  # it is one
            for pack, marks in compressors():
                path = write(pack(content), "packed", d)
                r = cuvet("scan", "--format=ndjson", path)
                if like in marks and not told(r, path):
                    equal([o["verdict"] for o in r.objects("verdict")], ["unsupported"], like)  # as the file that it is
                    continue
                equal(told(r, path), {"data": [{k: v for k, v in o.items() if k != "file"} for o in alone.objects() if o["type"] in ("member", "finding", "verdict")]}, (like, r.err))


@test
def nothing_is_packed():
    """A stream of no bytes is one; what stands behind it is not passed over."""
    needed()
    d = scratch()
    for pack, _ in compressors():
        empty = pack(b"")
        r = cuvet("scan", "--format=ndjson", write(empty, "empty", d))
        equal((r.rc, [o["entries"] for o in r.objects("package")], [o["verdict"] for o in r.objects("verdict")]), (CLEAN, [1], ["clean"]), (empty[:8], r.err))
        # One more stream behind it, and bytes that are none
        for more in (pack(FATBIN), b"\0" * 600 + FATBIN):
            r = cuvet("scan", "--format=ndjson", write(empty + more, "more", d))
            assert r.objects("member") or r.rc != CLEAN or "unsupported" in [o["verdict"] for o in r.objects("verdict")] or r.err, (empty[:8], more[:8], r.out, r.err)
        for cut in range(1, len(empty)):
            r = cuvet("scan", "--format=ndjson", write(empty[:cut], "cut", d))
            assert not r.objects("package"), (empty[:cut], r.out)


def lies_of_zip():
    one = zipped([("a", FATBIN)])
    unix = lambda mode: struct.pack("<I", mode << 16)
    yield "a directory by its attributes", field(field(one, CENTRAL, 5, b"\3"), CENTRAL, 38, unix(0o040755))
    yield "a directory for DOS", field(field(one, CENTRAL, 5, b"\0"), CENTRAL, 38, struct.pack("<I", 16))
    yield "a link of many bytes", field(field(zipped([("a", FATBIN)], zipfile.ZIP_STORED), CENTRAL, 5, b"\3"), CENTRAL, 38, unix(0o120777))
    yield "no byte, and many packed ones", field(field(one, LOCAL, 22, bytes(4)), CENTRAL, 24, bytes(4))
    yield "an entry that only streams show", hidden(streamed())
    yield "bytes between entries", between(zipped([("a", FATBIN), ("b", FATBIN)], zipfile.ZIP_STORED))
    yield "overlapping entries", field(zipped([("a", FATBIN), ("b", FATBIN)], zipfile.ZIP_STORED), CENTRAL, 42, struct.pack("<I", 0))
    yield "bytes behind the end", one + b"x"
    yield "an entry that libarchive cannot read", one[:28] + struct.pack("<H", 5) + one[30:31] + b"\x7f\x7f\xff\xff\xff" + one[31:]
    second = bytearray(one) + zipped([("b", FATBIN)])
    struct.pack_into("<H", second, one.rindex(b"PK\5\6") + 20, len(second) - len(one))
    yield "a second file in the comment", bytes(second)
    yield "a name with a NUL", zipped([("aXb", FATBIN)]).replace(b"aXb", b"a\0b")
    yield "another method", field(one, CENTRAL, 10, b"\0")
    yield "numbers of eight bytes that say something else", large_end(one, 2)


def between(data):
    at, end = data.index(LOCAL, 4), data.rindex(b"PK\5\6")
    out = bytearray(data[:at] + b"hidden" * 10 + data[at:])
    second, end = out.rindex(CENTRAL), end + 60
    struct.pack_into("<I", out, second + 42, at + 60)
    struct.pack_into("<I", out, end + 16, struct.unpack_from("<I", out, end + 16)[0] + 60)
    return bytes(out)


def large_end(data, count):
    """With a record of large numbers in front of the end, which counts otherwise."""
    end = data.rindex(b"PK\5\6")
    n, = struct.unpack_from("<H", data, end + 10)
    size, off = struct.unpack_from("<II", data, end + 12)
    large = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, off)
    return data[:end] + large + struct.pack("<4sIQI", b"PK\6\7", 0, end, 1) + data[end:]


@test
def both_halves_of_a_zip_file():
    needed()
    for what, data in lies_of_zip():
        r = cuvet("scan", "--format=ndjson", write(data, "x"))
        assert r.rc == FINDINGS and any(o["verdict"] == "malformed" for o in r.objects("verdict")), (what, r.out[-600:], r.err)
    one = zipped([("a", FATBIN)])
    block = b"\1" * 100 + b"APK Sig Block 42"
    end = one.rindex(b"PK\5\6")
    signed = bytearray(one[:one.rindex(CENTRAL)] + block + one[one.rindex(CENTRAL):])
    struct.pack_into("<I", signed, end + len(block) + 16, struct.unpack_from("<I", one, end + 16)[0] + len(block))
    comment = bytearray(one) + b"word" * 5000
    struct.pack_into("<H", comment, end + 20, 20000)
    sized = bytearray(streamed())  # Info-ZIP writes the size before the entry, and the rest behind it
    struct.pack_into("<I", sized, 22, len(FILES[0][1]))
    for what, data in (("signed as packages of Android are", bytes(signed)), ("a long comment", bytes(comment)), ("large numbers", large_end(one, 1)),
                       ("a size before and behind", bytes(sized)), ("folders", zipped([("d/", b""), ("d/a", FATBIN)]))):
        r = cuvet("scan", write(data, "x"))
        equal((r.rc, r.err), (CLEAN, ""), what)


@test
def what_is_said_is_plain():
    """Texts of what unpacks are printed: they are words, on one line."""
    needed()
    r = cuvet("scan", write(field(field(zipped([("a", FATBIN)]), LOCAL, 22, struct.pack("<I", 5000)), CENTRAL, 24, struct.pack("<I", 5000)), "x"))
    assert r.rc == FINDINGS and "\n;" not in r.out, r.out
    r = by_impostor(GOOD + frame(b"f", b"fine\nother.whl: clean"))
    assert r.returncode == FINDINGS and b"was lost over it" in r.stdout, r


@test
def floods_end():
    needed()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for i in range(300):
            info = tarfile.TarInfo("d%d" % i)
            info.type = tarfile.DIRTYPE if i % 2 else tarfile.SYMTYPE
            t.addfile(info)
    r = cuvet("scan", "--limit=containers=100", write(out.getvalue(), "x"))
    equal(r.rc, LIMIT, r.err[-200:])
    r = cuvet("scan", write(lzma.compress(tarred([("e%d.gz" % i, gzip.compress(b"", mtime=0)) for i in range(400)])), "x"), timeout=200)
    equal(r.rc, LIMIT, r.err[-200:])


@test
def what_is_no_package_is_a_file():
    """Data may begin like a package: where nothing comes out its verdict is that of the file, and why is said."""
    needed()
    noise = random.Random(3).randbytes(3000)
    for data in (gzip.compress(FATBIN)[:900], lzma.compress(FATBIN)[:200] + bytes(100), b"\x1f\x8b\x08\0" + noise, b"PK\3\4" + noise, bytes(257) + b"ustar" + noise, b"070701" + noise,
                 bytes.fromhex("04224d1840") + noise, bytes.fromhex("377abcaf271c0000") + bytes(60), b"\xed\xab\xee\xdb" + noise, b"!<arch>\ndebian-binary" + noise):
        path = write(data, "x")
        r, plain = cuvet("scan", "--format=ndjson", path), cuvet("scan", "--format=ndjson", "--no-packages", path)
        assert r.rc == plain.rc and path in r.err, (data[:8], r.out, r.err)
        equal(r.objects("verdict"), plain.objects("verdict"), repr(data[:8]))
    hidden_cubin = bytes(257) + b"ustar" + bytes(10) + read("plain.sm_75.cubin")
    assert cuvet("scan", write(hidden_cubin, "x")).out.count("1 image") == 1


@test
def what_nobody_can_unpack_is_unsupported():
    needed()
    one = zipped([("a", FATBIN)])
    for data in (field(field(one, LOCAL, 6, b"\1"), CENTRAL, 8, b"\1"), field(field(one, LOCAL, 8, b"\x63"), CENTRAL, 10, b"\x63")):
        r = cuvet("scan", "--format=ndjson", write(data, "x"))
        verdicts = {o["file"].rpartition("!/")[2]: o["verdict"] for o in r.objects("verdict")}
        equal(verdicts["a"], "unsupported", r.out)


@test
def bombs_end_at_limits():
    needed()
    zeros = bytes(1 << 20)
    nested = FATBIN
    for depth in range(8):
        nested = zipped([("i%d" % depth, nested)])
    sparse = io.BytesIO()
    with tarfile.open(fileobj=sparse, mode="w", format=tarfile.GNU_FORMAT) as t:  # a file of 8 GiB that is one hole
        info = tarfile.TarInfo("hole")
        info.type = tarfile.GNUTYPE_SPARSE
        info.size = 0
        head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        struct.pack_into("12s12s", head, 386, b"%011o\0" % (8 << 30), b"%011o\0" % 0)
        head[483:495] = b"%011o\0" % (8 << 30)
        head[148:156] = b"        "
        head[148:156] = b"%06o\0 " % sum(head)
        sparse.write(bytes(head))
    overlapping = zipped([("a%d" % i, zeros) for i in range(3)])
    for name, data, extra in (
            ("nested", nested, []),
            ("zeros", gzip.compress(zeros * 40), ["--limit=budget=16M", "--limit=ratio=8"]),
            ("zeros in zip", zipped([("z", zeros * 40)]), ["--limit=budget=16M", "--limit=ratio=8"]),
            ("many", zipped([("a%d" % i, b"") for i in range(300)]), ["--limit=containers=100"]),
            ("large entry", zipped([("z", zeros * 3)]), ["--limit=input=2M"]),
            ("sparse", sparse.getvalue(), []),
            ("total", overlapping, ["--limit=budget=2M", "--limit=total=2M"]),
            ("dictionary", large_dictionary(FATBIN), [])):
        begun = time.monotonic()
        r = cuvet("scan", "--format=ndjson", *extra, write(data, "x"))
        if name == "dictionary" and r.rc == CLEAN and r.objects("verdict")[0]["sandbox"].startswith("off"):
            assert r.objects("member"), r.out  # without a cage there is memory for it
            continue
        equal(r.rc, LIMIT, name + ": " + r.err)
        assert any(o["verdict"] == "limit" and ("limit" in o["reason"] or "allocate" in o["reason"]) for o in r.objects("verdict")), (name, r.out)
        assert time.monotonic() - begun < 60, name


@test
def names_are_text():
    """Nothing is written by a name; one that leaves, or is too long for any system, is a finding; what a terminal would obey is escaped."""
    needed()
    d = scratch()
    entries = [("../../../../tmp/leaves", FATBIN), ("/tmp/absolute", FATBIN), ("a\nb\x1b[31mred", FATBIN), ("n" * 60000, FATBIN), ("n" * 65535, FATBIN), ("\udcff".encode(
        "utf-8", "surrogateescape").decode("latin-1"), FATBIN)]
    path = write(zipped(entries), "x.zip", d)
    r = cuvet("scan", path, cwd=d)
    equal(r.rc, FINDINGS, r.err)
    assert "a\\x0ab\\x1b[31mred: clean" in r.out and "x.zip!/../../../../tmp/leaves: clean" in r.out, r.out[:500]
    assert path + ": malformed: has a name that leaves" in r.out and path + ": malformed: has a name that no system takes" in r.out, r.out[:500]
    out = os.path.join(d, "out")
    equal(cuvet("unpack", "-d", out, path, cwd=d).rc, FINDINGS)
    assert len(os.listdir(out)) == 8 * len(entries), os.listdir(out)
    shutil.rmtree(out)
    for name in ("a/../b", "/a", "./a", "..a/b", "a/b/../../c", "n" * 4095):
        equal(cuvet("scan", write(tarred([(name, FATBIN)]), "y.tar")).rc, CLEAN, name[:20])
    for name in ("..", "../a", "a/../../b", "./../b", "/../b", "n" * 4096):
        equal(cuvet("scan", write(tarred([(name, FATBIN)]), "y.tar")).rc, FINDINGS, name[:20])
    equal([name for name in os.listdir(d) if not name.endswith(".profraw")], ["x.zip"])  # of a build that counts lines
    assert not os.path.exists("/tmp/leaves") and not os.path.exists("/tmp/absolute")


@test
def links_that_leave():
    """A file behind a symbolic link, and a hard link to a file outside: nothing is written by either, and the second is a finding."""
    needed()
    d, out = scratch(), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, kind, to, data in (("away", tarfile.SYMTYPE, d, b""), ("away/k.cubin", tarfile.REGTYPE, "", FATBIN), ("h", tarfile.LNKTYPE, "../../../etc/passwd", b""),
                                     ("up", tarfile.SYMTYPE, "../" * 40, b""), ("up" + d + "/k", tarfile.REGTYPE, "", FATBIN)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, to, len(data)
            t.addfile(info, io.BytesIO(data))
    into = os.path.join(scratch(), "out")
    r = cuvet("unpack", "-d", into, write(out.getvalue(), "x.tar"))
    assert r.rc == FINDINGS and "has a name that leaves" in r.err, (r.rc, r.err)
    equal((len(os.listdir(into)), os.listdir(d)), (16, []))


@test
def a_package_in_itself():
    """Of every packing there are packages that hold themselves: whoever unpacks one sends it again, once or many times, and nesting has an end."""
    needed()
    whole = zipped()
    for copies in (1, 3, 40):
        again = b"".join(frame(b"e", b"f%d" % i) + frame(b"d", whole) + frame(b"z", offset=len(whole)) for i in range(copies))
        r = by_impostor(again + frame(b"q"))
        texts = [json.loads(line).get("reason", "") for line in r.stdout.decode().splitlines()]
        assert r.returncode == LIMIT and any("limit 'nesting'" in t or "more than 2" in t for t in texts), (copies, texts[:3])


@test
def packages_in_packages_in_packages():
    """16 packages in each of 16, and so on: each level is the one below sixteen times over, in a few hundred bytes."""
    needed()
    level = zipped([("z", bytes(1 << 20))])
    for depth in range(6):
        level = zipped([("%d-%d.zip" % (depth, i), level) for i in range(16)])
    begun = time.monotonic()
    r = cuvet("scan", "--format=ndjson", write(level, "42.zip"), timeout=120)
    assert r.rc == LIMIT and any("limit 'nesting'" in o["reason"] for o in r.objects("verdict") if o["verdict"] == "limit"), (r.rc, r.out[-300:], r.err)
    assert time.monotonic() - begun < 60


def large_dictionary(data):
    """An xz file whose block says that it has a dictionary of 4 GiB."""
    out = bytearray(lzma.compress(data))
    size = (out[12] + 1) * 4
    at = out.index(b"\x21\x01", 12) + 2  # of LZMA2: one byte, a logarithm
    assert at < 12 + size
    out[at] = 40
    struct.pack_into("<I", out, 12 + size - 4, zlib.crc32(bytes(out[12:12 + size - 4])))
    return bytes(out)


@test
def a_name_that_ends_with_a_slash():
    """A file of a cpio archive may have one; what is unpacked of it has a name all the same."""
    needed()
    data = cpio([("d/", FATBIN)])
    out = os.path.join(scratch(), "out")
    r = cuvet("unpack", "-d", out, write(data, "x.cpio"))
    equal((r.rc, r.err), (CLEAN, ""))
    assert len(os.listdir(out)) == 8 and all(name.startswith("_-0") for name in os.listdir(out)), os.listdir(out)


@test
def links_and_devices_are_said():
    needed()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, kind, to in (("l", tarfile.SYMTYPE, "/etc/passwd"), ("h", tarfile.LNKTYPE, "f"), ("d", tarfile.CHRTYPE, ""), ("p", tarfile.FIFOTYPE, ""), ("s", tarfile.DIRTYPE, "")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, to
            t.addfile(info)
        info = tarfile.TarInfo("f")
        info.size = len(FATBIN)
        t.addfile(info, io.BytesIO(FATBIN))
    path = write(out.getvalue(), "x.tar")
    r = cuvet("scan", path)
    equal(r.rc, CLEAN)
    for text in ("!/l: symbolic link, not followed", "!/h: hard link, not followed", "!/d: special file, skipped", "!/p: special file, skipped"):
        assert text in r.err, r.err
    assert path + ": package of 1 entry" in r.out


# --- what unpacks is taken over ----------------------------------------------------------------------------

MARK = b"cvpk"


def frame(verb, payload=b"", cause=0, offset=0, n=None):
    return MARK + verb + bytes([cause, 0, 0]) + struct.pack("<IIQ", len(payload) if n is None else n, 0, offset) + payload


def impostor(said, ends="exit 0"):
    """The command beside a cuvet-package that says these bytes and ends so."""
    d = scratch()
    command = os.path.join(d, "cuvet")
    shutil.copy(CUVET, command)
    write(said, "said", d)
    with open(os.path.join(d, "cuvet-package"), "w", encoding="ascii") as f:
        f.write("#!/bin/sh\ncat '%s/said' >&3\n%s\n" % (d, ends))
    os.chmod(os.path.join(d, "cuvet-package"), 0o755)
    return command


def by_impostor(said, ends="exit 0", *more):
    command = impostor(said, ends)
    return subprocess.run([command, "scan", "--format=ndjson", *more, write(zipped(), "x.whl")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100, check=False)


GOOD = frame(b"e", b"f") + frame(b"d", FATBIN) + frame(b"z", offset=len(FATBIN))


@test
def nothing_is_believed():
    """Whoever takes cuvet-package over can say names and bytes, and no more: what does not follow the protocol ends with it, as a finding."""
    needed()
    right = by_impostor(GOOD + frame(b"q"))
    assert right.returncode == CLEAN and b'x.whl!/f"' in right.stdout and b'"members":8' in right.stdout, right
    for name, said in (
            ("nothing", b""),
            ("no end", GOOD),
            ("a mark of others", b"nope" + GOOD[4:] + frame(b"q")),
            ("an unknown verb", GOOD + frame(b"X") + frame(b"q")),
            ("data without an entry", frame(b"d", b"x") + frame(b"q")),
            ("an entry in an entry", frame(b"e", b"f") + frame(b"e", b"g") + frame(b"q")),
            ("an end in an entry", frame(b"e", b"f") + frame(b"q")),
            ("a name with a NUL", frame(b"e", b"f\0g") + frame(b"z") + frame(b"q")),
            ("no name", frame(b"e") + frame(b"z") + frame(b"q")),
            ("a name that is too long", frame(b"e", b"n" * 70000) + frame(b"z") + frame(b"q")),
            ("backwards", frame(b"e", b"f") + frame(b"d", b"xx", offset=10) + frame(b"d", b"x", offset=5) + frame(b"z", offset=12) + frame(b"q")),
            ("an end before the data", frame(b"e", b"f") + frame(b"d", b"xx") + frame(b"z", offset=1) + frame(b"q")),
            ("an offset without end", frame(b"e", b"f") + frame(b"d", b"xx", offset=(1 << 64) - 1) + frame(b"q")),
            ("a negative size", frame(b"e", b"f") + frame(b"z", offset=1 << 63) + frame(b"q")),
            ("more data than a frame has", frame(b"e", b"f") + frame(b"d", b"x" * 100, n=1 << 31)),
            ("an unknown cause", frame(b"f", b"why", cause=9)),
            ("a remark without a text", frame(b"r", b"name") + frame(b"q")),
            ("a cut frame", GOOD + frame(b"q")[:7])):
        r = by_impostor(said)
        assert r.returncode == FINDINGS and b"was lost over it" in r.stdout, (name, r)
    for name, said, rc in (
            ("a hole of 9 EB", frame(b"e", b"f") + frame(b"z", offset=(1 << 63) - 1) + frame(b"q"), LIMIT),
            ("a terabyte", frame(b"e", b"f") + frame(b"d", b"x", offset=1 << 40) + frame(b"q"), LIMIT),
            ("failed at once", frame(b"f", b"for a reason"), CLEAN),
            ("failed later", GOOD + frame(b"f", b"for a reason"), FINDINGS),
            ("an entry that failed", frame(b"e", b"f") + frame(b"f", b"for a reason", cause=1) + frame(b"q"), CLEAN)):
        r = by_impostor(said)
        assert r.returncode == rc, (name, r)


@test
def a_crash_is_a_finding():
    needed()
    r = by_impostor(GOOD, "kill -SEGV $$")
    assert r.returncode == FINDINGS and b"signal 11" in r.stdout and b'x.whl!/f"' in r.stdout, r
    r = by_impostor(GOOD, "kill -XCPU $$")
    assert r.returncode == LIMIT and b"processor time" in r.stdout, r


@test
def no_room():
    """A folder for temporary files that is not there: large entries are an error, and said."""
    needed()
    path = write(zipped([("large", bytes(3 << 20)), ("small", FATBIN)]), "x.zip")
    r = cuvet("scan", path, env={"TMPDIR": "/no/such/folder"})
    equal(r.rc, IO)
    assert "cannot be copied to a temporary file" in r.err and "large" in r.err, r.err


@test
def without_the_program():
    d = scratch()
    command = os.path.join(d, "cuvet")
    shutil.copy(CUVET, command)
    path = write(zipped(), "x.whl")
    r = subprocess.run([command, "scan", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if b"package of" in r.stdout:
        raise Skip("cuvet-package is installed on this machine")
    assert b"there is no cuvet-package" in r.stderr and b": unsupported" in r.stdout and r.returncode == CLEAN, r


if __name__ == "__main__":
    sys.exit(main())
