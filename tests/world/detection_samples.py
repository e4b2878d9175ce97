# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Genuine device ELFs and containers of every toolkit era, taken from wheels.

Containers are cut out of the libraries of the wheels where `cuvet list` says they are, small ones first, and unpacked.
Where a wheel brings an assembler (ptxas), the PTX of corpus/link is assembled with it as well: libraries hardly ever
hold relocatable objects, and those are what a linker reads.
"""
import collections
import glob
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

ERAS = ["up to 10.x", "11", "12.0-12.2", "12.3-12.9", "13.0", "13.1 and later"]
CONTAINER_MAGIC = b"\x50\xed\x55\xba\x01\x00\x10\x00"
LIBRARY_LIMIT = 700 << 20   # larger libraries are left out: unpacked they are what fills the disk
CONTAINER_LIMIT = 96 << 10  # stored bytes of a container that is cut out
CUBIN_LIMIT = 32 << 10
HOST_LIMIT = 24 << 20       # a library that is kept whole, for the wrappers in it
HOSTS = 3                   # such libraries of each era
PER_LIBRARY = 400           # containers cut out of one library, of them at most LARGE larger ones: old libraries have
LARGE = 40                  # nothing else

Sample = collections.namedtuple("Sample", "name kind era arch type tool source data")


def era_of(version):
    """The era of a toolkit version times ten; None when it is no version."""
    if not 40 <= version <= 199:
        return None
    return ERAS[0 if version < 110 else 1 if version < 120 else 2 if version < 123 else 3 if version < 130 else
                4 if version == 130 else 5]


def elf_notes(data):
    """(section name, bytes) of the note sections of a device ELF of 64 bits; nothing when it cannot be read."""
    try:
        shoff, = struct.unpack_from("<Q", data, 40)
        count, strndx = struct.unpack_from("<HH", data, 60)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(count)]
        names = heads[strndx]
        out = []
        for head in heads:
            if head[1] == 7:
                at = names[4] + head[0]
                out.append((data[at:data.index(b"\0", at)].decode("latin-1"), data[head[4]:head[4] + head[5]]))
        return out
    except (struct.error, IndexError, ValueError):
        return []


def describe(data):
    """(toolkit version times ten, SM number, e_type, tool) of a device ELF; None when it is none."""
    if len(data) < 64 or data[:4] != b"\x7fELF" or struct.unpack_from("<H", data, 18)[0] != 190:
        return None
    e_type, = struct.unpack_from("<H", data, 16)
    flags, = struct.unpack_from("<I", data, 36 if data[4] == 1 else 48)
    version, = struct.unpack_from("<I", data, 20)
    if data[8] < 8:
        return version, flags & 0xFF, e_type, "ABI %d" % data[8]
    tools, version = [], 0
    for name, body in elf_notes(data):
        if name == ".note.nv.cuinfo" and len(body) >= 32:
            version = struct.unpack_from("<H", body, 28)[0]
        at = 0
        while name == ".note.nv.tkinfo" and at + 48 <= len(body):
            size, = struct.unpack_from("<I", body, at + 4)
            pool = body[at + 48:at + 24 + size]
            tools.append(pool.split(b"\0")[1].decode("latin-1") if pool.count(b"\0") > 1 else "?")
            release = re.search(rb"release (\d+)\.(\d+)", pool)
            if release and not version:
                version = int(release.group(1)) * 10 + int(release.group(2))
            at += 24 + (size + 3 & ~3)
    return version, flags >> 8 & 0xFFFF, e_type, "ABI 8 " + "+".join(sorted(set(tools)))


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **more)


def libraries(wheels):
    """(wheel, name inside) of everything in the wheels that may hold device code, and is not too large."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            cubins = 0
            for info in sorted(archive.infolist(), key=lambda entry: entry.filename):
                base = os.path.basename(info.filename)
                if info.file_size > LIBRARY_LIMIT or info.file_size < 512:
                    continue
                if base.endswith(".cubin"):
                    cubins += info.file_size <= 3 * CUBIN_LIMIT
                    if info.file_size <= 3 * CUBIN_LIMIT and cubins <= 400:
                        yield wheel, info.filename
                elif re.search(r"\.(so(\.\d+)*|a|fatbin)$", base):
                    yield wheel, info.filename


