# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regressions of a hostile review: code that hides, files that cost far more than their size, answers that depend on -j,
bytes that nobody owns. Each case is built here from the samples."""
import collections
import os
import random
import struct
import subprocess
import sys

ROOT = os.environ.get("CV_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tools", "corpus")]

import edit  # noqa: E402
from lib_cli import CUVET, FINDINGS, LIMIT, SAMPLES, Skip, cuvet, equal, main, read, samples, scratch, test, write  # noqa: E402

MIB = 1 << 20
LTOIR = struct.pack("<I", 0x7F4E43ED)
HIDDEN = 9  # members of multi.fatbin and the one they hide in


def scan(data, *args):
    r = cuvet("scan", "--format=ndjson", *args, write(data))
    verdict = r.objects("verdict")[0]
    return r.rc, verdict, collections.Counter(f["rule"] for f in r.objects("finding"))


def found(data, what):
    """Something was found that is not clean, and all of the hidden code is listed."""
    rc, v, rules = scan(data)
    pieces = v["members"] + v["images"]
    assert rc != 0 and pieces >= what, "rc %d, %s, %d of %d pieces, %s" % (rc, v["verdict"], pieces, what, dict(rules))


def ar_header(name, size):
    return name.ljust(16) + b"0           0     0     644     " + str(size).ljust(10).encode() + b"`\n"


def lto_with(payload_of, name="lto-raw.fatbin"):
    """The LTO-IR member of a sample with another payload."""
    data = read(name)
    header, _ = struct.unpack_from("<IQ", data, 20)
    member = bytearray(data[16:16 + header])
    payload = payload_of(data[16 + header:])
    payload += bytes(-len(payload) % 8)
    struct.pack_into("<Q", member, 8, len(payload))
    if name != "lto-raw.fatbin":
        struct.pack_into("<I", member, 16, len(payload))
    return data[:8] + struct.pack("<Q", len(member) + len(payload)) + bytes(member) + payload


def stored_zstd(data):
    """A zstd frame of raw blocks: the content stands in the file as it is."""
    out, at = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)), 0
    while at < len(data):
        n = min(len(data) - at, 100000)
        out += struct.pack("<I", (at + n == len(data)) | n << 3)[:3] + data[at:at + n]
        at += n
    return out


def grown(section, extra, lead=0, name="plain.sm_90.cubin"):
    """A cubin with bytes behind a section that allows any; they start at an offset that is 'lead' modulo 4."""
    elf = edit.Elf(bytearray(read(name)))
    size = elf.sget(section, "size")
    elf.splice(section, size, 0, bytes((lead - elf.at_section(section) - size) % 4) + extra)
    return bytes(elf.data)


# ---- nothing hides ----


@test
def code_in_opaque_payloads():
    multi = read("multi.fatbin")
    found(lto_with(lambda old: old[:64] + multi), HIDDEN)
    found(lto_with(lambda old: multi, "lto.fatbin"), HIDDEN)


@test
def code_in_sections_of_a_cubin():
    multi = read("multi.fatbin")
    for section in (".debug_frame", ".strtab", ".shstrtab", ".nv.constant0._Z5plainPi"):
        elf = grown(section, multi)
        found(elf, HIDDEN)
        found(bytes(64) + elf, HIDDEN)
        found(edit.container(edit.member(2, elf, 90)), HIDDEN)
        found(edit.container(edit.member(2, elf, 90, how="zstd")), HIDDEN)


@test
def code_that_begins_in_the_last_bytes_of_machine_code():
    """unpacked machine code is not searched, but a container of which it has only the begin is found"""
    multi, code = read("multi.fatbin"), ".text._Z4varsPi"
    for inside in range(4):
        elf = edit.Elf(bytearray(read("vars.sm_90.cubin")))
        elf.splice(".nv.global.init", 0, 0, multi[inside:])  # stands right behind the code
        elf.patch(code, elf.sget(code, "size") - inside, multi[:inside])
        data = bytes(elf.data)
        assert multi in data
        found(edit.container(edit.member(2, data, 90)), HIDDEN)
        found(edit.container(edit.member(2, data, 90, how="zstd")), HIDDEN)
        found(edit.container(edit.member(2, data, 90, how="lz4")), HIDDEN)


@test
def code_that_stands_in_the_file_inside_a_compressed_member():
    multi = read("multi.fatbin")
    for lead in range(4):
        elf = grown(".debug_frame", multi, lead)
        data = edit.container(edit.member(2, elf, 90, how=stored_zstd(elf)))
        assert multi in data
        found(data, HIDDEN)


@test
def code_behind_what_takes_the_rest():
    fatbin, cubin = read("default.fatbin"), bytearray(read("plain.sm_90.cubin"))
    text = read("plain.ptx")
    found(text + bytes(8 - len(text) % 8) + fatbin, 3)
    struct.pack_into("<Q", cubin, 40, 1 << 40)
    found(bytes(cubin) + fatbin, 3)


@test
def cubins_with_a_wrong_byte_order_field():
    for value in (0, 3, 255):
        cubin = bytearray(read("plain.sm_90.cubin"))
        cubin[5] = value
        found(cubin, 1)
        found(b"\1" * 64 + cubin, 1)


@test
def damaged_cubins_in_a_blob_are_not_clean():
    cubin = read("plain.sm_90.cubin")
    cut = bytearray(cubin)
    struct.pack_into("<Q", cut, 40, 1 << 40)
    for data in (cubin[:-8], cut):
        rc, v, _ = scan(b"\1" * 64 + data)
        assert rc == 1, v["verdict"]


@test
def text_behind_a_long_preamble():
    text = read("plain.ptx")
    for lead in (b"//" + b"x" * 40000 + b"\n", b"\n" * 40000, b"/*" + b" " * 40000 + b"*/", b"\xef\xbb\xbf"):
        equal(scan(lead + text)[1]["ptx"], 1, repr(lead[:4]))


@test
def code_in_parts_of_an_archive():
    fatbin, text = read("default.fatbin"), read("plain.ptx")
    n = len(fatbin)
    for name in (b"//", b"/", b"#1/%d" % n, b"x/"):
        equal(scan(b"!<arch>\n" + ar_header(name, n) + fatbin)[1]["members"], 2, name)
    equal(scan(b"!<arch>\n" + ar_header(b"//", len(text)) + text)[1]["ptx"], 1, "text in a table")


@test
def containers_at_odd_places():
    for lead in range(1, 8):
        # where the object starts is not known in a blob: the place alone is no finding
        equal(scan(b"\1" * (64 + lead) + read("default.fatbin"))[1]["members"], 2, "lead %d" % lead)
    for at, fmt, value in ((18, "<H", 0x102), (24, "<Q", 1 << 40)):
        data = bytearray(read("multi.fatbin"))
        struct.pack_into(fmt, data, at, value)
        rc, v, _ = scan(b"\1" * 65 + data)
        equal((rc, v["containers"]), (1, 1), "first member damaged")


@test
def headers_kept_by_the_encoder():
    """An LZ4 block of literals keeps the ELF header as it is: no second piece of code."""
    elf = read("plain.sm_75.cubin")
    rest = len(elf) - 15
    block = b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + elf
    member = edit.member(2, block + bytes(-len(block) % 8), 75, flags=0x2011, compressed_size=len(block),
                         uncompressed_size=len(elf))
    rc, v, rules = scan(edit.container(member))
    equal((rc, v["verdict"], v["members"], v["images"]), (0, "clean", 1, 0), dict(rules))


@test
def heads_across_the_end_of_a_window():
    fatbin, cubin = read("default.fatbin"), read("plain.sm_90.cubin")
    for back in list(range(0, 24)) + [63, 64, 65]:
        data = b"\1" * (256 * 1024 - back)
        equal(scan(data + cubin)[1]["images"], 1, "cubin, %d" % back)
        equal(scan(data + fatbin)[1]["containers"], 1, "container, %d" % back)


# ---- cost ----


def spent(data, *args, command="scan"):
    """CPU seconds, peak MiB and exit code of one run."""
    # Seconds and megabytes say nothing in an instrumented build or on a busy machine: measured on request only.
    if not os.environ.get("CV_COST"):
        raise Skip("cost is measured with CV_COST=1, on a release build")
    path = write(data)
    with subprocess.Popen([CUVET, command, *args, path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as p:
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    os.unlink(path)
    return use.ru_utime + use.ru_stime, use.ru_maxrss >> 10, p.returncode


def normal(size):
    data = read("multi.fatbin")
    return spent(data * (size // len(data)))[0]


def cheap(data, what, *args, factor=12, command="scan"):
    """Not much dearer than a file of small members of the same size: those cost ten times what libraries do."""
    have, most = spent(data, *args, command=command)[0], factor * (normal(len(data)) + 0.05)
    assert have <= most, "%s: %.2f s, at most %.2f" % (what, have, most)


@test
def relocations_that_share_bits():
    """Two words anywhere in the same function: found if and only if they share a bit, whatever the order of the entries."""
    name, places, where = ".rela.text._Z4varsPi", range(56, 74), scratch()
    files = {}
    for first in places:
        for second in places:
            for sizes in ((4, 4), (4, 8), (8, 4)):
                e = edit.Elf(read("vars.sm_90.rdc.cubin"))
                for i in range(10):
                    e.reloc(name, i, "offset", 0x370 - 16 * i)
                for i, (at, size) in enumerate(zip((first, second), sizes)):
                    e.reloc(name, 4 + i, "offset", at)
                    e.reloc(name, 4 + i, "type", 1 if size == 4 else 2)
                shared = first < second + sizes[1] and second < first + sizes[0]
                files[write(bytes(e), "%d-%d-%d.cubin" % (first, second, sizes[0] - sizes[1]), where)] = shared
    r = cuvet("scan", "--format=ndjson", *files)
    found = {d["file"] for d in r.objects("finding") if d["rule"] == "CV-ELF-143"}
    wrong = [f for f, shared in files.items() if shared != (f in found)]
    assert not wrong and len(found) > 100, (len(found), len(wrong), wrong[:4])


@test
def heads_that_share_a_section_table():
    for n in (4000, 65535):
        count = 2 * MIB // 64
        head, out = bytearray(64), bytearray()
        head[:9] = b"\x7fELF\2\1\1\x41\x08"
        struct.pack_into("<HHIQQQIHHHHHH", head, 16, 2, 190, 1, 0, 0, 0, 0x5A005A, 64, 56, 0, 64, n, 1)
        for i in range(count):
            struct.pack_into("<Q", head, 40, 64 * (count - i))
            out += head
        section = struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 1 << 60, 8, 0, 0, 0, 0)
        cheap(b"\1" * 64 + bytes(out) + section * n, "%d sections" % n)


@test
def sections_that_share_their_text():
    body, count = b"a" * (2 * MIB), 20000
    names = b"\0__nv_module_id\0.shstrtab\0"
    at = 64 + len(body) + len(names)
    at += -at % 8
    head = bytearray(64)
    head[:7] = b"\x7fELF\2\1\1"
    struct.pack_into("<HHIQQQIHHHHHH", head, 16, 3, 62, 1, 0, 0, at, 0, 64, 56, 0, 64, count + 2, 1)
    table = bytes(64) + struct.pack("<IIQQQQIIQQ", names.find(b".shstrtab"), 3, 0, 0, 64 + len(body),
                                    len(names), 0, 0, 1, 0)
    table += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(body), 0, 0, 8, 0) * count
    data = bytes(head) + body + names
    cheap(data + bytes(at - len(data)) + table, "module ids")


def more_sections(elf, header, count):
    table = bytearray(elf.data[elf.shoff:elf.shoff + 64 * elf.shnum])
    total, data = elf.shnum + count, bytearray(elf.data)
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, total if total < 0xFF00 else 0)
    if total >= 0xFF00:
        struct.pack_into("<Q", table, 32, total)
    return bytes(data + table) + header * count


@test
def sections_that_share_their_records():
    elf = edit.Elf(bytearray(read("plain.sm_90.cubin")))
    name = ".nv.info._Z5plainPi"
    elf.splice(name, elf.sget(name, "size"), 0, edit.record(4, 0x1C, bytes(4)) * (MIB // 8))
    header = bytes(elf.data[elf.header_at(name):elf.header_at(name) + 64])
    cheap(more_sections(elf, header, 20000), "records")


@test
def what_list_reads_of_shared_records():
    elf = edit.Elf(bytearray(read("plain.sm_90.cubin")))
    name = ".nv.info._Z5plainPi"
    elf.splice(name, elf.sget(name, "size"), 0, edit.record(4, 0x1C, bytes(4)) * (MIB // 8))
    header = bytes(elf.data[elf.header_at(name):elf.header_at(name) + 64])
    path = write(more_sections(elf, header, 500))
    for args in (["--resources"], ["--kernels", "--format=ndjson"]):
        r = cuvet("list", *args, path, timeout=60)
        equal(r.rc, LIMIT, " ".join(args))


@test
def what_list_reads_of_overlapping_images():
    head, out, count, n = bytearray(64), bytearray(), 8192, 4000
    head[:9] = b"\x7fELF\2\1\1\x41\x08"
    struct.pack_into("<HHIQQQIHHHHHH", head, 16, 2, 190, 1, 0, 0, 0, 0x5A005A, 64, 56, 0, 64, n, 1)
    for i in range(count):
        struct.pack_into("<Q", head, 40, 64 * (count - i))
        out += head
    section = struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 1 << 60, 8, 0, 0, 0, 0)
    r = cuvet("list", "--resources", write(b"\1" * 64 + bytes(out) + section * n), timeout=100)
    assert r.rc in (FINDINGS, LIMIT), (r.rc, r.err[:300])


@test
def records_that_share_a_name():
    """Hand-assembled files name the parameter bank through a symbol: the name has a megabyte, and many records."""
    elf, size = edit.Elf(bytearray(read("plain.sm_90.cubin"))), MIB
    elf.splice(".strtab", elf.sget(".strtab", "size"), 0, b".nv.constant0." + b"x" * size + b"\0")
    for field, value in (("name", elf.sget(".strtab", "size") - size - 15), ("info", 0), ("shndx", 0)):
        elf.symbol(1, field, value)
    name, row = ".nv.info._Z5plainPi", edit.record(4, 0x0A, struct.pack("<IHH", 1, 0x210, 8))
    elf.splice(name, elf.sget(name, "size"), 0, row * (size // len(row)))
    tool = b"nvasm_internal\0"
    note = elf.at_section(".note.nv.tkinfo")
    pool, end = note + 48, note + elf.sget(".note.nv.tkinfo", "size")
    elf.raw(end - len(tool) - 1, b"\0" + tool)
    elf.put((0, 4), end - len(tool) - pool, note + 32)
    cheap(bytes(elf.data), "names of banks")


def many_kernels(size):
    elf = edit.Elf(bytearray(read("plain.sm_90.cubin")))
    elf.splice(".strtab", elf.sget(".strtab", "size"), 0, b"k" * size + b"\0")
    name = elf.sget(".strtab", "size") - size - 1
    row = struct.pack("<IBBHQQ", name, 0x12, 0x10, elf.index(".text._Z5plainPi"), 0, 384)
    elf.splice(".symtab", elf.sget(".symtab", "size"), 0, row * (size // 24))
    return bytes(elf.data)


@test
def kernels_that_share_a_name():
    data = many_kernels(MIB)
    used = [spent(data, "--kernels", "--format=" + f, command="list") for f in ("text", "ndjson")]
    for seconds, peak, _ in used:
        assert peak < 700 and seconds < 20 * (normal(len(data)) + 0.1), used


@test
def names_of_archive_members_are_not_kept():
    long = b"n" * 4090 + b"/\n"
    empty = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
    data = b"!<arch>\n" + ar_header(b"//", len(long)) + long + (ar_header(b"/0", 16) + empty) * (2 * MIB // 76)
    base = spent(read("multi.fatbin") * 250)[1]
    peak = spent(data)[1]
    assert peak < base + 40, "%d MiB, %d MiB for a normal file" % (peak, base)


@test
def one_budget_for_all_levels():
    """Members that fail after their last byte count, in whatever container they lie."""
    big = bytes(MIB)
    frame = bytearray(edit.zstd(big, checksum=True))
    frame[-1] ^= 1
    inner = edit.container(*[edit.member(2, big, 90, how=bytes(frame))] * 4)
    data = edit.container(*[edit.member(2, inner, 90, how="zstd")] * 50)
    rc, _, rules = scan(data, "--limit", "total=4M", "--limit", "ratio=1M", "--limit", "diagnostics=1000")
    equal(rc, LIMIT, "exit code")
    equal(rules["CV-LIMIT-005"], 1, "one finding for the whole file")
    decoded = rules["CV-CODEC-010"]
    assert 0 < decoded <= 4, "%d MiB were unpacked under a limit of 4" % decoded


# ---- one answer ----


def nested(depth, copies):
    data = read("default.fatbin")
    cubin = read("plain.sm_90.cubin")
    for _ in range(depth):
        data = edit.container(edit.member(2, data, 90, how="zstd"), edit.member(2, cubin, 90, how="zstd"))
    return data * copies


@test
def output_of_nested_containers_does_not_depend_on_jobs():
    path = write(nested(6, 3))
    one = cuvet("scan", "--format=ndjson", "-j1", path)
    equal(one.rc, LIMIT, "exit code")
    for jobs in ("2", "3", "16"):
        equal(cuvet("scan", "--format=ndjson", "-j" + jobs, path).raw, one.raw, "-j" + jobs)


@test
def memory_of_nested_containers_does_not_depend_on_jobs():
    """A batch of members that are containers never holds more than one of their contents."""
    cubin = read("plain.sm_90.cubin")
    inner = edit.container(*[edit.member(2, cubin, 90)] * 500, edit.member(99, random.Random(1).randbytes(6000), 90))
    data = edit.container(*[edit.member(2, inner, 90, how="zstd")] * 40)
    one, two = spent(data, "-j1", "--limit=live=20M"), spent(data, "-j2", "--limit=live=20M")
    equal(two[2], one[2], "exit code")
    assert two[1] < one[1] + 60, (one, two)


@test
def exit_code_of_a_limit_without_diagnostics():
    r = cuvet("scan", "--format=ndjson", "--limit", "diagnostics=0", "--limit", "member=10",
              os.path.join(SAMPLES, "multi.fatbin"))
    equal((r.rc, r.objects("verdict")[0]["verdict"]), (LIMIT, "limit"), "verdict")


@test
def no_memory_is_a_limit():
    r = cuvet("scan", "--format=ndjson", "--limit", "live=1000", os.path.join(SAMPLES, "multi.fatbin"))
    equal((r.rc, r.objects("verdict")[0]["verdict"]), (LIMIT, "limit"), "verdict")


# ---- the ledger ----


def covered(claims, end):
    """First byte of [0, end) without exactly one owner, or None; end None: whatever the claims reach."""
    at = 0
    for c in sorted(claims, key=lambda c: (c["offset"], c["length"])):
        if c["offset"] != at:
            return min(at, c["offset"])
        at += c["length"]
    return None if end is None or at == end else at


def check_ledger(data, what):
    r = cuvet("map", "--format=ndjson", write(data))
    claims = [c for c in r.objects("claim") if not c["shared"]]
    bad = covered([c for c in claims if not c["inner"]], len(data))
    assert bad is None, "%s: byte %d of the file" % (what, bad)
    inner = collections.defaultdict(list)
    for c in claims:
        if c["inner"]:
            inner[c["path"]].append(c)
    for path, parts in inner.items():
        bad = covered(parts, None)
        assert bad is None, "%s: byte %d of the content of %s" % (what, bad, path)
    for f in r.objects("finding"):
        end = f["offset"] + (0 if "inner_offset" in f else f["length"])
        assert end <= len(data), "%s: %s lies outside the file" % (what, f["rule"])


def corpus():
    hostile = os.path.join(ROOT, "corpus", "hostile")
    names = [os.path.join(hostile, n) for n in sorted(os.listdir(hostile)) if not n.endswith((".tsv", ".md"))]
    return samples() + names


def content(path):
    with open(path, "rb") as f:
        return f.read()


@test
def every_byte_has_one_owner():
    step = 1 if os.environ.get("CV_FULL") else 5
    for path in corpus()[::step]:
        check_ledger(content(path), os.path.basename(path))


@test
def every_byte_has_one_owner_in_damaged_files():
    dice, files = random.Random(7), corpus()
    for i in range(1500 if os.environ.get("CV_FULL") else 120):
        path = dice.choice(files)
        data = bytearray(content(path))
        for _ in range(dice.choice((1, 1, 2, 4)) if data else 0):
            at, kind = dice.randrange(len(data)), dice.randrange(5)
            if kind < 2:
                data[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
            elif kind == 2:
                del data[max(at, 1):]
            elif kind == 3:
                at &= ~7
                new = struct.pack("<Q", dice.choice((0, 8, 64, len(data), 1 << 32, 1 << 63, (1 << 64) - 1)))
                data[at:at + 8] = new[:len(data) - at]
            else:
                data[at:at] = content(dice.choice(files))
        check_ledger(bytes(data), "%d: %s" % (i, os.path.basename(path)))


@test
def what_lies_before_hidden_code_has_an_owner():
    """Content that is damaged has no owners for its parts, and a container in it is walked: what lies before it is the payload's."""
    step = 16 if os.environ.get("CV_FULL") else 64
    hidden = [p for p in corpus() if os.path.basename(p).startswith("CV-FATBIN-051.")]
    assert len(hidden) > 3
    for path in hidden:
        whole = content(path)
        for at in range(0x50, len(whole), step):
            check_ledger(whole[:at] + b"\xff" + whole[at + 1:], "%#x of %s" % (at, os.path.basename(path)))


if __name__ == "__main__":
    main()
