#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages of every packing with lies in their headers, or changed bytes, through scan and unpack.

What is changed is a field of a zip, tar, cpio, ar or rpm header (checksums of tar are mended for half of them), the JSON of an image, names, or any
bytes; of a compressed package what is in it, compressed again, or the stream. Always in the same way for the same seed. Many packages go
through one process. Each must have a verdict; the exit code is 1 when a process ended by a signal, with an internal error or another code than
documented, took more than its time or memory, left anything in TMPDIR, or wrote anything outside of the folder that it was given.

  mutate_packages.py --cuvet build/cuvet --count 100000 [--batch 50] [--seed 1] [--keep DIR]
"""
import argparse
import bz2
import collections
import ctypes
import gzip
import json
import lzma
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

FINE = {0: "clean", 1: "findings", 4: "limit"}
SECONDS = 120  # of a process, which has many packages
MEMORY = 600 << 20  # resident, of each process
PR_SET_CHILD_SUBREAPER = 36

ZIP = {b"PK\3\4": [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
       b"PK\1\2": [(5, 1), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (36, 2), (38, 4), (42, 4)],
       b"PK\5\6": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)], b"PK\6\6": [(4, 8), (24, 8), (32, 8), (40, 8), (48, 8)], b"PK\6\7": [(8, 8), (16, 4)]}
TAR = [(0, 100), (100, 8), (108, 8), (124, 12), (136, 12), (148, 8), (156, 1), (157, 100), (257, 8), (265, 32), (329, 8), (345, 155), (386, 12), (483, 12)]
AR = [(0, 16), (16, 12), (28, 6), (40, 8), (48, 10), (58, 2)]
NAMES = [b"../../../../tmp/leaves", b"/tmp/absolute", b"a\0b", b"\xff\xfe", b"", b"n" * 99, b".wh.x", b".wh..wh..opq", b"blobs/sha256/../../x", b"manifest.json"]


def places(data, magic):
    at = data.find(magic)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def number(r, width, old, size):
    return r.choice((0, 1, (1 << 8 * width) - 1, 1 << (8 * width - 1), old + 1, old - 1, size, size - 1, old ^ (1 << r.randrange(8 * width)), r.getrandbits(8 * width))) & ((1 << 8 * width) - 1)


def lie_zip(r, b):
    magic = r.choice(list(ZIP))
    found = list(places(b, magic))
    if not found:
        return False
    at, (off, width) = r.choice(found), r.choice(ZIP[magic])
    if at + off + width > len(b):
        return False
    b[at + off:at + off + width] = number(r, width, int.from_bytes(b[at + off:at + off + width], "little"), len(b)).to_bytes(width, "little")
    return True


def text_number(r, width, base, size):
    kind = r.randrange(8)
    if kind == 0:
        return b"\x80" + bytes(r.randrange(256) for _ in range(width - 1))  # in base 256
    if kind == 1:
        return b"\xff" * width
    value = r.choice((0, 1, size, size - 1, 511, 512, 513, 1 << 31, (1 << 33) - 1, r.getrandbits(20), r.getrandbits(40)))
    text = ("%o" if base == 8 else "%X" if base == 16 else "%d") % value
    return text.encode()[-width:].rjust(width, b"0") if kind < 6 else (text.encode() + b" ")[:width].ljust(width, b"\0")


def mend(b, at):
    b[at + 148:at + 156] = b"        "
    b[at + 148:at + 156] = b"%06o\0 " % (sum(b[at:at + 512]) & 0o777777)


def lie_tar(r, b):
    found = [p - 257 for p in places(b, b"ustar") if p >= 257 and (p - 257) % 512 == 0 and p + 255 <= len(b)]
    if not found:
        return False
    at, (off, width) = r.choice(found), r.choice(TAR)
    if off in (0, 157, 345):
        b[at + off:at + off + width] = r.choice(NAMES)[:width].ljust(width, b"\0")
    elif width == 1:
        b[at + off] = r.choice(b"\x000123456789gxLKSVMDAN")
    elif r.random() < .8:
        b[at + off:at + off + width] = text_number(r, width, 8, len(b))
    else:
        b[at + off:at + off + width] = r.randbytes(width)
    if r.random() < .5:
        mend(b, at)
    return True


def lie_pax(r, b):
    """Records of an extended header."""
    found = [p for word in (b"path=", b"size=", b"GNU.sparse", b"linkpath=", b"comment=") for p in places(b, word)]
    if not found:
        return False
    at = r.choice(found) + r.randrange(-4, 12)
    if 0 <= at < len(b):
        b[at] = r.choice(b"0123456789 =\n\0/.") if r.random() < .8 else r.randrange(256)
    return True


def lie_cpio(r, b):
    found = list(places(b, b"070701")) + list(places(b, b"070707"))
    if not found:
        return False
    at = r.choice(found)
    if b[at + 5:at + 6] == b"1":
        off, width, base = 6 + 8 * r.randrange(13), 8, 16
    else:
        off, width, base = r.choice(((6, 6, 8), (18, 6, 8), (59, 6, 8), (65, 11, 8)))
    b[at + off:at + off + width] = text_number(r, width, base, len(b))
    return True


def lie_ar(r, b):
    found = [p - 58 for p in places(b, b"`\n") if p >= 58]
    if not b.startswith(b"!<arch>") or not found:
        return False
    at, (off, width) = r.choice(found), r.choice(AR)
    b[at + off:at + off + width] = text_number(r, width, 10, len(b)) if off >= 16 else r.choice((b"/0", b"//", b"#1/60", b"/", b"data.tar.xz", b"x" * 16)).ljust(width)
    return True


def lie_rpm(r, b):
    if not b.startswith(b"\xed\xab\xee\xdb"):
        return False
    at = r.choice((96, 100, 104, 108, 112, 116)) if r.random() < .7 else r.randrange(min(160, len(b) - 4))
    b[at:at + 4] = number(r, 4, int.from_bytes(b[at:at + 4], "big"), len(b)).to_bytes(4, "big")
    return True


def lie_json(r, b):
    """In place: the sizes of tar stay as they are."""
    found = [p for word in (b'"Layers"', b'"layers"', b'"manifests"', b"sha256:", b'"mediaType"', b"[{") for p in places(b, word)]
    if not found:
        return False
    at = r.choice(found) + r.randrange(0, 80)
    what = r.choice((b'"', b"[", b"]", b"{", b"}", b",", b":", b"/", b"..", b"0", b"\\u0000", b"null", b"encrypted", b"1e999"))
    if at + len(what) <= len(b):
        b[at:at + len(what)] = what
    return True


def lie_bytes(r, b):
    for _ in range(r.choice((1, 1, 2, 5, 20))):
        at = r.randrange(min(len(b), 600)) if r.random() < .5 else r.randrange(len(b))
        b[at] = r.choice((0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)))
    return True


def lie_length(r, b):
    at, count = r.randrange(len(b)), r.choice((1, 2, 4, 100, 512, 4096))
    kind = r.randrange(4)
    if kind == 0:
        del b[at:]
    elif kind == 1:
        del b[at:at + count]
    elif kind == 2:
        b[at:at] = b[at:at + count]
    else:
        b[at:at] = bytes(count)
    return True


LIES = [lie_zip, lie_tar, lie_tar, lie_pax, lie_cpio, lie_ar, lie_rpm, lie_json, lie_bytes, lie_length]


def damage(r, data):
    b = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        while b and not r.choice(LIES)(r, b):
            continue
    return bytes(b)


def zstd_stored(data):
    """A frame of raw blocks: no tool is needed."""
    out = b"\x28\xb5\x2f\xfd\x20\x00" if not data else b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    pieces = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b""]
    for i, piece in enumerate(pieces):
        out += ((len(piece) << 3) | (i == len(pieces) - 1)).to_bytes(3, "little") + piece
    return out


PACKS = {".gz": lambda d: gzip.compress(d, 1, mtime=0), ".bz2": lambda d: bz2.compress(d, 1), ".xz": lambda d: lzma.compress(d, preset=0),
         ".lzma": lambda d: lzma.compress(d, lzma.FORMAT_ALONE, preset=0), ".zst": zstd_stored}


def samples():
    """(name, content, packing of it or none)"""
    import test_images as images  # noqa: E402
    import test_packages as packages  # noqa: E402
    small = [("lib/one.so", packages.read("host-plain.so")), ("k.cubin", packages.read("plain.sm_75.cubin")), ("code.py", b"import lib\n"), ("empty", b"")]
    tar, cpio = packages.tarred(small), packages.cpio(small)
    layers = [images.tar([("usr/",), ("usr/a.so", small[1][1]), ("usr/b.so", small[1][1])]), images.tar([("usr/.wh.a.so", b""), ("usr/c.so", "hard", "usr/b.so"), ("l", "link", "usr")])]
    yield "stored.zip", packages.zipped(small, packages.zipfile.ZIP_STORED), None
    yield "deflated.whl", packages.zipped(small), None
    yield "streamed.zip", packages.streamed(), None
    yield "large.zip", packages.large_end(packages.zipped(small[:1]), 1), None
    yield "x.deb", packages.deb(gzip.compress(tar, mtime=0), ".gz"), None
    yield "x.conda", packages.zipped([("metadata.json", b"{}"), ("pkg-x.tar.zst", zstd_stored(tar))], packages.zipfile.ZIP_STORED), None
    yield "docker.tar", images.docker(layers), None
    yield "oci.tar", images.oci([PACKS[".gz"](layer) for layer in layers], docker=True), None
    yield "oci.tar", images.oci(layers), ".zst"
    yield "old.cpio", packages.old_cpio(small), None
    yield "x.rpm", packages.rpm(gzip.compress(cpio, mtime=0)), None
    yield "one.so", small[0][1], ".gz"
    for form in (packages.tarfile.PAX_FORMAT, packages.tarfile.GNU_FORMAT, packages.tarfile.USTAR_FORMAT):
        yield "x.tar", packages.tarred(small + [("d/" * 60 + "long", small[1][1])] * (form != packages.tarfile.USTAR_FORMAT), form=form), None
    for ending in PACKS:
        yield "x.tar", tar, ending
    yield "x.cpio", cpio, ".gz"
    yield "x.cpio", cpio, None


def mutant(all_samples, seed):
    r = random.Random(seed)
    name, data, packing = all_samples[seed % len(all_samples)]
    if not packing:
        return name, damage(r, data)
    if r.random() < .6:
        return name + packing, PACKS[packing](damage(r, data))
    return name + packing, damage(r, PACKS[packing](data))


def listing(folder):
    return sorted(os.path.join(path, f) for path, _, files in os.walk(folder) for f in files)


class Trouble(Exception):
    pass


def run(argv, folder, limit):
    """One process and all that it leaves: (exit code, standard output, most memory of any of them)."""
    env = dict(os.environ, TMPDIR=os.path.join(folder, "tmp"))
    begun, most = time.monotonic(), 0
    with open(os.path.join(folder, "said"), "wb") as out, open(os.path.join(folder, "complaints"), "wb") as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=os.path.join(folder, "cwd"))
    code = None
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            if time.monotonic() - begun > limit:
                p.kill()
                raise Trouble("took more than %d s" % limit)
            time.sleep(.005)
            continue
        most = max(most, usage.ru_maxrss << 10)
        if pid == p.pid:
            code = os.waitstatus_to_exitcode(status)
            p.returncode = code
    with open(os.path.join(folder, "said"), encoding="utf-8") as f:
        return code, f.read(), most


def judge(cuvet, folder, files, unpack):
    """@return: how each ended"""
    for sub in ("tmp", "out", "cwd"):
        os.makedirs(os.path.join(folder, sub), exist_ok=True)
    out = os.path.join(folder, "out")
    argv = [cuvet, "unpack", "--format=ndjson", "-d", out, "--force"] if unpack else [cuvet, "scan", "--format=ndjson", "-j1"]
    if unpack:
        argv.remove("--format=ndjson")
    code, text, memory = run(argv + files, folder, SECONDS)
    if code not in FINE:
        raise Trouble("exit code %s" % code)
    if memory > MEMORY:
        raise Trouble("%d MiB of memory" % (memory >> 20))
    left = listing(os.path.join(folder, "tmp")) + listing(os.path.join(folder, "cwd")) + [f for f in listing(folder) if os.path.dirname(f) not in (folder, out, os.path.dirname(files[0]))]
    left = [f for f in left if os.path.basename(f) != "default.profraw"]  # of a build that counts lines
    if left or os.path.exists("/tmp/leaves") or os.path.exists("/tmp/absolute"):
        raise Trouble("left behind: %s" % left[:3])
    ends, worst = {}, {}
    if not unpack:
        for line in text.splitlines():
            o = json.loads(line)
            if o["type"] == "verdict":
                name = o["file"].partition("!/")[0]
                worst[name] = max(worst.get(name, ""), o["verdict"], key=("", "clean", "unsupported", "suspicious", "malformed", "limit", "error").index)
            elif o["type"] == "package":
                worst.setdefault(o["file"], "clean")
        ends = {f: worst.get(f, "") for f in files}
        silent = [f for f in files if not ends[f]]
        if silent:
            raise Trouble("no verdict: %s" % silent[:3])
    for f in os.listdir(out):
        os.unlink(os.path.join(out, f))
    return collections.Counter(ends.values() if ends else {"unpacked": len(files)}), memory


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--cuvet", required=True)
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--batch", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="folder for packages that something is wrong with")
    a = p.parse_args()
    cuvet = os.path.abspath(a.cuvet)
    if not os.path.exists(os.path.join(os.path.dirname(cuvet), "cuvet-package")):
        print("SKIPPED: cuvet-package was not built (libarchive-dev)")
        return 77
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    all_samples = list(samples())
    ends, wrong, most, begun = collections.Counter(), [], 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = os.path.join(folder, "files")
        os.mkdir(files)
        for first in range(a.seed, a.seed + a.count, a.batch):
            paths = []
            for seed in range(first, min(first + a.batch, a.seed + a.count)):
                name, data = mutant(all_samples, seed)
                paths.append(os.path.join(files, "%d-%s" % (seed, name)))
                with open(paths[-1], "wb") as f:
                    f.write(data)
            unpack = (first // a.batch) % 5 == 4
            try:
                got, memory = judge(cuvet, folder, paths, unpack)
                ends += got
                most = max(most, memory)
            except Trouble as e:
                for path in paths:  # which one?
                    try:
                        judge(cuvet, folder, [path], unpack)
                    except Trouble as one:
                        wrong.append((os.path.basename(path), "unpack" if unpack else "scan", str(one)))
                        if a.keep:
                            os.makedirs(a.keep, exist_ok=True)
                            shutil.copy(path, a.keep)
                if not wrong:
                    wrong.append((os.path.basename(paths[0]) + " and those after it", "unpack" if unpack else "scan", str(e)))
            for path in paths:
                os.unlink(path)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("%d packages in %d s: %s; most memory of a process %d MiB, processor time %d s" % (
        sum(ends.values()), time.monotonic() - begun, ", ".join("%d %s" % (n, w) for w, n in sorted(ends.items())), most >> 20, usage.ru_utime + usage.ru_stime))
    for name, command, what in wrong:
        print("WRONG: %s: %s: %s" % (name, command, what))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