def containers_of(cuvet, path):
    """Offsets and sizes of the containers of a file that are small enough, the smallest first, spread over the sizes."""
    found, members = {}, collections.Counter()
    listing = run([cuvet, "list", "--format=ndjson", path])
    with open(path, "rb") as file:
        for line in listing.stdout.splitlines():
            row = json.loads(line)
            if row.get("type") != "member" or not row.get("in_container"):
                continue
            at = row["container_offset"]
            members[at] += 1
            if at not in found:
                file.seek(at)
                head = file.read(16)
                if head[:8] == CONTAINER_MAGIC:
                    found[at] = 16 + struct.unpack_from("<Q", head, 8)[0]
    small = sorted((size, at) for at, size in found.items() if size <= CONTAINER_LIMIT)
    step = max(1, len(small) // PER_LIBRARY)
    large = sorted((size, at) for at, size in found.items() if CONTAINER_LIMIT < size <= 16 * CONTAINER_LIMIT)
    return [(at, size) for size, at in (small[::step] + large[:LARGE])[:PER_LIBRARY]]


def cut(cuvet, wheel, inside, folder):
    """Containers and cubins of one library, written into the folder; the library itself goes away again."""
    stem = os.path.basename(wheel).split("-")[0] + "." + re.sub(r"[^A-Za-z0-9]+", "_", os.path.basename(inside))[:60]
    if inside.endswith(".cubin"):
        stem += hashlib.sha256(inside.encode()).hexdigest()[:8]
        with zipfile.ZipFile(wheel) as archive, open(os.path.join(folder, stem + ".cubin"), "wb") as file:
            file.write(archive.read(inside))
        return
    library = os.path.join(folder, "library")
    with zipfile.ZipFile(wheel) as archive, archive.open(inside) as source, open(library, "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
    for at, size in containers_of(cuvet, library):
        with open(library, "rb") as file:
            file.seek(at)
            data = file.read(size)
        container = os.path.join(folder, "%s-%x.fatbin" % (stem, at))
        with open(container, "wb") as file:
            file.write(data)
        members = container[:-7] + ".d"
        run([cuvet, "unpack", "--kind", "elf", "-d", members, container])
    with open(library, "rb") as file:
        host = os.path.getsize(library) <= HOST_LIMIT and file.read()
        wrapped = host and host[:4] == b"\x7fELF" and b".nvFatBinSegment" in host
    if wrapped:
        os.rename(library, os.path.join(folder, stem + ".host"))
    else:
        os.unlink(library)


def assemblers(wheels, folder):
    """Every ptxas that the wheels or the machine have: (version times ten, path)."""
    found = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if os.path.basename(name).startswith("ptxas") and "/bin/" in name:
                    # it writes the name it was called by into the files it makes
                    path = os.path.join(folder, "tool%d" % len(found), os.path.basename(name))
                    os.mkdir(os.path.dirname(path))
                    with open(path, "wb") as file:
                        file.write(archive.read(name))
                    os.chmod(path, 0o755)
                    found[path] = path
    found["machine"] = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    out = {}
    for path in found.values():
        if os.path.exists(path):
            release = re.search(rb"release (\d+)\.(\d+)", run([path, "--version"]).stdout)
            if release:
                out[int(release.group(1)) * 10 + int(release.group(2))] = path
    return sorted(out.items())


# PTX version that every assembler of the list reads, by toolkit; the targets it knows
PTX_OF = [(110, "7.0"), (118, "7.8"), (120, "8.0"), (123, "8.3"), (128, "8.7"), (130, "9.0")]
TARGETS = {1: ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"],
           2: ["sm_50", "sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_90a"],
           3: ["sm_70", "sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"],
           4: ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"],
           5: ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"]}


def assemble(version, ptxas, folder):
    """The PTX of corpus/link by one assembler, relocatable, and for some of it whole programs and debug builds."""
    dialect = [text for since, text in PTX_OF if since <= version][-1]
    targets = TARGETS[ERAS.index(era_of(version))]
    sources = sorted(glob.glob(os.path.join(ROOT, "corpus", "link", "ptx", "*.ptx")))
    for number, source in enumerate(sources):
        text = open(source, encoding="utf-8").read()
        text = re.sub(r"(?m)^\.version .*$", ".version " + dialect, text)
        for turn in range(2):
            target = targets[(number * 2 + turn) % len(targets)]
            option = [["-c"], ["-c"], ["-c", "-lineinfo"], ["-c", "-g"], []][(number + turn) % 5]
            plain = os.path.join(folder, "in.ptx")
            with open(plain, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(?m)^\.target .*$", ".target " + target, text))
            out = os.path.join(folder, "ptxas%d.%s_%s%s.cubin" % (
                version, os.path.basename(source)[:-4], target, "".join(option)))
            run([ptxas, "-arch=" + target] + option + ["-o", out, plain])


def gather(cuvet, wheels, folder):
    """Fills the folder with all candidates; what is there already is taken as it is."""
    done = os.path.join(folder, "complete")
    if os.path.exists(done):
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for wheel, inside in libraries(wheels):
        cut(cuvet, wheel, inside, folder)
    made = os.path.join(folder, "assembled.d")
    os.mkdir(made)
    for version, ptxas in assemblers(wheels, folder):
        assemble(version, ptxas, made)
    open(done, "w", encoding="utf-8").close()


def features(data):
    """A short mark of what kinds of sections a cubin has: files that differ in it are worth having both."""
    names = set(re.findall(rb"\.(?:nv|text|rel|debug|note)[A-Za-z_.]*", data))
    return hashlib.sha256(b",".join(sorted(name[:24] for name in names))).hexdigest()[:6]


def load(folder):
    """All candidates as samples, each content once; containers have the era of their newest member."""
    seen, out = set(), []

    def add(kind, data, what, source):
        mark = hashlib.sha256(data).hexdigest()[:16]
        era = era_of(what[0])
        if mark in seen or era is None:
            return
        seen.add(mark)
        out.append(Sample(mark, kind, era, "sm_%d" % what[1], what[2], what[3], source, data))

    for path in sorted(glob.glob(os.path.join(folder, "**", "*.cubin"), recursive=True)):
        data = open(path, "rb").read()
        what = describe(data)
        if what and len(data) <= 3 * CUBIN_LIMIT:
            add("cubin", data, what, os.path.relpath(path, folder))
    for path in sorted(glob.glob(os.path.join(folder, "*.fatbin"))):
        data = open(path, "rb").read()
        parts = glob.glob(os.path.join(path[:-7] + ".d", "*.cubin"))
        whats = [what for what in (describe(open(part, "rb").read()) for part in parts) if what]
        if whats and len(data) <= CUBIN_LIMIT:
            add("container", data, max(whats), os.path.basename(path))
    for path in sorted(glob.glob(os.path.join(folder, "*.host"))):
        parts = glob.glob(path[:-5] + "-*.d/*.cubin")
        whats = [what for what in (describe(open(part, "rb").read()) for part in parts) if what]
        if whats:
            add("host", open(path, "rb").read(), max(whats), os.path.basename(path))
    return out


def rounds(candidates, want):
    """`want` samples: the wheels take turns, and within a wheel its kinds of files do, the smallest file first."""
    groups = collections.defaultdict(list)
    for sample in candidates:
        wheel = sample.source.replace("assembled.d/", "").split(".")[0]
        mark = features(sample.data) if sample.kind == "cubin" else len(sample.data) >> 11
        groups[wheel, sample.arch, sample.type, sample.tool, mark].append(sample)
    by_wheel = collections.defaultdict(list)
    for key in sorted(groups, key=lambda key: hashlib.sha256(repr(key).encode()).hexdigest()):
        by_wheel[key[0]].append(sorted(groups[key], key=lambda sample: (len(sample.data), sample.name)))
    taken = []
    while len(taken) < want and by_wheel:
        for wheel in sorted(by_wheel):
            queue = by_wheel[wheel]
            group = queue.pop(0)
            taken.append(group.pop(0))
            if group:
                queue.append(group)
            if not queue:
                del by_wheel[wheel]
    return taken[:want]


def choose(candidates, count):
    """`count` samples of every era, one in six a container; larger files only where the small ones do not suffice."""
    chosen = []
    for era in ERAS:
        here = [sample for sample in candidates if sample.era == era]
        taken = rounds([sample for sample in here if sample.kind == "container"], count // 6)
        small = [sample for sample in here if sample.kind == "cubin" and len(sample.data) <= CUBIN_LIMIT]
        taken += rounds(small, count - len(taken))
        large = [sample for sample in here if sample.kind == "cubin" and len(sample.data) > CUBIN_LIMIT]
        hosts = sorted((sample for sample in here if sample.kind == "host"), key=lambda sample: len(sample.data))
        chosen += taken + rounds(large, count - len(taken)) + hosts[:HOSTS]
    return chosen
