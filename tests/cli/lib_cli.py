# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the command share: run it, read what it says, count what was tried."""
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import traceback
import zipfile

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
CUVET = os.environ.get("CUVET") or os.path.join(ROOT, "build", "cuvet")
SAMPLES = os.path.join(ROOT, "corpus", "samples")
GOLDEN = os.path.join(ROOT, "tests", "golden", "cli")

CLEAN, FINDINGS, USAGE, IO, LIMIT = 0, 1, 2, 3, 4
TESTS = []


class Skip(Exception):
    pass


def golden():
    """(archive of corpus/link, rows of its index: name, target, options, inputs, output)"""
    sys.path.append(os.path.join(ROOT, "tools", "corpus"))
    import edit  # with the library: a machine may have no command named zstd

    folder = os.path.join(ROOT, "corpus", "link")
    with open(os.path.join(folder, "golden.tar.zst"), "rb") as f:
        files = tarfile.open(fileobj=io.BytesIO(edit.unzstd(f.read())))
    with open(os.path.join(folder, "index.tsv"), encoding="ascii") as f:
        return files, [line.rstrip("\n").split("\t") for line in f][1:]


# LeakSanitizer looks into all threads when a process ends; of one that has just ended it says this, and it is no finding.
REMARK = re.compile(rb"^==\d+==Unable to get registers from thread \d+\.\n", re.M)


class Result:
    def __init__(self, rc, out, err):
        err = REMARK.sub(b"", err)
        self.rc, self.raw, self.err_raw = rc, out, err
        self.out, self.err = out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")

    def objects(self, kind=None):
        """NDJSON: each line must be an object that starts with schema and type."""
        found = []
        for line in self.raw.decode("utf-8").splitlines():  # strict: JSON output is valid UTF-8
            pairs = json.loads(line, object_pairs_hook=list)
            assert [k for k, _ in pairs[:2]] == ["schema", "type"], line[:80]
            keys = [k for k, _ in pairs]
            assert len(set(keys)) == len(keys), "a key twice: " + line[:200]
            found.append(json.loads(line))
        return [o for o in found if kind is None or o["type"] == kind]


def package(**files):
    """A zip file with these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return write(out.getvalue())


def needs_packages():
    if not cuvet("scan", "--format=ndjson", package(a=b"x")).objects("package"):
        raise Skip("this build opens no packages")


def test(f):
    TESTS.append(f)
    return f


def cuvet(*args, stdin=b"", cwd=None, env=None, stdout=subprocess.PIPE, timeout=120, preexec=None):
    p = subprocess.run([CUVET, *args],
                       input=stdin if not hasattr(stdin, "fileno") else None,
                       stdin=stdin if hasattr(stdin, "fileno") else None,
                       stdout=stdout,
                       stderr=subprocess.PIPE,
                       cwd=cwd,
                       env=dict(os.environ, **(env or {})),
                       timeout=timeout,
                       preexec_fn=preexec,
                       check=False)
    if p.returncode < 0:
        raise AssertionError("died by signal %d: %s" % (-p.returncode, " ".join(map(str, args))))
    return Result(p.returncode, p.stdout or b"", p.stderr)


def sample(name):
    path = os.path.join(SAMPLES, name)
    assert os.path.exists(path), "no sample " + name
    return path


def read(name):
    with open(sample(name), "rb") as f:
        return f.read()


def samples():
    """The samples of the manifest: what else lies in their directory is nobody's sample."""
    with open(os.path.join(SAMPLES, "MANIFEST.tsv"), encoding="utf-8") as f:
        names = [line.split("\t")[0] for line in f][1:]
    return [sample(n) for n in sorted(names)]


def scratch():
    return tempfile.mkdtemp(dir=os.environ.get("CV_TMP"))


def write(data, name="input.bin", where=None):
    path = os.path.join(where or scratch(), name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def edited(name, off, fmt, value):
    """A sample with one field changed."""
    data = bytearray(read(name))
    struct.pack_into("<" + fmt, data, off, value)
    return bytes(data)


def bad_container():
    """Two containers; the first member of the second has version 0x0102: CV-FATBIN-015 next to good siblings."""
    data = bytearray(read("default.fatbin") * 2)
    struct.pack_into("<H", data, len(data) // 2 + 16 + 2, 0x0102)
    return bytes(data)


def lz4_literals(data):
    """An LZ4 block without a match: the shortest way to put any content behind a decoder."""
    rest = len(data) - 15
    return b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data


def packed_cubin(off, fmt, value):
    """A container with one LZ4 member: a cubin with one field changed, so that its findings have inner offsets."""
    elf = bytearray(read("plain.sm_75.cubin"))
    struct.pack_into("<" + fmt, elf, off, value)
    stored = lz4_literals(bytes(elf))
    padded = stored + bytes(-len(stored) % 8)
    head = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x0101, 64, len(padded), len(stored), 0, elf[8], 1, 75, 0, 0,
                       0x2011, 0, len(elf))
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(head) + len(padded)) + head + padded


def damaged_member():
    """multi.fatbin whose second member has its decompressed size changed: the siblings stay good."""
    data = bytearray(read("multi.fatbin"))
    first = 16
    header, payload = struct.unpack_from("<IQ", data, first + 4)
    second = first + header + payload
    size, = struct.unpack_from("<Q", data, second + 56)
    assert size > 0, "the second member is not compressed"
    struct.pack_into("<Q", data, second + 56, size + 1)
    return bytes(data)


def equal(got, want, what=""):
    if got == want:
        return
    a, b = repr(got), repr(want)
    at = len(os.path.commonprefix([a, b]))
    if at > 200:
        a, b = "..." + a[at - 120:], "..." + b[at - 120:]
    raise AssertionError("%s: got %.500s, want %.500s" % (what, a, b))


def main():
    mine = None
    if not os.environ.get("CV_TMP"):  # by hand: tools/runtests.py brings a folder and removes it
        mine = os.environ["CV_TMP"] = tempfile.mkdtemp(prefix="cuvet-test-")
    passed = failed = skipped = 0
    for f in TESTS:
        try:
            f()
            passed += 1
        except Skip as why:
            print("SKIPPED: %s: %s" % (f.__name__, why))
            skipped += 1
        except Exception:  # a failure of any kind is the test's, not the runner's
            print("FAILED: " + f.__name__)
            traceback.print_exc(file=sys.stdout)
            failed += 1
    if mine:
        clean_dir(mine)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed else 0)


def clean_dir(path):
    shutil.rmtree(path, ignore_errors=True)
