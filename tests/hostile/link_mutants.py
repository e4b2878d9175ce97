#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged objects through the linker, each with the clean objects of its link case.

Twenty-nine objects of corpus/link are damaged, thousands of times each, always in the same way for the same seed: bytes,
fields of the headers, the tables and the records, truncation, moved blocks. Of each link is noted how it ends, how long
it takes, and whether kernels are missing from a result that was given out. With --nvlink the same mutants go through
the reference linker, one process each.

  link_mutants.py --server build/tests/link_server --each 3000 [--asan] [--out ours.json]
  link_mutants.py --server "build/tests/worker_client persistent $PWD/build/cuvet-worker"      by caged workers
  link_mutants.py --nvlink /usr/local/cuda/bin/nvlink --each 3000 --out nvlink.json
  link_mutants.py --show ours.json nvlink.json          the table of docs/evidence/link.md

The exit code is 1 when cuvet crashed, hung, ended in an internal error, refused without a reason, or gave out a result
without a kernel of its inputs; or when the server ends badly, as worker_client does that counted a job without an answer.
"""
import argparse
import collections
import io
import json
import os
import random
import resource
import shlex
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "corpus", "link")
sys.path.insert(0, os.path.join(ROOT, "tools", "corpus"))

import edit  # noqa: E402

# case, target, which of its inputs is damaged
OBJECTS = [
    ("extern_basic", "sm_75", 0), ("const_multi", "sm_75", 1), ("func_ptr", "sm_75", 1), ("shared_overlap", "sm_75", 0),
    ("stack_chain", "sm_75", 0), ("virtual_calls", "sm_75", 1), ("tex_ref_ptx", "sm_75", 1),
    ("alias_ptx", "sm_80", 1), ("jump_table", "sm_80", 0), ("tex_object", "sm_80", 0), ("managed", "sm_80", 0),
    ("printf_assert", "sm_80", 0), ("weak_common_ptx", "sm_80", 0), ("reloc_link_sh", "sm_80", 0),
    ("cluster", "sm_90", 0), ("dead_code", "sm_90", 1), ("data_pointers", "sm_90", 0), ("shared_static", "sm_90", 0),
    ("global_layout", "sm_90", 0), ("weak_small_first", "sm_90", 1),
    ("lines", "sm_100", 0), ("lines", "sm_100", 1), ("weak_big_first", "sm_100", 0), ("tex_ref_ptx", "sm_100", 1),
    ("func_ptr", "sm_100", 1), ("shared_static", "sm_100", 0), ("jump_table", "sm_100", 0),
    ("weak_small_first", "sm_120", 1), ("data_pointers", "sm_120", 0),
]
HANG = 10  # seconds
STATUS_OK, STATUS_INTERNAL = 0, None  # the second is read from the public header

FUNC, ENTRY = 2, 0x10


def internal_status():
    """Number of CUVET_E_INTERNAL, from include/cuvet/status.h."""
    n = -1
    for line in open(os.path.join(ROOT, "include", "cuvet", "status.h"), encoding="utf-8"):
        word = line.split("=")[0].split(",")[0].split("/")[0].strip()
        if word.startswith("CUVET_") and word.replace("_", "").isalnum() and word.isupper() and "CUVET_STATUS_H" != word:
            if "=" in line:
                n = int(line.split("=")[1].split(",")[0].split("/")[0], 0) - 1
            n += 1
            if word == "CUVET_E_INTERNAL":
                return n
    raise SystemExit("no CUVET_E_INTERNAL in status.h")


def golden():
    """The files of corpus/link/golden.tar.zst by name, and the rows of its index."""
    with open(os.path.join(GOLDEN, "golden.tar.zst"), "rb") as f:
        raw = edit.unzstd(f.read())
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        files = {os.path.basename(m.name): tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    rows = {}
    for line in open(os.path.join(GOLDEN, "index.tsv"), encoding="utf-8").read().splitlines()[1:]:
        case, target, options, inputs, _ = line.split("\t")
        rows[case, target] = (options, inputs.split())
    return files, rows


# ---- a lenient reader: what a file says of itself, as far as it can be read ------------------------------------------

def sections(b):
    """(name offset, type, flags, off, size, link, info, align, entsize) of every section; [] when there is no table."""
    if len(b) < 64 or b[:4] != b"\x7fELF":
        return []
    shoff, n = struct.unpack_from("<Q", b, 40)[0], struct.unpack_from("<H", b, 60)[0]
    out = []
    for i in range(n):
        at = shoff + 64 * i
        if at + 64 > len(b):
            break
        h = struct.unpack_from("<IIQQQQIIQQ", b, at)
        out.append((h[0], h[1], h[2], h[4], h[5], h[6], h[7], h[8], h[9]))
    return out


def text(b, off):
    end = b.find(b"\0", off)
    return b[off:end] if 0 <= off <= end else b""


def kernels(b):
    """Names of the kernels that the symbol table declares."""
    secs, found = sections(b), []
    for s in secs:
        if s[1] != 2 or s[3] + s[4] > len(b):
            continue
        strings = secs[s[5]] if s[5] < len(secs) else None
        for at in range(s[3], s[3] + s[4] - 23, 24):
            name, info, other, shndx = struct.unpack_from("<IBBH", b, at)
            if info & 15 == FUNC and other & ENTRY and shndx:
                found.append(text(b, strings[3] + name) if strings else b"")
    return found


# ---- damage -----------------------------------------------------------------------------------------------------------

WORDS = [0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 63, 64, 127, 128, 255, 256, 0xFFF2, 0xFFFF, 0x10000, 0xFFFFFF, 0x7FFFFFFF,
         0x80000000, 0xFFFFFFF0, 0xFFFFFFFF]
LONGS = WORDS + [1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 16, (1 << 64) - 1]


def value(r, width, old, size):
    """Something that might go in a field: near what is there, near the size of the file, or from the list."""
    kind = r.randrange(5)
    if kind == 0:
        v = old + r.choice([-16, -8, -4, -2, -1, 1, 2, 4, 8, 16])
    elif kind == 1:
        v = r.choice(LONGS if width == 8 else WORDS)
    elif kind == 2:
        v = size + r.choice([-64, -16, -1, 0, 1, 16])
    elif kind == 3:
        v = old ^ 1 << r.randrange(8 * width)
    else:
        v = r.randrange(64)
    return v & (1 << 8 * width) - 1


def put(b, r, at, width):
    if at + width <= len(b):
        old = int.from_bytes(b[at:at + width], "little")
        b[at:at + width] = value(r, width, old, len(b)).to_bytes(width, "little")


def pick(r, secs, want):
    some = [s for s in secs if want(s) and s[4]]
    return r.choice(some) if some else None


def flip(b, r, secs):
    for _ in range(r.choice([1, 1, 1, 2, 4, 16])):
        b[r.randrange(len(b))] ^= 1 << r.randrange(8)


def any_byte(b, r, secs):
    b[r.randrange(len(b))] = r.choice([0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)])


def header(b, r, secs):
    put(b, r, *r.choice([(4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 4), (16, 2), (18, 2), (20, 4), (24, 8), (32, 8),
                         (40, 8), (48, 4), (49, 1), (52, 2), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2)]))


def section_header(b, r, secs):
    at = struct.unpack_from("<Q", b, 40)[0] + 64 * r.randrange(len(secs))
    field = r.choice([(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (32, 8), (40, 4), (44, 4), (44, 4), (48, 8), (56, 8)])
    put(b, r, at + field[0], field[1])


def section_table(b, r, secs):
    """Whole headers: exchanged, doubled, zeroed; or the table with one more or less of them."""
    base, n = struct.unpack_from("<Q", b, 40)[0], len(secs)
    i, k, kind = base + 64 * r.randrange(n), base + 64 * r.randrange(n), r.randrange(5)
    if kind == 0:
        b[i:i + 64], b[k:k + 64] = b[k:k + 64], b[i:i + 64]
    elif kind == 1:
        b[i:i + 64] = b[k:k + 64]
    elif kind == 2:
        b[i:i + 64] = bytes(64)
    elif kind == 3:
        struct.pack_into("<H", b, 60, n + r.choice([-1, 1]))
    else:
        b[i + 24:i + 40] = b[k + 24:k + 40]  # the bytes of another one


def symbol(b, r, secs):
    s = pick(r, secs, lambda s: s[1] == 2)
    if s:
        at = s[3] + 24 * r.randrange(s[4] // 24)
        off = r.choice([(0, 4), (4, 1), (4, 1), (5, 1), (5, 1), (6, 2), (6, 2), (8, 8), (8, 8), (16, 8), (16, 8)])
        put(b, r, at + off[0], off[1])


def symbol_pair(b, r, secs):
    """Two symbols exchanged, or one put over another."""
    s = pick(r, secs, lambda s: s[1] == 2)
    if s:
        i, k = (s[3] + 24 * r.randrange(s[4] // 24) for _ in range(2))
        one, two = b[i:i + 24], b[k:k + 24]
        b[i:i + 24] = two
        if r.randrange(2):
            b[k:k + 24] = one


def relocation(b, r, secs):
    s = pick(r, secs, lambda s: s[1] in (4, 9))
    if s:
        size = 24 if s[1] == 4 else 16
        at = s[3] + size * r.randrange(s[4] // size)
        put(b, r, at + r.choice([0, 0, 8, 12, 12, 16][:5 if size == 16 else 6]), r.choice([4, 4, 8]) if size == 24 else 4)


def relocation_type(b, r, secs):
    """Another type or another symbol, both within what a file may have."""
    s, y = pick(r, secs, lambda s: s[1] in (4, 9)), pick(r, secs, lambda s: s[1] == 2)
    if s and y:
        size = 24 if s[1] == 4 else 16
        at = s[3] + size * r.randrange(s[4] // size)
        if r.randrange(2):
            struct.pack_into("<I", b, at + 8, r.randrange(117))
        else:
            struct.pack_into("<I", b, at + 12, r.randrange(y[4] // 24))


def record(b, r, secs):
    """A word of .nv.info, the call graph, prototypes, compat; or the head of a record."""
    s = pick(r, secs, lambda s: s[1] >= 0x70000000 and s[1] not in (0x7000000A, 0x70000007))
    if s:
        at = s[3] + 4 * r.randrange(max(s[4] // 4, 1))
        put(b, r, at + r.randrange(4), 1) if r.randrange(2) else put(b, r, at, 4)


def note(b, r, secs):
    s = pick(r, secs, lambda s: s[1] == 7)
    if s:
        put(b, r, s[3] + r.randrange(s[4]), r.choice([1, 2, 4]))


def strings(b, r, secs):
    s = pick(r, secs, lambda s: s[1] == 3)
    if s:
        b[s[3] + r.randrange(s[4])] = r.choice([0, 0, 0x2E, 0x5F, 0x41, 0xFF, r.randrange(256)])


def truncate(b, r, secs):
    del b[r.choice([r.randrange(len(b)), len(b) - r.randrange(1, 65)]):]


def move(b, r, secs):
    """A block taken out, doubled, or put over another."""
    n, i, k = r.choice([1, 4, 8, 16, 24, 64, 128]), r.randrange(len(b)), r.randrange(len(b))
    block, kind = bytes(b[i:i + n]), r.randrange(3)
    if kind == 0:
        del b[i:i + n]
    elif kind == 1:
        b[k:k] = block
    else:
        b[k:k + len(block)] = block[:max(len(b) - k, 0)]


DAMAGE = [flip, flip, any_byte, header, section_header, section_header, section_table, symbol, symbol, symbol_pair,
          relocation, relocation_type, record, record, record, note, strings, truncate, move]


def assembled(clean):
    """The same object as if an assembler had made it: rules that only compilers keep are not applied to such files."""
    b = bytearray(clean)
    for s in sections(clean):
        at = s[3] + 24  # behind the header of the note: version, flags, then offsets of strings behind 24 bytes
        if s[1] == 7 and s[2] & 0x2000000 and s[4] >= 24 + 24 + 16:
            room = s[4] - 24 - 24
            strings = b"\0nvasm_internal\0\0\0".ljust(room - 4, b"-")
            b[at + 24:at + 24 + room] = strings + bytes(4)
            struct.pack_into("<IIII", b, at + 8, 1, 16, 17, 18)
    return bytes(b)


def mutant(seed, case, target, i, clean, harder=False):
    """Damage number i. harder: up to four at once, every third time to an object of an assembler."""
    r = random.Random("%s/%s/%s/%d" % (seed, case, target, i))
    if harder and r.randrange(3) == 0:
        clean = assembled(clean)
    b, secs = bytearray(clean), sections(clean)
    for _ in range(r.choice([1, 2, 2, 3, 4]) if harder else 1):
        what = r.choice(DAMAGE)
        for _ in range(100):
            before = bytes(b)
            try:
                what(b, r, secs)
            except (IndexError, ValueError, struct.error):  # the first damage left nothing for this one
                b[:] = before
            if bytes(b) != before:
                break
    return what.__name__, bytes(b)


# ---- the two linkers ---------------------------------------------------------------------------------------------------

Answer = collections.namedtuple("Answer", "end code seconds said out")  # end: ok, refused, internal, silent, crash, hang


class Ours:
    name = "cuvet"

    def __init__(self, path):
        self.process = subprocess.Popen(shlex.split(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.internal = internal_status()

    def link(self, target, flags, objects):
        p, out = self.process.stdin, self.process.stdout
        p.write(struct.pack("<III", int(target[3:]), flags, len(objects)))
        for o in objects:
            p.write(struct.pack("<I", len(o)) + o)
        p.flush()
        end, code, status, step, low, high, n_said, n_out = struct.unpack("<8I", out.read(32))
        said, image = out.read(n_said).decode().split(), out.read(n_out)
        if end:
            return Answer({1: "crash", 2: "crash", 3: "hang"}[end], code, 0.0, said, b"")
        how = "ok" if status == STATUS_OK else "internal" if status == self.internal else "refused" if said else "silent"
        return Answer(how, status, (low | high << 32) / 1e9, said, image)

    def end(self):
        """Its exit code, once it has nothing more to do."""
        self.process.stdin.close()
        return self.process.wait()


class Reference:
    name = "nvlink"

    def __init__(self, path):
        self.path, self.dir = path, tempfile.mkdtemp(prefix="mutants-")

    def link(self, target, relocatable, objects):
        names = []
        for i, o in enumerate(objects):
            names.append(os.path.join(self.dir, "%d.cubin" % i))
            with open(names[-1], "wb") as f:
                f.write(o)
        out = os.path.join(self.dir, "out.cubin")
        if os.path.exists(out):
            os.unlink(out)
        begin = time.monotonic()
        try:
            r = subprocess.run([self.path, "-arch=" + target] + ["-r"] * relocatable + names + ["-o", out],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG, cwd=self.dir,
                               preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2),
                                                   resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2),
                                                   resource.setrlimit(resource.RLIMIT_CORE, (0, 0))))
        except subprocess.TimeoutExpired:
            return Answer("hang", 0, HANG, [], b"")
        seconds = time.monotonic() - begin
        if r.returncode < 0:
            return Answer("crash", -r.returncode, seconds, [], b"")
        if r.returncode:
            return Answer("refused" if r.stdout.strip() else "silent", r.returncode, seconds, [], b"")
        image = open(out, "rb").read() if os.path.exists(out) else b""
        return Answer("ok", 0, seconds, r.stdout.decode("utf-8", "replace").split("\n")[:1] if r.stdout else [], image)


# ---- counting ------------------------------------------------------------------------------------------------------------

def judge(answer, wanted):
    """What became of one link. dropped: given out with fewer kernels than the undamaged objects have, without a word; left_out:
    the same, and said: where an input is a file, one that is no device code any more is passed over as host code is."""
    if answer.end != "ok":
        return answer.end
    got = collections.Counter(kernels(answer.out))
    if sum(got.values()) < sum(wanted.values()):
        return "left_out" if "left-out" in answer.said else "dropped"
    return "linked" if not wanted - got else "renamed"


def run_object(linker, files, row, spec, args):
    case, target, which = spec
    options, inputs = row
    clean = [files[n] for n in inputs]
    relocatable = int("-r" in options.split())
    wanted = collections.Counter(k for o in clean for k in kernels(o))
    result = {"object": "%s.%s/%d" % spec, "n": args.each, "ends": collections.Counter(), "rules": collections.Counter(),
              "times": [], "look": []}
    a = linker.link(target, relocatable, clean)
    if judge(a, wanted) != "linked":
        raise SystemExit("%s: %s does not link the clean objects of %s: %s" % (target, linker.name, case, a.end))
    for i in range(args.each):
        how, bad = mutant(args.seed, case, target, i, clean[which], args.harder)
        flags = relocatable if not args.harder else i * 2654435761 >> 7 & 15
        a = linker.link(target, flags, clean[:which] + [bad] + clean[which + 1:])
        end = judge(a, wanted)
        result["ends"][end] += 1
        result["times"].append(round(a.seconds * 1e6))
        for rule in set(a.said) if linker.name == "cuvet" else ():
            result["rules"][rule] += 1
        if end in ("crash", "hang", "internal", "silent", "dropped", "renamed"):
            result["look"].append([end, i, how, a.code, " ".join(a.said)[:200]])
            if args.keep and end not in ("renamed",):
                with open(os.path.join(args.keep, "%s.%s.%d.%s.%s" % (case, target, i, how, end)), "wb") as f:
                    f.write(bad)
    return result


ENDS = ["linked", "renamed", "refused", "left_out", "dropped", "silent", "internal", "crash", "hang"]


def show(paths):
    """One column for each file."""
    cols = []
    for p in paths:
        rows = [json.loads(line) for line in open(p, encoding="utf-8")]
        total, times = collections.Counter(), sorted(t for r in rows for t in r["times"])
        for r in rows:
            total.update(r["ends"])
        cols.append([os.path.basename(p), "%d" % len(rows), "%d" % len(times)] + ["%d" % total[e] for e in ENDS] +
                    ["%.2f ms" % (times[len(times) // 2] / 1e3), "%.2f ms" % (times[len(times) * 99 // 100] / 1e3),
                     "%.2f ms" % (times[-1] / 1e3)])
    for i, title in enumerate(["", "objects", "mutants"] + ENDS + ["median", "99 of 100", "slowest"]):
        print("| %s | %s |" % (title, " | ".join(c[i] for c in cols)))
        if i == 0:
            print("|---|%s" % ("---:|" * len(cols)))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--server")
    ap.add_argument("--nvlink")
    ap.add_argument("--each", type=int, default=300)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--only", default="", help="objects whose case has this in its name")
    ap.add_argument("--out", help="results, one line of JSON for each object, as they come")
    ap.add_argument("--harder", action="store_true", help="several damages at once, and other options; cuvet only")
    ap.add_argument("--keep", help="directory for the mutants that want a look")
    ap.add_argument("--show", nargs="+")
    args = ap.parse_args()
    if args.show:
        show(args.show)
        return 0
    if not args.server and not args.nvlink:
        ap.error("nothing to run: name --server, --nvlink or --show")
    if args.each < 1 or not any(args.only in case for case, *_ in OBJECTS):
        ap.error("nothing to run: no mutant of any object")
    if args.harder and args.nvlink:
        ap.error("--harder is for cuvet alone")
    files, rows = golden()
    bad = collections.Counter()
    for kind, path in (Ours, args.server), (Reference, args.nvlink):
        if not path:
            continue
        linker = kind(path)
        total = collections.Counter()
        for spec in OBJECTS:
            if args.only not in spec[0]:
                continue
            r = run_object(linker, files, rows[spec[:2]], spec, args)
            total.update(r["ends"])
            print("%-7s %-26s %s  median %d us, slowest %d us" % (
                linker.name, r["object"], " ".join("%s %d" % (e, r["ends"][e]) for e in ENDS if r["ends"][e]),
                sorted(r["times"])[len(r["times"]) // 2], max(r["times"])), flush=True)
            if args.out:
                with open(args.out, "a", encoding="utf-8") as f:
                    f.write(json.dumps(r) + "\n")
        print("%-7s %s" % (linker.name, " ".join("%s %d" % (e, total[e]) for e in ENDS)), flush=True)
        if linker.name == "cuvet":
            bad = +collections.Counter({e: total[e] for e in ("dropped", "silent", "internal", "crash", "hang")})
            code = linker.end()
            if code:
                print("%s ended with %d" % (path, code))
                bad["server"] += 1
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
